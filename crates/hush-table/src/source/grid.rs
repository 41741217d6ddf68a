// SPDX-License-Identifier: Apache-2.0
//! Records of as many fields each, one behind the other: most of most files. All ends of fields are found first, then every column is
//! read from top to bottom.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter};

use super::lines::Lines;
use super::marks::{self, Dialect};

/// The fields of a chunk of CSV.
pub(super) struct Grid<'a> {
    bytes: &'a [u8],
    /// The same, if it is UTF-8.
    text: Option<&'a str>,
    /// Where fields end, behind the place before the first.
    marks: &'a [u32],
    columns: usize,
    /// Whether lines end in CRLF.
    has_returns: bool,
    line: u64,
}

impl<'a> Grid<'a> {
    /// The grid of some lines, if they are one of so many columns. `marks` is a buffer.
    ///
    /// # Cost
    /// A pass over the bytes, and one over the rows.
    pub(super) fn of(
        lines: &'a Lines,
        delimiter: u8,
        columns: usize,
        blank_rows: bool,
        marks: &'a mut Vec<u32>,
    ) -> Option<Self> {
        let bytes = &lines.bytes[..];
        let can_be =
            lines.is_short && !matches!(delimiter, b'"' | b'\n' | b'\r') && (columns > 1 || blank_rows);
        // A line feed that belongs to the line before ends no row.
        if !can_be || (lines.after_return && bytes.first() == Some(&b'\n')) {
            return None;
        }
        let length = u32::try_from(bytes.len()).ok()?;
        let dialect = Dialect { delimiter, has_quotes: lines.has_quotes };
        let returns = marks::find(bytes, dialect, lines.records.checked_mul(columns)?, marks)?;
        // The last line of a file may have no end.
        if bytes.last() != Some(&b'\n') {
            marks.push(length);
        }
        if marks.len() != lines.records * columns + 1 {
            return None;
        }
        let byte = |at: u32, back: usize| bytes.get((at as usize).checked_sub(back)?).copied();
        let mut row_ends = 0;
        for row in marks.get(1..)?.chunks_exact(columns) {
            let (end, others) = row.split_last()?;
            if byte(*end, 0).unwrap_or(b'\n') != b'\n'
                || others.iter().any(|end| byte(*end, 0) != Some(delimiter))
            {
                return None;
            }
            row_ends += usize::from(byte(*end, 1) == Some(b'\r'));
        }
        // A carriage return elsewhere ends a line too.
        if returns > 0 && returns != row_ends {
            return None;
        }
        let text = std::str::from_utf8(bytes).ok();
        Some(Self { bytes, text, marks, columns, has_returns: returns > 0, line: lines.line })
    }

    /// Rows.
    pub(super) fn rows(&self) -> usize {
        (self.marks.len() - 1) / self.columns
    }

    /// The line that a row begins on, from 1.
    ///
    /// # Cost
    /// A pass over the rows before it.
    pub(super) fn line(&self, row: usize) -> u64 {
        let before = self.marks.get(row * self.columns).map_or(0, |mark| mark.wrapping_add(1) as usize);
        self.line + memchr_iter(b'\n', self.bytes.get(..before).unwrap_or(self.bytes)).count() as u64
    }

    /// All bytes.
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Where the fields of a column start and end, from the first row on; quotes are part of them.
    pub(super) fn fields(&self, column: usize) -> impl Iterator<Item = (usize, usize)> + use<'a> {
        let starts = self.marks.get(column..).unwrap_or_default().iter().step_by(self.columns);
        let ends = self.marks.get(column + 1..).unwrap_or_default().iter().step_by(self.columns);
        let (bytes, is_last) = (self.bytes, self.has_returns && column + 1 == self.columns);
        starts.zip(ends).map(move |(before, end)| {
            let (start, end) = (before.wrapping_add(1) as usize, *end as usize);
            let has_return = is_last && end > start && bytes.get(end - 1) == Some(&b'\r');
            (start, end - usize::from(has_return))
        })
    }

    /// The content of a field.
    pub(super) fn field(&self, (start, end): (usize, usize)) -> Cow<'a, [u8]> {
        let field = self.bytes.get(start..end).unwrap_or_default();
        let [b'"', quoted @ .., b'"'] = field else { return field.into() };
        if memchr(b'"', quoted).is_none() {
            return quoted.into();
        }
        let (mut content, mut rest) = (Vec::with_capacity(quoted.len()), quoted);
        // Of two quotes, the second is skipped.
        while let Some(at) = memchr(b'"', rest) {
            content.extend_from_slice(rest.get(..=at).unwrap_or_default());
            rest = rest.get(at + 2..).unwrap_or_default();
        }
        content.extend_from_slice(rest);
        content.into()
    }

    /// The content of a field as text. `None` if it has quotes inside, or if something in the chunk is not UTF-8.
    pub(super) fn text(&self, (start, end): (usize, usize)) -> Option<&'a str> {
        let field = self.text?.get(start..end)?;
        let Some(quoted) = field.strip_prefix('"') else { return Some(field) };
        quoted.strip_suffix('"').filter(|quoted| memchr(b'"', quoted.as_bytes()).is_none())
    }
}
