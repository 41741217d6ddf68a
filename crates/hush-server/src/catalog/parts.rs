// SPDX-License-Identifier: Apache-2.0
//! The complete parts of tables: whether they are sound, and how many bytes they take.

use std::sync::{Arc, Mutex, PoisonError};

use hush_table::{PartName, StoredPart};

use super::Catalog;
use crate::error::ApiError;
use crate::names::TableName;

/// Bytes of a table's complete parts, once they were counted.
pub(super) type StoredBytes = Arc<Mutex<Option<u64>>>;

impl Catalog {
    /// Reads a part and says whether it is what its name says.
    ///
    /// # Errors
    /// [`crate::error::Code::Internal`] if the store cannot be asked.
    ///
    /// # Cost
    /// One pass over the part. Nothing is remembered: a disk may lose at any time what it had.
    pub fn stored(&self, table: &TableName, part: &PartName) -> Result<StoredPart, ApiError> {
        let found = self.place(table)?.inspect(part)?;
        if matches!(found, StoredPart::Damaged { .. }) {
            tracing::warn!("a stored part is damaged");
        }
        Ok(found)
    }

    /// Bytes of a table's complete parts, committed or not. Listed once, counted on by [`Catalog::published`].
    ///
    /// # Errors
    /// [`crate::error::Code::Internal`] if the store cannot be asked.
    pub fn stored_bytes(&self, table: &TableName) -> Result<u64, ApiError> {
        let counted = self.counted(table);
        let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = *counted {
            return Ok(bytes);
        }
        let bytes = self.place(table)?.stored_bytes()?;
        *counted = Some(bytes);
        Ok(bytes)
    }

    /// Counts a part that is complete now, in place of one of `replaced` bytes.
    pub fn published(&self, table: &TableName, bytes: u64, replaced: u64) {
        if let Some(counted) = self.counted(table).lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            *counted = counted.saturating_sub(replaced).saturating_add(bytes);
        }
    }

    /// Lists a table's parts again when they are asked for the next time, because some were removed.
    pub(super) fn count_anew(&self, table: &TableName) {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).remove(table);
    }

    fn counted(&self, table: &TableName) -> StoredBytes {
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(stored.entry(table.clone()).or_default())
    }
}
