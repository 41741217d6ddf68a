// SPDX-License-Identifier: Apache-2.0
//! Conditions as people write them, against the slow interpreter, and as plans carry them.

use proptest::prelude::*;

use super::*;
use crate::eval::{self, Decimal, Row};

fn spelled(sql: &str) -> String {
    predicate(&eval::parse(sql)).to_string()
}

#[test]
fn a_condition_is_taken_apart_down_to_what_is_no_and_or_or_not() {
    for (sql, expected) in [
        ("\"a\" = 1", "\"a\" = 1"),
        ("((\"a\" = 1) AND (\"b\" > 2))", "\"a\" = 1 AND \"b\" > 2"),
        ("\"a\" = 1 AND (\"b\" = 2 AND \"a\" = 1)", "\"a\" = 1 AND \"b\" = 2"),
        ("\"a\" = 1 AND (\"b\" = 2 OR \"c\" = 3)", "\"a\" = 1 AND (\"b\" = 2 OR \"c\" = 3)"),
        ("NOT (\"a\" = 1 OR NOT \"b\" = 2)", "NOT (\"a\" = 1) AND \"b\" = 2"),
        ("NOT NOT \"flag\"", "\"flag\""),
        ("NOT \"a\" IN (1, 2)", "NOT (\"a\" IN (1, 2))"),
        ("\"a\" NOT IN (1, 2)", "\"a\" NOT IN (1, 2)"),
        ("\"a\" BETWEEN 1 AND 2 OR NULL", "\"a\" BETWEEN 1 AND 2 OR CAST(NULL AS BOOLEAN)"),
        ("(\"a\" = 1 AND \"b\" = 2) IS NOT TRUE", "(\"a\" = 1 AND \"b\" = 2) IS NOT TRUE"),
        ("CASE WHEN \"a\" = 1 AND \"f\" THEN \"g\" END", "CASE WHEN \"a\" = 1 AND \"f\" THEN \"g\" END"),
    ] {
        assert_eq!(spelled(sql), expected, "{sql}");
        assert_eq!(spelled(&spelled(sql)), expected, "{sql}");
        assert_eq!(predicate(&eval::parse(sql)).check(), Ok(()), "{sql}");
    }
}

fn condition() -> impl Strategy<Value = String> {
    let terms = ["x > 0", "y = x", "z < 2", "x IS NULL", "y IS NOT NULL", "(z = 1) IS NOT TRUE", "NULL"];
    prop::sample::select(terms.to_vec()).prop_map(str::to_owned).prop_recursive(5, 20, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} AND {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} OR {b})")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a} AND {b} OR {c})")),
            inner.prop_map(|inner| format!("NOT ({inner})")),
        ]
    })
}

proptest! {
    #[test]
    fn a_predicate_is_true_false_or_null_with_its_condition(
        sql in condition(),
        cells in prop::array::uniform3(prop::option::of(-1_i32..4)),
    ) {
        let cell = |value: Option<i32>| value.map(|value| Decimal::new(value, 0));
        let row: Row = ["x", "y", "z"].map(str::to_owned).into_iter().zip(cells.map(cell)).collect();
        let parsed = eval::parse(&sql);
        let made = predicate(&parsed);
        prop_assert_eq!(made.check(), Ok(()));
        prop_assert_eq!(eval::predicate(&made, &row), eval::truth(&parsed, &row), "{} as {}", sql, made);
        // As SQL it is the same condition still.
        prop_assert_eq!(predicate(&eval::parse(&made.to_string())), made);
    }
}
