// SPDX-License-Identifier: Apache-2.0
//! What one table is asked for a scan of it.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema as ArrowSchema};
use arrow::record_batch::RecordBatch;
use hush_plan::{ColumnType, PlanError, QueryPlan, Schema};

use super::conditions::quoted;
use super::scan::Scan;
use crate::error::ClientError;
use crate::table::OwnedTable;

/// Values that a category is taken to have, which has few.
const VALUES_OF_A_CATEGORY: u64 = 100;

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
        // Of classes the number is known, and of other keys what the schema declares.
        let known_groups = scan.classes.as_ref().and_then(|_| most_groups(table.schema(), scan));
        let ask = |conditions: &[String]| {
            let sql = scan.sql(conditions);
            table.plan_on_tokens(&sql, known_groups).map(|plan| (sql, plan))
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

/// As many groups as there can be by the declared values of the keys; `None` where nobody knows.
pub(super) fn most_groups(schema: &Schema, groups: &Scan) -> Option<u64> {
    groups.keys.iter().flatten().try_fold(1_u64, |most, key| {
        if let Some((class, count)) = &groups.classes
            && class == key
        {
            return most.checked_mul(count.checked_add(1)?);
        }
        let column = schema.columns.iter().find(|column| quoted(&column.name) == *key)?;
        let values = match (column.kind, &column.range) {
            (ColumnType::Bool, _) => 2,
            (ColumnType::Category, _) => VALUES_OF_A_CATEGORY,
            (_, Some(range)) => u64::try_from(range.high.checked_sub(range.low)?.checked_add(1)?).ok()?,
            (_, None) => return None,
        };
        most.checked_mul(values.checked_add(u64::from(column.nullable))?)
    })
}
