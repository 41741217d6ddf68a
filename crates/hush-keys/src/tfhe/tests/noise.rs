// SPDX-License-Identifier: Apache-2.0
//! Errors of each step against the formulas of `hush_params::tfhe`.

use hush_params::tfhe::{MESSAGES, TfheSet, WIDE};

use super::*;

/// Mean and mean square.
fn moments(samples: &[f64]) -> (f64, f64) {
    let count = samples.len() as f64;
    (samples.iter().sum::<f64>() / count, samples.iter().map(|x| x * x).sum::<f64>() / count)
}

/// The phase of a large ciphertext less the message, as a fraction of the modulus.
pub(super) fn error_of(secret: &TfheSecret, lwe: &Lwe, encoded: u64) -> f64 {
    let q = secret.context().modulus();
    let coefficients = secret.polynomials.iter().flat_map(|polynomial| polynomial.iter());
    let product = lwe
        .mask()
        .iter()
        .zip(coefficients)
        .fold(0, |sum, (a, s)| q.add(sum, q.mul(*a, q.reduce_i64(i64::from(*s)))));
    let error = q.sub(q.add(lwe.body(), product), encoded);
    let centred = if error > q.value() / 2 { error as f64 - q.value() as f64 } else { error as f64 };
    centred / q.value() as f64
}

/// Variances of rotation and key switch, within five standard errors, which are `√(2/count)` of a variance.
fn compare(set: &'static TfheSet, count: u64) {
    let secret = secret(set);
    let (key, context) = (server(&secret), secret.context());
    let messages: Vec<u64> = (0..count).map(|place| place % context.message_count()).collect();
    let inputs = sent(&secret, &messages);
    let table = Table::of(context, |message| message).unwrap();
    let jobs: Vec<_> = inputs.iter().map(|input| (input, &table)).collect();
    let results = key.bootstrap(&jobs).unwrap();
    let encoded = |message: &u64| context.encode(*message).unwrap();
    let rotation: Vec<f64> =
        results.iter().zip(&messages).map(|(lwe, m)| error_of(&secret, lwe, encoded(m))).collect();
    let small = key.switch(&results.iter().collect::<Vec<_>>()).unwrap();
    let switch = small.iter().zip(&messages).zip(&rotation).map(|((small, message), before)| {
        let exact = encoded(message) as f64 / context.modulus().value() as f64;
        let error = f64::from(secret.phase(small)) / 2f64.powi(32) - exact - before;
        error - error.round()
    });
    let (variances, tolerance) = (set.variances(), 5.0 * (2.0 / count as f64).sqrt());
    for (name, samples, expected) in [
        ("rotation", rotation.clone(), variances.rotation),
        ("key switch", switch.collect(), variances.key_switch),
    ] {
        let (mean, square) = moments(&samples);
        assert!(
            (square / expected - 1.0).abs() < tolerance,
            "{}, {name}: {} times the formula",
            set.name(),
            square / expected
        );
        assert!(mean.abs() < 5.0 * (expected / count as f64).sqrt(), "{name}: mean {mean}");
    }
    let fresh: Vec<f64> =
        inputs.iter().zip(&messages).map(|(lwe, m)| error_of(&secret, lwe, encoded(m))).collect();
    let (_, square) = moments(&fresh);
    // The encoding is rounded too.
    let expected = set.large_noise() + 1.0 / 12.0 / (set.prime() as f64).powi(2);
    assert!((square / expected - 1.0).abs() < tolerance, "fresh: {}", square / expected);
}

#[test]
fn errors_are_as_large_as_the_formulas_say() {
    compare(&INTEGERS, 400);
}

/// Tables of several parts, and digits of several levels.
#[test]
#[ignore = "minutes"]
fn sweep_of_the_errors_of_larger_sets() {
    compare(MESSAGES[3], 2000);
    compare(MESSAGES[6], 300);
    compare(&WIDE, 2000);
}

/// Rotations of a small ring with tables of 4 parts, under many secrets: within 6 parts in 100, which are five deviations.
#[test]
fn rotations_of_parts_have_the_errors_of_the_formula() {
    let set: &TfheSet = Box::leak(Box::new(TfheSet::insecure_toy(12, 64, 4)));
    let mut samples = Vec::new();
    for _ in 0..32 {
        let secret = secret(set);
        let (key, context) = (server(&secret), secret.context());
        let messages: Vec<u64> = (0..500).map(|place| place % 16).collect();
        // Values of all sizes, so that digits are uniform from the first bit on.
        let table = Table::of(context, |message| message * 7 % 16).unwrap();
        let inputs = sent(&secret, &messages);
        let results = key.bootstrap(&inputs.iter().map(|input| (input, &table)).collect::<Vec<_>>()).unwrap();
        let encoded = |message: &u64| context.encode(message * 7 % 16).unwrap();
        samples.extend(results.iter().zip(&messages).map(|(lwe, m)| error_of(&secret, lwe, encoded(m))));
    }
    let (mean, square) = moments(&samples);
    // The first bit finds an accumulator whose mask is 0, and has half of the digits.
    let expected = set.variances().rotation * 11.5 / 12.0;
    assert!((square / expected - 1.0).abs() < 0.06, "{} times the formula", square / expected);
    assert!(mean.abs() < 5.0 * (expected / samples.len() as f64).sqrt() * 2.0, "mean {mean}");
}

/// Errors of small ciphertexts: uniform, with both ends half as often.
#[test]
fn small_errors_are_uniform() {
    let secret = secret(&GATES);
    let count = 200_000;
    let errors = secret.small_errors(count).unwrap();
    let bound = 1_i64 << GATES.noise_bits();
    let samples: Vec<f64> = errors.iter().map(|error| f64::from(*error as i32) / bound as f64).collect();
    assert!(samples.iter().all(|error| error.abs() <= 1.0));
    let (mean, square) = moments(&samples);
    let expected = GATES.small_noise() * 2f64.powi(64) / (bound * bound) as f64;
    assert!(mean.abs() < 5.0 * (expected / count as f64).sqrt(), "mean {mean}");
    // A uniform distribution has a fourth moment of 9/5 of the square of its variance.
    assert!(
        (square / expected - 1.0).abs() < 5.0 * (0.8 / count as f64).sqrt(),
        "variance {}",
        square / expected
    );
}
