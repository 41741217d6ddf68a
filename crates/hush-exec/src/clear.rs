// SPDX-License-Identifier: Apache-2.0
//! The clear half of a query: everything that clear columns alone decide. The embedded query engine computes it.
//!
//! [`groups`] runs the grouped query over all parts. [`masks`] evaluates the same predicate and keys on one part in
//! row order, so that each row's group and weights can be applied to its ciphertext. Both use the same parsed
//! expressions, and so agree. [`zones`] tells which parts have no matching row and need not be read.

pub mod central;
pub(crate) mod compiled;
pub(crate) mod counts;
mod files;
pub(crate) mod groups;
pub(crate) mod held;
mod keys;
pub(crate) mod logistic;
pub(crate) mod masks;
pub(crate) mod matching;
pub(crate) mod merge;
pub(crate) mod merged;
mod opaque;
pub(crate) mod order;
mod outputs;
pub(crate) mod product;
mod ranges;
pub(crate) mod scalar;
pub(crate) mod select;
pub(crate) mod session;
pub(crate) mod shape;
mod sums;
mod texts;
pub(crate) mod totals;
pub(crate) mod zones;

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema;
use datafusion::common::DFSchema;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::{MemTable, TableProvider, provider_as_source};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::TableSource;
use datafusion::physical_plan::ExecutionPlan;
use hush_table::{SignedManifest, TableError, TableStore};

use self::files::ClearFiles;
use self::held::HeldColumns;
use crate::error::{ExecError, ExpressionRole};
use crate::living::DeadLists;
use crate::parts::PartSet;

/// The clear columns of a table version, or of some of its parts, as the query engine sees them.
pub(crate) struct ClearTable {
    df_schema: DFSchema,
    source: Arc<dyn TableSource>,
    rows: u64,
}

impl ClearTable {
    /// The clear files of some parts that the manifest names, without the rows that were deleted; or these parts as they are in memory.
    ///
    /// A table without clear columns still has rows to count: it becomes a table of rows without columns.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if the query engine refuses the table.
    pub(crate) fn new(
        store: &TableStore,
        signed: &Arc<SignedManifest>,
        parts: &PartSet,
        dead: &Arc<DeadLists>,
        held: Option<&HeldColumns>,
    ) -> Result<Self, ExecError> {
        let manifest = signed.manifest();
        let schema = manifest.clear_schema()?;
        let internal = |_| ExecError::Internal { place: "clear table" };
        let df_schema = DFSchema::try_from(schema.as_ref().clone()).map_err(internal)?;
        let of_parts = manifest.parts.iter().zip(0..).filter(|(_, part)| parts.contains(*part));
        let rows = of_parts.map(|(entry, _)| entry.living_rows()).sum();
        let provider: Arc<dyn TableProvider> = if schema.fields().is_empty() {
            Arc::new(rows_alone(rows).map_err(internal)?)
        } else if parts.is_empty() {
            Arc::new(MemTable::try_new(schema, vec![Vec::new()]).map_err(internal)?)
        } else if let Some(held) = held {
            held.scan(schema, parts)
        } else {
            Arc::new(ClearFiles::new(schema, store.clone(), signed.clone(), parts, dead.clone()))
        };
        let source = provider_as_source(provider);
        Ok(Self { df_schema, source, rows })
    }

    /// Checks that a finished plan has scanned every living row of the parts: a total over fewer rows looks like any other total.
    ///
    /// # Errors
    /// [`ExecError::MissingRows`].
    pub(crate) fn expect_all_rows(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<(), ExecError> {
        let mut scans = Vec::new();
        find_scans(plan, &mut scans);
        match scans.into_iter().find(|found| *found != Some(self.rows)) {
            Some(found) => Err(ExecError::MissingRows { found: found.unwrap_or(0), expected: self.rows }),
            None => Ok(()),
        }
    }

    /// The schema that expressions are parsed against.
    pub(crate) fn df_schema(&self) -> &DFSchema {
        &self.df_schema
    }

    /// The table, for the query engine.
    fn whole(&self) -> Arc<dyn TableSource> {
        self.source.clone()
    }
}

fn rows_alone(rows: u64) -> datafusion::error::Result<MemTable> {
    let schema = Arc::new(Schema::empty());
    let count = usize::try_from(rows).unwrap_or(usize::MAX);
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    let batch = RecordBatch::try_new_with_options(schema.clone(), Vec::new(), &options)?;
    MemTable::try_new(schema, vec![vec![batch]])
}

/// The row count of each file scan in a finished plan; `None` for a scan that does not tell.
fn find_scans(plan: &Arc<dyn ExecutionPlan>, scans: &mut Vec<Option<u64>>) {
    let scan = plan.downcast_ref::<DataSourceExec>();
    if scan.is_some_and(|scan| scan.data_source().downcast_ref::<FileScanConfig>().is_some()) {
        scans.push(plan.metrics().and_then(|metrics| metrics.output_rows()).map(|rows| rows as u64));
    }
    plan.children().into_iter().for_each(|child| find_scans(child, scans));
}

/// The error that the plan's sender gets for a failure of the query engine. The engine's text is dropped, because it may
/// quote values.
fn evaluation_error(error: &DataFusionError) -> ExecError {
    if let Some(cause) = table_error(error) {
        return cause.into();
    }
    match error.find_root() {
        DataFusionError::ResourcesExhausted(_) => ExecError::MemoryLimit,
        DataFusionError::ObjectStore(_) | DataFusionError::IoError(_) => ExecError::Io,
        DataFusionError::ParquetError(_) => ExecError::Corrupt { code: "HUSH-T034" },
        DataFusionError::Plan(_) | DataFusionError::SchemaError(..) | DataFusionError::NotImplemented(_) => {
            let fault = crate::ExpressionFault::Malformed;
            ExecError::Expression { role: ExpressionRole::ClearHalf, fault }
        }
        DataFusionError::Internal(_) => ExecError::Internal { place: "query engine" },
        DataFusionError::External(fault) if fault.is::<logistic::OutcomeFault>() => ExecError::Outcome,
        _ => ExecError::Evaluation { role: ExpressionRole::ClearHalf },
    }
}

/// The error of a part that the query engine has read.
fn table_error(error: &DataFusionError) -> Option<&TableError> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(here) = cause {
        if let Some(found) = here.downcast_ref::<TableError>() {
            return Some(found);
        }
        cause = here.source();
    }
    None
}
