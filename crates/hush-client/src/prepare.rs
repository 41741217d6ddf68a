// SPDX-License-Identifier: Apache-2.0
//! What is prepared of rows when they are encrypted, part by part: sums of cubes, and sorted runs.

use std::sync::Arc;

use hush_keys::{PadKey, SealKey};
use hush_plan::cube::CubeShape;
use hush_plan::schema::Schema;
use hush_plan::{filter, one_hot};
use hush_table::source::RowBatch;
use hush_table::{Prepared, PreparedOfPart};

use crate::cube::{CubeMaker, CubePlan, CubeRows, rows_of};
use crate::error::ClientError;
use crate::private::PrivateHalf;
use crate::run::{ChunkRanks, RunMaker, RunPlan, RunRows};

/// The cubes and runs of a table, worked out. A copy shares them.
#[derive(Clone, Default)]
pub(crate) struct PreparePlan {
    cubes: Arc<CubePlan>,
    runs: Arc<RunPlan>,
    /// The cells of sums by hidden values and of filters, of columns whose values nothing else bounds.
    cells: Arc<Vec<CubeShape>>,
}

/// What some rows give to cubes and runs.
pub(crate) struct PreparedRows {
    cubes: Vec<Option<CubeRows>>,
    runs: Vec<Option<RunRows>>,
}

impl PreparePlan {
    /// Works out the cubes and runs of a table.
    pub(crate) fn of(half: &PrivateHalf) -> Self {
        let texts = filter::unbounded(&half.schema).ok().filter(|shape| !shape.axes.is_empty());
        let cells = Arc::new(one_hot::unbounded(&half.schema).into_iter().chain(texts).collect());
        Self { cubes: Arc::new(CubePlan::of(half)), runs: Arc::new(RunPlan::of(half)), cells }
    }

    /// Most bytes of memory that a part of so many rows takes.
    pub(crate) fn bytes(&self, rows: u64) -> u64 {
        self.cubes.bytes() + self.runs.row_bytes() * rows
    }

    /// The ranks of the values of a batch of this schema, of columns whose conditions are by ranks.
    ///
    /// # Errors
    /// [`ClientError::Internal`].
    pub(crate) fn ranks(&self, schema: &Schema, batch: &RowBatch) -> Result<Vec<ChunkRanks>, ClientError> {
        self.runs.ranks(schema, batch)
    }

    /// What the rows of a batch of this schema, with these ranks, give. Rows that are stored already may have values that no cell is for.
    ///
    /// # Errors
    /// [`ClientError::NoCell`] for such a value of new rows.
    pub(crate) fn rows(
        &self,
        schema: &Schema,
        (batch, ranks): (&RowBatch, &[ChunkRanks]),
        is_stored: bool,
    ) -> Result<PreparedRows, ClientError> {
        // Rows that are stored have been checked when they were new.
        for shape in self.cells.iter().filter(|_| !is_stored) {
            rows_of(shape, schema, batch)?;
        }
        let cubes = self.cubes.rows(schema, batch, is_stored)?;
        Ok(PreparedRows { cubes, runs: self.runs.rows(schema, batch, ranks)? })
    }

    /// Prepares parts, under these keys.
    pub(crate) fn maker(&self, pads: PadKey, runs: SealKey) -> Preparer {
        Preparer { cubes: self.cubes.maker(pads), runs: self.runs.maker(runs) }
    }
}

/// Takes the rows of a part as they are written, and gives what is prepared of them when it is cut.
#[derive(Clone)]
pub(crate) struct Preparer {
    cubes: CubeMaker,
    runs: RunMaker,
}

impl Preparer {
    /// Adds the rows of the next chunk, before it is written.
    pub(crate) fn add(&self, rows: PreparedRows) {
        self.cubes.add(&rows.cubes);
        self.runs.add(rows.runs);
    }

    /// What gives a writer that of each part.
    pub(crate) fn hook(&self) -> PreparedOfPart {
        let maker = self.clone();
        Box::new(move |_, _| Prepared { cubes: maker.cubes.cut(), runs: maker.runs.cut() })
    }
}
