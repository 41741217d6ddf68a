// SPDX-License-Identifier: Apache-2.0
//! Cuts a stream of chunks into parts and stores them, in bounded memory.

use std::collections::VecDeque;
use std::thread::JoinHandle;

use arrow::array::RecordBatch;
use arrow::datatypes::{FieldRef, SchemaRef};
use bytes::Bytes;

use super::TableStore;
use crate::digest::{AppendId, Digest};
use crate::error::{Operation, PartFault, TableError};
use crate::manifest::{Appended, Lengths, Manifest, PartEntry, PartFile, StoredColumns};
use crate::part::{
    CHUNK_ROWS, ClearPart, ClearPartWriter, EncodedChunk, EncryptedPartWriter, MAX_PART_CHUNKS,
    PART_TARGET_BYTES, PartCubes, PartRuns, WrittenPart, ZonesWriter, bytes_of,
};

/// Gives what is prepared of a part that is cut: it is told the number of the part's first chunk (as that of
/// [`EncodedChunk::index`]), and how many chunks it has. Parts are cut in order, each after its last chunk was pushed and before the next one
/// is.
pub type PreparedOfPart = Box<dyn FnMut(u32, u32) -> Prepared + Send>;

/// What is stored of a part beside its rows, so that questions need not read them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// Its cubes, if it is to have some.
    pub cubes: Option<PartCubes>,
    /// Its sorted runs, if it is to have some.
    pub runs: Option<PartRuns>,
}

/// Takes the chunks of an encryption or of an append in order. A part is written by a thread of its own while the next one is collected: at
/// most two parts are in memory, one of them twice (some 100 MB in full parts); more with [`PartCutter::set_parts_in_flight`].
/// Whoever has it calls [`PartCutter::settle`] before it goes.
pub(super) struct PartCutter {
    store: TableStore,
    clear: SchemaRef,
    /// Columns of the encrypted files; `None` if the table has none.
    encrypted: Option<StoredColumns<'static>>,
    /// The domain of the parts.
    domain: u32,
    /// Their generation.
    generation: u32,
    /// The append whose parts these are.
    append: Option<AppendId>,
    /// Whether clear columns stay with whoever pushes them, and are not written. A short chunk ends its part then, not the table.
    keeps_no_clear: bool,
    /// Size at which a part is cut.
    part_bytes: u64,
    /// How many chunks are together in ring elements, which no cut parts.
    together: u32,
    next_chunk: u32,
    rows: u64,
    /// A short chunk has come: it must have been the last.
    ended: bool,
    open: Option<OpenPart>,
    prepared: Option<PreparedOfPart>,
    /// Most parts that are written at a time.
    most_in_flight: usize,
    /// Those that are, in order.
    in_flight: VecDeque<JoinHandle<Result<PartAndBounds, TableError>>>,
    stored: Vec<PartEntry>,
    /// Bytes of the columns that this cutter has taken.
    lengths: Lengths,
    /// Bounds of the parts that this cutter has stored.
    zones: ZonesWriter,
}

/// A part that is stored, and the bounds of its clear columns.
type PartAndBounds = (PartEntry, Option<RecordBatch>);

/// The part being collected.
#[derive(Debug)]
struct OpenPart {
    clear: Option<ClearHalf>,
    encrypted: Option<EncryptedPartWriter>,
    domain: u32,
    generation: u32,
    append: Option<Appended>,
    rows: u64,
    chunks: u32,
}

impl PartCutter {
    /// Cuts parts for the columns of `table`, behind `stored`, whose rows and chunks it counts on.
    pub(super) fn new(
        store: &TableStore,
        table: &Manifest,
        clear: SchemaRef,
        stored: Vec<PartEntry>,
    ) -> Self {
        Self {
            store: store.clone(),
            zones: ZonesWriter::new(&clear),
            clear,
            encrypted: Some(table.stored_columns()).filter(|columns| !columns.is_empty()),
            domain: table.domain,
            generation: table.generation,
            append: None,
            keeps_no_clear: false,
            part_bytes: PART_TARGET_BYTES,
            together: table.chunks_together(),
            next_chunk: stored.iter().map(|part| part.chunks).sum(),
            rows: stored.iter().map(|part| part.rows).sum(),
            ended: false,
            open: None,
            prepared: None,
            most_in_flight: 1,
            in_flight: VecDeque::new(),
            stored,
            lengths: Lengths::default(),
        }
    }

    /// Cuts the parts of an append, whose chunks are numbered from 0.
    pub(super) fn for_append(store: &TableStore, table: &Manifest, id: AppendId) -> Result<Self, TableError> {
        Ok(Self { append: Some(id), ..Self::new(store, table, table.clear_schema()?, Vec::new()) })
    }

    pub(super) fn set_part_bytes(&mut self, bytes: u64) {
        self.part_bytes = bytes.min(PART_TARGET_BYTES);
    }

    pub(super) fn keep_no_clear(&mut self) {
        self.keeps_no_clear = true;
    }

    /// Whether clear columns are not written.
    pub(super) fn keeps_no_clear(&self) -> bool {
        self.keeps_no_clear
    }

    pub(super) fn set_prepared(&mut self, prepared: PreparedOfPart) {
        self.prepared = Some(prepared);
    }

    pub(super) fn set_parts_in_flight(&mut self, parts: usize) {
        self.most_in_flight = parts.max(1);
    }

    /// Rows taken so far, those of parts that were stored before among them.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// The parts that are stored, in order.
    pub(super) fn stored(&self) -> &[PartEntry] {
        &self.stored
    }

    /// Bytes of the columns of texts, and of those under a seal, that it has taken.
    pub(super) fn lengths(&self) -> &Lengths {
        &self.lengths
    }

    /// Takes the next chunk.
    ///
    /// # Errors
    /// As [`super::TableWriter::push`].
    pub(super) fn push(&mut self, clear: &RecordBatch, chunk: EncodedChunk) -> Result<(), TableError> {
        self.check(clear, &chunk).map_err(|fault| TableError::BadChunk { chunk: chunk.index, fault })?;
        let mut part = match self.open.take() {
            Some(part) => part,
            None => self.new_part()?,
        };
        let (rows, sealed) = (chunk.rows, chunk.sealed.clone());
        let pushed = part.push(clear, chunk);
        if pushed.is_ok() {
            self.count(clear, &sealed, rows);
            self.next_chunk = self.next_chunk.saturating_add(1);
            self.rows = self.rows.saturating_add(u64::from(rows));
            self.ended = rows < CHUNK_ROWS && !self.keeps_no_clear;
        }
        let full = part.is_full(self.part_bytes) && part.chunks.is_multiple_of(self.together);
        if part.chunks > 0 {
            self.open = Some(part);
        }
        pushed?;
        if rows < CHUNK_ROWS && !self.ended {
            return self.finish();
        }
        while self.in_flight.front().is_some_and(JoinHandle::is_finished) {
            self.join_oldest()?;
        }
        // The last part waits for nobody: it is stored by `finish`.
        if full && !self.ended { self.cut() } else { Ok(()) }
    }

    /// Stores the open part. All parts are in [`PartCutter::stored`] then.
    ///
    /// # Errors
    /// Those of storing parts.
    pub(super) fn finish(&mut self) -> Result<(), TableError> {
        while !self.in_flight.is_empty() {
            self.join_oldest()?;
        }
        if let Some(part) = self.open.take() {
            let prepared = self.prepared_of(&part);
            let stored = part.store(&self.store, &self.clear, prepared)?;
            self.take(stored)?;
        }
        Ok(())
    }

    /// The bounds of the parts that it has stored.
    pub(super) fn take_bounds(&mut self) -> ZonesWriter {
        std::mem::replace(&mut self.zones, ZonesWriter::new(&self.clear))
    }

    /// Waits for the parts that are being written, whatever becomes of them. Those that are stored are in [`PartCutter::stored`] then.
    pub(super) fn settle(&mut self) {
        let written = self.in_flight.drain(..).filter_map(|thread| Some(thread.join().ok()?.ok()?.0));
        self.stored.extend(written);
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
        let same = |found: &FieldRef, expected: &FieldRef| {
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

    /// Counts the bytes of a chunk that was taken.
    fn count(&mut self, clear: &RecordBatch, sealed: &[Bytes], rows: u32) {
        let clear = Some(clear).filter(|_| !self.clear.fields().is_empty());
        let numbers = self.encrypted.as_ref().map_or(&[][..], |columns| &columns.sealed);
        self.lengths.count(clear, (numbers, sealed), rows);
    }

    fn new_part(&self) -> Result<OpenPart, TableError> {
        let first = self.next_chunk;
        let begin = || match self.keeps_no_clear {
            true => Ok(ClearHalf::Elsewhere { bytes: 0 }),
            false => Ok::<_, TableError>(ClearHalf::Written(Box::new(ClearPartWriter::new(&self.clear)?))),
        };
        let clear = (!self.clear.fields().is_empty()).then(begin).transpose()?;
        let encrypted = self.encrypted.as_ref();
        let encrypted =
            encrypted.map(|columns| EncryptedPartWriter::new(&columns.encodings, &columns.sealed, first));
        let append = self.append.map(|id| Appended { id, first });
        let (domain, generation) = (self.domain, self.generation);
        Ok(OpenPart { clear, encrypted, domain, generation, append, rows: 0, chunks: 0 })
    }

    /// Hands the open part to a thread, once there is room for one more.
    fn cut(&mut self) -> Result<(), TableError> {
        let Some(part) = self.open.take() else { return Ok(()) };
        while self.in_flight.len() >= self.most_in_flight {
            self.join_oldest()?;
        }
        let (store, clear, prepared) = (self.store.clone(), self.clear.clone(), self.prepared_of(&part));
        let thread = std::thread::Builder::new()
            .name("hush-part".to_owned())
            .spawn(move || part.store(&store, &clear, prepared));
        let thread = thread.map_err(|cause| self.failed(cause))?;
        self.in_flight.push_back(thread);
        Ok(())
    }

    /// What is prepared of a part that is complete.
    fn prepared_of(&mut self, part: &OpenPart) -> Prepared {
        let first = self.next_chunk.saturating_sub(part.chunks);
        self.prepared.as_mut().map(|prepared| prepared(first, part.chunks)).unwrap_or_default()
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
        self.stored.push(entry);
        bounds.map_or(Ok(()), |bounds| self.zones.push(bounds))
    }

    fn failed(&self, source: std::io::Error) -> TableError {
        TableError::Io { operation: Operation::Write, place: self.store.place(), source }
    }
}

/// The clear half of a part being collected.
#[derive(Debug)]
enum ClearHalf {
    Written(Box<ClearPartWriter>),
    /// Not kept here. A manifest names a file for it, of the bytes that the rows have in memory; there is none.
    Elsewhere {
        bytes: u64,
    },
}

impl ClearHalf {
    fn push(&mut self, rows: &RecordBatch) -> Result<(), TableError> {
        match self {
            Self::Written(writer) => writer.push(rows)?,
            Self::Elsewhere { bytes } => *bytes = bytes.saturating_add(bytes_of(rows)),
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Written(writer) => writer.bytes(),
            Self::Elsewhere { bytes } => *bytes,
        }
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
        let clear = self.clear.as_ref().map_or(0, ClearHalf::bytes);
        let encrypted = self.encrypted.as_ref().map_or(0, EncryptedPartWriter::bytes);
        self.chunks >= MAX_PART_CHUNKS || clear.max(encrypted) >= part_bytes
    }

    /// Writes all its files and stores them.
    fn store(
        self,
        store: &TableStore,
        columns: &SchemaRef,
        prepared: Prepared,
    ) -> Result<PartAndBounds, TableError> {
        let keep = |part: WrittenPart| store.put_part(&part).map(|()| part.file);
        let (clear, bounds) = match self.clear {
            None => (None, None),
            Some(ClearHalf::Elsewhere { bytes }) => {
                (Some(PartFile { digest: Digest::from_bytes([0; 32]), bytes: bytes.max(1) }), None)
            }
            Some(ClearHalf::Written(writer)) => {
                let written = writer.finish()?;
                let bounds = ZonesWriter::new(columns).row(&ClearPart::of_written(&written, columns)?)?;
                (Some(keep(written)?), Some(bounds))
            }
        };
        let encrypted = self.encrypted.map(|writer| writer.finish().and_then(keep)).transpose()?;
        let cubes = prepared.cubes.map(|cubes| store.put_cubes(&cubes)).transpose()?;
        let runs = prepared.runs.map(|runs| store.put_runs(&runs)).transpose()?;
        Ok((
            PartEntry {
                rows: self.rows,
                chunks: self.chunks,
                clear,
                encrypted,
                delivery: None,
                append: self.append,
                first_chunk: None,
                dead: None,
                cubes,
                runs,
                domain: self.domain,
                generation: self.generation,
            },
            bounds,
        ))
    }
}

impl std::fmt::Debug for PartCutter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PartCutter({} rows, {} parts stored)", self.rows, self.stored.len())
    }
}
