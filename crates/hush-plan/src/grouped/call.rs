// SPDX-License-Identifier: Apache-2.0
//! One aggregate call: by exact sums where its argument is exact, by the server's query engine where it is clear
//! and not (floats, functions, MIN and MAX).

use sqlparser::ast::{CastKind, DataType, ExactNumberInfo, Expr};

use super::Builder;
use super::moments::BoundedForm;
use crate::aggregates::{Aggregate, FromSums, MomentFunction};
use crate::conditions::predicate;
use crate::error::{Clause, Feature, PlanError, Unfit};
use crate::expr::{Kind, Piece, normalise};
use crate::plan::{LinearForm, Moment, OutputType, OwnerAggregate, Predicate};
use crate::range::{fits_digits, fits_int64};
use crate::sql::clear::{check_clear, encrypted_in};
use crate::sql::functions::Call;
use crate::sql::types::{Family, family};

/// Plans `call`, adding the sums it needs; `text` is the call as typed.
pub(super) fn aggregate(
    builder: &mut Builder<'_>,
    call: &Call,
    text: &str,
) -> Result<OwnerAggregate, PlanError> {
    if let Some(filter) = &call.filter {
        check_clear(builder.schema, filter, Clause::Filter)?;
    }
    let condition = call.filter.as_ref().map(predicate);
    let condition = condition.as_ref();
    if let Aggregate::Jointly(function) = call.aggregate {
        return super::joint::aggregate(builder, function, &call.arguments, condition, text);
    }
    if let Aggregate::Fitted(part) = call.aggregate {
        expect_clear(builder, call, text)?;
        return super::logistic::aggregate(builder, part, &call.arguments, condition);
    }
    let Some(argument) = call.arguments.first() else {
        let count = builder.count_where(condition);
        return Ok(OwnerAggregate::Count { count: LinearForm::of(Moment::Clear(count)) });
    };
    let encrypted = encrypted_in(builder.schema, argument, Clause::Select)?;
    if let (Aggregate::Ordered(of), None) = (call.aggregate, encrypted) {
        return super::order::aggregate(builder, of, argument, condition, text);
    }
    let from_sums = match call.aggregate {
        Aggregate::FromSums(from_sums) if !call.distinct => from_sums,
        _ if encrypted.is_some() => {
            let feature = Feature::EncryptedAggregate;
            return Err(PlanError::UnsupportedCall { text: text.to_owned(), feature });
        }
        _ => return by_engine(builder, call, argument, condition, text),
    };
    if encrypted.is_none() && from_sums != FromSums::Count {
        check_numbers(builder, argument, text)?;
    }
    // Functions of ours in the query engine take doubles.
    let in_doubles = Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(argument.clone()),
        data_type: DataType::Double(ExactNumberInfo::None),
        array: false,
        format: None,
    };
    if matches!(from_sums, FromSums::Product(_)) && encrypted.is_none() {
        return by_engine(builder, call, &in_doubles, condition, text);
    }
    let pieces = match normalise(builder.schema, argument) {
        Ok(pieces) => pieces,
        Err(_) if encrypted.is_none() => {
            let argument = if call.entry.order() > 2 { &in_doubles } else { argument };
            return by_engine(builder, call, argument, condition, text);
        }
        Err(error) => return Err(error),
    };
    let pieces: Vec<Piece> = pieces.into_iter().map(|piece| piece.where_true(condition)).collect();
    match from_sums {
        FromSums::Count => Ok(OwnerAggregate::Count { count: builder.count(&pieces, text)?.linear }),
        FromSums::Moments(function) => of_moments(builder, function, &pieces, text),
        FromSums::Product(function) => super::product::aggregate(builder, function, &pieces, text),
    }
}

/// Refuses an aggregate of encrypted columns that is no sum.
fn expect_clear(builder: &Builder<'_>, call: &Call, text: &str) -> Result<(), PlanError> {
    for argument in &call.arguments {
        if encrypted_in(builder.schema, argument, Clause::Select)?.is_some() {
            let feature = Feature::EncryptedAggregate;
            return Err(PlanError::UnsupportedCall { text: text.to_owned(), feature });
        }
    }
    Ok(())
}

/// Refuses sums and moments of texts and of times, which a query engine would refuse without a word about the column.
fn check_numbers(builder: &Builder<'_>, argument: &Expr, text: &str) -> Result<(), PlanError> {
    let reason = match family(builder.schema, argument) {
        Some(Family::Text) => Unfit::Text,
        Some(Family::Time) => Unfit::DateArithmetic,
        Some(Family::Bool | Family::Number) | None => return Ok(()),
    };
    Err(PlanError::WrongType { text: text.to_owned(), reason })
}

/// An aggregate of clear columns that the server's engine answers as it is.
fn by_engine(
    builder: &mut Builder<'_>,
    call: &Call,
    argument: &Expr,
    condition: Option<&Predicate>,
    text: &str,
) -> Result<OwnerAggregate, PlanError> {
    let is_count = call.aggregate == Aggregate::FromSums(FromSums::Count) && !call.distinct;
    if is_count && builder.count.is_some() {
        let present = Predicate::clear(format!("{argument} IS NOT NULL"));
        let counted = Predicate::all(condition.cloned().into_iter().chain([present]));
        let index = builder.count_where(counted.as_ref());
        return Ok(OwnerAggregate::Count { count: LinearForm::of(Moment::Clear(index)) });
    }
    // Which values there are is the same for cells as for rows.
    if !call.distinct && !matches!(call.aggregate, Aggregate::Engine(_)) {
        each_row(builder, text)?;
    }
    let argument = match condition {
        None => argument.to_string(),
        Some(condition) => format!("CASE WHEN {condition} THEN {argument} END"),
    };
    let distinct = if call.distinct { "DISTINCT " } else { "" };
    let name = call.entry.engine_name();
    let index = builder.clear(format!("{name}({distinct}{argument})"));
    Ok(match call.aggregate {
        Aggregate::FromSums(FromSums::Count) => {
            OwnerAggregate::Count { count: LinearForm::of(Moment::Clear(index)) }
        }
        _ => OwnerAggregate::ClearOutput { index },
    })
}

/// Refuses an aggregate that needs each row, where a row stands for several.
fn each_row(builder: &Builder<'_>, text: &str) -> Result<(), PlanError> {
    let feature = Feature::EncryptedAggregate;
    match builder.count {
        None => Ok(()),
        Some(_) => Err(PlanError::UnsupportedCall { text: text.to_owned(), feature }),
    }
}

/// SUM, AVG, variances, skewness and kurtosis, from the count and the sums of powers.
///
/// # Errors
/// [`PlanError::WrongType`] for dates, and for approximate columns above the second power: no bound is known for the error of a
/// quotient of such sums.
fn of_moments(
    builder: &mut Builder<'_>,
    function: MomentFunction,
    pieces: &[Piece],
    text: &str,
) -> Result<OwnerAggregate, PlanError> {
    let count = builder.count(pieces, text)?.linear;
    if pieces.iter().any(|piece| piece.kind != Kind::Number) {
        return Err(PlanError::WrongType { text: text.to_owned(), reason: Unfit::DateArithmetic });
    }
    let approximate = pieces.iter().flat_map(|piece| piece.terms.keys()).any(|m| builder.is_approximate(m));
    if approximate && function.order() > 2 {
        return Err(PlanError::WrongType { text: text.to_owned(), reason: Unfit::Approximate });
    }
    let scale = pieces.iter().map(Piece::scale).max().unwrap_or(0);
    let sum = builder.form(pieces, scale, text)?;
    let output = match function {
        MomentFunction::Sum if !approximate => sum_type(&sum, scale, text)?,
        _ => OutputType::Float,
    };
    let mut powers = vec![sum.linear];
    let mut power = pieces.to_vec();
    for exponent in 2..=function.order() {
        let raised = power.iter().zip(pieces).map(|(power, piece)| power.times(piece, text));
        power = raised.collect::<Result<_, _>>()?;
        powers.push(builder.form(&power, exponent * scale, text)?.linear);
    }
    let scale = u8::try_from(scale).unwrap_or(u8::MAX);
    Ok(OwnerAggregate::Moments { function, count, powers, scale, output })
}

/// Integers where 64 bits hold every possible sum, else the narrower decimal that does.
fn sum_type(sum: &BoundedForm, scale: u32, text: &str) -> Result<OutputType, PlanError> {
    if scale == 0 && fits_int64(&sum.bound) {
        return Ok(OutputType::Int);
    }
    let too_wide = || PlanError::WrongType { text: text.to_owned(), reason: Unfit::TooWide };
    let scale = u8::try_from(scale).map_err(|_| too_wide())?;
    match [false, true].into_iter().find(|wide| fits_digits(&sum.bound, if *wide { 76 } else { 38 })) {
        Some(wide) => Ok(OutputType::Decimal { scale, wide }),
        None => Err(too_wide()),
    }
}
