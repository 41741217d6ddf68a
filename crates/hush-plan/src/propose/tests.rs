// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::predict::Site;
use crate::schema::{Column, ColumnType, Protection};
use crate::sql;
use crate::tables::{column, nullable, ranged, schema as table};

const ROWS: u64 = 1_000_000;
/// 100 Mbit/s.
const LINK: f64 = 12.5e6;

fn situation() -> Situation {
    let distinct = [("ward", 3), ("kind", 5), ("note", 900_000)];
    let distinct = distinct.map(|(name, count)| (name.to_owned(), count));
    Situation { rows: ROWS, distinct: distinct.into(), link: Some(LINK) }
}

fn schema() -> Schema {
    use ColumnType::{Category, Date, Decimal, Int, Text};
    use Protection::{Clear, Encrypt, Seal};
    let days = |year: i64| i128::from((year - 1970) * 365);
    let dated = |column: Column| Column { purposes: vec![Purpose::Count], ..column };
    let columns = vec![
        column("ward", Category, Clear),
        nullable(column("kind", Category, Seal)),
        column("note", Text, Seal),
        ranged(column("year", Int { bits: 16 }, Clear), 0, 9999),
        ranged(nullable(column("age", Int { bits: 16 }, Encrypt)), 0, 120),
        ranged(column("level", Int { bits: 8 }, Encrypt), 0, 10),
        ranged(nullable(column("pay", Decimal { precision: 12, scale: 2 }, Encrypt)), 0, 99_999_999),
        ranged(column("rate", Decimal { precision: 3, scale: 2 }, Encrypt), 0, 10),
        ranged(column("wide", Int { bits: 64 }, Encrypt), -1 << 40, 1 << 40),
        dated(ranged(column("day", Date, Encrypt), days(2019), days(2026))),
    ];
    Schema { max_rows: ROWS, ..table("t", columns) }
}

fn queries(texts: &[&str]) -> Vec<Query> {
    texts.iter().map(|text| sql::parse(&schema(), text).unwrap()).collect()
}

fn advice(texts: &[&str]) -> Advice {
    propose(&schema(), &queries(texts), &situation()).unwrap()
}

fn words(texts: &[&str]) -> Vec<String> {
    advice(texts).kept.iter().map(|kept| kept.structure.describe()).collect()
}

fn ways(texts: &[&str]) -> Vec<(Option<WayName>, Option<WayName>)> {
    let way = |answer: &Result<Answer, PlanError>| answer.as_ref().ok().map(|answer| answer.way);
    advice(texts).answers.iter().map(|answered| (way(&answered.before), way(&answered.after))).collect()
}

#[test]
fn groups_over_small_dimensions_get_a_cube() {
    let text = "SELECT kind, AVG(pay) FROM t WHERE age > 65 AND day >= '2023-04-01' GROUP BY kind";
    assert_eq!(words(&[text]), ["a cube by age in 2 bins, day in 2 bins, kind; sums of pay"]);
    let cube = &advice(&[text]).schema.cubes[0];
    assert_eq!(cube.by[0].grain, Grain::Bins(vec![66]));
    assert!(matches!(&cube.by[2].grain, Grain::Texts(texts) if texts.len() == 5));
    assert_eq!(ways(&[text]), [(Some(WayName::Fetch), Some(WayName::Cube))]);
    let answered = &advice(&[text]).answers[0];
    let bytes = |answer: &Result<Answer, PlanError>| answer.as_ref().unwrap().bytes_down;
    assert!(bytes(&answered.after) < 10_000 && bytes(&answered.before) > 1_000_000, "{answered:?}");
}

/// Dates by the coarsest grain that the query does not tell apart, numbers by bins or by value, equalities by a bin of their own.
#[test]
fn cells_are_as_coarse_as_the_query_allows() {
    let by = |condition: &str, keys: &str| {
        let text = format!("SELECT SUM(pay) FROM t WHERE {condition} GROUP BY {keys}");
        let cubes = advice(&[&text]).schema.cubes;
        let dimensions = cubes.first().map(|cube| cube.by.iter().map(|dimension| dimension.describe()));
        dimensions.map(|words| words.collect::<Vec<_>>().join(", ")).unwrap_or_default()
    };
    assert_eq!(by("level = 3", "EXTRACT(YEAR FROM day)"), "year(day), level");
    assert_eq!(by("age < 18", "DATE_TRUNC('quarter', day)"), "age in 2 bins, quarter(day)");
    assert_eq!(by("day < '2023-04-02'", "EXTRACT(MONTH FROM day)"), "day");
    assert_eq!(by("year = 2023", "ward"), "ward, year in 3 bins");
    assert_eq!(by("year IN (2021, 2023)", "ward"), "ward, year in 5 bins");
    assert_eq!(by("wide > 5", "ward"), "ward, wide in 2 bins");
    // Each value of a wide column is no cell.
    assert_eq!(by("pay > 0", "wide"), "");
    // A value that is added up has a cell of its own.
    let text = "SELECT ward, AVG(age) FROM t WHERE age > 65 GROUP BY ward";
    assert_eq!(words(&[text]), ["a cube by age, ward"]);
}

#[test]
fn sums_of_cubes_are_products_too() {
    let text = "SELECT level, SUM(pay * (1 - rate)), COUNT(*) FROM t GROUP BY level";
    assert_eq!(words(&[text]), ["a cube by level; sums of pay, pay * rate"]);
    let text = "SELECT kind, SUM(CASE WHEN age > 65 THEN pay ELSE 0 END) FROM t GROUP BY kind";
    assert_eq!(words(&[text]), ["a cube by age in 2 bins, kind; sums of pay"]);
}

#[test]
fn small_cubes_of_several_queries_become_one() {
    let texts = [
        "SELECT kind, AVG(pay) FROM t WHERE age > 65 GROUP BY kind",
        "SELECT ward, SUM(pay) FROM t WHERE age < 18 GROUP BY ward",
        "SELECT COUNT(*) FROM t WHERE level > 3",
    ];
    assert_eq!(words(&texts), ["a cube by age in 3 bins, kind, ward, level; sums of pay"]);
    assert!(ways(&texts).iter().all(|(_, after)| *after == Some(WayName::Cube)), "{:?}", ways(&texts));
    // Cubes that would be large together are two.
    let texts = ["SELECT day, SUM(pay) FROM t GROUP BY day", "SELECT age, SUM(pay) FROM t GROUP BY age"];
    assert_eq!(words(&texts).len(), 2);
}

#[test]
fn medians_ranges_and_first_rows_get_a_run() {
    let texts = [
        "SELECT ward, MEDIAN(wide) FROM t GROUP BY ward",
        "SELECT ward, MAX(wide), AVG(pay) FROM t GROUP BY ward",
        "SELECT wide, pay FROM t ORDER BY wide DESC LIMIT 10",
    ];
    let found = words(&texts);
    assert!(found.contains(&"a sorted run by wide within ward; sums of pay".to_owned()), "{found:?}");
    assert!(found.contains(&"a sorted run by wide; covers pay".to_owned()), "{found:?}");
    assert!(ways(&texts).iter().all(|(_, after)| *after == Some(WayName::Order)), "{:?}", ways(&texts));
}

#[test]
fn what_the_owner_reads_gets_copies() {
    let text = "SELECT kind, COUNT(DISTINCT wide), MEDIAN(pay) FROM t WHERE age > level GROUP BY kind";
    assert_eq!(words(&[text]), ["copies of age, level, pay, wide (fetch)"]);
    assert_eq!(ways(&[text]), [(Some(WayName::Fetch), Some(WayName::Fetch))]);
}

#[test]
fn sums_that_no_purpose_asks_for_are_proposed_where_they_are_worth_it() {
    let text = "SELECT STDDEV(wide), SUM(wide * pay) FROM t WHERE LENGTH(ward) > 3";
    // Of how many wards there are nobody knows, so that no cube is made of them.
    let found =
        propose(&schema(), &queries(&[text]), &Situation { distinct: BTreeMap::new(), ..situation() })
            .unwrap();
    let words: Vec<String> = found.kept.iter().map(|kept| kept.structure.describe()).collect();
    assert_eq!(words, ["further encoded columns: wide for stddev; pay * wide"]);
    assert_eq!(found.answers[0].after.as_ref().unwrap().way, WayName::Sum);
    assert_eq!(found.schema.products, [["pay", "wide"]]);
}

/// What is proposed is what the planner then takes, on the schema that is written and read again.
#[test]
fn proposals_serve_as_they_are_written() {
    let texts = [
        "SELECT kind, AVG(pay), STDDEV(pay) FROM t WHERE age >= 65 AND day < '2024-01-01' GROUP BY kind",
        "SELECT MEDIAN(wide) FROM t",
        "SELECT COUNT(DISTINCT wide) FROM t WHERE age > level",
        "SELECT SUM(wide) FROM t",
    ];
    let found = advice(&texts);
    let written = crate::schema::file::to_toml(&found.schema);
    let read = crate::schema::file::from_toml(&written).unwrap();
    crate::cube::check(&read).unwrap();
    crate::run::check(&read).unwrap();
    let laid_out = LaidOut::of(&read, &situation()).unwrap();
    for (query, answered) in queries(&texts).iter().zip(&found.answers) {
        assert_eq!(laid_out.price(query), answered.after);
    }
    assert_eq!(found, advice(&texts));
    for kept in &found.kept {
        assert!(kept.row_bytes > 0.0 && kept.row_bytes < 200.0 && kept.row_us > 0.0, "{kept:?}");
    }
}

/// Prices are those of the planner: the way that it takes at such a place.
#[test]
fn a_price_is_of_the_way_that_is_taken() {
    let schema = schema();
    let encodings = crate::tables::encodings(&schema, &crate::Needs::of_purposes(&schema).unwrap(), ROWS);
    let site = Site { link: Some(LINK), ..Site::local(ROWS) };
    for text in [
        "SELECT SUM(pay) FROM t",
        "SELECT ward, AVG(age) FROM t GROUP BY ward",
        "SELECT pay FROM t WHERE age > 3",
    ] {
        let query = sql::parse(&schema, text).unwrap();
        let plan =
            crate::plan_query(&schema, &encodings, &site, "", &query, &crate::Limits::default()).unwrap();
        let (way, price) = crate::physical::price_query(&schema, &encodings, &site, &query).unwrap();
        assert_eq!(way, plan.way, "{text}");
        if let Some(taken) = plan.ways.iter().find(|way| way.taken) {
            assert_eq!((taken.seconds, taken.bytes_down), (price.seconds(site.link), price.bytes_down));
        }
    }
}

#[test]
fn small_tables_and_cheap_queries_get_nothing() {
    let text = "SELECT kind, COUNT(*) FROM t GROUP BY kind";
    assert_eq!(words(&[text]), ["a cube by kind"]);
    let few = Situation { rows: 200, ..situation() };
    let found = propose(&schema(), &queries(&[text]), &few).unwrap();
    assert!(found.kept.is_empty() && found.schema == schema(), "{found:?}");
    assert!(words(&["SELECT COUNT(*) FROM t"]).is_empty());
}

#[test]
fn a_query_without_an_answer_does_not_spoil_the_others() {
    let mut open = schema();
    open.columns.push(column("gone", ColumnType::Int { bits: 8 }, Protection::Drop));
    let texts = ["SELECT SUM(gone) FROM t", "SELECT kind, SUM(pay) FROM t WHERE age > 65 GROUP BY kind"];
    let parsed: Vec<Query> = texts.iter().map(|text| sql::parse(&open, text).unwrap()).collect();
    let found = propose(&open, &parsed, &situation()).unwrap();
    assert_eq!(found.answers[0].after.as_ref().unwrap_err().code(), "HUSH-P010");
    assert_eq!(found.answers[1].after.as_ref().unwrap().way, WayName::Cube);
}

#[test]
fn texts_take_the_place_of_placeholders() {
    let text = "SELECT kind, AVG(pay) FROM t WHERE age > 65 GROUP BY kind";
    let mut found = advice(&[text]);
    assert_eq!(listed(&found.schema, 0), BTreeSet::from(["kind".to_owned()]));
    assert!(listed(&found.schema, 1).is_empty());
    let texts = ["a", "b"].map(str::to_owned).to_vec();
    list_texts(&mut found.schema, 0, "kind", &texts);
    let grains: Vec<&Grain> = found.schema.cubes[0].by.iter().map(|dimension| &dimension.grain).collect();
    assert!(grains.contains(&&Grain::Texts(texts)), "{grains:?}");
}

#[test]
fn alternatives_are_those_that_answer() {
    let text = "SELECT kind, AVG(pay) FROM t WHERE age > 65 GROUP BY kind";
    let found = alternatives(&schema(), &queries(&[text])[0], &situation()).unwrap();
    let ways: Vec<WayName> = found.iter().map(|(_, answer)| answer.way).collect();
    assert_eq!(ways.first(), Some(&WayName::Cube));
    assert!(found.windows(2).all(|pair| pair[0].0.row_bytes <= pair[1].0.row_bytes));
}

/// No cube has cells for a condition that changes from row to row; sums of each row have.
#[test]
fn clear_conditions_that_no_cells_have_get_sums_of_each_row() {
    let text =
        "SELECT kind, SUM(pay) FROM t WHERE year % 100 = 7 AND year * year > 3 AND level > 4 GROUP BY kind";
    assert_eq!(words(&[text]), ["sums of each row (group) by kind, level in 2 bins; sums of pay"]);
    assert_eq!(ways(&[text]), [(Some(WayName::Fetch), Some(WayName::Group))]);
    let found = advice(&[text]);
    assert_eq!(listed(&found.schema, 0), BTreeSet::from(["kind".to_owned()]));
    // Where a cube does, it takes a fraction of the bytes.
    let text = "SELECT kind, SUM(pay) FROM t WHERE year = 2023 AND level > 4 GROUP BY kind";
    assert!(words(&[text])[0].starts_with("a cube by"), "{:?}", words(&[text]));
}

/// A cell for each value of a column of all 64 bits, and one for missing values, is more than can be counted.
#[test]
fn columns_of_any_range_are_weighed() {
    let mut schema = schema();
    schema.columns.push(nullable(column("code", ColumnType::Int { bits: 64 }, Protection::Encrypt)));
    for text in [
        "SELECT code, COUNT(*) FROM t GROUP BY code",
        "SELECT SUM(pay) FROM t WHERE code > 5 AND year % 3 = 1",
    ] {
        let query = sql::parse(&schema, text).unwrap();
        let found = propose(&schema, std::slice::from_ref(&query), &situation()).unwrap();
        assert!(found.answers[0].after.is_ok(), "{text}");
        alternatives(&schema, &query, &situation()).unwrap();
    }
}
