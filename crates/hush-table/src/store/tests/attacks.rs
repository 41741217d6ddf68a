// SPDX-License-Identifier: Apache-2.0
//! A store that is not honest: parts swapped, dropped, repeated, altered, manifests rolled back.

use super::*;
use crate::digest::Digest;
use crate::fixture::sign;
use crate::manifest::PartEntry;

/// A table of two parts in a directory, and the directory's guard.
fn table() -> (tempfile::TempDir, std::path::PathBuf, SignedManifest) {
    let guard = tempfile::tempdir().unwrap();
    let directory = guard.path().join("t");
    let store = TableStore::local(&directory).unwrap();
    let signed = write(&store, 1, &chunks(&mut Random::fresh(), 65 * 8192, 200)).unwrap();
    (guard, directory, signed)
}

/// Opens every part through a store that has verified nothing yet.
fn open_all(directory: &std::path::Path, signed: &SignedManifest) -> Result<(), TableError> {
    TableStore::local_existing(directory)?.verify(signed.manifest())
}

fn path(directory: &std::path::Path, entry: &PartEntry, kind: FileKind) -> std::path::PathBuf {
    let file = match kind {
        FileKind::Clear => entry.clear,
        FileKind::Encrypted => entry.encrypted,
        FileKind::Dead => entry.dead.map(|dead| dead.file),
        FileKind::Cubes => entry.cubes.as_ref().map(|cubes| cubes.file),
        FileKind::Runs => entry.runs.as_ref().map(|runs| runs.file),
        FileKind::Key | FileKind::Zones => None,
    };
    directory.join(PARTS_NAME).join(kind.file_name(&file.unwrap().digest))
}

#[test]
fn swapped_parts_are_refused() {
    let (_guard, directory, signed) = table();
    open_all(&directory, &signed).unwrap();
    for kind in [FileKind::Clear, FileKind::Encrypted] {
        let [one, two] = [0, 1].map(|part: usize| path(&directory, &signed.manifest().parts[part], kind));
        let (first, second) = (std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap());
        std::fs::write(&one, &second).unwrap();
        std::fs::write(&two, &first).unwrap();
        assert!(["HUSH-T031", "HUSH-T032"].contains(&open_all(&directory, &signed).unwrap_err().code()));
        // One part in the place of both.
        std::fs::write(&one, &first).unwrap();
        assert!(["HUSH-T031", "HUSH-T032"].contains(&open_all(&directory, &signed).unwrap_err().code()));
        std::fs::write(&two, &second).unwrap();
        open_all(&directory, &signed).unwrap();
    }
}

#[test]
fn missing_cut_and_longer_parts_are_refused() {
    let (_guard, directory, signed) = table();
    for kind in [FileKind::Clear, FileKind::Encrypted] {
        let file = path(&directory, &signed.manifest().parts[1], kind);
        let good = std::fs::read(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(open_all(&directory, &signed).unwrap_err().code(), "HUSH-T030");
        for length in [0, 1, good.len() / 2, good.len() - 1] {
            std::fs::write(&file, &good[..length]).unwrap();
            assert_eq!(open_all(&directory, &signed).unwrap_err().code(), "HUSH-T032", "{length} bytes");
        }
        std::fs::write(&file, [good.as_slice(), b"x"].concat()).unwrap();
        assert_eq!(open_all(&directory, &signed).unwrap_err().code(), "HUSH-T032");
        std::fs::write(&file, &good).unwrap();
    }
    open_all(&directory, &signed).unwrap();
}

#[test]
fn any_flipped_bit_of_a_part_is_refused() {
    let (_guard, directory, signed) = table();
    let mut random = Random::fresh();
    let file = path(&directory, &signed.manifest().parts[1], FileKind::Encrypted);
    let good = std::fs::read(&file).unwrap();
    let places = (0..200).map(|_| random.below(good.len() * 8)).chain([0, good.len() * 8 - 1]);
    for bit in places.collect::<Vec<_>>() {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&file, bytes).unwrap();
        let code = open_all(&directory, &signed).unwrap_err().code();
        assert_eq!(code, "HUSH-T031", "bit {bit}, seed {}", random.seed);
    }
}

#[test]
fn a_part_changed_after_it_was_verified_is_verified_again() {
    let (_guard, directory, signed) = table();
    let store = TableStore::local_existing(&directory).unwrap();
    store.verify(signed.manifest()).unwrap();
    store.verify(signed.manifest()).unwrap();
    let file = path(&directory, &signed.manifest().parts[0], FileKind::Encrypted);
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[5000] ^= 1;
    // Replaced as a careful adversary of the file system would: another file under the name.
    let beside = directory.join("beside");
    std::fs::write(&beside, bytes).unwrap();
    std::fs::rename(beside, file).unwrap();
    assert_eq!(store.verify(signed.manifest()).unwrap_err().code(), "HUSH-T031");
}

/// The owner's own signature over a list of parts that are there, but not in this order or number.
#[test]
fn reordered_and_repeated_parts_do_not_fit_their_places() {
    let (_guard, directory, signed) = table();
    let store = TableStore::local_existing(&directory).unwrap();
    let mut reordered = signed.manifest().clone();
    reordered.parts.reverse();
    assert_eq!(store.verify(&reordered).unwrap_err().code(), "HUSH-T033");
    let mut dropped = signed.manifest().clone();
    dropped.parts.remove(0);
    dropped.rows = dropped.parts[0].rows;
    let dropped = sign(dropped);
    assert_eq!(store.verify(dropped.manifest()).unwrap_err().code(), "HUSH-T033");
    // Encrypted part of one, clear part of the other.
    let mut crossed = signed.manifest().clone();
    let clear = crossed.parts[0].clear;
    crossed.parts[0].clear = crossed.parts[1].clear;
    crossed.parts[1].clear = clear;
    assert_eq!(store.verify(&crossed).unwrap_err().code(), "HUSH-T033");
}

#[test]
fn a_seed_used_twice_in_a_table_is_found() {
    let mut random = Random::fresh();
    let store = TableStore::memory();
    let mut written = chunks(&mut random, 66 * 8192, 9);
    written[65].seed = written[3].seed;
    let signed = write(&store, 1, &written).unwrap();
    let found = store.verify(signed.manifest()).unwrap_err();
    let expected = crate::PartFault::RepeatedSeed { first: 3, second: 65 };
    assert!(matches!(found, TableError::BadPart { fault, .. } if fault == expected));
}

#[test]
fn damaged_and_huge_manifests_are_refused() {
    let (_guard, directory, signed) = table();
    let file = directory.join(MANIFEST_NAME);
    let store = TableStore::local_existing(&directory).unwrap();
    std::fs::write(&file, &signed.as_bytes()[..100]).unwrap();
    assert_eq!(store.load().unwrap_err().code(), "HUSH-T003");
    // A sparse file of 1 TiB: refused by its size, before anything of it is read.
    std::fs::File::create(&file).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(store.load().unwrap_err().code(), "HUSH-T004");
    // Whoever finds a damaged manifest must not write over it unawares.
    assert_eq!(TableWriter::begin(&store, identity(2), layout()).unwrap_err().code(), "HUSH-T004");
    std::fs::write(&file, signed.as_bytes()).unwrap();
    store.verify(store.load().unwrap().manifest()).unwrap();
}

#[test]
fn names_are_digests_and_nothing_else() {
    for name in ["../manifest.hush", "x.enc.parquet", &format!("{}.txt", Digest::of(b""))] {
        assert!(PartName::of_file(name).is_none(), "{name}");
    }
    assert!(PartName::of_file(&FileKind::Clear.file_name(&Digest::of(b""))).is_some());
}

/// Only a file that was checked and has not been touched since looks unchanged; one with the same bytes written anew may
/// have been another in between.
#[test]
fn a_file_touched_after_its_check_does_not_look_unchanged() {
    let (_guard, directory, signed) = table();
    let store = TableStore::local_existing(&directory).unwrap();
    let kind = FileKind::Encrypted;
    let [first, second] = [0, 1].map(|part: usize| signed.manifest().parts[part].encrypted.unwrap());
    assert!(!store.looks_unchanged(kind, &first), "never checked");
    store.open_part(kind, &first).unwrap();
    assert!(store.looks_unchanged(kind, &first) && !store.looks_unchanged(kind, &second));
    let file = path(&directory, &signed.manifest().parts[0], kind);
    let good = std::fs::read(&file).unwrap();
    std::fs::write(&file, &good[1..]).unwrap();
    assert!(!store.looks_unchanged(kind, &first));
    std::fs::remove_file(&file).unwrap();
    assert!(!store.looks_unchanged(kind, &first));
    std::fs::write(&file, &good).unwrap();
    assert!(!store.looks_unchanged(kind, &first));
    store.open_part(kind, &first).unwrap();
    assert!(store.looks_unchanged(kind, &first));
    let memory = TableStore::memory();
    let signed = write(&memory, 1, &chunks(&mut Random::fresh(), 100, 50)).unwrap();
    assert!(memory.looks_unchanged(kind, &signed.manifest().parts[0].encrypted.unwrap()));
}
