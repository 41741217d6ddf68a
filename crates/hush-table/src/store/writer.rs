// SPDX-License-Identifier: Apache-2.0
//! Writing a whole table from a stream of chunks in bounded memory.

use std::collections::VecDeque;
use std::thread::JoinHandle;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use hush_params::Params;
use hush_plan::Encoding;

use super::{TableStore, files::Lock};
use crate::digest::{EncryptionId, SecretId, TableId};
use crate::error::{Operation, PartFault, TableError};
use crate::manifest::{
    BODY_FORMAT, ChainDefinition, ClearColumn, DeviceRules, KeyEntry, KeyKind, Manifest, PartEntry,
    SignedManifest, key_id,
};
use crate::part::{
    CHUNK_ROWS, ClearPart, ClearPartWriter, EncodedChunk, EncryptedPartWriter, FileKind, MAX_PART_CHUNKS,
    PART_TARGET_BYTES, WrittenPart, ZonesWriter,
};

/// Which table is written.
#[derive(Clone, Debug)]
pub struct TableIdentity {
    /// Its name, as SQL names it.
    pub table: String,
    /// Its number: random for a new table, kept for a new version.
    pub table_id: TableId,
    /// Drawn for this encryption.
    pub encryption: EncryptionId,
    /// 1 for a new table, above the present one for a new version.
    pub version: u64,
    /// The owner's Ed25519 verifying key; the table's key id is derived from it.
    pub verifying_key: [u8; 32],
}

/// What columns the table has.
#[derive(Clone, Debug)]
pub struct TableLayout {
    /// Clear columns.
    pub clear: SchemaRef,
    /// Public halves of the encodings, ids rising.
    pub encodings: Vec<Encoding>,
    /// Number of sealed columns.
    pub sealed_columns: u32,
}

/// Which evaluation keys are stored.
#[derive(Clone, Debug, PartialEq)]
pub struct KeysToStore {
    /// For which operations.
    pub kind: KeyKind,
    /// Their chain.
    pub params: Params,
    /// Unit of errors: the plaintext modulus in BGV, 1 in BFV and CKKS.
    pub unit: u64,
    /// Name of the secret.
    pub secret: SecretId,
}

/// Takes the chunks of a table in order, cuts parts and stores them, and commits the manifest at the end.
///
/// While it exists it holds the directory's lock. A part is written by a thread of its own while the next one
/// is collected: at most two parts are in memory, one of them twice (some 100 MB in full parts); more with
/// [`TableWriter::with_parts_in_flight`]. Dropped without [`TableWriter::finish`] it leaves
/// no new manifest and removes the parts that it has stored; killed, it leaves files that the next writer removes.
#[derive(Debug)]
pub struct TableWriter {
    store: TableStore,
    head: Manifest,
    verifying_key: [u8; 32],
    clear: SchemaRef,
    /// Size at which a part is cut.
    part_bytes: u64,
    next_chunk: u32,
    /// A short chunk has come: it must have been the last.
    ended: bool,
    open: Option<OpenPart>,
    /// Most parts that are written at a time.
    most_in_flight: usize,
    /// Those that are, in order.
    in_flight: VecDeque<JoinHandle<Result<PartAndBounds, TableError>>>,
    /// Bounds of the parts that this writer has stored.
    zones: ZonesWriter,
    finished: bool,
    _lock: Option<Lock>,
}

/// A part that is stored, and the bounds of its clear columns.
type PartAndBounds = (PartEntry, Option<RecordBatch>);

/// The part being collected.
#[derive(Debug)]
struct OpenPart {
    clear: Option<ClearPartWriter>,
    encrypted: Option<EncryptedPartWriter>,
    rows: u64,
    chunks: u32,
}

impl TableWriter {
    /// Begins a table or a new version of one, after removing what interrupted writers left in the directory.
    ///
    /// # Errors
    /// [`TableError::OtherTable`] or [`TableError::StaleVersion`] if the place holds another table or this version
    /// already; [`TableError::Busy`]; [`TableError::ClearType`]; [`TableError::BadManifest`] for an identity or
    /// layout that no manifest can have; [`TableError::Io`]. The place is left as it was.
    pub fn begin(
        store: &TableStore,
        identity: TableIdentity,
        layout: TableLayout,
    ) -> Result<Self, TableError> {
        Self::resume(store, identity, layout, Vec::new())
    }

    /// As [`TableWriter::begin`], behind the parts that an interrupted writer of the same identity and layout has stored, up to the
    /// first of them that is not here. [`TableWriter::stored`] has those that are; the next chunk is the one behind them.
    ///
    /// # Errors
    /// As [`TableWriter::begin`].
    pub fn resume(
        store: &TableStore,
        identity: TableIdentity,
        layout: TableLayout,
        stored: Vec<PartEntry>,
    ) -> Result<Self, TableError> {
        let verifying_key = identity.verifying_key;
        let mut head = head(identity, &layout)?;
        head.check()?;
        let lock = store.lock()?;
        if let Some((present, _)) = store.load_present()? {
            store.require_successor(&present, head.table_id, head.version)?;
            // Who was shut out stays out.
            head.devices.revoked.clone_from(&present.manifest().devices.revoked);
        }
        head.parts = stored;
        store.keep_present(&mut head)?;
        head.rows = head.parts.iter().map(|part| part.rows).sum();
        if head.parts.is_empty() {
            store.remove_journal()?;
        }
        if lock.is_some() {
            store.sweep_where(Some(&head), |_| true)?;
        }
        let next_chunk = head.parts.iter().map(|part| part.chunks).sum();
        Ok(Self {
            store: store.clone(),
            head,
            verifying_key,
            zones: ZonesWriter::new(&layout.clear),
            clear: layout.clear,
            part_bytes: PART_TARGET_BYTES,
            next_chunk,
            ended: false,
            open: None,
            most_in_flight: 1,
            in_flight: VecDeque::new(),
            finished: false,
            _lock: lock,
        })
    }

    /// Cuts parts at the first chunk that reaches `bytes` instead of [`PART_TARGET_BYTES`]: more files, less memory.
    #[must_use]
    pub fn with_part_bytes(mut self, bytes: u64) -> Self {
        self.part_bytes = bytes.min(PART_TARGET_BYTES);
        self
    }

    /// Writes up to `parts` parts at a time, each on a thread of its own and twice in memory.
    #[must_use]
    pub fn with_parts_in_flight(mut self, parts: usize) -> Self {
        self.most_in_flight = parts.max(1);
        self
    }

    /// Takes the next chunk: its clear rows (ignored if the table has no clear columns) and its blobs (none if it
    /// has nothing encrypted).
    ///
    /// # Errors
    /// [`TableError::BadChunk`] if the chunk is not the next one or does not fit the layout (it may be corrected
    /// and pushed again unless the clear rows were at fault); otherwise what went wrong with storing an earlier
    /// part. After such an error drop the writer.
    pub fn push(&mut self, clear: &RecordBatch, chunk: EncodedChunk) -> Result<(), TableError> {
        self.check(clear, &chunk).map_err(|fault| TableError::BadChunk { chunk: chunk.index, fault })?;
        let mut part = match self.open.take() {
            Some(part) => part,
            None => self.new_part()?,
        };
        let rows = chunk.rows;
        let pushed = part.push(clear, chunk);
        if pushed.is_ok() {
            self.next_chunk = self.next_chunk.saturating_add(1);
            self.head.rows = self.head.rows.saturating_add(u64::from(rows));
            self.ended = rows < CHUNK_ROWS;
        }
        let full = part.is_full(self.part_bytes);
        if part.chunks > 0 {
            self.open = Some(part);
        }
        pushed?;
        while self.in_flight.front().is_some_and(JoinHandle::is_finished) {
            self.join_oldest()?;
        }
        // The last part waits for nobody: it is stored by `finish`.
        if full && !self.ended { self.cut() } else { Ok(()) }
    }

    /// Stores evaluation keys beside the parts; the manifest will name them. `keys` is their object (`docs/formats/chain.md`, kind 8),
    /// over parameters that the manifest defines if they are no preset.
    ///
    /// # Errors
    /// [`TableError::BadManifest`] with a [`crate::ManifestFault::Key`] for keys of another size than kind and parameters give, or that are
    /// there already; then nothing is stored. [`TableError::Io`].
    pub fn put_keys(&mut self, keys: KeysToStore, object: impl Into<Bytes>) -> Result<(), TableError> {
        let KeysToStore { kind, params, unit, secret } = keys;
        let written = WrittenPart::new(FileKind::Key, object, 0, 0);
        let mut head = self.head.clone();
        if let (Params::Chain(chain), None) = (&params, params.code()) {
            let definition = ChainDefinition::of(chain);
            if !head.chains.contains(&definition) {
                head.chains.push(definition);
            }
        }
        head.keys.push(KeyEntry { kind, params: params.name(), unit, secret, file: written.file });
        // The rows are not complete yet: the rules of keys alone.
        Manifest { rows: 0, parts: Vec::new(), ..head.clone() }.check()?;
        self.head = head;
        self.store.put_part(&written)
    }

    /// The parts that are stored, in order.
    pub fn stored(&self) -> &[PartEntry] {
        &self.head.parts
    }

    /// Keeps `journal` beside the stored parts, for whoever goes on after an interruption. It goes when the table is there, and when this
    /// writer is dropped.
    ///
    /// # Errors
    /// [`TableError::Io`].
    pub fn note(&self, journal: &[u8]) -> Result<(), TableError> {
        self.store.write_journal(journal)
    }

    /// Ends without a table. The journal and the parts that it names stay.
    pub fn suspend(mut self) {
        self.finished = true;
        // Nobody writes here once the lock is gone.
        self.in_flight.drain(..).for_each(|thread| drop(thread.join()));
    }

    /// Rows taken so far.
    pub fn rows(&self) -> u64 {
        self.head.rows
    }

    /// Stores the last part, has the manifest signed, and commits it: from then on the table exists.
    ///
    /// `sign` gets the bytes to sign and returns the Ed25519 signature that belongs to the table's verifying key.
    ///
    /// # Errors
    /// Those of storing parts, [`SignedManifest::sign`] and [`TableStore::commit`]; the place then holds what it
    /// held before.
    pub fn finish(
        mut self,
        sealed_schema: Vec<u8>,
        sign: impl FnOnce(&[u8]) -> [u8; 64],
    ) -> Result<SignedManifest, TableError> {
        while !self.in_flight.is_empty() {
            self.join_oldest()?;
        }
        if let Some(part) = self.open.take() {
            let stored = part.store(&self.store, &self.clear)?;
            self.take(stored)?;
        }
        // The bounds of parts that an interrupted writer has stored are read from these.
        let bounds = std::mem::replace(&mut self.zones, ZonesWriter::new(&self.clear));
        self.store.put_zones_with(&mut self.head, bounds)?;
        let mut manifest = self.head.clone();
        manifest.sealed_schema = sealed_schema;
        let signed = SignedManifest::sign(manifest, &self.verifying_key, sign)?;
        self.store.commit_locked(&signed)?;
        self.finished = true;
        // The version that it would go on to is there: a journal that stays is of no use.
        let _ = self.store.remove_journal();
        Ok(signed)
    }

    fn check(&self, clear: &RecordBatch, chunk: &EncodedChunk) -> Result<(), PartFault> {
        if chunk.index != self.next_chunk {
            return Err(PartFault::ChunkIndex { found: chunk.index, expected: self.next_chunk });
        }
        if self.ended {
            return Err(PartFault::ShortChunk { index: chunk.index.saturating_sub(1) });
        }
        if !(1..=CHUNK_ROWS).contains(&chunk.rows) {
            return Err(PartFault::Rows { found: chunk.rows.into(), expected: CHUNK_ROWS.into() });
        }
        if self.clear.fields().is_empty() {
            return Ok(());
        }
        if clear.num_rows() as u64 != u64::from(chunk.rows) {
            return Err(PartFault::Rows { found: clear.num_rows() as u64, expected: chunk.rows.into() });
        }
        let same = |found: &arrow::datatypes::FieldRef, expected: &arrow::datatypes::FieldRef| {
            found.name() == expected.name() && found.data_type() == expected.data_type()
        };
        let (found, expected) = (clear.schema_ref().fields(), self.clear.fields());
        let other =
            expected.iter().enumerate().find(|(i, column)| !found.get(*i).is_some_and(|f| same(f, column)));
        match other {
            Some((_, column)) => Err(PartFault::ColumnForm { column: column.name().clone() }),
            None => Ok(()),
        }
    }

    fn new_part(&self) -> Result<OpenPart, TableError> {
        let clear =
            (!self.clear.fields().is_empty()).then(|| ClearPartWriter::new(&self.clear)).transpose()?;
        let encrypted = self.head.has_encrypted_files().then(|| {
            EncryptedPartWriter::new(&self.head.encoding_ids(), self.head.sealed_columns, self.next_chunk)
        });
        Ok(OpenPart { clear, encrypted, rows: 0, chunks: 0 })
    }

    /// Hands the open part to a thread, once there is room for one more.
    fn cut(&mut self) -> Result<(), TableError> {
        let Some(part) = self.open.take() else { return Ok(()) };
        while self.in_flight.len() >= self.most_in_flight {
            self.join_oldest()?;
        }
        let (store, clear) = (self.store.clone(), self.clear.clone());
        let thread = std::thread::Builder::new()
            .name("hush-part".to_owned())
            .spawn(move || part.store(&store, &clear));
        let thread = thread.map_err(|cause| self.failed(cause))?;
        self.in_flight.push_back(thread);
        Ok(())
    }

    /// Waits for the oldest part that is being written. Parts stand in the manifest in the order of their rows.
    fn join_oldest(&mut self) -> Result<(), TableError> {
        let Some(thread) = self.in_flight.pop_front() else { return Ok(()) };
        // The panic's own message is on standard error already.
        let panicked = |_| self.failed(std::io::Error::other("the thread that writes parts panicked"));
        let stored = thread.join().unwrap_or_else(|panic| Err(panicked(panic)))?;
        self.take(stored)
    }

    fn take(&mut self, (entry, bounds): PartAndBounds) -> Result<(), TableError> {
        self.head.parts.push(entry);
        bounds.map_or(Ok(()), |bounds| self.zones.push(bounds))
    }

    fn failed(&self, source: std::io::Error) -> TableError {
        TableError::Io { operation: Operation::Write, place: self.store.place(), source }
    }
}

impl Drop for TableWriter {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        let _ = self.store.remove_journal();
        // What cannot be removed now, the next writer's sweep removes.
        let stored = self.in_flight.drain(..).filter_map(|thread| Some(thread.join().ok()?.ok()?.0));
        self.head.parts.extend(stored);
        let _ = self.store.forget_parts(&self.head);
    }
}

impl OpenPart {
    fn push(&mut self, clear: &RecordBatch, chunk: EncodedChunk) -> Result<(), TableError> {
        let rows = chunk.rows;
        // Encrypted first: it checks the chunk and takes all or nothing.
        if let Some(encrypted) = &mut self.encrypted {
            encrypted.push(chunk)?;
        }
        if let Some(writer) = &mut self.clear {
            writer.push(clear)?;
        }
        self.rows += u64::from(rows);
        self.chunks += 1;
        Ok(())
    }

    fn is_full(&self, part_bytes: u64) -> bool {
        let clear = self.clear.as_ref().map_or(0, ClearPartWriter::bytes);
        let encrypted = self.encrypted.as_ref().map_or(0, EncryptedPartWriter::bytes);
        self.chunks >= MAX_PART_CHUNKS || clear.max(encrypted) >= part_bytes
    }

    /// Writes both files and stores them.
    fn store(self, store: &TableStore, columns: &SchemaRef) -> Result<PartAndBounds, TableError> {
        let keep = |part: WrittenPart| store.put_part(&part).map(|()| part.file);
        let clear = self.clear.map(ClearPartWriter::finish).transpose()?;
        let bounds = clear
            .as_ref()
            .map(|written| ZonesWriter::new(columns).row(&ClearPart::of_written(written, columns)?));
        let bounds = bounds.transpose()?;
        let clear = clear.map(keep).transpose()?;
        let encrypted = self.encrypted.map(|writer| writer.finish().and_then(keep)).transpose()?;
        Ok((PartEntry { rows: self.rows, chunks: self.chunks, clear, encrypted, delivery: None }, bounds))
    }
}

/// The manifest of a table without rows yet.
fn head(identity: TableIdentity, layout: &TableLayout) -> Result<Manifest, TableError> {
    let column = |field: &arrow::datatypes::FieldRef| ClearColumn::new(field.name(), field.data_type());
    Ok(Manifest {
        format: BODY_FORMAT,
        table: identity.table,
        table_id: identity.table_id,
        encryption: identity.encryption,
        version: identity.version,
        key_id: key_id(&identity.verifying_key),
        rows: 0,
        chunk_rows: CHUNK_ROWS,
        clear_columns: layout.clear.fields().iter().map(column).collect::<Result<_, _>>()?,
        encodings: layout.encodings.clone(),
        sealed_columns: layout.sealed_columns,
        parts: Vec::new(),
        devices: DeviceRules::default(),
        chains: Vec::new(),
        keys: Vec::new(),
        zones: None,
        sealed_schema: Vec::new(),
    })
}
