// SPDX-License-Identifier: Apache-2.0
//! Planning for a table that is there: which encoded columns an altered schema needs beside those that the table has.

use std::collections::BTreeSet;

use hush_params::ParamSet;
use num_bigint::BigInt;
use num_traits::One;

use super::{Needs, filtered, is_crowded, owned_sums, plan_groups};
use crate::catalog::Catalog;
use crate::encoding::{Encoding, EncodingId, PrivateEncoding};
use crate::error::PlanError;
use crate::packing::{Choice, Packing, SumAsked, sum};
use crate::program::Program;
use crate::quantity::Quantity;
use crate::schema::{Protection, Schema};
use crate::writers::Writers;

/// The encodings of an altered table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Further {
    /// Those that the table has and keeps, with the bounds of the altered schema.
    pub kept: Vec<PrivateEncoding>,
    /// Those that hold the ranges of before and not those of the altered schema.
    pub outgrown: Vec<PrivateEncoding>,
    /// Those that it needs beside the kept ones.
    pub new: Vec<PrivateEncoding>,
}

/// Plans the encodings of a table whose schema was altered to `schema`. `present` are those that it has, of columns that are still there
/// and under the names that they have now. New ones get ids from `first_id` on; `new_id` gives identities of secrets, as in
/// [`super::plan_encodings`].
///
/// What the table has is kept wherever it still serves, even where a new table would get something else: encodings are what takes time and
/// room.
///
/// # Errors
/// As [`super::plan_encodings`]; [`PlanError::BadEncoding`].
pub fn plan_further(
    schema: &Schema,
    present: &[PrivateEncoding],
    needs: &Needs,
    rows: u64,
    first_id: EncodingId,
    new_id: &mut dyn FnMut() -> String,
) -> Result<Further, PlanError> {
    let mut further = Further::default();
    let is_left_out = |encoding: &PrivateEncoding| {
        // Other values and ranges make other cells and places, which hold nothing for a query.
        match &encoding.quantity {
            Quantity::InCells { .. } => !needs.sums.contains_key(&encoding.quantity),
            Quantity::Flag(_) | Quantity::Holds(_) | Quantity::Limb { .. } => {
                !needs.filtered.contains(&encoding.quantity)
            }
            _ => false,
        }
    };
    for encoding in present.iter().filter(|encoding| !is_left_out(encoding)) {
        let mut now = encoding.clone();
        let exact = encoding.quantity.approximate_digits(schema).is_none();
        let bound = encoding.quantity.bound(schema);
        let before = encoding.max_abs.parse::<BigInt>().unwrap_or_default();
        let has_grown = exact && bound > before;
        if has_grown {
            now.max_abs = bound.to_string();
        }
        let weight = needs.sums.get(&encoding.quantity).cloned().unwrap_or_else(BigInt::one);
        if has_grown && !holds(schema, &now, &bound, rows, &weight)? {
            further.outgrown.push(encoding.clone());
        } else {
            further.kept.push(now);
        }
    }
    let mut missing = missing(schema, &further.kept, needs, rows)?;
    let joined = joined(schema, &further.kept, &missing.programs, first_id)?;
    if !joined.is_empty() {
        let both: Vec<_> = further.kept.iter().chain(&joined).cloned().collect();
        missing = self::missing(schema, &both, needs, rows)?;
    }
    // Also what nothing but a workload had asked for.
    let outgrown = further.outgrown.iter().filter(|encoding| encoding.public.packing.sums());
    for encoding in outgrown.filter(|encoding| !is_summed(&further.kept, &encoding.quantity)) {
        missing.add_sum(encoding.quantity.clone(), BigInt::one());
    }
    let sums = match schema.writers() {
        Writers::Owner => {
            without_crowds(&further.kept, |crowded| owned_sums(schema, &missing, rows, crowded))?
        }
        Writers::Devices => of_devices(schema, &further.kept, &missing, rows)?,
    };
    let next_id = EncodingId(first_id.0.saturating_add(joined.len() as u32));
    further.new = joined;
    further.new.extend(plan_groups(schema, sums, &missing.programs, next_id, new_id)?);
    let next_id = EncodingId(first_id.0.saturating_add(further.new.len() as u32));
    let filtered = filtered::plan(schema, &missing.filtered, &further.kept, next_id, new_id)?;
    further.new.extend(filtered);
    Ok(further)
}

/// Whether an encoding holds the values of its quantity, and sums of them with such weights.
fn holds(
    schema: &Schema,
    encoding: &PrivateEncoding,
    max_abs: &BigInt,
    rows: u64,
    weight_max: &BigInt,
) -> Result<bool, PlanError> {
    let set = set_of(encoding)?;
    let asked = SumAsked { rows, max_abs, weight_max, writers: schema.writers() };
    let rules = encoding.public.packing.rules();
    Ok(match rules.sum(set, &asked) {
        Some(fit) => fit.needed_bits <= fit.held_bits && fit.fit.margin >= 0.0,
        None => max_abs.bits() < rules.held_bits(),
    })
}

fn set_of(encoding: &PrivateEncoding) -> Result<&'static ParamSet, PlanError> {
    let fault = crate::error::EncodingFault::UnknownParams;
    encoding.public.ring().map_err(|_| PlanError::BadEncoding { id: encoding.public.id.0, fault })
}

/// What no kept encoding serves: quantities that none of them sums, programs that cannot be evaluated on them.
fn missing(schema: &Schema, kept: &[PrivateEncoding], needs: &Needs, rows: u64) -> Result<Needs, PlanError> {
    let catalog = Catalog::new(schema, kept, rows)?;
    let is_evaluated = |program: &Program| catalog.evaluates(program);
    let sums = needs.sums.iter().filter(|(quantity, _)| !is_summed(kept, quantity));
    let programs = needs.programs.iter().filter(|program| !is_evaluated(program));
    Ok(Needs {
        sums: sums.map(|(quantity, weight)| (quantity.clone(), weight.clone())).collect(),
        programs: programs.cloned().collect(),
        filtered: needs
            .filtered
            .iter()
            .filter(|quantity| !filtered::holds(kept, quantity))
            .cloned()
            .collect(),
    })
}

fn is_summed(kept: &[PrivateEncoding], quantity: &Quantity) -> bool {
    kept.iter().any(|encoding| encoding.quantity.is_same(quantity) && encoding.public.packing.sums())
}

/// Columns that join the factors of products which the table has, under their secret, where the packing of these holds the products with them.
/// So a factor that is added does not make all others be encrypted once more.
fn joined(
    schema: &Schema,
    kept: &[PrivateEncoding],
    programs: &[Program],
    first_id: EncodingId,
) -> Result<Vec<PrivateEncoding>, PlanError> {
    let mut joined: Vec<PrivateEncoding> = Vec::new();
    let exact = |encoding: &&PrivateEncoding| {
        encoding.public.packing.evaluates() && !encoding.public.packing.is_approximate()
    };
    let mut seen = BTreeSet::new();
    for model in kept.iter().filter(exact).filter(|encoding| seen.insert(encoding.secret_id.clone())) {
        let (set, packing) = (set_of(model)?, &model.public.packing);
        let mut columns: BTreeSet<&str> = (kept.iter())
            .filter(|encoding| encoding.secret_id == model.secret_id)
            .flat_map(|encoding| encoding.quantity.columns())
            .collect();
        for program in programs.iter().filter(|program| !program.approximate) {
            let names: Vec<&str> = program.columns.iter().map(String::as_str).collect();
            let meets = names.iter().any(|name| columns.contains(name));
            if !meets || packing.rules().program(set, program, 1.0).is_none() {
                continue;
            }
            for name in names.into_iter().filter(|name| columns.insert(*name)) {
                let quantity = Quantity::Value(name.to_owned());
                let id = EncodingId(first_id.0.saturating_add(joined.len() as u32));
                let public = Encoding { id, ..model.public.clone() };
                let (max_abs, secret_id) = (quantity.bound(schema).to_string(), model.secret_id.clone());
                joined.push(PrivateEncoding { public, quantity, max_abs, secret_id });
            }
        }
    }
    Ok(joined)
}

/// Chooses without the parameter sets that would get more columns than they have room for, those of the table counted.
fn without_crowds(
    kept: &[PrivateEncoding],
    mut choose: impl FnMut(&[&str]) -> Result<Vec<(Quantity, Choice)>, PlanError>,
) -> Result<Vec<(Quantity, Choice)>, PlanError> {
    let mut crowded = Vec::new();
    loop {
        let sums = choose(&crowded)?;
        let is_new = |set: &ParamSet| sums.iter().any(|(_, choice)| choice.params == set.name());
        let mut sets = hush_params::presets().iter();
        match sets.find(|set| is_new(set) && is_crowded(set, &sums, columns_over(set, kept))) {
            Some(set) => crowded.push(set.name()),
            None => return Ok(sums),
        }
    }
}

fn columns_over(set: &ParamSet, encodings: &[PrivateEncoding]) -> usize {
    encodings.iter().filter(|encoding| encoding.public.params == set.name()).count()
}

/// Sums of a table that devices write to: columns over one ring have one plaintext modulus, so that new ones take a ring and modulus of the table
/// where these do, and rings of their own elsewhere.
fn of_devices(
    schema: &Schema,
    kept: &[PrivateEncoding],
    missing: &Needs,
    rows: u64,
) -> Result<Vec<(Quantity, Choice)>, PlanError> {
    if let Some(column) = schema.under_seal().next() {
        return Err(PlanError::NotByDevices { column: column.name.clone(), what: "sealing" });
    }
    if let Some(column) = schema.protected(Protection::JoinKey).next() {
        return Err(PlanError::NotByDevices { column: column.name.clone(), what: "the token of a join key" });
    }
    if let Some(column) = missing.programs.iter().find_map(|program| program.columns.first()) {
        return Err(PlanError::NotByDevices { column: column.clone(), what: "element-wise products" });
    }
    let mut sums: Vec<(Quantity, Choice)> = Vec::new();
    let mut left = Vec::new();
    for (quantity, weight_max) in &missing.sums {
        if quantity.approximate_digits(schema).is_some() {
            let column = quantity.columns().join(", ");
            return Err(PlanError::NotByDevices { column, what: "a further approximate column" });
        }
        let max_abs = quantity.bound(schema);
        let asked = SumAsked { rows, max_abs: &max_abs, weight_max, writers: Writers::Devices };
        let fits = |encoding: &&PrivateEncoding| {
            let Ok(set) = set_of(encoding) else { return false };
            let taken = sums.iter().filter(|(_, choice)| choice.params == set.name()).count();
            let fit = encoding.public.packing.rules().sum(set, &asked);
            matches!(encoding.public.packing, Packing::Sum(_))
                && columns_over(set, kept) + taken < set.most_columns()
                && fit.is_some_and(|fit| fit.needed_bits <= fit.held_bits && fit.fit.margin >= 0.0)
        };
        match kept.iter().find(fits).map(|found| Ok::<_, PlanError>((set_of(found)?, found))).transpose()? {
            Some((set, found)) => {
                let packing = found.public.packing.clone();
                sums.push((quantity.clone(), Choice { packing, params: set.name(), max_abs }));
            }
            None => left.push(sum::Asked { quantity, max_abs, weight_max }),
        }
    }
    let taken: BTreeSet<&str> = kept.iter().map(|encoding| encoding.public.params.as_str()).collect();
    let taken: Vec<&str> = taken.into_iter().collect();
    let shared = sum::choose_shared(&left, rows, &taken)?;
    sums.extend(left.iter().map(|asked| asked.quantity.clone()).zip(shared));
    Ok(sums)
}

#[cfg(test)]
mod tests;
