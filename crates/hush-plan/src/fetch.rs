// SPDX-License-Identifier: Apache-2.0
//! Queries that the owner answers, protection known, layouts not yet: which columns come back, and which rows of them.
//!
//! The server sends the encrypted and sealed columns of the rows that a condition on clear columns leaves. The owner opens them, and puts the
//! question to a table of his own in which nothing is encrypted ([`Schema::all_clear`]). So every question that can be asked of clear columns
//! has an answer, and its types are those of every other way.

use sqlparser::ast::{BinaryOperator, Expr};

use crate::by_row;
use crate::error::{Clause, PlanError};
use crate::grouped;
use crate::quantity::Quantity;
use crate::schema::{Column, NO_VALUES, Protection, Schema};
use crate::sql::clear::{encrypted_in, usable};
use crate::sql::{Query, bare};

/// A query without its encodings, by the columns that it reads.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fetch<'a> {
    pub(crate) clear: Vec<&'a Column>,
    pub(crate) encrypted: Vec<&'a Column>,
    /// Sealed columns, and sealed copies of encrypted ones.
    pub(crate) sealed: Vec<&'a Column>,
    /// The part of the condition that clear columns decide.
    pub(crate) filter: Option<Expr>,
    /// Rows after which nothing more is wanted.
    pub(crate) limit: Option<u64>,
}

/// Finds what a query over at most `rows` rows reads, with copies of the columns that have one. `None` where it reads an approximate column
/// without: what comes back of that is near its values, and conditions may not hold for both.
///
/// # Errors
/// [`PlanError::NotQueryable`] for columns that are not stored; whatever is refused where nothing is encrypted.
pub(crate) fn compile<'a>(
    schema: &'a Schema,
    query: &Query,
    rows: u64,
    has_copy: &dyn Fn(&Column) -> bool,
) -> Result<Option<Fetch<'a>>, PlanError> {
    let mut fetch =
        Fetch { clear: Vec::new(), encrypted: Vec::new(), sealed: Vec::new(), filter: None, limit: None };
    for name in query.columns() {
        let Some(column) = schema.column(&name) else { continue };
        match column.protect {
            Protection::Clear => fetch.clear.push(column),
            Protection::Encrypt if has_copy(column) => fetch.sealed.push(column),
            Protection::Encrypt => fetch.encrypted.push(column),
            // Of a column without values nobody knows the type.
            Protection::Seal if column.reason != NO_VALUES => fetch.sealed.push(column),
            Protection::Decide | Protection::Drop | Protection::JoinKey | Protection::Seal => {
                usable(schema, &name, Clause::Select)?;
            }
        }
    }
    let open = schema.all_clear();
    if query.is_grouped() {
        grouped::compile(&open, query, rows)?;
    } else {
        by_row::compile(&open, query, &|_| false)?;
    }
    if fetch.encrypted.iter().any(|column| column.is_approximate()) {
        return Ok(None);
    }
    let conditions = query.filter.iter().flat_map(conjuncts);
    let (clear, other): (Vec<&Expr>, Vec<&Expr>) =
        conditions.partition(|condition| matches!(encrypted_in(schema, condition, Clause::Where), Ok(None)));
    fetch.filter = clear.into_iter().cloned().reduce(and);
    let takes_first = !query.is_grouped() && query.order.is_empty() && !query.has_windows();
    if takes_first && other.is_empty() {
        fetch.limit = query.limit.map(|limit| limit.saturating_add(query.offset));
    }
    Ok(Some(fetch))
}

/// The refusal of a query that no server answers, and the owner not exactly.
pub(crate) fn refused(schema: &Schema, query: &Query, refusal: PlanError) -> PlanError {
    let names = query.columns();
    let approximate =
        schema.protected(Protection::Encrypt).find(|c| c.is_approximate() && names.contains(&c.name));
    match (&refusal, approximate) {
        (
            PlanError::EncryptedComparison { .. }
            | PlanError::EncryptedOperand { .. }
            | PlanError::NotPolynomial { .. }
            | PlanError::NotQueryable { protect: Protection::Seal, .. }
            | PlanError::Unsupported { .. }
            | PlanError::UnsupportedCall { .. },
            Some(column),
        ) => PlanError::ApproximateColumn { column: column.name.clone() },
        _ => refusal,
    }
}

impl Fetch<'_> {
    /// The quantities that come back.
    pub(crate) fn quantities(&self) -> impl Iterator<Item = Quantity> {
        self.encrypted.iter().flat_map(|column| {
            let valid = column.nullable.then(|| Quantity::Valid(column.name.clone()));
            std::iter::once(Quantity::Value(column.name.clone())).chain(valid)
        })
    }
}

/// The conditions of which all must hold.
pub(crate) fn conjuncts(condition: &Expr) -> Vec<&Expr> {
    match bare(condition) {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            [conjuncts(left), conjuncts(right)].concat()
        }
        single => vec![single],
    }
}

pub(crate) fn and(left: Expr, right: Expr) -> Expr {
    // A disjunction keeps its parentheses, which `bare` took off.
    let nested = |expr: Expr| match expr {
        Expr::BinaryOp { op: BinaryOperator::Or | BinaryOperator::Xor, .. } => Expr::Nested(Box::new(expr)),
        other => other,
    };
    Expr::BinaryOp { left: Box::new(nested(left)), op: BinaryOperator::And, right: Box::new(nested(right)) }
}

#[cfg(test)]
mod tests;
