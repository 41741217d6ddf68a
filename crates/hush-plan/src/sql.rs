// SPDX-License-Identifier: Apache-2.0
//! SQL text to a [`Query`]: one SELECT over one table, names resolved, structure checked.
//!
//! *Words.* An expression is **resolved** when each of its columns is a double-quoted identifier that equals a
//! column of the schema; unquoted identifiers then never mean a column, which leaves them free for the planner's
//! own names (`k0`, `a0`, …). An expression is **shown** as the user typed it, but for spacing and case.
//!
//! *Invariants.* A `Query` names only columns that exist and uses only expressions and functions on the lists of
//! `scalar` and `functions`. Whether a column is encrypted is asked later (`grouped`, `by_row`), so that one
//! `Query` can be planned against a schema and against [`Schema::all_clear`].

mod bounds;
mod calendar;
mod changes;
pub(crate) mod clear;
mod condition;
mod constant;
mod expression;
mod forms;
pub(crate) mod functions;
mod joint;
mod like;
mod names;
pub(crate) mod number;
mod order;
mod output;
mod scalar;
mod several;
pub(crate) mod shown;
mod similar;
mod statement;
pub(crate) mod types;
pub(crate) mod walk;
pub(crate) mod windows;
mod workload;

pub(crate) use bounds::has_literal;
pub use bounds::{TextFault, check_expression};
pub(crate) use calendar::CalendarPart;
pub(crate) use changes::{Change, changes};
pub(crate) use condition::renamed_condition;
pub use condition::{Condition, OwnedCondition, is_condition};
pub(crate) use constant::{constant_number, constant_units};
pub use expression::quoted;
pub(crate) use expression::{bare, column_name, columns_of, holds, renamed, shown};
pub use several::{Several, several};
pub use shown::shown_name;
pub use similar::similar_regex;
pub use statement::{is_expression, table_of};
pub use workload::{asked, parse_workload, statements};

use std::collections::BTreeSet;

use sqlparser::ast::{Expr, OrderByOptions};

use crate::error::{Clause, Feature, PlanError};
use crate::schema::{Protection, Schema};

/// A query whose names and structure are known to be good.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    pub(crate) items: Vec<Item>,
    pub(crate) filter: Option<Expr>,
    pub(crate) keys: Vec<Expr>,
    pub(crate) having: Option<Expr>,
    pub(crate) order: Vec<Order>,
    pub(crate) limit: Option<u64>,
    pub(crate) offset: u64,
    /// Grouped sums, as against row by row.
    pub(crate) grouped: bool,
    /// The keys come from SELECT DISTINCT.
    pub(crate) distinct: bool,
    /// Columns that a `*` does not stand for, with their protection.
    pub(crate) left_out: Vec<(String, Protection)>,
}

/// One output column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    /// Resolved expression.
    pub(crate) expr: Expr,
    /// Name of the output, unique in the query.
    pub(crate) name: String,
    /// Whether the user chose the name.
    pub(crate) named: bool,
}

/// One sort key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Order {
    pub(crate) expr: Expr,
    pub(crate) options: OrderByOptions,
}

impl Query {
    /// Names of all columns that the query reads, sorted.
    pub fn columns(&self) -> BTreeSet<String> {
        self.expressions().flat_map(columns_of).collect()
    }

    /// It of rows for which the condition holds.
    #[must_use]
    pub fn without_filter(&self) -> Self {
        Self { filter: None, ..self.clone() }
    }

    /// Names of the columns that are read after the filter, sorted.
    pub(crate) fn grouped_columns(&self) -> BTreeSet<String> {
        self.without_filter().columns()
    }

    /// Names of the output columns, in order.
    pub fn outputs(&self) -> impl Iterator<Item = &str> {
        self.items.iter().map(|item| item.name.as_str())
    }

    /// The WHERE clause as the user typed it, but for spacing.
    pub fn filter_text(&self) -> Option<String> {
        self.filter.as_ref().map(shown)
    }

    /// Sentences on values that the result lacks though somebody may expect them.
    pub fn notes(&self) -> Vec<String> {
        let named = |wanted: Protection| {
            let names = self.left_out.iter().filter(|(_, protect)| *protect == wanted);
            names.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let reasons = [
            (Protection::Seal, "sealed: naming them gives them back"),
            (Protection::Drop, "dropped: not in the table"),
            (Protection::Decide, "undecided"),
        ];
        let groups = reasons.map(|(protect, why)| (named(protect), why));
        let sentence = |(names, why): (String, &str)| {
            (!names.is_empty()).then(|| format!("* leaves out {names} ({why})"))
        };
        groups.into_iter().filter_map(sentence).collect()
    }

    /// Whether the result has one row per group (else one per matching row).
    pub fn is_grouped(&self) -> bool {
        self.grouped
    }

    /// Whether a window function stands in it.
    pub(crate) fn has_windows(&self) -> bool {
        self.windows() > 0
    }

    /// How often a window function is asked for.
    pub(crate) fn windows(&self) -> u64 {
        self.expressions().map(windows::count_windows).sum()
    }

    /// The window functions in words, without constants.
    pub(crate) fn window_words(&self) -> Vec<String> {
        let mut words: Vec<String> = self.expressions().flat_map(windows::described).collect();
        words.sort();
        words.dedup();
        words
    }

    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let items = self.items.iter().map(|item| &item.expr);
        items
            .chain(&self.filter)
            .chain(&self.keys)
            .chain(&self.having)
            .chain(self.order.iter().map(|key| &key.expr))
    }
}

/// Parses and resolves `text` against the columns of `schema`.
///
/// # Errors
/// Codes P001 to P006, P008, P009, P012 and P028: whatever is wrong with a query whatever is encrypted.
pub fn parse(schema: &Schema, text: &str) -> Result<Query, PlanError> {
    let raw = statement::single_select(schema, text)?;
    let names = names::Names { schema, alias: raw.alias.clone() };
    let left_out = output::left_out(schema, &raw.projection);
    let items = output::items(&names, raw.projection)?;
    let filter = raw.filter.map(|expr| names.resolve(expr, Clause::Where, &[])).transpose()?;
    let mut keys = Vec::new();
    for expr in raw.keys {
        let key = names.item_or_expr(expr, Clause::GroupBy, &items)?;
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let having = raw.having.map(|expr| names.resolve(expr, Clause::Having, &items)).transpose()?;
    let mut order = Vec::new();
    for (expr, options) in raw.order {
        order.push(Order { expr: names.item_or_expr(expr, Clause::OrderBy, &items)?, options });
    }

    let mut query = Query {
        items,
        filter,
        keys,
        having,
        order,
        limit: raw.limit,
        offset: raw.offset,
        grouped: false,
        distinct: false,
        left_out,
    };
    scalar::check_structure(&query)?;
    types::check_types(schema, &query)?;
    query.grouped =
        !query.keys.is_empty() || query.having.is_some() || query.expressions().any(functions::has_aggregate);
    if raw.distinct {
        make_distinct(&mut query)?;
    }
    if query.grouped && query.has_windows() {
        return Err(PlanError::Unsupported { clause: Clause::Select, feature: Feature::Window });
    }
    Ok(query)
}

/// `SELECT DISTINCT a, b` means `SELECT a, b … GROUP BY a, b`.
fn make_distinct(query: &mut Query) -> Result<(), PlanError> {
    if query.grouped {
        return Err(PlanError::Unsupported { clause: Clause::Select, feature: Feature::Distinct });
    }
    for item in &query.items {
        if !query.keys.contains(&item.expr) {
            query.keys.push(item.expr.clone());
        }
    }
    query.grouped = true;
    query.distinct = true;
    Ok(())
}

#[cfg(test)]
mod tests;
