// SPDX-License-Identifier: Apache-2.0
//! The files of parts and keys of a table: stored, looked at, counted.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use bytes::Bytes;

use super::objects::{self, Created, Listed, Lookup};
use super::{KEYS_NAME, PARTS_NAME, TableStore, files};
use crate::error::{Operation, TableError};
use crate::manifest::{Manifest, PartEntry, PartFile};
use crate::part::{CHUNK_ROWS, DigestTree, FileKind, GroupChecks, PartName, PartSource, WrittenPart};

/// What lies under a part's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredPart {
    /// Nothing.
    Absent,
    /// A file that does not have the digest of its name, or cannot be read to its end.
    Damaged {
        /// Its length.
        bytes: u64,
    },
    /// The part.
    Sound {
        /// Its length.
        bytes: u64,
    },
}

impl TableStore {
    /// Stores a part under its digest. Storing it again changes nothing.
    ///
    /// # Errors
    /// [`TableError::Io`]; then nothing is visible under the part's name that was not there before.
    pub fn put_part(&self, part: &WrittenPart) -> Result<(), TableError> {
        match &self.directory {
            Some(directory) => {
                let folder = directory.join(part.kind.folder());
                files::write(&folder, &part.kind.file_name(&part.file.digest), &part.bytes)?;
                files::write_tree(&folder, part.kind, &part.tree)
            }
            None => {
                let path = self.part_path(part.kind, &part.file.digest);
                let stamp = objects::put(&self.objects, &path, part.bytes.clone())?;
                // The tree was computed from these very bytes, and the store gave them an identity.
                if let Some(stamp) = stamp {
                    self.known().insert(&path, stamp, GroupChecks::new(part.tree.clone(), false));
                }
                self.put_tree(part.kind, &part.tree)
            }
        }
    }

    /// Stores a part that somebody else sent, after checking that it is the one announced.
    ///
    /// # Errors
    /// [`TableError::PartSize`], [`TableError::PartAltered`] and those of [`TableStore::put_part`].
    pub fn put_received(&self, kind: FileKind, file: PartFile, bytes: Bytes) -> Result<(), TableError> {
        self.put_part(&received(kind, file, bytes)?)
    }

    /// As [`TableStore::put_part`], but in an object store nothing is replaced. Gives whether the part is as young as this call; what lay
    /// there may be about to be swept.
    ///
    /// # Errors
    /// Those of [`TableStore::put_part`].
    pub fn put_new_part(&self, part: &WrittenPart) -> Result<bool, TableError> {
        if self.is_directory() {
            return self.put_part(part).map(|()| true);
        }
        let path = self.part_path(part.kind, &part.file.digest);
        let created = objects::create(&self.objects, &path, part.bytes.clone())?;
        if part.tree.is_stored() {
            let path = self.tree_path(part.kind, &part.tree.digest());
            objects::create(&self.objects, &path, part.tree.encode().into())?;
        }
        if let Created::New(Some(stamp)) = &created {
            self.known().insert(&path, stamp.clone(), GroupChecks::new(part.tree.clone(), false));
        }
        Ok(matches!(created, Created::New(_)))
    }

    /// Removes a part that no version names, and its hash tree. The caller knows that nobody else relies on it.
    ///
    /// # Errors
    /// [`TableError::Io`].
    pub fn remove_part(&self, name: &PartName) -> Result<(), TableError> {
        let files = [self.part_path(name.kind, &name.digest), self.tree_path(name.kind, &name.digest)];
        files.iter().for_each(|path| self.known().remove(path));
        objects::delete_all(&self.objects, files.to_vec())
    }

    /// Stores evaluation keys under their digest, and says where they are for the manifest. Storing them again changes nothing.
    ///
    /// # Errors
    /// As [`TableStore::put_part`].
    pub fn put_key(&self, keys: impl Into<Bytes>) -> Result<PartFile, TableError> {
        let written = WrittenPart::new(FileKind::Key, keys, 0, 0);
        self.put_part(&written)?;
        Ok(written.file)
    }

    /// Takes a part over from a file of this machine, which is gone afterwards. The caller has computed `tree` from the file and has
    /// synchronised it. A directory takes the file itself, which must be of the same file system; other stores take its content.
    ///
    /// # Errors
    /// [`TableError::Io`]; [`TableError::PartAltered`] if the file has changed since its tree was computed. Then nothing is visible
    /// under the part's name that was not there before.
    ///
    /// # Cost
    /// None for a directory. Otherwise the part passes once, in pieces of 8 MiB.
    pub fn take_part(&self, kind: FileKind, tree: &DigestTree, file: &Path) -> Result<(), TableError> {
        let name = PartName::new(kind, tree.digest());
        let path = self.part_path(kind, &name.digest);
        let stamp = match &self.directory {
            Some(directory) => {
                let folder = directory.join(kind.folder());
                // Nothing relies on the tree: without it the part is read whole.
                let _ = files::write_tree(&folder, kind, tree);
                files::move_into(&folder, &name.file_name(), file)?;
                self.look(&path)?
            }
            None => {
                let opened = fs::File::open(file).and_then(PartSource::from_file);
                let source = opened.map_err(files::at(Operation::Read, file))?;
                let stamp = objects::put_file(&self.objects, &path, &source, tree)?;
                let _ = self.put_tree(kind, tree);
                fs::remove_file(file).map_err(files::at(Operation::Delete, file))?;
                stamp
            }
        };
        if let Some(stamp) = stamp {
            self.known().insert(&path, stamp, GroupChecks::new(tree.clone(), false));
        }
        Ok(())
    }

    /// Length of what lies under a part's name, as it is; `None` if nothing does.
    ///
    /// # Errors
    /// [`TableError::Io`].
    pub fn part_bytes(&self, name: &PartName) -> Result<Option<u64>, TableError> {
        Ok(self.look(&self.part_path(name.kind, &name.digest))?.map(|stamp| stamp.bytes()))
    }

    /// What lies under a part's name, as it is and unchecked; `None` if nothing does.
    ///
    /// # Errors
    /// [`TableError::Io`].
    pub fn part_as_it_is(&self, name: &PartName) -> Result<Option<PartSource>, TableError> {
        let path = self.part_path(name.kind, &name.digest);
        let Some(file) = self.file_of(&path) else { return objects::open_whole(&self.objects, &path) };
        match objects::open_file(&file)? {
            Lookup::Object(source, _) => Ok(Some(source)),
            Lookup::Nothing | Lookup::TooLarge(_) => Ok(None),
        }
    }

    /// Reads a part and says whether it is what its name says. A hash tree that is lost is written again, where this place mends them
    /// ([`TableStore::mending_trees`]).
    ///
    /// # Errors
    /// [`TableError::Io`] if the store cannot be asked. A file of a directory that cannot be read to its end is damaged.
    ///
    /// # Cost
    /// One pass over the part. Nothing is remembered: a disk may lose at any time what it had.
    pub fn inspect(&self, name: &PartName) -> Result<StoredPart, TableError> {
        let source = match self.part_as_it_is(name) {
            Ok(None) => return Ok(StoredPart::Absent),
            Ok(Some(source)) => source,
            Err(TableError::Io { .. }) if self.is_directory() => return Ok(StoredPart::Damaged { bytes: 0 }),
            Err(error) => return Err(error),
        };
        let bytes = source.length();
        match source.tree() {
            Ok(tree) if tree.digest() == name.digest => {
                self.mend_tree(name.kind, &tree);
                Ok(StoredPart::Sound { bytes })
            }
            Err(source) if !self.is_directory() => {
                Err(TableError::failed(Operation::Read, name.file_name(), source))
            }
            _ => Ok(StoredPart::Damaged { bytes }),
        }
    }

    /// Files of parts and keys that a manifest names and this store does not have in full; what is left to upload.
    ///
    /// # Errors
    /// [`TableError::Io`].
    pub fn missing_parts(&self, manifest: &Manifest) -> Result<Vec<(FileKind, PartFile)>, TableError> {
        let listed = self.listed(!manifest.keys.is_empty())?.into_iter();
        let present: HashMap<String, u64> = listed.map(|object| (object.name, object.bytes)).collect();
        let mut missing: Vec<_> = named_files(manifest)
            .filter(|(kind, file)| present.get(&kind.file_name(&file.digest)) != Some(&file.bytes))
            .collect();
        let mut seen = HashSet::new();
        missing.retain(|part| seen.insert(*part));
        Ok(missing)
    }

    /// Cuts the parts of a manifest at the first that is not here, or that is shorter than its chunks.
    pub(super) fn keep_present(&self, head: &mut Manifest) -> Result<(), TableError> {
        let missing: HashSet<(FileKind, PartFile)> = match head.parts.is_empty() {
            true => HashSet::new(),
            false => self.missing_parts(head)?.into_iter().collect(),
        };
        let is_here = |part: &PartEntry| {
            let are_here = files_of_part(part).all(|file| !missing.contains(&file));
            are_here && part.rows == u64::from(part.chunks) * u64::from(CHUNK_ROWS)
        };
        let count = head.parts.iter().take_while(|part| is_here(part)).count();
        head.parts.truncate(count);
        Ok(())
    }

    /// Bytes of all parts and keys that are here, named by a manifest or not; hash trees do not count.
    ///
    /// # Errors
    /// [`TableError::Io`].
    ///
    /// # Cost
    /// Lists them: whoever asks often keeps the number.
    pub fn stored_bytes(&self) -> Result<u64, TableError> {
        let is_part = |name: &str| PartName::of_file(name).is_some_and(|part| part.file_name() == name);
        let parts = self.listed(true)?.into_iter().filter(|object| is_part(&object.name));
        Ok(parts.fold(0, |sum: u64, object| sum.saturating_add(object.bytes)))
    }

    /// What lies in the folder of parts, and in that of keys too.
    fn listed(&self, keys: bool) -> Result<Vec<Listed>, TableError> {
        let mut listed = self.list(PARTS_NAME)?;
        if keys {
            listed.extend(self.list(KEYS_NAME)?);
        }
        Ok(listed)
    }

    /// Writes a lost hash tree beside its part again, if this place mends them and it can.
    pub(super) fn mend_tree(&self, kind: FileKind, tree: &DigestTree) {
        if self.mends_trees && tree.is_stored() && !self.has_tree(kind, tree) {
            // Nothing relies on it.
            let _ = match &self.directory {
                Some(directory) => files::write_tree(&directory.join(kind.folder()), kind, tree),
                None => self.put_tree(kind, tree),
            };
        }
    }

    fn has_tree(&self, kind: FileKind, tree: &DigestTree) -> bool {
        let encoded = tree.encode();
        let found = self.fetch(&self.tree_path(kind, &tree.digest()), encoded.len() as u64);
        matches!(found, Ok(Lookup::Object(stored, _)) if stored.read_all().is_ok_and(|stored| stored == encoded))
    }

    fn put_tree(&self, kind: FileKind, tree: &DigestTree) -> Result<(), TableError> {
        if tree.is_stored() {
            objects::put(&self.objects, &self.tree_path(kind, &tree.digest()), tree.encode().into())?;
        }
        Ok(())
    }
}

/// The part that somebody else sent, if it is the one announced.
pub(super) fn received(kind: FileKind, file: PartFile, bytes: Bytes) -> Result<WrittenPart, TableError> {
    let name = kind.file_name(&file.digest);
    let length = bytes.len() as u64;
    if length != file.bytes {
        return Err(TableError::PartSize { name, found: length, expected: file.bytes });
    }
    let part = WrittenPart::new(kind, bytes, 0, 0);
    if part.file.digest != file.digest {
        return Err(TableError::PartAltered { name, found: part.file.digest });
    }
    Ok(part)
}

/// All files of which a table consists beside its manifest: halves of parts, lists of their dead rows, their cubes and their sorted runs in row
/// order, then keys and zones. A file may be named twice.
pub fn named_files(manifest: &Manifest) -> impl Iterator<Item = (FileKind, PartFile)> + '_ {
    let halves = manifest.parts.iter().flat_map(files_of_part);
    let keys = manifest.keys.iter().map(|entry| (FileKind::Key, entry.file));
    halves.chain(keys).chain(manifest.zones.map(|file| (FileKind::Zones, file)))
}

/// The files of a part: its halves, the list of its dead rows, its cubes, and its sorted runs.
pub fn files_of_part(part: &PartEntry) -> impl Iterator<Item = (FileKind, PartFile)> + use<> {
    let clear = part.clear.map(|file| (FileKind::Clear, file));
    let dead = part.dead.map(|dead| (FileKind::Dead, dead.file));
    let cubes = part.cubes.as_ref().map(|cubes| (FileKind::Cubes, cubes.file));
    let runs = part.runs.as_ref().map(|runs| (FileKind::Runs, runs.file));
    let encrypted = part.encrypted.map(|file| (FileKind::Encrypted, file));
    clear.into_iter().chain(encrypted).chain(dead).chain(cubes).chain(runs)
}

/// Names of the files that a manifest names.
pub(super) fn part_names(manifest: &Manifest) -> impl Iterator<Item = PartName> + '_ {
    named_files(manifest).map(|(kind, file)| PartName::new(kind, file.digest))
}
