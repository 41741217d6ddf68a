// SPDX-License-Identifier: Apache-2.0
//! The schema file: a TOML proposal that a person reads, edits and approves.
//!
//! ```toml
//! format = 1
//! table = "patients"
//! status = "approved"
//! approved_by = "A. Person"
//! unlisted = "refuse"
//! null_tokens = ["", "NA"]
//! max_rows = 1000000
//! products = [["age", "charges"]]
//!
//! [columns.charges]
//! type = "decimal(12,2)"
//! range = [0, 9999999.99]
//! nullable = false
//! protect = "encrypt"
//! for = ["sum", "avg"]
//! reason = "money (name, two decimals)"
//! ```
//!
//! *Invariants.* Reading is strict: an unknown key, type, protection or purpose is refused with its line, and
//! bounds are read from the digits as written, never through a binary float. `from_toml(&to_toml(&s)) == s` for
//! every schema that [`from_toml`] accepts. Columns keep the order of the file.
//!
//! *Non-goals.* Deciding protections (`hush-table` proposes them), file access.

mod cubes;
mod edit;
mod error;
mod join;
mod read;
mod runs;
mod write;

pub use edit::{Change, Setting, edit};
pub use error::{RangeProblem, SchemaError};
pub use read::{column_from_toml, from_toml};
pub use write::{date_format_name, table_key, to_toml, type_name};
pub(crate) use write::{lists_of_units, quoted, quoted_list};

use super::{Protection, Schema};

/// The version of the file format that is written; the only one read.
pub const FORMAT: i64 = 1;

/// The version's name for what happens to columns that the schema does not list.
const UNLISTED: &str = "refuse";

/// Rows that a table may grow to where the file does not say.
pub const DEFAULT_MAX_ROWS: u64 = 1_000_000;

/// Checks that a person has decided on every column and approved the schema, as `encrypt` demands.
///
/// # Errors
/// [`SchemaError::Undecided`] before [`SchemaError::NotApproved`].
pub fn require_approved(schema: &Schema) -> Result<(), SchemaError> {
    let undecided: Vec<String> =
        schema.protected(Protection::Decide).map(|column| column.name.clone()).collect();
    if !undecided.is_empty() {
        return Err(SchemaError::Undecided { columns: undecided });
    }
    if !schema.approved {
        return Err(SchemaError::NotApproved);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
