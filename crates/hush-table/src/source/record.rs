// SPDX-License-Identifier: Apache-2.0
//! A record of CSV, whoever finds its fields, and what a record may be at most.

use super::SourceError;

/// Most columns of a table.
pub(super) const COLUMN_LIMIT: usize = 16 * 1024;

/// Room for a record before any is seen; doubled as often as one needs.
pub(super) const FIRST_RECORD_BYTES: usize = 64 * 1024;

/// One record: its fields with quotes removed.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    bytes: &'a [u8],
    ends: &'a [usize],
    end_line: u64,
    /// Bytes between a field and the next.
    gap: usize,
}

/// What gives records one after the other.
pub(super) trait NextRecord {
    /// The next record, `None` at the end.
    ///
    /// # Errors
    /// Reading fails, a limit is passed, or the input ends inside quotes.
    fn next_record(&mut self) -> Result<Option<Record<'_>>, SourceError>;
}

impl<'a> Record<'a> {
    /// A record on line `line` whose fields have their delimiters between them.
    pub(super) fn delimited(bytes: &'a [u8], ends: &'a [usize], line: u64) -> Self {
        Self { bytes, ends, end_line: line, gap: 1 }
    }

    /// A record that ends on line `end_line` whose fields stand one behind the other.
    pub(super) fn joined(bytes: &'a [u8], ends: &'a [usize], end_line: u64) -> Self {
        Self { bytes, ends, end_line, gap: 0 }
    }

    /// Number of fields.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of field `i`; empty beyond the last.
    #[inline]
    pub(crate) fn field(&self, i: usize) -> &'a [u8] {
        let before = i.checked_sub(1).map(|before| self.ends.get(before).map(|end| end + self.gap));
        let start = before.map_or(0, |start| start.unwrap_or(usize::MAX));
        let end = self.ends.get(i).copied().unwrap_or(0);
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// The line on which it starts, from 1.
    pub(crate) fn line(&self) -> u64 {
        let used = self.ends.last().copied().unwrap_or(0);
        let inside = self.bytes.get(..used).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count();
        self.end_line.saturating_sub(inside as u64)
    }
}
