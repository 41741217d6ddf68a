// SPDX-License-Identifier: Apache-2.0
//! Zone files: what the footers of all parts say, also after an interruption; copied, swept and checked as parts are.

use arrow::array::Array;

use super::*;
use crate::Manifest;
use crate::error::PartFault;
use crate::part::{MIN_ZONED_PARTS, Zones};

/// A table of so many parts of one chunk.
fn write_parts(store: &TableStore, version: u64, random: &mut Random, parts: usize) -> SignedManifest {
    let mut writer = TableWriter::begin(store, identity(version), layout()).unwrap().with_part_bytes(1);
    push_all(&mut writer, &chunks(random, parts as u64 * 8192 - 8000, 100)).unwrap();
    writer.finish(vec![1], credentials(7).1).unwrap()
}

/// The zones say of every part what its footer says.
fn assert_true(store: &TableStore, manifest: &Manifest, zones: &Zones) {
    assert_eq!(zones.parts(), manifest.parts.len());
    for (index, entry) in manifest.parts.iter().enumerate() {
        let part = store.open_clear(manifest, entry).unwrap();
        let mut bounded = 0;
        for column in 0..manifest.clear_columns.len() {
            let (found, Some(expected)) = (zones.bounds(column), part.bounds(column).unwrap()) else {
                continue;
            };
            let found = found.unwrap();
            assert_eq!(&found.min.slice(index, 1), &expected.min);
            assert_eq!(&found.max.slice(index, 1), &expected.max);
            assert_eq!(found.null_count.slice(index, 1), expected.null_count);
            bounded += usize::from(expected.min.null_count() == 0);
        }
        assert!(bounded > 0);
    }
    assert!(zones.bounds(manifest.clear_columns.len()).is_none());
}

#[test]
fn tables_of_several_parts_have_zones() {
    let mut random = Random::fresh();
    let (_guard, stores) = stores();
    for store in &stores {
        for (version, parts) in [(1, MIN_ZONED_PARTS - 1), (2, MIN_ZONED_PARTS), (3, 21)] {
            let signed = write_parts(store, version, &mut random, parts);
            let manifest = signed.manifest();
            assert_eq!(manifest.parts.len(), parts);
            assert_eq!(manifest.zones.is_some(), parts >= MIN_ZONED_PARTS);
            if let Some(zones) = store.zones(manifest).unwrap() {
                assert_true(store, manifest, &zones);
            }
            store.verify(manifest).unwrap();
        }
        // The present version's stays; the one before goes.
        store.sweep().unwrap();
        let zones = |store| file_names(store).iter().filter(|name| name.ends_with(".zones.parquet")).count();
        let signed = store.load().unwrap();
        assert_eq!(zones(store), 1);
        let copy = TableStore::memory();
        store.copy_version(&signed, &copy, &|_| {}).unwrap();
        assert_true(&copy, signed.manifest(), &copy.zones(signed.manifest()).unwrap().unwrap());
        copy.verify(signed.manifest()).unwrap();
        store.delete().unwrap();
        assert_eq!(zones(store), 0);
    }
}

#[test]
fn an_interrupted_writer_goes_on_to_the_same_zones() {
    let mut random = Random::fresh();
    let written = chunks(&mut random, 12 * 8192, 100);
    let (whole, cut) = (TableStore::memory(), TableStore::memory());
    let begin =
        |store, stored| TableWriter::resume(store, identity(1), layout(), stored).unwrap().with_part_bytes(1);
    let mut writer = begin(&whole, Vec::new());
    push_all(&mut writer, &written).unwrap();
    let expected = writer.finish(vec![1], credentials(7).1).unwrap();
    let mut writer = begin(&cut, Vec::new());
    push_all(&mut writer, &written[..5]).unwrap();
    // Those in flight are waited for by the next push.
    let stored = writer.stored().to_vec();
    assert!(stored.len() > 1);
    writer.suspend();
    let mut writer = begin(&cut, stored);
    let resumed = writer.stored().len();
    push_all(&mut writer, &written[resumed..]).unwrap();
    let found = writer.finish(vec![1], credentials(7).1).unwrap();
    assert_eq!(found.manifest().zones, expected.manifest().zones);
    assert!(found.manifest().zones.is_some());
}

#[test]
fn a_zone_file_that_lies_or_is_lost_is_found() {
    let mut random = Random::fresh();
    let store = TableStore::memory();
    let signed = write_parts(&store, 1, &mut random, 9);
    let mut manifest = signed.manifest().clone();
    let file = manifest.zones.unwrap();
    let path = store.part_path(FileKind::Zones, &file.digest);
    // Of another table, and of this one with two parts exchanged.
    let other = write_parts(&TableStore::memory(), 1, &mut random, 10);
    manifest.zones = other.manifest().zones;
    assert!(matches!(store.zones(&manifest), Err(TableError::PartMissing { .. })));
    manifest.zones = Some(file);
    manifest.parts.swap(1, 2);
    for part in [1, 2] {
        manifest.parts[part].encrypted = signed.manifest().parts[part].encrypted;
    }
    let lied = store.verify(&manifest).unwrap_err();
    assert!(matches!(lied, TableError::BadPart { fault: PartFault::Zone { index: 1 }, .. }), "{lied}");
    manifest.parts.truncate(8);
    assert!(matches!(store.zones(&manifest), Err(TableError::BadPart { fault: PartFault::Rows { .. }, .. })));
    // Parts that came later are not in it.
    let mut longer = signed.manifest().clone();
    longer.parts.push(longer.parts[0].clone());
    assert_eq!(store.zones(&longer).unwrap().unwrap().parts(), 9);
    let bytes = store.open_part(FileKind::Zones, &file).unwrap().read_all().unwrap();
    for at in [0, bytes.len() / 2, bytes.len() - 1] {
        let mut damaged = bytes.to_vec();
        damaged[at] ^= 1;
        objects::put(store.objects(), &path, damaged.into()).unwrap();
        assert_eq!(store.zones(signed.manifest()).unwrap_err().code(), "HUSH-T031");
    }
    objects::delete(store.objects(), &path).unwrap();
    assert_eq!(store.zones(signed.manifest()).unwrap_err().code(), "HUSH-T030");
    assert!(store.verify(signed.manifest()).is_err());
}
