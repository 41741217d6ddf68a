// SPDX-License-Identifier: Apache-2.0
//! A condition on the rows of a table, on any column: for an owner who looks for rows.
//!
//! Its parts over clear columns are for the server. The others, over encrypted and sealed columns too, are for the owner, who decrypts the
//! columns of the rows that are left.

use sqlparser::ast::{BinaryOperator, Expr};

use super::expression::{bare, columns_of, quoted, shown};
use super::{Query, column_name, names, scalar, statement, types};
use crate::conditions::predicate;
use crate::error::{Clause, Feature, PlanError};
use crate::final_sql::{Replacement, rewrite};
use crate::plan::Predicate;
use crate::schema::{ColumnType, Protection, Schema};

/// A condition whose names and types are known to be good.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    filter: Expr,
    clear: Option<Predicate>,
    rest: Option<OwnedCondition>,
}

/// The part of a condition that its owner evaluates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedCondition {
    /// SQL over columns of these names.
    pub sql: String,
    /// The columns, sorted, each once.
    pub columns: Vec<String>,
}

impl Condition {
    /// Parses and resolves `text` against the columns of `schema`. The word WHERE may stand before it.
    ///
    /// # Errors
    /// Those of [`super::parse`]; [`PlanError::NotQueryable`] for columns that the table does not have.
    pub fn parse(schema: &Schema, text: &str) -> Result<Self, PlanError> {
        let text = text.trim();
        let rest =
            text.get(..5).filter(|word| word.eq_ignore_ascii_case("where")).and_then(|_| text.get(5..));
        let text = rest.filter(|rest| rest.starts_with([' ', '\t', '\n', '\r', '('])).unwrap_or(text);
        let sql = format!("SELECT 1 FROM {} WHERE {text}", quoted(&schema.table));
        let raw = statement::single_select(schema, &sql)?;
        let more = raw.having.is_some() || !raw.keys.is_empty() || !raw.order.is_empty();
        if more || raw.limit.is_some() || raw.offset > 0 || raw.distinct || raw.projection.len() != 1 {
            return Err(PlanError::Unsupported { clause: Clause::Where, feature: Feature::Dialect });
        }
        let names = names::Names { schema, alias: raw.alias.clone() };
        let filter = raw.filter.ok_or(PlanError::NotOneSelect { found: 0, verb: "" })?;
        let filter = names.resolve(filter, Clause::Where, &[])?;
        let query = Query {
            items: Vec::new(),
            filter: Some(filter.clone()),
            keys: Vec::new(),
            having: None,
            order: Vec::new(),
            limit: None,
            offset: 0,
            grouped: false,
            distinct: false,
            left_out: Vec::new(),
        };
        scalar::check_structure(&query)?;
        types::check_types(schema, &query)?;
        let (mut clear, mut rest) = (Vec::new(), Vec::new());
        for member in members(&filter) {
            let protections = columns_of(member).into_iter().map(|name| stored(schema, &name));
            let protections = protections.collect::<Result<Vec<_>, PlanError>>()?;
            let is_clear = protections.iter().all(|protect| *protect == Protection::Clear);
            if is_clear { clear.push(member) } else { rest.push(member) }
        }
        let clear = clear.into_iter().map(predicate).reduce(Predicate::and);
        let rest = owned(schema, &rest)?;
        Ok(Self { filter, clear, rest })
    }

    /// The condition as the user typed it, but for spacing.
    pub fn text(&self) -> String {
        shown(bare(&self.filter))
    }

    /// The part that the server evaluates: over clear columns alone. `None`: it leaves all rows.
    pub fn clear(&self) -> Option<&Predicate> {
        self.clear.as_ref()
    }

    /// The part that the owner evaluates, on the rows that the other one leaves.
    pub fn owned(&self) -> Option<&OwnedCondition> {
        self.rest.as_ref()
    }
}

/// The members of AND, without brackets.
fn members(expr: &Expr) -> Vec<&Expr> {
    match bare(expr) {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => [members(left), members(right)].concat(),
        member => vec![member],
    }
}

/// The protection of a column that the table has.
fn stored(schema: &Schema, name: &str) -> Result<Protection, PlanError> {
    let column = schema.columns.iter().find(|column| column.name == name);
    match column.map(|column| column.protect) {
        Some(protect @ (Protection::Clear | Protection::Encrypt | Protection::Seal)) => Ok(protect),
        // Dropped, undecided, or of another schema.
        _ => super::clear::usable(schema, name, Clause::Where).map(|column| column.protect),
    }
}

/// The members joined by AND, as an ordinary query engine reads them.
fn owned(schema: &Schema, members: &[&Expr]) -> Result<Option<OwnedCondition>, PlanError> {
    let mut columns: Vec<String> = members.iter().flat_map(|member| columns_of(member)).collect();
    columns.sort();
    columns.dedup();
    let mut leaf = |expr: &Expr| {
        let column =
            column_name(expr).and_then(|name| schema.columns.iter().find(|column| column.name == name));
        Ok(column.map(|column| {
            let is_int = matches!(column.kind, ColumnType::Int { .. });
            Replacement { column: quoted(&column.name), is_int }
        }))
    };
    let texts = members.iter().map(|member| Ok(format!("({})", rewrite(member, &mut leaf)?)));
    let sql = texts.collect::<Result<Vec<_>, PlanError>>()?.join(" AND ");
    Ok((!members.is_empty()).then_some(OwnedCondition { sql, columns }))
}

#[cfg(test)]
mod tests;
