// SPDX-License-Identifier: Apache-2.0
//! Cubes of parts: written with them, read back, copied, swept, and refused where they are not those of their part.

use std::sync::{Arc, Mutex};

use super::*;
use crate::digest::{AppendId, CubesId};
use crate::error::PartFault;
use crate::part::{CubeSums, PartCubes, StoredCube, WrittenPart};

/// Cubes that tell their part's chunks.
fn cubes(first: u32, chunks: u32) -> PartCubes {
    let mut sums = CubeSums::zeros(2, &[32, 70]);
    sums.set(0, 0, first.into());
    sums.set(1, 1, chunks.into());
    let cubes = vec![StoredCube::new(3, &sums), StoredCube::new(7, &CubeSums::zeros(1, &[9]))];
    PartCubes { id: CubesId::from_bytes([first as u8; 16]), cubes }
}

/// Gives cubes to all parts but those that begin with chunk 1, and writes down which parts there were.
fn with_cubes(asked: &Arc<Mutex<Vec<(u32, u32)>>>) -> PreparedOfPart {
    let asked = asked.clone();
    Box::new(move |first, chunks| {
        asked.lock().unwrap().push((first, chunks));
        Prepared { cubes: (first != 1).then(|| cubes(first, chunks)), ..Prepared::default() }
    })
}

fn cube_names(store: &TableStore) -> Vec<String> {
    file_names(store).into_iter().filter(|name| name.ends_with(".cubes")).collect()
}

#[test]
fn writers_store_the_cubes_of_their_parts() {
    let mut random = Random::fresh();
    let written = chunks(&mut random, 3 * 8192 + 9, 9);
    let (_guard, stores) = stores();
    for store in &stores {
        let asked = Arc::default();
        let begin = |stored| {
            let writer = TableWriter::resume(store, identity(1), layout(), stored).unwrap();
            // A part for each chunk.
            writer.with_part_bytes(1).with_parts_in_flight(2).with_prepared(with_cubes(&asked))
        };
        let mut writer = begin(Vec::new());
        push_all(&mut writer, &written[..3]).unwrap();
        drop(writer);
        assert!(cube_names(store).is_empty());
        asked.lock().unwrap().clear();

        let mut writer = begin(Vec::new());
        push_all(&mut writer, &written[..3]).unwrap();
        let stored = writer.stored().to_vec();
        writer.suspend();
        let resumed = stored.len();
        let mut writer = begin(stored);
        assert_eq!(writer.stored().len(), resumed);
        push_all(&mut writer, &written[resumed..]).unwrap();
        let signed = writer.finish(vec![1], credentials(7).1).unwrap();

        let told = asked.lock().unwrap().clone();
        let tail: Vec<_> = (resumed as u32..4).map(|first| (first, 1)).collect();
        assert_eq!(told[told.len() - tail.len()..], tail);
        let manifest = signed.manifest();
        for (place, entry) in manifest.placed_parts() {
            let expected = (place.first_chunk != 1).then(|| cubes(place.first_chunk, entry.chunks));
            assert_eq!(store.cubes(entry).unwrap(), expected);
            for number in [3, 7, 8] {
                let cube = expected.as_ref().and_then(|cubes| cubes.cube(number).cloned());
                assert_eq!(store.cube(entry, number).unwrap(), cube, "{number}");
            }
            assert_eq!(entry.has_cube(7), expected.is_some());
        }
        store.verify(manifest).unwrap();
        assert_holds(store, &written);
        store.sweep().unwrap();
        assert_eq!(cube_names(store).len(), 3);
        let copy = TableStore::memory();
        store.copy_version(&signed, &copy, &|_| {}).unwrap();
        copy.verify(manifest).unwrap();
        assert_eq!(cube_names(&copy).len(), 3);

        // A next version without them leaves them to the sweep.
        let mut next = manifest.clone();
        next.version = 2;
        next.parts.iter_mut().for_each(|part| part.cubes = None);
        store.commit(&crate::fixture::sign(next)).unwrap();
        store.sweep().unwrap();
        assert!(cube_names(store).is_empty());
    }
}

#[test]
fn appends_store_the_cubes_of_their_parts() {
    let mut random = Random::fresh();
    let store = TableStore::memory();
    let signed = write(&store, 1, &chunks(&mut random, 10, 9)).unwrap();
    let asked = Arc::default();
    let appender = Appender::new(&store, signed.manifest(), AppendId::from_bytes([1; 16])).unwrap();
    let mut appender = appender.with_part_bytes(1).with_prepared(with_cubes(&asked));
    for chunk in chunks(&mut random, 2 * 8192 + 1, 9) {
        appender.push(&clear_rows(0, chunk.rows), chunk).unwrap();
    }
    appender.finish().unwrap();
    let found: Vec<_> = appender.stored().iter().map(|entry| store.cubes(entry).unwrap()).collect();
    assert_eq!(found, [Some(cubes(0, 1)), None, Some(cubes(2, 1))]);
    assert_eq!(*asked.lock().unwrap(), [(0, 1), (1, 1), (2, 1)]);
    drop(appender);
    assert!(cube_names(&store).is_empty());
}

#[test]
fn other_cubes_than_those_of_the_part_are_refused() {
    let mut random = Random::fresh();
    let store = TableStore::memory();
    let signed = write(&store, 1, &chunks(&mut random, 10, 9)).unwrap();
    let good = store.put_cubes(&cubes(0, 1)).unwrap();
    assert_eq!((&good.numbers, good.id), (&vec![3, 7], CubesId::from_bytes([0; 16])));
    let refused = |change: &dyn Fn(&mut crate::manifest::Cubes)| {
        let mut manifest = signed.manifest().clone();
        let mut cubes = good.clone();
        change(&mut cubes);
        manifest.parts[0].cubes = Some(cubes);
        store.verify(&manifest).err()
    };
    assert!(refused(&|_| {}).is_none());
    let is_other = |error: Option<TableError>| {
        matches!(error, Some(TableError::BadPart { fault: PartFault::Cubes, .. }))
    };
    assert!(is_other(refused(&|cubes| cubes.id = CubesId::from_bytes([1; 16]))));
    assert!(is_other(refused(&|cubes| cubes.numbers = vec![3])));
    let file = WrittenPart::new(FileKind::Cubes, b"HUSHCUBE".to_vec(), 0, 0);
    store.put_part(&file).unwrap();
    assert!(is_other(refused(&|cubes| cubes.file = file.file)));
    let absent = refused(&|cubes| cubes.file.digest = Digest::of(b"nothing"));
    assert_eq!(absent.unwrap().code(), "HUSH-T030");

    // What no file can hold is not stored.
    let nothing = PartCubes { id: good.id, cubes: Vec::new() };
    let mut twice = cubes(0, 1);
    twice.cubes.swap(0, 1);
    let mut short = cubes(0, 1);
    short.cubes[1].sums = Bytes::new();
    for bad in [nothing, twice, short] {
        assert!(is_other(store.put_cubes(&bad).err()));
    }
    assert_eq!(cube_names(&store).len(), 2);
}
