// SPDX-License-Identifier: Apache-2.0
//! Approximate results that leave their owner: noise that drowns the errors of encryption, rounding, and a ledger of released
//! numbers. docs/security/release.md has the bound and its proof.
//!
//! A *number* is the decrypted value of one ciphertext: a sum of one group, or the values of one ring element together. Values that
//! are computed from released numbers need no further care.

pub(crate) mod error;
pub(crate) mod ledger;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use ethnum::I256;
use hush_keys::{Flood, Flooded, NumberId, ReleaseKey, TableKeys};
use hush_params::noise::{self, release};
use hush_plan::Schema;
use hush_plan::bounds::{Bound, Values};
use hush_ring::UniformSeed;
use hush_rlwe::{Body, RlweCiphertext, SumAnswer};
use hush_schemes::ckks::{ApproxEncoder, Scale};
use hush_table::Manifest;
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{Signed, ToPrimitive};

pub use self::error::ReleaseError;
use self::ledger::{Ledger, Spent};
use crate::error::ClientError;
use crate::exact::big;
use crate::packing::ColumnKey;
use crate::pins::Pins;

/// Numbers that a table may release if its schema does not say.
pub const DEFAULT_ANSWERS: u32 = 1024;

/// The key, ledger and budget for a table's releases.
pub(crate) struct Releases {
    key: ReleaseKey,
    ledger: Ledger,
    /// Numbers of the whole budget.
    answers: u32,
    /// Whether devices encrypt some rows, which widens errors.
    devices: bool,
}

impl Releases {
    /// Releases of a table in a store; the ledger is beside the pins.
    pub(crate) fn of(keys: TableKeys<'_>, manifest: &Manifest, schema: &Schema, pins: &Pins) -> Self {
        let ledger = Ledger::of(manifest, keys.ledger_seal(), pins);
        Self::with(keys, schema, ledger)
    }

    /// Releases of a table that lives as long as the process.
    pub(crate) fn in_memory(keys: TableKeys<'_>, schema: &Schema) -> Self {
        Self::with(keys, schema, Ledger::in_memory(keys.ledger_seal()))
    }

    fn with(keys: TableKeys<'_>, schema: &Schema, ledger: Ledger) -> Self {
        let answers = schema.release.map_or(DEFAULT_ANSWERS, |release| release.answers);
        Self { key: keys.release_key(), ledger, answers, devices: schema.edge }
    }

    /// Begins the ledger of a new encryption.
    ///
    /// # Errors
    /// [`ClientError::File`].
    pub(crate) fn begin(&self) -> Result<(), ClientError> {
        self.ledger.begin()
    }

    /// Refuses to release anything of a table with rows of devices: the bound on errors holds for honest ciphertexts alone.
    ///
    /// # Errors
    /// [`ReleaseError::Devices`]; [`ReleaseError::Domains`] for a table whose numbers would have noise more than once.
    pub(crate) fn require_own_rows(manifest: &Manifest) -> Result<(), ReleaseError> {
        let domains = manifest.domains().len();
        if domains > 1 {
            return Err(ReleaseError::Domains { domains });
        }
        let has_deliveries = manifest.parts.iter().any(|part| part.delivery.is_some());
        if has_deliveries { Err(ReleaseError::Devices) } else { Ok(()) }
    }

    /// Refuses more numbers than the whole budget has, without a look at earlier releases.
    ///
    /// # Errors
    /// [`ReleaseError::Budget`].
    pub(crate) fn require_budget(&self, numbers: u64) -> Result<(), ReleaseError> {
        match u32::try_from(numbers) {
            Ok(asked) if asked <= self.answers => Ok(()),
            asked => Err(ReleaseError::Budget {
                spent: 0,
                asked: asked.unwrap_or(u32::MAX),
                answers: self.answers,
            }),
        }
    }

    /// One release of numbers with so many digits after the point.
    pub(crate) fn release(&self, digits: i32) -> Release<'_> {
        Release { of: self, digits, numbers: Mutex::default() }
    }
}

/// Numbers on their way out: they are collected, and may leave once [`Release::count`] has returned.
pub(crate) struct Release<'a> {
    of: &'a Releases,
    digits: i32,
    numbers: Mutex<BTreeSet<NumberId>>,
}

impl Release<'_> {
    /// One sum of an answer, which `bound` allows.
    ///
    /// # Errors
    /// [`ReleaseError::Digits`]; those of decryption.
    pub(crate) fn sum(
        &self,
        key: &ColumnKey,
        scale: Scale,
        (answer, body): (&SumAnswer, usize),
        bound: &Bound,
    ) -> Result<f64, ClientError> {
        let (error, noise) = errors(bound)?;
        let scale_log2 = f64::from(scale.log2());
        let flood = self.flood(key, noise.log2() + scale_log2, |levels| {
            release::off_log2(levels, 1.0, error.log2() + scale_log2) - scale_log2
        })?;
        let flooded = self.collect(flood.sum(&key.secret, answer, body)?);
        let phase = flooded.phases.first().copied();
        let phase = phase.ok_or(ClientError::Internal { what: "a released sum without a phase" })?;
        Ok(rounded(phase, scale.log2(), self.digits))
    }

    /// The first `rows` values of a stored column of sums in one chunk: each ring element is one number.
    ///
    /// # Errors
    /// As [`Release::sum`].
    pub(crate) fn chunk(
        &self,
        key: &ColumnKey,
        scale: Scale,
        seed: UniformSeed,
        body: &Body<'_>,
        rows: usize,
    ) -> Result<Vec<f64>, ClientError> {
        let degree = key.ring().degree();
        let factor = if self.of.devices { noise::device_factor(degree) } else { 1.0 };
        let scale_log2 = f64::from(scale.log2());
        let flood = self.flood(key, release::stored_norm_log2(degree, factor), |levels| {
            release::stored_off_log2(levels, degree, factor) - scale_log2
        })?;
        let mut values = Vec::with_capacity(rows);
        for flooded in flood.chunk(&key.secret, seed, body, rows)? {
            let phases = self.collect(flooded).phases;
            values.extend(phases.into_iter().map(|phase| rounded(phase, scale.log2(), self.digits)));
        }
        values.truncate(rows);
        Ok(values)
    }

    /// The slots of a ciphertext: one number.
    ///
    /// # Errors
    /// As [`Release::sum`].
    pub(crate) fn element(
        &self,
        key: &ColumnKey,
        (encoder, scale): (&ApproxEncoder, Scale),
        ciphertext: &RlweCiphertext,
        slots: Slots<'_>,
    ) -> Result<Vec<f64>, ClientError> {
        let (degree, scale_log2) = (encoder.ring().degree(), f64::from(scale.log2()));
        // A polynomial's norm is the root of the mean square of its slots, hence at most the largest of them.
        let (norm_log2, error_log2) = match slots {
            Slots::Stored => (release::element_norm_log2(degree), noise::ckks_slot_error_log2(0.0, degree)),
            Slots::Computed(bound) => {
                let error_log2 = errors(bound)?.0.log2() + scale_log2;
                (error_log2, error_log2)
            }
        };
        let flood = self.flood(key, norm_log2, |levels| {
            noise::add_phase_log2(release::slot_off_log2(levels, degree), error_log2) - scale_log2
        })?;
        let flooded = self.collect(flood.element(&key.secret, ciphertext)?);
        let unit = 10_f64.powi(self.digits.abs());
        let round = |value: f64| match self.digits {
            0.. => (value * unit).round() / unit,
            _ => (value / unit).round() * unit,
        };
        Ok(encoder.decode(&flooded.phases, scale)?.into_iter().map(round).collect())
    }

    /// Counts the collected numbers. They may leave when this returns.
    ///
    /// # Errors
    /// The errors of [`Ledger::count`]; nothing may leave then.
    pub(crate) fn count(&self) -> Result<Counted, ClientError> {
        let numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        if numbers.is_empty() {
            return Ok(Counted::default());
        }
        let Spent { released } = self.of.ledger.count(&numbers, self.of.answers)?;
        Ok(Counted { numbers: numbers.len() as u32, left: self.of.answers.saturating_sub(released) })
    }

    /// Noise for an error of norm `2^norm_log2`. Refused if the deviation that `off_log2` gives for the noise spoils the digits.
    fn flood(
        &self,
        key: &ColumnKey,
        norm_log2: f64,
        off_log2: impl FnOnce(u32) -> f64,
    ) -> Result<Flood<'_>, ClientError> {
        let refusal =
            |possible| ReleaseError::Digits { column: key.content_name(), asked: self.digits, possible };
        let levels = release::levels(norm_log2, self.of.answers);
        let levels = levels.ok_or_else(|| refusal(release::digits(norm_log2 + 60.0, 0.0)))?;
        let possible = release::digits(off_log2(levels), 0.0);
        if possible < self.digits {
            return Err(refusal(possible).into());
        }
        Ok(Flood::new(&self.of.key, levels))
    }

    fn collect(&self, flooded: Flooded) -> Flooded {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner).insert(flooded.number);
        flooded
    }
}

/// A ciphertext of slots.
#[derive(Clone, Copy)]
pub(crate) enum Slots<'a> {
    /// The result of an expression.
    Computed(&'a Bound),
    /// A stored column.
    Stored,
}

/// Largest error of an approximate number, and the part of it that encryption adds, in units of the value.
fn errors(bound: &Bound) -> Result<(f64, f64), ClientError> {
    match bound.values {
        Values::Approx { error, noise, .. } => Ok((error, noise)),
        Values::Exact(_) => {
            Err(ClientError::Internal { what: "an approximate number with the bound of an exact one" })
        }
    }
}

/// Names of the approximate columns among these, each once.
pub(crate) fn approximate<'a>(keys: impl Iterator<Item = &'a ColumnKey>) -> Vec<String> {
    let names: BTreeSet<String> =
        keys.filter(|key| is_approximate(key)).map(ColumnKey::content_name).collect();
    names.into_iter().collect()
}

/// Whether a column decrypts to message and error together.
pub(crate) fn is_approximate(key: &ColumnKey) -> bool {
    key.encoding.public.packing.is_approximate()
}

/// The share of the budget that a release used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Numbers in it, those that were released before included.
    pub numbers: u32,
    /// Numbers that the budget has left.
    pub left: u32,
}

/// `phase/2^scale_log2`, rounded to so many digits after the point: whole multiples of a power of ten, exactly, then the nearest
/// double.
fn rounded(phase: I256, scale_log2: u32, digits: i32) -> f64 {
    let ten = |power: i32| BigInt::from(10).pow(power.unsigned_abs());
    let (mut numerator, mut denominator): (BigInt, BigInt) = (big(phase), BigInt::from(1) << scale_log2);
    if digits >= 0 {
        numerator *= ten(digits)
    } else {
        denominator *= ten(digits)
    }
    // Half away from zero.
    let size: BigInt = (numerator.abs() * 2_u32 + &denominator).div_floor(&(denominator * 2_u32));
    let size = size.to_f64().unwrap_or(f64::INFINITY);
    let unit = 10_f64.powi(digits.abs());
    let value = if digits >= 0 { size / unit } else { size * unit };
    if numerator.is_negative() { -value } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_to_whole_multiples_half_away_from_zero() {
        let of = |units: i64, shift: u32, digits| rounded(I256::from(units), shift, digits);
        assert_eq!(of(5, 1, 0), 3.0);
        assert_eq!(of(-5, 1, 0), -3.0);
        assert_eq!(of(1, 3, 2), 0.13);
        assert_eq!(of(-1, 3, 1), -0.1);
        assert_eq!(of(1_249, 0, -2), 1_200.0);
        assert_eq!(of(1_250, 0, -2), 1_300.0);
        assert_eq!(of(0, 40, 3), 0.0);
        // Beyond 53 bits, where a double alone would have lost the digits.
        let wide = (I256::from(123_456_789_012_i64) << 100_u32) / I256::from(100);
        assert_eq!(rounded(wide, 100, 2), 1_234_567_890.12);
    }
}
