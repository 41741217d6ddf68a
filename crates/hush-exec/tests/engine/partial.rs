// SPDX-License-Identifier: Apache-2.0
//! Partial answers: whatever way the parts are cut, and in whatever tree and order partial answers are put together, the bytes are those
//! of one machine.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use hush_exec::answer::PartialAnswer;
use hush_exec::{Engine, Limits, PartSet, Stop};
use hush_plan::EncodingId;
use hush_plan::plan::{AggregateTask, Mask, Predicate, RowsTask, SlotExpr, Task};
use object_store::path::Path;

use crate::fixture::{Fixture, REAL_SUM, Random, SQUARE, VALID, VALUE, X, Y};
use crate::reference::{everything, task};
use crate::watched::{Access, watched};

/// Many parts of few rows; one of two chunks, one of which begins within a group of years.
const PARTS: [usize; 11] = [3, 1, 40, 8192 + 5, 17, 1, 1, 250, 64, 9, 2];

pub(crate) fn never() -> Arc<Stop> {
    Arc::new(Stop::never())
}

pub(crate) fn partial(engine: &Engine, plan: &[u8], parts: &PartSet) -> Vec<u8> {
    engine.run_parts(plan, parts, &never()).unwrap()
}

fn part_count(fixture: &Fixture) -> u32 {
    fixture.signed.manifest().parts.len() as u32
}

/// The parts of the table in random sets of neighbours, or of parts that lie anywhere.
fn cut(random: &mut Random, count: u32) -> Vec<PartSet> {
    if random.chance(30) {
        let sets = 1 + random.below(4) as usize;
        let mut parts = vec![PartSet::default(); sets];
        (0..count).for_each(|part| parts[random.below(sets as u64) as usize].insert(part..part + 1));
        return parts;
    }
    let mut ranges: Vec<Range<u32>> = Vec::new();
    let mut first = 0;
    while first < count {
        let end = count.min(first + 1 + random.below(4) as u32);
        ranges.push(first..end);
        first = end;
    }
    ranges.into_iter().map(PartSet::from).collect()
}

/// Puts partial answers together in a random tree, some of them twice, and gives the answer. Each inner node of the tree must be
/// the partial answer of one run over its parts.
fn combined(
    random: &mut Random,
    engine: &Engine,
    plan: &[u8],
    mut partials: Vec<(PartSet, Vec<u8>)>,
) -> Vec<u8> {
    loop {
        for place in (1..partials.len()).rev() {
            partials.swap(place, random.below(place as u64 + 1) as usize);
        }
        let is_last = partials.len() < 3 || random.chance(25);
        let taken =
            if is_last { partials.len() } else { 2 + random.below(partials.len() as u64 - 1) as usize };
        let mut combiner = engine.combiner(plan, &never()).unwrap();
        let mut covered = PartSet::default();
        for (parts, partial) in partials.drain(..taken) {
            assert_eq!(PartialAnswer::decode(&partial, u64::MAX).unwrap().parts, parts);
            combiner.push(&partial).unwrap();
            if random.chance(20) {
                combiner.push(&partial).unwrap();
            }
            covered = covered.union(&parts);
        }
        assert_eq!(*combiner.covered(), covered);
        if is_last {
            assert!(combiner.missing().is_empty());
            return combiner.finish().unwrap();
        }
        let inner = combiner.partial().unwrap();
        assert_eq!(inner, self::partial(engine, plan, &covered), "parts {covered}");
        partials.push((covered, inner));
    }
}

pub(crate) fn expect_equal(
    random: &mut Random,
    fixture: &Fixture,
    plans: &[(String, Vec<u8>)],
    rounds: usize,
) {
    for (name, plan) in plans {
        let engine = fixture.engine(1 + random.below(3) as usize);
        let expected = engine.run(plan).unwrap();
        for _ in 0..rounds {
            let sets = cut(random, part_count(fixture));
            let partials = sets.into_iter().map(|parts| {
                let bytes = partial(&engine, plan, &parts);
                (parts, bytes)
            });
            let partials = partials.collect();
            assert!(combined(random, &engine, plan, partials) == expected, "{name}");
        }
    }
}

const PREDICATES: [Option<&str>; 6] = [
    None,
    Some("\"year\" = 2022"),
    Some("\"weight\" > 300 OR \"ward\" IS NULL"),
    Some("\"ratio\" < 0.0"),
    Some("\"year\" > 3000"),
    // True in a single part or two.
    Some("\"day\" < DATE '1970-01-01' + 18300"),
];

/// Keys of every kind: NULLs, texts, times, floats that are no numbers and zeros of both signs.
const KEYS: [&[&str]; 6] = [
    &[],
    &["\"ward\""],
    &["\"year\"", "\"ward\""],
    &["\"weight\" % 3"],
    &[
        "CASE WHEN \"weight\" > 500 THEN CAST('NaN' AS DOUBLE) WHEN \"weight\" > 0 THEN -CAST('NaN' AS DOUBLE) WHEN \"weight\" < -500 THEN -0.0 WHEN \"weight\" < 0 THEN 0.0 ELSE \"ratio\" END > 0.0",
        "CASE WHEN \"weight\" > 500 THEN CAST('NaN' AS DOUBLE) WHEN \"weight\" > 0 THEN -CAST('NaN' AS DOUBLE) WHEN \"weight\" < -500 THEN -CAST(0 AS DOUBLE) WHEN \"weight\" < 0 THEN CAST(0 AS DOUBLE) END",
    ],
    &["\"day\"", "\"weight\" IS NULL", "CAST(\"weight\" % 2 AS DECIMAL(12,2)) * 0.5"],
];

/// Clear aggregates that merge, and those that do not; alone, inside expressions, with conditions.
const CLEAR: [&[&str]; 9] = [
    &[],
    &[
        "SUM(CAST(\"weight\" AS DECIMAL(38,0)))",
        "COUNT(\"weight\")",
        "COUNT(CASE WHEN \"year\" = 2021 THEN 1 END)",
    ],
    &[
        "MIN(\"weight\")",
        "MAX(\"day\")",
        "MIN(\"ward\")",
        "MAX(\"ward\")",
        "BOOL_AND(\"weight\" > 0)",
        "BOOL_OR(\"year\" = 2020)",
    ],
    &[
        "SUM(\"weight\") FILTER (WHERE \"year\" = 2021) + 1",
        "CAST(MAX(\"day\") AS VARCHAR)",
        "COUNT(*) * 2 - COUNT(\"ward\")",
    ],
    &[
        "SUM(CAST(\"weight\" AS DECIMAL(38,0)) * CAST(\"year\" AS DECIMAL(38,0)))",
        "SUM(CAST(\"weight\" AS DECIMAL(20,3)))",
        "MIN(\"weight\" > 3)",
    ],
    &["SUM(\"ratio\")", "MIN(\"ratio\")", "STDDEV(\"ratio\")", "AVG(\"weight\")"],
    &["COUNT(DISTINCT \"year\")", "MIN(\"day\")"],
    &[
        "logreg_part(logreg(CAST(1 AS BIGINT), CAST(\"year\" > 2020 AS DOUBLE), CAST(\"weight\" AS DOUBLE), \"ratio\"), 2)",
    ],
    &["product(CAST(\"year\" AS DOUBLE) / 2020.0)", "VAR_POP(\"weight\")", "BIT_XOR(\"year\")"],
];

#[test]
fn aggregates_in_random_cuts_have_the_bytes_of_one_machine() {
    let mut random = Random::announced("partial aggregates");
    let fixture = Fixture::random(&mut random, &PARTS);
    let masks = [
        everything(),
        Mask { condition: Some(Predicate::clear("\"weight\" <> 7")), weight: Some("\"weight\"".to_owned()) },
    ];
    let sums: [&[(usize, EncodingId)]; 4] = [
        &[],
        &[(0, VALUE), (0, VALID)],
        &[(0, VALUE), (1, VALUE), (0, SQUARE)],
        &[(1, REAL_SUM), (0, REAL_SUM)],
    ];
    let mut plans = Vec::new();
    for (place, clear) in CLEAR.into_iter().enumerate() {
        for keys in KEYS {
            let predicate = PREDICATES[random.below(PREDICATES.len() as u64) as usize];
            let sums = sums[(place + random.below(2) as usize) % sums.len()];
            let mut asked = task(keys, masks.to_vec(), sums);
            asked.clear.extend(clear.iter().map(|text| (*text).to_owned()));
            let name = format!("{keys:?} {clear:?} {predicate:?} {sums:?}");
            plans.push((name, fixture.plan(predicate, Task::Aggregate(asked))));
        }
    }
    for predicate in PREDICATES {
        let name = format!("all rows that match {predicate:?}");
        plans.push((name, fixture.plan(predicate, Task::Aggregate(task(&[], masks.to_vec(), sums[2])))));
    }
    expect_equal(&mut random, &fixture, &plans, 3);
}

pub(crate) fn rows_task(
    clear: &[&str],
    programs: Vec<SlotExpr>,
    fetch: &[EncodingId],
    limit: Option<u64>,
) -> RowsTask {
    RowsTask {
        clear: clear.iter().map(|text| (*text).to_owned()).collect(),
        operands: vec!["CAST(\"weight\" AS DECIMAL(38,0))".to_owned()],
        fetch_bits: vec![None; fetch.len()],
        program_bits: programs.iter().map(|_| Some(40)).collect(),
        programs,
        fetch: fetch.to_vec(),
        sealed: vec![],
        operand_limit_log2: 20,
        cube: None,
        run: None,
        limit,
    }
}

#[test]
fn rows_in_random_cuts_have_the_bytes_of_one_machine() {
    let mut random = Random::announced("partial rows");
    let fixture = Fixture::random(&mut random, &PARTS);
    let column = |id| Box::new(SlotExpr::Column(id));
    let product = SlotExpr::Mul(column(X), column(Y));
    let weighed = SlotExpr::Mul(column(X), Box::new(SlotExpr::Clear(0)));
    let mut plans = Vec::new();
    for predicate in PREDICATES {
        for limit in [None, Some(0), Some(1), Some(45), Some(8240), Some(1 << 40)] {
            for (clear, programs, fetch) in [
                (["\"ward\"", "\"weight\" > 0"].as_slice(), vec![], [].as_slice()),
                (&["\"ward\"", "\"ratio\""], vec![product.clone(), weighed.clone()], &[]),
                (&[], vec![], &[VALID, VALUE]),
            ] {
                let name = format!("{predicate:?} {limit:?} {clear:?} {} {fetch:?}", programs.len());
                let task = rows_task(clear, programs, fetch, limit);
                plans.push((name, fixture.plan(predicate, Task::Rows(task))));
            }
        }
    }
    expect_equal(&mut random, &fixture, &plans, 2);
}

#[test]
fn tables_of_one_part_and_without_clear_columns() {
    let mut random = Random::announced("partial, small tables");
    for fixture in
        [Fixture::random(&mut random, &[1]), Fixture::without_clear(&mut random, &[5, 8193, 1, 30])]
    {
        let plans = [
            ("sums", Task::Aggregate(task(&[], vec![everything()], &[(0, VALUE)]))),
            ("counts", Task::Aggregate(task(&["1"], vec![everything()], &[]))),
            (
                "rows",
                Task::Rows(RowsTask {
                    operands: vec![],
                    ..rows_task(&["2"], vec![SlotExpr::Column(X)], &[VALID], Some(9))
                }),
            ),
        ];
        let plans: Vec<_> =
            plans.into_iter().map(|(name, task)| (name.to_owned(), fixture.plan(None, task))).collect();
        expect_equal(&mut random, &fixture, &plans, 5);
    }
}

/// So little memory that groups are worked off a few at a time.
#[test]
fn partial_answers_do_not_depend_on_memory() {
    let mut random = Random::announced("partial, little memory");
    let fixture = Fixture::random(&mut random, &[40, 300, 90, 7]);
    let sums = [(0, VALUE), (0, VALID), (0, SQUARE)];
    let plan =
        fixture.plan(None, Task::Aggregate(task(&["\"ward\"", "\"year\""], vec![everything()], &sums)));
    let tight = Limits { memory_bytes: 8 << 20, ..Limits::default() };
    let tight = Engine::for_table(fixture.store.clone(), 2, tight).unwrap();
    let expected = fixture.engine(1).run(&plan).unwrap();
    for _ in 0..3 {
        let sets = cut(&mut random, 4).into_iter();
        let partials = sets.map(|parts| (parts.clone(), partial(&tight, &plan, &parts))).collect();
        assert!(combined(&mut random, &tight, &plan, partials) == expected);
    }
}

/// A set of no parts adds nothing, wherever it is put.
#[test]
fn no_parts_add_nothing() {
    let mut random = Random::announced("no parts");
    let fixture = Fixture::random(&mut random, &[20, 30]);
    let engine = fixture.engine(2);
    let grouped = AggregateTask {
        clear: vec!["COUNT(*)".to_owned(), "MIN(\"day\")".to_owned()],
        ..task(&["\"ward\""], vec![everything()], &[(0, VALUE)])
    };
    let float =
        AggregateTask { clear: vec!["COUNT(*)".to_owned(), "SUM(\"ratio\")".to_owned()], ..grouped.clone() };
    let alone = task(&[], vec![everything()], &[(0, VALUE)]);
    let tasks = [grouped, float, alone].map(Task::Aggregate);
    for task in tasks.into_iter().chain([Task::Rows(rows_task(&["\"ward\""], vec![], &[VALID], Some(3)))]) {
        let plan = fixture.plan(None, task);
        let nothing = partial(&engine, &plan, &PartSet::default());
        let mut combiner = engine.combiner(&plan, &never()).unwrap();
        for bytes in [&nothing, &partial(&engine, &plan, &PartSet::from(0..2)), &nothing] {
            combiner.push(bytes).unwrap();
        }
        assert_eq!(combiner.finish().unwrap(), engine.run(&plan).unwrap());
        let mut combiner = engine.combiner(&plan, &never()).unwrap();
        combiner.push(&nothing).unwrap();
        assert_eq!(combiner.partial().unwrap(), nothing);
    }
}

/// A dry run's answers combine by the same way.
#[test]
fn dry_runs_combine_exactly_where_they_are_exact() {
    let mut random = Random::announced("partial dry runs");
    let fixture = Fixture::plain(&mut random, &[9, 1, 300, 20, 4]);
    let engine = Engine::dry_run(fixture.store.clone(), 2, Limits::default()).unwrap();
    let weighed = Mask { condition: None, weight: Some("\"weight\"".to_owned()) };
    let plan = Task::Aggregate(task(
        &["\"ward\""],
        vec![everything(), weighed],
        &[(0, VALUE), (1, VALUE), (0, SQUARE)],
    ));
    let plan = fixture.plan(Some("\"year\" > 2020"), plan);
    let expected = engine.run(&plan).unwrap();
    for _ in 0..20 {
        let sets = cut(&mut random, 5).into_iter();
        let partials = sets.map(|parts| (parts.clone(), partial(&engine, &plan, &parts))).collect();
        assert_eq!(combined(&mut random, &engine, &plan, partials), expected);
    }
}

/// A task with a limit stops within its parts, and needs no more parts once the first ones have given enough.
#[test]
fn a_limit_stops_early() {
    let mut random = Random::announced("partial limits");
    let fixture = Fixture::random(&mut random, &[100; 8]);
    let plan = fixture.plan(None, Task::Rows(rows_task(&["\"year\""], vec![], &[VALID], Some(150))));
    let read: Arc<Mutex<HashSet<Path>>> = Arc::default();
    let seen = read.clone();
    let hook = move |path: &Path, access: Access| {
        if access != Access::Look && path.as_ref().ends_with(".enc.parquet") {
            seen.lock().unwrap().insert(path.clone());
        }
        None
    };
    let engine = watched(&fixture, 1, Box::new(hook));
    let late = partial(&engine, &plan, &PartSet::from(4..8));
    assert_eq!(read.lock().unwrap().len(), 2, "of four");
    let mut combiner = engine.combiner(&plan, &never()).unwrap();
    combiner.push(&late).unwrap();
    combiner.push(&partial(&engine, &plan, &PartSet::from(0..1))).unwrap();
    // There may be rows between.
    assert_eq!(combiner.missing(), PartSet::from(1..4));
    combiner.push(&partial(&engine, &plan, &PartSet::from(1..2))).unwrap();
    assert!(combiner.missing().is_empty());
    assert_eq!(combiner.finish().unwrap(), fixture.engine(1).run(&plan).unwrap());
}

/// Sums of whole parts are kept and found by part, whether all parts are asked for or some.
#[test]
fn kept_sums_serve_whole_and_partial_answers() {
    let mut random = Random::announced("partial and kept");
    let fixture = Fixture::random(&mut random, &[300, 200, 100]);
    let read: Arc<Mutex<usize>> = Arc::default();
    let seen = read.clone();
    let hook = move |path: &Path, access: Access| {
        *seen.lock().unwrap() +=
            usize::from(access == Access::Range && path.as_ref().ends_with(".enc.parquet"));
        None
    };
    let engine = watched(&fixture, 2, Box::new(hook));
    let plan = fixture.plan(None, Task::Aggregate(task(&[], vec![everything()], &[(0, VALUE)])));
    let first = partial(&engine, &plan, &PartSet::from(0..2));
    let reads = *read.lock().unwrap();
    assert!(reads > 0);
    assert_eq!(partial(&engine, &plan, &PartSet::from(0..2)), first);
    assert_eq!(*read.lock().unwrap(), reads);
    let whole = engine.run(&plan).unwrap();
    let after = *read.lock().unwrap();
    assert!(after > reads, "the third part");
    let mut combiner = engine.combiner(&plan, &never()).unwrap();
    for part in 0..3 {
        combiner.push(&partial(&engine, &plan, &PartSet::from(part..part + 1))).unwrap();
    }
    assert_eq!(combiner.finish().unwrap(), whole);
    assert_eq!(*read.lock().unwrap(), after);
}
