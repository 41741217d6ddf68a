// SPDX-License-Identifier: Apache-2.0
//! Questions whose condition a server has evaluated on encrypted columns: it has multiplied flags, and added up the products. The sums become cells,
//! as those of a cube do: a table in memory in which nothing is encrypted, and a row of which stands for many.

use arrow::array::ArrayRef;
use arrow::record_batch::RecordBatch;
use hush_exec::answer::{Answer, ProductRun, ProductsAnswer, product_runs};
use hush_keys::PhaseLimit;
use hush_plan::EncodingId;
use hush_plan::cube::CubeShape;
use hush_plan::plan::{CellsQuery, FilteredSums, ProductsTask};
use hush_plan::schema::Column;

use super::cells::{are_of_some_rows, of_cells, read_part};
use super::one_hot::{ClearGroups, clear_groups};
use super::{Asked, gathered};
use crate::cube::Sums;
use crate::error::ClientError;
use crate::packing::SumOfProducts;
use crate::threads::on_threads;

/// Builds `merged`, as for sums of a server, from sums of products.
///
/// # Errors
/// [`ClientError::Answer`] if the answer is not one to this task, or has sums that no rows make.
///
/// # Cost
/// A decryption for each sum and run of chunks.
pub(super) fn merge(
    asked: &Asked<'_>,
    (cells, filtered): (&CellsQuery, &FilteredSums),
    task: &ProductsTask,
    (answer, products): (&Answer<'_>, &ProductsAnswer<'_>),
) -> Result<RecordBatch, ClientError> {
    let found = groups(asked, (cells, filtered), task, (answer, products))?;
    if let Some(search) = &asked.owner.search
        && !search.is_found(&found.shape, &found.rows())
    {
        return Err(ClientError::Answer { what: "its rounds do not agree with each other".into() });
    }
    let Groups { shape, keys, sums } = found;
    let table_of_cells = of_cells(asked, (&shape, &sums), &keys, cells)?;
    gathered::grouped_here(&table_of_cells, asked.owner, cells.predicate.as_ref(), &cells.task)
}

/// Sums over cells, in each group of clear columns.
pub(super) struct Groups {
    pub(super) shape: CubeShape,
    /// The clear columns, with a value for each group.
    pub(super) keys: Vec<(Column, ArrayRef)>,
    /// The sums of each group.
    pub(super) sums: Vec<Sums>,
}

impl Groups {
    /// The number of rows in each cell of each group.
    pub(super) fn rows(&self) -> Vec<&[i128]> {
        self.sums.iter().map(|sums| &*sums.rows).collect()
    }
}

/// The cells of an answer.
///
/// # Errors
/// As [`merge`].
pub(super) fn groups(
    asked: &Asked<'_>,
    (cells, filtered): (&CellsQuery, &FilteredSums),
    task: &ProductsTask,
    (answer, products): (&Answer<'_>, &ProductsAnswer<'_>),
) -> Result<Groups, ClientError> {
    let Asked { table, .. } = *asked;
    let ClearGroups { keys, rows } = match products.group_count {
        None if filtered.keys.is_empty() => {
            ClearGroups { keys: Vec::new(), rows: vec![table.manifest.manifest().living_rows()] }
        }
        Some(count) if !filtered.keys.is_empty() => clear_groups(table, &filtered.keys, answer, count)?,
        _ => return Err(ClientError::Answer { what: "its groups are not those of the plan".into() }),
    };
    let found = sums_of(asked, filtered, (task, rows.len()), products)?;
    let whole = hush_plan::filter::cells_by(&table.half.schema, &filtered.by, &filtered.measured);
    let missing = || ClientError::Internal { what: "a sum under a condition has no place" };
    let shape = read_part(&whole.ok_or_else(missing)?, cells);
    let groups = rows.iter().zip(found).map(|(rows, found)| {
        let mut sums = Sums::zeros(&shape);
        for (sum, number) in filtered.sums.iter().zip(found) {
            let lane = match sum.lane.checked_sub(1) {
                None => Some(&mut sums.rows),
                Some(lane) => sums.lanes.get_mut(lane),
            };
            let lane = lane.ok_or_else(missing)?;
            let weighed = number.checked_mul(1_i128 << sum.shift.min(126)).ok_or(ClientError::Overflow)?;
            for share in &sum.cells {
                let place = lane.get_mut(share.cell).ok_or_else(missing)?;
                let more = weighed.checked_mul(share.weight.into()).ok_or(ClientError::Overflow)?;
                *place = place.checked_add(more).ok_or(ClientError::Overflow)?;
            }
        }
        match are_of_some_rows(&shape, &sums, *rows) {
            true => Ok(sums),
            false => Err(ClientError::Answer { what: "its sums are not those of its rows".into() }),
        }
    });
    let sums = groups.collect::<Result<Vec<Sums>, ClientError>>()?;
    Ok(Groups { shape, keys, sums })
}

/// The runs of chunks that an answer is of.
pub(super) struct Runs {
    /// A column whose key, of a run's domain, opens its sums.
    pub(super) first: EncodingId,
    /// Degree of the ring.
    pub(super) degree: usize,
    /// How many chunks of a part are together in it.
    pub(super) together: u32,
    pub(super) runs: Vec<ProductRun>,
}

/// Compares an answer with the runs of a table's chunks, each with the sums of so many groups, of which `read` are read.
///
/// # Errors
/// [`ClientError::Answer`] if it has other ones.
pub(super) fn runs_of(
    asked: &Asked<'_>,
    (task, read): (&ProductsTask, usize),
    answer: &ProductsAnswer<'_>,
    groups: usize,
) -> Result<Runs, ClientError> {
    let Asked { table, .. } = *asked;
    let other = || ClientError::Answer { what: "its sums are of other parts of the table".into() };
    let first = task.first_column().ok_or_else(other)?;
    let key = table.keys.present().columns.get(first)?;
    let (degree, set) = (key.ring().degree(), key.encoding.public.ring()?);
    let together = key.encoding.public.packing.chunks_together(set);
    let runs = product_runs(table.manifest.manifest(), (degree, together), task.elements);
    let numbered = answer.runs.iter().map(|run| run.number).eq(0..runs.len() as u32);
    let has_all = answer.runs.iter().all(|run| run.objects.len() == groups * task.sums.len());
    if numbered && has_all && read == task.sums.len() {
        Ok(Runs { first, degree, together, runs })
    } else {
        Err(other())
    }
}

/// What each sum of a task is over all runs of chunks, of so many groups one after another.
fn sums_of(
    asked: &Asked<'_>,
    filtered: &FilteredSums,
    (task, groups): (&ProductsTask, usize),
    answer: &ProductsAnswer<'_>,
) -> Result<Vec<Vec<i128>>, ClientError> {
    let Asked { table, .. } = *asked;
    let manifest = table.manifest.manifest();
    let Runs { first, degree, runs, .. } = runs_of(asked, (task, filtered.sums.len()), answer, groups)?;
    let mut totals = vec![vec![0_i128; task.sums.len()]; groups];
    for (run, found) in runs.iter().zip(&answer.runs) {
        let key = table.keys.of(manifest, run.domain)?.columns.get(first)?;
        let sums = found.objects.iter().zip(task.sums.iter().zip(&filtered.sums).cycle());
        let sums = sums.map(|(object, (sum, read))| SumOfProducts {
            object,
            bits: &sum.bits,
            limit: PhaseLimit::from_log2(read.phase_log2),
            natural: read.natural,
        });
        let sums: Vec<SumOfProducts<'_>> = sums.collect();
        let opened = on_threads(table.costs.threads, || table.scheme.products(key, &sums))?;
        // What the slots behind the rows add where no mask leaves them out.
        let slots = u64::from(run.elements) * degree as u64;
        let behind = if filtered.is_masked { 0 } else { slots.saturating_sub(run.rows) };
        let totals = totals.iter_mut().flatten().zip(filtered.sums.iter().cycle());
        for ((total, read), sum) in totals.zip(opened) {
            let here = sum - i128::from(behind) * i128::from(read.padding);
            *total = total.checked_add(here).ok_or(ClientError::Overflow)?;
        }
    }
    Ok(totals)
}
