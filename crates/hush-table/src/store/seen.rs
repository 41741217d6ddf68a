// SPDX-License-Identifier: Apache-2.0
//! A table's present version, read again only if it has changed: for those who answer for tables that others write.

use std::sync::Arc;

use super::TableStore;
use super::objects::{self, Stamp};
use crate::error::TableError;
use crate::manifest::{MAX_CONTAINER_BYTES, SignedManifest};

/// A version, and what its manifest looked like in the store when it was read. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SeenVersion {
    manifest: Arc<SignedManifest>,
    stamp: Stamp,
}

impl SeenVersion {
    /// The version's manifest.
    pub fn manifest(&self) -> &Arc<SignedManifest> {
        &self.manifest
    }
}

impl TableStore {
    /// The present version: the one that was `seen`, if its manifest still looks the same, else the one that is there.
    ///
    /// # Errors
    /// As [`TableStore::load`].
    ///
    /// # Cost
    /// One request, which brings nothing while nothing has changed; of a directory one look at a file.
    pub fn load_changed(&self, seen: Option<&SeenVersion>) -> Result<SeenVersion, TableError> {
        let path = self.manifest_path();
        let found = match (seen, self.file_of(&path)) {
            (None, _) => Some(self.fetch(&path, MAX_CONTAINER_BYTES)?),
            (Some(seen), None) => {
                objects::fetch_changed(&self.objects, &path, MAX_CONTAINER_BYTES, &seen.stamp)?
            }
            (Some(seen), Some(_)) if self.look(&path)?.as_ref() == Some(&seen.stamp) => None,
            (Some(_), Some(_)) => Some(self.fetch(&path, MAX_CONTAINER_BYTES)?),
        };
        let Some(found) = found else {
            return seen.cloned().ok_or_else(|| self.no_table());
        };
        let (manifest, stamp) = self.decode_found(found)?.ok_or_else(|| self.no_table())?;
        Ok(SeenVersion { manifest: Arc::new(manifest?), stamp })
    }
}
