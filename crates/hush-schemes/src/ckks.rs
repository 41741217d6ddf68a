// SPDX-License-Identifier: Apache-2.0
//! CKKS: real numbers to a stated precision. A phase is `round(2^k·x) + e`.
//!
//! Two layouts use it. `approx_sum` packs values as coefficients, exactly as [`crate::bgv::sum`] does, and shares
//! its server code. `approx_slots` packs `N/2` reals by the canonical embedding for element-wise arithmetic, with
//! one product of ciphertexts and no rescaling: scales multiply, and the owner divides at the end.
//!
//! # Precision
//! An `approx_sum` result errs by at most `hush_params::noise::ckks_sum_error_log2`; a fresh slot by at most
//! `ckks_slot_error_log2`. Both fail with probability below 2^-128. Encoding rounds each coefficient to an
//! integer, which those bounds contain; `f64` itself carries 53 bits.

mod embedding;
mod leveled;
mod reals;
mod slots;
mod stored;

use ethnum::I256;
use hush_params::size::MAX_SCALE_LOG2;

pub use leveled::{Ckks, CkksCiphertext, Complex};
pub use slots::{ApproxCiphertext, ApproxEncoder};

use crate::SchemeError;

/// A scale `2^k`: how many bits after the binary point a phase holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scale(u32);

impl Scale {
    /// The scale `2^log2`.
    ///
    /// # Errors
    /// [`SchemeError::ScaleRange`] unless `1 ≤ log2 ≤ 120`.
    pub fn from_log2(log2: u32) -> Result<Self, SchemeError> {
        if (1..=MAX_SCALE_LOG2).contains(&log2) {
            return Ok(Self(log2));
        }
        Err(SchemeError::ScaleRange { found: log2, max: MAX_SCALE_LOG2 })
    }

    /// `k`.
    pub fn log2(self) -> u32 {
        self.0
    }

    /// The scale of a product.
    ///
    /// # Errors
    /// [`SchemeError::ScaleRange`] if it is beyond the largest.
    pub fn product(self, other: Self) -> Result<Self, SchemeError> {
        Self::from_log2(self.0 + other.0)
    }

    /// `2^k`, exact.
    fn factor(self) -> f64 {
        f64::from(self.0).exp2()
    }
}

/// `round(2^k·x)` for each value: the coefficients of an `approx_sum` column.
///
/// # Errors
/// [`SchemeError::NotFinite`] or [`SchemeError::ValueRange`] with the position, never the value, if a value is not
/// finite or its encoding reaches `2^limit_log2` in size (limits above 2^126 are taken as 2^126).
pub fn encode_coefficients(values: &[f64], scale: Scale, limit_log2: u32) -> Result<Vec<i128>, SchemeError> {
    let encode = |(index, &value)| Ok(rounded(index, value, scale, limit_log2.min(126))? as i128);
    values.iter().enumerate().map(encode).collect()
}

/// The real number that a lifted phase stands for.
pub fn decode_coefficient(phase: I256, scale: Scale) -> f64 {
    phase.as_f64() / scale.factor()
}

/// `round(2^k·value)` after checking that it is below `2^limit_log2`; the error speaks of the value's own bound.
fn rounded(index: usize, value: f64, scale: Scale, limit_log2: u32) -> Result<f64, SchemeError> {
    if !value.is_finite() {
        return Err(SchemeError::NotFinite { index });
    }
    // May overflow to infinity, which is beyond every limit.
    let rounded = (value * scale.factor()).round();
    if rounded.abs() >= f64::from(limit_log2).exp2() {
        return Err(SchemeError::ValueRange { index, limit_log2: limit_log2.saturating_sub(scale.0) });
    }
    Ok(rounded)
}

#[cfg(test)]
mod tests;
