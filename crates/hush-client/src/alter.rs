// SPDX-License-Identifier: Apache-2.0
//! Alters the columns of a table that is there: adds, drops, renames, widens, or gives a further purpose.
//!
//! ```text
//!   add, drop, rename         one version: a generation of columns begins, and no encrypted file changes
//!   a clear column among them its parts get new files of clear columns in that version
//!   a further purpose         a version with the new encodings; then the parts that lack them are written anew; plans use them once none does
//!   a wider range             as a further purpose, if its encodings are too narrow; then a version that has the range, and not the old encodings
//! ```
//!
//! The manifest and the private half say what is under way, so that the same command goes on after an interruption. Queries, appends and
//! deletions go on meanwhile: rows of earlier generations have 0 in what they lack, which is what missing values have
//! ([`hush_table::manifest::Generation`]).

mod clear;
pub(crate) mod error;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use hush_encode::clear_schema;
use hush_keys::{OwnerSeed, TableKeys};
use hush_plan::error::{Front, Remedy};
use hush_plan::schema::alter::{AlterFault, Alteration, altered};
use hush_plan::{
    Encoding, EncodingId, Further, Needs, PrivateEncoding, Schema, plan_further, ranks_beside_shared,
};
use hush_remote::Progress;
use hush_table::Manifest;
use hush_table::manifest::{ChangeKind, MAX_EARLIER_GENERATIONS};

use self::clear::ClearFiles;
pub use self::error::AlterError;
use crate::columns::{keys_of, new_secret_id};
use crate::compact::{CompactOptions, Which, compact, require_recoverable};
use crate::cube;
use crate::destination::{Committed, Committer, Destination, Edit, Next};
use crate::devices::Waiting;
use crate::error::ClientError;
use crate::owner::OwnerKey;
use crate::pins::Pins;
use crate::place::{Opened, TablePlace};
use crate::private::PrivateHalf;
use crate::run_numbers;
use crate::table_keys;

/// Times that the parts of an alteration are looked for: others may bring back what was written anew.
const MOST_ROUNDS: u32 = 20;

/// Options of an alteration.
#[derive(Clone, Debug)]
pub struct AlterOptions {
    /// What is altered; nothing, to go on with an alteration that was interrupted.
    pub alteration: Alteration,
    /// Threads.
    pub threads: usize,
    /// Most bytes of memory that the process may take, its code included; `None` for as many as the system allows.
    pub memory_limit: Option<u64>,
    /// The pins that remember the new versions.
    pub pins: Pins,
}

/// The outcome of an alteration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AlterReport {
    /// Version of the table now.
    pub version: u64,
    /// Whether anything changed: the same alteration once more changes nothing.
    pub changed: bool,
    /// Whether this run went on with an alteration that another one had begun.
    pub resumed: bool,
    /// Encodings that the table got.
    pub encodings: u64,
    /// Parts that got a new file of clear columns.
    pub clear_parts: u64,
    /// Rows that were written anew.
    pub rows: u64,
    /// Bytes of the parts that were made of them.
    pub made_bytes: u64,
    /// Columns that were dropped and whose ciphertext stays in parts that are there.
    pub left_behind: Vec<String>,
    /// Rows of the table that count.
    pub table_rows: u64,
    /// Whether devices need new keys.
    pub devices: bool,
}

impl AlterReport {
    /// The step that the owner's devices need now, if the table may have devices, in the words of a front.
    pub fn device_note(&self, front: Front) -> Option<String> {
        let step = || Remedy::NewDeviceKeys.describe(front);
        self.devices.then(|| format!("Keys of devices that were made before serve no more: {}.", step()))
    }
}

/// Alters a table in a directory, on a server or in an object store. No value of a column that stays is changed.
///
/// The same alteration again goes on where an interrupted one ended, and changes nothing if that was complete.
///
/// # Errors
/// [`AlterError`]; [`crate::CompactError::Lost`] for rows that cannot be had again and would have to be written anew, before anything is
/// changed; no parameters for what is asked; another key, a rollback, damage; [`ClientError::Reencrypted`] if the table was replaced meanwhile; a
/// full disk. Steps that were committed stay.
///
/// # Cost
/// A manifest; where clear columns change, that of reading and writing the files of clear columns of all parts; for a further purpose, and a range
/// that outgrows its encodings, that of decrypting and encrypting the rows that have the column ([`compact()`]).
pub fn alter(
    place: TablePlace<'_>,
    options: &AlterOptions,
    key: &OwnerKey,
    progress: &dyn Progress,
) -> Result<AlterReport, ClientError> {
    let (owner, pins) = (key.seed(), &options.pins);
    let mut report = AlterReport::default();
    let dropped = {
        let destination = Destination::of(place)?;
        let opened = place.open(owner, pins)?;
        report.resumed = is_under_way(&opened);
        let clear = ClearFiles::new(place, &destination);
        let (alteration, report, dropped) = (&options.alteration, &mut report, Vec::new());
        let mut begin =
            Begin { place, owner, alteration, clear, report, dropped, offered: Offered::default() };
        let committer = Committer { place, owner, pins, destination: &destination };
        if let Committed::In(_) = committer.commit(&opened, &mut begin)? {
            begin.report.changed = true;
            destination.tidy();
        }
        begin.dropped
    };
    let mut opened = place.open(owner, pins)?;
    for round in 0.. {
        if !opened.manifest.manifest().generations.iter().any(|generation| generation.incomplete) {
            break;
        }
        if round >= MOST_ROUNDS {
            return Err(crate::CompactError::Overtaken { place: place.name(), tries: round }.into());
        }
        let (threads, memory_limit) = (options.threads, options.memory_limit);
        let which = Which::Incomplete;
        let written = compact(
            place,
            &CompactOptions { which, threads, memory_limit, pins: pins.clone() },
            key,
            progress,
        )?;
        report.rows += written.rows;
        report.made_bytes += written.made_bytes;
        report.changed = true;
        opened = place.open(owner, pins)?;
    }
    if opened.half.pending.is_some() {
        let destination = Destination::of(place)?;
        let committer = Committer { place, owner, pins, destination: &destination };
        committer.commit(&place.open(owner, pins)?, &mut Finish { owner, offered: Offered::default() })?;
        destination.tidy();
        report.changed = true;
    }
    let opened = place.open(owner, pins)?;
    let manifest = opened.manifest.manifest();
    (report.version, report.table_rows) = (manifest.version, manifest.living_rows());
    report.left_behind =
        dropped.into_iter().filter(|column| column.is_in(manifest)).map(|column| column.name).collect();
    report.resumed &= report.changed;
    report.devices = opened.half.schema.edge && report.changed;
    Ok(report)
}

/// Whether an alteration has begun and not ended.
fn is_under_way(opened: &Opened) -> bool {
    let mut generations = opened.manifest.manifest().generations.iter();
    opened.half.pending.is_some() || generations.any(|generation| generation.incomplete)
}

/// The sealed schema of the version that was offered last. Each is sealed with a nonce of its own, and other changes keep it as it is: it tells
/// an alteration that has landed from the same one by another hand.
#[derive(Default)]
struct Offered(Vec<u8>);

impl Offered {
    fn seal(&mut self, half: &PrivateHalf, keys: TableKeys<'_>) -> Result<Vec<u8>, ClientError> {
        self.0 = half.seal(keys)?;
        Ok(self.0.clone())
    }

    fn is_in(&self, found: &Manifest) -> bool {
        self.0 == found.sealed_schema
    }
}

/// The first version of an alteration on its way.
struct Begin<'a> {
    place: TablePlace<'a>,
    owner: &'a OwnerSeed,
    alteration: &'a Alteration,
    clear: ClearFiles<'a>,
    report: &'a mut AlterReport,
    dropped: Vec<Dropped>,
    offered: Offered,
}

impl Begin<'_> {
    /// Refuses what a version cannot undo.
    fn check(&self, present: &Opened) -> Result<(), ClientError> {
        let (place, manifest) = (|| self.place.name(), present.manifest.manifest());
        if is_under_way(present) {
            return Err(AlterError::UnderWay { place: place() }.into());
        }
        if manifest.generations.len() >= MAX_EARLIER_GENERATIONS {
            return Err(AlterError::Generations { place: place() }.into());
        }
        let count = Waiting::beside(self.place, &present.manifest).count()?;
        if count > 0 { Err(AlterError::Waiting { place: place(), count }.into()) } else { Ok(()) }
    }

    /// The encodings of the table under its altered schema.
    fn further(&self, present: &Opened, schema: &Schema) -> Result<Further, ClientError> {
        let manifest = present.manifest.manifest();
        let after = |name: &str| self.alteration.name_after(name);
        let is_kept = |encoding: &&PrivateEncoding| {
            encoding.quantity.columns().iter().all(|name| after(name).is_some())
        };
        let rename = |name: &str| after(name).unwrap_or_else(|| name.to_owned());
        let kept = present.half.encodings.iter().filter(is_kept);
        let kept: Vec<PrivateEncoding> = kept
            .map(|encoding| PrivateEncoding {
                quantity: encoding.quantity.renamed(&rename),
                ..encoding.clone()
            })
            .collect();
        further(schema, &kept, manifest)
    }

    /// Gives `next` the columns under a seal of the altered schema. Those that stay keep their numbers, and new ones stand behind them.
    /// Returns their names in that order.
    fn number_sealed(&self, present: &Opened, schema: &Schema, next: &mut Manifest) -> Vec<String> {
        let before = present.half.numbered(present.manifest.manifest());
        let after = |name: &str| self.alteration.name_after(name);
        let gone = before.iter().filter(|(_, name)| after(name).is_none()).map(|(number, _)| *number);
        let unsealed: BTreeSet<u32> = next.unsealed.iter().copied().chain(gone).collect();
        let mut names: Vec<String> = before.iter().filter_map(|(_, name)| after(name)).collect();
        let new = schema.under_seal().map(|column| column.name.clone()).filter(|name| !names.contains(name));
        let new: Vec<String> = new.collect();
        next.sealed_columns = next.sealed_columns.saturating_add(new.len() as u32);
        next.unsealed = unsealed.into_iter().collect();
        names.extend(new);
        names
    }
}

impl Edit for Begin<'_> {
    type Done = ();

    fn next(&mut self, present: &Opened) -> Result<Next<()>, ClientError> {
        let before = present.half.pending.as_ref().unwrap_or(&present.half.schema);
        let schema = schema_after(before, self.alteration)?;
        if schema == *before {
            return Ok(Next::Done(()));
        }
        self.check(present)?;
        let Further { kept, outgrown, new } = self.further(present, &schema)?;
        let mut next = present.manifest.manifest().clone();
        next.version = next.version.saturating_add(1);
        // Until the parts have wider encodings, rows keep the ranges of the encodings that they have.
        let waits = !outgrown.is_empty() && !next.parts.is_empty();
        let as_before = Alteration { widen: Vec::new(), ..self.alteration.clone() };
        let interim = if waits { schema_after(before, &as_before)? } else { schema.clone() };
        let outgrown = if waits { outgrown } else { Vec::new() };
        self.report.encodings = new.len() as u64;
        let (cubes, next_cube) = cube::renumbered(&present.half, self.alteration, &interim);
        let (runs, next_run) = run_numbers::renumbered(&present.half, self.alteration, &interim);
        let mut half = PrivateHalf {
            sealed: Vec::new(),
            cipher: present.half.cipher,
            cubes,
            next_cube,
            runs,
            next_run,
            encodings: in_order(kept.into_iter().chain(outgrown).chain(new)),
            schema: interim,
            pending: waits.then(|| schema.clone()),
        };
        let stored = next.stored_columns();
        let mut columns = next.clone();
        columns.encodings = public(&half.encodings);
        half.sealed = self.number_sealed(present, &schema, &mut columns);
        if columns.stored_columns() != stored || columns.encodings != next.encodings {
            next.begin_generation();
        }
        next.encodings = columns.encodings;
        (next.sealed_columns, next.unsealed) = (columns.sealed_columns, columns.unsealed);
        next.forget_lengths();
        mark_incomplete(&mut next, &half);
        table_keys::forget_others(&mut next, &half);
        if next.generations.iter().any(|generation| generation.incomplete) {
            require_recoverable(present)?;
        }
        self.dropped = Dropped::of(present, self.alteration);
        self.report.clear_parts =
            self.clear.put(present, &mut next, &clear_schema(&schema), self.alteration)?;
        if next.parts.iter().any(|part| part.clear.is_none() && part.encrypted.is_none()) {
            return Err(AlterError::Nothing { place: self.place.name() }.into());
        }
        next.sealed_schema = self.offered.seal(&half, keys_of(self.owner, &next))?;
        next.record(ChangeKind::Alter, 0, 0);
        Ok(Next::Version(Box::new(next)))
    }

    fn has_landed(&self, found: &Manifest) -> Result<bool, ClientError> {
        Ok(self.offered.is_in(found))
    }
}

/// The last version of an alteration that widens a range: it has the range, and not the encodings that are too narrow for it.
struct Finish<'a> {
    owner: &'a OwnerSeed,
    offered: Offered,
}

impl Edit for Finish<'_> {
    type Done = ();

    fn next(&mut self, present: &Opened) -> Result<Next<()>, ClientError> {
        let Some(schema) = present.half.pending.clone() else { return Ok(Next::Done(())) };
        let mut next = present.manifest.manifest().clone();
        let Further { kept, new, .. } = further(&schema, &present.half.encodings, &next)?;
        if !new.is_empty() || next.generations.iter().any(|generation| generation.incomplete) {
            return Err(ClientError::Internal {
                what: "a range is to be widened before its encodings are there",
            });
        }
        next.version = next.version.saturating_add(1);
        next.begin_generation();
        let nothing = Alteration::default();
        let (cubes, next_cube) = cube::renumbered(&present.half, &nothing, &schema);
        let (runs, next_run) = run_numbers::renumbered(&present.half, &nothing, &schema);
        let (sealed, cipher, encodings) = (present.half.sealed.clone(), present.half.cipher, kept);
        let half = PrivateHalf {
            schema,
            encodings,
            pending: None,
            sealed,
            cipher,
            cubes,
            next_cube,
            runs,
            next_run,
        };
        next.encodings = public(&half.encodings);
        mark_incomplete(&mut next, &half);
        table_keys::forget_others(&mut next, &half);
        next.sealed_schema = self.offered.seal(&half, keys_of(self.owner, &next))?;
        next.record(ChangeKind::Alter, 0, 0);
        Ok(Next::Version(Box::new(next)))
    }

    fn has_landed(&self, found: &Manifest) -> Result<bool, ClientError> {
        Ok(self.offered.is_in(found))
    }
}

fn schema_after(schema: &Schema, alteration: &Alteration) -> Result<Schema, AlterError> {
    let refused = |fault: AlterFault| AlterError::Fault(Box::new(fault));
    let mut next = altered(schema, alteration).map_err(refused)?;
    hush_plan::cube::altered(schema, alteration, &mut next);
    hush_plan::one_hot::altered(schema, alteration, &mut next);
    hush_plan::run::altered(schema, alteration, &mut next);
    hush_plan::filter::altered(schema, alteration, &mut next);
    // Purposes can ask for more groups, runs and filters than there may be.
    hush_plan::one_hot::check(&next).map_err(|fault| refused(fault.into()))?;
    hush_plan::run::check(&next).map_err(|fault| refused(fault.into()))?;
    hush_plan::filter::check(&next).map_err(|fault| refused(fault.into()))?;
    Ok(next)
}

/// The encodings that a schema needs, beside those that a table has.
fn further(
    schema: &Schema,
    present: &[PrivateEncoding],
    manifest: &Manifest,
) -> Result<Further, ClientError> {
    let mut failed = None;
    let mut new_id = || {
        new_secret_id().unwrap_or_else(|error| {
            failed = Some(error);
            String::new()
        })
    };
    let (needs, rows) = (Needs::of_purposes(schema)?, schema.max_rows.max(manifest.rows));
    if let Some(column) = ranks_beside_shared(&needs, present) {
        let column = column.to_owned();
        return Err(AlterError::from(Box::new(AlterFault::Ranks { column })).into());
    }
    let further = plan_further(schema, present, &needs, rows, manifest.next_encoding(), &mut new_id)?;
    failed.map_or(Ok(further), Err)
}

/// Marks the generations whose parts are to be written anew, and no others.
fn mark_incomplete(next: &mut Manifest, half: &PrivateHalf) {
    let incomplete: BTreeSet<u32> = half
        .encodings
        .iter()
        .flat_map(|encoding| half.incomplete(next, encoding))
        .chain(half.without_copies(next))
        .collect();
    for generation in &mut next.generations {
        generation.incomplete = incomplete.contains(&generation.number);
    }
}

/// A column that is dropped, with what parts may still have of it.
struct Dropped {
    name: String,
    encodings: Vec<EncodingId>,
    sealed: Option<u32>,
}

impl Dropped {
    /// The columns of a table that an alteration drops.
    fn of(present: &Opened, alteration: &Alteration) -> Vec<Self> {
        let (half, manifest) = (&present.half, present.manifest.manifest());
        let sealed = half.numbered(manifest);
        let of_name = |name: &String| {
            let is_its = |encoding: &&PrivateEncoding| encoding.quantity.columns().contains(&name.as_str());
            let encodings = half.encodings.iter().filter(is_its).map(|encoding| encoding.public.id).collect();
            let sealed = sealed.iter().find(|(_, known)| known == name).map(|(number, _)| *number);
            Self { name: name.clone(), encodings, sealed }
        };
        alteration.drop.iter().map(of_name).collect()
    }

    /// Whether parts of a version still have it.
    fn is_in(&self, manifest: &Manifest) -> bool {
        let mut generations = manifest.generations.iter();
        generations.any(|earlier| {
            self.encodings.iter().any(|id| earlier.encodings.contains(id))
                || self.sealed.is_some_and(|number| earlier.sealed.contains(&number))
        })
    }
}

fn in_order(encodings: impl Iterator<Item = PrivateEncoding>) -> Vec<PrivateEncoding> {
    let mut encodings: Vec<PrivateEncoding> = encodings.collect();
    encodings.sort_by_key(|encoding| encoding.public.id);
    encodings
}

fn public(encodings: &[PrivateEncoding]) -> Vec<Encoding> {
    encodings.iter().map(|encoding| encoding.public.clone()).collect()
}
