// SPDX-License-Identifier: Apache-2.0
//! Noise bounds, one formula per operation, all as log2 of a bound on a phase coefficient.
//!
//! The error is a centred binomial of parameter 21: variance 10.5, and sub-Gaussian with the same variance
//! proxy, because it is a sum of 42 independent fair bits, each with proxy 1/4. A weighted sum `Σ w_i e_i` is
//! then sub-Gaussian with proxy `10.5·Σ w_i²` for any weights:
//! `P(|Σ w_i e_i| > k·√(10.5·Σ w_i²)) ≤ 2·exp(−k²/2)`. The model is exact: no heuristic on independence of
//! products enters the sums; products of two ciphertexts use the worst case `N·‖x‖·‖y‖`.
//!
//! In the leveled schemes products follow products; they would lose half their budget to that worst case:
//! [`NoiseModel`] states their own model.

mod expanded;
mod leveled;
mod phase;
mod product;
#[cfg(test)]
mod reference;
pub mod release;
mod relinearised;
mod rounded;

pub use expanded::expanded;
pub use leveled::{NoiseModel, Operands, View, key_switch_log2, public_encryption_log2};
pub use phase::{Deviations, Norms, PhaseNoise};
pub use product::{product_bits, rounded_product_phase_log2, secret_power_norm};
pub use relinearised::relinearised_phase_log2;
pub use rounded::{rounded_bits, rounded_phase_log2, rounding_log2};

/// Variance of one error coefficient: centred binomial with 21 + 21 bits.
pub const ERROR_VARIANCE: f64 = 10.5;

/// log2 of the largest error coefficient, 21.
pub const ERROR_MAX: f64 = 21.0;

/// Failure probability that every plan is built for, as a power of two.
pub const FAILURE_LOG2: f64 = -128.0;

/// `k` with `2·count·exp(−k²/2) = 2^-128`: standard deviations that `count` coefficients stay within.
pub fn tail(count: f64) -> f64 {
    (2.0 * std::f64::consts::LN_2 * (1.0 - FAILURE_LOG2 + count.max(1.0).log2())).sqrt()
}

/// What no slot of a polynomial with `N` independent sub-Gaussian coefficients of proxy 1 exceeds but with a chance of 2^-128,
/// divided by the root of `N`.
///
/// In every direction of the complex plane a slot has proxy `N/2`, because the squared cosines of its angles average to 1/2. A
/// number that is beyond `r` is beyond `r·cos(π/8)` in one of eight directions.
pub fn slot_tail(degree: f64) -> f64 {
    // The conjugate slots say nothing new: N/2 slots, and one side of eight directions, are 2N two-sided bounds.
    tail(2.0 * degree) / (std::f64::consts::SQRT_2 * (std::f64::consts::PI / 8.0).cos())
}

/// log2 of the chance that one of `count` sub-Gaussian coefficients exceeds `deviations` standard deviations:
/// `2·count·exp(−k²/2)`, the inverse of [`tail`]; at most 0.
pub fn failure_log2(count: f64, deviations: f64) -> f64 {
    let deviations = deviations.max(0.0);
    (1.0 + count.max(1.0).log2() - deviations * deviations / (2.0 * std::f64::consts::LN_2)).min(0.0)
}

/// log2 of the chance that a random polynomial's squared norm is more than twice its mean: `exp(−N·(1 − ln 2)/2)`, see
/// [`NoiseModel`].
pub fn norm_failure_log2(degree: f64) -> f64 {
    -degree * (1.0 - std::f64::consts::LN_2) / (2.0 * std::f64::consts::LN_2)
}

/// Standard deviation of the error part of a masked sum over `rows` rows with weights of at most
/// `weight_max` in absolute value.
pub fn sum_deviation(rows: f64, weight_max: f64) -> f64 {
    (ERROR_VARIANCE * rows.max(1.0)).sqrt() * weight_max.max(1.0)
}

/// Largest square of a slot of a polynomial in a public key, relative to its mean square. Holds for the
/// key's error, which is drawn again until all slots are below, and for the secret; no key is made for another secret. One
/// slot of many reaches 20 with a chance of `N/2·exp(−20)`, 2^-18 at N = 8192.
pub const DEVICE_SLOT_RATIO: f64 = 20.0;

/// Factor by which encryption by devices with public keys widens the error of a sum.
///
/// # Math
/// The phase of `(B·u + t·e + m, A·u + t·e')` with `B = −A·s + t·E` is `m + t·(e + E·u + e'·s)`. A masked sum weighs the
/// coefficients of each by `w`; that of `E·u` is a scalar product of `u` with a polynomial of norm at most `max|Ê|·‖w‖`, by
/// Parseval, and `u`, uniform ternary, is sub-Gaussian with proxy 2/3. Likewise `e'·s` with proxy 10.5 and `max|ŝ|`, whose mean
/// square is `2N/3`. Both slots are within [`DEVICE_SLOT_RATIO`] of their mean squares, so that the proxies add up to
/// `10.5·(1 + 2·20·(2/3)·N)·Σ w²`; the draws of different ring elements are independent given `E` and `s`.
pub fn device_factor(degree: usize) -> f64 {
    (1.0 + 2.0 * DEVICE_SLOT_RATIO * (2.0 / 3.0) * degree as f64).sqrt()
}

/// log2 bound on the phase of a BGV masked sum: message below `2^(t_log2 − 1)`, error `t·Σ w_i e_i`. `factor` is 1, or
/// [`device_factor`] where devices encrypted.
///
/// The phase decrypts correctly where this is at most `log2 Q − 1`.
pub fn bgv_sum_phase_log2(t_log2: f64, rows: f64, weight_max: f64, factor: f64) -> f64 {
    t_log2 + (0.5 + tail(1.0) * factor * sum_deviation(rows, weight_max)).log2()
}

/// log2 bound on the ∞-norm of a fresh BGV ciphertext's phase, plaintext modulus `2^t_log2`.
///
/// Uses the hard bound on the centred binomial, so that it never fails.
pub fn bgv_fresh_phase_log2(t_log2: f64) -> f64 {
    t_log2 + (0.5 + ERROR_MAX).log2()
}

/// log2 bound on the phase of a product: worst case over a negacyclic convolution of degree `degree`.
pub fn product_phase_log2(degree: usize, left_log2: f64, right_log2: f64) -> f64 {
    (degree as f64).log2() + left_log2 + right_log2
}

/// log2 of `2^a + 2^b`: the bound on the phase of a sum.
pub fn add_phase_log2(a: f64, b: f64) -> f64 {
    let (high, low) = if a >= b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY {
        return high;
    }
    high + (1.0 + (low - high).exp2()).log2()
}

/// log2 of `2^a − 2^b`; −∞ where that is not positive.
pub fn sub_phase_log2(a: f64, b: f64) -> f64 {
    if b >= a { f64::NEG_INFINITY } else { a + (1.0 - (b - a).exp2()).log2() }
}

/// Absolute error (log2, in units of the value) of a CKKS masked sum by coefficient packing: error tail plus
/// the rounding of each encoded value, divided by the scale. `factor` is 1, or [`device_factor`] where devices encrypted.
pub fn ckks_sum_error_log2(scale_log2: f64, rows: f64, weight_max: f64, factor: f64) -> f64 {
    let rounding = 0.5 * rows.max(1.0) * weight_max.max(1.0);
    (tail(1.0) * factor * sum_deviation(rows, weight_max) + rounding).log2() - scale_log2
}

/// log2 bound on what the errors of encryption alone add to a CKKS masked sum, in units of the value: that is what the noise of a
/// release has to drown; the rounding of encodings tells of the data, not of the secret.
pub fn ckks_sum_noise_log2(scale_log2: f64, rows: f64, weight_max: f64, factor: f64) -> f64 {
    (tail(1.0) * factor * sum_deviation(rows, weight_max)).log2() - scale_log2
}

/// log2 bound on the error of one slot of a fresh CKKS ciphertext, in units of the value: the coefficients' errors seen
/// through the canonical embedding, and their roundings, which depend on the data, at their worst.
pub fn ckks_slot_error_log2(scale_log2: f64, degree: usize) -> f64 {
    let degree = degree as f64;
    (tail(degree) * (ERROR_VARIANCE * degree).sqrt() + 0.5 * degree).log2() - scale_log2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_what_the_design_says() {
        assert!((tail(1.0) - 13.37).abs() < 0.01);
    }

    #[test]
    fn the_chance_of_failure_is_the_inverse_of_the_tail() {
        for count in [1.0, 1024.0, 65536.0] {
            assert!((failure_log2(count, tail(count)) - FAILURE_LOG2).abs() < 1e-9);
        }
        assert_eq!(failure_log2(1024.0, 0.0), 0.0);
        // As the model's description says for its smallest ring.
        assert!((norm_failure_log2(1024.0) + 226.7).abs() < 0.1);
        assert!((sub_phase_log2(add_phase_log2(7.0, 9.5), 9.5) - 7.0).abs() < 1e-12);
        assert_eq!(sub_phase_log2(3.0, 3.0), f64::NEG_INFINITY);
    }

    #[test]
    fn sixty_four_bit_sums_fit_two_limbs_and_one_limb_holds_27_bits() {
        assert!(bgv_sum_phase_log2(64.0, 1e9, 1.0, 1.0) <= 92.0 - 1.0);
        assert!(bgv_sum_phase_log2(27.0, 1e7, 1.0, 1.0) <= 46.0 - 1.0);
        assert!(bgv_sum_phase_log2(40.0, 1e7, 1.0, 1.0) > 46.0 - 1.0);
    }

    #[test]
    fn adding_bounds_is_symmetric_and_doubles_equals() {
        assert!((add_phase_log2(10.0, 10.0) - 11.0).abs() < 1e-12);
        assert_eq!(add_phase_log2(3.0, 40.0), add_phase_log2(40.0, 3.0));
    }

    /// The worst that can be: a message of t/2 and an error of 21.
    #[test]
    fn a_fresh_phase_is_half_a_modulus_and_21_of_them() {
        for t_log2 in [1_u32, 20, 60] {
            let largest = (1_u128 << t_log2) / 2 + 21 * (1_u128 << t_log2);
            let found = bgv_fresh_phase_log2(f64::from(t_log2));
            assert!((found - (largest as f64).log2()).abs() < 1e-9, "{t_log2}: {found}");
        }
    }
}
