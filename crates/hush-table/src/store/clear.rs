// SPDX-License-Identifier: Apache-2.0
//! The clear columns of stored parts, written anew with other columns.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, new_null_array};
use arrow::datatypes::SchemaRef;

use super::TableStore;
use super::append::PartBounds;
use crate::digest::Digest;
use crate::error::{PartFault, TableError};
use crate::manifest::{Manifest, PartEntry, PartFile};
use crate::part::{CHUNK_ROWS, ClearPart, ClearPartWriter, ZonesWriter};

/// Clear columns that parts are to have.
#[derive(Clone, Debug)]
pub struct ClearColumns {
    /// Names and types.
    pub schema: SchemaRef,
    /// For each the column before that it is; `None` for one without values yet.
    pub before: Vec<Option<usize>>,
}

impl TableStore {
    /// Stores the clear columns of a part of `manifest`, which is in `from`, with other columns. Gives the file, if there are any columns, and its
    /// bounds.
    ///
    /// # Errors
    /// Those of [`TableStore::open_clear`] and of storing.
    ///
    /// # Cost
    /// The file once read, decompressed in memory, and once written.
    pub fn put_clear_anew(
        &self,
        from: &TableStore,
        (manifest, entry): (&Manifest, &PartEntry),
        columns: &ClearColumns,
    ) -> Result<(Option<PartFile>, PartBounds), TableError> {
        let ClearColumns { schema, before } = columns;
        let mut bounds = PartBounds::none(schema);
        if schema.fields().is_empty() {
            return Ok((None, bounds));
        }
        let parquet = |cause: arrow::error::ArrowError| TableError::Parquet {
            part: entry.clear.map_or(Digest::from_bytes([0; 32]), |file| file.digest),
            source: cause.into(),
        };
        let mut writer = ClearPartWriter::new(schema)?;
        let mut push = |rows: usize, batch: Option<&RecordBatch>| {
            let arrays = schema.fields().iter().zip(before).map(|(field, source)| {
                let found = source.and_then(|source| batch?.columns().get(source).cloned());
                found.unwrap_or_else(|| new_null_array(field.data_type(), rows))
            });
            let arrays: Vec<ArrayRef> = arrays.collect();
            writer.push(&RecordBatch::try_new(Arc::clone(schema), arrays).map_err(parquet)?)
        };
        match entry.clear {
            Some(_) => {
                let part = from.open_clear(manifest, entry)?;
                part.for_each(CHUNK_ROWS as usize, &mut |batch| push(batch.num_rows(), Some(batch)))??;
            }
            None => {
                for chunk in 0..u64::from(entry.chunks) {
                    let rows = entry.rows.saturating_sub(chunk * u64::from(CHUNK_ROWS));
                    push(rows.min(u64::from(CHUNK_ROWS)) as usize, None)?;
                }
            }
        }
        let written = writer.finish()?;
        if written.rows != entry.rows {
            let fault = PartFault::Rows { found: written.rows, expected: entry.rows };
            return Err(TableError::BadPart { part: written.file.digest, fault });
        }
        bounds.0.push(ZonesWriter::new(schema).row(&ClearPart::of_written(&written, schema)?)?)?;
        self.put_part(&written)?;
        Ok((Some(written.file), bounds))
    }
}

#[cfg(test)]
mod tests;
