// SPDX-License-Identifier: Apache-2.0
//! Rows tasks with a sorted run: pieces of the parts that have it, byte by byte, and the rows of all others.

use std::collections::BTreeMap;

use hush_exec::answer::{Answer, PartialAnswer};
use hush_exec::{Engine, Limits, PartSet, PartSize};
use hush_plan::plan::{RowsTask, RunRead, RunTask, SlotExpr, Task};
use hush_table::{DeadRows, FileKind, PartRuns, RunBytes, RunsId};
use hush_testkit::damaged;
use object_store::{ObjectStoreExt, PutPayload};

use crate::cubes::{chunks, commit, rows_of};
use crate::fixture::{Fixture, Random, X};
use crate::mutations::resealed;
use crate::partial::{expect_equal, never, partial, rows_task};

/// Parts by their place: 0, 4 and 7 have both runs, 1 and 5 have them and a deleted row, 2 and 6 have another run alone, 3 has none.
const PARTS: [usize; 8] = [3, 2, 40, 8192 + 5, 17, 30, 1, 250];
const COVERED: [u32; 3] = [0, 4, 7];
/// The run that is asked for.
pub(crate) const RUN: u32 = 5;

/// Runs of the parts that have the one that is asked for.
type Stored = BTreeMap<u32, RunBytes>;

/// A run of random bytes, as sealed ones are.
fn run(random: &mut Random, number: u32, blocks: usize, block_bytes: u32) -> RunBytes {
    let mut bytes = |count: usize| (0..count).map(|_| random.word() as u8).collect::<Vec<u8>>().into();
    let index = bytes(30 + blocks);
    RunBytes { number, index, block_bytes, blocks: bytes(blocks * block_bytes as usize) }
}

/// A table whose parts have runs as their places say.
fn table(random: &mut Random) -> (Fixture, Stored) {
    let mut fixture = Fixture::random(random, &PARTS);
    let (store, mut stored) = (fixture.store.clone(), BTreeMap::new());
    commit(&mut fixture, |next| {
        for (place, entry) in (0_u32..).zip(&mut next.parts) {
            let is_covered = COVERED.contains(&place);
            let runs = match place % 4 {
                _ if is_covered => {
                    vec![run(random, 2, 1, 9), run(random, RUN, 3 + place as usize, 100 + place)]
                }
                1 => vec![run(random, RUN, 2, 50)],
                2 => vec![run(random, 9, 1, 7)],
                _ => continue,
            };
            if is_covered {
                stored.insert(place, runs[1].clone());
            }
            let id = RunsId::from_bytes([place as u8; 16]);
            entry.runs = Some(store.put_runs(&PartRuns { id, runs }).unwrap());
            if place % 4 == 1 {
                entry.dead = Some(store.put_dead_rows(&DeadRows::new(entry.rows, [1])).unwrap());
            }
        }
    });
    (fixture, stored)
}

/// A table of a single part, and of another one that has a small run.
pub(crate) fn small() -> Fixture {
    let mut random = Random::announced("small runs");
    let mut fixture = Fixture::random(&mut random, &[5, 3]);
    let runs = PartRuns { id: RunsId::from_bytes([1; 16]), runs: vec![run(&mut random, RUN, 4, 20)] };
    let runs = fixture.store.put_runs(&runs).unwrap();
    commit(&mut fixture, |next| next.parts[1].runs = Some(runs));
    fixture
}

pub(crate) fn asked(read: Option<RunRead>) -> RowsTask {
    let task = rows_task(&["\"ward\""], Vec::new(), &[X], None);
    let run = read.map(|read| RunTask { number: RUN, read });
    RowsTask { operands: Vec::new(), run, ..task }
}

pub(crate) fn blocks(of_parts: &[&[u32]]) -> RunRead {
    RunRead::Blocks { of_parts: of_parts.iter().map(|places| places.to_vec()).collect(), by_values: false }
}

/// The blocks of the covered parts that most tests ask for.
fn some_blocks() -> RunRead {
    blocks(&[&[0, 2], &[], &[1, 2, 3, 9]])
}

/// The pieces that a task gets.
fn expected(stored: &Stored, read: &RunRead) -> Vec<(u32, Vec<u8>)> {
    let piece = |(rank, (part, run)): (usize, (&u32, &RunBytes))| match read {
        RunRead::Index => (*part, run.index.to_vec()),
        RunRead::Blocks { of_parts, .. } => {
            let block =
                |place: &u32| run.blocks.chunks(run.block_bytes as usize).nth(*place as usize).unwrap();
            (*part, of_parts[rank].iter().flat_map(block).copied().collect())
        }
    };
    stored.iter().enumerate().map(piece).collect()
}

fn found(answer: &Answer<'_>) -> Vec<(u32, Vec<u8>)> {
    answer
        .pieces
        .iter()
        .flat_map(|pieces| pieces.iter())
        .map(|(part, piece)| (part, piece.to_vec()))
        .collect()
}

#[test]
fn pieces_come_back_and_other_parts_send_their_rows() {
    let mut random = Random::announced("runs");
    let (fixture, stored) = table(&mut random);
    let all = fixture.engine(2).run(&fixture.plan(None, Task::Rows(asked(None)))).unwrap();
    assert_eq!(all[116..128], [0; 12]);
    let all = Answer::decode(&all, u64::MAX).unwrap();
    assert!(all.pieces.is_none());
    let manifest = fixture.signed.manifest();
    let (mut rows, mut kept) = (rows_of(&all, &fixture), chunks(&all).to_vec());
    for (place, entry) in COVERED.iter().map(|part| manifest.placed_parts().nth(*part as usize).unwrap()) {
        rows.retain(|row| !(place.first_row..place.first_row + entry.rows).contains(row));
        let here = place.first_chunk..place.first_chunk + entry.chunks;
        kept.retain(|chunk| !here.contains(&chunk.chunk));
    }
    for read in [RunRead::Index, some_blocks(), blocks(&[&[], &[], &[]])] {
        let plan = fixture.plan(None, Task::Rows(asked(Some(read.clone()))));
        let bytes = fixture.engine(1).run(&plan).unwrap();
        assert!(fixture.engine(3).run(&plan).unwrap() == bytes);
        let answer = Answer::decode(&bytes, u64::MAX).unwrap();
        assert_eq!(found(&answer), expected(&stored, &read));
        assert!(answer.cells.is_none());
        assert_eq!(rows_of(&answer, &fixture), rows);
        assert_eq!(chunks(&answer).len(), kept.len());
        for (found, expected) in chunks(&answer).iter().zip(&kept) {
            assert_eq!((found.chunk, &found.seed), (expected.chunk, &expected.seed));
            assert!(found.fetched == expected.fetched);
        }
    }
}

#[test]
fn pieces_in_random_cuts_have_the_bytes_of_one_machine() {
    let mut random = Random::announced("partial runs");
    let (fixture, stored) = table(&mut random);
    let bare =
        |read| RowsTask { clear: Vec::new(), fetch: Vec::new(), fetch_bits: Vec::new(), ..asked(Some(read)) };
    let plans = [
        ("rows and blocks", asked(Some(some_blocks()))),
        ("blocks", bare(some_blocks())),
        ("indices", bare(RunRead::Index)),
    ];
    let plans = plans.map(|(name, task)| (name.to_owned(), fixture.plan(None, Task::Rows(task))));
    expect_equal(&mut random, &fixture, &plans, 6);
    for part in 0..PARTS.len() as u32 {
        let bytes = partial(&fixture.engine(1), &plans[0].1, &PartSet::from(part..part + 1));
        let read = PartialAnswer::decode(&bytes, u64::MAX).unwrap();
        let expected: Vec<_> =
            expected(&stored, &some_blocks()).into_iter().filter(|(number, _)| *number == part).collect();
        assert_eq!(found(&read.answer), expected, "part {part}");
        assert_eq!(read.answer.pieces.is_some(), COVERED.contains(&part));
    }
}

#[test]
fn sizes_of_parts_with_a_run_are_those_of_its_pieces() {
    let (fixture, stored) = table(&mut Random::announced("sizes of runs"));
    let sizes = |read| fixture.engine(1).part_sizes(&fixture.plan(None, Task::Rows(asked(read)))).unwrap();
    for read in [RunRead::Index, some_blocks()] {
        let mut due = sizes(None);
        for (part, piece) in expected(&stored, &read) {
            let rows = fixture.signed.manifest().parts[part as usize].rows;
            due[part as usize] = PartSize { rows, bytes: piece.len() as u64 };
        }
        assert_eq!(sizes(Some(read)), due);
    }
}

#[test]
fn tasks_that_a_run_cannot_answer_are_refused() {
    let (fixture, stored) = table(&mut Random::announced("refused runs"));
    let engine = fixture.engine(1);
    let code = |plan: &[u8]| {
        let codes = [engine.run(plan).unwrap_err().code(), engine.part_sizes(plan).unwrap_err().code()];
        assert_eq!(codes[0], codes[1]);
        assert_eq!(engine.combiner(plan, &never()).unwrap_err().code(), codes[0]);
        codes[0]
    };
    let of = |task: RowsTask| code(&fixture.plan(None, Task::Rows(task)));
    let good = asked(Some(some_blocks()));
    assert_eq!(code(&fixture.plan(Some("\"year\" > 0"), Task::Rows(good.clone()))), "HUSH-E025");
    assert_eq!(of(RowsTask { limit: Some(u64::MAX), ..good.clone() }), "HUSH-E025");
    assert_eq!(of(RowsTask { operands: vec!["1".to_owned()], ..good.clone() }), "HUSH-E025");
    assert_eq!(of(RowsTask { programs: vec![SlotExpr::Column(X)], ..good.clone() }), "HUSH-E025");
    assert_eq!(of(RowsTask { cube: Some(1), ..good.clone() }), "HUSH-E025");
    let other = |number| RowsTask { run: Some(RunTask { number, read: RunRead::Index }), ..good.clone() };
    assert_eq!(of(other(3)), "HUSH-E026");
    assert!(engine.run(&fixture.plan(None, Task::Rows(other(9)))).is_ok());
    for bad in [
        blocks(&[]),
        blocks(&[&[0], &[0]]),
        blocks(&[&[0], &[0], &[0], &[]]),
        blocks(&[&[3], &[0], &[0]]),
        blocks(&[&[0], &[0, u32::MAX], &[0]]),
        blocks(&[&[0], &[1, 1], &[0]]),
        blocks(&[&[0], &[], &[2, 1]]),
    ] {
        assert_eq!(of(asked(Some(bad))), "HUSH-E027");
    }

    // Of the limit's size with no rows, of a byte more, and refused before the file is looked for.
    let bare = RowsTask { clear: Vec::new(), fetch: Vec::new(), fetch_bits: Vec::new(), ..good };
    let mut plan = fixture.server_plan(None, Task::Rows(bare));
    let pieces: usize = expected(&stored, &some_blocks()).iter().map(|(_, piece)| 12 + piece.len()).sum();
    plan.max_answer_bytes = 4 + pieces as u64 - 1;
    let plan = serde_json::to_vec(&plan).unwrap();
    let file = fixture.signed.manifest().parts[0].runs.as_ref().unwrap().file;
    let path = fixture.store.part_path(FileKind::Runs, &file.digest);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(fixture.store.objects().delete(&path)).unwrap();
    let fresh = |limits| Engine::for_table(fixture.store.clone(), 1, limits).unwrap();
    assert_eq!(fresh(Limits::default()).run(&plan).unwrap_err().code(), "HUSH-E041");
}

/// Deleted rows are in the blocks still, so that a run stands for its part no more.
#[test]
fn a_run_of_parts_with_deleted_rows_alone_is_unknown() {
    let mut fixture = small();
    let store = fixture.store.clone();
    commit(&mut fixture, |next| {
        next.parts[1].dead = Some(store.put_dead_rows(&DeadRows::new(3, [0])).unwrap());
    });
    let plan = fixture.plan(None, Task::Rows(asked(Some(RunRead::Index))));
    assert_eq!(fixture.engine(1).run(&plan).unwrap_err().code(), "HUSH-E026");
}

#[test]
fn damaged_runs_are_refused() {
    let (fixture, _) = table(&mut Random::announced("hostile runs"));
    let plan = fixture.plan(None, Task::Rows(asked(Some(some_blocks()))));
    let file = fixture.signed.manifest().parts[0].runs.as_ref().unwrap().file;
    let path = fixture.store.part_path(FileKind::Runs, &file.digest);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let put = |bytes: Vec<u8>| {
        runtime.block_on(fixture.store.objects().put(&path, PutPayload::from(bytes))).unwrap()
    };
    let good = fixture.store.open_part(FileKind::Runs, &file).unwrap().read_all().unwrap().to_vec();
    let mut flipped = good.clone();
    flipped[100] ^= 1;
    for bad in [good[..good.len() - 1].to_vec(), [good.as_slice(), &[0]].concat(), flipped, Vec::new()] {
        put(bad);
        assert_eq!(fixture.engine(2).run(&plan).unwrap_err().code(), "HUSH-E060");
    }
    put(good);
    fixture.engine(2).run(&plan).unwrap();
}

/// A rows answer with another section of pieces.
pub(crate) fn with_pieces(bytes: &[u8], pieces: &[u8]) -> Vec<u8> {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let start = 128 + number(32) + number(40);
    let mut changed = [&bytes[..start], pieces, &bytes[start + number(116)..]].concat();
    changed[116..124].copy_from_slice(&(pieces.len() as u64).to_le_bytes());
    changed[127] = u8::from(!pieces.is_empty());
    let total = changed.len() as u64;
    changed[24..32].copy_from_slice(&total.to_le_bytes());
    resealed(&changed, 32)
}

/// A section of pieces.
pub(crate) fn section(pieces: &[(u32, &[u8])]) -> Vec<u8> {
    let mut bytes = (pieces.len() as u32).to_le_bytes().to_vec();
    for (part, piece) in pieces {
        bytes.extend(part.to_le_bytes());
        bytes.extend((piece.len() as u64).to_le_bytes());
    }
    pieces.iter().for_each(|(_, piece)| bytes.extend_from_slice(piece));
    bytes
}

#[test]
fn partial_answers_with_other_pieces_are_refused() {
    let (fixture, stored) = table(&mut Random::announced("other pieces"));
    let read = blocks(&[&[0, 2], &[1], &[9]]);
    let (engine, plan) = (fixture.engine(1), fixture.plan(None, Task::Rows(asked(Some(read.clone())))));
    let of = |part: u32| partial(&engine, &plan, &PartSet::from(part..part + 1));
    let piece = expected(&stored, &read).remove(1).1;
    let good = section(&[(4, &piece)]);
    assert_eq!(with_pieces(&of(4), &good), of(4));
    let cells = |mut bytes: Vec<u8>| {
        bytes[127] = 0;
        resealed(&bytes, 32)
    };
    let mut longer = good.clone();
    longer[8] += 1;
    let mut empty = with_pieces(&of(2), &[]);
    empty[127] = 1;
    for (bad, code) in [
        (with_pieces(&of(4), &[]), "HUSH-E075"),
        (with_pieces(&of(2), &good), "HUSH-E075"),
        (with_pieces(&of(1), &good), "HUSH-E075"),
        (with_pieces(&of(4), &section(&[(5, &piece)])), "HUSH-E075"),
        (with_pieces(&of(4), &section(&[(4, &piece[1..])])), "HUSH-E075"),
        (with_pieces(&of(4), &section(&[(4, &[])])), "HUSH-E075"),
        (with_pieces(&of(4), &section(&[(4, &piece), (7, &[])])), "HUSH-E075"),
        (with_pieces(&of(4), &section(&[(4, &piece), (4, &piece)])), "HUSH-E092"),
        (with_pieces(&of(4), &section(&[(7, &[]), (4, &piece)])), "HUSH-E092"),
        (with_pieces(&of(4), &section(&[])), "HUSH-E092"),
        (with_pieces(&of(4), &longer), "HUSH-E092"),
        (with_pieces(&of(4), &good[..good.len() - 1]), "HUSH-E092"),
        (with_pieces(&of(4), &[good.as_slice(), &[0]].concat()), "HUSH-E092"),
        (with_pieces(&of(4), &[255; 4]), "HUSH-E092"),
        (resealed(&empty, 32), "HUSH-E092"),
        (cells(of(4)), "HUSH-E091"),
    ] {
        let mut combiner = engine.combiner(&plan, &never()).unwrap();
        combiner.push(&of(0)).unwrap();
        assert_eq!(combiner.push(&bad).unwrap_err().code(), code);
        for part in 1..PARTS.len() as u32 {
            combiner.push(&of(part)).unwrap();
        }
        assert!(combiner.finish().unwrap() == engine.run(&plan).unwrap());
    }
    // An answer without a run has no pieces.
    let (without, alone) = (fixture.plan(None, Task::Rows(asked(None))), PartSet::from(4..5));
    let bad = with_pieces(&partial(&engine, &without, &alone), &good);
    assert_eq!(engine.combiner(&without, &never()).unwrap().push(&bad).unwrap_err().code(), "HUSH-E075");
}

#[test]
fn damaged_answers_with_pieces_are_refused_or_keep_their_rules() {
    let fixture = small();
    let good =
        fixture.engine(1).run(&fixture.plan(None, Task::Rows(asked(Some(blocks(&[&[1, 3]])))))).unwrap();
    let accepted = damaged("answer with pieces", 600, &good, |bytes| {
        let bytes = resealed(bytes, 32);
        let Ok(answer) = Answer::decode(&bytes, u64::MAX) else { return false };
        let Some(pieces) = answer.pieces else { return true };
        let pieces: Vec<_> = pieces.iter().collect();
        assert!(pieces.is_sorted_by(|(before, _), (after, _)| before < after));
        assert!(pieces.iter().map(|(_, piece)| piece.len()).sum::<usize>() < bytes.len());
        true
    });
    assert!(accepted > 0);
}
