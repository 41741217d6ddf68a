// SPDX-License-Identifier: Apache-2.0
//! Partial answers that do not go together: each is an error that names the parts or digests, and none becomes a total.

use std::sync::Arc;
use std::time::Duration;

use hush_exec::answer::PartialAnswer;
use hush_exec::{Combiner, Engine, ErrorKind, ExecError, Limits, PartSet, PartialFault, Stop};
use hush_plan::plan::{AggregateTask, Task};
use hush_table::Digest;

use crate::fixture::{Fixture, Random, VALID, VALUE};
use crate::mutations::resealed;
use crate::partial::{never, partial, rows_task};
use crate::reference::{everything, task};

fn wards() -> Task {
    Task::Aggregate(task(&["\"ward\""], vec![everything()], &[(0, VALUE)]))
}

fn combiner(engine: &Engine, plan: &[u8], partials: &[&[u8]]) -> Combiner {
    let mut combiner = engine.combiner(plan, &never()).unwrap();
    partials.iter().for_each(|partial| combiner.push(partial).unwrap());
    combiner
}

fn fault(result: Result<impl Sized, ExecError>) -> PartialFault {
    let error = result.map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Partial);
    match error {
        ExecError::Partial(fault) => fault,
        other => panic!("{other}"),
    }
}

fn parts(range: std::ops::Range<u32>) -> PartSet {
    PartSet::from(range)
}

#[test]
fn parts_that_are_missing_doubled_or_unknown() {
    let fixture = Fixture::random(&mut Random::announced("coverage"), &[20, 30, 10, 5]);
    let engine = fixture.engine(2);
    for task in [wards(), Task::Rows(rows_task(&["\"ward\""], vec![], &[VALID], None))] {
        let plan = fixture.plan(None, task);
        let [low, high, both, one] =
            [0..2, 2..4, 1..3, 1..2].map(|range| partial(&engine, &plan, &parts(range)));
        let missing = fault(combiner(&engine, &plan, &[&low]).finish());
        assert_eq!(missing, PartialFault::Missing { found: parts(0..2), missing: parts(2..4) });
        assert_eq!(missing.code(), "HUSH-E074");
        let text = missing.to_string();
        assert_eq!(
            text,
            "the partial answers cover parts 0 to 1, missing are 2 to 3; evaluate those and add them"
        );
        let nothing = fault(combiner(&engine, &plan, &[]).finish());
        assert_eq!(nothing, PartialFault::Missing { found: PartSet::default(), missing: parts(0..4) });
        let mut doubled = combiner(&engine, &plan, &[&low, &high, &low]);
        for (again, covered) in [(&both, parts(1..3)), (&one, parts(1..2))] {
            let found = PartialAnswer::decode(again, u64::MAX).unwrap().parts;
            let overlap = fault(doubled.push(again));
            assert_eq!((overlap.code(), &overlap), ("HUSH-E073", &PartialFault::Overlap { found, covered }));
        }
        // The parts of one that was added, and other bytes.
        let mut other_rows = combiner(&engine, &plan, &[&low]);
        assert_eq!(fault(other_rows.push(&covering(&high, 0..2))).code(), "HUSH-E073");
        // Nothing has been added of the refused ones.
        assert_eq!(doubled.finish().unwrap(), engine.run(&plan).unwrap());
        let beyond = fault(engine.run_parts(&plan, &parts(3..5), &never()));
        assert_eq!(beyond, PartialFault::UnknownParts { found: parts(3..5), expected: 4 });
        let mut empty = combiner(&engine, &plan, &[]);
        assert_eq!(fault(empty.push(&covering(&high, 2..5))).code(), "HUSH-E072");
        assert_eq!(fault(empty.push(&engine.run(&plan).unwrap())).code(), "HUSH-E089");
        assert!(empty.covered().is_empty());
    }
}

/// Offset of the plan's digest in the head.
const HEAD_PLAN: usize = 80;

/// The bytes of a partial answer over one range, with another one in its place.
fn covering(partial: &[u8], range: std::ops::Range<u32>) -> Vec<u8> {
    let mut bytes = partial.to_vec();
    bytes[128..132].copy_from_slice(&range.start.to_le_bytes());
    bytes[132..136].copy_from_slice(&range.end.to_le_bytes());
    resealed(&bytes, 32)
}

#[test]
fn another_plan_another_table_another_version() {
    let mut random = Random::announced("other plans");
    let fixture = Fixture::random(&mut random, &[20, 30]);
    let engine = fixture.engine(2);
    let plan = fixture.plan(None, wards());
    let low = partial(&engine, &plan, &parts(0..1));
    let narrower = fixture.plan(Some("\"year\" > 2020"), wards());
    let foreign = fault(combiner(&engine, &plan, &[&low]).push(&partial(&engine, &narrower, &parts(1..2))));
    let expected = PartialFault::OtherPlan { found: Digest::of(&narrower), expected: Digest::of(&plan) };
    assert_eq!((foreign.code(), foreign), ("HUSH-E070", expected));
    // The same rows under another key, and so another manifest; the plan names it too.
    let other = Fixture::random(&mut random, &[20, 30]);
    let other_plan = other.plan(None, wards());
    let elsewhere = partial(&other.engine(1), &other_plan, &parts(1..2));
    let foreign = fault(combiner(&engine, &plan, &[&low]).push(&elsewhere));
    let expected =
        PartialFault::OtherTable { found: other.signed.digest(), expected: fixture.signed.digest() };
    assert_eq!((foreign.code(), foreign), ("HUSH-E071", expected));
    // A plan of another version than the table's begins nothing.
    assert_eq!(engine.combiner(&other_plan, &never()).unwrap_err().code(), "HUSH-E031");
    assert_eq!(engine.run_parts(&other_plan, &parts(0..1), &never()).unwrap_err().code(), "HUSH-E031");
}

/// Right plan, table and parts, and a content that another task would have.
#[test]
fn contents_of_another_task() {
    let fixture = Fixture::random(&mut Random::announced("contents"), &[20, 30]);
    let engine = fixture.engine(2);
    let plan_of = |task| fixture.plan(None, task);
    let plan = plan_of(wards());
    let claims = |bytes: Vec<u8>| {
        let mut bytes = bytes;
        bytes[HEAD_PLAN..HEAD_PLAN + 32].copy_from_slice(Digest::of(&plan).as_bytes());
        resealed(&bytes, 32)
    };
    let of = |task| claims(partial(&engine, &plan_of(task), &parts(0..1)));
    let aggregate = |keys: &[&str], sums: &[_]| Task::Aggregate(task(keys, vec![everything()], sums));
    let more = AggregateTask {
        clear: vec!["COUNT(*)".to_owned(), "MIN(\"day\")".to_owned()],
        ..task(&["\"ward\""], vec![everything()], &[(0, VALUE)])
    };
    for (what, bytes) in [
        ("kinds of task", of(Task::Rows(rows_task(&["\"ward\""], vec![], &[], None)))),
        ("blocks of encrypted sums", of(aggregate(&["\"ward\""], &[(0, VALUE), (0, VALID)]))),
        ("blocks of encrypted sums", of(aggregate(&["\"ward\""], &[]))),
        ("blocks of encrypted sums", of(aggregate(&["\"ward\""], &[(0, VALID)]))),
        ("clear columns", of(aggregate(&["\"year\""], &[(0, VALUE)]))),
        ("clear columns", of(Task::Aggregate(more))),
        ("clear columns", of(aggregate(&[], &[(0, VALUE)]))),
    ] {
        let mut combiner = engine.combiner(&plan, &never()).unwrap();
        let found = fault(combiner.push(&bytes));
        assert_eq!((found.code(), found), ("HUSH-E075", PartialFault::OtherTask { what }));
        // It is as if nothing had come.
        combiner.push(&partial(&engine, &plan, &parts(0..2))).unwrap();
        assert_eq!(combiner.finish().unwrap(), engine.run(&plan).unwrap());
    }
}

#[test]
fn rows_outside_the_parts_that_are_named() {
    let fixture = Fixture::random(&mut Random::announced("rows outside"), &[20, 30, 10]);
    let engine = fixture.engine(1);
    let plan = fixture.plan(None, Task::Rows(rows_task(&["\"ward\""], vec![], &[VALID], None)));
    let middle = partial(&engine, &plan, &parts(1..2));
    for claimed in [0..1, 2..3] {
        let mut combiner = engine.combiner(&plan, &never()).unwrap();
        let found = fault(combiner.push(&covering(&middle, claimed)));
        assert_eq!(found, PartialFault::OtherTask { what: "row numbers" });
    }
    // More rows than the limit leaves, which no run gives.
    let limited = fixture.plan(None, Task::Rows(rows_task(&["\"ward\""], vec![], &[VALID], Some(5))));
    let mut bytes = middle;
    bytes[HEAD_PLAN..HEAD_PLAN + 32].copy_from_slice(Digest::of(&limited).as_bytes());
    let found = fault(engine.combiner(&limited, &never()).unwrap().push(&resealed(&bytes, 32)));
    assert_eq!(found, PartialFault::OtherTask { what: "row numbers" });
}

/// Sums of two parts that each fit 128 bits, and together do not: the same error as on one machine.
#[test]
fn sums_beyond_128_bits() {
    let fixture = Fixture::random(&mut Random::announced("overflow"), &[2, 1]);
    let engine = fixture.engine(1);
    let big = "CAST(CASE WHEN \"year\" > 0 THEN 9223372036854775807 END AS DECIMAL(38,0))";
    let task = AggregateTask {
        clear: vec!["COUNT(*)".to_owned(), format!("SUM(({big} * {big})::DECIMAL(38,0))")],
        ..task(&[], vec![everything()], &[(0, VALID)])
    };
    let plan = fixture.plan(None, Task::Aggregate(task));
    assert_eq!(engine.run(&plan).map_err(|error| error.code()).err(), Some("HUSH-E050"));
    let [low, high] = [0..1, 1..2].map(|range| partial(&engine, &plan, &parts(range)));
    let mut combiner = combiner(&engine, &plan, &[&low]);
    assert_eq!(combiner.push(&high).unwrap_err().code(), "HUSH-E050");
    // It may have been added by half, so it ends here.
    assert_eq!(fault(combiner.push(&high)), PartialFault::Spent);
    assert_eq!(fault(combiner.finish()).code(), "HUSH-E077");
}

/// If the clear columns are read at the end, partial answers must have their groups.
#[test]
fn groups_that_are_not_those_of_the_clear_columns() {
    let fixture = Fixture::random(&mut Random::announced("groups"), &[200, 200]);
    let engine = fixture.engine(1);
    let floats = AggregateTask {
        clear: vec!["COUNT(*)".to_owned(), "AVG(\"ratio\")".to_owned()],
        ..task(&["\"ward\""], vec![], &[])
    };
    let plan = fixture.plan(None, Task::Aggregate(floats));
    let halves = [0..1, 1..2].map(|range| partial(&engine, &plan, &parts(range)));
    let whole = combiner(&engine, &plan, &[&halves[0], &halves[1]]).finish().unwrap();
    assert_eq!(whole, engine.run(&plan).unwrap());
    // The second half's rows twice, under the name of the first.
    let forged = covering(&halves[1], 0..1);
    let found = fault(combiner(&engine, &plan, &[&forged, &halves[1]]).finish());
    assert!(matches!(found, PartialFault::Groups { expected: 5, .. }), "{found}");
    assert_eq!(found.code(), "HUSH-E076");
}

#[test]
fn limits_hold_for_what_is_combined() {
    let fixture = Fixture::random(&mut Random::announced("partial limits"), &[30, 30, 30]);
    let engine = fixture.engine(2);
    let by_weight = |max_groups| {
        Task::Aggregate(AggregateTask {
            max_groups,
            ..task(&["\"weight\""], vec![everything()], &[(0, VALUE)])
        })
    };
    // Each part keeps to the limit, all together do not.
    let plan = fixture.plan(None, by_weight(35));
    assert_eq!(engine.run(&plan).unwrap_err().code(), "HUSH-E040");
    let partials: Vec<_> = (0..3).map(|part| partial(&engine, &plan, &parts(part..part + 1))).collect();
    let mut combiner = engine.combiner(&plan, &never()).unwrap();
    let codes: Vec<_> =
        partials.iter().map(|partial| combiner.push(partial).err().map(|error| error.code())).collect();
    assert_eq!(codes, [None, Some("HUSH-E040"), Some("HUSH-E040")]);
    // Bytes: the plan allows as many as one part takes.
    let mut plan = fixture.server_plan(None, by_weight(1000));
    plan.max_answer_bytes = 1_700_000;
    let plan = serde_json::to_vec(&plan).unwrap();
    assert_eq!(engine.run(&plan).unwrap_err().code(), "HUSH-E041");
    let partials: Vec<_> = (0..3).map(|part| partial(&engine, &plan, &parts(part..part + 1))).collect();
    let mut combiner = engine.combiner(&plan, &never()).unwrap();
    let codes: Vec<_> =
        partials.iter().map(|partial| combiner.push(partial).err().map(|error| error.code())).collect();
    assert_eq!(codes, [None, Some("HUSH-E041"), Some("HUSH-E041")]);
    // A server takes no larger partial answer than it gives.
    let small = Limits { max_answer_bytes: 1_000_000, ..Limits::default() };
    let small = Engine::for_table(fixture.store.clone(), 1, small).unwrap();
    let plan = fixture.plan(None, by_weight(1000));
    assert_eq!(small.run_parts(&plan, &parts(0..1), &never()).unwrap_err().code(), "HUSH-E041");
    let large = partial(&engine, &plan, &parts(0..1));
    let error = small.combiner(&plan, &never()).unwrap().push(&large).unwrap_err();
    assert_eq!(error.code(), "HUSH-E041");
    // Keys alone: memory.
    let counted = fixture.plan(None, Task::Aggregate(task(&["\"weight\""], vec![], &[])));
    let tight = Limits { memory_bytes: 1 << 11, ..Limits::default() };
    let tight = Engine::for_table(fixture.store.clone(), 1, tight).unwrap();
    let mut combiner = tight.combiner(&counted, &never()).unwrap();
    let error = combiner.push(&partial(&engine, &counted, &parts(0..1))).unwrap_err();
    assert_eq!(error.code(), "HUSH-E042");
}

#[test]
fn a_stop_ends_partial_runs_and_combinations() {
    let fixture = Fixture::random(&mut Random::announced("stopped"), &[30, 30]);
    let engine = fixture.engine(1);
    let plan = fixture.plan(None, wards());
    let over = Arc::new(Stop::after(Duration::ZERO));
    assert_eq!(engine.run_parts(&plan, &parts(0..1), &over).unwrap_err().code(), "HUSH-E043");
    assert_eq!(engine.combiner(&plan, &over).unwrap_err().code(), "HUSH-E043");
    let stop = never();
    let mut combiner = engine.combiner(&plan, &stop).unwrap();
    combiner.push(&partial(&engine, &plan, &parts(0..1))).unwrap();
    let second = partial(&engine, &plan, &parts(1..2));
    stop.cancel();
    assert_eq!(combiner.push(&second).unwrap_err().code(), "HUSH-E044");
    assert_eq!(combiner.partial().unwrap_err().code(), "HUSH-E044");
}
