// SPDX-License-Identifier: Apache-2.0
//! The conditions that a question states of each table.
//!
//! A planner draws conclusions: where `p.ward = w.ward` and `w.ward = 'x'`, it asks for `p.ward = 'x'` as well. If `w.ward` is encrypted and `p.ward`
//! clear, that would show a server what nobody said to it. So a table is asked under conditions alone that the question states of it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DFSchema, TableReference};
use datafusion::error::Result;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;

use super::conditions::{Described, render};
use super::narrowed::tokens_of;
use crate::tokens::Tokens;

/// Conditions, each with the name of its table.
pub(super) type Stated = BTreeSet<(String, String)>;

/// The tables behind the names of a plan; `None` for a name of several.
type Names = HashMap<String, Option<(String, SchemaRef, Arc<Tokens>)>>;

/// The conditions on one table each that stand in a plan as it was asked for, with its types settled and nothing moved.
///
/// # Errors
/// None but bugs.
pub(super) fn stated(plan: &LogicalPlan) -> Result<Stated> {
    let mut names = Names::new();
    plan.apply_with_subqueries(|node| {
        let (name, scan) = match node {
            LogicalPlan::TableScan(scan) => (scan.table_name.table(), scan),
            LogicalPlan::SubqueryAlias(alias) => match &*alias.input {
                LogicalPlan::TableScan(scan) => (alias.alias.table(), scan),
                // Columns of it are not those of a table.
                _ => {
                    names.insert(alias.alias.table().to_owned(), None);
                    return Ok(TreeNodeRecursion::Continue);
                }
            },
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        let table = (scan.table_name.table().to_owned(), scan.source.schema(), tokens_of(&scan.source));
        let known = names.entry(name.to_owned()).or_insert_with(|| Some(table.clone()));
        if known.as_ref().is_none_or(|(known, ..)| *known != table.0) {
            *known = None;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    let mut stated = Stated::new();
    plan.apply_with_subqueries(|node| {
        let conditions: Vec<&Expr> = match node {
            LogicalPlan::Filter(filter) => split_conjunction(&filter.predicate),
            LogicalPlan::Join(join) => join.filter.iter().flat_map(split_conjunction).collect(),
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        for condition in conditions {
            let Some((table, schema, tokens)) = table_of(condition, &names) else { continue };
            // As the planner writes it once nothing is left to simplify.
            let described = DFSchema::try_from_qualified_schema(name_of(condition), schema)?;
            let context = SimplifyContext::builder().with_schema(described.into()).build();
            let simple = ExprSimplifier::new(context).simplify(condition.clone())?;
            for part in split_conjunction(&simple).into_iter().chain([condition]) {
                stated.extend(
                    render(part, Described { columns: schema, tokens }).map(|text| (table.clone(), text)),
                );
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(stated)
}

/// The name before the columns of a condition.
fn name_of(condition: &Expr) -> TableReference {
    let relation = condition.column_refs().iter().find_map(|column| column.relation.clone());
    relation.unwrap_or_else(|| TableReference::bare(""))
}

/// The table whose columns, and no others, a condition is on.
fn table_of<'n>(condition: &Expr, names: &'n Names) -> Option<&'n (String, SchemaRef, Arc<Tokens>)> {
    let mut found = None;
    for column in condition.column_refs() {
        let name = column.relation.as_ref()?.table();
        if found.is_some_and(|found| found != name) {
            return None;
        }
        found = Some(name);
    }
    names.get(found?)?.as_ref()
}
