// SPDX-License-Identifier: Apache-2.0

use num_bigint::BigInt;
use proptest::prelude::*;
use sqlparser::ast::Expr;

use super::*;
use crate::eval::{self, Decimal, Row};
use crate::plan::{LinearForm, Moment, OutputType, OwnerAggregate};
use crate::schema::{Column, ColumnType, Protection};
use crate::sql::parse;
use crate::tables::{column, nullable, patients, ranged, schema};

fn code(text: &str) -> &'static str {
    let schema = patients();
    let compiled = parse(&schema, text).and_then(|query| compile(&schema, &query, 1000));
    compiled.map(|_| "accepted").unwrap_or_else(|error| error.code())
}

fn plan(text: &str) -> Grouped {
    let schema = patients();
    compile(&schema, &parse(&schema, text).unwrap(), 1000).unwrap()
}

#[test]
fn every_refusal_of_grouped_queries_has_its_code() {
    let power = ["age"; 16].join(" * ");
    let sums = ["(age + bp + visits + charges + 1)"; 8].join(" * ");
    let cases = [
        ("HUSH-P005", "SELECT MAX(age) FROM patients"),
        ("HUSH-P005", "SELECT COUNT(DISTINCT age) FROM patients"),
        ("HUSH-P005", "SELECT LOGREG(year > 2, age) FROM patients"),
        ("HUSH-P005", "SELECT LOGREG(age > 2, year) FROM patients"),
        ("HUSH-P005", "SELECT LOGREG_COUNT(DISTINCT year, year) FROM patients"),
        ("HUSH-P009", "SELECT LOGREG_SLOPE(2, year, year) FROM patients"),
        ("HUSH-P011", "SELECT LOGREG(ward, year) FROM patients"),
        ("HUSH-P011", "SELECT LOGREG(year, ward) FROM patients"),
        ("HUSH-P005", "SELECT DISTINCT age FROM patients"),
        ("HUSH-P007", "SELECT age, COUNT(*) FROM patients GROUP BY ward"),
        ("HUSH-P007", "SELECT ward, COUNT(*) FROM patients GROUP BY year"),
        ("HUSH-P007", "SELECT COUNT(*) FROM patients HAVING year > 1"),
        ("HUSH-P010", "SELECT COUNT(note) FROM patients"),
        ("HUSH-P010", "SELECT COUNT(*) FROM patients WHERE id = 'x'"),
        ("HUSH-P011", "SELECT SUM(born) FROM patients"),
        ("HUSH-P011", "SELECT AVG(seen + 1) FROM patients"),
        ("HUSH-P014", "SELECT COUNT(*) FROM patients WHERE bp > 120"),
        ("HUSH-P014", "SELECT COUNT(*) FROM patients WHERE ward = 'a' AND NOT (bp IS NULL)"),
        ("HUSH-P014", "SELECT COUNT(*) FROM patients WHERE year BETWEEN 1 AND age"),
        ("HUSH-P014", "SELECT COUNT(*) FROM patients GROUP BY bp > 120"),
        ("HUSH-P014", "SELECT SUM(CASE WHEN bp > 120 THEN 1 ELSE 0 END) FROM patients"),
        ("HUSH-P014", "SELECT SUM(CASE bp WHEN 120 THEN 1 ELSE 0 END) FROM patients"),
        ("HUSH-P014", "SELECT SUM(age) FILTER (WHERE bp = 1) FROM patients"),
        ("HUSH-P014", "SELECT COUNT(*) FROM patients HAVING bp > 120"),
        ("HUSH-P015", "SELECT COUNT(*) FROM patients GROUP BY age"),
        ("HUSH-P015", "SELECT COUNT(*) FROM patients WHERE smoker"),
        ("HUSH-P015", "SELECT COUNT(*) FROM patients GROUP BY ward ORDER BY age"),
        ("HUSH-P016", "SELECT SUM(charges / 100) FROM patients"),
        ("HUSH-P016", "SELECT AVG(ABS(age)) FROM patients"),
        ("HUSH-P016", "SELECT SUM(CAST(charges AS INT)) FROM patients"),
        ("HUSH-P017", &format!("SELECT SUM({power} * bp) FROM patients")),
        ("HUSH-P017", &format!("SELECT VARIANCE({power}) FROM patients")),
        ("HUSH-P017", "SELECT KURTOSIS(age * age * age * age * age) FROM patients"),
        ("HUSH-P012", &format!("SELECT SUM({sums}) FROM patients")),
        ("HUSH-P011", "SELECT PRODUCT(age + bp) FROM patients"),
        ("HUSH-P011", "SELECT GEOMEAN(age * year) FROM patients"),
        ("HUSH-P011", "SELECT PRODUCT(score) FROM patients"),
        ("HUSH-P011", "SELECT SKEWNESS(score) FROM patients"),
        ("HUSH-P011", "SELECT KURTOSIS_POP(score * 2) FROM patients"),
        ("HUSH-P011", "SELECT SKEWNESS(born) FROM patients"),
        ("HUSH-P011", "SELECT KURTOSIS(ward) FROM patients"),
        ("HUSH-P005", "SELECT SKEWNESS(DISTINCT age) FROM patients"),
        ("HUSH-P005", "SELECT KURTOSIS(age, bp) FROM patients"),
        ("HUSH-P016", "SELECT SKEWNESS(age / 2) FROM patients"),
        ("HUSH-P011", "SELECT PRODUCT(born - seen) FROM patients"),
        ("HUSH-P005", "SELECT CORR(age) FROM patients"),
        ("HUSH-P005", "SELECT REGR_SLOPE(age, bp, visits) FROM patients"),
        ("HUSH-P005", "SELECT COVAR_POP(DISTINCT age, bp) FROM patients"),
        ("HUSH-P005", "SELECT LINREG(age) FROM patients"),
        ("HUSH-P005", "SELECT 2 * LINREG(age, bp) FROM patients"),
        ("HUSH-P005", "SELECT ward FROM patients GROUP BY ward ORDER BY LINREG(age, bp)"),
        ("HUSH-P009", "SELECT LINREG_SLOPE(2, age, bp) FROM patients"),
        ("HUSH-P009", "SELECT LINREG_SLOPE(year, age, bp) FROM patients"),
        ("HUSH-P008", "SELECT COUNT(*) FROM patients WHERE CORR(year, weight) > 0"),
        ("HUSH-P011", "SELECT CORR(age, born) FROM patients"),
        ("HUSH-P011", "SELECT CORR(age, score) FROM patients"),
        ("HUSH-P011", "SELECT CORR(age, rate) FROM patients"),
        ("HUSH-P014", "SELECT CORR(age, CASE WHEN bp > 1 THEN 1 END) FROM patients"),
        ("HUSH-P017", &format!("SELECT CORR({power}, bp) FROM patients")),
        ("HUSH-P019", "SELECT SUM(age * SQRT(year)) FROM patients"),
        ("HUSH-P019", "SELECT SUM(age * (year / 2)) FROM patients"),
        ("HUSH-P011", "SELECT SUM(age * rate) FROM patients"),
        ("HUSH-P011", "SELECT SUM(ward) FROM patients"),
        ("HUSH-P011", "SELECT AVG(upper(ward)) FROM patients"),
        ("HUSH-P011", "SELECT STDDEV(admitted) FROM patients"),
        ("HUSH-P016", "SELECT SUM(age || 'x') FROM patients"),
        ("HUSH-P012", "SELECT SUM(charges * 0.000000000000000000000000000000000000001) FROM patients"),
    ];
    for (expected, text) in cases {
        assert_eq!(code(text), expected, "{text}");
    }
}

#[test]
fn the_refused_comparison_is_shown_as_typed_with_a_way_out() {
    let schema = patients();
    let query = parse(&schema, "SELECT COUNT(*) FROM patients WHERE ward = 'x' AND BP > 120").unwrap();
    let error = compile(&schema, &query, 10).unwrap_err();
    let expected = "HUSH-P014 WHERE bp > 120: bp is encrypted; comparisons on it are not supported.\n  \
                    Ways out: --clear bp (the server reads bp); filter before encrypting.";
    assert_eq!(error.report(), expected);
}

#[test]
fn sums_are_shared_and_constants_stay_outside() {
    let plan = plan("SELECT SUM(2*age), AVG(age), SUM(age) + COUNT(age), SUM(age*3-1) FROM patients");
    let quantities: Vec<_> = plan.sums.iter().map(|sum| sum.quantity.clone()).collect();
    assert_eq!(quantities, [Quantity::Valid("age".into()), Quantity::Value("age".into())]);
    assert_eq!(plan.masks.len(), 1);
    assert_eq!(plan.clear, ["COUNT(*)"]);
    let OwnerAggregate::Moments { powers, .. } = &plan.outputs[4] else { panic!() };
    assert_eq!(
        powers[0].terms,
        [("-1".to_owned(), Moment::Encrypted(0)), ("3".to_owned(), Moment::Encrypted(1))]
    );
}

#[test]
fn products_of_rows_are_sums_of_logarithms() {
    let mut schema = patients();
    let mut plan = |low, item: &str| {
        let visits = schema.columns.iter_mut().find(|column| column.name == "visits").unwrap();
        visits.range = Some(crate::schema::UnitRange { low, high: 1000 });
        let query = parse(&schema, &format!("SELECT {item} FROM patients")).unwrap();
        let plan = compile(&schema, &query, 100).unwrap();
        let quantities: Vec<Quantity> = plan.sums.into_iter().map(|sum| sum.quantity).collect();
        let OwnerAggregate::Product { moments, .. } = plan.outputs[0].clone() else { panic!() };
        (quantities, moments)
    };
    // Signs and zeros are looked at where the range allows them.
    let of = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    let visits = of(&["visits"]);
    assert_eq!(plan(1, "PRODUCT(visits)").0, [Quantity::Log(visits.clone())]);
    assert_eq!(plan(0, "GEOMEAN(visits)").0, [Quantity::Log(visits.clone()), Quantity::Zero(visits.clone())]);
    let all = [Quantity::Log(visits.clone()), Quantity::Negative(visits.clone()), Quantity::Zero(visits)];
    assert_eq!(plan(-1, "PRODUCT(visits)").0, all);
    let square = of(&["visits", "visits"]);
    assert_eq!(
        plan(-1, "PRODUCT(visits * visits)").0,
        [Quantity::Log(square.clone()), Quantity::Zero(square)]
    );
    // A constant is one factor for each row, a number alone too.
    let (quantities, product) = plan(1, "PRODUCT(CASE WHEN year > 0 THEN -0.5 * visits ELSE 3 END)");
    assert_eq!(quantities, [Quantity::Log(of(&["visits"]))]);
    let constants: Vec<_> =
        product.constants.iter().map(|(digits, scale, _)| (digits.as_str(), *scale)).collect();
    assert_eq!(constants, [("-5", 1), ("3", 0)]);
    // A value that may be missing counts through its validity.
    let (quantities, _) = plan(1, "PRODUCT(age * visits)");
    assert_eq!(quantities[..2], [Quantity::Valid("age".into()), Quantity::Log(of(&["age", "visits"]))]);
}

#[test]
fn products_and_their_missing_values_need_joint_quantities() {
    let plan = plan("SELECT AVG(age * bp) FROM patients");
    let quantities: Vec<_> = plan.sums.iter().map(|sum| sum.quantity.clone()).collect();
    let pair = || ("age".to_owned(), "bp".to_owned());
    assert_eq!(quantities, [Quantity::BothValid(pair().0, pair().1), Quantity::Product(pair().0, pair().1)]);
}

#[test]
fn sums_over_common_rows_need_each_quantity_on_those_rows() {
    let quantities =
        |text: &str| -> Vec<String> { plan(text).sums.iter().map(|sum| sum.quantity.describe()).collect() };
    let expected = [
        "the validity of age",
        "the values of age",
        "the values of charges where age has a value",
        "the product of age and charges",
    ];
    assert_eq!(quantities("SELECT COVAR_POP(age, charges) FROM patients"), expected);
    assert_eq!(quantities("SELECT REGR_COUNT(age, bp) FROM patients"), ["the joint validity of age and bp"]);
    assert_eq!(quantities("SELECT LINREG_COUNT(visits, charges) FROM patients"), [""; 0]);
    // Ten moments of three columns, whatever is asked of the fit; the count needs no ciphertext here.
    let fit = plan("SELECT LINREG(charges, visits, disc) FROM patients GROUP BY ward HAVING r2 > 0.5");
    assert_eq!(fit.outputs.len(), 5);
    assert_eq!(fit.sums.len(), 7);
    assert!(
        fit.final_sql.contains("a3 AS \"r2\"") && fit.final_sql.contains("WHERE (a3) > 0.5"),
        "{}",
        fit.final_sql
    );
}

#[test]
fn outputs_of_a_regression_are_named_after_their_columns() {
    let schema = patients();
    let names =
        |text: &str| -> Vec<String> { parse(&schema, text).unwrap().outputs().map(str::to_owned).collect() };
    assert_eq!(
        names("SELECT ward, LINREG(charges, age, visits + 1), CORR(age, bp) FROM patients GROUP BY ward"),
        ["ward", "intercept", "age", "visits + 1", "r2", "n", "corr_age_bp"]
    );
    assert_eq!(
        names("SELECT LINREG(charges, age) AS m FROM patients"),
        ["m_intercept", "m_age", "m_r2", "m_n"]
    );
}

/// All parts of a fit are taken from one call; a row without one of the values does not count.
#[test]
fn parts_of_a_logistic_regression_are_of_one_fit() {
    let plan = plan(
        "SELECT LOGREG(year > 2, year, ward = 'A') AS m, LOGREG_R2(year > 2, year) FILTER (WHERE ward = 'B') FROM patients",
    );
    let fit = "logreg(CAST(1 AS BIGINT), CAST(\"year\" > 2 AS DOUBLE), CAST(\"year\" AS DOUBLE), CAST(\"ward\" = 'A' AS DOUBLE))";
    let part = |place: usize| format!("logreg_part({fit}, {place})");
    let only = "logreg_part(logreg(CAST(1 AS BIGINT), CASE WHEN \"ward\" = 'B' THEN CAST(\"year\" > 2 AS DOUBLE) END, CAST(\"year\" AS DOUBLE)), 0)";
    let count = "COUNT(CASE WHEN (\"year\" > 2) IS NOT NULL AND (\"year\") IS NOT NULL AND (\"ward\" = 'A') IS NOT NULL THEN 1 END)";
    assert_eq!(
        plan.clear,
        ["COUNT(*)".to_owned(), part(1), part(2), part(3), part(0), count.to_owned(), only.to_owned()]
    );
    assert!(plan.masks.is_empty() && plan.sums.is_empty());
}

#[test]
fn clear_weights_become_units_with_bounds() {
    let plan = plan("SELECT SUM(charges * (1 - disc)) FROM patients");
    assert_eq!(plan.masks[0].weights.max_abs(), BigInt::from(100));
    assert!(matches!(plan.outputs[0], OwnerAggregate::Moments { scale: 4, .. }));
    let weight = plan.masks[0].mask.weight.as_deref().unwrap();
    for (units, expected) in [(0, 100), (25, 75), (100, 0)] {
        let row = Row::from([("disc".to_owned(), Some(Decimal::new(units, 2)))]);
        assert_eq!(eval::number(&eval::parse(weight), &row).unwrap().units(0), BigInt::from(expected));
    }
}

#[test]
fn floats_and_functions_of_clear_columns_go_to_the_engine() {
    let plan = plan(
        "SELECT STDDEV(rate), MIN(ward), AVG(year / 2), COUNT(DISTINCT ward), COUNT(ward), SKEWNESS(abs(year)) FROM patients",
    );
    let expected = [
        "COUNT(*)",
        "stddev_samp(\"rate\")",
        "min(\"ward\")",
        "avg(\"year\" / 2)",
        "count(DISTINCT \"ward\")",
    ];
    assert_eq!(plan.clear[..5], expected);
    // Functions of ours take doubles.
    assert_eq!(plan.clear[6], "skewness(CAST(abs(\"year\") AS DOUBLE))");
    assert_eq!(plan.outputs[0], OwnerAggregate::ClearOutput { index: 1 });
    assert_eq!(plan.outputs[3], OwnerAggregate::Count { count: LinearForm::of(Moment::Clear(4)) });
    assert!(plan.sums.is_empty());
}

fn output_type(aggregate: &OwnerAggregate) -> OutputType {
    let OwnerAggregate::Moments { output, .. } = aggregate else { panic!("{aggregate:?}") };
    *output
}

#[test]
fn sums_take_the_narrowest_type_that_holds_them() {
    let wide = schema("t", vec![column("x", ColumnType::Int { bits: 64 }, Protection::Encrypt)]);
    let output = |text: &str, rows| {
        let query = parse(&wide, text).unwrap();
        output_type(&compile(&wide, &query, rows).unwrap().outputs[0])
    };
    assert_eq!(output("SELECT SUM(x) FROM t", 1), OutputType::Decimal { scale: 0, wide: false });
    assert_eq!(output("SELECT SUM(x*x) FROM t", 1), OutputType::Decimal { scale: 0, wide: false });
    assert_eq!(output("SELECT SUM(x*x) FROM t", 2), OutputType::Decimal { scale: 0, wide: true });
    assert_eq!(output("SELECT AVG(x) FROM t", 1), OutputType::Float);
    let patients = patients();
    let query = parse(&patients, "SELECT SUM(age), SUM(charges) FROM patients").unwrap();
    let outputs = compile(&patients, &query, 1_000_000_000).unwrap().outputs;
    assert_eq!(output_type(&outputs[0]), OutputType::Int);
    assert_eq!(output_type(&outputs[1]), OutputType::Decimal { scale: 2, wide: false });
}

#[test]
fn squares_of_clear_64_bit_columns_are_summed_in_76_digits() {
    let clear = schema("t", vec![column("x", ColumnType::Int { bits: 64 }, Protection::Clear)]);
    let query = parse(&clear, "SELECT VARIANCE(x), SUM(x) FROM t").unwrap();
    let plan = compile(&clear, &query, 1_000_000).unwrap();
    assert!(plan.clear.iter().any(|sql| sql == "SUM(CAST(\"x\" AS DECIMAL(38,0)))"), "{:?}", plan.clear);
    assert!(plan.clear.iter().any(|sql| sql.contains("AS DECIMAL(76,0)) * CAST")), "{:?}", plan.clear);
}

/// Cubes of any 64-bit column fit the engine's decimals, fourth powers of a thousand rows do not.
#[test]
fn powers_of_clear_columns_fit_76_digits_or_are_refused() {
    let clear = schema("t", vec![column("x", ColumnType::Int { bits: 64 }, Protection::Clear)]);
    let compiled =
        |item: &str, rows| compile(&clear, &parse(&clear, &format!("SELECT {item} FROM t")).unwrap(), rows);
    compiled("SKEWNESS(x)", 1 << 40).unwrap();
    compiled("KURTOSIS(x)", 1).unwrap();
    let report = compiled("KURTOSIS(x)", 1000).unwrap_err().report();
    let expected = "HUSH-P011 KURTOSIS(x): its values can exceed 76 decimal digits";
    assert!(report.starts_with(expected) && report.contains("Ways out: a narrower range"), "{report}");
}

#[test]
fn the_final_query_divides_in_doubles_and_orders_by_keys() {
    let text = "SELECT ward, SUM(age) / COUNT(*) AS mean, SUM(age) + SUM(visits) FROM patients \
                GROUP BY ward HAVING COUNT(*) > 5 ORDER BY mean DESC NULLS LAST LIMIT 3 OFFSET 1";
    let expected = "SELECT k0 AS \"ward\", \
        (CAST(a0 AS DOUBLE) / NULLIF(CAST(a1 AS DOUBLE), CAST(0 AS DOUBLE))) AS \"mean\", \
        CAST(a0 AS DECIMAL(38,0)) + CAST(a2 AS DECIMAL(38,0)) AS \"SUM(age) + SUM(visits)\" \
        FROM merged WHERE a1 > 5 \
        ORDER BY (CAST(a0 AS DOUBLE) / NULLIF(CAST(a1 AS DOUBLE), CAST(0 AS DOUBLE))) DESC NULLS LAST, k0 \
        LIMIT 3 OFFSET 1";
    assert_eq!(plan(text).final_sql, expected);
}

#[test]
fn a_source_of_null_outlives_the_term_that_it_was_in() {
    let schema = random_schema(true).all_clear();
    let cell = |value: Option<i32>| value.map(|value| Decimal::new(value, 0));
    let row = |v: i32, w: Option<i32>| -> Row {
        [("v", cell(Some(v))), ("w", cell(w)), ("a", cell(None))].map(|(k, c)| (k.to_owned(), c)).into()
    };
    let rows = [row(1, Some(1)), row(2, None), row(3, Some(3)), row(4, Some(0)), row(5, None)];
    for argument in [
        "CASE WHEN v < 3 THEN 0*CASE WHEN v > 3 THEN 3 END - 5 ELSE 2 END",
        "CASE WHEN v < 4 THEN w - w + 7 ELSE 1 END",
        "CASE WHEN v < 4 THEN (CASE WHEN v > 1 THEN 0 * w END) + 1 ELSE w END",
        "CASE WHEN v < 4 THEN a * 0 ELSE 1 END",
        "CASE WHEN v = 1 THEN CASE WHEN v = 2 THEN w END ELSE v + 0 * w END",
    ] {
        assert!(check_against_direct(&schema, argument, &rows).unwrap(), "{argument}");
    }
}

// ---- Against direct evaluation. ----

/// Columns of the random table: encrypted `a`, `b`, `c`, clear `v`, `w`, `d`; letters `a` and `w` may be missing.
fn random_schema(a_nullable: bool) -> Schema {
    use ColumnType::{Decimal as D, Int};
    use Protection::{Clear, Encrypt};
    let a = ranged(column("a", Int { bits: 16 }, Encrypt), -50, 50);
    let small = |name, protect| -> Column { ranged(column(name, Int { bits: 16 }, protect), -9, 9) };
    let d = ranged(column("d", D { precision: 3, scale: 2 }, Clear), -300, 300);
    let c = ranged(column("c", D { precision: 4, scale: 1 }, Encrypt), -300, 300);
    schema(
        "t",
        vec![
            if a_nullable { nullable(a) } else { a },
            small("b", Encrypt),
            c,
            small("v", Clear),
            nullable(small("w", Clear)),
            d,
        ],
    )
}

fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        3 => prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_owned),
        2 => prop::sample::select(vec!["v", "w", "d"]).prop_map(str::to_owned),
        1 => (-5i32..=5).prop_map(|n| format!("({n})")),
        1 => (-50i32..=50).prop_map(|n| format!("({}.{})", n / 10, (n % 10).abs())),
    ];
    let condition = prop::sample::select(vec!["v > 0", "w > 1", "w IS NULL", "v = w", "NOT (w < v)"]);
    leaf.prop_recursive(4, 12, 3, move |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(x, y)| format!("({x} + {y})")),
            (inner.clone(), inner.clone()).prop_map(|(x, y)| format!("({x} - {y})")),
            (inner.clone(), inner.clone()).prop_map(|(x, y)| format!("({x} * {y})")),
            inner.clone().prop_map(|x| format!("(- {x})")),
            (condition.clone(), inner.clone(), inner.clone())
                .prop_map(|(when, x, y)| format!("(CASE WHEN {when} THEN {x} ELSE {y} END)")),
            (condition.clone(), inner).prop_map(|(when, x)| format!("(CASE WHEN {when} THEN {x} END)")),
        ]
    })
}

fn rows(a_nullable: bool) -> impl Strategy<Value = Vec<Row>> {
    let maybe = |range: std::ops::RangeInclusive<i32>, missing: bool| {
        (range, 0..10).prop_map(move |(value, luck)| (!missing || luck < 7).then_some(value))
    };
    let row = (
        maybe(-50..=50, a_nullable),
        maybe(-9..=9, false),
        maybe(-300..=300, false),
        maybe(-9..=9, false),
        maybe(-9..=9, true),
        maybe(-300..=300, false),
    );
    let row = row.prop_map(|(a, b, c, v, w, d)| {
        let cell = |value: Option<i32>, scale| value.map(|value| Decimal::new(value, scale));
        let cells =
            [("a", cell(a, 0)), ("b", cell(b, 0)), ("c", cell(c, 1)), ("v", cell(v, 0)), ("w", cell(w, 0))];
        let mut row: Row = cells.into_iter().map(|(name, cell)| (name.to_owned(), cell)).collect();
        row.insert("d".to_owned(), cell(d, 2));
        row
    });
    prop::collection::vec(row, 0..12)
}

/// What the encoding of `quantity` holds for a row, in units.
fn quantity_value(schema: &Schema, quantity: &Quantity, row: &Row) -> BigInt {
    let scale = |name: &String| schema.column(name).unwrap().scale();
    let value = |name: &String| row[name].as_ref().map(|cell| cell.units(scale(name)));
    match quantity {
        Quantity::BothValid(x, y) => u8::from(row[x].is_some() && row[y].is_some()).into(),
        Quantity::Monomial(factors) => {
            factors.iter().map(value).product::<Option<BigInt>>().unwrap_or_default()
        }
        Quantity::Product(x, y) => value(x).zip(value(y)).map_or(BigInt::ZERO, |(x, y)| x * y),
        Quantity::Combination(_) => panic!("queries ask for monomials"),
        Quantity::InCells { .. } => panic!("no query asks for what stands in places"),
        Quantity::Log(_) | Quantity::Negative(_) | Quantity::Zero(_) => panic!("no product of rows here"),
        Quantity::Square(x) => value(x).map_or(BigInt::ZERO, |x| &x * &x),
        Quantity::Valid(x) => u8::from(row[x].is_some()).into(),
        Quantity::Value(x) => value(x).unwrap_or_default(),
        Quantity::Where { quantity, present } if present.iter().all(|x| row[x].is_some()) => {
            quantity_value(schema, quantity, row)
        }
        Quantity::Flag(_) | Quantity::Holds(_) | Quantity::Limb { .. } | Quantity::Where { .. } => {
            BigInt::ZERO
        }
    }
}

/// The server's and the owner's work on exact numbers: every moment, then the linear form.
fn evaluate(schema: &Schema, plan: &Grouped, form: &LinearForm, rows: &[Row]) -> BigInt {
    let moment = |moment: &Moment| match moment {
        Moment::Clear(index) => eval::aggregate(&plan.clear[*index], rows),
        Moment::Encrypted(index) => {
            let sum = &plan.sums[*index];
            let BoundedMask { mask, weights } = &plan.masks[sum.mask];
            let selected = rows.iter().filter(|row| {
                mask.condition.as_ref().is_none_or(|condition| eval::predicate(condition, row) == Some(true))
            });
            selected
                .map(|row| {
                    let weight = match &mask.weight {
                        None => BigInt::from(1),
                        Some(sql) => {
                            eval::number(&eval::parse(sql), row).map_or(BigInt::ZERO, |x| x.units(0))
                        }
                    };
                    let is_bounded = weights.low() <= &weight && &weight <= weights.high();
                    assert!(is_bounded || weight == BigInt::ZERO, "weight above its bound");
                    weight * quantity_value(schema, &sum.quantity, row)
                })
                .sum()
        }
    };
    form.terms.iter().map(|(factor, m)| factor.parse::<BigInt>().unwrap() * moment(m)).sum()
}

/// The count and the sums of powers of `argument`, up to what `function` reads; false where that is refused.
fn check_powers(
    schema: &Schema,
    (function, order): (&str, u32),
    argument: &str,
    rows: &[Row],
) -> Result<bool, TestCaseError> {
    let query = parse(schema, &format!("SELECT SUM({argument}), {function}({argument}) FROM t")).unwrap();
    let plan = match compile(schema, &query, rows.len() as u64) {
        Ok(plan) => plan,
        Err(error) => {
            // Only for reasons that the random expressions can have.
            prop_assert!(["HUSH-P012", "HUSH-P017"].contains(&error.code()), "{}", error.report());
            return Ok(false);
        }
    };
    let argument: Expr = eval::parse(argument);
    let values: Vec<Decimal> = rows.iter().filter_map(|row| eval::number(&argument, row)).collect();
    let OwnerAggregate::Moments { count, powers, scale, .. } = &plan.outputs[1] else {
        panic!("{:?}", plan.outputs)
    };
    let scale = u32::from(*scale);
    prop_assert_eq!(evaluate(schema, &plan, count, rows), BigInt::from(values.len()));
    prop_assert_eq!(powers.len(), order as usize);
    for (exponent, form) in (1..).zip(powers) {
        let sum: BigInt = values.iter().map(|value| value.units(scale).pow(exponent)).sum();
        prop_assert_eq!(evaluate(schema, &plan, form, rows), sum, "power {}", exponent);
    }
    Ok(true)
}

fn check_against_direct(schema: &Schema, argument: &str, rows: &[Row]) -> Result<bool, TestCaseError> {
    for higher in [("SKEWNESS", 3), ("KURTOSIS", 4)] {
        check_powers(schema, higher, argument, rows)?;
    }
    check_powers(schema, ("VARIANCE", 2), argument, rows)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_global_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn plans_sum_what_the_query_says((rows, a_nullable, argument) in any::<bool>().prop_flat_map(
        |a_nullable| (rows(a_nullable), Just(a_nullable), expression()),
    )) {
        let encrypted = random_schema(a_nullable);
        let planned = check_against_direct(&encrypted, &argument, &rows)?;
        // Nothing is refused in the clear but digits and branches beyond the limits.
        let clear = check_against_direct(&encrypted.all_clear(), &argument, &rows)?;
        prop_assert!(clear || !planned);
    }

    #[test]
    fn linear_and_quadratic_arguments_are_planned(
        rows in rows(true), p in -9i32..=9, q in -9i32..=9, r in -9i32..=9, weight in prop::sample::select(vec!["v", "w", "d"]),
    ) {
        let schema = random_schema(true);
        for argument in [
            format!("{p} * a + {q} * {weight} + {r}"),
            format!("a * {weight} - {q}"),
            format!("{p} * b + {q} * c - {r} * {weight}"),
            format!("(a - {q}) * {weight}"),
        ] {
            prop_assert!(check_against_direct(&schema, &argument, &rows)?, "{}", argument);
            prop_assert!(check_powers(&schema, ("KURTOSIS_POP", 4), &argument, &rows)?, "{}", argument);
        }
    }
}

/// Moments of several random expressions over random rows, with any of three encrypted columns missing.
fn check_joint(schema: &Schema, arguments: &[String], rows: &[Row]) -> Result<bool, TestCaseError> {
    let query = parse(schema, &format!("SELECT LINREG_R2({}) FROM t", arguments.join(", "))).unwrap();
    let plan = match compile(schema, &query, rows.len() as u64) {
        Ok(plan) => plan,
        Err(error) => {
            prop_assert!(["HUSH-P012", "HUSH-P017"].contains(&error.code()), "{}", error.report());
            return Ok(false);
        }
    };
    let parsed: Vec<Expr> = arguments.iter().map(|argument| eval::parse(argument)).collect();
    let whole =
        |row: &Row| parsed.iter().map(|argument| eval::number(argument, row)).collect::<Option<Vec<_>>>();
    let common: Vec<Vec<Decimal>> = rows.iter().filter_map(whole).collect();
    let OwnerAggregate::Joint { count, moments, .. } = &plan.outputs[0] else { panic!("{:?}", plan.outputs) };
    let scale = |i: usize| u32::from(moments.scales[i]);
    prop_assert_eq!(evaluate(schema, &plan, count, rows), BigInt::from(common.len()));
    for (i, form) in moments.sums.iter().enumerate() {
        let sum: BigInt = common.iter().map(|row| row[i].units(scale(i))).sum();
        prop_assert_eq!(evaluate(schema, &plan, form, rows), sum);
    }
    let pairs = arguments.len() * (arguments.len() + 1) / 2;
    prop_assert_eq!(moments.products.len(), pairs);
    for ((i, j), form) in &moments.products {
        let sum: BigInt = common.iter().map(|row| row[*i].units(scale(*i)) * row[*j].units(scale(*j))).sum();
        prop_assert_eq!(evaluate(schema, &plan, form, rows), sum);
    }
    Ok(true)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn joint_moments_are_those_of_the_rows_in_common(
        mut rows in rows(true),
        missing in prop::collection::vec(0u8..6, 12),
        p in -9i32..=9,
        weight in prop::sample::select(vec!["v", "w", "d"]),
        (x, y) in (expression(), expression()),
    ) {
        let mut schema = random_schema(true);
        for (row, lost) in rows.iter_mut().zip(&missing) {
            if let Some(name) = ["b", "c"].get(usize::from(*lost)) {
                row.insert((*name).to_owned(), None);
            }
        }
        for column in schema.columns.iter_mut().filter(|column| ["b", "c"].contains(&column.name.as_str())) {
            column.nullable = true;
        }
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let shapes = [
            names(&["a", "b"]),
            names(&["c", "a", "b", weight]),
            vec![format!("{p} * a + {weight}"), format!("b - {p} * c"), "v".to_owned()],
            vec![format!("CASE WHEN v > 0 THEN a ELSE {weight} END"), format!("a * {weight}"), "c".to_owned()],
        ];
        for arguments in &shapes {
            prop_assert!(check_joint(&schema, arguments, &rows)?, "{arguments:?}");
            prop_assert!(check_joint(&schema.all_clear(), arguments, &rows)?, "{arguments:?}");
        }
        check_joint(&schema, &[x, y], &rows)?;
    }
}
