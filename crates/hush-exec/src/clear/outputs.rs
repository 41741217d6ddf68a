// SPDX-License-Identifier: Apache-2.0
//! From aggregates to the columns of an answer: the expressions around aggregates in a plan.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, cast, col};
use datafusion::physical_plan::{ExecutionPlan, collect};

use super::evaluation_error;
use super::scalar::plain_type;
use super::session::{Partitions, Session};
use crate::error::ExecError;

/// The columns `c0…` of an answer, as expressions over the aggregates `a0…` of each group.
#[derive(Clone, Debug)]
pub(super) struct Outputs(Vec<Expr>);

impl Outputs {
    /// Cuts expressions of aggregates in two: the aggregates, each once, and expressions over them.
    ///
    /// # Errors
    /// Those of the query engine's tree.
    pub(super) fn split(exprs: &[Expr]) -> datafusion::error::Result<(Vec<Expr>, Self)> {
        let mut aggregates: Vec<Expr> = Vec::new();
        let mut outputs = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let rewritten = expr.clone().transform_down(|node| {
                if !matches!(node, Expr::AggregateFunction(_)) {
                    return Ok(Transformed::no(node));
                }
                let place = aggregates.iter().position(|known| *known == node).unwrap_or_else(|| {
                    aggregates.push(node);
                    aggregates.len() - 1
                });
                Ok(Transformed::new(col(aggregate_name(place)), true, TreeNodeRecursion::Jump))
            })?;
            outputs.push(rewritten.data);
        }
        Ok((aggregates, Self(outputs)))
    }

    /// The columns of the answer, from those of the aggregates: `key_count` keys, then `a0…`.
    ///
    /// # Errors
    /// [`ExecError::Expression`] if types do not go together.
    pub(super) fn schema(&self, aggregates: &SchemaRef, key_count: usize) -> Result<SchemaRef, ExecError> {
        if let Some(picked) = self.picked(aggregates, key_count) {
            return Ok(named(aggregates, key_count, &picked));
        }
        let empty = RecordBatch::new_empty(aggregates.clone());
        let plan = self.logical(empty, key_count).map_err(|error| evaluation_error(&error))?;
        Ok(Arc::new(plan.schema().as_arrow().clone()))
    }

    /// The columns of the answer.
    ///
    /// # Errors
    /// [`ExecError::Evaluation`] from the query engine.
    pub(super) async fn apply(
        &self,
        session: &Session,
        batch: &RecordBatch,
        key_count: usize,
    ) -> Result<RecordBatch, ExecError> {
        let internal = || ExecError::Internal { place: "columns of groups" };
        let before = batch.schema();
        if let Some(picked) = self.picked(&before, key_count) {
            let columns = (0..key_count).chain(picked.iter().copied());
            let columns = columns.filter_map(|place| batch.columns().get(place).cloned()).collect();
            return RecordBatch::try_new(named(&before, key_count, &picked), columns).map_err(|_| internal());
        }
        let failed = |error: DataFusionError| evaluation_error(&error);
        let logical = self.logical(batch.clone(), key_count).map_err(failed)?;
        let state = session.for_query(Partitions::One, 1);
        let plan = state.create_physical_plan(&logical).await.map_err(failed)?;
        let schema = schema_of(&logical, &plan);
        let batches = collect(plan, session.task(&state)).await.map_err(failed)?;
        let done = concat_batches(&schema, &batches).map_err(|_| internal())?;
        if done.num_rows() == batch.num_rows() { Ok(done) } else { Err(internal()) }
    }

    /// The places of the columns if each is an aggregate as it is, which is nearly always so.
    fn picked(&self, aggregates: &Schema, key_count: usize) -> Option<Vec<usize>> {
        let place = |expr: &Expr| match expr {
            Expr::Column(column) => {
                aggregates.index_of(&column.name).ok().filter(|place| *place >= key_count)
            }
            _ => None,
        };
        self.0.iter().map(place).collect()
    }

    fn logical(&self, batch: RecordBatch, key_count: usize) -> datafusion::error::Result<LogicalPlan> {
        let table = MemTable::try_new(batch.schema(), vec![vec![batch]])?;
        let plan = LogicalPlanBuilder::scan("t", provider_as_source(Arc::new(table)), None)?;
        let keys = (0..key_count).map(|index| col(key_name(index)));
        let outputs = self.0.iter().enumerate().map(|(index, expr)| expr.clone().alias(format!("c{index}")));
        plain_columns(plan.project(keys.chain(outputs))?.build()?)
    }
}

/// The name of a group key.
pub(super) fn key_name(index: usize) -> String {
    format!("k{index}")
}

/// The name of an aggregate before anything is done with it.
pub(super) fn aggregate_name(index: usize) -> String {
    format!("a{index}")
}

/// The keys, and the aggregates at some places as `c0…`.
fn named(aggregates: &Schema, key_count: usize, picked: &[usize]) -> SchemaRef {
    let keys = aggregates.fields().iter().take(key_count).cloned();
    let output = |(index, place): (usize, &usize)| {
        Arc::new(aggregates.field(*place).clone().with_name(format!("c{index}")))
    };
    Arc::new(Schema::new(keys.chain(picked.iter().enumerate().map(output)).collect::<Vec<_>>()))
}

/// The columns of a plan's result: the physical plan knows their types, the logical one says which can be NULL, whatever is found out
/// about the rows of this time.
pub(super) fn schema_of(logical: &LogicalPlan, physical: &Arc<dyn ExecutionPlan>) -> SchemaRef {
    let schema = physical.schema();
    let settled = logical.schema().as_arrow().fields().iter().zip(schema.fields());
    let settled =
        settled.map(|(field, typed)| field.as_ref().clone().with_data_type(typed.data_type().clone()));
    Arc::new(Schema::new(settled.collect::<Vec<_>>()))
}

/// Casts dictionary and view columns of a result to plain ones.
///
/// # Errors
/// Those of the query engine's planner.
pub(super) fn plain_columns(plan: LogicalPlan) -> datafusion::error::Result<LogicalPlan> {
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
