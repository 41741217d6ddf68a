// SPDX-License-Identifier: Apache-2.0
//! SQL expressions to polynomials.

use std::collections::BTreeSet;

use num_bigint::BigInt;
use num_traits::One;
use sqlparser::ast::{BinaryOperator, CaseWhen, DataType, ExactNumberInfo, Expr, UnaryOperator, Value};

use super::units::Leaf;
use super::{Kind, Monomial, Piece, Units, Weight, Width, combine, within_limits};
use crate::conditions::predicate;
use crate::error::{Clause, PlanError, Unfit};
use crate::plan::Predicate;
use crate::range::{Interval, power_of_ten};
use crate::schema::units::{DecimalPoint, column_bounds, parse_units, type_bounds};
use crate::schema::{ColumnType, Protection, Schema};
use crate::sql::clear::{check_clear, encrypted_in, usable};
use crate::sql::number;
use crate::sql::{column_name, quoted, shown};

/// Rewrites a resolved expression as pieces.
///
/// # Errors
/// [`PlanError::NotPolynomial`] where an encrypted column stands under anything but `+ - *`, CASE branches and
/// casts that keep the value; [`PlanError::TooManyFactors`]; [`PlanError::NoBound`] and [`PlanError::WrongType`]
/// for clear parts that are not exact and bounded.
pub(crate) fn normalise(schema: &Schema, expr: &Expr) -> Result<Vec<Piece>, PlanError> {
    match expr {
        Expr::Nested(inner) => normalise(schema, inner),
        Expr::Identifier(_) => column(schema, expr),
        Expr::Value(value) => literal(schema, expr, &value.value),
        Expr::TypedString(typed) => {
            let text = match &typed.value.value {
                Value::SingleQuotedString(text) => text.as_bytes(),
                _ => &[],
            };
            let days = match typed.data_type {
                DataType::Date => parse_units(ColumnType::Date, text, DecimalPoint::Dot),
                _ => None,
            };
            let days = days.ok_or_else(|| unfit(schema, expr, Unfit::NotANumber))?;
            Ok(vec![Piece::of(Monomial::one(), Weight::constant(days.into(), 0), Kind::Date)])
        }
        Expr::UnaryOp { op: UnaryOperator::Plus, expr: inner } => normalise(schema, inner),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr: inner } => {
            let pieces = normalise(schema, inner)?;
            if pieces.iter().any(|piece| piece.kind != Kind::Number) {
                return Err(unfit(schema, expr, Unfit::DateArithmetic));
            }
            Ok(pieces.into_iter().map(Piece::negated).collect())
        }
        Expr::BinaryOp { left, op, right } => binary(schema, expr, left, op, right),
        Expr::Case { operand, conditions, else_result, .. } => {
            case(schema, expr, operand.as_deref(), conditions, else_result.as_deref())
        }
        Expr::Cast { expr: inner, data_type, .. } => cast(schema, expr, inner, data_type),
        _ => Err(unfit(schema, expr, Unfit::Function)),
    }
}

/// The refusal of `expr`: of the encrypted column in it, if there is one.
fn unfit(schema: &Schema, expr: &Expr, reason: Unfit) -> PlanError {
    let text = shown(expr);
    match encrypted_in(schema, expr, Clause::Select) {
        Err(error) => error,
        Ok(Some(_)) if matches!(reason, Unfit::DateArithmetic | Unfit::Text) => {
            PlanError::WrongType { text, reason }
        }
        Ok(Some(column)) => PlanError::NotPolynomial { text, column: column.name.clone(), reason },
        Ok(None) if matches!(reason, Unfit::Function | Unfit::Division | Unfit::Cast) => {
            PlanError::NoBound { text, reason: Unfit::NotBounded }
        }
        Ok(None) => PlanError::WrongType { text, reason },
    }
}

fn column(schema: &Schema, expr: &Expr) -> Result<Vec<Piece>, PlanError> {
    let name = column_name(expr).unwrap_or_default();
    let column = usable(schema, name, Clause::Select)?;
    let kind = match column.kind {
        ColumnType::Category | ColumnType::Text => return Err(unfit(schema, expr, Unfit::Text)),
        ColumnType::Date => Kind::Date,
        ColumnType::Timestamp => Kind::Timestamp,
        _ => Kind::Number,
    };
    if column.protect == Protection::Encrypt {
        let weight = Weight::constant(BigInt::one(), column.scale());
        let mut piece = Piece::of(Monomial::value(&column.name), weight, kind);
        if column.nullable {
            piece.may_miss.insert(column.name.clone());
        }
        return Ok(vec![piece]);
    }
    let leaf = leaf_of(column.kind).ok_or_else(|| unfit(schema, expr, Unfit::Float))?;
    let range = column_bounds(column).ok_or_else(|| unfit(schema, expr, Unfit::NotBounded))?;
    let sql = quoted(&column.name);
    let units = Units::Leaf { sql: sql.clone(), leaf, range: range.into() };
    let mut piece = Piece::of(Monomial::one(), Weight::of_units(units, column.scale()), kind);
    if column.nullable {
        piece.not_null.insert(sql);
    }
    Ok(vec![piece])
}

/// How a clear column of this type is read as an integer; `None` for floats and text.
fn leaf_of(kind: ColumnType) -> Option<Leaf> {
    match kind {
        ColumnType::Bool | ColumnType::Date => Some(Leaf::Int32),
        ColumnType::Decimal { precision, scale } => {
            Some(Leaf::Decimal { precision: u32::from(precision), scale: u32::from(scale) })
        }
        ColumnType::Int { .. } => Some(Leaf::Integer),
        ColumnType::Timestamp => Some(Leaf::Timestamp),
        ColumnType::Category | ColumnType::Float { .. } | ColumnType::Text => None,
    }
}

fn literal(schema: &Schema, expr: &Expr, value: &Value) -> Result<Vec<Piece>, PlanError> {
    let constant =
        |value, scale| Ok(vec![Piece::of(Monomial::one(), Weight::constant(value, scale), Kind::Number)]);
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Boolean(value) => constant(BigInt::from(u8::from(*value)), 0),
        Value::Number(text, _) => {
            let (value, scale) =
                number::parse(text).ok_or_else(|| unfit(schema, expr, Unfit::NotANumber))??;
            constant(value, scale)
        }
        _ => Err(unfit(schema, expr, Unfit::NotANumber)),
    }
}

fn binary(
    schema: &Schema,
    expr: &Expr,
    left: &Expr,
    op: &BinaryOperator,
    right: &Expr,
) -> Result<Vec<Piece>, PlanError> {
    let dates = || unfit(schema, expr, Unfit::DateArithmetic);
    let sides = || Ok::<_, PlanError>((normalise(schema, left)?, normalise(schema, right)?));
    match op {
        BinaryOperator::Plus => {
            let (a, b) = sides()?;
            combine(&a, &b, |x, y| match (x.kind, y.kind) {
                (Kind::Number, Kind::Number) => Ok(x.plus(y, Kind::Number)),
                (Kind::Date, Kind::Number) | (Kind::Number, Kind::Date) => Ok(x.plus(y, Kind::Date)),
                _ => Err(dates()),
            })
        }
        BinaryOperator::Minus => {
            let (a, b) = sides()?;
            combine(&a, &b, |x, y| {
                let kind = match (x.kind, y.kind) {
                    (same, other) if same == other => Kind::Number,
                    (Kind::Date, Kind::Number) => Kind::Date,
                    _ => return Err(dates()),
                };
                Ok(x.plus(&y.clone().negated(), kind))
            })
        }
        BinaryOperator::Multiply => {
            let (a, b) = sides()?;
            combine(&a, &b, |x, y| {
                if x.kind != Kind::Number || y.kind != Kind::Number {
                    return Err(dates());
                }
                x.times(y, &shown(expr))
            })
        }
        BinaryOperator::Divide | BinaryOperator::Modulo => Err(unfit(schema, expr, Unfit::Division)),
        _ => Err(unfit(schema, expr, Unfit::Function)),
    }
}

fn case(
    schema: &Schema,
    expr: &Expr,
    operand: Option<&Expr>,
    conditions: &[CaseWhen],
    otherwise: Option<&Expr>,
) -> Result<Vec<Piece>, PlanError> {
    let mut tests = Vec::new();
    for when in conditions {
        let test = match operand {
            None => when.condition.clone(),
            Some(operand) => Expr::BinaryOp {
                left: Box::new(Expr::Nested(Box::new(operand.clone()))),
                op: BinaryOperator::Eq,
                right: Box::new(Expr::Nested(Box::new(when.condition.clone()))),
            },
        };
        check_clear(schema, &test, Clause::Case)?;
        tests.push(predicate(&test));
    }
    let mut branches = Vec::new();
    for when in conditions {
        branches.push(normalise(schema, &when.result)?);
    }
    let otherwise = otherwise.map(|expr| normalise(schema, expr)).transpose()?.unwrap_or_default();
    let kinds = branches.iter().flatten().chain(&otherwise).map(|piece| piece.kind);
    if kinds.clone().any(|kind| Some(kind) != kinds.clone().next()) {
        return Err(unfit(schema, expr, Unfit::DateArithmetic));
    }
    if let Some(piece) = clear_case(&tests, &branches, &otherwise) {
        return Ok(vec![piece]);
    }
    // One piece per branch, guarded by its condition and by the failure of those before it.
    let mut pieces: Vec<Piece> = Vec::new();
    let mut failed: Vec<Predicate> = Vec::new();
    for (index, branch) in branches.into_iter().chain([otherwise]).enumerate() {
        let test = tests.get(index);
        let guard = Predicate::all(failed.iter().chain(test).cloned());
        failed.extend(test.map(|test| Predicate::clear(format!("({test}) IS NOT TRUE"))));
        pieces.extend(branch.into_iter().map(|piece| piece.where_true(guard.as_ref())));
    }
    within_limits(pieces)
}

/// A CASE whose branches are all clear numbers stays one weight.
fn clear_case(tests: &[Predicate], branches: &[Vec<Piece>], otherwise: &[Piece]) -> Option<Piece> {
    let weight_of = |pieces: &[Piece]| match pieces {
        [] => Some(None),
        [piece] => Some(Some(null_where_missing(piece.clear_weight()?, &piece.not_null))),
        _ => None,
    };
    let weights: Vec<Option<Weight>> =
        branches.iter().map(|branch| weight_of(branch)).collect::<Option<_>>()?;
    let last = weight_of(otherwise)?;
    let scale = weights.iter().chain([&last]).flatten().map(|weight| weight.scale).max()?;
    let kind = branches.iter().flatten().chain(otherwise).next()?.kind;
    let units = |weight: Option<Weight>| weight.map(|weight| weight.at_scale(scale).into_units());
    let case = Units::Case {
        branches: tests.iter().map(ToString::to_string).zip(weights.into_iter().map(units)).collect(),
        otherwise: units(last).map(Box::new),
    };
    let always = otherwise.len() == 1 && branches.iter().all(|branch| branch.len() == 1);
    let sources = branches.iter().flatten().chain(otherwise).any(|piece| !piece.not_null.is_empty());
    let mut not_null = BTreeSet::new();
    if !always || sources {
        not_null.insert(case.render(case.width().unwrap_or(Width::Wide)));
    }
    let mut piece = Piece::of(Monomial::one(), Weight::of_units(case, scale), kind);
    piece.not_null = not_null;
    Some(piece)
}

/// The weight made NULL where a source of NULL is that it does not show, as of `0 * x + 1`, whose weight is 1.
fn null_where_missing(weight: Weight, not_null: &BTreeSet<String>) -> Weight {
    let shown = |sql: &String| weight.units.as_ref().is_some_and(|units| units.is_null_with(sql));
    let hidden: Vec<String> =
        not_null.iter().filter(|sql| !shown(sql)).map(|sql| format!("{sql} IS NOT NULL")).collect();
    if hidden.is_empty() {
        return weight;
    }
    let scale = weight.scale;
    let branches = vec![(hidden.join(" AND "), Some(weight.into_units()))];
    Weight::of_units(Units::Case { branches, otherwise: None }, scale)
}

/// A cast keeps the value of whatever is encrypted; of a clear expression it may round, and then bounds it.
fn cast(schema: &Schema, expr: &Expr, inner: &Expr, to: &DataType) -> Result<Vec<Piece>, PlanError> {
    let target = cast_target(to);
    let pieces = normalise(schema, inner);
    if let (Ok(pieces), Some(target)) = (&pieces, target)
        && let Some(kept) = pieces.iter().map(|piece| keep(piece, target)).collect::<Option<Vec<_>>>()
    {
        return Ok(kept);
    }
    if encrypted_in(schema, inner, Clause::Select)?.is_some() {
        return Err(pieces.err().unwrap_or_else(|| unfit(schema, expr, Unfit::Cast)));
    }
    let Some(Target::Exact(kind)) = target else { return Err(unfit(schema, expr, Unfit::Cast)) };
    let leaf = leaf_of(kind).ok_or_else(|| unfit(schema, expr, Unfit::Cast))?;
    let range = type_bounds(kind).ok_or_else(|| unfit(schema, expr, Unfit::NotBounded))?;
    let scale = match kind {
        ColumnType::Decimal { scale, .. } => u32::from(scale),
        _ => 0,
    };
    let sql = expr.to_string();
    let units = Units::Leaf { sql: sql.clone(), leaf, range: range.into() };
    let mut piece = Piece::of(Monomial::one(), Weight::of_units(units, scale), Kind::Number);
    piece.not_null.insert(sql);
    Ok(vec![piece])
}

/// The type that a cast asks for.
#[derive(Clone, Copy)]
enum Target {
    Double,
    Exact(ColumnType),
}

fn cast_target(to: &DataType) -> Option<Target> {
    let int = |bits| Some(Target::Exact(ColumnType::Int { bits }));
    match to {
        DataType::TinyInt(_) => int(8),
        DataType::SmallInt(_) => int(16),
        DataType::Int(_) | DataType::Integer(_) => int(32),
        DataType::BigInt(_) => int(64),
        DataType::Double(_) | DataType::DoublePrecision | DataType::Float64 => Some(Target::Double),
        DataType::Decimal(info) | DataType::Numeric(info) => {
            let (precision, scale) = match info {
                ExactNumberInfo::None => return None,
                ExactNumberInfo::Precision(precision) => (*precision, 0),
                ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
            };
            let precision = u8::try_from(precision).ok().filter(|p| (1..=38).contains(p))?;
            let scale = u8::try_from(scale).ok().filter(|s| *s <= precision)?;
            Some(Target::Exact(ColumnType::Decimal { precision, scale }))
        }
        _ => None,
    }
}

/// The piece after a cast that changes no value; `None` if it could change or fail.
fn keep(piece: &Piece, target: Target) -> Option<Piece> {
    let Target::Exact(kind) = target else {
        return (piece.kind == Kind::Number).then(|| piece.clone());
    };
    let scale = match kind {
        ColumnType::Decimal { scale, .. } => u32::from(scale),
        _ => 0,
    };
    if piece.kind != Kind::Number || piece.scale() > scale {
        return None;
    }
    // Only what is clear has bounds here; an encrypted column is taken at its word, because its sum is computed
    // in wide integers whatever the type, and the cast of a value within its type cannot fail.
    let clear = piece.clear_weight();
    if let Some(weight) = &clear {
        let bounds = Interval::from(type_bounds(kind)?);
        let range = weight.range().mul(&Interval::point(power_of_ten(scale - weight.scale)));
        if !bounds.contains(&range) {
            return None;
        }
    }
    let mut kept = piece.clone();
    kept.terms =
        kept.terms.into_iter().map(|(monomial, weight)| (monomial, weight.at_scale(scale))).collect();
    Some(kept)
}
