// SPDX-License-Identifier: Apache-2.0
//! Errors of circuits with repetitions: what steps add, and what a turn as a whole makes of what was there before.
//!
//! # Math
//! Of every value two bounds are followed: its error, and the part of it that the steps since the start of the turn added, as if the turn had started from values without
//! error. A state after a turn errs by no more than that part and the derivatives of the turn times the errors before it ([`Turn`](hush_expr::Turn)), nor by more than its steps say: the less counts.
//! The second bound is that of a circuit which started from the values with their errors, so its magnitudes include them.

use std::rc::Rc;

use hush_params::noise::add_phase_log2;
use hush_ring::Level;

use super::steps::Period;
use super::walk::Machine;
use crate::CircuitError;
use crate::noise::{CircuitNoise, CkksNoise, SlotNoise};
use crate::polynomial::Arithmetic;
use crate::sums::Window;

/// The error of a value, and what its turn added.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrackedNoise {
    pub(super) all: SlotNoise,
    own: SlotNoise,
}

impl TrackedNoise {
    pub(super) fn fresh(noise: SlotNoise) -> Self {
        Self { all: noise, own: noise }
    }

    fn map(self, f: impl Fn(&SlotNoise) -> SlotNoise) -> Self {
        Self { all: f(&self.all), own: f(&self.own) }
    }

    fn try_map(
        &self,
        f: impl Fn(&SlotNoise) -> Result<SlotNoise, CircuitError>,
    ) -> Result<Self, CircuitError> {
        Ok(Self { all: f(&self.all)?, own: f(&self.own)? })
    }
}

/// The noise of a scheme, followed through turns.
pub(super) struct Tracked<'a> {
    pub(super) noise: CkksNoise<'a>,
    /// Whether coefficients are rounded to doubles.
    pub(super) is_rounded: bool,
}

impl Tracked<'_> {
    /// With the rounding of a coefficient.
    fn rounded(&self, of: &SlotNoise, factor: f64, product: SlotNoise) -> SlotNoise {
        if !self.is_rounded {
            return product;
        }
        product.with_error(of.value_log2() + factor.abs().log2() - DOUBLE_BITS - self.noise.tail_log2())
    }

    /// Values bootstrapped, for what bootstrapping makes of a value without error.
    pub(super) fn bootstrapped(&self, a: &TrackedNoise, exact: &SlotNoise) -> TrackedNoise {
        a.map(|noise| exact.like(noise).with_error(noise.deviation_log2()))
    }
}

impl Machine for Tracked<'_> {
    const FOLLOWS_TURNS: bool = true;

    fn multiple(&self, a: &TrackedNoise, factor: f64) -> TrackedNoise {
        a.map(|noise| self.rounded(noise, factor, noise.times(factor)))
    }
    fn margin_bits(&self, a: &TrackedNoise) -> f64 {
        self.noise.margin_bits(&a.all).min(self.noise.margin_bits(&a.own))
    }
    fn is_within(&self, a: &TrackedNoise, limit_log2: f64) -> bool {
        self.noise.error_log2(&a.all) <= limit_log2
    }
    fn total(&self, a: &TrackedNoise, period: Period) -> Result<TrackedNoise, CircuitError> {
        let window = Window::new(period.slots, 1, self.noise.degree() / 2)?;
        a.try_map(|noise| {
            let masked = if period.is_masked() { self.noise.masked(*noise)? } else { *noise };
            Ok(window.noise(&self.noise, masked))
        })
    }
    fn turn_start(&self, a: &TrackedNoise) -> TrackedNoise {
        let own = a.all.with_value(add_phase_log2(a.all.value_log2(), self.noise.error_log2(&a.all)));
        TrackedNoise { all: a.all, own: own.without_error() }
    }
    fn turn_end(&self, a: &TrackedNoise, starts: &[(Rc<TrackedNoise>, f64)]) -> TrackedNoise {
        let before = starts.iter().map(|(start, slope)| start.all.deviation_log2() + slope.log2());
        let turned = before.fold(a.own.deviation_log2(), add_phase_log2);
        let least = turned.min(a.all.deviation_log2());
        TrackedNoise { all: a.all.without_error().with_error(least), own: a.own }
    }
}

impl Arithmetic for Tracked<'_> {
    type Value = TrackedNoise;
    type Scalar = f64;

    fn one(&self) -> f64 {
        1.0
    }
    fn level(&self, a: &TrackedNoise) -> Level {
        a.all.level()
    }
    fn product(&self, a: &TrackedNoise, b: &TrackedNoise) -> Result<TrackedNoise, CircuitError> {
        let (all, own) = (self.noise.product(&a.all, &b.all)?, self.noise.product(&a.own, &b.own)?);
        Ok(TrackedNoise { all, own })
    }
    fn scaled(&self, a: &TrackedNoise, scalar: f64, level: Level) -> Result<TrackedNoise, CircuitError> {
        a.try_map(|noise| Ok(self.rounded(noise, scalar, self.noise.scaled(noise, scalar, level)?)))
    }
    fn add(&self, a: &mut TrackedNoise, b: &TrackedNoise) -> Result<(), CircuitError> {
        self.noise.add(&mut a.all, &b.all)?;
        self.noise.add(&mut a.own, &b.own)
    }
    fn add_scalar(&self, a: &TrackedNoise, scalar: f64) -> Result<TrackedNoise, CircuitError> {
        let added = a.try_map(|noise| self.noise.add_scalar(noise, scalar))?;
        if !self.is_rounded {
            return Ok(added);
        }
        let rounding_log2 = scalar.abs().log2() - DOUBLE_BITS - self.noise.tail_log2();
        Ok(added.map(|noise| noise.with_error(rounding_log2)))
    }
    fn divide(&self, a: &TrackedNoise) -> Result<TrackedNoise, CircuitError> {
        a.try_map(|noise| self.noise.divide(noise))
    }
    fn bounded(&self, a: TrackedNoise, limit_log2: f64) -> TrackedNoise {
        // What started from values with errors is off by these, and by its own.
        let errors = add_phase_log2(self.noise.error_log2(&a.all), self.noise.error_log2(&a.own));
        let own = self.noise.bounded(a.own, add_phase_log2(limit_log2, errors));
        TrackedNoise { all: self.noise.bounded(a.all, limit_log2), own }
    }
    fn descends_freely(&self, a: &TrackedNoise, level: Level) -> bool {
        self.noise.descends_freely(&a.all, level)
    }
}

/// Bits to which a coefficient is right, with the units that it was divided by.
const DOUBLE_BITS: f64 = 50.0;
