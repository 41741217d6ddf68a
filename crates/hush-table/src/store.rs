// SPDX-License-Identifier: Apache-2.0
//! Where tables live: a directory, memory, or a prefix of any object store.
//!
//! ```text
//! <prefix>/manifest.hush                     written last, replaced atomically
//! <prefix>/parts/<digest>.clear.parquet
//! <prefix>/parts/<digest>.enc.parquet
//! <prefix>/parts/<digest>.{clear,enc}.tree   hash trees of large parts: ranges are checked without reading the rest
//! <prefix>/keys/<digest>.key                 evaluation keys
//! <prefix>/deliveries/<stream>-<number>.delivery    from devices, until the owner takes them in
//! <directory>/.lock, *.partial               directories only: the writer's lock, files not yet in place
//! ```
//!
//! All functions block; an asynchronous caller runs them on a thread made for blocking. Stores that are
//! asynchronous themselves are driven by one background runtime of the process.

mod catalog;
mod deliveries;
pub mod files;
mod objects;
mod open;
#[cfg(test)]
mod tests;
mod verify;
mod writer;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;

pub use crate::part::{KEYS_NAME, PARTS_NAME};
pub use catalog::{Catalog, CatalogEntry};
pub use deliveries::{Delivered, check_seeds};
pub use writer::{KeysToStore, TableIdentity, TableLayout, TableWriter};

use self::objects::{Lookup, Replace, Stamp};
use self::open::KnownParts;
use crate::digest::Digest;
use crate::error::{Measured, Operation, TableError};
use crate::manifest::{Manifest, PartFile, SignedManifest};
use crate::part::{GroupChecks, PartKind, WrittenPart};

/// Name of the folder of waiting deliveries below a table's prefix.
pub const DELIVERIES_NAME: &str = "deliveries";
/// Name of the manifest below a table's prefix.
pub const MANIFEST_NAME: &str = "manifest.hush";

/// One table's place in a store. Cheap to clone; clones share the memory of verified parts.
#[derive(Clone, Debug)]
pub struct TableStore {
    objects: Arc<dyn ObjectStore>,
    prefix: Path,
    /// The prefix as a directory, where this store writes durably by itself.
    directory: Option<PathBuf>,
    /// What has been checked of which parts.
    known: Arc<Mutex<KnownParts>>,
}

impl TableStore {
    /// A prefix in any object store. Replacing a manifest needs conditional writes, which directories opened this
    /// way lack: use [`TableStore::local`] to write to one. Reading works with every store.
    pub fn new(objects: Arc<dyn ObjectStore>, prefix: Path) -> Self {
        Self { objects, prefix, directory: None, known: Arc::default() }
    }

    /// A table in memory, for one process.
    pub fn memory() -> Self {
        Self::new(Arc::new(InMemory::new()), Path::default())
    }

    /// A directory, made if it does not exist. Writes are durable: a file is synchronised before it gets its
    /// name, and its directory after.
    ///
    /// # Errors
    /// [`TableError::Io`] if the directory cannot be made or opened.
    pub fn local(directory: impl Into<PathBuf>) -> Result<Self, TableError> {
        let directory = directory.into();
        files::make_directory(&directory)?;
        let files = LocalFileSystem::new_with_prefix(&directory)
            .map_err(|cause| objects::io(Operation::Read, &directory.display().to_string(), cause))?;
        Ok(Self { directory: Some(directory), ..Self::new(Arc::new(files), Path::default()) })
    }

    /// A directory that must already hold a table.
    ///
    /// # Errors
    /// [`TableError::NoTable`] if there is no manifest; [`TableError::Io`].
    pub fn local_existing(directory: impl Into<PathBuf>) -> Result<Self, TableError> {
        let directory = directory.into();
        if !directory.join(MANIFEST_NAME).is_file() {
            return Err(TableError::NoTable { place: directory.display().to_string() });
        }
        Self::local(directory)
    }

    /// The object store, for engines that read Parquet themselves.
    pub fn objects(&self) -> &Arc<dyn ObjectStore> {
        &self.objects
    }

    /// The table's prefix in [`TableStore::objects`].
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    fn folder(&self, name: &str) -> Path {
        self.prefix.clone().join(name)
    }

    /// Path of a part file in [`TableStore::objects`].
    pub fn part_path(&self, kind: PartKind, digest: &Digest) -> Path {
        self.folder(kind.folder()).join(kind.file_name(digest))
    }

    fn tree_path(&self, kind: PartKind, digest: &Digest) -> Path {
        self.folder(kind.folder()).join(kind.tree_name(digest))
    }

    /// Reads the manifest and checks its signature and rules. Whose signature it is, and whether the version is
    /// acceptable, the caller asks with [`SignedManifest::require_key`] and [`crate::Pin::check`].
    ///
    /// # Errors
    /// [`TableError::NoTable`], [`TableError::Io`], and those of [`SignedManifest::decode`].
    pub fn load(&self) -> Result<SignedManifest, TableError> {
        self.load_present()?
            .map(|(manifest, _)| manifest)
            .ok_or_else(|| TableError::NoTable { place: self.place() })
    }

    /// Stores a part under its digest. Storing it again changes nothing.
    ///
    /// # Errors
    /// [`TableError::Io`]; then nothing is visible under the part's name that was not there before.
    pub fn put_part(&self, part: &WrittenPart) -> Result<(), TableError> {
        let path = self.part_path(part.kind, &part.file.digest);
        match &self.directory {
            Some(directory) => {
                let folder = directory.join(part.kind.folder());
                files::write(&folder, &part.kind.file_name(&part.file.digest), &part.bytes)?;
                files::write_tree(&folder, part.kind, &part.tree)
            }
            None => {
                let stamp = objects::put(&self.objects, &path, part.bytes.clone())?;
                // The tree was computed from these very bytes, and the store gave them an identity.
                if let Some(stamp) = stamp {
                    self.known().insert(&path, stamp, GroupChecks::new(part.tree.clone(), false));
                }
                if part.tree.is_stored() {
                    let path = self.tree_path(part.kind, &part.file.digest);
                    objects::put(&self.objects, &path, part.tree.encode().into())?;
                }
                Ok(())
            }
        }
    }

    /// Stores a part that somebody else sent, after checking that it is the one announced.
    ///
    /// # Errors
    /// [`TableError::PartSize`], [`TableError::PartAltered`] and those of [`TableStore::put_part`].
    pub fn put_received(&self, kind: PartKind, file: PartFile, bytes: Bytes) -> Result<(), TableError> {
        let name = kind.file_name(&file.digest);
        let length = bytes.len() as u64;
        if length != file.bytes {
            return Err(TableError::PartSize { name, found: length, expected: file.bytes });
        }
        let part = WrittenPart::new(kind, bytes, 0, 0);
        if part.file.digest != file.digest {
            return Err(TableError::PartAltered { name, found: part.file.digest });
        }
        self.put_part(&part)
    }

    /// Stores evaluation keys under their digest, and says where they are for the manifest. Storing them again changes nothing.
    ///
    /// # Errors
    /// As [`TableStore::put_part`].
    pub fn put_key(&self, keys: impl Into<Bytes>) -> Result<PartFile, TableError> {
        let written = WrittenPart::new(PartKind::Key, keys, 0, 0);
        self.put_part(&written)?;
        Ok(written.file)
    }

    /// Files of parts and keys that a manifest names and this store does not have in full; what is left to upload.
    ///
    /// # Errors
    /// [`TableError::Io`].
    pub fn missing_parts(&self, manifest: &Manifest) -> Result<Vec<(PartKind, PartFile)>, TableError> {
        let mut present: HashMap<String, u64> =
            objects::list(&self.objects, &self.folder(PARTS_NAME))?.into_iter().collect();
        if !manifest.keys.is_empty() {
            present.extend(objects::list(&self.objects, &self.folder(KEYS_NAME))?);
        }
        let mut missing: Vec<_> = named_files(manifest)
            .filter(|(kind, file)| present.get(&kind.file_name(&file.digest)) != Some(&file.bytes))
            .collect();
        let mut seen = HashSet::new();
        missing.retain(|(kind, file)| seen.insert(kind.file_name(&file.digest)));
        Ok(missing)
    }

    /// Makes a manifest the table's present version, once all its parts are there. A higher version than the
    /// present one replaces it; the very same manifest again is accepted and changes nothing.
    ///
    /// # Errors
    /// [`TableError::PartMissing`], [`TableError::OtherTable`], [`TableError::StaleVersion`],
    /// [`TableError::Busy`] if another writer is at work, [`TableError::Io`]. The present version stays.
    pub fn commit(&self, manifest: &SignedManifest) -> Result<(), TableError> {
        let _lock = self.lock()?;
        self.commit_locked(manifest)
    }

    fn commit_locked(&self, manifest: &SignedManifest) -> Result<(), TableError> {
        let present = self.load_present()?;
        if let Some((present, _)) = &present {
            if present.digest() == manifest.digest() {
                return Ok(());
            }
            let next = manifest.manifest();
            self.require_successor(present, next.table_id, next.version)?;
        }
        if let Some((kind, file)) = self.missing_parts(manifest.manifest())?.first() {
            return Err(TableError::PartMissing { name: kind.file_name(&file.digest) });
        }
        let Some(directory) = &self.directory else {
            let replace = present.map_or(Replace::Nothing, |(_, stamp)| Replace::This(stamp));
            let path = self.prefix.clone().join(MANIFEST_NAME);
            let bytes = Bytes::copy_from_slice(manifest.as_bytes());
            return objects::replace(&self.objects, &path, bytes, replace);
        };
        // Names before the manifest, the manifest's name after; the directory's own name was made by us, perhaps.
        for folder in [PARTS_NAME, KEYS_NAME] {
            files::sync_directory(&directory.join(folder))?;
        }
        files::sync_directory(directory)?;
        files::write(directory, MANIFEST_NAME, manifest.as_bytes())?;
        files::sync_directory(directory)?;
        directory.parent().map_or(Ok(()), files::sync_directory)
    }

    /// Refuses a version that does not follow the present one of the same table.
    fn require_successor(
        &self,
        present: &SignedManifest,
        table_id: crate::TableId,
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

    /// Removes part files that no present manifest names, and unfinished files: what interrupted runs left. Not
    /// to be called while somebody uploads parts of a version to come.
    ///
    /// # Errors
    /// [`TableError::Busy`] while a writer is at work; [`TableError::Io`].
    pub fn sweep(&self) -> Result<usize, TableError> {
        let _lock = self.lock()?;
        self.sweep_locked()
    }

    fn sweep_locked(&self) -> Result<usize, TableError> {
        let present = self.load_present()?;
        let named: HashSet<String> = present
            .iter()
            .flat_map(|(manifest, _)| named_files(manifest.manifest()))
            .map(|(kind, file)| kind.file_name(&file.digest))
            .collect();
        let awaited = self.awaited_parts()?;
        self.remove_parts(|name| !named.contains(name) && !awaited.contains(name))
    }

    /// Deletes the table: first the manifest, so that no half of a table is ever visible, then its parts. Files
    /// that are not a table's are left alone. Deleting what is not there succeeds.
    ///
    /// # Errors
    /// [`TableError::Busy`] while a writer is at work; [`TableError::Io`]; repeat to finish.
    pub fn delete(&self) -> Result<(), TableError> {
        let lock = self.lock()?;
        objects::delete(&self.objects, &self.prefix.clone().join(MANIFEST_NAME))?;
        self.remove_deliveries()?;
        self.remove_parts(|_| true)?;
        drop(lock);
        self.directory.as_deref().map_or(Ok(()), files::remove_empty)
    }

    /// Removes the parts of a version that was given up, but for those that the present manifest names too.
    fn forget_parts(&self, given_up: &Manifest) -> Result<(), TableError> {
        let present = self.load_present()?;
        let keep: HashSet<PartFile> = present
            .iter()
            .flat_map(|(present, _)| named_files(present.manifest()))
            .map(|(_, file)| file)
            .collect();
        for (kind, file) in named_files(given_up).filter(|(_, file)| !keep.contains(file)) {
            objects::delete(&self.objects, &self.part_path(kind, &file.digest))?;
            objects::delete(&self.objects, &self.tree_path(kind, &file.digest))?;
        }
        Ok(())
    }

    /// Removes those parts whose name `doomed` takes, their hash trees with them, and files not yet in place.
    fn remove_parts(&self, doomed: impl Fn(&str) -> bool) -> Result<usize, TableError> {
        let mut removed = 0;
        for folder in [PARTS_NAME, KEYS_NAME] {
            let folder = self.folder(folder);
            for (name, _) in objects::list(&self.objects, &folder)? {
                let part = PartKind::part_of(&name);
                if part.as_ref().is_some_and(|part| doomed(part)) || files::is_partial(&name) {
                    let path = folder.clone().join(name.as_str());
                    objects::delete(&self.objects, &path)?;
                    self.known().remove(&path);
                    // A part and its tree are one.
                    removed += usize::from(part.is_none_or(|part| part == name));
                }
            }
        }
        if let Some(directory) = &self.directory {
            removed += files::remove_partial(directory)?;
        }
        Ok(removed)
    }

    /// The present manifest and the identity under which it can be replaced.
    fn load_present(&self) -> Result<Option<(SignedManifest, Stamp)>, TableError> {
        let path = self.prefix.clone().join(MANIFEST_NAME);
        let limit = crate::manifest::MAX_CONTAINER_BYTES;
        let (source, stamp) = match self.fetch(&path, limit)? {
            Lookup::Nothing => return Ok(None),
            Lookup::TooLarge(found) => {
                return Err(TableError::TooLarge { what: Measured::ManifestBody, found, limit });
            }
            Lookup::Object(source, stamp) => (source, stamp),
        };
        let cause = |source| TableError::Io { operation: Operation::Read, place: path.to_string(), source };
        let bytes = source.read_all().map_err(cause)?;
        Ok(Some((SignedManifest::decode(&bytes)?, stamp)))
    }

    /// The writer's lock; stores other than directories have none and rely on conditional writes.
    fn lock(&self) -> Result<Option<files::Lock>, TableError> {
        self.directory.as_deref().map(files::Lock::take).transpose()
    }

    /// Bytes that this user may still write to the directory's disk; `None` for other stores, and where the system does not
    /// tell.
    pub fn free_bytes(&self) -> Option<u64> {
        hush_system::disk::free_bytes(self.directory.as_ref()?)
    }

    /// Whether the table is in a directory, where reading a range is no request.
    pub fn is_directory(&self) -> bool {
        self.directory.is_some()
    }

    /// The table's place in words.
    pub fn place(&self) -> String {
        self.directory
            .as_ref()
            .map_or_else(|| self.prefix.to_string(), |directory| directory.display().to_string())
    }
}

/// All files of which a table consists beside its manifest: halves of parts in row order, then keys. A file may be named twice.
pub fn named_files(manifest: &Manifest) -> impl Iterator<Item = (PartKind, PartFile)> + '_ {
    let halves = manifest.parts.iter().flat_map(|part| {
        let clear = part.clear.map(|file| (PartKind::Clear, file));
        clear.into_iter().chain(part.encrypted.map(|file| (PartKind::Encrypted, file)))
    });
    halves.chain(manifest.keys.iter().map(|entry| (PartKind::Key, entry.file)))
}
