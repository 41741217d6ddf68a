// SPDX-License-Identifier: Apache-2.0
//! Plans with SQL that would cost the server its stack, its memory or its time. Tests run on threads of 2 MiB, as a server's
//! jobs do. Without bounds, most of these texts ended the process or kept it busy for years.

use std::time::{Duration, Instant};

use hush_plan::plan::{MAX_PREDICATE_DEPTH, MAX_PREDICATE_NODES, Mask, Predicate, RowsTask, SlotExpr, Task};

use crate::fixture::{Fixture, Random, VALUE, X};
use crate::reference::{everything, task};

/// Far more time than any refusal takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn small() -> Fixture {
    Fixture::random(&mut Random::announced("hostile"), &[100])
}

/// The code of a refusal; `None` for an answer.
fn found(fixture: &Fixture, predicate: Option<&str>, task: Task) -> Option<&'static str> {
    run(fixture, &fixture.plan(predicate, task), predicate.unwrap_or_default())
}

fn run(fixture: &Fixture, plan: &[u8], text: &str) -> Option<&'static str> {
    let started = Instant::now();
    let result = fixture.engine(1).run(plan);
    assert!(started.elapsed() < PATIENCE, "{text:.60} takes {:?}", started.elapsed());
    result.err().map(|error| error.code())
}

fn predicate(fixture: &Fixture, text: &str) -> Option<&'static str> {
    found(fixture, Some(text), Task::Aggregate(task(&[], vec![everything()], &[(0, VALUE)])))
}

fn around(open: &str, depth: usize, inner: &str, close: &str) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

/// Operators that the parser reads in a loop, with their first operands.
const CHAINS: [(&str, &str); 11] = [
    ("\"year\"", " IS NULL"),
    ("\"year\" = 0", " + 1"),
    ("\"year\" = 1", " / 2"),
    ("true", " OR true"),
    ("true", " AND \"year\" > 0"),
    ("true", " IN (true)"),
    ("'a'", " LIKE 'a'"),
    ("'a'", " ILIKE 'a'"),
    ("'a'", " SIMILAR TO 'a'"),
    ("\"year\"", "::INT"),
    ("\"ward\"", " || 'a'"),
];

#[test]
fn long_chains_are_refused() {
    let fixture = small();
    for (first, next) in CHAINS {
        let text = format!("{first}{}", next.repeat(1200));
        assert_eq!(predicate(&fixture, &text), Some("HUSH-E023"), "{next}");
    }
}

/// Chains of these lengths are evaluated, or refused with the code of an expression.
#[test]
fn chains_within_the_bounds_fit_the_stack() {
    let fixture = small();
    for (first, next) in CHAINS {
        for count in [195, 480, 960] {
            let text = format!("{first}{}", next.repeat(count));
            let found = predicate(&fixture, &text);
            assert!(
                [None, Some("HUSH-E020"), Some("HUSH-E023"), Some("HUSH-E024")].contains(&found),
                "{next}: {found:?}"
            );
        }
    }
}

#[test]
fn what_a_parser_tries_again_and_again_is_refused() {
    let fixture = small();
    let name = vec!["a"; 40].join(".");
    for text in [
        around("CAST(", 40, "%", ")"),
        around("CAST(", 190, "\"year\"", " AS INT)"),
        around("ARRAY[", 40, "%", "]"),
        around("overlay(", 40, "'a'", ",'b',1)"),
        format!("{name}.)"),
        around(&format!("{name}["), 20, "%", "]"),
        format!("{})", "INTERVAL ".repeat(40)),
        format!("{}'1' DAY", "INTERVAL ".repeat(1900)),
        format!("{}1)", "INTERVAL -".repeat(40)),
        around("(", 150, "true", ")"),
    ] {
        assert_eq!(predicate(&fixture, &text), Some("HUSH-E023"), "{text:.60}");
    }
    let queries = around("\"year\" IN (SELECT 1 FROM (", 30, "%", "))");
    assert!(predicate(&fixture, &queries).is_some());
    assert_eq!(predicate(&fixture, "EXISTS (SELECT 1)"), Some("HUSH-E021"));
}

#[test]
fn what_grows_or_is_evaluated_twice_at_each_level_is_refused() {
    let fixture = small();
    for text in [
        around("1/(", 40, "\"year\"", ")"),
        around("1 % (", 20, "\"year\"", ")"),
        around("coalesce(", 13, "\"year\"", ",1)"),
        around("nvl(", 13, "\"year\"", ",1)"),
        around("(", 40, "true", " BETWEEN false AND true)"),
    ] {
        assert_eq!(predicate(&fixture, &text), Some("HUSH-E023"), "{text:.60}");
    }
    // As a person may write it.
    for text in [
        "\"year\" / nullif(\"weight\" / nullif(\"year\" % 7, 0), 0) > 1".to_owned(),
        around("coalesce(", 5, "\"weight\"", ",1)") + " > 0",
        around("(", 3, "true", " BETWEEN false AND true)"),
    ] {
        assert_eq!(predicate(&fixture, &text), None, "{text}");
    }
}

/// The same bounds hold for all SQL of a plan.
#[test]
fn every_expression_of_a_plan_is_bounded() {
    let fixture = small();
    let long = format!("\"year\"{}", " IS NULL".repeat(1200));
    let aggregate = |change: &dyn Fn(&mut hush_plan::plan::AggregateTask)| {
        let mut task = task(&[], vec![everything()], &[(0, VALUE)]);
        change(&mut task);
        found(&fixture, None, Task::Aggregate(task))
    };
    let mask = |condition: bool| {
        if condition {
            Mask { condition: Some(Predicate::clear(&*long)), weight: None }
        } else {
            Mask { condition: None, weight: Some(long.clone()) }
        }
    };
    assert_eq!(aggregate(&|task| task.keys = vec![long.clone()]), Some("HUSH-E023"));
    assert_eq!(aggregate(&|task| task.clear.push(format!("COUNT({long})"))), Some("HUSH-E023"));
    assert_eq!(aggregate(&|task| task.masks = vec![mask(true)]), Some("HUSH-E023"));
    assert_eq!(aggregate(&|task| task.masks = vec![mask(false)]), Some("HUSH-E023"));
    let rows = |clear: Vec<String>, operands: Vec<String>, program: SlotExpr| RowsTask {
        clear,
        operands,
        programs: vec![program],
        fetch: vec![],
        program_bits: Vec::new(),
        fetch_bits: Vec::new(),
        sealed: vec![],
        operand_limit_log2: 20,
        cube: None,
        run: None,
        limit: None,
    };
    let column = || Box::new(SlotExpr::Column(X));
    let sum = SlotExpr::Add(column(), Box::new(SlotExpr::Clear(0)));
    assert_eq!(
        found(&fixture, None, Task::Rows(rows(vec![long.clone()], vec![], *column()))),
        Some("HUSH-E023")
    );
    assert_eq!(found(&fixture, None, Task::Rows(rows(vec![], vec![long], sum))), Some("HUSH-E023"));
}

fn tree(fixture: &Fixture, predicate: Predicate) -> Option<&'static str> {
    let mut plan = fixture.server_plan(None, Task::Aggregate(task(&[], vec![everything()], &[(0, VALUE)])));
    let text = predicate.to_string();
    plan.predicate = Some(predicate.clone());
    let of_rows = run(fixture, &serde_json::to_vec(&plan).unwrap(), &text);
    let mask = Mask { condition: Some(predicate), weight: None };
    let of_mask = found(fixture, None, Task::Aggregate(task(&[], vec![mask], &[(0, VALUE)])));
    assert_eq!(of_rows, of_mask, "{text:.60}");
    of_rows
}

/// The longest and deepest lists, with the longest atoms, fit the stack; larger lists are not walked.
#[test]
fn predicates_are_bounded() {
    let fixture = small();
    let year = |index: usize| Predicate::clear(format!("\"year\" <> {index}"));
    let long = |first: &str, next: &str, count: usize| {
        Predicate::clear(format!("{first}{} IS NOT NULL", next.repeat(count)))
    };
    let wide = |nodes: usize| Predicate::And((1..nodes).map(year).collect());
    assert_eq!(tree(&fixture, wide(MAX_PREDICATE_NODES)), None);
    assert_eq!(tree(&fixture, wide(MAX_PREDICATE_NODES + 1)), Some("HUSH-E005"));
    let deep = |depth: usize| {
        (1..depth).fold(long("\"year\"", " IS NULL", 980), |inner, level| {
            let members = vec![inner, year(level)];
            if level % 2 == 0 { Predicate::And(members) } else { Predicate::Or(members) }
        })
    };
    assert_eq!(tree(&fixture, deep(MAX_PREDICATE_DEPTH)), None);
    assert_eq!(tree(&fixture, deep(MAX_PREDICATE_DEPTH + 1)), Some("HUSH-E005"));
    // The deepest atom is the first of the longest list, because the whole list nests to the left.
    for (first, next) in [("\"year\"", " IS NULL"), ("\"year\"", " + 1"), ("\"year\" = 1", " IN (true)")] {
        for count in [190, 980] {
            let first = long(first, next, count);
            let members = std::iter::once(first).chain((2..MAX_PREDICATE_NODES).map(year)).collect();
            let found = tree(&fixture, Predicate::And(members));
            assert!([None, Some("HUSH-E023")].contains(&found), "{next}: {found:?}");
        }
    }
    // Each is as much work as one expression may be.
    let much = |index: usize| {
        let inner = around("(", 10, &format!("\"year\" = {index}"), " BETWEEN false AND true)");
        Predicate::clear(inner)
    };
    assert_eq!(tree(&fixture, much(1)), None);
    assert_eq!(tree(&fixture, Predicate::And((0..300).map(much).collect())), Some("HUSH-E023"));
}

#[test]
fn predicates_have_one_spelling() {
    let fixture = small();
    let [a, b] = [2020, 2021].map(|year| Predicate::clear(format!("\"year\" = {year}")));
    for wrong in [
        Predicate::And(vec![]),
        Predicate::Or(vec![a.clone()]),
        Predicate::And(vec![a.clone(), a.clone()]),
        Predicate::Or(vec![a.clone(), Predicate::Or(vec![a.clone(), b.clone()])]),
        Predicate::And(vec![b.clone(), Predicate::Or(vec![a.clone(), Predicate::And(vec![])])]),
    ] {
        assert_eq!(tree(&fixture, wrong.clone()), Some("HUSH-E008"), "{wrong:?}");
    }
    assert_eq!(tree(&fixture, a.or(b).negated()), None);
}

/// Structure nests too. The reader of JSON has a limit, and programs have their own.
#[test]
fn deep_programs_are_refused() {
    let fixture = small();
    let good = fixture.plan(
        None,
        Task::Rows(RowsTask {
            clear: vec![],
            operands: vec![],
            programs: vec![SlotExpr::Neg(Box::new(SlotExpr::Column(X)))],
            fetch: vec![],
            program_bits: Vec::new(),
            fetch_bits: Vec::new(),
            sealed: vec![],
            operand_limit_log2: 20,
            cube: None,
            run: None,
            limit: None,
        }),
    );
    let text = String::from_utf8(good).unwrap();
    let (open, close) = ("{\"neg\":", "}");
    for (depth, code) in [(64, "HUSH-E005"), (110, "HUSH-E005"), (1000, "HUSH-E002"), (100_000, "HUSH-E002")]
    {
        let deep = text.replacen(open, &open.repeat(depth), 1).replacen(
            "}]",
            &format!("{}]", close.repeat(depth)),
            1,
        );
        assert_eq!(fixture.engine(1).run(deep.as_bytes()).unwrap_err().code(), code, "{depth}");
    }
}
