// SPDX-License-Identifier: Apache-2.0
//! Dates as days and timestamps as microseconds since 1970-01-01 (UTC), in the proleptic Gregorian calendar.
//!
//! What reads a cell is `#[inline]`: it is compiled with the loops over cells, which are optimised for speed, where this crate is for size.

use super::{DATE_BOUNDS, TIMESTAMP_BOUNDS};

const DAY_MICROS: i64 = 86_400_000_000;

/// The order in which a file writes day, month and year.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DateFormat {
    /// `31/12/2024`
    DayMonthYear,
    /// `12/31/2024`
    MonthDayYear,
    /// `2024/12/31`, and nothing else.
    YearMonthDay,
}

/// Reads a date. Without a format only those whose order cannot be mistaken: `2024-03-31`, `2024/03/31`, `2024.03.31` or
/// `31.3.2024`; dates such as `03/04/2024` are refused, because they mean two things.
///
/// With a format day and month have one or two digits, the year four, and `/`, `-` or `.` stands between them. A date that
/// begins with its year, of ten characters, is read in every format.
#[inline]
pub fn parse_date(text: &[u8], format: Option<DateFormat>) -> Option<i64> {
    let year_first =
        text.len() == 10 && matches!(text.get(4)?, b'-' | b'/' | b'.') && text.get(4) == text.get(7);
    if year_first {
        return days_from_civil(number(text, 0, 4)?, number(text, 5, 7)?, number(text, 8, 10)?);
    }
    if !(8..=10).contains(&text.len()) {
        return None;
    }
    let separator = *text.iter().find(|byte| !byte.is_ascii_digit())?;
    let known = if format.is_none() { separator == b'.' } else { matches!(separator, b'/' | b'-' | b'.') };
    let mut parts = text.split(|byte| *byte == separator);
    let (first, second, third) = (parts.next()?, parts.next()?, parts.next()?);
    let (day, month, year) = match format {
        None | Some(DateFormat::DayMonthYear) => (first, second, third),
        Some(DateFormat::MonthDayYear) => (second, first, third),
        Some(DateFormat::YearMonthDay) => (third, second, first),
    };
    let shaped = known
        && parts.next().is_none()
        && (1..=2).contains(&day.len())
        && (1..=2).contains(&month.len())
        && year.len() == 4;
    if !shaped {
        return None;
    }
    days_from_civil(number(year, 0, 4)?, number(month, 0, month.len())?, number(day, 0, day.len())?)
}

/// Reads a timestamp: a date as [`parse_date`] takes it, optionally `T` or a blank and `hh:mm[:ss[.fraction]]`,
/// optionally `Z` or an offset (`+02:00`, `+0200`, `+02`). Without an offset it is taken as UTC. Digits beyond
/// the microsecond are cut.
#[inline]
pub fn parse_timestamp(text: &[u8], format: Option<DateFormat>) -> Option<i64> {
    let Some(at) = text.iter().position(|byte| matches!(byte, b'T' | b't' | b' ')) else {
        return parse_date(text, format)?.checked_mul(DAY_MICROS);
    };
    let day = parse_date(text.get(..at)?, format)?;
    let clock = text.get(at + 1..)?;
    let (clock, offset_minutes) = split_offset(clock)?;
    let micros = time_of_day(clock)? - offset_minutes * 60_000_000;
    let instant = day.checked_mul(DAY_MICROS)?.checked_add(micros)?;
    let bounds = TIMESTAMP_BOUNDS.low..=TIMESTAMP_BOUNDS.high;
    bounds.contains(&i128::from(instant)).then_some(instant)
}

/// Whether a timestamp says which zone it is of, by an offset or `Z`.
pub fn has_zone(text: &[u8]) -> bool {
    let clock =
        text.iter().position(|byte| matches!(byte, b'T' | b't' | b' ')).and_then(|at| text.get(at + 1..));
    clock.is_some_and(|clock| clock.iter().any(|byte| matches!(byte, b'Z' | b'z' | b'+' | b'-')))
}

/// Writes days since 1970 as `2024-03-31`; numbers outside years 1 to 9999 are clamped to them.
pub fn format_date(days: i128) -> String {
    let days = i64::try_from(days.clamp(DATE_BOUNDS.low, DATE_BOUNDS.high)).unwrap_or(0);
    let (year, month, day) = civil_from_days(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Writes microseconds since 1970 as `2024-03-31T12:00:00[.ffffff]` in UTC; clamped as [`format_date`].
pub fn format_timestamp(micros: i128) -> String {
    let micros = i64::try_from(micros.clamp(TIMESTAMP_BOUNDS.low, TIMESTAMP_BOUNDS.high)).unwrap_or(0);
    let (days, rest) = (micros.div_euclid(DAY_MICROS), micros.rem_euclid(DAY_MICROS));
    let (seconds, fraction) = (rest / 1_000_000, rest % 1_000_000);
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let date = format_date(i128::from(days));
    if fraction == 0 { format!("{date}T{clock}") } else { format!("{date}T{clock}.{fraction:06}") }
}

/// Splits `clock[Z|±hh[:]mm]` into the clock and the offset in minutes.
#[inline]
fn split_offset(text: &[u8]) -> Option<(&[u8], i64)> {
    if let Some((b'Z' | b'z', clock)) = text.split_last() {
        return Some((clock, 0));
    }
    let Some(at) = text.iter().position(|byte| matches!(byte, b'+' | b'-')) else {
        return Some((text, 0));
    };
    let sign = if text.get(at) == Some(&b'-') { -1 } else { 1 };
    let offset = text.get(at + 1..)?;
    let (hours, minutes) = match offset.len() {
        2 => (number(offset, 0, 2)?, 0),
        4 => (number(offset, 0, 2)?, number(offset, 2, 4)?),
        5 if offset.get(2) == Some(&b':') => (number(offset, 0, 2)?, number(offset, 3, 5)?),
        _ => return None,
    };
    (hours <= 15 && minutes < 60).then_some((text.get(..at)?, sign * (hours * 60 + minutes)))
}

/// Microseconds of `hh:mm[:ss[.fraction]]`.
#[inline]
fn time_of_day(text: &[u8]) -> Option<i64> {
    if text.get(2) != Some(&b':') {
        return None;
    }
    let (hour, minute) = (number(text, 0, 2)?, number(text, 3, 5)?);
    let (second, fraction) = match text.len() {
        5 => (0, 0),
        8.. if text.get(5) == Some(&b':') => (number(text, 6, 8)?, fraction_micros(text.get(8..)?)?),
        _ => return None,
    };
    (hour < 24 && minute < 60 && second < 60)
        .then(|| ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction)
}

#[inline]
fn fraction_micros(text: &[u8]) -> Option<i64> {
    let Some((point, digits)) = text.split_first() else {
        return Some(0);
    };
    if !matches!(point, b'.' | b',') || digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some((0..6).fold(0, |value, i| value * 10 + digits.get(i).map_or(0, |byte| i64::from(byte - b'0'))))
}

#[inline]
fn number(text: &[u8], from: usize, to: usize) -> Option<i64> {
    text.get(from..to)?
        .iter()
        .try_fold(0i64, |value, byte| byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0')))
}

/// Days since 1970-01-01 of a civil date, `None` if there is no such day. Years 1 to 9999.
///
/// Counts years from March, so that the leap day is the last one: a 400-year era has 146,097 days and the
/// days before month `m'` (March = 0) are `⌊(153 m' + 2) / 5⌋`.
#[inline]
pub fn days_from_civil(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_there = (1..=9999).contains(&year) && (1..=12).contains(&month);
    if !is_there || !(1..=month_length(year, month)).contains(&day) {
        return None;
    }
    let march_year = year - i64::from(month <= 2);
    let (era, year_of_era) = (march_year.div_euclid(400), march_year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

/// Days of a month, from 1 to 12.
#[inline]
pub(crate) fn month_length(year: i64, month: i64) -> i64 {
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Year, month and day of a number of days since 1970-01-01.
pub fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let month = (march_month + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day_of_year - (153 * march_month + 2) / 5 + 1)
}
