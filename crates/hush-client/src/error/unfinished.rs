// SPDX-License-Identifier: Apache-2.0
//! Why an interrupted encryption is not continued.

/// What differs from the encryption that was interrupted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unfinished {
    /// A file.
    #[error("of other data: {file} is new or has changed since")]
    File {
        /// Its path, in a folder that below it.
        file: String,
    },
    /// Files are gone, or rows.
    #[error("of more data: files or rows are gone since")]
    Files,
    /// Rows.
    #[error("of other data: rows {first} to {last} have changed since")]
    Rows {
        /// The first row of a part, from 1.
        first: u64,
        /// Its last.
        last: u64,
    },
    /// The schema or the workload.
    #[error("under another schema, or for other queries")]
    Schema,
    /// The key, or the journal's bytes.
    #[error("whose journal this key does not open: it is another key's, or damaged")]
    Sealed,
}
