// SPDX-License-Identifier: Apache-2.0
//! Conditions on rows in memory, for owners: they find the rows that a server would find among clear columns.

use arrow::array::RecordBatch;
use arrow::buffer::BooleanBuffer;
use datafusion::common::DFSchema;
use hush_plan::plan::Predicate;

use super::compiled::UsedColumns;
use super::scalar::Scope;
use super::session::Session;
use crate::Stop;
use crate::error::{ExecError, ExpressionRole};

/// Memory of the query engine for one condition.
const MEMORY_BYTES: usize = 64 << 20;

/// A bit for each row of a batch: whether it meets the condition. The condition names the columns of the batch.
///
/// # Cost
/// A session of the query engine, and the condition on each row.
///
/// # Errors
/// [`ExecError::Expression`] for what is no condition on these columns; [`ExecError::Evaluation`] for what it refuses on a row, such as a division
/// by zero.
pub fn rows_where(batch: &RecordBatch, condition: &Predicate) -> Result<BooleanBuffer, ExecError> {
    let internal = |_| ExecError::Internal { place: "columns of a condition" };
    let session = Session::new(MEMORY_BYTES)?;
    let schema = DFSchema::try_from(batch.schema().as_ref().clone()).map_err(internal)?;
    let scope = Scope { state: session.state(), schema: &schema, stop: &Stop::never() };
    let expr = scope.predicate(ExpressionRole::Predicate, condition)?;
    let used = UsedColumns::of(&scope, [&expr])?;
    let compiled = used.compile(session.state(), ExpressionRole::Predicate, &expr)?;
    compiled.condition(&used.of_batch(batch)?)
}
