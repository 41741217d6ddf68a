// SPDX-License-Identifier: Apache-2.0
//! Conditions that are worked out of each row when it is encrypted (`derive` in a schema), and then are flags like those of values.
//!
//! Between schema and query such a condition is a column of truth values whose name is its text. A query that has the condition in it reads that
//! column instead, and whatever plans conditions on columns plans it.
//!
//! ```text
//! derive = ["commit < receipt"]   ─ with_derived ─▶  a column "commit < receipt" of truth values
//! WHERE receipt > commit AND x=1  ─ named ────────▶  WHERE "commit < receipt" AND x = 1
//! ```

use std::borrow::Cow;
use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, Ident, UnaryOperator, Value, VisitorMut};

use crate::error::PlanError;
use crate::schema::{Column, ColumnType, FilterFault, Protection, Purpose, Schema, Written};
use crate::sql::walk::walk_mut;
use crate::sql::{Condition, Query, bare, column_name, columns_of, holds};

/// A condition that is worked out when rows are encrypted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Derived {
    /// As a user would type it: the name of its column.
    pub(crate) name: String,
    /// Resolved, as SQL.
    pub(crate) condition: String,
    /// The columns that it reads, sorted, each once.
    pub(crate) columns: Vec<String>,
    /// Whether it may be NULL.
    pub(crate) nullable: bool,
    /// The members of AND that it is, each in its one form, with whether it is its negation that holds.
    members: Vec<(Expr, bool)>,
}

impl Derived {
    /// Reads a condition on the columns of a schema.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn of(schema: &Schema, text: &str) -> Result<Self, FilterFault> {
        let unfit = |fault: PlanError| FilterFault::Derived { text: text.to_owned(), why: fault.to_string() };
        let condition = Condition::parse(&schema.all_clear(), text).map_err(unfit)?;
        let (name, expr) = (condition.text(), bare(condition.expr()));
        let columns = condition.owned().columns.clone();
        let described = |name: &String| schema.columns.iter().find(|column| column.name == *name);
        let read: Vec<&Column> = columns.iter().filter_map(described).collect();
        if let Some(column) = read.iter().find(|column| column.protect == Protection::JoinKey) {
            let why =
                format!("{} is a join key, which is for joins and conditions with = alone", column.name);
            return Err(FilterFault::Derived { text: text.to_owned(), why });
        }
        if let Some(column) = read.iter().find(|column| column.is_approximate()) {
            return Err(FilterFault::Approximate { column: column.name.clone() });
        }
        let is_hidden = |column: &&Column| matches!(column.protect, Protection::Encrypt | Protection::Seal);
        if !read.iter().any(is_hidden) {
            return Err(FilterFault::NotHidden { column: name });
        }
        if schema.columns.iter().any(|column| column.name == name) {
            return Err(FilterFault::Twice { column: name });
        }
        let nullable = read.iter().any(|column| column.nullable) || holds(expr, may_be_null);
        let members = members(expr).into_iter().map(of_one_form).collect();
        Ok(Self { name, condition: expr.to_string(), columns, nullable, members })
    }

    /// Whether they are of the same rows, or one is the negation of the other.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self.members.as_slice(), other.members.as_slice()) {
            ([(one, _)], [(other, _)]) => one == other,
            (some, others) => some == others,
        }
    }

    /// The columns that it compares with a constant each, if that is all that it does: then it is a cell of these columns.
    pub(crate) fn equalities(&self) -> Vec<(String, Expr)> {
        let equality = |(member, is_negated): &(Expr, bool)| {
            let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = member else { return None };
            let of = |column: &Expr, value: &Expr| {
                let is_constant = columns_of(value).is_empty();
                column_name(column).filter(|_| is_constant).map(|name| (name.to_owned(), value.clone()))
            };
            of(left, right).or_else(|| of(right, left)).filter(|_| !is_negated)
        };
        let all: Option<Vec<(String, Expr)>> = self.members.iter().map(equality).collect();
        all.filter(|all| all.len() == self.columns.len()).unwrap_or_default()
    }

    /// It as a column.
    fn column(&self) -> Column {
        Column {
            name: self.name.clone(),
            kind: ColumnType::Bool,
            nullable: self.nullable,
            range: None,
            protect: Protection::Encrypt,
            purposes: vec![Purpose::Filter],
            reason: String::new(),
            written: Written::default(),
            join: None,
        }
    }
}

impl Schema {
    /// The conditions that it derives, as far as they can be.
    pub(crate) fn all_derived(&self) -> Vec<Derived> {
        self.derived.iter().filter_map(|text| Derived::of(self, text).ok()).collect()
    }

    /// The same with a column for each condition that it derives, and nothing to derive any more. No table has such columns.
    pub fn with_derived(&self) -> Cow<'_, Self> {
        if self.derived.is_empty() {
            return Cow::Borrowed(self);
        }
        let columns: Vec<Column> = self.all_derived().iter().map(Derived::column).collect();
        let mut schema = Self { derived: Vec::new(), ..self.clone() };
        schema.columns.extend(columns);
        Cow::Owned(schema)
    }
}

/// A query that reads the columns of conditions that a schema derives, wherever it has these conditions in it.
pub(crate) fn named<'q>(schema: &Schema, query: &'q Query) -> Cow<'q, Query> {
    let mut derived = schema.all_derived();
    if derived.is_empty() {
        return Cow::Borrowed(query);
    }
    // Where one is a member of another, the larger one is looked for first.
    derived.sort_by_key(|one| std::cmp::Reverse(one.members.len()));
    let mut query = query.clone();
    let mut name = Naming { derived: &derived };
    let items = query.items.iter_mut().map(|item| &mut item.expr);
    let rest = query.filter.iter_mut().chain(&mut query.keys).chain(&mut query.having);
    for expr in items.chain(rest).chain(query.order.iter_mut().map(|order| &mut order.expr)) {
        let _ = walk_mut(expr, &mut name);
    }
    Cow::Owned(query)
}

/// Puts names in the place of conditions, from without to within.
struct Naming<'a> {
    derived: &'a [Derived],
}

impl VisitorMut for Naming<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if columns_of(expr).is_empty() {
            return ControlFlow::Continue(());
        }
        let mut left: Vec<Expr> = members(expr).into_iter().cloned().collect();
        let mut found: Vec<Expr> = Vec::new();
        for derived in self.derived {
            if let Some((rest, is_negated)) = without(&left, derived) {
                left = rest;
                found.push(column_of(&derived.name, is_negated));
            }
        }
        if !found.is_empty() {
            let both = |left: Expr, right: Expr| Expr::BinaryOp {
                left: Box::new(left),
                op: BinaryOperator::And,
                right: Box::new(right),
            };
            // A member of AND that is an OR has its parentheses still.
            let all = found.into_iter().chain(left).reduce(both);
            *expr = all.map_or_else(|| expr.clone(), |all| Expr::Nested(Box::new(all)));
        }
        ControlFlow::Continue(())
    }
}

/// The members of a list that a condition leaves, and whether it is its negation that is taken out; `None` where it is not in the list.
fn without(list: &[Expr], derived: &Derived) -> Option<(Vec<Expr>, bool)> {
    let forms: Vec<(Expr, bool)> = list.iter().map(of_one_form).collect();
    let without = |taken: &[usize]| {
        let left = list.iter().enumerate().filter(|(place, _)| !taken.contains(place));
        left.map(|(_, member)| member.clone()).collect()
    };
    if let [(form, is_negated)] = derived.members.as_slice() {
        let place = forms.iter().position(|(other, _)| other == form)?;
        return Some((without(&[place]), forms[place].1 != *is_negated));
    }
    let taken = derived.members.iter().map(|member| forms.iter().position(|other| other == member));
    Some((without(&taken.collect::<Option<Vec<_>>>()?), false))
}

fn column_of(name: &str, is_negated: bool) -> Expr {
    let column = Expr::Identifier(Ident::with_quote('"', name));
    match is_negated {
        false => column,
        true => Expr::Nested(Box::new(Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(column) })),
    }
}

/// The members of AND, in their parentheses.
fn members(expr: &Expr) -> Vec<&Expr> {
    match bare(expr) {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => [members(left), members(right)].concat(),
        _ => vec![expr],
    }
}

/// One of the forms that a condition can be written in, without parentheses, and whether it is the negation of that. Both are NULL for the same rows.
fn of_one_form(expr: &Expr) -> (Expr, bool) {
    struct Unnest;
    impl VisitorMut for Unnest {
        type Break = ();
        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::Nested(inner) = expr {
                *expr = std::mem::replace(&mut **inner, Expr::Value(Value::Null.into()));
            }
            ControlFlow::Continue(())
        }
    }
    let mut plain = expr.clone();
    let _ = walk_mut(&mut plain, &mut Unnest);
    turned(plain)
}

fn turned(expr: Expr) -> (Expr, bool) {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    match expr {
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
            let (expr, is_negated) = turned(*expr);
            (expr, !is_negated)
        }
        Expr::BinaryOp { left, op: Gt, right } => {
            (Expr::BinaryOp { left: right, op: Lt, right: left }, false)
        }
        Expr::BinaryOp { left, op: LtEq, right } => {
            (Expr::BinaryOp { left: right, op: Lt, right: left }, true)
        }
        Expr::BinaryOp { left, op: GtEq, right } => (Expr::BinaryOp { left, op: Lt, right }, true),
        Expr::BinaryOp { left, op: op @ (Eq | NotEq), right } => {
            let (left, right) =
                if left.to_string() <= right.to_string() { (left, right) } else { (right, left) };
            (Expr::BinaryOp { left, op: Eq, right }, op == NotEq)
        }
        Expr::Between { expr, negated, low, high } => {
            (Expr::Between { expr, negated: false, low, high }, negated)
        }
        Expr::InList { expr, list, negated } => (Expr::InList { expr, list, negated: false }, negated),
        Expr::Like { negated, any, expr, pattern, escape_char } => {
            (Expr::Like { negated: false, any, expr, pattern, escape_char }, negated)
        }
        Expr::ILike { negated, any, expr, pattern, escape_char } => {
            (Expr::ILike { negated: false, any, expr, pattern, escape_char }, negated)
        }
        Expr::IsNotNull(inner) => (Expr::IsNull(inner), true),
        other => (other, false),
    }
}

/// Whether a node may be NULL though nothing in it is.
fn may_be_null(expr: &Expr) -> bool {
    use BinaryOperator::{Divide, Modulo};
    match expr {
        Expr::Value(value) => value.value == Value::Null,
        Expr::BinaryOp { op, .. } => matches!(op, Divide | Modulo),
        Expr::Identifier(_)
        | Expr::Nested(_)
        | Expr::TypedString(_)
        | Expr::UnaryOp { .. }
        | Expr::Between { .. }
        | Expr::InList { .. }
        | Expr::Like { .. }
        | Expr::ILike { .. }
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{self, shown};
    use crate::tables::{column, nullable, ranged, schema};

    fn orders() -> Schema {
        let day = |name| ranged(column(name, ColumnType::Date, Protection::Encrypt), 8000, 9000);
        let columns = vec![
            day("ship"),
            day("commit"),
            nullable(day("receipt")),
            column("note", ColumnType::Text, Protection::Seal),
            column("region", ColumnType::Category, Protection::Clear),
        ];
        schema("t", columns)
    }

    fn filter_of(derived: &[&str], condition: &str) -> String {
        let mut schema = orders();
        schema.derived = derived.iter().map(|text| (*text).to_owned()).collect();
        let query = sql::parse(&schema, &format!("SELECT COUNT(*) FROM t WHERE {condition}")).unwrap();
        shown(named(&schema, &query).filter.as_ref().unwrap())
    }

    #[test]
    fn conditions_are_found_however_they_are_written() {
        for (derived, condition, expected) in [
            ("commit < receipt", "commit < receipt", r#"("commit < receipt")"#),
            (
                "commit < receipt",
                "receipt > commit AND ship = '1994-01-01'",
                r#"("commit < receipt" AND ship = '1994-01-01')"#,
            ),
            ("commit < receipt", "commit >= receipt", r#"((NOT "commit < receipt"))"#),
            ("commit < receipt", "NOT (receipt > commit)", r#"((NOT "commit < receipt"))"#),
            ("commit < receipt", "commit > receipt", "commit > receipt"),
            ("commit <= receipt", "NOT receipt < commit", r#"("commit <= receipt")"#),
            (
                "note LIKE '%x%'",
                "note NOT LIKE '%x%' OR ship > commit",
                r#"((NOT "note LIKE '%x%'")) OR ship > commit"#,
            ),
            ("ship <> commit", "commit = ship", r#"((NOT "ship <> commit"))"#),
            // Some members of AND, in any order.
            (
                "ship < commit AND commit < receipt",
                "receipt > commit AND region = 'x' AND ship < commit",
                r#"("ship < commit AND commit < receipt" AND region = 'x')"#,
            ),
            (
                "ship < commit AND commit < receipt",
                "receipt > commit AND region = 'x'",
                "receipt > commit AND region = 'x'",
            ),
        ] {
            assert_eq!(filter_of(&[derived], condition), expected, "{derived} in {condition}");
        }
        let both = ["ship < commit", "ship < commit AND commit < receipt"];
        assert_eq!(
            filter_of(&both, "ship < commit AND commit < receipt"),
            r#"("ship < commit AND commit < receipt")"#
        );
        assert_eq!(
            filter_of(&both, "ship < commit OR ship > receipt"),
            r#"("ship < commit") OR ship > receipt"#
        );
    }

    #[test]
    fn what_may_be_null_has_a_flag_for_it() {
        let nullable = |text| Derived::of(&orders(), text).unwrap().nullable;
        assert!(!nullable("ship < commit") && !nullable("note LIKE 'a%' AND region IN ('x', 'y')"));
        assert!(
            nullable("commit < receipt") && nullable("NULLIF(note, 'a') = 'b'") && nullable("note = NULL")
        );
    }

    #[test]
    fn conditions_that_hide_nothing_or_are_none_are_refused() {
        let fault = |text| Derived::of(&orders(), text).unwrap_err().to_string();
        assert!(fault("region = 'x'").contains("neither encrypted nor sealed"), "{}", fault("region = 'x'"));
        for text in ["nobody = 1", "ship", "ship < commit GROUP BY ship", "COUNT(*) > 1", "ship <", ""] {
            assert!(!fault(text).is_empty(), "{text}");
        }
    }
}
