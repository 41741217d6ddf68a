// SPDX-License-Identifier: Apache-2.0
//! What a plan reads of each part, from the manifest alone: by that a caller cuts a table into runs of like size.

use std::collections::BTreeMap;

use hush_params::preset;
use hush_plan::plan::{SlotExpr, Task};
use hush_plan::{Encoding, EncodingId};
use hush_rlwe::OVERHEAD_BYTES;
use hush_table::Manifest;

use crate::conform;
use crate::error::{ExecError, PlanFault};
use crate::job::Job;
use crate::rows;
use crate::table::PartRef;

/// What a plan reads of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartSize {
    /// Rows of the part.
    pub rows: u64,
    /// Bytes of the encoded columns that the plan names, and of the whole file of clear columns; 0 if the table's zones show that no row
    /// of the part can match. Of a part whose cube a rows task names: bytes of its file of cubes; of one whose sorted run it names: bytes of the pieces
    /// that are asked for.
    pub bytes: u64,
}

/// The sizes of a job's parts, in row order.
///
/// # Errors
/// [`ExecError::Plan`] if the plan does not fit the table.
pub(crate) fn of_parts(job: &Job) -> Result<Vec<PartSize>, ExecError> {
    let task = &job.plan.plan.task;
    let columns = columns(task, job.snapshot.manifest())?;
    let mut pieces = BTreeMap::new();
    if let Task::Rows(task) = task {
        conform::prepared(task, job.snapshot.manifest())?;
        let asked = task.run.iter().flat_map(|run| rows::asked_of_run(job.snapshot.parts(), run));
        pieces.extend(asked.map(|asked| (asked.number, asked.bytes)));
    }
    let of_part = |(part, number): (PartRef<'_>, u32)| {
        if !job.needed.contains(number) {
            return PartSize { rows: part.entry.rows, bytes: 0 };
        }
        if let Some(bytes) = pieces.get(&number) {
            return PartSize { rows: part.entry.rows, bytes: *bytes };
        }
        if let (Task::Rows(task), Some(cubes)) = (task, &part.entry.cubes)
            && rows::is_covered(task, part)
        {
            return PartSize { rows: part.entry.rows, bytes: cubes.file.bytes };
        }
        let manifest = job.snapshot.manifest();
        let has = |column: &&&Encoding| !manifest.lacks(part.entry.generation, column.id);
        let here: Vec<_> = columns.iter().filter(has).collect();
        let encoded: u64 = here.iter().map(|column| part_bytes(column, part)).sum();
        PartSize { rows: part.entry.rows, bytes: encoded + part.entry.clear.map_or(0, |file| file.bytes) }
    };
    Ok(job.snapshot.parts().into_iter().zip(0..).map(of_part).collect())
}

/// The encodings that a task reads, each once.
fn columns<'a>(task: &Task, manifest: &'a Manifest) -> Result<Vec<&'a Encoding>, PlanFault> {
    let encodings = &manifest.encodings;
    let mut ids: Vec<EncodingId> = match task {
        Task::Aggregate(task) => {
            conform::aggregate(task, encodings, &conform::Strata::none())?;
            task.sums.iter().map(|sum| sum.column).collect()
        }
        Task::Products(task) => {
            conform::products(task, encodings, &conform::Strata::of(manifest))?;
            // Of columns to choose from no more are read than operands there are.
            let chosen =
                task.choices.iter().flat_map(|choices| choices.among.iter().take(choices.of_chunks.len()));
            task.columns.iter().chain(chosen).copied().collect()
        }
        Task::Rows(task) => {
            conform::rows(task, encodings)?;
            task.fetch.iter().copied().chain(task.programs.iter().flat_map(SlotExpr::columns)).collect()
        }
    };
    ids.sort_unstable();
    ids.dedup();
    Ok(encodings.iter().filter(|encoding| ids.binary_search(&encoding.id).is_ok()).collect())
}

/// Bytes of an encoding in a part; 0 for unknown parameters, which no plan passes.
fn part_bytes(encoding: &Encoding, part: PartRef<'_>) -> u64 {
    let Ok(set) = preset(&encoding.params) else { return 0 };
    let packing = &encoding.packing;
    let first = part.place.first_chunk;
    let chunks: Vec<u32> = (first..first + part.entry.chunks).collect();
    let of_together = |chunks: &[u32]| {
        let rows = chunks.iter().map(|chunk| part.rows_of(*chunk)).sum();
        (packing.element_bytes(set, None) * packing.element_count(set, rows) as usize + OVERHEAD_BYTES) as u64
    };
    chunks.chunks(packing.chunks_together(set) as usize).map(of_together).sum()
}
