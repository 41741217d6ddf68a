// SPDX-License-Identifier: Apache-2.0
//! Names to columns: exact where quoted, else ignoring case where that is unambiguous.

use std::ops::ControlFlow;

use sqlparser::ast::{CastKind, DataType, ExactNumberInfo, Expr, Ident, TimezoneInfo, Value, VisitorMut};

use super::number::numeric_literal;
use super::scalar::is_subquery;
use super::{Item, like};
use crate::error::{Clause, Feature, PlanError};
use crate::nearest::nearest;
use crate::schema::{Column, Schema};
use crate::sql::walk::walk_mut;

/// The names in scope.
pub(super) struct Names<'a> {
    pub(super) schema: &'a Schema,
    /// Qualifier of the table's columns.
    pub(super) alias: Ident,
}

impl Names<'_> {
    /// The column that `ident` names.
    fn column(&self, ident: &Ident) -> Option<&Column> {
        match ident.quote_style {
            None => self.schema.column(&ident.value),
            Some(_) => self.schema.columns.iter().find(|column| column.name == ident.value),
        }
    }

    /// Whether `ident` is the table's qualifier.
    pub(super) fn is_table(&self, ident: &Ident) -> bool {
        let exact = ident.quote_style.is_some() || self.alias.quote_style.is_some();
        ident.value == self.alias.value || !exact && ident.value.eq_ignore_ascii_case(&self.alias.value)
    }

    /// Resolves every column in `expr`; a name that is no column may be the name of an output in `items`.
    pub(super) fn resolve(&self, mut expr: Expr, clause: Clause, items: &[Item]) -> Result<Expr, PlanError> {
        if matches!(clause, Clause::Where | Clause::Having) {
            settle(&mut expr);
        }
        let mut resolver = Resolver { names: self, clause, items };
        match walk_mut(&mut expr, &mut resolver) {
            ControlFlow::Continue(()) => Ok(expr),
            ControlFlow::Break(error) => Err(*error),
        }
    }

    /// An expression of GROUP BY or ORDER BY: an ordinal, an output's name, or any expression.
    ///
    /// A lone name that could mean both is the column in GROUP BY, and in ORDER BY the output if the user named it.
    pub(super) fn item_or_expr(&self, expr: Expr, clause: Clause, items: &[Item]) -> Result<Expr, PlanError> {
        if let Some(item) = ordinal(&expr, clause, items)? {
            return Ok(item.expr.clone());
        }
        if let (Clause::OrderBy, Expr::Identifier(ident)) = (clause, &expr)
            && let Some(item) = items.iter().find(|item| item.named && is_named(item, ident))
        {
            return Ok(item.expr.clone());
        }
        let expr = self.resolve(expr, clause, items)?;
        // An alias that stood alone needs no parentheses, and keys are compared without them.
        Ok(super::bare(&expr).clone())
    }

    fn unknown(&self, clause: Clause, found: String, quoted: bool) -> PlanError {
        let names = self.schema.columns.iter().map(|column| column.name.as_str());
        let nearest = nearest(&found, names).map(str::to_owned);
        PlanError::UnknownColumn { clause, found, quoted, nearest, table: self.schema.table.clone() }
    }
}

fn is_named(item: &Item, ident: &Ident) -> bool {
    item.name == ident.value || ident.quote_style.is_none() && item.name.eq_ignore_ascii_case(&ident.value)
}

fn ordinal<'a>(expr: &Expr, clause: Clause, items: &'a [Item]) -> Result<Option<&'a Item>, PlanError> {
    let Expr::Value(value) = expr else { return Ok(None) };
    let Value::Number(digits, _) = &value.value else { return Ok(None) };
    let item = digits.parse::<usize>().ok().and_then(|place| items.get(place.checked_sub(1)?));
    item.map(Some).ok_or(PlanError::Position { clause, low: 1, high: items.len() as u64 })
}

struct Resolver<'a> {
    names: &'a Names<'a>,
    clause: Clause,
    items: &'a [Item],
}

impl Resolver<'_> {
    fn target(&self, expr: &Expr) -> Result<Option<Expr>, PlanError> {
        let ident = match expr {
            Expr::Identifier(ident) => ident,
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, column] if self.names.is_table(table) => column,
                _ => return Err(self.names.unknown(self.clause, expr.to_string(), false)),
            },
            _ => return Ok(None),
        };
        if let Some(column) = self.names.column(ident) {
            return Ok(Some(Expr::Identifier(Ident::with_quote('"', &column.name))));
        }
        let item = match expr {
            Expr::Identifier(_) => self.items.iter().find(|item| is_named(item, ident)),
            _ => None,
        };
        match item {
            Some(item) => Ok(Some(Expr::Nested(Box::new(item.expr.clone())))),
            None => Err(self.names.unknown(self.clause, ident.value.clone(), ident.quote_style.is_some())),
        }
    }
}

/// A literal such as `1e300`, which no decimal holds, as the double that it means.
pub(super) fn beyond_decimals(expr: &Expr) -> Option<Expr> {
    let Expr::Value(value) = expr else { return None };
    let Value::Number(text, _) = &value.value else { return None };
    if !text.contains(['e', 'E']) || numeric_literal(expr).is_some() {
        return None;
    }
    Some(Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(Expr::Value(Value::SingleQuotedString(text.clone()).into())),
        data_type: DataType::Double(ExactNumberInfo::None),
        array: false,
        format: None,
    })
}

/// Times have microseconds, as the tables do: the engine's nanoseconds end in the year 2262.
pub(super) fn to_microseconds(expr: &mut Expr) {
    let kind = match expr {
        Expr::TypedString(typed) => &mut typed.data_type,
        Expr::Cast { data_type, .. } => data_type,
        _ => return,
    };
    if let DataType::Timestamp(precision @ None, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) = kind {
        *precision = Some(6);
    }
}

/// A condition that is NULL holds nowhere, as FALSE does; the engine takes no untyped NULL for a condition.
pub(super) fn settle(condition: &mut Expr) {
    if matches!(super::bare(condition), Expr::Value(value) if value.value == Value::Null) {
        *condition = Expr::Value(Value::Boolean(false).into());
    }
}

/// Settles the conditions directly in an expression.
pub(super) fn settle_conditions(expr: &mut Expr) {
    match expr {
        Expr::Case { operand: None, conditions, .. } => {
            conditions.iter_mut().for_each(|when| settle(&mut when.condition));
        }
        Expr::Function(function) => {
            if let Some(filter) = &mut function.filter {
                settle(filter);
            }
        }
        _ => {}
    }
}

impl VisitorMut for Resolver<'_> {
    type Break = Box<PlanError>;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        // The names within are not those of this table alone.
        if is_subquery(expr) {
            let feature = Feature::Subquery;
            return ControlFlow::Break(Box::new(PlanError::Unsupported { clause: self.clause, feature }));
        }
        if let Some(double) = beyond_decimals(expr) {
            *expr = double;
        }
        to_microseconds(expr);
        settle_conditions(expr);
        let target = like::with_backslash(expr, self.clause).and_then(|()| self.target(expr));
        match target {
            Err(error) => ControlFlow::Break(Box::new(error)),
            Ok(None) => ControlFlow::Continue(()),
            Ok(Some(target)) => {
                *expr = target;
                ControlFlow::Continue(())
            }
        }
    }
}
