// SPDX-License-Identifier: Apache-2.0
//! Predicts the noise of a circuit before it runs.
//!
//! # Method
//! The formulas of single operations are [`hush_params::noise::NoiseModel`]'s, read as bounds. A circuit's follow by running the very
//! circuit with bounds in place of ciphertexts: a polynomial's tree, the steps of a window, the factors of an inverse. Operands inside
//! a circuit come from one ciphertext, so that deviations add up, not variances. What arithmetic on bounds cannot see, the
//! circuit says: that a Chebyshev polynomial does not exceed 1, or that a series does not magnify the error of its argument by more
//! than its slope.
//!
//! *Slots or coefficients.* CKKS multiplies slot by slot, and so errors are followed slot by slot ([`SlotNoise`]): a product of
//! `x + δ` and `y + ε` errs by `|x|·ε + |y|·δ`, however many coefficients there are. The errors of BGV and BFV are those of
//! coefficients ([`LevelNoise`]), because that is where they meet the modulus.
//!
//! *Chance.* Bounds hold for a ciphertext except with a chance of 2^-128; see [`hush_params::noise::tail`].

mod exact;
mod slots;

pub use exact::{BfvNoise, BgvNoise, LevelNoise};
pub use slots::{CkksNoise, SlotNoise};

use crate::CircuitError;

/// The noise bounds that linear circuits ask of a scheme.
pub trait CircuitNoise {
    /// The bounds of a ciphertext.
    type Noise: Copy;
    /// The type of a clear slot.
    type Value;

    /// `N`.
    fn degree(&self) -> usize;

    /// After a rotation.
    fn rotated(&self, a: Self::Noise) -> Self::Noise;

    /// A sum of two that may be one.
    fn sum(&self, a: Self::Noise, b: Self::Noise) -> Self::Noise;

    /// After a product with zeros and ones.
    ///
    /// # Errors
    /// [`CircuitError::Scheme`] at level 0 where a level is needed.
    fn masked(&self, a: Self::Noise) -> Result<Self::Noise, CircuitError>;

    /// After a linear transform.
    ///
    /// # Errors
    /// As [`CircuitNoise::masked`].
    fn transformed(&self, a: Self::Noise, shape: TransformShape) -> Result<Self::Noise, CircuitError>;

    /// The absolute value of a clear slot.
    fn magnitude(&self, value: &Self::Value) -> f64;
}

/// The norms that decide the noise of a linear transform.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TransformShape {
    /// Diagonals.
    pub diagonals: usize,
    /// Giant steps that rotate.
    pub giant_steps: usize,
    /// The largest sum of the absolute values of a row.
    pub row_norm: f64,
}

/// log2 of `2^a·2^b`, zero times anything being zero.
fn times_log2(a: f64, b: f64) -> f64 {
    if a == f64::NEG_INFINITY || b == f64::NEG_INFINITY { f64::NEG_INFINITY } else { a + b }
}

#[cfg(test)]
mod tests;
