// SPDX-License-Identifier: Apache-2.0
//! Tables of the owner's own, of rows that came back. They are in memory, nothing in them is encrypted, and they live for one question. The
//! engine takes their clear columns as they are; plain values of encodings are written as those of every table are.

use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use hush_keys::OwnerSeed;
use hush_plan::Schema;
use hush_table::{CHUNK_ROWS, EncodedChunk, TableLayout, TableStore, TableWriter};

use crate::cells::Cells;
use crate::encrypt::new_identity;
use crate::error::ClientError;
use crate::private::PrivateHalf;
use crate::scheme::NoOp;
use crate::table::OwnedTable;

/// A table of these clear columns, with plain values for the encodings of `half`, under a key that nobody keeps.
///
/// # Errors
/// [`ClientError::Table`] for columns that no table can have.
pub(crate) fn table(
    half: PrivateHalf,
    clear: &RecordBatch,
    quantities: &[Cells],
    threads: usize,
) -> Result<OwnedTable, ClientError> {
    let chunks = cut(clear.num_rows()).map(|(first, count)| clear.slice(first, count));
    table_of(half, (&clear.schema(), chunks.collect()), quantities, threads)
}

/// The first row and the number of rows of each chunk of a table of so many.
pub(super) fn cut(rows: usize) -> impl Iterator<Item = (usize, usize)> {
    let chunk = CHUNK_ROWS as usize;
    (0..rows).step_by(chunk).map(move |first| (first, chunk.min(rows - first)))
}

/// Fewest rows of a chunk where its neighbours would fill it: fewer are copied together, as every chunk costs some time of its own.
const FEWEST_ROWS: usize = CHUNK_ROWS as usize / 4;

/// Batches of these columns as those of the chunks of a table in memory, as they are where they have enough rows and not too many.
///
/// # Errors
/// [`ClientError::Arrow`] for batches of other columns.
pub(super) fn in_chunks(
    schema: &SchemaRef,
    batches: Vec<RecordBatch>,
) -> Result<Vec<RecordBatch>, ClientError> {
    let (mut chunks, mut held, mut rows) = (Vec::with_capacity(batches.len()), Vec::new(), 0);
    let join = |held: &mut Vec<RecordBatch>| match held.len() {
        1 => Ok(held.pop()),
        0 => Ok(None),
        _ => concat_batches(schema, &std::mem::take(held)).map(Some),
    };
    let pieces = batches
        .iter()
        .flat_map(|batch| cut(batch.num_rows()).map(|(first, count)| batch.slice(first, count)));
    for piece in pieces {
        if rows + piece.num_rows() > CHUNK_ROWS as usize {
            chunks.extend(join(&mut held)?);
            rows = 0;
        }
        rows += piece.num_rows();
        held.push(piece);
        if rows >= FEWEST_ROWS {
            chunks.extend(join(&mut held)?);
            rows = 0;
        }
    }
    chunks.extend(join(&mut held)?);
    Ok(chunks)
}

/// As [`table`], of a batch for each chunk.
///
/// # Errors
/// As [`table`].
pub(super) fn table_of(
    half: PrivateHalf,
    (schema, chunks): (&SchemaRef, Vec<RecordBatch>),
    quantities: &[Cells],
    threads: usize,
) -> Result<OwnedTable, ClientError> {
    let owner = OwnerSeed::generate()?;
    let store = TableStore::memory();
    // Its key ends here, and nothing has to be forgotten.
    let half = PrivateHalf { schema: Schema { erasable: false, ..half.schema }, ..half };
    let identity = new_identity(&owner, half.schema.table.clone())?;
    let keys = owner.of_table(*identity.table_id.as_bytes(), *identity.encryption.as_bytes());
    let layout = TableLayout {
        clear: schema.clone(),
        encodings: half.encodings.iter().map(|encoding| encoding.public.clone()).collect(),
        sealed_columns: 0,
    };
    let writer = TableWriter::begin(&store, identity, layout)?;
    let mut writer = writer.without_clear_files().with_parts_in_flight(threads);
    let mut rows = 0;
    for (index, clear) in chunks.iter().enumerate() {
        let (first, count) = (rows, clear.num_rows());
        rows += count;
        let encoded = quantities.iter().map(|cells| cells.to_plain(first..first + count).encode().into());
        let mut seed = [0_u8; 32];
        hush_ring::os_random(&mut seed)?;
        let chunk = EncodedChunk {
            index: index as u32,
            rows: count as u32,
            seed,
            encoded: encoded.collect(),
            sealed: Vec::new(),
        };
        writer.push(clear, chunk)?;
    }
    let sealed_schema = half.seal(keys)?;
    let version = writer.finish(sealed_schema, |bytes| owner.sign(bytes))?;
    let limits = hush_exec::Limits {
        max_groups: rows.max(1) as u64,
        max_answer_bytes: u64::MAX,
        ..hush_exec::Limits::default()
    };
    OwnedTable::open_in_memory((&store, version, chunks), &owner, &NoOp, threads, limits)
}

#[cfg(test)]
mod tests;
