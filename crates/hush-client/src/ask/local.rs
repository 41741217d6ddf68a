// SPDX-License-Identifier: Apache-2.0
//! Tables of the owner's own, of rows that came back. They are in memory, nothing in them is encrypted, and they live for one question.

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
pub(super) fn table(
    half: PrivateHalf,
    clear: &RecordBatch,
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
        clear: clear.schema(),
        encodings: half.encodings.iter().map(|encoding| encoding.public.clone()).collect(),
        sealed_columns: 0,
    };
    let writer = TableWriter::begin(&store, identity, layout)?;
    let mut writer = writer.with_plain_columns().with_parts_in_flight(threads);
    let rows = clear.num_rows();
    for (index, first) in (0..rows).step_by(CHUNK_ROWS as usize).enumerate() {
        let count = (rows - first).min(CHUNK_ROWS as usize);
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
        writer.push(&clear.slice(first, count), chunk)?;
    }
    let sealed_schema = half.seal(keys)?;
    writer.finish(sealed_schema, |bytes| owner.sign(bytes))?;
    let limits = hush_exec::Limits {
        max_groups: rows.max(1) as u64,
        max_answer_bytes: u64::MAX,
        ..hush_exec::Limits::default()
    };
    OwnedTable::open_store(&store, &owner, &NoOp, threads, limits)
}
