// SPDX-License-Identifier: Apache-2.0
//! Chunks whose rows are in ring elements together.

use super::partial::{combined, set, stop};
use super::table::RowsOfPart;
use super::*;

/// Its ring elements hold two full chunks.
const WIDE: &str = "n14_q5x46_sec128_v1";

fn parts() -> [RowsOfPart; 5] {
    [part(2 * CHUNK + 100, 0), part(50, 1), part(CHUNK, 0), part(3 * CHUNK, 1), part(CHUNK + 1, 0)]
}

fn late() -> Condition {
    ("\"year\" > 2022", |row| row.year > 2022)
}

/// Whether the second chunk is full, short or missing, with and without rows that are left out, and by group.
#[test]
fn sums_over_chunks_that_are_together_are_those_of_the_rows() {
    let mut random = random("chunks together");
    let mut parts = parts();
    for dead in [vec![], vec![0, 17, CHUNK as u64 - 1, CHUNK as u64, 2 * CHUNK as u64 + 3]] {
        parts[0].dead = dead;
        let table = TestTable::new(&mut random, WIDE, &parts, Kind::Encrypted);
        assert_eq!(table.in_ring(), (2 * CHUNK, 2));
        for elements in [1, 2, 100] {
            check(&table, &random_task(&mut random, 3, elements, 63), None);
            check(&table, &random_task(&mut random, 2, elements, 63), Some(late()));
        }
        check_groups(&table, &random_task(&mut random, 2, 3, 63), Some(late()));
        check(&table, &with_powers(random_task(&mut random, 2, 4, 63), &[1, 3], 63), Some(late()));
    }
    // All rows of one chunk, and all of a pair.
    parts[0].dead = (0..CHUNK as u64).collect();
    parts[3].dead = (0..2 * CHUNK as u64).collect();
    let table = TestTable::new(&mut random, WIDE, &parts, Kind::Encrypted);
    check(&table, &random_task(&mut random, 3, 2, 63), None);
    check_groups(&table, &random_task(&mut random, 2, 100, 63), None);
}

#[test]
fn they_are_never_parted_by_runs() {
    let mut random = random("runs of chunks together");
    let table = TestTable::new(&mut random, WIDE, &parts(), Kind::Plain);
    let shown = |elements| -> Vec<ShownRun> {
        let runs = product_runs(table.signed.manifest(), table.in_ring(), elements);
        let chunks =
            |run: &ProductRun| run.chunks.iter().map(|c| (c.part, c.chunks.start, c.chunks.end)).collect();
        runs.iter().map(|run| (run.domain, run.elements, run.rows, chunks(run))).collect()
    };
    let chunk = CHUNK as u64;
    assert_eq!(
        shown(2),
        [
            (0, 2, 2 * chunk + 100, vec![(0, 0, 3)]),
            (0, 2, 2 * chunk + 1, vec![(2, 4, 5), (4, 8, 10)]),
            (1, 2, 50 + 2 * chunk, vec![(1, 3, 4), (3, 5, 7)]),
            (1, 1, chunk, vec![(3, 7, 8)])
        ]
    );
    let run = &product_runs(table.signed.manifest(), table.in_ring(), 100)[1];
    let numbers: Vec<Vec<u32>> = (run.chunks.iter())
        .map(|chunks| chunks.numbers(1).take(chunks.together(2).count()).collect())
        .collect();
    assert_eq!(numbers, [vec![0], vec![1, 2]]);
}

#[test]
fn dry_runs_and_partial_answers_have_the_same_sums() {
    let mut random = random("parts of chunks together");
    for kind in [Kind::Plain, Kind::Encrypted] {
        let table = TestTable::new(&mut random, WIDE, &parts(), kind);
        let task = random_task(&mut random, 2, 3, 40);
        let plan = table.plan(Some(late().0), task.clone());
        let engine = table.engine(2);
        let whole = engine.run(&plan).unwrap();
        if kind == Kind::Plain {
            let answer = Answer::decode(&whole, 1 << 20).unwrap();
            let plain = |object: &&[u8]| PlainSum::decode(object).unwrap();
            let found = runs_of(&answer).runs.iter().map(|run| run.objects.iter().map(plain).collect());
            let counts = |row: &Row| (late().1)(row);
            let total = |slots: Vec<i64>| PlainSum::Exact(I256::from(slots.iter().sum::<i64>()));
            let expected = expected(&table, &task, &counts, true).into_iter();
            let expected: Vec<Vec<PlainSum>> =
                expected.map(|run| run.into_iter().map(total).collect()).collect();
            assert_eq!(found.collect::<Vec<Vec<PlainSum>>>(), expected);
        }
        let run = |parts: &[u32]| engine.run_parts(&plan, &set(parts), &stop()).unwrap();
        assert!(combined(&engine, &plan, &[run(&[1, 3]), run(&[0]), run(&[2, 4])]) == whole);
    }
}

/// What no chunk but the first has is not asked for chunk by chunk.
#[test]
fn columns_whose_chunks_are_together_go_back_to_nobody() {
    let mut random = random("columns of chunks together");
    let table = TestTable::new(&mut random, WIDE, &parts(), Kind::Encrypted);
    let mut plan = table.server_plan(None, ProductsTask::default());
    let fetch = vec![EncodingId(0)];
    plan.task = hush_plan::plan::Task::Rows(hush_plan::plan::RowsTask { fetch, ..Default::default() });
    let refused = table.engine(1).run(&serde_json::to_vec(&plan).unwrap()).unwrap_err();
    assert_eq!(refused.code(), "HUSH-E011", "{refused}");
    let mut task = random_task(&mut random, 2, 3, 40);
    task = with_choices(&mut random, task, 10);
    assert_eq!(table.engine(1).run(&table.plan(None, task)).unwrap_err().code(), "HUSH-E011");
}
