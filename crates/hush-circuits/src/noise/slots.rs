// SPDX-License-Identifier: Apache-2.0
//! CKKS: errors of slots.

use hush_params::noise::{Deviations, NoiseModel, Norms, PhaseNoise, View, add_phase_log2, tail};
use hush_ring::Level;
use hush_rlwe::RlweError;
use hush_schemes::ckks::Ckks;

use super::{CircuitNoise, TransformShape, times_log2};
use crate::CircuitError;
use crate::polynomial::Arithmetic;

/// Bounds on the slots of a CKKS ciphertext.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SlotNoise {
    level: Level,
    scale_log2: f64,
    value_log2: f64,
    deviation_log2: f64,
    /// Whether there are three components.
    is_product: bool,
}

impl SlotNoise {
    /// The level.
    pub fn level(&self) -> Level {
        self.level
    }
    /// log2 of the largest absolute value of a slot.
    pub fn value_log2(&self) -> f64 {
        self.value_log2
    }
    /// log2 of the standard deviation of a slot's error, or of what takes its place in a tail bound, in units of the value.
    pub fn deviation_log2(&self) -> f64 {
        self.deviation_log2
    }
    pub(crate) fn without_error(self) -> Self {
        Self { deviation_log2: f64::NEG_INFINITY, ..self }
    }
    pub(crate) fn with_value(self, value_log2: f64) -> Self {
        Self { value_log2, ..self }
    }
    /// Its level, scale and error, for the slots of another.
    pub(crate) fn like(self, other: &Self) -> Self {
        Self { value_log2: other.value_log2, ..self }
    }
    pub(crate) fn with_error(self, deviation_log2: f64) -> Self {
        Self { deviation_log2: add_phase_log2(self.deviation_log2, deviation_log2), ..self }
    }
    /// Slots and errors times a number.
    pub(crate) fn times(self, factor: f64) -> Self {
        let factor_log2 = factor.abs().log2();
        Self {
            value_log2: times_log2(self.value_log2, factor_log2),
            deviation_log2: times_log2(self.deviation_log2, factor_log2),
            ..self
        }
    }
}

/// The noise of one CKKS scheme.
#[derive(Clone, Copy, Debug)]
pub struct CkksNoise<'a> {
    scheme: &'a Ckks,
    model: NoiseModel,
}

impl<'a> CkksNoise<'a> {
    /// The noise of a scheme.
    pub fn new(scheme: &'a Ckks) -> Self {
        Self { scheme, model: NoiseModel::new(scheme.chain().degree(), 1, View::Bound) }
    }

    /// A symmetric encryption at a level and its own scale, of slots up to `2^value_log2`.
    ///
    /// # Errors
    /// [`CircuitError::Scheme`] if there is no such level.
    pub fn fresh(&self, level: Level, value_log2: f64) -> Result<SlotNoise, CircuitError> {
        self.encrypted(level, value_log2, self.model.fresh(NOTHING))
    }

    /// An encryption under a public key, as [`CkksNoise::fresh`].
    ///
    /// # Errors
    /// As there.
    pub fn fresh_public(&self, level: Level, value_log2: f64) -> Result<SlotNoise, CircuitError> {
        self.encrypted(level, value_log2, self.model.fresh_public(NOTHING))
    }

    /// The scheme.
    pub(crate) fn scheme(&self) -> &'a Ckks {
        self.scheme
    }

    /// Slots of which this is known, at a level and its own scale.
    pub(crate) fn known(
        &self,
        level: Level,
        value_log2: f64,
        deviation_log2: f64,
    ) -> Result<SlotNoise, CircuitError> {
        let scale_log2 = self.scheme.scale(level)?.log2();
        Ok(SlotNoise { level, scale_log2, value_log2, deviation_log2, is_product: false })
    }

    /// log2 of how many deviations no slot exceeds.
    pub(crate) fn tail_log2(&self) -> f64 {
        tail(self.degree() as f64).log2()
    }

    /// log2 of the error that no slot exceeds.
    pub fn error_log2(&self, a: &SlotNoise) -> f64 {
        a.deviation_log2 + tail(self.degree() as f64).log2()
    }

    /// Bits between the bound on the phase, value and error together, and what the modulus of its level holds. A coefficient is at
    /// most the largest slot.
    pub fn margin_bits(&self, a: &SlotNoise) -> f64 {
        let phase_log2 = add_phase_log2(a.value_log2, self.error_log2(a)) + a.scale_log2;
        self.scheme.chain().params().log_q(a.level).unwrap_or(0.0) - 1.0 - phase_log2
    }

    fn encrypted(&self, level: Level, value_log2: f64, phase: PhaseNoise) -> Result<SlotNoise, CircuitError> {
        let scale_log2 = self.scheme.scale(level)?.log2();
        let deviation_log2 = self.of_coefficients(self.model.encoded(phase).random, scale_log2);
        Ok(SlotNoise { level, scale_log2, value_log2, deviation_log2, is_product: false })
    }

    /// What takes the place of a deviation of slots in a tail bound, for such errors of coefficients.
    fn of_coefficients(&self, error: Deviations, scale_log2: f64) -> f64 {
        self.model.norms(error).slot_log2 - tail(self.degree() as f64).log2() - scale_log2
    }

    /// With an error of coefficients that nothing else depends on.
    fn with_coefficients(&self, a: SlotNoise, error: Deviations) -> SlotNoise {
        let more = self.of_coefficients(error, a.scale_log2);
        let deviation_log2 = add_phase_log2(2.0 * a.deviation_log2, 2.0 * more) / 2.0;
        SlotNoise { deviation_log2, ..a }
    }

    /// The rounding of a clear polynomial, as a deviation of its slots.
    fn encoding_log2(&self, scale_log2: f64) -> f64 {
        self.of_coefficients(self.model.encoded(NOTHING).random, scale_log2)
    }

    /// The level below, and log2 of what a division to it multiplies phases by.
    fn below(&self, level: Level) -> Result<(Level, f64), CircuitError> {
        let below = level.below().ok_or(RlweError::LastLevel)?;
        let switch = self.scheme.chain().level(level)?.mod_switch().ok_or(RlweError::LastLevel)?;
        Ok((below, switch.ratio().log2()))
    }

    /// The scale of a clear factor after which a division gives the scale of the level below.
    fn clear_scale_log2(&self, a: &SlotNoise) -> Result<f64, CircuitError> {
        let (below, ratio_log2) = self.below(a.level)?;
        Ok(self.scheme.scale(below)?.log2() - a.scale_log2 - ratio_log2)
    }

    /// A product with clear slots, undivided; a row of rotated copies of the slots sums up to `norm`.
    fn mul_clear(&self, a: SlotNoise, norm: f64, terms: f64) -> Result<SlotNoise, CircuitError> {
        let scale_log2 = self.clear_scale_log2(&a)?;
        let rounding_log2 = a.value_log2 + terms.log2() + self.encoding_log2(scale_log2);
        let product = a.times(norm).with_error(rounding_log2);
        Ok(SlotNoise { scale_log2: a.scale_log2 + scale_log2, ..product })
    }
}

impl CircuitNoise for CkksNoise<'_> {
    type Noise = SlotNoise;
    type Value = hush_schemes::ckks::Complex;

    fn degree(&self) -> usize {
        self.scheme.chain().degree()
    }
    fn rotated(&self, a: SlotNoise) -> SlotNoise {
        self.with_coefficients(a, self.model.key_switch(self.scheme.chain().params(), a.level))
    }
    fn sum(&self, a: SlotNoise, b: SlotNoise) -> SlotNoise {
        let value_log2 = add_phase_log2(a.value_log2, b.value_log2);
        let is_product = a.is_product | b.is_product;
        SlotNoise { value_log2, is_product, ..a.with_error(b.deviation_log2) }
    }
    fn masked(&self, a: SlotNoise) -> Result<SlotNoise, CircuitError> {
        self.divide(&self.mul_clear(a, 1.0, 1.0)?)
    }
    fn transformed(&self, a: SlotNoise, shape: TransformShape) -> Result<SlotNoise, CircuitError> {
        // A baby step's switch passes through a diagonal, a giant step's does not.
        let babies = self.mul_clear(self.rotated(a), shape.row_norm, shape.diagonals as f64)?;
        let giant = self.rotated(babies.without_error()).deviation_log2;
        let giants_log2 = times_log2(giant, (shape.giant_steps as f64).log2());
        self.divide(&babies.with_error(giants_log2))
    }
    fn magnitude(&self, value: &Self::Value) -> f64 {
        value.re.hypot(value.im)
    }
}

impl Arithmetic for CkksNoise<'_> {
    type Value = SlotNoise;
    type Scalar = f64;

    fn one(&self) -> f64 {
        1.0
    }
    fn level(&self, a: &SlotNoise) -> Level {
        a.level
    }
    fn product(&self, a: &SlotNoise, b: &SlotNoise) -> Result<SlotNoise, CircuitError> {
        let cross = add_phase_log2(
            times_log2(a.value_log2, b.deviation_log2),
            times_log2(b.value_log2, a.deviation_log2),
        );
        // The other error at its bound.
        let both = times_log2(self.error_log2(a), b.deviation_log2);
        Ok(SlotNoise {
            level: a.level,
            scale_log2: a.scale_log2 + b.scale_log2,
            value_log2: times_log2(a.value_log2, b.value_log2),
            deviation_log2: add_phase_log2(cross, both),
            is_product: true,
        })
    }
    fn scaled(&self, a: &SlotNoise, scalar: f64, level: Level) -> Result<SlotNoise, CircuitError> {
        let mut lowered = *a;
        if self.descends_freely(a, level) {
            lowered.level = level;
        }
        // As a ciphertext is brought down.
        while lowered.level > level {
            let to = self.scheme.descent(lowered.level, level);
            if self.descends_freely(&lowered, to) {
                lowered.level = to;
            }
            lowered = self.divide(&self.scaled(&lowered, 1.0, lowered.level)?)?;
        }
        let scale_log2 = self.clear_scale_log2(&lowered)?;
        // One integer is rounded: it errs by at most 1/2, whatever the slot.
        let product = lowered.times(scalar).with_error(lowered.value_log2 - 1.0 - scale_log2);
        Ok(SlotNoise { scale_log2: lowered.scale_log2 + scale_log2, ..product })
    }
    fn descends_freely(&self, a: &SlotNoise, level: Level) -> bool {
        self.scheme.chain().params().includes(a.level, level)
    }
    fn add(&self, a: &mut SlotNoise, b: &SlotNoise) -> Result<(), CircuitError> {
        *a = CircuitNoise::sum(self, *a, *b);
        Ok(())
    }
    fn add_scalar(&self, a: &SlotNoise, scalar: f64) -> Result<SlotNoise, CircuitError> {
        let value_log2 = add_phase_log2(a.value_log2, scalar.abs().log2());
        Ok(SlotNoise { value_log2, ..a.with_error(-1.0 - a.scale_log2) })
    }
    fn divide(&self, a: &SlotNoise) -> Result<SlotNoise, CircuitError> {
        let (below, ratio_log2) = self.below(a.level)?;
        let params = self.scheme.chain().params();
        let own = if a.is_product {
            self.model.relinearized_and_mod_switched(NOTHING, params, a.level).ok_or(RlweError::LastLevel)?
        } else {
            self.model.mod_switch(NOTHING, ratio_log2)
        };
        let scale_log2 = a.scale_log2 + ratio_log2;
        let divided = SlotNoise { level: below, scale_log2, is_product: false, ..*a };
        Ok(self.with_coefficients(divided, own.random))
    }
    fn bounded(&self, a: SlotNoise, limit_log2: f64) -> SlotNoise {
        SlotNoise { value_log2: a.value_log2.min(limit_log2), ..a }
    }
}

/// Errors alone: messages are followed slot by slot.
const NOTHING: PhaseNoise =
    PhaseNoise { message: Norms::ZERO, random: Deviations::ZERO, products: Norms::ZERO };
