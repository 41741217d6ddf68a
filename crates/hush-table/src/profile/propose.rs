// SPDX-License-Identifier: Apache-2.0
//! From a profile to a schema that a person can approve.

use hush_plan::schema::file::DEFAULT_MAX_ROWS;
use hush_plan::schema::units::{DATE_BOUNDS, POWERS_OF_TEN, TIMESTAMP_BOUNDS, type_bounds};
use hush_plan::schema::{Column, ColumnType, Protection, Purpose, Schema, UnitRange};
use hush_plan::{Needs, plan_encodings};

use super::column::{ColumnProfile, Kind};
use super::{SingledOut, TableProfile};
use crate::classify::{Class, Facts, classify};
use crate::source::Declared;

/// Least headroom of a proposed range: it ends at the first `10^k - 1` that leaves room for values this many
/// times the largest seen, so that the file shows an order of magnitude and no extreme.
pub const RANGE_FACTOR: u128 = 2;

/// Days of 1900-01-01 and 2199-12-31 since 1970.
const USUAL_DATES: UnitRange = UnitRange { low: -25_567, high: 84_005 };

const DAY_MICROS: i128 = 86_400_000_000;

/// Proposes a schema named `table`.
///
/// Types are the narrowest kind with room to grow; ranges end at a power of ten (dates: the years 1900 to 2199,
/// else all); a column is nullable if a value is missing. Each column has a protection and its reason; clear ones
/// only as long as all of them together single nobody out, the rest of them is left to a person.
pub fn propose(profile: &TableProfile, table: &str) -> Schema {
    let null_tokens = null_tokens(profile);
    let mut columns: Vec<Column> =
        profile.columns().iter().map(|found| column(found, &null_tokens)).collect();
    let notes = settle_clear(profile, &mut columns);
    let mut schema = Schema {
        table: table.to_owned(),
        columns: Vec::new(),
        null_tokens,
        max_rows: max_rows(profile.rows()),
        approved: false,
        approved_by: String::new(),
        notes,
        products: Vec::new(),
        moments: Vec::new(),
        edge: false,
        release: None,
    };
    columns.iter_mut().for_each(|column| keep_possible_purposes(&schema, column));
    schema.columns = columns;
    schema
}

/// Takes away purposes that no parameter set can serve: squares of more than some 30 digits, say. A column of which
/// not even sums are possible is sealed. `schema` says for how many rows and by whom.
pub fn keep_possible_purposes(schema: &Schema, column: &mut Column) {
    if !matches!(column.protect, Protection::Decide | Protection::Encrypt) || column.purposes.is_empty() {
        return;
    }
    let mut alone = schema.clone();
    let mut possible = |column: &Column| {
        alone.columns = vec![Column { protect: Protection::Encrypt, ..column.clone() }];
        let encodings = Needs::of_purposes(&alone)
            .and_then(|needs| plan_encodings(&alone, &needs, alone.max_rows, &mut String::new));
        encodings.is_ok()
    };
    if possible(column) {
        return;
    }
    column.purposes.retain(|purpose| !matches!(purpose, Purpose::Stddev | Purpose::Variance));
    if !possible(column) {
        column.purposes.clear();
        column.protect = Protection::Seal;
        column.reason.push_str("; too many digits to be summed encrypted");
    }
}

/// The comment that says what clear columns tell apart together, for instance
/// `clear together: ward + year single out 41 of 6000 rows`.
pub fn single_out_note(names: &[&str], found: SingledOut) -> String {
    let verb = if names.len() == 1 { "singles" } else { "single" };
    let about = if found.estimated { "about " } else { "" };
    format!("clear together: {} {verb} out {about}{} of {} rows", names.join(" + "), found.alone, found.rows)
}

fn column(found: &ColumnProfile, null_tokens: &[String]) -> Column {
    let (kind, mut reason_suffix) = (column_type(found), "");
    let facts = Facts {
        name: found.name(),
        kind,
        values: found.values(),
        distinct: found.distinct(),
        rare_rows: found.rare_rows(),
        unique: found.unique(),
        consecutive: found.consecutive(),
        prose: found.prose(),
        fraction_digits: found.fraction_digits(),
        patterns: found.patterns(),
    };
    let verdict = classify(&facts);
    let (protect, mut reason) = match found.unsupported() {
        Some(kind) => (Protection::Drop, format!("a type that tables cannot hold: {kind}")),
        None => (verdict.protect, verdict.reason),
    };
    if found.kind() == Kind::Float && protect == Protection::Encrypt {
        reason_suffix = "; float: approximate, exact with a range";
    }
    reason.push_str(reason_suffix);
    let sums = matches!(protect, Protection::Encrypt | Protection::Decide);
    Column {
        name: found.name().to_owned(),
        kind,
        // A marker that another column turned into a missing-value token is one in texts too.
        nullable: found.missing() > 0
            || found.missing_markers().iter().any(|marker| null_tokens.iter().any(|token| token == marker)),
        range: range(found, kind),
        protect,
        purposes: if sums { purposes(kind, verdict.class) } else { Vec::new() },
        reason,
    }
}

fn column_type(found: &ColumnProfile) -> ColumnType {
    /// Total digits of a proposed decimal: amounts of everyday size, then all that fits.
    const PRECISIONS: [u8; 3] = [12, 18, 38];
    let magnitude = found.magnitude();
    match found.kind() {
        Kind::Bool => ColumnType::Bool,
        Kind::Category => ColumnType::Category,
        Kind::Date => ColumnType::Date,
        Kind::Decimal => {
            if let Some(Declared::Decimal { precision, scale }) = found.declared() {
                return ColumnType::Decimal { precision, scale };
            }
            let scale = u8::try_from(magnitude.fraction_digits).unwrap_or(9);
            let digits = digits_with_headroom(found) + scale;
            let precision = PRECISIONS.into_iter().find(|precision| *precision >= digits).unwrap_or(38);
            ColumnType::Decimal { precision, scale }
        }
        Kind::Empty | Kind::Text | Kind::Unsupported => ColumnType::Text,
        Kind::Float => ColumnType::Float { digits: 6 },
        Kind::Int => {
            let most =
                POWERS_OF_TEN.get(usize::from(digits_with_headroom(found))).copied().unwrap_or(u128::MAX);
            let bits = [8u8, 16, 32].into_iter().find(|bits| most <= 1 << (bits - 1)).unwrap_or(64);
            ColumnType::Int { bits }
        }
        Kind::Timestamp => ColumnType::Timestamp,
    }
}

/// Digits of the whole part of a range with headroom.
fn digits_with_headroom(found: &ColumnProfile) -> u8 {
    let magnitude = found.magnitude();
    let most = magnitude.low.unsigned_abs().max(magnitude.high.unsigned_abs()).saturating_mul(RANGE_FACTOR);
    // 10^k - 1 >= most, and at least two digits.
    let digits = POWERS_OF_TEN.iter().skip(2).position(|power| *power > most);
    digits.and_then(|at| u8::try_from(at + 2).ok()).unwrap_or(38)
}

/// The proposed range in units, from 0 unless a value is negative.
fn range(found: &ColumnProfile, kind: ColumnType) -> Option<UnitRange> {
    let magnitude = found.magnitude();
    match kind {
        ColumnType::Date | ColumnType::Timestamp => Some(date_range(found, kind)),
        ColumnType::Decimal { .. } | ColumnType::Int { .. } => {
            let scale = if let ColumnType::Decimal { scale, .. } = kind { scale } else { 0 };
            let digits = usize::from(digits_with_headroom(found)) + usize::from(scale);
            let bounds = type_bounds(kind)?;
            let power = POWERS_OF_TEN.get(digits).and_then(|power| i128::try_from(*power).ok());
            let high = power.map_or(bounds.high, |power| power - 1).min(bounds.high);
            Some(UnitRange { low: if magnitude.low < 0 { (-high).max(bounds.low) } else { 0 }, high })
        }
        _ => None,
    }
    .map(|range| widen_to_type(range, found, kind))
}

/// 64-bit integers near the end of their type leave no factor of two: the whole type, then.
fn widen_to_type(range: UnitRange, found: &ColumnProfile, kind: ColumnType) -> UnitRange {
    let (ColumnType::Int { .. }, Some(bounds)) = (kind, type_bounds(kind)) else { return range };
    let low = if found.magnitude().low < range.low { bounds.low } else { range.low };
    let high = if found.magnitude().high > range.high { bounds.high } else { range.high };
    UnitRange { low, high }
}

fn date_range(found: &ColumnProfile, kind: ColumnType) -> UnitRange {
    let magnitude = found.magnitude();
    let usual_micros =
        UnitRange { low: USUAL_DATES.low * DAY_MICROS, high: (USUAL_DATES.high + 1) * DAY_MICROS - 1 };
    let usual = magnitude.low >= usual_micros.low && magnitude.high <= usual_micros.high;
    match (kind, usual) {
        (ColumnType::Date, true) => USUAL_DATES,
        (ColumnType::Date, false) => DATE_BOUNDS,
        (_, true) => usual_micros,
        (_, false) => TIMESTAMP_BOUNDS,
    }
}

fn purposes(kind: ColumnType, class: Option<Class>) -> Vec<Purpose> {
    match kind {
        ColumnType::Category | ColumnType::Text => Vec::new(),
        ColumnType::Date | ColumnType::Timestamp => vec![Purpose::Count],
        ColumnType::Bool | ColumnType::Float { .. } => vec![Purpose::Sum, Purpose::Avg],
        // Sums of such numbers mean nothing; counting their presence does.
        ColumnType::Int { .. } if class == Some(Class::RecordId) => vec![Purpose::Count],
        ColumnType::Decimal { .. } | ColumnType::Int { .. } => {
            vec![Purpose::Sum, Purpose::Avg, Purpose::Stddev]
        }
    }
}

/// Tokens that were given, and markers found in columns of numbers, dates and truth values.
fn null_tokens(profile: &TableProfile) -> Vec<String> {
    let mut tokens = profile.null_tokens().to_vec();
    let typed = profile.columns().iter().filter(|column| !column.is_text());
    for marker in typed.flat_map(ColumnProfile::missing_markers) {
        if !tokens.iter().any(|token| token == marker) {
            tokens.push((*marker).to_owned());
        }
    }
    tokens
}

/// A power of ten with room for ten times the rows, at least [`DEFAULT_MAX_ROWS`].
fn max_rows(rows: u64) -> u64 {
    let mut most = DEFAULT_MAX_ROWS;
    while most < rows.saturating_mul(10) && most < 1_000_000_000_000 {
        most *= 10;
    }
    most
}

/// Keeps clear, in file order, what singles nobody out together with those before it; leaves the others to a person.
/// Returns the notes for the top of the file.
fn settle_clear(profile: &TableProfile, columns: &mut [Column]) -> Vec<String> {
    let candidates: Vec<usize> = (0..columns.len())
        .filter(|i| columns.get(*i).is_some_and(|c| c.protect == Protection::Clear))
        .collect();
    let (mut kept, mut notes): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for position in candidates {
        let Some(column) = columns.get_mut(position) else { continue };
        kept.push(column.name.clone());
        let names: Vec<&str> = kept.iter().map(String::as_str).collect();
        let found = profile.singled_out(&names);
        if found.is_some_and(|found| found.alone == 0) {
            continue;
        }
        column.protect = Protection::Decide;
        column.purposes = purposes(column.kind, None);
        column.reason = match found {
            Some(found) if names.len() > 1 => {
                notes.push(single_out_note(&names, found));
                format!("few values, but {} single out {} rows together", names.join(" + "), found.alone)
            }
            _ => "few values, but too many combinations with other clear columns to count".to_owned(),
        };
        kept.pop();
    }
    if kept.len() > 1 {
        let names: Vec<&str> = kept.iter().map(String::as_str).collect();
        if let Some(found) = profile.singled_out(&names) {
            notes.insert(0, single_out_note(&names, found));
        }
    }
    notes
}
