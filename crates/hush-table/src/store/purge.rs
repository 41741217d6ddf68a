// SPDX-License-Identifier: Apache-2.0
//! What the present version does not need goes at once, where it is otherwise kept for a while: old versions, and files that they alone name.
//!
//! Nobody may lose rows that are on their way. Locks keep the owner's writers out of a directory, and devices between the parts of a delivery
//! and the delivery; nothing keeps tasks of a job out, clients of a server, or anybody of a bucket. So what came after the present version is
//! left until nobody has touched it for [`KEPT`], and in an object store, which remembers old versions, also what none of them has named.
//!
//! Parts go before the versions that name them, so that a purge which breaks off is finished by another one.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::time::{Duration, SystemTime};

use super::append::wait_for;
use super::files::{self, Lock};
use super::objects::{self, Listed};
use super::parts::part_names;
use super::versions::version_of_name;
use super::{
    DELIVERIES_NAME, EarlierGone, KEPT, KEYS_NAME, MANIFEST_NAME, PARTS_NAME, TableStore, VERSIONS_NAME,
    WriteAccess,
};
use crate::digest::Digest;
use crate::error::{Operation, TableError};
use crate::manifest::SignedManifest;
use crate::part::PartName;

/// Time for which devices and purges of a directory wait for each other.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whether a purge deletes, or only says what it would delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurgeRun {
    /// It deletes.
    Delete,
    /// It only looks.
    Look,
}

/// A file of a table, by its path below the table's place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlacedFile {
    /// Folder and name.
    pub path: String,
    /// Its length.
    pub bytes: u64,
}

/// What a purge has deleted, and what it has left though the present version does not name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Purge {
    /// Files that are gone, or would be, by path.
    pub deleted: Vec<PlacedFile>,
    /// Files of deliveries that wait for their owner, by path.
    pub waiting: Vec<PlacedFile>,
    /// Files that no version names and that somebody may be about to use, by path.
    pub unnamed: Vec<PlacedFile>,
    /// Contents that the store had kept of overwritten and deleted objects, and that are gone, or would be; `None` where nobody can tell.
    pub earlier: Option<EarlierGone>,
}

/// What becomes of a file that the present version does not name.
enum Fate {
    Deleted,
    Waiting,
    Unnamed,
}

impl WriteAccess {
    /// Deletes old versions and all files that only they name. `None`, and nothing is deleted, if `present` is not the present version.
    ///
    /// What is no file of a table's, and what is a link, is left.
    ///
    /// # Errors
    /// [`TableError::Interrupted`] beside the journal of an encryption, whose parts would go with the others; [`TableError::Busy`] while a
    /// device delivers; a damaged manifest; [`TableError::Io`]: repeat to finish.
    ///
    /// # Cost
    /// Lists the table's files and reads the manifests of old versions, where they are kept.
    pub fn purge(&self, present: &Digest, run: PurgeRun) -> Result<Option<Purge>, TableError> {
        self.store.purge_locked(present, run)
    }
}

impl TableStore {
    /// As [`WriteAccess::purge`], for a server, whose clients may be sending parts of a version or a delivery to come.
    ///
    /// # Errors
    /// As [`WriteAccess::purge`]; [`TableError::Busy`] while a writer is at work.
    pub fn purge(&self, present: &Digest, run: PurgeRun) -> Result<Option<Purge>, TableError> {
        let _lock = self.lock()?;
        self.purge_locked(present, run)
    }

    /// Those of some files that are in the table's place, by their paths below it; links count.
    ///
    /// # Errors
    /// [`TableError::Io`].
    ///
    /// # Cost
    /// A look at each in a directory, elsewhere a list of the table's files.
    pub fn present_files<'a>(
        &self,
        paths: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<&'a str>, TableError> {
        if let Some(directory) = &self.directory {
            let is_there = |path: &&str| match fs::symlink_metadata(directory.join(path)) {
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(false),
                found => found.map(|_| true).map_err(files::at(Operation::Read, directory)),
            };
            return paths
                .filter_map(|path| is_there(&path).map(|there| there.then_some(path)).transpose())
                .collect();
        }
        let listed = self.purgeable()?;
        let present: HashSet<String> =
            listed.into_iter().map(|(folder, listed)| format!("{folder}/{}", listed.name)).collect();
        Ok(paths.filter(|path| present.contains(*path)).collect())
    }

    /// The right to put the parts of a delivery and the delivery itself into a directory, which no purge comes between.
    pub(super) fn while_delivering(&self) -> Result<Option<Lock>, TableError> {
        self.gate(Lock::take_shared)
    }

    fn gate(
        &self,
        take: fn(&std::path::Path) -> Result<Lock, TableError>,
    ) -> Result<Option<Lock>, TableError> {
        let Some(directory) = &self.directory else { return Ok(None) };
        let folder = directory.join(DELIVERIES_NAME);
        wait_for(PATIENCE, || take(&folder)).map(Some)
    }

    fn purge_locked(&self, present: &Digest, run: PurgeRun) -> Result<Option<Purge>, TableError> {
        let (manifest, _) = self.load_present()?.ok_or_else(|| self.no_table())?;
        if manifest.digest() != *present {
            return Ok(None);
        }
        if self.journal()?.is_some() {
            return Err(TableError::Interrupted { place: self.place() });
        }
        // Whoever only looks keeps nobody out.
        let _gate = if run == PurgeRun::Delete { self.gate(Lock::take)? } else { None };
        let judge = Judge::new(self, &manifest)?;
        let (mut purge, mut doomed) = (Purge::default(), Vec::new());
        for (folder, listed) in self.purgeable()? {
            let Some(fate) = judge.fate(folder, &listed) else { continue };
            let path = if folder.is_empty() { listed.name } else { format!("{folder}/{}", listed.name) };
            let file = PlacedFile { path, bytes: listed.bytes };
            match fate {
                Fate::Deleted => {
                    doomed.extend(PartName::of_file(file.path.rsplit('/').next().unwrap_or_default()));
                    purge.deleted.push(file);
                }
                Fate::Waiting => purge.waiting.push(file),
                Fate::Unnamed => purge.unnamed.push(file),
            }
        }
        if run == PurgeRun::Delete {
            self.forget_checked(&doomed);
            self.delete_files(&purge.deleted)?;
        }
        purge.earlier = match (self.earlier_contents()?, run) {
            (Some(doomed), PurgeRun::Delete) => self.delete_earlier(doomed)?,
            (doomed, _) => doomed.map(|doomed| doomed.counted()),
        };
        for files in [&mut purge.deleted, &mut purge.waiting, &mut purge.unnamed] {
            files.sort_unstable();
        }
        Ok(Some(purge))
    }

    /// The files that a purge may look at, with their folders, in the order in which they go.
    fn purgeable(&self) -> Result<Vec<(&'static str, Listed)>, TableError> {
        let mut found = Vec::new();
        for folder in [PARTS_NAME, KEYS_NAME, VERSIONS_NAME] {
            let listed = match &self.directory {
                Some(directory) => files::list_own(&directory.join(folder))?,
                None => self.list(folder)?,
            };
            found.extend(listed.into_iter().map(|listed| (folder, listed)));
        }
        if let Some(directory) = &self.directory {
            found.extend(files::list_own(directory)?.into_iter().map(|listed| ("", listed)));
        }
        Ok(found)
    }

    /// Forgets what is in memory of parts that go.
    fn forget_checked(&self, parts: &[PartName]) {
        let mut known = self.known();
        for PartName { kind, digest } in parts {
            known.remove(&self.part_path(*kind, digest));
            if let Some(memory) = &self.memory {
                memory.forget(digest);
            }
        }
    }

    fn delete_files(&self, doomed: &[PlacedFile]) -> Result<(), TableError> {
        let Some(directory) = &self.directory else {
            let path = |file: &PlacedFile| {
                file.path.split('/').fold(self.prefix.clone(), |path, segment| path.join(segment))
            };
            let (versions, parts): (Vec<_>, Vec<_>) =
                doomed.iter().partition(|file| file.path.starts_with(VERSIONS_NAME));
            objects::delete_all(&self.objects, parts.into_iter().map(path).collect())?;
            return objects::delete_all(&self.objects, versions.into_iter().map(path).collect());
        };
        for file in doomed {
            let path = directory.join(&file.path);
            match fs::remove_file(&path) {
                Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                    return Err(files::at(Operation::Delete, &path)(cause));
                }
                _ => {}
            }
        }
        // Whoever says that they are gone must find them gone after a crash.
        for folder in [PARTS_NAME, KEYS_NAME, VERSIONS_NAME] {
            files::sync_directory(&directory.join(folder))?;
        }
        files::sync_directory(directory)
    }

    /// When the present version came.
    fn present_since(&self) -> Result<SystemTime, TableError> {
        let listed = match &self.directory {
            Some(directory) => files::list(directory)?,
            None => objects::list(&self.objects, &self.prefix)?,
        };
        let manifest = listed.into_iter().find(|listed| listed.name == MANIFEST_NAME);
        manifest.map(|manifest| manifest.modified).ok_or_else(|| self.no_table())
    }
}

/// What decides about files.
struct Judge {
    /// Digest of the present version.
    present: Digest,
    since: SystemTime,
    named: HashSet<PartName>,
    awaited: HashSet<PartName>,
    /// Parts of old versions; `None` where these are not remembered.
    old: Option<HashSet<PartName>>,
}

impl Judge {
    fn new(store: &TableStore, present: &SignedManifest) -> Result<Self, TableError> {
        let old = match store.is_directory() {
            true => None,
            false => Some(store.parts_of_old(present)?),
        };
        Ok(Self {
            present: present.digest(),
            since: store.present_since()?,
            named: part_names(present.manifest()).collect(),
            awaited: store.awaited_parts()?,
            old,
        })
    }

    /// What becomes of a file; `None` for those that stay because the present version has them, or because they are nobody's of ours.
    fn fate(&self, folder: &str, listed: &Listed) -> Option<Fate> {
        if folder == VERSIONS_NAME {
            // The present version is there too while another one takes its place.
            return version_of_name(&listed.name)
                .filter(|version| *version != self.present)
                .map(|_| Fate::Deleted);
        }
        if folder.is_empty() {
            // Of writers, who are kept out.
            return files::is_unfinished(&listed.name).then_some(Fate::Deleted);
        }
        let is_over = files::is_older(listed.modified, KEPT);
        let is_older = listed.modified <= self.since;
        let Some(part) = PartName::of_file(&listed.name) else {
            let is_half = files::unfinished_name(&listed.name).and_then(PartName::of_file).is_some();
            return (is_half && (is_over || is_older)).then_some(Fate::Deleted);
        };
        if self.named.contains(&part) {
            return None;
        }
        if self.awaited.contains(&part) {
            return Some(Fate::Waiting);
        }
        let was_named = self.old.as_ref().is_none_or(|old| old.contains(&part));
        Some(if is_over || was_named && is_older { Fate::Deleted } else { Fate::Unnamed })
    }
}

#[cfg(test)]
mod tests;
