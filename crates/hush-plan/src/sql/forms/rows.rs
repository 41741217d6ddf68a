// SPDX-License-Identifier: Apache-2.0
//! Comparisons of rows of values, part by part as the SQL standard says, and quantifiers over lists.

use sqlparser::ast::{Array, BinaryOperator, Expr, Query, UnaryOperator, Value};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;

use super::super::expression::is_comparison;
use super::super::{bare, bounds};
use super::{length, nested};
use crate::error::{Clause, Feature, PlanError};

/// Takes account of what will be written.
type Take<'a> = dyn FnMut(usize) -> Result<(), PlanError> + 'a;

/// The name of rows that are sought by [`sought_rows`].
const SOUGHT: &str = "hush sought";

/// What a comparison of rows or a quantifier over a list stands for; `None` for what is neither.
///
/// # Errors
/// P005 for rows of different lengths; those of `take`.
pub(super) fn written(expr: &Expr, take: &mut Take<'_>) -> Result<Option<Expr>, PlanError> {
    match expr {
        Expr::BinaryOp { left, op, right } if is_comparison(op) => match (row(left), row(right)) {
            (Some(left), Some(right)) => compared(left, op, right, take).map(Some),
            _ => Ok(None),
        },
        Expr::InList { expr, list, negated } => {
            let Some(left) = row(expr) else { return Ok(None) };
            let rows = list.iter().map(|right| {
                let right = row(right).ok_or_else(other_lengths)?;
                Ok(nested(compared(left, &BinaryOperator::Eq, right, take)?))
            });
            let any = nested(joined(rows.collect::<Result<_, PlanError>>()?, &BinaryOperator::Or, false));
            // Printed without brackets, NOT would take in what stands behind.
            Ok(Some(match negated {
                false => any,
                true => nested(Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(any) }),
            }))
        }
        Expr::AnyOp { left, compare_op, right, .. } => quantified(left, compare_op, right, false, take),
        Expr::AllOp { left, compare_op, right } => quantified(left, compare_op, right, true, take),
        _ => Ok(None),
    }
}

/// Makes `(a, b) IN (SELECT …)` where it has to hold the EXISTS that holds in the same rows. Anywhere else the two differ where a part is NULL.
///
/// # Errors
/// Those of `take`.
pub(super) fn sought_rows(condition: &mut Expr, take: &mut Take<'_>) -> Result<(), PlanError> {
    match condition {
        Expr::Nested(inner) => sought_rows(inner, take),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            sought_rows(left, take)?;
            sought_rows(right, take)
        }
        Expr::InSubquery { expr, subquery, negated: false } => {
            let Some(parts) = row(expr) else { return Ok(()) };
            take(length(expr) + 64 * parts.len())?;
            *condition = exists(parts, subquery)?;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The parts of a row.
fn row(expr: &Expr) -> Option<&[Expr]> {
    match bare(expr) {
        Expr::Tuple(parts) if !parts.is_empty() => Some(parts),
        _ => None,
    }
}

fn other_lengths() -> PlanError {
    unsupported(Feature::RowLengths)
}

/// One comparison of two rows, as one of their parts.
fn compared(
    left: &[Expr],
    op: &BinaryOperator,
    right: &[Expr],
    take: &mut Take<'_>,
) -> Result<Expr, PlanError> {
    use BinaryOperator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or};
    if left.len() != right.len() {
        return Err(other_lengths());
    }
    let bytes: usize = left.iter().chain(right).map(|part| length(part) + 8).sum();
    let part = |op: &BinaryOperator, place: usize| {
        let side = |of: &[Expr]| of.get(place).cloned().map(|part| Box::new(nested(part)));
        let (left, right) = (side(left)?, side(right)?);
        Some(Expr::BinaryOp { left, op: op.clone(), right })
    };
    let all = |op: &BinaryOperator| (0..left.len()).filter_map(|place| part(op, place)).collect();
    let strict = match op {
        Eq | NotEq => {
            take(bytes)?;
            return Ok(nested(joined(all(op), if *op == Eq { &And } else { &Or }, false)));
        }
        Lt | LtEq => Lt,
        Gt | GtEq => Gt,
        _ => return Err(unsupported(Feature::Dialect)),
    };
    take(2 * bytes)?;
    // From the last part on: all parts before decide only where they are equal.
    let mut places = (0..left.len()).rev();
    let last = places.next().and_then(|place| part(op, place)).ok_or_else(other_lengths)?;
    let whole = places.try_fold(last, |behind, place| {
        let equal = part(&Eq, place)?;
        let tied = joined(vec![equal, nested(behind)], &And, false);
        Some(joined(vec![part(&strict, place)?, nested(tied)], &Or, false))
    });
    whole.map(nested).ok_or_else(other_lengths)
}

/// Members under one operator, halved again and again, so that none is deep. Without members the value of the empty list.
fn joined(mut members: Vec<Expr>, op: &BinaryOperator, empty: bool) -> Expr {
    match members.len() {
        0 => Expr::Value(Value::Boolean(empty).into()),
        1 => members.remove(0),
        count => {
            let behind = members.split_off(count / 2);
            let side = |members: Vec<Expr>| match joined(members, op, empty) {
                deep @ Expr::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or, .. } => nested(deep),
                plain => plain,
            };
            let (left, right) = (Box::new(side(members)), Box::new(side(behind)));
            Expr::BinaryOp { left, op: op.clone(), right }
        }
    }
}

/// `ANY` and `ALL` over a list, or over a query where IN says the same.
fn quantified(
    left: &Expr,
    op: &BinaryOperator,
    right: &Expr,
    is_all: bool,
    take: &mut Take<'_>,
) -> Result<Option<Expr>, PlanError> {
    use BinaryOperator::{And, Eq, NotEq, Or};
    let as_list = match (op, is_all) {
        (Eq, false) => Some(false),
        (NotEq, true) => Some(true),
        _ => None,
    };
    if let (Expr::Subquery(query), Some(negated)) = (bare(right), as_list) {
        take(1)?;
        let (expr, subquery) = (Box::new(operand(left.clone())), query.clone());
        return Ok(Some(Expr::InSubquery { expr, subquery, negated }));
    }
    let list = match bare(right) {
        Expr::Array(Array { elem, .. }) | Expr::Tuple(elem) => elem.clone(),
        _ => return Ok(None),
    };
    match as_list {
        _ if list.is_empty() => {}
        Some(negated) => {
            take(1)?;
            return Ok(Some(Expr::InList { expr: Box::new(operand(left.clone())), list, negated }));
        }
        None => {}
    }
    let left_bytes = length(left) + 10;
    take(list.iter().map(|value| length(value) + left_bytes).sum())?;
    let one = |value: Expr| {
        let (left, right) = (Box::new(nested(left.clone())), Box::new(operand(value)));
        Expr::BinaryOp { left, op: op.clone(), right }
    };
    let join = if is_all { And } else { Or };
    Ok(Some(nested(joined(list.into_iter().map(one).collect(), &join, is_all))))
}

/// A side of an operator: in brackets, unless it is one word.
fn operand(expr: Expr) -> Expr {
    match expr {
        Expr::Value(_) | Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Nested(_) => expr,
        other => nested(other),
    }
}

/// `EXISTS (SELECT 1 FROM (query) AS s (v1, v2) WHERE s.v1 = a AND s.v2 = b)`.
fn exists(parts: &[Expr], query: &Query) -> Result<Expr, PlanError> {
    let name = |place: usize| format!("\"{SOUGHT} {place}\"");
    let columns: Vec<String> = (0..parts.len()).map(name).collect();
    let equal = parts.iter().zip(&columns).map(|(part, column)| format!("\"{SOUGHT}\".{column} = ({part})"));
    let (equal, columns) = (equal.collect::<Vec<_>>().join(" AND "), columns.join(", "));
    let text = format!("EXISTS (SELECT 1 FROM ({query}) AS \"{SOUGHT}\" ({columns}) WHERE {equal})");
    let tokens = bounds::tokens(&text, &bounds::QUERY)?;
    let parsed = Parser::new(&GenericDialect {}).with_tokens_with_locations(tokens).parse_expr();
    parsed.map_err(|_| unsupported(Feature::Subquery))
}

fn unsupported(feature: Feature) -> PlanError {
    PlanError::Unsupported { clause: Clause::Where, feature }
}
