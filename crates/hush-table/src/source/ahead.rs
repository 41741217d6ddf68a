// SPDX-License-Identifier: Apache-2.0
//! The typed pass on several threads. One thread cuts CSV and Arrow batches into chunks; those of Parquet are known from the start.
//! Whoever takes a chunk makes its values, and decodes them.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use super::arrow_rows::Slice;
use super::cut::Cut;
use super::lines::Lines;
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

/// Chunks in order. Those that a thread reads ahead end after the first error.
pub struct RawChunks(Chunks);

enum Chunks {
    /// What a thread of their own reads ahead.
    Cut { receiver: Receiver<Result<Option<RawChunk>, SourceError>>, ended: bool },
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
    /// Leaves the making of values to a [`ChunkTyper`], the decoding of Parquet too. Other data are cut by a thread of their own, at most
    /// `depth` chunks ahead of its consumer. A chunk that takes more than `chunk_bytes` before it has values gets them as it is cut; with
    /// 0 bytes every chunk does.
    ///
    /// # Errors
    /// [`SourceError::Read`] if the thread cannot be started.
    pub fn chunks_ahead(
        self,
        depth: usize,
        chunk_bytes: usize,
    ) -> Result<(RawChunks, ChunkTyper), SourceError> {
        let typer = ChunkTyper { typer: self.typer.another() };
        if let Rows::Arrow(rows) = &self.rows
            && let (Some((columns, positions)), true) = (rows.file_columns(), chunk_bytes > 0)
        {
            let file = ParquetRows { columns, positions: positions.into() };
            return Ok((RawChunks(Chunks::Parquet { file, next: 0 }), typer));
        }
        let (sender, receiver) = sync_channel(depth);
        let mut cutter = Cutter { reader: self, chunk_bytes };
        // The thread ends when the file does or when the consumer goes away: it needs no join.
        std::thread::Builder::new()
            .name("hush-read".to_owned())
            .spawn(move || {
                loop {
                    let chunk = cutter.next();
                    let is_last = !matches!(chunk, Ok(Some(_)));
                    if sender.send(chunk).is_err() || is_last {
                        return;
                    }
                }
            })
            .map_err(|source| SourceError::Read { source })?;
        Ok((RawChunks(Chunks::Cut { receiver, ended: false }), typer))
    }
}

impl Iterator for RawChunks {
    type Item = Result<RawChunk, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (receiver, ended) = match &mut self.0 {
            Chunks::Parquet { file, next } => {
                let number = *next;
                *next += 1;
                let content = RawRows::Parquet { file: file.clone(), number };
                return (content.rows() > 0)
                    .then(|| Ok(RawChunk { first_row: number * CHUNK_ROWS as u64, content }));
            }
            Chunks::Cut { ended: true, .. } => return None,
            Chunks::Cut { receiver, ended } => (receiver, ended),
        };
        // A thread that goes away without saying that the file has ended has failed: its rows must not be taken for all.
        let gone =
            |_| SourceError::Read { source: std::io::Error::other("the thread that reads has failed") };
        let chunk = receiver.recv().map_err(gone).and_then(|chunk| chunk);
        *ended = !matches!(chunk, Ok(Some(_)));
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
                // Cutting and reading follow the same rules. If they did not, values would stand in other rows.
                if batch.rows == expected { Ok(batch) } else { Err(miscounted(batch.rows, expected)) }
            }
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
    fn next(&mut self) -> Result<Option<RawChunk>, SourceError> {
        let first_row = self.reader.next_row;
        let cut = match &mut self.reader.rows {
            // Without memory for chunks that wait, values wait.
            _ if self.chunk_bytes == 0 => Cut::Unfit,
            Rows::Arrow(rows) => rows.cut(CHUNK_ROWS, self.chunk_bytes).map(RawRows::Slices),
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
            Self::Parquet { file, number } => file.columns.rows(*number),
            Self::Slices(slices) => slices.iter().map(|slice| slice.to - slice.from).sum(),
        }
    }
}

fn miscounted(found: usize, expected: usize) -> SourceError {
    let text = format!("a chunk has {found} records where {expected} were cut from the file");
    SourceError::Read { source: std::io::Error::other(text) }
}
