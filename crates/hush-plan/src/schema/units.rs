// SPDX-License-Identifier: Apache-2.0
//! Text to units and back, exactly: the one place that knows how a value of each [`ColumnType`] is written.
//!
//! Used for rows, for the ranges of a schema file and for literals, so that all of them agree. Nothing here
//! goes through a binary float: a number is a sign, up to 38 significant digits and a power of ten.

use super::{Column, ColumnType, UnitRange};

mod calendar;

pub(crate) use calendar::month_length;
pub use calendar::{
    DateFormat, civil_from_days, days_from_civil, format_date, format_timestamp, has_zone, parse_date,
    parse_timestamp,
};

/// `10^k` for `0 <= k <= 38`.
pub const POWERS_OF_TEN: [u128; 39] = powers_of_ten();

/// Days of 0001-01-01 and 9999-12-31 since 1970-01-01.
pub const DATE_BOUNDS: UnitRange = UnitRange { low: -719_162, high: 2_932_896 };

/// Microseconds of the first and the last instant of [`DATE_BOUNDS`].
pub const TIMESTAMP_BOUNDS: UnitRange =
    UnitRange { low: -719_162 * 86_400_000_000, high: 2_932_897 * 86_400_000_000 - 1 };

/// The character between the whole part of a number and its fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecimalPoint {
    /// `1.5`
    Dot,
    /// `1.5` or `1,5` (files whose fields are separated by semicolons).
    DotOrComma,
}

/// A number as written: `± mantissa * 10^exponent`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Number {
    /// Whether it has a minus sign.
    pub negative: bool,
    /// Its first 38 significant digits.
    pub mantissa: u128,
    /// Power of ten of the mantissa's last digit.
    pub exponent: i32,
    /// Digits written before the point, leading zeros not counted.
    pub integer_digits: u32,
    /// Digits written after the point.
    pub fraction_digits: u32,
    /// Written with zeros that carry no value (`007`), as codes are and quantities are not.
    pub leading_zeros: bool,
    /// Written with an exponent (`1e-5`).
    pub scientific: bool,
    /// Non-zero digits beyond the 38th were cut.
    pub cut: bool,
}

impl Number {
    /// `value * 10^-scale`.
    pub fn from_integer(value: i128, scale: u8) -> Self {
        Self {
            negative: value < 0,
            mantissa: value.unsigned_abs(),
            exponent: -i32::from(scale),
            integer_digits: 0,
            fraction_digits: u32::from(scale),
            leading_zeros: false,
            scientific: false,
            cut: false,
        }
    }

    /// The value times `10^scale`, if that is an integer below `2^127` in absolute value.
    pub fn units_exact(&self, scale: u8) -> Option<i128> {
        if self.mantissa == 0 {
            return Some(0);
        }
        if self.cut {
            return None;
        }
        let shift = self.exponent.checked_add(i32::from(scale))?;
        let power = *POWERS_OF_TEN.get(usize::try_from(shift.unsigned_abs()).ok()?)?;
        let magnitude = if shift >= 0 {
            self.mantissa.checked_mul(power)?
        } else if self.mantissa.is_multiple_of(power) {
            self.mantissa / power
        } else {
            return None;
        };
        self.signed(magnitude)
    }

    /// The value times `10^digits`, rounded half away from zero, if below `2^127` in absolute value.
    pub fn units_rounded(&self, digits: u8) -> Option<i128> {
        let shift = self.exponent.checked_add(i32::from(digits))?;
        if self.mantissa == 0 || shift < -38 {
            return Some(0); // below 10^38 * 10^-39
        }
        if shift >= 0 {
            return self.units_exact(digits);
        }
        // Cut digits lie below the rounding position and cannot reach a half that is not already there.
        let power = *POWERS_OF_TEN.get(usize::try_from(shift.unsigned_abs()).ok()?)?;
        self.signed((self.mantissa + power / 2) / power)
    }

    fn signed(&self, magnitude: u128) -> Option<i128> {
        let magnitude = i128::try_from(magnitude).ok()?;
        Some(if self.negative { -magnitude } else { magnitude })
    }
}

/// Reads a number: optional sign, digits with at most one decimal point, optional exponent. No thousands
/// separators, no currency signs, no `inf` or `nan`, no blanks.
pub fn scan_number(text: &[u8], point: DecimalPoint) -> Option<Number> {
    let (negative, body) = match text.first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let mut digits = Digits::default();
    let mut rest = body;
    while let Some((&byte, tail)) = rest.split_first() {
        match byte {
            b'0'..=b'9' => digits.push(byte - b'0'),
            b'.' if !digits.in_fraction => digits.in_fraction = true,
            b',' if !digits.in_fraction && point == DecimalPoint::DotOrComma => digits.in_fraction = true,
            b'e' | b'E' => break,
            _ => return None,
        }
        rest = tail;
    }
    if digits.written == 0 {
        return None;
    }
    let scientific = !rest.is_empty();
    let exponent = if scientific { scan_exponent(rest.get(1..)?)? } else { 0 };
    Some(Number {
        negative,
        mantissa: digits.mantissa,
        exponent: exponent.checked_add(digits.exponent)?,
        integer_digits: digits.integer,
        fraction_digits: digits.fraction,
        leading_zeros: body.len() > 1
            && body.first() == Some(&b'0')
            && body.get(1).is_some_and(u8::is_ascii_digit),
        scientific,
        cut: digits.cut,
    })
}

#[derive(Default)]
struct Digits {
    mantissa: u128,
    significant: u32,
    exponent: i32,
    integer: u32,
    fraction: u32,
    written: u32,
    in_fraction: bool,
    cut: bool,
}

impl Digits {
    fn push(&mut self, digit: u8) {
        self.written = self.written.saturating_add(1);
        if self.in_fraction {
            self.fraction = self.fraction.saturating_add(1);
        } else if self.integer > 0 || digit != 0 {
            self.integer = self.integer.saturating_add(1);
        }
        if self.significant < 38 {
            self.mantissa = self.mantissa * 10 + u128::from(digit);
            self.significant += u32::from(self.mantissa != 0);
            self.exponent -= i32::from(self.in_fraction);
        } else {
            self.cut |= digit != 0;
            self.exponent = self.exponent.saturating_add(i32::from(!self.in_fraction));
        }
    }
}

fn scan_exponent(text: &[u8]) -> Option<i32> {
    let (sign, digits) = match text.first()? {
        b'-' => (-1, text.get(1..)?),
        b'+' => (1, text.get(1..)?),
        _ => (1, text),
    };
    if digits.is_empty() || digits.len() > 5 {
        return None;
    }
    let value = digits
        .iter()
        .try_fold(0i32, |value, byte| byte.is_ascii_digit().then(|| value * 10 + i32::from(byte - b'0')))?;
    Some(sign * value)
}

/// Reads a truth value: `true/false`, `yes/no`, `t/f`, `y/n` in any case, `1/0`.
pub fn parse_bool(text: &[u8]) -> Option<bool> {
    const TRUE: [&str; 5] = ["true", "1", "yes", "t", "y"];
    const FALSE: [&str; 5] = ["false", "0", "no", "f", "n"];
    let among = |words: &[&str]| words.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(text));
    if among(&TRUE) { Some(true) } else { among(&FALSE).then_some(false) }
}

/// Reads a value of a numeric, boolean, date or timestamp type as units. `None` if it is not exactly one
/// (ranged floats are rounded), is outside the type, or if the type has no units (text).
pub fn parse_units(kind: ColumnType, text: &[u8], point: DecimalPoint) -> Option<i128> {
    let units = match kind {
        ColumnType::Bool => i128::from(parse_bool(text)?),
        ColumnType::Category | ColumnType::Text => return None,
        ColumnType::Date => i128::from(parse_date(text, None)?),
        ColumnType::Decimal { scale, .. } => scan_number(text, point)?.units_exact(scale)?,
        ColumnType::Float { digits } => scan_number(text, point)?.units_rounded(digits)?,
        ColumnType::Int { .. } => scan_number(text, point)?.units_exact(0)?,
        ColumnType::Timestamp => i128::from(parse_timestamp(text, None)?),
    };
    let bounds = type_bounds(kind)?;
    (bounds.low <= units && units <= bounds.high).then_some(units)
}

/// The limit that a censored value stands for: `<5`, `<= 5`, `> 200`, `>=200`, `≤5`, `≥200`. `None` for any other text.
pub fn censored_bound(text: &[u8]) -> Option<&[u8]> {
    const MARKS: [&[u8]; 6] = [b"<=", b">=", b"<", b">", "≤".as_bytes(), "≥".as_bytes()];
    MARKS.iter().find_map(|mark| text.strip_prefix(*mark)).map(<[u8]>::trim_ascii)
}

/// Writes units as a value of the type, the shortest exact way (inverse of [`parse_units`]).
pub fn format_units(kind: ColumnType, units: i128) -> String {
    match kind {
        ColumnType::Bool => (if units == 0 { "false" } else { "true" }).to_owned(),
        ColumnType::Date => format_date(units),
        ColumnType::Decimal { scale, .. } => format_scaled(units, scale),
        ColumnType::Float { digits } => format_scaled(units, digits),
        ColumnType::Category | ColumnType::Int { .. } | ColumnType::Text => units.to_string(),
        ColumnType::Timestamp => format_timestamp(units),
    }
}

fn format_scaled(units: i128, scale: u8) -> String {
    let power = POWERS_OF_TEN.get(usize::from(scale)).copied().unwrap_or(1);
    let (whole, fraction) = (units.unsigned_abs() / power, units.unsigned_abs() % power);
    let sign = if units < 0 { "-" } else { "" };
    match scale {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{fraction:0width$}", width = usize::from(scale)),
    }
}

/// Every value that a type can hold, in units; `None` for text. A float's bound is that of 38 digits.
pub fn type_bounds(kind: ColumnType) -> Option<UnitRange> {
    let symmetric = |digits: u8| {
        let power = POWERS_OF_TEN.get(usize::from(digits)).copied()?;
        let high = i128::try_from(power - 1).ok()?;
        Some(UnitRange { low: -high, high })
    };
    match kind {
        ColumnType::Bool => Some(UnitRange { low: 0, high: 1 }),
        ColumnType::Category | ColumnType::Text => None,
        ColumnType::Date => Some(DATE_BOUNDS),
        ColumnType::Decimal { precision, .. } => symmetric(precision),
        ColumnType::Float { .. } => symmetric(38),
        ColumnType::Int { bits } => {
            let half = 1i128 << bits.clamp(1, 64).saturating_sub(1);
            Some(UnitRange { low: -half, high: half - 1 })
        }
        ColumnType::Timestamp => Some(TIMESTAMP_BOUNDS),
    }
}

/// The bounds that a column's values must keep: the declared ones, else those of its type. `None` for text
/// and for floats without a range.
pub fn column_bounds(column: &Column) -> Option<UnitRange> {
    match (column.range, column.kind) {
        (Some(range), _) => Some(range),
        (None, ColumnType::Float { .. }) => None,
        (None, kind) => type_bounds(kind),
    }
}

const fn powers_of_ten() -> [u128; 39] {
    let mut powers = [1u128; 39];
    let mut k = 1;
    while k < 39 {
        powers[k] = powers[k - 1] * 10;
        k += 1;
    }
    powers
}

#[cfg(test)]
mod tests;
