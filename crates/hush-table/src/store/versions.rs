// SPDX-License-Identifier: Apache-2.0
//! Versions that were replaced not long ago, for readers that began with them.
//!
//! In an object store a commit writes the manifest that it replaces to `versions/<digest>.hush`, before it replaces it. So whoever planned
//! with a version finds it and its parts for [`KEPT`] longer, whatever is committed meanwhile: the file is as old as the version is
//! replaced. In a directory a writer gives the space of a replaced version back, at once or by [`super::WriteAccess::tidy`]. Who merges parts
//! under readers writes down which files went, `versions/<digest>.gone`, and tidying leaves them for as long.

use std::collections::HashSet;
use std::time::Duration;

use bytes::Bytes;

use super::objects::{self, Listed, Lookup};
use super::parts::{files_of_part, part_names};
use super::{TableStore, VERSIONS_NAME, files};
use crate::digest::Digest;
use crate::error::{Operation, TableError};
use crate::manifest::{MAX_CONTAINER_BYTES, PartEntry, SignedManifest};
use crate::part::{FileKind, PartName};

/// Time for which an object store keeps a version that was replaced, and parts that no version names: of writers at work, or of
/// interrupted ones. Longer than any job runs, and than any encryption should take.
pub const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

impl TableStore {
    /// The version of the table with this digest: the present one, or one that was replaced not long ago. `None` if it is neither.
    ///
    /// # Errors
    /// As [`TableStore::load`]; a version file that is damaged.
    pub fn load_version(&self, digest: &Digest) -> Result<Option<SignedManifest>, TableError> {
        let present = self.load()?;
        if present.digest() == *digest {
            return Ok(Some(present));
        }
        if self.is_directory() {
            return Ok(None);
        }
        self.load_replaced(&version_name(digest)).map(|found| found.filter(|found| found.digest() == *digest))
    }

    /// Writes down a version that is about to be replaced. Writing it again makes it young again.
    pub(super) fn keep_version(&self, replaced: &SignedManifest) -> Result<(), TableError> {
        if self.is_directory() {
            return Ok(());
        }
        let path = self.folder(VERSIONS_NAME).join(version_name(&replaced.digest()));
        objects::put(&self.objects, &path, Bytes::copy_from_slice(replaced.as_bytes())).map(drop)
    }

    /// Writes down the files of parts that the next version of a directory's table will not have, for readers of `replaced`. Elsewhere the
    /// commit keeps all of that version.
    ///
    /// # Errors
    /// [`TableError::Io`].
    pub fn keep_for_readers(&self, replaced: &SignedManifest, parts: &[PartEntry]) -> Result<(), TableError> {
        let Some(directory) = &self.directory else { return Ok(()) };
        let zones = replaced.manifest().zones.map(|file| (FileKind::Zones, file));
        let names = parts.iter().flat_map(files_of_part).chain(zones);
        let list: String = names.map(|(kind, file)| kind.file_name(&file.digest) + "\n").collect();
        files::write(&directory.join(VERSIONS_NAME), &gone_name(&replaced.digest()), list.as_bytes())
    }

    /// Removes replaced versions that `doomed` takes; gives the names of the files of all others.
    pub(super) fn sweep_versions(&self, doomed: impl Fn(&Listed) -> bool) -> Result<Vec<String>, TableError> {
        let (doomed, kept): (Vec<_>, Vec<_>) = self.list(VERSIONS_NAME)?.into_iter().partition(doomed);
        let folder = self.folder(VERSIONS_NAME);
        objects::delete_all(
            &self.objects,
            doomed.into_iter().map(|listed| folder.clone().join(listed.name)).collect(),
        )?;
        Ok(kept.into_iter().map(|listed| listed.name).collect())
    }

    /// The parts that replaced versions name, and those that are kept for their readers.
    pub(super) fn parts_of_versions(&self, files: &[String]) -> Result<HashSet<PartName>, TableError> {
        let mut named = HashSet::new();
        for file in files {
            if file.ends_with(GONE_ENDING) {
                named.extend(self.gone(file)?);
            } else if let Some(version) = self.load_replaced(file)? {
                named.extend(part_names(version.manifest()));
            }
        }
        Ok(named)
    }

    /// The parts that old versions of a table name. One that is damaged, or another table's, names none.
    pub(super) fn parts_of_old(&self, present: &SignedManifest) -> Result<HashSet<PartName>, TableError> {
        let mut named = HashSet::new();
        for listed in self.list(VERSIONS_NAME)? {
            if listed.name.ends_with(GONE_ENDING) {
                named.extend(self.gone(&listed.name)?);
                continue;
            }
            let old = match self.load_replaced(&listed.name) {
                Err(error @ (TableError::Io { .. } | TableError::Store { .. })) => return Err(error),
                found => found.ok().flatten(),
            };
            let is_its = |old: &SignedManifest| {
                old.key() == present.key() && old.manifest().table_id == present.manifest().table_id
            };
            named.extend(old.iter().filter(|old| is_its(old)).flat_map(|old| part_names(old.manifest())));
        }
        Ok(named)
    }

    /// The parts in a list of those that went.
    fn gone(&self, name: &str) -> Result<Vec<PartName>, TableError> {
        let path = self.folder(VERSIONS_NAME).join(name);
        let Lookup::Object(source, _) = self.fetch(&path, MAX_CONTAINER_BYTES)? else {
            return Ok(Vec::new());
        };
        let bytes = source.read_all();
        let bytes = bytes.map_err(|cause| TableError::failed(Operation::Read, path.to_string(), cause))?;
        Ok(String::from_utf8_lossy(&bytes).lines().filter_map(PartName::of_file).collect())
    }

    fn load_replaced(&self, name: &str) -> Result<Option<SignedManifest>, TableError> {
        let path = self.folder(VERSIONS_NAME).join(name);
        let Lookup::Object(source, _) = self.fetch(&path, MAX_CONTAINER_BYTES)? else { return Ok(None) };
        let bytes = source.read_all();
        let bytes = bytes.map_err(|cause| TableError::failed(Operation::Read, path.to_string(), cause))?;
        SignedManifest::decode(&bytes).map(Some)
    }
}

/// Ending of the lists of files that went.
const GONE_ENDING: &str = ".gone";

fn gone_name(digest: &Digest) -> String {
    format!("{digest}{GONE_ENDING}")
}

fn version_name(digest: &Digest) -> String {
    format!("{digest}.hush")
}

/// The version whose file, or whose list of files that went with it, has this name.
pub(super) fn version_of_name(name: &str) -> Option<Digest> {
    name.strip_suffix(".hush").or_else(|| name.strip_suffix(GONE_ENDING))?.parse().ok()
}
