// SPDX-License-Identifier: Apache-2.0
//! The owner's key, and the encryption of data into tables with it.

use std::path::{Path, PathBuf};

use hush_keys::keyfile::{
    KeyFileError, NewPassphrase, Passphrase, WorkFactor, copy, load, load_within, rewrap, store,
};
use hush_keys::{OwnerSeed, harden_process};
use hush_plan::error::{Front, Remedy};
use hush_plan::schema::Purpose;
use hush_plan::{Needs, Schema, needs_of, read_by_owner};
use hush_table::source::Source;
use hush_table::{SignedManifest, TableStore, TableUri};

use crate::encrypt::{Encryption, PROGRAM_BYTES, plan_encodings};
use crate::error::ClientError;
use crate::pins::Pins;
use crate::place::{TablePlace, open_private};
use crate::private::PrivateHalf;
use crate::replace::{Present, present_at, require};
use crate::schema_file::require_approval;
use crate::scheme::Lattice;
use crate::threads::thread_pool;
use hush_remote::Progress;
use hush_system::memory::memory_limit;

/// The owner's key, opened. Secrets are wiped on drop.
pub struct OwnerKey {
    seed: OwnerSeed,
}

impl OwnerKey {
    /// Makes a new key and stores it under a passphrase, in `path` and in `backup` if given.
    ///
    /// # Errors
    /// [`ClientError::KeyFile`]: too little work; an existing file is never overwritten. [`ClientError::File`] for a backup in a directory
    /// that does not exist.
    pub fn create(
        path: &Path,
        backup: Option<&Path>,
        passphrase: &NewPassphrase,
        work: WorkFactor,
    ) -> Result<Self, ClientError> {
        harden_process();
        // Checked before anything is made: a disk that is not there takes no backup.
        let is_missing = |place: &&Path| !place.as_os_str().is_empty() && !place.is_dir();
        if let Some(place) = backup.and_then(Path::parent).filter(is_missing) {
            let source = std::io::ErrorKind::NotFound.into();
            return Err(ClientError::File { path: place.to_owned(), source });
        }
        let seed = OwnerSeed::generate()?;
        store(path, &seed, passphrase, work)?;
        if let Some(backup) = backup {
            store(backup, &seed, passphrase, work)?;
        }
        Ok(Self { seed: seed.to_read(path) })
    }

    /// Puts the key of a file under another passphrase, and opens it. Copies of the file still open with the old one.
    ///
    /// # Errors
    /// As [`OwnerKey::open`] with the old passphrase, and as [`OwnerKey::create`]. The file is then as it was.
    pub fn change_passphrase(
        path: &Path,
        old: &Passphrase,
        new: &NewPassphrase,
        work: WorkFactor,
    ) -> Result<Self, ClientError> {
        let key = Self::open(path, old)?;
        rewrap(path, &key.seed, new, work)?;
        Ok(key)
    }

    /// Writes a copy of a key file that opens, byte for byte, where nothing is yet.
    ///
    /// # Errors
    /// As [`OwnerKey::open`]; [`ClientError::KeyFile`] if there is something at `backup`, or it cannot be written.
    pub fn back_up(path: &Path, passphrase: &Passphrase, backup: &Path) -> Result<Self, ClientError> {
        let key = Self::open(path, passphrase)?;
        copy(path, backup)?;
        Self::check_backup(&key, passphrase, backup)?;
        Ok(key)
    }

    /// Opens a copy of this key's file as one would in need.
    ///
    /// # Errors
    /// As [`OwnerKey::open`]; [`KeyFileError::OtherKey`] for a file of another key, [`KeyFileError::OldCopy`] for one that lacks roots.
    pub fn check_backup(&self, passphrase: &Passphrase, backup: &Path) -> Result<(), ClientError> {
        let copy = Self::open(backup, passphrase)?;
        let (found, expected) = (copy.id(), self.id());
        if found != expected {
            return Err(KeyFileError::OtherKey { path: backup.to_owned(), found, expected }.into());
        }
        match copy.seed.lacks_of(&self.seed) {
            0 => Ok(()),
            missing => Err(KeyFileError::OldCopy { path: backup.to_owned(), missing }.into()),
        }
    }

    /// A key that lives as long as this value; nothing is stored.
    ///
    /// # Errors
    /// [`ClientError::Randomness`] if there is no entropy.
    pub fn temporary() -> Result<Self, ClientError> {
        harden_process();
        Ok(Self { seed: OwnerSeed::generate()? })
    }

    /// Opens a key file.
    ///
    /// # Errors
    /// [`ClientError::KeyFile`]: the file is missing, open to others or damaged, the passphrase is wrong, or trying it takes more
    /// memory than the system allows this process.
    pub fn open(path: &Path, passphrase: &Passphrase) -> Result<Self, ClientError> {
        Self::open_limited(path, passphrase, memory_limit(1))
    }

    /// The key, with leave to change its file at `path`: that takes the roots of tables that can be erased, and loses them when they are to be
    /// forgotten. `again` is the file with the passphrase, which is then read again; without it the passphrase stays in memory with the key.
    #[must_use]
    pub fn to_change(self, path: &Path, passphrase: &Passphrase, again: Option<&Path>) -> Self {
        Self { seed: self.seed.to_change(path, passphrase, again) }
    }

    /// Opens a key file in a process that may take `limit` bytes of memory.
    ///
    /// # Errors
    /// As [`OwnerKey::open`].
    pub fn open_within(path: &Path, passphrase: &Passphrase, limit: u64) -> Result<Self, ClientError> {
        Self::open_limited(path, passphrase, Some(memory_limit(1).map_or(limit, |most| most.min(limit))))
    }

    fn open_limited(path: &Path, passphrase: &Passphrase, limit: Option<u64>) -> Result<Self, ClientError> {
        harden_process();
        let seed = match limit {
            Some(limit) => load_within(path, passphrase, limit.saturating_sub(PROGRAM_BYTES))?,
            None => load(path, passphrase)?,
        };
        Ok(Self { seed })
    }

    /// A seed that a test has made.
    #[cfg(all(test, target_os = "linux"))]
    pub(crate) fn of_seed(seed: OwnerSeed) -> Self {
        Self { seed }
    }

    /// The public name of the key.
    pub fn id(&self) -> String {
        self.seed.key_id().to_string()
    }

    /// The seed, for the crates that compute with it.
    pub(crate) fn seed(&self) -> &OwnerSeed {
        &self.seed
    }
}

/// Options of an encryption.
#[derive(Clone, Debug)]
pub struct EncryptOptions {
    /// The data: a file, or batches in memory.
    pub source: Source,
    /// Approved schema.
    pub schema: Schema,
    /// Table directory.
    pub output: PathBuf,
    /// SQL queries; the table must have their layouts.
    pub workload: Option<PathBuf>,
    /// Threads.
    pub threads: usize,
    /// Most bytes of memory that the process may take, its code included; `None` for as many as the system allows.
    pub memory_limit: Option<u64>,
    /// The pins that remember the new version.
    pub pins: Pins,
    /// Whether a table that is there already may be replaced.
    pub replace: bool,
}

/// A table that was written.
#[derive(Clone, Debug)]
pub struct Encrypted {
    /// Its manifest.
    pub manifest: SignedManifest,
    /// The version that it replaced.
    pub replaced: Option<Present>,
}

impl Encrypted {
    /// The steps that the owner's devices need now, if the table may have had devices, in the words of a front.
    pub fn device_note(&self, schema: &Schema, front: Front) -> Option<String> {
        (self.replaced.is_some() && schema.edge).then(|| {
            let step = Remedy::NewDeviceKeys.describe(front);
            format!("Keys of devices that were made before serve the version before alone: {step}.")
        })
    }
}

/// Encrypts data into a table, in a directory or an object store. If a run before was interrupted, with the same data, schema and key,
/// this one goes on behind the parts that are stored: it reads their rows again and does not encrypt them.
///
/// # Errors
/// An interrupted run of other data or under another schema ([`ClientError::Unfinished`]).
/// An unapproved schema; a table that is there already ([`ClientError::WouldReplace`]), unless it may be replaced; a directory
/// with anything else ([`ClientError::Occupied`]); a version that came meanwhile ([`ClientError::Changed`]); bad data; a full
/// disk; too low a limit on memory. The directory then keeps its contents.
pub fn encrypt(
    options: &EncryptOptions,
    key: &OwnerKey,
    progress: &dyn Progress,
) -> Result<Encrypted, ClientError> {
    let (source, mut schema) = (&options.source, options.schema.clone());
    require_approval(&schema)?;
    let bucket = bucket_of(&options.output)?;
    let place = bucket.as_ref().map_or(TablePlace::Directory(&options.output), TablePlace::Bucket);
    let present = present_at(place)?;
    let replaced = require(present, options.replace, || place.name(), source.estimated_rows())?;
    let mut workload = Vec::new();
    if let Some(path) = &options.workload {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ClientError::File { path: path.clone(), source })?;
        workload = hush_plan::sql::parse_workload(&schema, &text)?;
    }
    for name in read_by_owner(&schema, &workload)? {
        let uncopied = schema.columns.iter_mut().filter(|column| column.name == name && !column.has_copy());
        uncopied.for_each(|column| column.add_purposes(&[Purpose::Fetch]));
    }
    let mut needs = Needs::of_purposes(&schema)?;
    needs.merge(needs_of(&schema, &workload)?);
    let rows = schema.max_rows.max(source.rows().unwrap_or(0));
    let encodings = plan_encodings(&schema, &needs, rows)?;
    let half = PrivateHalf::new(schema, encodings);
    let store = place.made()?;
    let pool = thread_pool(options.threads)?;
    let encryption = Encryption {
        source,
        half: &half,
        owner: key.seed(),
        store: &store,
        pool: &pool,
        memory_limit: options.memory_limit,
        scheme: &Lattice,
        replaces: replaced.map(|present| present.version),
        pins: Some(&options.pins),
    };
    let manifest = encryption.run(progress)?;
    // Looks at the pins, and remembers the version.
    open_private(manifest.clone(), key.seed(), &options.pins)?.releases.begin()?;
    place.remember(&manifest, &options.pins)?;
    Ok(Encrypted { manifest, replaced })
}

/// The prefix that a path names, if it is one of an object store.
fn bucket_of(output: &Path) -> Result<Option<TableStore>, ClientError> {
    match TableUri::of_path(output) {
        Ok(uri @ TableUri::Object { .. }) => Ok(Some(TableStore::at(&uri)?)),
        Ok(TableUri::Directory(_) | TableUri::Server { .. }) | Err(_) => Ok(None),
    }
}
