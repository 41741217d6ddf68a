// SPDX-License-Identifier: Apache-2.0
//! Functions that are another expression, or another function under the name of some dialect.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    BinaryOperator, CaseWhen, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentList, FunctionArguments, Ident, ObjectName, ObjectNamePart, UnaryOperator, Value,
};

use super::super::bare;
use super::super::expression::{is_comparison, plain_name};
use super::{length, nested};
use crate::error::PlanError;

/// What a call stands for; `None` for one that stands for itself.
///
/// # Errors
/// Those of `take`, which is told how much will be written.
pub(super) fn written(
    function: &Function,
    take: &mut dyn FnMut(usize) -> Result<(), PlanError>,
) -> Result<Option<Expr>, PlanError> {
    let (Some(name), FunctionArguments::List(list)) = (plain_name(function), &function.args) else {
        return Ok(None);
    };
    let argument = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => Some(argument.clone()),
        _ => None,
    };
    let arguments: Option<Vec<Expr>> = list.args.iter().map(argument).collect();
    let (Some(arguments), true) = (arguments, list.clauses.is_empty()) else { return Ok(None) };
    if let ("sum" | "avg" | "mean", [condition]) = (name.as_str(), arguments.as_slice())
        && is_condition(condition)
    {
        take(2 * length(condition) + 60)?;
        let not = Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(nested(condition.clone())) };
        let units = case([(condition.clone(), number("1")), (not, number("0"))], None);
        let args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(units))];
        let args = arguments_of(args, list.duplicate_treatment);
        return Ok(Some(Expr::Function(Function { args, ..function.clone() })));
    }
    if list.duplicate_treatment.is_some() {
        return Ok(None);
    }
    let is_scalar = function.over.is_none() && function.filter.is_none();
    let written = match (name.as_str(), arguments.as_slice()) {
        ("mod", [a, b]) if is_scalar => {
            let sides = [a, b].map(|side| Box::new(nested(side.clone())));
            let [left, right] = sides;
            nested(Expr::BinaryOp { left, op: BinaryOperator::Modulo, right })
        }
        ("sign", [x]) if is_scalar => {
            take(3 * length(x) + 60)?;
            let to_zero = |op| {
                let (left, right) = (Box::new(nested(x.clone())), Box::new(number("0")));
                Expr::BinaryOp { left, op, right }
            };
            let minus = Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(number("1")) };
            let cases = [
                (to_zero(BinaryOperator::Gt), number("1")),
                (to_zero(BinaryOperator::Lt), minus),
                (to_zero(BinaryOperator::Eq), number("0")),
            ];
            case(cases, None)
        }
        ("if" | "iff" | "iif", [condition, yes, no]) if is_scalar => {
            case([(condition.clone(), yes.clone())], Some(no.clone()))
        }
        ("every", [_]) => Expr::Function(Function { name: named("bool_and"), ..function.clone() }),
        ("count_if" | "countif", [condition]) => {
            let filter = match &function.filter {
                None => condition.clone(),
                Some(filter) => {
                    let sides = [filter, condition].map(|side| Box::new(nested(side.clone())));
                    let [left, right] = sides;
                    Expr::BinaryOp { left, op: BinaryOperator::And, right }
                }
            };
            let args = vec![FunctionArg::Unnamed(FunctionArgExpr::Wildcard)];
            let (name, args) = (named("count"), arguments_of(args, None));
            // Over a window the engine takes no filter of a count: the condition is counted.
            if function.over.is_some() {
                take(length(condition) + 30)?;
                let counted = case([(condition.clone(), number("1"))], None);
                let counted = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(counted))];
                let args = arguments_of(counted, None);
                return Ok(Some(Expr::Function(Function { name, args, ..function.clone() })));
            }
            Expr::Function(Function { name, args, filter: Some(Box::new(filter)), ..function.clone() })
        }
        ("approx_count_distinct" | "approx_distinct", [x]) => {
            let args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(x.clone()))];
            let args = arguments_of(args, Some(DuplicateTreatment::Distinct));
            Expr::Function(Function { name: named("count"), args, ..function.clone() })
        }
        ("approx_median", [_]) => Expr::Function(Function { name: named("median"), ..function.clone() }),
        ("approx_quantile", [_, _]) => {
            Expr::Function(Function { name: named("quantile_cont"), ..function.clone() })
        }
        _ => return Ok(None),
    };
    take(1)?;
    Ok(Some(written))
}

/// Whether an expression is a truth value by its form.
fn is_condition(expr: &Expr) -> bool {
    use BinaryOperator::{And, Or};
    match bare(expr) {
        Expr::BinaryOp { op, .. } => is_comparison(op) || matches!(op, And | Or),
        Expr::UnaryOp { op: UnaryOperator::Not, .. }
        | Expr::Between { .. }
        | Expr::Exists { .. }
        | Expr::ILike { .. }
        | Expr::InList { .. }
        | Expr::InSubquery { .. }
        | Expr::IsDistinctFrom(..)
        | Expr::IsFalse(_)
        | Expr::IsNotDistinctFrom(..)
        | Expr::IsNotFalse(_)
        | Expr::IsNotNull(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNull(_)
        | Expr::IsTrue(_)
        | Expr::Like { .. }
        | Expr::SimilarTo { .. } => true,
        Expr::Value(value) => matches!(value.value, Value::Boolean(_)),
        _ => false,
    }
}

fn number(digits: &str) -> Expr {
    Expr::Value(Value::Number(digits.to_owned(), false).into())
}

fn named(name: &str) -> ObjectName {
    ObjectName(vec![ObjectNamePart::Identifier(Ident::new(name))])
}

fn arguments_of(args: Vec<FunctionArg>, duplicates: Option<DuplicateTreatment>) -> FunctionArguments {
    FunctionArguments::List(FunctionArgumentList {
        duplicate_treatment: duplicates,
        args,
        clauses: Vec::new(),
    })
}

fn case<const N: usize>(cases: [(Expr, Expr); N], otherwise: Option<Expr>) -> Expr {
    let when = |(condition, result)| CaseWhen { condition, result };
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: cases.into_iter().map(when).collect(),
        else_result: otherwise.map(Box::new),
    }
}
