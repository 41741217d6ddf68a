// SPDX-License-Identifier: Apache-2.0
//! A table as its owner sees it: a verified manifest, the private half, and where its server is.

use std::path::Path;
use std::time::Duration;

use hush_exec::noop::Scheme;
use hush_exec::{Engine, SumCache};
use hush_keys::OwnerSeed;
use hush_plan::predict::MachineProfile;
use hush_table::{SignedManifest, TableError, TableStore};

use crate::columns::ColumnKeys;
use crate::error::ClientError;
use crate::machine::ProfileInUse;
use crate::owner::OwnerKey;
use crate::pins::Pins;
use crate::private::PrivateHalf;
use hush_remote::Progress;
use hush_remote::RemoteServer;

/// How long a version that is being pushed gets to appear.
const PUSH_PATIENCE: Duration = Duration::from_millis(500);

/// Who evaluates: an engine in this process, or a server over the network. Both take and give the same bytes.
pub enum Evaluator {
    /// In this process.
    Embedded(Box<Engine>),
    /// Over the network.
    Remote(RemoteServer),
}

/// A table whose owner's key is at hand.
pub struct OwnedTable {
    pub(crate) manifest: SignedManifest,
    pub(crate) half: PrivateHalf,
    pub(crate) keys: ColumnKeys,
    pub(crate) evaluator: Evaluator,
    /// What its encoded columns and its answers hold.
    pub(crate) scheme: Scheme,
    /// By what the planner chooses.
    pub(crate) costs: Costs,
}

/// What things cost where a table is, as far as its owner knows.
pub(crate) struct Costs {
    /// Unit costs of this machine, taken for the server's too.
    pub(crate) profile: MachineProfile,
    /// Threads of the server.
    pub(crate) threads: usize,
    /// Bytes per second to the server; `None` where it is this process.
    pub(crate) link: Option<f64>,
}

/// Bytes per second that a link to a server is taken to have where nobody says: 100 megabit.
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
        let store = TableStore::local_existing(directory)?;
        Self::open_store(&store, key.seed(), pins, threads)
    }

    /// A table in any store, evaluated by an engine in this process.
    ///
    /// # Errors
    /// As [`OwnedTable::open_directory`].
    pub(crate) fn open_store(
        store: &TableStore,
        owner: &OwnerSeed,
        pins: &Pins,
        threads: usize,
    ) -> Result<Self, ClientError> {
        let manifest = store.load()?;
        let engine = Engine::for_table(store.clone(), threads, hush_exec::Limits::default())?;
        Self::open(manifest, Evaluator::Embedded(Box::new(engine)), owner, pins, threads)
    }

    /// The table with plans for a link of so many bytes per second between owner and server; `None` is for one process that is
    /// both. A server over the network is otherwise taken to be at the end of [`ASSUMED_LINK`].
    #[must_use]
    pub fn with_link(mut self, link: Option<f64>) -> Self {
        self.costs.link = link;
        self
    }

    /// The table, evaluated from its parts whenever it is asked: an engine in this process otherwise keeps the sums of
    /// whole parts. For measurements; a server decides by itself.
    #[must_use]
    pub fn without_kept_sums(mut self) -> Self {
        if let Evaluator::Embedded(engine) = self.evaluator {
            self.evaluator = Evaluator::Embedded(Box::new(engine.with_sums(SumCache::new(0))));
        }
        self
    }

    /// A table in memory that nothing has been encrypted in, for a dry run.
    ///
    /// # Errors
    /// As [`OwnedTable::open_directory`].
    pub(crate) fn open_dry_run(
        store: &TableStore,
        owner: &OwnerSeed,
        threads: usize,
        limits: hush_exec::Limits,
    ) -> Result<Self, ClientError> {
        let manifest = store.load()?;
        let engine = Engine::dry_run(store.clone(), threads, limits)?;
        let evaluator = Evaluator::Embedded(Box::new(engine));
        let opened = Self::open(manifest, evaluator, owner, &Pins::forgetful(), threads)?;
        Ok(Self { scheme: Scheme::NoOp, ..opened })
    }

    /// The table `name` on a server.
    ///
    /// # Errors
    /// As [`OwnedTable::open_directory`]; another table under the name than the one seen last; or the server does not
    /// answer. A manifest older than what was seen is fetched once more: it may have been replaced meanwhile.
    pub fn open_remote(
        server: RemoteServer,
        name: &str,
        key: &OwnerKey,
        pins: &Pins,
    ) -> Result<Self, ClientError> {
        let (manifest, (half, keys)) = match Self::fetch(&server, name, key, pins) {
            Err(ClientError::Table(TableError::RolledBack { .. })) => {
                std::thread::sleep(PUSH_PATIENCE);
                let place = server.place(name);
                Self::fetch(&server, name, key, pins).map_err(|error| not_pushed(error, &place, pins))?
            }
            fetched => fetched?,
        };
        // How many the server has, it does not say.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let costs = Costs { link: Some(ASSUMED_LINK), ..Costs::of_user(threads) };
        Ok(Self {
            manifest,
            half,
            keys,
            evaluator: Evaluator::Remote(server),
            scheme: Scheme::Lattice,
            costs,
        })
    }

    fn fetch(
        server: &RemoteServer,
        name: &str,
        key: &OwnerKey,
        pins: &Pins,
    ) -> Result<(SignedManifest, (PrivateHalf, ColumnKeys)), ClientError> {
        let manifest = server.manifest(name)?;
        pins.check_place(&server.place(name), &manifest)?;
        let opened = open_private(&manifest, key.seed(), pins)?;
        pins.remember_seen(&server.place(name), &manifest)?;
        Ok((manifest, opened))
    }

    fn open(
        manifest: SignedManifest,
        evaluator: Evaluator,
        owner: &OwnerSeed,
        pins: &Pins,
        threads: usize,
    ) -> Result<Self, ClientError> {
        let (half, keys) = open_private(&manifest, owner, pins)?;
        let costs = Costs::of_user(threads);
        Ok(Self { manifest, half, keys, evaluator, scheme: Scheme::Lattice, costs })
    }

    /// The signed manifest.
    pub fn manifest(&self) -> &SignedManifest {
        &self.manifest
    }

    /// Schema and encodings.
    pub fn private_half(&self) -> &PrivateHalf {
        &self.half
    }

    /// Sends a plan and gives the answer's bytes.
    pub(crate) fn evaluate(&self, plan: &[u8], progress: &dyn Progress) -> Result<Vec<u8>, ClientError> {
        match &self.evaluator {
            Evaluator::Embedded(engine) => Ok(engine.run(plan)?),
            Evaluator::Remote(server) => Ok(server.run(plan, progress)?),
        }
    }
}

/// What an older version means where the same one was seen before: nobody has taken a newer one away, it was never there.
fn not_pushed(error: ClientError, place: &str, pins: &Pins) -> ClientError {
    match error {
        ClientError::Table(TableError::RolledBack { found, expected })
            if pins.seen_at(place) == Some(found) =>
        {
            ClientError::NotPushed { place: place.to_owned(), found, expected }
        }
        other => other,
    }
}

impl Costs {
    /// Of one process on this machine.
    fn of_user(threads: usize) -> Self {
        Self { profile: ProfileInUse::of_user().profile, threads, link: None }
    }
}

/// The private half of a manifest and the keys of its columns, once the manifest is known to be this key's and no
/// older than what was seen of the table before.
///
/// # Errors
/// Another key, a rollback or fork, damage.
pub(crate) fn open_private(
    manifest: &SignedManifest,
    owner: &OwnerSeed,
    pins: &Pins,
) -> Result<(PrivateHalf, ColumnKeys), ClientError> {
    let (found, expected) = (owner.key_id().to_string(), manifest.manifest().key_id.clone());
    if found != expected {
        return Err(ClientError::OtherKey { found, expected });
    }
    manifest.require_key(&owner.verifying_key().to_bytes())?;
    pins.check_and_remember(manifest)?;
    let body = manifest.manifest();
    let half = PrivateHalf::open(owner, body.table_id, &body.sealed_schema)?;
    let public = half.encodings.iter().map(|encoding| &encoding.public);
    if !public.eq(body.encodings.iter()) {
        return Err(ClientError::Answer {
            what: "the sealed encodings are not those of the manifest".into(),
        });
    }
    let keys = ColumnKeys::derive(owner, *body.table_id.as_bytes(), &half.encodings)?;
    Ok((half, keys))
}
