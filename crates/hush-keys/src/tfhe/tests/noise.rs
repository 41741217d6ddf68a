// SPDX-License-Identifier: Apache-2.0
//! Errors of each step against the formulas of `hush_params::tfhe`.

use super::*;

/// Mean and mean square.
fn moments(samples: &[f64]) -> (f64, f64) {
    let count = samples.len() as f64;
    (samples.iter().sum::<f64>() / count, samples.iter().map(|x| x * x).sum::<f64>() / count)
}

/// The phase of a large ciphertext less the message, as a fraction of the modulus.
fn error_of(secret: &TfheSecret, lwe: &Lwe, encoded: u64) -> f64 {
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
#[test]
fn errors_are_as_large_as_the_formulas_say() {
    let secret = secret(&INTEGERS);
    let (key, context) = (server(&secret), secret.context());
    let count = 400;
    let messages: Vec<u64> = (0..count).map(|place| place % 16).collect();
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
    let (variances, tolerance) = (INTEGERS.variances(), 5.0 * (2.0 / count as f64).sqrt());
    for (name, samples, expected) in [
        ("rotation", rotation.clone(), variances.rotation),
        ("key switch", switch.collect(), variances.key_switch),
    ] {
        let (mean, square) = moments(&samples);
        assert!(
            (square / expected - 1.0).abs() < tolerance,
            "{name}: {} times the formula",
            square / expected
        );
        assert!(mean.abs() < 5.0 * (expected / count as f64).sqrt(), "{name}: mean {mean}");
    }
    let fresh: Vec<f64> =
        inputs.iter().zip(&messages).map(|(lwe, m)| error_of(&secret, lwe, encoded(m))).collect();
    let (_, square) = moments(&fresh);
    // The encoding is rounded too.
    let expected = INTEGERS.large_noise() + 1.0 / 12.0 / (INTEGERS.prime() as f64).powi(2);
    assert!((square / expected - 1.0).abs() < tolerance, "fresh: {}", square / expected);
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
