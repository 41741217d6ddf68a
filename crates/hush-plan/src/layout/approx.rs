// SPDX-License-Identifier: Apache-2.0
//! Parameters of the approximate layouts (floats without a range).
//!
//! *Sums.* The scale `2^s` is the smallest for which the error of a sum over all rows
//! ([`noise::ckks_sum_error_log2`]) stays below `0.5·10^-digits`. What is left of the modulus bounds the magnitude:
//! `max_abs = ⌊2^(log2 Q − 2 − s) / (rows·W)⌋`; encryption refuses larger values. A larger ring is taken where that
//! would be below a million. Where the schema has a `release` budget, the scale also leaves its digits beside the noise that
//! results get before they leave their owner ([`release`]).
//!
//! *Slots.* One product of two values up to `2^m` must fit, `2(m + s) ≤ log2 Q − 2`, and its error
//! `2·2^m·err(s)` must stay below `0.5·10^-digits`, where `err` is [`noise::ckks_slot_error_log2`].

use hush_params::noise::release;
use hush_params::{ParamSet, noise, presets};
use num_bigint::BigInt;
use num_traits::{One, ToPrimitive};

use super::Choice;
use super::slots::components;
use crate::encoding::{Layout, Plaintext};
use crate::error::PlanError;
use crate::program::Program;
use crate::quantity::Quantity;
use crate::range::log2;
use crate::schema::{ReleaseBudget, Schema};
use crate::writers::Writers;

/// Magnitude that a column should have room for before a larger ring is taken.
const COMFORTABLE_LOG2: f64 = 20.0;
/// Largest scale of a slot: the scale of a product must stay within 120 bits.
const MAX_SLOT_SCALE_LOG2: f64 = 60.0;
/// Largest scale of a sum: two limbs.
const MAX_SUM_SCALE_LOG2: f64 = 90.0;
/// The same with a budget of releases: encoded values stay below `2^126`.
const MAX_RELEASED_SCALE_LOG2: f64 = 110.0;

/// The magnitude that a column should have room for.
pub(super) fn comfortable_bound() -> BigInt {
    BigInt::one() << COMFORTABLE_LOG2 as u64
}

/// log2 of `0.5·10^-digits`.
fn target_log2(digits: u8) -> f64 {
    -1.0 - f64::from(digits) * 10f64.log2()
}

/// Chooses for one quantity to be summed.
pub(super) fn sum(
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
    let sets = presets().iter().filter(|set| set.limb_count() >= 2 && set.residue_bits() == 46);
    let most = if budget.is_some() { MAX_RELEASED_SCALE_LOG2 } else { MAX_SUM_SCALE_LOG2 };
    let sets = sets.filter(|set| scale_over(set) <= most);
    let rooms: Vec<(&ParamSet, f64)> =
        sets.map(|set| (set, set.log_q() - 2.0 - scale_over(set) - share)).collect();
    let least = || presets().iter().map(scale_over).fold(f64::INFINITY, f64::min) + share;
    let (set, room) = comfortable(&rooms).ok_or_else(|| refusal(least() as u64))?;
    let scale = scale_over(set);
    Ok(Choice {
        layout: Layout::ApproxSum,
        params: set.name(),
        plaintext: Plaintext::Scale { log2: scale as u32 },
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

/// Chooses for every column of the approximate programs, in groups of those that meet.
pub(super) fn slots(
    schema: &Schema,
    programs: &[Program],
) -> Result<Vec<Vec<(Quantity, Choice)>>, PlanError> {
    let approximate: Vec<&Program> = programs.iter().filter(|program| program.approximate).collect();
    let mut groups = Vec::new();
    for (columns, _) in components(&approximate) {
        let quantities: Vec<Quantity> = columns.into_iter().map(Quantity::Value).collect();
        let digits =
            quantities.iter().filter_map(|quantity| quantity.approximate_digits(schema)).max().unwrap_or(0);
        let sets = presets().iter().filter(|set| set.degree() == 8192);
        let options: Vec<(&ParamSet, f64)> = sets.map(|set| (set, slot_magnitude(set, digits))).collect();
        let refusal = || PlanError::NoParameters {
            quantity: quantities.iter().map(Quantity::describe).collect::<Vec<_>>().join(", "),
            rows: 1,
            bits: u64::from(digits) * 4,
        };
        let (set, room) = comfortable(&options).ok_or_else(refusal)?;
        let magnitude = room.floor();
        let scale = (half_room(set) - magnitude).floor().min(MAX_SLOT_SCALE_LOG2);
        let choice = Choice {
            layout: Layout::ApproxSlots,
            params: set.name(),
            plaintext: Plaintext::Scale { log2: scale as u32 },
            max_abs: BigInt::one() << magnitude as u64,
        };
        groups.push(quantities.into_iter().map(|quantity| (quantity, choice.clone())).collect());
    }
    Ok(groups)
}

/// Bits for the magnitude and scale of each factor of a product.
fn half_room(set: &ParamSet) -> f64 {
    (set.log_q() - 2.0) / 2.0
}

/// The largest `m` with `m + s ≤ half` and `1 + m + err − s ≤ target`, one bit of the latter kept for sums of products.
fn slot_magnitude(set: &ParamSet, digits: u8) -> f64 {
    let slack = target_log2(digits) - noise::ckks_slot_error_log2(0.0, set.degree()) - 2.0;
    ((half_room(set) + slack) / 2.0).min(MAX_SLOT_SCALE_LOG2 + slack)
}

/// The first set with comfortable room, else the one with most, if any value fits at all.
fn comfortable<'a>(rooms: &[(&'a ParamSet, f64)]) -> Option<(&'a ParamSet, f64)> {
    let first = rooms.iter().find(|(_, room)| *room >= COMFORTABLE_LOG2);
    let best = first.or_else(|| rooms.iter().max_by(|a, b| a.1.total_cmp(&b.1)))?;
    (best.1 >= 0.0).then_some(*best)
}
