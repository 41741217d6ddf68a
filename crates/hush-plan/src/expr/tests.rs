// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::sql::parse;
use crate::tables::patients;

fn pieces(text: &str) -> Vec<Piece> {
    let schema = patients();
    let query = parse(&schema, &format!("SELECT {text} FROM patients")).unwrap();
    normalise(&schema, &query.items[0].expr).unwrap()
}

fn single(text: &str) -> Piece {
    let mut pieces = pieces(text);
    assert_eq!(pieces.len(), 1, "{text}");
    pieces.remove(0)
}

fn of(factors: &[&str]) -> Monomial {
    let factors = factors.iter().map(|name| Monomial::value(name));
    factors.fold(Monomial::one(), |product, factor| product.times(&factor).unwrap())
}

#[test]
fn terms_of_one_monomial_are_joined_and_cancel() {
    let piece = single("3 * age - age - (age + age)");
    assert!(piece.terms.is_empty());
    assert!(piece.may_miss.contains("age"), "a missing age still makes it NULL");
    let piece = single("(age + visits) * (age - visits)");
    assert_eq!(piece.terms.keys().collect::<Vec<_>>(), [
        &of(&["age", "age"]),
        &of(&["visits", "visits"])
    ]);
    let cube = single("(age + visits) * visits * age");
    let factors: Vec<&[String]> = cube.terms.keys().map(Monomial::factors).collect();
    assert_eq!(factors, [["age", "age", "visits"], ["age", "visits", "visits"]]);
}

#[test]
fn scales_add_and_align() {
    let piece = single("charges * disc + 0.001");
    assert_eq!(piece.scale(), 4);
    let weight = &piece.terms[&Monomial::one()];
    assert_eq!((weight.factor.clone(), weight.scale), (1.into(), 3));
}

#[test]
fn ranges_follow_the_clear_factor() {
    let range = |text: &str| single(&format!("age * ({text})")).terms[&Monomial::value("age")].range();
    let bounds = |low: i64, high: i64| Interval::point(low.into()).hull(&Interval::point(high.into()));
    assert_eq!(range("weight"), bounds(-10, 10));
    assert_eq!(range("weight * weight"), bounds(0, 100));
    assert_eq!(range("2 * weight - 5"), bounds(-25, 15));
    assert_eq!(range("CASE WHEN ward = 'a' THEN weight ELSE 50 END"), bounds(-10, 50));
    assert_eq!(range("CAST(rate AS DECIMAL(4,1))"), bounds(-9999, 9999));
    assert_eq!(range("CAST(weight AS BIGINT)"), bounds(-10, 10));
}

#[test]
fn branches_exclude_one_another() {
    let pieces = pieces("CASE WHEN ward = 'a' THEN age WHEN year = 1 THEN bp ELSE 0 END");
    let guards: Vec<_> = pieces.iter().map(|piece| piece.guard.as_ref().unwrap().to_string()).collect();
    assert_eq!(
        guards,
        [
            "\"ward\" = 'a'",
            "(\"ward\" = 'a') IS NOT TRUE AND \"year\" = 1",
            "(\"ward\" = 'a') IS NOT TRUE AND (\"year\" = 1) IS NOT TRUE",
        ]
    );
    assert!(!pieces[0].may_miss.contains("bp"));
}

#[test]
fn runaway_expansion_is_refused() {
    let schema = patients();
    let case = "(CASE WHEN ward = 'a' THEN visits ELSE charges END)";
    let sum = vec![case; 8].join(" + ");
    let query = parse(&schema, &format!("SELECT {sum} FROM patients")).unwrap();
    assert_eq!(normalise(&schema, &query.items[0].expr).unwrap_err().code(), "HUSH-P012");
}

#[test]
fn rendered_units_name_their_types() {
    let units = single("disc * 2").clear_weight().unwrap().into_units();
    let expected = "(CAST('2' AS DECIMAL(38,0)) * CAST(CAST(\"disc\" AS DECIMAL(38,2)) * \
                    CAST('100' AS DECIMAL(38,0)) AS DECIMAL(38,0)))::DECIMAL(38,0)";
    assert_eq!(units.render(Width::Narrow), expected);
}

/// A parser that gives up too deep in `CAST(CAST(…` tries each level twice; it must not come to that.
#[test]
fn long_sums_are_rendered_within_the_bounds_or_refused() {
    let leaf = single("disc * 2").clear_weight().unwrap().into_units();
    let sum = |count: usize| {
        let first = Box::new(leaf.clone());
        let sum = (1..count).fold(first, |sum, _| Box::new(Units::Add(sum, Box::new(leaf.clone()))));
        crate::sql::check_expression(&sum.render(Width::Narrow)).map_err(PlanError::from)
    };
    assert_eq!(sum(30), Ok(()));
    assert_eq!(sum(120).unwrap_err().code(), "HUSH-P012");
}
