// SPDX-License-Identifier: Apache-2.0

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::eval::{self, Decimal, Row};
use crate::schema::{ColumnType, Protection, Schema};
use crate::sql::parse;
use crate::tables::{column, patients, ranged, schema};

fn table() -> Schema {
    use Protection::{Clear, Encrypt};
    let int = ColumnType::Int { bits: 16 };
    let decimal = ColumnType::Decimal { precision: 4, scale: 2 };
    schema(
        "t",
        vec![
            ranged(column("x", int, Encrypt), -100, 100),
            ranged(column("y", decimal, Encrypt), -999, 999),
            ranged(column("z", decimal, Clear), -999, 999),
            ranged(column("w", int, Clear), -100, 100),
        ],
    )
}

fn translated(schema: &Schema, text: &str) -> Result<(Translated, Operands), crate::PlanError> {
    let query = parse(schema, &format!("SELECT {text} FROM {}", schema.table)).unwrap();
    let mut operands = Operands::default();
    translate(schema, &query.items[0].expr, &mut operands).map(|translated| (translated, operands))
}

/// The program in plain integers.
fn run(node: &Node, columns: &BTreeMap<&str, BigInt>, operands: &[BigInt]) -> BigInt {
    let value = |node: &Node| run(node, columns, operands);
    match node {
        Node::Add(a, b) => value(a) + value(b),
        Node::Clear(index) => operands[*index].clone(),
        Node::Column(name) => columns[name.as_str()].clone(),
        Node::Constant(value, scale) => {
            assert_eq!(*scale, 0);
            value.clone()
        }
        Node::Mul(a, b) => value(a) * value(b),
        Node::Neg(a) => -value(a),
        Node::Sub(a, b) => value(a) - value(b),
    }
}

fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        3 => prop::sample::select(vec!["x", "y"]).prop_map(str::to_owned),
        2 => prop::sample::select(vec!["z", "w"]).prop_map(str::to_owned),
        1 => (0i32..=99).prop_map(|n| format!("{}.{}", n / 10, n % 10)),
    ];
    leaf.prop_recursive(4, 10, 2, |inner| {
        let operator = prop::sample::select(vec!["+", "-", "*"]);
        prop_oneof![
            4 => (inner.clone(), operator, inner.clone()).prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            1 => inner.prop_map(|a| format!("(- {a})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn programs_compute_what_the_expression_says(
        text in expression(), x in -100i32..=100, y in -999i32..=999, z in -999i32..=999, w in -100i32..=100,
    ) {
        let schema = table();
        let (Translated { program, .. }, operands) = match translated(&schema, &text) {
            Ok(translated) => translated,
            Err(error) => {
                // No encrypted column in it, or too many.
                prop_assert!(["HUSH-P011", "HUSH-P017"].contains(&error.code()), "{}", error.report());
                return Ok(());
            }
        };
        let cells = [("x", x, 0), ("y", y, 2), ("z", z, 2), ("w", w, 0)];
        let row: Row = cells.map(|(name, value, scale)| (name.to_owned(), Some(Decimal::new(value, scale)))).into();
        let operands: Vec<BigInt> =
            operands.0.iter().map(|sql| eval::number(&eval::parse(sql), &row).unwrap().units(0)).collect();
        let columns = BTreeMap::from([("x", BigInt::from(x)), ("y", BigInt::from(y))]);
        let result = run(&program.node, &columns, &operands);
        let direct = eval::number(&eval::parse(&text), &row).unwrap();
        prop_assert_eq!(&result, &direct.units(program.scale));
        prop_assert!(result.magnitude() <= program.bound.magnitude());
    }
}

#[test]
fn a_sum_in_parentheses_stays_one_product() {
    let schema = patients();
    let (Translated { program, may_miss, .. }, _) = translated(&schema, "visits * (age + bp)").unwrap();
    assert!(matches!(program.node, Node::Mul(..)));
    assert_eq!(program.degree, 2);
    assert_eq!(program.bound, BigInt::from(1000 * 420));
    assert_eq!(may_miss.into_iter().collect::<Vec<_>>(), ["age", "bp"]);
}

#[test]
fn refusals_of_programs_have_their_codes() {
    let cases = [
        ("HUSH-P017", "score * score * score"),
        ("HUSH-P017", &["age"; 17].join(" * ")),
        ("HUSH-P024", "age + score"),
        ("HUSH-P011", "born + seen"),
        ("HUSH-P011", "born * 2"),
        ("HUSH-P016", "ABS(age) + 1"),
    ];
    for (expected, text) in cases {
        assert_eq!(translated(&patients(), text).unwrap_err().code(), expected, "{text}");
    }
}

#[test]
fn dates_can_be_subtracted() {
    let (days, _) = translated(&patients(), "born - admitted").unwrap();
    assert_eq!(days.kind, crate::expr::Kind::Number);
    let (later, _) = translated(&patients(), "born + 30").unwrap();
    assert_eq!(later.kind, crate::expr::Kind::Date);
}

#[test]
fn noise_grows_with_products_and_not_beyond_the_worst_case() {
    let phase = |text: &str| {
        let (translated, _) = translated(&table(), text).unwrap();
        translated.program.phase_log2(4096, 32.0)
    };
    let fresh = phase("x + 0");
    assert!((fresh - (32.0 + 21.5f64.log2())).abs() < 0.01);
    assert!((phase("x * y") - (12.0 + 2.0 * (32.0 + 21.5f64.log2()))).abs() < 1e-9);
    assert!((phase("x * w") - (12.0 + 32.0 + 21.5f64.log2() + 31.0)).abs() < 1e-9);
    assert!((phase("x * 1024") - (fresh + 10.0)).abs() < 0.01);
    assert!(phase("x * 99999999999999999999") <= fresh + 31.0 + 0.01);
}

#[test]
fn approximate_programs_use_doubles_and_count_scales() {
    let schema = patients();
    let (product, operands) = translated(&schema, "score * rate - 2.50").unwrap();
    assert!(product.program.approximate);
    assert_eq!(operands.0, ["CAST(\"rate\" AS DOUBLE)"]);
    assert_eq!(product.program.node.scale_power(), 2);
    let bound = product.program.node.bind(&|_| Some(EncodingId(7))).unwrap();
    let SlotExpr::Sub(_, constant) = bound else { panic!("{bound:?}") };
    assert_eq!(*constant, SlotExpr::Constant("2.50".into()));
    assert_eq!(decimal_text(&BigInt::from(-5), 3), "-0.005");
}
