// SPDX-License-Identifier: Apache-2.0
//! Writing a whole table from a stream of chunks in bounded memory.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use hush_params::Params;
use hush_plan::Encoding;

use super::cutter::{PartCutter, PreparedOfPart};
use super::{TableStore, files::Lock};
use crate::digest::{EncryptionId, SecretId, TableId};
use crate::error::TableError;
use crate::manifest::{
    BODY_FORMAT, ChainDefinition, ChangeKind, ClearColumn, DeviceRules, KeyEntry, KeyKind, Lengths, Manifest,
    PartEntry, SignedManifest, key_id,
};
use crate::part::{CHUNK_ROWS, EncodedChunk, FileKind, WrittenPart};

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
    cutter: PartCutter,
    /// Rows of the version that this one replaces.
    replaced_rows: u64,
    /// Whether the manifest says what this version changes.
    records: bool,
    finished: bool,
    _lock: Option<Lock>,
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
        let mut replaced_rows = 0;
        if let Some((present, _)) = store.load_present()? {
            store.require_successor(&present, head.table_id, head.version)?;
            replaced_rows = present.manifest().living_rows();
            head.changes.clone_from(&present.manifest().changes);
            // Who was shut out stays out.
            head.devices.revoked.clone_from(&present.manifest().devices.revoked);
        }
        head.parts = stored;
        store.keep_present(&mut head)?;
        if head.parts.is_empty() {
            store.remove_journal()?;
        }
        if lock.is_some() {
            store.sweep_where(Some(&head), |_| true)?;
        }
        let stored = std::mem::take(&mut head.parts);
        let cutter = PartCutter::new(store, &head, layout.clear, stored);
        let (store, records, finished) = (store.clone(), false, false);
        Ok(Self { store, head, verifying_key, cutter, replaced_rows, records, finished, _lock: lock })
    }

    /// Cuts parts at the first chunk that reaches `bytes` instead of [`crate::part::PART_TARGET_BYTES`]: more files, less memory.
    #[must_use]
    pub fn with_part_bytes(mut self, bytes: u64) -> Self {
        self.cutter.set_part_bytes(bytes);
        self
    }

    /// Writes up to `parts` parts at a time, each on a thread of its own and twice in memory.
    #[must_use]
    pub fn with_parts_in_flight(mut self, parts: usize) -> Self {
        self.cutter.set_parts_in_flight(parts);
        self
    }

    /// Stores with each part what `prepared` gives for it. Parts that an interrupted writer has stored keep theirs.
    #[must_use]
    pub fn with_prepared(mut self, prepared: PreparedOfPart) -> Self {
        self.cutter.set_prepared(prepared);
        self
    }

    /// Writes no clear columns: for a table in memory whose maker has them, and hands them to the engine as they are. The manifest names a file
    /// for each part's, which nobody finds; it is signed, but not stored. A chunk with fewer rows than others ends its part, and more may follow.
    #[must_use]
    pub fn without_clear_files(mut self) -> Self {
        self.cutter.keep_no_clear();
        self
    }

    /// Writes down in the manifest what this version changes, behind what the version before it has written down.
    #[must_use]
    pub fn with_record(mut self) -> Self {
        self.records = true;
        self
    }

    /// Stores the roots of the table's secrets beside its schema, sealed by its owner.
    #[must_use]
    pub fn with_roots(mut self, sealed: Vec<u8>) -> Self {
        self.head.sealed_roots = sealed;
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
        self.cutter.push(clear, chunk)
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
        self.cutter.stored()
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
        self.cutter.settle();
    }

    /// Rows taken so far.
    pub fn rows(&self) -> u64 {
        self.cutter.rows()
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
        self.cutter.finish()?;
        self.head.parts = self.cutter.stored().to_vec();
        self.head.rows = self.cutter.rows();
        // Without those of parts that an interrupted writer has stored.
        self.head.lengths = self.cutter.lengths().clone();
        // The bounds of parts that an interrupted writer has stored are read from these.
        let bounds = self.cutter.take_bounds();
        if !self.cutter.keeps_no_clear() {
            self.store.put_zones_with(&mut self.head, bounds)?;
        }
        let mut manifest = self.head.clone();
        if self.records {
            manifest.record(ChangeKind::Encrypt, manifest.rows, self.replaced_rows);
        }
        manifest.sealed_schema = sealed_schema;
        let signed = SignedManifest::sign(manifest, &self.verifying_key, sign)?;
        // A version without its clear files is for this process alone.
        if !self.cutter.keeps_no_clear() {
            self.store.commit_locked(&signed)?;
        }
        self.finished = true;
        // The version that it would go on to is there: a journal that stays is of no use.
        let _ = self.store.remove_journal();
        Ok(signed)
    }
}

impl Drop for TableWriter {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        let _ = self.store.remove_journal();
        // What cannot be removed now, the next writer's sweep removes.
        self.cutter.settle();
        self.head.parts = self.cutter.stored().to_vec();
        let _ = self.store.forget_parts(&self.head);
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
        domain: 0,
        earlier: Vec::new(),
        rotating: false,
        version: identity.version,
        key_id: key_id(&identity.verifying_key),
        predecessors: Vec::new(),
        rows: 0,
        chunk_rows: CHUNK_ROWS,
        clear_columns: layout.clear.fields().iter().map(column).collect::<Result<_, _>>()?,
        encodings: layout.encodings.clone(),
        sealed_columns: layout.sealed_columns,
        unsealed: Vec::new(),
        generation: 0,
        generations: Vec::new(),
        parts: Vec::new(),
        devices: DeviceRules::default(),
        chains: Vec::new(),
        keys: Vec::new(),
        zones: None,
        batches: Vec::new(),
        changes: Vec::new(),
        lengths: Lengths::default(),
        sealed_roots: Vec::new(),
        sealed_schema: Vec::new(),
    })
}
