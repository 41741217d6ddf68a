// SPDX-License-Identifier: Apache-2.0
//! The scaled encoding of BFV against exact rational rounding.

use ethnum::I256;
use hush_params::chain::ChainSpec;
use hush_params::primes::primes_of;
use hush_params::{ChainParams, Level};
use hush_ring::{Coeff, Cpu, Poly, Ring};

use super::Bfv;
use crate::SchemeError;

/// Two primes on a ring of 16 coefficients.
fn toy(t: u64) -> Result<Bfv, SchemeError> {
    let (universe, levels) = (primes_of(46)[..2].to_vec(), vec![vec![0, 1]]);
    let spec = ChainSpec { degree: 16, universe, special: Vec::new(), levels, digit_limbs: 1 };
    Bfv::new(&ChainParams::insecure_toy(spec).unwrap(), t, Cpu::detect().unwrap())
}

/// `round(Q·m/t)` for `m` nearest to zero modulo `t`; no ties, since `t` is odd.
fn scaled(ring: &Ring, m: i64, t: u64) -> I256 {
    let q = ring.crt().moduli().fold(I256::ONE, |product, q| product * I256::from(q.value()));
    let t = I256::from(t);
    (q * I256::from(m) * 2 + t).div_euclid(t * 2)
}

#[test]
fn encoding_is_the_exact_rounding() {
    for t in [97, 65537, 0xfff0_0001, 0x1fff_ffc2_0001] {
        let scheme = toy(t).unwrap();
        let half = (t / 2) as i64;
        let values = [0, 1, -1, half, -half, half / 3, -(half / 7), 42];
        let encoded = scheme.encode(&values, Level(0)).unwrap();
        let messages = scheme.encoder().coefficients(&values).unwrap();
        assert!(messages.iter().any(|&m| m.unsigned_abs() > t / 8), "large and small coefficients");
        for (limb, words) in encoded.limbs() {
            let q = I256::from(limb.modulus().value());
            for (&m, &word) in messages.iter().zip(words) {
                assert_eq!(scaled(encoded.ring(), m, t).rem_euclid(q), I256::from(word), "t = {t}, m = {m}");
            }
        }
        assert_eq!(scheme.decode(&encoded).unwrap()[..8], values);
    }
}

#[test]
fn decoding_tolerates_noise_up_to_its_bound_and_sums_that_wrap() {
    let t = 65537;
    let scheme = toy(t).unwrap();
    let ring = scheme.chain().ring(Level(0)).unwrap();
    let decoded = |phases: [I256; 16]| {
        let rows: Vec<Vec<u64>> = phases.iter().map(|&phase| ring.crt().residues(phase)).collect();
        let words: Vec<u64> = (0..2).flat_map(|limb| rows.iter().map(move |row| row[limb])).collect();
        scheme.decode(&Poly::<Coeff>::from_words(ring, words).unwrap()).unwrap()
    };
    let values: Vec<i64> = (0..16).map(|i| [0, 1, -1, 32768, -32768, 1234][i % 6]).collect();
    let messages = scheme.encoder().coefficients(&values).unwrap();
    let exact: [I256; 16] = std::array::from_fn(|i| scaled(ring, messages[i], t));
    // Q/(2t) is about 2^75.
    let bound = I256::ONE << 74;
    for noise in [I256::ZERO, bound, -bound] {
        assert_eq!(decoded(exact.map(|phase| phase + noise)), values);
    }
    // Each coefficient wraps up to 50000 times modulo t; each term's rounding is below 1.
    let expected: Vec<i64> = values.iter().map(|&value| (100_000 * value).rem_euclid(65537)).collect();
    let found: Vec<i64> =
        decoded(exact.map(|phase| phase * 100_000)).iter().map(|value| value.rem_euclid(65537)).collect();
    assert_eq!(found, expected);
}

#[test]
fn unsuitable_moduli_and_shapes_are_refused() {
    for t in [0, 1, 96, 101, primes_of(46)[0]] {
        assert!(matches!(toy(t), Err(SchemeError::PlaintextModulus { .. })), "{t}");
    }
    let scheme = toy(97).unwrap();
    assert!(matches!(scheme.encode(&[0; 17], Level(0)), Err(SchemeError::TooManyValues { .. })));
    assert!(matches!(scheme.encode(&[0], Level(1)), Err(SchemeError::Ring(_))));
}
