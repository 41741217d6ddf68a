// SPDX-License-Identifier: Apache-2.0
//! A wall around the Parquet reader.
//!
//! A part is read only where its bytes agree with a signed manifest, so they are its owner's. An owner may be
//! hostile to a server all the same, and Parquet and Arrow readers still panic on some impossible headers and schemas.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::source::PartSource;
use crate::digest::Digest;
use crate::error::{PartFault, TableError};

/// Runs a reader of somebody else's bytes; a panic inside becomes the error of a damaged part. If the source has found its
/// bytes altered, or could not read them, that is the error, whatever the reader has made of it.
///
/// `read` must not change what it borrows, or the caller must not use that after an error; so nobody sees a half-made change.
pub(super) fn contain<T>(
    part: Digest,
    source: &PartSource,
    read: impl FnOnce() -> Result<T, TableError>,
) -> Result<T, TableError> {
    let read = catch_unwind(AssertUnwindSafe(read))
        .unwrap_or(Err(TableError::BadPart { part, fault: PartFault::Unreadable }));
    read.map_err(|error| source.trouble(part).unwrap_or(error))
}
