// SPDX-License-Identifier: Apache-2.0
//! Why rows are not encoded. Both reasons are bugs of ours, and neither message carries a value.

use arrow::error::ArrowError;

/// Why rows are not encoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// Arrow refused.
    #[error("arrays do not fit their schema")]
    Arrow(#[from] ArrowError),
    /// A bug of ours.
    #[error("internal error: {what}")]
    Internal {
        /// The broken assumption.
        what: &'static str,
    },
}

impl EncodeError {
    /// The stable code: the one of devices, where these errors were found first.
    pub fn code(&self) -> &'static str {
        "HUSH-G099"
    }
}
