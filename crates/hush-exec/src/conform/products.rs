// SPDX-License-Identifier: Apache-2.0
//! The form of tasks on products, and what they cost.
//!
//! What a server computes for each ring element is counted before it looks at one: every multiplication of two polynomials, and every
//! polynomial that is held meanwhile.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hush_params::ParamSet;
use hush_params::size::{CHUNK_ROWS, MAX_ROUNDED_BITS};
use hush_plan::filter::{MAX_CONSTANTS, chain_of_constants};
use hush_plan::plan::{Choices, ComputedCondition, Factor, Formula, ProductSum, ProductsTask};
use hush_plan::{Encoding, EncodingId, Packing};
use hush_rlwe::MAX_PRODUCT_COMPONENTS;

use super::{MAX_KEYS, MAX_MASKS, MAX_SUMS, Strata, at_most, find};
use crate::PlanFault;

/// Most operations of all factors together.
const MAX_NODES: usize = 100_000;
/// Most multiplications of polynomials for each ring element.
const MAX_PRODUCTS: u64 = 100_000;
/// Most operations of a condition with encrypted constants for each ring element: a product takes about a millisecond.
const MAX_CONDITION_NODES: usize = 2 * MAX_CONSTANTS;
/// Highest power of a ring element's number.
const MAX_POWER: u8 = 64;
/// Largest degree of a factor or a sum in the secret.
const MAX_DEGREE: usize = MAX_PRODUCT_COMPONENTS - 1;

/// A task on products that fits its table.
#[derive(Clone, Debug)]
pub(crate) struct ProductsShape {
    pub(crate) set: &'static ParamSet,
    pub(crate) packing: Packing,
    /// The one plaintext prime.
    pub(crate) prime: u64,
    /// Primes of the ring modulo which a condition with encrypted constants is other than 0; `None` without one.
    pub(crate) computed_limbs: Option<usize>,
    /// Components of each sum.
    pub(crate) components: Vec<usize>,
    /// Polynomials that are held for a ring element while its factors are computed.
    pub(crate) held: u64,
}

/// What the factors and sums of a task take.
struct Counted {
    /// Components of each sum.
    components: Vec<usize>,
    held: u64,
}

/// Checks what a task is by itself, without its table. Nothing before looks into its factors.
///
/// Factors cannot be nested so deep that a walk exhausts the stack: the JSON of a plan is not read beyond 128 levels.
pub(super) fn check_form(task: &ProductsTask) -> Result<(), PlanFault> {
    form(task).map(drop)
}

/// Compares a task with the encodings of a table whose parts differ so.
pub(crate) fn products(
    task: &ProductsTask,
    encodings: &[Encoding],
    strata: &Strata,
) -> Result<ProductsShape, PlanFault> {
    let Counted { components, held } = form(task)?;
    let mut common: Option<(&'static ParamSet, Packing, u64)> = None;
    let among = task.choices.iter().flat_map(|choices| &choices.among);
    for id in task.columns.iter().chain(among) {
        let (set, packing, prime) = slot_encoding(*id, encodings)?;
        if common.get_or_insert((set, packing.clone(), prime)) != &(set, packing, prime) {
            return Err(PlanFault::MixedProducts { id: *id });
        }
        if !strata.without(*id).is_empty() {
            return Err(PlanFault::LackingProducts { id: *id });
        }
    }
    let nothing = PlanFault::Index { what: "column", found: 0, count: 0 };
    let (set, packing, prime) = common.ok_or(nothing)?;
    let together = packing.chunks_together(set);
    let (found, least) = (task.elements, packing.element_count(set, together * CHUNK_ROWS));
    if found < least {
        return Err(PlanFault::ProductElements { found, least });
    }
    // What is chosen chunk by chunk is not in ring elements of several.
    if together > 1
        && let Some(id) = task.choices.iter().flat_map(|choices| &choices.among).next()
    {
        return Err(PlanFault::WrongLayout { id: *id });
    }
    let computed_limbs = task.computed.as_ref().map(|condition| limbs_of(condition, set)).transpose()?;
    Ok(ProductsShape { set, packing, prime, computed_limbs, components, held })
}

/// What is chosen for the operands of a task behind its columns, chunk by chunk of a table with so many.
///
/// # Errors
/// [`PlanFault::Index`] for choices that are not one of their columns for each chunk.
pub(crate) fn chosen(task: &ProductsTask, chunks: u32) -> Result<Vec<Vec<EncodingId>>, PlanFault> {
    let mut found = Vec::new();
    for Choices { among, of_chunks } in &task.choices {
        for places in of_chunks {
            let places = BASE64_STANDARD.decode(places).map_err(|_| PlanFault::Json)?;
            if places.len() != chunks as usize {
                let (found, count) = (places.len(), chunks as usize);
                return Err(PlanFault::Index { what: "number of chosen columns", found, count });
            }
            let column = |place: &u8| {
                let fault = || PlanFault::Index {
                    what: "chosen column",
                    found: usize::from(*place),
                    count: among.len(),
                };
                among.get(usize::from(*place)).copied().ok_or_else(fault)
            };
            found.push(places.iter().map(column).collect::<Result<_, _>>()?);
        }
    }
    Ok(found)
}

/// Primes that are left at the level of a condition.
fn limbs_of(condition: &ComputedCondition, set: &'static ParamSet) -> Result<usize, PlanFault> {
    let chain = chain_of_constants(set).filter(|(name, _)| *name == condition.keys);
    let limbs = chain.and_then(|(_, chain)| {
        let level = condition.formula.level(chain.top().0)?;
        Some(chain.levels().get(usize::from(level))?.len())
    });
    limbs.ok_or(PlanFault::ComputedLevels)
}

/// An encoded column of slots with one prime.
fn slot_encoding(
    id: EncodingId,
    encodings: &[Encoding],
) -> Result<(&'static ParamSet, Packing, u64), PlanFault> {
    let encoding = find(id, encodings)?;
    let Packing::Slots(slots) = &encoding.packing else { return Err(PlanFault::WrongLayout { id }) };
    let [prime] = slots.primes[..] else { return Err(PlanFault::MixedProducts { id }) };
    let set = encoding.ring().map_err(|_| PlanFault::UnknownEncoding { id })?;
    Ok((set, encoding.packing.clone(), prime))
}

fn form(task: &ProductsTask) -> Result<Counted, PlanFault> {
    at_most("columns of products", task.operand_count(), MAX_SUMS)?;
    let among = task.choices.iter().map(|choices| choices.among.len());
    at_most("columns to choose from", among.sum(), MAX_SUMS)?;
    at_most("masks of products", task.masks.len(), MAX_MASKS)?;
    at_most("group keys", task.keys.len(), MAX_KEYS)?;
    at_most("sums of products", task.sums.len(), MAX_SUMS)?;
    let groups = task.groups(task.max_groups);
    let of_all = usize::try_from(groups).unwrap_or(usize::MAX).saturating_mul(task.sums.len());
    at_most("sums of all groups", of_all, MAX_SUMS)?;
    at_most("factors", task.factors.len(), MAX_SUMS)?;
    at_most("operations of factors", task.factors.iter().map(Factor::size).sum(), MAX_NODES)?;
    let (columns, masks) = (task.columns.len(), task.masks.len());
    task.computed.iter().try_for_each(|condition| check_condition(condition, columns))?;
    // Two components of each column, and one of each mask.
    let held = 2 * task.operand_count() as u64 + masks as u64;
    let relinearised = task.relinearised;
    let mut walk = Walk {
        columns,
        chosen: task.choices.iter().map(|choices| choices.of_chunks.len()).collect(),
        masks,
        relinearised,
        has_computed: task.computed.is_some(),
        degrees: Vec::new(),
        products: 0,
        held,
    };
    for (index, factor) in task.factors.iter().enumerate() {
        let degree = walk.degree(index, factor)?;
        // A copy, if it is a column or another factor.
        walk.held += degree as u64 + 1;
        walk.degrees.push(degree);
    }
    if task.computed.is_some() {
        let decided = decided(&task.factors);
        let is_decided = |sum: &ProductSum| decided.get(sum.factor).copied().unwrap_or_default();
        if let Some(sum) = task.sums.iter().position(|sum| !is_decided(sum)) {
            return Err(PlanFault::NotComputed(sum));
        }
    }
    let of_factors = std::mem::take(&mut walk.products);
    let sums = task.sums.iter().enumerate();
    let components: Vec<usize> = sums.map(|(index, sum)| walk.sum(index, sum)).collect::<Result<_, _>>()?;
    // Each group has sums of its own. Its mask is in every factor: no more products than a sum has components.
    let of_masks = if task.keys.is_empty() { 0 } else { components.iter().sum::<usize>() as u64 };
    let of_group = walk.products.saturating_add(of_masks);
    let (found, limit) = (of_factors.saturating_add(groups.saturating_mul(of_group)), MAX_PRODUCTS);
    if found > limit {
        return Err(PlanFault::ProductCost { found, limit });
    }
    Ok(Counted { components, held: walk.held })
}

/// Which factors are multiples of the computed condition, which is 0 modulo most primes.
fn decided(factors: &[Factor]) -> Vec<bool> {
    fn is_multiple(factor: &Factor, before: &[bool]) -> bool {
        match factor {
            Factor::Computed => true,
            Factor::Chosen(..)
            | Factor::Column(_)
            | Factor::Constant(_)
            | Factor::Mask(_)
            | Factor::Number(_) => false,
            Factor::Earlier(number) => before.get(*number).copied().unwrap_or_default(),
            Factor::Mul(left, right) => is_multiple(left, before) || is_multiple(right, before),
            Factor::Add(left, right) | Factor::Sub(left, right) => {
                is_multiple(left, before) && is_multiple(right, before)
            }
        }
    }
    let mut found = Vec::with_capacity(factors.len());
    for factor in factors {
        let here = is_multiple(factor, &found);
        found.push(here);
    }
    found
}

/// Checks a condition with encrypted constants by itself. Its ciphertext is looked at when it is expanded.
fn check_condition(condition: &ComputedCondition, columns: usize) -> Result<(), PlanFault> {
    at_most("encrypted constants", condition.constant_count(), MAX_CONSTANTS)?;
    at_most("sums of a condition", condition.inner.len(), MAX_CONSTANTS)?;
    at_most("operations of a condition", condition.formula.size(), MAX_CONDITION_NODES)?;
    condition.inner.iter().try_for_each(|sum| below("constant of a sum", 0, sum.len()))?;
    condition.inner.iter().flatten().flatten().try_for_each(|place| below("column", *place, columns))?;
    check_formula(&condition.formula, condition.inner.len())
}

fn check_formula(formula: &Formula, sums: usize) -> Result<(), PlanFault> {
    match formula {
        Formula::Inner(place) => below("sum of a condition", *place, sums),
        Formula::Add(left, right) | Formula::Mul(left, right) => {
            check_formula(left, sums)?;
            check_formula(right, sums)
        }
        Formula::Not(inner) => check_formula(inner, sums),
    }
}

/// A walk through factors in their order.
struct Walk {
    columns: usize,
    /// How many operands each of the choices has.
    chosen: Vec<usize>,
    masks: usize,
    relinearised: bool,
    has_computed: bool,
    /// Of the factors before.
    degrees: Vec<usize>,
    products: u64,
    held: u64,
}

impl Walk {
    /// The degree of a factor. Those before it have [`MAX_DEGREE`] at most, so that no sum of degrees is large.
    fn degree(&mut self, index: usize, factor: &Factor) -> Result<usize, PlanFault> {
        let degree = match factor {
            Factor::Column(place) => {
                below("column", *place, self.columns)?;
                return Ok(1);
            }
            Factor::Chosen(choices, place) => {
                below("choices", *choices, self.chosen.len())?;
                below("chosen operand", *place, self.chosen.get(*choices).copied().unwrap_or_default())?;
                return Ok(1);
            }
            Factor::Computed => {
                below("computed condition", 0, usize::from(self.has_computed))?;
                1
            }
            Factor::Earlier(number) => {
                below("earlier factor", *number, self.degrees.len())?;
                return Ok(self.degrees.get(*number).copied().unwrap_or_default());
            }
            Factor::Mask(place) => {
                below("mask", *place, self.masks)?;
                0
            }
            Factor::Number(power) => {
                below("power of a number", usize::from(*power), usize::from(MAX_POWER) + 1)?;
                0
            }
            Factor::Constant(_) => 0,
            Factor::Add(left, right) | Factor::Sub(left, right) => {
                self.degree(index, left)?.max(self.degree(index, right)?)
            }
            Factor::Mul(left, right) => {
                let (left, right) = (self.degree(index, left)?, self.degree(index, right)?);
                self.products += ((left + 1) * (right + 1)) as u64;
                within("factor", index, left + right)?
            }
        };
        self.held += degree as u64 + 1;
        Ok(degree)
    }

    /// The components of a sum.
    fn sum(&mut self, index: usize, sum: &ProductSum) -> Result<usize, PlanFault> {
        below("factor", sum.factor, self.degrees.len())?;
        let mut degree = self.degrees.get(sum.factor).copied().unwrap_or_default();
        if let Some(measure) = sum.measure {
            below("column", measure, self.columns)?;
            self.products += 2 * (degree as u64 + 1);
            degree = within("sum", index, degree + 1)?;
        }
        let components = degree + 1;
        let expected = if self.relinearised { components.min(2) } else { components };
        let found = sum.bits.len();
        if found != expected {
            return Err(PlanFault::ProductBits { sum: index, found, expected });
        }
        let max = MAX_ROUNDED_BITS;
        match sum.bits.iter().find(|bits| !(1..=max).contains(*bits)) {
            Some(found) => Err(PlanFault::RoundedBits { what: "sum", index, found: *found, max }),
            None => Ok(components),
        }
    }
}

fn below(what: &'static str, found: usize, count: usize) -> Result<(), PlanFault> {
    if found < count { Ok(()) } else { Err(PlanFault::Index { what, found, count }) }
}

fn within(what: &'static str, index: usize, degree: usize) -> Result<usize, PlanFault> {
    let limit = MAX_DEGREE;
    if degree <= limit { Ok(degree) } else { Err(PlanFault::ProductDegree { what, index, limit }) }
}

#[cfg(test)]
mod tests;
