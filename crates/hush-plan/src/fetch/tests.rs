// SPDX-License-Identifier: Apache-2.0

use std::collections::BTreeMap;

use super::*;
use crate::error::PlanError;
use crate::limits::Limits;
use crate::physical::plan_query;
use crate::plan::{QueryPlan, RowsTask, Task};
use crate::predict::{CopyShape, SealedShape, Site};
use crate::schema::Purpose;
use crate::sql::{parse, shown};
use crate::tables::{encodings_for, patients};

fn plan(text: &str) -> Result<QueryPlan, PlanError> {
    let schema = patients();
    let encodings =
        encodings_for(&schema, &["SELECT age, bp, visits, charges, born, seen, smoker FROM patients"]);
    let query = parse(&schema, text)?;
    plan_query(&schema, &encodings, &Site::local(9000), "00ff", &query, &Limits::default())
}

fn task(plan: &QueryPlan) -> &RowsTask {
    let Task::Rows(task) = &plan.server.task else { panic!("{:?}", plan.server.task) };
    task
}

#[test]
fn the_server_has_the_conditions_that_clear_columns_decide() {
    let filter = |condition: &str| {
        let schema = patients();
        let query = parse(&schema, &format!("SELECT COUNT(*) FROM patients WHERE {condition}")).unwrap();
        compile(&schema, &query, 1, &Column::has_copy).unwrap().unwrap().filter.as_ref().map(shown)
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(filter("age > 65"), None);
    assert_eq!(filter("age > 65 AND ward = 'a'"), some("ward = 'a'"));
    assert_eq!(
        filter("(ward = 'a' OR year = 3) AND (age > 65 AND (note LIKE '%x%' AND year < 2000))"),
        some("(ward = 'a' OR year = 3) AND year < 2000")
    );
    assert_eq!(filter("NOT year = 3 AND age IS NULL"), some("NOT year = 3"));
    // What is not a condition of its own stays with the owner.
    assert_eq!(filter("ward = 'a' OR age > 65"), None);
    assert_eq!(filter("NOT (ward = 'a' AND age > 65)"), None);
    assert_eq!(filter("CASE WHEN age > 65 THEN ward = 'a' ELSE ward = 'b' END"), None);
}

#[test]
fn what_comes_back_is_what_the_query_reads() {
    let plan =
        plan("SELECT ward, SUM(visits) FROM patients WHERE age > 65 AND year = 2001 GROUP BY ward").unwrap();
    assert_eq!(task(&plan).clear, ["\"ward\"", "\"year\""]);
    // Values and validity of age, values of visits.
    assert_eq!(task(&plan).fetch.len(), 3);
    let own = plan.owner.own.as_ref().unwrap();
    let places: Vec<_> = own.encrypted.iter().map(|c| (c.name.as_str(), c.value, c.valid)).collect();
    assert_eq!(places, [("age", 0, Some(1)), ("visits", 2, None)]);
    assert_eq!(own.query.filter_text().unwrap(), "age > 65 AND year = 2001");
    // Nothing of the rest of the question is in what is sent or told.
    let sent = serde_json::to_string(&plan.server).unwrap();
    assert!(!sent.contains("65") && !sent.contains("age") && sent.contains("2001"), "{sent}");
    assert!(!plan.leakage.query.iter().any(|line| line.contains("65")), "{:?}", plan.leakage.query);
}

#[test]
fn sealed_columns_come_back_by_their_numbers() {
    let plan = plan("SELECT note, age FROM patients WHERE note LIKE 'a%'").unwrap();
    assert_eq!(task(&plan).sealed, [0]);
    assert_eq!(plan.owner.own.as_ref().unwrap().sealed, ["note"]);
    let schema = patients();
    let query = parse(&schema, "SELECT note FROM patients").unwrap();
    let mut site = Site::local(10);
    site.shape.sealed =
        Some([("note".to_owned(), SealedShape { number: 7, ..SealedShape::default() })].into());
    let plan = plan_query(&schema, &[], &site, "00ff", &query, &Limits::default()).unwrap();
    assert_eq!((task(&plan).sealed.as_slice(), task(&plan).fetch.len()), (&[7][..], 0));
}

#[test]
fn copies_come_back_where_all_parts_have_them() {
    let mut schema = patients();
    let age = schema.columns.iter_mut().find(|column| column.name == "age").unwrap();
    age.purposes = vec![Purpose::Sum, Purpose::Fetch];
    let encodings = encodings_for(&schema, &["SELECT SUM(age), SUM(visits) FROM patients"]);
    let query = parse(&schema, "SELECT MAX(age), MAX(visits) FROM patients").unwrap();
    let copy = Some(CopyShape { bits: 7, nullable: true });
    let copy = SealedShape { number: 4, copy, mean: None };
    let fetched = |sealed: BTreeMap<String, SealedShape>| {
        let mut site = Site::local(9000);
        site.shape.sealed = Some(sealed);
        let plan = plan_query(&schema, &encodings, &site, "00ff", &query, &Limits::default()).unwrap();
        let own = plan.owner.own.as_ref().unwrap();
        (task(&plan).sealed.clone(), own.sealed.clone(), own.encrypted.len())
    };
    let note = ("note".to_owned(), SealedShape::default());
    let both = [note.clone(), ("age".to_owned(), copy)].into();
    assert_eq!(fetched(both), (vec![4], vec!["age".to_owned()], 1));
    assert_eq!(fetched([note].into()), (vec![], vec![], 2));
    assert_eq!(fetched(BTreeMap::new()), (vec![], vec![], 2));
}

#[test]
fn a_limit_goes_along_where_the_server_knows_which_rows_match() {
    let limit = |text: &str| task(&plan(text).unwrap()).limit;
    assert_eq!(limit("SELECT note FROM patients LIMIT 3 OFFSET 2"), Some(5));
    assert_eq!(limit("SELECT note FROM patients WHERE ward = 'a' LIMIT 3"), Some(3));
    assert_eq!(limit("SELECT note FROM patients WHERE age = 1 LIMIT 3"), None);
    assert_eq!(limit("SELECT note FROM patients ORDER BY year LIMIT 3"), None);
    assert_eq!(limit("SELECT note, ROW_NUMBER() OVER (ORDER BY year) FROM patients LIMIT 3"), None);
    assert_eq!(limit("SELECT COUNT(note) FROM patients LIMIT 3"), None);
}

#[test]
fn other_ways_come_first() {
    assert!(plan("SELECT SUM(age) FROM patients").unwrap().owner.own.is_none());
    assert!(plan("SELECT age FROM patients LIMIT 3").unwrap().owner.own.is_none());
    assert!(plan("SELECT MAX(age) FROM patients").unwrap().owner.own.is_some());
}

#[test]
fn what_nobody_can_answer_exactly_is_refused() {
    let code = |text: &str| plan(text).unwrap_err().code();
    // Approximate columns come back near their values.
    for text in [
        "SELECT COUNT(*) FROM patients WHERE score > 1",
        "SELECT note FROM patients WHERE score > 1",
        "SELECT note, score FROM patients",
        "SELECT SUM(score) FROM patients WHERE age > 1",
        "SELECT MAX(score) FROM patients",
        "SELECT DISTINCT score FROM patients",
    ] {
        assert_eq!(code(text), "HUSH-P029", "{text}");
    }
    // The table could have what these lack.
    assert_eq!(code("SELECT SUM(score) FROM patients"), "HUSH-P020");
    assert_eq!(code("SELECT id FROM patients"), "HUSH-P010");
    assert_eq!(code("SELECT note, id FROM patients WHERE age > 1"), "HUSH-P010");
    assert_eq!(code("SELECT note + 1 FROM patients"), plan_clear_code("SELECT note + 1 FROM patients"));
}

/// The code with which a query is refused where nothing is encrypted.
fn plan_clear_code(text: &str) -> &'static str {
    let schema = patients().all_clear();
    let planned = parse(&schema, text)
        .and_then(|query| plan_query(&schema, &[], &Site::local(10), "00ff", &query, &Limits::default()));
    planned.unwrap_err().code()
}
