// SPDX-License-Identifier: Apache-2.0
//! Whole tables: written, read, interrupted, attacked.

mod attacks;
mod cubes;
pub(super) mod interrupted;
mod merged;
mod ranges;
mod runs;
mod versions;
mod zones;

use bytes::Bytes;
use object_store::memory::InMemory;

use super::objects::Replace;
use super::*;
use crate::fixture::{Random, chunk, clear_rows, credentials, identity, layout};
use crate::manifest::{PartFile, Pin, SignedManifest};
use crate::part::{CHUNK_ROWS, EncodedChunk, FileKind, PartName, Projection};

/// Chunks of a table of `rows` rows.
pub(super) fn chunks(random: &mut Random, rows: u64, blob_bytes: usize) -> Vec<EncodedChunk> {
    let full = u64::from(CHUNK_ROWS);
    let size = |index: u64| (rows - index * full).min(full) as u32;
    (0..rows.div_ceil(full)).map(|index| chunk(random, index as u32, size(index), blob_bytes)).collect()
}

pub(super) fn push_all(writer: &mut TableWriter, chunks: &[EncodedChunk]) -> Result<(), TableError> {
    for chunk in chunks {
        let first = u64::from(chunk.index) * u64::from(CHUNK_ROWS);
        writer.push(&clear_rows(first, chunk.rows), chunk.clone())?;
    }
    Ok(())
}

pub(super) fn write(
    store: &TableStore,
    version: u64,
    chunks: &[EncodedChunk],
) -> Result<SignedManifest, TableError> {
    let mut writer = TableWriter::begin(store, identity(version), layout())?;
    push_all(&mut writer, chunks)?;
    let (_, sign) = credentials(7);
    writer.finish(vec![1, 2, 3], sign)
}

/// Reads the whole table back and compares it with what was written.
pub(super) fn assert_holds(store: &TableStore, written: &[EncodedChunk]) {
    let signed = store.load().unwrap();
    let manifest = signed.manifest();
    let projection = Projection { sealed: vec![0], ..Projection::encodings(manifest.encoding_ids()) };
    let mut expected = written.iter();
    for (place, entry) in manifest.placed_parts() {
        let rows = store.open_encrypted(manifest, place, entry).unwrap().read(&projection).unwrap();
        for row in rows {
            let chunk = expected.next().expect("no more chunks than were written");
            assert_eq!((row.index, row.rows, row.seed), (chunk.index, chunk.rows, Some(chunk.seed)));
            assert_eq!((&row.encoded, &row.sealed), (&chunk.encoded, &chunk.sealed));
        }
        let mut first = place.first_row;
        for batch in store.open_clear(manifest, entry).unwrap().read(&[0, 1]).unwrap() {
            assert_eq!(batch, clear_rows(first, batch.num_rows() as u32));
            first += batch.num_rows() as u64;
        }
        assert_eq!(first, place.first_row + entry.rows);
    }
    assert!(expected.next().is_none());
}

/// A store of each kind; the directory lives as long as the guard.
pub(super) fn stores() -> (tempfile::TempDir, [TableStore; 2]) {
    let directory = tempfile::tempdir().unwrap();
    let local = TableStore::local(directory.path().join("t")).unwrap();
    (directory, [local, TableStore::memory()])
}

pub(super) fn file_names(store: &TableStore) -> Vec<String> {
    let mut names: Vec<_> = objects::list(store.objects(), &store.prefix().clone().join(PARTS_NAME)).unwrap();
    names.extend(objects::list(store.objects(), store.prefix()).unwrap());
    names.into_iter().map(|listed| listed.name).filter(|name| name != ".lock").collect()
}

#[test]
fn tables_come_back_as_they_were_written() {
    let mut random = Random::fresh();
    let (_guard, stores) = stores();
    for store in &stores {
        assert_eq!(store.load().unwrap_err().code(), "HUSH-T020");
        for (version, rows) in [(1, 1), (2, 8192), (3, 8193), (4, 3 * 8192 + 100)] {
            let written = chunks(&mut random, rows, 100);
            let signed = write(store, version, &written).unwrap();
            assert_eq!((signed.manifest().rows, signed.manifest().version), (rows, version));
            assert_eq!(store.load().unwrap(), signed);
            assert_holds(store, &written);
            store.verify(signed.manifest()).unwrap();
        }
        // Only the first files of versions 1 to 3 are left over; a sweep leaves the present version alone.
        store.sweep().unwrap();
        assert_eq!(file_names(store).len(), 3);
        assert_eq!(store.load().unwrap().manifest().version, 4);
        store.delete().unwrap();
        assert_eq!(store.load().unwrap_err().code(), "HUSH-T020");
        store.delete().unwrap();
    }
    assert!(!_guard.path().join("t").exists());
}

#[test]
fn parts_are_cut_by_chunks_and_by_bytes() {
    let mut random = Random::fresh();
    let store = TableStore::memory();
    let written = chunks(&mut random, 130 * 8192 + 1, 8);
    let signed = write(&store, 1, &written).unwrap();
    let cut: Vec<_> = signed.manifest().parts.iter().map(|part| part.chunks).collect();
    assert_eq!(cut, [64, 64, 3]);
    assert_holds(&store, &written);

    // Three blobs of 4 MiB per chunk: the third chunk passes 32 MiB.
    let written = chunks(&mut random, 4 * 8192, 4 << 20);
    let signed = write(&store, 2, &written).unwrap();
    let cut: Vec<_> = signed.manifest().parts.iter().map(|part| part.chunks).collect();
    assert_eq!(cut, [3, 1]);
}

#[test]
fn tables_without_clear_or_without_encrypted_columns() {
    let mut random = Random::fresh();
    let store = TableStore::memory();
    let (_, sign) = credentials(7);
    let empty = std::sync::Arc::new(arrow::datatypes::Schema::empty());
    let encrypted = TableLayout { clear: empty.clone(), ..layout() };
    let mut writer = TableWriter::begin(&store, identity(1), encrypted).unwrap();
    let nothing = arrow::array::RecordBatch::new_empty(empty);
    writer.push(&nothing, chunk(&mut random, 0, 77, 10)).unwrap();
    assert_eq!(writer.rows(), 77);
    let signed = writer.finish(vec![], sign).unwrap();
    assert!(signed.manifest().parts[0].clear.is_none());
    store.verify(signed.manifest()).unwrap();

    let clear = TableLayout { encodings: vec![], sealed_columns: 0, ..layout() };
    let mut writer = TableWriter::begin(&store, identity(2), clear).unwrap();
    let no_blobs = EncodedChunk { index: 0, rows: 5, seed: [0; 32], encoded: vec![], sealed: vec![] };
    writer.push(&clear_rows(0, 5), no_blobs).unwrap();
    let (_, sign) = credentials(7);
    let signed = writer.finish(vec![], sign).unwrap();
    assert!(signed.manifest().parts[0].encrypted.is_none());
    store.verify(signed.manifest()).unwrap();

    let neither = TableLayout { clear: std::sync::Arc::new(arrow::datatypes::Schema::empty()), ..layout() };
    let neither = TableLayout { encodings: vec![], sealed_columns: 0, ..neither };
    assert_eq!(TableWriter::begin(&store, identity(3), neither).unwrap_err().code(), "HUSH-T008");
}

#[test]
fn a_writer_refuses_chunks_that_do_not_fit_and_goes_on() {
    let mut random = Random::fresh();
    let store = TableStore::memory();
    let mut writer = TableWriter::begin(&store, identity(1), layout()).unwrap();
    let refuse = |writer: &mut TableWriter, clear: &arrow::array::RecordBatch, chunk: EncodedChunk| {
        assert_eq!(writer.push(clear, chunk).unwrap_err().code(), "HUSH-T040");
    };
    let rows = clear_rows(0, CHUNK_ROWS);
    refuse(&mut writer, &rows, chunk(&mut random, 1, CHUNK_ROWS, 9));
    refuse(&mut writer, &rows, chunk(&mut random, 0, CHUNK_ROWS - 1, 9));
    refuse(&mut writer, &rows, EncodedChunk { encoded: vec![], ..chunk(&mut random, 0, CHUNK_ROWS, 9) });
    refuse(&mut writer, &rows.project(&[1]).unwrap(), chunk(&mut random, 0, CHUNK_ROWS, 9));
    refuse(&mut writer, &rows.project(&[1, 0]).unwrap(), chunk(&mut random, 0, CHUNK_ROWS, 9));
    let written = chunks(&mut random, 8192 + 5, 9);
    push_all(&mut writer, &written).unwrap();
    refuse(&mut writer, &clear_rows(8197, 1), chunk(&mut random, 2, 1, 9));
    let (_, sign) = credentials(7);
    writer.finish(vec![], sign).unwrap();
    assert_holds(&store, &written);
}

#[test]
fn versions_go_up_and_tables_are_not_replaced_by_others() {
    let mut random = Random::fresh();
    let (_guard, stores) = stores();
    for store in &stores {
        let first = chunks(&mut random, 10, 9);
        let old = write(store, 5, &first).unwrap();
        for version in [1, 5] {
            let refused = TableWriter::begin(store, identity(version), layout()).unwrap_err();
            assert_eq!(refused.code(), "HUSH-T022", "version {version}");
        }
        let other = TableIdentity { table_id: crate::TableId::from_bytes([9; 16]), ..identity(6) };
        assert_eq!(TableWriter::begin(store, other, layout()).unwrap_err().code(), "HUSH-T021");
        assert_holds(store, &first);
        let new = write(store, 6, &first).unwrap();
        // The very same again is no error; the past is.
        store.commit(&new).unwrap();
        assert_eq!(store.commit(&old).unwrap_err().code(), "HUSH-T022");
        assert_eq!(Pin::of(&new).check(&store.load().unwrap()).map_err(|e| e.code()), Ok(()));
        assert_eq!(Pin::of(&new).check(&old).unwrap_err().code(), "HUSH-T010");
    }
}

#[test]
fn a_table_travels_part_by_part() {
    let mut random = Random::fresh();
    let (_guard, [here, _]) = stores();
    let there =
        Catalog::new(std::sync::Arc::new(InMemory::new()), Path::from("tenant")).table("patients").unwrap();
    let written = chunks(&mut random, 70 * 8192, 9);
    let signed = write(&here, 1, &written).unwrap();
    let missing = there.missing_parts(signed.manifest()).unwrap();
    assert_eq!(missing.len(), 4);
    for (number, (kind, file)) in missing.iter().enumerate() {
        assert_eq!(there.missing_parts(signed.manifest()).unwrap().len(), 4 - number);
        assert_eq!(there.commit(&signed).unwrap_err().code(), "HUSH-T030");
        let bytes = here.open_part(*kind, file).unwrap().read_all().unwrap();
        let mut altered = bytes.to_vec();
        altered[random.below(bytes.len())] ^= 1;
        let refused = there.put_received(*kind, *file, altered.into()).unwrap_err();
        assert_eq!(refused.code(), "HUSH-T031");
        assert_eq!(there.put_received(*kind, *file, Bytes::new()).unwrap_err().code(), "HUSH-T032");
        there.put_received(*kind, *file, bytes).unwrap();
    }
    there.commit(&signed).unwrap();
    assert_holds(&there, &written);
}

#[test]
fn catalogs_list_and_separate_tables() {
    let mut random = Random::fresh();
    let directory = tempfile::tempdir().unwrap();
    let local = Catalog::local(directory.path()).unwrap();
    let memory = Catalog::new(std::sync::Arc::new(InMemory::new()), Path::from("a/b"));
    for catalog in [local, memory] {
        for name in ["", ".", "..", "a/b", "a\\b", ".x", "a\0b", "a\"b", "größe", "a%20", "a b", "-a"] {
            assert_eq!(catalog.table(name).unwrap_err().code(), "HUSH-T042", "{name:?}");
        }
        assert!(catalog.list().unwrap().is_empty());
        for name in ["patients", "patients-1", "_1", "A"] {
            let table = catalog.table(name).unwrap();
            let named = TableIdentity { table: name.to_owned(), ..identity(1) };
            let mut writer = TableWriter::begin(&table, named, layout()).unwrap();
            push_all(&mut writer, &chunks(&mut random, 3, 9)).unwrap();
            let (_, sign) = credentials(7);
            writer.finish(vec![], sign).unwrap();
            assert_eq!(catalog.table(name).unwrap().load().unwrap().manifest().table, name);
        }
        let half = catalog.table("half").unwrap();
        half.put_received(FileKind::Clear, PartFile { digest: Digest::of(b"x"), bytes: 1 }, "x".into())
            .unwrap();
        let mut names: Vec<_> = catalog
            .list()
            .unwrap()
            .into_iter()
            .map(|entry| entry.manifest.unwrap().manifest().table.clone())
            .collect();
        names.sort();
        assert_eq!(names, ["A", "_1", "patients", "patients-1"]);
        catalog.table("patients").unwrap().delete().unwrap();
        assert_eq!(catalog.list().unwrap().len(), 3);
        // Tables that were begun have names too, and go like others.
        assert!(catalog.names().unwrap().contains(&"half".to_owned()) && catalog.contains("half").unwrap());
        assert!(!half.has_manifest().unwrap());
        assert_eq!([(); 2].map(|()| catalog.delete("half").unwrap()), [true, false]);
        assert!(catalog.delete("A").unwrap() && !catalog.contains("A").unwrap());
        let mut names = catalog.names().unwrap();
        names.sort();
        assert_eq!(names, ["_1", "patients-1"]);
    }
    // A deletion that a crash has interrupted.
    std::fs::create_dir_all(directory.path().join(".deleted-x/parts")).unwrap();
    let catalog = Catalog::local(directory.path()).unwrap();
    assert_eq!(catalog.names().unwrap().len(), 2);
    catalog.finish_deletions().unwrap();
    assert!(!directory.path().join(".deleted-x").exists());
}

/// What lies in the place of a manifest is replaced only by whoever may.
#[test]
fn damaged_manifests_are_mended_and_newer_ones_are_not() {
    let mut random = Random::fresh();
    let (_guard, stores) = stores();
    for store in &stores {
        let written = chunks(&mut random, 10, 9);
        let signed = [1, 2, 3].map(|version| write(store, version, &written).unwrap());
        let [old, present, next] = &signed;
        let put = |bytes: &[u8]| {
            let bytes = Bytes::copy_from_slice(bytes);
            objects::put(store.objects(), &store.manifest_path(), bytes).unwrap();
        };
        for damaged in [&b""[..], b"damaged", &present.as_bytes()[..100], old.as_bytes()] {
            put(damaged);
            assert_eq!([(); 2].map(|()| store.mend_manifest(present).unwrap()), [true, false]);
            assert_eq!(store.load().unwrap(), *present);
        }
        put(next.as_bytes());
        assert_eq!(store.mend_manifest(present).unwrap_err().code(), "HUSH-T022");
        assert_eq!(store.commit_over_damage(present).unwrap_err().code(), "HUSH-T022");
        put(b"damaged");
        assert_eq!(store.commit(next).unwrap_err().code(), "HUSH-T001");
        assert_eq!(store.sweep().unwrap_err().code(), "HUSH-T001", "it may name any of the parts");
        store.commit_over_damage(next).unwrap();
        assert_eq!(store.load().unwrap(), *next);
    }
}

/// A service calls from threads that drive a runtime of their own.
#[test]
fn a_store_works_inside_any_runtime() {
    let (_guard, stores) = stores();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        for store in &stores {
            let written = chunks(&mut Random::fresh(), 10, 9);
            write(store, 1, &written).unwrap();
            assert_holds(store, &written);
        }
    });
}
