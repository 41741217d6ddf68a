// SPDX-License-Identifier: Apache-2.0
//! The parts of a question's plan that are asked first, because their rows say which keys of another table are one group ([`Classes`]).
//!
//! The other table's question then lists keys, by what they find. So only that may decide on it which its server has anyway: clear columns and join
//! keys of tables on the same server, under conditions on them.

use std::cell::RefCell;
use std::rc::Rc;

use datafusion::common::Column;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, LogicalPlan, TableScan};
use hush_plan::Protection;

use super::conditions::{Described, render};
use super::groups::{Classes, Matching, has_come};
use super::narrowed::tokens_of;
use super::scan::Groups;
use super::stated::Stated;
use crate::table::{Evaluator, OwnedTable};

/// Most rows of tables that are asked first.
const MAX_ROWS: u64 = 200_000;
/// Most parts of one question that are asked first.
const MAX_PARTS: usize = 4;

/// A part of a plan that is to be asked first, and what it decides on.
#[derive(Clone, PartialEq)]
pub(super) struct Sought {
    /// The part.
    pub(super) plan: LogicalPlan,
    /// The place of the key among its columns.
    pub(super) place: usize,
    /// The table whose keys are put into classes.
    pub(super) table: String,
    /// Its key.
    pub(super) own: String,
}

/// What is known of partners.
pub(super) struct Known<'a> {
    tables: &'a [&'a OwnedTable],
    /// Of each part that was asked first, the classes, if there are any.
    classes: RefCell<Vec<(Sought, Option<Rc<Classes>>)>>,
    sought: RefCell<Vec<Sought>>,
}

impl<'a> Known<'a> {
    /// Nothing.
    pub(super) fn new(tables: &'a [&'a OwnedTable]) -> Self {
        Self { tables, classes: RefCell::default(), sought: RefCell::default() }
    }

    /// The classes of keys by their partners; where they are not known and may be, the partners are sought from then on.
    pub(super) fn classes(&self, matching: &Matching<'_>, stated: &Stated) -> Option<Rc<Classes>> {
        let place = matching.partners.schema().index_of_column(matching.theirs).ok()?;
        let (table, own) = (matching.rows.table.clone(), matching.own.name.clone());
        // Plans are compared as they are: what they display leaves much out.
        let found = Sought { plan: matching.partners.clone(), place, table, own };
        if let Some((_, known)) = self.classes.borrow().iter().find(|(known, _)| *known == found) {
            return known.clone();
        }
        let mut sought = self.sought.borrow_mut();
        if sought.len() < MAX_PARTS
            && !sought.contains(&found)
            && self.may_decide(matching, stated).unwrap_or(false)
        {
            sought.push(found);
        }
        None
    }

    /// The parts that are sought.
    pub(super) fn sought(&self) -> Vec<Sought> {
        self.sought.take()
    }

    /// Takes in the classes of a part that was sought; true if there are any.
    pub(super) fn learn(&self, sought: Sought, classes: Option<Classes>) -> bool {
        let is_any = classes.is_some();
        self.classes.borrow_mut().push((sought, classes.map(Rc::new)));
        is_any
    }

    /// Whether the partners may decide which keys are one group, and are few.
    fn may_decide(&self, matching: &Matching<'_>, stated: &Stated) -> Result<bool> {
        let named = |name: &str| self.tables.iter().find(|table| table.half.schema.table == name);
        let Some(table) = named(&matching.rows.table) else { return Ok(false) };
        let Some(own) = table.schema().columns.iter().find(|column| column.name == matching.own.name) else {
            return Ok(false);
        };
        if own.protect == Protection::JoinKey {
            let theirs = origin(matching.partners, matching.theirs);
            let alike = theirs.and_then(|(other, column)| {
                let other = named(&other)?.keys.tokens.of_what(&column)?;
                Some(table.keys.tokens.of_what(&own.name)? == other)
            });
            // The owner knows more of their values than that they are equal.
            let is_key = |(other, column): (String, String)| {
                named(&other).is_none_or(|other| other.keys.tokens.column(&column).is_some())
            };
            if alike != Some(true) || reads_beyond_names(matching.partners, &is_key)? {
                return Ok(false);
            }
        }
        let is_shown = |protect| {
            protect == Protection::Clear
                || (protect == Protection::JoinKey && own.protect == Protection::JoinKey)
        };
        if !is_shown(own.protect) {
            return Ok(false);
        }
        let mut rows = 0_u64;
        let mut may = true;
        matching.partners.apply_with_subqueries(|node| {
            let scan = match node {
                LogicalPlan::TableScan(scan) => scan,
                // What a planner has concluded may be of columns that are hidden.
                LogicalPlan::Filter(filter) => {
                    may &= split_conjunction(&filter.predicate)
                        .into_iter()
                        .all(|part| is_stated(part, &filter.input, stated).unwrap_or(false));
                    return Ok(TreeNodeRecursion::Continue);
                }
                LogicalPlan::Join(join) => {
                    may &= join.filter.is_none();
                    return Ok(TreeNodeRecursion::Continue);
                }
                _ => return Ok(TreeNodeRecursion::Continue),
            };
            let other = named(scan.table_name.table()).filter(|_| is_of_rows(scan));
            // A table of the same rows is no smaller one.
            let other = other.filter(|other| other.half.schema.table != table.half.schema.table);
            let Some(other) = other else {
                may = false;
                return Ok(TreeNodeRecursion::Stop);
            };
            let read = scan.projected_schema.columns();
            let protect = |column: &Column| {
                let found = other.schema().columns.iter().find(|found| found.name == column.name);
                found.map(|found| found.protect)
            };
            may &= read.iter().all(|column| protect(column).is_some_and(is_shown)) && is_beside(table, other);
            rows = rows.saturating_add(other.manifest.manifest().living_rows());
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(may && rows <= MAX_ROWS.min(table.manifest.manifest().living_rows()))
    }
}

impl Sought {
    /// The tables that it reads.
    pub(super) fn tables(&self) -> Vec<String> {
        let mut names = Vec::new();
        // It never fails, since the closure does not.
        let _ = self.plan.apply_with_subqueries(|node| {
            if let LogicalPlan::TableScan(scan) = node {
                names.push(scan.table_name.table().to_owned());
            }
            Ok::<_, DataFusionError>(TreeNodeRecursion::Continue)
        });
        names.sort();
        names.dedup();
        names
    }
}

fn is_of_rows(scan: &TableScan) -> bool {
    !has_come(scan) && !scan.source.is::<Groups>()
}

/// Whether whoever evaluates the questions of one table has the other one as well.
fn is_beside(table: &OwnedTable, other: &OwnedTable) -> bool {
    match (&table.evaluator, &other.evaluator) {
        (Evaluator::Remote(server), Evaluator::Remote(others)) => server.url() == others.url(),
        (Evaluator::Remote(_), _) => false,
        // This process.
        _ => true,
    }
}

/// Whether the question states a condition over the columns of a plan, of one table.
fn is_stated(condition: &Expr, input: &LogicalPlan, stated: &Stated) -> Option<bool> {
    let mut found: Option<String> = None;
    for column in condition.column_refs() {
        let (table, name) = origin(input, column)?;
        if name != column.name || found.as_ref().is_some_and(|found| *found != table) {
            return None;
        }
        found = Some(table);
    }
    let table = found?;
    let mut text = None;
    input
        .apply_with_subqueries(|node| {
            if let LogicalPlan::TableScan(scan) = node
                && scan.table_name.table() == table
            {
                let (schema, tokens) = (scan.source.schema(), tokens_of(&scan.source));
                text = render(condition, Described { columns: &schema, tokens: &tokens });
                return Ok(TreeNodeRecursion::Stop);
            }
            Ok(TreeNodeRecursion::Continue)
        })
        .ok()?;
    Some(stated.contains(&(table, text?)))
}

/// Whether anything in a plan but the naming of outputs reads a column of which this is true, or of which nobody knows where it comes from.
fn reads_beyond_names(plan: &LogicalPlan, is_meant: &dyn Fn((String, String)) -> bool) -> Result<bool> {
    let mut reads = false;
    plan.apply_with_subqueries(|node| {
        // Conditions of a scan stand above it as well.
        if matches!(node, LogicalPlan::TableScan(_)) {
            return Ok(TreeNodeRecursion::Continue);
        }
        let is_named = |expr: &Expr| {
            matches!(node, LogicalPlan::Projection(_)) && matches!(expr.clone().unalias(), Expr::Column(_))
        };
        for expr in node.expressions().iter().filter(|expr| !is_named(expr)) {
            for column in expr.column_refs() {
                let found = node.inputs().into_iter().find(|input| input.schema().has_column(column));
                let origin = found.and_then(|input| origin(input, column));
                reads |= origin.is_none_or(is_meant);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(reads)
}

/// The table and the column of it that a column of a plan is, if it is one as it stands.
fn origin(plan: &LogicalPlan, column: &Column) -> Option<(String, String)> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            is_of_rows(scan).then(|| (scan.table_name.table().to_owned(), column.name.clone()))
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let at = alias.schema.index_of_column(column).ok()?;
            origin(&alias.input, alias.input.schema().columns().get(at)?)
        }
        LogicalPlan::Projection(projection) => {
            let at = projection.schema.index_of_column(column).ok()?;
            match projection.expr.get(at)?.clone().unalias() {
                Expr::Column(inner) => origin(&projection.input, &inner),
                _ => None,
            }
        }
        LogicalPlan::Filter(filter) => origin(&filter.input, column),
        LogicalPlan::Join(join) => match join.left.schema().has_column(column) {
            true => origin(&join.left, column),
            false => origin(&join.right, column),
        },
        _ => None,
    }
}
