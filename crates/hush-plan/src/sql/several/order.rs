// SPDX-License-Identifier: Apache-2.0
//! ORDER BY: a name alone is that of an output, and within an expression that of a column, as it is for one table. The engine would take the output in both.
//!
//! So an output gets another name while the query runs, where an expression reads a column of its name.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, TableFactor, VisitorMut,
};

use super::super::shown::marked;
use super::super::{bare, statement};
use super::selects::factors;
use crate::error::{Clause, Feature, PlanError};
use crate::schema::{Protection, Schema};
use crate::sql::walk::each_expression;

/// Settles the names of every ORDER BY.
pub(super) struct Orders<'a> {
    schemas: &'a [&'a Schema],
    /// The outputs of the queries of WITH, where they are known.
    common: BTreeMap<String, Option<BTreeSet<String>>>,
    /// Queries that are open.
    depth: u32,
}

impl<'a> Orders<'a> {
    pub(super) fn new(schemas: &'a [&'a Schema]) -> Self {
        Self { schemas, common: BTreeMap::new(), depth: 0 }
    }

    /// The columns that a SELECT reads from; `None` if some are not known.
    fn inputs(&self, select: &Select) -> Option<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        for factor in factors(&select.from) {
            found.extend(match factor {
                TableFactor::Table { name, .. } => {
                    let name = &name.0.last()?.as_ident()?.value;
                    match self.common.get(name) {
                        Some(known) => known.clone()?,
                        None => {
                            let schema = self.schemas.iter().find(|schema| schema.table == *name)?;
                            let stored =
                                schema.columns.iter().filter(|column| column.protect != Protection::Drop);
                            stored.map(|column| column.name.clone()).collect()
                        }
                    }
                }
                TableFactor::Derived { subquery, alias, .. } => match alias {
                    Some(alias) if !alias.columns.is_empty() => {
                        alias.columns.iter().map(|column| column.name.value.clone()).collect()
                    }
                    _ => self.outputs(subquery)?,
                },
                _ => return None,
            });
        }
        Some(found)
    }

    /// The names of a query's outputs; `None` if some are not known.
    fn outputs(&self, query: &Query) -> Option<BTreeSet<String>> {
        let mut body = &*query.body;
        loop {
            body = match body {
                SetExpr::SetOperation { left, .. } => left,
                SetExpr::Query(query) => &query.body,
                SetExpr::Select(select) => return select.projection.iter().map(name_of).collect(),
                _ => return None,
            };
        }
    }

    fn query(&mut self, query: &mut Query) -> Result<(), PlanError> {
        let common = query.with.iter().flat_map(|with| &with.cte_tables);
        for table in common {
            let columns = &table.alias.columns;
            let known = match columns.is_empty() {
                true => self.outputs(&table.query),
                false => Some(columns.iter().map(|column| column.name.value.clone()).collect()),
            };
            self.common.insert(table.alias.name.value.clone(), known);
        }
        let inputs = match &*query.body {
            SetExpr::Select(select) => self.inputs(select),
            _ => return Ok(()),
        };
        let (SetExpr::Select(select), Some(order)) = (&mut *query.body, &mut query.order_by) else {
            return Ok(());
        };
        let OrderByKind::Expressions(keys) = &mut order.kind else { return Ok(()) };
        let taken = captured(select, keys, inputs.as_ref());
        if select.distinct.is_some() || !taken.is_empty() {
            keys.iter_mut().for_each(|key| name_output(select, &mut key.expr));
        }
        let taken = captured(select, keys, inputs.as_ref());
        // Others read the outputs of a query within.
        statement::refuse(self.depth > 1 && !taken.is_empty(), Clause::OrderBy, Feature::OutputInOrder)?;
        mark(select, keys, &taken);
        Ok(())
    }
}

impl VisitorMut for Orders<'_> {
    type Break = Box<PlanError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        self.depth += 1;
        self.query(query).map_or_else(|error| ControlFlow::Break(Box::new(error)), ControlFlow::Continue)
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Self::Break> {
        self.depth = self.depth.saturating_sub(1);
        ControlFlow::Continue(())
    }
}

/// The name of an output; `None` for a star.
fn name_of(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
        SelectItem::UnnamedExpr(expr) => match bare(expr) {
            Expr::Identifier(column) => Some(column.value.clone()),
            Expr::CompoundIdentifier(parts) => parts.last().map(|column| column.value.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// The names of outputs of which expressions in ORDER BY read the column, among these.
fn captured(select: &Select, keys: &[OrderByExpr], inputs: Option<&BTreeSet<String>>) -> BTreeSet<String> {
    let outputs = || {
        select.projection.iter().filter_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } => Some((bare(expr), &alias.value)),
            _ => None,
        })
    };
    let is_column = |name: &String| inputs.is_none_or(|inputs| inputs.contains(name));
    let mut found = BTreeSet::new();
    for key in keys.iter().filter(|key| !matches!(bare(&key.expr), Expr::Identifier(_) | Expr::Value(_))) {
        each_expression(&key.expr, |part| {
            let name = match part {
                Expr::Identifier(column) => Some(&column.value),
                Expr::CompoundIdentifier(parts) => parts.last().map(|column| &column.value),
                _ => None,
            };
            // An output that is the column itself may stand for it.
            let is_other = |expr: &Expr| match (expr, part) {
                (Expr::CompoundIdentifier(parts), Expr::Identifier(column)) => parts.last() != Some(column),
                (expr, part) => expr != part,
            };
            if let Some(name) = name.filter(|name| is_column(name))
                && outputs().any(|(expr, alias)| alias == name && is_other(expr))
            {
                found.insert(name.clone());
            }
        });
    }
    found
}

/// Writes the name of the output that a key is, in its place.
fn name_output(select: &Select, key: &mut Expr) {
    let alias = select.projection.iter().find_map(|item| match item {
        SelectItem::ExprWithAlias { expr, alias } if bare(expr) == bare(key) => Some(alias.clone()),
        _ => None,
    });
    if let Some(alias) = alias.filter(|_| !matches!(bare(key), Expr::Identifier(_) | Expr::Value(_))) {
        *key = Expr::Identifier(alias);
    }
}

/// Gives outputs names that no column has.
fn mark(select: &mut Select, keys: &mut [OrderByExpr], taken: &BTreeSet<String>) {
    let rename = |ident: &mut Ident| {
        if taken.contains(&ident.value) {
            ident.value = marked(&ident.value);
        }
    };
    for item in &mut select.projection {
        if let SelectItem::ExprWithAlias { alias, .. } = item {
            rename(alias);
        }
    }
    for key in keys {
        if let Expr::Identifier(ident) = &mut key.expr {
            rename(ident);
        }
    }
}
