// SPDX-License-Identifier: Apache-2.0
//! What one table is asked for a scan of it.

use hush_plan::{PlanError, QueryPlan};

use super::scan::Scan;
use crate::error::ClientError;
use crate::table::OwnedTable;

/// A question about one table, with its plan.
pub(super) struct Question<'a> {
    pub(super) table: &'a OwnedTable,
    pub(super) sql: String,
    pub(super) plan: QueryPlan,
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
            table.plan(&sql).map(|plan| (sql, plan))
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
            None => Ok(Self { table, sql, plan }),
        }
    }
}
