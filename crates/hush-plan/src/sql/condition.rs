// SPDX-License-Identifier: Apache-2.0
//! A condition on the rows of a table, on any column: for an owner who looks for rows.
//!
//! Its members over clear columns are for whoever has no key: they say which rows come into question. The whole condition, over encrypted and
//! sealed columns too, is for the owner, who decrypts the columns of those rows.

use sqlparser::ast::{BinaryOperator, Expr};

use super::expression::{bare, columns_of, quoted, renamed, shown};
use super::{Query, names, scalar, statement, types};
use crate::conditions::predicate;
use crate::error::{Clause, Feature, PlanError};
use crate::plan::Predicate;
use crate::schema::{Protection, Schema};

/// A condition whose names and types are known to be good.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    filter: Expr,
    clear: Option<Predicate>,
    is_clear: bool,
    owned: OwnedCondition,
}

/// A condition as its owner evaluates it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedCondition {
    /// Over the table's columns, whatever their protection.
    pub predicate: Predicate,
    /// The table's columns that these are, sorted, each once.
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
        let (mut clear, mut is_clear) = (Vec::new(), true);
        for member in members(&filter) {
            let protections = columns_of(member).into_iter().map(|name| stored(schema, &name));
            let protections = protections.collect::<Result<Vec<_>, PlanError>>()?;
            match protections.iter().all(|protect| *protect == Protection::Clear) {
                true => clear.push(member),
                false => is_clear = false,
            }
        }
        let clear = clear.into_iter().map(predicate).reduce(Predicate::and);
        let owned = owned(&filter);
        Ok(Self { filter, clear, is_clear, owned })
    }

    /// The condition, resolved.
    pub(crate) fn expr(&self) -> &Expr {
        &self.filter
    }

    /// The condition as the user typed it, but for spacing.
    pub fn text(&self) -> String {
        shown(bare(&self.filter))
    }

    /// The members over clear columns alone. `None`: there are none, and every row comes into question.
    pub fn clear(&self) -> Option<&Predicate> {
        self.clear.as_ref()
    }

    /// Whether those are all members, so that the rows that they leave are the rows of the condition.
    pub fn is_clear(&self) -> bool {
        self.is_clear
    }

    /// The whole condition, for the owner.
    pub fn owned(&self) -> &OwnedCondition {
        &self.owned
    }
}

/// Whether `text` is a condition on the rows of the table, or a truth value of theirs.
pub fn is_condition(schema: &Schema, text: &str) -> bool {
    let is_truth =
        |condition: &Condition| types::family(schema, &condition.filter) == Some(types::Family::Bool);
    Condition::parse(schema, text).as_ref().is_ok_and(is_truth)
}

/// A resolved condition, as SQL, with other names for its columns; `None` if one of them has no name, or for what is no condition.
pub(crate) fn renamed_condition(text: &str, name: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    Some(renamed(&statement::condition_of(text)?, name)?.to_string())
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
    match schema.column(name).map(|column| column.protect) {
        Some(
            protect @ (Protection::Clear | Protection::Encrypt | Protection::JoinKey | Protection::Seal),
        ) => Ok(protect),
        // Dropped, undecided, or of another schema.
        _ => super::clear::usable(schema, name, Clause::Where).map(|column| column.protect),
    }
}

/// The condition as its owner evaluates it.
fn owned(filter: &Expr) -> OwnedCondition {
    let mut columns = columns_of(filter);
    columns.sort();
    columns.dedup();
    OwnedCondition { predicate: predicate(filter), columns }
}

#[cfg(test)]
mod tests;
