// SPDX-License-Identifier: Apache-2.0
//! What one table is asked for a scan of it.

use hush_plan::{PlanError, QueryPlan};

use super::conditions;
use super::planned::Scan;
use crate::error::ClientError;
use crate::table::OwnedTable;

/// A question about one table, with its plan.
pub(super) struct Question<'a> {
    pub(super) table: &'a OwnedTable,
    pub(super) sql: String,
    pub(super) plan: QueryPlan,
}

impl<'a> Question<'a> {
    /// The question for a scan. A condition that the table's planner refuses is left to the engine.
    ///
    /// # Errors
    /// [`ClientError::Plan`]: the columns do not come back; or only near their values.
    pub(super) fn new(table: &'a OwnedTable, scan: &Scan) -> Result<Self, ClientError> {
        let mut conditions = scan.conditions.clone();
        let mut seen = std::collections::BTreeSet::new();
        conditions.retain(|condition| seen.insert(condition.clone()));
        let ask = |conditions: &[String]| {
            let sql = select(scan, conditions);
            table.plan(&sql).map(|plan| (sql, plan))
        };
        let planned = match ask(&conditions) {
            Err(ClientError::Plan(_)) if !conditions.is_empty() => {
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

fn select(scan: &Scan, conditions: &[String]) -> String {
    let columns: Vec<String> = scan.columns.iter().map(|field| conditions::quoted(field.name())).collect();
    let columns = if columns.is_empty() { "COUNT(*)".to_owned() } else { columns.join(", ") };
    let mut sql = format!("SELECT {columns} FROM {}", conditions::quoted(&scan.table));
    if !conditions.is_empty() {
        sql.push_str(&format!(" WHERE {}", conditions.join(" AND ")));
    }
    // With conditions above the scan, fewer rows than these could be left.
    if let Some(rows) = scan.fetch.filter(|_| !scan.is_narrowed && !scan.columns.is_empty()) {
        sql.push_str(&format!(" LIMIT {rows}"));
    }
    sql
}
