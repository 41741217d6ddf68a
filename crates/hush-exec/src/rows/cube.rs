// SPDX-License-Identifier: Apache-2.0
//! Cells of a cube over the parts that have it: added up modulo powers of two. What is in them only the owner knows, whose pads they bear.

use hush_plan::plan::RowsTask;
use hush_table::{CubeSums, StoredCube};
use rayon::prelude::*;

use crate::error::ExecError;
use crate::job::Job;
use crate::table::PartRef;

/// A part's cube differs in shape from that of other parts.
const OTHER_SHAPE: ExecError = ExecError::Corrupt { code: "HUSH-T033" };

/// Whether a part answers a task by its cells.
pub(super) fn is_covered(task: &RowsTask, part: PartRef<'_>) -> bool {
    task.cube.is_some_and(|number| part.entry.has_cube(number))
}

/// The sums of a task's cube over the parts of a job that have it; `None` if there is none of them.
///
/// # Errors
/// [`ExecError::Corrupt`] also if their cubes differ in shape; those of [`check_size`].
///
/// # Cost
/// One pass over the files of cubes, and for each thread the memory of the sums.
pub(super) fn sums(job: &Job, task: &RowsTask, max_bytes: u64) -> Result<Option<CubeSums>, ExecError> {
    let Some(number) = task.cube else { return Ok(None) };
    let parts: Vec<PartRef<'_>> =
        job.placed_parts().into_iter().filter(|part| is_covered(task, *part)).collect();
    let at_once = parts.len().div_ceil(job.workers.threads()).max(1);
    let sums_at_once = parts.len().div_ceil(at_once) as u64;
    let sum_of = |parts: &[PartRef<'_>]| -> Result<Option<CubeSums>, ExecError> {
        let mut sums: Option<CubeSums> = None;
        for part in parts {
            job.stop.check()?;
            let StoredCube { cells, bits, sums: packed, .. } = job.snapshot.cube(*part, number)?;
            if sums.is_none() {
                check_size(job, (cells, &bits), max_bytes, sums_at_once)?;
            }
            let sums = sums.get_or_insert_with(|| CubeSums::zeros(cells, &bits));
            if (sums.cells(), sums.bits()) != (cells, bits.as_slice()) {
                return Err(OTHER_SHAPE);
            }
            sums.add_packed(&packed).ok_or(OTHER_SHAPE)?;
        }
        Ok(sums)
    };
    let each: Vec<Option<CubeSums>> = parts.par_chunks(at_once).map(sum_of).collect::<Result<_, _>>()?;
    let mut each = each.into_iter().flatten();
    let Some(mut total) = each.next() else { return Ok(None) };
    for sums in each {
        total.add(&sums).ok_or(OTHER_SHAPE)?;
    }
    Ok(Some(total))
}

/// Refuses cells that do not fit into the answer or into memory, before it is taken.
///
/// # Errors
/// [`ExecError::AnswerLimit`], [`ExecError::MemoryLimit`].
pub(super) fn check_size(
    job: &Job,
    (cells, bits): (u32, &[u8]),
    max_bytes: u64,
    sums_at_once: u64,
) -> Result<(), ExecError> {
    let found = CubeSums::encoded_bytes(cells, bits);
    if found > max_bytes {
        return Err(ExecError::AnswerLimit { found, limit: max_bytes });
    }
    // Each number takes 16 bytes at most, in each of the sums that are made at once.
    let numbers = u64::from(cells).saturating_mul(bits.len() as u64);
    let memory = numbers.saturating_mul(16).saturating_mul(sums_at_once);
    if memory > job.limits.memory_bytes / 2 { Err(ExecError::MemoryLimit) } else { Ok(()) }
}
