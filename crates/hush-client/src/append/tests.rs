// SPDX-License-Identifier: Apache-2.0
//! Rows that are added by one, by many at once, twice, and to a table that changes meanwhile; against the rows that were given.

use hush_remote::Silent;
use hush_table::TableStore;
use hush_table::source::OpenOptions;

use super::*;
use crate::lived::Case;

#[test]
fn appended_rows_are_rows_of_the_table() {
    let case = Case::new();
    let report = case.append(10..15, None).unwrap();
    assert_eq!((report.rows, report.version, report.table_rows, report.rows_beyond), (5, 2, 15, 0));
    // More than a part has, so that chunks of an append are numbered through its parts; then few again.
    let many = 15..15 + 64 * 8192 + 700;
    assert_eq!(case.append(many.clone(), Some("many")).unwrap().version, 3);
    assert_eq!(case.append([3, 4], None).unwrap().table_rows, many.end as u64 + 2);
    case.check(&(0..many.end).chain([3, 4]).collect::<Vec<_>>());
    let table = TableStore::local_existing(case.path("T")).unwrap().load().unwrap();
    let firsts = table.manifest().parts.iter().map(|part| part.append.map(|append| append.first));
    let numbered: Vec<_> = firsts.collect();
    assert!(numbered.len() >= 5 && numbered[0].is_none() && numbered[1] == Some(0), "{numbered:?}");
    // Parts end by their bytes, so that the numbers of the later ones are not told here.
    assert!(numbered.iter().flatten().any(|first| *first > 0), "{numbered:?}");
}

#[test]
fn the_history_tells_of_appends_and_goes_on_after_a_replacement() {
    let case = Case::new();
    case.append(10..15, None).unwrap();
    case.append([], None).unwrap();
    case.append(15..18, Some("three")).unwrap();
    case.append(15..18, Some("three")).unwrap();
    case.encrypt(true);
    case.append(10..11, None).unwrap();
    let history =
        crate::history(TablePlace::Directory(&case.path("T")), Some(&case.owner), &case.pins).unwrap();
    let told: Vec<_> = history
        .versions
        .iter()
        .map(|change| (change.version, change.what, change.added, change.removed, change.living_rows))
        .collect();
    let expected = [
        (5, "append", 1, 0, Some(11)),
        (4, "encrypt", 10, 18, Some(10)),
        (3, "append", 3, 0, Some(18)),
        (2, "append", 5, 0, Some(15)),
        (1, "encrypt", 10, 0, Some(10)),
    ];
    assert_eq!(told, expected);
    assert_eq!((history.since, history.living_rows, history.parts), (Some(1), 11, 2));
}

#[test]
fn no_rows_add_nothing() {
    let case = Case::new();
    let before = case.files();
    for batch in [None, Some("empty")] {
        let report = case.append([], batch).unwrap();
        assert_eq!((report.rows, report.version, report.table_rows), (0, 1, 10));
    }
    assert_eq!(case.files(), before);
}

#[test]
fn a_batch_is_taken_once() {
    let case = Case::new();
    assert_eq!(case.append(10..20, Some("monday")).unwrap().version, 2);
    let files = case.files();
    for _ in 0..2 {
        let again = case.append(10..20, Some("monday")).unwrap();
        assert_eq!((again.rows, again.bytes, again.version, again.known_since), (10, 0, 2, Some(2)));
    }
    // Other rows, fewer, more, in another order, none.
    let others: [Vec<usize>; 5] =
        [(11..21).collect(), (10..19).collect(), (10..21).collect(), (10..20).rev().collect(), vec![]];
    for rows in others {
        let refused = case.append(rows, Some("monday")).unwrap_err();
        assert_eq!(refused.code(), "HUSH-C075");
        let text = refused.to_string();
        assert!(text.contains("\"monday\"") && text.contains("version 2, with 10 rows"), "{text}");
    }
    assert_eq!(case.files(), files);
    // The same rows under another name, or under none, are other rows.
    assert_eq!(case.append(10..20, Some("tuesday")).unwrap().version, 3);
    assert_eq!(case.append(10..20, None).unwrap().version, 4);
    assert_eq!(case.append(10..20, Some("monday")).unwrap().known_since, Some(2));
    let thrice = (0..20).chain(10..20).chain(10..20);
    case.check(&thrice.collect::<Vec<_>>());
}

#[test]
fn names_of_batches_are_short_and_not_empty() {
    let case = Case::new();
    for name in ["", &"x".repeat(257)] {
        assert_eq!(case.append([1], Some(name)).unwrap_err().code(), "HUSH-U001");
    }
    assert_eq!(case.append([1], Some(&"x".repeat(256))).unwrap().version, 2);
}

/// The manifest is public: neither the names of batches stand in it, nor anything that tells equal rows.
#[test]
fn a_manifest_does_not_tell_names_and_contents_of_batches() {
    let case = Case::new();
    for name in ["salaries of may", "salaries of june"] {
        case.append(10..20, Some(name)).unwrap();
    }
    let table = TableStore::local_existing(case.path("T")).unwrap().load().unwrap();
    assert!(!String::from_utf8_lossy(table.as_bytes()).contains("salaries"));
    let batches = &table.manifest().batches;
    assert!(batches[0].tag != batches[1].tag && batches[0].content != batches[1].content);
}

#[test]
fn rows_that_do_not_fit_change_nothing() {
    let case = Case::new();
    let before = case.files();
    for (rows, code) in [
        ("id,ward,load\n1,a,2\n", "HUSH-S021"),
        ("id,ward,load,level\nx,a,1001,0\n", "HUSH-D"),
        ("id,ward,load,level\nx,a,many,0\n", "HUSH-D"),
    ] {
        let source = Source::from_bytes(rows.as_bytes().to_vec().into(), &OpenOptions::default()).unwrap();
        let options = AppendOptions { source, ..case.options([], None) };
        let refused = append(TablePlace::Directory(&case.path("T")), &options, &case.owner, &Silent);
        let refused = refused.unwrap_err();
        assert!(refused.code().starts_with(code), "{} {refused}", refused.code());
    }
    assert_eq!(case.files(), before);
    case.check(&(0..10).collect::<Vec<_>>());
    let stranger = OwnerKey::temporary().unwrap();
    let refused =
        append(TablePlace::Directory(&case.path("T")), &case.options([1], None), &stranger, &Silent);
    assert_eq!(refused.unwrap_err().code(), "HUSH-K020");
}

/// Eight append at a time, two of them the same batch.
#[test]
fn all_that_append_at_once_are_in_the_table() {
    for in_bucket in [false, true] {
        let case = Case::new();
        let (path, bucket) = (case.path("T"), case.bucket());
        let place = if in_bucket { TablePlace::Bucket(&bucket) } else { TablePlace::Directory(&path) };
        let reports = std::thread::scope(|scope| {
            let append_rows = |number: usize| {
                let named = number.min(6);
                let rows = 100 * named + 100..100 * named + 100 + named + 1;
                // Each as a process of its own would: with what it remembers itself.
                let pins = Pins::in_directory(&case.path(&format!("pins-{number}")));
                let batch = format!("batch {named}");
                let options = AppendOptions { pins, threads: 1, ..case.options(rows, Some(&batch)) };
                append(place, &options, &case.owner, &Silent).unwrap()
            };
            let threads: Vec<_> = (0..8).map(|number| scope.spawn(move || append_rows(number))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        let mut versions: Vec<u64> = reports
            .iter()
            .filter(|report| report.known_since.is_none())
            .map(|report| report.version)
            .collect();
        versions.sort_unstable();
        assert_eq!(versions, (2..9).collect::<Vec<_>>());
        assert_eq!(reports.iter().filter(|report| report.known_since.is_some()).count(), 1);
        let manifest = place.look(&case.pins).unwrap();
        assert_eq!(manifest.manifest().rows, 10 + (1..8).sum::<u64>());
        // By the order in which they came.
        let mut rows: Vec<usize> = (0..10).collect();
        for part in manifest.manifest().parts.iter().skip(1) {
            let named = part.rows as usize - 1;
            rows.extend(100 * named + 100..100 * named + 100 + named + 1);
        }
        case.check_at(place, &rows);
        // Parts of the batch that came second are gone again; in a bucket others may rely on them.
        if !in_bucket {
            assert_eq!(case.files(), 2 * manifest.manifest().parts.len());
        }
    }
}

/// Another owner's process encrypts the table anew between the first look and the commit.
#[test]
fn rows_for_a_table_that_was_replaced_are_refused() {
    let case = Case::new();
    let (bucket, local) = (case.bucket(), TableStore::local_existing(case.path("T")).unwrap());
    let (place, options) = (TablePlace::Bucket(&bucket), case.options(10..20, None));
    let opened = place.open(case.owner.seed(), &case.pins).unwrap();
    let batches = case.owner.seed().batch_key([0; 16]);
    let (owner, destination) = (case.owner.seed(), Destination::of(place).unwrap());
    let append = Append { place, options: &options, owner, opened, batches, destination };
    let stored = append.store(false, &Silent).unwrap();
    case.encrypt(true);
    local.copy_version(&local.load().unwrap(), &bucket, &|_| ()).unwrap();
    assert_eq!(append.commit(stored).unwrap_err().code(), "HUSH-C074");
    case.check_at(TablePlace::Bucket(&bucket), &(0..10).collect::<Vec<_>>());
}
