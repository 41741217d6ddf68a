// SPDX-License-Identifier: Apache-2.0
//! Columns of more values than a question tells apart.

use super::*;

/// Of a column of many values a question tells few cells apart: years, or runs between its constants; its conditions on the column leave cells out.
#[test]
fn cells_are_as_coarse_as_a_question() {
    let schema = lineitem(1_000_000);
    let shape = FilterShape::of(&schema).unwrap();
    let asked = |text: &str| {
        let query = sql::parse(&schema, text).unwrap();
        compile(&schema, &shape, (&query, None, false), 1_000_000).map(|asked| {
            let degrees = asked.cells.iter().map(|sum| sum.term.degree()).max();
            (asked.shape.cells(), asked.cells.len(), asked.condition.degree(), degrees.unwrap_or(0))
        })
    };
    let by_year = "SELECT EXTRACT(YEAR FROM shipdate), COUNT(*) FROM lineitem WHERE discount > 0.02";
    // Seven years of even digits. The last is what the others leave.
    assert_eq!(asked(&format!("{by_year} GROUP BY EXTRACT(YEAR FROM shipdate)")), Ok((7, 7, 1, 2)));
    let some = "EXTRACT(YEAR FROM shipdate) IN (1994, 1996)";
    assert_eq!(
        asked(&format!("{by_year} AND {some} GROUP BY EXTRACT(YEAR FROM shipdate)")),
        Ok((7, 2, 1, 2))
    );
    let late = "SUM(CASE WHEN shipdate >= DATE '1995-01-01' THEN price * discount ELSE 0 END)";
    assert_eq!(asked(&format!("SELECT {late} FROM lineitem WHERE quantity < 24")), Ok((2, 2, 1, 2)));
    let within = "shipdate >= DATE '1994-01-01' AND shipdate < DATE '1994-01-01' + INTERVAL '2' YEAR";
    // Four runs, of which two can have rows.
    assert_eq!(asked(&format!("SELECT {late}, COUNT(*) FROM lineitem WHERE {within}")), Ok((4, 2, 0, 2)));
    // What does not fall together with the years is a condition of its own.
    let odd =
        asked(&format!("{by_year} AND shipdate < DATE '1995-03-04' GROUP BY EXTRACT(YEAR FROM shipdate)"));
    assert_eq!(odd, Ok((7, 7, 3, 2)));
    assert!(
        asked("SELECT shipdate, COUNT(*) FROM lineitem WHERE discount > 0.02 GROUP BY shipdate").is_err()
    );
    assert!(asked("SELECT MAX(shipdate) FROM lineitem WHERE discount > 0.02").is_err());
}

/// A plan says in how many rounds, and is that of a last round; where one question has to do, there is none, nor where its products do not fit.
#[test]
fn places_of_the_order_take_rounds() {
    let mut schema = lineitem(1_000_000);
    let text = "SELECT flag, MEDIAN(shipdate), COUNT(*) FROM lineitem WHERE discount > 0.02 GROUP BY flag";
    let plan = planned(&schema, 1_000_000, text).unwrap();
    let search = plan.owner.search.as_ref().unwrap();
    assert_eq!((search.column.as_str(), search.rounds, &search.round), ("shipdate", 4, &None));
    let query = sql::parse(&schema, text).unwrap();
    let mut needs = Needs::default();
    needs.add_filters(&schema);
    let encodings = encodings(&schema, &needs, schema.max_rows);
    let site = Site::local(1_000_000);
    for round in [search.first(&schema).unwrap(), search.sample(&schema).unwrap()] {
        let asked = ("", &query, Some(&round));
        let plan = crate::plan_round(&schema, &encodings, &site, asked, &Limits::default()).unwrap();
        let of_round = plan.owner.search.and_then(|search| search.round);
        assert_eq!((of_round, plan.way), (Some(round), WayName::Filter));
    }
    let limits = Limits { way: Some(WayName::Filter), at_once: true, ..Limits::default() };
    let refused = plan_query(&schema, &encodings, &site, "", &query, &limits).unwrap_err();
    assert_eq!(refused.code(), "HUSH-P030");
    let more = text.replace("COUNT(*)", "SUM(price)");
    assert!(planned(&schema, 1_000_000, &more).unwrap().owner.matching.is_some(), "rows answer it");
    schema.filter_factors = Some(2);
    let searched = planned(&schema, 1_000_000, text).ok().and_then(|plan| plan.owner.search);
    assert_eq!(searched, None, "its products do not fit");
}

/// Runs of values, missing ones among them, in every mixture of cells that are asked for.
#[test]
fn sums_of_runs_are_those_of_every_value() {
    let mut schema = lineitem(1000);
    let size = ranged(column("size", ColumnType::Int { bits: 16 }, Protection::Encrypt), -20, 300);
    schema.columns.push(with_purposes(nullable(size), &[Purpose::Filter]));
    let shape = FilterShape::of(&schema).unwrap();
    let bins = Dimension { column: "size".into(), grain: Grain::Bins(vec![-19, 0, 7, 150, 300]) };
    let cube = cells_of(&schema, &shape, &[bins]).unwrap();
    let axis = &cube.axes[0];
    let code = shape.codes.iter().find(|code| code.column == "size").unwrap();
    assert_eq!(cube.cells(), 7);
    for asked in [vec![0, 1, 2, 3, 4, 5, 6], vec![1, 2, 4], vec![3], vec![0, 5, 6]] {
        for completes in [false, true] {
            let found = sums_of_cells((&shape, &cube), &asked, completes).unwrap();
            for units in (-20..=300).map(Some).chain([None]) {
                let cell = units.map_or(6, |units| axis.cell_of_units(units).unwrap());
                let is_set = |quantity: &Quantity| match quantity {
                    Quantity::Flag(Flag { of: FlagOf::Digit(flag), .. }) => {
                        units.is_some_and(|units| flag.is_set(units))
                    }
                    Quantity::Valid(_) => units.is_some(),
                    _ => false,
                };
                let mut totals = [0_i64; 7];
                for SumOfCells { term, cells } in &found {
                    assert!(term.degree() <= code.degree());
                    let met = term.evaluate(&|quantity| i64::from(is_set(quantity)));
                    cells.iter().for_each(|share| totals[share.cell] += met * i64::from(share.weight));
                }
                let expected =
                    [0, 1, 2, 3, 4, 5, 6].map(|place| i64::from(place == cell && asked.contains(&place)));
                assert_eq!(totals, expected, "{units:?} {asked:?}");
            }
        }
    }
}
