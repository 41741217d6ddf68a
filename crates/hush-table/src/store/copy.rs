// SPDX-License-Identifier: Apache-2.0
//! A version of a table copied from one place to another, file by file, encrypted halves first, the manifest last.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use super::{TableStore, named_files};
use crate::error::TableError;
use crate::manifest::{PartFile, SignedManifest};
use crate::part::{FileKind, PartName};

/// Files that are under way at a time, each in memory unless its place is a directory.
const UNDER_WAY: usize = 4;

/// The outcome of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Files of parts and keys that were written.
    pub files: u64,
    /// Files that were there already.
    pub present: u64,
    /// Bytes that were written.
    pub bytes: u64,
}

impl TableStore {
    /// Copies the files of a version to another place and makes it the table's present version there. Each file is checked against its
    /// digest on the way. A file that is there in its length is left, so that a second call continues an interrupted one. `told` hears of
    /// the bytes of each file that is in its place.
    ///
    /// # Errors
    /// [`TableError::OtherTable`], [`TableError::StaleVersion`] before anything is written; those of [`TableStore::open_part`] and
    /// [`TableStore::commit`].
    pub fn copy_version(
        &self,
        version: &SignedManifest,
        to: &Self,
        told: &(dyn Fn(u64) + Sync),
    ) -> Result<Copied, TableError> {
        let (lock, manifest) = (to.lock()?, version.manifest());
        match to.load() {
            Ok(present) if present.digest() != version.digest() => {
                to.require_successor(&present, manifest.table_id, manifest.version)?;
            }
            Ok(_) | Err(TableError::NoTable { .. }) => {}
            Err(error) => return Err(error),
        }
        let mut seen = HashSet::new();
        let mut files: Vec<_> = named_files(manifest).filter(|part| seen.insert(*part)).collect();
        // A copy that breaks off has clear columns only if all encrypted ones are there.
        files.sort_by_key(|(kind, _)| matches!(kind, FileKind::Clear | FileKind::Zones));
        let (left, copied) = (Mutex::new(files.into_iter()), Mutex::new(Copied::default()));
        let work = || -> Result<(), TableError> {
            loop {
                // The lock is given back before the copy begins.
                let next = left.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((kind, file)) = next else { return Ok(()) };
                let done = self.copy_file(kind, file, to);
                if done.is_err() {
                    left.lock().unwrap_or_else(PoisonError::into_inner).by_ref().for_each(drop);
                }
                let was_there = !done?;
                let mut copied = copied.lock().unwrap_or_else(PoisonError::into_inner);
                copied.present += u64::from(was_there);
                copied.files += u64::from(!was_there);
                copied.bytes += if was_there { 0 } else { file.bytes };
                told(file.bytes);
            }
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..UNDER_WAY).map(|_| scope.spawn(work)).collect();
            let first = work();
            let joined = others
                .into_iter()
                .map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            joined.fold(first, Result::and)
        })?;
        to.commit_locked(version)?;
        drop(lock);
        Ok(copied.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Copies a file, unless it is there; gives whether it was written.
    fn copy_file(&self, kind: FileKind, file: PartFile, to: &Self) -> Result<bool, TableError> {
        if to.part_bytes(&PartName::new(kind, file.digest))? == Some(file.bytes) {
            return Ok(false);
        }
        let source = self.part_at_hand(kind, &file)?;
        let bytes = source.read_all().map_err(|cause| super::open::failed(&source, kind, &file, cause))?;
        to.put_received(kind, file, bytes)?;
        Ok(true)
    }

    /// The name of an object below the prefix that no table has put there; `None` if there is nothing of that kind. Looks at the first
    /// level alone.
    ///
    /// # Errors
    /// [`TableError::Store`].
    pub fn foreign_object(&self) -> Result<Option<String>, TableError> {
        let ours = super::FOLDERS.into_iter().chain([super::JOURNAL_NAME, super::MANIFEST_NAME]);
        let ours: HashSet<&str> = ours.collect();
        let objects =
            super::objects::list(&self.objects, &self.prefix)?.into_iter().map(|listed| listed.name);
        let folders = super::objects::list_prefixes(&self.objects, &self.prefix)?;
        Ok(objects.chain(folders).find(|name| !ours.contains(name.as_str())))
    }
}
