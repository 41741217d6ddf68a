// SPDX-License-Identifier: Apache-2.0
//! Versions that were replaced, and copies of versions.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::*;

const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

fn listed(store: &TableStore, folder: &str) -> usize {
    store.list(folder).unwrap().len()
}

#[test]
fn a_replaced_version_is_found_until_it_is_swept() {
    let mut random = Random::fresh();
    let (_guard, [local, memory]) = stores();
    for store in [&local, &memory] {
        let old = chunks(&mut random, 9000, 100);
        let first = write(store, 1, &old).unwrap();
        assert_eq!(store.load_version(&first.digest()).unwrap().unwrap(), first);
        let second = write(store, 2, &chunks(&mut random, 100, 100)).unwrap();
        assert_eq!(store.load_version(&second.digest()).unwrap().unwrap(), second);
        assert_eq!(store.load_version(&crate::digest::Digest::of(b"none")).unwrap(), None);
        // The very same commit again writes nothing down.
        store.commit(&second).unwrap();
        if store.is_directory() {
            assert_eq!(store.load_version(&first.digest()).unwrap(), None);
            continue;
        }
        assert_eq!(listed(store, VERSIONS_NAME), 1);
        // Young versions keep their parts, also where other files are swept.
        assert_eq!(store.sweep_older(YEAR, None).unwrap(), 0);
        let replaced = store.load_version(&first.digest()).unwrap().unwrap();
        assert_eq!(replaced, first);
        store.verify(replaced.manifest()).unwrap();
        let third = write(store, 3, &chunks(&mut random, 200, 100)).unwrap();
        assert_eq!((listed(store, VERSIONS_NAME), listed(store, PARTS_NAME)), (2, 6));
        // One whose file lies about its name is none.
        let (one, other) = (format!("{}.hush", first.digest()), format!("{}.hush", second.digest()));
        let folder = store.folder(VERSIONS_NAME);
        objects::put(store.objects(), &folder.clone().join(one.as_str()), second.as_bytes().to_vec().into())
            .unwrap();
        assert_eq!(store.load_version(&first.digest()).unwrap(), None);
        // A damaged one may name any part: nothing is swept beside it.
        objects::put(store.objects(), &folder.join(other.as_str()), "HUSHTBL1..".into()).unwrap();
        assert!(store.load_version(&second.digest()).is_err());
        assert_eq!(store.sweep().unwrap(), 4);
        assert_eq!((listed(store, VERSIONS_NAME), listed(store, PARTS_NAME)), (0, 2));
        store.verify(third.manifest()).unwrap();
        store.delete().unwrap();
        assert!(!objects::any(store.objects(), store.prefix()).unwrap());
    }
}

/// Whoever has seen a version is given it again until its manifest is another one, and then that.
#[test]
fn a_version_that_was_seen_is_read_again_only_if_it_changed() {
    let mut random = Random::fresh();
    let (_guard, stores) = stores();
    for store in &stores {
        assert_eq!(store.load_changed(None).unwrap_err().code(), "HUSH-T020");
        let first = write(store, 1, &chunks(&mut random, 100, 100)).unwrap();
        let seen = store.load_changed(None).unwrap();
        assert_eq!(**seen.manifest(), first);
        let again = store.load_changed(Some(&seen)).unwrap();
        assert!(std::sync::Arc::ptr_eq(again.manifest(), seen.manifest()), "nothing was read");
        let second = write(store, 2, &chunks(&mut random, 100, 100)).unwrap();
        let changed = store.load_changed(Some(&seen)).unwrap();
        assert_eq!(**changed.manifest(), second);
        let damaged =
            [&second.as_bytes()[..100], &[second.as_bytes()[100] ^ 1], &second.as_bytes()[101..]].concat();
        objects::put(store.objects(), &store.manifest_path(), damaged.into()).unwrap();
        assert_eq!(store.load_changed(Some(&changed)).unwrap_err().code(), "HUSH-T005");
        store.delete().unwrap();
        assert_eq!(store.load_changed(Some(&changed)).unwrap_err().code(), "HUSH-T020");
    }
}

#[test]
fn versions_are_copied_between_all_kinds_of_stores() {
    let mut random = Random::fresh();
    let (_guard, from) = stores();
    for from in &from {
        let written = chunks(&mut random, 3 * 8192, 4 << 20);
        let signed = write(from, 1, &written).unwrap();
        let (_guard, to) = stores();
        for to in &to {
            let told = AtomicU64::new(0);
            let copy = |version: &SignedManifest| {
                from.copy_version(version, to, &|bytes| {
                    told.fetch_add(bytes, Ordering::SeqCst);
                })
            };
            let copied = copy(&signed).unwrap();
            let bytes: u64 = named_files(signed.manifest()).map(|(_, file)| file.bytes).sum();
            assert_eq!((copied.present, copied.bytes, told.load(Ordering::SeqCst)), (0, bytes, bytes));
            assert_eq!(copied.files, named_files(signed.manifest()).count() as u64);
            assert_holds(to, &written);
            to.verify(to.load().unwrap().manifest()).unwrap();
            let again = copy(&signed).unwrap();
            assert_eq!((again.files, again.present), (0, copied.files));
            // A newer version there, then another table.
            write(to, 2, &chunks(&mut random, 10, 10)).unwrap();
            assert_eq!(copy(&signed).unwrap_err().code(), "HUSH-T022");
            to.delete().unwrap();
            let other =
                TableIdentity { table_id: crate::digest::TableId::from_bytes([9; 16]), ..identity(1) };
            let mut writer = TableWriter::begin(to, other, layout()).unwrap();
            push_all(&mut writer, &chunks(&mut random, 10, 10)).unwrap();
            let present = writer.finish(vec![1], credentials(7).1).unwrap();
            assert_eq!(copy(&signed).unwrap_err().code(), "HUSH-T021");
            assert_eq!(to.load().unwrap(), present);
        }
    }
}

#[test]
fn an_altered_part_is_not_copied() {
    let mut random = Random::fresh();
    let (from, to) = (TableStore::memory(), TableStore::memory());
    let signed = write(&from, 1, &chunks(&mut random, 100, 100)).unwrap();
    let (kind, file) = named_files(signed.manifest()).last().unwrap();
    let path = from.part_path(kind, &file.digest);
    let altered = vec![7; usize::try_from(file.bytes).unwrap()];
    objects::put(from.objects(), &path, altered.into()).unwrap();
    assert_eq!(from.copy_version(&signed, &to, &|_| ()).unwrap_err().code(), "HUSH-T031");
    assert_eq!(to.load().unwrap_err().code(), "HUSH-T020");
    assert_eq!(to.foreign_object().unwrap(), None);
    objects::put(to.objects(), &Path::from("holiday/beach.jpg"), "..".into()).unwrap();
    assert_eq!(to.foreign_object().unwrap().unwrap(), "holiday");
}
