// SPDX-License-Identifier: Apache-2.0
//! A slow, exact SQL interpreter for tests: decimals of any width, three-valued logic, one row at a time.
//!
//! It shares no code with the planner: expressions are evaluated as they stand, so that a plan's sums can be compared
//! with the query's own meaning.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use sqlparser::ast::{
    BinaryOperator as B, DataType, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator,
    Value,
};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;

use crate::plan::{Atom, Predicate};

/// `value · 10^-scale`.
#[derive(Clone, Debug)]
pub(crate) struct Decimal {
    pub(crate) value: BigInt,
    pub(crate) scale: u32,
}

impl Decimal {
    pub(crate) fn new(value: impl Into<BigInt>, scale: u32) -> Self {
        Self { value: value.into(), scale }
    }

    /// In units of `10^-scale`; the number must be a whole number of them.
    pub(crate) fn units(&self, scale: u32) -> BigInt {
        if scale >= self.scale {
            return &self.value * BigInt::from(10).pow(scale - self.scale);
        }
        let unit = BigInt::from(10).pow(self.scale - scale);
        assert_eq!(&self.value % &unit, BigInt::ZERO, "not exact at scale {scale}");
        &self.value / unit
    }
}

pub(crate) type Row = BTreeMap<String, Option<Decimal>>;

pub(crate) fn parse(sql: &str) -> Expr {
    Parser::new(&GenericDialect {}).try_with_sql(sql).unwrap().parse_expr().unwrap()
}

/// The value of a numeric expression, `None` for NULL.
pub(crate) fn number(expr: &Expr, row: &Row) -> Option<Decimal> {
    match expr {
        Expr::Nested(inner) => number(inner, row),
        Expr::Identifier(ident) => row[&ident.value].clone(),
        Expr::Value(value) => match &value.value {
            Value::Null => None,
            Value::Number(text, _) | Value::SingleQuotedString(text) => Some(literal(text)),
            other => panic!("literal {other}"),
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            number(expr, row).map(|x| Decimal { value: -x.value, scale: x.scale })
        }
        Expr::BinaryOp { left, op, right } => {
            let (a, b) = (number(left, row)?, number(right, row)?);
            let scale = a.scale.max(b.scale);
            Some(match op {
                B::Plus => Decimal { value: a.units(scale) + b.units(scale), scale },
                B::Minus => Decimal { value: a.units(scale) - b.units(scale), scale },
                B::Multiply => Decimal { value: a.value * b.value, scale: a.scale + b.scale },
                other => panic!("operator {other}"),
            })
        }
        Expr::Cast { expr, data_type, .. } => {
            let value = number(expr, row)?;
            if let DataType::Decimal(sqlparser::ast::ExactNumberInfo::PrecisionAndScale(digits, scale)) =
                data_type
            {
                // A cast in a plan must be exact, and must fit.
                assert!(
                    value.units(*scale as u32).to_string().trim_start_matches('-').len() as u64 <= *digits
                );
            }
            Some(value)
        }
        Expr::Case { operand: None, conditions, else_result, .. } => {
            let taken = conditions.iter().find(|when| truth(&when.condition, row) == Some(true));
            match taken {
                Some(when) => number(&when.result, row),
                None => number(else_result.as_deref()?, row),
            }
        }
        other => panic!("expression {other}"),
    }
}

/// The value of a condition, `None` for unknown.
pub(crate) fn truth(expr: &Expr, row: &Row) -> Option<bool> {
    match expr {
        Expr::Nested(inner) => truth(inner, row),
        Expr::IsNull(inner) => Some(number(inner, row).is_none()),
        Expr::IsNotNull(inner) => Some(number(inner, row).is_some()),
        Expr::IsNotTrue(inner) => Some(truth(inner, row) != Some(true)),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => truth(expr, row).map(|x| !x),
        Expr::BinaryOp { left, op: B::And, right } => match (truth(left, row), truth(right, row)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (a, b) => Some(a? && b?),
        },
        Expr::BinaryOp { left, op: B::Or, right } => match (truth(left, row), truth(right, row)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (a, b) => Some(a? || b?),
        },
        Expr::Value(value) if value.value == Value::Null => None,
        Expr::Cast { expr, data_type: DataType::Boolean, .. } => truth(expr, row),
        Expr::BinaryOp { left, op, right } => {
            let (a, b) = (number(left, row)?, number(right, row)?);
            let scale = a.scale.max(b.scale);
            let order = a.units(scale).cmp(&b.units(scale));
            Some(match op {
                B::Eq => order.is_eq(),
                B::Gt => order.is_gt(),
                B::Lt => order.is_lt(),
                other => panic!("comparison {other}"),
            })
        }
        other => panic!("condition {other}"),
    }
}

/// The value of a predicate over clear columns, `None` for unknown.
pub(crate) fn predicate(predicate: &Predicate, row: &Row) -> Option<bool> {
    let atom = |Atom::Clear(sql): &Atom| truth(&parse(sql), row);
    // Both ask for one member that decides; NULL decides nothing.
    let list = |members: &[Predicate], decides: bool| {
        let values: Vec<Option<bool>> = members.iter().map(|member| self::predicate(member, row)).collect();
        if values.contains(&Some(decides)) {
            return Some(decides);
        }
        (!values.contains(&None)).then_some(!decides)
    };
    match predicate {
        Predicate::And(members) => list(members, false),
        Predicate::Is(inner) => atom(inner),
        Predicate::Not(inner) => atom(inner).map(|value| !value),
        Predicate::Or(members) => list(members, true),
    }
}

/// `SUM(e)` or `COUNT(e)` over rows, in integers; NULL as 0.
pub(crate) fn aggregate(sql: &str, rows: &[Row]) -> BigInt {
    let Expr::Function(function) = parse(sql) else { panic!("{sql}") };
    let FunctionArguments::List(list) = &function.args else { panic!("{sql}") };
    match (function.name.to_string().to_lowercase().as_str(), &list.args[0]) {
        ("count", FunctionArg::Unnamed(FunctionArgExpr::Wildcard)) => rows.len().into(),
        ("count", FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))) => {
            rows.iter().filter(|row| number(expr, row).is_some()).count().into()
        }
        ("sum", FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))) => {
            rows.iter().filter_map(|row| number(expr, row)).map(|x| x.units(0)).sum()
        }
        other => panic!("aggregate {other:?}"),
    }
}

fn literal(text: &str) -> Decimal {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    Decimal::new(format!("{whole}{fraction}").parse::<BigInt>().unwrap(), fraction.len() as u32)
}
