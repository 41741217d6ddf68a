// SPDX-License-Identifier: Apache-2.0
//! From a profile to a schema that a person can approve.

use hush_plan::schema::file::DEFAULT_MAX_ROWS;
use hush_plan::schema::file::type_name;
use hush_plan::schema::units::{DATE_BOUNDS, POWERS_OF_TEN, TIMESTAMP_BOUNDS, type_bounds};
use hush_plan::schema::{Column, ColumnType, Protection, Purpose, Schema, UNHELD_TYPE, UnitRange, Written};
use hush_plan::{Needs, plan_encodings};

use super::column::{AlmostNumber, ColumnProfile};
use super::kind::Kind;
use super::readings::Dates;
use super::{SingledOut, TableProfile};
use crate::classify::{Class, ColumnStatistics, classify};
use crate::source::Declared;

/// Least headroom of a proposed range: it ends at the first `10^k - 1` that leaves room for values this many
/// times the largest seen, so that the file shows an order of magnitude and no extreme.
pub const RANGE_FACTOR: u128 = 2;

/// Days of 1900-01-01 and 2199-12-31 since 1970.
const USUAL_DATES: UnitRange = UnitRange { low: -25_567, high: 84_005 };

const DAY_MICROS: i128 = 86_400_000_000;

/// Rows below which a proposal is a guess, and says so.
pub const FEW_ROWS: u64 = 10;

/// A schema that nobody has approved, with what its person should know.
#[derive(Clone, Debug)]
pub struct Proposed {
    /// The schema.
    pub schema: Schema,
    /// What deserves attention, one sentence each. No values but markers that many files have, such as `NA`.
    pub warnings: Vec<String>,
}

/// Proposes a schema named `table`.
///
/// Types are the narrowest kind with room to grow; ranges end at a power of ten (dates: the years 1900 to 2199,
/// else all); a column is nullable if a value is missing. Each column has a protection and its reason; clear ones
/// only as long as all of them together single nobody out, the rest of them is left to a person.
pub fn propose(profile: &TableProfile, table: &str) -> Proposed {
    let null_tokens =
        if profile.null_tokens().is_empty() { vec![String::new()] } else { profile.null_tokens().to_vec() };
    let mut columns: Vec<Column> =
        profile.columns().iter().map(|found| column(found, profile.null_tokens())).collect();
    let mut warnings: Vec<String> = profile.columns().iter().flat_map(remarks).collect();
    let mut notes = settle_clear(profile, &mut columns);
    if profile.rows() < FEW_ROWS {
        let plural = if profile.rows() == 1 { "row" } else { "rows" };
        let guess = format!(
            "{} {plural} alone: types, ranges and protections are guesses; check every column",
            profile.rows()
        );
        warnings.insert(0, guess.clone());
        notes.insert(0, guess);
    }
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
        cubes: Vec::new(),
        groups: Vec::new(),
        runs: Vec::new(),
        filters: Vec::new(),
        derived: Vec::new(),
        measures: Vec::new(),
        filter_factors: None,
        answer_keys: false,
        constant_keys: false,
        edge: false,
        erasable: false,
        allow: hush_plan::Shown::ALL,
        release: None,
    };
    columns.iter_mut().for_each(|column| keep_possible_purposes(&schema, column));
    schema.columns = columns;
    Proposed { schema, warnings }
}

/// Takes away purposes that no parameter set can serve: squares of more than some 30 digits, say. A column of which
/// not even sums are possible is sealed. `schema` says for how many rows and by whom.
pub fn keep_possible_purposes(schema: &Schema, column: &mut Column) {
    let is_number = type_bounds(column.kind).is_some();
    if !is_number || !matches!(column.protect, Protection::Decide | Protection::Encrypt) {
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
    column.purposes.retain(|purpose| purpose.order() < 2);
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
    let statistics = ColumnStatistics {
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
    let verdict = classify(&statistics);
    let (protect, mut reason) = match found.unsupported() {
        Some(kind) => (Protection::Drop, format!("{UNHELD_TYPE}: {kind}")),
        None => (verdict.protect, verdict.reason),
    };
    let mut protect = protect;
    match (found.kind(), found.declared(), found.dates()) {
        (Kind::Float, ..) if protect == Protection::Encrypt => {
            reason_suffix = "; float: approximate, exact with a range";
        }
        (Kind::Decimal | Kind::Int, Some(Declared::Single), _) => {
            reason_suffix = "; single floats, read by their shortest decimals";
        }
        (.., Dates::Ambiguous) => {
            // Without the order nothing can be read, whatever the protection.
            protect = Protection::Decide;
            reason_suffix = "; day or month first? set date_format to \"dmy\" or \"mdy\"";
        }
        _ => {}
    }
    reason.push_str(reason_suffix);
    let sums = matches!(protect, Protection::Encrypt | Protection::Decide);
    Column {
        name: found.name().to_owned(),
        kind,
        nullable: found.missing() > 0,
        range: range(found, kind),
        protect,
        purposes: if sums { purposes(kind, verdict.class) } else { Vec::new() },
        reason,
        written: written(found, null_tokens),
        join: None,
    }
}

/// How the values are written: a marker among numbers, dates or truth values means a missing one, in that column.
fn written(found: &ColumnProfile, null_tokens: &[String]) -> Written {
    let markers = if found.is_text() { &[] } else { found.missing_markers() };
    let tokens = null_tokens.iter().map(String::as_str).chain(markers.iter().copied());
    Written {
        null_tokens: (!markers.is_empty()).then(|| tokens.map(str::to_owned).collect()),
        date_format: if let Dates::Ordered(format) = found.dates() { Some(format) } else { None },
        ..Written::default()
    }
}

/// Facts about a column's values that a person should know.
fn remarks(found: &ColumnProfile) -> Vec<String> {
    let name = found.name();
    let mut out = Vec::new();
    if let Some(almost) = found.almost_number() {
        out.push(almost_number(found, almost));
    }
    if found.is_text() && !found.missing_markers().is_empty() {
        let markers: Vec<String> = found.missing_markers().iter().map(|text| format!("{text:?}")).collect();
        out.push(format!(
            "{name} has texts that often mean a missing value ({}); they are kept as texts, unless its null_tokens list them.",
            markers.join(", ")
        ));
    }
    if found.dates() == Dates::Ambiguous {
        out.push(format!(
            "{name} has dates such as 03/04/2024, with day or month first: set its date_format to \"dmy\" or \"mdy\"."
        ));
    }
    if found.is_zoned() {
        out.push(zone_note(name));
    }
    let kept = i32::from(MOST_FLOAT_DIGITS) + found.magnitude().first_digit.unwrap_or(0) + 1;
    if found.kind() == Kind::Float && kept < WORTHWHILE_DIGITS {
        out.push(format!(
            "{name} has numbers so small that float({MOST_FLOAT_DIGITS}) keeps {} digits of them: store them in a smaller unit.",
            kept.max(0)
        ));
    }
    out
}

/// Warns that the zone of instants is not kept.
pub fn zone_note(name: &str) -> String {
    format!("{name} has a time zone: its times are kept, and given back, in UTC without one.")
}

/// Says that a text column would be a number, and how to make it one.
fn almost_number(found: &ColumnProfile, almost: AlmostNumber) -> String {
    let (name, kind) = (found.name(), type_name(number_type(found, almost.kind)));
    if almost.separated == almost.texts {
        let values = if almost.texts == 1 { "value" } else { "values" };
        return format!(
            "{name} would be {kind} but for {} {values} with a thousands separator, such as 1,234.50; it is a text now. To make it \
             {kind}, write the numbers without separators.",
            almost.texts
        );
    }
    let texts = if almost.texts == 1 { "text" } else { "texts" };
    let limits = match almost.censored {
        0 => String::new(),
        count => format!(", {count} of them limits such as <5 or >200"),
    };
    let separated = match almost.separated {
        0 => String::new(),
        count => {
            format!(", {count} of them with a thousands separator such as 1,234.50, which is to be taken out")
        }
    };
    let bound = if almost.censored > 0 { "; censored = \"bound\" reads <5 as 5" } else { "" };
    format!(
        "{name} would be {kind} but for {} {texts} in {} values{limits}{separated}. To make it one, set type = \"{kind}\" and nullable = true \
         and list the texts in its null_tokens, so that they are missing{bound}.",
        almost.texts,
        found.values()
    )
}

fn column_type(found: &ColumnProfile) -> ColumnType {
    number_type(found, found.kind())
}

/// The type of values of some kind, with the room that the column's numbers need.
fn number_type(found: &ColumnProfile, kind: Kind) -> ColumnType {
    /// Total digits of a proposed decimal: amounts of everyday size, then all that fits.
    const PRECISIONS: [u8; 3] = [12, 18, 38];
    let magnitude = found.magnitude();
    match kind {
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
        Kind::Float => ColumnType::Float { digits: float_digits(magnitude.first_digit) },
        Kind::Int => {
            let most =
                POWERS_OF_TEN.get(usize::from(digits_with_headroom(found))).copied().unwrap_or(u128::MAX);
            let bits = [8u8, 16, 32].into_iter().find(|bits| most <= 1 << (bits - 1)).unwrap_or(64);
            ColumnType::Int { bits }
        }
        Kind::Timestamp => ColumnType::Timestamp,
    }
}

/// Most digits after the point of a float.
const MOST_FLOAT_DIGITS: u8 = 15;
/// Digits of the largest number below which a float is hardly worth its column.
const WORTHWHILE_DIGITS: i32 = 4;

/// Digits after the point that keep six digits of the largest number, and no fewer than six.
fn float_digits(first_digit: Option<i32>) -> u8 {
    let digits = 5 - first_digit.unwrap_or(0);
    u8::try_from(digits.clamp(6, i32::from(MOST_FLOAT_DIGITS))).unwrap_or(6)
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
