// SPDX-License-Identifier: Apache-2.0
//! One aggregate call: by exact sums where its argument is exact, by the server's query engine where it is clear
//! and not (floats, functions, MIN and MAX).

use sqlparser::ast::{CastKind, DataType, ExactNumberInfo, Expr};

use super::Builder;
use super::moments::Form;
use crate::error::{Clause, Feature, PlanError, Unfit};
use crate::expr::{Kind, Monomial, Piece, is_approximate, normalise};
use crate::plan::{AggregateFunction, LinearForm, Moment, OutputType, OwnerAggregate};
use crate::range::{fits_digits, fits_int64};
use crate::sql::clear::{check_clear, encrypted_in};
use crate::sql::functions::{Aggregate, Call};
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
    let condition = call.filter.as_ref().map(|filter| format!("({filter})"));
    if let Aggregate::Jointly(function) = call.aggregate {
        return super::joint::aggregate(builder, function, &call.arguments, condition, text);
    }
    let Some(argument) = call.arguments.first() else {
        let count = match &condition {
            None => Moment::Clear(0),
            Some(condition) => builder.clear(format!("COUNT(CASE WHEN {condition} THEN 1 END)")),
        };
        return Ok(counted(LinearForm { terms: vec![("1".to_owned(), count)] }));
    };
    let encrypted = encrypted_in(builder.schema, argument, Clause::Select)?;
    let function = match call.aggregate {
        Aggregate::FromSums(function) if !call.distinct => function,
        _ if encrypted.is_some() => {
            let feature = Feature::EncryptedAggregate;
            return Err(PlanError::UnsupportedCall { text: text.to_owned(), feature });
        }
        _ => return Ok(by_engine(builder, call, argument, condition)),
    };
    if encrypted.is_none() {
        check_numbers(builder, function, argument, text)?;
    }
    let of_products = matches!(function, AggregateFunction::Geomean | AggregateFunction::Product);
    if of_products && encrypted.is_none() {
        // In doubles, whatever the argument is.
        let double: Expr = Expr::Cast {
            kind: CastKind::Cast,
            expr: Box::new(argument.clone()),
            data_type: DataType::Double(ExactNumberInfo::None),
            array: false,
            format: None,
        };
        return Ok(by_engine(builder, call, &double, condition));
    }
    let mut pieces = match normalise(builder.schema, argument) {
        Ok(pieces) => pieces,
        Err(_) if encrypted.is_none() => return Ok(by_engine(builder, call, argument, condition)),
        Err(error) => return Err(error),
    };
    for piece in &mut pieces {
        piece.guard.extend(condition.clone());
    }
    if of_products {
        return super::product::aggregate(builder, function, &pieces, text);
    }
    from_sums(builder, function, &pieces, text)
}

/// Refuses sums and moments of texts and of times, which a query engine would refuse without a word about the column.
fn check_numbers(
    builder: &Builder<'_>,
    function: AggregateFunction,
    argument: &Expr,
    text: &str,
) -> Result<(), PlanError> {
    let reason = match family(builder.schema, argument) {
        _ if function == AggregateFunction::Count => return Ok(()),
        Some(Family::Text) => Unfit::Text,
        Some(Family::Time) => Unfit::DateArithmetic,
        Some(Family::Bool | Family::Number) | None => return Ok(()),
    };
    Err(PlanError::WrongType { text: text.to_owned(), reason })
}

pub(super) fn counted(count: LinearForm) -> OwnerAggregate {
    OwnerAggregate {
        function: AggregateFunction::Count,
        count,
        sum: LinearForm::default(),
        squares: None,
        joint: None,
        product: None,
        scale: 0,
        output: OutputType::Int,
    }
}

/// An aggregate of clear columns that the server's engine answers as it is.
fn by_engine(
    builder: &mut Builder<'_>,
    call: &Call,
    argument: &Expr,
    condition: Option<String>,
) -> OwnerAggregate {
    use AggregateFunction as F;
    let argument = match condition {
        None => argument.to_string(),
        Some(condition) => format!("CASE WHEN {condition} THEN {argument} END"),
    };
    let distinct = if call.distinct { "DISTINCT " } else { "" };
    let name = match call.aggregate {
        Aggregate::Engine(name) => name,
        Aggregate::FromSums(F::Avg) => "avg",
        Aggregate::FromSums(F::Geomean) => "geomean",
        Aggregate::FromSums(F::Product) => "product",
        Aggregate::FromSums(F::StddevPop) => "stddev_pop",
        Aggregate::FromSums(F::StddevSamp) => "stddev_samp",
        Aggregate::FromSums(F::Sum) => "sum",
        Aggregate::FromSums(F::VarPop) => "var_pop",
        Aggregate::FromSums(F::VarSamp) => "var_samp",
        Aggregate::FromSums(F::Count | F::ClearOutput(_) | F::Joint(_)) | Aggregate::Jointly(_) => "count",
    };
    let moment = builder.clear(format!("{name}({distinct}{argument})"));
    if name == "count" {
        return counted(LinearForm { terms: vec![("1".to_owned(), moment)] });
    }
    let index = match moment {
        Moment::Clear(index) | Moment::Encrypted(index) => index,
    };
    OwnerAggregate {
        function: F::ClearOutput(index),
        count: LinearForm::default(),
        sum: LinearForm::default(),
        squares: None,
        joint: None,
        product: None,
        scale: 0,
        output: OutputType::Float,
    }
}

fn from_sums(
    builder: &mut Builder<'_>,
    function: AggregateFunction,
    pieces: &[Piece],
    text: &str,
) -> Result<OwnerAggregate, PlanError> {
    use AggregateFunction as F;
    let count = builder.count(pieces, text)?.linear;
    if function == F::Count {
        return Ok(counted(count));
    }
    if pieces.iter().any(|piece| piece.kind != Kind::Number) {
        return Err(PlanError::WrongType { text: text.to_owned(), reason: Unfit::DateArithmetic });
    }
    let scale = pieces.iter().map(Piece::scale).max().unwrap_or(0);
    let sum = builder.form(pieces, scale, text)?;
    let squares = match function {
        F::StddevPop | F::StddevSamp | F::VarPop | F::VarSamp => Some(squares(builder, pieces, scale, text)?),
        _ => None,
    };
    let approximate = pieces.iter().flat_map(|piece| piece.terms.keys()).any(|m| has_approximate(builder, m));
    let output = match function {
        F::Sum if !approximate => sum_type(&sum, scale, text)?,
        _ => OutputType::Float,
    };
    let scale = u8::try_from(scale).unwrap_or(u8::MAX);
    Ok(OwnerAggregate {
        function,
        count,
        sum: sum.linear,
        squares,
        joint: None,
        product: None,
        scale,
        output,
    })
}

fn squares(
    builder: &mut Builder<'_>,
    pieces: &[Piece],
    scale: u32,
    text: &str,
) -> Result<LinearForm, PlanError> {
    let squared = pieces.iter().map(|piece| piece.times(piece, text));
    let squared: Vec<Piece> = squared.collect::<Result<_, _>>()?;
    Ok(builder.form(&squared, 2 * scale, text)?.linear)
}

pub(super) fn has_approximate(builder: &Builder<'_>, monomial: &Monomial) -> bool {
    monomial.factors().iter().any(|name| {
        let column = builder.schema.columns.iter().find(|column| column.name == *name);
        column.is_some_and(is_approximate)
    })
}

/// Integers where 64 bits hold every possible sum, else the narrower decimal that does.
fn sum_type(sum: &Form, scale: u32, text: &str) -> Result<OutputType, PlanError> {
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
