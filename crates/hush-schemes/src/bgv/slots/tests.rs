// SPDX-License-Identifier: Apache-2.0
//! Encodings against their definition; evaluation is tested with encryption, in `hush-keys`.

use hush_params::{PLAINTEXT_PRIMES_32, PLAINTEXT_PRIMES_45};

use super::*;

fn toy() -> Ring {
    Ring::insecure_toy(16, &[0x3fff_ffcc_0001, 0x3fff_ffb2_0001]).unwrap()
}

fn phases(coefficients: &[i64]) -> Vec<I256> {
    coefficients.iter().map(|&c| I256::from(c)).collect()
}

/// Each slot is the polynomial's value at another root of X^N + 1: the set of values is that of all odd powers.
#[test]
fn slots_are_values_at_all_odd_powers_of_a_root() {
    let ring = toy();
    let encoder = SlotEncoder::new(&ring, &[97]).unwrap();
    let coefficients: Vec<i64> = (0..16).map(|i| i * i % 23 - 11).collect();
    let mut slots = encoder.slots(0, &phases(&coefficients)).unwrap();
    let t = hush_arith::Modulus::new(97).unwrap();
    let psi = t.psi(16).unwrap();
    let value = |root: u64| {
        let terms = (0..).zip(&coefficients).map(|(k, &c)| t.mul(t.reduce_i64(c), t.pow(root, k)));
        terms.fold(0, |sum, term| t.add(sum, term))
    };
    let mut expected: Vec<u64> = (0..16).map(|k| value(t.pow(psi, 2 * k + 1))).collect();
    slots.sort_unstable();
    expected.sort_unstable();
    assert_eq!(slots, expected);
}

#[test]
fn wide_values_survive_several_primes() {
    let ring = toy();
    for primes in [&PLAINTEXT_PRIMES_32[..], &PLAINTEXT_PRIMES_45[..]] {
        for lanes in 1..=8 {
            let encoder = SlotEncoder::new(&ring, &primes[..lanes]).unwrap();
            let most = encoder.max_abs();
            let log2: f64 = primes[..lanes].iter().map(|prime| (*prime as f64).log2()).sum();
            assert!((most.as_f64().log2() - (log2 - 1.0).min(255.0)).abs() < 1e-6, "{lanes}");
            let values = [most, -most, I256::ZERO, I256::ONE, -I256::ONE, most / 3];
            let lane = |lane| {
                let coefficients = encoder.coefficients(lane, Values::I256(&values)).unwrap();
                let half = (primes[lane] / 2) as i64;
                assert!(coefficients.iter().all(|c| c.abs() <= half));
                encoder.slots(lane, &phases(&coefficients)).unwrap()
            };
            let residues: Vec<_> = (0..lanes).map(lane).collect();
            let decoded = encoder.combine(&residues).unwrap();
            assert_eq!(decoded[..6], values, "{lanes} lanes");
            assert!(decoded[6..].iter().all(|&value| value == I256::ZERO));
        }
    }
}

#[test]
fn unsuitable_moduli_and_shapes_are_refused() {
    let ring = toy();
    // 101 is not 1 mod 32; 0x3fffffcc0001 divides Q; 97 stands twice; 96 is not prime.
    for primes in [&[101][..], &[0x3fff_ffcc_0001], &[97, 97], &[96], &[]] {
        let error = SlotEncoder::new(&ring, primes).unwrap_err();
        assert!(matches!(error, SchemeError::PlaintextModulus { degree: 16, .. }), "{primes:?}");
    }
    let encoder = SlotEncoder::new(&ring, &[97]).unwrap();
    let error = encoder.coefficients(0, Values::I64(&[0; 17])).unwrap_err();
    assert_eq!(error, SchemeError::TooManyValues { found: 17, max: 16 });
    assert!(encoder.coefficients(1, Values::I64(&[0])).is_err());
    assert!(encoder.slots(0, &[I256::ZERO]).is_err());
    assert!(encoder.combine(&[]).is_err());
    assert!(encoder.combine(&[vec![0; 15]]).is_err());
}
