// SPDX-License-Identifier: Apache-2.0
//! Parts that take the place of others: their zones, and the files of the others for whoever still reads them.

use std::time::{Duration, SystemTime};

use super::*;
use crate::digest::AppendId;
use crate::manifest::{Manifest, PartEntry};
use crate::part::{MIN_ZONED_PARTS, Zones};

/// A table of so many parts of one chunk, with zones from [`MIN_ZONED_PARTS`] on.
fn write_parts(store: &TableStore, version: u64, random: &mut Random, parts: usize) -> SignedManifest {
    let mut writer = TableWriter::begin(store, identity(version), layout()).unwrap().with_part_bytes(1);
    push_all(&mut writer, &chunks(random, parts as u64 * 8192, 100)).unwrap();
    writer.finish(vec![1], credentials(7).1).unwrap()
}

/// Parts of an append, of one chunk each but for the last.
fn appended(store: &TableStore, table: &Manifest, random: &mut Random, parts: usize) -> Appender {
    let id = AppendId::from_bytes([parts as u8; 16]);
    let mut appender = Appender::new(store, table, id).unwrap().with_part_bytes(1);
    for chunk in chunks(random, parts as u64 * 8192 - 8000, 100) {
        let first = 1_000_000 + u64::from(chunk.index) * u64::from(CHUNK_ROWS);
        appender.push(&clear_rows(first, chunk.rows), chunk).unwrap();
    }
    appender.finish().unwrap();
    appender
}

/// The zones say of each of their parts what its footer says.
fn assert_true(store: &TableStore, manifest: &Manifest, zones: &Zones) {
    for (index, entry) in manifest.parts.iter().enumerate().take(zones.parts()) {
        assert!(zones.agrees(index, &store.open_clear(manifest, entry).unwrap()).unwrap(), "{index}");
    }
}

#[test]
fn zones_follow_the_parts_that_were_replaced() {
    let mut random = Random::fresh();
    let store = TableStore::memory();
    let mut version = 0;
    for (replaced, made) in [(0..1, 1), (0..10, 9), (2..5, 1), (3..4, 4), (9..10, 2), (0..3, 1), (0..10, 1)] {
        version += 1;
        let before = write_parts(&store, version, &mut random, 10);
        let zones = store.zones(before.manifest()).unwrap().unwrap();
        let mut appender = appended(&store, before.manifest(), &mut random, made);
        let bounds = appender.take_bounds();
        let mut next = before.manifest().clone();
        next.version += 1;
        next.splice_parts(replaced.clone(), appender.stored().iter().cloned());
        store.put_spliced_zones(&mut next, &zones, replaced.clone(), bounds).unwrap();
        next.check().unwrap();
        assert_eq!(next.zones.is_some(), next.parts.len() >= MIN_ZONED_PARTS);
        if let Some(zones) = store.zones(&next).unwrap() {
            assert_eq!(zones.parts(), next.parts.len());
            assert_true(&store, &next, &zones);
        }
        store.verify(&next).unwrap();
        appender.keep();
    }
}

/// A file of the first parts alone, as tables have that grew since.
#[test]
fn parts_that_no_zone_names_stay_without() {
    let mut random = Random::fresh();
    let store = TableStore::memory();
    let before = write_parts(&store, 1, &mut random, 9);
    let zones = store.zones(before.manifest()).unwrap().unwrap();
    let grown = appended(&store, before.manifest(), &mut random, 4);
    let mut table = before.manifest().clone();
    table.splice_parts(9..9, grown.stored().iter().cloned());
    for (replaced, named) in [(0..2, 9 - 2 + 3), (7..11, 7 + 3), (9..12, 9 + 3), (10..12, 9)] {
        let mut appender = appended(&store, &table, &mut random, 3);
        let bounds = appender.take_bounds();
        let mut next = table.clone();
        next.splice_parts(replaced.clone(), appender.stored().iter().cloned());
        store.put_spliced_zones(&mut next, &zones, replaced.clone(), bounds).unwrap();
        let found = store.zones(&next).unwrap().unwrap();
        assert_eq!(found.parts(), named, "{replaced:?}");
        assert_true(&store, &next, &found);
        store.verify(&next).unwrap();
    }
}

/// Dates a file back by more than a day.
fn age(file: &std::path::Path) {
    let past = SystemTime::now() - KEPT - Duration::from_secs(60);
    std::fs::File::options().append(true).open(file).unwrap().set_modified(past).unwrap();
}

#[test]
fn files_of_replaced_parts_stay_for_a_day() {
    let mut random = Random::fresh();
    let directory = tempfile::tempdir().unwrap();
    let store = TableStore::local(directory.path()).unwrap();
    let old = write_parts(&store, 1, &mut random, 9);
    for entry in std::fs::read_dir(directory.path().join(PARTS_NAME)).unwrap() {
        age(&entry.unwrap().path());
    }
    let access = store.wait_for_writers(Duration::from_secs(9)).unwrap();
    let appender = appended(&store, old.manifest(), &mut random, 1);
    let mut next = old.manifest().clone();
    next.version += 1;
    next.splice_parts(0..9, appender.stored().iter().cloned());
    next.zones = None;
    let next = SignedManifest::sign(next, &credentials(7).0, credentials(7).1).unwrap();
    store.keep_for_readers(&old, &old.manifest().parts).unwrap();
    access.commit(&next).unwrap();
    appender.keep();
    // Whoever began with the version before reads on.
    assert_eq!(access.tidy().unwrap(), 0);
    store.verify(old.manifest()).unwrap();
    let lists = || std::fs::read_dir(directory.path().join(VERSIONS_NAME)).unwrap();
    assert_eq!(lists().count(), 1);
    age(&lists().next().unwrap().unwrap().path());
    // Two files of each part, and the zones.
    assert_eq!(access.tidy().unwrap(), 19);
    assert_eq!(lists().count(), 0);
    store.verify(next.manifest()).unwrap();
    drop(access);
    store.keep_for_readers(&next, &next.manifest().parts).unwrap();
    store.delete().unwrap();
    assert!(!directory.path().exists());
}

#[test]
fn parts_of_an_encryption_keep_their_numbers() {
    let mut random = Random::fresh();
    let store = TableStore::memory();
    let written = chunks(&mut random, 6 * 8192, 100);
    let mut writer = TableWriter::begin(&store, identity(1), layout()).unwrap().with_part_bytes(1);
    push_all(&mut writer, &written).unwrap();
    let signed = writer.finish(vec![1], credentials(7).1).unwrap();
    let numbers = |table: &Manifest| table.parts.iter().map(|part| part.first_chunk).collect::<Vec<_>>();
    let mut table = signed.manifest().clone();
    let new = appended(&store, &table, &mut random, 1).stored().to_vec();
    table.splice_parts(1..3, new.clone());
    assert_eq!(numbers(&table), [None, None, Some(3), Some(4), Some(5)]);
    assert_eq!((table.rows, table.written_index(2), table.written_index(1)), (4 * 8192 + 192, 3, 0));
    // They keep them when they move again, and lose them where they stand by chance.
    table.splice_parts(0..1, Vec::<PartEntry>::new());
    assert_eq!(numbers(&table), [None, Some(3), Some(4), Some(5)]);
    table.splice_parts(0..0, [signed.manifest().parts[0].clone(), signed.manifest().parts[1].clone()]);
    assert_eq!(numbers(&table), [None, None, None, None, None, None]);
    // A range beyond the end takes what there is.
    table.splice_parts(5..9, Vec::<PartEntry>::new());
    assert_eq!(table.parts.len(), 5);
}
