// SPDX-License-Identifier: Apache-2.0
//! Other meanings of a text: a missing value, a truth value, a date in one of several orders.

use hush_plan::schema::DateFormat;
use hush_plan::schema::units::parse_timestamp;

/// Texts that often mean a missing value. They are set aside while a column may still be a number, date or truth
/// value, and count as missing if it is one.
pub(super) const MARKERS: [&str; 16] = [
    "", "#N/A", "-", "--", ".", "<NA>", "?", "N/A", "NA", "NULL", "NaN", "None", "missing", "n/a", "nan",
    "null",
];

/// The ways to read a date: as only one order can be meant, and by either order of day and month.
pub(super) const DATE_FORMATS: [Option<DateFormat>; 3] =
    [None, Some(DateFormat::DayMonthYear), Some(DateFormat::MonthDayYear)];

/// The form of a column's dates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dates {
    /// Only one order of day, month and year is possible, or there are no dates.
    #[default]
    Plain,
    /// Some of them have a day above 12, which decides the order.
    Ordered(DateFormat),
    /// Day and month could be either way.
    Ambiguous,
}

/// The spellings in a column of truth values: single letters alone may mean something else (a column of `N`, or of `F` and `M`).
#[derive(Clone, Copy, Default)]
pub(super) struct Truths {
    seen_true: bool,
    seen_false: bool,
    letters: bool,
}

/// The position in [`MARKERS`] of a text, if it is one.
#[inline]
pub(super) fn marker(text: &[u8]) -> Option<usize> {
    let may_be = text.len() <= 7
        && matches!(text.first(), None | Some(b'#' | b'-' | b'.' | b'<' | b'?' | b'N' | b'm' | b'n'));
    if may_be { MARKERS.iter().position(|marker| marker.as_bytes() == text) } else { None }
}

impl Truths {
    /// Takes a word for true or false. `false` if it is none.
    pub(super) fn add(&mut self, text: &[u8]) -> bool {
        const WORDS: [(&str, bool); 6] =
            [("true", true), ("yes", true), ("y", true), ("false", false), ("no", false), ("n", false)];
        let Some((_, value)) = WORDS.iter().find(|(word, _)| word.as_bytes().eq_ignore_ascii_case(text))
        else {
            return false;
        };
        self.letters |= text.len() == 1;
        *(if *value { &mut self.seen_true } else { &mut self.seen_false }) = true;
        true
    }

    /// Whether the column can hold nothing but truth values.
    pub(super) fn are_certain(self) -> bool {
        !self.letters || (self.seen_true && self.seen_false)
    }
}

/// A number in groups of three digits, without their separators: `1,234.50`, `1'234`, or `1.234,50` with a comma for the
/// point. `None` for any other text. Plain blanks do not count: telephone numbers have them.
pub(super) fn without_separators(text: &[u8]) -> Option<Vec<u8>> {
    const MARKS: [&str; 6] = [",", ".", "'", "\u{2019}", "\u{a0}", "\u{202f}"];
    let text = std::str::from_utf8(text).ok()?;
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let first = digits.bytes().take_while(u8::is_ascii_digit).count();
    let mark =
        MARKS.into_iter().find(|mark| digits.get(first..).is_some_and(|rest| rest.starts_with(mark)))?;
    let (whole, fraction) = match digits.rfind(['.', ',']) {
        Some(at) if !mark.starts_with(digits.get(at..=at)?) => digits.split_at(at),
        _ => (digits, ""),
    };
    let mut groups = whole.split(mark);
    let is_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let starts = groups.next().is_some_and(|group| (1..=3).contains(&group.len()) && is_digits(group));
    let is_grouped = starts && groups.all(|group| group.len() == 3 && is_digits(group));
    let is_fraction =
        fraction.is_empty() || fraction.get(1..).is_some_and(|part| !part.is_empty() && is_digits(part));
    // One group after a point is a fraction.
    let is_plain = mark == "." && whole.matches(mark).count() == 1 && fraction.is_empty();
    if !is_grouped || !is_fraction || is_plain {
        return None;
    }
    let sign = text.get(..text.len() - digits.len())?;
    Some(format!("{sign}{}{}", whole.replace(mark, ""), fraction.replace(',', ".")).into_bytes())
}

/// The instants that a text names in each of the requested [`DATE_FORMATS`].
pub(super) fn instants(text: &[u8], wanted: [bool; DATE_FORMATS.len()]) -> [Option<i64>; DATE_FORMATS.len()] {
    let mut out = [None; DATE_FORMATS.len()];
    for ((out, format), wanted) in out.iter_mut().zip(DATE_FORMATS).zip(wanted) {
        *out = if wanted { parse_timestamp(text, format) } else { None };
    }
    out
}
