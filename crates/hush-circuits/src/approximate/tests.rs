// SPDX-License-Identifier: Apache-2.0
//! Approximate functions: their plans against `f64`, and their evaluation against their plans.

use hush_params::ChainParams;
use hush_ring::Level;

use super::*;
use crate::testing::*;

const DEPTH: usize = 14;

fn deep() -> Owner<hush_schemes::ckks::Ckks> {
    let params = toy(64, DEPTH, 3);
    ckks(&params, params.steady_scale_log2())
}

/// The smallest and the largest `|p(x)|` error over a dense grid of `[low, 1]`.
fn worst(low: f64, error: impl Fn(f64) -> f64) -> f64 {
    (0..=20_000).map(|k| low + (1.0 - low) * f64::from(k) / 20_000.0).map(error).fold(0.0, f64::max)
}

#[test]
fn minimax_polynomials_are_certified_best() {
    for (degree, low) in [(3, 0.5), (7, 0.1), (7, 0.9), (15, 0.02), (31, 0.01), (31, 0.3), (63, 0.05)] {
        let best = minimax_sign(degree, low, 1.0).unwrap();
        // No polynomial of the degree has an error below `least_error`, and this one has `error`.
        assert!(
            best.error <= best.least_error * (1.0 + 1e-4) + 1e-13,
            "degree {degree} on [{low}, 1]: {best:?}"
        );
        let value = |x: f64| crate::polynomial::chebyshev_value(&best.coefficients, x);
        let measured = worst(low, |x| (value(x) - 1.0).abs());
        assert!(measured <= best.error * (1.0 + 1e-6) + 1e-13);
        assert!(measured >= best.error * 0.99 - 1e-13, "the extremes are on the grid, nearly");
        assert!(best.coefficients.iter().step_by(2).all(|&c| c == 0.0));
        assert_eq!(best.coefficients.len(), degree + 1);
    }
    // Degree 1 by hand: c·x − 1 takes −E at low and E at high, c = 2/(low + high).
    let line = minimax_sign(1, 0.25, 0.75).unwrap();
    assert!((line.error - 0.5).abs() < 1e-12);
    assert!((line.coefficients[1] - 0.75 * 2.0).abs() < 1e-12);
    assert_eq!(minimax_sign(4, 0.1, 1.0), Err(CircuitError::Degree { found: 4, max: 63 }));
    assert_eq!(minimax_sign(3, 0.0, 1.0), Err(CircuitError::Interval { low: 0.0, high: 1.0 }));
}

#[test]
fn composites_are_as_precise_as_they_say() {
    for (epsilon_log2, precision_log2) in [(4, 8), (6, 10), (8, 20), (12, 12), (20, 20)] {
        let sign = Sign::new(epsilon_log2, precision_log2).unwrap();
        assert!(sign.error_log2() <= -f64::from(precision_log2));
        let measured = worst(sign.epsilon(), |x| (sign.value(x) - 1.0).abs());
        assert!(measured.log2() <= sign.error_log2() + 1e-3, "{epsilon_log2} {precision_log2}");
        for k in 0..1000 {
            let x = f64::from(k) / 1000.0;
            assert!((sign.value(-x) + sign.value(x)).abs() < 1e-12, "odd");
            assert!(sign.value(x).abs() <= 1.0 + sign.error_log2().exp2() + 1e-9, "bounded near zero, too");
        }
    }
    let given = Sign::of_degrees(&[7, 15, 27], 1.0 / 64.0).unwrap();
    assert_eq!((given.degrees(), given.depth()), (vec![7, 15, 27], 3 + 4 + 5));
    assert!(matches!(Sign::new(0, 10), Err(CircuitError::Interval { .. })));
    assert!(matches!(Sign::new(6, 60), Err(CircuitError::Precision { precision_log2: 60, .. })));
    assert!(matches!(Sign::of_degrees(&[], 0.1), Err(CircuitError::Degree { found: 0, .. })));
}

#[test]
fn signs_comparisons_and_maxima_of_slots() {
    let mut draw = Draw::new();
    let owner = deep();
    let sign = Sign::new(6, 12).unwrap();
    assert!(sign.depth() < DEPTH as u32, "{:?}", sign.degrees());
    let level = Level(sign.depth() as u8 + 1);
    // Differences of at least 2^-6.
    let x = draw.reals(32, 0.0, 1.0);
    let y: Vec<f64> =
        x.iter().map(|x| if *x > 0.5 { x - 0.016 - 0.4 * x * x } else { x + 0.016 + 0.3 * x }).collect();
    let difference: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x - y).collect();
    let (a, b) = (owner.encrypt_real(&x, level), owner.encrypt_real(&y, level));
    let precision = -11.9;
    let found = sign.evaluate(&owner.scheme, &owner.scheme.sub(&a, &b).unwrap(), &owner.keys).unwrap();
    assert_eq!(found.level(), Level(1));
    owner.assert_near(&found, &difference.iter().map(|d| d.signum()).collect::<Vec<_>>(), precision);
    // Noise apart, the result is the composite's value to far more bits.
    owner.assert_near(&found, &difference.iter().map(|&d| sign.value(d)).collect::<Vec<_>>(), -20.0);
    let found = sign.compare(&owner.scheme, &a, &b, &owner.keys).unwrap();
    let larger = |d: &f64| if *d > 0.0 { 1.0 } else { 0.0 };
    owner.assert_near(&found, &difference.iter().map(larger).collect::<Vec<_>>(), precision - 1.0);
    let found = sign.maximum(&owner.scheme, &a, &b, &owner.keys).unwrap();
    assert_eq!(found.level(), Level(0));
    owner.assert_near(&found, &x.iter().zip(&y).map(|(x, y)| x.max(*y)).collect::<Vec<_>>(), precision - 1.0);
    let d = owner.scheme.sub(&a, &b).unwrap();
    let found = sign.abs(&owner.scheme, &d, &owner.keys).unwrap();
    owner.assert_near(&found, &difference.iter().map(|d| d.abs()).collect::<Vec<_>>(), precision);
    let low = owner.encrypt_real(&x, Level(sign.depth() as u8));
    let refused = sign.abs(&owner.scheme, &low, &owner.keys).unwrap_err();
    assert_eq!(refused, CircuitError::Levels { found: low.level(), expected: sign.depth() + 1 });
}

#[test]
fn inverses_are_as_precise_as_they_say() {
    let mut draw = Draw::new();
    let owner = deep();
    for (low, high, precision_log2, depth) in
        [(0.5, 1.5, 20, 6), (0.1, 1.0, 16, 7), (2.0, 64.0, 12, 9), (0.9, 1.1, 3, 1)]
    {
        let inverse = Inverse::new(low, high, precision_log2).unwrap();
        assert_eq!(inverse.depth(), depth, "{inverse:?}");
        assert!(inverse.error_log2() <= -f64::from(precision_log2));
        let x = draw.reals(32, low, high);
        let a = owner.encrypt_real(&x, Level(depth as u8));
        let found = inverse.evaluate(&owner.scheme, &a, &owner.keys).unwrap();
        assert_eq!(found.level(), Level(0));
        let precision = inverse.error_log2() - low.log2() + 0.1;
        owner.assert_near(&found, &x.iter().map(|x| 1.0 / x).collect::<Vec<_>>(), precision);
        let refused =
            inverse.evaluate(&owner.scheme, &owner.encrypt_real(&x, Level(depth as u8 - 1)), &owner.keys);
        let expected = CircuitError::Levels { found: Level(depth as u8 - 1), expected: depth };
        assert_eq!(refused.unwrap_err(), expected);
    }
    for (low, high) in [(0.0, 1.0), (-1.0, 1.0), (1.0, 1.0), (2.0, 1.0), (1.0, f64::INFINITY)] {
        assert_eq!(Inverse::new(low, high, 10), Err(CircuitError::Interval { low, high }));
    }
    assert!(matches!(Inverse::new(1e-12, 1.0, 30), Err(CircuitError::Precision { .. })));
    assert!(matches!(Inverse::new(0.5, 1.0, 45), Err(CircuitError::Precision { .. })));
}

#[test]
fn square_roots_are_as_precise_as_they_say() {
    let mut draw = Draw::new();
    let owner = deep();
    for (low, high, precision_log2) in [(0.5, 1.5, 20), (0.05, 1.0, 16), (1.0, 100.0, 12), (0.9, 1.1, 4)] {
        let (root, inverse) = (
            SquareRoot::new(low, high, precision_log2).unwrap(),
            InverseSquareRoot::new(low, high, precision_log2).unwrap(),
        );
        assert!(inverse.error_log2() <= -f64::from(precision_log2));
        assert_eq!(root.depth(), inverse.depth() + 1);
        let x = draw.reals(32, low, high);
        let a = owner.encrypt_real(&x, Level(root.depth() as u8));
        let found = inverse.evaluate(&owner.scheme, &a, &owner.keys).unwrap();
        assert_eq!(found.level(), Level(1));
        let bound = |size: f64| (inverse.error_log2().exp2() * size + 2e-8).log2();
        owner.assert_near(
            &found,
            &x.iter().map(|x| 1.0 / x.sqrt()).collect::<Vec<_>>(),
            bound(1.0 / low.sqrt()),
        );
        let found = root.evaluate(&owner.scheme, &a, &owner.keys).unwrap();
        assert_eq!(found.level(), Level(0));
        owner.assert_near(&found, &x.iter().map(|x| x.sqrt()).collect::<Vec<_>>(), bound(high.sqrt()));
        let refused =
            root.evaluate(&owner.scheme, &owner.encrypt_real(&x, Level(root.depth() as u8 - 1)), &owner.keys);
        assert!(matches!(refused, Err(CircuitError::Levels { .. })));
    }
    assert!(matches!(SquareRoot::new(0.0, 1.0, 10), Err(CircuitError::Interval { .. })));
    assert!(matches!(SquareRoot::new(1e-9, 1.0, 20), Err(CircuitError::Precision { .. })));
}

/// Newton's steps are taken where the start alone would be deeper.
#[test]
fn newton_steps_continue_a_start() {
    let mut draw = Draw::new();
    let owner = deep();
    let inverse = InverseSquareRoot::from_start(3, 2, 0.2, 1.0).unwrap();
    assert_eq!((inverse.start_degree(), inverse.iterations()), (3, 2));
    let x = draw.reals(32, 0.2, 1.0);
    let a = owner.encrypt_real(&x, Level(inverse.depth() as u8));
    let found = inverse.evaluate(&owner.scheme, &a, &owner.keys).unwrap();
    assert_eq!(found.level(), Level(0));
    let bound = (inverse.error_log2().exp2() / 0.2_f64.sqrt() + 2e-8).log2();
    owner.assert_near(&found, &x.iter().map(|x| 1.0 / x.sqrt()).collect::<Vec<_>>(), bound);
}

/// A comparison on a ring at 128 bits: levels of 45 bits over a base of 90.
#[test]
fn a_comparison_at_a_secure_size() {
    let mut draw = Draw::new();
    let sign = Sign::new(4, 8).unwrap();
    let depth = sign.depth();
    let params = ChainParams::uniform(32768, 46, 2, depth as usize + 2, 4, 4).unwrap();
    let owner = ckks(&params, params.steady_scale_log2());
    let x = draw.reals(16384, 0.0, 0.45);
    let y: Vec<f64> = x.iter().map(|x| 0.95 - 1.9 * x).map(|y| if y > 0.5 { y } else { 0.0 }).collect();
    let (a, b) = (owner.encrypt_real(&x, Level(depth as u8)), owner.encrypt_real(&y, Level(depth as u8)));
    let found = sign.compare(&owner.scheme, &a, &b, &owner.keys).unwrap();
    let expected: Vec<f64> = x.iter().zip(&y).map(|(x, y)| 0.5 + 0.5 * sign.value(x - y)).collect();
    owner.assert_near(&found, &expected, -18.0);
}
