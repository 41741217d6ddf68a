// SPDX-License-Identifier: Apache-2.0
//! Aggregates of the rows one by one, as the query engine has them: its first and last value in an order, its texts behind one another.

use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArgumentList, FunctionArguments, Ident, ObjectName, ObjectNamePart, OrderByExpr, OrderByOptions,
    Value,
};

use crate::aggregates::RowFunction;

/// Writes a call with these arguments.
pub(super) fn as_the_engine_has_it(function: &mut Function, of: RowFunction, arguments: &[Expr]) {
    let FunctionArguments::List(list) = &mut function.args else { return };
    let mut clauses = std::mem::take(&mut list.clauses);
    let within = std::mem::take(&mut function.within_group);
    if !within.is_empty() {
        clauses = vec![FunctionArgumentClause::OrderBy(within)];
    }
    let (name, arguments) = match (of, arguments) {
        (RowFunction::AnyValue, [value]) => {
            only_where(&mut function.filter, [value]);
            ("first_value", vec![value.clone()])
        }
        (RowFunction::ArgMax | RowFunction::ArgMin, [value, other]) => {
            only_where(&mut function.filter, [value, other]);
            let options = OrderByOptions { asc: Some(of == RowFunction::ArgMin), nulls_first: None };
            let key = OrderByExpr { expr: other.clone(), options, with_fill: None };
            clauses = vec![FunctionArgumentClause::OrderBy(vec![key])];
            ("first_value", vec![value.clone()])
        }
        (RowFunction::First, [value]) => ("first_value", vec![value.clone()]),
        (RowFunction::Last, [value]) => ("last_value", vec![value.clone()]),
        (RowFunction::Joined, [value, between @ ..]) => {
            let comma = || Expr::Value(Value::SingleQuotedString(",".to_owned()).into());
            let between = between.first().cloned().unwrap_or_else(comma);
            ("string_agg", vec![text(value.clone()), between])
        }
        // The engine has these under the name of the call.
        _ => {
            list.clauses = clauses;
            return;
        }
    };
    let args = arguments.into_iter().map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)));
    *list = FunctionArgumentList { duplicate_treatment: None, args: args.collect(), clauses };
    function.name = ObjectName(vec![ObjectNamePart::Identifier(Ident::new(name))]);
}

/// Restricts a call to the rows in which these have values.
pub(super) fn only_where<'a>(filter: &mut Option<Box<Expr>>, values: impl IntoIterator<Item = &'a Expr>) {
    for value in values {
        let has_value = Expr::IsNotNull(Box::new(Expr::Nested(Box::new(value.clone()))));
        *filter = Some(Box::new(match filter.take() {
            None => has_value,
            Some(before) => Expr::BinaryOp {
                left: Box::new(Expr::Nested(before)),
                op: BinaryOperator::And,
                right: Box::new(has_value),
            },
        }));
    }
}

/// A value as text, as it is printed.
fn text(value: Expr) -> Expr {
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(value),
        data_type: DataType::Varchar(None),
        array: false,
        format: None,
    }
}
