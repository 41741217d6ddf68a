// SPDX-License-Identifier: Apache-2.0
//! A record of CSV, and what a record may be at most.

/// Most columns of a table.
pub(super) const COLUMN_LIMIT: usize = 16 * 1024;

/// Room for a record before any is seen; doubled as often as one needs.
pub(super) const FIRST_RECORD_BYTES: usize = 64 * 1024;

/// One record: its fields with quotes removed, one behind the other.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    bytes: &'a [u8],
    ends: &'a [usize],
    end_line: u64,
}

impl<'a> Record<'a> {
    /// A record that ends on line `end_line`.
    pub(super) fn new(bytes: &'a [u8], ends: &'a [usize], end_line: u64) -> Self {
        Self { bytes, ends, end_line }
    }

    /// Number of fields.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of field `i`; empty beyond the last.
    #[inline]
    pub(crate) fn field(&self, i: usize) -> &'a [u8] {
        let start = i.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let (start, end) = (start.unwrap_or(usize::MAX), self.ends.get(i).copied().unwrap_or(0));
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// The line on which it starts, from 1.
    pub(crate) fn line(&self) -> u64 {
        let used = self.ends.last().copied().unwrap_or(0);
        let inside = self.bytes.get(..used).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count();
        self.end_line.saturating_sub(inside as u64)
    }
}
