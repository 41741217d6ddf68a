// SPDX-License-Identifier: Apache-2.0
//! Plans, from untrusted bytes to tasks of checked form.
//!
//! [`parse`] needs the bytes alone; [`aggregate`], [`products`] and [`rows`] compare a task with the manifest. SQL is checked later,
//! against the clear schema, but still before any row is read ([`crate::clear::scalar`]).

#![cfg_attr(not(test), warn(clippy::indexing_slicing))]

mod products;
mod runs;

use std::collections::BTreeMap;

use hush_params::ParamSet;
use hush_params::size::MAX_ROUNDED_BITS;
use hush_plan::plan::{AggregateTask, EncryptedSum, RowsTask, RunRead, Task};
use hush_plan::{Encoding, EncodingId, Packing, ServerPlan};
use hush_table::{Digest, Manifest};

pub(crate) use self::products::{ProductsShape, chosen, products};
pub use self::runs::{ProductRun, RunChunks, masks_products, product_runs};
use crate::PlanFault;
use crate::program::{self, ProgramShape};

/// Largest plan in bytes.
pub(crate) const MAX_PLAN_BYTES: usize = 1 << 20;

/// A plan whose form has been checked, with the digest of its bytes.
#[derive(Debug)]
pub(crate) struct ParsedPlan {
    pub(crate) plan: ServerPlan,
    pub(crate) digest: Digest,
    pub(crate) manifest: Digest,
}

/// One domain, one mask, one parameter set and the same parts: the sums that share the `a` half of their answer.
#[derive(Clone, Debug, PartialEq)]
pub struct SumBlock {
    /// The domain of the parts that are summed ([`hush_table::manifest::Domain`]).
    pub domain: u32,
    /// The generations whose parts lack the columns, so that nothing of them is summed ([`hush_table::manifest::Generation`]).
    pub without: Vec<u32>,
    /// Index into the plan's masks.
    pub mask: usize,
    /// The parameter set.
    pub set: &'static ParamSet,
    /// The columns summed, in the order of the answer's bodies; each once.
    pub columns: Vec<EncodingId>,
}

/// The place of one of the plan's sums, over one domain, in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumPlace {
    /// Index of the block.
    pub block: usize,
    /// Index of the body in the block's answers.
    pub body: usize,
}

/// How the parts of a table differ, as far as sums over them are kept apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strata {
    /// Numbers of the domains, rising ([`Manifest::domains`]).
    domains: Vec<u32>,
    /// Encodings that some parts lack, with the generations of these ([`Manifest::lacking`]).
    lacking: BTreeMap<EncodingId, Vec<u32>>,
}

impl Strata {
    /// Of a table's parts.
    pub fn of(manifest: &Manifest) -> Self {
        let ids = manifest.encodings.iter().map(|encoding| encoding.id);
        let lacking = ids.map(|id| (id, manifest.lacking(id))).filter(|(_, lacking)| !lacking.is_empty());
        Self { domains: manifest.domains(), lacking: lacking.collect() }
    }

    /// Of parts that are all alike.
    pub fn none() -> Self {
        Self { domains: vec![0], lacking: BTreeMap::new() }
    }

    /// Encodings that some parts lack, with the generations of these.
    pub fn into_lacking(self) -> BTreeMap<EncodingId, Vec<u32>> {
        self.lacking
    }

    /// The generations that lack an encoding.
    fn without(&self, id: EncodingId) -> &[u32] {
        self.lacking.get(&id).map_or(&[], Vec::as_slice)
    }
}

/// Groups the sums of a plan by mask, parameter set and the parts that have their columns, in order of first appearance, for each of a
/// table's domains. Gives the blocks, and of each sum its places, one for each domain: what a sum is over all rows is the sum of
/// the numbers there.
///
/// Server and owner both call this, because an answer does not repeat its plan.
///
/// # Errors
/// [`PlanFault::UnknownEncoding`], [`PlanFault::WrongLayout`].
pub fn sum_blocks(
    sums: &[EncryptedSum],
    encodings: &[Encoding],
    strata: &Strata,
) -> Result<(Vec<SumBlock>, Vec<Vec<SumPlace>>), PlanFault> {
    let (domains, (of_one, places)) = (&strata.domains, blocks_of_domain(sums, encodings, strata)?);
    let of_domain = |domain: &u32| {
        of_one.iter().map(|block| SumBlock { domain: *domain, ..block.clone() }).collect::<Vec<_>>()
    };
    let in_each = |place: SumPlace| {
        let first = (0..domains.len()).map(|domain| domain * of_one.len());
        first.map(|first| SumPlace { block: first + place.block, ..place }).collect()
    };
    Ok((domains.iter().flat_map(of_domain).collect(), places.into_iter().map(in_each).collect()))
}

/// The blocks and places of a table with one domain.
fn blocks_of_domain(
    sums: &[EncryptedSum],
    encodings: &[Encoding],
    strata: &Strata,
) -> Result<(Vec<SumBlock>, Vec<SumPlace>), PlanFault> {
    let mut blocks: Vec<SumBlock> = Vec::new();
    let mut places = Vec::with_capacity(sums.len());
    for sum in sums {
        let set = sum_encoding(sum.column, encodings)?;
        let without = strata.without(sum.column);
        let found = blocks
            .iter()
            .position(|block| block.mask == sum.mask && block.set == set && block.without == without);
        let block = found.unwrap_or_else(|| {
            let without = without.to_vec();
            blocks.push(SumBlock { domain: 0, without, mask: sum.mask, set, columns: Vec::new() });
            blocks.len() - 1
        });
        // Always there: it was found or pushed just now.
        let Some(SumBlock { columns, .. }) = blocks.get_mut(block) else { continue };
        let found = columns.iter().position(|column| *column == sum.column);
        let body = found.unwrap_or_else(|| {
            columns.push(sum.column);
            columns.len() - 1
        });
        places.push(SumPlace { block, body });
    }
    Ok((blocks, places))
}

/// Reads a plan.
///
/// # Errors
/// A [`PlanFault`] about its size, version, JSON, conditions, digest or the lengths of its lists.
pub(crate) fn parse(bytes: &[u8]) -> Result<ParsedPlan, PlanFault> {
    if bytes.len() > MAX_PLAN_BYTES {
        return Err(PlanFault::Size { found: bytes.len(), limit: MAX_PLAN_BYTES });
    }
    let plan = ServerPlan::from_json(bytes).map_err(PlanFault::of_bytes)?;
    let manifest = plan.manifest.parse().map_err(|_| PlanFault::Digest)?;
    match &plan.task {
        Task::Aggregate(task) => check_aggregate_lengths(task)?,
        Task::Products(task) => products::check_form(task)?,
        Task::Rows(task) => {
            check_rows_lengths(task)?;
            check_prepared_task(&plan, task)?;
        }
    }
    Ok(ParsedPlan { plan, digest: Digest::of(bytes), manifest })
}

/// An aggregate task that fits its table.
#[derive(Debug)]
pub(crate) struct AggregateShape {
    pub(crate) blocks: Vec<SumBlock>,
}

/// A rows task that fits its table.
#[derive(Debug)]
pub(crate) struct RowsShape {
    pub(crate) programs: Vec<ProgramShape>,
    /// Packings and parameter sets of the fetched columns.
    pub(crate) fetch: Vec<FetchShape>,
    /// Whether each operand belongs to exact (`false`) or approximate (`true`) programs.
    pub(crate) approximate_operands: Vec<bool>,
}

/// A fetched column: its encoding and its rounding.
#[derive(Clone, Debug)]
pub(crate) struct FetchShape {
    pub(crate) id: EncodingId,
    pub(crate) packing: Packing,
    pub(crate) set: &'static ParamSet,
    /// Bits to which its coefficients are rounded.
    pub(crate) bits: Option<u32>,
}

/// Compares an aggregate task with the encodings of a table whose parts differ so.
pub(crate) fn aggregate(
    task: &AggregateTask,
    encodings: &[Encoding],
    strata: &Strata,
) -> Result<AggregateShape, PlanFault> {
    let count = task.masks.len();
    if let Some(sum) = task.sums.iter().find(|sum| sum.mask >= count) {
        return Err(PlanFault::Index { what: "mask", found: sum.mask, count });
    }
    let (blocks, _) = sum_blocks(&task.sums, encodings, strata)?;
    Ok(AggregateShape { blocks })
}

/// Compares a rows task with the table's encodings.
pub(crate) fn rows(task: &RowsTask, encodings: &[Encoding]) -> Result<RowsShape, PlanFault> {
    let operand_count = task.operands.len();
    let programs: Vec<ProgramShape> = (task.programs.iter().enumerate())
        .map(|(index, expr)| program::shape(index, expr, operand_count, encodings))
        .collect::<Result<_, _>>()?;
    let fetch = task.fetch.iter().zip(0..).map(|(id, index)| {
        let shape = fetch_shape(*id, encodings)?;
        Ok(FetchShape { bits: task.bits_of_fetch(index), ..shape })
    });
    let fetch: Vec<FetchShape> = fetch.collect::<Result<_, _>>()?;
    for (index, shape) in programs.iter().enumerate() {
        check_bits("program", index, &shape.packing, task.bits_of_program(index))?;
    }
    for (index, shape) in fetch.iter().enumerate() {
        check_bits("fetched column", index, &shape.packing, shape.bits)?;
    }
    let mut approximate_operands = vec![None; operand_count];
    for (index, (expr, shape)) in task.programs.iter().zip(&programs).enumerate() {
        let approximate = shape.packing.is_approximate();
        for operand in program::operands(expr) {
            if let Some(kind) = approximate_operands.get_mut(operand)
                && *kind.get_or_insert(approximate) != approximate
            {
                return Err(PlanFault::MixedProgram { program: index });
            }
        }
    }
    let approximate_operands = approximate_operands.into_iter().map(|kind| kind.unwrap_or(false)).collect();
    Ok(RowsShape { programs, fetch, approximate_operands })
}

/// Compares the sealed columns that a rows task asks for with the numbers of those of a table, rising. Each goes back once.
pub(crate) fn sealed(task: &RowsTask, known: &[u32]) -> Result<(), PlanFault> {
    for (index, number) in task.sealed.iter().enumerate() {
        let is_again = task.sealed.iter().take(index).any(|before| before == number);
        if is_again || known.binary_search(number).is_err() {
            let (found, count) = (*number as usize, known.len());
            return Err(PlanFault::Index { what: "sealed column", found, count });
        }
    }
    Ok(())
}

/// Compares the cube or the sorted run of a rows task with those of a table: one part has it at least, and each block that is asked for.
pub(crate) fn prepared(task: &RowsTask, manifest: &Manifest) -> Result<(), PlanFault> {
    if let Some(number) = task.cube
        && !manifest.parts.iter().any(|part| part.has_cube(number))
    {
        return Err(PlanFault::UnknownCube { number });
    }
    let Some(run) = &task.run else { return Ok(()) };
    let number = run.number;
    let placed = manifest.parts.iter().map(|part| part.run(number)).enumerate();
    let known: Vec<_> = placed.filter_map(|(part, placed)| Some((part, placed?.run.blocks))).collect();
    if known.is_empty() {
        return Err(PlanFault::UnknownRun { number });
    }
    let RunRead::Blocks { of_parts, .. } = &run.read else { return Ok(()) };
    if of_parts.len() != known.len() {
        return Err(PlanFault::RunParts { number, found: of_parts.len(), expected: known.len() });
    }
    for ((part, blocks), places) in known.into_iter().zip(of_parts) {
        if !places.is_sorted_by(|before, after| before < after) || places.last() >= Some(&blocks) {
            return Err(PlanFault::RunBlocks { number, part, blocks });
        }
    }
    Ok(())
}

fn sum_encoding(id: EncodingId, encodings: &[Encoding]) -> Result<&'static ParamSet, PlanFault> {
    let encoding = find(id, encodings)?;
    if !encoding.packing.sums() {
        return Err(PlanFault::WrongLayout { id });
    }
    encoding.ring().map_err(|_| PlanFault::UnknownEncoding { id })
}

fn fetch_shape(id: EncodingId, encodings: &[Encoding]) -> Result<FetchShape, PlanFault> {
    let encoding = find(id, encodings)?;
    let set = encoding.ring().map_err(|_| PlanFault::UnknownEncoding { id })?;
    // Some chunks have nothing that could go back.
    if encoding.packing.chunks_together(set) > 1 {
        return Err(PlanFault::WrongLayout { id });
    }
    Ok(FetchShape { id, packing: encoding.packing.clone(), set, bits: None })
}

fn check_bits(
    what: &'static str,
    index: usize,
    packing: &Packing,
    bits: Option<u32>,
) -> Result<(), PlanFault> {
    match bits {
        None => Ok(()),
        Some(bits) if packing.rounds() && (1..=MAX_ROUNDED_BITS).contains(&bits) => Ok(()),
        Some(found) => Err(PlanFault::RoundedBits { what, index, found, max: MAX_ROUNDED_BITS }),
    }
}

fn find(id: EncodingId, encodings: &[Encoding]) -> Result<&Encoding, PlanFault> {
    encodings.iter().find(|encoding| encoding.id == id).ok_or(PlanFault::UnknownEncoding { id })
}

fn check_aggregate_lengths(task: &AggregateTask) -> Result<(), PlanFault> {
    at_most("group keys", task.keys.len(), MAX_KEYS)?;
    at_most("clear columns", task.clear.len(), MAX_CLEAR)?;
    at_most("masks", task.masks.len(), MAX_MASKS)?;
    at_most("encrypted sums", task.sums.len(), MAX_SUMS)?;
    let counts = |text: &String| text.split_whitespace().collect::<String>().eq_ignore_ascii_case("count(*)");
    if task.clear.first().is_some_and(counts) { Ok(()) } else { Err(PlanFault::NoCount) }
}

fn check_rows_lengths(task: &RowsTask) -> Result<(), PlanFault> {
    at_most("clear columns", task.clear.len(), MAX_CLEAR)?;
    at_most("operands", task.operands.len(), MAX_CLEAR)?;
    at_most("programs", task.programs.len(), MAX_PROGRAMS)?;
    at_most("fetched columns", task.fetch.len(), MAX_SUMS)?;
    at_most("sealed columns", task.sealed.len(), MAX_SUMS)?;
    at_most("widths of programs", task.program_bits.len(), task.programs.len())?;
    at_most("widths of fetched columns", task.fetch_bits.len(), task.fetch.len())
}

/// Cells and sorted runs are of all rows of their parts, and of nothing but what the owner has put into them.
fn check_prepared_task(plan: &ServerPlan, task: &RowsTask) -> Result<(), PlanFault> {
    let is_alone = plan.predicate.is_none()
        && task.limit.is_none()
        && task.programs.is_empty()
        && task.operands.is_empty();
    match (task.cube, &task.run) {
        (Some(number), None) if !is_alone => Err(PlanFault::CubeTask { number }),
        (cube, Some(run)) if !is_alone || cube.is_some() => Err(PlanFault::RunTask { number: run.number }),
        _ => Ok(()),
    }
}

fn at_most(what: &'static str, found: usize, limit: usize) -> Result<(), PlanFault> {
    if found <= limit { Ok(()) } else { Err(PlanFault::TooMany { what, found, limit }) }
}

const MAX_KEYS: usize = 64;
const MAX_CLEAR: usize = 1024;
const MAX_MASKS: usize = 256;
const MAX_SUMS: usize = 4096;
const MAX_PROGRAMS: usize = 256;

#[cfg(test)]
mod tests;
