// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::schema::Purpose;
use crate::schema::alter::Alteration;
use crate::tables::{nullable, patients, with_purposes};

fn run(by: &str, within: &[&str], sum: &[&str], cover: &[&str]) -> Run {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Run { by: by.to_owned(), within: names(within), sum: names(sum), cover: names(cover), by_chunk: false }
}

fn names(shape: &RunShape) -> Vec<&str> {
    shape.columns.iter().map(|column| column.name.as_str()).collect()
}

#[test]
fn columns_stand_once_and_in_order() {
    let schema = patients();
    let declared =
        run("charges", &["ward", "born"], &["charges", "visits * (1 - disc)"], &["note", "ward", "note"]);
    let shape = RunShape::of(&schema, &declared).unwrap();
    assert_eq!(names(&shape)[..3], ["ward", "born", "charges"]);
    let mut others = names(&shape)[3..].to_vec();
    assert_eq!(others.pop(), Some("note"));
    others.sort_unstable();
    assert_eq!(others, ["disc", "visits"]);
    assert_eq!((shape.within, shape.by().map(|by| by.name.as_str())), (2, Some("charges")));
    assert_eq!(shape.lanes[0].quantity, None, "the first lane is the number of rows");
    assert!(shape.quantities().contains(&Quantity::Square("charges".to_owned())));
    // Sums are of a block of rows: 512 charges of up to 999,999,999 units.
    let charges = Quantity::Value("charges".to_owned());
    let lane = shape.lanes.iter().find(|lane| lane.quantity.as_ref() == Some(&charges)).unwrap();
    assert_eq!((lane.low, lane.bits), (0, 39));

    let alone = RunShape::of(&schema, &Run::by("age")).unwrap();
    assert_eq!((names(&alone), alone.lanes.len(), alone.within), (vec!["age"], 1, 0));
}

#[test]
fn values_are_ordered_by_what_their_type_stores() {
    let mut schema = patients();
    // Approximate columns need a copy, because rows that are written anew would be others.
    let refused = RunShape::of(&schema, &Run::by("score"));
    assert_eq!(refused, Err(RunFault::Approximate { column: "score".to_owned() }));
    schema.columns[9].purposes = vec![Purpose::Sum, Purpose::Fetch];
    schema.columns.push(nullable(with_purposes(schema.columns[9].clone(), &[Purpose::Order])));
    let form = |name: &str| RunShape::of(&schema, &Run::by(name)).unwrap().columns[0].form;
    assert_eq!(form("age"), RunForm::Units { low: 0, bits: 7 });
    assert_eq!(form("weight"), RunForm::Units { low: -10, bits: 5 });
    assert_eq!(form("smoker"), RunForm::Units { low: 0, bits: 1 });
    assert!(matches!(form("born"), RunForm::Units { .. }));
    for (name, expected) in [
        ("rate", RunForm::Doubles),
        ("score", RunForm::Doubles),
        ("ward", RunForm::Texts),
        ("note", RunForm::Texts),
    ] {
        assert_eq!(form(name), expected, "{name}");
    }
    // With a range encrypted floats are fixed point; those that nobody encrypts are what was read.
    let score = |protect| {
        let mut schema = patients();
        let column = &mut schema.columns[9];
        (column.range, column.protect) = (Some(crate::schema::UnitRange { low: 0, high: 9000 }), protect);
        RunShape::of(&schema, &Run::by("score")).unwrap().columns[0].form
    };
    assert_eq!(score(Protection::Encrypt), RunForm::Units { low: 0, bits: 14 });
    assert_eq!(score(Protection::Clear), RunForm::Doubles);
    assert_eq!(score(Protection::Seal), RunForm::Doubles);
}

#[test]
fn runs_that_cannot_be_are_refused() {
    let schema = patients();
    for (declared, expected) in [
        (run("nobody", &[], &[], &[]), "there is no column nobody"),
        (run("id", &[], &[], &[]), "id is not stored"),
        (run("age", &[], &[], &["id"]), "id is not stored"),
        (run("age", &["ward", "age"], &[], &[]), "age stands twice"),
        (run("age", &["ward", "ward"], &[], &[]), "ward stands twice"),
        (run("age", &[], &["charges / age"], &[]), "charges / age cannot be added up"),
        (run("age", &[], &["rate"], &[]), "rate cannot be added up exactly"),
        (run("age", &[], &["3"], &[]), "3 has no column"),
    ] {
        let error = RunShape::of(&schema, &declared).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let mut wide = patients();
    (wide.columns[3].kind, wide.columns[3].range) = (ColumnType::Decimal { precision: 38, scale: 2 }, None);
    let error = RunShape::of(&wide, &run("age", &[], &["charges"], &[])).unwrap_err();
    assert_eq!(error.to_string(), "sums of charges over a block have more than 126 bits");
    let mut many = patients();
    let copies = (0..MAX_RUN_COLUMNS).map(|place| {
        let column = &many.columns[2];
        Column { name: format!("age {place}"), ..column.clone() }
    });
    let copies: Vec<Column> = copies.collect();
    let covered: Vec<String> = copies.iter().map(|column| column.name.clone()).collect();
    many.columns.extend(copies);
    let error = RunShape::of(&many, &Run { cover: covered, ..Run::by("age") }).unwrap_err();
    assert_eq!(error, RunFault::TooMany { what: "columns", found: 65, limit: MAX_RUN_COLUMNS });
}

/// Purposes ask for runs behind those that are declared, where none of these serves.
#[test]
fn purposes_ask_for_runs() {
    let mut schema = patients();
    for name in ["born", "age", "visits", "ward"] {
        let column = schema.columns.iter_mut().find(|column| column.name == name).unwrap();
        column.purposes = vec![Purpose::Order];
    }
    schema.runs = vec![run("age", &["ward"], &[], &[]), run("visits", &[], &["charges"], &[])];
    let all = schema.all_runs();
    assert_eq!(all[..2], schema.runs);
    // A clear column is for nothing but itself.
    assert_eq!(all[2..], [Run::by("age"), Run::by("born")]);
    check(&schema).unwrap();

    let further = (0..30).map(|place| run("charges", &[], &[], &["age", "bp"][..place % 3]));
    schema.runs.extend(further);
    let error = check(&schema).unwrap_err();
    assert_eq!(error.code(), "HUSH-S015");
    assert!(
        error.to_string().starts_with("order 33: with those of columns for \"order\" there would be 34"),
        "{error}"
    );
}

/// Columns and lanes stand in the order that is written down, whatever order the planner names them in.
#[test]
fn written_orders_are_kept() {
    let schema = patients();
    let shape = RunShape::of(&schema, &run("bp", &[], &["visits - age"], &["note"])).unwrap();
    let mut numbered = shape.numbered(3);
    assert_eq!(shape.clone().in_order(&numbered).as_ref(), Some(&shape));
    numbered.lanes.reverse();
    numbered.columns[1..].reverse();
    let ordered = shape.clone().in_order(&numbered).unwrap();
    assert_eq!(ordered.numbered(3), numbered);
    assert!(!ordered.has_form_of(&shape) && ordered.has_form_of(&ordered));
    numbered.columns[1] = "charges".to_owned();
    assert_eq!(shape.clone().in_order(&numbered), None);
    numbered.columns.pop();
    assert_eq!(shape.in_order(&numbered), None);
    assert_eq!(
        NumberedRun::of(&schema, &Run::by("nobody"), 7),
        NumberedRun { number: 7, lanes: vec![], columns: vec![] }
    );
}

/// Runs follow the names of their columns, and go with them.
#[test]
fn runs_follow_their_columns() {
    let mut before = patients();
    before.runs = vec![
        run("charges", &["ward"], &["visits", "charges * age"], &["note", "bp"]),
        run("bp", &[], &["age"], &["note"]),
        run("note", &[], &[], &[]),
    ];
    let after = |alteration: &Alteration| {
        let mut next = crate::schema::alter::altered(&before, alteration).unwrap();
        altered(&before, alteration, &mut next);
        check(&next).unwrap();
        next.runs
    };
    let renaming = |from: &str, to: &str| Alteration {
        rename: vec![(from.to_owned(), to.to_owned())],
        ..Alteration::default()
    };
    let renamed = after(&renaming("charges", "Total Sum"));
    assert_eq!(
        renamed[0],
        run("Total Sum", &["ward"], &["visits", "\"Total Sum\" * \"age\""], &["note", "bp"])
    );
    assert_eq!(renamed[1..], before.runs[1..]);
    assert_eq!(after(&renaming("ward", "unit"))[0].within, ["unit"]);
    let dropping = |name: &str| Alteration { drop: vec![name.to_owned()], ..Alteration::default() };
    assert_eq!(after(&dropping("age")), before.runs[2..]);
    assert_eq!(after(&dropping("ward")), before.runs[1..]);
    let without = after(&dropping("note"));
    assert_eq!(
        without,
        [run("charges", &["ward"], &["visits", "charges * age"], &["bp"]), run("bp", &[], &["age"], &[])]
    );
    let widen = vec![("visits".to_owned(), ["0".to_owned(), "30000".to_owned()])];
    assert_eq!(after(&Alteration { widen, ..Alteration::default() }), before.runs);
}
