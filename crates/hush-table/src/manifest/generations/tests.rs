// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::fixture::{encoding, manifest};

/// The fixture, whose parts have the encodings 1 and 4 and the sealed column 0, with encoding 7 instead of 4 and another sealed column.
fn altered() -> Manifest {
    let mut table = manifest();
    table.begin_generation();
    table.encodings = vec![encoding(1), encoding(7)];
    (table.sealed_columns, table.unsealed) = (2, vec![0]);
    table.check().unwrap();
    table
}

#[test]
fn parts_keep_the_columns_of_their_generation() {
    let mut table = altered();
    let ids = |columns: &StoredColumns<'_>| columns.encodings.iter().map(|id| id.0).collect::<Vec<_>>();
    let (before, now) = (table.columns_of(0), table.columns_of(1));
    assert_eq!((ids(&before), before.sealed.as_ref()), (vec![1, 4], &[0][..]));
    assert_eq!((ids(&now), now.sealed.as_ref()), (vec![1, 7], &[1][..]));
    assert_eq!(table.stored_columns(), now);
    assert!(table.columns_of(5).is_empty());
    let lacks = |table: &Manifest, generation, id| table.lacks(generation, EncodingId(id));
    assert_eq!([1, 4, 7].map(|id| lacks(&table, 0, id)), [false, false, true]);
    assert!(!lacks(&table, 1, 7) && lacks(&table, 5, 1));
    assert_eq!(table.lacking(EncodingId(7)), [0]);
    assert!(table.lacking(EncodingId(1)).is_empty());
    assert_eq!(table.next_encoding(), EncodingId(8));
    assert!(!table.is_incomplete(&table.parts[0]));
    table.generations[0].incomplete = true;
    assert!(table.is_incomplete(&table.parts[0]));
    // One that has no part is forgotten, and what was prepared before it no part of the table.
    let before = table.clone();
    table.begin_generation();
    assert_eq!(table.generations.iter().map(|generation| generation.number).collect::<Vec<_>>(), [0]);
    assert!(table.is_written_like(&table.clone()) && !table.is_written_like(&before));
    table.parts.iter_mut().for_each(|part| part.generation = 2);
    table.forget_unused();
    assert!(table.generations.is_empty());
    table.check().unwrap();
}

/// Both forms of a body read the same, and a table of before has its text of before.
#[test]
fn a_table_that_was_never_altered_says_nothing_of_generations() {
    let text = String::from_utf8(manifest().to_json().unwrap()).unwrap();
    assert!(!text.contains("generation") && !text.contains("unsealed"));
    let text = altered().to_json().unwrap();
    assert_eq!(serde_json::from_slice::<Manifest>(&text).unwrap(), altered());
}

#[test]
fn what_names_no_generation_is_refused() {
    type Spoil = fn(&mut Manifest);
    let cases: [(Spoil, ManifestFault); 13] = [
        (|m| m.generations.clear(), ManifestFault::PartGeneration { index: 0 }),
        (|m| m.parts[1].generation = 2, ManifestFault::PartGeneration { index: 1 }),
        (|m| m.generations[0].number = 1, ManifestFault::Generation { index: 0 }),
        (|m| m.generations.push(m.generations[0].clone()), ManifestFault::Generation { index: 1 }),
        (|m| m.generations[0].encodings.reverse(), ManifestFault::Generation { index: 0 }),
        (|m| m.generations[0].encodings = vec![EncodingId(1); 2], ManifestFault::Generation { index: 0 }),
        (|m| m.generations[0].sealed = vec![0, 0], ManifestFault::Generation { index: 0 }),
        (|m| m.generations[0].sealed = vec![2], ManifestFault::Generation { index: 0 }),
        (|m| m.parts.iter_mut().for_each(|part| part.generation = 1), ManifestFault::Generation { index: 0 }),
        (|m| m.unsealed = vec![2], ManifestFault::Unsealed),
        (|m| m.unsealed = vec![0, 0], ManifestFault::Unsealed),
        (
            |m| m.generations = vec![m.generations[0].clone(); 256],
            ManifestFault::TooMany { what: Counted::Generations, found: 256, limit: 255 },
        ),
        (|m| m.generations[0].sealed = (0..5000).collect(), ManifestFault::Generation { index: 0 }),
    ];
    for (at, (spoil, expected)) in cases.into_iter().enumerate() {
        let mut table = altered();
        spoil(&mut table);
        assert_eq!(super::check(&table).unwrap_err(), expected, "{at}");
    }
    // A part has the files that its generation has.
    let mut table = altered();
    (table.generations[0].encodings, table.generations[0].sealed) = (Vec::new(), Vec::new());
    assert!(table.check().is_err());
    table.parts.iter_mut().for_each(|part| part.encrypted = None);
    table.check().unwrap();
    table.clear_columns.clear();
    table.parts.iter_mut().for_each(|part| part.clear = None);
    assert!(table.check().is_err(), "a part without any file");
}
