// SPDX-License-Identifier: Apache-2.0
//! Adds rows to a table: encrypts them under the secrets that it has, stores their parts, and commits a version with both.
//!
//! What was there stays as it is; the new chunks have fresh seeds. Nobody knows behind which other append or delivery they will stand, so their
//! numbers count from 0. When another writer was faster, the same parts go into the version behind theirs. A batch with a name is taken
//! once: the table remembers digests of its name and rows under the owner's key.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use hush_keys::{BatchKey, OwnerSeed};
use hush_remote::Progress;
use hush_table::manifest::{ChangeKind, MAX_BATCHES};
use hush_table::source::{Source, SourceError};
use hush_table::{AppendId, Appender, Batch, BatchTag, Digest, Manifest, PartEntry, SignedManifest};

use crate::chunk::{ChunkPlan, Encrypted};
use crate::destination::{Committed, Committer, Destination, Edit, Next};
use crate::encrypt::{Made, Rows};
use crate::error::ClientError;
use crate::owner::OwnerKey;
use crate::pins::Pins;
use crate::place::{Opened, TablePlace};
use crate::scheme::Lattice;
use crate::threads::thread_pool;

/// Longest name of a batch, in bytes.
const MAX_BATCH_BYTES: usize = 256;

/// Options of an append.
#[derive(Clone, Debug)]
pub struct AppendOptions {
    /// The rows: a file, or batches in memory. They are read by the schema that the table was encrypted with.
    pub source: Source,
    /// The owner's name for these rows, with which they are taken once.
    pub batch: Option<String>,
    /// Threads.
    pub threads: usize,
    /// Most bytes of memory that the process may take, its code included; `None` for as many as the system allows.
    pub memory_limit: Option<u64>,
    /// The pins that remember the new version.
    pub pins: Pins,
}

/// The outcome of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendReport {
    /// Rows that were given.
    pub rows: u64,
    /// Bytes that were stored for them, without the manifest.
    pub bytes: u64,
    /// Version of the table now.
    pub version: u64,
    /// Rows of the table now.
    pub table_rows: u64,
    /// Stored rows, deleted ones too, beyond those that the schema's `max_rows` sized the sums for; such sums may be refused.
    pub rows_beyond: u64,
    /// The version that has brought the batch already, if one has: nothing was added then.
    pub known_since: Option<u64>,
}

/// Adds rows to a table in a directory, on a server or in an object store.
///
/// Many may append at the same time, and devices deliver: each waits for the others of a directory, and elsewhere goes behind whoever
/// was faster. No rows at all add nothing.
///
/// # Errors
/// Rows that do not fit the table's schema; another key, a rollback, damage; [`ClientError::OtherBatch`] for a batch whose name is taken;
/// [`ClientError::Reencrypted`] if the table was replaced meanwhile; [`hush_table::TableError::Busy`] where others keep a directory or a bucket
/// busy; a full disk. The table is then as it was.
///
/// # Cost
/// That of encrypting the rows, one manifest read and one written. Memory as [`crate::encrypt()`].
pub fn append(
    place: TablePlace<'_>,
    options: &AppendOptions,
    key: &OwnerKey,
    progress: &dyn Progress,
) -> Result<AppendReport, ClientError> {
    if options.batch.as_ref().is_some_and(|name| name.is_empty() || name.len() > MAX_BATCH_BYTES) {
        let what = format!("a batch's name has 1 to {MAX_BATCH_BYTES} bytes");
        return Err(ClientError::Usage { what });
    }
    // Before the manifest is read: in a directory nobody else writes meanwhile.
    let destination = Destination::of(place)?;
    let opened = place.open(key.seed(), &options.pins)?;
    let table_id = *opened.manifest.manifest().table_id.as_bytes();
    let (batches, owner) = (opened.roots.batch_key(key.seed(), table_id), key.seed());
    Append { place, options, owner, opened, batches, destination }.run(progress)
}

/// An append under way.
struct Append<'a> {
    place: TablePlace<'a>,
    options: &'a AppendOptions,
    owner: &'a OwnerSeed,
    /// The table as it was when the append began.
    opened: Opened,
    batches: BatchKey,
    destination: Destination<'a>,
}

/// Rows that were encrypted and stored.
struct Stored {
    appender: Appender,
    rows: u64,
    /// The batch that they are; its version is none yet.
    batch: Option<Batch>,
}

/// Encrypts rows as those of a table, and stores their parts where it is.
pub(crate) struct RowStore<'a> {
    pub(crate) opened: &'a Opened,
    pub(crate) destination: &'a Destination<'a>,
    /// Threads.
    pub(crate) threads: usize,
    /// Most bytes that the process may take; `None` for as many as the system allows.
    pub(crate) memory_limit: Option<u64>,
}

/// Parts that no version has yet.
pub(crate) struct StoredRows {
    pub(crate) appender: Appender,
    pub(crate) rows: u64,
    /// One for each chunk, where they were asked for.
    pub(crate) fingerprints: Vec<u128>,
}

impl RowStore<'_> {
    /// Encrypts all rows of a source under fresh seeds, as an append of its own. With `fingerprinted`, chunks get fingerprints, and so
    /// many of the first ones no encryption.
    ///
    /// # Errors
    /// Rows that do not fit the table; too much memory; those of the place.
    pub(crate) fn store(
        &self,
        source: &Source,
        fingerprinted: Option<u32>,
        progress: &dyn Progress,
    ) -> Result<StoredRows, ClientError> {
        let Opened { half, keys, manifest, .. } = self.opened;
        let (schema, mut id) = (&half.schema, [0; 16]);
        hush_ring::os_random(&mut id)?;
        let id = AppendId::from_bytes(id);
        let (tokens, keys) = (Arc::clone(&keys.tokens), keys.present());
        let plan =
            ChunkPlan::new(schema, &keys.columns, &keys.seals, &Lattice).of_append(id).with_prepared(half);
        let plan = plan.with_tokens(tokens);
        let maker = plan.prepare.maker(keys.pads.copied(), keys.runs.copied());
        let pool = thread_pool(self.threads)?;
        let rows = Rows { source, schema, pool: &pool, memory_limit: self.memory_limit };
        let flow = rows.flow(&plan)?;
        let appender = Appender::new(self.destination.store(), manifest.manifest(), id)?;
        let appender = appender.with_part_bytes(flow.part_bytes).with_parts_in_flight(flow.parts_in_flight);
        let mut appender = appender.with_prepared(maker.hook());
        let (mut fingerprints, mut count, mut sent) = (Vec::new(), 0_u64, 0);
        let encrypted = rows.encrypt(&plan, flow, fingerprinted, progress, |made: Made| {
            count += made.rows as u64;
            fingerprints.extend(made.fingerprint);
            if let Some(Encrypted { clear, chunk, prepared }) = made.encrypted {
                maker.add(prepared);
                appender.push(&clear, chunk)?;
                sent = self.destination.send(appender.stored(), sent)?;
            }
            Ok(())
        });
        match encrypted {
            // A day without rows is a day.
            Err(ClientError::Source(SourceError::NoRows)) => {}
            done => done?,
        }
        appender.finish()?;
        self.destination.send(appender.stored(), sent)?;
        Ok(StoredRows { appender, rows: count, fingerprints })
    }
}

impl Append<'_> {
    fn run(&self, progress: &dyn Progress) -> Result<AppendReport, ClientError> {
        let present = &self.opened.manifest;
        let known = self.tag().and_then(|tag| present.manifest().batch(tag)).copied();
        if known.is_none() && self.tag().is_some() && present.manifest().batches.len() >= MAX_BATCHES {
            let what = format!(
                "the table remembers {MAX_BATCHES} batches, as many as it can\n  Ways out: append without a name; encrypt the table anew."
            );
            return Err(ClientError::Usage { what });
        }
        let stored = self.store(known.is_some(), progress)?;
        if let Some(known) = known {
            return self.already(&known, &stored, present);
        }
        if stored.rows == 0 {
            return Ok(self.report(0, 0, present, None));
        }
        self.commit(stored)
    }

    fn tag(&self) -> Option<BatchTag> {
        self.options.batch.as_ref().map(|name| BatchTag::from_bytes(self.batches.tag(name)))
    }

    /// Encrypts the rows and stores their parts; of a batch that is known, only reads them.
    fn store(&self, is_known: bool, progress: &dyn Progress) -> Result<Stored, ClientError> {
        let Self { opened, options, destination, .. } = self;
        let AppendOptions { source, threads, memory_limit, .. } = options;
        let (threads, memory_limit) = (*threads, *memory_limit);
        let rows = RowStore { opened, destination, threads, memory_limit };
        // Of a batch that is known every chunk counts as stored.
        let fingerprinted = options.batch.as_ref().map(|_| if is_known { u32::MAX } else { 0 });
        let StoredRows { appender, rows, fingerprints } = rows.store(source, fingerprinted, progress)?;
        let batch = options.batch.as_ref().zip(self.tag()).map(|(name, tag)| {
            let content = Digest::from_bytes(self.batches.content(name, rows, &fingerprints));
            Batch { tag, rows, content, version: 0 }
        });
        Ok(Stored { appender, rows, batch })
    }

    /// Commits a version with the parts, behind whatever others commit meanwhile.
    fn commit(&self, stored: Stored) -> Result<AppendReport, ClientError> {
        let parts = stored.appender.stored().to_vec();
        let bytes = parts.iter().map(PartEntry::stored_bytes).sum();
        let Self { place, owner, destination, .. } = self;
        let committer = Committer { place: *place, owner, pins: &self.options.pins, destination };
        let mut addition = Addition { append: self, parts: &parts, stored: &stored };
        let version = match committer.commit(&self.opened, &mut addition)? {
            Committed::In(version) => version,
            Committed::Done(known) => return Ok(known),
        };
        stored.appender.keep();
        self.destination.tidy();
        Ok(self.report(stored.rows, bytes, &version, None))
    }

    /// Compares a batch with the one of its name that is in the table.
    fn already(
        &self,
        known: &Batch,
        stored: &Stored,
        present: &SignedManifest,
    ) -> Result<AppendReport, ClientError> {
        if stored.batch.is_some_and(|batch| batch.content == known.content) {
            return Ok(self.report(stored.rows, 0, present, Some(known.version)));
        }
        Err(ClientError::OtherBatch {
            batch: self.options.batch.clone().unwrap_or_default(),
            version: known.version,
            rows: known.rows,
            found: stored.rows,
        })
    }

    fn report(
        &self,
        rows: u64,
        bytes: u64,
        manifest: &SignedManifest,
        known_since: Option<u64>,
    ) -> AppendReport {
        let manifest = manifest.manifest();
        let (version, table_rows) = (manifest.version, manifest.living_rows());
        let rows_beyond = manifest.rows.saturating_sub(self.opened.half.schema.max_rows);
        AppendReport { rows, bytes, version, table_rows, rows_beyond, known_since }
    }
}

/// Stored rows on their way into a version.
struct Addition<'a> {
    append: &'a Append<'a>,
    parts: &'a [PartEntry],
    stored: &'a Stored,
}

impl Edit for Addition<'_> {
    type Done = AppendReport;

    fn next(&mut self, present: &Opened) -> Result<Next<AppendReport>, ClientError> {
        let (present, batch) = (&present.manifest, self.stored.batch);
        let tag = batch.map(|batch| batch.tag);
        if let Some(known) = tag.and_then(|tag| present.manifest().batch(tag)).copied() {
            return Ok(Next::Done(self.append.already(&known, self.stored, present)?));
        }
        let mut next = present.manifest().clone();
        next.version = next.version.saturating_add(1);
        next.rows = self.parts.iter().fold(next.rows, |rows, part| rows.saturating_add(part.rows));
        next.record(ChangeKind::Append, self.stored.rows, 0);
        next.parts.extend_from_slice(self.parts);
        next.lengths.add(self.stored.appender.lengths());
        next.batches.extend(batch.map(|batch| Batch { version: next.version, ..batch }));
        Ok(Next::Version(Box::new(next)))
    }

    fn has_landed(&self, found: &Manifest) -> Result<bool, ClientError> {
        Ok(self.parts.iter().all(|part| found.parts.contains(part)))
    }
}
