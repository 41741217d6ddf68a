// SPDX-License-Identifier: Apache-2.0
//! Which rows of a part count.

use arrow::array::{BooleanBufferBuilder, RecordBatch};
use arrow::buffer::BooleanBuffer;
use hush_plan::EncodingId;
use hush_schemes::bgv::sum::NOT_SELECTED;

use super::RunOfPart;
use super::pieces::{Chunk, LoadedPart};
use crate::clear::groups::Groups;
use crate::clear::masks::{MaskSet, RowMask};
use crate::conform::masks_products;
use crate::error::ExecError;
use crate::job::Job;
use crate::living::spread;
use crate::scheme::Products;
use crate::table::PartRef;

/// The condition on rows of a job.
pub(super) struct Counting<'a> {
    job: &'a Job,
    /// The predicate, and the masks: that of all rows, and those of factors.
    conditions: MaskSet,
    groups: Option<&'a Groups>,
    is_masked: bool,
}

/// What clear columns say of the rows of a chunk.
#[derive(Clone, Default)]
struct Rows {
    /// Those that count; `None` if every slot does.
    counted: Option<BooleanBuffer>,
    /// Those for which the condition of each mask of factors is true.
    masks: Vec<BooleanBuffer>,
    /// The group of each row, [`NOT_SELECTED`] for none; empty without keys.
    groups: Vec<u32>,
}

impl Rows {
    /// What they say of chunks that are together, one after another: none but the last is shorter than a full one. Of a chunk in which no row counts
    /// masks and groups may be missing.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if every slot counts in some and not in others.
    fn joined(chunks: &[Self]) -> Result<Self, ExecError> {
        if let [one] = chunks {
            return Ok(one.clone());
        }
        let missing = || ExecError::Internal { place: "rows of chunks that are together" };
        let counted: Vec<&BooleanBuffer> = chunks.iter().filter_map(|rows| rows.counted.as_ref()).collect();
        if !counted.is_empty() && counted.len() != chunks.len() {
            return Err(missing());
        }
        let mask_count = chunks.iter().map(|rows| rows.masks.len()).max().unwrap_or(0);
        let has_groups = chunks.iter().any(|rows| !rows.groups.is_empty());
        let mut all = Self::default();
        let mut masks: Vec<_> = (0..mask_count).map(|_| BooleanBufferBuilder::new(0)).collect();
        for rows in chunks {
            for (place, mask) in masks.iter_mut().enumerate() {
                match (rows.masks.get(place), &rows.counted) {
                    (Some(here), _) => mask.append_buffer(here),
                    (None, Some(counted)) => mask.append_n(counted.len(), false),
                    (None, None) => return Err(missing()),
                }
            }
            match &rows.counted {
                Some(counted) if has_groups && rows.groups.is_empty() => {
                    all.groups.extend(std::iter::repeat_n(NOT_SELECTED, counted.len()));
                }
                _ => all.groups.extend(&rows.groups),
            }
        }
        all.masks.extend(masks.iter_mut().map(BooleanBufferBuilder::finish));
        all.counted = (!counted.is_empty()).then(|| counted.iter().flat_map(|rows| rows.iter()).collect());
        Ok(all)
    }
}

/// The columns, each once and ascending.
fn each_once(columns: &[EncodingId]) -> Vec<EncodingId> {
    let mut found = columns.to_vec();
    found.sort_unstable();
    found.dedup();
    found
}

impl<'a> Counting<'a> {
    /// The condition of a job whose predicate and masks are these ([`clear_task`](crate::clear::masks::clear_task)).
    pub(super) fn new(job: &'a Job, conditions: MaskSet, groups: Option<&'a Groups>) -> Self {
        let is_masked = groups.is_some() || masks_products(&job.plan.plan, job.snapshot.manifest());
        Self { job, conditions, groups, is_masked }
    }

    /// Finds the chunks of a part in which rows count, and opens its file if there are any.
    ///
    /// # Errors
    /// Any [`ExecError`] of the clear half or of reading.
    pub(super) fn load<'p>(
        &self,
        part: PartRef<'p>,
        runs: &[RunOfPart],
        products: &Products,
    ) -> Result<LoadedPart<'p>, ExecError> {
        self.job.stop.check()?;
        let found = self.of_part(part)?;
        let (_, together) = products.in_ring();
        let elements = products.elements_together();
        let placed = runs.iter().flat_map(|of| {
            let numbered = of.chunks.together(together).zip(of.chunks.numbers(elements));
            numbered.map(move |(indices, number)| (of.run, indices, number))
        });
        let chunk = |run, index, number, Rows { counted, masks, groups }| {
            let operands = products.operands(index);
            Chunk { run, index, number, columns: each_once(&operands), operands, counted, masks, groups }
        };
        let chunks = placed.filter_map(|(run, indices, number)| match &found {
            None => Some(Ok(chunk(run, indices.start, number, Rows::default()))),
            Some(found) => {
                let place = |index: u32| index.saturating_sub(part.place.first_chunk) as usize;
                let rows = Rows::joined(found.get(place(indices.start)..place(indices.end))?);
                let counts =
                    |rows: &Rows| rows.counted.as_ref().is_none_or(|counted| counted.count_set_bits() > 0);
                rows.map(|rows| counts(&rows).then(|| chunk(run, indices.start, number, rows))).transpose()
            }
        });
        let chunks = chunks.collect::<Result<Vec<Chunk>, ExecError>>()?;
        let columns: Vec<EncodingId> = chunks.iter().flat_map(|chunk| &chunk.columns).copied().collect();
        let columns = each_once(&columns);
        let open = || Ok::<_, ExecError>(self.job.snapshot.encrypted_part(part)?.fetched(&columns, &[])?);
        let encrypted = (!chunks.is_empty()).then(open).transpose()?;
        Ok(LoadedPart { part, encrypted, chunks })
    }

    /// What clear columns say of each chunk; `None` where even padding counts.
    fn of_part(&self, part: PartRef<'_>) -> Result<Option<Vec<Rows>>, ExecError> {
        if !self.is_masked && self.conditions.takes_all() {
            return Ok(None);
        }
        let snapshot = &self.job.snapshot;
        let living = snapshot.living(part)?;
        let clear = if self.conditions.takes_all() { None } else { snapshot.clear_part(part)? };
        if clear.as_ref().is_some_and(|clear| self.conditions.excludes(clear)) {
            return Ok(Some(Vec::new()));
        }
        let chunks = living.rows_of(self.conditions.read(clear.as_ref(), part.entry.rows)?)?;
        let of_chunk = |(at, batch): (usize, &RecordBatch)| {
            self.job.stop.check()?;
            let living = living.of_chunk(at);
            let over_all = |rows: BooleanBuffer| match &living {
                None => rows,
                Some(living) => {
                    let rows: Vec<bool> = rows.iter().collect();
                    BooleanBuffer::from(spread(living, &rows, false))
                }
            };
            let Rows { counted, masks, groups } = self.of_chunk(batch)?;
            let groups = match &living {
                Some(living) if !groups.is_empty() => spread(living, &groups, NOT_SELECTED),
                _ => groups,
            };
            let masks = masks.into_iter().map(over_all).collect();
            Ok(Rows { counted: counted.map(over_all), masks, groups })
        };
        chunks.iter().enumerate().map(of_chunk).collect::<Result<_, _>>().map(Some)
    }

    /// What clear columns say of the living rows of a chunk.
    fn of_chunk(&self, batch: &RecordBatch) -> Result<Rows, ExecError> {
        let rows = batch.num_rows();
        let nothing =
            || Rows { counted: Some(BooleanBuffer::new_unset(rows)), masks: Vec::new(), groups: Vec::new() };
        let (counted, groups) = match self.groups {
            None => {
                let Some((matching, _)) = self.conditions.keys(batch)? else { return Ok(nothing()) };
                let matching = || matching.unwrap_or_else(|| BooleanBuffer::new_set(rows));
                (self.is_masked.then(matching), Vec::new())
            }
            Some(groups) => {
                let of_rows = self.conditions.evaluate(batch, groups)?.into_iter().next();
                let Some(RowMask::Rows { groups: found, .. }) = of_rows else { return Ok(nothing()) };
                (Some(found.iter().map(|group| *group != NOT_SELECTED).collect()), found)
            }
        };
        // The first mask is that of all rows.
        let masks = self.conditions.conditions(batch)?.into_iter().skip(1).collect();
        Ok(Rows { counted, masks, groups })
    }
}
