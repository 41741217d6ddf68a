// SPDX-License-Identifier: Apache-2.0
//! What a plan reads of one table: its rows, or groups of them.

use std::sync::Arc;

use arrow::datatypes::{Field, SchemaRef};
use datafusion::error::Result;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{TableScan, TableSource};

use super::conditions::{Described, quoted, render};
use super::narrowed::tokens_of;
use super::stated::Stated;

/// What a plan reads of one table.
#[derive(Clone, Debug)]
pub(super) struct Scan {
    /// The table's name.
    pub(super) table: String,
    /// What is read, as SQL on the table, each with its name and type in the plan. None where only rows are counted.
    pub(super) outputs: Vec<(String, Field)>,
    /// The columns, quoted, by which its rows come in groups; `None` where each comes by itself.
    pub(super) keys: Option<Vec<String>>,
    /// One of these keys, if it is the class of a column's value and no column, and how many classes there are.
    pub(super) classes: Option<(String, u64)>,
    /// Conditions that the question states of it, as SQL. Those on rows are evaluated above it all the same.
    pub(super) conditions: Vec<String>,
    /// Whether the engine has moved any condition down to it.
    pub(super) is_narrowed: bool,
    /// Rows that suffice, if not all are needed.
    pub(super) fetch: Option<usize>,
    /// The number of the question that answers it.
    pub(super) answer: usize,
}

impl Scan {
    /// What a scan reads, and the conditions that the engine has moved down to it, as far as the question states them.
    ///
    /// # Errors
    /// None but bugs.
    pub(super) fn of(scan: &TableScan, stated: &Stated) -> Result<Self> {
        if let Some(groups) = scan.source.downcast_ref::<Groups>() {
            return Ok(groups.scan.clone());
        }
        let all = scan.source.schema();
        let read = match &scan.projection {
            Some(places) => Arc::new(all.project(places)?),
            None => Arc::clone(&all),
        };
        let outputs = read.fields().iter().map(|field| (quoted(field.name()), (**field).clone())).collect();
        let table = scan.table_name.table().to_owned();
        let moved = scan.filters.iter().flat_map(split_conjunction);
        let tokens = tokens_of(&scan.source);
        let described = Described { columns: &all, tokens: &tokens };
        let written = moved.filter_map(|condition| render(condition, described));
        let written = written.map(|text| (table.clone(), text));
        let conditions = written.filter(|condition| stated.contains(condition)).map(|(_, text)| text);
        let (conditions, is_narrowed) = (conditions.collect(), !scan.filters.is_empty());
        let (keys, classes) = (None, None);
        Ok(Self { table, outputs, keys, classes, conditions, is_narrowed, fetch: scan.fetch, answer: 0 })
    }

    /// The question that reads it, under some of its conditions.
    pub(super) fn sql(&self, conditions: &[String]) -> String {
        let outputs: Vec<&str> = self.outputs.iter().map(|(text, _)| text.as_str()).collect();
        let outputs = if outputs.is_empty() { "COUNT(*)".to_owned() } else { outputs.join(", ") };
        let mut sql = format!("SELECT {outputs} FROM {}", quoted(&self.table));
        if !conditions.is_empty() {
            sql.push_str(&format!(" WHERE {}", conditions.join(" AND ")));
        }
        if let Some(keys) = self.keys.as_ref().filter(|keys| !keys.is_empty()) {
            sql.push_str(&format!(" GROUP BY {}", keys.join(", ")));
        }
        // With conditions above the scan, fewer rows than these could be left.
        if let Some(rows) = self.fetch.filter(|_| !self.is_narrowed && !self.outputs.is_empty()) {
            sql.push_str(&format!(" LIMIT {rows}"));
        }
        sql
    }
}

/// Groups of a table's rows as a table of the engine's.
#[derive(Debug)]
pub(super) struct Groups {
    /// Their columns.
    pub(super) schema: SchemaRef,
    /// The question for them.
    pub(super) scan: Scan,
}

impl TableSource for Groups {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
