// SPDX-License-Identifier: Apache-2.0
//! The grouped query over clear columns, and the groups that it finds.
//!
//! This is one ordinary query of the embedded engine: `SELECT keys, aggregates … WHERE … GROUP BY keys`. Its rows,
//! sorted by key (ascending, NULLs first), are the groups of the answer.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::{concat_batches, take_record_batch};
use arrow::datatypes::{Field, Schema};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, TableSource, cast, col};
use datafusion::physical_plan::collect;
use hush_plan::plan::AggregateTask;

use super::keys::KeyIndex;
use super::scalar::{Scope, plain_type};
use super::session::{Partitions, Session};
use super::{ClearTable, evaluation_error, sums};
use crate::error::{ExecError, ExpressionRole};

/// The parsed clear half of an aggregate task.
pub(crate) struct GroupQuery {
    predicate: Option<Expr>,
    keys: Vec<Expr>,
    aggregates: Vec<Expr>,
    partitions: Partitions,
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
        let aggregates = aggregates.collect::<Result<_, _>>().map_err(|error| evaluation_error(&error))?;
        Ok(Self { predicate: predicate.cloned(), keys, aggregates, partitions })
    }

    /// Whether the query asks only for the number of rows.
    pub(crate) fn counts_alone(&self) -> bool {
        self.predicate.is_none() && self.keys.is_empty() && self.aggregates.len() == 1
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

    /// Runs the query and sorts the groups. With `rows` it runs on so many rows without columns instead of the
    /// table.
    ///
    /// # Errors
    /// [`ExecError::GroupLimit`] above `max_groups` groups; [`ExecError::MissingRows`], [`ExecError::MemoryLimit`], [`ExecError::Evaluation`],
    /// [`ExecError::Io`] from the query engine.
    pub(crate) async fn run(
        &self,
        session: &Session,
        table: &ClearTable,
        rows: Option<u64>,
        max_groups: u64,
    ) -> Result<Groups, ExecError> {
        let failed = |error: DataFusionError| evaluation_error(&error);
        let limit = usize::try_from(max_groups).unwrap_or(usize::MAX).min(u32::MAX as usize - 1);
        let logical = table.source(rows).and_then(|source| self.logical(source, limit)).map_err(failed)?;
        let state = session.for_query(self.partitions, rows.map_or(table.rows, |_| 1));
        let plan = state.create_physical_plan(&logical).await.map_err(failed)?;
        let batches = collect(plan.clone(), session.task(&state)).await.map_err(failed)?;
        let found = batches.iter().map(RecordBatch::num_rows).sum::<usize>();
        if found > limit {
            return Err(ExecError::GroupLimit { limit: max_groups });
        }
        if rows.is_none() {
            table.expect_all_rows(&plan)?;
        }
        let schema = batches.first().map_or_else(|| plan.schema(), RecordBatch::schema);
        let internal = |_| ExecError::Internal { place: "group batches" };
        let batch = concat_batches(&schema, &batches).map_err(internal)?;
        Groups::new(batch, self.keys.len())
    }

    /// The columns of the result. The table may have any number of rows; nothing runs.
    ///
    /// # Errors
    /// [`ExecError::Evaluation`] if the query engine refuses the query.
    pub(crate) fn schema(&self, table: Arc<dyn TableSource>) -> Result<Arc<Schema>, ExecError> {
        let plan = self.logical(table, 0).map_err(|error| evaluation_error(&error))?;
        Ok(Arc::new(plan.schema().as_arrow().clone()))
    }

    fn logical(&self, source: Arc<dyn TableSource>, limit: usize) -> datafusion::error::Result<LogicalPlan> {
        let used = self.columns(&source.schema())?;
        let mut plan = LogicalPlanBuilder::scan("t", source, Some(used))?;
        if let Some(predicate) = &self.predicate {
            plan = plan.filter(predicate.clone())?;
        }
        let (inner, outer) = split_aggregates(&self.aggregates)?;
        let key_name = |index: usize| format!("k{index}");
        let keys = self.keys.iter().enumerate().map(|(index, key)| key.clone().alias(key_name(index)));
        let plan = plan.aggregate(keys, inner)?;
        let plan = if self.keys.is_empty() { plan } else { plan.limit(0, Some(limit.saturating_add(1)))? };
        let keys = (0..self.keys.len()).map(|index| col(key_name(index)));
        let outer = outer.into_iter().enumerate().map(|(index, expr)| expr.alias(format!("c{index}")));
        plain_columns(plan.project(keys.chain(outer))?.build()?)
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
    /// Columns `k0…`, `c0…`; one row per group.
    pub(crate) batch: RecordBatch,
    index: KeyIndex,
}

impl Groups {
    /// The groups of a batch: distinct keys in the first `key_count` columns, and the groups' other columns.
    ///
    /// # Errors
    /// [`ExecError::Internal`] for keys without an order.
    pub(super) fn new(batch: RecordBatch, key_count: usize) -> Result<Self, ExecError> {
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

    /// Overwrites `groups` (one entry per row) with the row's group where `selected` says so.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if a key is not among the groups. Then query and masks would have evaluated it differently.
    pub(crate) fn assign(
        &self,
        keys: &[ArrayRef],
        selected: impl Fn(usize) -> bool,
        groups: &mut [u32],
    ) -> Result<(), ExecError> {
        self.index.assign(keys, selected, groups)
    }
}

/// Cuts expressions of aggregates in two: the aggregates, named `a0…`, and expressions over these names.
fn split_aggregates(exprs: &[Expr]) -> datafusion::error::Result<(Vec<Expr>, Vec<Expr>)> {
    let mut inner: Vec<Expr> = Vec::new();
    let mut outer = Vec::with_capacity(exprs.len());
    for expr in exprs {
        let rewritten = expr.clone().transform_down(|node| {
            if !matches!(node, Expr::AggregateFunction(_)) {
                return Ok(Transformed::no(node));
            }
            let place = inner.iter().position(|known| *known == node).unwrap_or_else(|| {
                inner.push(node);
                inner.len() - 1
            });
            Ok(Transformed::new(col(format!("a{place}")), true, TreeNodeRecursion::Jump))
        })?;
        outer.push(rewritten.data);
    }
    let inner = inner.into_iter().enumerate().map(|(place, expr)| expr.alias(format!("a{place}")));
    Ok((inner.collect(), outer))
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

/// Casts dictionary and view columns of the result to plain ones.
fn plain_columns(plan: LogicalPlan) -> datafusion::error::Result<LogicalPlan> {
    let schema: Schema = plan.schema().as_arrow().clone();
    let is_plain = |field: &Field| plain_type(field.data_type()) == *field.data_type();
    if schema.fields().iter().all(|field| is_plain(field)) {
        return Ok(plan);
    }
    let columns = schema.fields().iter().map(|field| {
        let kind: DataType = plain_type(field.data_type());
        cast(col(field.name()), kind).alias(field.name())
    });
    LogicalPlanBuilder::from(plan).project(columns.collect::<Vec<_>>())?.build()
}
