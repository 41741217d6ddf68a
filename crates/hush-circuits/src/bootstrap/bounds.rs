// SPDX-License-Identifier: Apache-2.0
//! What bootstrapping does to the error of slots.
//!
//! # Math
//! All errors are counted in units of the values. What a value had for an error before, it has afterwards: the slope of the sine is at most 1. Added are
//!
//! * *to coefficients*: rounded matrices, key switches and divisions. A factor with `D` diagonals is `√(D/2)` times a unitary map, so that in units of the
//!   coefficients that come out a sum of `D` roundings counts `√D` times, and an error of its input `√2` times at most;
//! * *raising*: two key switches, on coefficients; and where slots repeat, those of the sum over rotations. What the `k`-th of them adds is `2^-k` of what it would be beside a single
//!   message, and stands in `2^k` times as many coefficients. So its variance is half of that of the one before, and all together have less than that of one key switch;
//! * *to slots*: the same as to coefficients, with values up to `RANGE` on the way: `(ε·v + I)`;
//! * *reduction*: the polynomial and the doublings, run on bounds, and divided by `c·2π·ε`, since that is what they make of a value. A slot has two such parts;
//! * the sine instead of the identity, `(2π·ε·v)²/6` of a value at most, the polynomial instead of the cosine near an integer, and the rounding of coefficients to doubles.
//!
//! Errors of different operations are independent, as everywhere in [`crate::noise`]. docs/math/bootstrapping.md compares the sum with what is measured.

use std::f64::consts::TAU;

use hush_params::bootstrap::{BootstrapShape, SPARSE_WEIGHT};
use hush_params::noise::{ERROR_VARIANCE, NoiseModel, View, add_phase_log2};
use hush_ring::{Level, RingLimb};

use super::{Bootstrapping, check_shape};
use crate::CircuitError;
use crate::error::check_depth;
use crate::linear::LinearTransform;
use crate::noise::{CircuitNoise, CkksNoise, SlotNoise, TransformShape};
use crate::polynomial::Arithmetic;

impl Bootstrapping {
    /// Bounds on bootstrapped slots, for slots with real and imaginary parts up to the headroom.
    ///
    /// # Errors
    /// [`CircuitError::Magnitude`] for slots that may be larger; [`CircuitError::Levels`] below the input level.
    pub fn noise(&self, model: &CkksNoise<'_>, a: SlotNoise) -> Result<SlotNoise, CircuitError> {
        self.noise_of_small(model, (a, 0))
    }

    /// [`Bootstrapping::noise`] of slots that are multiplied with `2^up` on the way, as [`Bootstrapping::apply_small`].
    ///
    /// # Errors
    /// As there; [`CircuitError::Slot`] for an `up` beyond [`Bootstrapping::LARGEST_UP`].
    pub fn noise_of_small(
        &self,
        model: &CkksNoise<'_>,
        (a, up): (SlotNoise, u32),
    ) -> Result<SlotNoise, CircuitError> {
        self.noise_of_all(model, (a, up), 1)
    }

    /// Bounds of [`Bootstrapping::apply_all`] for each of `count` values.
    ///
    /// # Errors
    /// As [`Bootstrapping::noise_of_small`].
    pub fn noise_of_all(
        &self,
        model: &CkksNoise<'_>,
        (a, up): (SlotNoise, u32),
        count: usize,
    ) -> Result<SlotNoise, CircuitError> {
        self.check_up(up)?;
        self.noise_of_divided(model, (a, up), (up, count))
    }

    /// Bounds of [`Bootstrapping::apply_refined`] for each of `count` values.
    ///
    /// # Errors
    /// As [`Bootstrapping::noise_of_small`]; [`CircuitError::Shape`] for a shape with few slots.
    pub fn noise_of_refined(
        &self,
        model: &CkksNoise<'_>,
        (a, up): (SlotNoise, u32),
        count: usize,
    ) -> Result<SlotNoise, CircuitError> {
        self.check_all_differ()?;
        let (input, output) = (self.shape.input(), self.shape.output());
        self.check(model, &a.times(f64::from(up).exp2()))?;
        let second_up = self.second_up(model, (up, count))?;
        let left = model.known(input, self.left_log2(model, (up, count))?, f64::NEG_INFINITY)?;
        let second = self.noise_of_all(model, (left, second_up), count)?;
        // Both descend, and what these descents add is no difference that the second one could know of.
        let exact = model.known(output, a.value_log2(), f64::NEG_INFINITY)?;
        let before = model.lowered(&a, input)?.deviation_log2();
        let after = model.lowered(&exact, input)?.deviation_log2();
        let deviation_log2 = add_phase_log2(add_phase_log2(before, after), second.deviation_log2());
        model.known(output, a.value_log2(), deviation_log2)
    }

    /// log2 of what the error of a bootstrapping, with `2^up`, can be multiplied with before it is bootstrapped.
    ///
    /// # Errors
    /// [`CircuitError::Slot`] for an `up` beyond [`Bootstrapping::LARGEST_UP`]; [`CircuitError::Shape`].
    pub(super) fn second_up(
        &self,
        model: &CkksNoise<'_>,
        (up, count): (u32, usize),
    ) -> Result<u32, CircuitError> {
        let room = LARGEST_LOG2 + f64::from(self.headroom_log2()) - self.left_log2(model, (up, count))?;
        Ok((room.max(0.0) as u32).min(Self::LARGEST_UP))
    }

    /// log2 of the largest error that the first of two bootstrappings adds to the largest values that it takes, with what a descent to the input level adds to it.
    fn left_log2(&self, model: &CkksNoise<'_>, (up, count): (u32, usize)) -> Result<f64, CircuitError> {
        self.check_up(up)?;
        let largest_log2 = f64::from(self.headroom_log2()) - f64::from(up) + 0.5;
        let exact = model.known(self.shape.input(), largest_log2, f64::NEG_INFINITY)?;
        let first = self.noise_of_divided(model, (exact, up), (up + 1, count))?;
        let first = first.with_error(conjugate_log2(model, &first)?);
        Ok(model.error_log2(&model.lowered(&first, self.shape.input())?))
    }

    /// Of slots that come out divided by `2^down`, and are multiplied by what is missing.
    fn noise_of_divided(
        &self,
        model: &CkksNoise<'_>,
        (a, up): (SlotNoise, u32),
        (down, count): (u32, usize),
    ) -> Result<SlotNoise, CircuitError> {
        check_shape(model.scheme(), &self.shape)?;
        check_depth(a.level(), self.shape.to_coefficients)?;
        let factor_log2 = f64::from(up);
        let large = a.times(factor_log2.exp2());
        self.check(model, &large)?;
        let mut a = model.lowered(&a, self.shape.input())?;
        if count == 2 && up > 0 {
            // Its own switch with the conjugate, and that of the other.
            let switch_log2 = conjugate_log2(model, &a)?;
            a = a.with_error(switch_log2).with_error(switch_log2);
        }
        let value_log2 = large.value_log2().max(0.5);
        let ways = add_phase_log2(self.coefficients_log2(model, value_log2)?, self.raising_log2(model)?);
        // The way out divides; the reduction says itself what it makes of a value.
        let reduction_log2 = self.reduction_log2(model, down)? + f64::from(down) - factor_log2;
        let own = add_phase_log2(ways - factor_log2, reduction_log2);
        // What is no random error, in the place of one; for each part, and a slot has two.
        let part = (value_log2 - 0.5).exp2();
        let sine = (TAU * self.epsilon * part).powi(2) / 6.0 * part;
        let doubles = (-DOUBLE_BITS).exp2() / (TAU * self.epsilon);
        let cosine = self.cosine_error * f64::from(1_u32 << self.headroom_log2());
        let fixed_log2 = 0.5 + (sine + doubles + cosine).log2() - factor_log2 - model.tail_log2();
        let deviation_log2 = add_phase_log2(add_phase_log2(a.deviation_log2(), own), fixed_log2);
        model.known(self.shape.output(), a.value_log2(), deviation_log2)
    }

    /// Refuses slots that may be too large.
    ///
    /// # Errors
    /// [`CircuitError::Magnitude`].
    pub(crate) fn check(&self, model: &CkksNoise<'_>, a: &SlotNoise) -> Result<(), CircuitError> {
        let largest_log2 = add_phase_log2(a.value_log2(), model.error_log2(a));
        if largest_log2 > LARGEST_LOG2 + f64::from(self.headroom_log2()) {
            return Err(CircuitError::Magnitude { found_log2: a.value_log2() });
        }
        Ok(())
    }

    /// log2 of the largest error of a slot that bootstrapping itself adds.
    ///
    /// # Errors
    /// As [`Bootstrapping::noise`].
    pub fn error_log2(&self, model: &CkksNoise<'_>) -> Result<f64, CircuitError> {
        let exact = model.known(self.shape.input(), 0.5, f64::NEG_INFINITY)?;
        Ok(model.error_log2(&self.noise(model, exact)?))
    }

    /// [`Bootstrapping::error_log2`] of [`Bootstrapping::apply_refined`].
    ///
    /// # Errors
    /// As [`Bootstrapping::noise_of_refined`].
    pub fn refined_error_log2(&self, model: &CkksNoise<'_>) -> Result<f64, CircuitError> {
        let exact = model.known(self.shape.input(), 0.5, f64::NEG_INFINITY)?;
        Ok(model.error_log2(&self.noise_of_refined(model, (exact, 0), 1)?))
    }

    fn coefficients_log2(&self, model: &CkksNoise<'_>, value_log2: f64) -> Result<f64, CircuitError> {
        self.to_coefficients.iter().try_fold(f64::NEG_INFINITY, |sum, transform| {
            Ok(add_phase_log2(sum, stage_log2(model, transform, (value_log2, 0.5))?))
        })
    }

    fn raising_log2(&self, model: &CkksNoise<'_>) -> Result<f64, CircuitError> {
        let chain = model.scheme().chain().params();
        let phases = NoiseModel::new(chain.degree(), 1, View::Bound);
        let one = phases.key_switch(chain, chain.top()).coefficient_log2;
        let large = if self.shape.repeats_log2 == 0 { one } else { add_phase_log2(one, one) };
        // To the sparse secret: a digit for each prime of level 0, one special prime, and the rounding of a division under that secret.
        let special = chain.special().first().map_or(1.0, |&p| p as f64);
        let ring = model.scheme().chain().ring(Level(0))?;
        let digit = |limb: &RingLimb| (limb.modulus().value() as f64 / special).powi(2);
        let digits: f64 = ring.limbs().iter().map(digit).sum();
        let rounding = (1.0 + SPARSE_WEIGHT as f64) / 12.0;
        let small = (2.0 * chain.degree() as f64 * ERROR_VARIANCE / 12.0 * digits + rounding).log2() / 2.0;
        let scale_log2 = model.scheme().scale(Level(0))?.log2() + f64::from(self.shape.gain_log2);
        Ok(add_phase_log2(small, large) - scale_log2)
    }

    /// From the top level to the output, in units of the values that come out.
    fn reduction_log2(&self, model: &CkksNoise<'_>, down: u32) -> Result<f64, CircuitError> {
        let stages = self.to_slots.len() as f64;
        // In units of the scale the raised values are up to RANGE·q0, and each factor makes them smaller by as much, down to 1/2.
        let chain = model.scheme().chain().params();
        let unit_log2 = chain.log_q(Level(0)).unwrap_or(0.0) - model.scheme().scale(self.shape.top())?.log2()
            + f64::from(self.shape.repeats_log2);
        let largest_log2 = f64::from(BootstrapShape::RANGE).log2() + unit_log2;
        let share_log2 = -(largest_log2 + 1.0) / stages;
        let mut argument = f64::NEG_INFINITY;
        for (index, transform) in self.to_slots.iter().enumerate() {
            // Inside a factor values are larger by the root of what it sums up.
            let value_log2 = largest_log2 + share_log2 * index as f64;
            let (diagonals, _) = transform.counts();
            let inside_log2 = value_log2 + 0.5 * (diagonals as f64).log2();
            let own = stage_log2(model, transform, (inside_log2, share_log2))?;
            argument = add_phase_log2(argument + share_log2, own);
        }
        let slots = model.known(self.shape.reduction(), -1.0, argument)?;
        let parts = model.sum(slots, model.rotated(slots));
        let reduction = self.reduction(down)?;
        let mut value = reduction.cosine.noise(model, model.bounded(parts, 0.0))?;
        for &subtrahend in &reduction.subtrahends {
            let doubled = model.divide(&model.product(&value, &value)?)?.times(2.0);
            value = model.bounded(model.add_scalar(&doubled, -subtrahend)?, subtrahend.log2());
        }
        // A value comes out divided, so that the height counts for what went in.
        Ok(value.deviation_log2() - reduction.height.log2() - f64::from(down))
    }
}

/// What a sum with the conjugate adds to slots, in units of the half of it.
fn conjugate_log2(model: &CkksNoise<'_>, a: &SlotNoise) -> Result<f64, CircuitError> {
    let exact = model.known(a.level(), a.value_log2(), f64::NEG_INFINITY)?;
    Ok(model.rotated(exact).deviation_log2())
}

/// The error that a factor of the Fourier transform adds, for values up to `2^value_log2` and with an error of its input counting `2^norm_log2` times.
fn stage_log2(
    model: &CkksNoise<'_>,
    transform: &LinearTransform,
    (value_log2, norm_log2): (f64, f64),
) -> Result<f64, CircuitError> {
    let (diagonals, giant_steps) = transform.counts();
    let exact = model.known(transform.level(), value_log2, f64::NEG_INFINITY)?;
    let diagonals = (diagonals as f64).sqrt().ceil() as usize;
    let shape = TransformShape { diagonals, giant_steps, row_norm: norm_log2.exp2() };
    Ok(model.transformed(exact, shape)?.deviation_log2())
}

/// log2 of the largest value with its error, beside the headroom: a little above √2, which costs the sine nothing that counts.
const LARGEST_LOG2: f64 = 0.5 + 1.0 / 64.0;
/// Bits to which the coefficients of the cosine and of the doublings are right, together, after three doublings.
const DOUBLE_BITS: f64 = 41.0;
