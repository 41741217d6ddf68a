// SPDX-License-Identifier: Apache-2.0
//! From slots to digits: the key from a ring, and the digits of numbers in phases.

use hush_params::chain::presets::chain_presets;
use hush_ring::Chain;
use hush_testkit::Draw;
use hush_tfhe::{BridgeKey, BridgeParts};

use super::*;
use crate::ChainSecret;

/// The phase of a large ciphertext, nearest to zero, in relation to the modulus.
fn phase(secret: &TfheSecret, lwe: &Lwe) -> f64 {
    let q = secret.context().modulus();
    let polynomial = &secret.polynomials[0];
    let sum = lwe
        .mask()
        .iter()
        .zip(polynomial.iter())
        .fold(lwe.body(), |sum, (word, small)| q.add(sum, q.mul(*word, q.reduce_i64(i64::from(*small)))));
    let value = q.value();
    if sum > value / 2 { sum as f64 / value as f64 - 1.0 } else { sum as f64 / value as f64 }
}

/// A ciphertext whose first coefficient is `message`, with one or two powers of the secret, gives a ciphertext of it, off by less than the bound.
#[test]
fn a_coefficient_keeps_its_phase_under_the_other_secret() {
    let secret = secret(&INTEGERS);
    let context = secret.context();
    let mut presets = chain_presets().iter().map(|preset| preset.params().unwrap());
    let params = presets.find(|params| params.degree() == 8192).unwrap();
    let chain = Chain::new(&params, 1, context.cpu()).unwrap();
    let from = ChainSecret::generate(&chain).unwrap();
    let degree = chain.degree();
    let ring = BridgeKey::ring(context, degree).unwrap();
    let (limb, q) = (&ring.limbs()[0], context.modulus());
    let mut random = Draw::new();
    let in_eval = |coefficients: Vec<u64>| {
        let mut words = coefficients;
        limb.forward(&mut words);
        words
    };
    let s = in_eval(from.small().iter().map(|value| q.reduce_i64(i64::from(*value))).collect());
    for powers in [1, 2] {
        let bytes = secret.bridge_key(&from, powers).unwrap().encode(context).unwrap();
        let key = BridgeParts::decode(context, (degree, powers), &bytes).unwrap();
        let bound = INTEGERS.bridge_error(degree, powers);
        let mut worst: f64 = 0.0;
        for _ in 0..8 {
            let message = random.below(q.value() as usize) as u64;
            let mut body: Vec<u64> = (0..degree).map(|_| random.below(q.value() as usize) as u64).collect();
            body[0] = message;
            let mut masks: Vec<Vec<u64>> = Vec::new();
            let mut power = s.clone();
            for _ in 0..powers {
                let mask: Vec<u64> = (0..degree).map(|_| random.below(q.value() as usize) as u64).collect();
                let mut product = in_eval(mask.clone());
                limb.mul_assign(&mut product, &power);
                limb.inverse(&mut product);
                limb.sub_assign(&mut body, &product);
                masks.push(mask);
                limb.mul_assign(&mut power, &s);
            }
            let components: Vec<&[u64]> =
                std::iter::once(&body).chain(&masks).map(|words| &words[..]).collect();
            let found = phase(&secret, &key.first_coefficient(&components).unwrap());
            let expected = message as f64 / q.value() as f64;
            let off = (found - expected + 1.5).rem_euclid(1.0) - 0.5;
            worst = worst.max(off.abs());
        }
        // Sums of errors are far from the worst that they could be, and there is one.
        assert!(worst < bound && worst > bound / 2f64.powi(16), "{powers}: {worst:e}, bound {bound:e}");
    }
    assert!(secret.bridge_key(&from, 0).is_err() && secret.bridge_key(&from, 3).is_err());
}

/// Numbers of all widths: 0, the largest, and any, with phases that are off by up to a thirty-second.
#[test]
fn digits_come_out_of_phases() {
    let secret = secret(&INTEGERS);
    let (key, context) = (server(&secret), secret.context());
    let mut random = Draw::new();
    let q = u128::from(context.modulus().value());
    for bits in [1_u32, 2, 5, 16] {
        let largest = (1_u64 << bits) - 1;
        let numbers: Vec<u64> = vec![0, largest, 0x5555 & largest, random.below(1 << bits) as u64];
        let phases = numbers.iter().map(|number| {
            let residues: Vec<u64> = (0..bits)
                .map(|place| {
                    let fraction = (u128::from(*number) * q) >> (place + 1);
                    let off = (random.below(2001) as i128 - 1000) * q as i128 / 32_000;
                    ((fraction % q) as i128 + off).rem_euclid(q as i128) as u64
                })
                .collect();
            let bytes = secret.encrypt_residues(&residues).unwrap().encode(context);
            Fresh::decode(context, residues.len(), &bytes).unwrap()
        });
        let digits = key.digits_of(&phases.collect::<Vec<_>>()).unwrap();
        for (number, digits) in numbers.iter().zip(&digits) {
            let expected: Vec<u64> = (0..bits.div_ceil(2)).map(|place| number >> (2 * place) & 3).collect();
            assert_eq!(answered(&secret, &key, digits), expected, "{number} of {bits} bits");
        }
    }
    assert!(key.digits_of(&[]).unwrap().is_empty());
    let one = sent(&secret, &[1]);
    assert!(key.digits_of(&[one.clone(), Vec::new()]).is_err());
    let gates = super::secret(&GATES);
    let bytes = gates.encrypt_bits(&[true]).unwrap().encode(gates.context());
    let foreign = Fresh::decode(gates.context(), 1, &bytes).unwrap();
    assert!(key.digits_of(&[foreign]).is_err());
}
