// SPDX-License-Identifier: Apache-2.0
//! The profile of one column: the types that all its values fit, their size, and how often they repeat.

use hush_plan::schema::DateFormat;
use hush_plan::schema::units::{DecimalPoint, Number, POWERS_OF_TEN, censored_bound, has_zone, scan_number};

use super::counts::TupleCounts;
use super::kind::Kind;
use super::numbers::{Magnitude, Numbers, Written};
use super::readings::{DATE_FORMATS, Dates, MARKERS, Truths, instants, marker, without_separators};
use crate::classify::{PatternCounts, SHARED_BY};
use crate::short_number::ShortNumber;
use crate::source::{Declared, SourceColumn};

/// Distinct values that are counted exactly.
const DISTINCT_EXACT: usize = 8192;

/// The findings of a pass about one column. Holds no values.
#[derive(Clone, Debug)]
pub struct ColumnProfile {
    name: String,
    kind: Kind,
    unsupported: Option<String>,
    declared: Option<Declared>,
    values: u64,
    missing: u64,
    distinct: u64,
    rare_rows: u64,
    estimated: bool,
    unique: bool,
    prose: bool,
    magnitude: Magnitude,
    patterns: PatternCounts,
    markers: Vec<&'static str>,
    dates: Dates,
    zoned: bool,
    almost: Option<AlmostNumber>,
}

/// A column of texts most of which are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlmostNumber {
    /// The kind of its numbers.
    pub kind: Kind,
    /// Values that are no numbers.
    pub texts: u64,
    /// How many of these are the limit of a measurement, such as `<5`.
    pub censored: u64,
    /// How many of these are numbers with thousands separators, such as `1,234.50`.
    pub separated: u64,
}

impl ColumnProfile {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kind that all its values are.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Present values.
    pub fn values(&self) -> u64 {
        self.values
    }

    /// Missing values.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Distinct present values; an estimate beyond some thousands.
    pub fn distinct(&self) -> u64 {
        self.distinct
    }

    /// Whether [`distinct`](Self::distinct) is an estimate.
    pub fn distinct_is_estimate(&self) -> bool {
        self.estimated
    }

    /// Whether no value occurs twice (judged on some thousands of values where there are more).
    pub fn unique(&self) -> bool {
        self.unique
    }

    /// Whether all present values are the same.
    pub fn constant(&self) -> bool {
        self.distinct == 1
    }

    /// Rows whose value fewer than five rows have, the missing ones counted as a value.
    pub fn rare_rows(&self) -> u64 {
        self.rare_rows
    }

    /// Most digits after the point.
    pub fn fraction_digits(&self) -> u32 {
        self.magnitude.fraction_digits
    }

    /// How many values match each pattern.
    pub fn patterns(&self) -> &PatternCounts {
        &self.patterns
    }

    /// Texts found that often stand for a missing value, and do in a column of numbers, dates or truth values.
    pub fn missing_markers(&self) -> &[&'static str] {
        &self.markers
    }

    /// Whether it holds texts, of which a marker is one.
    pub fn is_text(&self) -> bool {
        matches!(self.kind, Kind::Category | Kind::Text)
    }

    /// Whether most values are sentences.
    pub fn prose(&self) -> bool {
        self.prose
    }

    /// Whether its values are whole numbers without gaps or repetition.
    pub fn consecutive(&self) -> bool {
        let span = self.magnitude.high.checked_sub(self.magnitude.low).and_then(|span| span.checked_add(1));
        self.kind == Kind::Int && self.unique && self.values > 1 && span == Some(i128::from(self.values))
    }

    /// The form of its dates.
    pub fn dates(&self) -> Dates {
        self.dates
    }

    /// Whether its instants have a time zone, which nothing keeps: instants are of UTC.
    pub fn is_zoned(&self) -> bool {
        self.kind == Kind::Timestamp && (self.zoned || self.declared == Some(Declared::Zoned))
    }

    /// The kind of its numbers, if only a few values make it a text.
    pub fn almost_number(&self) -> Option<AlmostNumber> {
        self.almost
    }

    /// The name of its type, if it is one that tables cannot hold.
    pub(super) fn unsupported(&self) -> Option<&str> {
        self.unsupported.as_deref()
    }

    pub(super) fn declared(&self) -> Option<Declared> {
        self.declared
    }

    pub(super) fn magnitude(&self) -> Magnitude {
        self.magnitude
    }
}

/// The kinds that all values so far have been.
#[derive(Clone, Copy)]
struct Possible {
    truth: bool,
    number: bool,
    /// By each of [`DATE_FORMATS`].
    dates: [bool; DATE_FORMATS.len()],
}

impl Possible {
    const NUMBER: Self = Self { truth: false, number: true, dates: [false; DATE_FORMATS.len()] };

    fn any(self) -> bool {
        self.truth || self.number || self.is_date()
    }

    fn is_date(self) -> bool {
        self.dates.contains(&true)
    }
}

/// Collects a [`ColumnProfile`].
pub(super) struct ColumnProfiler {
    name: String,
    unsupported: Option<String>,
    declared: Option<Declared>,
    point: DecimalPoint,
    possible: Possible,
    values: u64,
    missing: u64,
    numbers: Numbers,
    counts: TupleCounts,
    patterns: PatternCounts,
    /// Markers set aside.
    markers: [u64; MARKERS.len()],
    /// Markers met after the column was known to be text, one bit each.
    markers_in_text: u32,
    sentences: u64,
    longest: usize,
    truths: Truths,
    /// A date with a time of day, and one with a time zone.
    clock: bool,
    zoned: bool,
    /// Numbers of a column that is a text, limits of measurements in it, and numbers with thousands separators.
    numeric: u64,
    censored: u64,
    separated: u64,
}

impl ColumnProfiler {
    pub(super) fn new(column: &SourceColumn, point: DecimalPoint) -> Self {
        Self {
            name: column.name.clone(),
            unsupported: column.unsupported.clone(),
            declared: column.declared,
            point,
            possible: Possible { truth: true, number: true, dates: [true; DATE_FORMATS.len()] },
            values: 0,
            missing: 0,
            numbers: Numbers::default(),
            counts: TupleCounts::new(DISTINCT_EXACT),
            patterns: PatternCounts::default(),
            markers: [0; MARKERS.len()],
            markers_in_text: 0,
            sentences: 0,
            longest: 0,
            truths: Truths::default(),
            clock: false,
            zoned: false,
            numeric: 0,
            censored: 0,
            separated: 0,
        }
    }

    /// Adds a cell, whose hash the caller has.
    #[inline]
    pub(super) fn add(&mut self, cell: Option<&[u8]>, hash: u64) {
        let Some(text) = cell else {
            self.missing += 1;
            return;
        };
        let text = text.trim_ascii();
        if self.possible.number && self.add_number(text) {
            self.possible = Possible::NUMBER;
        } else if self.possible.any() {
            if !self.add_other(text) {
                return;
            }
        } else {
            self.add_text(text);
            self.markers_in_text |= marker(text).map_or(0, |marker| 1 << marker);
        }
        self.values += 1;
        self.counts.add(hash);
    }

    /// Takes a number's measures. `false` if it is none.
    #[inline]
    fn add_number(&mut self, text: &[u8]) -> bool {
        if let Some(ShortNumber { value, fraction_digits, leading_zeros }) = ShortNumber::read(text) {
            // At most 18 digits: a power of ten below 10^19.
            let power = POWERS_OF_TEN.get(usize::from(fraction_digits)).copied().unwrap_or(1) as u64;
            let (whole, rest) = (value.unsigned_abs() / power, value.unsigned_abs() % power);
            let away = i128::from(whole) + i128::from(rest != 0);
            let away = if value < 0 { -away } else { away };
            self.numbers.widen(away, away);
            self.numbers.add(Written {
                integer_digits: whole.checked_ilog10().map_or(0, |log| log + 1),
                fraction_digits: fraction_digits.into(),
                leading_zeros,
                fraction: rest != 0,
                scientific: false,
                first_digit: first_digit(value.unsigned_abs().checked_ilog10(), -i32::from(fraction_digits)),
            });
            if (10..=18).contains(&text.len()) && fraction_digits == 0 && value >= 0 {
                self.patterns.add_digits(text);
            }
            return true;
        }
        self.add_long_number(text)
    }

    #[cold]
    fn add_long_number(&mut self, text: &[u8]) -> bool {
        let Some(number) = scan_number(text, self.point) else { return false };
        self.measure(&number);
        if (13..=19).contains(&text.len()) && text.iter().all(u8::is_ascii_digit) {
            self.patterns.add_digits(text);
        }
        true
    }

    fn measure(&mut self, number: &Number) {
        // Away from zero also where the whole part is zero.
        let away = if number.negative { -1 } else { 1 };
        let rounded = || number.units_rounded(0).and_then(|units| units.checked_add(away));
        let above = number.units_exact(0).or_else(rounded);
        if let Some(units) = above {
            self.numbers.widen(units, units);
        }
        self.numbers.add(Written {
            integer_digits: number.integer_digits,
            fraction_digits: number.fraction_digits,
            leading_zeros: number.leading_zeros,
            fraction: number.units_exact(0).is_none(),
            // Beyond 127 bits no decimal holds it: a float.
            scientific: number.scientific || number.cut || above.is_none(),
            first_digit: first_digit(number.mantissa.checked_ilog10(), number.exponent),
        });
    }

    /// A value that is no number, in a column that may be something else than text. `false` if it only marks a
    /// missing value.
    fn add_other(&mut self, text: &[u8]) -> bool {
        let was = self.possible;
        let truth = was.truth && self.truths.add(text);
        let instants = if truth { [None; DATE_FORMATS.len()] } else { instants(text, was.dates) };
        let instant = instants.into_iter().flatten().next();
        if !truth && instant.is_none() {
            if let Some(count) = marker(text).and_then(|marker| self.markers.get_mut(marker)) {
                *count += 1;
                return false;
            }
            // What came before were numbers, if anything.
            self.numeric = if was.number { self.values } else { 0 };
            self.add_text(text);
        }
        self.possible = Possible { truth, number: false, dates: instants.map(|instant| instant.is_some()) };
        if let Some(micros) = instant {
            self.zoned |= has_zone(text);
            self.clock |= text.iter().any(|byte| matches!(byte, b'T' | b't' | b' '));
            self.numbers.widen(i128::from(micros), i128::from(micros));
        }
        true
    }

    /// Counts a value of a text column that is a number, the limit of one, or one in groups of digits.
    fn add_almost(&mut self, text: &[u8]) {
        if !matches!(text.first(), Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'<' | b'>' | 0xe2)) {
            return;
        }
        let bound = censored_bound(text);
        let joined = without_separators(text);
        let Some(number) = scan_number(joined.as_deref().or(bound).unwrap_or(text), self.point) else {
            return;
        };
        self.measure(&number);
        *(match (bound, joined) {
            (Some(_), _) => &mut self.censored,
            (None, Some(_)) => &mut self.separated,
            (None, None) => &mut self.numeric,
        }) += 1;
    }

    fn add_text(&mut self, text: &[u8]) {
        self.add_almost(text);
        self.patterns.add_text(text);
        self.longest = self.longest.max(text.len());
        let blanks = text.iter().filter(|byte| **byte == b' ').count();
        self.sentences += u64::from(blanks >= 4 || text.len() > 80);
    }

    /// Ends the pass.
    pub(super) fn finish(self) -> ColumnProfile {
        let kind = self.kind();
        let is_text = matches!(kind, Kind::Category | Kind::Text);
        let marked: u64 = self.markers.iter().sum();
        let found = |(i, _): &(usize, &&str)| {
            self.markers.get(*i).is_some_and(|count| *count > 0) || self.markers_in_text >> i & 1 == 1
        };
        let markers: Vec<&'static str> =
            MARKERS.iter().enumerate().filter(found).map(|(_, text)| *text).collect();
        // In a text column a marker is a value like any other.
        let (values, missing) =
            if is_text { (self.values + marked, self.missing) } else { (self.values, self.missing + marked) };
        let texts = values.saturating_sub(self.numeric);
        let almost = self.numbers.kind(None).filter(|kind| {
            let is_mostly =
                (self.numeric + self.censored + self.separated).saturating_mul(2) > values && texts > 0;
            is_text && is_mostly && !matches!(kind, Kind::Text)
        });
        let dates = if matches!(kind, Kind::Date | Kind::Timestamp) { self.dates() } else { Dates::Plain };
        let rare_missing = if (1..SHARED_BY).contains(&missing) { missing } else { 0 };
        ColumnProfile {
            kind,
            unsupported: self.unsupported,
            declared: self.declared,
            values,
            missing,
            distinct: self.counts.distinct().min(values),
            rare_rows: self.counts.rows_below(SHARED_BY).min(values) + rare_missing,
            estimated: self.counts.is_estimate(),
            unique: values > 0 && self.counts.all_once() && (!is_text || marked == 0),
            prose: self.sentences * 2 > values,
            magnitude: self.numbers.magnitude,
            patterns: self.patterns,
            markers,
            dates,
            zoned: self.zoned,
            almost: almost.map(|kind| AlmostNumber {
                kind,
                texts,
                censored: self.censored,
                separated: self.separated,
            }),
            name: self.name,
        }
    }

    fn kind(&self) -> Kind {
        match self.possible {
            _ if self.unsupported.is_some() => Kind::Unsupported,
            _ if self.values == 0 => Kind::Empty,
            Possible { number: true, .. } => {
                self.numbers.kind(self.declared).unwrap_or_else(|| self.text_kind())
            }
            Possible { truth: true, .. } if self.truths.are_certain() => Kind::Bool,
            possible if possible.is_date() => {
                if self.clock {
                    Kind::Timestamp
                } else {
                    Kind::Date
                }
            }
            _ => self.text_kind(),
        }
    }

    fn dates(&self) -> Dates {
        match self.possible.dates {
            [true, ..] => Dates::Plain,
            [_, true, false] => Dates::Ordered(DateFormat::DayMonthYear),
            [_, false, true] => Dates::Ordered(DateFormat::MonthDayYear),
            _ => Dates::Ambiguous,
        }
    }

    /// A category if its values are short, few, and repeat.
    fn text_kind(&self) -> Kind {
        let distinct = self.counts.distinct();
        let repeats = distinct <= 256 && distinct.saturating_mul(4) <= self.values;
        if repeats && self.longest <= 64 && self.sentences * 2 <= self.values {
            Kind::Category
        } else {
            Kind::Text
        }
    }
}

/// Power of ten of the first digit of a number whose mantissa has this logarithm; `None` for 0.
fn first_digit(mantissa_log10: Option<u32>, exponent: i32) -> Option<i32> {
    mantissa_log10.map(|log| exponent.saturating_add(log.cast_signed()))
}
