// SPDX-License-Identifier: Apache-2.0
//! Bootstrapping of real slots: alone, two ciphertexts as one, and twice for more precision.

use hush_schemes::ckks::{Ckks, CkksCiphertext};

use super::{BootstrapKeys, Bootstrapping};
use crate::CircuitError;
use crate::noise::CkksNoise;

impl Bootstrapping {
    /// [`Bootstrapping::apply`] for slots that are real: imaginary parts are lost.
    ///
    /// # Cost
    /// Half of the reduction is saved.
    ///
    /// # Errors
    /// As there.
    pub fn apply_real(
        &self,
        scheme: &Ckks,
        a: &CkksCiphertext,
        keys: &BootstrapKeys,
    ) -> Result<CkksCiphertext, CircuitError> {
        self.apply_small(scheme, (a, 0), keys)
    }

    /// [`Bootstrapping::apply_real`] for slots that are multiplied with `2^up` on the way in, and divided on the way out: with an error that is as much less.
    ///
    /// # Errors
    /// As there; [`CircuitError::Slot`] for an `up` beyond [`Bootstrapping::LARGEST_UP`].
    pub fn apply_small(
        &self,
        scheme: &Ckks,
        (a, up): (&CkksCiphertext, u32),
        keys: &BootstrapKeys,
    ) -> Result<CkksCiphertext, CircuitError> {
        self.alone(scheme, (a, up), (up, keys))
    }

    /// [`Bootstrapping::apply_small`] for two ciphertexts, as `a + i·b` at the cost of one with complex slots.
    ///
    /// An imaginary part, which is error, would come out as an error of the other's real part. So each is added to its conjugate first, and doubled by that: with an `up` of 0 there
    /// is no room for it, and one is bootstrapped after the other.
    ///
    /// # Errors
    /// As there.
    pub fn apply_pair(
        &self,
        scheme: &Ckks,
        ([a, b], up): ([&CkksCiphertext; 2], u32),
        keys: &BootstrapKeys,
    ) -> Result<[CkksCiphertext; 2], CircuitError> {
        self.pair(scheme, ([a, b], up), (up, keys))
    }

    /// [`Bootstrapping::apply_small`] for one ciphertext, [`Bootstrapping::apply_pair`] for two, and one after the other for more.
    ///
    /// # Errors
    /// As there.
    pub fn apply_all(
        &self,
        scheme: &Ckks,
        (values, up): (&[&CkksCiphertext], u32),
        keys: &BootstrapKeys,
    ) -> Result<Vec<CkksCiphertext>, CircuitError> {
        self.all(scheme, (values, up), (up, keys))
    }

    /// [`Bootstrapping::apply_all`] twice: what the first one errs by is the difference of two ciphertexts, small, and bootstrapped as any small value. What is left of an error is
    /// that of a division at the scale of the program.
    ///
    /// # Cost
    /// Twice that of one, and a key switch. A third one would gain nothing.
    ///
    /// *Few slots.* Bootstrapping takes the mean of what repeats. What the first one errs by does not repeat, so the second one could not take it away: shapes with few slots are refused.
    ///
    /// # References
    /// \[BCCKK22\] Meta-BTS: Bae, Cheon, Cho, Kim and Kim, ePrint 2022/1167. Differs: with slots to coefficients first, the difference is taken above level 0, where there is room for it.
    ///
    /// # Errors
    /// As there; [`CircuitError::Shape`] for a shape with few slots.
    pub fn apply_refined(
        &self,
        scheme: &Ckks,
        (values, up): (&[&CkksCiphertext], u32),
        keys: &BootstrapKeys,
    ) -> Result<Vec<CkksCiphertext>, CircuitError> {
        self.check_all_differ()?;
        let second_up = self.second_up(&CkksNoise::new(scheme), (up, values.len()))?;
        let at_input = |a: &CkksCiphertext| self.at_input(scheme, a);
        let values = values.iter().map(|a| at_input(a)).collect::<Result<Vec<_>, _>>()?;
        // The second one loses imaginary parts, so the first one leaves none: it gives halves, which are added to their conjugates.
        let halves = self.all(scheme, (&values.iter().collect::<Vec<_>>(), up), (up + 1, keys))?;
        let first = halves.iter().map(|half| with_conjugate(scheme, half, keys));
        let first = first.collect::<Result<Vec<_>, _>>()?;
        let left = values.iter().zip(&first).map(|(a, first)| Ok(scheme.sub(a, &at_input(first)?)?));
        let left = left.collect::<Result<Vec<_>, CircuitError>>()?;
        let second = self.apply_all(scheme, (&left.iter().collect::<Vec<_>>(), second_up), keys)?;
        Ok(first
            .iter()
            .zip(&second)
            .map(|(first, second)| scheme.add(first, second))
            .collect::<Result<_, _>>()?)
    }

    /// [`Bootstrapping::apply_all`] with results divided by `2^down`.
    fn all(
        &self,
        scheme: &Ckks,
        (values, up): (&[&CkksCiphertext], u32),
        (down, keys): (u32, &BootstrapKeys),
    ) -> Result<Vec<CkksCiphertext>, CircuitError> {
        if let [a, b] = values {
            return Ok(self.pair(scheme, ([*a, *b], up), (down, keys))?.to_vec());
        }
        values.iter().map(|a| self.alone(scheme, (a, up), (down, keys))).collect()
    }

    fn alone(
        &self,
        scheme: &Ckks,
        (a, up): (&CkksCiphertext, u32),
        (down, keys): (u32, &BootstrapKeys),
    ) -> Result<CkksCiphertext, CircuitError> {
        let [re, _] = self.parts(scheme, (a, up), keys)?;
        let [re] = self.reduce(scheme, [re], (down, keys))?;
        Ok(re)
    }

    fn pair(
        &self,
        scheme: &Ckks,
        ([a, b], up): ([&CkksCiphertext; 2], u32),
        (down, keys): (u32, &BootstrapKeys),
    ) -> Result<[CkksCiphertext; 2], CircuitError> {
        let Some(rest) = up.checked_sub(1) else {
            return Ok([
                self.alone(scheme, (a, up), (down, keys))?,
                self.alone(scheme, (b, up), (down, keys))?,
            ]);
        };
        let twice = |a| with_conjugate(scheme, &self.at_input(scheme, a)?, keys);
        let both = scheme.add(&twice(a)?, &scheme.mul_i(&twice(b)?)?)?;
        self.reduce(scheme, self.parts(scheme, (&both, rest), keys)?, (down, keys))
    }

    /// Refuses shapes where slots repeat.
    pub(super) fn check_all_differ(&self) -> Result<(), CircuitError> {
        if self.shape.repeats_log2 > 0 { Err(CircuitError::Shape) } else { Ok(()) }
    }
}

/// Twice the real parts.
fn with_conjugate(
    scheme: &Ckks,
    a: &CkksCiphertext,
    keys: &BootstrapKeys,
) -> Result<CkksCiphertext, CircuitError> {
    Ok(scheme.add(a, &scheme.conjugate(a, &keys.evaluation)?)?)
}
