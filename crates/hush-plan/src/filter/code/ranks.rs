// SPDX-License-Identifier: Apache-2.0
//! Columns of more values than flags can tell, by ranks: a comparison with a constant chooses other flags in each chunk.
//!
//! The places of such a column are the pieces between the cuts that a question makes, so that sets of values are sets of places, as elsewhere.

use std::hash::{DefaultHasher, Hash, Hasher};

use sqlparser::ast::{BinaryOperator, Expr};

use super::{Code, Places, Values};
use crate::filter::condition::cuts_around;
use crate::filter::term::Term;
use crate::plan::{ChosenFlag, ChosenOf, Cut, Key};
use crate::quantity::{Flag, FlagOf, Quantity, RANK_DIGITS, RANK_FLAGS};
use crate::run::cuts_of_prefix;
use crate::sql::{bare, column_name};

/// The flags of a column's rank.
pub(crate) fn rank_flags(column: &str) -> impl Iterator<Item = Quantity> {
    let column = column.to_owned();
    let flag = move |number| Flag { column: column.clone(), of: FlagOf::Ranked(number) };
    (0..RANK_FLAGS).map(flag).map(Quantity::Flag)
}

impl Code {
    /// Whether it is one by ranks.
    pub(crate) fn is_ranked(&self) -> bool {
        self.cuts().is_some()
    }

    /// The cuts between its places, rising; `None` if it is not by ranks.
    pub(in crate::filter) fn cuts(&self) -> Option<&[Cut]> {
        match &self.values {
            Values::Ranks(cuts) => Some(cuts),
            Values::Codewords { .. }
            | Values::Condition { .. }
            | Values::Digits { .. }
            | Values::Texts(_) => None,
        }
    }

    /// The same with the cuts that a condition makes, where it is by ranks.
    pub(in crate::filter) fn cut_by(mut self, condition: Option<&Expr>) -> Self {
        if self.is_ranked() {
            let mut cuts = Vec::new();
            condition.into_iter().for_each(|condition| self.gather(condition, &mut cuts));
            cuts.sort_unstable();
            cuts.dedup();
            self.values = Values::Ranks(cuts);
        }
        self
    }

    /// Adds the cuts that comparisons of the column with constants make.
    fn gather(&self, condition: &Expr, cuts: &mut Vec<Cut>) {
        let is_column = |expr: &Expr| column_name(bare(expr)) == Some(self.column.as_str());
        let mut around = |literal: &Expr| cuts.extend(cuts_around(self.kind, literal).into_iter().flatten());
        match bare(condition) {
            Expr::UnaryOp { expr, .. } => self.gather(expr, cuts),
            Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
                self.gather(left, cuts);
                self.gather(right, cuts);
            }
            Expr::BinaryOp { left, right, .. } if is_column(left) => around(right),
            Expr::BinaryOp { left, right, .. } if is_column(right) => around(left),
            Expr::Between { expr, low, high, .. } if is_column(expr) => {
                around(low);
                around(high);
            }
            Expr::InList { expr, list, .. } if is_column(expr) => list.iter().for_each(around),
            Expr::Like { expr, pattern, .. } if is_column(expr) => {
                cuts.extend(cuts_of_prefix(pattern).into_iter().flatten());
            }
            _ => {}
        }
    }

    /// 1 where the rank is one of these places between the cuts.
    pub(super) fn within_cuts(&self, cuts: &[Cut], places: &[Places]) -> Term {
        let cut = |place: u64| place.checked_sub(1).and_then(|cut| cuts.get(usize::try_from(cut).ok()?));
        let mut ranges: Vec<_> = places.iter().map(|(first, last)| (cut(*first), cut(last + 1))).collect();
        // In the order of their constants, a server would see which of two that it knows again is the lesser.
        ranges.sort_by_cached_key(|(low, high)| {
            let mut hasher = DefaultHasher::new();
            (low, high).hash(&mut hasher);
            hasher.finish()
        });
        let ranges = ranges.into_iter().map(|(low, high)| match (low, high) {
            (Some(low), Some(high)) if low.at == high.at => self.equal_to(&low.at),
            _ => {
                let above = |cut: &Cut| self.above(cut);
                low.map_or_else(|| self.valid(), above).minus(high.map_or(Term::Constant(0), above))
            }
        });
        Term::sum(ranges)
    }

    /// 1 where the value lies above a cut.
    fn above(&self, cut: &Cut) -> Term {
        let flag = |digit, next| self.chosen(ChosenOf::AtLeast { cut: cut.clone(), digit, next });
        let last = flag(RANK_DIGITS - 1, false);
        (0..RANK_DIGITS - 1).rev().fold(last, |rest, digit| {
            let (this, next) = (flag(digit, false), flag(digit, true));
            next.clone().plus(this.minus(next).times(rest))
        })
    }

    /// 1 where this is the value.
    fn equal_to(&self, at: &Key) -> Term {
        let flag = |digit, next| self.chosen(ChosenOf::Equal { at: at.clone(), digit, next });
        Term::product((0..RANK_DIGITS).map(|digit| flag(digit, false).minus(flag(digit, true))))
    }

    /// A flag of its rank.
    pub(super) fn chosen(&self, of: ChosenOf) -> Term {
        Term::Chosen(ChosenFlag { column: self.column.clone(), of })
    }
}
