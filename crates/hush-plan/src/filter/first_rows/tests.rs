// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::cube::Axis;
use crate::schema::cube::{Dimension, Grain};
use crate::schema::{Protection, Purpose};
use crate::sql;
use crate::tables::{column, nullable, ranged, schema, with_purposes};

fn table(by_calendar: bool) -> Schema {
    let filtered = |column| with_purposes(column, &[Purpose::Filter]);
    let encrypted = |name, kind, low, high| ranged(column(name, kind, Protection::Encrypt), low, high);
    let money = ColumnType::Decimal { precision: 5, scale: 2 };
    let mut schema = schema(
        "t",
        vec![
            filtered(encrypted("day", ColumnType::Date, 8035, 10_560)),
            filtered(nullable(encrypted("large", ColumnType::Int { bits: 64 }, -7_000_000, 9_000_000))),
            filtered(encrypted("small", money, -50, 150)),
            filtered(encrypted("truth", ColumnType::Bool, 0, 1)),
            ranged(column("other", ColumnType::Int { bits: 8 }, Protection::Encrypt), 0, 10),
        ],
    );
    if by_calendar {
        schema.filters.push(Dimension { column: "day".into(), grain: Grain::Calendar });
    }
    schema
}

fn search_of(schema: &Schema, text: &str) -> Option<Search> {
    Search::of_first_rows(&FilterShape::of(schema).unwrap(), &sql::parse(schema, text).unwrap())
}

/// A small deterministic generator, so that a failure reproduces.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Whatever the values are: the last value that is wanted is the one at the place, from either end, and there is none if there are fewer rows.
#[test]
fn the_last_wanted_value_is_found() {
    let mut draw = Draws(5);
    for (name, by_calendar) in [("day", false), ("day", true), ("large", false), ("small", false)] {
        let schema = table(by_calendar);
        for case in 0..24 {
            let (rows, direction) = (1 + draw.below(30), ["", "ASC", "DESC NULLS LAST"][case % 3]);
            let offset = draw.below(3);
            let text = format!(
                "SELECT other FROM t ORDER BY {name} {direction}, other LIMIT {rows} OFFSET {offset}"
            );
            let search = search_of(&schema, &text).unwrap();
            let code = code_of(&schema, name).unwrap();
            assert!(search.is_of_rows() && search.rounds == code.levels().len());
            let (count, spread) =
                ([0, 1, 3, 40, 500][case % 5], [1, 5, 40, code.count()][draw.below(4) as usize]);
            let spread = spread.min(code.count());
            let first = draw.below(code.count() - spread + 1);
            let mut values: Vec<i128> =
                (0..count).map(|_| code.low() + i128::from(first + draw.below(spread))).collect();
            values.sort_unstable();
            let mut round = search.first(&schema).unwrap();
            let (cube, found) = loop {
                let by = Dimension { column: name.to_owned(), grain: Grain::Bins(round.starts.clone()) };
                let cube = CubeShape { axes: vec![Axis::of(&schema, &by).unwrap()], lanes: Vec::new() };
                let mut found = vec![0_i128; cube.cells() as usize];
                let cells = values.iter().map(|value| cube.axes[0].cell_of_units(*value).unwrap());
                cells.for_each(|cell| found[cell] += 1);
                if round.is_last {
                    break (cube, found);
                }
                round = search.next(&schema, &round, &cube, &[&found]).unwrap();
            };
            let place = (rows - 1 + offset) as usize;
            let expected = match direction {
                "DESC NULLS LAST" => values.iter().rev().nth(place),
                _ => values.get(place),
            };
            assert_eq!(search.last_wanted(&cube, &found), Some(expected.copied()), "{text} {values:?}");
            // Many rows elsewhere do not agree with the rounds before.
            let wide = (0..cube.axes[0].len())
                .find(|cell| cube.axes[0].bounds(*cell).is_some_and(|(low, high)| low < high));
            if let Some(wide) = wide {
                let mut forged = vec![0; found.len()];
                forged[wide] = 1_000_000;
                assert_eq!(search.last_wanted(&cube, &forged), None);
            }
        }
    }
}

/// The rows that are asked for in the end are those up to the value, all of them.
#[test]
fn rows_up_to_a_value_are_a_condition() {
    let schema = table(false);
    for (text, last, expected) in [
        (
            "SELECT other FROM t WHERE small > 0 OR truth ORDER BY day LIMIT 3",
            9131,
            "(small > 0 OR truth) AND day <= DATE '1995-01-01'",
        ),
        ("SELECT other FROM t ORDER BY small DESC, other LIMIT 3 OFFSET 1", -49, "small >= -0.49"),
        ("SELECT other FROM t ORDER BY large LIMIT 1", -7_000_000, "large <= -7000000"),
    ] {
        let query = sql::parse(&schema, text).unwrap();
        let search = search_of(&schema, text).unwrap();
        let asked = search.up_to(&schema, &query, Some(last)).unwrap();
        assert_eq!(asked.filter_text().unwrap().replace('"', ""), expected);
        assert_eq!((asked.limit, asked.offset, &asked.order), (None, 0, &query.order));
        assert_eq!(search.up_to(&schema, &query, None).unwrap().filter, query.filter);
        let counting = search.counting(&schema, &query).unwrap();
        assert_eq!((counting.is_grouped(), counting.filter), (true, query.filter));
    }
}

/// What is planned with takes as many factors as any bound that rounds can find.
#[test]
fn a_sample_takes_the_most_factors() {
    for by_calendar in [false, true] {
        let schema = table(by_calendar);
        for (name, direction) in
            [("day", ""), ("day", "DESC"), ("small", ""), ("small", "DESC"), ("large", "")]
        {
            let text = format!("SELECT other FROM t ORDER BY {name} {direction} LIMIT 3");
            let search = search_of(&schema, &text).unwrap();
            let code = code_of(&schema, name).unwrap();
            let step = (code.count() / 5000).max(1) as usize;
            let last = code.count() - 1;
            let of = |place| if direction.is_empty() { (0, place) } else { (place, last) };
            let most = (0..code.count()).step_by(step).map(|place| code.within(&[of(place)]).degree()).max();
            assert_eq!(search.sample_of_rows(&schema).map(|term| term.degree()), most, "{text}");
        }
    }
}

/// Other orders are of rows that match, without a search: of what has no flags, of missing values first, of too many rows, of groups.
#[test]
fn other_orders_are_not_searched() {
    let schema = table(false);
    for text in [
        "SELECT day FROM t ORDER BY other LIMIT 3",
        "SELECT day FROM t ORDER BY small + 1 LIMIT 3",
        "SELECT day FROM t ORDER BY large DESC LIMIT 3",
        "SELECT day FROM t ORDER BY large NULLS FIRST LIMIT 3",
        "SELECT day FROM t ORDER BY truth LIMIT 3",
        "SELECT day FROM t ORDER BY day LIMIT 1001",
        "SELECT day FROM t ORDER BY day LIMIT 990 OFFSET 11",
        "SELECT day FROM t ORDER BY day LIMIT 0",
        "SELECT day FROM t ORDER BY day",
        "SELECT day FROM t LIMIT 3",
        "SELECT DISTINCT day FROM t ORDER BY day LIMIT 3",
    ] {
        assert_eq!(search_of(&schema, text), None, "{text}");
    }
}
