// SPDX-License-Identifier: Apache-2.0
//! Programs deeper than their chain, on a ring that is far too small, against their texts in fractions.

#![allow(clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use hush_expr::{Expression, Interval, Ratio};
use hush_keys::ChainSecret;
use hush_params::ChainParams;
use hush_params::bootstrap::{BootstrapShape, N15, N16};
use hush_testkit::Draw;

use super::super::candidates::{Vector, drawn};
use super::super::{LaneKeys, Slots};
use super::*;
use crate::bootstrap::BootstrapKeys;

/// A lane with the levels of the large set, or fewer.
fn lane(program: u32) -> Lane {
    lane_of(BootstrapShape { degree: 256, program, to_coefficients: 2, to_slots: 2, ..*N16.shape() })
}

fn lane_of(shape: BootstrapShape) -> Lane {
    let chain = ChainParams::insecure_toy(shape.chain_spec().unwrap()).unwrap();
    Lane::bootstrapped(&shape, &chain, Cpu::detect().unwrap()).unwrap()
}

fn keys(lane: &Lane, secret: &ChainSecret) -> LaneKeys {
    let Lane::Bootstrapped(own) = lane else { panic!("a lane that bootstraps") };
    keys_up_to(&own.bootstrapping().key_levels(), secret)
}

fn keys_up_to(levels: &BTreeMap<usize, Level>, secret: &ChainSecret) -> LaneKeys {
    let evaluation = secret.evaluation_keys_up_to(levels).unwrap();
    let encapsulation = secret.encapsulation_keys().unwrap();
    LaneKeys::Bootstrapping(Box::new(BootstrapKeys { evaluation, encapsulation }))
}

/// Vectors of doubles with these ranges.
fn vectors_of(ranges: &[(f64, f64)]) -> Vec<Vector> {
    let ratio = |value: f64| Ratio::from_f64(value).unwrap();
    let vector = |&(low, high): &(f64, f64)| Vector {
        unit: Ratio::one(),
        range: Interval::new(ratio(low), ratio(high)),
        is_float: true,
    };
    ranges.iter().map(vector).collect()
}

/// Bootstrappings, the largest error, and its bound.
fn run(
    lane: &Lane,
    secret: &ChainSecret,
    keys: &LaneKeys,
    text: &str,
    (ranges, length): (&[(f64, f64)], usize),
) -> (usize, f64, f64) {
    let expression = Expression::parse(text).unwrap();
    let mut draw = Draw::new();
    let columns: Vec<Vec<f64>> = ranges.iter().map(|&(low, high)| draw.reals(length, low, high)).collect();
    let ratio = |value: f64| Ratio::from_f64(value).unwrap();
    let vectors = vectors_of(ranges);
    let drawn = drawn(&expression, &vectors, length).unwrap().pop().unwrap();
    let circuit = placed(lane, &drawn).unwrap();
    let bounds = lane.bounds(&circuit, 0.0).unwrap();
    assert!(bounds.margin_bits > 0.0, "{text}: {}", bounds.margin_bits);
    let bound = result_error(&drawn, &bounds, length);
    let encrypt = |&input: &usize| {
        let inverse = drawn.inputs[input].unit.recip().unwrap();
        let values: Vec<Ratio> = columns[input].iter().map(|&value| &ratio(value) * &inverse).collect();
        secret.encrypt(lane.encode(&circuit, &values).unwrap()).unwrap().expand().unwrap()
    };
    let inputs = circuit.used_inputs().iter().map(encrypt).collect();
    let (output, meaning) = lane.evaluate(&circuit, inputs, keys).unwrap();
    let Slots::Approximate(found) = lane.decode(secret.phase(&output).unwrap().poly(), meaning).unwrap()
    else {
        panic!("doubles")
    };
    let columns: Vec<Vec<Ratio>> =
        columns.iter().map(|column| column.iter().map(|&value| ratio(value)).collect()).collect();
    let vectors: Vec<&[Ratio]> = columns.iter().map(Vec::as_slice).collect();
    let expected = expression.values(&vectors).unwrap();
    let error =
        |(found, expected): (&f64, &Ratio)| (&circuit.result(&ratio(*found), 1) - expected).abs().to_f64();
    let worst = found.iter().zip(&expected).map(error).fold(0.0, f64::max);
    assert!(worst <= bound, "{text}: off by {worst:e}, bound {bound:e}, {draw}");
    let raised = circuit.raises().iter().map(|raise| raise.steps.len()).sum();
    (raised, worst, bound)
}

#[test]
fn what_is_deeper_than_the_chain_is_evaluated_within_its_bound() {
    let lane = lane(4);
    let secret = ChainSecret::generate(lane.chain()).unwrap();
    let keys = keys(&lane, &secret);
    let unit = (-1.0, 1.0);
    for (text, ranges, least) in [
        // One product for each turn, with a coefficient that no level is lost to.
        ("repeat(20, z := x, z^2/2 + y/4)", vec![unit, unit], 3),
        // Values far above 1, and far below.
        ("repeat(12, z := x, z^2/200 - 30)", vec![(-90.0, 90.0)], 2),
        ("repeat(12, z := x, 100*z^2 + 0.001)", vec![(-0.002, 0.002)], 2),
        // Errors shrink with each turn, though they do not step by step.
        ("repeat(40, z := x, 2*z*(1 - z))", vec![(0.2, 0.8)], 8),
        // Two states, bootstrapped as one.
        ("repeat(15, a := x, b := y, (a + b)/2, a*b)", vec![(0.1, 1.0), (0.1, 1.0)], 2),
        // A sum with a constant inside another, on one level.
        ("repeat(1, a := x, x^2 + y^2 + 0.5) + x*y", vec![unit, unit], 0),
        ("repeat(9, a := x^2 + y^2 + 0.5, (a + x*y)/4 + a^2/8)", vec![unit, unit], 1),
        // Steps from before a turn come again in it, one of them as what it starts from.
        ("repeat(1, z := x^64, x^64*x^2)", vec![(0.98, 1.0)], 1),
        ("repeat(1, z := x^64, x^128)", vec![(0.98, 1.0)], 1),
        ("repeat(1, z := x^256, x^512 + 0*z)", vec![(0.999, 1.0)], 1),
        ("repeat(8, a := x*y, b := y, a*b/2 + x*y/4, a*a - x*y/2)", vec![unit, unit], 1),
        // What cancels leaves nothing behind, and constants are as exact as doubles.
        ("repeat(4, z := 3 + 0.1 - x, -1e300 - z*x - 1)*1e-300", vec![(0.1, 0.2)], 0),
        ("repeat(8, z := x, 1e12*(z*1e-12 + 0.1 + 0.2 - 0.3) + z^2/8)", vec![(0.1, 0.4)], 1),
        ("repeat(1, z := x, 1e-12*z) + 1e6/3", vec![unit], 0),
        ("repeat(6, z := x, 1e9*(z^2/3 - 0.333333333*z^2))", vec![(0.1, 1.0)], 0),
        // As large as parts may be when they are bootstrapped, alone and in pairs.
        ("repeat(5, z := x, z*z*z*z)", vec![(0.0, 0.9999)], 1),
        ("repeat(4, a := (x + y)^2, b := y^3, 0.25*b^5, a)", vec![(-0.7, 0.7), (-0.7, 0.7)], 0),
        // A state that is a vector, before another vector has been met.
        ("repeat(1, b := 1, y + repeat(1, a := x, a - a)) + x", vec![unit, unit], 0),
        // Nothing of it in the last turns is deep.
        ("repeat(3, z := x, repeat(5, w := z, w*x)) + y", vec![unit, unit], 2),
        // Without a repetition.
        ("((((((x^2 + y)^2/4 - y)^2/4 + y)^2/4 - y)^2/4 + y)^2/4 - y)^2/4", vec![unit, unit], 1),
        // No depth to speak of.
        ("repeat(100, z := x, 0.9*z + 0.1*y)", vec![unit, unit], 0),
    ] {
        let (raised, _, bound) = run(&lane, &secret, &keys, text, (&ranges, lane.slot_count()));
        assert!(raised >= least, "{text}: {raised} bootstrappings");
        assert!(bound < 0.02, "{text}: {bound:e}");
    }
    // Small primes, where a value at the end of its range is furthest off.
    let lane = lane_of(BootstrapShape { degree: 512, ..*N15.shape() });
    let secret = ChainSecret::generate(lane.chain()).unwrap();
    let keys = self::keys(&lane, &secret);
    for (text, ranges) in [
        ("repeat(3, z := x, z*z*z*z)", vec![(0.99, 0.9999)]),
        ("repeat(5, z := x, z*z*z*z)", vec![(0.0, 0.9999)]),
        ("repeat(4, a := (x + y)^2, b := y^3, 0.25*b^5, a)", vec![(-0.7, 0.7), (-0.7, 0.7)]),
    ] {
        let (raised, _, _) = run(&lane, &secret, &keys, text, (&ranges, lane.slot_count()));
        assert!(raised > 0, "{text}");
    }
}

/// Means inside: of as many elements as there are slots, of fewer, and of no power of two.
#[test]
fn means_inside_expressions_are_over_the_elements_alone() {
    let lane = lane(6);
    let secret = ChainSecret::generate(lane.chain()).unwrap();
    let slots = lane.slot_count();
    for (text, ranges, length) in [
        ("x - mean(x)", vec![(2.0, 3.0)], slots),
        ("x*mean(x*y) + sum(y)/100", vec![(-1.0, 1.0), (0.5, 1.0)], slots / 4),
        ("(x - mean(x))^2 - mean((x - mean(x))^2)", vec![(-1.0, 1.0)], 11),
        ("dot(x, y)*x", vec![(-1.0, 1.0), (0.5, 1.0)], 1),
        // A model of one weight, and of two, by gradient descent.
        ("repeat(12, w := 0, w - mean((w*x - y)*x))", vec![(0.5, 1.0), (0.0, 1.0)], 100),
        (
            "repeat(6, a := 0, b := 0, a - mean(a + b*x - y)/2, b - mean((a + b*x - y)*x)/2)",
            vec![(-1.0, 1.0), (-1.0, 1.0)],
            slots / 2,
        ),
        (
            "repeat(5, w := 0, w + mean((y - (0.5 + 0.197*(w*x) - 0.004*(w*x)^3))*x))",
            vec![(-1.0, 1.0), (0.0, 1.0)],
            60,
        ),
    ] {
        let (_, _, bound) = run_with_sums(&lane, &secret, text, (&ranges, length));
        assert!(bound < 0.05, "{text}: {bound:e}");
    }
}

/// [`run`] with the keys that sums of elements need as well.
fn run_with_sums(
    lane: &Lane,
    secret: &ChainSecret,
    text: &str,
    (ranges, length): (&[(f64, f64)], usize),
) -> (usize, f64, f64) {
    let vectors = vectors_of(ranges);
    let drawn = drawn(&Expression::parse(text).unwrap(), &vectors, length).unwrap().pop().unwrap();
    let levels = lane.key_levels(&placed(lane, &drawn).unwrap());
    run(lane, secret, &keys_up_to(&levels, secret), text, (ranges, length))
}

/// Where vectors stand in the slots again and again: as long as there are slots, shorter, and of no power of two.
#[test]
fn few_slots_compute_what_many_do() {
    let shape = BootstrapShape { to_coefficients: 1, program: 5, repeats_log2: 3, ..*N16.shape() };
    let lane = lane_of(BootstrapShape { degree: 256, to_slots: 2, ..shape });
    assert_eq!(lane.slot_count(), 16);
    let secret = ChainSecret::generate(lane.chain()).unwrap();
    let unit = (-1.0, 1.0);
    for (text, ranges, length, least) in [
        ("repeat(20, z := x, z^2/2 + y/4)", vec![unit, unit], 16, 3),
        ("repeat(12, z := x, z^2/200 - 30)", vec![(-90.0, 90.0)], 1, 2),
        ("repeat(15, a := x, b := y, (a + b)/2, a*b)", vec![(0.1, 1.0), (0.1, 1.0)], 5, 2),
        ("repeat(12, w := 0, w - mean((w*x - y)*x))", vec![(0.5, 1.0), (0.0, 1.0)], 11, 2),
        ("x*mean(x*y) + sum(y)/100", vec![unit, (0.5, 1.0)], 16, 0),
    ] {
        let (raised, _, bound) = run_with_sums(&lane, &secret, text, (&ranges, length));
        assert!(raised >= least && bound < 0.02, "{text}: {raised} bootstrappings, {bound:e}");
    }
    let expression = Expression::parse("x*x").unwrap();
    let vector =
        Vector { unit: Ratio::one(), range: Interval::new(Ratio::zero(), Ratio::one()), is_float: true };
    let drawn = drawn(&expression, &[vector], 16).unwrap().pop().unwrap();
    let long = lane.encode(&placed(&lane, &drawn).unwrap(), &vec![Ratio::one(); 17]);
    assert_eq!(long.err(), Some(CircuitError::Slot { found: 17, max: 16 }));
}

/// Values that are bootstrapped twice are nearer: alone, in pairs, and with sums of elements.
#[test]
fn programs_that_bootstrap_twice_are_more_precise() {
    let (plain, mut refined) = (lane(4), lane(4));
    let Lane::Bootstrapped(own) = &mut refined else { panic!("a lane that bootstraps") };
    own.refine();
    assert_eq!(own.passes(), 2);
    let secret = ChainSecret::generate(plain.chain()).unwrap();
    for (text, ranges, length) in [
        ("repeat(12, z := x, z*y)", vec![(-1.0, 1.0), (0.98, 1.0)], 128),
        ("repeat(9, a := x, b := y, (a + b)/2, a*b)", vec![(0.1, 1.0), (0.1, 1.0)], 100),
        ("repeat(9, a := x, b := y, (a + b)/2 - 3, a*b/16)", vec![(-3.5, 1.0), (0.1, 3.5)], 100),
        ("repeat(10, w := 0, w - mean((w*x - y)*x))", vec![(0.5, 1.0), (0.0, 1.0)], 7),
    ] {
        let (raised, _, once) = run_with_sums(&plain, &secret, text, (&ranges, length));
        let (again, _, twice) = run_with_sums(&refined, &secret, text, (&ranges, length));
        assert!(raised > 0 && raised == again && twice < once / 8.0, "{text}: {raised}, {once:e}, {twice:e}");
    }
}

/// What stands behind short vectors stays within the bounds as well: as zeros these would grow beyond any modulus.
#[test]
fn slots_behind_short_vectors_spoil_nothing() {
    let lane = lane(9);
    let secret = ChainSecret::generate(lane.chain()).unwrap();
    let keys = keys(&lane, &secret);
    let text = "repeat(20, z := x, 4*(z - 100)^2 + 99.9)";
    let (raised, _, bound) = run(&lane, &secret, &keys, text, (&[(99.8, 100.2)], 3));
    assert!(raised >= 1 && bound < 0.01, "{raised} {bound:e}");
}

/// The bounds of turns as a whole are what keeps a long repetition from refusal.
#[test]
fn errors_that_a_turn_shrinks_do_not_grow() {
    let lane = lane(9);
    let error = |count: u32, text: &str| {
        let text = text.replace('#', &count.to_string());
        let expression = Expression::parse(&text).unwrap();
        let range = Interval::new(Ratio::from_f64(0.25).unwrap(), Ratio::from_f64(0.75).unwrap());
        let vector = Vector { unit: Ratio::one(), range, is_float: true };
        let drawn = drawn(&expression, &[vector], 1).unwrap().pop().unwrap();
        lane.bounds(&placed(&lane, &drawn).unwrap(), 0.0).map(|bounds| bounds.error_log2)
    };
    // The same turn, once more often: no more error.
    let text = "repeat(#, z := x, 2*z*(1 - z))";
    let (few, many) = (error(40, text).unwrap(), error(200, text).unwrap());
    assert!((few - many).abs() < 0.01, "{few} {many}");
    // Inside another repetition its steps alone tell, and they do not know that.
    let nested = "repeat(1, y := x, repeat(#, z := y, 2*z*(1 - z)))";
    assert!(matches!(error(40, nested), Err(CircuitError::Magnitude { .. })));
    assert!(error(7, nested).unwrap() > error(7, text).unwrap() + 3.0);
}

#[test]
fn what_has_no_bounds_is_refused() {
    let range = Interval::new(Ratio::from_f64(0.1).unwrap(), Ratio::from_f64(0.9).unwrap());
    let vector = Vector { unit: Ratio::one(), range, is_float: true };
    let drawn = |text: &str| {
        let drawn = drawn(&Expression::parse(text).unwrap(), std::slice::from_ref(&vector), 1);
        drawn.map(|mut all| all.pop().unwrap())
    };
    // Values without bounds.
    assert_eq!(drawn("repeat(1000, z := x, z^2 + x)").unwrap_err().code(), "HUSH-X010");
    // Errors that a turn may multiply nearly fourfold.
    let lane = lane(9);
    let circuit = placed(&lane, &drawn("repeat(200, z := x, 3.9*z*(1 - z))").unwrap()).unwrap();
    assert!(matches!(lane.bounds(&circuit, 0.0), Err(CircuitError::Magnitude { .. })));
}
