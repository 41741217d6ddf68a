// SPDX-License-Identifier: Apache-2.0
//! Pieces of runs that are in memory together: chunks of some parts, read on all threads.

use arrow::buffer::BooleanBuffer;
use hush_plan::EncodingId;
use hush_table::{ChunkRow, EncryptedPart};

use crate::error::ExecError;
use crate::scheme::{ChunkInput, ProductChunk};
use crate::stop::Stop;
use crate::table::{self, PartRef, Snapshot};

/// A part with the chunks in which something counts, by rising runs.
pub(super) struct LoadedPart<'a> {
    pub(super) part: PartRef<'a>,
    /// The part's file; `None` if nothing of it is needed.
    pub(super) encrypted: Option<EncryptedPart>,
    pub(super) chunks: Vec<Chunk>,
}

/// A chunk in which something counts, with those that are in its ring elements.
pub(super) struct Chunk {
    pub(super) run: u32,
    /// Of the first, in the table.
    pub(super) index: u32,
    /// Of its first ring element, in the run.
    pub(super) number: u32,
    /// The columns of all operands.
    pub(super) operands: Vec<EncodingId>,
    /// They, each once and ascending.
    pub(super) columns: Vec<EncodingId>,
    /// A bit for each row of all; `None` if every slot counts.
    pub(super) counted: Option<BooleanBuffer>,
    /// A bit for each row and mask of factors.
    pub(super) masks: Vec<BooleanBuffer>,
    /// The group of each row; empty without keys.
    pub(super) groups: Vec<u32>,
}

/// How much is read together.
pub(super) struct Bounds {
    pub(super) threads: usize,
    /// Bytes of chunks that are together, not 0.
    pub(super) chunk_bytes: u64,
    /// How many are together, not 0.
    pub(super) together: u64,
    /// Bytes of all chunks of a piece; one chunk may have more.
    pub(super) piece_bytes: u64,
    /// Bytes of the chunks of parts that are open together: those of a piece, or of several.
    pub(super) window_bytes: u64,
}

/// Chunks of one part that one thread reads in a row.
pub(super) struct Span<'a> {
    part: PartRef<'a>,
    encrypted: &'a EncryptedPart,
    chunks: &'a [Chunk],
}

/// Chunks of one run that are in memory together.
pub(super) struct Piece<'a> {
    pub(super) run: u32,
    pub(super) spans: Vec<Span<'a>>,
    chunks: u64,
}

impl LoadedPart<'_> {
    /// Refuses a part whose file was changed since it was opened.
    ///
    /// # Errors
    /// [`ExecError::Corrupt`].
    pub(super) fn expect_unchanged(&self) -> Result<(), ExecError> {
        self.encrypted.as_ref().map_or(Ok(()), |part| Ok(part.expect_unchanged()?))
    }
}

/// Cuts the chunks of some parts, in their order.
pub(super) fn pieces<'a>(parts: &'a [LoadedPart<'_>], bounds: &Bounds) -> Vec<Piece<'a>> {
    let most = (bounds.piece_bytes / bounds.chunk_bytes).max(1);
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    for LoadedPart { part, encrypted, chunks } in parts {
        let Some(encrypted) = encrypted else { continue };
        let at_once = table::chunks_at_once(chunks.len(), bounds.threads);
        let at_once = at_once.min(usize::try_from(most).unwrap_or(usize::MAX));
        for of_run in chunks.chunk_by(|before, after| before.run == after.run) {
            for chunks in of_run.chunks(at_once) {
                let Some(run) = chunks.first().map(|chunk| chunk.run) else { continue };
                let (span, count) = (Span { part: *part, encrypted, chunks }, chunks.len() as u64);
                match pieces.last_mut() {
                    Some(piece) if piece.run == run && piece.chunks + count <= most => {
                        piece.spans.push(span);
                        piece.chunks += count;
                    }
                    _ => pieces.push(Piece { run, spans: vec![span], chunks: count }),
                }
            }
        }
    }
    pieces
}

impl<'a> Span<'a> {
    /// Reads its chunks.
    ///
    /// # Errors
    /// [`ExecError::Corrupt`], [`ExecError::Io`]; those of [`Stop::check`].
    pub(super) fn read(&self, stop: &Stop) -> Result<Vec<ChunkRow>, ExecError> {
        let mut rows = Vec::with_capacity(self.chunks.len());
        for alike in self.chunks.chunk_by(|before, after| before.columns == after.columns) {
            stop.check()?;
            let columns = alike.first().map_or(&[][..], |chunk| &chunk.columns);
            let projection = table::projection((columns, &[]), alike.iter().map(|chunk| chunk.index));
            for row in self.encrypted.chunks(&projection)? {
                rows.push(row?);
            }
        }
        Ok(rows)
    }

    /// Its chunks as they were read, with the rows that count.
    pub(super) fn inputs<'r>(
        &self,
        snapshot: &'r Snapshot,
        rows: &'r [ChunkRow],
    ) -> impl Iterator<Item = ProductChunk<'r>>
    where
        'a: 'r,
    {
        let part = self.part;
        rows.iter().zip(self.chunks).map(move |(row, chunk)| ProductChunk {
            input: ChunkInput { snapshot, part, columns: &chunk.columns, row },
            operands: &chunk.operands,
            number: chunk.number,
            counted: chunk.counted.as_ref(),
            masks: &chunk.masks,
            groups: &chunk.groups,
        })
    }
}
