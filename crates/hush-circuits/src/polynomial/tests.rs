// SPDX-License-Identifier: Apache-2.0
//! Polynomials against Horner's rule, and their depth.

use hush_params::ChainParams;
use hush_ring::Level;

use super::*;
use crate::CircuitError;
use crate::testing::*;

fn horner(coefficients: &[i64], x: i64) -> i64 {
    coefficients.iter().rev().fold(0, |value, &c| centered(i128::from(value) * i128::from(x) + i128::from(c)))
}

#[test]
fn integer_polynomials_of_every_degree_follow_horner_at_the_least_depth() {
    let mut draw = Draw::new();
    let party = bgv(&toy(64, 6, 2));
    let x = draw.integers(64);
    for degree in (1..=17).chain([31, 32, 40, 63]) {
        let mut coefficients = draw.integers(degree + 1);
        coefficients[degree] = 1 + (draw.below(1000) as i64);
        let polynomial = IntegerPolynomial::new(party.scheme.encoder(), &coefficients).unwrap();
        let depth = (degree as f64 + 1.0).log2().ceil() as u32;
        assert_eq!((polynomial.degree(), polynomial.depth()), (degree, depth));
        let top = Level(depth as u8);
        // A factor other than 1, as after a division.
        let a = party.scheme.mod_switch_to(&party.encrypt(&x, Level(6)), top).unwrap();
        let result = polynomial.evaluate(&party.scheme, &a, &party.keys).unwrap();
        assert_eq!(result.level(), Level(0));
        let expected: Vec<i64> = x.iter().map(|&x| horner(&coefficients, x)).collect();
        assert_eq!(party.decrypt(&result), expected, "degree {degree}, {draw}");
        let low = party.encrypt(&x, top.below().unwrap());
        let refused = polynomial.evaluate(&party.scheme, &low, &party.keys).unwrap_err();
        assert_eq!(refused, CircuitError::Levels { found: low.level(), expected: depth });
    }
}

#[test]
fn integer_polynomials_in_bfv_keep_the_level() {
    let mut draw = Draw::new();
    let party = bfv(&toy(64, 7, 2));
    let x = draw.integers(64);
    for degree in [1, 2, 3, 6, 7, 15] {
        let mut coefficients = draw.integers(degree + 1);
        coefficients[degree] = 1;
        let polynomial = IntegerPolynomial::new(party.scheme.encoder(), &coefficients).unwrap();
        let a = party.encrypt(&x, Level(7));
        let result = polynomial.evaluate_invariant(&party.scheme, &a, &party.keys).unwrap();
        assert_eq!(result.ring(), a.ring());
        let expected: Vec<i64> = x.iter().map(|&x| horner(&coefficients, x)).collect();
        assert_eq!(party.decrypt(&result), expected, "degree {degree}, {draw}");
    }
}

#[test]
fn sparse_integer_polynomials_compute_no_power_that_they_lack() {
    let mut draw = Draw::new();
    let party = bgv(&toy(64, 5, 1));
    let mut coefficients = vec![0; 17];
    (coefficients[16], coefficients[1]) = (3, -5);
    let polynomial = IntegerPolynomial::new(party.scheme.encoder(), &coefficients).unwrap();
    assert_eq!(polynomial.cost().products, 4, "squares alone");
    let x = draw.integers(64);
    let result = polynomial.evaluate(&party.scheme, &party.encrypt(&x, Level(5)), &party.keys).unwrap();
    assert_eq!(party.decrypt(&result), x.iter().map(|&x| horner(&coefficients, x)).collect::<Vec<_>>());
    let constant = IntegerPolynomial::new(party.scheme.encoder(), &[7, T as i64]).unwrap_err();
    assert_eq!(constant, CircuitError::Degree { found: 0, max: MAX_DEGREE });
    assert!(IntegerPolynomial::new(party.scheme.encoder(), &vec![1; MAX_DEGREE + 2]).is_err());
}

#[test]
fn relinearisations_stay_near_twice_the_root_of_the_degree() {
    for (degree, most) in [(7, 4), (15, 7), (31, 10), (63, 15), (127, 22), (255, 32)] {
        let coefficients: Vec<f64> = (0..=degree).map(|i| 1.0 / (1.0 + f64::from(i))).collect();
        let polynomial = RealPolynomial::chebyshev(&coefficients, -1.0, 1.0).unwrap();
        let cost = polynomial.cost();
        assert_eq!(cost.depth, (f64::from(degree) + 1.0).log2().ceil() as u32);
        assert!(cost.relinearisations <= most, "degree {degree}: {cost:?}");
        assert!(cost.products >= cost.relinearisations);
    }
}

#[test]
fn real_polynomials_of_both_bases_are_precise_on_every_kind_of_chain() {
    for (params, scale_log2, precision) in
        [(toy(64, 6, 2), TOY_SCALE_LOG2, -26.0), (rational(64, 6), 55.0, -34.0)]
    {
        let mut draw = Draw::new();
        let owner = ckks(&params, scale_log2);
        let x = draw.reals(32, -1.0, 1.0);
        for degree in (1..=9).chain([15, 16, 31, 63]) {
            let coefficients = draw.reals(degree + 1, -1.0, 1.0);
            for polynomial in
                [RealPolynomial::power(&coefficients), RealPolynomial::chebyshev(&coefficients, -1.0, 1.0)]
            {
                let polynomial = polynomial.unwrap();
                let depth = (degree as f64 + 1.0).log2().ceil() as u32;
                assert_eq!(polynomial.depth(), depth);
                let a = owner.encrypt_real(&x, Level(6));
                let result = polynomial.evaluate(&owner.scheme, &a, &owner.keys).unwrap();
                assert_eq!(u32::from(result.level().0), 6 - depth);
                let expected: Vec<f64> = x.iter().map(|&x| polynomial.value(x)).collect();
                owner.assert_near(&result, &expected, precision);
            }
        }
    }
}

#[test]
fn functions_are_interpolated_on_any_interval() {
    let mut draw = Draw::new();
    let owner = ckks(&toy(64, 6, 2), TOY_SCALE_LOG2);
    type Case = (fn(f64) -> f64, usize, f64, f64, u32);
    let cases: [Case; 4] = [
        (f64::exp, 15, -1.0, 1.0, 4),
        (f64::sin, 31, -8.0, 8.0, 6),
        (|x| 1.0 / (1.0 + (-x).exp()), 31, -4.0, 6.0, 6),
        (|x| (3.0 * x).cos(), 15, 0.0, 1.0, 4),
    ];
    for (function, degree, low, high, depth) in cases {
        let polynomial = RealPolynomial::interpolation(function, degree, low, high).unwrap();
        assert_eq!(polynomial.depth(), depth);
        let x = draw.reals(32, low, high);
        let result =
            polynomial.evaluate(&owner.scheme, &owner.encrypt_real(&x, Level(6)), &owner.keys).unwrap();
        owner.assert_near(&result, &x.iter().map(|&x| function(x)).collect::<Vec<_>>(), -24.0);
        for &x in &x {
            assert!((polynomial.value(x) - function(x)).abs() < 1e-7);
        }
    }
    let odd = RealPolynomial::interpolation(f64::sin, 31, -8.0, 8.0).unwrap();
    assert!(odd.coefficients().iter().step_by(2).all(|&c| c == 0.0));
    let interval = CircuitError::Interval { low: 1.0, high: 1.0 };
    assert_eq!(chebyshev_interpolation(f64::exp, 3, 1.0, 1.0).unwrap_err(), interval);
    let node = chebyshev_interpolation(f64::ln, 2, -1.0, 1.0).unwrap_err();
    assert_eq!(node, CircuitError::NotFinite { index: 2 });
    assert!(matches!(RealPolynomial::power(&[0.0, f64::NAN]), Err(CircuitError::NotFinite { index: 1 })));
}

#[test]
fn ciphertexts_at_another_scale_are_refused() {
    let owner = ckks(&toy(64, 3, 1), TOY_SCALE_LOG2);
    let a = owner.encrypt_real(&[0.5; 32], Level(3));
    let scale = hush_schemes::RealScale::new(a.scale().value() * 1.5);
    let a = owner.scheme.ciphertext_at(a.inner().clone(), scale).unwrap();
    let polynomial = RealPolynomial::power(&[0.0, 1.0, 1.0]).unwrap();
    let refused = polynomial.evaluate(&owner.scheme, &a, &owner.keys).unwrap_err();
    assert!(matches!(refused, CircuitError::Scheme(hush_schemes::SchemeError::RealScales { .. })));
}

/// A sigmoid of degree 15 on a ring at 128 bits.
#[test]
fn a_sigmoid_at_a_secure_size() {
    let mut draw = Draw::new();
    let owner = ckks(&ChainParams::uniform(16384, 46, 2, 7, 2, 2).unwrap(), TOY_SCALE_LOG2);
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let polynomial = RealPolynomial::interpolation(sigmoid, 15, -4.0, 4.0).unwrap();
    let x = draw.reals(8192, -4.0, 4.0);
    let result = polynomial.evaluate(&owner.scheme, &owner.encrypt_real(&x, Level(5)), &owner.keys).unwrap();
    owner.assert_near(&result, &x.iter().map(|&x| polynomial.value(x)).collect::<Vec<_>>(), -21.0);
}

#[test]
fn odd_and_even_series_cost_less() {
    for degree in [15, 31, 63, 127] {
        let cost = |keep: fn(u32) -> bool| {
            let coefficient = |i: u32| if keep(i) { 1.0 / (1.0 + f64::from(i)) } else { 0.0 };
            let coefficients: Vec<f64> = (0..=degree).map(coefficient).collect();
            RealPolynomial::chebyshev(&coefficients, -1.0, 1.0).unwrap().cost()
        };
        let (all, odd, even) = (cost(|_| true), cost(|i| i % 2 == 1), cost(|i| i % 2 == 0));
        assert!(
            odd.relinearisations <= all.relinearisations && odd.scalings < all.scalings,
            "{odd:?} of {all:?}"
        );
        assert!(5 * even.relinearisations <= 4 * all.relinearisations, "{even:?} of {all:?}");
        assert!(9 * even.scalings <= 5 * all.scalings, "{even:?} of {all:?}");
    }
}
