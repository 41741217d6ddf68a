// SPDX-License-Identifier: Apache-2.0
//! Pieces of a sorted run of the parts that have it: the sealed index, or the blocks that the plan names. What is in them only the owner
//! knows, who has sealed them and sees whether they are the ones that he asked for.

use std::collections::BTreeMap;

use bytes::Bytes;
use hush_plan::plan::{RowsTask, RunRead, RunTask};
use rayon::prelude::*;

use crate::answer::pieces_bytes;
use crate::error::ExecError;
use crate::job::Job;
use crate::table::PartRef;

/// What is asked of the run of a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    /// Number of the part in the table.
    pub(crate) number: u32,
    pub(crate) part: PartRef<'a>,
    /// Places of blocks; `None` asks for the index.
    places: Option<&'a [u32]>,
    /// Bytes of all of it.
    pub(crate) bytes: u64,
}

/// Whether a part answers a task by its run.
pub(super) fn is_covered(task: &RowsTask, part: PartRef<'_>) -> bool {
    task.run.as_ref().is_some_and(|run| part.entry.has_run(run.number))
}

/// What is asked of each part of a table that has the run of a task, which fits the table.
pub(crate) fn asked<'a>(parts: Vec<PartRef<'a>>, run: &'a RunTask) -> impl Iterator<Item = Asked<'a>> {
    let having = parts.into_iter().zip(0..);
    let having = having.filter_map(|(part, number)| Some((part, number, part.entry.run(run.number)?.run)));
    having.enumerate().map(|(rank, (part, number, stored))| match &run.read {
        RunRead::Index => Asked { number, part, places: None, bytes: stored.index_bytes.into() },
        RunRead::Blocks { of_parts, .. } => {
            let places = of_parts.get(rank).map_or(&[][..], Vec::as_slice);
            let bytes = (places.len() as u64).saturating_mul(stored.block_bytes.into());
            Asked { number, part, places: Some(places), bytes }
        }
    })
}

/// The pieces of a run that the parts of a job send, by the numbers of these parts.
///
/// # Errors
/// [`ExecError::AnswerLimit`] before anything is read; [`ExecError::Corrupt`], [`ExecError::Io`].
///
/// # Cost
/// The pieces, in memory, and the bytes that are hashed with them.
pub(super) fn pieces(job: &Job, run: &RunTask, max_bytes: u64) -> Result<BTreeMap<u32, Bytes>, ExecError> {
    let asked = asked(job.snapshot.parts(), run).filter(|asked| job.parts.contains(asked.number));
    let asked: Vec<_> = asked.collect();
    let found = pieces_bytes(asked.iter().map(|asked| asked.bytes));
    if found > max_bytes {
        return Err(ExecError::AnswerLimit { found, limit: max_bytes });
    }
    let piece = |asked: Asked<'_>| {
        job.stop.check()?;
        let bytes = match asked.places {
            // Nothing is opened for nothing.
            Some([]) => Bytes::new(),
            Some(places) => job.snapshot.run_blocks(asked.part, run.number, places)?,
            None => job.snapshot.run_index(asked.part, run.number)?,
        };
        Ok((asked.number, bytes))
    };
    asked.into_par_iter().map(piece).collect()
}
