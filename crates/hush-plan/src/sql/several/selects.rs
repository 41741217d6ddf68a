// SPDX-License-Identifier: Apache-2.0
//! Every SELECT of a query over several tables: its tables are known, its stars leave out sealed columns, its outputs have names.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Ident, Join, JoinConstraint, ObjectName, ObjectNamePart, OrderByKind, Query,
    Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableFactor, TableWithJoins, Value,
    VisitorMut,
};

use super::super::{bare, functions, output, statement};
use super::quotients::divide_as_doubles;
use super::spelling::constraint;
use super::windows::has_window;
use crate::error::{Clause, Feature, PlanError};
use crate::schema::{Protection, Schema};
use crate::sql::walk::walk_mut;

pub(super) struct Selects<'a> {
    schemas: &'a [&'a Schema],
    /// The names of WITH for each query that is open.
    scopes: Vec<Vec<String>>,
    tables: BTreeSet<String>,
    left_out: BTreeSet<String>,
}

impl<'a> Selects<'a> {
    pub(super) fn new(schemas: &'a [&'a Schema]) -> Self {
        Self { schemas, scopes: Vec::new(), tables: BTreeSet::new(), left_out: BTreeSet::new() }
    }

    /// The tables that were read, and notes on the result.
    pub(super) fn into_found(self) -> (BTreeSet<String>, Vec<String>) {
        let names: Vec<String> = self.left_out.into_iter().collect();
        let note = format!("* leaves out {} (sealed: naming them gives them back)", names.join(", "));
        (self.tables, if names.is_empty() { Vec::new() } else { vec![note] })
    }

    /// The given table of a name that is spelled as tables are; `None` for one of WITH.
    fn table(&self, name: &ObjectName) -> Result<Option<&'a Schema>, PlanError> {
        let unknown = |found: String| {
            let expected: Vec<&str> = self.schemas.iter().map(|schema| schema.table.as_str()).collect();
            PlanError::NoSuchTable { found, given: expected.join(", ") }
        };
        let [ObjectNamePart::Identifier(ident)] = name.0.as_slice() else {
            return Err(unknown(name.to_string()));
        };
        if self.scopes.iter().flatten().any(|known| *known == ident.value) {
            return Ok(None);
        }
        let schema = self.schemas.iter().find(|schema| schema.table == ident.value);
        schema.map(|schema| Some(*schema)).ok_or_else(|| unknown(ident.value.clone()))
    }

    fn query(&mut self, query: &mut Query) -> Result<(), PlanError> {
        statement::refuse_query_extras(query)?;
        statement::limits(query.limit_clause.clone())?;
        statement::order_keys(query.order_by.clone())?;
        let mut scope = Vec::new();
        if let Some(with) = &query.with {
            for name in with.cte_tables.iter().map(|table| table.alias.name.value.clone()) {
                let is_table = self.schemas.iter().any(|schema| schema.table == name);
                statement::refuse(is_table || with.recursive, Clause::Select, Feature::CommonName)?;
                scope.push(name);
            }
        }
        self.scopes.push(scope);
        let keys = match &*query.body {
            SetExpr::Select(select) => keys(select),
            _ => Vec::new(),
        };
        if let Some(OrderByKind::Expressions(order)) = query.order_by.as_mut().map(|order| &mut order.kind) {
            order.iter_mut().for_each(|key| divide_as_doubles(&mut key.expr, &keys));
        }
        body(&query.body)
    }

    fn select(&mut self, select: &mut Select) -> Result<(), PlanError> {
        statement::refuse_select_extras(select)?;
        let (GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers)) = &select.group_by;
        statement::refuse(!modifiers.is_empty(), Clause::GroupBy, Feature::GroupingSets)?;
        for (conditions, clause) in [(&select.selection, Clause::Where), (&select.having, Clause::Having)] {
            statement::refuse(conditions.as_ref().is_some_and(has_window), clause, Feature::Window)?;
        }
        settle_ordinals_in_sets(select)?;
        let keys = keys(select);
        // A star beside other outputs may repeat one of them.
        let beside = select.projection.len() > 1;
        let mut items = Vec::with_capacity(select.projection.len());
        for item in std::mem::take(&mut select.projection) {
            match item {
                SelectItem::Wildcard(options) => {
                    let excluded = output::excluded(&options)?;
                    let star = SelectItem::Wildcard(Default::default());
                    let found = self.star(&select.from, (star, beside || !excluded.is_empty()))?;
                    items.extend(self.without(found, &excluded)?);
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                    let found = factors(&select.from).into_iter().find(|factor| {
                        let last = name.0.last().and_then(ObjectNamePart::as_ident);
                        qualifier(factor)
                            .is_some_and(|known| last.is_some_and(|last| last.value == known.value))
                    });
                    let excluded = output::excluded(&options)?;
                    let star = SelectItem::QualifiedWildcard(
                        SelectItemQualifiedWildcardKind::ObjectName(name),
                        Default::default(),
                    );
                    let found = match found {
                        Some(factor) => self.columns(factor, (star, beside || !excluded.is_empty()))?,
                        None => vec![star],
                    };
                    items.extend(self.without(found, &excluded)?);
                }
                other => items.push(other),
            }
        }
        for item in &mut items {
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                let name = default_name(expr);
                divide_as_doubles(expr, &keys);
                if let (SelectItem::UnnamedExpr(expr), Some(name)) = (&*item, name) {
                    let alias = Ident::with_quote('"', name);
                    *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
                }
            }
        }
        for condition in select.having.iter_mut().chain(&mut select.qualify) {
            divide_as_doubles(condition, &keys);
        }
        tell_apart(&mut items);
        select.projection = items;
        Ok(())
    }

    /// What `*` stands for: itself, or the columns of each table where one has sealed columns, or where other outputs stand beside it.
    fn star(
        &mut self,
        from: &[TableWithJoins],
        (star, beside): (SelectItem, bool),
    ) -> Result<Vec<SelectItem>, PlanError> {
        let all = factors(from);
        let (mut hidden, mut plain) = (false, true);
        for factor in &all {
            let schema = match factor {
                TableFactor::Table { name, .. } => self.table(name)?,
                _ => None,
            };
            hidden |= schema.is_some_and(has_sealed);
            plain &= schema.is_some();
        }
        if !(hidden || beside && plain) {
            return Ok(vec![star]);
        }
        let merged = self.merged(from, &all)?;
        let mut items: Vec<SelectItem> = Vec::new();
        let mut seen = BTreeSet::new();
        for factor in all {
            let Some(name) = qualifier(factor) else { continue };
            let whole = SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(ObjectName::from(vec![name])),
                Default::default(),
            );
            for item in self.columns(factor, (whole, true))? {
                match column(&item) {
                    // A column that two tables share in a join stands once, with the value of either.
                    Some(column) if merged.contains(&column.value) => {
                        if seen.insert(column.value.clone()) {
                            items.push(SelectItem::UnnamedExpr(Expr::Identifier(column.clone())));
                        }
                    }
                    _ => items.push(item),
                }
            }
        }
        let nothing = PlanError::Unsupported { clause: Clause::Select, feature: Feature::Nothing };
        if items.is_empty() { Err(nothing) } else { Ok(items) }
    }

    /// What a star stands for, without the columns that it excludes.
    ///
    /// # Errors
    /// P003 for a column that no table has, P005 where the columns are those of a query.
    fn without(&self, mut items: Vec<SelectItem>, excluded: &[Ident]) -> Result<Vec<SelectItem>, PlanError> {
        if excluded.is_empty() {
            return Ok(items);
        }
        let are_known = items.iter().all(|item| column(item).is_some());
        statement::refuse(!are_known, Clause::Select, Feature::Dialect)?;
        for name in excluded {
            let is_named = |column: &str| match name.quote_style {
                None => column.eq_ignore_ascii_case(&name.value),
                Some(_) => column == name.value,
            };
            let mut columns = self.schemas.iter().flat_map(|schema| &schema.columns);
            if !columns.any(|column| is_named(&column.name)) {
                let (clause, found, quoted) =
                    (Clause::Select, name.value.clone(), name.quote_style.is_some());
                let table = self.schemas.iter().map(|schema| schema.table.as_str()).collect::<Vec<_>>();
                let (nearest, table) = (None, table.join(", "));
                return Err(PlanError::UnknownColumn { clause, found, quoted, nearest, table });
            }
            items.retain(|item| !column(item).is_some_and(|column| is_named(&column.value)));
        }
        statement::refuse(items.is_empty(), Clause::Select, Feature::Nothing)?;
        Ok(items)
    }

    /// The columns of USING, and with NATURAL those that several tables have.
    fn merged(&self, from: &[TableWithJoins], all: &[&TableFactor]) -> Result<Vec<String>, PlanError> {
        let joins = || from.iter().flat_map(|table| &table.joins);
        let mut merged: Vec<String> = joins().flat_map(using).collect();
        if joins()
            .any(|join| matches!(constraint(&mut join.join_operator.clone()), Some(JoinConstraint::Natural)))
        {
            let mut names = BTreeSet::new();
            for factor in all {
                let TableFactor::Table { name, .. } = factor else { continue };
                let columns = self.table(name)?.into_iter().flat_map(|schema| &schema.columns);
                merged.extend(
                    columns.map(|column| column.name.clone()).filter(|name| !names.insert(name.clone())),
                );
            }
        }
        Ok(merged)
    }

    /// The columns of one table that a star stands for.
    fn columns(
        &mut self,
        factor: &TableFactor,
        (star, always): (SelectItem, bool),
    ) -> Result<Vec<SelectItem>, PlanError> {
        let (TableFactor::Table { name, .. }, Some(qualifier)) = (factor, qualifier(factor)) else {
            return Ok(vec![star]);
        };
        let Some(schema) = self.table(name)?.filter(|schema| always || has_sealed(schema)) else {
            return Ok(vec![star]);
        };
        let sealed = schema.columns.iter().filter(|column| column.protect == Protection::Seal);
        self.left_out.extend(sealed.map(|column| column.name.clone()));
        let shown =
            |protect| matches!(protect, Protection::Clear | Protection::Encrypt | Protection::JoinKey);
        let columns = schema.columns.iter().filter(|column| shown(column.protect)).map(|column| {
            let column = Ident::with_quote('"', &column.name);
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(vec![qualifier.clone(), column]))
        });
        Ok(columns.collect())
    }

    fn factor(&mut self, factor: &TableFactor) -> Result<(), PlanError> {
        let dialect = statement::unsupported(Clause::From, Feature::Dialect);
        let alias = match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                with_hints,
                version: None,
                with_ordinality: false,
                partitions,
                json_path: None,
                sample: None,
                index_hints,
            } if with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty() => {
                if let Some(schema) = self.table(name)? {
                    self.tables.insert(schema.table.clone());
                }
                alias
            }
            TableFactor::Derived { lateral: false, alias, sample: None, .. } => alias,
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                return joins(&table_with_joins.joins);
            }
            _ => return Err(dialect),
        };
        match alias {
            Some(alias) if alias.at.is_some() => Err(dialect),
            _ => Ok(()),
        }
    }
}

impl VisitorMut for Selects<'_> {
    type Break = Box<PlanError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        flow(self.query(query))
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Self::Break> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        let joined = select.from.iter().try_for_each(|table| joins(&table.joins));
        flow(joined.and_then(|()| self.select(select)))
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        flow(self.factor(factor))
    }
}

fn flow(result: Result<(), PlanError>) -> ControlFlow<Box<PlanError>> {
    result.map_or_else(|error| ControlFlow::Break(Box::new(error)), ControlFlow::Continue)
}

/// Refuses statements and lists of values in the place of a SELECT.
fn body(body: &SetExpr) -> Result<(), PlanError> {
    match body {
        SetExpr::Select(_) | SetExpr::Query(_) => Ok(()),
        SetExpr::SetOperation { left, right, .. } => self::body(left).and_then(|()| self::body(right)),
        _ => Err(statement::unsupported(Clause::Select, Feature::SetOperation)),
    }
}

fn joins(joins: &[Join]) -> Result<(), PlanError> {
    let is_known = |join: &Join| !join.global && constraint(&mut join.join_operator.clone()).is_some();
    statement::refuse(!joins.iter().all(is_known), Clause::From, Feature::Dialect)
}

/// The columns of a USING.
fn using(join: &Join) -> Vec<String> {
    match constraint(&mut join.join_operator.clone()) {
        Some(JoinConstraint::Using(columns)) => {
            let last = columns.iter().filter_map(|name| name.0.last()?.as_ident());
            last.map(|ident| ident.value.clone()).collect()
        }
        _ => Vec::new(),
    }
}

/// The tables of a FROM, from left to right.
pub(super) fn factors(from: &[TableWithJoins]) -> Vec<&TableFactor> {
    let all = from
        .iter()
        .flat_map(|table| [&table.relation].into_iter().chain(table.joins.iter().map(|join| &join.relation)));
    let nested = all.flat_map(|factor| match factor {
        TableFactor::NestedJoin { table_with_joins, .. } => factors(std::slice::from_ref(table_with_joins)),
        other => vec![other],
    });
    nested.collect()
}

/// The name before the point of a table's columns.
fn qualifier(factor: &TableFactor) -> Option<Ident> {
    match factor {
        TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
            Some(alias.name.clone())
        }
        TableFactor::Table { alias: None, name, .. } => name.0.last()?.as_ident().cloned(),
        _ => None,
    }
}

fn has_sealed(schema: &Schema) -> bool {
    schema.columns.iter().any(|column| column.protect == Protection::Seal)
}

/// The keys of a SELECT, with those that ordinals and names of outputs stand for.
fn keys(select: &Select) -> Vec<Expr> {
    let expr_of = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr.clone()),
        _ => None,
    };
    if matches!(select.distinct, Some(Distinct::Distinct)) {
        return select.projection.iter().filter_map(expr_of).collect();
    }
    let GroupByExpr::Expressions(written, _) = &select.group_by else {
        let outputs = select.projection.iter().filter_map(expr_of);
        return outputs.filter(|expr| !functions::has_aggregate(expr)).collect();
    };
    let key = |key: &Expr| match bare(key) {
        Expr::Value(_) => ordinal(&select.projection, key),
        Expr::Identifier(ident) => select.projection.iter().find_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } if alias.value == ident.value => Some(expr.clone()),
            _ => None,
        }),
        _ => None,
    };
    let written = written.iter().flat_map(|written| match sets(written) {
        Some(sets) => sets.iter().flatten().collect(),
        None => vec![written],
    });
    written.map(|written| key(written).unwrap_or_else(|| written.clone())).collect()
}

/// The sets of keys of `ROLLUP`, `CUBE` and `GROUPING SETS`.
fn sets(key: &Expr) -> Option<&Vec<Vec<Expr>>> {
    match key {
        Expr::Cube(sets) | Expr::GroupingSets(sets) | Expr::Rollup(sets) => Some(sets),
        _ => None,
    }
}

/// The output that an ordinal stands for.
fn ordinal(outputs: &[SelectItem], key: &Expr) -> Option<Expr> {
    let Expr::Value(value) = bare(key) else { return None };
    let Value::Number(digits, _) = &value.value else { return None };
    match outputs.get(digits.parse::<usize>().ok()?.checked_sub(1)?)? {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr.clone()),
        _ => None,
    }
}

/// Writes the outputs that ordinals stand for inside sets of keys, where the engine takes a number for a constant.
fn settle_ordinals_in_sets(select: &mut Select) -> Result<(), PlanError> {
    let GroupByExpr::Expressions(written, _) = &mut select.group_by else { return Ok(()) };
    for key in written {
        let (Expr::Cube(sets) | Expr::GroupingSets(sets) | Expr::Rollup(sets)) = key else { continue };
        for key in sets.iter_mut().flatten().filter(|key| matches!(bare(key), Expr::Value(_))) {
            let (low, high) = (1, select.projection.len() as u64);
            let outside = PlanError::Position { clause: Clause::GroupBy, low, high };
            *key = ordinal(&select.projection, key).ok_or(outside)?;
        }
    }
    Ok(())
}

/// The name of an output that is no column.
fn default_name(expr: &Expr) -> Option<String> {
    if matches!(bare(expr), Expr::Identifier(_) | Expr::CompoundIdentifier(_)) {
        return None;
    }
    let mut copy = expr.clone();
    let _ = walk_mut(&mut copy, &mut Unqualified);
    Some(output::default_name(&copy))
}

/// Columns without their tables.
struct Unqualified;

impl VisitorMut for Unqualified {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let Some(column) = parts.pop()
        {
            *expr = Expr::Identifier(column);
        }
        ControlFlow::Continue(())
    }
}

/// The column that an output is, if it has no name of its own.
fn column(item: &SelectItem) -> Option<&Ident> {
    match item {
        SelectItem::UnnamedExpr(expr) => match bare(expr) {
            Expr::Identifier(column) => Some(column),
            Expr::CompoundIdentifier(parts) => parts.last(),
            _ => None,
        },
        _ => None,
    }
}

/// Numbers the names of outputs that are there already, but for equal columns of different tables: the query engine tells those apart, and
/// conditions may name them.
fn tell_apart(items: &mut [SelectItem]) {
    let (mut names, mut columns) = (BTreeSet::new(), BTreeMap::<String, Vec<String>>::new());
    let mut wishes = BTreeMap::<String, u32>::new();
    for item in items {
        let wanted = match (column(item), &*item) {
            (Some(column), SelectItem::UnnamedExpr(expr)) => {
                // A column without its table may be one with it.
                let (text, alone) = (bare(expr).to_string(), column.to_string());
                let known = columns.entry(column.value.clone()).or_default();
                let is_new =
                    known.is_empty() || text != alone && !known.contains(&text) && !known.contains(&alone);
                if is_new && !names.contains(&column.value) {
                    known.push(text);
                    *wishes.entry(column.value.clone()).or_default() += 1;
                    continue;
                }
                column.value.clone()
            }
            (_, SelectItem::ExprWithAlias { alias, .. }) => alias.value.clone(),
            _ => continue,
        };
        let number = wishes.entry(wanted.clone()).or_default();
        let mut name = wanted.clone();
        loop {
            *number += 1;
            if *number > 1 {
                name = format!("{wanted}_{number}");
            }
            if !columns.contains_key(&name) && names.insert(name.clone()) {
                break;
            }
        }
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
            let alias = Ident::with_quote('"', name);
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
        }
    }
}
