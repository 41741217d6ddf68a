// SPDX-License-Identifier: Apache-2.0
//! The whole scheme.

use super::*;
use crate::eval::evaluate;
use crate::{Circuit, InsecureScheme, Seed, Stream};

fn keys(
    set: InsecureCnt12Parameters,
    seed: u8,
) -> (InsecureCnt12SecretKey, InsecureCnt12PublicKey, InsecureCnt12Random) {
    let mut random = InsecureCnt12Random::from_seed([seed; 16]);
    let (sk, pk) = insecure_cnt12_keys(&set, &mut random, &mut |_| ()).unwrap();
    assert!(keygen::squash_is_right(&sk, &pk));
    (sk, pk, random)
}

/// Fresh ciphertexts, sums, refreshed ones, their products refreshed again: all decrypt, all noise within its bound.
fn check_operations(set: InsecureCnt12Parameters, seed: u8, rounds: usize) {
    let (sk, pk, mut random) = keys(set, seed);
    for round in 0..rounds {
        let bits = [round & 1 == 1, round & 2 == 2];
        let fresh = pk.encrypt(&bits, &mut random).unwrap();
        let refreshed: Vec<_> = fresh.iter().map(|ct| pk.recrypt(ct).unwrap()).collect();
        for ((&bit, fresh), refreshed) in bits.iter().zip(&fresh).zip(&refreshed) {
            assert_eq!(sk.decrypt(fresh).unwrap(), bit);
            assert!(sk.noise_bits(fresh).unwrap() <= set.fresh_noise_bits());
            assert_eq!(sk.decrypt(refreshed).unwrap(), bit);
            let noise = sk.noise_bits(refreshed).unwrap();
            assert!(noise <= set.refreshed_noise_bits(), "{noise} > {}", set.refreshed_noise_bits());
            let owner = sk.encrypt(&pk, bit, &mut random).unwrap();
            assert_eq!(sk.decrypt(&owner).unwrap(), bit);
            assert!(sk.noise_bits(&owner).unwrap() <= set.literal().noise_bits + 1);
        }
        let sum = pk.add(&fresh[0], &fresh[1]).unwrap();
        assert_eq!(sk.decrypt(&sum).unwrap(), bits[0] ^ bits[1]);
        let product = pk.mul(&refreshed[0], &refreshed[1]).unwrap();
        assert_eq!(sk.decrypt(&product).unwrap(), bits[0] & bits[1]);
        assert!(sk.noise_bits(&product).unwrap() <= set.refreshable_bits());
        let again = pk.mul(&pk.recrypt(&product).unwrap(), &refreshed[0]).unwrap();
        assert_eq!(sk.decrypt(&again).unwrap(), bits[0] & bits[1]);
        let constant = pk.add(&again, &pk.constant(true)).unwrap();
        assert_eq!(sk.decrypt(&constant).unwrap(), !(bits[0] & bits[1]));
    }
}

/// Expand against the highest word of full products.
fn check_expand(set: InsecureCnt12Parameters, seed: u8, stride: usize) {
    let (_, pk, mut random) = keys(set, seed);
    let ct = &pk.encrypt(&[true], &mut random).unwrap()[0];
    let n = set.literal().precision;
    let found = pk.expand(&ct.words);
    assert_eq!(found.len(), set.literal().secret_bits);
    for (index, &found) in found.iter().enumerate().step_by(stride) {
        let top = pk.exact_top(&ct.words, index) >> (62 - n);
        assert_eq!(u64::from(found), top.div_ceil(2) % (2 << n), "{index}");
    }
}

/// A random circuit of gates on a few wires, every product refreshed.
fn check_circuits(set: InsecureCnt12Parameters, seed: u8, count: usize) {
    let (sk, pk, mut random) = keys(set, seed);
    let bits = [false, true, true];
    let inputs: Vec<_> = bits.iter().map(|&bit| sk.encrypt(&pk, bit, &mut random).unwrap()).collect();
    for circuit in 0..count {
        let mut wires: Vec<_> = bits.into_iter().zip(inputs.clone()).collect();
        for _ in 0..4 {
            let [left, right] = [random.below(3), random.below(3)];
            let ((a, ct_a), (b, ct_b)) = (&wires[left], &wires[right]);
            wires[left] = match random.below(2) {
                0 => (a ^ b, pk.add(ct_a, ct_b).unwrap()),
                _ => (a & b, pk.recrypt(&pk.mul(ct_a, ct_b).unwrap()).unwrap()),
            };
        }
        for (bit, ct) in wires {
            assert_eq!(sk.decrypt(&ct).unwrap(), bit, "circuit {circuit}");
        }
    }
}

#[test]
fn mini_operations() {
    check_operations(InsecureCnt12Parameters::insecure_mini(), 1, 8);
}

#[test]
fn toy_operations() {
    check_operations(InsecureCnt12Parameters::insecure_toy(), 2, 4);
}

#[test]
#[ignore = "seconds"]
fn small_operations() {
    check_operations(InsecureCnt12Parameters::insecure_small(), 3, 4);
}

#[test]
#[ignore = "a minute"]
fn medium_operations() {
    check_operations(InsecureCnt12Parameters::insecure_medium(), 4, 4);
}

#[test]
fn expand_is_exact() {
    check_expand(InsecureCnt12Parameters::insecure_mini(), 6, 1);
    check_expand(InsecureCnt12Parameters::insecure_toy(), 7, 5);
}

#[test]
#[ignore = "a minute"]
fn expand_is_exact_in_the_medium_set() {
    check_expand(InsecureCnt12Parameters::insecure_medium(), 8, 100);
}

#[test]
fn mini_circuits() {
    check_circuits(InsecureCnt12Parameters::insecure_mini(), 9, 30);
}

#[test]
fn toy_circuits() {
    check_circuits(InsecureCnt12Parameters::insecure_toy(), 10, 2);
}

#[test]
#[ignore = "a minute"]
fn a_thousand_mini_circuits() {
    check_circuits(InsecureCnt12Parameters::insecure_mini(), 11, 1000);
}

/// An expression of up to `depth` operations one inside the other.
fn expression(depth: u32, random: &mut Stream) -> String {
    match random.below(5) {
        _ if depth == 0 => random.below(2).to_string(),
        0 | 1 => format!("({}+{})", expression(depth - 1, random), expression(depth - 1, random)),
        2 | 3 => format!("({}*{})", expression(depth - 1, random), expression(depth - 1, random)),
        _ => random.below(2).to_string(),
    }
}

/// Bits by which the noise of a rare refreshed ciphertext, and of products with it, exceeds what is usual.
const TAIL_BITS: f64 = 8.0;

/// Random circuits on bits that the public key encrypts, refreshed as the scheme decides: every gate decrypts, and
/// noise is what was estimated.
fn check_expressions(security: u32, count: usize) {
    let set = InsecureCnt12Parameters::named_with(security, &[]).unwrap();
    let seed = Seed::from_text("expressions");
    let scheme = InsecureCnt12::generate(&set, &seed, &mut |_| ()).unwrap();
    let mut random = Stream::derive(&seed, "test");
    for round in 0..count {
        let text = expression(3, &mut random);
        let circuit = Circuit::parse(&text, 1, &[]).unwrap();
        let seed = Seed::from_text(&format!("{security} {round}"));
        let evaluation = evaluate(&scheme, &circuit, &seed, &mut |step| {
            for noise in [Some(step.noise), step.before_refresh].into_iter().flatten() {
                // Recrypt takes noise up to its limit.
                assert!(noise.bound_log2 <= noise.limit_log2, "{text}: {noise}");
                assert!(noise.measured_log2 <= noise.bound_log2 + TAIL_BITS, "{text}: {noise}");
            }
        })
        .unwrap();
        assert!(evaluation.is_right() && evaluation.wrong_gates == 0, "{text}");
    }
}

#[test]
fn random_expressions_on_the_mini_set() {
    check_expressions(16, 25);
}

#[test]
#[ignore = "minutes"]
fn a_thousand_random_expressions_on_the_toy_set() {
    check_expressions(42, 1000);
}

#[test]
#[ignore = "minutes"]
fn twenty_random_expressions_on_the_medium_set() {
    check_expressions(62, 20);
}

#[test]
#[ignore = "a quarter of an hour"]
fn a_random_expression_on_the_large_set() {
    check_expressions(72, 1);
}

#[test]
fn ciphertexts_of_other_parameters_are_refused() {
    let (sk, pk, _) = keys(InsecureCnt12Parameters::insecure_mini(), 14);
    let good = pk.constant(true);
    let bad = InsecureCnt12Ciphertext { words: vec![1; 3] };
    assert!(pk.add(&good, &bad).is_err() && pk.mul(&bad, &good).is_err() && pk.recrypt(&bad).is_err());
    assert!(sk.decrypt(&bad).is_err() && sk.noise_bits(&bad).is_err());
    assert!(sk.decrypt(&good).unwrap());
    assert!(pk.encrypt(&[], &mut InsecureCnt12Random::from_seed([0; 16])).unwrap().is_empty());
}

#[test]
fn keys_follow_from_the_seed_and_debug_hides_them() {
    let set = InsecureCnt12Parameters::insecure_mini();
    let ((a, pk_a, _), (b, pk_b, _)) = (keys(set, 15), keys(set, 15));
    assert_eq!((a.prime.value(), &pk_a.zeros), (b.prime.value(), &pk_b.zeros));
    let text = format!("{a:?}{pk_a:?}");
    assert!(!text.contains(&a.prime.value().to_string()));
}
