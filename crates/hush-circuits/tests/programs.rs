// SPDX-License-Identifier: Apache-2.0
//! Whole plans on ciphertexts, against the plain meaning of their expressions in exact fractions.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use hush_expr::{Aggregate, Expression, Interval, Ratio};
use hush_keys::ChainSecret;
use hush_rlwe::EvaluationKeys;
use hush_testkit::Draw;
use num_bigint::BigInt;

use hush_circuits::program::{Demand, Lane, LaneKeys, Plan, ProgramError, SchemeKind, Slots, Vector};

/// Values of one vector, as an owner has them.
struct Column {
    unit: Ratio,
    values: Vec<Ratio>,
}

impl Column {
    /// Multiples of `10^-places` with so many units at most.
    fn draw(draw: &mut Draw, length: usize, units: i64, places: u32) -> Self {
        let unit = Ratio::new(1.into(), BigInt::from(10).pow(places)).unwrap();
        let drawn = draw.reals(length, -1.0, 1.0);
        let value = |x: f64| &Ratio::from(BigInt::from((x * (units as f64 + 0.9)) as i64)) * &unit;
        Self { values: drawn.into_iter().map(value).collect(), unit }
    }

    fn vector(&self) -> Vector {
        let (low, high) = (self.values.iter().min().unwrap(), self.values.iter().max().unwrap());
        Vector { unit: self.unit.clone(), range: Interval::new(low.clone(), high.clone()), is_float: false }
    }
}

/// Everything that a rehearsal does, with one thread and no files.
fn evaluate(plan: &Plan, columns: &[Column]) -> Vec<Ratio> {
    let circuit = plan.circuit();
    let length = columns[0].values.len();
    let used = circuit.used_inputs();
    // By block, then by lane.
    let mut blocks: Vec<Vec<Slots>> = Vec::new();
    let owners: Vec<(ChainSecret, LaneKeys)> = plan
        .lanes()
        .iter()
        .map(|lane| {
            let secret = ChainSecret::generate(lane.chain()).unwrap();
            let keys = if lane.is_without_keys() {
                EvaluationKeys::new()
            } else {
                secret.evaluation_keys(true, &[]).unwrap()
            };
            (secret, LaneKeys::Leveled(keys))
        })
        .collect();
    for block in 0..plan.block_count() {
        let range = block * plan.slot_count()..length.min((block + 1) * plan.slot_count());
        let slots = plan.lanes().iter().zip(&owners).map(|(lane, (secret, keys))| {
            let encrypt = |&input: &usize| {
                let inverse = plan.inputs()[input].unit.recip().unwrap();
                let values: Vec<Ratio> =
                    columns[input].values[range.clone()].iter().map(|value| value * &inverse).collect();
                secret.encrypt(lane.encode(circuit, &values).unwrap()).unwrap().expand().unwrap()
            };
            let (output, meaning) = lane.evaluate(circuit, used.iter().map(encrypt).collect(), keys).unwrap();
            lane.decode(secret.phase(&output).unwrap().poly(), meaning).unwrap()
        });
        blocks.push(slots.collect());
    }
    let outputs: Vec<Ratio> = (0..length)
        .map(|index| {
            let (block, slot) = (index / plan.slot_count(), index % plan.slot_count());
            match &blocks[block][0] {
                Slots::Approximate(values) => Ratio::from_f64(values[slot]).unwrap(),
                Slots::Exact(_) => {
                    let residue = |slots: &Slots| match slots {
                        Slots::Exact(values) => values[slot],
                        Slots::Approximate(_) => unreachable!(),
                    };
                    Ratio::from(plan.join(&blocks[block].iter().map(residue).collect::<Vec<_>>()))
                }
            }
        })
        .collect();
    match circuit.aggregate() {
        None => outputs.iter().map(|output| circuit.result(output, 1)).collect(),
        Some(_) => {
            let sum = outputs.iter().fold(Ratio::zero(), |sum, output| &sum + output);
            vec![circuit.result(&sum, length)]
        }
    }
}

/// The value of the text.
fn expected(expression: &Expression, columns: &[Column], aggregate: Option<Aggregate>) -> Vec<Ratio> {
    let length = columns[0].values.len();
    let value = |index: usize| {
        let values: Vec<Ratio> = columns.iter().map(|column| column.values[index].clone()).collect();
        expression.value_at(&values).unwrap()
    };
    let values: Vec<Ratio> = (0..length).map(value).collect();
    let sum = || values.iter().fold(Ratio::zero(), |sum, value| &sum + value);
    match aggregate {
        None => values,
        Some(Aggregate::Sum) => vec![sum()],
        Some(Aggregate::Mean) => vec![&sum() * &Ratio::new(1.into(), length.into()).unwrap()],
    }
}

/// Runs one expression in one scheme and compares.
fn check(text: &str, scheme: Option<SchemeKind>, precision: Option<f64>, columns: &[Column]) -> Plan {
    let expression = Expression::parse(text).unwrap();
    let columns = &columns[..expression.names().len()];
    let vectors: Vec<Vector> = columns.iter().map(Column::vector).collect();
    let demand = Demand { length: columns[0].values.len(), scheme, precision, is_bridged: false };
    let plan = Plan::choose(&expression, &vectors, &demand).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert!(plan.margin_bits() >= 0.0 && plan.failure_log2() < -100.0, "{text}");
    let (found, expected) =
        (evaluate(&plan, columns), expected(&expression, columns, plan.circuit().aggregate()));
    match plan.error() {
        None => assert!(found == expected, "{text} in {:?}", plan.scheme()),
        Some(bound) => {
            assert!(bound <= precision.unwrap_or(1e-6), "{text}: {bound}");
            for (found, expected) in found.iter().zip(&expected) {
                let error = (found - expected).abs().to_f64();
                assert!(error <= bound, "{text}: off by {error:e}, stated {bound:e}");
            }
        }
    }
    plan
}

const SCHEMES: [SchemeKind; 3] = [SchemeKind::Bgv, SchemeKind::Bfv, SchemeKind::Ckks];

fn columns(seed: u64, length: usize) -> Vec<Column> {
    let mut draw = Draw::of(seed);
    vec![
        Column::draw(&mut draw, length, 999, 0),
        Column::draw(&mut draw, length, 99_999, 2),
        Column::draw(&mut draw, length, 50, 1),
    ]
}

/// Each with a precision that suits its results. Depths 0 to 3, sums of products with addends of less depth, constants, shared parts, powers.
const EXPRESSIONS: [(&str, f64); 9] = [
    ("y*(x+z)", 1e-3),
    ("3*x - y/4 + 2", 1e-6),
    ("x*y + z", 1e-3),
    ("x*y - 2*z*x + 7", 1e-3),
    ("x*x*x*x", 1.0),
    ("(x+1)*(y-z)*(x+1) + 5*x*y - z", 1.0),
    ("(x*y + z)*(x - 3) + z^2", 1.0),
    ("x^3 - 2*x^2 + x", 1e-2),
    ("(x*z/1048576 + 1)^3", 1e-4),
];

#[test]
fn every_scheme_computes_what_expressions_mean() {
    let columns = columns(2026, 50);
    for (text, precision) in EXPRESSIONS {
        for scheme in SCHEMES {
            check(text, Some(scheme), Some(precision), &columns);
        }
    }
}

/// In exact schemes as products, in CKKS as deep as a chain is, with values that stay about 1.
#[test]
fn repetitions_mean_their_turns_in_every_scheme() {
    for scheme in SCHEMES {
        check("repeat(3, z := x, z*y/1000 - x + 1)", Some(scheme), Some(1.0), &columns(3, 20));
    }
    let mut draw = Draw::of(9);
    let small = [Column::draw(&mut draw, 30, 1000, 3), Column::draw(&mut draw, 30, 1000, 3)];
    for (text, precision) in [
        ("x^1000", 1e-4),
        ("repeat(9, z := x, z^2/2 + y/4)", 1e-6),
        ("repeat(14, z := x, z^2/2 + y/4)", 1e-4),
        ("sum(repeat(5, a := x, b := y, (a + b)/2, a*b))", 1e-4),
        ("mean(repeat(200, z := x, 0.97*z + 0.03*y)*y)", 1e-6),
        // Of depth 1.
        ("repeat(1, z := x, z*y)", 1e-6),
        ("repeat(1, z := x, z*y + 1)", 1e-6),
        ("repeat(3, z := x^2, z + x*y)", 1e-6),
    ] {
        let plan = check(text, Some(SchemeKind::Ckks), Some(precision), &small);
        assert!(plan.circuit().raises().is_empty() && plan.bootstrap_set().is_none(), "{text}");
    }
    // Nothing but zeros.
    let zeros = || Column { unit: Ratio::one(), values: vec![Ratio::zero(); 5] };
    check("repeat(9, z := x, z^2/2 + y/4)", Some(SchemeKind::Ckks), None, &[zeros(), zeros()]);
}

/// What grows without end is refused before it has grown.
#[test]
fn endless_growth_is_refused_in_every_scheme() {
    let columns = columns(4, 3);
    for (text, schemes) in [
        ("repeat(1000, z := x, z*z + x)", &SCHEMES[..]),
        ("repeat(1000, z := x, (z/3 + 1/7)^31)", &SCHEMES[..2]),
    ] {
        for &scheme in schemes {
            let expression = Expression::parse(text).unwrap();
            let vectors = [columns[0].vector()];
            let demand = Demand { length: 3, scheme: Some(scheme), precision: Some(1.0), is_bridged: false };
            let code = Plan::choose(&expression, &vectors, &demand).unwrap_err().code();
            assert_eq!(code, "HUSH-X010", "{text} in {scheme:?}");
        }
    }
    // And what is too small for doubles from the start.
    let tiny = Ratio::from_decimal("1e-300").unwrap();
    let vector = Column { unit: tiny.clone(), values: vec![tiny.clone(), -tiny] }.vector();
    let expression = Expression::parse("repeat(9, z := x, z^2/2 + z/4)").unwrap();
    let demand = Demand { length: 2, scheme: Some(SchemeKind::Ckks), precision: None, is_bridged: false };
    assert_eq!(Plan::choose(&expression, &[vector], &demand).unwrap_err().code(), "HUSH-X010");
}

#[test]
fn vectors_longer_than_a_ciphertext_take_several() {
    let columns = columns(7, 5000);
    for scheme in SCHEMES {
        let plan = check("y*(x+z)", Some(scheme), Some(1e-3), &columns);
        assert!(plan.block_count() > 1 && plan.lanes().iter().all(Lane::is_without_keys));
        check("sum(x*y)", Some(scheme), Some(1.0), &columns);
    }
    check("mean(x*y - z)", None, None, &columns);
    check("dot(x, y)", None, None, &columns);
}

#[test]
fn wide_results_take_several_plaintext_primes() {
    let mut draw = Draw::of(11);
    let wide = || {
        let mut draw = Draw::of(3);
        let low = Column::draw(&mut draw, 20, 1 << 50, 0);
        // Beyond what a word holds.
        let values = low.values.iter().map(|value| &value.times_power_of_two(25) + &Ratio::one()).collect();
        Column { unit: Ratio::one(), values }
    };
    let columns = [wide(), wide(), Column::draw(&mut draw, 20, 999, 0)];
    for scheme in [SchemeKind::Bgv, SchemeKind::Bfv] {
        let plan = check("x*y + x - z", Some(scheme), None, &columns);
        assert!(plan.lanes().len() > 3);
    }
}

#[test]
fn schemes_are_chosen_by_type_and_precision() {
    let columns = columns(5, 30);
    assert_ne!(check("x*y", None, None, &columns).scheme(), SchemeKind::Ckks);
    let expression = Expression::parse("x*y").unwrap();
    let vectors: Vec<Vector> =
        columns[..2].iter().map(|column| Vector { is_float: true, ..column.vector() }).collect();
    let demand = Demand { length: 30, scheme: None, precision: None, is_bridged: false };
    let plan = Plan::choose(&expression, &vectors, &demand).unwrap();
    assert_eq!(plan.scheme(), SchemeKind::Ckks);
    // The plan with the least predicted work wins.
    let of = |scheme| {
        let vectors: Vec<Vector> = columns[..2].iter().map(Column::vector).collect();
        Plan::choose(&expression, &vectors, &Demand { scheme, ..demand.clone() }).unwrap().work()
    };
    assert_eq!(of(None), of(Some(SchemeKind::Bgv)).min(of(Some(SchemeKind::Bfv))));
}

#[test]
fn what_nothing_serves_is_refused_with_its_reason() {
    let columns = columns(5, 30);
    let code = |text: &str, scheme, precision| {
        let expression = Expression::parse(text).unwrap();
        let vectors: Vec<Vector> = columns[..expression.names().len()].iter().map(Column::vector).collect();
        let demand = Demand { length: 30, scheme, precision, is_bridged: false };
        Plan::choose(&expression, &vectors, &demand).unwrap_err().code()
    };
    assert_eq!(code("x^64*y^64", None, None), "HUSH-X022");
    assert_eq!(code("x*y", Some(SchemeKind::Ckks), Some(1e-30)), "HUSH-X023");
    assert_eq!(code("x*y", Some(SchemeKind::Ckks), Some(f64::NAN)), "HUSH-X023");
    assert_eq!(code("x*1e20 + z*y", Some(SchemeKind::Ckks), Some(1.0)), "HUSH-X023");
    assert_eq!(code("x/y", None, None), "HUSH-X007");
}

/// Random expressions of small depth, every scheme. `HUSH_MUTATIONS` asks for more of them.
#[test]
fn random_expressions() {
    let count = std::env::var("HUSH_MUTATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(6_u64);
    for seed in 0..count {
        let columns = columns(seed, 40);
        let mut draw = Draw::of(1000 + seed);
        let text = random_text(&mut draw, 3);
        let expression = Expression::parse(&text).unwrap();
        if expression.names().is_empty() {
            continue;
        }
        for scheme in SCHEMES {
            let vectors: Vec<Vector> =
                columns[..expression.names().len()].iter().map(Column::vector).collect();
            let demand = Demand { length: 40, scheme: Some(scheme), precision: Some(1e3), is_bridged: false };
            match Plan::choose(&expression, &vectors, &demand) {
                Ok(_) => drop(check(&text, Some(scheme), Some(1e3), &columns)),
                // Refused is not wrong; a circuit that does not run is.
                Err(error) => assert!(!matches!(error, ProgramError::Circuit(_)), "{text}: {error}"),
            }
        }
    }
}

/// Sums, differences and products up to a height.
fn random_text(draw: &mut Draw, height: u32) -> String {
    let mut pick = |count: f64| draw.reals(1, 0.0, count)[0] as usize;
    let (kind, name, number) = (pick(4.0), pick(3.0), pick(30.0));
    if height == 0 || kind == 3 && height < 3 {
        return if kind == 0 { format!("{}.5", number) } else { ["x", "y", "z"][name].to_owned() };
    }
    let (a, b) = (random_text(draw, height - 1), random_text(draw, height - 1));
    format!("({a} {} {b})", ["+", "-", "*", "*"][kind])
}
