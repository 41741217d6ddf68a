// SPDX-License-Identifier: Apache-2.0
//! Base conversion and division against integers of 256 bits.

use ethnum::I256;
use hush_kernels::Cpu;
use hush_testkit::Draw;

use super::*;
use crate::Coeff;

const Q: [u64; 5] = [0x3fff_ffcc_0001, 0x3fff_ffb2_0001, 0x7_ffff_6001, 0x3fff_ffa8_0001, 0x3fff_ff96_0001];

fn limbs(moduli: &[u64]) -> Vec<RingLimb> {
    moduli.iter().map(|&q| RingLimb::plaintext(16, q, Cpu::detect().unwrap()).unwrap()).collect()
}

/// A random integer in `(−bound, bound)`, by rejection of nothing: reduced modulo `2·bound − 1`.
fn integer(draw: &mut Draw, bound: I256) -> I256 {
    let words = [draw.word(), draw.word(), draw.word()];
    let wide = words.iter().fold(I256::ZERO, |wide, &word| (wide << 64) | I256::from(word));
    wide.rem_euclid(bound * 2 - 1) - (bound - 1)
}

fn residues(values: &[I256], q: u64) -> Vec<u64> {
    values.iter().map(|value| value.rem_euclid(I256::from(q)).as_u64()).collect()
}

/// The quotient nearest to `a/b`, for an odd `b`.
fn round_div(a: I256, b: I256) -> I256 {
    (a * 2 + b).div_euclid(b * 2)
}

#[test]
fn conversion_gives_the_integer_nearest_to_zero() {
    let mut draw = Draw::new();
    for (source, target) in [(1, 4), (2, 3), (3, 2)] {
        let (from, to) = Q.split_at(source);
        assert_eq!(to.len(), target);
        let product = from.iter().fold(I256::ONE, |product, &q| product * I256::from(q));
        let half: I256 = product / 2;
        let edge: I256 = half - (half >> 38);
        let mut values: Vec<I256> = (0..40).map(|_| integer(&mut draw, edge)).collect();
        values.extend([I256::ZERO, I256::ONE, -I256::ONE, edge, -edge]);
        let converter = BaseConverter::new(&limbs(from), &limbs(to)).unwrap();
        let mut rows: Vec<u64> = from.iter().flat_map(|&q| residues(&values, q)).collect();
        rows.resize(converter.row_count() * values.len(), 0);
        converter.prepare(&mut rows);
        for (index, &p) in to.iter().enumerate() {
            let mut out = vec![0; values.len()];
            converter.convert(index, &rows, &mut out);
            assert_eq!(out, residues(&values, p), "{draw}");
        }
    }
}

#[test]
fn conversion_with_a_factor_gives_the_multiple_nearest_to_zero() {
    let mut draw = Draw::new();
    for count in [1, 2] {
        let (from, to) = Q.split_at(count);
        let product = from.iter().fold(I256::ONE, |product, &q| product * I256::from(q));
        for factor in [1_u64, 3, 65537, 1 << 40] {
            let values: Vec<I256> = (0..40).map(|_| integer(&mut draw, product / 2)).collect();
            let by = |d: Modulus| Ok(d.reduce_u64(factor));
            let converter = BaseConverter::with_factor(&limbs(from), &limbs(to), by).unwrap();
            let mut rows: Vec<u64> = from.iter().flat_map(|&q| residues(&values, q)).collect();
            rows.resize(converter.row_count() * values.len(), 0);
            converter.prepare(&mut rows);
            let centered = |&value: &I256| {
                let residue = (value * I256::from(factor)).rem_euclid(product);
                if residue > product / 2 { residue - product } else { residue }
            };
            let expected: Vec<I256> = values.iter().map(centered).collect();
            for (index, &p) in to.iter().enumerate() {
                let mut out = vec![0; values.len()];
                converter.convert(index, &rows, &mut out);
                assert_eq!(out, residues(&expected, p), "{draw}, {count} primes");
            }
        }
    }
}

/// `round((A·x)/D)` for a unit of 1, on polynomials with coefficients of up to 256 bits.
#[test]
fn divisions_round_to_nearest() {
    let mut draw = Draw::new();
    let ring = |moduli: &[u64]| Ring::insecure_toy(16, moduli).unwrap();
    let cases: [(&[u64], &[u64]); 5] = [
        (&Q[..3], &Q[..2]),
        (&Q[..3], &Q[..1]),
        (&Q[..2], &[Q[0], Q[2]]),
        (&[Q[0], Q[1], Q[3]], &[Q[0], Q[2]]),
        (&Q[..1], &Q[..2]),
    ];
    for (from, to) in cases {
        let gone = from.iter().filter(|q| !to.contains(q)).fold(I256::ONE, |d, &q| d * I256::from(q));
        let come = to.iter().filter(|q| !from.contains(q)).fold(I256::ONE, |a, &q| a * I256::from(q));
        let bound = from.iter().fold(I256::ONE, |d, &q| d * I256::from(q)) / 4;
        let values: Vec<I256> = (0..16).map(|_| integer(&mut draw, bound)).collect();
        let (from_ring, to_ring) = (ring(from), ring(to));
        let words: Vec<u64> = from.iter().flat_map(|&q| residues(&values, q)).collect();
        let poly = Poly::<Coeff>::from_words(&from_ring, words).unwrap().into_eval();
        let switch = BasisSwitch::new(&from_ring, &to_ring, 1).unwrap();
        let out = switch.apply(&poly).unwrap().into_coeff();
        let expected: Vec<I256> = values.iter().map(|&value| round_div(value * come, gone)).collect();
        for (index, &q) in to.iter().enumerate() {
            assert_eq!(out.limb(index), residues(&expected, q), "{draw}, {from:?} to {to:?}");
        }
        let ratio = come.as_f64() / gone.as_f64();
        assert!((switch.ratio() / ratio - 1.0).abs() < 1e-12);
        assert!(switch.apply(&Poly::zero(&ring(&Q[4..]))).is_err());
    }
}

/// With a ring so large that rows are cut in tiles, and limbs made several together.
#[test]
fn large_rings_are_divided_and_converted_as_small_ones() {
    let (degree, mut draw) = (1 << 16, Draw::new());
    let large = |moduli: &[u64]| Ring::insecure_toy(degree, moduli).unwrap();
    let primes = &hush_params::primes::primes_of(46)[..9];
    let (from, to) = (large(primes), large(&primes[..6]));
    let gone = primes[6..].iter().fold(I256::ONE, |d, &q| d * I256::from(q));
    let bound: I256 = gone << 46;
    let values: Vec<I256> = (0..degree).map(|_| integer(&mut draw, bound)).collect();
    let words: Vec<u64> = primes.iter().flat_map(|&q| residues(&values, q)).collect();
    let poly = Poly::<Coeff>::from_words(&from, words.clone()).unwrap().into_eval();
    let switch = BasisSwitch::new(&from, &to, 1).unwrap();
    let expected: Vec<I256> = values.iter().map(|&value| round_div(value, gone)).collect();
    let out = switch.apply(&poly).unwrap().into_coeff();
    let copy = |limbs: &[usize], rows: &mut [Vec<RowPair<'_>>]| {
        for (&limb, pairs) in limbs.iter().zip(rows) {
            for (left, right) in pairs {
                left.copy_from_slice(poly.limb(limb));
                right.copy_from_slice(poly.limb(limb));
            }
        }
    };
    let together = switch.apply_pairs(2, copy, |_, _| {});
    for (index, &q) in primes[..6].iter().enumerate() {
        assert_eq!(out.limb(index), residues(&expected, q), "{draw}");
    }
    for (left, right) in together {
        assert!(left.into_coeff() == out && right.into_coeff() == out);
    }
    let converter = BaseConverter::new(&from.limbs()[6..], to.limbs()).unwrap();
    let mut rows = words[6 * degree..].to_vec();
    rows.resize(converter.row_count() * degree, 0);
    converter.prepare(&mut rows);
    let mut row = vec![0; degree];
    converter.convert(5, &rows, &mut row);
    let nearest = |value: &I256| {
        let rest = value.rem_euclid(gone);
        if rest > gone / 2 { rest - gone } else { rest }
    };
    let near: Vec<I256> = values.iter().map(nearest).collect();
    assert_eq!(row, residues(&near, primes[5]), "{draw}");
}

/// With a unit the message is multiplied by `A/D` modulo the unit and the size divided, up to `u/2 + 1`.
#[test]
fn divisions_keep_messages_modulo_the_unit() {
    let mut draw = Draw::new();
    let t = Modulus::new(65537).unwrap();
    let (from, to) = (Ring::insecure_toy(16, &Q[..3]).unwrap(), Ring::insecure_toy(16, &Q[..2]).unwrap());
    let values: Vec<I256> = (0..16).map(|_| integer(&mut draw, I256::from(Q[0]) << 60)).collect();
    let words: Vec<u64> = Q[..3].iter().flat_map(|&q| residues(&values, q)).collect();
    let poly = Poly::<Coeff>::from_words(&from, words).unwrap().into_eval();
    let switch = BasisSwitch::new(&from, &to, t.value()).unwrap();
    let out = switch.apply(&poly).unwrap().into_coeff();
    let factor = switch.factor_mod(t).unwrap();
    for (column, &value) in values.iter().enumerate() {
        let lifted = to.crt().lift_centered(&[out.limb(0)[column], out.limb(1)[column]]);
        let message = value.rem_euclid(I256::from(t.value())).as_u64();
        assert_eq!(lifted.rem_euclid(I256::from(t.value())).as_u64(), t.mul(message, factor));
        let error = lifted * I256::from(Q[2]) - value;
        assert!(error.abs() <= I256::from(Q[2]) * I256::from(t.value() / 2 + 1), "{draw}");
    }
}
