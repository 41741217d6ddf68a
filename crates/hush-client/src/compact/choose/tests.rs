// SPDX-License-Identifier: Apache-2.0
//! The rule, on manifests alone.

use hush_table::manifest::{Appended, Dead, PartFile};
use hush_table::{AppendId, DeliveryId, DeviceId, StreamId, TableStore};

use super::*;

const CHUNK: u64 = CHUNK_ROWS as u64;

/// A table of parts with so many rows and deleted ones, each an append of its own.
fn table(parts: &[(u64, u64)]) -> Manifest {
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../hush-table/tests/golden/table_v2");
    let mut table = TableStore::local_existing(golden).unwrap().load().unwrap().manifest().clone();
    let file = |number: usize, bytes| Some(PartFile { digest: Digest::of(&number.to_le_bytes()), bytes });
    let part = |(number, (rows, dead)): (usize, &(u64, u64))| PartEntry {
        rows: *rows,
        chunks: rows.div_ceil(CHUNK) as u32,
        clear: None,
        encrypted: file(number, 10 * rows),
        delivery: None,
        append: Some(Appended { id: AppendId::from_bytes([number as u8; 16]), first: 0 }),
        first_chunk: None,
        dead: (*dead > 0).then(|| Dead { rows: *dead, file: file(1000 + number, 9).unwrap() }),
        cubes: None,
        runs: None,
        domain: 0,
        generation: 0,
    };
    table.parts = parts.iter().enumerate().map(part).collect();
    table.rows = table.parts.iter().map(|part| part.rows).sum();
    table
}

/// Where each run begins and ends.
fn ends(table: &Manifest, which: Which) -> Vec<[usize; 2]> {
    chosen(table, which).into_iter().map(|run| [run.start, run.end]).collect()
}

fn small(count: usize) -> Vec<(u64, u64)> {
    vec![(100, 0); count]
}

#[test]
fn small_neighbours_are_chosen_together() {
    let full = 64 * CHUNK;
    let chosen_of = |parts: &[(u64, u64)]| ends(&table(parts), Which::Worth);
    assert!(chosen_of(&[]).is_empty());
    assert!(chosen_of(&small(1)).is_empty());
    assert_eq!(chosen_of(&small(2)), [[0, 2]]);
    assert_eq!(chosen_of(&[(full, 0), (5, 0), (5, 0), (full, 0), (5, 0), (full, 0)]), [[1, 3]]);
    // Half of a full part is the limit.
    assert_eq!(chosen_of(&[(full / 2 - 1, 0), (full / 2 - 1, 0)]), [[0, 2]]);
    assert!(chosen_of(&[(full / 2, 0), (5, 0), (full / 2, 0)]).is_empty());
}

/// Few rows can be many bytes; deleted rows do not count in either.
#[test]
fn parts_are_measured_in_bytes_too() {
    let mut wide = table(&[(100, 0), (100, 0)]);
    wide.parts[1].encrypted.as_mut().unwrap().bytes = 16 << 20;
    assert!(chosen(&wide, Which::Worth).is_empty());
    wide.parts[1].encrypted.as_mut().unwrap().bytes -= 1;
    assert_eq!(ends(&wide, Which::Worth), [[0, 2]]);
    wide.parts[1].encrypted.as_mut().unwrap().bytes = 18 << 20;
    wide.parts[1].dead = table(&[(100, 0), (100, 20)]).parts[1].dead;
    assert_eq!(ends(&wide, Which::Worth), [[0, 2]]);
}

/// What a full part has cut is as full as parts of this table get, whatever they measure.
#[test]
fn parts_that_others_continue_are_full() {
    let mut cut = table(&[(CHUNK, 0), (CHUNK, 0), (50, 0), (100, 0)]);
    for (number, part) in cut.parts.iter_mut().take(3).enumerate() {
        part.append = Some(Appended { id: AppendId::from_bytes([9; 16]), first: number as u32 });
    }
    assert_eq!(ends(&cut, Which::Worth), [[2, 4]]);
    // Of an encryption, by the numbers that the chunks have in the files.
    cut.parts.iter_mut().take(3).for_each(|part| part.append = None);
    assert_eq!(ends(&cut, Which::Worth), [[2, 4]]);
    cut.parts[2].first_chunk = Some(7);
    assert_eq!(ends(&cut, Which::Worth), [[1, 4]]);
    // Deliveries continue nothing.
    let (device, stream) = (DeviceId::from_bytes([1; 16]), StreamId::from_bytes([1; 16]));
    for (number, part) in cut.parts.iter_mut().enumerate() {
        (part.append, part.first_chunk) = (None, None);
        part.delivery = Some(DeliveryId { device, stream, number: number as u64 });
    }
    assert_eq!(ends(&cut, Which::Worth), [[0, 4]]);
}

#[test]
fn deleted_rows_are_a_reason_by_themselves() {
    let full = 64 * CHUNK;
    let share = |dead: u64| table(&[(full, 0), (1000 * CHUNK / 50, dead), (full, 0)]);
    let rows = 1000 * CHUNK / 50;
    assert!(chosen(&share(rows / 5), Which::Worth).is_empty());
    assert_eq!(ends(&share(rows / 5 + 1), Which::Worth), [[1, 2]]);
    assert_eq!(ends(&share(rows / 5 + 1), Which::Due), [[1, 2]]);
    assert_eq!(ends(&share(1), Which::Deleted), [[1, 2]]);
    assert!(chosen(&share(0), Which::Deleted).is_empty());
    assert_eq!(ends(&share(0), Which::All), [[0, 3]]);
    assert_eq!(CompactionState::of(&share(rows / 2)).deleted_percent, 50);
}

#[test]
fn a_compaction_is_due_for_eight_small_parts() {
    assert!(chosen(&table(&small(7)), Which::Due).is_empty());
    assert_eq!(ends(&table(&small(8)), Which::Due), [[0, 8]]);
    // Larger parts wait until those behind have caught up.
    let behind = |first: u64, count: usize| table(&[vec![(first, 0)], small(count)].concat());
    assert!(chosen(&behind(801, 7), Which::Due).is_empty());
    assert_eq!(ends(&behind(801, 8), Which::Due), [[1, 9]]);
    assert_eq!(ends(&behind(800, 8), Which::Due), [[0, 9]]);
    let state = CompactionState::of(&behind(801, 8));
    assert_eq!((state.small_parts, state.due_parts), (9, 8));
    assert_eq!(CompactionState::of(&table(&[])), CompactionState::default());
}

/// With an append after the other, each row is written anew as often as the number of parts has binary digits, about.
#[test]
fn a_table_that_grows_writes_few_rows_anew() {
    let (mut parts, mut written) = (Vec::new(), 0);
    for _ in 0..2000 {
        parts.push((100, 0));
        for run in chosen(&table(&parts), Which::Due).into_iter().rev() {
            let rows: u64 = parts[run.clone()].iter().map(|part| part.0).sum();
            written += rows;
            parts.splice(run, [(rows, 0)]);
        }
        assert!(parts.len() <= 24, "{}", parts.len());
    }
    let rows: u64 = parts.iter().map(|part| part.0).sum();
    assert_eq!(rows, 200_000);
    assert!(written < 10 * rows, "{written}");
}

/// The steps of a compaction, as if each were committed; gives the parts of each.
fn steps(mut table: Manifest, which: Which) -> (Manifest, Vec<usize>) {
    let (mut wanted, mut found) = (Wanted::of(&table, which), Vec::new());
    while let Some(run) = wanted.next_step(&table) {
        found.push(run.len());
        assert!(found.len() <= 10_000, "it does not end");
        let mut rows: u64 = table.parts[run.clone()].iter().map(PartEntry::living_rows).sum();
        let (mut made, mut first) = (Vec::new(), 0);
        while rows > 0 {
            let (here, number) = (rows.min(64 * CHUNK), 100_000 * found.len() + made.len());
            let mut part = self::table(&[(here, 0)]).parts.remove(0);
            part.encrypted.as_mut().unwrap().digest = Digest::of(&number.to_le_bytes());
            part.append =
                Some(Appended { id: AppendId::from_bytes([200 + found.len() as u8 % 50; 16]), first });
            first += part.chunks;
            made.push(part);
            rows -= here;
        }
        wanted.done(&table.parts[run.clone()], &made);
        table.splice_parts(run, made);
    }
    (table, found)
}

#[test]
fn steps_end_and_leave_nothing_to_do() {
    let full = 64 * CHUNK;
    let mixed =
        [vec![(full, 1); 3], small(30), vec![(full, full / 2); 5], small(1), vec![(full / 3, 0); 9]].concat();
    for parts in [small(3), mixed.clone(), vec![(full / 2 - 1, 0); 20], vec![(full, full); 4]] {
        for which in [Which::Worth, Which::Deleted, Which::All, Which::Due] {
            let before = table(&parts);
            let (after, found) = steps(before.clone(), which);
            assert_eq!(after.living_rows(), before.living_rows());
            let limit = if which == Which::All { parts.len() } else { parts.len().max(1) };
            assert!(found.len() <= limit, "{found:?}");
            if which != Which::All {
                assert!(chosen(&after, which).is_empty(), "{which:?} {found:?}");
            }
            if which == Which::All || which == Which::Deleted {
                assert_eq!(after.dead_rows(), 0);
            }
        }
    }
    // All parts are written anew, each once but for what a step leaves over.
    let (_, found) = steps(table(&[(full, 0); 10]), Which::All);
    assert_eq!(found, [1; 10]);
}

#[test]
fn parts_that_come_later_are_left_alone() {
    let mut table = table(&small(4));
    let wanted = Wanted::of(&table, Which::Worth);
    let later = self::table(&small(6)).parts.split_off(4);
    table.parts.extend(later);
    assert_eq!(wanted.next_step(&table), Some(0..4));
}
