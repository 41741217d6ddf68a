// SPDX-License-Identifier: Apache-2.0
//! Encryption-time planning: which encoded columns a table gets, with which parameters.
//!
//! What a table must be able to do ([`Needs`]) comes from the columns' purposes or from queries. Each needed quantity
//! then gets the parameter set that takes the fewest stored bytes per value among those that hold it:
//! - `sum`: one body per quantity, `limbs · residue_bits / 8` bytes per value.
//! - `slots`: one ciphertext per plaintext prime, shared choice for columns that meet in a product.
//! - `approx_sum`, `approx_slots`: scale from the column's digits, magnitude from what is left.
//!
//! How is told by the file of each in [`crate::packing`].

mod filtered;
mod further;

use std::collections::{BTreeMap, BTreeSet};

use hush_params::{ParamSet, presets};
use num_bigint::BigInt;

use crate::encoding::{Encoding, EncodingId, PrivateEncoding};
use crate::error::PlanError;
use crate::packing::{Choice, approx_slots, approx_sum, slots, sum};
use crate::program::Program;
use crate::quantity::Quantity;
use crate::range::at_least_one;
use crate::schema::{Protection, Schema};
use crate::writers::Writers;
pub(crate) use filtered::is_filtered;
pub use filtered::ranks_beside_shared;
pub use further::{Further, plan_further};

/// The sums and programs that the encoded columns of a table must serve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Needs {
    /// Quantities to be summed, with the largest clear weight (absolute value) of any sum.
    pub(crate) sums: BTreeMap<Quantity, BigInt>,
    /// Element-wise expressions.
    pub(crate) programs: Vec<Program>,
    /// Flags and limbs of conditions without keys and of sums under them.
    pub(crate) filtered: BTreeSet<Quantity>,
}

impl Needs {
    /// Whether nothing needs to be encoded.
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty() && self.programs.is_empty() && self.filtered.is_empty()
    }

    /// Adds what `other` needs.
    pub fn merge(&mut self, other: Self) {
        for (quantity, weight) in other.sums {
            self.add_sum(quantity, weight);
        }
        self.programs.extend(other.programs);
        self.filtered.extend(other.filtered);
    }

    pub(crate) fn add_sum(&mut self, quantity: Quantity, weight: BigInt) {
        let largest = self.sums.entry(quantity).or_default();
        *largest = at_least_one(largest.clone().max(weight));
    }
}

/// Chooses the encoded columns that serve `needs` on a table of up to `rows` rows. `new_id` gives a random identity
/// (32 hexadecimal digits) for each secret: for each column, but one for the slot columns that meet in products.
///
/// A parameter set takes as many columns as it has room for ([`ParamSet::most_columns`]): finding *some* column's secret costs 2^128 as
/// well. Where there are more, all columns that are summed do without that set.
///
/// # Errors
/// [`PlanError::NoParameters`] where no parameter set is large enough.
pub fn plan_encodings(
    schema: &Schema,
    needs: &Needs,
    rows: u64,
    new_id: &mut dyn FnMut() -> String,
) -> Result<Vec<PrivateEncoding>, PlanError> {
    let mut crowded = Vec::new();
    let sums = loop {
        let sums = match schema.writers() {
            Writers::Owner => owned_sums(schema, needs, rows, &crowded)?,
            Writers::Devices => shared_sums(schema, needs, rows, &crowded)?,
        };
        match presets().iter().find(|set| is_crowded(set, &sums, 0)) {
            Some(set) => crowded.push(set.name()),
            None => break sums,
        }
    };
    let mut encodings = plan_groups(schema, sums, &needs.programs, EncodingId(0), new_id)?;
    let next_id = EncodingId(encodings.len() as u32);
    encodings.extend(filtered::plan(schema, &needs.filtered, &[], next_id, new_id)?);
    Ok(encodings)
}

/// The encodings of such sums, and of programs. A sum needs no other column's secret; the factors of a product need a common one.
fn plan_groups(
    schema: &Schema,
    sums: Vec<(Quantity, Choice)>,
    programs: &[Program],
    first_id: EncodingId,
    new_id: &mut dyn FnMut() -> String,
) -> Result<Vec<PrivateEncoding>, PlanError> {
    let mut groups: Vec<Vec<(Quantity, Choice)>> = sums.into_iter().map(|sum| vec![sum]).collect();
    groups.extend(slots::choose(schema, programs)?);
    groups.extend(approx_slots::choose(schema, programs)?);

    let mut encodings = Vec::new();
    for group in groups {
        let secret_id = new_id();
        for (quantity, choice) in group {
            let public = Encoding {
                id: EncodingId(first_id.0.saturating_add(encodings.len() as u32)),
                params: choice.params.to_owned(),
                packing: choice.packing,
            };
            let (max_abs, secret_id) = (choice.max_abs.to_string(), secret_id.clone());
            encodings.push(PrivateEncoding { public, quantity, max_abs, secret_id });
        }
    }
    Ok(encodings)
}

/// Whether a set would have more columns than it has room for, with `present` ones that it has.
fn is_crowded(set: &ParamSet, chosen: &[(Quantity, Choice)], present: usize) -> bool {
    present + chosen.iter().filter(|(_, choice)| choice.params == set.name()).count() > set.most_columns()
}

/// Columns to be summed that the owner alone encrypts; exact ones not over the sets `without`.
fn owned_sums(
    schema: &Schema,
    needs: &Needs,
    rows: u64,
    without: &[&str],
) -> Result<Vec<(Quantity, Choice)>, PlanError> {
    let choose = |(quantity, weight): (&Quantity, &BigInt)| {
        let choice = match quantity.approximate_digits(schema) {
            Some(digits) => {
                approx_sum::choose(quantity, digits, rows, weight, (Writers::Owner, schema.release))?
            }
            None => sum::choose(quantity, &quantity.bound(schema), rows, weight, without)?,
        };
        Ok((quantity.clone(), choice))
    };
    needs.sums.iter().map(choose).collect()
}

/// Columns to be summed that devices encrypt too. Sealed columns and element-wise products are not among what they can.
fn shared_sums(
    schema: &Schema,
    needs: &Needs,
    rows: u64,
    without: &[&str],
) -> Result<Vec<(Quantity, Choice)>, PlanError> {
    if let Some(column) = schema.under_seal().next() {
        return Err(PlanError::NotByDevices { column: column.name.clone(), what: "sealing" });
    }
    if let Some(column) = schema.protected(Protection::JoinKey).next() {
        return Err(PlanError::NotByDevices { column: column.name.clone(), what: "the token of a join key" });
    }
    if let Some(column) = needs.programs.iter().find_map(|program| program.columns.first()) {
        return Err(PlanError::NotByDevices { column: column.clone(), what: "element-wise products" });
    }
    let mut chosen = BTreeMap::new();
    let mut exact = Vec::new();
    for (quantity, weight_max) in &needs.sums {
        match quantity.approximate_digits(schema) {
            Some(digits) => {
                let choice = approx_sum::choose(
                    quantity,
                    digits,
                    rows,
                    weight_max,
                    (Writers::Devices, schema.release),
                )?;
                chosen.insert(quantity.clone(), choice);
            }
            None => exact.push(sum::Asked { quantity, max_abs: quantity.bound(schema), weight_max }),
        }
    }
    let taken: Vec<&str> =
        chosen.values().map(|choice| choice.params).chain(without.iter().copied()).collect();
    let shared = sum::choose_shared(&exact, rows, &taken)?;
    chosen.extend(exact.iter().map(|asked| asked.quantity.clone()).zip(shared));
    Ok(chosen.into_iter().collect())
}

/// Whether sums of a column over all rows that the table may have are held with factors up to `bound`.
pub(crate) fn holds(schema: &Schema, quantity: &Quantity, bound: &BigInt) -> bool {
    let rows = schema.max_rows.max(1);
    match quantity.approximate_digits(schema) {
        Some(digits) => approx_sum::choose(quantity, digits, rows, bound, (Writers::Owner, schema.release))
            .is_ok_and(|choice| choice.max_abs >= approx_sum::comfortable_bound()),
        None => sum::choose(quantity, &quantity.bound(schema), rows, bound, &[]).is_ok(),
    }
}

#[cfg(test)]
mod tests;
