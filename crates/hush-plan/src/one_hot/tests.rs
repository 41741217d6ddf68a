// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::limits::{Limits, WayName};
use crate::physical::plan_query;
use crate::plan::{QueryPlan, Task};
use crate::predict::Site;
use crate::quantity::CellValues;
use crate::schema::cube::{Dimension, Grain};
use crate::schema::{ColumnType, Purpose};
use crate::tables::{column, encodings, nullable, ranged, schema, with_purposes};

const ROWS: u64 = 100_000;

fn dimension(column: &str, grain: Grain) -> Dimension {
    Dimension { column: column.to_owned(), grain }
}

fn stays() -> Schema {
    use ColumnType::{Bool, Category, Decimal, Int};
    use Protection::{Clear, Encrypt, Seal};
    let columns = vec![
        column("ward", Category, Clear),
        column("diagnosis", Category, Seal),
        ranged(nullable(column("age", Int { bits: 8 }, Encrypt)), 0, 120),
        with_purposes(column("smoker", Bool, Encrypt), &[Purpose::Group]),
        ranged(nullable(column("charges", Decimal { precision: 12, scale: 2 }, Encrypt)), -100, 999_999),
        ranged(
            with_purposes(column("visits", Int { bits: 16 }, Encrypt), &[Purpose::Variance, Purpose::Sum]),
            0,
            1000,
        ),
        ranged(column("year", Int { bits: 16 }, Clear), 2000, 2040),
    ];
    let mut schema = schema("stays", columns);
    schema.max_rows = ROWS;
    let texts = Grain::Texts(["flu", "it's"].map(str::to_owned).to_vec());
    let by = vec![dimension("diagnosis", texts), dimension("age", Grain::Bins(vec![18, 65]))];
    let sum = ["charges", "visits", "year"].map(str::to_owned).to_vec();
    schema.groups.push(Cube { by, sum, max_cell_rows: None });
    schema
}

fn plan(schema: &Schema, text: &str, way: Option<WayName>) -> Result<QueryPlan, crate::PlanError> {
    let needs = Needs::of_purposes(schema).unwrap();
    let encodings = encodings(schema, &needs, schema.max_rows);
    let query = crate::sql::parse(schema, text).unwrap();
    let limits = Limits { way, ..Limits::default() };
    plan_query(schema, &encodings, &Site::local(ROWS), "00ff", &query, &limits)
}

fn by_group(text: &str) -> QueryPlan {
    plan(&stays(), text, Some(WayName::Group)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn lanes_are_those_that_aggregates_read_and_squares_where_the_column_has_them() {
    let schema = stays();
    check(&schema).unwrap();
    let all = schema.all_groups();
    assert_eq!(all.len(), 2);
    let shape = shape(&schema, &all[0]).unwrap();
    assert_eq!((shape.cells(), shape.axes.len()), (2 * 4, 2));
    let name = |name: &str| name.to_owned();
    let lanes: Vec<Quantity> = shape.quantities();
    let wanted = [
        Quantity::Value(name("charges")),
        Quantity::Valid(name("charges")),
        Quantity::Value(name("visits")),
        Quantity::Square(name("visits")),
        Quantity::Value(name("year")),
    ];
    assert!(wanted.iter().all(|lane| lanes.contains(lane)) && lanes.len() == wanted.len(), "{lanes:?}");
    // What a purpose asks for adds up all that is there to be summed, but not itself.
    assert_eq!(all[1].by, [dimension("smoker", Grain::Each)]);
    assert_eq!(all[1].sum, ["age", "charges", "visits"]);
}

#[test]
fn every_row_is_in_one_cell_and_cells_share_columns() {
    let schema = stays();
    let group = &schema.groups[0];
    let shape = shape(&schema, group).unwrap();
    let cells = cells(&shape);
    assert_eq!(cells.len(), 8);
    let within = |column: &str, values| Within { column: column.to_owned(), values };
    let flu = || within("diagnosis", CellValues::Text("flu".to_owned()));
    let ages = |low, high| within("age", CellValues::Between { low, high });
    assert_eq!(cells[0], [flu(), ages(0, 17)]);
    assert_eq!(cells[2], [flu(), ages(65, 120)]);
    assert_eq!(cells[3], [flu(), within("age", CellValues::Missing)]);
    let found = quantities(&schema, &shape);
    let counts = found.iter().filter(|quantity| matches!(quantity, Quantity::InCells { quantity: None, .. }));
    let of_counts: Vec<usize> = counts
        .map(|quantity| match quantity {
            Quantity::InCells { cells, bits, .. } => {
                // Numbers up to max_rows.
                assert_eq!(*bits, 17);
                cells.len()
            }
            _ => 0,
        })
        .collect();
    assert_eq!(of_counts.iter().sum::<usize>(), 8);
    assert!(of_counts[0] >= 3, "counters share a number: {of_counts:?}");
    assert_eq!(found.len(), column_count(&schema, &shape));
}

#[test]
fn what_a_group_answers() {
    for text in [
        "SELECT diagnosis, COUNT(*) FROM stays GROUP BY diagnosis",
        "SELECT diagnosis, SUM(charges), AVG(visits), STDDEV(visits), COUNT(charges) FROM stays \
         WHERE year > 2020 AND ward = 'A' GROUP BY diagnosis HAVING COUNT(*) > 3 ORDER BY 2 DESC LIMIT 3",
        "SELECT SUM(charges) FROM stays WHERE diagnosis = 'flu' AND age >= 65 AND year = 2021",
        "SELECT ward, COUNT(*) FILTER (WHERE age < 18) FROM stays GROUP BY ward",
        "SELECT SUM(CASE WHEN diagnosis LIKE 'f%' THEN charges ELSE 0 END) FROM stays",
        "SELECT COUNT(DISTINCT diagnosis), MIN(diagnosis) FROM stays WHERE year < 2020 OR ward = 'B'",
        "SELECT smoker, AVG(charges) FROM stays WHERE year = 2020 GROUP BY smoker",
        "SELECT age IS NULL, SUM(visits) FROM stays GROUP BY age IS NULL",
    ] {
        let plan = by_group(text);
        let Task::Aggregate(task) = &plan.server.task else { panic!("{text}") };
        assert!(!task.sums.is_empty() && task.masks.len() == 1, "{text}");
        let sent = serde_json::to_string(&plan.server).unwrap();
        for hidden in ["diagnosis", "age", "flu", "charges", "smoker"] {
            assert!(!sent.contains(hidden), "{text}: {sent}");
        }
    }
    for text in [
        "SELECT age, COUNT(*) FROM stays GROUP BY age",
        "SELECT COUNT(*) FROM stays WHERE age > 40",
        "SELECT COUNT(*) FROM stays WHERE diagnosis = 'flu' AND charges > 3",
        "SELECT MEDIAN(charges) FROM stays GROUP BY diagnosis",
        "SELECT STDDEV(charges) FROM stays GROUP BY diagnosis",
        "SELECT SUM(charges) FROM stays",
        "SELECT diagnosis FROM stays WHERE smoker",
    ] {
        let error = plan(&stays(), text, Some(WayName::Group)).unwrap_err();
        assert_eq!(error.code(), "HUSH-P030", "{text}");
        assert!(error.to_string().contains("group: no group of the table has every column"), "{error}");
    }
    for (way, why) in
        [(WayName::Cube, "cube: the schema declares no cube"), (WayName::Order, "no sorted run")]
    {
        let error = plan(&stays(), "SELECT SUM(charges) FROM stays", Some(way)).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

/// A server sees the same plan whatever the hidden constants are.
#[test]
fn constants_stay_with_the_owner() {
    let sent = |diagnosis: &str| {
        let text = format!("SELECT SUM(charges) FROM stays WHERE diagnosis = '{diagnosis}' AND year = 2021");
        serde_json::to_string(&by_group(&text).server).unwrap()
    };
    assert_eq!(sent("flu"), sent("it''s"));
    let hidden = Limits {
        hide: [crate::Facet::Constants, crate::Facet::Pattern, crate::Facet::Sizes].into_iter().collect(),
        way: Some(WayName::Group),
        ..Limits::default()
    };
    let schema = stays();
    let encodings = encodings(&schema, &Needs::of_purposes(&schema).unwrap(), ROWS);
    let ask = |text: &str| {
        let query = crate::sql::parse(&schema, text).unwrap();
        plan_query(&schema, &encodings, &Site::local(ROWS), "00ff", &query, &hidden)
    };
    ask("SELECT SUM(charges) FROM stays WHERE diagnosis = 'flu'").unwrap();
    ask("SELECT SUM(charges) FROM stays WHERE diagnosis = 'flu' AND year = 2021").unwrap_err();
    ask("SELECT ward, SUM(charges) FROM stays WHERE diagnosis = 'flu' GROUP BY ward").unwrap_err();
}

#[test]
fn clear_columns_of_the_rest_are_keys() {
    let plan = by_group(
        "SELECT ward, SUM(charges) FILTER (WHERE diagnosis = 'flu' OR ward = 'B') FROM stays \
         WHERE year = 2021 AND age IS NOT NULL GROUP BY ward",
    );
    let Task::Aggregate(task) = &plan.server.task else { panic!("{:?}", plan.server.task) };
    assert_eq!(task.keys, ["\"ward\""]);
    assert_eq!(plan.server.predicate.as_ref().unwrap().to_string(), "\"year\" = 2021");
    assert_eq!(plan.owner.hidden.unwrap().keys, ["ward"]);
    assert!(plan.leakage.query.iter().any(|told| told.contains("grouped by ward")), "{:?}", plan.leakage);
}

#[test]
fn more_rows_than_places_hold_are_refused() {
    let schema = stays();
    let encodings = encodings(&schema, &Needs::of_purposes(&schema).unwrap(), ROWS);
    let text = "SELECT diagnosis, COUNT(*) FROM stays GROUP BY diagnosis";
    let query = crate::sql::parse(&schema, text).unwrap();
    let limits = Limits { way: Some(WayName::Group), ..Limits::default() };
    let at = |rows| plan_query(&schema, &encodings, &Site::local(rows), "00ff", &query, &limits);
    // 17 bits.
    at(131_071).unwrap();
    at(131_072).unwrap_err();
}

#[test]
fn groups_that_cannot_be() {
    let refused = |change: &dyn Fn(&mut Schema)| {
        let mut schema = stays();
        change(&mut schema);
        check(&schema).unwrap_err().to_string()
    };
    let clear = refused(&|schema| schema.groups[0].by[0] = dimension("ward", Grain::Texts(vec!["A".into()])));
    assert!(clear.starts_with("group 1: ward is clear"), "{clear}");
    let many = refused(&|schema| {
        schema.groups[0].by[1] = dimension("visits", Grain::Each);
        schema.groups[0].sum.retain(|name| name != "visits");
    });
    assert!(many.contains("encoded columns, some") && many.contains("1024 are the most"), "{many}");
    let purpose = |name: &str| {
        refused(&|schema| {
            let columns = schema.columns.iter_mut().filter(|column| column.name == name);
            columns.for_each(|column| column.purposes = vec![Purpose::Group]);
        })
    };
    assert!(purpose("diagnosis").contains("diagnosis is sealed"), "{}", purpose("diagnosis"));
    assert!(purpose("year").starts_with("group 2: year is clear"), "{}", purpose("year"));
    let none = refused(&|schema| schema.groups[0].by.clear());
    assert!(none.contains("no dimension"), "{none}");
}
