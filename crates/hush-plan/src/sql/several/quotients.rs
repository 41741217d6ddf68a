// SPDX-License-Identifier: Apache-2.0
//! `/` on results is a division of doubles, NULL where the divisor is zero. Inside keys and arguments of aggregates it is the engine's, as it is
//! for one table; sub-queries have results of their own.

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, ExactNumberInfo, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentList, FunctionArguments, Ident, ObjectName, Query, Value, VisitorMut,
};

use super::super::{bare, functions};
use crate::sql::walk::walk_mut;

/// Rewrites the quotients of an output, of HAVING or of ORDER BY, in a query with these keys.
pub(super) fn divide_as_doubles(expr: &mut Expr, keys: &[Expr]) {
    let _ = walk_mut(expr, &mut Quotients { keys, opaque: Vec::new(), queries: 0 });
}

struct Quotients<'a> {
    keys: &'a [Expr],
    /// For each open expression whether it is left as it is.
    opaque: Vec<bool>,
    /// Sub-queries that are open.
    queries: u32,
}

impl VisitorMut for Quotients<'_> {
    type Break = Infallible;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Infallible> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Infallible> {
        self.queries = self.queries.saturating_sub(1);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if self.queries == 0 {
            let outer = self.opaque.last() == Some(&true);
            let is_key = self.keys.iter().any(|key| bare(key) == bare(expr));
            self.opaque.push(outer || is_key || functions::aggregate(expr).is_some());
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if self.queries == 0
            && self.opaque.pop() == Some(false)
            && let Expr::BinaryOp { left, op: BinaryOperator::Divide, right } = expr
        {
            let nothing = || Expr::Value(Value::Null.into());
            let left = double(std::mem::replace(&mut **left, nothing()));
            let right = double(std::mem::replace(&mut **right, nothing()));
            let zero = double(Expr::Value(Value::Number("0".to_owned(), false).into()));
            let (left, op, right) =
                (Box::new(left), BinaryOperator::Divide, Box::new(call("NULLIF", [right, zero])));
            *expr = Expr::Nested(Box::new(Expr::BinaryOp { left, op, right }));
        }
        ControlFlow::Continue(())
    }
}

fn double(expr: Expr) -> Expr {
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(expr),
        data_type: DataType::Double(ExactNumberInfo::None),
        array: false,
        format: None,
    }
}

fn call<const N: usize>(name: &str, arguments: [Expr; N]) -> Expr {
    let args = arguments.into_iter().map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)));
    let args = FunctionArgumentList { duplicate_treatment: None, args: args.collect(), clauses: Vec::new() };
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(args),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}
