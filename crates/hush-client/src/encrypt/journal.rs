// SPDX-License-Identifier: Apache-2.0
//! The journal of an encryption: where the next run of the same command goes on after an interruption (`docs/adr/0014-journal.md`).
//!
//! It names the parts that are stored, and has a digest of the rows in each. The next run reads these rows again, compares and does not
//! encrypt them. It keeps the identity of the encryption and the secrets of its columns, which follow from the owner's seed and ids.
//! No generator's state is kept: every chunk has a fresh seed, also one that was encrypted before and got lost.
//!
//! *Invariants.* All but two identifiers is sealed under a key of this encryption. A journal of another key, schema, workload or data is
//! refused; one of a version that is there, or was seen, is not used.

use std::collections::VecDeque;

use hush_keys::{SealKey, TableKeys};
use hush_plan::schema::file::{from_toml, to_toml};
use hush_plan::{PrivateEncoding, Schema};
use hush_table::source::Source;
use hush_table::{Digest, EncryptionId, PartEntry, TableId, TableIdentity, TableWriter, from_hex, to_hex};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::Encryption;
use crate::error::{ClientError, Unfinished};
use crate::pins::Pins;
use crate::private::PrivateHalf;

const MAGIC: &[u8; 8] = b"HUSHJNL1";
/// The place that the sealed bytes are bound to.
const PLACE: &[u8] = b"journal of an encryption";
/// A journal is written again when this many times its bytes have been stored since: 3 % of what an encryption writes.
const SHARE: u64 = 32;

/// How far an encryption has come.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    /// Version of the table.
    version: u64,
    schema: String,
    encodings: Vec<PrivateEncoding>,
    /// A number of each file, in order ([`Source::file_marks`]).
    files: Vec<u64>,
    /// The roots of its secrets, sealed, in hexadecimal digits.
    roots: String,
    parts: Vec<DonePart>,
}

/// A part that is stored, and a digest of its rows.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DonePart {
    part: PartEntry,
    rows: Digest,
}

/// A journal that was found.
pub(super) struct Journal {
    table_id: TableId,
    encryption: EncryptionId,
    state: State,
    /// Schema and encodings, with the secrets' ids of the interrupted run.
    pub(super) half: PrivateHalf,
}

impl Journal {
    /// The journal of an interrupted run of this very encryption, which would have the identity `fresh`; `None` if there is none that is
    /// of use.
    ///
    /// # Errors
    /// [`ClientError::Unfinished`] for one that is, but of other data or under another key or schema.
    pub(super) fn of(
        encryption: &Encryption<'_>,
        pins: &Pins,
        fresh: &TableIdentity,
    ) -> Result<Option<Self>, ClientError> {
        let place = || encryption.store.place();
        let Some(bytes) = encryption.store.journal()? else { return Ok(None) };
        let refused = |what| Err(ClientError::Unfinished { place: place(), what });
        let Some(journal) = Self::open(encryption, &bytes) else { return refused(Unfinished::Sealed) };
        let state = &journal.state;
        // A version that is there, or that the owner has seen, may have been published from: its secrets encrypt nothing more.
        let is_stale = state.version != fresh.version
            || (fresh.version > 1 && journal.table_id != fresh.table_id)
            || pins.version_of(journal.table_id)?.is_some_and(|seen| seen >= state.version);
        if is_stale {
            return Ok(None);
        }
        let half = encryption.half;
        if state.schema != to_toml(&half.schema) || !is_alike(&state.encodings, &half.encodings) {
            return refused(Unfinished::Schema);
        }
        let marks = encryption.source.file_marks();
        let known = state.files.iter().map(Some).chain(std::iter::repeat(None));
        if let Some(((file, _), _)) = marks.iter().zip(known).find(|((_, mark), known)| Some(mark) != *known)
        {
            return refused(Unfinished::File { file: file.clone() });
        }
        if marks.len() < state.files.len() {
            return refused(Unfinished::Files);
        }
        Ok(Some(journal))
    }

    /// The identity under which it goes on.
    pub(super) fn identity(&self, fresh: TableIdentity) -> TableIdentity {
        TableIdentity { table_id: self.table_id, encryption: self.encryption, ..fresh }
    }

    /// The roots of its secrets, as they were sealed.
    pub(super) fn sealed_roots(&self) -> Vec<u8> {
        from_hex(&self.state.roots).unwrap_or_default()
    }

    /// The parts that were stored.
    pub(super) fn parts(&self) -> Vec<PartEntry> {
        self.state.parts.iter().map(|done| done.part.clone()).collect()
    }

    fn open(encryption: &Encryption<'_>, bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (table_id, rest) = rest.split_first_chunk::<16>()?;
        let (id, sealed) = rest.split_first_chunk::<16>()?;
        let keys = encryption.owner.of_table(*table_id, *id);
        let plain = keys.journal_seal().open(PLACE, sealed).ok()?;
        let state: State = serde_json::from_slice(&plain).ok()?;
        let schema: Schema = from_toml(&state.schema).ok()?;
        let half = PrivateHalf::new(schema, state.encodings.clone());
        let (table_id, encryption) = (TableId::from_bytes(*table_id), EncryptionId::from_bytes(*id));
        Some(Self { table_id, encryption, state, half })
    }
}

/// Whether encodings differ in the ids of secrets alone, and share these alike.
fn is_alike(a: &[PrivateEncoding], b: &[PrivateEncoding]) -> bool {
    let numbered = |encodings: &[PrivateEncoding]| -> Vec<PrivateEncoding> {
        let first = |id: &str| encodings.iter().position(|other| other.secret_id == id).unwrap_or(0);
        let number = |encoding: &PrivateEncoding| PrivateEncoding {
            secret_id: first(&encoding.secret_id).to_string(),
            ..encoding.clone()
        };
        encodings.iter().map(number).collect()
    };
    numbered(a) == numbered(b)
}

/// Follows an encryption: compares rows with those of parts that are stored, and keeps the journal.
pub(super) struct Recorder {
    head: Vec<u8>,
    seal: SealKey,
    state: State,
    place: String,
    /// Parts whose rows were read.
    read: usize,
    /// Chunks of these parts, and rows of those behind them.
    first_row: u64,
    /// Fingerprints of the chunks behind them.
    chunks: VecDeque<u128>,
    /// Bytes of parts that the journal does not have yet, and its own.
    unwritten_bytes: u64,
    journal_bytes: u64,
}

impl Recorder {
    /// Follows a writer of `half`, with what a journal knows of its stored parts.
    pub(super) fn new(
        identity: &TableIdentity,
        keys: TableKeys<'_>,
        (half, sealed_roots): (&PrivateHalf, &[u8]),
        source: &Source,
        journal: Option<Journal>,
        place: String,
    ) -> Self {
        let head = [MAGIC, identity.table_id.as_bytes().as_slice(), identity.encryption.as_bytes()].concat();
        let state = State {
            version: identity.version,
            schema: to_toml(&half.schema),
            encodings: half.encodings.clone(),
            files: source.file_marks().into_iter().map(|(_, mark)| mark).collect(),
            roots: to_hex(sealed_roots),
            parts: journal.map_or_else(Vec::new, |journal| journal.state.parts),
        };
        let (seal, chunks) = (keys.journal_seal(), VecDeque::new());
        Self { head, seal, state, place, read: 0, first_row: 0, chunks, unwritten_bytes: 0, journal_bytes: 0 }
    }

    /// Forgets the parts behind those that the writer has. Gives the number of chunks that are stored.
    pub(super) fn begin(&mut self, writer: &TableWriter) -> u32 {
        self.state.parts.truncate(writer.stored().len());
        writer.stored().iter().map(|part| part.chunks).sum()
    }

    /// Takes the fingerprint of the next chunk's rows.
    ///
    /// # Errors
    /// [`ClientError::Unfinished`] if a stored part had other rows.
    pub(super) fn chunk(&mut self, rows: u128) -> Result<(), ClientError> {
        self.chunks.push_back(rows);
        let Some(done) = self.state.parts.get(self.read) else { return Ok(()) };
        if self.chunks.len() < done.part.chunks as usize {
            return Ok(());
        }
        let (first, last) = (self.first_row + 1, self.first_row + done.part.rows);
        let found = joined(self.chunks.drain(..));
        if found != done.rows {
            return Err(ClientError::Unfinished {
                place: self.place.clone(),
                what: Unfinished::Rows { first, last },
            });
        }
        (self.read, self.first_row) = (self.read + 1, last);
        Ok(())
    }

    /// Refuses data that ended before the stored parts did.
    ///
    /// # Errors
    /// [`ClientError::Unfinished`].
    pub(super) fn end(&self) -> Result<(), ClientError> {
        if self.read == self.state.parts.len() {
            return Ok(());
        }
        Err(ClientError::Unfinished { place: self.place.clone(), what: Unfinished::Files })
    }

    /// Writes the journal, if the writer has stored enough since.
    ///
    /// # Errors
    /// [`ClientError::Table`], [`ClientError::Seal`].
    pub(super) fn note(&mut self, writer: &TableWriter) -> Result<(), ClientError> {
        for part in writer.stored().iter().skip(self.state.parts.len()) {
            let rows = joined(self.chunks.drain(..part.chunks as usize));
            let files = [part.clear, part.encrypted].into_iter().flatten();
            self.unwritten_bytes += files.map(|file| file.bytes).sum::<u64>();
            self.state.parts.push(DonePart { part: part.clone(), rows });
            (self.read, self.first_row) = (self.read + 1, self.first_row + part.rows);
        }
        if self.unwritten_bytes == 0 || self.unwritten_bytes < SHARE * self.journal_bytes {
            return Ok(());
        }
        let json = serde_json::to_vec(&self.state)
            .map_err(|_| ClientError::Internal { what: "a journal does not serialise" })?;
        let bytes = [&self.head[..], &self.seal.seal(PLACE, &Zeroizing::new(json))?].concat();
        writer.note(&bytes)?;
        (self.unwritten_bytes, self.journal_bytes) = (0, bytes.len() as u64);
        Ok(())
    }
}

/// The digest of a part's rows, from the fingerprints of its chunks.
fn joined(chunks: impl Iterator<Item = u128>) -> Digest {
    Digest::of(&chunks.flat_map(u128::to_le_bytes).collect::<Vec<u8>>())
}

#[cfg(test)]
mod tests;
