// SPDX-License-Identifier: Apache-2.0
//! Parts of a table as their owner reads them: some columns of some chunks, clear, decrypted and unsealed.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, new_null_array};
use arrow::buffer::NullBuffer;
use arrow::compute::{cast, filter_record_batch};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Field, Int64Type, Schema as ArrowSchema, TimestampMicrosecondType,
};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use ethnum::I256;
use hush_encode::arrow_type;
use hush_plan::bounds::Bound;
use hush_plan::physical::stored_bounds;
use hush_plan::schema::Column;
use hush_plan::schema::units::column_bounds;
use hush_plan::{ColumnType, Protection, Quantity};
use hush_table::manifest::PartPlace;
use hush_table::source::{TypedColumn, Values};
use hush_table::{AppendId, CHUNK_ROWS, ChunkRow, Manifest, PartEntry, Projection, TableStore};

use crate::arrays::{booleans, floats, integers};
use crate::bounds::beyond;
use crate::cells::Cells;
use crate::cells::decrypt::decrypt_chunk;
use crate::chunk::{Seal, from_ipc, sealed_place};
use crate::copy;
use crate::error::ClientError;
use crate::packing::ColumnKey;
use crate::policy::exact_name;
use crate::precision::to_digits;
use crate::private::PrivateHalf;
use crate::release::Release;
use crate::roots::RowKeys;

/// Reads the columns that its owner wants, part by part.
pub(crate) struct PartReader {
    store: TableStore,
    pub(super) manifest: Manifest,
    pub(super) half: PrivateHalf,
    pub(super) keys: RowKeys,
    /// The bounds of the columns of `keys`, in each domain.
    bounds: Vec<Bound>,
    wanted: Vec<Column>,
    schema: Arc<ArrowSchema>,
}

/// Rows of a chunk.
pub(crate) struct ChunkRows {
    /// Number in its part of the chunk's first row.
    pub(crate) first_row: usize,
    /// All rows, deleted ones too.
    pub(crate) rows: RecordBatch,
    /// Which of them count; `None` if all do.
    pub(crate) living: Option<BooleanArray>,
}

impl ChunkRows {
    /// The rows that count.
    ///
    /// # Errors
    /// [`ClientError::Arrow`], which does not happen for a list of the part.
    pub(super) fn into_living(self) -> Result<RecordBatch, ClientError> {
        Ok(match self.living {
            Some(living) => filter_record_batch(&self.rows, &living)?,
            None => self.rows,
        })
    }
}

impl PartReader {
    /// A reader of some columns, in the order given; `None` for all that can be given back.
    ///
    /// # Errors
    /// Unknown columns; a table that no schema can have.
    pub(crate) fn new(
        store: TableStore,
        manifest: &Manifest,
        (half, keys): (PrivateHalf, RowKeys),
        columns: Option<&[String]>,
    ) -> Result<Self, ClientError> {
        let bounds = stored_bounds(&half.schema, &half.encodings)?;
        let schema = Arc::new(ArrowSchema::empty());
        let (manifest, wanted) = (manifest.clone(), Vec::new());
        Self { store, manifest, half, keys, bounds, wanted, schema }.with_columns(columns)
    }

    /// The same parts, other columns.
    ///
    /// # Errors
    /// Unknown columns.
    pub(crate) fn with_columns(mut self, columns: Option<&[String]>) -> Result<Self, ClientError> {
        self.wanted = wanted(&self.half, columns)?;
        let fields = self.wanted.iter().map(|column| Field::new(&column.name, arrow_type(column.kind), true));
        self.schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
        Ok(self)
    }

    /// Arrow schema of the rows.
    pub(crate) fn schema(&self) -> Arc<ArrowSchema> {
        self.schema.clone()
    }

    /// Rows of part `index`, which the table has: of all its chunks, or of those with these numbers in the table, in order.
    ///
    /// # Errors
    /// Damage; [`ClientError::Beyond`].
    pub(crate) fn read(
        &self,
        index: usize,
        chunks: Option<&[u32]>,
        release: Option<&Release<'_>>,
    ) -> Result<Vec<ChunkRows>, ClientError> {
        let part = self.manifest.placed_parts().nth(index);
        let (place, entry) = part.ok_or(ClientError::Internal { what: "no such part" })?;
        let clear = self.clear_rows(entry)?;
        let keys = self.keys.of(&self.manifest, entry.domain)?;
        let needed = keys.columns.iter().zip(&self.bounds);
        let stored = self.manifest.columns_of(entry.generation).sealed;
        let is_wanted = |seal: &&Seal| {
            stored.contains(&seal.number) && self.wanted.iter().any(|column| column.name == seal.name)
        };
        let wanted_seals: Vec<&Seal> = keys.seals.iter().filter(is_wanted).collect();
        // What a copy gives is exact and quickly opened.
        let has_copy =
            |key: &ColumnKey| wanted_seals.iter().any(|seal| key.encoding.quantity.columns() == [&seal.name]);
        let needed = needed.filter(|(key, _)| self.is_needed(key, entry.generation) && !has_copy(key));
        let needed: Vec<(&ColumnKey, &Bound)> = needed.collect();
        let rows = self.encrypted_rows((place, entry), chunks, &needed, &wanted_seals)?;
        let dead = self.store.dead_rows(entry)?;
        let of_chunk = |chunk: ChunkRow| {
            let at = chunk.index.saturating_sub(place.first_chunk) as usize;
            let (first_row, count) = (at * CHUNK_ROWS as usize, chunk.rows as usize);
            let decrypted = decrypt_columns(&needed, &chunk, release)?;
            let opened = self.open_seals(&wanted_seals, entry.append.map(|append| append.id), &chunk)?;
            let of_seal = |column: &Column| opened.iter().find(|(name, _)| *name == column.name);
            let arrays = self.wanted.iter().map(|column| match (column.protect, of_seal(column)) {
                (Protection::Clear, _) => {
                    let found = clear.as_ref().and_then(|batch| batch.column_by_name(&column.name));
                    let array = found.ok_or(ClientError::Internal { what: "a clear column is missing" })?;
                    Ok(cast(&array.slice(first_row, count), &arrow_type(column.kind))?)
                }
                (Protection::JoinKey, _) => {
                    let found = clear.as_ref().and_then(|batch| batch.column_by_name(&column.name));
                    let tokens = found.ok_or(ClientError::Internal { what: "a join key is missing" })?;
                    self.keys.tokens.values(&column.name, &tokens.slice(first_row, count))
                }
                (_, Some((_, array))) => Ok(array.clone()),
                (Protection::Seal, None) => Ok(missing(column, count)),
                _ if column.is_copy_alone()
                    || !self.half.has(&self.manifest, entry.generation, &column.name) =>
                {
                    Ok(missing(column, count))
                }
                _ => to_array(column, &decrypted),
            });
            let arrays = arrays.collect::<Result<Vec<ArrayRef>, ClientError>>()?;
            let living = dead.as_ref().and_then(|dead| dead.living_of_rows(first_row, count));
            let living = living.map(|living| BooleanArray::new(living, None));
            // There may be no columns.
            let all = RecordBatchOptions::new().with_row_count(Some(count));
            let rows = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &all)?;
            Ok(ChunkRows { first_row, rows, living })
        };
        rows.into_iter().map(of_chunk).collect()
    }

    /// The encrypted halves of some chunks of a part; of one that has none, what stands in a chunk's header.
    fn encrypted_rows(
        &self,
        (place, entry): (PartPlace, &PartEntry),
        chunks: Option<&[u32]>,
        needed: &[(&ColumnKey, &Bound)],
        seals: &[&Seal],
    ) -> Result<Vec<ChunkRow>, ClientError> {
        if entry.encrypted.is_some() && !(needed.is_empty() && seals.is_empty()) {
            let projection = Projection {
                seed: true,
                encodings: needed.iter().map(|(key, _)| key.id()).collect(),
                sealed: seals.iter().map(|seal| seal.number).collect(),
                chunks: chunks.map(<[u32]>::to_vec),
            };
            return Ok(self.store.open_encrypted(&self.manifest, place, entry)?.read(&projection)?);
        }
        let all = (0..entry.chunks).map(|at| {
            let before = u64::from(at) * u64::from(CHUNK_ROWS);
            ChunkRow {
                index: place.first_chunk.saturating_add(at),
                written: place.first_chunk.saturating_add(at),
                rows: entry.rows.saturating_sub(before).min(u64::from(CHUNK_ROWS)) as u32,
                seed: None,
                encoded: vec![],
                sealed: vec![],
            }
        });
        Ok(all.filter(|row| chunks.is_none_or(|chunks| chunks.contains(&row.index))).collect())
    }

    /// The columns of a chunk under a seal, as their schema has them.
    fn open_seals<'s>(
        &self,
        wanted: &[&'s Seal],
        append: Option<AppendId>,
        chunk: &ChunkRow,
    ) -> Result<Vec<(&'s str, ArrayRef)>, ClientError> {
        let opened = wanted.iter().zip(&chunk.sealed).map(|(seal, blob)| {
            let plain = seal.key.open(&sealed_place(seal.number, append, chunk.written), blob)?;
            let copied = self.wanted.iter().find(|column| column.name == seal.name && column.has_copy());
            let array = match copied {
                Some(column) => of_units(column, &copy::unpack(&plain, chunk.rows as usize)?)?,
                None => from_ipc(&plain)?,
            };
            Ok((seal.name.as_str(), array))
        });
        opened.collect()
    }

    /// The wanted clear columns of a part.
    fn clear_rows(&self, entry: &PartEntry) -> Result<Option<RecordBatch>, ClientError> {
        let is_wanted = |name: &str| {
            let is_read = |column: &Column| matches!(column.protect, Protection::Clear | Protection::JoinKey);
            self.wanted.iter().any(|column| is_read(column) && column.name == name)
        };
        if entry.clear.is_none() || !self.manifest.clear_columns.iter().any(|column| is_wanted(&column.name))
        {
            return Ok(None);
        }
        let part = self.store.open_clear(&self.manifest, entry)?;
        let fields = part.schema().fields().iter().enumerate();
        let columns: Vec<usize> =
            fields.filter(|(_, field)| is_wanted(field.name())).map(|(at, _)| at).collect();
        let batches = part.read(&columns)?;
        let schema = Arc::new(part.schema().project(&columns)?);
        Ok(Some(arrow::compute::concat_batches(&schema, &batches)?))
    }

    /// The encodings that are read of the parts of a generation.
    pub(super) fn needed_keys(&self, generation: u32) -> impl Iterator<Item = &ColumnKey> {
        self.keys.present().columns.iter().filter(move |key| self.is_needed(key, generation))
    }

    /// Whether a column is the first encoding of a wanted column's values or validity that the parts of a generation have.
    fn is_needed(&self, key: &ColumnKey, generation: u32) -> bool {
        let (Quantity::Value(name) | Quantity::Valid(name)) = &key.encoding.quantity else { return false };
        let is_same = |other: &&ColumnKey| {
            other.encoding.quantity == key.encoding.quantity && !self.manifest.lacks(generation, other.id())
        };
        let first = self.keys.present().columns.iter().find(is_same);
        self.wanted.iter().any(|column| column.name == *name)
            && first.is_some_and(|first| first.id() == key.id())
    }
}

/// A column of rows from before it was added.
fn missing(column: &Column, rows: usize) -> ArrayRef {
    new_null_array(&arrow_type(column.kind), rows)
}

/// The columns asked for, or all that are stored and can be given back.
fn wanted(half: &PrivateHalf, columns: Option<&[String]>) -> Result<Vec<Column>, ClientError> {
    let stored = |column: &&Column| {
        let has_value = half.encodings.iter().any(|e| e.quantity == Quantity::Value(column.name.clone()));
        matches!(column.protect, Protection::Clear | Protection::JoinKey | Protection::Seal)
            || has_value
            || column.has_copy()
    };
    let Some(names) = columns else {
        return Ok(half.schema.columns.iter().filter(stored).cloned().collect());
    };
    let known: Vec<String> = half.schema.columns.iter().map(|column| column.name.clone()).collect();
    let meant = |name: &String| {
        let found = exact_name(&known, name).and_then(|name| half.schema.column(&name)).filter(stored);
        found.cloned().ok_or_else(|| no_column(half, name))
    };
    names.iter().map(meant).collect()
}

/// The refusal of a column that is not in the table, with a column that was probably meant.
fn no_column(half: &PrivateHalf, found: &str) -> ClientError {
    let names = half.schema.columns.iter().map(|column| column.name.as_str());
    let meant = hush_plan::nearest(found, names.filter(|name| *name != found));
    let meant = meant.map_or(String::new(), |name| format!("; did you mean {name}?"));
    ClientError::Usage { what: format!("the table stores no column {found:?}{meant}") }
}

type Decrypted<'a> = Vec<(&'a Quantity, Cells)>;

fn decrypt_columns<'a>(
    keys: &[(&'a ColumnKey, &Bound)],
    chunk: &ChunkRow,
    release: Option<&Release<'_>>,
) -> Result<Decrypted<'a>, ClientError> {
    let columns = keys.iter().zip(&chunk.encoded).map(|((key, bound), blob)| {
        let seed = chunk.seed.ok_or(ClientError::Internal { what: "a chunk was read without its seed" })?;
        let place = (seed, chunk.written, chunk.rows);
        Ok((&key.encoding.quantity, decrypt_chunk(key, place, blob, bound, release)?))
    });
    columns.collect()
}

/// Refuses values outside the declared range; a missing value is 0.
///
/// # Errors
/// [`ClientError::Beyond`].
pub(crate) fn check_declared(
    column: &Column,
    values: &[I256],
    nulls: Option<&NullBuffer>,
) -> Result<(), ClientError> {
    let Some(range) = column_bounds(column) else { return Ok(()) };
    let (low, high) = (I256::from(range.low), I256::from(range.high));
    let is_possible = |(row, value): (usize, &I256)| match nulls.is_some_and(|nulls| nulls.is_null(row)) {
        true => *value == I256::ZERO,
        false => low <= *value && *value <= high,
    };
    if values.iter().enumerate().all(is_possible) { Ok(()) } else { Err(beyond(&column.name)) }
}

fn to_array(column: &Column, decrypted: &Decrypted<'_>) -> Result<ArrayRef, ClientError> {
    let find =
        |quantity: Quantity| decrypted.iter().find(|(known, _)| **known == quantity).map(|(_, cells)| cells);
    let values = find(Quantity::Value(column.name.clone()));
    let values = values.ok_or(ClientError::Internal { what: "an encrypted column is missing" })?;
    typed(column, values, find(Quantity::Valid(column.name.clone())))
}

/// The units of a copy in the type that the schema declares.
///
/// # Errors
/// [`ClientError::Beyond`] for values outside the declared range.
fn of_units(column: &Column, data: &TypedColumn) -> Result<ArrayRef, ClientError> {
    let exact = |values: Vec<I256>| {
        let valid = data.valid.as_ref().map(|valid| valid.iter().map(|valid| I256::from(u8::from(*valid))));
        let valid = valid.map(|valid| Cells::Exact(valid.collect()));
        typed(column, &Cells::Exact(values), valid.as_ref())
    };
    match &data.values {
        // As they were read: nothing is near them.
        Values::F64(values) => floats(values.clone(), data.valid.clone().map(NullBuffer::from)),
        Values::I64(values) => exact(values.iter().map(|value| I256::from(*value)).collect()),
        Values::I128(values) => exact(values.iter().map(|value| I256::from(*value)).collect()),
    }
}

/// The cells of a column in the type that the schema declares; missing where `valid` has 0.
///
/// # Errors
/// [`ClientError::Beyond`] for values outside the declared range.
pub(crate) fn typed(column: &Column, values: &Cells, valid: Option<&Cells>) -> Result<ArrayRef, ClientError> {
    let nulls = valid.map(Cells::nulls).transpose()?;
    let values = match (values, column.kind) {
        (Cells::Exact(values), _) => {
            check_declared(column, values, nulls.as_ref())?;
            values
        }
        (Cells::Approx(values), ColumnType::Float { digits }) => {
            // One digit more than the schema asks for, so that rounding stays within its precision. Lower digits are noise.
            let rounded = values.iter().map(|value| to_digits(*value, usize::from(digits) + 1));
            return floats(rounded.collect(), nulls);
        }
        (Cells::Approx(_), _) => return Err(ClientError::Internal { what: "an approximate exact column" }),
    };
    Ok(match column.kind {
        ColumnType::Bool => booleans(values, nulls),
        ColumnType::Date => Arc::new(integers::<Date32Type>(values, nulls)?),
        ColumnType::Timestamp => Arc::new(integers::<TimestampMicrosecondType>(values, nulls)?),
        ColumnType::Decimal { precision, scale } => {
            let units = integers::<Decimal128Type>(values, nulls)?;
            Arc::new(units.with_precision_and_scale(precision, scale as i8)?)
        }
        ColumnType::Float { digits } => {
            let unit = 10_f64.powi(i32::from(digits));
            floats(values.iter().map(|value| value.as_f64() / unit).collect(), nulls)?
        }
        ColumnType::Int { .. } => Arc::new(integers::<Int64Type>(values, nulls)?),
        ColumnType::Category | ColumnType::Text => {
            return Err(ClientError::Internal { what: "text has no encrypted form" });
        }
    })
}
