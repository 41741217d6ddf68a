// SPDX-License-Identifier: Apache-2.0
//! The tables of this server: what is committed, and the one way to commit.
//!
//! Tables lie in a [`hush_table::Catalog`], in a directory or an object store, and are laid out as any table is: a server's tables can
//! be read, copied and checked with the same tools. What this module adds is the server's policy: who may replace a table, which
//! chunk seeds were used before, how much a table takes, how many deliveries wait, when leftovers go. A table without a
//! manifest is invisible.

mod deliveries;
mod parts;
mod seeds;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use hush_table::{Projection, RecordLog, SignedManifest, TableError, TableStore};
use object_store::ObjectStore;
use object_store::path::Path as Prefix;

use crate::error::{ApiError, Code};
use crate::names::TableName;

use parts::StoredBytes;
use seeds::{RECORD_BYTES, SeedLog};

/// Name of the folder of tables in a server's place.
const TABLES: &str = "tables";
/// Name of the folder of the seed log in a server's place.
const SEEDS: &str = "seeds";

/// Where a server keeps what must not be lost: its tables, and which chunk seeds were used.
#[derive(Clone, Debug)]
pub struct Storage {
    tables: hush_table::Catalog,
    seeds: RecordLog,
}

impl Storage {
    /// `DIR/tables` and `DIR/seeds`, made if they do not exist.
    ///
    /// # Errors
    /// [`TableError::Io`].
    pub fn local(directory: &Path) -> Result<Self, TableError> {
        let tables = hush_table::Catalog::local(directory.join(TABLES))?;
        let seeds = RecordLog::local(directory.join(SEEDS), RECORD_BYTES)?;
        Ok(Self { tables: tables.mending_trees(), seeds })
    }

    /// The same below a prefix of an object store, which must support conditional writes.
    pub fn objects(store: Arc<dyn ObjectStore>, prefix: &Prefix) -> Self {
        let tables = hush_table::Catalog::new(store.clone(), prefix.clone().join(TABLES));
        let seeds = RecordLog::new(store, prefix.clone().join(SEEDS), RECORD_BYTES);
        Self { tables: tables.mending_trees(), seeds }
    }
}

/// Committed tables, in memory and in their store.
pub struct Catalog {
    tables: hush_table::Catalog,
    committed: RwLock<BTreeMap<TableName, Arc<SignedManifest>>>,
    /// Held while a table changes; commits are rare and short.
    change: Mutex<SeedLog>,
    /// Bytes of the complete parts of each table, committed or not.
    stored: Mutex<HashMap<TableName, StoredBytes>>,
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
    /// Reads what is committed. Manifests that do not decode are left alone and not listed; deletions that a crash interrupted are
    /// finished.
    ///
    /// # Errors
    /// [`TableError::Io`].
    pub fn open(storage: Storage) -> Result<Self, TableError> {
        let Storage { tables, seeds } = storage;
        tables.finish_deletions()?;
        let mut committed = BTreeMap::new();
        for entry in tables.list()? {
            let Some(name) = TableName::of_stored(&entry.name) else { continue };
            match entry.manifest {
                Ok(manifest) => drop(committed.insert(name, Arc::new(manifest))),
                Err(error @ (TableError::Io { .. } | TableError::Store { .. })) => return Err(error),
                Err(error) => tracing::error!(code = error.code(), "a stored manifest is damaged"),
            }
        }
        let (committed, change) = (RwLock::new(committed), Mutex::new(SeedLog::new(seeds)));
        Ok(Self { tables, committed, change, stored: Mutex::default() })
    }

    /// Committed tables by name.
    pub fn list(&self) -> Vec<(TableName, Arc<SignedManifest>)> {
        let committed = self.committed.read().unwrap_or_else(PoisonError::into_inner);
        committed.iter().map(|(name, manifest)| (name.clone(), Arc::clone(manifest))).collect()
    }

    /// One committed table.
    ///
    /// # Errors
    /// [`Code::NoTable`].
    pub fn find(&self, table: &TableName) -> Result<Arc<SignedManifest>, ApiError> {
        let committed = self.committed.read().unwrap_or_else(PoisonError::into_inner);
        committed.get(table).cloned().ok_or_else(|| Code::NoTable.into())
    }

    /// All tables, begun ones included, as they lie in the store.
    pub fn tables(&self) -> &hush_table::Catalog {
        &self.tables
    }

    /// Where a table lies, whether or not there is one.
    ///
    /// # Errors
    /// None for the names that [`TableName`] takes.
    pub fn place(&self, table: &TableName) -> Result<TableStore, ApiError> {
        Ok(self.tables.table(table.as_str())?)
    }

    /// Commits a manifest: checks its signature and rules, that it is by the table's owner and newer, that its
    /// parts are there and have the stated form, and that no chunk seed was used before; then replaces the
    /// manifest at once. The present manifest again mends its file, should that be damaged.
    ///
    /// The first manifest pins the table's verifying key and table id for all later ones.
    ///
    /// # Errors
    /// [`Code::BadManifest`], [`Code::OtherOwner`], [`Code::OldVersion`], [`Code::PartsMissing`],
    /// [`Code::BadPart`], [`Code::SeedReused`]; [`Code::Busy`] while somebody else writes to the table. Nothing has changed then.
    ///
    /// # Cost
    /// A list of the parts and a few small reads for each encrypted one.
    pub fn commit(&self, table: &TableName, container: &[u8]) -> Result<Committed, ApiError> {
        let manifest = SignedManifest::decode(container).map_err(|error| {
            tracing::info!(code = error.code(), "a manifest was refused");
            Code::BadManifest
        })?;
        if TableName::parse(&manifest.manifest().table).ok().as_ref() != Some(table) {
            return Err(Code::BadManifest.into());
        }
        let seeds = self.changing();
        let place = self.place(table)?;
        let current = self.find(table).ok().or_else(|| self.adopt(table, &place));
        if let Some(current) = &current {
            if current.as_bytes() == container {
                if place.mend_manifest(current)? {
                    tracing::warn!("a damaged manifest was replaced");
                }
                return Ok(Committed::Unchanged);
            }
            check_succession(current, &manifest)?;
        }
        let fresh = check_parts(&place, &manifest, &seeds)?;
        seeds.record(&manifest.manifest().key_id, &fresh)?;
        place.commit_over_damage(&manifest)?;
        let manifest = Arc::new(manifest);
        self.set(table, Some(Arc::clone(&manifest)));
        if let Err(error) = place.forget_deliveries(manifest.manifest()) {
            // They are told apart from those that wait, and go with the next version.
            tracing::error!(code = error.code(), "deliveries that were taken in remain");
        }
        Ok(if current.is_some() { Committed::Replaced } else { Committed::Created })
    }

    /// Deletes a table, committed or not. It is gone at once; its files go after.
    ///
    /// # Errors
    /// [`Code::NoTable`] if nothing is stored under the name.
    pub fn delete(&self, table: &TableName) -> Result<(), ApiError> {
        let _change = self.changing();
        let deleted = self.tables.delete(table.as_str());
        // A deletion that fails half-way has begun with the manifest.
        if deleted.is_ok() || matches!(self.place(table)?.has_manifest(), Ok(false)) {
            self.set(table, None);
            self.count_anew(table);
        }
        if deleted? { Ok(()) } else { Err(Code::NoTable.into()) }
    }

    /// Removes parts that neither a version nor a waiting delivery names and that were not written to for `age`, of tables that `in_use`
    /// does not name.
    pub fn sweep(&self, age: Duration, in_use: &HashSet<TableName>) {
        let names = match self.tables.names() {
            Ok(names) => names,
            Err(error) => return tracing::warn!(code = error.code(), "the tables could not be listed"),
        };
        for table in names.iter().filter_map(|name| TableName::of_stored(name)) {
            if in_use.contains(&table) {
                continue;
            }
            // For each table anew, so that no commit waits for all.
            let _change = self.changing();
            let served = self.find(&table).ok();
            let served = served.as_ref().map(|manifest| manifest.manifest());
            match self.place(&table).map(|place| place.sweep_older(age, served)) {
                Ok(Ok(0)) | Err(_) => {}
                Ok(Ok(_)) => self.count_anew(&table),
                // Another sweep will find what cannot be removed now.
                Ok(Err(error)) => {
                    tracing::warn!(code = error.code(), "a table could not be swept");
                    self.count_anew(&table);
                }
            }
        }
    }

    /// A version that somebody else has put in the table's place: its owner is this table's.
    fn adopt(&self, table: &TableName, place: &TableStore) -> Option<Arc<SignedManifest>> {
        let found = Arc::new(place.load().ok()?);
        self.set(table, Some(Arc::clone(&found)));
        Some(found)
    }

    fn changing(&self) -> MutexGuard<'_, SeedLog> {
        self.change.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, table: &TableName, manifest: Option<Arc<SignedManifest>>) {
        let mut committed = self.committed.write().unwrap_or_else(PoisonError::into_inner);
        match manifest {
            Some(manifest) => committed.insert(table.clone(), manifest),
            None => committed.remove(table),
        };
    }
}

/// Checks that all parts are there in the stated form; returns the seeds of parts not seen before.
fn check_parts(
    place: &TableStore,
    manifest: &SignedManifest,
    seeds: &SeedLog,
) -> Result<Vec<seeds::Entry>, ApiError> {
    let body = manifest.manifest();
    if !place.missing_parts(body)?.is_empty() {
        return Err(Code::PartsMissing.into());
    }
    let mut known = seeds.load(&body.key_id)?;
    let mut fresh = Vec::new();
    for (at, entry) in body.placed_parts() {
        let Some(file) = entry.encrypted else { continue };
        let part = place.open_encrypted(body, at, entry)?;
        let wanted = Projection { seed: true, ..Projection::default() };
        let mut own = HashSet::new();
        for seed in part.read(&wanted)?.into_iter().filter_map(|chunk| chunk.seed) {
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

fn check_succession(current: &SignedManifest, next: &SignedManifest) -> Result<(), ApiError> {
    let (old, new) = (current.manifest(), next.manifest());
    if next.key() != current.key() || new.table_id != old.table_id || new.key_id != old.key_id {
        return Err(Code::OtherOwner.into());
    }
    if new.version <= old.version { Err(Code::OldVersion.into()) } else { Ok(()) }
}
