// SPDX-License-Identifier: Apache-2.0
//! The manifest of a table: read, committed, and put back where a disk has damaged it.

use bytes::Bytes;

use super::objects::{self, Lookup, Replace, Stamp};
use super::{KEYS_NAME, MANIFEST_NAME, PARTS_NAME, TableStore, files};
use crate::digest::TableId;
use crate::error::{Measured, Operation, TableError};
use crate::manifest::{MAX_CONTAINER_BYTES, SignedManifest};

/// What lies in a manifest's place: a manifest or why there is none, and the identity under which it can be replaced.
pub(super) type InPlace = (Result<SignedManifest, TableError>, Stamp);

impl TableStore {
    /// Reads the manifest and checks its signature and rules. The caller checks whose signature it is
    /// ([`SignedManifest::require_key`]) and whether the version is acceptable ([`crate::Pin::check`]).
    ///
    /// # Errors
    /// [`TableError::NoTable`], [`TableError::Io`], and those of [`SignedManifest::decode`].
    pub fn load(&self) -> Result<SignedManifest, TableError> {
        self.load_present()?.map(|(manifest, _)| manifest).ok_or_else(|| self.no_table())
    }

    pub(super) fn no_table(&self) -> TableError {
        TableError::NoTable { place: self.place() }
    }

    /// Makes a manifest the table's present version, once all its parts are there. A higher version than the
    /// present one replaces it; the very same manifest again is accepted and changes nothing.
    ///
    /// # Errors
    /// [`TableError::PartMissing`], [`TableError::OtherTable`], [`TableError::StaleVersion`],
    /// [`TableError::Busy`] if another writer is at work, those of [`SignedManifest::decode`] if the present manifest is
    /// damaged, [`TableError::Io`]. The present version stays.
    pub fn commit(&self, manifest: &SignedManifest) -> Result<(), TableError> {
        let _lock = self.lock()?;
        self.commit_locked(manifest)
    }

    /// As [`TableStore::commit`], but a damaged manifest is replaced too: for whoever knows the present version from
    /// elsewhere, or has none to lose.
    ///
    /// # Errors
    /// As [`TableStore::commit`], but for damage.
    pub fn commit_over_damage(&self, manifest: &SignedManifest) -> Result<(), TableError> {
        let _lock = self.lock()?;
        let found = self.find_manifest()?;
        let present = found.map(|(present, stamp)| (present.ok(), stamp));
        self.commit_after(present, manifest)
    }

    /// Puts the present manifest back if something else, damaged or of an earlier version, lies in its place, or nothing. Gives
    /// whether that was so.
    ///
    /// # Errors
    /// [`TableError::OtherTable`], [`TableError::StaleVersion`] if what lies there is not an earlier version of the table;
    /// [`TableError::Busy`], [`TableError::Io`]. Nothing has changed then.
    pub fn mend_manifest(&self, present: &SignedManifest) -> Result<bool, TableError> {
        let _lock = self.lock()?;
        let found = self.find_manifest()?;
        if let Some((Ok(found), _)) = &found {
            if found.digest() == present.digest() {
                return Ok(false);
            }
            self.require_successor(found, present.manifest().table_id, present.manifest().version)?;
        }
        self.write_manifest(found.map(|(_, stamp)| stamp), present)?;
        Ok(true)
    }

    /// Whether anything lies in the manifest's place.
    ///
    /// # Errors
    /// [`TableError::Io`].
    pub fn has_manifest(&self) -> Result<bool, TableError> {
        Ok(self.look(&self.manifest_path())?.is_some())
    }

    pub(super) fn commit_locked(&self, manifest: &SignedManifest) -> Result<(), TableError> {
        let present = self.load_present()?.map(|(present, stamp)| (Some(present), stamp));
        self.commit_after(present, manifest)
    }

    /// Commits over what was found in the manifest's place.
    fn commit_after(
        &self,
        present: Option<(Option<SignedManifest>, Stamp)>,
        manifest: &SignedManifest,
    ) -> Result<(), TableError> {
        if let Some((Some(present), _)) = &present {
            if present.digest() == manifest.digest() {
                return Ok(());
            }
            let next = manifest.manifest();
            self.require_successor(present, next.table_id, next.version)?;
        }
        if let Some((kind, file)) = self.missing_parts(manifest.manifest())?.first() {
            return Err(TableError::PartMissing { name: kind.file_name(&file.digest) });
        }
        if let Some((Some(replaced), _)) = &present {
            self.keep_version(replaced)?;
        }
        self.write_manifest(present.map(|(_, stamp)| stamp), manifest)?;
        if self.root.is_some() {
            // Nobody else tidies a bucket. What cannot be removed now, a later commit removes.
            let _ = self.tidy();
        }
        Ok(())
    }

    fn write_manifest(&self, present: Option<Stamp>, manifest: &SignedManifest) -> Result<(), TableError> {
        let Some(directory) = &self.directory else { return self.swap_manifest(present, manifest) };
        // The names of parts and keys become durable before the manifest that relies on them, its own name after.
        for folder in [PARTS_NAME, KEYS_NAME] {
            files::sync_directory(&directory.join(folder))?;
        }
        files::sync_directory(directory)?;
        files::write(directory, MANIFEST_NAME, manifest.as_bytes())?;
        files::sync_directory(directory)?;
        // The directory's own name is durable since its first manifest.
        if present.is_some() { Ok(()) } else { directory.parent().map_or(Ok(()), files::sync_directory) }
    }

    /// Replaces the manifest in an object store, if it is still the one that was found.
    fn swap_manifest(&self, present: Option<Stamp>, manifest: &SignedManifest) -> Result<(), TableError> {
        let replace = present.map_or(Replace::Nothing, Replace::This);
        let bytes = Bytes::copy_from_slice(manifest.as_bytes());
        match objects::replace(&self.objects, &self.manifest_path(), bytes, replace) {
            // The answer may have been lost, and the request perhaps repeated: then ours is there.
            Err(_) if self.load().is_ok_and(|there| there == *manifest) => Ok(()),
            Err(TableError::Busy { .. }) => Err(TableError::Busy { place: self.place() }),
            done => done,
        }
    }

    /// Refuses a version that does not follow the present one of the same table.
    pub(super) fn require_successor(
        &self,
        present: &SignedManifest,
        table_id: TableId,
        version: u64,
    ) -> Result<(), TableError> {
        let present = present.manifest();
        if present.table_id != table_id {
            return Err(TableError::OtherTable {
                place: self.place(),
                found: present.table_id,
                expected: table_id,
            });
        }
        if version <= present.version {
            return Err(TableError::StaleVersion { found: version, present: present.version });
        }
        Ok(())
    }

    /// The present manifest and the identity under which it can be replaced.
    pub(super) fn load_present(&self) -> Result<Option<(SignedManifest, Stamp)>, TableError> {
        let found = self.find_manifest()?;
        found.map(|(manifest, stamp)| Ok((manifest?, stamp))).transpose()
    }

    fn find_manifest(&self) -> Result<Option<InPlace>, TableError> {
        self.decode_found(self.fetch(&self.manifest_path(), MAX_CONTAINER_BYTES)?)
    }

    /// What was found in the manifest's place.
    pub(super) fn decode_found(&self, found: Lookup) -> Result<Option<InPlace>, TableError> {
        let path = self.manifest_path();
        let (source, stamp) = match found {
            Lookup::Nothing => return Ok(None),
            Lookup::TooLarge(stamp) => {
                let (what, found) = (Measured::ManifestBody, stamp.bytes());
                let too_large = TableError::TooLarge { what, found, limit: MAX_CONTAINER_BYTES };
                return Ok(Some((Err(too_large), stamp)));
            }
            Lookup::Object(source, stamp) => (source, stamp),
        };
        let cause = |source| TableError::failed(Operation::Read, path.to_string(), source);
        let bytes = source.read_all().map_err(cause)?;
        Ok(Some((SignedManifest::decode(&bytes), stamp)))
    }

    /// The writer's lock; stores other than directories have none and rely on conditional writes.
    pub(super) fn lock(&self) -> Result<Option<files::Lock>, TableError> {
        self.directory.as_deref().map(files::Lock::take).transpose()
    }
}
