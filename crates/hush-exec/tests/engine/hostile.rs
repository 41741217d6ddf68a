// SPDX-License-Identifier: Apache-2.0
//! Plans whose SQL is made to cost the server its stack, its memory or its time. Tests run on threads of 2 MiB, as a server's
//! jobs do: before there were bounds, most of these texts ended the process or kept it for years.

use std::time::{Duration, Instant};

use hush_plan::plan::{Mask, RowsTask, SlotExpr, Task};

use crate::fixture::{Fixture, Random, VALUE, X};
use crate::reference::{everything, task};

/// Far more than any refusal takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn small() -> Fixture {
    Fixture::random(&mut Random::announced("hostile"), &[100])
}

/// The code of a refusal, or nothing.
fn found(fixture: &Fixture, predicate: Option<&str>, task: Task) -> Option<&'static str> {
    let started = Instant::now();
    let result = fixture.engine(1).run(&fixture.plan(predicate, task));
    assert!(
        started.elapsed() < PATIENCE,
        "{:.60} takes {:?}",
        predicate.unwrap_or_default(),
        started.elapsed()
    );
    result.err().map(|error| error.code())
}

fn predicate(fixture: &Fixture, text: &str) -> Option<&'static str> {
    found(fixture, Some(text), Task::Aggregate(task(&[], vec![everything()], &[(0, VALUE)])))
}

fn around(open: &str, depth: usize, inner: &str, close: &str) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

/// Operators that the parser reads in a loop, with what stands before them.
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

/// What the bounds let pass is evaluated or refused for what it is.
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

/// The same bounds hold wherever a plan holds SQL.
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
        let text = Some(long.clone());
        if condition {
            Mask { condition: text, weight: None }
        } else {
            Mask { condition: None, weight: text }
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
        operand_limit_log2: 20,
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

/// Structure nests too: the reader of JSON has a limit, and programs have one of their own.
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
            operand_limit_log2: 20,
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
