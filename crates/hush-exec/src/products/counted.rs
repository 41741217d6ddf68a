// SPDX-License-Identifier: Apache-2.0
//! Which rows of a part count.

use arrow::array::RecordBatch;
use arrow::buffer::BooleanBuffer;
use datafusion::logical_expr::Expr;
use hush_plan::EncodingId;
use hush_plan::plan::AggregateTask;

use super::RunOfPart;
use super::pieces::{Chunk, LoadedPart};
use crate::clear::masks::MaskSet;
use crate::clear::scalar::Scope;
use crate::conform::masks_products;
use crate::error::ExecError;
use crate::job::Job;
use crate::living::spread;
use crate::table::PartRef;

/// The condition on rows of a job.
pub(super) struct Counting<'a> {
    job: &'a Job,
    /// The predicate alone.
    condition: MaskSet,
    is_masked: bool,
}

impl<'a> Counting<'a> {
    /// Compiles the predicate.
    ///
    /// # Errors
    /// [`ExecError::Expression`].
    pub(super) fn new(job: &'a Job, scope: &Scope<'_>, predicate: Option<&Expr>) -> Result<Self, ExecError> {
        let (keys, clear, masks, sums) = Default::default();
        let rows_alone = AggregateTask { keys, clear, masks, sums, max_groups: 1 };
        let condition = MaskSet::parse(scope, predicate, &rows_alone)?;
        let is_masked = masks_products(&job.plan.plan, job.snapshot.manifest());
        Ok(Self { job, condition, is_masked })
    }

    /// Finds the chunks of a part in which rows count, and opens its file if there are any.
    ///
    /// # Errors
    /// Any [`ExecError`] of the clear half or of reading.
    pub(super) fn load<'p>(
        &self,
        part: PartRef<'p>,
        runs: &[RunOfPart],
        columns: &[EncodingId],
    ) -> Result<LoadedPart<'p>, ExecError> {
        self.job.stop.check()?;
        let counted = self.of_part(part)?;
        let placed = runs.iter().flat_map(|of| of.chunks.clone().map(|index| (of.run, index)));
        let chunks = placed.filter_map(|(run, index)| match &counted {
            None => Some(Chunk { run, index, counted: None }),
            Some(counted) => {
                let at = index.saturating_sub(part.place.first_chunk) as usize;
                let rows = counted.get(at)?;
                (rows.count_set_bits() > 0).then(|| Chunk { run, index, counted: Some(rows.clone()) })
            }
        });
        let chunks: Vec<Chunk> = chunks.collect();
        let open = || Ok::<_, ExecError>(self.job.snapshot.encrypted_part(part)?.fetched(columns, &[])?);
        let encrypted = (!chunks.is_empty()).then(open).transpose()?;
        Ok(LoadedPart { part, encrypted, chunks })
    }

    /// A bit for each row of each chunk; `None` where even padding counts.
    fn of_part(&self, part: PartRef<'_>) -> Result<Option<Vec<BooleanBuffer>>, ExecError> {
        if !self.is_masked {
            return Ok(None);
        }
        let snapshot = &self.job.snapshot;
        let living = snapshot.living(part)?;
        let clear = if self.condition.takes_all() { None } else { snapshot.clear_part(part)? };
        if clear.as_ref().is_some_and(|clear| self.condition.excludes(clear)) {
            return Ok(Some(Vec::new()));
        }
        let chunks = living.rows_of(self.condition.read(clear.as_ref(), part.entry.rows)?)?;
        let of_chunk = |(at, batch): (usize, &RecordBatch)| {
            self.job.stop.check()?;
            let matching = match self.condition.keys(batch)? {
                None => BooleanBuffer::new_unset(batch.num_rows()),
                Some((None, _)) => BooleanBuffer::new_set(batch.num_rows()),
                Some((Some(matching), _)) => matching,
            };
            let Some(living) = living.of_chunk(at) else { return Ok(matching) };
            let matching: Vec<bool> = matching.iter().collect();
            Ok(BooleanBuffer::from(spread(&living, &matching, false)))
        };
        chunks.iter().enumerate().map(of_chunk).collect::<Result<_, _>>().map(Some)
    }
}
