// SPDX-License-Identifier: Apache-2.0
//! Whole records of CSV as the file has them.

use super::SourceError;

/// Records that were cut out of a file.
pub(super) struct Lines {
    pub(super) bytes: Vec<u8>,
    pub(super) records: usize,
    /// Number of the first line.
    pub(super) line: u64,
    /// Whether a carriage return that ended a line stands before them.
    pub(super) after_return: bool,
    pub(super) has_quotes: bool,
    /// Whether no record could pass a limit.
    pub(super) is_short: bool,
}

/// Cutting and reading follow the same rules. If they did not, values would stand in other rows.
pub(super) fn check_count(found: usize, expected: usize) -> Result<(), SourceError> {
    if found == expected {
        return Ok(());
    }
    let text = format!("a chunk has {found} records where {expected} were cut from the file");
    Err(SourceError::Read { source: std::io::Error::other(text) })
}
