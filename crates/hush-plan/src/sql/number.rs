// SPDX-License-Identifier: Apache-2.0
//! Literals as exact decimals.

use num_bigint::BigInt;
use sqlparser::ast::{Expr, UnaryOperator, Value};

use super::expression::bare;
use crate::error::{Measure, PlanError};
use crate::range::power_of_ten;

/// Most digits after the point: what a 76-digit decimal leaves for the integer part of a sum.
pub(crate) const MAX_SCALE: u32 = 38;

/// A numeric literal, with its sign, as `value · 10^-scale`.
pub(crate) fn numeric_literal(expr: &Expr) -> Option<(BigInt, u32)> {
    match bare(expr) {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => parse(text)?.ok(),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            numeric_literal(expr).map(|(value, scale)| (-value, scale))
        }
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => numeric_literal(expr),
        _ => None,
    }
}

/// Reads a numeric literal (`12`, `.5`, `1.50`, `2e3`) as `value · 10^-scale`.
///
/// # Errors
/// [`PlanError::TooComplex`] where it needs more than [`MAX_SCALE`] digits on either side of the point; `None`
/// where it is no number.
pub(crate) fn parse(text: &str) -> Option<Result<(BigInt, u32), PlanError>> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        None => (text, 0i64),
        Some((mantissa, exponent)) => (mantissa, exponent.parse().ok()?),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0').len().max(if exponent == 0 { fraction.len() } else { 0 });
    let kept = &digits[..whole.len() + fraction];
    let scale = i64::try_from(fraction).ok()?.checked_sub(exponent)?;
    let limit = i64::from(MAX_SCALE);
    if scale > limit || scale < -limit || digits.len() > 2 * MAX_SCALE as usize {
        return Some(Err(PlanError::TooComplex { what: Measure::Digits, limit: u64::from(MAX_SCALE) }));
    }
    let value: BigInt = if kept.is_empty() { BigInt::ZERO } else { kept.parse().ok()? };
    let shift = u32::try_from((-scale).max(0)).ok()?;
    Some(Ok((value * power_of_ten(shift), u32::try_from(scale.max(0)).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (BigInt, u32) {
        parse(text).unwrap().unwrap()
    }

    #[test]
    fn literals_keep_every_digit() {
        assert_eq!(read("12"), (12.into(), 0));
        assert_eq!(read("1.50"), (150.into(), 2));
        assert_eq!(read(".5"), (5.into(), 1));
        assert_eq!(read("5."), (5.into(), 0));
        assert_eq!(read("2e3"), (2000.into(), 0));
        assert_eq!(read("1.25e1"), (125.into(), 1));
        assert_eq!(read("25E-2"), (25.into(), 2));
        assert_eq!(read("9223372036854775808").0, BigInt::from(1u64 << 63));
    }

    #[test]
    fn what_is_no_number_or_too_long_is_refused() {
        assert!(parse("1x").is_none() && parse(".").is_none() && parse("").is_none());
        assert!(matches!(parse("1e-40"), Some(Err(_))));
        assert!(matches!(parse("1e999999"), Some(Err(_))));
        assert!(matches!(parse(&"9".repeat(200)), Some(Err(_))));
    }
}
