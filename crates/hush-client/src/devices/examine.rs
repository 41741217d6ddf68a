// SPDX-License-Identifier: Apache-2.0
//! The owner examines a delivery before it becomes part of the table.
//!
//! A device signs its deliveries, but it can send anything. So its files must have the form of the table, every body is decoded, and
//! every row is decrypted. Values must lie in the ranges of the schema. Squares, products and validity must follow from values. No
//! ciphertext may be noisier than a device's, and nothing may stand behind the last row. An honest device could have sent a delivery
//! that passes, for some rows. Nobody can tell whether the rows are true.
//!
//! *Secrecy.* The server sees whether the owner takes a delivery. A device that is the server's accomplice can learn from that;
//! `docs/security/devices.md` says how much at most.

use std::collections::BTreeMap;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal256Type};
use arrow::record_batch::RecordBatch;
use ethnum::I256;
use hush_encode::{MAX_CLEAR_FILE_BYTES, QuantityValues, View, oversized_row, quantity_values};
use hush_plan::bounds::Bound;
use hush_plan::physical::stored_bounds;
use hush_plan::schema::Column;
use hush_plan::schema::units::column_bounds;
use hush_plan::{ColumnType, Protection, Quantity};
use hush_ring::UniformSeed;
use hush_rlwe::{Body, SumMasks, UncheckedBody, masked_body_bytes};
use hush_schemes::Values;
use hush_table::manifest::PartPlace;
use hush_table::part::PartSource;
use hush_table::source::{ColumnData, RowBatch, TypedColumn, Values as Units};
use hush_table::{
    ChunkRow, ClearPart, EncryptedPart, FileKind, Manifest, PartEntry, PartFile, Projection, SignedDelivery,
    TableError, check_seeds,
};
use rayon::prelude::*;

use crate::bounds::{are_empty, check_rows};
use crate::cells::Cells;
use crate::cells::decrypt::{Whole, body_of, decrypt_whole_chunk};
use crate::columns::ColumnKeys;
use crate::error::ClientError;
use crate::packing::ColumnKey;
use crate::private::PrivateHalf;

/// Bytes of a file beside its bodies: for each page, and once.
const PAGE_BYTES: u64 = 1024;
const FRAME_BYTES: u64 = 64 << 10;
/// Rows of clear columns that are examined together.
const CLEAR_ROWS: usize = 256;

/// The reason not to take a delivery. It names columns, but never a value or a row.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// It does not have the form of parts of the table.
    #[error("it does not have the files, rows or columns that parts of the table have")]
    Form,
    /// A file with more bytes than its rows can take.
    #[error("its {0} has more bytes than its rows can take")]
    Size(&'static str),
    /// Long texts; a small file can hold many.
    #[error("the clear texts of a row have more bytes than a device sends")]
    LongRow,
    /// Columns of a chunk that were not encrypted together.
    #[error("its columns do not share their masks, as those of one device's encryption do")]
    Masks,
    /// A file that is missing, altered or malformed.
    #[error("{0}")]
    File(ClientError),
    /// A clear column.
    #[error("column {0}: a clear value is missing, or outside its range in the schema")]
    Clear(String),
    /// The decrypted values of a row.
    #[error("{0}: what a row decrypts to is outside its range in the schema, or no device's ciphertext")]
    Values(String),
    /// Values behind the last row.
    #[error("{0}: behind its last row it holds something, where a device's encryption leaves nothing")]
    Padding(String),
    /// Values that do not follow from others.
    #[error("{0}: what a row decrypts to does not follow from its values")]
    Contradiction(String),
}

impl Fault {
    /// Whether only the owner's key can have found it.
    pub(crate) fn is_secret(&self) -> bool {
        matches!(self, Self::Values(_) | Self::Padding(_) | Self::Contradiction(_))
    }
}

impl From<TableError> for Fault {
    fn from(error: TableError) -> Self {
        Self::File(error.into())
    }
}

/// Examines deliveries for one version of a table.
pub(crate) struct Examiner<'a> {
    manifest: &'a Manifest,
    half: &'a PrivateHalf,
    keys: &'a ColumnKeys,
    /// Bounds of the columns of `keys`.
    bounds: Vec<Bound>,
}

impl<'a> Examiner<'a> {
    /// An examiner for the table with this private half.
    ///
    /// # Errors
    /// None but bugs: the encodings are those of an open table.
    pub(crate) fn new(
        manifest: &'a Manifest,
        half: &'a PrivateHalf,
        keys: &'a ColumnKeys,
    ) -> Result<Self, ClientError> {
        let bounds = stored_bounds(&half.schema, &half.encodings)?;
        Ok(Self { manifest, half, keys, bounds })
    }

    /// Examines everything in a delivery; `open` gives its files, with their digests checked.
    ///
    /// # Cost
    /// That of decrypting its rows, and a pass over its bodies; memory for its files and one chunk's plaintext.
    ///
    /// # Errors
    /// The delivery's fault.
    pub(crate) fn examine(
        &self,
        signed: &SignedDelivery,
        open: &dyn Fn(FileKind, PartFile) -> Result<PartSource, ClientError>,
    ) -> Result<(), Fault> {
        let entry = signed.delivery().part_entry(self.manifest);
        if !self.manifest.suits(&entry) {
            return Err(Fault::Form);
        }
        self.check_sizes(&entry)?;
        let file = |kind, file: PartFile| open(kind, file).map_err(Fault::File);
        if let Some(part) = entry.clear {
            let part = ClearPart::open(file(FileKind::Clear, part)?, self.manifest, &entry)?;
            // A few rows at a time: a small file can hold one long text for every row.
            part.for_each(CLEAR_ROWS, &mut |rows| self.check_clear(rows))??;
        }
        let Some(part) = entry.encrypted else { return Ok(()) };
        let start = PartPlace { first_chunk: 0, first_row: 0 };
        let part = EncryptedPart::open(file(FileKind::Encrypted, part)?, self.manifest, start, &entry)?;
        check_seeds(&part, signed.delivery().id)?;
        let projection =
            Projection { seed: true, encodings: self.manifest.encoding_ids(), ..Projection::default() };
        // All chunks are checked before any row is decrypted, so that a damaged body tells nothing of other rows.
        for chunk in part.chunks(&projection)? {
            self.check_form(&chunk?)?;
        }
        for chunk in part.chunks(&projection)? {
            self.check_chunk(&chunk?)?;
        }
        Ok(())
    }

    /// Refuses files larger than their rows need, so that nobody makes the owner fetch them.
    fn check_sizes(&self, entry: &PartEntry) -> Result<(), Fault> {
        let body = |key: &ColumnKey| {
            let public = &key.encoding.public;
            let set = public.ring().map_err(|_| Fault::Form)?;
            let elements = public.packing.element_count(set, hush_table::CHUNK_ROWS);
            Ok(masked_body_bytes(key.ring(), elements) as u64 + PAGE_BYTES)
        };
        let bodies = self.keys.iter().map(body).sum::<Result<u64, Fault>>()?;
        let most = FRAME_BYTES + u64::from(entry.chunks) * (bodies + 3 * PAGE_BYTES);
        if entry.encrypted.is_some_and(|file| file.bytes > most) {
            return Err(Fault::Size("encrypted file"));
        }
        if entry.clear.is_some_and(|file| file.bytes > MAX_CLEAR_FILE_BYTES) {
            return Err(Fault::Size("clear file"));
        }
        Ok(())
    }

    /// Checks the ranges of clear columns. The planner relies on them: they bound sums with clear columns as weights.
    fn check_clear(&self, rows: &RecordBatch) -> Result<(), Fault> {
        if oversized_row(rows).is_some() {
            return Err(Fault::LongRow);
        }
        for column in self.half.schema.protected(Protection::Clear) {
            let bad = || Fault::Clear(column.name.clone());
            let array = rows.column_by_name(&column.name).ok_or(Fault::Form)?;
            let has_gaps = array.logical_nulls().is_some_and(|nulls| nulls.null_count() > 0);
            if has_gaps && !column.nullable || !clear_in_range(column, array).ok_or_else(bad)? {
                return Err(bad());
            }
        }
        Ok(())
    }

    /// Checks that every body is one of its column, and that bodies over one ring store the same masks: sums of several columns have
    /// one sum of masks.
    fn check_form(&self, chunk: &ChunkRow) -> Result<(), Fault> {
        let seed = UniformSeed::from_bytes(chunk.seed.ok_or(Fault::Form)?);
        let mut rings: BTreeMap<u16, Vec<Body<'_>>> = BTreeMap::new();
        for (key, blob) in self.keys.iter().zip(&chunk.encoded) {
            let body = body_of(key, chunk.written, chunk.rows)
                .and_then(|(kind, id)| Ok(UncheckedBody::decode(blob)?.conform(key.ring(), kind, id)?));
            let body = body.map_err(Fault::File)?;
            rings.entry(body.param_code()).or_default().push(body);
        }
        let shared =
            |bodies: &Vec<Body<'_>>| bodies.iter().all(Body::has_masks) && SumMasks::of(seed, bodies).is_ok();
        if rings.values().all(shared) { Ok(()) } else { Err(Fault::Masks) }
    }

    fn check_chunk(&self, chunk: &ChunkRow) -> Result<(), Fault> {
        let seed = chunk.seed.ok_or(Fault::Form)?;
        let columns: Vec<_> = self.keys.iter().zip(&self.bounds).zip(&chunk.encoded).collect();
        let cells = columns.into_par_iter().map(|((key, bound), blob)| {
            let beyond = |error| match error {
                ClientError::Beyond { what } => Fault::Values(what),
                error => Fault::File(error),
            };
            let whole = decrypt_whole_chunk(key, (seed, chunk.written, chunk.rows), blob, bound);
            let Whole { rows, padding } = whole.map_err(beyond)?;
            let name = key.content_name();
            if !are_empty(&padding, bound) {
                return Err(Fault::Padding(name));
            }
            check_rows(&name, &rows, bound).map_err(beyond)?;
            Ok(rows)
        });
        let cells = cells.collect::<Result<Vec<Cells>, Fault>>()?;
        let found = |quantity: &Quantity| {
            let at = self.keys.iter().position(|key| key.encoding.quantity == *quantity);
            at.and_then(|at| cells.get(at))
        };
        let columns = self.half.schema.columns.iter().map(|column| match column.protect {
            Protection::Encrypt => typed(column, found).map(|typed| typed.map(ColumnData::Units)),
            _ => Ok(None),
        });
        let columns = columns.collect::<Result<Vec<_>, Fault>>()?;
        let batch = RowBatch { first_row: 0, rows: chunk.rows as usize, columns };
        self.check_contents(&batch, &cells)
    }

    /// Checks that all other quantities of the rows are those that the owner would have encrypted.
    fn check_contents(&self, batch: &RowBatch, cells: &[Cells]) -> Result<(), Fault> {
        let positions: BTreeMap<&str, usize> = self.half.schema.positions();
        for (key, cells) in self.keys.iter().zip(cells) {
            let Cells::Exact(found) = cells else { continue };
            let expected = quantity_values(&key.encoding.quantity, batch, &positions);
            let expected = expected.map_err(|error| Fault::File(error.into()))?;
            if !equal(&expected, found) {
                return Err(Fault::Contradiction(key.content_name()));
            }
        }
        Ok(())
    }
}

/// A column's values and validity, as they would have been read from a file; `None` if no encoding holds the values.
fn typed<'c>(
    column: &Column,
    found: impl Fn(&Quantity) -> Option<&'c Cells>,
) -> Result<Option<TypedColumn>, Fault> {
    let Some(values) = found(&Quantity::Value(column.name.clone())) else { return Ok(None) };
    let valid = match found(&Quantity::Valid(column.name.clone())) {
        Some(Cells::Exact(valid)) => Some(valid.iter().map(|cell| *cell == I256::ONE).collect::<Vec<bool>>()),
        _ => None,
    };
    let bad = || Fault::Values(column.name.clone());
    let values = match values {
        Cells::Approx(values) => Units::F64(values.clone()),
        Cells::Exact(values) => {
            let range = column_bounds(column).ok_or_else(bad)?;
            let (low, high) = (I256::from(range.low), I256::from(range.high));
            let is_possible = |(row, value): (usize, &I256)| {
                let has_value = valid.as_ref().is_none_or(|valid| valid.get(row) == Some(&true));
                if has_value { low <= *value && *value <= high } else { *value == I256::ZERO }
            };
            if !values.iter().enumerate().all(is_possible) {
                return Err(bad());
            }
            // Ranges are of 128 bits.
            Units::I128(values.iter().map(|value| value.as_i128()).collect())
        }
    };
    Ok(Some(TypedColumn { values, valid }))
}

fn equal(expected: &QuantityValues<'_>, found: &[I256]) -> bool {
    match expected.view() {
        View::Exact(Values::I64(values)) => equal_to(values.iter().map(|value| I256::from(*value)), found),
        View::Exact(Values::I128(values)) => equal_to(values.iter().map(|value| I256::from(*value)), found),
        View::Exact(Values::I256(values)) => equal_to(values.iter().copied(), found),
        View::Approx(_) => false,
    }
}

fn equal_to(expected: impl ExactSizeIterator<Item = I256>, found: &[I256]) -> bool {
    expected.len() == found.len() && expected.zip(found).all(|(expected, found)| expected == *found)
}

/// Whether a clear column's values lie in its range; `None` if they are of another type. Texts and floats have no range.
fn clear_in_range(column: &Column, array: &ArrayRef) -> Option<bool> {
    let Some(range) = column_bounds(column) else { return Some(true) };
    let scale = match column.kind {
        ColumnType::Category | ColumnType::Text | ColumnType::Float { .. } => return Some(true),
        ColumnType::Decimal { scale, .. } => scale as i8,
        _ => 0,
    };
    let whole = match array.data_type() {
        DataType::Date32 => cast(array, &DataType::Int32).ok()?,
        DataType::Boolean | DataType::Timestamp(..) => cast(array, &DataType::Int64).ok()?,
        _ => array.clone(),
    };
    let wide = cast(&whole, &DataType::Decimal256(76, scale)).ok()?;
    let (low, high) = (I256::from(range.low), I256::from(range.high));
    let units = wide.as_primitive::<Decimal256Type>().iter().flatten();
    let mut units = units.map(|cell| I256::from_le_bytes(cell.to_le_bytes()));
    Some(units.all(|value| low <= value && value <= high))
}
