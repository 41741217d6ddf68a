// SPDX-License-Identifier: Apache-2.0
//! The zone file of a table: bounds of the clear columns of all its parts, as the footers of the parts have them. Whoever prunes parts by a
//! condition reads this one file, and opens only the parts that are left.
//!
//! *Words.* Row `i` of the file is part `i` of the manifest; of parts behind the last row, which devices have delivered, nothing is known. For a clear column at position `k` it has `min<k>` and `max<k>` of the column's
//! type and `nulls<k>`, each NULL where nothing is known. Floating-point columns have none ([`ClearPart::bounds`]).
//!
//! *Invariants.* The manifest names the file by its digest, so its owner has signed it. A part that has no bounds here is read as one of a
//! table without zones.

// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt64Array, new_null_array};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use arrow::error::ArrowError;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::contain::contain;
use super::{ClearPart, ColumnBounds, FileKind, MAX_UNCOMPRESSED_BYTES, PartSource, WrittenPart};
use crate::digest::Digest;
use crate::error::{Measured, PartFault, TableError};
use crate::manifest::{MAX_ZONES_BYTES, Manifest};

/// Fewest parts of a table that gets a zone file: below, the footers of the parts cost less than one more file in every version.
pub const MIN_ZONED_PARTS: usize = 8;

/// Bounds of the clear columns of all parts of a table.
#[derive(Clone, Debug)]
pub struct Zones {
    rows: RecordBatch,
    /// For each clear column, where its bounds begin in a row.
    places: Vec<Option<usize>>,
}

/// Collects the bounds of parts in the order of the table.
#[derive(Clone, Debug)]
pub(crate) struct ZonesWriter {
    schema: SchemaRef,
    /// Rows so far, in batches each at least twice as long as the next.
    batches: Vec<RecordBatch>,
}

/// What the rows of a table with these clear columns look like, and where those of each column begin.
fn layout(clear: &Schema) -> (SchemaRef, Vec<Option<usize>>) {
    let (mut fields, mut places) = (Vec::new(), Vec::new());
    for (index, field) in clear.fields().iter().enumerate() {
        let kind = field.data_type();
        let has_bounds = !kind.is_floating() && !kind.is_nested();
        places.push(has_bounds.then_some(fields.len()));
        if has_bounds {
            let types = [("min", kind.clone()), ("max", kind.clone()), ("nulls", DataType::UInt64)];
            fields.extend(types.map(|(name, kind)| Field::new(format!("{name}{index}"), kind, true)));
        }
    }
    (Arc::new(Schema::new(fields)), places)
}

impl Zones {
    /// Number of parts whose bounds are here, from the first of the table on.
    pub fn parts(&self) -> usize {
        self.rows.num_rows()
    }

    /// The bounds of a clear column (its position in the schema), an entry for each part; `None` for a column without bounds.
    pub fn bounds(&self, column: usize) -> Option<ColumnBounds> {
        let place = (*self.places.get(column)?)?;
        let [min, max, nulls] = self.rows.columns().get(place..)?.first_chunk()?;
        let null_count = nulls.as_primitive_opt::<UInt64Type>()?.clone();
        Some(ColumnBounds { min: min.clone(), max: max.clone(), null_count })
    }

    /// Whether it says of a part what the part's own footer says.
    pub(crate) fn agrees(&self, part: usize, clear: &ClearPart) -> Result<bool, TableError> {
        let row = ZonesWriter::new(clear.schema()).row(clear)?;
        Ok(part < self.parts() && self.rows.slice(part, 1) == row)
    }

    /// Reads the zone file of a manifest. The caller has checked its digest.
    pub(crate) fn open(source: &PartSource, manifest: &Manifest, digest: Digest) -> Result<Self, TableError> {
        let rows = contain(digest, source, || read(source, manifest, digest))?;
        let (_, places) = layout(manifest.clear_schema()?.as_ref());
        Ok(Self { rows, places })
    }
}

fn read(source: &PartSource, manifest: &Manifest, digest: Digest) -> Result<RecordBatch, TableError> {
    let parquet = |source| TableError::Parquet { part: digest, source };
    let bad = |fault| TableError::BadPart { part: digest, fault };
    let (schema, _) = layout(manifest.clear_schema()?.as_ref());
    let builder = ParquetRecordBatchReaderBuilder::try_new(source.clone()).map_err(parquet)?;
    let groups = builder.metadata().row_groups().iter();
    let sizes = groups.map(|group| u64::try_from(group.total_byte_size()).unwrap_or(u64::MAX));
    let found = sizes.fold(0, u64::saturating_add);
    if found > MAX_UNCOMPRESSED_BYTES {
        let what = Measured::PartUncompressed;
        return Err(TableError::TooLarge { what, found, limit: MAX_UNCOMPRESSED_BYTES });
    }
    let (found, expected) = (builder.metadata().file_metadata().num_rows(), manifest.parts.len() as u64);
    let found = u64::try_from(found).unwrap_or(0);
    if found > expected {
        return Err(bad(PartFault::Rows { found, expected }));
    }
    let (expected, count) = (found, found as usize);
    let same = |(found, expected): (&Arc<Field>, &Arc<Field>)| {
        found.name() == expected.name() && found.data_type() == expected.data_type()
    };
    let fields = builder.schema().fields();
    if fields.len() != schema.fields().len() || !fields.iter().zip(schema.fields()).all(same) {
        return Err(bad(PartFault::ColumnForm { column: "zones".to_owned() }));
    }
    let reader = builder.with_batch_size(count.max(1)).build().map_err(parquet)?;
    let batches = reader.collect::<Result<Vec<_>, ArrowError>>().map_err(|cause| parquet(cause.into()))?;
    let columns = (0..schema.fields().len()).map(|column| {
        let arrays: Vec<&dyn Array> =
            batches.iter().filter_map(|batch| Some(batch.columns().get(column)?.as_ref())).collect();
        arrow::compute::concat(&arrays)
    });
    let rows = columns.collect::<Result<Vec<_>, _>>().and_then(|columns| table(&schema, columns, count));
    let rows = rows.map_err(|cause| parquet(cause.into()))?;
    if rows.num_rows() as u64 == expected {
        Ok(rows)
    } else {
        Err(bad(PartFault::Rows { found: rows.num_rows() as u64, expected }))
    }
}

fn table(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch, ArrowError> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
}

impl ZonesWriter {
    /// For a table with these clear columns.
    pub(crate) fn new(clear: &Schema) -> Self {
        Self { schema: layout(clear).0, batches: Vec::new() }
    }

    /// Parts so far.
    pub(crate) fn parts(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// What the footer of a part says, as a row.
    ///
    /// # Errors
    /// [`TableError::Parquet`] if the footer does not read.
    pub(crate) fn row(&self, part: &ClearPart) -> Result<RecordBatch, TableError> {
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        for (index, field) in part.schema().fields().iter().enumerate() {
            if field.data_type().is_floating() || field.data_type().is_nested() {
                continue;
            }
            // The part's writer makes one run of rows; of another file nothing is known.
            let bounds = part.bounds(index)?.filter(|bounds| bounds.null_count.len() == 1);
            let bounds = bounds.filter(|bounds| bounds.min.len() == 1 && bounds.max.len() == 1);
            let bounds = bounds.filter(|bounds| {
                [&bounds.min, &bounds.max].into_iter().all(|bound| bound.data_type() == field.data_type())
            });
            match bounds {
                Some(ColumnBounds { min, max, null_count }) => {
                    columns.extend([min, max, Arc::new(null_count) as ArrayRef]);
                }
                None => {
                    let nothing = || new_null_array(field.data_type(), 1);
                    columns.extend([nothing(), nothing(), Arc::new(UInt64Array::new_null(1)) as ArrayRef]);
                }
            }
        }
        table(&self.schema, columns, 1).map_err(unwritten)
    }

    /// Takes the row of the next part.
    pub(crate) fn push(&mut self, row: RecordBatch) -> Result<(), TableError> {
        let mut last = row;
        while let Some(before) = self.batches.pop() {
            if before.num_rows() > last.num_rows() {
                self.batches.push(before);
                break;
            }
            last = concat_batches(&self.schema, [&before, &last]).map_err(unwritten)?;
        }
        self.batches.push(last);
        Ok(())
    }

    /// Takes the rows of some parts of other zones, as far as they have them.
    pub(crate) fn extend(&mut self, zones: &Zones, parts: Range<usize>) -> Result<(), TableError> {
        let end = parts.end.min(zones.parts());
        let rows = end.saturating_sub(parts.start);
        if rows == 0 { Ok(()) } else { self.push(zones.rows.slice(parts.start, rows)) }
    }

    /// Takes the rows of the parts behind those so far.
    pub(crate) fn append(&mut self, behind: Self) -> Result<(), TableError> {
        behind.batches.into_iter().try_for_each(|rows| self.push(rows))
    }

    /// The file; `None` for a table of fewer than [`MIN_ZONED_PARTS`] parts, without bounds, or with more of them than a zone file takes.
    pub(crate) fn finish(self) -> Result<Option<WrittenPart>, TableError> {
        if self.parts() < MIN_ZONED_PARTS || self.schema.fields().is_empty() {
            return Ok(None);
        }
        let rows = concat_batches(&self.schema, &self.batches).map_err(unwritten)?;
        let properties = WriterProperties::builder()
            .set_created_by("hushtable".to_owned())
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let write = || -> Result<Vec<u8>, ParquetError> {
            let mut writer = ArrowWriter::try_new(Vec::new(), self.schema.clone(), Some(properties))?;
            writer.write(&rows)?;
            writer.into_inner()
        };
        let bytes = write().map_err(|cause| unwritten(cause.into()))?;
        let fits = bytes.len() as u64 <= MAX_ZONES_BYTES;
        Ok(fits.then(|| WrittenPart::new(FileKind::Zones, bytes, 0, 0)))
    }
}

fn unwritten(cause: ArrowError) -> TableError {
    TableError::Parquet { part: Digest::from_bytes([0; 32]), source: cause.into() }
}
