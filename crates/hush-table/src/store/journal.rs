// SPDX-License-Identifier: Apache-2.0
//! The journal of an encryption: what its writer needs to go on after an interruption. The writer seals it; here it is bytes.

use bytes::Bytes;

use super::objects::{self, Lookup};
use super::{JOURNAL_NAME, PARTS_NAME, TableStore, files};
use crate::error::{Measured, Operation, TableError};
use crate::manifest::MAX_CONTAINER_BYTES;

impl TableStore {
    /// The journal that an interrupted encryption has left here; `None` without one.
    ///
    /// # Errors
    /// [`TableError::TooLarge`], [`TableError::Io`].
    pub fn journal(&self) -> Result<Option<Vec<u8>>, TableError> {
        let place = || format!("{}/{JOURNAL_NAME}", self.place());
        let found = match &self.directory {
            Some(directory) => objects::open_file(&directory.join(JOURNAL_NAME))?,
            None => objects::fetch(&self.objects, &self.folder(JOURNAL_NAME), MAX_CONTAINER_BYTES)?,
        };
        let too_large = |found| {
            let (what, limit) = (Measured::Journal, MAX_CONTAINER_BYTES);
            Err(TableError::TooLarge { what, found, limit })
        };
        match found {
            Lookup::Nothing => Ok(None),
            Lookup::TooLarge(stamp) => too_large(stamp.bytes()),
            Lookup::Object(source, _) if source.length() > MAX_CONTAINER_BYTES => too_large(source.length()),
            Lookup::Object(source, _) => {
                let failed = |source| TableError::failed(Operation::Read, place(), source);
                Ok(Some(source.read_all().map_err(failed)?.to_vec()))
            }
        }
    }

    /// Replaces the journal, once the names of the parts on which it relies are durable.
    pub(super) fn write_journal(&self, bytes: &[u8]) -> Result<(), TableError> {
        let Some(directory) = &self.directory else {
            let bytes = Bytes::copy_from_slice(bytes);
            return objects::put(&self.objects, &self.folder(JOURNAL_NAME), bytes).map(drop);
        };
        files::sync_directory(&directory.join(PARTS_NAME))?;
        files::write(directory, JOURNAL_NAME, bytes)?;
        files::sync_directory(directory)
    }

    /// Removes the journal; the next sweep removes what only it named.
    pub(super) fn remove_journal(&self) -> Result<(), TableError> {
        objects::delete(&self.objects, &self.folder(JOURNAL_NAME))
    }
}
