// SPDX-License-Identifier: Apache-2.0
//! What no version of a table needs is removed: leftovers of interrupted writers, parts that were given up, whole tables.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::time::Duration;

use super::objects::{self, Listed};
use super::parts::part_names;
use super::{KEPT, KEYS_NAME, PARTS_NAME, TableStore, files};
use crate::error::TableError;
use crate::manifest::Manifest;
use crate::part::PartName;

impl TableStore {
    /// Removes part files that neither the present manifest nor a waiting delivery names, and unfinished files: what interrupted runs
    /// left. Not to be called while somebody uploads parts of a version to come.
    ///
    /// # Errors
    /// [`TableError::Busy`] while a writer is at work; those of [`TableStore::load`] for a damaged manifest, which may name
    /// any of the parts; [`TableError::Io`].
    pub fn sweep(&self) -> Result<usize, TableError> {
        let _lock = self.lock()?;
        self.sweep_locked()
    }

    /// Removes what interrupted runs and replaced versions have left. In a directory that is everything that no version needs; in an object
    /// store, which has no lock, what nobody has needed for [`KEPT`].
    ///
    /// # Errors
    /// As [`TableStore::sweep`].
    pub fn tidy(&self) -> Result<usize, TableError> {
        if self.is_directory() { self.sweep() } else { self.sweep_older(KEPT, None) }
    }

    /// As [`TableStore::sweep`] where parts of versions to come are uploaded meanwhile: removes only what was not written to for longer
    /// than `age`, and no part of `served`, the version that is being read.
    ///
    /// # Errors
    /// As [`TableStore::sweep`].
    pub fn sweep_older(&self, age: Duration, served: Option<&Manifest>) -> Result<usize, TableError> {
        let _lock = self.lock()?;
        self.sweep_where(served, |listed| files::is_older(listed.modified, age))
    }

    pub(super) fn sweep_locked(&self) -> Result<usize, TableError> {
        self.sweep_where(None, |_| true)
    }

    pub(super) fn sweep_where(
        &self,
        served: Option<&Manifest>,
        removable: impl Fn(&Listed) -> bool,
    ) -> Result<usize, TableError> {
        let present = self.load_present()?;
        let manifests = present.iter().map(|(present, _)| present.manifest()).chain(served);
        let mut named: HashSet<PartName> = manifests.flat_map(part_names).collect();
        named.extend(self.awaited_parts()?);
        // Before the parts: no version may name what is not there.
        let versions = self.sweep_versions(&removable)?;
        // Read if there is a part that only they can need: as a rule there is none.
        let of_versions = OnceCell::new();
        let is_needed = |part: PartName| {
            named.contains(&part)
                || match of_versions.get_or_init(|| self.parts_of_versions(&versions)) {
                    Ok(of_versions) => of_versions.contains(&part),
                    Err(_) => true,
                }
        };
        let removed = self.remove_parts(|part, listed| removable(listed) && !part.is_some_and(&is_needed))?;
        of_versions.into_inner().transpose()?;
        Ok(removed)
    }

    /// Deletes the table: first the manifest, so that no half of a table is ever visible, then its parts. Files
    /// that are not a table's are left alone. Deleting what is not there succeeds.
    ///
    /// # Errors
    /// [`TableError::Busy`] while a writer is at work; [`TableError::Io`]; repeat to finish.
    pub fn delete(&self) -> Result<(), TableError> {
        let lock = self.lock()?;
        objects::delete(&self.objects, &self.manifest_path())?;
        self.remove_deliveries()?;
        self.sweep_versions(|_| true)?;
        self.remove_journal()?;
        self.remove_parts(|_, _| true)?;
        drop(lock);
        self.directory.as_deref().map_or(Ok(()), files::remove_empty)
    }

    /// Removes the parts of a version that was given up, but for those that the present manifest names too. In a bucket they stay
    /// until they are swept: without a lock, another writer may rely on a part of the same content.
    pub(super) fn forget_parts(&self, given_up: &Manifest) -> Result<(), TableError> {
        if self.root.is_some() {
            return Ok(());
        }
        let present = self.load_present()?;
        let keep: HashSet<PartName> =
            present.iter().flat_map(|(present, _)| part_names(present.manifest())).collect();
        let given_up = part_names(given_up).filter(|part| !keep.contains(part));
        let files = given_up.flat_map(|PartName { kind, digest }| {
            [self.part_path(kind, &digest), self.tree_path(kind, &digest)]
        });
        objects::delete_all(&self.objects, files.collect())
    }

    /// Removes the files of parts (hash trees among them), and files not yet in place, that `doomed` takes; it is told the part to
    /// which a file belongs. Gives how many, a part and its tree counted once.
    fn remove_parts(&self, doomed: impl Fn(Option<PartName>, &Listed) -> bool) -> Result<usize, TableError> {
        let mut paths = Vec::new();
        let mut removed = 0;
        for name in [PARTS_NAME, KEYS_NAME] {
            let folder = self.folder(name);
            for listed in self.list(name)? {
                let part = PartName::of_file(&listed.name);
                if (part.is_some() || files::is_partial(&listed.name)) && doomed(part, &listed) {
                    paths.push(folder.clone().join(listed.name.as_str()));
                    removed += usize::from(part.is_none_or(|part| part.file_name() == listed.name));
                }
            }
        }
        paths.iter().for_each(|path| self.known().remove(path));
        objects::delete_all(&self.objects, paths)?;
        if let Some(directory) = &self.directory {
            removed += files::remove_partial(directory)?;
        }
        Ok(removed)
    }
}
