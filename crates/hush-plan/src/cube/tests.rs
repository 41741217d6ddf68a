// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::limits::{Limits, WayName};
use crate::physical::plan_query;
use crate::plan::{QueryPlan, Task};
use crate::predict::{CubeSpread, PartShape, Site, TableShape};
use crate::schema::cube::{Dimension, Grain};
use crate::schema::units::days_from_civil;
use crate::tables::{column, encodings_for, nullable, ranged, schema};

fn day(year: i64, month: i64, day: i64) -> i128 {
    days_from_civil(year, month, day).unwrap().into()
}

fn dimension(column: &str, grain: Grain) -> Dimension {
    Dimension { column: column.to_owned(), grain }
}

fn stays() -> Schema {
    use ColumnType::{Bool, Category, Date, Decimal, Float, Int};
    use Protection::{Clear, Encrypt, Seal};
    let columns = vec![
        column("ward", Category, Seal),
        ranged(nullable(column("age", Int { bits: 8 }, Encrypt)), 0, 120),
        ranged(column("los", Int { bits: 8 }, Encrypt), 0, 30),
        column("smoker", Bool, Encrypt),
        ranged(column("disc", Decimal { precision: 3, scale: 2 }, Clear), 0, 10),
        ranged(nullable(column("charges", Decimal { precision: 12, scale: 2 }, Encrypt)), -100, 999_999),
        ranged(column("visits", Int { bits: 16 }, Encrypt), 0, 1000),
        ranged(column("admitted", Date, Encrypt), day(2023, 2, 14), day(2024, 3, 5)),
        column("rate", Float { digits: 4 }, Clear),
    ];
    let mut schema = schema("stays", columns);
    let wards = Grain::Texts(["A", "B", "it's"].map(str::to_owned).to_vec());
    let by = vec![
        dimension("admitted", Grain::Month),
        dimension("ward", wards),
        dimension("age", Grain::Bins(vec![18, 65])),
        dimension("disc", Grain::Each),
    ];
    let sum = ["charges", "charges * (1 - disc) * visits"].map(str::to_owned).to_vec();
    schema.cubes.push(Cube { by, sum, max_cell_rows: None });
    schema
}

#[test]
fn axes_have_a_cell_for_each_value_and_a_value_for_each_cell() {
    let schema = stays();
    let shape = CubeShape::of(&schema, &schema.cubes[0]).unwrap();
    let sizes: Vec<usize> = shape.axes.iter().map(Axis::len).collect();
    assert_eq!(sizes, [14, 3, 4, 11]);
    assert_eq!(shape.cells(), 14 * 3 * 4 * 11);
    let admitted = &shape.axes[0];
    for (date, cell) in [
        (day(2023, 2, 14), Some(0)),
        (day(2023, 2, 28), Some(0)),
        (day(2023, 3, 1), Some(1)),
        (day(2024, 3, 5), Some(13)),
        (day(2023, 2, 13), None),
        (day(2024, 3, 6), None),
    ] {
        assert_eq!(admitted.cell_of_units(date), cell, "{date}");
    }
    assert_eq!(admitted.place(0), Place::Units(day(2023, 2, 14)), "the range begins within the month");
    let age = &shape.axes[2];
    assert_eq!(
        [0, 17, 18, 64, 65, 120].map(|age_of| age.cell_of_units(age_of)),
        [0, 0, 1, 1, 2, 2].map(Some)
    );
    assert_eq!((age.cell_of_missing(), age.place(3)), (Some(3), Place::Missing));
    let ward = &shape.axes[1];
    assert_eq!((ward.cell_of_text("it's"), ward.cell_of_text("C")), (Some(2), None));
    for axis in &shape.axes {
        for cell in 0..axis.len() {
            let again = match axis.place(cell) {
                Place::Missing => axis.cell_of_missing(),
                Place::Text(text) => axis.cell_of_text(text),
                Place::Units(units) => axis.cell_of_units(units),
            };
            assert_eq!(again, Some(cell), "{}", axis.column);
        }
    }
}

/// Sums fill their bits, and no more: both ends come back.
#[test]
fn lanes_are_as_wide_as_the_largest_sum() {
    let schema = stays();
    let shape = CubeShape::of(&schema, &schema.cubes[0]).unwrap();
    let words: Vec<String> = shape
        .lanes
        .iter()
        .map(|lane| lane.quantity.as_ref().map_or("rows".to_owned(), Quantity::describe))
        .collect();
    // 1 − disc is a clear weight of each cell.
    let expected = [
        "rows",
        "the validity of charges",
        "the values of charges",
        "the square of charges",
        "the product of charges and visits",
    ];
    assert_eq!(words, expected);
    let rows = i128::from(schema.max_rows);
    assert_eq!(shape.bits()[..3], [14, 14, 34], "10^4, 10^4, and (999999 + 100)·10^4");
    for lane in &shape.lanes {
        let mask = (1_u128 << lane.bits) - 1;
        for row in [lane.row.low(), lane.row.high()] {
            let sum = row.to_i128().unwrap() * rows;
            assert_eq!(lane.sum(sum as u128 & mask), sum);
        }
        let all = (lane.row.high() - lane.row.low()) * rows;
        assert_eq!(all.bits(), u64::from(lane.bits));
    }
}

#[test]
fn cubes_that_cannot_be_are_refused_with_reasons() {
    let schema = stays();
    let each = |name: &str| dimension(name, Grain::Each);
    for (by, sum, expected) in [
        (vec![], "charges", "no dimension"),
        (vec![each("nobody")], "charges", "no column nobody"),
        (vec![each("los"), each("los")], "charges", "los is a dimension twice"),
        (vec![each("ward")], "charges", "its values have to be listed"),
        (vec![dimension("ward", Grain::Texts(Vec::new()))], "charges", "its values have to be listed"),
        (vec![each("rate")], "charges", "rate is a float"),
        (vec![dimension("los", Grain::Month)], "charges", "los has no month"),
        (vec![dimension("los", Grain::Bins(vec![5, 3]))], "charges", "bins of los"),
        (vec![dimension("los", Grain::Bins(vec![0]))], "charges", "bins of los"),
        (vec![dimension("los", Grain::Bins(vec![31]))], "charges", "bins of los"),
        (vec![each("charges"), each("los")], "charges", "31003131 cells (charges 1000101 × los 31)"),
        (vec![each("los")], "los * 2", "los * 2 is of dimensions alone"),
        (vec![each("los")], "rate", "rate cannot be added up exactly"),
        (vec![each("los")], "ward", "ward cannot be added up"),
        (vec![each("los")], "sqrt(charges)", "sqrt(charges) cannot be added up"),
        (vec![each("los")], "charges +", "cannot be added up"),
    ] {
        let error = CubeShape::of(&schema, &Cube { by, sum: vec![sum.to_owned()], max_cell_rows: None })
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Lanes stand in the order that is written down, whatever order the planner names them in.
#[test]
fn lanes_keep_their_order() {
    let mut schema = stays();
    schema.cubes = vec![Cube {
        by: vec![dimension("los", Grain::Each)],
        sum: vec!["visits - age".to_owned()],
        max_cell_rows: None,
    }];
    let shape = CubeShape::of(&schema, &schema.cubes[0]).unwrap();
    let mut lanes = shape.quantities();
    assert_eq!(shape.clone().in_order(&lanes).as_ref(), Some(&shape));
    lanes.reverse();
    assert_eq!(shape.clone().in_order(&lanes).unwrap().quantities(), lanes);
    lanes[0] = Quantity::Square("age".to_owned());
    assert_eq!(shape.clone().in_order(&lanes), None);
    assert_eq!(shape.in_order(&lanes[1..]), None);
}

/// Cubes follow the names of their columns, and go with them.
#[test]
fn cubes_follow_their_columns() {
    use crate::schema::alter::Alteration;
    let mut before = stays();
    let cube = |by: &str, sum: &[&str]| {
        let by = vec![dimension(by, Grain::Each)];
        Cube { by, sum: sum.iter().map(|text| (*text).to_owned()).collect(), max_cell_rows: None }
    };
    before.cubes =
        vec![cube("los", &["charges", "charges * age"]), cube("disc", &["age"]), cube("smoker", &[])];
    let after = |alteration: &Alteration| {
        let mut next = crate::schema::alter::altered(&before, alteration).unwrap();
        altered(&before, alteration, &mut next);
        check(&next).unwrap();
        next.cubes
    };
    let renaming = |from: &str, to: &str| Alteration {
        rename: vec![(from.to_owned(), to.to_owned())],
        ..Alteration::default()
    };
    let renamed = after(&renaming("charges", "Total Sum"));
    assert_eq!(renamed[0].sum, ["Total Sum", "\"Total Sum\" * \"age\""]);
    assert_eq!(renamed[1..], before.cubes[1..]);
    assert_eq!(after(&renaming("los", "days"))[0].by[0].column, "days");
    let dropping = |name: &str| Alteration { drop: vec![name.to_owned()], ..Alteration::default() };
    assert_eq!(after(&dropping("age")), before.cubes[2..]);
    assert_eq!(after(&dropping("smoker")), before.cubes[..2]);
    let widening = |high: &str| Alteration {
        widen: vec![("los".to_owned(), ["-9".to_owned(), high.to_owned()])],
        ..Alteration::default()
    };
    assert_eq!(after(&widening("100")), before.cubes);
    // As a dimension it would have more values than cubes have cells.
    assert_eq!(after(&widening("2000000")), before.cubes[1..]);
}

/// A table of `covered` parts with the cube and one part without it.
fn site(schema: &Schema, covered: usize, beside: usize) -> Site {
    let shape = CubeShape::of(schema, &schema.cubes[0]).unwrap();
    let part = PartShape { rows: 4000, ..PartShape::default() };
    let covers = (0..covered + beside).map(|place| place < covered).collect();
    let spread =
        CubeSpread { place: 0, cells: shape.cells(), bits: shape.bits(), lanes: shape.quantities(), covers };
    let parts = vec![part; covered + beside];
    let shape = TableShape { parts, cubes: [(7, spread)].into(), ..TableShape::default() };
    Site { shape, ..Site::local(0) }
}

fn by_cube(schema: &Schema, site: &Site, text: &str) -> Result<QueryPlan, PlanError> {
    let query = sql::parse(schema, text).unwrap();
    let needs: Vec<String> = schema.columns.iter().map(|column| column.name.clone()).collect();
    let all = needs.iter().filter(|name| !["ward", "disc", "rate"].contains(&name.as_str()));
    let all: Vec<String> = all.map(|name| format!("SELECT {name} FROM stays")).collect();
    let encodings = encodings_for(schema, &all.iter().map(String::as_str).collect::<Vec<_>>());
    let limits = Limits { way: Some(WayName::Cube), ..Limits::default() };
    plan_query(schema, &encodings, site, "00", &query, &limits)
}

#[test]
fn a_cube_answers_what_its_cells_decide() {
    let schema = stays();
    let site = site(&schema, 1, 0);
    for (text, is_answered) in [
        ("SELECT COUNT(*) FROM stays WHERE ward = 'A'", true),
        (
            "SELECT ward, SUM(charges), AVG(charges), VARIANCE(charges), COUNT(charges) FROM stays GROUP BY ward",
            true,
        ),
        (
            "SELECT SUM(charges * disc), SUM(charges * (1 - disc) * visits) FROM stays WHERE disc BETWEEN 0.05 AND 0.07",
            true,
        ),
        ("SELECT SUM(visits) FROM stays", false),
        ("SELECT SUM(charges) FROM stays WHERE los > 3", false),
        ("SELECT MAX(charges) FROM stays", false),
        ("SELECT charges FROM stays", false),
        (
            "SELECT SUM(charges) FROM stays WHERE admitted >= DATE '2023-04-01' AND admitted < DATE '2024-01-01'",
            true,
        ),
        ("SELECT SUM(charges) FROM stays WHERE admitted >= DATE '2023-04-02'", false),
        ("SELECT SUM(charges) FROM stays WHERE admitted BETWEEN '2023-04-01' AND '2023-06-30'", true),
        ("SELECT SUM(charges) FROM stays WHERE admitted <= '2023-06-30' OR admitted > '2030-01-17'", true),
        ("SELECT SUM(charges) FROM stays WHERE admitted = '2023-06-01'", false),
        ("SELECT SUM(charges) FROM stays WHERE DATE '2023-06-30' < admitted", true),
        ("SELECT SUM(charges) FROM stays WHERE DATE '2023-06-30' <= admitted", false),
        ("SELECT date_trunc('month', admitted) AS m, COUNT(*) FROM stays GROUP BY m ORDER BY m", true),
        ("SELECT EXTRACT(quarter FROM admitted) AS q, COUNT(*) FROM stays GROUP BY q", true),
        ("SELECT EXTRACT(day FROM admitted) AS d, COUNT(*) FROM stays GROUP BY d", false),
        ("SELECT date_part('year', admitted) AS y, COUNT(*) FROM stays GROUP BY y", true),
        ("SELECT date_trunc('week', admitted) AS y, COUNT(*) FROM stays GROUP BY y", false),
        ("SELECT admitted, COUNT(*) FROM stays GROUP BY admitted", false),
        ("SELECT MIN(admitted) FROM stays", false),
        ("SELECT COUNT(admitted) FROM stays", false),
        ("SELECT COUNT(*) FROM stays WHERE age >= 18 AND age < 65", true),
        ("SELECT COUNT(*) FROM stays WHERE age > 17 OR age IS NULL", true),
        ("SELECT COUNT(*) FROM stays WHERE age > 18", false),
        ("SELECT COUNT(*) FILTER (WHERE age <= 64) FROM stays", true),
        ("SELECT AVG(age) FROM stays", false),
        (
            "SELECT COUNT(DISTINCT ward), MODE(ward), MEDIAN(disc), SUM(disc), AVG(disc), MAX(disc) FROM stays",
            true,
        ),
        ("SELECT QUANTILE_DISC(disc, 0.9) FROM stays WHERE ward <> 'A'", true),
        ("SELECT LOGREG(ward = 'A', disc) FROM stays", true),
        ("SELECT LOGREG(ward = 'A', age) FROM stays", false),
        ("SELECT AVG(sqrt(disc)) FROM stays", false),
        ("SELECT DISTINCT ward, disc FROM stays", true),
        (
            "SELECT ward, COUNT(*) AS n FROM stays GROUP BY ward HAVING SUM(charges) > 5 ORDER BY n DESC LIMIT 2",
            true,
        ),
        ("SELECT CORR(disc, charges) FROM stays", true),
        ("SELECT SUM(CASE WHEN ward = 'A' THEN charges END) FROM stays", true),
        ("SELECT upper(ward), COUNT(*) FROM stays WHERE ward LIKE 'A%' GROUP BY 1", true),
    ] {
        let planned = by_cube(&schema, &site, text);
        assert_eq!(planned.is_ok(), is_answered, "{text}: {:?}", planned.err());
    }
}

/// A constant between two bounds that lie next to one another has a cell of its own.
#[test]
fn equality_is_decided_by_a_cell_of_one_value() {
    let schema = stays();
    let by = vec![dimension("age", Grain::Bins(vec![18, 19, 65, 120]))];
    let cube = Cube { by, sum: vec!["charges".to_owned()], max_cell_rows: None };
    let shape = CubeShape::of(&schema, &cube).unwrap();
    for (condition, is_answered) in [
        ("age = 18", true),
        ("18 <> age", true),
        ("age IN (18, 120)", true),
        ("age NOT IN (18)", true),
        ("age = 120", true),
        ("age = 121", true),
        ("age = 19", false),
        ("age = 0", false),
        ("age = 65", false),
        ("age IN (18, 65)", false),
        ("age = 18.5", false),
        ("age = los", false),
    ] {
        let query =
            sql::parse(&schema, &format!("SELECT SUM(charges) FROM stays WHERE {condition}")).unwrap();
        let found = compile(&schema, (&cube, &shape), &query, 1000);
        assert_eq!(found.is_some(), is_answered, "{condition}");
    }
}

/// What the server gets is the same whatever the question.
#[test]
fn the_plan_tells_nothing_of_the_question() {
    let schema = stays();
    let site = site(&schema, 3, 0);
    let sent = |text: &str| serde_json::to_string(&by_cube(&schema, &site, text).unwrap().server).unwrap();
    let first = sent("SELECT COUNT(*) FROM stays WHERE ward = 'A'");
    assert_eq!(sent("SELECT disc, SUM(charges) FROM stays WHERE age >= 65 GROUP BY disc"), first);
    assert!(first.contains("\"cube\":7") && !first.contains("ward"), "{first}");
}

/// Rows of parts without the cube come back, whatever the condition.
#[test]
fn parts_without_the_cube_give_their_rows() {
    let schema = stays();
    let site = site(&schema, 2, 1);
    let plan =
        by_cube(&schema, &site, "SELECT SUM(charges) FROM stays WHERE disc = 0.05 AND age < 18").unwrap();
    let Task::Rows(task) = &plan.server.task else { panic!("{plan:?}") };
    assert_eq!((task.cube, task.clear.len(), task.fetch.len()), (Some(7), 1, 4), "{task:?}");
    assert!(plan.server.predicate.is_none());
    let told = plan.leakage.query.join("\n");
    assert!(
        told.contains("that cube 7 was asked for") && told.contains("of parts without the cube"),
        "{told}"
    );
}
