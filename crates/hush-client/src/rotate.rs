// SPDX-License-Identifier: Apache-2.0
//! Gives a table another owner's key, or new secrets for its rows: for those to come, or for all.
//!
//! ```text
//!   Rewrap      owner's key A → B     the same secrets, sealed under B
//!   NewRows     (A → B)               domain 0: the rows that are there    domain 1: rows to come
//!   Everything  (A → B)               domain 1, into which compaction steps write every row; domain 0 ends with its last part
//! ```
//!
//! The first step is one version: it names the new domain and the new key, carries the signature of the key before on the new one, and has
//! schema and roots sealed anew. Then the rows of earlier domains are written anew, part by part, as a compaction does it; the
//! manifest says so until that is done, so that the same command goes on after an interruption. Queries, appends and deletions go on
//! meanwhile.
//!
//! No rotation undoes a theft: who had a key and the parts has their rows.

pub(crate) mod error;
#[cfg(test)]
mod tests;

use hush_keys::{OwnerSeed, RootName, TableRoots};
use hush_plan::Protection;
use hush_plan::error::{Front, Remedy};
use hush_remote::Progress;
use hush_table::manifest::{
    ChangeKind, MAX_EARLIER_DOMAINS, MAX_PREDECESSORS, Predecessor, succession_bytes,
};
use hush_table::{Digest, Manifest};

pub use self::error::RotateError;
use crate::compact::{CompactOptions, Which, compact, require_recoverable};
use crate::destination::{Committed, Committer, Destination, Edit, Next};
use crate::devices::Waiting;
use crate::encrypt::new_encryption;
use crate::error::ClientError;
use crate::owner::OwnerKey;
use crate::pins::Pins;
use crate::place::{Opened, TablePlace, open_private};
use crate::roots::seal_roots;

/// What a rotation replaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RotateWay {
    /// All secrets: every row is written anew.
    #[default]
    Everything,
    /// The secrets of rows to come.
    NewRows,
    /// The owner's key alone.
    Rewrap,
}

impl RotateWay {
    /// What a rotation does not undo, with another key for the table or without, and where earlier secrets are forgotten.
    pub fn not_undone(self, has_new_key: bool, forgets: bool) -> &'static str {
        match (self, has_new_key) {
            _ if forgets => {
                "Whoever has a copy of the key file from before and a copy of an earlier version has the rows of that version; once its secrets are forgotten, nobody else has."
            }
            (Self::Everything, true) => {
                "No rotation undoes a theft: whoever has the key before and a copy of an earlier version has the rows of that version."
            }
            (Self::Everything, false) => {
                "No rotation undoes a theft: whoever has a copy of an earlier version and its secrets has its rows, and whoever has the owner's key has all rows, before and after."
            }
            (Self::NewRows, true) => {
                "Rows that are there now are not protected by this: whoever has the key before and a copy of an earlier version has them. Rows to come are."
            }
            (Self::NewRows, false) => {
                "Without a new key this protects nothing from whoever has the owner's key: it gives rows to come other secrets than the rows that are there now."
            }
            (Self::Rewrap, _) => {
                "The secrets of the rows stay: whoever has the key before and a copy of an earlier version can read the rows of that version, and rows to come."
            }
        }
    }
}

/// Options of a rotation.
#[derive(Clone)]
pub struct RotateOptions<'a> {
    /// What is replaced.
    pub way: RotateWay,
    /// The owner's key that the table is to have; `None` to keep the one that it has.
    pub new_key: Option<&'a OwnerKey>,
    /// Whether the roots of all earlier secrets of the table go from the key file in the end, for good.
    pub forget: bool,
    /// Threads.
    pub threads: usize,
    /// Most bytes of memory that the process may take, its code included; `None` for as many as the system allows.
    pub memory_limit: Option<u64>,
    /// The pins that remember the new versions.
    pub pins: Pins,
}

/// The outcome of a rotation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RotateReport {
    /// Version of the table now.
    pub version: u64,
    /// The owner's key of the table now.
    pub key: String,
    /// The key that it had before, if that is another.
    pub key_before: Option<String>,
    /// Whether this run went on with a rotation that another one had begun.
    pub resumed: bool,
    /// Rows that were written anew.
    pub rows: u64,
    /// Bytes of the parts that were made.
    pub made_bytes: u64,
    /// Rows of the table that count.
    pub table_rows: u64,
    /// Sets of secrets of the table's rows now.
    pub domains: u64,
    /// Whether devices need new keys.
    pub devices: bool,
    /// Roots of earlier secrets that went from the key file.
    pub forgotten: u64,
    /// Whether the key file has changed, so that copies of it lack a root.
    pub key_file_changed: bool,
}

/// Gives a table another owner's key, or new secrets, in a directory, on a server or in an object store. No row that counts is changed.
///
/// The same rotation again goes on where an interrupted one ended, and changes nothing if that was complete, but for a rotation without a
/// new key: each of these begins new secrets.
///
/// # Errors
/// [`RotateError`]; [`crate::CompactError::Lost`] for rows that cannot be had again, before anything is changed; another key, a rollback, damage;
/// [`ClientError::Reencrypted`] if the table was replaced or rotated meanwhile; a full disk. Steps that were committed stay.
///
/// # Cost
/// A manifest. With [`RotateWay::Everything`] that of decrypting and encrypting all rows ([`compact`]). Until no earlier domain is left, each
/// query has a mask for each domain in its answer (47 to 188 kB for each group).
pub fn rotate(
    place: TablePlace<'_>,
    options: &RotateOptions<'_>,
    key: &OwnerKey,
    progress: &dyn Progress,
) -> Result<RotateReport, ClientError> {
    let RotateOptions { way, new_key, ref pins, .. } = *options;
    match new_key {
        None if way == RotateWay::Rewrap => return Err(RotateError::NoKey.into()),
        Some(new) if new.id() == key.id() => return Err(RotateError::SameKey { id: key.id() }.into()),
        _ if options.forget && way != RotateWay::Everything => return Err(RotateError::NotForgotten.into()),
        _ => {}
    }
    let found = place.look(pins)?;
    let is_handed_over = |new: &OwnerKey| {
        let manifest = found.manifest();
        manifest.key_id == new.id() && manifest.had_key(&key.id())
    };
    let begun = new_key.filter(|new| is_handed_over(new));
    let owner = begun.unwrap_or(key);
    let (mut version, resumed) = {
        let destination = Destination::of(place)?;
        let opened = place.open(owner.seed(), pins)?;
        if options.forget && !opened.half.schema.erasable {
            return Err(RotateError::NotErasable { place: place.name() }.into());
        }
        if let (Some(_), Some(column)) = (new_key, opened.half.schema.protected(Protection::JoinKey).next()) {
            return Err(RotateError::JoinKey { place: place.name(), column: column.name.clone() }.into());
        }
        // One to another key begins with that key, whatever goes on.
        let is_under_way = opened.manifest.manifest().rotating && new_key.is_none();
        let goes_on = way == RotateWay::Everything && is_under_way;
        if begun.is_some() || goes_on {
            (opened.manifest, true)
        } else {
            (begin(place, options, key, &destination, &opened)?, false)
        }
    };
    let owner = new_key.unwrap_or(key);
    let schema = place.open(owner.seed(), pins)?.half.schema;
    let mut report = RotateReport {
        key: owner.id(),
        key_before: new_key.map(|_| key.id()),
        resumed,
        devices: schema.edge,
        key_file_changed: schema.erasable && (way != RotateWay::Rewrap || new_key.is_some()),
        ..RotateReport::default()
    };
    if version.manifest().rotating {
        let (which, threads, memory_limit) = (Which::Outdated, options.threads, options.memory_limit);
        let compaction = CompactOptions { which, threads, memory_limit, pins: pins.clone() };
        let written = compact(place, &compaction, owner, progress)?;
        (report.rows, report.made_bytes) = (written.rows, written.made_bytes);
        version = place.open(owner.seed(), pins)?.manifest;
    }
    if options.forget {
        // Only now: the last version that needs none of them is there, and opens.
        version = place.open(owner.seed(), pins)?.manifest;
    }
    let now = version.manifest();
    if options.forget {
        let table_id = *now.table_id.as_bytes();
        let wanted: Vec<[u8; 16]> =
            now.domains().iter().filter_map(|domain| Some(*now.encryption_of(*domain)?.as_bytes())).collect();
        let keys = new_key.into_iter().map(|new| (new, wanted.as_slice()));
        // The key before needs none of the table any more.
        let before: &[[u8; 16]] = if new_key.is_some() { &[] } else { &wanted };
        for (key, wanted) in keys.chain([(key, before)]) {
            // The same roots in both files.
            report.forgotten = report.forgotten.max(key.seed().forget_roots(table_id, wanted)? as u64);
        }
    }
    (report.version, report.table_rows) = (now.version, now.living_rows());
    report.domains = now.domains().len() as u64;
    Ok(report)
}

/// Commits the version that begins a rotation.
fn begin(
    place: TablePlace<'_>,
    options: &RotateOptions<'_>,
    key: &OwnerKey,
    destination: &Destination<'_>,
    opened: &Opened,
) -> Result<hush_table::SignedManifest, ClientError> {
    let (owner, pins) = (key.seed(), &options.pins);
    if options.way == RotateWay::Everything {
        require_recoverable(opened)?;
    }
    let mut start = Start { place, way: options.way, owner, next: options.new_key.map(OwnerKey::seed) };
    let committer = Committer { place, owner, pins, destination };
    match committer.commit(opened, &mut start)? {
        Committed::In(version) => {
            if options.way != RotateWay::Rewrap {
                // New secrets have a budget of their own.
                let signer = start.signer().unwrap_or(owner);
                open_private(*version.clone(), signer, pins)?.releases.begin()?;
            }
            destination.tidy();
            Ok(*version)
        }
        Committed::Done(never) => match never {},
    }
}

/// The first version of a rotation on its way.
struct Start<'a> {
    place: TablePlace<'a>,
    way: RotateWay,
    owner: &'a OwnerSeed,
    /// The owner's key to come.
    next: Option<&'a OwnerSeed>,
}

impl RotateReport {
    /// The step that the owner's devices need now, if the table may have devices, in the words of a front.
    pub fn device_note(&self, front: Front) -> Option<String> {
        let step = || Remedy::NewDeviceKeys.describe(front);
        self.devices.then(|| format!("Keys of devices that were made before serve no more: {}.", step()))
    }
}

impl Start<'_> {
    /// Refuses what the version could not undo.
    fn check(&self, present: &Opened) -> Result<(), ClientError> {
        let (place, manifest) = (|| self.place.name(), present.manifest.manifest());
        let is_derived = |domain: &u32| !present.roots.has(*domain);
        if self.next.is_some() && manifest.domains().iter().any(is_derived) {
            return Err(RotateError::Derived { place: place() }.into());
        }
        let found = manifest.domains().len();
        if self.way != RotateWay::Rewrap && found > MAX_EARLIER_DOMAINS {
            return Err(RotateError::Domains { place: place(), found }.into());
        }
        if manifest.predecessors.len() >= MAX_PREDECESSORS && self.next.is_some() {
            let what = format!(
                "the table has had {MAX_PREDECESSORS} keys, as many as it can\n  Way out: encrypt it anew."
            );
            return Err(ClientError::Usage { what });
        }
        let count = Waiting::beside(self.place, &present.manifest).count()?;
        if count > 0 { Err(RotateError::Waiting { place: place(), count }.into()) } else { Ok(()) }
    }

    /// The roots of the version to come.
    fn roots(&self, present: &Opened, next: &Manifest) -> Result<TableRoots, ClientError> {
        let known = next.domains();
        let roots = present.roots.retained(|domain| known.contains(&domain));
        let roots = if present.half.schema.erasable {
            self.keep(next)?;
            roots
        } else if roots.has(next.domain) || self.way == RotateWay::Rewrap {
            roots
        } else {
            roots.with_domain(next.domain)?
        };
        Ok(match self.next {
            Some(_) => roots.with_batches_of(self.owner, *next.table_id.as_bytes()),
            None => roots,
        })
    }
}

impl Start<'_> {
    /// Puts the roots of a version's domains into the key file that is to open it: before the version is there.
    fn keep(&self, next: &Manifest) -> Result<(), ClientError> {
        let named = |domain| {
            let encryption = *next.encryption_of(domain)?.as_bytes();
            Some(RootName { table_id: *next.table_id.as_bytes(), encryption })
        };
        // A new root is for the new domain alone; the others are there.
        let is_new =
            |name: &RootName| self.way != RotateWay::Rewrap && name.encryption == *next.encryption.as_bytes();
        let names = next.domains().into_iter().filter_map(named);
        let names: Vec<RootName> = names.filter(|name| self.owner.has_root(name) || is_new(name)).collect();
        Ok(self.next.unwrap_or(self.owner).keep_roots(&names, Some(self.owner))?)
    }
}

impl Edit for Start<'_> {
    type Done = std::convert::Infallible;

    fn next(&mut self, present: &Opened) -> Result<Next<Self::Done>, ClientError> {
        self.check(present)?;
        let mut next = present.manifest.manifest().clone();
        next.version = next.version.saturating_add(1);
        if self.way != RotateWay::Rewrap {
            next.begin_domain(new_encryption()?);
            next.rotating = next.rotating || (self.way == RotateWay::Everything && !next.earlier.is_empty());
        }
        let signer = self.signer().unwrap_or(self.owner);
        if self.next.is_some() {
            let key = Digest::from_bytes(self.owner.verifying_key().to_bytes());
            let until = next.version;
            let message = succession_bytes(next.table_id, until, &signer.verifying_key().to_bytes());
            next.predecessors.push(Predecessor { key, until, signature: self.owner.sign(&message) });
            next.key_id = signer.key_id().to_string();
        }
        let keys = signer.of_table(*next.table_id.as_bytes(), *next.encryption.as_bytes());
        next.sealed_roots = seal_roots(&self.roots(present, &next)?, keys)?;
        next.sealed_schema = present.half.seal(keys)?;
        next.record(ChangeKind::Rotate, 0, 0);
        Ok(Next::Version(Box::new(next)))
    }

    /// Another writer's version never has this one's new secrets.
    fn has_landed(&self, _: &Manifest) -> Result<bool, ClientError> {
        Ok(false)
    }

    fn signer(&self) -> Option<&OwnerSeed> {
        self.next
    }
}
