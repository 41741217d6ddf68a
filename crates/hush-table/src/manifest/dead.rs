// SPDX-License-Identifier: Apache-2.0
//! Rows that were deleted: where the manifest names them, and what that is allowed to say.
//!
//! Parts never change. A version that deletes rows names, beside a part, the list of its rows that count no longer.
// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use serde::{Deserialize, Serialize};

use super::{Manifest, PartEntry, PartFile};
use crate::error::ManifestFault;
use crate::part::DeadRows;

/// The rows of a part that were deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dead {
    /// How many, 1 to all rows of the part.
    pub rows: u64,
    /// The list of them ([`DeadRows`]).
    pub file: PartFile,
}

impl Manifest {
    /// Rows of the table: those of its parts that were not deleted.
    pub fn living_rows(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.living_rows()))
    }

    /// Rows that its parts hold and that were deleted.
    pub fn dead_rows(&self) -> u64 {
        self.rows.saturating_sub(self.living_rows())
    }
}

impl PartEntry {
    /// Rows of the part that were not deleted.
    pub fn living_rows(&self) -> u64 {
        self.rows.saturating_sub(self.dead.map_or(0, |dead| dead.rows))
    }
}

/// A list has some rows of the part, and at most the bytes that such a list takes.
pub(super) fn check(index: usize, part: &PartEntry) -> Result<(), ManifestFault> {
    let Some(dead) = part.dead else { return Ok(()) };
    let fits = (1..=part.rows).contains(&dead.rows)
        && (1..=DeadRows::max_bytes(part.rows)).contains(&dead.file.bytes);
    if fits { Ok(()) } else { Err(ManifestFault::Dead { index }) }
}
