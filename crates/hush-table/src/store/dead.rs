// SPDX-License-Identifier: Apache-2.0
//! The lists of deleted rows of parts.

use super::TableStore;
use super::open::failed;
use crate::error::{PartFault, TableError};
use crate::manifest::{Dead, PartEntry};
use crate::part::{DeadRows, FileKind, WrittenPart};

impl TableStore {
    /// The rows of a part that were deleted; `None` if none was.
    ///
    /// # Errors
    /// As [`TableStore::open_part`]; [`TableError::BadPart`] for another list than that of the entry.
    ///
    /// # Cost
    /// The size of the list: at most a bit for each row of the part.
    pub fn dead_rows(&self, entry: &PartEntry) -> Result<Option<DeadRows>, TableError> {
        let Some(dead) = entry.dead else { return Ok(None) };
        let source = self.open_part(FileKind::Dead, &dead.file)?;
        let bytes = source.read_all().map_err(|cause| failed(&source, FileKind::Dead, &dead.file, cause))?;
        let list = DeadRows::decode(&bytes, entry.rows).filter(|list| list.count() == dead.rows);
        let fault = TableError::BadPart { part: dead.file.digest, fault: PartFault::DeadRows };
        list.ok_or(fault).map(Some)
    }

    /// Stores a list of deleted rows, and says where it is for the manifest. Storing it again changes nothing.
    ///
    /// # Errors
    /// As [`TableStore::put_part`].
    pub fn put_dead_rows(&self, list: &DeadRows) -> Result<Dead, TableError> {
        let written = WrittenPart::new(FileKind::Dead, list.encode(), 0, 0);
        self.put_part(&written)?;
        Ok(Dead { rows: list.count(), file: written.file })
    }
}
