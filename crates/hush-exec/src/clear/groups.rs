// SPDX-License-Identifier: Apache-2.0
//! The grouped query over clear columns, and the groups that it finds.
//!
//! This is one ordinary query of the embedded engine: `SELECT keys, aggregates … WHERE … GROUP BY keys`. Its rows,
//! sorted by key (ascending, NULLs first), are the groups. Expressions around aggregates are computed from them
//! afterwards ([`super::outputs`]), because it does not merge.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{concat_batches, take_record_batch};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, TableSource, col};
use datafusion::physical_plan::collect;
use hush_plan::plan::AggregateTask;

use super::keys::KeyIndex;
use super::merge::Merge;
use super::opaque::opaque;
use super::outputs::{Outputs, aggregate_name, key_name, plain_columns, schema_of};
use super::scalar::Scope;
use super::session::{Partitions, Session};
use super::{ClearTable, evaluation_error, sums};
use crate::error::{ExecError, ExpressionRole};

/// The parsed clear half of an aggregate task.
#[derive(Clone)]
pub(crate) struct GroupQuery {
    predicate: Option<Expr>,
    keys: Vec<Expr>,
    /// Answered as `a0…`; the first is `COUNT(*)`.
    aggregates: Vec<Expr>,
    outputs: Outputs,
    partitions: Partitions,
    threads: usize,
}

/// The clear half of an aggregate task over some parts alone.
pub(crate) struct PartialQuery {
    /// The query that runs over the parts: the whole one, or one that counts the rows of each group.
    pub(crate) query: GroupQuery,
    /// How `a0…` merge.
    pub(crate) merges: Vec<Merge>,
    /// Whether the groups of all parts together hold all that an answer needs. If not, the clear half is computed over
    /// all parts at the end.
    pub(crate) is_enough: bool,
}

impl GroupQuery {
    /// Parses and checks all SQL of the query.
    ///
    /// # Errors
    /// [`ExecError::Expression`].
    pub(crate) fn parse(
        scope: &Scope<'_>,
        predicate: Option<&Expr>,
        task: &AggregateTask,
        threads: usize,
    ) -> Result<Self, ExecError> {
        let keys = (task.keys.iter().enumerate())
            .map(|(index, text)| scope.output(ExpressionRole::Key(index), text))
            .collect::<Result<_, _>>()?;
        let aggregates: Vec<Expr> = (task.clear.iter().enumerate())
            .map(|(index, text)| scope.aggregate(ExpressionRole::Clear(index), text))
            .collect::<Result<_, _>>()?;
        let inexact = aggregates.iter().any(|expr| depends_on_order(scope, expr));
        let partitions = if inexact { Partitions::One } else { Partitions::Many(threads) };
        let aggregates = aggregates.into_iter().map(|expr| sums::native(expr, scope.schema));
        let aggregates: Result<Vec<Expr>, _> = aggregates.collect();
        let split = aggregates.and_then(|aggregates| Outputs::split(&aggregates));
        let (aggregates, outputs) = split.map_err(|error| evaluation_error(&error))?;
        Ok(Self { predicate: predicate.cloned(), keys, aggregates, outputs, partitions, threads })
    }

    /// The condition on rows.
    pub(super) fn predicate(&self) -> Option<&Expr> {
        self.predicate.as_ref()
    }

    /// The aggregates `a0…` of a query whose rows are all one group; `None` with keys.
    pub(super) fn aggregates_of_all(&self) -> Option<&[Expr]> {
        self.keys.is_empty().then_some(self.aggregates.as_slice())
    }

    /// Whether the query asks only for the number of rows of each group.
    pub(crate) fn counts_groups(&self) -> bool {
        let is_count = |call: &Expr| match call {
            Expr::AggregateFunction(call) => {
                let all =
                    matches!(call.params.args.as_slice(), [Expr::Literal(value, _)] if !value.is_null());
                call.func.name() == "count" && all && !call.params.distinct && call.params.filter.is_none()
            }
            _ => false,
        };
        !self.keys.is_empty() && matches!(self.aggregates.as_slice(), [call] if is_count(call))
    }

    /// The query over some parts of the table alone: as it is, if all its aggregates merge exactly, else a count of rows.
    ///
    /// # Errors
    /// [`ExecError::Expression`] if the query engine refuses the query.
    pub(crate) fn over_parts(&self, table: &ClearTable) -> Result<PartialQuery, ExecError> {
        let schema = self.schema(table.whole())?;
        let kinds = schema.fields().iter().skip(self.keys.len()).map(|field| field.data_type());
        let merges = self.aggregates.iter().zip(kinds).map(|(call, kind)| Merge::of(call, kind));
        if let (Partitions::Many(_), Some(merges)) = (self.partitions, merges.collect()) {
            return Ok(PartialQuery { query: self.clone(), merges, is_enough: true });
        }
        let mut query = self.clone();
        query.aggregates.truncate(1);
        query.partitions = Partitions::Many(self.threads);
        Ok(PartialQuery { query, merges: vec![Merge::Add], is_enough: false })
    }

    /// Runs the query and sorts the groups.
    ///
    /// # Errors
    /// [`ExecError::GroupLimit`] above `max_groups` groups; [`ExecError::MissingRows`], [`ExecError::MemoryLimit`], [`ExecError::Evaluation`],
    /// [`ExecError::Io`] from the query engine.
    pub(crate) async fn run(
        &self,
        session: &Session,
        table: &ClearTable,
        max_groups: u64,
    ) -> Result<Groups, ExecError> {
        let failed = |error: DataFusionError| evaluation_error(&error);
        let limit = usize::try_from(max_groups).unwrap_or(usize::MAX).min(u32::MAX as usize - 1);
        let logical = self.logical(table.whole(), limit).map_err(failed)?;
        let state = session.for_query(self.partitions, table.rows);
        let plan = state.create_physical_plan(&logical).await.map_err(failed)?;
        let batches = collect(plan.clone(), session.task(&state)).await.map_err(failed)?;
        let found = batches.iter().map(RecordBatch::num_rows).sum::<usize>();
        if found > limit {
            return Err(ExecError::GroupLimit { limit: max_groups });
        }
        table.expect_all_rows(&plan)?;
        let schema = schema_of(&logical, &plan);
        let internal = |_| ExecError::Internal { place: "group batches" };
        let batch = concat_batches(&schema, &batches).map_err(internal)?;
        Groups::new(batch, self.keys.len())
    }

    /// The columns of the answer, `k0…` and `c0…`, from those of the groups.
    ///
    /// # Errors
    /// [`ExecError::Evaluation`] from the query engine.
    pub(crate) async fn outputs(
        &self,
        session: &Session,
        groups: &RecordBatch,
    ) -> Result<RecordBatch, ExecError> {
        self.outputs.apply(session, groups, self.keys.len()).await
    }

    /// The columns of the answer as planned, from a table of any number of rows; nothing runs.
    ///
    /// # Errors
    /// [`ExecError::Evaluation`] if the query engine refuses the query.
    pub(crate) fn output_schema(&self, table: Arc<dyn TableSource>) -> Result<SchemaRef, ExecError> {
        self.outputs.schema(&self.schema(table)?, self.keys.len())
    }

    /// The columns of the groups, just as [`GroupQuery::run`] gives them for any of the table's parts; nothing runs.
    ///
    /// # Errors
    /// [`ExecError::Evaluation`] if the query engine refuses the query.
    pub(crate) async fn group_schema(
        &self,
        session: &Session,
        table: &ClearTable,
    ) -> Result<SchemaRef, ExecError> {
        let failed = |error: DataFusionError| evaluation_error(&error);
        let logical = self.logical(table.whole(), 0).map_err(failed)?;
        let plan =
            session.for_query(self.partitions, 1).create_physical_plan(&logical).await.map_err(failed)?;
        Ok(schema_of(&logical, &plan))
    }

    /// The columns of the groups as planned, before types are settled.
    ///
    /// # Errors
    /// [`ExecError::Evaluation`] if the query engine refuses the query.
    pub(crate) fn schema(&self, table: Arc<dyn TableSource>) -> Result<SchemaRef, ExecError> {
        let plan = self.logical(table, 0).map_err(|error| evaluation_error(&error))?;
        Ok(Arc::new(plan.schema().as_arrow().clone()))
    }

    fn logical(&self, source: Arc<dyn TableSource>, limit: usize) -> datafusion::error::Result<LogicalPlan> {
        let used = self.columns(&source.schema())?;
        let mut plan = LogicalPlanBuilder::scan("t", source, Some(used))?;
        if let Some(predicate) = &self.predicate {
            plan = plan.filter(opaque(predicate.clone()))?;
        }
        let keys = self.keys.iter().enumerate().map(|(index, key)| key.clone().alias(key_name(index)));
        let aggregates = self.aggregates.iter().enumerate();
        let aggregates = aggregates.map(|(index, call)| call.clone().alias(aggregate_name(index)));
        let plan = plan.aggregate(keys, aggregates)?;
        let plan = if self.keys.is_empty() { plan } else { plan.limit(0, Some(limit.saturating_add(1)))? };
        let keys = (0..self.keys.len()).map(key_name);
        let columns = keys.chain((0..self.aggregates.len()).map(aggregate_name));
        plain_columns(plan.project(columns.map(col))?.build()?)
    }

    /// Positions of the columns that the query reads, ascending.
    fn columns(&self, schema: &Schema) -> datafusion::error::Result<Vec<usize>> {
        let exprs = self.predicate.iter().chain(&self.keys).chain(&self.aggregates);
        let mut columns = BTreeSet::new();
        for column in exprs.flat_map(Expr::column_refs) {
            columns.insert(schema.index_of(&column.name)?);
        }
        Ok(columns.into_iter().collect())
    }
}

/// The groups of an answer, with an index that finds the group of a row.
#[derive(Debug)]
pub(crate) struct Groups {
    /// Columns `k0…`, `a0…`; one row per group.
    pub(crate) batch: RecordBatch,
    index: KeyIndex,
}

impl Groups {
    /// The groups of a batch: distinct keys in the first `key_count` columns, and the groups' other columns.
    ///
    /// # Errors
    /// [`ExecError::Internal`] for keys without an order.
    pub(crate) fn new(batch: RecordBatch, key_count: usize) -> Result<Self, ExecError> {
        let (index, order) = KeyIndex::new(batch.columns().get(..key_count).unwrap_or_default())?;
        if matches!(index, KeyIndex::Alone) {
            return Ok(Self { batch, index });
        }
        let internal = |_| ExecError::Internal { place: "group keys" };
        let batch = take_record_batch(&batch, &UInt32Array::from(order)).map_err(internal)?;
        Ok(Self { batch, index })
    }

    /// Number of groups.
    pub(crate) fn count(&self) -> usize {
        self.batch.num_rows()
    }

    /// Whether there are keys; without, all rows belong to group 0.
    pub(crate) fn has_keys(&self) -> bool {
        !matches!(self.index, KeyIndex::Alone)
    }

    /// Overwrites `groups` (one entry per row) with the row's group where `selected` has a bit, or everywhere.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if a key is not among the groups. Then query and masks would have evaluated it differently.
    pub(crate) fn assign(
        &self,
        keys: &[ArrayRef],
        selected: Option<&BooleanBuffer>,
        groups: &mut [u32],
    ) -> Result<(), ExecError> {
        self.index.assign(keys, selected, groups)
    }
}

/// Whether an aggregate adds floating-point numbers, so that its last bits depend on the order.
fn depends_on_order(scope: &Scope<'_>, expr: &Expr) -> bool {
    let mut floats = false;
    let visited = expr.apply(|node| {
        if let Expr::AggregateFunction(call) = node {
            let arguments = call.params.args.iter();
            floats |= matches!(call.func.name(), "var" | "var_pop" | "stddev" | "stddev_pop" | "avg");
            floats |= arguments
                .map(|argument| scope.data_type(ExpressionRole::ClearHalf, argument))
                .any(|kind| kind.map_or(true, |kind| kind.is_floating()));
        }
        Ok(TreeNodeRecursion::Continue)
    });
    floats || visited.is_err()
}
