// SPDX-License-Identifier: Apache-2.0
//! Expressions in two: what is cut out, and what is left.

use super::*;

/// What is left and the pieces, as they print.
fn cut(text: &str, cut: Cut) -> (String, Vec<String>) {
    let parts = Expression::parse(text).unwrap().cut(cut).expect(text);
    (parts.outer.to_string(), parts.pieces.iter().map(|piece| piece.expression().to_string()).collect())
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
        // Functions of what is compared, and of other pieces, stand behind these.
        ("sum(x > 3) > 5", &["sum(x > 3)"], &["sum(x > 3)"]),
        (
            "dot(x > mean(x), y*x) - 1 < z",
            &["mean(x)", "dot(x > mean(x), y*x)"],
            &["mean(x)", "y*x", "dot(x > mean(x), (y*x))"],
        ),
        (
            "mean((x - mean(x))^2) > sum(x) + mean(x)",
            &["mean(x)", "mean((x - mean(x))^2)", "sum(x)"],
            &["mean(x)", "mean((x - mean(x))^2)", "sum(x)"],
        ),
        (
            "sum(sum(x > 1) > x) = 1",
            &["sum(x > 1)", "sum(sum(x > 1) > x)"],
            &["sum(x > 1)", "sum(sum(x > 1) > x)"],
        ),
        (
            "sum(repeat(2, z := x, min(z*x, 9))) > 1",
            &["sum(repeat(2, z := x, min(z*x, 9)))"],
            &["sum(repeat(2, z := x, min(z*x, 9)))"],
        ),
        ("lookup(x*y, 1, 2)", &[], &["x*y"]),
        // States of repetitions stay where they are.
        ("repeat(2, z := x*y, if(z > 3, z*x, z))", &[], &["x*y"]),
    ] {
        assert_eq!(cut(text, Cut::Functions).1, functions, "{text}");
        assert_eq!(cut(text, Cut::Products).1, products, "{text}");
    }
    let parts = Expression::parse("x + sum(x) > y").unwrap().cut(Cut::Functions).unwrap();
    assert_eq!(parts.outer.names(), ["x", "y", "sum(x)"]);
    assert_eq!(parts.pieces[0].expression().names(), ["x", "y"]);
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
        "sum(x > 2)*x > dot(x < mean(y), y) + mean(max(x, mean(x)))",
        "mean((x - mean(x))^2) > sum(x*y)",
        "x*(y + 1) + 1 > 2*x*(y + 1) + sum((x*y + 1)*(x > mean(x*y + 1)))",
        "sum(repeat(2, z := x, min(z*x, 9))) > y",
        "x - mean(x)",
    ] {
        let whole = Expression::parse(text).unwrap();
        let all: Vec<&[Ratio]> = vectors.iter().map(|vector| &vector[..]).take(whole.names().len()).collect();
        let expected = whole.values(&all).unwrap();
        for way in [Cut::Functions, Cut::Products] {
            let Parts { outer, pieces } = whole.cut(way).unwrap();
            let mut given: Vec<Vec<Ratio>> = all.iter().map(|values| values.to_vec()).collect();
            for piece in &pieces {
                let piece = piece.expression();
                let known: Vec<&[Ratio]> = given.iter().map(|values| &values[..]).collect();
                let values = piece.values(&known[..piece.names().len()]).unwrap();
                let count = Ratio::from(BigInt::from(values.len()));
                let sum = values.iter().fold(Ratio::zero(), |sum, value| &sum + value);
                given.push(match piece.function() {
                    None => values,
                    Some(Function::Mean) => vec![&sum * &count.recip().unwrap(); values.len()],
                    Some(_) => vec![sum; values.len()],
                });
            }
            let given: Vec<&[Ratio]> = given.iter().map(|values| &values[..]).collect();
            assert_eq!(outer.values(&given).unwrap(), expected, "{text}");
        }
    }
}

/// What all elements share stands in front of functions, and means the same.
#[test]
fn shared_factors_come_in_front_of_functions() {
    let vectors = [
        [3, -1, 4, 1].map(|n| Ratio::from(BigInt::from(n))),
        [2, 7, 1, 8].map(|n| Ratio::from(BigInt::from(n))),
    ];
    for (text, expected) in [
        ("mean((x - mean(x))^2)", "mean(x^2) + -2*mean(x)*mean(x) + mean(x)*mean(x)"),
        ("sum(x*sum(y)/3) > 4*y", "1/3*sum(y)*sum(x) > 4*y"),
        ("dot(x - mean(x), y)", "sum(x*y) + -1*mean(x)*sum(y)"),
        ("sum(mean(x) + 2)", "8 + 4*mean(x)"),
        ("sum(sum(sum(x))) + x", "16*sum(x) + x"),
        ("sum((x > 1)*(x - mean(x)))", "sum(x*(x > 1)) + -1*mean(x)*sum(x > 1)"),
        ("sum(x*(mean(x) - mean(x)))", "0"),
        ("sum(2) > x", "8 > x"),
        // Nothing is shared, or not as a factor, or it is one of a state.
        ("sum(x*y + 1) > 2", "sum(x*y + 1) > 2"),
        ("sum(x > mean(x))", "sum(x > mean(x))"),
        ("repeat(2, z := x, sum(z*sum(x)))", "repeat(2, z := x, sum(z*sum(x)))"),
        ("sum((x + mean(x))^65)", "sum((x + mean(x))^65)"),
    ] {
        let whole = Expression::parse(text).unwrap();
        let taken = whole.with_shared_in_front(4);
        assert_eq!(taken.to_string(), expected);
        let vectors: Vec<&[Ratio]> =
            vectors.iter().map(|vector| &vector[..]).take(whole.names().len()).collect();
        let all = |expression: &Expression| {
            let values = expression.values(&vectors).unwrap();
            let sum = values.iter().fold(Ratio::zero(), |sum, value| &sum + value);
            let count = Ratio::from(BigInt::from(4));
            match expression.function() {
                Some(Function::Mean) => vec![&sum * &count.recip().unwrap(); 4],
                Some(_) => vec![sum; 4],
                None => values,
            }
        };
        assert_eq!(all(&taken), all(&whole), "{text}");
    }
}

/// Each function inside another would make the expression 28 times as long.
#[test]
fn expressions_do_not_grow_out_of_proportion() {
    let nested = |inner: String, _: usize| format!("sum((x + max({inner}, 1))^7)");
    let text = (0..8).fold("sum(x)".to_owned(), nested) + " > 1";
    let whole = Expression::parse(&text).unwrap();
    let taken = whole.with_shared_in_front(4);
    assert!(taken != whole && taken.to_string().len() < 1 << 20);
    assert!(taken.cut(Cut::Products).is_ok());
    // Nor many functions, nor numbers.
    let many = vec!["sum((x + mean(x))^30)"; 400].join(" + ");
    assert!(Expression::parse(&many).unwrap().with_shared_in_front(4).to_string().len() < 1 << 18);
    let wide = Expression::parse("sum((2^1024*2^1024*2^1024*(x + mean(x)))^43) > 1").unwrap();
    assert_eq!(wide.with_shared_in_front(4), wide);
}

#[test]
fn what_cannot_be_cut_is_said_with_its_place() {
    for (text, position) in
        [("repeat(2, z := x, z + sum(z))", 23), ("1 + repeat(2, z := x, z + sum(x > z))", 27)]
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
