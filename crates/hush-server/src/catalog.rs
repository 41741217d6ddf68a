// SPDX-License-Identifier: Apache-2.0
//! The tables of this server: what is committed, and the one way to commit.
//!
//! Tables lie in a [`hush_table::Catalog`], in a directory or an object store, and are laid out as any table is: a server's tables can
//! be read, copied and checked with the same tools. What this module adds is the server's policy: who may replace a table, which
//! chunk seeds were used before, how much a table takes, how many deliveries wait, when leftovers go. A table without a
//! manifest is invisible.
//!
//! *A directory* belongs to one server, which knows its tables from memory. *A store* has other writers: an owner who pushes to the bucket
//! itself, other servers. There each question looks whether the manifest is still the one that was seen, and reads it only if it is not.

mod deliveries;
mod parts;
mod purge;
mod seeds;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use hush_table::manifest::{Cubes, Dead, PartPlace};
use hush_table::{
    Bucket, Manifest, PartEntry, Projection, RecordLog, SeenVersion, SignedManifest, TableError, TableStore,
    TableUri,
};
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

    /// A server's place as people write it: a directory, or a prefix in an object store, of which nothing is asked yet.
    ///
    /// # Errors
    /// [`TableError::Store`] if the environment does not say how to reach the store; [`TableError::Server`] for a server;
    /// [`TableError::Io`].
    pub fn at(place: &TableUri) -> Result<Self, TableError> {
        match place {
            TableUri::Directory(directory) => Self::local(directory),
            TableUri::Server { .. } => Err(TableError::Server { place: place.to_string() }),
            TableUri::Object { store, bucket, prefix } => {
                Ok(Self::bucket(&Bucket::open(*store, bucket, prefix)?))
            }
        }
    }

    /// The same in a bucket.
    pub fn bucket(bucket: &Bucket) -> Self {
        let tables = bucket.catalog(TABLES).mending_trees();
        Self { tables, seeds: bucket.log(SEEDS, RECORD_BYTES) }
    }

    /// The tables alone, where hash trees that are lost stay so: for readers without the right to write there.
    pub fn tables_of(bucket: &Bucket) -> hush_table::Catalog {
        bucket.catalog(TABLES)
    }

    /// The same below a prefix of an object store, which must support conditional writes.
    pub fn objects(store: Arc<dyn ObjectStore>, prefix: &Prefix) -> Self {
        let tables = hush_table::Catalog::new(store.clone(), prefix.clone().join(TABLES));
        let seeds = RecordLog::new(store, prefix.clone().join(SEEDS), RECORD_BYTES);
        Self { tables: tables.mending_trees(), seeds }
    }
}

/// A committed version as it was seen last.
#[derive(Clone)]
struct Known {
    manifest: Arc<SignedManifest>,
    /// What it looked like in the store; not known of a version that was committed here and not looked at since.
    seen: Option<SeenVersion>,
}

impl Known {
    fn committed(manifest: Arc<SignedManifest>) -> Self {
        Self { manifest, seen: None }
    }
}

/// Committed tables, in memory and in their store.
pub struct Catalog {
    tables: hush_table::Catalog,
    committed: RwLock<BTreeMap<TableName, Known>>,
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
    /// Reads what is committed in a directory. Manifests that do not decode are left alone and not listed; deletions that a crash
    /// interrupted are finished. Of a store nothing is read before it is asked for.
    ///
    /// # Errors
    /// [`TableError::Io`].
    pub fn open(storage: Storage) -> Result<Self, TableError> {
        let Storage { tables, seeds } = storage;
        tables.finish_deletions()?;
        let mut committed = BTreeMap::new();
        let listed = if tables.is_directory() { tables.list()? } else { Vec::new() };
        for entry in listed {
            let Some(name) = TableName::of_stored(&entry.name) else { continue };
            match entry.manifest {
                Ok(manifest) => drop(committed.insert(name, Known::committed(Arc::new(manifest)))),
                Err(error @ (TableError::Io { .. } | TableError::Store { .. })) => return Err(error),
                Err(error) => tracing::error!(code = error.code(), "a stored manifest is damaged"),
            }
        }
        let (committed, change) = (RwLock::new(committed), Mutex::new(SeedLog::new(seeds)));
        Ok(Self { tables, committed, change, stored: Mutex::default() })
    }

    /// Committed tables by name.
    ///
    /// # Errors
    /// [`Code::Internal`] if the store cannot be asked.
    ///
    /// # Cost
    /// In a store a list of the tables, and a small request for each.
    pub fn list(&self) -> Result<Vec<(TableName, Arc<SignedManifest>)>, ApiError> {
        if self.tables.is_directory() {
            let committed = self.committed.read().unwrap_or_else(PoisonError::into_inner);
            return Ok(committed
                .iter()
                .map(|(name, known)| (name.clone(), known.manifest.clone()))
                .collect());
        }
        let mut names: Vec<_> =
            self.tables.names()?.iter().filter_map(|name| TableName::of_stored(name)).collect();
        names.sort();
        let found = names.into_iter().map(|name| match self.find(&name) {
            Err(error) if error.code == Code::NoTable => Ok(None),
            found => Ok(Some((name, found?))),
        });
        found.filter_map(Result::transpose).collect()
    }

    /// One committed table, as it is now.
    ///
    /// # Errors
    /// [`Code::NoTable`]; [`Code::Internal`] if the store cannot be asked.
    ///
    /// # Cost
    /// In a store a request, which brings the manifest only if it has changed.
    pub fn find(&self, table: &TableName) -> Result<Arc<SignedManifest>, ApiError> {
        let known = self.known(table);
        if self.tables.is_directory() {
            return Ok(known.ok_or(Code::NoTable)?.manifest);
        }
        let seen = known.as_ref().and_then(|known| known.seen.as_ref());
        match self.place(table)?.load_changed(seen) {
            Ok(seen) => {
                let manifest = Arc::clone(seen.manifest());
                self.set(table, Some(Known { manifest: Arc::clone(&manifest), seen: Some(seen) }));
                Ok(manifest)
            }
            Err(TableError::NoTable { .. }) => {
                self.set(table, None);
                Err(Code::NoTable.into())
            }
            Err(error @ (TableError::Io { .. } | TableError::Store { .. })) => Err(error.into()),
            Err(error) => {
                tracing::error!(code = error.code(), "a stored manifest is damaged");
                // Its owner mends it; until then the version that was seen whole is the table.
                Ok(known.ok_or(Code::NoTable)?.manifest)
            }
        }
    }

    /// A table's version by the digest of its manifest: the one that was seen last, if it is that, else the present one.
    ///
    /// # Errors
    /// [`Code::OtherVersion`] if neither is; as [`Catalog::find`].
    pub fn find_version(&self, table: &TableName, digest: &str) -> Result<Arc<SignedManifest>, ApiError> {
        let is_it = |manifest: &SignedManifest| manifest.digest().to_string() == digest;
        // A store keeps a version for a day after it was replaced, with all its parts: nothing has to be asked.
        if let Some(known) = self.known(table).filter(|known| is_it(&known.manifest)) {
            return Ok(known.manifest);
        }
        let present = self.find(table)?;
        if is_it(&present) { Ok(present) } else { Err(Code::OtherVersion.into()) }
    }

    /// Asks the store whether it can be reached with what the environment says.
    ///
    /// # Errors
    /// [`TableError::Store`], [`TableError::Io`].
    pub fn reach(&self) -> Result<(), TableError> {
        self.tables.names().map(drop)
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
        let current = match self.find(table) {
            Err(error) if error.code == Code::NoTable => self.adopt(table, &place),
            // Whose table it is must be known.
            found => Some(found?),
        };
        let is_known = current.is_some();
        if let Some(current) = &current {
            if current.as_bytes() == container {
                if place.mend_manifest(current)? {
                    tracing::warn!("a damaged manifest was replaced");
                }
                return Ok(Committed::Unchanged);
            }
            check_succession(current, &manifest)?;
        }
        let checked = current.as_ref().map(|current| checked_parts(current.manifest(), manifest.manifest()));
        let fresh = check_parts(&place, &checked.unwrap_or_default(), &manifest, &seeds)?;
        let served = current.as_ref().map(|current| current.manifest());
        check_dead_rows(&place, served, manifest.manifest())?;
        check_cubes(&place, served, manifest.manifest())?;
        seeds.record(&manifest.manifest().key_id, &fresh)?;
        place.commit_over_damage(&manifest)?;
        let manifest = Arc::new(manifest);
        self.set(table, Some(Known::committed(manifest.clone())));
        if let Err(error) = place.forget_deliveries(manifest.manifest()) {
            // They are told apart from those that wait, and go with the next version.
            tracing::error!(code = error.code(), "deliveries that were taken in remain");
        }
        Ok(if is_known { Committed::Replaced } else { Committed::Created })
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
        self.set(table, Some(Known::committed(found.clone())));
        Some(found)
    }

    fn changing(&self) -> MutexGuard<'_, SeedLog> {
        self.change.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self, table: &TableName) -> Option<Known> {
        self.committed.read().unwrap_or_else(PoisonError::into_inner).get(table).cloned()
    }

    fn set(&self, table: &TableName, known: Option<Known>) {
        let mut committed = self.committed.write().unwrap_or_else(PoisonError::into_inner);
        match known {
            Some(known) => committed.insert(table.clone(), known),
            None => committed.remove(table),
        };
    }
}

/// A part, whichever of its rows were deleted and whatever its cubes and sorted runs, and the number of its first chunk in its file.
type CheckedPart = (PartEntry, u32);

/// The parts of the present version that the next one takes over: they were checked when they came.
fn checked_parts(current: &Manifest, next: &Manifest) -> HashSet<CheckedPart> {
    let earlier = current.generations.iter().map(|generation| generation.number);
    let is_same = |number: &u32| current.columns_of(*number) == next.columns_of(*number);
    let same: HashSet<u32> = earlier.chain([current.generation]).filter(is_same).collect();
    current
        .placed_parts()
        .filter(|(_, entry)| same.contains(&entry.generation))
        .map(|(at, entry)| checked_part(at, entry))
        .collect()
}

fn checked_part(at: PartPlace, entry: &PartEntry) -> CheckedPart {
    (
        PartEntry { dead: None, cubes: None, runs: None, first_chunk: None, ..entry.clone() },
        entry.first_written(at),
    )
}

/// The lists of deleted rows that the next version has and the present one has not are lists.
fn check_dead_rows(place: &TableStore, current: Option<&Manifest>, next: &Manifest) -> Result<(), ApiError> {
    let known: HashSet<Dead> =
        current.iter().flat_map(|manifest| &manifest.parts).filter_map(|part| part.dead).collect();
    for entry in next.parts.iter().filter(|entry| entry.dead.is_some_and(|dead| !known.contains(&dead))) {
        place.dead_rows(entry)?;
    }
    Ok(())
}

/// The files of cubes that the next version has and the present one has not hold the cubes that their entries say.
fn check_cubes(place: &TableStore, current: Option<&Manifest>, next: &Manifest) -> Result<(), ApiError> {
    let known: HashSet<&Cubes> =
        current.iter().flat_map(|manifest| &manifest.parts).filter_map(|part| part.cubes.as_ref()).collect();
    for entry in
        next.parts.iter().filter(|entry| entry.cubes.as_ref().is_some_and(|cubes| !known.contains(cubes)))
    {
        place.cubes(entry)?;
    }
    Ok(())
}

/// Checks that all parts are there, and that those which are not `checked` have the stated form; returns the seeds of parts not seen before.
fn check_parts(
    place: &TableStore,
    checked: &HashSet<CheckedPart>,
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
        if checked.contains(&checked_part(at, entry)) {
            continue;
        }
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
    if next.key_at(old.version) != current.key() || new.table_id != old.table_id {
        return Err(Code::OtherOwner.into());
    }
    if new.version <= old.version { Err(Code::OldVersion.into()) } else { Ok(()) }
}
