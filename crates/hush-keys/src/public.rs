// SPDX-License-Identifier: Apache-2.0
//! Public keys of sum columns, made by the owner for devices that encrypt and must not decrypt.
//!
//! [`hush_schemes::bgv::public`], which needs no secret, defines the keys and their use.

use hush_params::noise::{DEVICE_SLOT_RATIO, ERROR_VARIANCE};
use hush_ring::{ERROR_BYTES, Poly, Ring, SecretRng, UniformSeed, sample_errors};
use hush_schemes::PublicKeyError;
use hush_schemes::bgv::public::{PublicColumn, SumPublicKey};
use zeroize::Zeroizing;

use crate::SecretKey;

/// Variance of a coefficient of a secret, uniform in `{−1, 0, 1}`.
const TERNARY_VARIANCE: f64 = 2.0 / 3.0;

/// Public keys of columns that share masks, for errors in multiples of `2^scale_log2`: each column's id and secret.
///
/// Keys of one table may be made again and again: each call draws a mask and errors of its own.
///
/// # Cost
/// For each column two transforms and `N²` operations, which look for large slots: 20 ms at N = 4096.
///
/// # Errors
/// [`PublicKeyError::Secret`] for a secret with a slot beyond [`DEVICE_SLOT_RATIO`]; those of [`SumPublicKey::new`].
pub fn public_sum_key(
    ring: &Ring,
    scale_log2: u32,
    columns: &[(u32, &SecretKey)],
) -> Result<SumPublicKey, PublicKeyError> {
    let seed = UniformSeed::generate()?;
    let mut rng = SecretRng::from_os()?;
    let mask = SumPublicKey::mask_of(ring, seed);
    let mut keys = Vec::with_capacity(columns.len());
    for (column, secret) in columns {
        ring.check_same(secret.ring())?;
        let small: Zeroizing<Vec<f64>> =
            Zeroizing::new(secret.small().iter().map(|s| f64::from(*s)).collect());
        if has_large_slot(&small, TERNARY_VARIANCE) {
            return Err(PublicKeyError::Secret { column: *column });
        }
        let errors = draw_errors(ring, &mut rng);
        let mut words = vec![0; ring.poly_words()];
        for (index, (limb, out)) in ring.limbs().iter().zip(words.chunks_exact_mut(ring.degree())).enumerate()
        {
            // −A·s + τ·E
            let scale = limb.modulus().pow(2, u64::from(scale_log2));
            limb.add_scaled_error(out, &errors, scale);
            limb.forward(out);
            let mut product = Zeroizing::new(vec![0; ring.degree()]);
            limb.mul_into(&mut product, mask.limb(index), secret.eval_limb(index));
            limb.sub_assign(out, &product);
        }
        keys.push(PublicColumn { column: *column, key: Poly::from_words(ring, words)? });
    }
    SumPublicKey::new(ring, seed, scale_log2, keys)
}

/// Errors without a large slot.
fn draw_errors(ring: &Ring, rng: &mut SecretRng) -> Zeroizing<Vec<i32>> {
    let mut random = Zeroizing::new(vec![0_u8; ERROR_BYTES * ring.degree()]);
    let mut errors = Zeroizing::new(vec![0_i32; ring.degree()]);
    loop {
        rng.fill(&mut random);
        sample_errors(ring.cpu(), &random, &mut errors);
        let wide: Zeroizing<Vec<f64>> = Zeroizing::new(errors.iter().map(|e| f64::from(*e)).collect());
        // Nearly always the first: keys are as good as uniform over those that pass.
        if !has_large_slot(&wide, ERROR_VARIANCE) {
            return errors;
        }
    }
}

/// Whether a slot exceeds its mean square by more than [`DEVICE_SLOT_RATIO`], for coefficients of this variance.
fn has_large_slot(coefficients: &[f64], variance: f64) -> bool {
    largest_slot_squared(coefficients) > DEVICE_SLOT_RATIO * variance * coefficients.len() as f64
}

/// The largest `|p(ζ)|²` over the primitive `2N`-th roots of unity `ζ`.
fn largest_slot_squared(coefficients: &[f64]) -> f64 {
    let degree = coefficients.len();
    let angle = std::f64::consts::PI / degree as f64;
    let roots: Vec<(f64, f64)> = (0..2 * degree).map(|power| (angle * power as f64).sin_cos()).collect();
    // The other half are conjugates.
    let slot = |exponent: usize| {
        let (mut real, mut imaginary, mut power) = (0.0, 0.0, 0);
        for coefficient in coefficients {
            let (sin, cos) = roots[power];
            real += coefficient * cos;
            imaginary += coefficient * sin;
            power += exponent;
            power -= if power >= 2 * degree { 2 * degree } else { 0 };
        }
        real * real + imaginary * imaginary
    };
    (1..degree).step_by(2).map(slot).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests;
