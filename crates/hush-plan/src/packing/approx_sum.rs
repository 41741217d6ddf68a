// SPDX-License-Identifier: Apache-2.0
//! The packing `approx_sum`: CKKS by coefficients, for sums of floats without a range.
//!
//! The scale `2^s` is the smallest for which the error of a sum over all rows
//! ([`noise::ckks_sum_error_log2`]) stays below `0.5·10^-digits`. What is left of the modulus bounds the magnitude:
//! `max_abs = ⌊2^(log2 Q − 2 − s) / (rows·W)⌋`; encryption refuses larger values. A larger ring is taken where that
//! would be below a million. Where the schema has a `release` budget, the scale also leaves its digits beside the noise that
//! results get before they leave their owner ([`release`]).

use hush_params::noise::release;
use hush_params::{ParamSet, noise, presets_without_keys};
use num_bigint::BigInt;
use num_traits::{One, ToPrimitive};

use super::{Choice, Fit, Layout, Packing, Plaintext, Rules, Stored, SumAsked, SumFit};
use crate::error::PlanError;
use crate::quantity::Quantity;
use crate::range::{largest_sum, log2};
use crate::schema::ReleaseBudget;
use crate::writers::Writers;

/// Magnitude that a column should have room for before a larger ring is taken.
const COMFORTABLE_LOG2: f64 = 20.0;
/// Largest scale of a sum: two limbs.
const MAX_SUM_SCALE_LOG2: f64 = 90.0;
/// The same with a budget of releases: encoded values stay below `2^126`.
const MAX_RELEASED_SCALE_LOG2: f64 = 110.0;

/// log2 of the scales that are written.
const SCALES_LOG2: std::ops::RangeInclusive<u32> = 1..=250;

/// CKKS by coefficient packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApproxSum {
    /// log2 of the scale.
    pub scale_log2: u32,
}

impl ApproxSum {
    pub(super) fn read(plaintext: Plaintext) -> Option<Self> {
        match plaintext {
            Plaintext::Scale { log2 } => Some(Self { scale_log2: log2 }),
            _ => None,
        }
    }
}

impl Rules for ApproxSum {
    fn layout(&self) -> Layout {
        Layout::ApproxSum
    }

    fn plaintext(&self) -> Plaintext {
        Plaintext::Scale { log2: self.scale_log2 }
    }

    fn fits(&self, set: &ParamSet) -> bool {
        has_room(set, self.scale_log2)
    }

    fn describe(&self) -> String {
        format!("approximate at scale 2^{}", self.scale_log2)
    }

    fn plaintext_words(&self) -> String {
        format!("scale 2^{}", self.scale_log2)
    }

    fn stored(&self) -> Option<Stored> {
        Some(Stored::Coefficients)
    }

    fn held_bits(&self) -> u64 {
        u64::from(self.scale_log2)
    }

    fn fresh(&self, set: &ParamSet, writers: Writers) -> Fit {
        let (scale, factor) = (f64::from(self.scale_log2), writers.noise_factor(set));
        let error = noise::ckks_sum_error_log2(scale, 1.0, 1.0, factor).exp2();
        Fit { margin: f64::INFINITY, error: Some(error) }
    }

    fn scale_log2(&self) -> Option<u32> {
        Some(self.scale_log2)
    }

    fn sums(&self) -> bool {
        true
    }

    fn sum(&self, set: &ParamSet, asked: &SumAsked<'_>) -> Option<SumFit> {
        let weight = asked.weight_max.to_f64().unwrap_or(f64::INFINITY);
        let (rows, scale) = (asked.rows as f64, f64::from(self.scale_log2));
        let factor = asked.writers.noise_factor(set);
        let error = noise::ckks_sum_error_log2(scale, rows, weight, factor);
        let largest = log2(&largest_sum(asked.rows, asked.weight_max, asked.max_abs));
        let phase = noise::add_phase_log2(largest, error) + scale;
        Some(SumFit {
            fit: Fit { margin: set.log_q() - 1.0 - phase, error: Some(error.exp2()) },
            needed_bits: phase.ceil() as u64,
            held_bits: (set.log_q() - 1.0).floor() as u64,
            noise: Some(noise::ckks_sum_noise_log2(scale, rows, weight, factor).exp2()),
        })
    }
}

/// Whether a scale is one that is written, and the modulus is larger.
pub(super) fn has_room(set: &ParamSet, scale_log2: u32) -> bool {
    SCALES_LOG2.contains(&scale_log2) && f64::from(scale_log2) < set.log_q()
}

/// The magnitude that a column should have room for.
pub(crate) fn comfortable_bound() -> BigInt {
    BigInt::one() << COMFORTABLE_LOG2 as u64
}

/// log2 of `0.5·10^-digits`.
pub(super) fn target_log2(digits: u8) -> f64 {
    -1.0 - f64::from(digits) * 10f64.log2()
}

/// Chooses for one quantity to be summed.
pub(crate) fn choose(
    quantity: &Quantity,
    digits: u8,
    rows: u64,
    weight_max: &BigInt,
    (writers, budget): (Writers, Option<ReleaseBudget>),
) -> Result<Choice, PlanError> {
    let refusal = |bits| PlanError::NoParameters { quantity: quantity.describe(), rows, bits };
    let weight = weight_max.to_f64().filter(|weight| weight.is_finite()).ok_or_else(|| refusal(u64::MAX))?;
    let scale_over = |set: &ParamSet| {
        let error = noise::ckks_sum_error_log2(0.0, rows as f64, weight, writers.noise_factor(set));
        let released =
            budget.map_or(0.0, |budget| released_scale(set, (rows as f64, weight), writers, budget));
        (error - target_log2(digits)).ceil().max(released).max(1.0)
    };
    let share = log2(&(BigInt::from(rows.max(1)) * weight_max)).ceil();
    let sets = presets_without_keys().filter(|set| set.limb_count() >= 2 && set.residue_bits() == 46);
    let most = if budget.is_some() { MAX_RELEASED_SCALE_LOG2 } else { MAX_SUM_SCALE_LOG2 };
    let sets = sets.filter(|set| scale_over(set) <= most);
    let rooms: Vec<(&ParamSet, f64)> =
        sets.map(|set| (set, set.log_q() - 2.0 - scale_over(set) - share)).collect();
    let least = || presets_without_keys().map(scale_over).fold(f64::INFINITY, f64::min) + share;
    let (set, room) = comfortable(&rooms).ok_or_else(|| refusal(least() as u64))?;
    let scale = scale_over(set);
    Ok(Choice {
        packing: Packing::ApproxSum(ApproxSum { scale_log2: scale as u32 }),
        params: set.name(),
        max_abs: BigInt::one() << room.floor() as u64,
    })
}

/// The smallest scale at which sums, and values of single rows, keep the digits of the budget beside the noise of a release.
fn released_scale(
    set: &ParamSet,
    (rows, weight): (f64, f64),
    writers: Writers,
    ReleaseBudget { digits, answers }: ReleaseBudget,
) -> f64 {
    let factor = writers.noise_factor(set);
    let error = noise::ckks_sum_noise_log2(0.0, rows, weight, factor);
    let off_sum = release::levels(error, answers).map(|levels| {
        let with_rounding = noise::ckks_sum_error_log2(0.0, rows, weight, factor);
        release::off_log2(levels, 1.0, with_rounding)
    });
    let norm = release::stored_norm_log2(set.degree(), factor);
    let off_row =
        release::levels(norm, answers).map(|levels| release::stored_off_log2(levels, set.degree(), factor));
    let off = off_sum.zip(off_row).map_or(f64::INFINITY, |(sum, row)| sum.max(row));
    release::scale_log2(off, digits)
}

/// The first set with comfortable room, else the one with most, if any value fits at all.
pub(super) fn comfortable<'a>(rooms: &[(&'a ParamSet, f64)]) -> Option<(&'a ParamSet, f64)> {
    let first = rooms.iter().find(|(_, room)| *room >= COMFORTABLE_LOG2);
    let best = first.or_else(|| rooms.iter().max_by(|a, b| a.1.total_cmp(&b.1)))?;
    (best.1 >= 0.0).then_some(*best)
}
