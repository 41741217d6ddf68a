// SPDX-License-Identifier: Apache-2.0
//! A table as its owner sees it: a verified manifest, the private half, and the evaluator of its plans.

use std::path::Path;

use arrow::record_batch::RecordBatch;
use hush_exec::{Engine, Limits, SumCache};
use hush_keys::OwnerSeed;
use hush_plan::Limits as QueryLimits;
use hush_plan::Schema;
use hush_plan::predict::MachineProfile;
use hush_table::{SignedManifest, TableStore};

use crate::column_cache::ColumnCache;
use crate::error::ClientError;
use crate::machine::ProfileInUse;
use crate::owner::OwnerKey;
use crate::pins::Pins;
use crate::place::{Opened, TablePlace, open_private};
use crate::private::PrivateHalf;
use crate::release::Releases;
use crate::roots::{RowKeys, domain_keys};
use crate::run::{KnownRanks, OpenRuns};
use crate::scheme::{Lattice, Scheme};
use hush_remote::Progress;
use hush_remote::RemoteServer;

/// The evaluator of plans: an engine in this process, or a server over the network. Both take and give the same bytes.
pub enum Evaluator {
    /// In this process.
    Embedded(Box<Engine>),
    /// Over the network.
    Remote(RemoteServer),
    /// A server that changes its answers.
    #[cfg(test)]
    Forging(Box<Engine>, fn(Vec<u8>) -> Vec<u8>),
    /// Workers that have some of the parts each, as many as a seed says.
    #[cfg(test)]
    Parted(Box<Engine>, u64),
}

/// A table with its owner's key at hand.
pub struct OwnedTable {
    pub(crate) manifest: SignedManifest,
    /// What is stored: join keys are clear texts, their tokens.
    pub(crate) half: PrivateHalf,
    /// The schema as its owner wrote it.
    pub(crate) schema: Schema,
    pub(crate) keys: RowKeys,
    pub(crate) evaluator: Evaluator,
    /// The releases of its approximate results.
    pub(crate) releases: Releases,
    /// The scheme of its encoded columns and answers.
    pub(crate) scheme: &'static dyn Scheme,
    /// The costs by which the planner chooses.
    pub(crate) costs: Costs,
    /// The limits that its owner sets.
    pub(crate) limits: QueryLimits,
    /// Columns that are kept here, if questions are put to them.
    pub(crate) kept: Option<ColumnCache>,
    /// The sorted runs whose indexes are opened.
    pub(crate) runs: OpenRuns,
    /// What is known of the order of rows in their chunks.
    pub(crate) ranks: KnownRanks,
}

/// Costs at the place of a table, as far as its owner knows.
pub(crate) struct Costs {
    /// Unit costs of this machine, taken for the server's too.
    pub(crate) profile: MachineProfile,
    /// Threads of the server.
    pub(crate) threads: usize,
    /// Bytes per second to the server; `None` if it is this process.
    pub(crate) link: Option<f64>,
}

/// Assumed bytes per second of a link to a server, if nobody says: 100 megabit.
pub const ASSUMED_LINK: f64 = 12.5e6;

impl OwnedTable {
    /// A table in a directory, evaluated by an engine in this process.
    ///
    /// # Errors
    /// No table there, another key, a rollback, damage.
    pub fn open_directory(
        directory: &Path,
        key: &OwnerKey,
        pins: &Pins,
        threads: usize,
    ) -> Result<Self, ClientError> {
        Self::open_files(TablePlace::Directory(directory), key, pins, threads)
    }

    /// A table in an object store ([`TableStore::at`]), evaluated by an engine in this process, which reads of it what each query needs.
    ///
    /// # Errors
    /// As [`OwnedTable::open_directory`]; [`hush_table::TableError::Store`].
    pub fn open_bucket(
        store: &TableStore,
        key: &OwnerKey,
        pins: &Pins,
        threads: usize,
    ) -> Result<Self, ClientError> {
        Self::open_files(TablePlace::Bucket(store), key, pins, threads)
    }

    fn open_files(
        place: TablePlace<'_>,
        key: &OwnerKey,
        pins: &Pins,
        threads: usize,
    ) -> Result<Self, ClientError> {
        let opened = place.open(key.seed(), pins)?;
        Self::embedded(opened, place.files()?, &Lattice, threads, Limits::default())
    }

    /// A table in a store that lives as long as this process, evaluated by an engine in it. `scheme` is the one that made it.
    ///
    /// # Errors
    /// As [`OwnedTable::open_directory`].
    pub(crate) fn open_store(
        store: &TableStore,
        owner: &OwnerSeed,
        scheme: &'static dyn Scheme,
        threads: usize,
        limits: Limits,
    ) -> Result<Self, ClientError> {
        Self::embedded(in_memory(store.load()?, owner)?, store.clone(), scheme, threads, limits)
    }

    /// As [`OwnedTable::open_store`], of a version whose clear columns are not in the store: a batch for each chunk.
    ///
    /// # Errors
    /// As [`OwnedTable::open_store`].
    pub(crate) fn open_in_memory(
        (store, version, chunks): (&TableStore, SignedManifest, Vec<RecordBatch>),
        owner: &OwnerSeed,
        scheme: &'static dyn Scheme,
        threads: usize,
        limits: Limits,
    ) -> Result<Self, ClientError> {
        let opened = in_memory(version, owner)?;
        let engine = scheme.engine(store.clone(), threads, limits)?;
        let engine = engine.with_version_in_memory(opened.manifest.clone(), chunks)?;
        Ok(Self::new(opened, Evaluator::Embedded(Box::new(engine)), scheme, Costs::of_user(threads)))
    }

    fn embedded(
        opened: Opened,
        store: TableStore,
        scheme: &'static dyn Scheme,
        threads: usize,
        limits: Limits,
    ) -> Result<Self, ClientError> {
        let engine = scheme.engine(store, threads, limits)?.with_version(opened.manifest.clone())?;
        Ok(Self::new(opened, Evaluator::Embedded(Box::new(engine)), scheme, Costs::of_user(threads)))
    }

    /// The table with plans for a link of so many bytes per second between owner and server; `None` is for one process that is
    /// both. Otherwise plans for a server over the network assume [`ASSUMED_LINK`].
    #[must_use]
    pub fn with_link(mut self, link: Option<f64>) -> Self {
        self.costs.link = link;
        self
    }

    /// The table with plans within these limits.
    #[must_use]
    pub fn with_limits(mut self, limits: QueryLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The table with questions put to columns that are kept here: what is missing comes back, all rows of it, and is kept for the next
    /// question. The server learns which columns came back, and nothing else of any question.
    #[must_use]
    pub fn with_kept_columns(mut self, cache: ColumnCache) -> Self {
        self.kept = Some(cache);
        self
    }

    /// The table without kept sums: every query evaluates the parts. Otherwise an engine in this process keeps the sums of
    /// whole parts. For measurements; a server decides by itself.
    #[must_use]
    pub fn without_kept_sums(mut self) -> Self {
        if let Evaluator::Embedded(engine) = self.evaluator {
            self.evaluator = Evaluator::Embedded(Box::new(engine.with_sums(SumCache::new(0))));
        }
        self
    }

    /// The table `name` on a server.
    ///
    /// # Errors
    /// As [`OwnedTable::open_directory`]; another table under the name than the one seen last; or the server does not
    /// answer. A manifest older than the version seen is fetched once more, because it may have been replaced meanwhile.
    pub fn open_remote(
        server: RemoteServer,
        name: &str,
        key: &OwnerKey,
        pins: &Pins,
    ) -> Result<Self, ClientError> {
        let opened = TablePlace::Server(&server, name).open(key.seed(), pins)?;
        // The server does not tell its number of threads.
        let threads = hush_system::processors::count();
        let costs = Costs { link: Some(ASSUMED_LINK), ..Costs::of_user(threads) };
        Ok(Self::new(opened, Evaluator::Remote(server), &Lattice, costs))
    }

    fn new(opened: Opened, evaluator: Evaluator, scheme: &'static dyn Scheme, costs: Costs) -> Self {
        let Opened { manifest, half, keys, releases, .. } = opened;
        let limits = QueryLimits::default();
        let schema = half.schema.with_tokens();
        let (half, schema) = (PrivateHalf { schema, ..half.clone() }, half.schema);
        Self {
            manifest,
            half,
            schema,
            keys,
            releases,
            evaluator,
            scheme,
            costs,
            limits,
            kept: None,
            runs: OpenRuns::default(),
            ranks: KnownRanks::default(),
        }
    }

    /// The signed manifest.
    pub fn manifest(&self) -> &SignedManifest {
        &self.manifest
    }

    /// The schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Schema and encodings.
    pub fn private_half(&self) -> PrivateHalf {
        PrivateHalf { schema: self.schema.clone(), ..self.half.clone() }
    }

    /// Sends a plan and returns the answer's bytes.
    pub(crate) fn evaluate(&self, plan: &[u8], progress: &dyn Progress) -> Result<Vec<u8>, ClientError> {
        match &self.evaluator {
            Evaluator::Embedded(engine) => Ok(engine.run(plan)?),
            Evaluator::Remote(server) => Ok(server.run(plan, progress)?),
            #[cfg(test)]
            Evaluator::Forging(engine, forge) => Ok(forge(engine.run(plan)?)),
            #[cfg(test)]
            Evaluator::Parted(engine, seed) => {
                let parts = self.manifest.manifest().parts.len() as u32;
                Ok(crate::partial::evaluate(engine, plan, parts, &mut hush_testkit::Draw::of(*seed)))
            }
        }
    }
}

/// The private half of a table that lives no longer than this process.
fn in_memory(version: SignedManifest, owner: &OwnerSeed) -> Result<Opened, ClientError> {
    let opened = open_private(version, owner, &Pins::forgetful())?;
    let manifest = opened.manifest.manifest();
    let keys = domain_keys(&opened.roots, owner, manifest, manifest.domain)?;
    let releases = Releases::in_memory(keys, &opened.half.schema);
    Ok(Opened { releases, ..opened })
}

impl Costs {
    /// Costs of one process on this machine.
    fn of_user(threads: usize) -> Self {
        Self { profile: ProfileInUse::of_user().profile, threads, link: None }
    }
}
