// SPDX-License-Identifier: Apache-2.0
//! Clear columns that are in memory as the query engine has them, for tables that live as long as one question. They are scanned and read in
//! the batches in which they came: one for each chunk. Nothing is copied, and nothing checked against a digest: whoever made the table has
//! made them.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::TableType;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use hush_table::manifest::PartPlace;
use hush_table::{CHUNK_ROWS, ClearPart, Manifest, PartEntry};

use crate::error::ExecError;
use crate::parts::PartSet;

/// The clear columns of a table, in memory: a batch for each chunk, by part.
#[derive(Clone, Debug)]
pub(crate) struct HeldColumns {
    /// With the number of each part's first chunk.
    parts: Vec<(u32, Arc<[RecordBatch]>)>,
}

/// The clear columns of a part.
pub(crate) enum PartColumns {
    /// In a file.
    Stored(ClearPart),
    /// In memory.
    Held(Arc<[RecordBatch]>),
}

/// The clear columns of some parts, in row order, as the query engine scans them.
#[derive(Debug)]
struct HeldScan {
    schema: SchemaRef,
    chunks: Vec<RecordBatch>,
}

impl HeldColumns {
    /// The columns of all chunks of a table, in order.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if they are not those that the manifest names: other columns, or other rows.
    pub(crate) fn new(
        manifest: &Manifest,
        mut chunks: Vec<RecordBatch>,
    ) -> std::result::Result<Self, ExecError> {
        let other = || ExecError::Internal { place: "columns in memory" };
        let schema = manifest.clear_schema()?;
        // Names and types; whether values may be missing, the manifest does not say.
        let fields = |batch: &RecordBatch| {
            let (found, expected) = (batch.schema_ref().fields(), schema.fields());
            let same = found.iter().zip(expected).all(|(found, expected)| {
                (found.name(), found.data_type()) == (expected.name(), expected.data_type())
            });
            found.len() == expected.len() && same
        };
        if !chunks.iter().all(fields) {
            return Err(other());
        }
        let mut parts = Vec::with_capacity(manifest.parts.len());
        for (place, entry) in manifest.placed_parts() {
            let left = chunks.split_off((entry.chunks as usize).min(chunks.len()));
            let of_part = std::mem::replace(&mut chunks, left);
            if !are_chunks(&of_part, entry) {
                return Err(other());
            }
            let typed = of_part.into_iter().map(|batch| batch.with_schema(schema.clone()));
            let typed = typed.collect::<std::result::Result<Vec<_>, _>>().map_err(|_| other())?;
            parts.push((place.first_chunk, typed.into()));
        }
        if chunks.is_empty() { Ok(Self { parts }) } else { Err(other()) }
    }

    /// The columns of a part; `None` if there is no such part.
    pub(crate) fn part(&self, place: PartPlace) -> Option<PartColumns> {
        let found = self.parts.binary_search_by_key(&place.first_chunk, |(first, _)| *first).ok()?;
        self.parts.get(found).map(|(_, chunks)| PartColumns::Held(chunks.clone()))
    }

    /// Some parts, for the query engine.
    pub(super) fn scan(&self, schema: SchemaRef, parts: &PartSet) -> Arc<dyn TableProvider> {
        let chosen = self.parts.iter().zip(0..).filter(|(_, part)| parts.contains(*part));
        let chunks = chosen.flat_map(|((_, chunks), _)| chunks.iter().cloned()).collect();
        Arc::new(HeldScan { schema, chunks })
    }
}

/// Whether these are the chunks of a part: all full but the last, and as many rows as it has.
fn are_chunks(chunks: &[RecordBatch], entry: &PartEntry) -> bool {
    let rows = chunks.iter().map(|chunk| chunk.num_rows() as u64).sum::<u64>();
    let full = |chunk: &RecordBatch| chunk.num_rows() == CHUNK_ROWS as usize;
    let before = chunks.split_last().map_or(chunks, |(_, before)| before);
    (chunks.len() as u64, rows) == (u64::from(entry.chunks), entry.rows)
        && before.iter().all(full)
        && entry.dead.is_none()
}

impl PartColumns {
    /// The file, of which bounds are known.
    pub(crate) fn stored(&self) -> Option<&ClearPart> {
        match self {
            Self::Stored(part) => Some(part),
            Self::Held(_) => None,
        }
    }

    /// Some columns (positions in the schema, ascending), in batches of one chunk each.
    ///
    /// # Errors
    /// As [`ClearPart::read`]; [`ExecError::Internal`] for a position that does not exist.
    pub(crate) fn read(&self, positions: &[usize]) -> std::result::Result<Vec<RecordBatch>, ExecError> {
        let missing = |_| ExecError::Internal { place: "columns in memory" };
        match self {
            Self::Stored(part) => Ok(part.read(positions)?),
            Self::Held(chunks) => {
                chunks.iter().map(|chunk| chunk.project(positions).map_err(missing)).collect()
            }
        }
    }
}

impl From<ClearPart> for PartColumns {
    fn from(part: ClearPart) -> Self {
        Self::Stored(part)
    }
}

#[async_trait]
impl TableProvider for HeldScan {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // Groups are runs of neighbouring chunks. A single group keeps the order of the rows.
        let of_group = self.chunks.len().div_ceil(state.config().target_partitions()).max(1);
        let mut groups: Vec<Vec<RecordBatch>> = self.chunks.chunks(of_group).map(<[_]>::to_vec).collect();
        if groups.is_empty() {
            groups.push(Vec::new());
        }
        let source = MemorySourceConfig::try_new(&groups, self.schema.clone(), projection.cloned())?;
        Ok(DataSourceExec::from_data_source(source.with_limit(limit)))
    }
}
