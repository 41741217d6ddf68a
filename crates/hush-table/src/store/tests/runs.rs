// SPDX-License-Identifier: Apache-2.0
//! Sorted runs of parts: written with them, read by block, copied, swept, and refused where they were altered.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use super::ranges::Counting;
use super::*;
use crate::digest::{AppendId, RunsId};
use crate::error::PartFault;
use crate::manifest::{PartEntry, StoredRun};
use crate::part::{PartRuns, RunBytes};

/// A run whose blocks hold their places.
fn run(number: u32, blocks: u32, block_bytes: u32) -> RunBytes {
    let block = |place: u32| [[place as u8].repeat(block_bytes as usize - 1), vec![number as u8]].concat();
    let blocks: Vec<u8> = (0..blocks).flat_map(block).collect();
    RunBytes { number, index: vec![number as u8; 33].into(), block_bytes, blocks: blocks.into() }
}

/// Runs that tell their part's chunks.
fn runs(first: u32, chunks: u32) -> PartRuns {
    let one = run(3, 5 + chunks, 100 + first);
    PartRuns { id: RunsId::from_bytes([first as u8; 16]), runs: vec![one, run(7, 1, 9)] }
}

/// Gives runs to all parts but those that begin with chunk 1, and writes down which parts there were.
fn with_runs(asked: &Arc<Mutex<Vec<(u32, u32)>>>) -> PreparedOfPart {
    let asked = asked.clone();
    Box::new(move |first, chunks| {
        asked.lock().unwrap().push((first, chunks));
        Prepared { runs: (first != 1).then(|| runs(first, chunks)), ..Prepared::default() }
    })
}

fn run_names(store: &TableStore) -> Vec<String> {
    file_names(store).into_iter().filter(|name| name.ends_with(".runs")).collect()
}

/// The runs of a part are those that were written.
fn assert_has(store: &TableStore, entry: &PartEntry, expected: Option<PartRuns>) {
    let Some(expected) = expected else {
        assert_eq!((&entry.runs, entry.has_run(3)), (&None, false));
        return;
    };
    assert_eq!(entry.runs.as_ref().unwrap().id, expected.id);
    for run in &expected.runs {
        let places: Vec<u32> = (0..run.blocks.len() as u32 / run.block_bytes).collect();
        assert_eq!(store.run_index(entry, run.number).unwrap(), run.index);
        assert_eq!(store.run_blocks(entry, run.number, &places).unwrap(), run.blocks);
    }
}

#[test]
fn writers_store_the_runs_of_their_parts() {
    let mut random = Random::fresh();
    let written = chunks(&mut random, 3 * 8192 + 9, 9);
    let (_guard, stores) = stores();
    for store in &stores {
        let asked = Arc::default();
        let begin = |stored| {
            let writer = TableWriter::resume(store, identity(1), layout(), stored).unwrap();
            // A part for each chunk.
            writer.with_part_bytes(1).with_parts_in_flight(2).with_prepared(with_runs(&asked))
        };
        let mut writer = begin(Vec::new());
        push_all(&mut writer, &written[..3]).unwrap();
        let stored = writer.stored().to_vec();
        writer.suspend();
        let resumed = stored.len();
        let mut writer = begin(stored);
        push_all(&mut writer, &written[resumed..]).unwrap();
        let signed = writer.finish(vec![1], credentials(7).1).unwrap();

        let told = asked.lock().unwrap().clone();
        let tail: Vec<_> = (resumed as u32..4).map(|first| (first, 1)).collect();
        assert_eq!(told[told.len() - tail.len()..], tail);
        let manifest = signed.manifest();
        for (place, entry) in manifest.placed_parts() {
            let expected = (place.first_chunk != 1).then(|| runs(place.first_chunk, entry.chunks));
            assert_has(store, entry, expected);
        }
        store.verify(manifest).unwrap();
        assert_holds(store, &written);
        store.sweep().unwrap();
        assert_eq!(run_names(store).len(), 3);
        let copy = TableStore::memory();
        store.copy_version(&signed, &copy, &|_| {}).unwrap();
        copy.verify(manifest).unwrap();
        assert_eq!(run_names(&copy).len(), 3);

        // A next version without them leaves them to the sweep.
        let mut next = manifest.clone();
        next.version = 2;
        next.parts.iter_mut().for_each(|part| part.runs = None);
        store.commit(&crate::fixture::sign(next)).unwrap();
        store.sweep().unwrap();
        assert!(run_names(store).is_empty());
    }
}

#[test]
fn appends_store_the_runs_of_their_parts() {
    let mut random = Random::fresh();
    let store = TableStore::memory();
    let signed = write(&store, 1, &chunks(&mut random, 10, 9)).unwrap();
    let asked = Arc::default();
    let appender = Appender::new(&store, signed.manifest(), AppendId::from_bytes([1; 16])).unwrap();
    let mut appender = appender.with_part_bytes(1).with_prepared(with_runs(&asked));
    for chunk in chunks(&mut random, 2 * 8192 + 1, 9) {
        appender.push(&clear_rows(0, chunk.rows), chunk).unwrap();
    }
    appender.finish().unwrap();
    for (entry, first) in appender.stored().iter().zip(0..) {
        assert_has(&store, entry, (first != 1).then(|| runs(first, 1)));
    }
    assert_eq!(*asked.lock().unwrap(), [(0, 1), (1, 1), (2, 1)]);
    drop(appender);
    assert!(run_names(&store).is_empty());
}

/// A table of one part with these runs.
fn part_with(store: &TableStore, runs: &PartRuns) -> SignedManifest {
    let signed = write(store, 1, &chunks(&mut Random::fresh(), 10, 9)).unwrap();
    let mut next = signed.manifest().clone();
    next.parts[0].runs = Some(store.put_runs(runs).unwrap());
    next.version = 2;
    let next = crate::fixture::sign(next);
    store.commit(&next).unwrap();
    next
}

#[test]
fn blocks_are_read_by_rising_places() {
    let (_guard, stores) = stores();
    for store in &stores {
        let signed = part_with(store, &runs(0, 1));
        let entry = &signed.manifest().parts[0];
        let run = run(3, 6, 100);
        let blocks = |places: &[u32]| store.run_blocks(entry, 3, places);
        for places in [&[][..], &[0], &[5], &[0, 5], &[1, 2, 4], &[0, 1, 2, 3, 4, 5]] {
            let of = |place: &u32| run.blocks.chunks(100).nth(*place as usize).unwrap();
            let expected: Vec<u8> = places.iter().flat_map(of).copied().collect();
            assert_eq!(blocks(places).unwrap(), expected, "{places:?}");
        }
        for places in [&[6][..], &[0, 6], &[u32::MAX], &[1, 1], &[2, 1]] {
            let error = blocks(places).unwrap_err();
            let fault = PartFault::RunBlocks { number: 3, blocks: 6 };
            assert!(matches!(&error, TableError::BadPart { fault: found, .. } if *found == fault), "{error}");
        }
        assert_eq!(store.run_index(entry, 4).unwrap_err().code(), "HUSH-T030");
        assert_eq!(store.run_blocks(entry, 8, &[0]).unwrap_err().code(), "HUSH-T030");
    }
}

#[test]
fn two_blocks_of_a_large_file_are_read_alone() {
    let counting = Arc::new(Counting::default());
    let large = PartRuns { id: RunsId::from_bytes([1; 16]), runs: vec![run(3, 500, 9000)] };
    let open = || TableStore::new(counting.clone(), object_store::path::Path::default());
    let signed = part_with(&open(), &large);
    let entry = &signed.manifest().parts[0];
    // One that knows nothing yet.
    let store = open();
    counting.requests.store(0, Ordering::Relaxed);
    counting.bytes.store(0, Ordering::Relaxed);
    let found = store.run_blocks(entry, 3, &[17, 400]).unwrap();
    assert_eq!((found.len(), found[0], found[9000]), (18_000, 17, 400_u32 as u8));
    let (requests, bytes) = (&counting.requests, counting.bytes.load(Ordering::Relaxed));
    assert!(requests.load(Ordering::Relaxed) <= 3, "{requests:?} requests");
    let length = entry.runs.as_ref().unwrap().file.bytes;
    assert!(bytes * 10 < length, "{bytes} of {length} bytes");
}

#[test]
fn altered_runs_are_refused() {
    let guard = tempfile::tempdir().unwrap();
    let directory = guard.path().join("t");
    let store = TableStore::local(&directory).unwrap();
    let large = PartRuns { id: RunsId::from_bytes([1; 16]), runs: vec![run(3, 300, 9000)] };
    for (runs, far) in [(runs(0, 1), 5), (large, 200)] {
        let signed = part_with(&store, &runs);
        let entry = &signed.manifest().parts[0];
        let file = entry.runs.as_ref().unwrap().file;
        let path = directory.join(PARTS_NAME).join(FileKind::Runs.file_name(&file.digest));
        let good = std::fs::read(&path).unwrap();
        let code = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let store = TableStore::local_existing(&directory).unwrap();
            let found = [
                store.run_blocks(entry, 3, &[0]).err(),
                store.run_blocks(entry, 3, &[far]).err(),
                store.verify(signed.manifest()).err(),
            ];
            found.map(|error| error.map(|error| error.code()))
        };
        assert_eq!(code(&good), [None; 3]);
        let mut flipped = good.clone();
        flipped[40] ^= 1;
        let [near, far, whole] = code(&flipped);
        assert_eq!((near, whole), (Some("HUSH-T031"), Some("HUSH-T031")));
        // Of a large file other groups are as they were.
        assert_eq!(far.is_none(), file.bytes > 1 << 20);
        assert_eq!(code(&good[1..]), [Some("HUSH-T032"); 3]);
        assert_eq!(code(&[&good, &[0][..]].concat()), [Some("HUSH-T032"); 3]);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(store.run_index(entry, 3).unwrap_err().code(), "HUSH-T030");
        std::fs::remove_dir_all(&directory).unwrap();
        TableStore::local(&directory).unwrap();
    }
}

#[test]
fn runs_that_no_file_can_hold_are_not_stored() {
    let store = TableStore::memory();
    let stored = store.put_runs(&runs(0, 1)).unwrap();
    let second = StoredRun { number: 7, index_bytes: 33, blocks: 1, block_bytes: 9 };
    assert_eq!((stored.id, stored.runs[1], stored.file.bytes), (runs(0, 1).id, second, 633 + 42));
    let changes: [fn(&mut PartRuns); 7] = [
        |runs| runs.runs.clear(),
        |runs| runs.runs.swap(0, 1),
        |runs| runs.runs[1].number = 3,
        |runs| runs.runs[0].index = Bytes::new(),
        |runs| runs.runs[0].blocks = Bytes::new(),
        |runs| runs.runs[0].block_bytes = 0,
        |runs| runs.runs[0].block_bytes = 99,
    ];
    for change in changes {
        let mut bad = runs(0, 1);
        change(&mut bad);
        let error = store.put_runs(&bad).unwrap_err();
        assert!(matches!(error, TableError::BadPart { fault: PartFault::Runs, .. }), "{error}");
    }
    assert_eq!(file_names(&store).len(), 1);
    assert_eq!(store.part_bytes(&PartName::new(FileKind::Runs, stored.file.digest)).unwrap(), Some(675));
}
