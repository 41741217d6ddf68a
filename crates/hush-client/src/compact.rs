// SPDX-License-Identifier: Apache-2.0
//! Writes small parts and parts with many deleted rows anew: fewer, full and without those rows. Queries, appends and devices go on.
//!
//! A compaction goes step by step. A step decrypts the living rows of some neighbouring parts, encrypts them as an append does, with fresh
//! seeds, and commits a version in which the new parts stand where the old ones stood. So what is interrupted has lost one step at most, and
//! the same command again goes on from there; nothing has to be remembered for that. Memory holds a few chunks and parts, for any table.
//!
//! When another writer was faster, the same parts go into the version behind theirs, if the parts that were read are still there as they
//! were. If rows of these were deleted meanwhile, the step is done once more.

mod choose;
pub(crate) mod error;
mod line;
mod read;
mod rows;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use hush_encode::clear_schema;
use hush_keys::{Encryptor, OwnerSeed};
use hush_remote::Progress;
use hush_system::memory::peak_resident_bytes;
use hush_table::manifest::{ChangeKind, PartPlace};
use hush_table::source::RowBatch;
use hush_table::{
    AppendId, Appender, FileKind, Manifest, PartBounds, PartEntry, SignedManifest, files_of_part,
};

pub use self::choose::{CompactionState, DUE_PARTS, MOST_DELETED_PERCENT, Which};
use self::choose::{Wanted, chosen};
pub use self::error::{CompactError, Lacking};
use self::line::{Files, Line, Stored};
use self::read::Reader;
use crate::chunk::ChunkPlan;
use crate::destination::{Committed, Committer, Destination, Edit, Next};
use crate::encrypt::{check_memory, flow_of};
use crate::error::ClientError;
use crate::owner::OwnerKey;
use crate::pins::Pins;
use crate::place::{Opened, TablePlace};
use crate::scheme::Lattice;
use crate::threads::thread_pool;

/// Times that one step is done at most.
const MOST_TRIES: u32 = 20;
/// Time between two steps in a directory, in which a writer that waits for its lock gets it.
const BREATH: Duration = Duration::from_millis(30);

/// Options of a compaction.
#[derive(Clone, Debug)]
pub struct CompactOptions {
    /// The parts to be written anew.
    pub which: Which,
    /// Threads.
    pub threads: usize,
    /// Most bytes of memory that the process may take, its code included; `None` for as many as the system allows.
    pub memory_limit: Option<u64>,
    /// The pins that remember the new versions.
    pub pins: Pins,
}

/// What a compaction would do now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionPlan {
    /// Parts that would be written anew.
    pub parts: u64,
    /// Their rows that count.
    pub rows: u64,
    /// Their deleted rows, which would go.
    pub removed_rows: u64,
    /// Bytes of their files.
    pub bytes: u64,
    /// Version of the table.
    pub version: u64,
    /// Rows of the table that count.
    pub table_rows: u64,
    /// Parts of the table.
    pub table_parts: u64,
    /// What the rule says of the table.
    pub state: CompactionState,
}

/// The outcome of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactReport {
    /// Versions that it committed.
    pub steps: u64,
    /// Parts that it took away, without those that it had made itself.
    pub parts: u64,
    /// Parts that it made and that the table has.
    pub made_parts: u64,
    /// Rows that it encrypted, more than once for those of a part that a later step took in.
    pub rows: u64,
    /// Deleted rows that went.
    pub removed_rows: u64,
    /// Bytes of the parts that it took away.
    pub bytes: u64,
    /// Bytes of the parts that it made.
    pub made_bytes: u64,
    /// Version of the table now.
    pub version: u64,
    /// Rows of the table that count.
    pub table_rows: u64,
    /// Parts of the table now.
    pub table_parts: u64,
    /// What the rule said of the table before.
    pub state: CompactionState,
}

/// What [`compact`] would do, by the manifest alone: no key is needed, and nothing changes.
///
/// # Errors
/// As [`TablePlace::look`].
pub fn plan_compaction(
    place: TablePlace<'_>,
    which: Which,
    pins: &Pins,
) -> Result<CompactionPlan, ClientError> {
    let signed = place.look(pins)?;
    let manifest = signed.manifest();
    let mut plan = CompactionPlan {
        version: manifest.version,
        table_rows: manifest.living_rows(),
        table_parts: manifest.parts.len() as u64,
        state: CompactionState::of(manifest),
        ..CompactionPlan::default()
    };
    for part in chosen(manifest, which).into_iter().filter_map(|run| manifest.parts.get(run)).flatten() {
        plan.parts += 1;
        plan.rows += part.living_rows();
        plan.removed_rows += part.rows - part.living_rows();
        plan.bytes += bytes_of(part);
    }
    Ok(plan)
}

/// Writes parts of a table anew, in a directory, on a server or in an object store. No row that counts is changed, and none moves.
///
/// Many may append, delete and ask meanwhile, and devices deliver. In a directory each waits for a step at most. Parts that come after it has
/// begun are left to the next compaction.
///
/// # Errors
/// [`CompactError::Lost`] for a table whose rows cannot be had again; another key, a rollback, damage; [`ClientError::Reencrypted`] if the table
/// was replaced meanwhile; [`CompactError::Overtaken`]; a full disk. Steps that were committed stay.
///
/// # Cost
/// That of decrypting the rows of these parts and of encrypting them; on a server they go over the network twice. A manifest for each
/// step. Memory as [`crate::encrypt()`], and one part that is read.
pub fn compact(
    place: TablePlace<'_>,
    options: &CompactOptions,
    key: &OwnerKey,
    progress: &dyn Progress,
) -> Result<CompactReport, ClientError> {
    let opened = {
        // In a directory nobody makes a newer version between the look at the manifest and the look at the pins.
        let _access = Destination::of(place)?;
        place.open(key.seed(), &options.pins)?
    };
    let wanted = Wanted::of(opened.manifest.manifest(), options.which);
    let report =
        CompactReport { state: CompactionState::of(opened.manifest.manifest()), ..CompactReport::default() };
    if wanted.is_empty() {
        return Ok(told(report, &opened.manifest));
    }
    let chosen = chosen(opened.manifest.manifest(), options.which).into_iter();
    let parts = chosen.filter_map(|run| opened.manifest.manifest().parts.get(run)).flatten();
    progress.begin("compact", Some(parts.map(PartEntry::living_rows).sum()), "rows");
    let compacted = Compaction::new(place, options, key.seed(), &opened)?.run(wanted, report, progress);
    progress.end();
    compacted
}

/// Refuses a table whose rows cannot be had again from it.
///
/// # Errors
/// [`CompactError::Lost`].
pub(crate) fn require_recoverable(opened: &Opened) -> Result<(), ClientError> {
    Reader::new(opened).map(drop)
}

/// A compaction under way.
struct Compaction<'a> {
    place: TablePlace<'a>,
    options: &'a CompactOptions,
    owner: &'a OwnerSeed,
    /// The table as it was when the compaction began.
    opened: &'a Opened,
    reader: Reader<'a>,
}

/// Parts that are to be replaced.
struct Step {
    /// The version in which they were read.
    present: SignedManifest,
    /// Where they stand there.
    run: Range<usize>,
}

impl Step {
    fn parts(&self) -> &[PartEntry] {
        self.present.manifest().parts.get(self.run.clone()).unwrap_or_default()
    }

    fn placed(&self) -> impl Iterator<Item = (PartPlace, &PartEntry)> {
        self.present.manifest().placed_parts().skip(self.run.start).take(self.run.len())
    }
}

impl<'a> Compaction<'a> {
    fn new(
        place: TablePlace<'a>,
        options: &'a CompactOptions,
        owner: &'a OwnerSeed,
        opened: &'a Opened,
    ) -> Result<Self, ClientError> {
        let reader = Reader::new(opened)?;
        Ok(Self { place, options, owner, opened, reader })
    }

    fn run(
        &self,
        mut wanted: Wanted,
        mut report: CompactReport,
        progress: &dyn Progress,
    ) -> Result<CompactReport, ClientError> {
        let mut tries = 0;
        loop {
            // In a directory nobody else writes until the step is committed.
            let destination = Destination::of(self.place)?;
            let present = self.look_again()?.manifest;
            let Some(run) = wanted.next_step(present.manifest()) else { return Ok(told(report, &present)) };
            let step = Step { present, run };
            let stored = self.store(&step, &destination, progress)?;
            let made = stored.appender.stored().to_vec();
            match self.commit(&step, stored, &destination)? {
                Some(_) => {
                    count(&mut report, &step, &made, &wanted);
                    wanted.done(step.parts(), &made);
                    tries = 0;
                }
                None => tries += 1,
            }
            if tries >= MOST_TRIES {
                return Err(CompactError::Overtaken { place: self.place.name(), tries }.into());
            }
            let is_locked = matches!(destination, Destination::Files(..));
            drop(destination);
            if is_locked {
                std::thread::sleep(BREATH);
            }
        }
    }

    /// The present version, if it is of the encryption for which this compaction has keys.
    fn look_again(&self) -> Result<Opened, ClientError> {
        let found = self.place.open(self.owner, &self.options.pins)?;
        let (first, now) = (self.opened.manifest.manifest(), found.manifest.manifest());
        if !now.is_written_like(first) {
            return Err(ClientError::Reencrypted { place: self.place.name() });
        }
        Ok(found)
    }

    /// Encrypts the living rows of a step and stores their parts.
    fn store(
        &self,
        step: &Step,
        destination: &Destination<'_>,
        progress: &dyn Progress,
    ) -> Result<Stored, ClientError> {
        let Opened { half, keys, .. } = self.opened;
        let (schema, mut id) = (&half.schema, [0; 16]);
        hush_ring::os_random(&mut id)?;
        let id = AppendId::from_bytes(id);
        let (tokens, keys) = (Arc::clone(&keys.tokens), keys.present());
        let plan =
            ChunkPlan::new(schema, &keys.columns, &keys.seals, &Lattice).of_append(id).with_prepared(half);
        let plan = plan.with_tokens(tokens);
        let maker = plan.prepare.maker(keys.pads.copied(), keys.runs.copied());
        let pool = thread_pool(self.options.threads)?;
        let read_bytes = step.parts().iter().map(bytes_of).max().unwrap_or(0);
        let flow = flow_of(schema, &plan, &pool, self.options.memory_limit, read_bytes)?;
        let appender = Appender::new(destination.store(), step.present.manifest(), id)?;
        let appender = appender.with_part_bytes(flow.part_bytes).with_parts_in_flight(flow.parts_in_flight);
        let appender = appender.with_prepared(maker.hook());
        let clear = clear_schema(schema);
        let encrypt = |encryptor: &mut Encryptor, first: u32, batches: &[RowBatch]| {
            plan.make(encryptor, (first, batches), (schema, &clear), true)
        };
        let before = peak_resident_bytes();
        let mut line = Line::new(&self.reader, (&encrypt, plan.together()), &pool, flow, (appender, maker));
        for (place, entry) in step.placed() {
            let files = Files::of(self.place, destination, entry)?;
            self.reader.each_chunk(files.store(), step.present.manifest(), (place, entry), |chunk| {
                check_memory(self.options.memory_limit, before)?;
                line.take(chunk, destination)
            })?;
            progress.advance(entry.living_rows());
        }
        line.finish(destination)
    }

    /// Commits a version with the new parts, behind whatever others commit meanwhile. Gives none if the step has to be done once more.
    fn commit(
        &self,
        step: &Step,
        stored: Stored,
        destination: &Destination<'_>,
    ) -> Result<Option<SignedManifest>, ClientError> {
        let Self { place, owner, options, .. } = *self;
        let committer = Committer { place, owner, pins: &options.pins, destination };
        let mut replacement = Replacement { step, stored: &stored, destination };
        let Committed::In(version) = committer.commit(&self.look_again()?, &mut replacement)? else {
            return Ok(None);
        };
        stored.appender.keep();
        destination.tidy();
        Ok(Some(*version))
    }
}

/// Stored parts on their way to the place of those of a step.
struct Replacement<'a> {
    step: &'a Step,
    stored: &'a Stored,
    destination: &'a Destination<'a>,
}

impl Edit for Replacement<'_> {
    type Done = ();

    /// Nothing can be done where the parts are not there as they were read.
    fn next(&mut self, present: &Opened) -> Result<Next<()>, ClientError> {
        let (present, parts) = (present.manifest.manifest(), self.step.parts());
        let Some(start) = place_of(parts, &present.parts) else { return Ok(Next::Done(())) };
        let run = start..start + parts.len();
        let mut next = present.clone();
        next.version = next.version.saturating_add(1);
        parts.iter().for_each(|part| next.devices.settle(part));
        next.replace_lengths(run.clone(), self.stored.appender.lengths());
        next.splice_parts(run.clone(), self.stored.appender.stored().iter().cloned());
        put_zones(present, &mut next, run, &self.stored.bounds, self.destination)?;
        let removed = parts.iter().map(|part| part.rows - part.living_rows()).sum();
        next.record(ChangeKind::Compact, 0, removed);
        Ok(Next::Version(Box::new(next)))
    }

    fn has_landed(&self, found: &Manifest) -> Result<bool, ClientError> {
        let made = self.stored.appender.stored();
        Ok(!made.is_empty() && made.iter().all(|part| found.parts.contains(part)))
    }
}

/// Where some parts stand among others, as they are but for the numbers of chunks, which a part has by its place.
fn place_of(parts: &[PartEntry], among: &[PartEntry]) -> Option<usize> {
    let is_same = |(part, other): (&PartEntry, &PartEntry)| {
        PartEntry { first_chunk: None, ..part.clone() } == PartEntry { first_chunk: None, ..other.clone() }
    };
    among
        .windows(parts.len().max(1))
        .position(|window| window.iter().zip(parts).all(|(a, b)| is_same((a, b))))
}

/// Gives the version `next` the zones of its parts, if the version before has some.
fn put_zones(
    before: &Manifest,
    next: &mut Manifest,
    replaced: Range<usize>,
    bounds: &PartBounds,
    destination: &Destination<'_>,
) -> Result<(), ClientError> {
    let Some(file) = before.zones else { return Ok(()) };
    if let Destination::Server(server, name, memory) = destination {
        let bytes = server.part(name, FileKind::Zones, file)?;
        memory.put_received(FileKind::Zones, file, bytes.into())?;
    }
    let store = destination.store();
    // Parts behind the last row of a zone file are not in it, and move nothing.
    if let Some(zones) = store.zones(before)?
        && zones.parts() > replaced.start
    {
        store.put_spliced_zones(next, &zones, replaced, bounds.clone())?;
    }
    if let (Destination::Server(server, name, memory), Some(file)) = (destination, next.zones) {
        server.send_parts(name, memory, [(FileKind::Zones, file)])?;
    }
    Ok(())
}

fn bytes_of(part: &PartEntry) -> u64 {
    files_of_part(part).map(|(_, file)| file.bytes).sum()
}

/// Adds a step that was committed to the report.
fn count(report: &mut CompactReport, step: &Step, made: &[PartEntry], wanted: &Wanted) {
    report.steps += 1;
    for part in step.parts() {
        report.rows += part.living_rows();
        report.removed_rows += part.rows - part.living_rows();
        if wanted.has_made(part) {
            report.made_parts -= 1;
            report.made_bytes -= bytes_of(part);
        } else {
            report.parts += 1;
            report.bytes += bytes_of(part);
        }
    }
    report.made_parts += made.len() as u64;
    report.made_bytes += made.iter().map(bytes_of).sum::<u64>();
}

fn told(report: CompactReport, present: &SignedManifest) -> CompactReport {
    let manifest = present.manifest();
    let table_parts = manifest.parts.len() as u64;
    CompactReport { version: manifest.version, table_rows: manifest.living_rows(), table_parts, ..report }
}
