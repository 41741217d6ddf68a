// SPDX-License-Identifier: Apache-2.0
//! The clear half of a query: everything that clear columns alone decide, computed by the embedded query engine.
//!
//! [`groups`] runs the grouped query over all parts; [`masks`] evaluates the same predicate and keys on one part in
//! row order, so that each row's group and weights can be applied to its ciphertext. Both use the same parsed
//! expressions, and so agree. [`zones`] says which parts need not be read for that.

pub(crate) mod compiled;
mod files;
pub(crate) mod groups;
mod keys;
pub(crate) mod masks;
mod product;
pub(crate) mod scalar;
pub(crate) mod select;
pub(crate) mod session;
pub(crate) mod shape;
mod sums;
pub(crate) mod zones;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{AsArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Int64Type, Schema};
use datafusion::common::DFSchema;
use datafusion::dataframe::DataFrame;
use datafusion::datasource::{MemTable, TableProvider, provider_as_source};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::functions_aggregate::count::count_all;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, TableSource};
use hush_table::Manifest;
use object_store::path::Path;

use self::files::ClearFiles;
use crate::error::{ExecError, ExpressionRole};

/// The clear columns of one table version as the query engine sees them.
pub(crate) struct ClearTable {
    df_schema: DFSchema,
    source: Arc<dyn TableSource>,
    rows: u64,
    /// Set once the query engine has been seen to find all rows.
    complete: AtomicBool,
}

impl ClearTable {
    /// Registers exactly the manifest's files. `files` are their places in the store and their lengths, in row order.
    ///
    /// A table without clear columns still has rows to count: it becomes a table of rows without columns.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if the query engine refuses the table.
    pub(crate) fn new(manifest: &Manifest, files: Vec<(Path, u64)>) -> Result<Self, ExecError> {
        let schema = manifest.clear_schema()?;
        let internal = |_| ExecError::Internal { place: "clear table" };
        let df_schema = DFSchema::try_from(schema.as_ref().clone()).map_err(internal)?;
        let provider: Arc<dyn TableProvider> = if schema.fields().is_empty() {
            Arc::new(rows_alone(manifest.rows).map_err(internal)?)
        } else {
            Arc::new(ClearFiles::new(schema, files))
        };
        let source = provider_as_source(provider);
        Ok(Self { df_schema, source, rows: manifest.rows, complete: AtomicBool::new(false) })
    }

    /// Checks, the first time, that the query engine finds every row of the manifest: a total over fewer rows looks like
    /// any other total.
    ///
    /// # Errors
    /// [`ExecError::MissingRows`]; those of the query engine.
    pub(crate) async fn expect_all_rows(&self, state: &SessionState) -> Result<(), ExecError> {
        if self.complete.load(Ordering::Acquire) {
            return Ok(());
        }
        let failed = |error: DataFusionError| evaluation_error(&error);
        let count = LogicalPlanBuilder::scan("t", self.source.clone(), None)
            .and_then(|scan| scan.aggregate(Vec::<Expr>::new(), [count_all()])?.build())
            .map_err(failed)?;
        let batches = DataFrame::new(state.clone(), count).collect().await.map_err(failed)?;
        let counts = batches.first().and_then(|batch| batch.column(0).as_primitive_opt::<Int64Type>());
        let found = counts.map_or(0, |counts| counts.value(0).unsigned_abs());
        if found != self.rows {
            return Err(ExecError::MissingRows { found, expected: self.rows });
        }
        self.complete.store(true, Ordering::Release);
        Ok(())
    }

    /// The schema that expressions are parsed against.
    pub(crate) fn df_schema(&self) -> &DFSchema {
        &self.df_schema
    }

    /// The table, or so many rows without columns.
    fn source(&self, rows: Option<u64>) -> datafusion::error::Result<Arc<dyn TableSource>> {
        match rows {
            None => Ok(self.source.clone()),
            Some(rows) => Ok(provider_as_source(Arc::new(rows_alone(rows)?))),
        }
    }
}

fn rows_alone(rows: u64) -> datafusion::error::Result<MemTable> {
    let schema = Arc::new(Schema::empty());
    let count = usize::try_from(rows).unwrap_or(usize::MAX);
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    let batch = RecordBatch::try_new_with_options(schema.clone(), Vec::new(), &options)?;
    MemTable::try_new(schema, vec![vec![batch]])
}

/// What a failure of the query engine means to whoever sent the plan. Its text is dropped: it may quote values.
fn evaluation_error(error: &DataFusionError) -> ExecError {
    match error.find_root() {
        DataFusionError::ResourcesExhausted(_) => ExecError::MemoryLimit,
        DataFusionError::ObjectStore(_) | DataFusionError::IoError(_) => ExecError::Io,
        DataFusionError::ParquetError(_) => ExecError::Corrupt { code: "HUSH-T034" },
        DataFusionError::Plan(_) | DataFusionError::SchemaError(..) | DataFusionError::NotImplemented(_) => {
            let fault = crate::ExpressionFault::Malformed;
            ExecError::Expression { role: ExpressionRole::ClearHalf, fault }
        }
        DataFusionError::Internal(_) => ExecError::Internal { place: "query engine" },
        _ => ExecError::Evaluation { role: ExpressionRole::ClearHalf },
    }
}
