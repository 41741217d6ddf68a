// SPDX-License-Identifier: Apache-2.0
//! Rows that match a condition which a server has evaluated on encrypted columns. Each slot of its sums says in which ring elements rows match, and what
//! their values are ([`hush_arith::numbers_of`]); the owner answers the query on a table of these rows.
//!
//! More rows than a question tells apart may share a slot. How many do, its answer says, and a second question tells as many apart.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::Schema as ArrowSchema;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use ethnum::I256;
use hush_arith::{Modulus, numbers_of, weights_of};
use hush_exec::answer::{Answer, ProductRun, ProductsAnswer, RowNumbers};
use hush_keys::PhaseLimit;
use hush_plan::filter::{CodeValue, code_of};
use hush_plan::packing::FILTER_PRIME;
use hush_plan::plan::{MatchingColumn, MatchingRows, MatchingValue, OwnQuery, ProductsTask};
use hush_plan::sql::Query;
use hush_plan::{Limits, WayName};
use hush_remote::Progress;
use hush_table::CHUNK_ROWS;
use rayon::prelude::*;

use super::filtered::{Runs, runs_of};
use super::{Asked, Outcome, own, rows};
use crate::account::{Moved, Phases};
use crate::cells::Cells;
use crate::error::ClientError;
use crate::packing::SumOfProducts;
use crate::release::Release;
use crate::table::OwnedTable;
use crate::threads::on_threads;

/// Most rows of a slot that a question tells apart.
const MOST_ROWS: u64 = 16;

impl OwnedTable {
    /// Asks for the rows that match, after other questions, and once more if more of them share a slot than the first one tells apart. If they are too many,
    /// another way answers, unless it has to be this one. `asked` has the rows of the owner's question that he needs.
    ///
    /// # Errors
    /// As [`OwnedTable::ask`]; [`ClientError::ManyMatches`].
    pub(super) fn run_matching(
        &self,
        (asked, own): (&Query, &OwnQuery),
        (phases, moved): (Phases, Moved),
        release: Option<&Release<'_>>,
        progress: &dyn Progress,
    ) -> Result<Outcome, ClientError> {
        let (mut phases, mut moved) = (phases, moved);
        let mut rows_of_slot = self.limits.rows_of_slot;
        loop {
            let limits = Limits { rows_of_slot, way: Some(WayName::Filter), ..self.limits };
            let planned = phases.time("plan", || self.plan_query(asked, &limits, true));
            let failed = match planned {
                Ok(mut plan) => {
                    plan.owner.own.iter_mut().for_each(|planned| planned.query = own.query.clone());
                    let mut query = self.prepared(plan, phases, progress)?.after(moved);
                    let answer = query.time("server", |request| self.evaluate(request, progress))?;
                    let finished = self.finish_for(query.clone(), &answer, release);
                    (phases, moved) = query.so_far(&answer);
                    match finished {
                        Err(ClientError::ManyMatches { found, .. }) if found <= MOST_ROWS => {
                            rows_of_slot = found.next_power_of_two() as u8;
                            continue;
                        }
                        Err(ClientError::ManyMatches { found, .. }) => {
                            ClientError::ManyMatches { found, most: MOST_ROWS }
                        }
                        finished => return finished,
                    }
                }
                // More noise than fits, or too large an answer.
                Err(error @ ClientError::Plan(_)) => error,
                Err(error) => return Err(error),
            };
            if self.limits.way.is_some() {
                return Err(failed);
            }
            let plan = self.plan_query(&own.query, &Limits { rows_of_slot: 0, ..self.limits }, true)?;
            return self.run_for(plan, phases, release, progress);
        }
    }
}

/// The result of a query on the rows of an answer.
///
/// # Errors
/// [`ClientError::Answer`] if the answer is not one to this task, or has sums that no rows make; [`ClientError::ManyMatches`].
///
/// # Cost
/// A decryption for each sum and run of chunks; for each slot in which rows match a step for each ring element and such row.
pub(super) fn answer(
    asked: &Asked<'_>,
    (own, matching): (&OwnQuery, &MatchingRows),
    task: &ProductsTask,
    (answer, products): (&Answer<'_>, &ProductsAnswer<'_>),
) -> Result<Vec<RecordBatch>, ClientError> {
    if answer.clear_len() > 0 || products.group_count.is_some() {
        return Err(ClientError::Answer { what: "its groups are not those of the plan".into() });
    }
    let found = found(asked, matching, task, products)?;
    let columns = fetched(asked, (own, matching), &found)?;
    let rest = OwnQuery { query: own.query.without_filter(), ..own.clone() };
    own::on_columns(asked, &rest, &columns)
}

/// A row that matches: its digits, modulo the prime of slots.
type Row = Vec<u64>;

/// The rows that match, in the order of the table.
fn found(
    asked: &Asked<'_>,
    matching: &MatchingRows,
    task: &ProductsTask,
    answer: &ProductsAnswer<'_>,
) -> Result<Vec<Row>, ClientError> {
    let Asked { table, .. } = *asked;
    let manifest = table.manifest.manifest();
    let sums = MatchingRows::sum_count(matching.most, matching.digits);
    if matching.phases.len() != sums {
        return Err(ClientError::Internal { what: "sums of rows that match have no bounds" });
    }
    let Runs { first, degree, together, runs } = runs_of(asked, (task, sums), answer, 1)?;
    let mut rows: Vec<(u64, Row)> = Vec::new();
    let mut most = 0;
    for (run, found) in runs.iter().zip(&answer.runs) {
        let key = table.keys.of(manifest, run.domain)?.columns.get(first)?;
        let sums = found.objects.iter().zip(task.sums.iter().zip(&matching.phases));
        let sums = sums.map(|(object, (sum, phase_log2))| SumOfProducts {
            object,
            bits: &sum.bits,
            limit: PhaseLimit::from_log2(*phase_log2),
            natural: true,
        });
        let sums: Vec<SumOfProducts<'_>> = sums.collect();
        let slots = on_threads(table.costs.threads, || table.scheme.slots(key, &sums))?;
        let of_run = SlotsOfRun {
            matching,
            modulus: modulus()?,
            elements: elements_of(run, manifest, (degree, together)),
        };
        let of_slot = |slot: usize| of_run.rows(slot, &slots);
        let found: Vec<Matches> = on_threads(table.costs.threads, || {
            (0..degree).into_par_iter().map(of_slot).collect::<Result<_, _>>()
        })?;
        most = found.iter().map(|found| found.count).max().unwrap_or(0).max(most);
        rows.extend(found.into_iter().flat_map(|found| found.rows));
    }
    if most > u64::from(matching.most) {
        return Err(ClientError::ManyMatches { found: most, most: matching.most.into() });
    }
    rows.sort_unstable_by_key(|(place, _)| *place);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

fn modulus() -> Result<Modulus, ClientError> {
    Modulus::new(FILTER_PRIME).map_err(|_| ClientError::Internal { what: "the prime of slots" })
}

/// A ring element: its rows, deleted ones too.
struct Element {
    /// The place of its first row among those of the table's chunks.
    first: u64,
    rows: usize,
}

/// The ring elements of a run.
fn elements_of(
    run: &ProductRun,
    manifest: &hush_table::Manifest,
    (degree, together): (usize, u32),
) -> Vec<Element> {
    let parts: Vec<_> = manifest.placed_parts().collect();
    let mut elements = Vec::with_capacity(run.elements as usize);
    for of_part in &run.chunks {
        let Some((place, entry)) = parts.get(of_part.part as usize) else { continue };
        for chunks in of_part.together(together) {
            let before = u64::from(chunks.start.saturating_sub(place.first_chunk)) * u64::from(CHUNK_ROWS);
            let most = chunks.len() as u64 * u64::from(CHUNK_ROWS);
            let rows = entry.rows.saturating_sub(before).min(most) as usize;
            let of_chunks = (0..rows).step_by(degree.max(1)).map(|first| Element {
                first: u64::from(chunks.start) * u64::from(CHUNK_ROWS) + first as u64,
                rows: degree.min(rows - first),
            });
            elements.extend(of_chunks);
        }
    }
    elements
}

/// What the sums of a run are read with.
struct SlotsOfRun<'a> {
    matching: &'a MatchingRows,
    modulus: Modulus,
    elements: Vec<Element>,
}

/// What is found in a slot.
struct Matches {
    /// The rows that match.
    count: u64,
    /// They, with their places in the table; none if they are too many.
    rows: Vec<(u64, Row)>,
}

impl SlotsOfRun<'_> {
    /// The rows that match in a slot, from the slots of all sums.
    fn rows(&self, slot: usize, sums: &[Vec<i128>]) -> Result<Matches, ClientError> {
        let Self { matching, modulus, elements } = self;
        let wrong = || ClientError::Answer { what: "its sums are not those of rows".into() };
        let number = |sum: &Vec<i128>| Some(modulus.reduce_i128(*sum.get(slot)?));
        let sums: Vec<u64> = sums.iter().map(number).collect::<Option<_>>().ok_or_else(wrong)?;
        let most = usize::from(matching.most);
        let (powers, digits) = sums.split_at_checked(most + 1).ok_or_else(wrong)?;
        let powers = self.without_padding(slot, powers);
        let count = *powers.first().ok_or_else(wrong)?;
        if count > elements.len() as u64 {
            return Err(wrong());
        }
        if count > most as u64 {
            return Ok(Matches { count, rows: Vec::new() });
        }
        let numbers = numbers_of(*modulus, &powers, elements.len() as u64).ok_or_else(wrong)?;
        let place = |number: &u64| {
            let element = elements.get(*number as usize).filter(|element| slot < element.rows)?;
            Some(element.first + slot as u64)
        };
        let places: Vec<u64> = numbers.iter().map(place).collect::<Option<_>>().ok_or_else(wrong)?;
        let values = digits.chunks(most.max(1)).map(|sums| weights_of(*modulus, &numbers, sums));
        let values: Vec<Vec<u64>> = values.collect::<Option<_>>().ok_or_else(wrong)?;
        let row = |(found, place): (usize, u64)| {
            let digits = values.iter().map(|values| values.get(found).copied()).collect::<Option<Row>>();
            Some((place, digits?))
        };
        let rows = places.into_iter().enumerate().map(row).collect::<Option<_>>().ok_or_else(wrong)?;
        Ok(Matches { count, rows })
    }

    /// Power sums without what slots behind the rows add.
    fn without_padding(&self, slot: usize, powers: &[u64]) -> Vec<u64> {
        let Self { matching, modulus, elements } = self;
        let mut powers = powers.to_vec();
        if matching.is_masked || matching.padding == 0 {
            return powers;
        }
        let padding = modulus.reduce_i64(matching.padding);
        let behind = (0..).zip(elements).filter(|(_, element)| slot >= element.rows);
        for (number, _) in behind {
            let mut more = padding;
            for power in &mut powers {
                *power = modulus.sub(*power, more);
                more = modulus.mul(more, number);
            }
        }
        powers
    }
}

/// The columns of some rows.
fn fetched(
    asked: &Asked<'_>,
    (own, matching): (&OwnQuery, &MatchingRows),
    rows: &[Row],
) -> Result<rows::Fetched, ClientError> {
    let missing = || ClientError::Internal { what: "a column of rows that match has no digits" };
    let column =
        |name: &String| matching.columns.iter().find(|column| column.name == *name).ok_or_else(missing);
    let mut quantities = Vec::new();
    for place in &own.encrypted {
        let column = column(&place.name)?;
        quantities.push(Cells::Exact(numbers(asked, column, rows)?));
        if let Some(valid) = column.valid {
            quantities.push(Cells::Exact(digits_at(rows, valid, 2)?));
        }
    }
    let sealed = own.sealed.iter().map(|name| Ok(vec![texts(asked, column(name)?, rows)?]));
    let sealed = sealed.collect::<Result<Vec<Vec<ArrayRef>>, ClientError>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    let clear = RecordBatch::try_new_with_options(Arc::new(ArrowSchema::empty()), Vec::new(), &options)?;
    Ok(rows::Fetched { numbers: RowNumbers::All(rows.len() as u64), clear, quantities, sealed })
}

fn no_value(name: &str) -> ClientError {
    ClientError::Answer { what: format!("a row that matches has no value of {name} that there is") }
}

/// The digits at a place, each below a bound.
fn digits_at(rows: &[Row], place: usize, bound: u64) -> Result<Vec<I256>, ClientError> {
    let digit = |row: &Row| row.get(place).filter(|digit| **digit < bound).map(|digit| I256::from(*digit));
    rows.iter().map(|row| digit(row).ok_or_else(|| no_value("whether values are missing"))).collect()
}

/// The numbers of a column, 0 where there is none.
fn numbers(asked: &Asked<'_>, column: &MatchingColumn, rows: &[Row]) -> Result<Vec<I256>, ClientError> {
    let wrong = || no_value(&column.name);
    let is_missing = |row: &Row| column.valid.is_some_and(|valid| row.get(valid) == Some(&0));
    match column.value {
        MatchingValue::Text(_) => Err(ClientError::Internal { what: "a text among numbers" }),
        MatchingValue::Flags { first, count } => {
            let schema = asked.table.half.schema.with_derived();
            let code = code_of(&schema, &column.name);
            let code = code.ok_or(ClientError::Internal { what: "a column of flags has no code" })?;
            let number = |row: &Row| {
                let digits = row.get(first..first + count)?;
                if is_missing(row) {
                    // No flag of it is set. These may be the digits of no value: a range may begin after the year does.
                    return digits.iter().all(|digit| *digit == 0).then_some(I256::ZERO);
                }
                match code.value_of(digits)? {
                    CodeValue::Units(units) => Some(I256::from(units)),
                    CodeValue::Text(_) | CodeValue::Missing => None,
                }
            };
            rows.iter().map(|row| number(row).ok_or_else(wrong)).collect()
        }
        MatchingValue::Limbs { first, count, bits, natural } => {
            let number = |row: &Row| {
                let limbs = row.get(first..first + count)?.iter().rev();
                limbs
                    .map(|limb| limb_of(*limb, bits, natural))
                    .try_fold(I256::ZERO, |sum, limb| Some((sum << u32::from(bits)) + I256::from(limb?)))
            };
            rows.iter().map(|row| number(row).ok_or_else(wrong)).collect()
        }
    }
}

/// A limb from its residue; `None` for one that no number has.
fn limb_of(residue: u64, bits: u8, natural: bool) -> Option<i64> {
    let size = 1_u64.checked_shl(bits.into())?;
    match natural {
        true => (residue < size).then_some(residue as i64),
        false if residue < size / 2 => Some(residue as i64),
        false => {
            let below = FILTER_PRIME.checked_sub(residue).filter(|below| *below <= size / 2)?;
            Some(-(below as i64))
        }
    }
}

/// The texts of a column.
fn texts(asked: &Asked<'_>, column: &MatchingColumn, rows: &[Row]) -> Result<ArrayRef, ClientError> {
    let schema = &asked.table.half.schema;
    let code = code_of(schema, &column.name);
    let code = code.ok_or(ClientError::Internal { what: "a column of flags has no code" })?;
    let nullable = schema.column(&column.name).is_some_and(|column| column.nullable);
    let MatchingValue::Text(place) = column.value else {
        return Err(ClientError::Internal { what: "numbers among texts" });
    };
    let text = |row: &Row| match code.value_of(row.get(place..=place)?)? {
        CodeValue::Text(text) => Some(Some(text)),
        CodeValue::Missing if nullable => Some(None),
        CodeValue::Missing | CodeValue::Units(_) => None,
    };
    let texts = rows.iter().map(|row| text(row).ok_or_else(|| no_value(&column.name)));
    Ok(Arc::new(texts.collect::<Result<StringArray, ClientError>>()?))
}

#[cfg(test)]
mod tests;
