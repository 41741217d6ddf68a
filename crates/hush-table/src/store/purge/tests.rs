// SPDX-License-Identifier: Apache-2.0
//! Purges of directories and object stores: what goes, what stays whoever else is at work, and what a second purge finishes.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ed25519_dalek::Signer;
use object_store::path::Path;

use super::*;
use crate::delivery::{DELIVERY_FORMAT, Delivery, DeliveryId, SignedDelivery, certified_bytes};
use crate::digest::{DeviceId, StreamId};
use crate::fixture::{Random, credentials, identity, layout, signer, table_id};
use crate::manifest::{ChangeKind, PartFile};
use crate::part::FileKind;
use crate::store::tests::interrupted::FullAfter;
use crate::store::tests::{assert_holds, chunks, push_all, stores, write};
use crate::store::{TableWriter, named_files};
use crate::{EncodedChunk, JOURNAL_NAME};

/// A table whose second version has other files than its first.
fn replaced(store: &TableStore) -> (SignedManifest, SignedManifest, Vec<EncodedChunk>) {
    let mut random = Random::fresh();
    let first = write(store, 1, &chunks(&mut random, 9000, 1 << 20)).unwrap();
    let written = chunks(&mut random, 100, 100);
    let second = write(store, 2, &written).unwrap();
    (first, second, written)
}

fn purge(store: &TableStore, present: &SignedManifest, run: PurgeRun) -> Option<Purge> {
    let access = store.wait_for_writers(Duration::ZERO).unwrap();
    access.purge(&present.digest(), run).unwrap()
}

/// Everything below the table's place, by path, without locks.
fn all_files(store: &TableStore) -> Vec<String> {
    let mut all = Vec::new();
    for folder in [PARTS_NAME, KEYS_NAME, VERSIONS_NAME, DELIVERIES_NAME] {
        all.extend(store.list(folder).unwrap().into_iter().map(|listed| format!("{folder}/{}", listed.name)));
    }
    all.retain(|path| !path.ends_with(files::LOCK_NAME));
    all.sort();
    all
}

fn paths(files: &[PlacedFile]) -> Vec<String> {
    files.iter().map(|file| file.path.clone()).collect()
}

fn part_paths(manifest: &SignedManifest) -> Vec<String> {
    let name = |(kind, file): (FileKind, PartFile)| format!("{PARTS_NAME}/{}", kind.file_name(&file.digest));
    let mut names: Vec<_> = named_files(manifest.manifest()).map(name).collect();
    names.sort();
    names
}

/// A compaction keeps the files that it replaces for readers, and says which they are.
#[test]
fn what_is_kept_for_readers_goes_with_its_list() {
    let directory = tempfile::tempdir().unwrap();
    let store = TableStore::local(directory.path()).unwrap();
    let (first, second, written) = replaced(&store);
    store.keep_for_readers(&first, &first.manifest().parts).unwrap();
    let listed = store.list(VERSIONS_NAME).unwrap();
    assert_eq!(listed.len(), 1);
    let purged = purge(&store, &second, PurgeRun::Delete).unwrap();
    assert!(paths(&purged.deleted).contains(&format!("{VERSIONS_NAME}/{}", listed[0].name)));
    assert_eq!(all_files(&store), part_paths(&second));
    assert_holds(&store, &written);
}

/// A part that no version names, whatever it holds.
fn put_unnamed(store: &TableStore, content: &'static str) -> (PartFile, String) {
    // Files are dated by ticks of the system's clock, and one of the version's own tick counts as older.
    std::thread::sleep(Duration::from_millis(20));
    let file = PartFile { digest: Digest::of(content.as_bytes()), bytes: content.len() as u64 };
    store.put_received(FileKind::Encrypted, file, content.into()).unwrap();
    (file, format!("{PARTS_NAME}/{}", FileKind::Encrypted.file_name(&file.digest)))
}

#[test]
fn old_versions_go_and_the_present_one_stays() {
    let (_guard, stores) = stores();
    for store in &stores {
        let (first, second, written) = replaced(store);
        let before = all_files(store);
        let looked = purge(store, &second, PurgeRun::Look).unwrap();
        assert_eq!(all_files(store), before);
        assert_eq!(purge(store, &first, PurgeRun::Delete), None, "it is not the present version");
        assert_eq!(all_files(store), before);

        let done = purge(store, &second, PurgeRun::Delete).unwrap();
        assert_eq!(done, looked);
        assert!(done.waiting.is_empty() && done.unnamed.is_empty());
        let gone = paths(&done.deleted);
        assert!(part_paths(&first).iter().all(|path| gone.contains(path)), "{gone:?}");
        assert!(gone.iter().any(|path| path.ends_with(".enc.tree")), "{gone:?}");
        let versions = gone.iter().filter(|path| path.starts_with(VERSIONS_NAME)).count();
        assert_eq!(versions, usize::from(!store.is_directory()));
        let bytes: u64 = named_files(first.manifest()).map(|(_, file)| file.bytes).sum();
        assert!(done.deleted.iter().map(|file| file.bytes).sum::<u64>() >= bytes);
        assert_eq!(all_files(store), part_paths(&second));
        assert_holds(store, &written);
        assert_eq!(store.load_version(&first.digest()).unwrap(), None);
        // Whoever still reads the old version is told so, and is given nothing else.
        let (place, entry) = first.manifest().placed_parts().next().unwrap();
        assert_eq!(store.open_encrypted(first.manifest(), place, entry).unwrap_err().code(), "HUSH-T030");
        assert_eq!(store.open_clear(first.manifest(), entry).unwrap_err().code(), "HUSH-T030");
        assert_eq!(purge(store, &second, PurgeRun::Delete), Some(Purge::default()));
    }
}

#[test]
fn what_is_nobodys_of_ours_stays() {
    let (guard, [store, _]) = stores();
    let (_, second, written) = replaced(&store);
    let parts = guard.path().join("t").join(PARTS_NAME);
    let name = |text: &str| FileKind::Encrypted.file_name(&Digest::of(text.as_bytes()));
    let outside = guard.path().join("precious");
    std::fs::write(&outside, "of somebody else").unwrap();
    std::os::unix::fs::symlink(&outside, parts.join(name("link"))).unwrap();
    std::fs::create_dir(parts.join(name("directory"))).unwrap();
    for unknown in ["notes.txt", "notes.7-1.partial", "ab.enc.parquet", &format!("{}.bak", name("copy"))] {
        std::fs::write(parts.join(unknown), "x").unwrap();
    }
    // Halves of a killed writer are ours; one that came after the present version may be of somebody at work.
    let half = parts.join(format!("{}.77-1.partial", name("half")));
    let young = parts.join(format!("{}.77-3.partial", name("young")));
    let manifest = guard.path().join("t").join(format!("{MANIFEST_NAME}.77-2.partial"));
    std::fs::write(&manifest, "half").unwrap();
    for (half, since) in [(&half, Duration::from_secs(3600)), (&young, Duration::ZERO)] {
        std::fs::write(half, "half").unwrap();
        let file = File::options().write(true).open(half).unwrap();
        file.set_modified(SystemTime::now() - since).unwrap();
    }
    let done = purge(&store, &second, PurgeRun::Delete).unwrap();
    let gone = paths(&done.deleted);
    assert!(gone.contains(&format!("{MANIFEST_NAME}.77-2.partial")), "{gone:?}");
    assert!(!half.exists() && !manifest.exists() && young.exists());
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "of somebody else");
    assert!(parts.join(name("link")).is_symlink() && parts.join(name("directory")).is_dir());
    for unknown in ["notes.txt", "notes.7-1.partial", "ab.enc.parquet", &format!("{}.bak", name("copy"))] {
        assert!(parts.join(unknown).exists(), "{unknown}");
    }
    assert_holds(&store, &written);
}

/// Parts that are sent while a server's table is purged, or a bucket's, may belong to rows that are on their way.
#[test]
fn what_others_may_be_about_to_use_stays() {
    let (guard, stores) = stores();
    for store in &stores {
        let (first, second, written) = replaced(store);
        let (_, young) = put_unnamed(store, "sent after the present version");
        let done = store.purge(&second.digest(), PurgeRun::Delete).unwrap().unwrap();
        assert_eq!(paths(&done.unnamed), std::slice::from_ref(&young));
        assert!(part_paths(&first).iter().all(|path| paths(&done.deleted).contains(path)));
        assert!(all_files(store).contains(&young));
        assert_holds(store, &written);
    }
    // A day is longer than any of them takes.
    let local = &stores[0];
    let second = local.load().unwrap();
    let (_, young) = put_unnamed(local, "sent after the present version");
    let path = guard.path().join("t").join(&young);
    let long_ago = SystemTime::now() - 2 * KEPT;
    File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    let done = local.purge(&second.digest(), PurgeRun::Look).unwrap().unwrap();
    assert_eq!(paths(&done.deleted), std::slice::from_ref(&young));
    // Tasks of a job hold no lock: their parts stay whoever purges.
    let (_, other) = put_unnamed(local, "sent now");
    let done = purge(local, &second, PurgeRun::Delete).unwrap();
    assert_eq!((paths(&done.deleted), paths(&done.unnamed)), (vec![young], vec![other.clone()]));
    assert!(!path.exists() && guard.path().join("t").join(other).exists());
}

/// Before the present version came somebody may have sent parts of the next one: in a bucket they are told from those of old versions.
#[test]
fn parts_that_no_version_of_a_bucket_has_named_stay() {
    let store = TableStore::memory();
    let mut random = Random::fresh();
    write(&store, 1, &chunks(&mut random, 9000, 100)).unwrap();
    let (_, sent) = put_unnamed(&store, "sent before the present version");
    let second = write(&store, 2, &chunks(&mut random, 100, 100)).unwrap();
    let done = purge(&store, &second, PurgeRun::Delete).unwrap();
    assert_eq!(paths(&done.unnamed), std::slice::from_ref(&sent));
    assert_eq!(done.deleted.len(), 3, "two parts and the version: {:?}", done.deleted);
    // Another table's manifest among the versions speaks for nobody; a damaged one neither. Both go.
    let other = TableStore::memory();
    let identity = crate::TableIdentity { table_id: crate::TableId::from_bytes([9; 16]), ..identity(1) };
    let mut writer = TableWriter::begin(&other, identity, layout()).unwrap();
    push_all(&mut writer, &chunks(&mut random, 10, 10)).unwrap();
    let foreign = writer.finish(vec![1], credentials(7).1).unwrap();
    let put = |name: String, bytes: &[u8]| {
        let path = store.folder(VERSIONS_NAME).join(name);
        objects::put(store.objects(), &path, bytes.to_vec().into()).unwrap();
    };
    put(format!("{}.hush", foreign.digest()), foreign.as_bytes());
    put(format!("{}.hush", Digest::of(b"damaged")), b"HUSHTBL1..");
    put("readme.txt".to_owned(), b"not ours");
    // A writer that is about to replace the present version has written it down already.
    put(format!("{}.hush", second.digest()), second.as_bytes());
    for (kind, file) in named_files(foreign.manifest()) {
        store.put_received(kind, file, other.open_part(kind, &file).unwrap().read_all().unwrap()).unwrap();
    }
    let done = purge(&store, &second, PurgeRun::Delete).unwrap();
    assert_eq!((done.deleted.len(), done.unnamed.len()), (2, 1 + part_paths(&foreign).len()));
    let left = store.list(VERSIONS_NAME).unwrap();
    let mut left: Vec<_> = left.into_iter().map(|listed| listed.name).collect();
    left.sort();
    let mut expected = vec![format!("{}.hush", second.digest()), "readme.txt".to_owned()];
    expected.sort();
    assert_eq!(left, expected);
}

#[test]
fn an_interrupted_encryption_is_not_purged() {
    let (guard, stores) = stores();
    for store in &stores {
        let (_, second, _) = replaced(store);
        objects::put(store.objects(), &store.folder(JOURNAL_NAME), "sealed".into()).unwrap();
        let before = all_files(store);
        let access = store.wait_for_writers(Duration::ZERO).unwrap();
        let refused = access.purge(&second.digest(), PurgeRun::Delete).unwrap_err();
        assert!(refused.code() == "HUSH-T024" && refused.remedy().is_some(), "{refused}");
        assert_eq!(all_files(store), before);
    }
    assert!(guard.path().join("t").join(JOURNAL_NAME).exists());
}

#[test]
fn deliveries_that_wait_keep_their_parts() {
    let (_guard, stores) = stores();
    for store in &stores {
        let (first, second, _) = replaced(store);
        let (file, part) = put_unnamed(store, "rows of a device");
        let (device, owner) = (signer(8), signer(7));
        let key = device.verifying_key().to_bytes();
        let encodings = Digest::of(b"encodings");
        let id =
            DeliveryId { device: DeviceId::of_key(&key), stream: StreamId::from_bytes([1; 16]), number: 0 };
        let delivery = Delivery {
            format: DELIVERY_FORMAT,
            table_id: table_id(),
            encodings,
            id,
            rows: 10,
            chunks: 1,
            clear: None,
            encrypted: Some(file),
        };
        let certificate = owner.sign(&certified_bytes(table_id(), encodings, &key)).to_bytes();
        let signed =
            SignedDelivery::sign(delivery, &key, &certificate, |bytes| device.sign(bytes).to_bytes())
                .unwrap();
        let path = store.folder(DELIVERIES_NAME).join(id.file_name());
        objects::put(store.objects(), &path, signed.as_bytes().to_vec().into()).unwrap();
        let done = purge(store, &second, PurgeRun::Delete).unwrap();
        assert_eq!(paths(&done.waiting), std::slice::from_ref(&part));
        assert!(part_paths(&first).iter().all(|path| paths(&done.deleted).contains(path)));
        let left = all_files(store);
        assert!(left.contains(&part) && left.contains(&format!("{DELIVERIES_NAME}/{}", id.file_name())));
    }
}

/// Devices deliver beside each other, and no purge between the parts of a delivery and the delivery.
#[test]
fn devices_and_purges_keep_each_other_out() {
    let (guard, [store, _]) = stores();
    let (_, second, _) = replaced(&store);
    let folder = guard.path().join("t").join(DELIVERIES_NAME);
    let one = store.while_delivering().unwrap();
    let other = store.while_delivering().unwrap();
    assert_eq!(Lock::take(&folder).unwrap_err().code(), "HUSH-T023");
    drop(one);
    assert_eq!(Lock::take(&folder).unwrap_err().code(), "HUSH-T023");
    drop(other);
    let purging = Lock::take(&folder).unwrap();
    assert_eq!(Lock::take_shared(&folder).unwrap_err().code(), "HUSH-T023");
    drop(purging);
    // Whoever wants to write waits for whoever does: here a purge.
    let access = store.wait_for_writers(Duration::ZERO).unwrap();
    assert_eq!(store.purge(&second.digest(), PurgeRun::Delete).unwrap_err().code(), "HUSH-T023");
    assert_eq!(store.wait_for_writers(Duration::ZERO).unwrap_err().code(), "HUSH-T023");
    assert!(!access.purge(&second.digest(), PurgeRun::Delete).unwrap().unwrap().deleted.is_empty());
    drop(access);
    // The lock goes with the table.
    store.delete().unwrap();
    assert!(!guard.path().join("t").exists());
}

/// A purge that breaks off at any deletion leaves the present version whole, and another purge finishes it.
#[test]
fn a_purge_that_was_killed_is_finished_by_another() {
    for allowed in 0.. {
        let failing = Arc::new(FullAfter::new(usize::MAX));
        let store = TableStore::new(failing.clone(), Path::from("x"));
        let (first, second, written) = replaced(&store);
        failing.deletions.store(allowed, Ordering::Relaxed);
        let access = store.wait_for_writers(Duration::ZERO).unwrap();
        let broken = access.purge(&second.digest(), PurgeRun::Delete);
        failing.deletions.store(usize::MAX, Ordering::Relaxed);
        assert_holds(&store, &written);
        if broken.is_ok() {
            assert_eq!(allowed, 4, "two parts, a hash tree and the version");
            break;
        }
        assert_eq!(broken.unwrap_err().code(), "HUSH-T050");
        // The version goes last: without it, nobody would know whose its parts were.
        assert!(store.load_version(&first.digest()).unwrap().is_some());
        let rest = purge(&store, &second, PurgeRun::Delete).unwrap();
        assert!(!rest.deleted.is_empty() && rest.unnamed.is_empty());
        assert_eq!(all_files(&store), part_paths(&second));
        assert_holds(&store, &written);
    }
}

#[test]
fn a_writer_says_what_its_version_changes() {
    let (_guard, stores) = stores();
    let mut random = Random::fresh();
    for store in &stores {
        let mut write = |version, rows| {
            let mut writer = TableWriter::begin(store, identity(version), layout()).unwrap().with_record();
            push_all(&mut writer, &chunks(&mut random, rows, 10)).unwrap();
            writer.finish(vec![1], credentials(7).1).unwrap()
        };
        write(1, 100);
        let signed = write(4, 30);
        let changes = signed.manifest().changes.iter();
        let told: Vec<_> =
            changes.map(|change| (change.version, change.what, change.added, change.removed)).collect();
        assert_eq!(told, [(1, ChangeKind::Encrypt, 100, 0), (4, ChangeKind::Encrypt, 30, 100)]);
        assert!(signed.manifest().changes.iter().all(|change| change.at > 1_600_000_000));
    }
}
