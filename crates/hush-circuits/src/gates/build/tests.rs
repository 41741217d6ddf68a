// SPDX-License-Identifier: Apache-2.0
//! Programs in the clear against what their expressions mean.

use hush_expr::{Cut, Expression, Interval, Parts, Ratio};
use hush_testkit::Draw;
use num_bigint::BigInt;

use crate::gates::{Bridged, GatePlan};
use crate::program::{ProgramError, Vector};

fn ratio(text: &str) -> Ratio {
    Ratio::from_decimal(text).unwrap()
}

fn vector(unit: &str, low: &str, high: &str) -> Vector {
    Vector { unit: ratio(unit), range: Interval::new(ratio(low), ratio(high)), is_float: false }
}

fn plan(text: &str, vectors: &[Vector]) -> Result<GatePlan, ProgramError> {
    GatePlan::of(&Expression::parse(text).unwrap(), (vectors, &[]), 3)
}

/// Integers, decimals, bits, and whole numbers that may be negative.
fn vectors() -> Vec<Vector> {
    vec![
        vector("1", "0", "20"),
        vector("0.25", "0", "5"),
        vector("1", "0", "1"),
        vector("1", "-9", "6"),
        vector("1", "0", "1"),
    ]
}

const NAMES: [&str; 5] = ["x", "y", "b", "z", "c"];

/// A number, or where `is_bit` says so, what is 0 or 1.
fn any_text(draw: &mut Draw, depth: usize, is_bit: bool) -> String {
    let number = |draw: &mut Draw| any_text(draw, depth - 1, false);
    let bit = |draw: &mut Draw| any_text(draw, depth - 1, true);
    if depth == 0 {
        return match (is_bit, draw.below(4)) {
            (true, 0) => draw.below(2).to_string(),
            (true, _) => ["b", "c"][draw.below(2)].to_owned(),
            (false, 0) => ["0", "1", "2.5", "7", "0.75", "12"][draw.below(6)].to_owned(),
            (false, _) => NAMES[draw.below(5)].to_owned(),
        };
    }
    if is_bit {
        let (a, b) = (number(draw), number(draw));
        let (p, q) = (bit(draw), bit(draw));
        let comparison = ["<", "<=", ">", ">=", "=", "!="][draw.below(6)];
        return match draw.below(6) {
            0 => format!("(not {p})"),
            1 => format!("({p} and {q} and {a} {comparison} {b})"),
            2 => format!("({p} or {q})"),
            3 => format!("({p} xor {q} xor {p})"),
            4 => format!("if({p}, {q}, {a} {comparison} {b})"),
            _ => format!("({a} {comparison} {b})"),
        };
    }
    let (a, b) = (number(draw), number(draw));
    match draw.below(10) {
        8 => format!("lookup({} + {}, 2.5, -1, {}, 0.25)", bit(draw), bit(draw), draw.below(3)),
        0 => format!("({a} + {b})"),
        1 => format!("({a} - {b})"),
        2 => format!("{a}*{b}"),
        3 => format!("(-{a})"),
        4 => format!("min({a}, {b}, {a})"),
        5 => format!("max({a}, {b})"),
        6 => format!("if({}, {a}, {b})", bit(draw)),
        7 => format!("({a})^2"),
        _ => bit(draw),
    }
}

/// A value of a vector, often at an end of its range.
fn any_value(draw: &mut Draw, vector: &Vector) -> Ratio {
    let range = &vector.range;
    match draw.below(4) {
        0 => range.low().clone(),
        1 => range.high().clone(),
        _ => {
            let steps =
                (&(range.high() - range.low()) * &vector.unit.recip().unwrap()).to_integer().unwrap().clone();
            let step = BigInt::from(draw.below(usize::try_from(&steps).unwrap() + 1));
            range.low() + &(&Ratio::from(step) * &vector.unit)
        }
    }
}

#[test]
fn random_programs_mean_what_their_texts_do() {
    let mut draw = Draw::of_environment("HUSH_DRAW");
    let (mut planned, vectors) = (0, vectors());
    while planned < 3000 {
        let depth = 1 + draw.below(4);
        let is_bit = draw.below(2) == 1;
        let text = any_text(&mut draw, depth, is_bit);
        let expression = Expression::parse(&text).unwrap();
        let of_names: Vec<Vector> = expression
            .names()
            .iter()
            .map(|name| vectors[NAMES.iter().position(|known| known == name).unwrap()].clone())
            .collect();
        let plan = match GatePlan::of(&expression, (&of_names, &[]), 1) {
            Ok(plan) => plan,
            // Constants, and powers of powers.
            Err(error) => {
                assert!(["HUSH-X009", "HUSH-X022"].contains(&error.code()), "{draw}: {text}: {error}");
                continue;
            }
        };
        planned += 1;
        for _ in 0..8 {
            let values: Vec<Ratio> = of_names.iter().map(|vector| any_value(&mut draw, vector)).collect();
            let integers = values.iter().enumerate().map(|(place, value)| plan.encode(place, value).unwrap());
            let found = plan.result(plan.program().value(&integers.collect::<Vec<_>>()), 1);
            assert_eq!(found, expression.value_at(&values).unwrap(), "{draw}: {text} at {values:?}");
        }
    }
}

#[test]
fn bounds_decide_what_they_can() {
    let x = [vector("1", "3", "20")];
    // What is left is the other part alone.
    for text in ["x > 2", "x >= 3", "not (x < 3)", "x != 2.5", "x <= 20", "if(x > 30, 0, 1) = 1", "x + 1 > x"]
    {
        let both = plan(&format!("{text} and x < 9"), &x).unwrap();
        assert_eq!(both.program(), plan("x < 9", &x).unwrap().program(), "{text}: always true");
    }
    // Also what no multiple of a unit can be, on which a server looks nothing up.
    for (text, holds) in [("x = 4.5", false), ("2*x != 7", true)] {
        let whole = plan(text, &x).unwrap();
        let bit = ratio(if holds { "1" } else { "0" });
        assert_eq!(whole.result(whole.program().value(&[4]), 1), bit, "{text}");
        assert_eq!(whole.program().cost(5).unwrap().bootstraps, 0, "{text}");
    }
    // Where nothing else is left, it is evaluated. Integers hold every constant that it names.
    let bits = [vector("1", "0", "1")];
    for text in ["1 >= min(x, 12, x) - 1", "max(x, -12) > -1", "min(x, 5) <= 1 and max(x, -9) >= 0"] {
        let whole = plan(text, &bits).unwrap();
        for bit in [0, 1] {
            assert_eq!(whole.result(whole.program().value(&[bit]), 1), ratio("1"), "{text} at {bit}");
        }
    }
    for (text, holds) in [
        ("x > 2", true),
        ("x < 3", false),
        ("x > 1000", false),
        ("x > -1e19", true),
        ("x < 1e30", true),
        ("x = 1e30", false),
        ("-5 > x", false),
    ] {
        let whole = plan(text, &x).unwrap();
        assert_eq!(
            whole.result(whole.program().value(&[20]), 1),
            ratio(if holds { "1" } else { "0" }),
            "{text}"
        );
    }
    assert_eq!(plan("x = x", &x).unwrap_err().code(), "HUSH-X009");
    // Between two integers a constant is the lower one.
    assert_eq!(plan("x < 7.5", &x).unwrap().program(), plan("x <= 7", &x).unwrap().program());
    assert_eq!(plan("2*x > 15", &x).unwrap().program(), plan("x > 7", &x).unwrap().program());
    assert_eq!(plan("x + 5 < 12", &x).unwrap().program(), plan("7 > x", &x).unwrap().program());
}

#[test]
fn programs_are_as_wide_as_their_widest_step() {
    let bits = |text: &str, high: &str| plan(text, &[vector("1", "0", high)]).unwrap().program().bits();
    assert_eq!((bits("x < 3", "15"), bits("x < 3", "16"), bits("x + x*x", "15")), (4, 6, 8));
    let signed = plan("x - 1 < 0", &[vector("1", "-8", "7")]).unwrap();
    assert!(signed.program().is_signed() && signed.program().bits() == 4);
    // What is added, scaled or turned at the end is the owner's to do.
    assert_eq!((bits("x*4 + 1000000", "15"), bits("7 - x", "15")), (4, 4));
    assert!(plan("max(x, 7)", &[vector("1", "0", "15")]).is_ok());
    let wide = [vector("1", "0", "18446744073709551615")];
    assert_eq!(plan("x > 5", &wide).unwrap().program().bits(), 64);
    assert_eq!(plan("x*x", &wide).unwrap_err().code(), "HUSH-X022");
    assert_eq!(plan("sum(x > 5)", &wide).unwrap().program().bits(), 64);
    assert_eq!(plan("sum(if(x > 5, x, 0))", &wide).unwrap_err().code(), "HUSH-X022");
}

#[test]
fn sums_over_elements_take_constants_once_for_each() {
    let plan = plan("mean(4*x + 10)", &[vector("0.5", "0", "8")]).unwrap();
    assert!(plan.program().is_summed());
    // 3 values that add up to 7: units of a half, and 40 that the constants are.
    assert_eq!(plan.result(14, 4), ratio("17"));
}

#[test]
fn what_has_no_program_is_refused() {
    let x = [vector("1", "0", "20")];
    let code = |text: &str| plan(text, &x).unwrap_err().code();
    assert_eq!(code("x/(x + 1)"), "HUSH-X007");
    assert_eq!(code("x/0"), "HUSH-X008");
    let inside = [
        "sum(x) > 1",
        "max(sum(x), 2)",
        "sum(x) + 1",
        "if(x > 1, mean(x), 0)",
        "x > 0 and dot(x, x) > 4",
        "sum(x > sum(x))",
        "not (sum(x) = 1)",
        "-(2*sum(x))^2",
    ];
    for text in inside {
        assert_eq!(code(text), "HUSH-X006", "{text}");
    }
    assert_eq!(code("not x"), "HUSH-X012");
    assert_eq!(code("if(x, 1, 2)"), "HUSH-X012");
    assert_eq!(code("x*0 + 3"), "HUSH-X009");
    assert_eq!(code("x^64"), "HUSH-X022");
    let float = Vector { is_float: true, ..vector("1", "0", "20") };
    assert_eq!(plan("x > 1", &[float]).unwrap_err().code(), "HUSH-X025");
}

/// Places must have entries, whatever the values; minima and maxima limit them.
#[test]
fn places_have_entries_by_their_bounds() {
    let vectors = [vector("1", "0", "20"), vector("0.25", "0", "5"), vector("1", "-9", "6")];
    let of = |text: &str| {
        let expression = Expression::parse(text).unwrap();
        let named =
            |name: &String| vectors[["x", "y", "z"].iter().position(|known| known == name).unwrap()].clone();
        let of_names: Vec<Vector> = expression.names().iter().map(named).collect();
        (GatePlan::of(&expression, (&of_names, &[]), 1), of_names, expression)
    };
    for text in [
        "lookup(min(x, 3), 1, 0.9, 0.75, 0.5)",
        "lookup(max(min(z, 2), 0), 4, -4, 8)",
        "lookup(2*max(z, 4) - 8, 7, 1, 1, 1, -7)",
        "lookup(4*min(y, 0.75), 1, 0, 0, 1) and x > 3",
        "lookup(x > 7, 2, 5)",
        "lookup(min(x, 3), 2, 2, 2, 2) + z",
        "lookup(2, 4, 3, 5)*z",
    ] {
        let (plan, of_names, expression) = of(text);
        let plan = plan.unwrap();
        let mut draw = Draw::of_environment("HUSH_DRAW");
        for _ in 0..60 {
            let values: Vec<Ratio> = of_names.iter().map(|vector| any_value(&mut draw, vector)).collect();
            let integers = values.iter().enumerate().map(|(place, value)| plan.encode(place, value).unwrap());
            let found = plan.result(plan.program().value(&integers.collect::<Vec<_>>()), 1);
            assert_eq!(found, expression.value_at(&values).unwrap(), "{text} at {values:?}");
        }
    }
    for text in
        ["lookup(x, 1, 2)", "lookup(min(z, 1), 1, 2)", "lookup(min(y, 1), 1, 2)", "x + lookup(2, 1, 2)"]
    {
        assert_eq!(of(text).0.unwrap_err().code(), "HUSH-X014", "{text}");
    }
}

/// Values from slots are integers from 0 on, times a factor of either sign, and an offset: means have fractions without end.
#[test]
fn values_from_slots_are_what_their_integers_stand_for() {
    let third = |numerator: i64| Ratio::new(numerator.into(), 3.into()).unwrap();
    for (factor, offset, most) in [
        (ratio("1"), ratio("0"), 9),
        (ratio("-0.5"), ratio("7"), 30),
        (third(2), third(-20), 21),
        (ratio("1"), ratio("-4"), 1),
    ] {
        let bridged = Bridged { factor: factor.clone(), offset: offset.clone(), most: BigInt::from(most) };
        for text in
            ["s > x", "if(x < s, 2*s - x, s) + 1", "max(s, x)*2", "s = x or s = 2*x", "s*x - s", "3*s - x"]
        {
            let expression = Expression::parse(text).unwrap();
            let own = vec![vector("0.5", "-2", "6")];
            // Names stand in the order of the text, and those from slots behind.
            let Parts { outer, .. } =
                Expression::parse(&text.replace('s', "sum(x)")).unwrap().cut(Cut::Functions).unwrap();
            let plan = GatePlan::of(&outer, (&own, std::slice::from_ref(&bridged)), 1).unwrap();
            for half in -4..=12 {
                for integer in 0..=most {
                    let x = &Ratio::from(BigInt::from(half)) * &ratio("0.5");
                    let s = &(&factor * &Ratio::from(BigInt::from(integer))) + &offset;
                    let found = plan.result(plan.program().value(&[half, i128::from(integer)]), 1);
                    let values: Vec<Ratio> = expression
                        .names()
                        .iter()
                        .map(|name| if name == "s" { s.clone() } else { x.clone() })
                        .collect();
                    assert_eq!(
                        found,
                        expression.value_at(&values).unwrap(),
                        "{text} of {integer} and {half}/2"
                    );
                }
            }
        }
    }
}

/// Sums of programs are integers from 0 on, modulo what their digits hold, and other programs read them: of negative values, of fractions, of each other, and of what bounds decide.
#[test]
fn programs_read_sums_of_programs() {
    let draw = &mut Draw::new();
    let vectors = [vector("1", "-9", "6"), vector("0.25", "0", "5")];
    for text in [
        "sum(x > 3) > 1",
        "x*(y > 2) - sum(x*(y > 2)) > x",
        "mean(max(x, y))*2 - min(x, 3)",
        "sum(if(sum(x > y) > 2, x, -y)) + 1/3",
        "sum(x > 7) + y > 2",
        "dot(x < y, x = 1)*mean(x > y) = y",
        "sum(x > 100) + sum(y < 100)",
    ] {
        let whole = Expression::parse(text).unwrap();
        let named = |name: &String| ["x", "y"].iter().position(|known| known == name).unwrap();
        let places: Vec<usize> = whole.names().iter().map(named).collect();
        let own: Vec<Vector> = places.iter().map(|place| vectors[*place].clone()).collect();
        let Parts { outer, pieces } = whole.cut(Cut::Functions).unwrap();
        for length in [1, 2, 7] {
            let columns: Vec<Vec<Ratio>> =
                own.iter().map(|vector| (0..length).map(|_| any_value(draw, vector)).collect()).collect();
            let (mut bridged, mut known) = (Vec::new(), Vec::<i128>::new());
            let of_element = |plan: &GatePlan, known: &[i128], element: usize| {
                let own = columns.iter().enumerate();
                let own = own.map(|(place, column)| plan.encode(place, &column[element]).unwrap());
                plan.program().value(&own.chain(known.iter().copied()).collect::<Vec<_>>())
            };
            for piece in &pieces {
                let plan = GatePlan::of(piece.expression(), (&own, &bridged), length).unwrap();
                let value = Bridged::of_sum(&plan, length);
                let sum: i128 = (0..length).map(|element| of_element(&plan, &known, element)).sum();
                let rest = BigInt::from(sum) - plan.least(length);
                assert!(BigInt::from(0) <= rest && rest <= value.most, "{text}: {rest} of {}", value.most);
                // Digits that hold it are some of the program's.
                assert!(value.digits() <= plan.program().digits(), "{text}");
                known.push(i128::try_from(rest).unwrap());
                bridged.push(value);
            }
            let plan = GatePlan::of(&outer, (&own, &bridged), length).unwrap();
            let found: Vec<Ratio> =
                (0..length).map(|element| plan.result(of_element(&plan, &known, element), 1)).collect();
            let columns: Vec<&[Ratio]> = columns.iter().map(|column| &column[..]).collect();
            assert_eq!(found, whole.values(&columns).unwrap(), "{text} of {length}");
        }
    }
}
