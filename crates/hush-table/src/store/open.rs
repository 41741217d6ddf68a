// SPDX-License-Identifier: Apache-2.0
//! Opening parts so that whatever is read of them agrees with their digests.
//!
//! A large part has its hash tree beside it ([`DigestTree`]): then nothing is read when it is opened but the tree, and each range is
//! checked as it is read. Without a tree the first opening reads the whole part. Trees are kept in memory for as long as the part
//! looks the same, and so is which groups have been checked: reading an encrypted part again from a directory costs no hashing. Clear
//! parts are hashed at every read, because the query engine relies on the bytes themselves.
//!
//! What the file system or the store did not read is told as that ([`TableError::Io`]), never as damage.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, MutexGuard, PoisonError};

use bytes::Bytes;
use object_store::path::Path;

use super::objects::{self, Listed, Lookup, Stamp};
use super::{MANIFEST_NAME, TableStore, files};
use crate::error::{Operation, TableError};
use crate::manifest::{KeyEntry, Manifest, PartEntry, PartFile, PartPlace};
use crate::part::{ClearPart, DigestTree, EncryptedPart, FileKind, GroupChecks, PartSource, Recheck};

/// Most groups of which trees are kept in memory: of 256 GiB of parts, in 130 MB.
const MAX_KNOWN_GROUPS: usize = 4 << 20;

/// Hash trees of parts, with what the parts looked like when these were found right.
#[derive(Debug, Default)]
pub(super) struct KnownParts {
    parts: HashMap<String, (Stamp, Arc<GroupChecks>)>,
    groups: usize,
}

impl KnownParts {
    /// Remembers a part; forgets all others first if they have become too many.
    pub(super) fn insert(&mut self, path: &Path, stamp: Stamp, checks: GroupChecks) -> Arc<GroupChecks> {
        self.remove(path);
        self.groups = self.groups.saturating_add(checks.group_count());
        if self.groups > MAX_KNOWN_GROUPS {
            self.parts.clear();
            self.groups = checks.group_count();
        }
        let checks = Arc::new(checks);
        self.parts.insert(path.to_string(), (stamp, checks.clone()));
        checks
    }

    /// Forgets all parts below a prefix.
    pub(super) fn remove_below(&mut self, prefix: &Path) {
        let Self { parts, groups } = self;
        parts.retain(|path, (_, checks)| {
            let rest = path.strip_prefix(prefix.as_ref());
            let kept = !rest.is_some_and(|rest| rest.starts_with('/'));
            *groups = groups.saturating_sub(if kept { 0 } else { checks.group_count() });
            kept
        });
    }

    pub(super) fn remove(&mut self, path: &Path) {
        if let Some((_, checks)) = self.parts.remove(path.as_ref()) {
            self.groups = self.groups.saturating_sub(checks.group_count());
        }
    }

    /// What is known of a part, whatever it looks like now.
    fn any(&self, path: &Path) -> Option<Arc<GroupChecks>> {
        self.parts.get(path.as_ref()).map(|(_, checks)| checks.clone())
    }

    fn find(&self, path: &Path, stamp: &Stamp) -> Option<Arc<GroupChecks>> {
        let (known, checks) = self.parts.get(path.as_ref())?;
        (known == stamp).then(|| checks.clone())
    }
}

impl TableStore {
    /// Opens the encrypted file of a part. What is read of it is checked against its digest.
    ///
    /// # Errors
    /// [`TableError::PartMissing`], [`TableError::PartSize`], [`TableError::PartAltered`], [`TableError::RangeAltered`],
    /// [`TableError::Io`], and those of [`EncryptedPart::open`]. A part without encrypted file is missing.
    ///
    /// # Cost
    /// The footer and two small columns. The first time also the hash tree; where none is stored, one pass over the file.
    pub fn open_encrypted(
        &self,
        manifest: &Manifest,
        place: PartPlace,
        entry: &PartEntry,
    ) -> Result<EncryptedPart, TableError> {
        let source = self.open_file(FileKind::Encrypted, entry.encrypted, Recheck::Unseen)?;
        EncryptedPart::open(source, manifest, place, entry)
    }

    /// Opens the clear file of a part. What is read of it is checked against its digest, at every read.
    ///
    /// # Errors
    /// As [`TableStore::open_encrypted`].
    pub fn open_clear(&self, manifest: &Manifest, entry: &PartEntry) -> Result<ClearPart, TableError> {
        ClearPart::open(self.open_file(FileKind::Clear, entry.clear, Recheck::Always)?, manifest, entry)
    }

    /// Opens any part file, all of it checked, without looking inside; what a server sends and receives.
    ///
    /// # Errors
    /// As [`TableStore::open_encrypted`], but for the inside.
    ///
    /// # Cost
    /// One pass over what has not been checked yet.
    pub fn open_part(&self, kind: FileKind, file: &PartFile) -> Result<PartSource, TableError> {
        let source = self.open_checked(kind, file, Recheck::Unseen)?;
        source.check_all().map_err(|cause| failed(&source, kind, file, cause))?;
        Ok(source)
    }

    /// All of a part file, checked, for whoever copies it: a file of a directory, or else its bytes in memory.
    ///
    /// # Errors
    /// As [`TableStore::open_part`].
    ///
    /// # Cost
    /// One pass over what has not been checked yet; for other stores than directories the file's size in memory.
    pub fn part_at_hand(&self, kind: FileKind, file: &PartFile) -> Result<PartSource, TableError> {
        if self.is_directory() {
            return self.open_part(kind, file);
        }
        let source = self.open_checked(kind, file, Recheck::Unseen)?;
        source.at_hand().map_err(|cause| failed(&source, kind, file, cause))
    }

    /// Reads a file of evaluation keys, all of it checked against its digest. What is in it is compared with the entry when it is loaded.
    ///
    /// # Errors
    /// As [`TableStore::open_part`].
    ///
    /// # Cost
    /// The size of the file, which is compared with the entry before anything is allocated.
    pub fn read_key(&self, entry: &KeyEntry) -> Result<Bytes, TableError> {
        let source = self.open_part(FileKind::Key, &entry.file)?;
        source.read_all().map_err(|cause| failed(&source, FileKind::Key, &entry.file, cause))
    }

    fn open_file(
        &self,
        kind: FileKind,
        file: Option<PartFile>,
        recheck: Recheck,
    ) -> Result<PartSource, TableError> {
        let file = file.ok_or_else(|| TableError::PartMissing { name: format!("{kind:?}") })?;
        self.open_checked(kind, &file, recheck)
    }

    /// Opens a part file. What is read of it is checked.
    pub(super) fn open_checked(
        &self,
        kind: FileKind,
        file: &PartFile,
        recheck: Recheck,
    ) -> Result<PartSource, TableError> {
        let name = kind.file_name(&file.digest);
        let path = self.part_path(kind, &file.digest);
        if let Some(source) = self.remembered(&path, file, recheck) {
            return Ok(source);
        }
        let size = |found| TableError::PartSize { name: name.clone(), found, expected: file.bytes };
        let (source, stamp) = match self.open_object(&path, file.bytes)? {
            Lookup::Nothing => return Err(TableError::PartMissing { name }),
            Lookup::TooLarge(stamp) => return Err(size(stamp.bytes())),
            Lookup::Object(source, _) if source.length() != file.bytes => return Err(size(source.length())),
            Lookup::Object(source, stamp) => (source, stamp),
        };
        let known = self.known().find(&path, &stamp);
        let (source, checks) = match known.map_or_else(|| self.stored_tree(kind, file), Tree::Known) {
            Tree::Known(checks) => (source, checks),
            Tree::Stored(tree) => (source, self.known().insert(&path, stamp, GroupChecks::new(tree, false))),
            Tree::Unknown => {
                let cause = |cause| failed(&source, kind, file, cause);
                // Small parts are needed nearly whole; of large ones the store is asked for ranges again.
                let is_small = DigestTree::stored_bytes(file).is_none();
                let source = if is_small { source.at_hand().map_err(cause)? } else { source.clone() };
                let tree = source.tree().map_err(cause)?;
                if tree.digest() != file.digest {
                    return Err(TableError::PartAltered { name, found: tree.digest() });
                }
                self.mend_tree(kind, &tree);
                (source, self.known().insert(&path, stamp, GroupChecks::new(tree, true)))
            }
        };
        let checked = source.clone().checked(checks, recheck);
        let checked = checked.map_err(|cause| failed(&source, kind, file, cause))?;
        Ok(match &self.memory {
            Some(memory) => checked.kept_in(memory),
            None => checked,
        })
    }

    /// A part of a bucket of which tree and some bytes are in memory: nothing is asked until other bytes are read, and these are checked.
    fn remembered(&self, path: &Path, file: &PartFile, recheck: Recheck) -> Option<PartSource> {
        let memory = self.memory.as_ref()?;
        let (runs, checks) = (memory.of(&file.digest), self.known().any(path)?);
        let source = objects::known(&self.objects, path, file.bytes, runs);
        Some(source.trusted(checks, recheck, Some(memory.clone())))
    }

    /// The hash tree beside a part, if it is there and belongs to the part.
    fn stored_tree(&self, kind: FileKind, file: &PartFile) -> Tree {
        let Some(most) = DigestTree::stored_bytes(file) else { return Tree::Unknown };
        let found = self.fetch(&self.tree_path(kind, &file.digest), most);
        let Ok(Lookup::Object(source, _)) = found else { return Tree::Unknown };
        let tree = source.read_all().ok().and_then(|bytes| DigestTree::decode(&bytes, file));
        tree.map_or(Tree::Unknown, Tree::Stored)
    }

    /// Whether a part file looks now as it did when its hash tree was found right: then what was checked of it since is what
    /// the digest stands for, as far as the store's tags can tell. `false` too if it was never opened, or cannot be
    /// looked at.
    ///
    /// # Cost
    /// One look at the file's metadata; none in a bucket, of which every byte is hashed as it comes, and so belongs to the digest whatever
    /// the object looks like.
    pub fn looks_unchanged(&self, kind: FileKind, file: &PartFile) -> bool {
        let path = self.part_path(kind, &file.digest);
        if self.memory.is_some() {
            return self.known().any(&path).is_some();
        }
        let stamp = self.look(&path).ok().flatten();
        stamp.is_some_and(|stamp| self.known().find(&path, &stamp).is_some())
    }

    /// What a manifest, part or tree looks like; `None` if it is not there.
    pub(super) fn look(&self, path: &Path) -> Result<Option<Stamp>, TableError> {
        let Some(file) = self.file_of(path) else { return objects::look(&self.objects, path) };
        match std::fs::metadata(&file) {
            Ok(metadata) => Ok(Some(Stamp::of_file(&metadata))),
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(files::at(Operation::Read, &file)(cause)),
        }
    }

    /// The objects of a folder of the table; none where there is no such folder.
    pub(super) fn list(&self, folder: &str) -> Result<Vec<Listed>, TableError> {
        match &self.directory {
            Some(directory) => files::list(&directory.join(folder)),
            None => objects::list(&self.objects, &self.folder(folder)),
        }
    }

    /// Opens a part of `expected` bytes.
    fn open_object(&self, path: &Path, expected: u64) -> Result<Lookup, TableError> {
        match self.file_of(path) {
            Some(file) => objects::open_file(&file),
            None => objects::open(&self.objects, path, expected),
        }
    }

    /// Opens a small object, of at most `limit` bytes.
    pub(super) fn fetch(&self, path: &Path, limit: u64) -> Result<Lookup, TableError> {
        let Some(file) = self.file_of(path) else { return objects::fetch(&self.objects, path, limit) };
        match objects::open_file(&file)? {
            Lookup::Object(source, stamp) if source.length() > limit => Ok(Lookup::TooLarge(stamp)),
            found => Ok(found),
        }
    }

    /// The file of a manifest, part or tree, where the table is in a directory.
    pub(super) fn file_of(&self, path: &Path) -> Option<PathBuf> {
        let (directory, name) = (self.directory.as_ref()?, path.filename()?);
        // The folder is the one that the path has below the prefix.
        let folder = path.parts().nth_back(1).filter(|_| name != MANIFEST_NAME);
        Some(folder.map_or_else(|| directory.clone(), |folder| directory.join(folder.as_ref())).join(name))
    }

    pub(super) fn known(&self) -> MutexGuard<'_, KnownParts> {
        // A panic elsewhere cannot leave the map half-changed.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of the hash tree of a part.
enum Tree {
    Known(Arc<GroupChecks>),
    Stored(DigestTree),
    Unknown,
}

/// Why a part could not be read.
pub(super) fn failed(
    source: &PartSource,
    kind: FileKind,
    file: &PartFile,
    cause: std::io::Error,
) -> TableError {
    let part = file.digest;
    match PartSource::altered_in(&cause) {
        Some(start) => TableError::RangeAltered { part, start },
        None => source.trouble(part).unwrap_or_else(|| {
            let place = kind.file_name(&part);
            TableError::failed(Operation::Read, place, cause)
        }),
    }
}
