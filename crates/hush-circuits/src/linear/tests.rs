// SPDX-License-Identifier: Apache-2.0
//! Transforms against clear products of matrices, and their keys.

use hush_params::ChainParams;
use hush_rlwe::{EvaluationKeys, RlweError};
use hush_schemes::SchemeError;
use hush_schemes::ckks::Complex;

use super::*;
use crate::testing::*;

/// `Σ_k d_k[i]·v[i + k]` for one row.
fn direct(diagonals: &[(i64, Vec<i64>)], row: &[i64]) -> Vec<i64> {
    let n = row.len();
    let slot = |i: usize| {
        let term = |(k, d): &(i64, Vec<i64>)| {
            i128::from(d[i]) * i128::from(row[(i as i64 + k).rem_euclid(n as i64) as usize])
        };
        centered(diagonals.iter().map(term).sum())
    };
    (0..n).map(slot).collect()
}

fn without(keys: &EvaluationKeys, element: usize) -> EvaluationKeys {
    let mut fewer = EvaluationKeys::new();
    keys.iter().filter(|key| key.element() as usize != element).for_each(|key| fewer.insert(key.clone()));
    fewer
}

#[test]
fn integer_transforms_follow_the_matrix_with_exactly_the_keys_that_they_list() {
    let degree = 64;
    let offset_sets: [&[i64]; 5] = [&[0], &[5], &[0, 1, 2, 3, 4, 5, 6, 7], &[-1, 0, 1], &[3, 9, 16, 17, 30]];
    for digit_limbs in [1, 2] {
        let mut draw = Draw::new();
        let params = toy(degree as u32, 2, digit_limbs);
        let (mut party, mut other) = (bgv(&params), bfv(&params));
        for offsets in offset_sets {
            let diagonals: Vec<(i64, Vec<i64>)> =
                offsets.iter().map(|&k| (k, draw.integers(degree / 2))).collect();
            let x = draw.integers(degree);
            let expected =
                [direct(&diagonals, &x[..degree / 2]), direct(&diagonals, &x[degree / 2..])].concat();
            let diagonals = Diagonals::new(degree / 2, diagonals).unwrap();
            let transform = LinearTransform::new(&party.scheme, &diagonals, Level(1)).unwrap();
            let elements = transform.split().galois_elements(degree);
            party.rekey(&elements);
            let a = party.encrypt(&x, Level(1));
            let result = transform.apply(&party.scheme, &a, &party.keys).unwrap();
            assert_eq!(party.decrypt(&result), expected, "{offsets:?} {draw}");
            for &element in &elements {
                let fewer = without(&party.keys, element);
                let refused = transform.apply(&party.scheme, &a, &fewer).unwrap_err();
                assert_eq!(refused, RlweError::MissingKey { element }.into());
            }
            other.rekey(&elements);
            let transform = LinearTransform::new(&other.scheme, &diagonals, Level(1)).unwrap();
            let a = other.encrypt(&x, Level(1));
            let result = transform.apply(&other.scheme, &a, &other.keys).unwrap();
            assert_eq!(other.decrypt(&result), expected, "BFV {offsets:?} {draw}");
        }
    }
}

#[test]
fn rows_may_have_matrices_of_their_own_and_every_split_gives_the_same() {
    let (degree, n) = (64, 32);
    let mut draw = Draw::new();
    let mut party = bgv(&toy(degree as u32, 1, 1));
    let both: Vec<(i64, Vec<i64>)> = (0..6).map(|k| (k, draw.integers(degree))).collect();
    let half = |row: usize| -> Vec<(i64, Vec<i64>)> {
        both.iter().map(|(k, d)| (*k, d[row * n..][..n].to_vec())).collect()
    };
    let x = draw.integers(degree);
    let expected = [direct(&half(0), &x[..n]), direct(&half(1), &x[n..])].concat();
    let diagonals = Diagonals::new(n, both).unwrap();
    for giant_step in [1, 2, 3, 5, 8] {
        let split = Split::by(giant_step, &diagonals.offsets());
        party.rekey(&split.galois_elements(degree));
        let transform = LinearTransform::with_split(&party.scheme, &diagonals, Level(1), split).unwrap();
        // A ciphertext with a factor of its own.
        let a = party.encrypt(&x, Level(1));
        let a = party.scheme.ciphertext_at(party.scheme.mul_scalar(&a, 3).inner().clone(), 3).unwrap();
        let result = transform.apply(&party.scheme, &a, &party.keys).unwrap();
        assert_eq!(party.decrypt(&result), expected, "giant step {giant_step}, {draw}");
    }
}

#[test]
fn complex_transforms_follow_the_matrix_and_use_one_level() {
    for (params, scale_log2, precision) in
        [(toy(64, 2, 1), TOY_SCALE_LOG2, -28.0), (rational(64, 2), 55.0, -36.0)]
    {
        let mut draw = Draw::new();
        let mut owner = ckks(&params, scale_log2);
        let matrix: Vec<Vec<Complex>> = (0..32).map(|_| draw.complex(32)).collect();
        let x = draw.complex(32);
        let product =
            |row: &Vec<Complex>| row.iter().zip(&x).fold(Complex::default(), |sum, (&m, &x)| sum + m * x);
        let expected: Vec<Complex> = matrix.iter().map(product).collect();
        let diagonals = Diagonals::of_matrix(32, &matrix).unwrap();
        let transform = LinearTransform::new(&owner.scheme, &diagonals, Level(2)).unwrap();
        owner.rekey(&transform.split().galois_elements(64));
        let result = transform.apply(&owner.scheme, &owner.encrypt(&x, Level(2)), &owner.keys).unwrap();
        assert_eq!(result.level(), Level(1));
        assert_close(&owner.decrypt(&result), &expected, precision);
        let refused = transform.apply(&owner.scheme, &result, &owner.keys).unwrap_err();
        assert_eq!(refused, CircuitError::PreparedLevel { found: Level(1), expected: Level(2) });
        let last = LinearTransform::new(&owner.scheme, &diagonals, Level(0)).unwrap();
        let refused = last.apply(&owner.scheme, &owner.encrypt(&x, Level(0)), &owner.keys).unwrap_err();
        assert_eq!(refused, CircuitError::Levels { found: Level(0), expected: 1 });
    }
}

#[test]
fn small_matrices_stand_in_the_corner() {
    let mut draw = Draw::new();
    let mut party = bgv(&toy(64, 1, 1));
    let matrix: Vec<Vec<i64>> = (0..3).map(|_| draw.integers(5)).collect();
    let x = draw.integers(5);
    let diagonals = Diagonals::of_matrix(32, &matrix).unwrap();
    let transform = LinearTransform::new(&party.scheme, &diagonals, Level(1)).unwrap();
    party.rekey(&transform.split().galois_elements(64));
    let result = transform.apply(&party.scheme, &party.encrypt(&x, Level(1)), &party.keys).unwrap();
    let product =
        |row: &Vec<i64>| centered(row.iter().zip(&x).map(|(&m, &x)| i128::from(m) * i128::from(x)).sum());
    let mut expected: Vec<i64> = matrix.iter().map(product).collect();
    expected.resize(64, 0);
    assert_eq!(party.decrypt(&result), expected, "{draw}");
}

#[test]
fn malformed_transforms_are_refused() {
    let party = bgv(&toy(64, 1, 1));
    let owner = ckks(&toy(64, 1, 1), TOY_SCALE_LOG2);
    let length = |offset, found, expected| CircuitError::DiagonalLength { offset, found, expected };
    assert_eq!(Diagonals::new(32, [(-1, vec![1_i64; 31])]).unwrap_err(), length(31, 31, 32));
    let wide = Diagonals::of_matrix(32, &[vec![1_i64; 33]]).unwrap_err();
    assert_eq!(wide, CircuitError::Slot { found: 33, max: 32 });
    let zero = Diagonals::new(32, [(3, vec![0_i64; 32])]).unwrap();
    assert_eq!(LinearTransform::new(&party.scheme, &zero, Level(1)).unwrap_err(), CircuitError::NoDiagonals);
    let short = Diagonals::new(16, [(3, vec![1_i64; 16])]).unwrap();
    assert_eq!(LinearTransform::new(&party.scheme, &short, Level(1)).unwrap_err(), length(3, 16, 32));
    let two_rows = Diagonals::new(32, [(3, vec![Complex { re: 1.0, im: 0.0 }; 64])]).unwrap();
    assert_eq!(LinearTransform::new(&owner.scheme, &two_rows, Level(1)).unwrap_err(), length(3, 64, 32));
    let good = Diagonals::new(32, [(3, vec![1_i64; 32])]).unwrap();
    assert!(matches!(
        LinearTransform::new(&party.scheme, &good, Level(9)).unwrap_err(),
        CircuitError::Scheme(SchemeError::Ring(_))
    ));
    let foreign = Split::by(4, &[0, 1]);
    let refused = LinearTransform::with_split(&party.scheme, &good, Level(1), foreign).unwrap_err();
    assert_eq!(refused, CircuitError::Slot { found: 3, max: 4 });
}

/// A full matrix needs about two roots of its size of rotations; every rotation of a split serves a diagonal.
#[test]
fn splits_are_near_the_square_root() {
    let params = ChainParams::uniform(8192, 46, 1, 3, 1, 1).unwrap();
    let party = bgv(&params);
    let all: Vec<usize> = (0..4096).collect();
    let split = Split::cheapest(party.scheme.chain(), Level(2), &all).unwrap();
    let elements = split.galois_elements(8192);
    assert_eq!(elements.len(), split.babies().len() + split.giants().len() - 2);
    assert!((126..=260).contains(&elements.len()), "{} keys", elements.len());
    assert!(split.babies().len() >= split.giants().len(), "baby steps are the cheaper ones");
    // Multiples of 64 with two neighbours each.
    let clustered: Vec<usize> = (0..8).flat_map(|k| [64 * k, 64 * k + 1, 64 * k + 2]).collect();
    let split = Split::cheapest(party.scheme.chain(), Level(2), &clustered).unwrap();
    assert!(split.galois_elements(8192).len() <= 14, "{split:?}");
}

/// A dense 64 x 64 matrix on a ring at 128 bits.
#[test]
fn a_dense_matrix_at_a_secure_size() {
    let mut draw = Draw::new();
    let mut party = bgv(&ChainParams::uniform(8192, 46, 1, 3, 1, 1).unwrap());
    let matrix: Vec<Vec<i64>> = (0..64).map(|_| draw.integers(64)).collect();
    let x = draw.integers(64);
    let diagonals = Diagonals::of_matrix(4096, &matrix).unwrap();
    let transform = LinearTransform::new(&party.scheme, &diagonals, Level(2)).unwrap();
    let elements = transform.split().galois_elements(8192);
    assert!(elements.len() < 40, "{} keys", elements.len());
    party.rekey(&elements);
    let result = transform.apply(&party.scheme, &party.encrypt(&x, Level(2)), &party.keys).unwrap();
    let product =
        |row: &Vec<i64>| centered(row.iter().zip(&x).map(|(&m, &x)| i128::from(m) * i128::from(x)).sum());
    let mut expected: Vec<i64> = matrix.iter().map(product).collect();
    expected.resize(8192, 0);
    assert_eq!(party.decrypt(&result), expected, "{draw}");
}
