// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::plan::Key;
use crate::schema::ColumnType;
use crate::sql;
use crate::tables::{column, nullable, ranged, schema};

fn stays() -> Schema {
    use ColumnType::{Category, Date, Decimal, Float, Int, Text, Timestamp};
    use Protection::{Clear, Encrypt, Seal};
    let columns = vec![
        column("ward", Category, Clear),
        column("name", Text, Seal),
        ranged(nullable(column("charges", Decimal { precision: 12, scale: 2 }, Encrypt)), 0, 999_999_999),
        ranged(column("los", Int { bits: 16 }, Encrypt), 0, 300),
        ranged(nullable(column("age", Int { bits: 8 }, Encrypt)), 0, 120),
        column("admitted", Date, Encrypt),
        column("score", Float { digits: 3 }, Seal),
        column("seen", Timestamp, Seal),
        column("other", Int { bits: 32 }, Encrypt),
    ];
    schema("stays", columns)
}

fn run(by: &str, within: &[&str], sum: &[&str], cover: &[&str]) -> Run {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Run { by: by.to_owned(), within: names(within), sum: names(sum), cover: names(cover), by_chunk: false }
}

fn charges() -> Run {
    run("charges", &["ward"], &["charges", "los"], &["age", "name"])
}

/// What a run makes of a query: `S` on segments, `R` on rows, `-` nothing.
fn asked(run: &Run, text: &str) -> (String, Option<RunQuery>) {
    let schema = stays();
    let query = sql::parse(&schema, text).unwrap();
    let shape = RunShape::of(&schema, run).unwrap();
    let asking = Asking { schema: &schema, place: 0, run, shape: &shape, query: &query, rows: 1000 };
    match (asking.on_segments(), asking.on_rows()) {
        (Some((query, _)), _) => ("S".to_owned(), Some(query)),
        (None, Some(query)) => ("R".to_owned(), Some(query)),
        (None, None) => ("-".to_owned(), None),
    }
}

#[test]
fn what_segments_decide_is_asked_of_them_and_the_rest_of_rows() {
    let cases = [
        ("S", "SELECT MEDIAN(charges) FROM stays"),
        ("S", "SELECT MIN(charges), MAX(charges), COUNT(charges), COUNT(*) FROM stays"),
        ("S", "SELECT ward, QUANTILE_DISC(charges, 0.9) FROM stays GROUP BY ward"),
        ("S", "SELECT COUNT(*), SUM(los), AVG(charges) FROM stays WHERE charges < 100"),
        ("S", "SELECT SUM(los * 2), SUM(charges) FROM stays WHERE NOT (100.5 <= charges) OR ward = 'A'"),
        ("S", "SELECT SUM(CASE WHEN charges > 5 THEN charges ELSE 0 END) FROM stays"),
        (
            "S",
            "SELECT VAR_POP(los), STDDEV(charges) FROM stays WHERE charges BETWEEN 1 AND 2 AND ward <> 'B'",
        ),
        ("S", "SELECT charges IN (1, 2), COUNT(*) FROM stays GROUP BY charges IN (1, 2)"),
        ("S", "SELECT MEDIAN(charges) FILTER (WHERE ward = 'A' AND charges > 3) FROM stays"),
        ("S", "SELECT COUNT(DISTINCT ward) FROM stays WHERE charges IS NULL"),
        (
            "S",
            "SELECT ward FROM stays GROUP BY ward HAVING MEDIAN(charges) > 10 ORDER BY MAX(charges) LIMIT 3",
        ),
        // Nothing but rows tells these.
        ("-", "SELECT MODE(charges) FROM stays"),
        ("-", "SELECT COUNT(DISTINCT charges) FROM stays"),
        ("-", "SELECT charges, COUNT(*) FROM stays GROUP BY charges"),
        ("-", "SELECT SUM(age) FROM stays"),
        ("-", "SELECT SUM(other) FROM stays WHERE charges = 5"),
        ("-", "SELECT SUM(charges * los) FROM stays"),
        ("-", "SELECT MEDIAN(charges * 2) FROM stays"),
        ("-", "SELECT MEDIAN(los) FROM stays"),
        ("-", "SELECT MEDIAN(charges) FROM stays WHERE age > 5"),
        ("-", "SELECT charges FROM stays"),
        ("-", "SELECT charges FROM stays WHERE charges * 2 > 5"),
        ("-", "SELECT charges FROM stays ORDER BY los LIMIT 5"),
        ("-", "SELECT charges FROM stays WHERE age > 5 ORDER BY charges LIMIT 5"),
        ("-", "SELECT other FROM stays ORDER BY charges LIMIT 5"),
        ("-", "SELECT charges, ROW_NUMBER() OVER (ORDER BY los) FROM stays ORDER BY charges LIMIT 5"),
        // What matches is in a few blocks.
        ("R", "SELECT name, age FROM stays WHERE charges = 5.25"),
        ("R", "SELECT SUM(age), MODE(los) FROM stays WHERE charges > 99.9 AND age < 10"),
        ("R", "SELECT name FROM stays WHERE ward = 'A' AND length(name) > 3"),
        ("R", "SELECT name, charges FROM stays ORDER BY charges DESC LIMIT 10 OFFSET 5"),
        ("R", "SELECT name FROM stays WHERE charges < 50 AND ward = 'A' ORDER BY charges, age LIMIT 10"),
        ("R", "SELECT charges, RANK() OVER (ORDER BY los) FROM stays WHERE charges > 5"),
    ];
    for (expected, text) in cases {
        assert_eq!(asked(&charges(), text).0, expected, "{text}");
    }
}

#[test]
fn conditions_part_values_where_they_change() {
    let cut = |at: i128, behind: bool| Cut { at: Key::Number(at), behind };
    let cuts = |condition: &str| {
        let text = format!("SELECT COUNT(*) FROM stays WHERE {condition}");
        asked(&charges(), &text).1.map(|query| query.cuts)
    };
    assert_eq!(cuts("charges < 5"), Some(vec![cut(500, false)]));
    assert_eq!(cuts("charges <= 5.25"), Some(vec![cut(525, true)]));
    assert_eq!(cuts("5 < charges"), Some(vec![cut(500, true)]));
    assert_eq!(cuts("5 >= charges"), Some(vec![cut(500, true)]));
    assert_eq!(cuts("5 <= charges"), Some(vec![cut(500, false)]));
    assert_eq!(cuts("charges <> 5"), Some(vec![cut(500, false), cut(500, true)]));
    assert_eq!(cuts("charges NOT BETWEEN 2 AND 3"), Some(vec![cut(200, false), cut(300, true)]));
    assert_eq!(cuts("charges IS NOT NULL"), Some(vec![]));
    assert_eq!(
        cuts("(charges > 1 OR charges < 1) AND charges > 1"),
        Some(vec![cut(100, false), cut(100, true)])
    );
    // No value lies between 5.12 and 5.13.
    assert_eq!(cuts("charges < 5.125"), None);
    assert_eq!(cuts("charges < los"), None);
    let names = run("name", &[], &[], &["age"]);
    let texts = |condition: &str| {
        let text = format!("SELECT COUNT(*) FROM stays WHERE {condition}");
        asked(&names, &text).1.map(|query| query.cuts)
    };
    let text = |at: &str, behind: bool| Cut { at: Key::Text(at.to_owned()), behind };
    assert_eq!(texts("name LIKE 'Ab%'"), Some(vec![text("Ab", false), text("Ac", false)]));
    assert_eq!(texts("name = 'it''s'"), Some(vec![text("it's", false), text("it's", true)]));
    for other in [
        "name LIKE '%b'",
        "name LIKE 'a_%'",
        "name ILIKE 'a%'",
        "upper(name) = 'A'",
        "name LIKE 'a!%%' ESCAPE '!'",
    ] {
        assert_eq!(texts(other), None, "{other}");
    }
    let seen = run("seen", &[], &[], &["age"]);
    let times = |literal: &str| {
        let text = format!("SELECT COUNT(*) FROM stays WHERE seen <= {literal}");
        asked(&seen, &text).1.map(|query| query.cuts)
    };
    assert_eq!(times("TIMESTAMP '1970-01-01 00:00:00.000005'"), Some(vec![cut(5, true)]));
    assert_eq!(times("TIMESTAMP(6) '1970-01-01 00:00:00.000005'"), Some(vec![cut(5, true)]));
    // Engines cut these off.
    assert_eq!(times("TIMESTAMP(0) '1970-01-01 00:00:00.005'"), None);
    assert_eq!(times("TIMESTAMP(3) '1970-01-01 00:00:00.005123'"), None);
    let scores = run("score", &[], &[], &[]);
    let found = asked(&scores, "SELECT COUNT(*) FROM stays WHERE score < -0.5").1.unwrap().cuts;
    let at = Cut { at: Key::of_double(-0.5), behind: false };
    assert!(found.contains(&at) && found.len() == 10, "{found:?}");
}

#[test]
fn what_is_asked_of_segments_names_nothing_that_they_lack() {
    let text = "SELECT ward, MEDIAN(charges) FILTER (WHERE charges > 3), MAX(charges), SUM(los) FROM stays \
                WHERE charges < 9 AND ward > 'A' GROUP BY ward";
    let query = asked(&charges(), text).1.unwrap();
    let segments = query.segments.unwrap();
    assert_eq!((segments.keys, &segments.columns[..]), (1, &["ward".to_owned(), "charges".to_owned()][..]));
    let half = crate::aggregates::Fraction { numerator: 1, denominator: 2 };
    let ranks =
        [Rank { at: RankAt::Between(half), condition: Some(0) }, Rank { at: RankAt::Last, condition: None }];
    assert_eq!(query.opens, Opens::Parted(ranks.to_vec()));
    assert_eq!(asked(&charges(), "SELECT MEDIAN(charges) FROM stays").1.unwrap().segments, None);
    let least = |text: &str| asked(&charges(), text).1.unwrap().least;
    assert_eq!((query.least, least("SELECT MEDIAN(charges) FROM stays")), (2 + 4, 2));
    assert_eq!(least("SELECT COUNT(*) FROM stays WHERE charges IN (1, 2) AND ward = 'A'"), 4);
}

/// As the query engine finds them: `⌊(n − 1)·p⌋` and the next one, `⌈n·p⌉ − 1`.
#[test]
fn places_are_those_of_the_functions() {
    let part = |numerator| crate::aggregates::Fraction { numerator, denominator: 10 };
    let of = |at: RankAt| [1, 2, 5, 10].map(|count| at.places(count));
    assert_eq!(of(RankAt::Last), [(0, 0), (1, 1), (4, 4), (9, 9)]);
    assert_eq!(of(RankAt::Between(part(5))), [(0, 0), (0, 1), (2, 3), (4, 5)]);
    assert_eq!(of(RankAt::Between(part(10))), [(0, 0), (1, 1), (4, 4), (9, 9)]);
    assert_eq!(of(RankAt::UpTo(part(5), false)), [(0, 0), (0, 0), (2, 2), (4, 4)]);
    assert_eq!(of(RankAt::UpTo(part(5), true)), [(0, 0), (1, 1), (2, 2), (5, 5)]);
    assert_eq!(of(RankAt::UpTo(part(0), false)), [(0, 0), (0, 0), (0, 0), (0, 0)]);
}
