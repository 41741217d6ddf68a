// SPDX-License-Identifier: Apache-2.0
//! The packing `approx_slots`: CKKS by slots, for element-wise arithmetic on floats without a range.
//!
//! One product of two values up to `2^m` must fit, `2(m + s) ≤ log2 Q − 2` for the scale `2^s`, and its error
//! `2·2^m·err(s)` must stay below `0.5·10^-digits`, where `err` is [`noise::ckks_slot_error_log2`].

use hush_params::{ParamSet, noise, presets};
use num_bigint::BigInt;
use num_traits::One;

use super::approx_sum::{comfortable, has_room, target_log2};
use super::slots::components;
use super::{Choice, Fit, Layout, Packing, Plaintext, ProgramFit, Rules, Stored};
use crate::error::PlanError;
use crate::program::Program;
use crate::quantity::Quantity;
use crate::schema::Schema;
use crate::writers::Writers;

/// Largest scale of a slot: the scale of a product must stay within 120 bits.
const MAX_SLOT_SCALE_LOG2: f64 = 60.0;
/// Largest log2 of the scale of a result that decrypts.
const MAX_RESULT_SCALE_LOG2: f64 = 120.0;

/// CKKS slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApproxSlots {
    /// log2 of the scale.
    pub scale_log2: u32,
}

impl ApproxSlots {
    pub(super) fn read(plaintext: Plaintext) -> Option<Self> {
        match plaintext {
            Plaintext::Scale { log2 } => Some(Self { scale_log2: log2 }),
            _ => None,
        }
    }

    /// Error bound of a fresh slot.
    fn fresh_error(self, set: &ParamSet) -> f64 {
        noise::ckks_slot_error_log2(f64::from(self.scale_log2), set.degree()).exp2()
    }
}

impl Rules for ApproxSlots {
    fn layout(&self) -> Layout {
        Layout::ApproxSlots
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
        Some(Stored::Evaluations)
    }

    fn held_bits(&self) -> u64 {
        u64::from(self.scale_log2)
    }

    fn fresh(&self, set: &ParamSet, _writers: Writers) -> Fit {
        Fit { margin: f64::INFINITY, error: Some(self.fresh_error(set)) }
    }

    fn scale_log2(&self) -> Option<u32> {
        Some(self.scale_log2)
    }

    /// Slots are complex: half as many values as the ring has coefficients.
    fn rows_per_element(&self, set: &ParamSet) -> usize {
        set.degree() / 2
    }

    fn evaluates(&self) -> bool {
        true
    }

    fn program(&self, set: &ParamSet, program: &Program, magnitude: f64) -> Option<ProgramFit> {
        let (largest, error) = program.node.approximate_error(magnitude, self.fresh_error(set));
        let scale = f64::from(self.scale_log2) * f64::from(program.node.scale_power().max(1));
        let margin = set.log_q() - 1.0 - (largest + error).log2() - scale;
        let fits = margin >= 0.0 && scale <= MAX_RESULT_SCALE_LOG2;
        let fit = Fit { margin, error: Some(error) };
        fits.then_some(ProgramFit { fit, largest: Some(largest) })
    }
}

/// Chooses for every column of the approximate programs, in groups of those that meet.
pub(crate) fn choose(
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
            packing: Packing::ApproxSlots(ApproxSlots { scale_log2: scale as u32 }),
            params: set.name(),
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
