// SPDX-License-Identifier: Apache-2.0
//! Rows tasks with a cube: the cells of parts that have it, against sums of plain numbers, and the rows of all others.

use std::collections::BTreeSet;

use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use hush_exec::answer::{Answer, EncryptedHalf, PartialAnswer, RowsChunk};
use hush_exec::{Engine, Limits, PartSet, PartSize};
use hush_plan::plan::{RowsTask, SlotExpr, Task};
use hush_table::{CubeSums, CubesId, DeadRows, FileKind, Manifest, PartCubes, SignedManifest, StoredCube};
use hush_testkit::damaged;
use object_store::{ObjectStoreExt, PutPayload};

use crate::fixture::{Fixture, Random, VALID, X};
use crate::mutations::resealed;
use crate::partial::{expect_equal, never, partial, rows_task};

/// Parts by their place: 0 and 4 have both cubes, 1 and 5 have them and a deleted row, 2 and 6 have another cube alone, 3 has none.
const PARTS: [usize; 8] = [3, 2, 40, 8192 + 5, 17, 30, 1, 250];
/// The cube that is asked for.
pub(crate) const CUBE: u32 = 5;
const CELLS: u32 = 37;
const BITS: [u8; 8] = [24, 60, 128, 8, 16, 57, 58, 1];

/// The kind of a part by its place.
fn kind(part: usize) -> usize {
    if part == 7 { 0 } else { part % 4 }
}

fn covered() -> Vec<usize> {
    (0..PARTS.len()).filter(|part| kind(*part) == 0).collect()
}

/// A cube with random numbers, as pads make them.
fn cube(random: &mut Random, number: u32, cells: u32, bits: &[u8]) -> StoredCube {
    let mut sums = CubeSums::zeros(cells, bits);
    for lane in 0..bits.len() {
        for cell in 0..cells as usize {
            sums.set(lane, cell, u128::from(random.word()) << 64 | u128::from(random.word()));
        }
    }
    StoredCube::new(number, &sums)
}

/// The next version of a table.
pub(crate) fn commit(fixture: &mut Fixture, change: impl FnOnce(&mut Manifest)) {
    let mut next = fixture.signed.manifest().clone();
    change(&mut next);
    next.version += 1;
    let key = fixture.seed.verifying_key().to_bytes();
    fixture.signed = SignedManifest::sign(next, &key, |message| fixture.seed.sign(message)).unwrap();
    fixture.store.commit(&fixture.signed).unwrap();
}

/// A table whose parts have cubes as their places say, and the cubes that are asked for.
fn table(random: &mut Random) -> (Fixture, Vec<StoredCube>) {
    let mut fixture = Fixture::random(random, &PARTS);
    let (store, mut asked) = (fixture.store.clone(), Vec::new());
    commit(&mut fixture, |next| {
        for (place, entry) in next.parts.iter_mut().enumerate() {
            let cubes = match kind(place) {
                0 | 1 => vec![cube(random, 2, 3, &[9]), cube(random, CUBE, CELLS, &BITS)],
                2 => vec![cube(random, 9, CELLS, &BITS)],
                _ => continue,
            };
            if kind(place) == 0 {
                asked.push(cubes[1].clone());
            }
            let id = CubesId::from_bytes([place as u8; 16]);
            entry.cubes = Some(store.put_cubes(&PartCubes { id, cubes }).unwrap());
            if kind(place) == 1 {
                entry.dead = Some(store.put_dead_rows(&DeadRows::new(entry.rows, [1])).unwrap());
            }
        }
    });
    (fixture, asked)
}

/// A table of a single part, and of another one that has a small cube.
pub(crate) fn small() -> Fixture {
    let mut random = Random::announced("small cubes");
    let mut fixture = Fixture::random(&mut random, &[5, 3]);
    let id = CubesId::from_bytes([1; 16]);
    let cubes = PartCubes { id, cubes: vec![cube(&mut random, CUBE, 4, &[24, 60])] };
    let cubes = fixture.store.put_cubes(&cubes).unwrap();
    commit(&mut fixture, |next| next.parts[1].cubes = Some(cubes));
    fixture
}

pub(crate) fn asked(cube: Option<u32>) -> RowsTask {
    let task = rows_task(&["\"ward\""], Vec::new(), &[X, VALID], None);
    RowsTask { operands: Vec::new(), cube, ..task }
}

fn lanes(sums: &CubeSums) -> Vec<Vec<u128>> {
    (0..sums.bits().len()).map(|lane| sums.lane(lane).unwrap().collect()).collect()
}

pub(crate) fn rows_of(answer: &Answer<'_>, fixture: &Fixture) -> BTreeSet<u64> {
    let batch = answer.clear(fixture.signed.manifest().rows).unwrap();
    batch.column(0).as_primitive::<UInt64Type>().values().iter().copied().collect()
}

pub(crate) fn chunks<'a>(answer: &'a Answer<'_>) -> &'a [RowsChunk<'a>] {
    let EncryptedHalf::Rows(chunks) = &answer.encrypted else { panic!("{answer:?}") };
    chunks
}

#[test]
fn cells_are_added_and_other_parts_send_their_rows() {
    let mut random = Random::announced("cubes");
    let (fixture, cubes) = table(&mut random);
    let (with, without) = [Some(CUBE), None].map(|cube| fixture.plan(None, Task::Rows(asked(cube)))).into();
    let bytes = fixture.engine(1).run(&with).unwrap();
    assert!(fixture.engine(3).run(&with).unwrap() == bytes);
    let answer = Answer::decode(&bytes, u64::MAX).unwrap();
    let cells = answer.cells.unwrap();
    assert_eq!((cells.cells(), cells.bits()), (CELLS, BITS.as_slice()));
    let mut expected = vec![vec![0_u128; CELLS as usize]; BITS.len()];
    for cube in &cubes {
        for ((total, lane), bits) in expected.iter_mut().zip(lanes(&cube.unpack().unwrap())).zip(BITS) {
            let mask = u128::MAX >> (128 - bits);
            total.iter_mut().zip(lane).for_each(|(cell, more)| *cell = cell.wrapping_add(more) & mask);
        }
    }
    assert_eq!(lanes(&cells.unpack()), expected);

    // All else is what a task without a cube gets of these parts.
    let all = fixture.engine(2).run(&without).unwrap();
    assert_eq!(all[116..128], [0; 12]);
    let all = Answer::decode(&all, u64::MAX).unwrap();
    assert!(all.cells.is_none());
    let manifest = fixture.signed.manifest();
    let (mut rows, mut kept) = (rows_of(&all, &fixture), chunks(&all).to_vec());
    for (place, entry) in covered().iter().map(|part| manifest.placed_parts().nth(*part).unwrap()) {
        rows.retain(|row| !(place.first_row..place.first_row + entry.rows).contains(row));
        let here = place.first_chunk..place.first_chunk + entry.chunks;
        kept.retain(|chunk| !here.contains(&chunk.chunk));
    }
    assert_eq!(rows_of(&answer, &fixture), rows);
    assert_eq!(chunks(&answer).len(), kept.len());
    for (found, expected) in chunks(&answer).iter().zip(&kept) {
        assert_eq!((found.chunk, &found.seed), (expected.chunk, &expected.seed));
        assert!(found.fetched == expected.fetched);
    }
}

#[test]
fn cells_in_random_cuts_have_the_bytes_of_one_machine() {
    let mut random = Random::announced("partial cubes");
    let (fixture, _) = table(&mut random);
    let bare = RowsTask { clear: Vec::new(), fetch: Vec::new(), fetch_bits: Vec::new(), ..asked(Some(CUBE)) };
    let plans = [("rows and cells", asked(Some(CUBE))), ("cells", bare)];
    let plans = plans.map(|(name, task)| (name.to_owned(), fixture.plan(None, Task::Rows(task))));
    expect_equal(&mut random, &fixture, &plans, 8);
    for part in 0..PARTS.len() as u32 {
        let bytes = partial(&fixture.engine(1), &plans[0].1, &PartSet::from(part..part + 1));
        let read = PartialAnswer::decode(&bytes, u64::MAX).unwrap();
        assert_eq!(read.answer.cells.is_some(), covered().contains(&(part as usize)), "part {part}");
    }
}

#[test]
fn sizes_of_parts_with_a_cube_are_those_of_its_file() {
    let (fixture, _) = table(&mut Random::announced("sizes of cubes"));
    let sizes = |cube| fixture.engine(1).part_sizes(&fixture.plan(None, Task::Rows(asked(cube)))).unwrap();
    let mut expected = sizes(None);
    for part in covered() {
        let entry = &fixture.signed.manifest().parts[part];
        expected[part] = PartSize { rows: entry.rows, bytes: entry.cubes.as_ref().unwrap().file.bytes };
    }
    assert_eq!(sizes(Some(CUBE)), expected);
}

#[test]
fn tasks_that_a_cube_cannot_answer_are_refused() {
    let (fixture, _) = table(&mut Random::announced("refused cubes"));
    let engine = fixture.engine(1);
    let code = |plan: &[u8]| {
        let codes = [engine.run(plan).unwrap_err().code(), engine.part_sizes(plan).unwrap_err().code()];
        assert_eq!(codes[0], codes[1]);
        assert_eq!(engine.combiner(plan, &never()).unwrap_err().code(), codes[0]);
        codes[0]
    };
    let of = |task: RowsTask| code(&fixture.plan(None, Task::Rows(task)));
    let good = asked(Some(CUBE));
    assert_eq!(code(&fixture.plan(Some("\"year\" > 0"), Task::Rows(good.clone()))), "HUSH-E018");
    assert_eq!(of(RowsTask { limit: Some(u64::MAX), ..good.clone() }), "HUSH-E018");
    assert_eq!(of(RowsTask { operands: vec!["1".to_owned()], ..good.clone() }), "HUSH-E018");
    assert_eq!(of(RowsTask { programs: vec![SlotExpr::Column(X)], ..good.clone() }), "HUSH-E018");
    assert_eq!(of(asked(Some(3))), "HUSH-E019");
    assert!(engine.run(&fixture.plan(None, Task::Rows(asked(Some(9))))).is_ok());

    let mut plan = fixture.server_plan(None, Task::Rows(good));
    plan.max_answer_bytes = CubeSums::encoded_bytes(CELLS, &BITS) - 1;
    let plan = serde_json::to_vec(&plan).unwrap();
    assert_eq!(engine.run(&plan).unwrap_err().code(), "HUSH-E041");
    let limits = Limits { memory_bytes: 2 * 16 * u64::from(CELLS) * 8 - 2, ..Limits::default() };
    let tight = Engine::for_table(fixture.store.clone(), 1, limits).unwrap();
    let plan = fixture.plan(None, Task::Rows(asked(Some(CUBE))));
    assert_eq!(tight.run(&plan).unwrap_err().code(), "HUSH-E042");
}

/// Deleted rows are in the cells still, so that a cube stands for its part no more.
#[test]
fn a_cube_of_parts_with_deleted_rows_alone_is_unknown() {
    let mut fixture = small();
    let store = fixture.store.clone();
    commit(&mut fixture, |next| {
        next.parts[1].dead = Some(store.put_dead_rows(&DeadRows::new(3, [0])).unwrap());
    });
    let plan = fixture.plan(None, Task::Rows(asked(Some(CUBE))));
    assert_eq!(fixture.engine(1).run(&plan).unwrap_err().code(), "HUSH-E019");
}

#[test]
fn damaged_and_exchanged_cubes_are_refused() {
    let mut random = Random::announced("hostile cubes");
    let code = |fixture: &Fixture| {
        let plan = fixture.plan(None, Task::Rows(asked(Some(CUBE))));
        fixture.engine(2).run(&plan).unwrap_err().code()
    };
    let changes: [fn(&mut Manifest, &mut Random, &Fixture); 4] = [
        // Another id than that of the file, and other numbers.
        |next, _, _| next.parts[4].cubes.as_mut().unwrap().id = CubesId::from_bytes([99; 16]),
        |next, _, _| next.parts[4].cubes.as_mut().unwrap().numbers = vec![CUBE],
        // Other shapes than that of the other parts.
        |next, random, fixture| {
            let cubes = vec![cube(random, CUBE, CELLS + 1, &BITS)];
            let cubes = PartCubes { id: CubesId::from_bytes([99; 16]), cubes };
            next.parts[4].cubes = Some(fixture.store.put_cubes(&cubes).unwrap());
        },
        |next, random, fixture| {
            let mut bits = BITS;
            bits.swap(3, 4);
            let cubes = vec![cube(random, CUBE, CELLS, &bits)];
            let cubes = PartCubes { id: CubesId::from_bytes([99; 16]), cubes };
            next.parts[4].cubes = Some(fixture.store.put_cubes(&cubes).unwrap());
        },
    ];
    for change in changes {
        let (mut fixture, _) = table(&mut random);
        let mut next = fixture.signed.manifest().clone();
        change(&mut next, &mut random, &fixture);
        commit(&mut fixture, |manifest| *manifest = next);
        assert_eq!(code(&fixture), "HUSH-E060");
    }
    let (fixture, _) = table(&mut random);
    let file = fixture.signed.manifest().parts[0].cubes.as_ref().unwrap().file;
    let path = fixture.store.part_path(FileKind::Cubes, &file.digest);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let put = |bytes: Vec<u8>| {
        runtime.block_on(fixture.store.objects().put(&path, PutPayload::from(bytes))).unwrap()
    };
    let good = fixture.store.open_part(FileKind::Cubes, &file).unwrap().read_all().unwrap().to_vec();
    let mut flipped = good.clone();
    flipped[40] ^= 1;
    for bad in [good[..good.len() - 1].to_vec(), [good.as_slice(), &[0]].concat(), flipped, Vec::new()] {
        put(bad);
        assert_eq!(code(&fixture), "HUSH-E060");
    }
    put(good);
    let plan = fixture.plan(None, Task::Rows(asked(Some(CUBE))));
    fixture.engine(2).run(&plan).unwrap();
}

/// A rows answer with other cells.
fn with_cells(bytes: &[u8], cells: &[u8]) -> Vec<u8> {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let start = 128 + number(32) + number(40);
    let mut changed = [&bytes[..start], cells, &bytes[start + number(116)..]].concat();
    changed[116..124].copy_from_slice(&(cells.len() as u64).to_le_bytes());
    let total = changed.len() as u64;
    changed[24..32].copy_from_slice(&total.to_le_bytes());
    resealed(&changed, 32)
}

#[test]
fn partial_answers_with_other_cells_are_refused() {
    let (fixture, cubes) = table(&mut Random::announced("other cells"));
    let (engine, plan) = (fixture.engine(1), fixture.plan(None, Task::Rows(asked(Some(CUBE)))));
    let of = |part: u32| partial(&engine, &plan, &PartSet::from(part..part + 1));
    let good = cubes[1].unpack().unwrap().encode();
    assert_eq!(with_cells(&of(4), &good), of(4));
    let mut other = good.clone();
    other.swap(5 + 3, 5 + 4);
    for (bad, code) in [
        (with_cells(&of(4), &other), "HUSH-E075"),
        (with_cells(&of(4), &CubeSums::zeros(CELLS + 1, &BITS).encode()), "HUSH-E075"),
        (with_cells(&of(4), &[]), "HUSH-E075"),
        (with_cells(&of(2), &good), "HUSH-E075"),
        (with_cells(&of(1), &good), "HUSH-E075"),
        (with_cells(&of(4), &good[..good.len() - 1]), "HUSH-E091"),
    ] {
        let mut combiner = engine.combiner(&plan, &never()).unwrap();
        combiner.push(&of(0)).unwrap();
        assert_eq!(combiner.push(&bad).unwrap_err().code(), code);
        for part in 1..PARTS.len() as u32 {
            combiner.push(&of(part)).unwrap();
        }
        assert!(combiner.finish().unwrap() == engine.run(&plan).unwrap());
    }
}

#[test]
fn damaged_answers_with_cells_are_refused_or_keep_their_rules() {
    let fixture = small();
    let good = fixture.engine(1).run(&fixture.plan(None, Task::Rows(asked(Some(CUBE))))).unwrap();
    let accepted = damaged("answer with cells", 600, &good, |bytes| {
        let bytes = resealed(bytes, 32);
        let Ok(answer) = Answer::decode(&bytes, u64::MAX) else { return false };
        let Some(cells) = answer.cells else { return true };
        assert_eq!(cells.unpack().pack(), cells.packed());
        true
    });
    assert!(accepted > 0);
}
