// SPDX-License-Identifier: Apache-2.0
//! What is asked for of every group, and how a plan's aggregates follow from it.
//!
//! Rows of a group find the same partners. A sum over joined rows of what one row of the table has is therefore the sum of the groups' sums; of
//! what a partner has, it is the sum with the group's number of rows as a weight. Counts and moments are such sums. A largest value is the largest of
//! the groups', and what is distinct, or a largest value of partners, does not depend on how often it comes.

use std::collections::BTreeSet;

use arrow::datatypes::DataType;
use datafusion::common::{Column, DFSchema, ScalarValue, TableReference};
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams, Case, Cast};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator, cast, lit};

use super::measure::{measure, scale_of};
use crate::catalogue::conditions::{keeps, quoted};
use crate::finish::moments;
use crate::tokens::Tokens;

/// What is asked for of every group of a table's rows.
pub(super) struct Wanted<'a> {
    /// The name under which the plan has the table.
    pub(super) relation: &'a TableReference,
    /// The columns of its rows.
    pub(super) columns: &'a DFSchema,
    /// Those of all that the plan joins.
    pub(super) joined: &'a DFSchema,
    /// The join keys among its columns.
    pub(super) tokens: &'a Tokens,
    /// Columns by which rows are grouped.
    pub(super) keys: BTreeSet<String>,
    /// Aggregates of a group, as SQL and with their types.
    pub(super) sums: Vec<(String, DataType)>,
}

/// How a plan's aggregate follows from the one over groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    /// It is the same.
    Same,
    /// It is a count: 0 where there are no groups.
    Count,
}

impl Finish {
    /// The value as one of the type `kind`.
    pub(super) fn of(self, result: Expr, kind: &DataType) -> Expr {
        match self {
            Self::Same => cast(result, kind.clone()),
            Self::Count => {
                // In this form the engine sees that it is never NULL.
                let count = cast(result, kind.clone());
                let some = (Box::new(count.clone().is_not_null()), Box::new(count));
                Expr::Case(Case::new(None, vec![some], Some(Box::new(lit(0_i64)))))
            }
        }
    }
}

impl Wanted<'_> {
    /// The aggregate over groups that stands for one over rows; `None` if there is none.
    pub(super) fn over_groups(&mut self, call: &AggregateFunction) -> Option<(Expr, Finish)> {
        let AggregateFunctionParams { args, distinct, filter, order_by, null_treatment } = &call.params;
        if !order_by.is_empty() || null_treatment.is_some() {
            return None;
        }
        filter.iter().try_for_each(|condition| self.keep(condition))?;
        let with = |func, args| {
            let call = AggregateFunction::new_udf(func, args, *distinct, filter.clone(), Vec::new(), None);
            Expr::AggregateFunction(call)
        };
        let name = call.func.name();
        if *distinct || matches!(name, "min" | "max" | "bool_and" | "bool_or") {
            let args = match args.as_slice() {
                [Expr::Column(column)]
                    if self.is_own(column)
                        && !distinct
                        && matches!(name, "min" | "max")
                        && self.tokens.column(&column.name).is_none() =>
                {
                    let kind = self.exact_kind(column)?;
                    vec![self.sum(format!("{}({})", name.to_uppercase(), quoted(&column.name)), kind)]
                }
                args => {
                    args.iter().try_for_each(|argument| self.keep(argument))?;
                    args.to_vec()
                }
            };
            return Some((with(call.func.clone(), args), Finish::Same));
        }
        if matches!(name, "mode" | "exact_quantile" | "quantile_cont" | "quantile_disc") {
            args.iter().try_for_each(|argument| self.keep(argument))?;
            // Each value stands for as many rows as the last argument says.
            let given = match name {
                "mode" => 1,
                "quantile_disc" => 4,
                _ => 3,
            };
            let (values, weights) = args.split_at_checked(given)?;
            let rows = self.rows();
            let weight = weights.first().map_or(rows.clone(), |weight| weight.clone() * rows);
            let args = values.iter().cloned().chain([weight]).collect();
            return Some((with(call.func.clone(), args), Finish::Same));
        }
        if moments::is_of_groups(&call.func) {
            let args = args.iter().map(|argument| self.total(argument, self.places(argument)?));
            return Some((with(call.func.clone(), args.collect::<Option<_>>()?), Finish::Same));
        }
        let [argument] = args.as_slice() else { return None };
        if let Some(function) = moments::moments_of(&call.func) {
            let places = self.places(argument)?;
            let args = match (function.order(), self.measured(argument)) {
                (1, _) => vec![self.values(argument)?, self.total(argument, places)?],
                (2, Some(text)) => {
                    let squares = wide(places.checked_mul(2)?);
                    vec![
                        self.values(argument)?,
                        self.total(argument, places)?,
                        self.sum(format!("SUM({text} * {text})"), squares),
                    ]
                }
                _ => return None,
            };
            return Some((with(moments::of_groups(function), args), Finish::Same));
        }
        match name {
            "sum" => {
                let total = self.total(argument, self.places(argument)?)?;
                Some((with(sum_udaf(), vec![total]), Finish::Same))
            }
            "count" => Some((with(sum_udaf(), vec![self.values(argument)?]), Finish::Count)),
            _ => None,
        }
    }

    /// Groups rows by the columns in an expression, so that it means the same of a group as of each of its rows. `None` where equal values
    /// are not told apart from others: doubles.
    pub(super) fn keep(&mut self, expr: &Expr) -> Option<()> {
        let read = expr.column_refs().into_iter().filter(|column| self.is_own(column));
        let names = read.map(|column| self.exact_kind(column).map(|_| column.name.clone()));
        let names = names.collect::<Option<Vec<_>>>()?;
        self.keys.extend(names);
        Some(())
    }

    /// The number of a group's rows.
    pub(super) fn rows(&mut self) -> Expr {
        self.sum("COUNT(*)".to_owned(), DataType::Int64)
    }

    /// The number of a group's rows for which an expression has a value.
    fn values(&mut self, expr: &Expr) -> Option<Expr> {
        if let Expr::Literal(value, _) = expr {
            return (!value.is_null()).then(|| cast(self.rows(), wide(0)));
        }
        let column = match expr {
            Expr::Column(column) if self.is_own(column) => Some(quoted(&column.name)),
            _ => self.measured(expr),
        };
        if let Some(text) = column {
            return Some(cast(self.sum(format!("COUNT({text})"), DataType::Int64), wide(0)));
        }
        self.keep(expr)?;
        let counted = (Box::new(expr.clone().is_not_null()), Box::new(cast(self.rows(), wide(0))));
        let none = Box::new(lit(ScalarValue::Decimal256(Some(0.into()), WIDEST, 0)));
        Some(Expr::Case(Case::new(None, vec![counted], Some(none))))
    }

    /// The sum of an expression over a group's rows, each with one partner, in `places` decimals.
    fn total(&mut self, expr: &Expr, places: i8) -> Option<Expr> {
        if let Some(text) = self.measured(expr) {
            return Some(self.sum(format!("SUM({text})"), wide(places)));
        }
        match expr {
            Expr::Literal(value, _) if value.is_null() => {
                return Some(lit(ScalarValue::Decimal256(None, WIDEST, places)));
            }
            Expr::Cast(Cast { expr: inner, field }) if self.is_any_own(inner) => {
                let kind = inner.get_type(self.joined).ok()?;
                if keeps(&kind, field.data_type()) {
                    return self.total(inner, places);
                }
            }
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Multiply, right }) => {
                let (own, factor) = match (self.is_any_own(left), self.is_any_own(right)) {
                    (true, false) => (left, right),
                    (false, true) => (right, left),
                    _ => return self.weighted(expr, places),
                };
                let (here, there) = (self.places(own)?, self.places(factor)?);
                if here.checked_add(there).is_some_and(|product| product <= places) {
                    let product = self.total(own, here)? * cast((**factor).clone(), wide(there));
                    return Some(cast(product, wide(places)));
                }
            }
            Expr::Case(Case { expr: None, when_then_expr, else_expr }) if self.is_any_own(expr) => {
                let pair = |(when, then): &(Box<Expr>, Box<Expr>)| {
                    self.keep(when)?;
                    Some((when.clone(), Box::new(self.total(then, places)?)))
                };
                let pairs = when_then_expr.iter().map(pair).collect::<Option<_>>()?;
                let otherwise = match else_expr {
                    Some(otherwise) => Some(Box::new(self.total(otherwise, places)?)),
                    None => None,
                };
                return Some(Expr::Case(Case::new(None, pairs, otherwise)));
            }
            _ => {}
        }
        self.weighted(expr, places)
    }

    /// The sum of an expression that is the same on all of a group's rows.
    fn weighted(&mut self, expr: &Expr, places: i8) -> Option<Expr> {
        self.places(expr)?;
        self.keep(expr)?;
        Some(cast(expr.clone(), wide(places)) * cast(self.rows(), wide(0)))
    }

    /// A value of every group.
    fn sum(&mut self, text: String, kind: DataType) -> Expr {
        let wanted = (text, kind);
        let place = self.sums.iter().position(|known| *known == wanted).unwrap_or_else(|| {
            self.sums.push(wanted);
            self.sums.len() - 1
        });
        Expr::Column(Column::new(Some(self.relation.clone()), name_of(place)))
    }

    /// An expression of the table's columns alone as SQL.
    fn measured(&self, expr: &Expr) -> Option<String> {
        let is_own = expr.column_refs().into_iter().all(|column| self.is_own(column));
        measure(expr, self.columns, self.tokens).filter(|_| is_own && self.is_any_own(expr))
    }

    /// Decimals of an exact number.
    fn places(&self, expr: &Expr) -> Option<i8> {
        scale_of(&expr.get_type(self.joined).ok()?)
    }

    fn is_own(&self, column: &Column) -> bool {
        column.relation.as_ref() == Some(self.relation)
    }

    fn is_any_own(&self, expr: &Expr) -> bool {
        expr.column_refs().into_iter().any(|column| self.is_own(column))
    }

    /// The type of a column that is no double.
    fn exact_kind(&self, column: &Column) -> Option<DataType> {
        let kind = self.columns.qualified_field_from_column(column).ok()?.1.data_type().clone();
        (!kind.is_floating()).then_some(kind)
    }
}

/// Digits of the widest decimals.
const WIDEST: u8 = 76;

/// The decimals in which sums are taken.
fn wide(places: i8) -> DataType {
    DataType::Decimal256(WIDEST, places)
}

/// The name of a value of every group; no column of a table has it.
pub(super) fn name_of(place: usize) -> String {
    format!("#{place}")
}
