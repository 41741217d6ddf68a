// SPDX-License-Identifier: Apache-2.0
//! Names of results while a query runs. Where the query engine would take a result for a column of the same name, the result has a mark behind its name,
//! and loses it at the end.

const MARK: char = '\u{1}';

/// A name with a mark behind it.
pub(crate) fn marked(name: &str) -> String {
    format!("{name}{MARK}")
}

/// Whether a name ends like one with a mark.
pub(crate) fn is_marked(name: &str) -> bool {
    name.ends_with(MARK)
}

/// The name of a result as its question has it.
pub fn shown_name(name: &str) -> &str {
    name.strip_suffix(MARK).unwrap_or(name)
}
