// SPDX-License-Identifier: Apache-2.0
//! Expressions in two: what is cut out, and what is left.

use super::*;

/// What is left and the pieces, as they print.
fn cut(text: &str, cut: Cut) -> (String, Vec<String>) {
    let parts = Expression::parse(text).unwrap().cut(cut).expect(text);
    (parts.outer.to_string(), parts.pieces.iter().map(Expression::to_string).collect())
}

#[test]
fn functions_and_products_are_cut_out() {
    for (text, functions, products) in [
        ("x > 3", &[][..], &[][..]),
        ("sum(x) > 3", &["sum(x)"], &["sum(x)"]),
        ("if(mean(x) < x, x*y, sum(x) + mean(x))", &["mean(x)", "sum(x)"], &["mean(x)", "x*y", "sum(x)"]),
        ("x*y + 1 > z and dot(x, y) = 0", &["dot(x, y)"], &["x*y + 1", "dot(x, y)"]),
        // The function of the whole stays, products with numbers are none, and one with a comparison in it is cut inside.
        ("sum(x > mean(x))", &["mean(x)"], &["mean(x)"]),
        ("3*x > y/2", &[], &[]),
        ("x*(y > 2)*y^2", &[], &["y^2"]),
        ("sum(x)*x > 5", &["sum(x)"], &["sum(x)"]),
        ("lookup(x*y, 1, 2)", &[], &["x*y"]),
        // States of repetitions stay where they are.
        ("repeat(2, z := x*y, if(z > 3, z*x, z))", &[], &["x*y"]),
    ] {
        assert_eq!(cut(text, Cut::Functions).1, functions, "{text}");
        assert_eq!(cut(text, Cut::Products).1, products, "{text}");
    }
    let parts = Expression::parse("x + sum(x) > y").unwrap().cut(Cut::Functions).unwrap();
    assert_eq!(parts.outer.names(), ["x", "y", "sum(x)"]);
    assert_eq!(parts.pieces[0].names(), ["x", "y"]);
}

/// What is left means, of the values of the pieces, what the whole means.
#[test]
fn both_halves_mean_the_whole() {
    let vectors = [
        [3, -1, 4, 1].map(|n| Ratio::from(BigInt::from(n))),
        [2, 7, 1, 8].map(|n| Ratio::from(BigInt::from(n))),
    ];
    for text in [
        "sum(x) > y",
        "if(x < mean(y), x*y - 1, dot(x, y)) + max(x*x, 9)",
        "sum(x > mean(x))",
        "repeat(3, z := x, min(z + mean(y), x*y))",
        "x - mean(x)",
    ] {
        let whole = Expression::parse(text).unwrap();
        let all: Vec<&[Ratio]> = vectors.iter().map(|vector| &vector[..]).take(whole.names().len()).collect();
        let expected = whole.values(&all).unwrap();
        for way in [Cut::Functions, Cut::Products] {
            let Parts { outer, pieces } = whole.cut(way).unwrap();
            let values = pieces.iter().map(|piece| {
                let values = piece.values(&all).unwrap();
                let count = Ratio::from(BigInt::from(values.len()));
                let sum = values.iter().fold(Ratio::zero(), |sum, value| &sum + value);
                match piece.function() {
                    None => values,
                    Some(Function::Mean) => vec![&sum * &count.recip().unwrap(); values.len()],
                    Some(_) => vec![sum; values.len()],
                }
            });
            let of_pieces: Vec<Vec<Ratio>> = values.collect();
            let given: Vec<&[Ratio]> =
                all.iter().copied().chain(of_pieces.iter().map(|values| &values[..])).collect();
            assert_eq!(outer.values(&given).unwrap(), expected, "{text}");
        }
    }
}

#[test]
fn what_cannot_be_cut_is_said_with_its_place() {
    for (text, position) in
        [("sum(x > 1) > 5", 1), ("1 < mean(min(x, 2))", 5), ("repeat(2, z := x, z + sum(z))", 23)]
    {
        let error = Expression::parse(text).unwrap().cut(Cut::Functions).unwrap_err();
        assert!(
            matches!(error, ExprError::Aggregate { position: found, .. } if found == position),
            "{text}: {error}"
        );
    }
}

#[test]
fn one_value_has_every_name_in_a_function() {
    for (text, expected) in [
        ("sum(x)", true),
        ("2*sum(x) > mean(y)", true),
        ("x > mean(x)", false),
        ("repeat(2, z := x, z*sum(x))", false),
    ] {
        assert_eq!(Expression::parse(text).unwrap().is_one_value(), expected, "{text}");
    }
}
