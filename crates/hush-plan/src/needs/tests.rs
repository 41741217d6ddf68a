// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::tables::{column, encodings, nullable, patients, refusal, schema, with_purposes};

fn int(bits: u8) -> Column {
    column("x", ColumnType::Int { bits }, Protection::Encrypt)
}

fn value() -> Quantity {
    Quantity::Value("x".into())
}

#[test]
fn purposes_decide_the_quantities() {
    let purposes = |purposes: &[Purpose]| -> Vec<Quantity> {
        let schema = schema("t", vec![with_purposes(nullable(int(8)), purposes)]);
        let found = encodings(&schema, &Needs::of_purposes(&schema).unwrap(), 100);
        found.into_iter().map(|encoding| encoding.quantity).collect()
    };
    let (valid, square) = (Quantity::Valid("x".into()), Quantity::Square("x".into()));
    assert_eq!(purposes(&[]), [valid.clone(), value()]);
    assert_eq!(purposes(&[Purpose::Count]), [valid.clone(), value()]);
    assert_eq!(purposes(&[Purpose::Stddev]), [square.clone(), valid.clone(), value()]);
    let power = |exponent| Quantity::Monomial(vec!["x".into(); exponent]);
    assert_eq!(purposes(&[Purpose::Skewness]), [power(3), square.clone(), valid.clone(), value()]);
    let to_the_fourth = [power(3), power(4), square, valid.clone(), value()];
    assert_eq!(purposes(&[Purpose::Kurtosis]), to_the_fourth);
    assert_eq!(purposes(&[Purpose::Kurtosis, Purpose::Skewness, Purpose::Variance]), to_the_fourth);
    assert_eq!(purposes(&[Purpose::Product]), [valid, value()]);
}

/// A purpose serves all of its aggregates, and a refusal names the purpose that is missing.
#[test]
fn a_purpose_serves_its_aggregates() {
    let limits = crate::Limits::default();
    let plan = |purposes: &[Purpose], call: &str| {
        let schema = schema("t", vec![with_purposes(nullable(int(16)), purposes)]);
        let found = encodings(&schema, &Needs::of_purposes(&schema).unwrap(), 1000);
        let query = sql::parse(&schema, &format!("SELECT {call}(x) FROM t")).unwrap();
        crate::plan_query(&schema, &found, &crate::predict::Site::local(1000), "00ff", &query, &limits)
    };
    for purpose in Purpose::ALL {
        for entry in aggregates::of_purpose(purpose) {
            plan(&[purpose], entry.engine_name()).unwrap();
        }
    }
    let refused = |purposes: &[Purpose], call: &str| {
        let schema = schema("t", vec![with_purposes(nullable(int(16)), purposes)]);
        let found = encodings(&schema, &Needs::of_purposes(&schema).unwrap(), 1000);
        refusal(&schema, &found, 1000, &format!("SELECT {call}(x) FROM t")).report()
    };
    let report = refused(&[Purpose::Stddev], "SKEWNESS");
    let expected = "HUSH-P020 SKEWNESS(x) needs the product as a further `sum` column (purpose `skewness`, or \
                    `products = [[\"x\", \"x\", \"x\"]]` in the schema) of x";
    assert!(report.starts_with(expected), "{report}");
    let report = refused(&[Purpose::Skewness], "KURTOSIS");
    assert!(report.contains("(purpose `kurtosis`, or"), "{report}");
}

#[test]
fn declared_moments_serve_every_aggregate_among_their_columns() {
    let mut schema = patients();
    schema.moments.push(["charges", "age", "visits", "disc", "note"].map(str::to_owned).to_vec());
    let found = encodings(&schema, &Needs::of_purposes(&schema).unwrap(), 6000);
    let plan = |text: &str| {
        let query = sql::parse(&schema, text).unwrap();
        crate::plan_query(
            &schema,
            &found,
            &crate::predict::Site::local(6000),
            "00ff",
            &query,
            &crate::Limits::default(),
        )
    };
    plan("SELECT LINREG(charges, age, visits, disc) FROM patients GROUP BY ward").unwrap();
    let refused = |text: &str| refusal(&schema, &found, 6000, text).report();
    refused("SELECT CORR(charges, visits) FROM patients");
    let error = refused("SELECT CORR(age, bp) FROM patients");
    let expected = "HUSH-P020 CORR(age, bp) needs the moments (`moments = [[\"age\", \"bp\"]]` in the schema) of age, bp";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn declared_products_get_their_product_and_joint_validity() {
    let mut schema = schema("t", vec![nullable(int(8)), nullable(Column { name: "a".into(), ..int(8) })]);
    schema.products.push(vec!["x".into(), "a".into()]);
    let found = encodings(&schema, &Needs::of_purposes(&schema).unwrap(), 100);
    let quantities: Vec<_> = found.iter().map(|encoding| encoding.quantity.clone()).collect();
    assert!(quantities.contains(&Quantity::Product("a".into(), "x".into())));
    assert!(quantities.contains(&Quantity::BothValid("a".into(), "x".into())));
    schema.products = vec![vec!["x".into(), "a".into(), "x".into()]];
    let found = encodings(&schema, &Needs::of_purposes(&schema).unwrap(), 100);
    let cube =
        found.iter().find(|e| e.quantity == Quantity::Monomial(["a", "x", "x"].map(String::from).to_vec()));
    assert_eq!(cube.unwrap().max_abs, (1u64 << 21).to_string());
    assert!(found.iter().any(|e| e.quantity == Quantity::BothValid("a".into(), "x".into())));
    schema.products.push(vec!["x".into(), "missing".into()]);
    assert_eq!(Needs::of_purposes(&schema).unwrap_err().code(), "HUSH-P003");
}

#[test]
fn text_cannot_be_encrypted_for_computing() {
    let schema = schema("t", vec![column("x", ColumnType::Text, Protection::Encrypt)]);
    assert_eq!(Needs::of_purposes(&schema).unwrap_err().code(), "HUSH-P011");
    let dates = with_purposes(column("x", ColumnType::Date, Protection::Encrypt), &[Purpose::Avg]);
    let schema = crate::tables::schema("t", vec![dates]);
    assert_eq!(Needs::of_purposes(&schema).unwrap_err().code(), "HUSH-P011");
    // Sums that the owner cannot finish are not encrypted.
    let float = column("x", ColumnType::Float { digits: 3 }, Protection::Encrypt);
    for (purpose, code) in [(Purpose::Variance, None), (Purpose::Skewness, Some("HUSH-P011"))] {
        let schema = crate::tables::schema("t", vec![with_purposes(float.clone(), &[purpose])]);
        assert_eq!(Needs::of_purposes(&schema).err().map(|error| error.code()), code);
    }
}

#[test]
fn queries_decide_weights_and_leave_out_what_they_do_not_use() {
    let schema = patients();
    let needs = |text: &str| needs_of(&schema, &[sql::parse(&schema, text).unwrap()]).unwrap();
    let sums = needs("SELECT SUM(age * weight), SUM(3 * age) FROM patients").sums;
    assert_eq!(sums[&Quantity::Value("age".into())], BigInt::from(10));
    assert_eq!(sums[&Quantity::Valid("age".into())], BigInt::one());
    assert_eq!(sums.len(), 2);
    assert!(needs("SELECT ward, COUNT(*) FROM patients GROUP BY ward").sums.is_empty());
    let mut both = needs("SELECT SUM(age) FROM patients");
    both.merge(needs("SELECT age * visits FROM patients"));
    assert_eq!(both.programs.len(), 1);
}
