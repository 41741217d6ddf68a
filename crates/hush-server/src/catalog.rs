// SPDX-License-Identifier: Apache-2.0
//! The tables of this server: what is committed, and the one way to commit.
//!
//! `tables/{t}/manifest.hush` and `tables/{t}/parts/…` are laid out as a local table is, so that a data
//! directory can be read, copied and checked with the same tools. A table without a manifest is invisible.

mod deliveries;
mod parts;
mod seeds;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use hush_table::part::{PartKind, PartSource};
use hush_table::store::named_files;
use hush_table::{EncryptedPart, Projection, SignedManifest};

use crate::durable;
use crate::error::{ApiError, Code};
use crate::names::{PartName, TableName};

pub use parts::StoredPart;
use seeds::SeedLog;

/// Name of the manifest in a table's directory.
pub const MANIFEST_FILE: &str = "manifest.hush";
/// Largest manifest that is read back: the largest body and its frame.
const MANIFEST_MAX_BYTES: u64 = hush_table::manifest::MAX_BODY_BYTES + 1024;
/// Prefix of directories on their way out; no table name starts with a dot.
const DELETED_PREFIX: &str = ".deleted-";

/// Committed tables, in memory and on disk.
pub struct Catalog {
    root: PathBuf,
    tables: RwLock<BTreeMap<TableName, Arc<SignedManifest>>>,
    /// Held while a table changes; commits are rare and short.
    change: Mutex<SeedLog>,
    /// Bytes of the complete parts of a table, committed or not, once they were counted.
    stored: Mutex<HashMap<TableName, u64>>,
}

/// What a commit did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committed {
    /// The first version of a table.
    Created,
    /// A newer version.
    Replaced,
    /// The very manifest that was there.
    Unchanged,
}

impl Catalog {
    /// Reads what is committed below `data`. Manifests that do not decode are left alone and not listed.
    ///
    /// # Errors
    /// From the file system.
    pub fn open(data: &Path) -> io::Result<Self> {
        let root = data.join("tables");
        durable::private_directory(&root)?;
        let seeds = SeedLog::open(data.join("seeds"))?;
        let mut tables = BTreeMap::new();
        for entry in fs::read_dir(&root)?.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if name.starts_with(DELETED_PREFIX) {
                fs::remove_dir_all(entry.path())?;
            } else if let Ok(table) = TableName::parse(name) {
                let read = durable::read_at_most(&entry.path().join(MANIFEST_FILE), MANIFEST_MAX_BYTES);
                match read.map(|bytes| SignedManifest::decode(&bytes)) {
                    Ok(Ok(manifest)) => drop(tables.insert(table, Arc::new(manifest))),
                    Ok(Err(error)) => tracing::error!(code = error.code(), "a stored manifest is damaged"),
                    Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                        tracing::error!(limit = MANIFEST_MAX_BYTES, "a stored manifest is too long");
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(Self { root, tables: RwLock::new(tables), change: Mutex::new(seeds), stored: Mutex::default() })
    }

    /// Committed tables by name.
    pub fn list(&self) -> Vec<(TableName, Arc<SignedManifest>)> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.iter().map(|(name, manifest)| (name.clone(), Arc::clone(manifest))).collect()
    }

    /// One committed table.
    ///
    /// # Errors
    /// [`Code::NoTable`].
    pub fn find(&self, table: &TableName) -> Result<Arc<SignedManifest>, ApiError> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.get(table).cloned().ok_or_else(|| Code::NoTable.into())
    }

    /// Where all tables live; a table's prefix in it is its name.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where a table's manifest lives.
    pub fn manifest_path(&self, table: &TableName) -> PathBuf {
        self.root.join(table.as_str()).join(MANIFEST_FILE)
    }

    /// Commits a manifest: checks its signature and rules, that it is by the table's owner and newer, that its
    /// parts are there and have the stated form, and that no chunk seed was used before; then replaces the
    /// manifest file at once. The present manifest again mends its file, should that be damaged.
    ///
    /// The first manifest pins the table's verifying key and table id for all later ones.
    ///
    /// # Errors
    /// [`Code::BadManifest`], [`Code::OtherOwner`], [`Code::OldVersion`], [`Code::PartsMissing`],
    /// [`Code::BadPart`], [`Code::SeedReused`]; nothing has changed then.
    ///
    /// # Cost
    /// A few small reads per encrypted part; part digests were checked when they were uploaded.
    pub fn commit(&self, table: &TableName, container: &[u8]) -> Result<Committed, ApiError> {
        let manifest = SignedManifest::decode(container).map_err(|error| {
            tracing::info!(code = error.code(), "a manifest was refused");
            Code::BadManifest
        })?;
        if TableName::parse(&manifest.manifest().table).ok().as_ref() != Some(table) {
            return Err(Code::BadManifest.into());
        }
        let seeds = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        let current = self.find(table).ok();
        if let Some(current) = &current {
            if current.as_bytes() == container {
                self.mend_manifest(table, container)?;
                return Ok(Committed::Unchanged);
            }
            check_succession(current, &manifest)?;
        }
        let fresh = self.check_parts(table, &manifest, &seeds)?;
        seeds.record(&manifest.manifest().key_id, &fresh)?;
        durable::replace(&self.manifest_path(table), container)?;
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        let manifest = Arc::new(manifest);
        tables.insert(table.clone(), Arc::clone(&manifest));
        drop(tables);
        self.forget_deliveries(table, &manifest);
        Ok(if current.is_some() { Committed::Replaced } else { Committed::Created })
    }

    /// Writes the present manifest again if its file is not what was committed.
    fn mend_manifest(&self, table: &TableName, container: &[u8]) -> Result<(), ApiError> {
        let path = self.manifest_path(table);
        if durable::read_at_most(&path, MANIFEST_MAX_BYTES).is_ok_and(|stored| stored == container) {
            return Ok(());
        }
        tracing::warn!("a damaged manifest is replaced");
        Ok(durable::replace(&path, container)?)
    }

    /// Deletes a table, committed or not. It is gone at once; its files go after.
    ///
    /// # Errors
    /// [`Code::NoTable`] if nothing is stored under the name.
    pub fn delete(&self, table: &TableName) -> Result<(), ApiError> {
        let _change = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = self.root.join(table.as_str());
        let doomed = self.root.join(format!("{DELETED_PREFIX}{table}", table = table.as_str()));
        match fs::rename(&directory, &doomed) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Code::NoTable.into()),
            renamed => renamed?,
        }
        self.tables.write().unwrap_or_else(PoisonError::into_inner).remove(table);
        self.count_anew(table);
        durable::sync_directory_of(&directory)?;
        fs::remove_dir_all(&doomed)?;
        Ok(())
    }

    /// Removes parts that no manifest names and that are older than `age_s` seconds, of tables that `in_use` does
    /// not name.
    pub fn sweep(&self, age_s: u64, in_use: &HashSet<TableName>) {
        let _change = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(entries) = fs::read_dir(&self.root) else { return };
        for entry in entries.flatten() {
            let Some(table) = entry.file_name().to_str().and_then(|name| TableName::parse(name).ok()) else {
                continue;
            };
            if in_use.contains(&table) {
                continue;
            }
            let mut named = self.find(&table).map(|manifest| part_names(&manifest)).unwrap_or_default();
            if self.find(&table).is_ok() {
                let Some(awaited) = self.awaited_parts(&table) else { continue };
                named.extend(awaited);
            }
            for file in self.part_files(&table) {
                // A hash tree goes with its part.
                let part = file.file_name().to_str().and_then(PartKind::part_of);
                let name = part.and_then(|part| PartName::from_file_name(&part));
                let orphan = name.is_none_or(|name| !named.contains(&name));
                if orphan && durable::older_than(&file.path(), age_s) {
                    // Another sweep will find what cannot be removed now.
                    let _ = fs::remove_file(file.path());
                    self.count_anew(&table);
                }
            }
        }
    }

    /// Checks that all parts are there in the stated form; returns the seeds of parts not seen before.
    fn check_parts(
        &self,
        table: &TableName,
        manifest: &SignedManifest,
        seeds: &SeedLog,
    ) -> Result<Vec<seeds::Entry>, ApiError> {
        let body = manifest.manifest();
        let mut known = seeds.load(&body.key_id)?;
        let mut fresh = Vec::new();
        // Their size follows from the manifest, their digest was checked when they came.
        for entry in &body.keys {
            self.open_part(table, &entry.file, PartKind::Key)?;
        }
        for (place, entry) in body.placed_parts() {
            if let Some(file) = entry.clear {
                self.open_part(table, &file, PartKind::Clear)?;
            }
            let Some(file) = entry.encrypted else { continue };
            let source = PartSource::from_file(self.open_part(table, &file, PartKind::Encrypted)?)?;
            let part = EncryptedPart::open(source, body, place, entry).map_err(bad_part)?;
            let wanted = Projection { seed: true, ..Projection::default() };
            let mut own = HashSet::new();
            for seed in part.read(&wanted).map_err(bad_part)?.into_iter().filter_map(|chunk| chunk.seed) {
                if !own.insert(seed) {
                    return Err(Code::SeedReused.into());
                }
                let entry = seeds::Entry { seed, part: *file.digest.as_bytes() };
                if known.insert(&entry)? {
                    fresh.push(entry);
                }
            }
        }
        Ok(fresh)
    }

    fn open_part(
        &self,
        table: &TableName,
        file: &hush_table::PartFile,
        kind: PartKind,
    ) -> Result<fs::File, ApiError> {
        let name = PartName::new(file.digest, kind);
        let opened = fs::File::open(self.part_path(table, &name)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ApiError::from(Code::PartsMissing),
            _ => ApiError::from_io(&error),
        })?;
        if opened.metadata()?.len() == file.bytes { Ok(opened) } else { Err(Code::PartsMissing.into()) }
    }
}

fn bad_part(error: hush_table::TableError) -> ApiError {
    tracing::info!(code = error.code(), "a part was refused");
    Code::BadPart.into()
}

fn check_succession(current: &SignedManifest, next: &SignedManifest) -> Result<(), ApiError> {
    let (old, new) = (current.manifest(), next.manifest());
    if next.key() != current.key() || new.table_id != old.table_id || new.key_id != old.key_id {
        return Err(Code::OtherOwner.into());
    }
    if new.version <= old.version { Err(Code::OldVersion.into()) } else { Ok(()) }
}

/// Names of all files of parts and keys of a manifest.
pub fn part_names(manifest: &SignedManifest) -> HashSet<PartName> {
    named_files(manifest.manifest()).map(|(kind, file)| PartName::new(file.digest, kind)).collect()
}
