// SPDX-License-Identifier: Apache-2.0

mod hidden;
mod ranked;

use std::collections::BTreeMap;

use super::*;
use crate::quantity::{Flag, FlagOf, Quantity};
use crate::schema::cube::{Dimension, Grain};
use crate::schema::{Protection, Schema};
use crate::sql;
use crate::tables::{column, nullable, ranged, schema};

/// A row: `day` from -5 to 3000, `size` from 0 to 10 or missing, `fresh` or missing, `cost` in hundredths up to 200, `kind` A, B or C, or missing; in the
/// clear `year` from 1 to 3 or missing, and `city` x or y.
#[derive(Clone, Copy, Debug)]
struct Row {
    day: i128,
    size: Option<i128>,
    fresh: Option<bool>,
    cost: i128,
    kind: Option<&'static str>,
    year: Option<i128>,
    city: &'static str,
}

const KINDS: [&str; 3] = ["A", "B", "C"];

fn table() -> Schema {
    use ColumnType::{Bool, Category, Decimal, Int};
    use Protection::{Clear, Encrypt, Seal};
    schema(
        "t",
        vec![
            ranged(column("day", Int { bits: 16 }, Encrypt), -5, 3000),
            ranged(nullable(column("size", Int { bits: 8 }, Encrypt)), 0, 10),
            nullable(column("fresh", Bool, Encrypt)),
            ranged(column("cost", Decimal { precision: 9, scale: 2 }, Encrypt), 0, 200),
            nullable(column("kind", Category, Seal)),
            nullable(column("year", Int { bits: 16 }, Clear)),
            column("city", Category, Clear),
        ],
    )
}

fn codes(schema: &Schema) -> Vec<Code> {
    let code = |name: &str| {
        let grain = match name {
            "kind" => Grain::Texts(KINDS.map(str::to_owned).to_vec()),
            _ => Grain::Each,
        };
        Code::of(schema, &Dimension { column: name.to_owned(), grain }).unwrap()
    };
    ["day", "size", "fresh", "cost", "kind"].map(code).into()
}

/// The polynomial of a condition, and its masks.
fn masked(text: &str) -> Option<(Term, Vec<Expr>)> {
    let schema = table();
    let query = sql::parse(&schema, &format!("SELECT COUNT(*) FROM t WHERE {text}")).unwrap();
    let columns = CodedColumns { schema: &schema, codes: &codes(&schema), hides: false };
    let mut masks = Vec::new();
    let term = polynomial(columns, query.filter.as_ref().unwrap(), &mut masks)?;
    Some((term, masks))
}

fn term(text: &str) -> Option<Term> {
    masked(text).map(|(term, _)| term)
}

/// What a clear condition is for a row, as a server evaluates it.
fn is_true(condition: &Expr, row: &Row) -> Option<bool> {
    let literal = |expr: &Expr| expr.to_string().trim_matches('\'').to_owned();
    let value = |expr: &Expr| match column_name(bare(expr)).unwrap() {
        "year" => row.year.map(|year| year.to_string()),
        _ => Some(row.city.to_owned()),
    };
    match bare(condition) {
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => is_true(expr, row).map(|found| !found),
        Expr::IsNull(expr) => Some(value(expr).is_none()),
        Expr::BinaryOp { left, op: op @ (BinaryOperator::And | BinaryOperator::Or), right } => {
            let decides = *op == BinaryOperator::Or;
            match (is_true(left, row), is_true(right, row)) {
                (Some(one), Some(other)) if decides => Some(one || other),
                (Some(one), Some(other)) => Some(one && other),
                (Some(known), None) | (None, Some(known)) if known == decides => Some(known),
                _ => None,
            }
        }
        Expr::BinaryOp { left, op: op @ (BinaryOperator::Eq | BinaryOperator::NotEq), right } => {
            let (name, constant) =
                if column_name(bare(left)).is_some() { (left, right) } else { (right, left) };
            Some((value(name)? == literal(constant)) == (*op == BinaryOperator::Eq))
        }
        other => panic!("{other}"),
    }
}

/// The value of a polynomial for some values of quantities and masks.
fn evaluate(term: &Term, known: &BTreeMap<Quantity, i64>, masks: &[bool]) -> i64 {
    let of = |term: &Term| evaluate(term, known, masks);
    match term {
        Term::Chosen(flag) => unreachable!("{flag:?}"),
        Term::Clear(mask) => i64::from(masks[*mask]),
        Term::Computed(integer) | Term::Constant(integer) => *integer,
        Term::Stored(quantity) => known[quantity],
        Term::Add(one, other) => of(one) + of(other),
        Term::Mul(one, other) => of(one) * of(other),
        Term::Sub(one, other) => of(one) - of(other),
    }
}

fn values(row: &Row) -> BTreeMap<Quantity, i64> {
    let units = |name: &str| match name {
        "day" => Some(row.day),
        "size" => row.size,
        "fresh" => row.fresh.map(i128::from),
        _ => Some(row.cost),
    };
    let all = codes(&table()).into_iter().flat_map(|code| code.quantities());
    let value = |quantity: &Quantity| match quantity {
        Quantity::Flag(Flag { column, of: FlagOf::Digit(flag) }) => {
            units(column).is_some_and(|units| flag.is_set(units))
        }
        Quantity::Flag(Flag { of: FlagOf::Text(text), .. }) => row.kind == Some(text.as_str()),
        Quantity::Valid(column) => units(column).is_some(),
        _ => false,
    };
    all.map(|quantity| (quantity.clone(), i64::from(value(&quantity)))).collect()
}

/// The form of a condition, and its constants, from seeds of their own.
struct Draws {
    form: u64,
    constants: u64,
}

impl Draws {
    fn next(state: &mut u64, bound: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % bound
    }

    fn below(&mut self, bound: u64) -> u64 {
        Self::next(&mut self.form, bound)
    }

    fn constant(&mut self, bound: u64) -> u64 {
        Self::next(&mut self.constants, bound)
    }
}

type Truth = Box<dyn Fn(&Row) -> Option<bool>>;

/// A comparison, and what it is for a row.
fn atom(draws: &mut Draws) -> (String, Truth) {
    fn compared(op: usize, left: i128, right: i128) -> bool {
        [left < right, left <= right, left > right, left >= right, left == right, left != right][op]
    }
    const OPS: [&str; 6] = ["<", "<=", ">", ">=", "=", "<>"];
    let op = draws.below(6) as usize;
    match draws.below(12) {
        0 => {
            let bound = i128::from(draws.constant(3020)) - 12;
            (format!("day {} {bound}", OPS[op]), Box::new(move |row| Some(compared(op, row.day, bound))))
        }
        1 => {
            let (low, high) = (i128::from(draws.constant(3000)), i128::from(draws.constant(3000)));
            let is_within = move |row: &Row| Some(low <= row.day && row.day <= high);
            (format!("day BETWEEN {low} AND {high}"), Box::new(is_within))
        }
        2 => {
            let bound = i128::from(draws.constant(14)) - 2;
            (
                format!("{bound} {} size", OPS[op]),
                Box::new(move |row| row.size.map(|size| compared(op, bound, size))),
            )
        }
        3 => {
            let list = [0, 1, 2].map(|_| i128::from(draws.constant(12)));
            let text = list.map(|one| one.to_string()).join(", ");
            let is_negated = draws.below(2) == 0;
            let word = if is_negated { "NOT IN" } else { "IN" };
            (
                format!("size {word} ({text})"),
                Box::new(move |row| row.size.map(|size| list.contains(&size) != is_negated)),
            )
        }
        4 => ("fresh".to_owned(), Box::new(|row| row.fresh)),
        5 => {
            // In thousandths, so that most lie between two values.
            let bound = i128::from(draws.constant(2100)) - 20;
            let sign = if bound < 0 { "-" } else { "" };
            let text = format!("{sign}{}.{:03}", bound.abs() / 1000, bound.abs() % 1000);
            (
                format!("cost {} {text}", OPS[op]),
                Box::new(move |row| Some(compared(op, 10 * row.cost, bound))),
            )
        }
        6 => {
            let kind = ["A", "B", "C", "D"][draws.constant(4) as usize];
            let is_negated = draws.below(2) == 0;
            let op = if is_negated { "<>" } else { "=" };
            (
                format!("kind {op} '{kind}'"),
                Box::new(move |row| row.kind.map(|found| (found == kind) != is_negated)),
            )
        }
        7 => {
            let is_null = draws.below(2) == 0;
            let word = if is_null { "IS NULL" } else { "IS NOT NULL" };
            (format!("size {word}"), Box::new(move |row| Some(row.size.is_none() == is_null)))
        }
        8 => {
            let year = i128::from(draws.constant(4));
            let is_negated = draws.below(2) == 0;
            let op = if is_negated { "<>" } else { "=" };
            (
                format!("year {op} {year}"),
                Box::new(move |row| row.year.map(|found| (found == year) != is_negated)),
            )
        }
        9 => ("year IS NULL".to_owned(), Box::new(|row| Some(row.year.is_none()))),
        10 => {
            let city = ["x", "y", "z"][draws.constant(3) as usize];
            (format!("'{city}' = city"), Box::new(move |row| Some(row.city == city)))
        }
        _ => ("kind IN ('A', 'C')".to_owned(), Box::new(|row| row.kind.map(|kind| kind != "B"))),
    }
}

fn condition(draws: &mut Draws, depth: u32) -> (String, Truth) {
    if depth == 0 || draws.below(4) == 0 {
        return atom(draws);
    }
    match draws.below(5) {
        0 => {
            let (text, truth) = condition(draws, depth - 1);
            (format!("NOT ({text})"), Box::new(move |row| truth(row).map(|truth| !truth)))
        }
        kind => {
            let ((left, one), (right, other)) = (condition(draws, depth - 1), condition(draws, depth - 1));
            let is_and = kind < 3;
            let word = if is_and { "AND" } else { "OR" };
            // In AND false decides, in OR true.
            let both = move |row: &Row| match (one(row), other(row)) {
                (Some(one), Some(other)) => Some(if is_and { one && other } else { one || other }),
                (Some(known), None) | (None, Some(known)) if known != is_and => Some(known),
                _ => None,
            };
            (format!("({left}) {word} ({right})"), Box::new(both))
        }
    }
}

fn rows(draws: &mut Draws) -> Vec<Row> {
    let mut row = |place: usize| Row {
        day: [-5, 3000, i128::from(draws.below(3006)) - 5][place % 3],
        size: (draws.below(4) > 0).then(|| draws.below(11).into()),
        fresh: (draws.below(3) > 0).then(|| draws.below(2) == 0),
        cost: draws.below(201).into(),
        kind: (draws.below(4) > 0).then(|| KINDS[draws.below(3) as usize]),
        year: (draws.below(4) > 0).then(|| 1 + i128::from(draws.below(3))),
        city: ["x", "y"][draws.below(2) as usize],
    };
    (0..60).map(&mut row).collect()
}

/// Random conditions are 1 where they are true, and 0 where they are false or NULL.
#[test]
fn polynomials_are_one_where_conditions_are_true() {
    let mut draws = Draws { form: 7, constants: 8 };
    let rows = rows(&mut draws);
    let known: Vec<BTreeMap<Quantity, i64>> = rows.iter().map(values).collect();
    let mut decided = 0;
    for _ in 0..3000 {
        let (text, truth) = condition(&mut draws, 3);
        let Some((term, masks)) = masked(&text) else { continue };
        decided += 1;
        assert!(term.degree() <= MAX_DEGREE);
        for (row, known) in rows.iter().zip(&known) {
            let expected = i64::from(truth(row) == Some(true));
            let masks: Vec<bool> = masks.iter().map(|mask| is_true(mask, row) == Some(true)).collect();
            assert_eq!(evaluate(&term, known, &masks), expected, "{text}\n{row:?}");
        }
    }
    assert!(decided > 2000, "{decided}");
}

#[test]
fn comparisons_of_one_column_are_one_sum_and_exclusive_members_take_no_product() {
    let degree = |text: &str| term(text).unwrap().degree();
    assert_eq!(degree("size > 3"), 1);
    assert_eq!(degree("size > 3 AND size < 9 AND size <> 5"), 1);
    assert_eq!(degree("day >= 1000 AND day < 2000"), 2);
    assert_eq!(degree("size > 3 AND day < 2000 AND kind = 'A'"), 4);
    assert_eq!(degree("(kind = 'A' AND size > 3) OR (kind = 'B' AND size > 7)"), 2);
    assert_eq!(degree("kind = 'A' OR size > 7"), 2);
    assert_eq!(degree("size IS NULL OR size IS NOT NULL"), 1);
}

/// What clear columns decide takes no factor, and neighbours are one mask.
#[test]
fn clear_members_are_masks() {
    let found = |text: &str| {
        let (term, masks) = masked(text).unwrap();
        (term.degree(), masks.iter().map(Expr::to_string).collect::<Vec<_>>())
    };
    let masks = |masks: &[&str]| masks.iter().map(|mask| (*mask).to_owned()).collect::<Vec<_>>();
    assert_eq!(found("size > 3 OR year = 1"), (1, masks(&["\"year\" = 1"])));
    let (degree, neighbours) = found("(year = 1 AND size > 3 AND city = 'x') OR fresh");
    assert_eq!((degree, neighbours.len()), (2, 1), "{neighbours:?}");
    // Of other years and cities no row is the same, and degrees do not add up.
    assert_eq!(found("(year = 1 AND size > 3) OR (year = 2 AND fresh)").0, 1);
    assert_eq!(found("(city = 'x' AND size > 3) OR ('y' = city AND fresh)").0, 1);
    assert_eq!(found("(year = 1 AND size > 3) OR (year <> 2 AND fresh)").0, 2);
    assert_eq!(found("(year = 1 AND size > 3) OR (year = 1 AND fresh)").0, 2);
    assert_eq!(found("NOT (size > 3 AND NOT year = 1)"), (1, masks(&["\"year\" = 1"])));
}

#[test]
fn what_flags_do_not_decide_is_left_to_others() {
    for text in [
        "size = day",
        "size + 1 > 3",
        "kind < 'B'",
        "kind LIKE 'A%'",
        "size IN (1, NULL)",
        // Of more degrees than a server multiplies.
        "day <> 77 OR size > 3 OR fresh OR cost > 1 OR kind = 'A' OR (size IS NULL AND fresh IS NULL)",
    ] {
        assert_eq!(term(text), None, "{text}");
    }
}

/// Parts of dates are sets of days, whatever the digits of the column.
#[test]
fn parts_of_dates_are_runs_of_days() {
    use crate::schema::units::{civil_from_days, days_from_civil};
    let (low, high) = (8035, 10_560);
    let schema = schema("t", vec![ranged(column("day", ColumnType::Date, Protection::Encrypt), low, high)]);
    let start = |year, month| days_from_civil(year, month, 1).unwrap();
    type Holds = fn(i64, i64, i64) -> bool;
    let cases: [(&str, Holds); 9] = [
        ("EXTRACT(YEAR FROM day) = 1994", |year, _, _| year == 1994),
        ("NOT (date_part('year', day) BETWEEN 1994 AND 1996)", |year, _, _| !(1994..=1996).contains(&year)),
        ("1994.5 > EXTRACT(YEAR FROM day)", |year, _, _| year <= 1994),
        ("EXTRACT(YEAR FROM day) <> 1994.5", |_, _, _| true),
        ("EXTRACT(MONTH FROM day) IN (2, 7, 13)", |_, month, _| month == 2 || month == 7),
        ("EXTRACT(QUARTER FROM day) >= 2 + 1", |_, month, _| month >= 7),
        ("date_trunc('month', day) = DATE '1996-02-01'", |year, month, _| (year, month) == (1996, 2)),
        ("date_trunc('quarter', day) > DATE '1996-02-29'", |year, month, _| (year, month) >= (1996, 4)),
        ("day < DATE '1997-01-31' + INTERVAL '1' MONTH", |year, month, day| {
            (year, month, day) < (1997, 2, 28)
        }),
    ];
    for grain in [Grain::Each, Grain::Calendar] {
        let codes = [Code::of(&schema, &Dimension { column: "day".to_owned(), grain }).unwrap()];
        let columns = CodedColumns { schema: &schema, codes: &codes, hides: false };
        let read = |text: &str| {
            let query = sql::parse(&schema, &format!("SELECT COUNT(*) FROM t WHERE {text}")).unwrap();
            polynomial(columns, query.filter.as_ref().unwrap(), &mut Vec::new())
        };
        for (text, holds) in &cases {
            let term = read(text).unwrap();
            for days in
                (low..=high).step_by(3).chain([low, high, start(1996, 2).into(), start(1996, 4).into()])
            {
                let (year, month, day) = civil_from_days(days as i64);
                let value = |quantity: &Quantity| match quantity {
                    Quantity::Flag(Flag { of: FlagOf::Digit(flag), .. }) => i64::from(flag.is_set(days)),
                    Quantity::Flag(Flag { of: FlagOf::Date(flag), .. }) => i64::from(flag.is_set(days)),
                    _ => 1,
                };
                assert_eq!(
                    term.evaluate(&value),
                    i64::from(holds(year, month, day)),
                    "{text} {year} {month} {day}"
                );
            }
        }
        // Too many runs of days, no constant, a part that nobody knows here.
        for text in [
            "EXTRACT(DAY FROM day) = 3",
            "EXTRACT(YEAR FROM day) = EXTRACT(MONTH FROM day)",
            "date_trunc('week', day) = DATE '1996-02-05'",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
