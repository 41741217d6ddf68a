// SPDX-License-Identifier: Apache-2.0
//! Conditions on encrypted columns as polynomials in flags.
//!
//! *Three-valued logic.* A row counts where its condition is true. NOT goes down to comparisons, where it takes the other values of the column:
//! a missing value makes both NULL. Then AND is true where all are, whatever else is NULL, and OR where one is, so that the flags of "is true" are
//! all that there is to compute with.
//!
//! *Degree.* Comparisons of one column are one set of values, and a set is a sum of flags. So products are among columns only. Members of OR that
//! have no row in common are added without one.
//!
//! *Clear columns.* What they decide is a mask of the server's, which takes no factor. Members of AND that are clear are one mask, and so are those
//! of OR.

mod compared;
mod computed;

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

pub(crate) use self::compared::text_of;
use self::compared::{Operand, column_of, like};
pub(super) use self::compared::{cuts_around, others, place_of};
use super::code::{Code, Places};
use super::computed::Computed;
use super::term::Term;
use crate::error::Clause;
use crate::fetch::{and, conjuncts};
use crate::schema::{ColumnType, Schema};
use crate::sql::clear::encrypted_in;
use crate::sql::{bare, column_name, constant_number};

/// Most factors of a product: as many as a server multiplies.
const MAX_DEGREE: usize = 7;

/// A condition; columns are places in a list of codes.
#[derive(Clone, Debug, PartialEq)]
enum Condition {
    And(Vec<Condition>),
    /// Clear columns decide it.
    Clear(Box<Expr>),
    Or(Vec<Condition>),
    /// The column has a value, at one of these places, which rise and do not meet. They are this many at most, whatever the constants.
    Within(usize, Vec<Places>, usize),
    /// The column has no value.
    Missing(usize),
}

/// The columns that conditions are on.
#[derive(Clone, Copy)]
pub(super) struct CodedColumns<'a> {
    pub(super) schema: &'a Schema,
    pub(super) codes: &'a [Code],
    /// Whether what is made of a condition is to be the same whatever its constants.
    pub(super) hides: bool,
}

/// The polynomial that is 1 where a condition on some columns is true, and 0 elsewhere, with what masks are added for it; `None` for a condition
/// that flags do not decide.
pub(super) fn polynomial(columns: CodedColumns<'_>, condition: &Expr, masks: &mut Vec<Expr>) -> Option<Term> {
    let condition = columns.read(condition, false).filter(|condition| columns.tells(condition))?;
    // Before it is multiplied out: members of OR that may meet double it.
    (columns.degree(&condition) <= MAX_DEGREE).then(|| columns.term(&condition, masks))
}

/// The same for encrypted constants, as a formula whose form is the same for all of them; `None` for a condition that flags alone do not decide.
pub(super) fn computed(columns: CodedColumns<'_>, condition: &Expr) -> Option<Computed> {
    let condition = CodedColumns { hides: true, ..columns }.read(condition, false)?;
    let mut sums = Vec::new();
    let formula = columns.computed(&condition, &mut sums)?;
    Some(Computed { sums, formula })
}

/// Whether flags decide a condition, beside clear columns, whatever its degree.
pub(crate) fn decide(schema: &Schema, codes: &[Code], condition: &Expr) -> bool {
    let columns = CodedColumns { schema, codes, hides: false };
    columns.read(condition, false).is_some_and(|condition| columns.tells(&condition))
}

impl CodedColumns<'_> {
    /// Whether clear columns alone decide it.
    fn is_clear(self, condition: &Expr) -> bool {
        matches!(encrypted_in(self.schema, condition, Clause::Where), Ok(None))
    }

    /// Whether flags tell every set of values in a condition from the others.
    fn tells(self, condition: &Condition) -> bool {
        match condition {
            Condition::Within(place, places, _) => {
                self.codes.get(*place).is_none_or(|code| code.tells(places))
            }
            Condition::Clear(_) | Condition::Missing(_) => true,
            Condition::And(members) | Condition::Or(members) => {
                members.iter().all(|member| self.tells(member))
            }
        }
    }

    /// The degree of the polynomial of a condition.
    fn degree(self, condition: &Condition) -> usize {
        match condition {
            Condition::Within(place, places, _) => {
                self.codes.get(*place).map_or(0, |code| code.within(places).degree())
            }
            Condition::Clear(_) => 0,
            Condition::Missing(_) => 1,
            Condition::And(members) => members.iter().map(|member| self.degree(member)).sum(),
            Condition::Or(members) => members.iter().enumerate().fold(0, |found, (place, member)| {
                let here = self.degree(member);
                if self.meets_before(members, place) { found + here } else { found.max(here) }
            }),
        }
    }

    /// Whether a member of OR may have a row in common with one before.
    fn meets_before(self, members: &[Condition], place: usize) -> bool {
        let (before, rest) = members.split_at(place);
        rest.first().is_some_and(|member| before.iter().any(|before| !self.are_apart(before, member)))
    }

    /// A condition, or what its negation is true for.
    fn read(self, expr: &Expr, is_negated: bool) -> Option<Condition> {
        use BinaryOperator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or};
        if self.is_clear(expr) {
            let expr = if is_negated { negated(expr) } else { bare(expr).clone() };
            return Some(Condition::Clear(Box::new(expr)));
        }
        let codes = self.codes;
        let column = |expr: &Expr| column_of(codes, expr);
        let operand = |expr: &Expr| Operand::of(codes, expr);
        let comparison = |operand: Operand, op: &BinaryOperator, literal: &Expr| {
            let places = operand.compared(codes, op, literal)?;
            Some(within(codes, operand.place, (places, operand.most(op)), is_negated))
        };
        match bare(expr) {
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => self.read(expr, !is_negated),
            Expr::BinaryOp { left, op: op @ (And | Or), right } => {
                let both = vec![self.read(left, is_negated)?, self.read(right, is_negated)?];
                let is_and = (*op == And) != is_negated;
                Some(joined(both, is_and, self.hides))
            }
            Expr::BinaryOp { left, op: op @ (Eq | NotEq | Lt | LtEq | Gt | GtEq), right } => {
                match (operand(left), operand(right)) {
                    (Some(operand), None) => comparison(operand, op, right),
                    (None, Some(operand)) => comparison(operand, &turned(op), left),
                    _ => None,
                }
            }
            Expr::Between { expr, negated, low, high } => {
                let operand = operand(expr)?;
                let sides = (operand.compared(codes, &GtEq, low)?, operand.compared(codes, &LtEq, high)?);
                let places = (common(&sides.0, &sides.1), operand.most(&GtEq));
                Some(within(codes, operand.place, places, is_negated != *negated))
            }
            Expr::InList { expr, list, negated } => {
                let operand = operand(expr)?;
                let all = list.iter().map(|literal| operand.compared(codes, &Eq, literal));
                let all = all.collect::<Option<Vec<_>>>()?.concat();
                let places = (tidied(all), list.len().saturating_mul(operand.most(&Eq)));
                Some(within(codes, operand.place, places, is_negated != *negated))
            }
            Expr::Like { any: false, expr, pattern, escape_char: None, negated } => {
                let place = column(expr)?;
                let places = (like(codes.get(place)?, pattern)?, 1);
                Some(within(codes, place, places, is_negated != *negated))
            }
            Expr::IsNull(inner) => present(codes, column(inner)?, is_negated),
            Expr::IsNotNull(inner) => present(codes, column(inner)?, !is_negated),
            Expr::IsTrue(inner) => truth(codes, column(inner)?, true, is_negated),
            Expr::IsFalse(inner) => truth(codes, column(inner)?, false, is_negated),
            Expr::IsNotTrue(inner) => truth(codes, column(inner)?, true, !is_negated),
            Expr::IsNotFalse(inner) => truth(codes, column(inner)?, false, !is_negated),
            // A truth value alone.
            name => {
                let operand = Operand::of(codes, name)?;
                let is_bool = codes.get(operand.place)?.kind == ColumnType::Bool;
                is_bool.then(|| within(codes, operand.place, (vec![(1, 1)], 1), is_negated))
            }
        }
    }

    /// The polynomial of a condition.
    fn term(self, condition: &Condition, masks: &mut Vec<Expr>) -> Term {
        let code = |place: &usize| self.codes.get(*place);
        match condition {
            Condition::Clear(condition) => {
                let known = masks.iter().position(|mask| *mask == **condition);
                Term::Clear(known.unwrap_or_else(|| {
                    masks.push((**condition).clone());
                    masks.len() - 1
                }))
            }
            Condition::Within(place, places, _) => {
                code(place).map_or(Term::Constant(0), |code| code.within(places))
            }
            Condition::Missing(place) => {
                Term::Constant(1).minus(code(place).map_or(Term::Constant(1), Code::valid))
            }
            Condition::And(members) => {
                Term::product(members.iter().map(|member| self.term(member, masks)).collect::<Vec<_>>())
            }
            Condition::Or(members) => {
                let mut found = Term::Constant(0);
                for (place, member) in members.iter().enumerate() {
                    let term = self.term(member, masks);
                    found = if self.meets_before(members, place) {
                        let both = found.clone().times(term.clone());
                        found.plus(term).minus(both)
                    } else {
                        found.plus(term)
                    };
                }
                found
            }
        }
    }

    /// Whether no row is in both: where a column of each has other values.
    fn are_apart(self, one: &Condition, other: &Condition) -> bool {
        let members = |condition: &Condition| match condition {
            Condition::And(members) => members.clone(),
            one => vec![one.clone()],
        };
        let (one, other) = (members(one), members(other));
        one.iter().any(|one| {
            other.iter().any(|other| match (one, other) {
                (Condition::Within(a, places, _), Condition::Within(b, others, _)) => {
                    a == b && common(places, others).is_empty()
                }
                (Condition::Missing(a), Condition::Within(b, ..))
                | (Condition::Within(a, ..), Condition::Missing(b)) => a == b,
                (Condition::Clear(one), Condition::Clear(other)) => self.are_clearly_apart(one, other),
                _ => false,
            })
        })
    }

    /// Whether clear conditions are of other values of a column: equal to other integers, or to other texts.
    fn are_clearly_apart(self, one: &Expr, other: &Expr) -> bool {
        let is_text = |name: &str| {
            let column = self.schema.columns.iter().find(|column| column.name == name);
            column.is_some_and(|column| matches!(column.kind, ColumnType::Category | ColumnType::Text))
        };
        let (one, other) = (conjuncts(one), conjuncts(other));
        let pairs = one.iter().filter_map(|one| equality(one));
        pairs.into_iter().any(|(name, value)| {
            other.iter().filter_map(|other| equality(other)).any(|(same, other)| {
                name == same
                    && match (integer(value), integer(other)) {
                        (Some(value), Some(other)) => value != other,
                        _ => is_text(name) && text_of(value).zip(text_of(other)).is_some_and(|(a, b)| a != b),
                    }
            })
        })
    }
}

/// A column and the literal that it is to be equal to.
fn equality(condition: &Expr) -> Option<(&str, &Expr)> {
    let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = bare(condition) else { return None };
    let literal = |side: &'_ Expr| matches!(bare(side), Expr::Value(_));
    match (column_name(bare(left)), column_name(bare(right))) {
        (Some(name), None) if literal(right) => Some((name, right)),
        (None, Some(name)) if literal(left) => Some((name, left)),
        _ => None,
    }
}

fn integer(literal: &Expr) -> Option<i128> {
    let (value, scale) = constant_number(literal)?;
    if scale == 0 { i128::try_from(value).ok() } else { None }
}

/// The condition that is true where this one is false.
fn negated(condition: &Expr) -> Expr {
    match bare(condition) {
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => bare(expr).clone(),
        other => {
            Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(Expr::Nested(Box::new(other.clone()))) }
        }
    }
}

fn or(left: Expr, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op: BinaryOperator::Or, right: Box::new(right) }
}

/// The operator with its sides exchanged.
fn turned(op: &BinaryOperator) -> BinaryOperator {
    match op {
        BinaryOperator::Lt => BinaryOperator::Gt,
        BinaryOperator::LtEq => BinaryOperator::GtEq,
        BinaryOperator::Gt => BinaryOperator::Lt,
        BinaryOperator::GtEq => BinaryOperator::LtEq,
        other => other.clone(),
    }
}

/// Whether a column has a value, or has none. It is never NULL.
fn present(codes: &[Code], place: usize, has_value: bool) -> Option<Condition> {
    let all = (0, codes.get(place)?.count() - 1);
    Some(if has_value { Condition::Within(place, vec![all], 1) } else { Condition::Missing(place) })
}

/// Whether a truth value is this one, or is the other or missing.
fn truth(codes: &[Code], place: usize, value: bool, is_negated: bool) -> Option<Condition> {
    let is_bool = codes.get(place)?.kind == ColumnType::Bool;
    let at = |value: bool| Condition::Within(place, vec![(u64::from(value), u64::from(value))], 1);
    is_bool.then(|| match is_negated {
        false => at(value),
        true => Condition::Or(vec![at(!value), Condition::Missing(place)]),
    })
}

/// These places, which are so many at most, or the others.
fn within(codes: &[Code], place: usize, (places, most): (Vec<Places>, usize), is_negated: bool) -> Condition {
    let last = codes.get(place).map_or(0, |code| code.count() - 1);
    match is_negated {
        false => Condition::Within(place, places, most),
        // Between them, before and behind.
        true => Condition::Within(place, others(&places, last), most.saturating_add(1)),
    }
}

/// The places in both.
fn common(one: &[Places], other: &[Places]) -> Vec<Places> {
    let both = one
        .iter()
        .flat_map(|(first, end)| other.iter().map(move |(low, high)| (*first.max(low), *end.min(high))));
    both.filter(|(first, end)| first <= end).collect()
}

/// The same places, rising and apart.
fn tidied(mut places: Vec<Places>) -> Vec<Places> {
    places.sort_unstable();
    let mut found: Vec<Places> = Vec::new();
    for (first, end) in places {
        match found.last_mut() {
            Some((_, last)) if first <= last.saturating_add(1) => *last = end.max(*last),
            _ => found.push((first, end)),
        }
    }
    found
}

/// A list of AND or of OR, flat, with one set of values for each column. Members that are equal stand once, unless that would tell of their constants.
fn joined(members: Vec<Condition>, is_and: bool, hides: bool) -> Condition {
    let mut flat: Vec<Condition> = Vec::new();
    for member in members {
        match (member, is_and) {
            (Condition::And(inner), true) | (Condition::Or(inner), false) => flat.extend(inner),
            (other, _) => flat.push(other),
        }
    }
    let mut list: Vec<Condition> = Vec::new();
    for member in flat {
        if let Condition::Clear(more) = &member
            && let Some(known) = list.iter_mut().find_map(|known| match known {
                Condition::Clear(known) => Some(known),
                _ => None,
            })
        {
            let both = ((**known).clone(), (**more).clone());
            **known = if is_and { and(both.0, both.1) } else { or(both.0, both.1) };
            continue;
        }
        let Condition::Within(column, places, most) = &member else {
            if hides || !list.contains(&member) {
                list.push(member);
            }
            continue;
        };
        let same = list.iter_mut().find_map(|known| match known {
            Condition::Within(other, known, most) if other == column => Some((known, most)),
            _ => None,
        });
        match same {
            // Behind each end of a range of either there is at most one range of both.
            Some((known, of_known)) if is_and => {
                *known = common(known, places);
                *of_known = of_known.saturating_add(*most).saturating_sub(1).max(1);
            }
            Some((known, of_known)) => {
                *known = tidied([known.as_slice(), places].concat());
                *of_known = of_known.saturating_add(*most);
            }
            None => list.push(member),
        }
    }
    match list.pop() {
        Some(only) if list.is_empty() => only,
        last => {
            list.extend(last);
            if is_and { Condition::And(list) } else { Condition::Or(list) }
        }
    }
}

#[cfg(test)]
mod tests;
