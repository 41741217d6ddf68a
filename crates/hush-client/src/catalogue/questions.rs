// SPDX-License-Identifier: Apache-2.0
//! What one table is asked for a scan of it.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema as ArrowSchema};
use arrow::record_batch::RecordBatch;
use hush_plan::{PlanError, QueryPlan};

use super::conditions::quoted;
use super::scan::Scan;
use crate::error::ClientError;
use crate::table::OwnedTable;

/// A question about one table, with its plan.
pub(super) struct Question<'a> {
    pub(super) table: &'a OwnedTable,
    pub(super) sql: String,
    pub(super) plan: QueryPlan,
    /// The join keys among what it gives, by their places.
    keys: Vec<(usize, String)>,
}

impl<'a> Question<'a> {
    /// The question for a scan. A condition on rows that the table's planner refuses is left to the engine.
    ///
    /// # Errors
    /// [`ClientError::Plan`]: the columns do not come back; or only near their values.
    pub(super) fn new(table: &'a OwnedTable, scan: &Scan) -> Result<Self, ClientError> {
        let mut conditions = scan.conditions.clone();
        let mut seen = std::collections::BTreeSet::new();
        conditions.retain(|condition| seen.insert(condition.clone()));
        let ask = |conditions: &[String]| {
            let sql = scan.sql(conditions);
            table.plan_on_tokens(&sql).map(|plan| (sql, plan))
        };
        let planned = match ask(&conditions) {
            // Groups of other rows would be other groups.
            Err(ClientError::Plan(_)) if !conditions.is_empty() && scan.keys.is_none() => {
                conditions.retain(|condition| ask(std::slice::from_ref(condition)).is_ok());
                ask(&conditions).or_else(|_| ask(&[]))
            }
            planned => planned,
        };
        let (sql, plan) = planned?;
        match table.approximate_columns(&plan).into_iter().next() {
            Some(column) => Err(PlanError::ApproximateColumn { column }.into()),
            None => {
                let outputs = scan.outputs.iter().enumerate();
                let keys = outputs.filter_map(|(place, (text, _))| {
                    table.keys.tokens.named(|name| quoted(name) == *text).map(|name| (place, name.to_owned()))
                });
                Ok(Self { table, sql, plan, keys: keys.collect() })
            }
        }
    }

    /// What came back, with the values of join keys in the places of their tokens.
    ///
    /// # Errors
    /// [`ClientError::Answer`] for tokens that are not the owner's.
    pub(super) fn opened(&self, batches: Vec<RecordBatch>) -> Result<Vec<RecordBatch>, ClientError> {
        if self.keys.is_empty() {
            return Ok(batches);
        }
        let opened = batches.into_iter().map(|batch| {
            let (mut columns, schema) = (batch.columns().to_vec(), batch.schema());
            let mut fields: Vec<Field> = schema.fields().iter().map(|field| (**field).clone()).collect();
            for (place, name) in &self.keys {
                let found = columns.get_mut(*place).zip(fields.get_mut(*place));
                let (column, field) =
                    found.ok_or(ClientError::Internal { what: "an answer without a join key" })?;
                *column = self.table.keys.tokens.values(name, column)?;
                *field = Field::new(field.name(), column.data_type().clone(), true);
            }
            Ok(RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns)?)
        });
        opened.collect()
    }
}
