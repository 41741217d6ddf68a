// SPDX-License-Identifier: Apache-2.0
//! From text to the parts of one plain SELECT over this table; every other clause is refused by name.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Distinct, Expr, GroupByExpr, Ident, LimitClause, ObjectNamePart, OrderBy, OrderByKind,
    OrderByOptions, Query, Select, SelectFlavor, SelectItem, SetExpr, Statement, TableFactor, TableWithJoins,
    UnaryOperator, Value, VisitorMut,
};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::{Parser, ParserError};

use super::bounds::{self, syntax};
use super::forms;
use crate::error::{Clause, Feature, Measure, PlanError};
use crate::schema::Schema;
use crate::sql::walk::walk_mut;

/// Rows that LIMIT and OFFSET may name: what a signed 64-bit engine takes, with room for their sum.
const MAX_LIMIT: u64 = 1 << 62;

/// The clauses of a SELECT, unresolved.
pub(super) struct RawSelect {
    /// Name by which columns may be qualified.
    pub(super) alias: Ident,
    pub(super) projection: Vec<SelectItem>,
    pub(super) filter: Option<Expr>,
    pub(super) keys: Vec<Expr>,
    pub(super) having: Option<Expr>,
    pub(super) order: Vec<(Expr, OrderByOptions)>,
    pub(super) limit: Option<u64>,
    pub(super) offset: u64,
    pub(super) distinct: bool,
}

/// Parses `text` as exactly one SELECT over the table of `schema`.
pub(super) fn single_select(schema: &Schema, text: &str) -> Result<RawSelect, PlanError> {
    let query = parse_query(text)?;
    refuse(query.with.is_some(), Clause::Select, Feature::CommonTable)?;
    refuse_query_extras(&query)?;
    let (limit, offset) = limits(query.limit_clause)?;
    let order = order_keys(query.order_by)?;
    let select = match *query.body {
        SetExpr::Select(select) => *select,
        SetExpr::Query(_) => return Err(unsupported(Clause::Select, Feature::Subquery)),
        _ => return Err(unsupported(Clause::Select, Feature::SetOperation)),
    };
    refuse(!select.named_window.is_empty() || select.qualify.is_some(), Clause::Select, Feature::Window)?;
    refuse(matches!(select.distinct, Some(Distinct::On(_))), Clause::Select, Feature::DistinctOn)?;
    refuse_select_extras(&select)?;
    let alias = the_table(schema, select.from)?;
    let keys = match select.group_by {
        GroupByExpr::Expressions(keys, modifiers) if modifiers.is_empty() => keys,
        _ => return Err(unsupported(Clause::GroupBy, Feature::GroupingSets)),
    };
    Ok(RawSelect {
        alias,
        projection: select.projection,
        filter: select.selection,
        keys,
        having: select.having,
        order,
        limit,
        offset,
        distinct: matches!(select.distinct, Some(Distinct::Distinct)),
    })
}

pub(super) fn parse_query(text: &str) -> Result<Query, PlanError> {
    let dialect = GenericDialect {};
    let tokens = bounds::tokens(text, &bounds::QUERY)?;
    let statements = Parser::new(&dialect).with_tokens_with_locations(tokens).parse_statements();
    let mut statements = statements.map_err(|error| match error {
        ParserError::RecursionLimitExceeded => PlanError::TooComplex { what: Measure::Nesting, limit: 50 },
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => syntax(&message),
    })?;
    match (statements.pop(), statements.len()) {
        (Some(Statement::Query(mut query)), 0) => {
            let mut bind = BindDistinct::default();
            let _ = walk_mut(&mut query, &mut bind);
            let _ = walk_mut(&mut query, &mut PartMinus);
            // What stands around a comparison that was too long is still in its wrong place. Its text is right, now that there are
            // parentheses, and with each round there are more.
            if bind.has_bound {
                return parse_query(&query.to_string());
            }
            forms::write_out(&mut query)?;
            Ok(*query)
        }
        (None, _) => Err(PlanError::NotOneSelect { found: 0, verb: "" }),
        (Some(statement), others) => {
            Err(PlanError::NotOneSelect { found: others + 1, verb: verb(&statement) })
        }
    }
}

/// A condition on its own.
pub(super) fn condition_of(text: &str) -> Option<Expr> {
    let query = parse_query(&format!("SELECT 1 WHERE {text}")).ok()?;
    let SetExpr::Select(select) = *query.body else { return None };
    select.selection
}

/// Whether `text` is one expression, and nothing before or behind it.
pub fn is_expression(text: &str) -> bool {
    // A comment at its end ends with the line.
    matches!(condition_of(&format!("({text}\n)")), Some(Expr::Nested(_)))
}

/// The first word of a common statement.
fn verb(statement: &Statement) -> &'static str {
    let text = statement.to_string();
    let first = text.split_whitespace().next().unwrap_or_default();
    let known = [
        "ALTER", "CREATE", "DELETE", "DROP", "EXPLAIN", "INSERT", "MERGE", "SET", "SHOW", "TRUNCATE",
        "UPDATE",
    ];
    known.into_iter().find(|verb| first.eq_ignore_ascii_case(verb)).unwrap_or("this statement")
}

/// Makes `IS [NOT] DISTINCT FROM` bind tighter than AND and OR, as the standard says; the parser takes all that follows
/// for its right side. Printed, the expression is right then; as a tree, what stood before it may not be: an OR below an AND or a NOT.
#[derive(Default)]
struct BindDistinct {
    /// Whether an expression was changed.
    has_bound: bool,
}

impl VisitorMut for BindDistinct {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        use BinaryOperator::{And, Or};
        let nothing = || Expr::Value(Value::Null.into());
        if let Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right) = expr
            && let Expr::BinaryOp { left, op: And | Or, .. } = &mut **right
        {
            self.has_bound = true;
            let first = std::mem::replace(&mut **left, nothing());
            let mut outer = std::mem::replace(&mut **right, first);
            // The new right side may be an AND within an OR.
            let _ = self.post_visit_expr(expr);
            let tight = std::mem::replace(expr, nothing());
            let tight =
                if matches!(tight, Expr::BinaryOp { .. }) { tight } else { Expr::Nested(Box::new(tight)) };
            if let Expr::BinaryOp { left, .. } = &mut outer {
                **left = tight;
            }
            *expr = outer;
        }
        ControlFlow::Continue(())
    }
}

/// Puts the operand of a minus sign into parentheses where it begins with one: printed side by side, two would begin a
/// comment, and expressions are printed for the server and for the query over its results.
struct PartMinus;

impl VisitorMut for PartMinus {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        use UnaryOperator::Minus;
        if let Expr::UnaryOp { op: Minus, expr: operand } = expr
            && matches!(**operand, Expr::UnaryOp { op: Minus, .. })
        {
            let inner = std::mem::replace(&mut **operand, Expr::Value(Value::Null.into()));
            **operand = Expr::Nested(Box::new(inner));
        }
        ControlFlow::Continue(())
    }
}

pub(super) fn unsupported(clause: Clause, feature: Feature) -> PlanError {
    PlanError::Unsupported { clause, feature }
}

pub(super) fn refuse(present: bool, clause: Clause, feature: Feature) -> Result<(), PlanError> {
    if present { Err(unsupported(clause, feature)) } else { Ok(()) }
}

pub(super) fn refuse_query_extras(query: &Query) -> Result<(), PlanError> {
    refuse(query.fetch.is_some(), Clause::Limit, Feature::Dialect)?;
    let extras = !query.locks.is_empty()
        || query.for_clause.is_some()
        || query.settings.is_some()
        || query.format_clause.is_some()
        || !query.pipe_operators.is_empty();
    refuse(extras, Clause::Select, Feature::Dialect)
}

pub(super) fn refuse_select_extras(select: &Select) -> Result<(), PlanError> {
    refuse(select.into.is_some(), Clause::Select, Feature::Into)?;
    let extras = select.top.is_some()
        || select.exclude.is_some()
        || !select.optimizer_hints.is_empty()
        || select.select_modifiers.is_some()
        || !select.lateral_views.is_empty()
        || select.prewhere.is_some()
        || !select.connect_by.is_empty()
        || !select.cluster_by.is_empty()
        || !select.distribute_by.is_empty()
        || !select.sort_by.is_empty()
        || select.value_table_mode.is_some()
        || select.flavor != SelectFlavor::Standard;
    refuse(extras, Clause::Select, Feature::Dialect)
}

/// The table that a query names, before anything else about it is known.
///
/// # Errors
/// Not one SELECT, or no plain table in its FROM.
pub fn table_of(text: &str) -> Result<String, PlanError> {
    let query = parse_query(text)?;
    let SetExpr::Select(select) = *query.body else {
        return Err(unsupported(Clause::Select, Feature::SetOperation));
    };
    match select.from.first().map(|from| &from.relation) {
        Some(TableFactor::Table { name, .. }) => match name.0.last() {
            Some(ObjectNamePart::Identifier(ident)) => Ok(ident.value.clone()),
            _ => Err(unsupported(Clause::From, Feature::Dialect)),
        },
        Some(_) => Err(unsupported(Clause::From, Feature::Subquery)),
        None => Err(PlanError::NoTable),
    }
}

/// The name under which the one table is known to the query.
fn the_table(schema: &Schema, mut from: Vec<TableWithJoins>) -> Result<Ident, PlanError> {
    let unknown = |found: String| PlanError::UnknownTable { found, expected: schema.table.clone() };
    let table = from.pop().ok_or(PlanError::NoTable)?;
    refuse(!from.is_empty() || !table.joins.is_empty(), Clause::From, Feature::Join)?;
    let (name, alias) = match table.relation {
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
        } if with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty() => (name, alias),
        TableFactor::Derived { .. } => return Err(unsupported(Clause::From, Feature::Subquery)),
        TableFactor::NestedJoin { .. } => return Err(unsupported(Clause::From, Feature::Join)),
        _ => return Err(unsupported(Clause::From, Feature::Dialect)),
    };
    let ident = match name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => ident.clone(),
        _ => return Err(unknown(name.to_string())),
    };
    let unquoted = ident.quote_style.is_none();
    if ident.value != schema.table && !(unquoted && ident.value.eq_ignore_ascii_case(&schema.table)) {
        return Err(unknown(ident.value));
    }
    match alias {
        None => Ok(ident),
        Some(alias) if alias.columns.is_empty() && alias.at.is_none() => Ok(alias.name),
        Some(_) => Err(unsupported(Clause::From, Feature::Dialect)),
    }
}

pub(super) fn order_keys(order_by: Option<OrderBy>) -> Result<Vec<(Expr, OrderByOptions)>, PlanError> {
    let Some(order_by) = order_by else { return Ok(Vec::new()) };
    refuse(order_by.interpolate.is_some(), Clause::OrderBy, Feature::Dialect)?;
    let OrderByKind::Expressions(keys) = order_by.kind else {
        return Err(unsupported(Clause::OrderBy, Feature::Dialect));
    };
    refuse(keys.iter().any(|key| key.with_fill.is_some()), Clause::OrderBy, Feature::Dialect)?;
    Ok(keys.into_iter().map(|key| (key.expr, key.options)).collect())
}

pub(super) fn limits(clause: Option<LimitClause>) -> Result<(Option<u64>, u64), PlanError> {
    let (limit, offset) = match clause {
        None => (None, None),
        Some(LimitClause::LimitOffset { limit, offset, limit_by }) => {
            refuse(!limit_by.is_empty(), Clause::Limit, Feature::Dialect)?;
            (limit, offset.map(|offset| offset.value))
        }
        Some(LimitClause::OffsetCommaLimit { offset, limit }) => (Some(limit), Some(offset)),
    };
    let limit = limit.map(|expr| row_count(&expr, Clause::Limit)).transpose()?;
    let offset = offset.map(|expr| row_count(&expr, Clause::Offset)).transpose()?;
    Ok((limit, offset.unwrap_or(0)))
}

fn row_count(expr: &Expr, clause: Clause) -> Result<u64, PlanError> {
    let number = match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    };
    number.filter(|rows| *rows <= MAX_LIMIT).ok_or(PlanError::Position { clause, low: 0, high: MAX_LIMIT })
}
