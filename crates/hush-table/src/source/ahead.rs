// SPDX-License-Identifier: Apache-2.0
//! The typed pass on several threads. One thread cuts CSV and Arrow batches into chunks; those of Parquet are known from the start.
//! Whoever takes a chunk makes its values, and decodes them.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use super::arrow_rows::Slice;
use super::cut::Cut;
use super::dataset::Piece;
use super::lines::{self, Lines};
use super::parquet_file::ParquetColumns;
use super::typed::{Rows, TypedReader, Typer};
use super::{CHUNK_ROWS, RowBatch, SourceError};

/// A chunk whose values have not been made, or one that was too long to wait for them.
pub struct RawChunk {
    first_row: u64,
    content: RawRows,
}

enum RawRows {
    /// Values.
    Batch(RowBatch),
    /// Whole records of CSV.
    Lines(Lines),
    /// Those of several files.
    Pieces(Vec<Piece>),
    /// A chunk of Parquet that has not been read.
    Parquet { file: ParquetRows, number: u64 },
    /// Rows of Arrow batches.
    Slices(Vec<Slice>),
}

/// Columns of a Parquet file and their positions in it.
#[derive(Clone)]
struct ParquetRows {
    columns: Arc<ParquetColumns>,
    positions: Arc<[usize]>,
}

/// Chunks in order. Those that are cut end after the first error.
pub struct RawChunks(Chunks);

/// What a cutter gives: `None` at the end of the file.
type CutChunk = Result<Option<RawChunk>, SourceError>;

enum Chunks {
    /// The first chunks, which the consumer cuts, and how many more of them: a small file needs no thread.
    First { cutter: Box<Cutter>, left: usize, depth: usize },
    /// What a thread of their own reads ahead.
    Ahead(Receiver<CutChunk>),
    /// Nothing more.
    Ended,
    /// A file, and the number of its next chunk.
    Parquet { file: ParquetRows, next: u64 },
}

/// Makes the values of chunks, on any thread, in any order.
///
/// The first error in the order of chunks, of [`RawChunks`] or of this, is the one that the [`TypedReader`] ends with.
pub struct ChunkTyper {
    typer: Typer,
}

impl TypedReader {
    /// Leaves the making of values to a [`ChunkTyper`], the decoding of Parquet too. Other data are cut: the first `depth` chunks by
    /// their consumer, the others by a thread of their own, at most `depth` chunks ahead. A chunk that takes more than `chunk_bytes`
    /// before it has values gets them as it is cut; with 0 bytes every chunk does.
    pub fn chunks_ahead(self, depth: usize, chunk_bytes: usize) -> (RawChunks, ChunkTyper) {
        let typer = ChunkTyper { typer: self.typer.another() };
        if let Rows::Arrow(rows) = &self.rows
            && let (Some((columns, positions)), true) = (rows.file_columns(), chunk_bytes > 0)
        {
            let file = ParquetRows { columns, positions: positions.into() };
            return (RawChunks(Chunks::Parquet { file, next: 0 }), typer);
        }
        let cutter = Box::new(Cutter { reader: self, chunk_bytes });
        (RawChunks(Chunks::First { cutter, left: depth, depth }), typer)
    }
}

impl Chunks {
    /// The next chunk, and what is left after it. With an error or the end of the file nothing is left.
    fn next(self) -> (CutChunk, Self) {
        match self {
            Self::First { cutter, left: 0, depth } => match cutter.ahead(depth) {
                Ok(receiver) => Self::Ahead(receiver).next(),
                Err(source) => (Err(SourceError::Read { source }), Self::Ended),
            },
            Self::First { mut cutter, left, depth } => match cutter.next() {
                Ok(Some(chunk)) => (Ok(Some(chunk)), Self::First { cutter, left: left - 1, depth }),
                ended => (ended, Self::Ended),
            },
            Self::Ahead(receiver) => {
                // A thread that goes away without saying that the file has ended has failed: its rows must not be taken for all.
                let gone = |_| SourceError::Read {
                    source: std::io::Error::other("the thread that reads has failed"),
                };
                match receiver.recv().map_err(gone).and_then(|chunk| chunk) {
                    Ok(Some(chunk)) => (Ok(Some(chunk)), Self::Ahead(receiver)),
                    ended => (ended, Self::Ended),
                }
            }
            Self::Ended => (Ok(None), Self::Ended),
            Self::Parquet { file, next } => {
                let first_row = next * CHUNK_ROWS as u64;
                let content = RawRows::Parquet { file: file.clone(), number: next };
                let chunk = (content.rows() > 0).then_some(RawChunk { first_row, content });
                (Ok(chunk), Self::Parquet { file, next: next + 1 })
            }
        }
    }
}

impl Iterator for RawChunks {
    type Item = Result<RawChunk, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (chunk, left) = std::mem::replace(&mut self.0, Chunks::Ended).next();
        self.0 = left;
        chunk.transpose()
    }
}

impl ChunkTyper {
    /// One for another thread.
    #[must_use]
    pub fn another(&self) -> Self {
        Self { typer: self.typer.another() }
    }

    /// The values of a chunk.
    ///
    /// # Errors
    /// As the items of [`TypedReader`].
    pub fn read(&mut self, chunk: RawChunk) -> Result<RowBatch, SourceError> {
        let batch = self.typed(chunk);
        if batch.is_err() {
            // The faults of a chunk stay in its builders.
            self.typer = self.typer.another();
        }
        batch
    }

    fn typed(&mut self, chunk: RawChunk) -> Result<RowBatch, SourceError> {
        let RawChunk { first_row, content } = chunk;
        match content {
            RawRows::Batch(batch) => Ok(batch),
            RawRows::Lines(lines) => {
                let expected = lines.records;
                let batch = self.typer.lines(first_row, lines)?;
                lines::check_count(batch.rows, expected)?;
                Ok(batch)
            }
            RawRows::Pieces(pieces) => self.typer.pieces(first_row, pieces),
            RawRows::Parquet { file, number } => {
                let batch = file.columns.read(number)?;
                self.slices(first_row, vec![Slice::whole(batch, &file.positions)])
            }
            RawRows::Slices(slices) => self.slices(first_row, slices),
        }
    }

    fn slices(&mut self, first_row: u64, slices: Vec<Slice>) -> Result<RowBatch, SourceError> {
        let mut slices = slices.into_iter();
        self.typer.chunk(first_row, |typer| typer.fill_slices(first_row, |_| Ok(slices.next())))
    }
}

/// Cuts the file into chunks.
struct Cutter {
    reader: TypedReader,
    chunk_bytes: usize,
}

impl Cutter {
    /// Goes on in a thread, which ends when the file does or when the consumer goes away: it needs no join.
    fn ahead(mut self: Box<Self>, depth: usize) -> std::io::Result<Receiver<CutChunk>> {
        let (sender, receiver) = sync_channel(depth);
        let thread = std::thread::Builder::new().name("hush-read".to_owned());
        thread.spawn(move || {
            loop {
                let chunk = self.next();
                let is_last = !matches!(chunk, Ok(Some(_)));
                if sender.send(chunk).is_err() || is_last {
                    return;
                }
            }
        })?;
        Ok(receiver)
    }

    fn next(&mut self) -> CutChunk {
        let first_row = self.reader.next_row;
        let cut = match &mut self.reader.rows {
            // Without memory for chunks that wait, values wait.
            _ if self.chunk_bytes == 0 => Cut::Unfit,
            Rows::Arrow(rows) => rows.cut(CHUNK_ROWS, self.chunk_bytes).map(RawRows::Slices),
            Rows::Files(files) => files.cut(CHUNK_ROWS, self.chunk_bytes).map(RawRows::Pieces),
            Rows::Csv(records) => records.cut(CHUNK_ROWS, self.chunk_bytes).map(RawRows::Lines),
        };
        match cut {
            Cut::End if first_row == 0 => Err(SourceError::NoRows),
            Cut::End => Ok(None),
            Cut::Rows(content) => {
                self.reader.next_row += content.rows() as u64;
                Ok(Some(RawChunk { first_row, content }))
            }
            Cut::Unfit => {
                let batch = self.reader.advance()?;
                Ok(batch.map(|batch| RawChunk { first_row, content: RawRows::Batch(batch) }))
            }
        }
    }
}

impl RawRows {
    fn rows(&self) -> usize {
        match self {
            Self::Batch(batch) => batch.rows,
            Self::Lines(lines) => lines.records,
            Self::Pieces(pieces) => pieces.iter().map(|piece| piece.lines.records).sum(),
            Self::Parquet { file, number } => file.columns.rows(*number),
            Self::Slices(slices) => slices.iter().map(|slice| slice.to - slice.from).sum(),
        }
    }
}
