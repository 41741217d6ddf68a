// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::schema::{ColumnType, Protection, Purpose};
use crate::sql;
use crate::tables::{column, nullable, ranged, schema, with_purposes};

/// Days in even digits or in those of the calendar, a large number, and a small one.
fn table(by_calendar: bool) -> Schema {
    let filtered = |column| with_purposes(column, &[Purpose::Filter]);
    let encrypted = |name, kind, low, high| ranged(column(name, kind, Protection::Encrypt), low, high);
    let number = ColumnType::Int { bits: 64 };
    let mut schema = schema(
        "t",
        vec![
            filtered(encrypted("day", ColumnType::Date, 8035, 10_560)),
            filtered(nullable(encrypted("large", number, -7_000_000, 9_000_000))),
            filtered(encrypted("small", number, 0, 2)),
            column("ward", ColumnType::Category, Protection::Clear),
        ],
    );
    if by_calendar {
        schema.filters.push(Dimension { column: "day".into(), grain: Grain::Calendar });
    }
    schema
}

struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn search_of(schema: &Schema, text: &str) -> Option<Search> {
    Search::of(&FilterShape::of(schema).unwrap(), &sql::parse(schema, text).unwrap())
}

/// Whatever the values are: after the last round each place that is wanted is in a run of one value, which is the value at that place.
#[test]
fn rounds_end_at_single_values() {
    let parts = "MIN({}), MAX({}), MEDIAN({}), QUANTILE_DISC({}, 0.9), QUANTILE_CONT({}, 0.25), COUNT({})";
    let mut draw = Draws(11);
    for (name, by_calendar, rounds) in [("day", false, 4), ("day", true, 5), ("large", false, 8)] {
        let schema = table(by_calendar);
        let text = format!("SELECT {} FROM t GROUP BY small", parts.replace("{}", name));
        let search = search_of(&schema, &text).unwrap();
        assert_eq!((search.rounds, search.ranks.len()), (rounds, 5));
        let code = search.code(&schema).unwrap();
        for case in 0..6 {
            // Groups of no row, of one, of a few that lie together, and of many.
            let mut values: Vec<Vec<i128>> = Vec::new();
            for group in 0..3_u64 {
                let (count, spread) = (
                    [0, 1, 3, 40, 500, 2][(case + group as usize) % 6],
                    [1, 5, 1000, code.count()][draw.below(4) as usize],
                );
                let first = draw.below(code.count() - spread.min(code.count()) + 1);
                let mut of_group: Vec<i128> = (0..count)
                    .map(|_| code.low() + i128::from(first + draw.below(spread.min(code.count()))))
                    .collect();
                of_group.sort_unstable();
                values.push(of_group);
            }
            let mut round = search.first(&schema).unwrap();
            for number in 1.. {
                assert!(round.starts.windows(2).all(|pair| pair[0] < pair[1]), "{round:?}");
                let by = [
                    Dimension { column: "small".into(), grain: Grain::Each },
                    round.dimension(name).unwrap(),
                ];
                let axes = by.iter().map(|by| Axis::of(&schema, by).unwrap()).collect();
                let cube = CubeShape { axes, lanes: Vec::new() };
                assert!(cube.cells() <= 3 * (1 + 3 * 5 * 2 * 9 + 1), "{}", cube.cells());
                let axis = &cube.axes[1];
                let mut rows = vec![0_i128; cube.cells() as usize];
                for (group, of_group) in values.iter().enumerate() {
                    let cells = of_group.iter().map(|value| axis.cell_of_units(*value).unwrap());
                    cells.for_each(|cell| rows[group * axis.len() + cell] += 1);
                }
                assert!(search.is_found(&cube, &[&rows]) || !round.is_last);
                if round.is_last {
                    assert_eq!(number, rounds);
                    // With many rows elsewhere a place lies among values that are not told apart.
                    let wide =
                        (0..axis.len()).find(|cell| axis.bounds(*cell).is_some_and(|(low, high)| low < high));
                    let mut forged = rows.clone();
                    forged[wide.unwrap()] = 1_000_000;
                    assert!(!search.is_found(&cube, &[&forged]));
                    for (group, of_group) in
                        values.iter().enumerate().filter(|(_, values)| !values.is_empty())
                    {
                        let count = of_group.len() as u64;
                        for (first, last) in search.ranks.iter().map(|rank| rank.places(count)) {
                            for place in [first, last] {
                                let cells = group * axis.len()..(group + 1) * axis.len();
                                let mut left = i128::from(place);
                                let cell = rows[cells].iter().position(|rows| {
                                    left -= rows;
                                    left < 0
                                });
                                let (low, high) = axis.bounds(cell.unwrap()).unwrap();
                                assert_eq!(
                                    (low, high),
                                    (of_group[place as usize], low),
                                    "{name} {case} {group}"
                                );
                            }
                        }
                    }
                    break;
                }
                round = search.next(&schema, &round, &cube, &[&rows]).unwrap();
            }
        }
    }
}

/// Runs of a level are within those of the one before, eight at most of each, and take as many factors as digits are looked at.
#[test]
fn levels_are_runs_of_digits() {
    for (name, by_calendar) in [("day", false), ("day", true), ("large", false)] {
        let schema = table(by_calendar);
        let by = schema.all_filters().into_iter().find(|by| by.column == name).unwrap();
        let code = Code::of(&schema, &by).unwrap();
        let (mut first, mut last) = (0, code.count() - 1);
        for (level, (digit, _)) in code.levels().into_iter().enumerate() {
            let starts = code.starts(level, (first, last));
            assert!(starts.len() < 9 && starts.windows(2).all(|pair| pair[0] < pair[1]), "{starts:?}");
            let all: Vec<u64> = [first].into_iter().chain(starts).chain([last + 1]).collect();
            for pair in all.windows(2) {
                let run = code.within(&[(pair[0], pair[1] - 1)]);
                assert!(run.degree() <= digit + 1, "{name} {level} {pair:?}: {}", run.degree());
            }
            (first, last) = (all[all.len() / 2 - 1], all[all.len() / 2] - 1);
        }
        assert_eq!(first, last, "{name}");
    }
}

#[test]
fn one_large_column_is_searched_in_groups_that_are_its_cells() {
    let schema = table(false);
    let shape = FilterShape::of(&schema).unwrap();
    let found = |text: &str| search_of(&schema, text).map(|search| search.column);
    assert_eq!(found("SELECT MEDIAN(day), MAX(small) FROM t").as_deref(), Some("day"));
    for text in [
        "SELECT MEDIAN(small) FROM t",
        "SELECT MEDIAN(day), MAX(large) FROM t",
        "SELECT MAX(DISTINCT day) FROM t",
        "SELECT COUNT(DISTINCT day) FROM t",
        "SELECT MODE(day) FROM t",
        "SELECT MEDIAN(day) FILTER (WHERE small = 1) FROM t",
    ] {
        assert_eq!(found(text), None, "{text}");
    }
    let is_searched = |text: &str| {
        let query = sql::parse(&schema, text).unwrap();
        let search = Search::of(&shape, &query)?;
        let sample = search.sample(&schema)?;
        let asked = super::super::compile(&schema, &shape, (&query, Some(&sample), false), 1000).ok()?;
        Some(search.is_all_of(&query, &asked))
    };
    assert_eq!(
        is_searched("SELECT small, ward, MEDIAN(day) FROM t WHERE large > 5 GROUP BY small, ward"),
        Some(true)
    );
    assert_eq!(is_searched("SELECT MEDIAN(day) FROM t WHERE small = 1 AND ward = 'a'"), Some(true));
    assert_eq!(is_searched("SELECT MEDIAN(day), COUNT(CASE WHEN small = 1 THEN 1 END) FROM t"), Some(false));
    assert_eq!(is_searched("SELECT small > 1, MEDIAN(day) FROM t GROUP BY small > 1"), Some(false));
    // Values are told apart at the places of the order alone.
    for text in [
        "SELECT MEDIAN(day), SUM(CASE WHEN day = DATE '1994-03-05' THEN 1 END) FROM t",
        "SELECT day, MAX(day) FROM t GROUP BY day",
    ] {
        assert_eq!(is_searched(text), None, "{text}");
    }
}
