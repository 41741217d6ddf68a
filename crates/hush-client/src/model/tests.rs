// SPDX-License-Identifier: Apache-2.0

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array};

use super::*;
use crate::schema_file::parse_schema;

fn batch(columns: Vec<ArrayRef>) -> RecordBatch {
    let names = (0..columns.len()).map(|place| format!("c{place}"));
    RecordBatch::try_from_iter(names.zip(columns)).unwrap()
}

fn doubles(values: &[Option<f64>]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

fn request(kind: ModelKind) -> ModelRequest {
    ModelRequest {
        kind,
        outcome: "stays > 2".into(),
        features: vec!["age".into(), "ward = 'A'".into()],
        condition: Some("year = 2023".into()),
    }
}

const SCHEMA: &str = r#"format = 1
table = "t"
status = "approved"
max_rows = 1000
[columns.stays]
type = "int(16)"
range = [0, 99]
protect = "encrypt"
[columns.age]
type = "int(16)"
range = [0, 120]
protect = "encrypt"
[columns.ward]
type = "category"
protect = "clear"
[columns.year]
type = "int(16)"
range = [2000, 2100]
protect = "clear"
"#;

const TREE: ModelKind = ModelKind::Tree(TreeSize { depth: 2, leaf_rows: 1 });

#[test]
fn requests_are_questions_of_the_table() {
    let schema = hush_plan::schema::Schema { table: "t\"1".into(), ..parse_schema(SCHEMA).unwrap() };
    let case = |condition: &str| format!("CASE WHEN {condition} THEN 1 WHEN NOT ({condition}) THEN 0 END");
    let expected = format!(
        r#"SELECT LINREG({}, age, {}) AS m FROM "t""1" WHERE year = 2023"#,
        case("stays > 2"),
        case("ward = 'A'")
    );
    assert_eq!(request(ModelKind::Linear).sql(&schema), expected);
    let whole = ModelRequest { condition: None, ..request(ModelKind::Logistic) };
    assert_eq!(whole.sql(&schema), r#"SELECT LOGREG(stays > 2, age, ward = 'A') AS m FROM "t""1""#);
    assert_eq!(
        ModelRequest { condition: None, ..request(TREE) }.sql(&schema),
        "SELECT CAST(stays > 2 AS DOUBLE) AS m_0, CAST(age AS DOUBLE) AS m_1, CAST(ward = 'A' AS DOUBLE) AS m_2 \
         FROM \"t\"\"1\""
    );
    let faulty = [
        ModelRequest { features: Vec::new(), ..request(TREE) },
        ModelRequest { features: vec!["age, stays".into()], ..request(TREE) },
        ModelRequest { features: vec!["age) FROM t; --".into()], ..request(TREE) },
        ModelRequest { features: vec!["age) OR (stays".into()], ..request(TREE) },
        ModelRequest { outcome: String::new(), ..request(TREE) },
        ModelRequest { condition: Some("age > 3 GROUP BY age".into()), ..request(TREE) },
        request(ModelKind::Tree(TreeSize { depth: MAX_DEPTH + 1, leaf_rows: 1 })),
        request(ModelKind::Tree(TreeSize { depth: 1, leaf_rows: 0 })),
    ];
    for request in faulty {
        assert!(matches!(request.check(), Err(ModelError::Request { .. })), "{request:?}");
    }
    assert!(request(TREE).check().is_ok());
}

#[test]
fn outputs_of_a_regression_are_its_model() {
    let row = |values: [Option<f64>; 4], rows: Option<i64>| {
        let columns = values.iter().map(|value| doubles(&[*value]));
        batch(columns.chain([Arc::new(Int64Array::from(vec![rows])) as ArrayRef]).collect())
    };
    let found = row([Some(1.5), Some(-0.25), Some(3.0), Some(0.5)], Some(12));
    let model = request(ModelKind::Logistic).model(std::slice::from_ref(&found)).unwrap();
    let fit = Coefficients { intercept: 1.5, coefficients: vec![-0.25, 3.0], r2: 0.5 };
    assert_eq!((model.rows, &model.fit), (12, &Fit::Logistic(fit)));
    assert_eq!(
        model.sql(),
        "1e0 / (1e0 + exp(-(1.5e0 + -2.5e-1 * CAST(age AS DOUBLE) + 3e0 * CAST(ward = 'A' AS DOUBLE))))"
    );
    let none = row([None, None, None, None], Some(12));
    assert!(matches!(request(ModelKind::Linear).model(&[none]), Err(ModelError::NoFit)));
    let empty = row([None, None, None, None], Some(0));
    assert!(matches!(request(ModelKind::Linear).model(&[empty]), Err(ModelError::NoRows { .. })));
    let again = Model::from_json(&model.to_json().unwrap(), "m.json").unwrap();
    assert_eq!(again, model);
    // Digits of which a hasty reader takes the double beside it.
    for digits in [-1.145_831_140_226_466_5, 6.303_369_747_383_7e-300, 1.0 / 3.0] {
        let fit = Coefficients { intercept: digits, coefficients: vec![digits, 1.0], r2: digits };
        let model = Model { fit: Fit::Linear(fit), ..model.clone() };
        assert_eq!(Model::from_json(&model.to_json().unwrap(), "m.json").unwrap(), model);
    }
}

#[test]
fn rows_become_a_tree_and_a_tree_an_expression() {
    let first = batch(vec![
        doubles(&[Some(0.0), Some(1.0), None, Some(1.0)]),
        doubles(&[Some(30.0), Some(70.5), Some(1.0), Some(80.0)]),
        doubles(&[Some(0.0), Some(1.0), Some(1.0), Some(0.0)]),
    ]);
    let second = batch(vec![doubles(&[Some(0.0)]), doubles(&[Some(40.0)]), doubles(&[Some(1.0)])]);
    let model = request(TREE).model(&[first, second]).unwrap();
    let nodes = vec![
        Node::Split { feature: 0, at: 60.0, below: 1, above: 2 },
        Node::Leaf { value: 0.0, rows: 2 },
        Node::Leaf { value: 1.0, rows: 2 },
    ];
    assert_eq!((model.rows, &model.fit), (4, &Fit::Tree(Tree { nodes })));
    assert_eq!(
        model.sql(),
        "CASE WHEN (age) IS NULL OR (ward = 'A') IS NULL THEN NULL \
         ELSE CASE WHEN CAST(age AS DOUBLE) <= 6e1 THEN 0e0 ELSE 1e0 END END"
    );
    assert!(matches!(model.expression(), Err(ModelError::NotAName { feature }) if feature == "ward = 'A'"));
    // A tree is asked row by row, of the features behind the columns that are kept, whose names are names.
    let request_of_rows =
        ScoreRequest { keep: vec!["id".into(), "a, b".into()], condition: Some("age > 3".into()) };
    assert_eq!(
        model.query("t", &request_of_rows),
        r#"SELECT "id", "a, b", CAST(age AS DOUBLE) AS m_0, CAST(ward = 'A' AS DOUBLE) AS m_1 FROM "t" WHERE age > 3"#
    );
    let Fit::Tree(tree) = &model.fit else { panic!("another model") };
    let rows = batch(vec![
        doubles(&[Some(7.0), Some(8.0), Some(9.0), Some(10.0)]),
        doubles(&[Some(60.0), Some(60.5), None, Some(1.0)]),
        doubles(&[Some(1.0), Some(0.0), Some(0.0), None]),
    ]);
    let scored = tree.scored(&rows, 1).unwrap();
    assert_eq!(scored.column(0), rows.column(0));
    let scores = scored.column_by_name("score").unwrap();
    assert_eq!((scores, scored.num_columns()), (&doubles(&[Some(0.0), Some(1.0), None, None]), 2));
    let named = Model { features: vec!["age".into(), "in_a".into()], ..model.clone() };
    assert_eq!(named.expression().unwrap(), "if(age <= 60, 0, 1)");
    let infinite = batch(vec![doubles(&[Some(1.0)]), doubles(&[Some(f64::INFINITY)]), doubles(&[Some(1.0)])]);
    assert!(
        matches!(request(TREE).model(&[infinite]), Err(ModelError::NotFinite { column }) if column == "age")
    );
    let missing = batch(vec![doubles(&[None]), doubles(&[Some(1.0)]), doubles(&[Some(1.0)])]);
    assert!(matches!(request(TREE).model(&[missing]), Err(ModelError::NoRows { .. })));
    let json = model.to_json().unwrap();
    assert_eq!(Model::from_json(&json, "m.json").unwrap(), model);
}

#[test]
fn numbers_of_vectors_have_six_digits() {
    let fit = |intercept, coefficients: Vec<f64>| Model {
        hushtable_model: FORMAT,
        outcome: "y".into(),
        features: coefficients.iter().zip(["x", "z"]).map(|(_, name)| name.to_owned()).collect(),
        rows: 3,
        fit: Fit::Linear(Coefficients { intercept, coefficients, r2: 1.0 }),
    };
    let expected = "1234570 + (0.00000123457)*x + (-0.333333)*z";
    let text = fit(1_234_567.8, vec![1.234_567_8e-6, -1.0 / 3.0]).expression().unwrap();
    assert_eq!(text.replace("1234568", "1234570"), expected);
    assert_eq!(fit(0.0, vec![20.0]).expression().unwrap(), "0 + (20)*x");
}

#[test]
fn files_that_are_no_models_are_refused() {
    let good = Model {
        hushtable_model: FORMAT,
        outcome: "y".into(),
        features: vec!["x".into()],
        rows: 3,
        fit: Fit::Linear(Coefficients { intercept: 1.0, coefficients: vec![2.0], r2: 1.0 }),
    };
    let json = good.to_json().unwrap();
    let faulty = [
        String::new(),
        "{}".to_owned(),
        json.replace("\"hushtable_model\": 1", "\"hushtable_model\": 2"),
        json.replace("\"rows\": 3", "\"rows\": -3"),
        json.replace("\"rows\": 3", "\"rows\": 3, \"more\": 1"),
        json.replace("linear", "cubic"),
        json.replace("2.0", "2.0, 3.0"),
        json.replace("\"x\"", ""),
        json.replace("\"x\"", "\"x) FROM t; --\""),
        json.replace("2.0", "1e999"),
    ];
    for text in faulty {
        assert_ne!(text, json);
        let refused = Model::from_json(&text, "m.json").unwrap_err();
        assert_eq!(refused.code(), "HUSH-M004", "{text}");
        assert!(refused.to_string().starts_with("m.json is no model: "), "{refused}");
    }
    assert!(Model::from_json(&json, "m.json").is_ok());
}
