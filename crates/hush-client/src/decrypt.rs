// SPDX-License-Identifier: Apache-2.0
//! Gives the owner the data back: clear, decrypted and unsealed columns, chunk by chunk, in file order.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::buffer::NullBuffer;
use arrow::compute::{cast, filter_record_batch};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Field, Int64Type, Schema as ArrowSchema, TimestampMicrosecondType,
};
use arrow::record_batch::RecordBatch;
use ethnum::I256;
use hush_encode::arrow_type;
use hush_keys::SealKey;
use hush_plan::bounds::Bound;
use hush_plan::physical::stored_bounds;
use hush_plan::schema::Column;
use hush_plan::schema::units::column_bounds;
use hush_plan::{ColumnType, Protection, Quantity};
use hush_remote::Progress;
use hush_table::{AppendId, CHUNK_ROWS, ChunkRow, Manifest, PartEntry, Projection, TableStore};
use tempfile::TempDir;

use crate::arrays::{booleans, floats, integers};
use crate::bounds::beyond;
use crate::cells::Cells;
use crate::cells::decrypt::{body_of, decrypt_chunk};
use crate::chunk::{from_ipc, sealed_columns, sealed_place};
use crate::columns::{ColumnKeys, keys_of};
use crate::error::ClientError;
use crate::owner::OwnerKey;
use crate::packing::ColumnKey;
use crate::pins::Pins;
use crate::place::{Opened, TablePlace};
use crate::policy::exact_name;
use crate::precision::to_digits;
use crate::private::PrivateHalf;
use crate::release::{Counted, Release, Releases, approximate, is_approximate};

/// A stored table being decrypted. An iterator of batches, one a chunk.
pub struct TableDecryption {
    store: TableStore,
    /// The fetched files, kept while they are read.
    _fetched: Option<TempDir>,
    manifest: Manifest,
    half: PrivateHalf,
    keys: ColumnKeys,
    /// The bounds of the columns of `keys`.
    bounds: Vec<Bound>,
    /// The key of each sealed column, by number.
    seals: Vec<SealKey>,
    releases: Releases,
    /// Digits of approximate values that are to leave the owner.
    digits: Option<i32>,
    wanted: Vec<Column>,
    schema: Arc<ArrowSchema>,
    next_part: usize,
    pending: std::vec::IntoIter<RecordBatch>,
}

impl TableDecryption {
    /// Begins to decrypt a table; `columns` picks some, in the order given. A table on a server is fetched into a temporary
    /// directory first, which holds ciphertext and clear columns alone.
    ///
    /// # Errors
    /// Another key, table or name, a rollback, damage, unknown columns. Items can also be [`ClientError::Beyond`].
    pub fn open(
        place: TablePlace<'_>,
        key: &OwnerKey,
        pins: &Pins,
        columns: Option<&[String]>,
        progress: &dyn Progress,
    ) -> Result<Self, ClientError> {
        let Opened { manifest, half, keys, releases } = place.open(key.seed(), pins)?;
        let (store, fetched) = match place {
            TablePlace::Directory(_) | TablePlace::Bucket(_) => (place.files()?, None),
            TablePlace::Server(server, _) => {
                let directory = tempfile::tempdir()?;
                server.pull(&manifest, directory.path(), progress)?;
                (TableStore::local_existing(directory.path())?, Some(directory))
            }
        };
        let manifest = manifest.manifest().clone();
        let keys_of_table = keys_of(key.seed(), &manifest);
        let seals = (0..manifest.sealed_columns).map(|number| keys_of_table.column_seal(number)).collect();
        let wanted = wanted(&half, columns)?;
        let fields = wanted.iter().map(|column| Field::new(&column.name, arrow_type(column.kind), true));
        let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
        let pending = Vec::new().into_iter();
        let bounds = stored_bounds(&half.schema, &half.encodings)?;
        Ok(Self {
            store,
            _fetched: fetched,
            manifest,
            half,
            keys,
            bounds,
            seals,
            releases,
            digits: None,
            wanted,
            schema,
            next_part: 0,
            pending,
        })
    }

    /// Arrow schema of the batches.
    pub fn schema(&self) -> Arc<ArrowSchema> {
        self.schema.clone()
    }

    /// Columns of the schema that the table does not have.
    pub fn dropped(&self) -> Vec<&str> {
        self.half.schema.protected(Protection::Drop).map(|column| column.name.as_str()).collect()
    }

    /// The data in a form that may leave their owner. Values of approximate columns get noise that hides the errors of encryption,
    /// and are rounded to `digits` after the point (negative: whole tens, hundreds, …). Each part is counted before it is given out.
    /// Every ring element of an approximate column is one number of the budget.
    ///
    /// # Errors
    /// [`ClientError::Release`] for a table with rows of devices, and for more numbers than the whole budget has. Items can also be
    /// that error, for more numbers than the budget has left.
    pub fn released(mut self, digits: i32) -> Result<Self, ClientError> {
        Releases::require_own_rows(&self.manifest)?;
        let numbers = self.keys.iter().filter(|key| self.is_needed(key) && is_approximate(key)).map(|key| {
            let of_part = |entry: &PartEntry| -> Result<u64, ClientError> {
                let full = u64::from(body_of(key, 0, CHUNK_ROWS)?.1.element_count);
                let rest = entry.rows - u64::from(entry.chunks - 1) * u64::from(CHUNK_ROWS);
                let last = u64::from(body_of(key, 0, rest as u32)?.1.element_count);
                Ok(u64::from(entry.chunks - 1) * full + last)
            };
            self.manifest.parts.iter().map(of_part).sum::<Result<u64, _>>()
        });
        self.releases.require_budget(numbers.sum::<Result<u64, _>>()?)?;
        self.digits = Some(digits);
        Ok(self)
    }

    /// Approximate columns that the data open to everyone with the table's ciphertexts; none once [`TableDecryption::released`].
    pub fn exposed(&self) -> Vec<String> {
        match self.digits {
            Some(_) => Vec::new(),
            None => approximate(self.keys.iter().filter(|key| self.is_needed(key))),
        }
    }

    /// Rows of the table.
    pub fn rows(&self) -> u64 {
        self.manifest.living_rows()
    }

    fn part(&self, index: usize) -> Result<Vec<RecordBatch>, ClientError> {
        let Some((place, entry)) = self.manifest.placed_parts().nth(index) else { return Ok(Vec::new()) };
        let clear = self.clear_batch(entry)?;
        let needed = self.keys.iter().zip(&self.bounds).filter(|(key, _)| self.is_needed(key));
        let needed: Vec<(&ColumnKey, &Bound)> = needed.collect();
        let sealed = sealed_columns(&self.half.schema);
        let wanted_seals: Vec<(u32, &str)> = (0..)
            .zip(&sealed)
            .filter(|(_, (_, name))| self.wanted.iter().any(|column| column.name == *name))
            .map(|(number, (_, name))| (number, *name))
            .collect();
        let chunks = if entry.encrypted.is_some() {
            let projection = Projection {
                seed: true,
                encodings: needed.iter().map(|(key, _)| key.id()).collect(),
                sealed: wanted_seals.iter().map(|(number, _)| *number).collect(),
                chunks: None,
            };
            self.store.open_encrypted(&self.manifest, place, entry)?.read(&projection)?
        } else {
            vec![ChunkRow {
                index: place.first_chunk,
                written: place.first_chunk,
                rows: entry.rows as u32,
                seed: None,
                encoded: vec![],
                sealed: vec![],
            }]
        };
        let release = self.digits.map(|digits| self.releases.release(digits));
        let dead = self.store.dead_rows(entry)?;
        let mut offset = 0;
        let mut batches = Vec::new();
        for chunk in &chunks {
            let rows = chunk.rows as usize;
            let decrypted = decrypt_columns(&needed, chunk, release.as_ref())?;
            let opened = self.open_seals(&wanted_seals, entry.append.map(|append| append.id), chunk)?;
            let arrays = self.wanted.iter().map(|column| match column.protect {
                Protection::Clear => {
                    let found = clear.as_ref().and_then(|batch| batch.column_by_name(&column.name));
                    let array = found.ok_or(ClientError::Internal { what: "a clear column is missing" })?;
                    Ok(cast(&array.slice(offset, rows), &arrow_type(column.kind))?)
                }
                Protection::Seal => {
                    let found = opened.iter().find(|(name, _)| *name == column.name);
                    Ok(found.ok_or(ClientError::Internal { what: "a sealed column is missing" })?.1.clone())
                }
                _ => to_array(column, &decrypted),
            });
            let arrays = arrays.collect::<Result<Vec<ArrayRef>, ClientError>>()?;
            let batch = RecordBatch::try_new(self.schema.clone(), arrays)?;
            batches.push(match dead.as_ref().and_then(|dead| dead.living_of_rows(offset, rows)) {
                Some(living) => filter_record_batch(&batch, &BooleanArray::new(living, None))?,
                None => batch,
            });
            offset += rows;
        }
        // Counted before anything leaves.
        release.map_or(Ok(Counted::default()), |release| release.count())?;
        Ok(batches)
    }

    fn clear_batch(&self, entry: &PartEntry) -> Result<Option<RecordBatch>, ClientError> {
        if entry.clear.is_none() {
            return Ok(None);
        }
        let part = self.store.open_clear(&self.manifest, entry)?;
        let all: Vec<usize> = (0..part.schema().fields().len()).collect();
        let batches = part.read(&all)?;
        Ok(Some(arrow::compute::concat_batches(part.schema(), &batches)?))
    }

    /// Whether a column is the first encoding of a wanted column's values or validity.
    fn is_needed(&self, key: &ColumnKey) -> bool {
        let (Quantity::Value(name) | Quantity::Valid(name)) = &key.encoding.quantity else { return false };
        let first = self.keys.iter().find(|other| other.encoding.quantity == key.encoding.quantity);
        self.wanted.iter().any(|column| column.name == *name)
            && first.is_some_and(|first| first.id() == key.id())
    }

    fn open_seals<'a>(
        &self,
        wanted: &[(u32, &'a str)],
        append: Option<AppendId>,
        chunk: &ChunkRow,
    ) -> Result<Vec<(&'a str, ArrayRef)>, ClientError> {
        let opened = wanted.iter().zip(&chunk.sealed).map(|((number, name), blob)| {
            let seal = self.seals.get(*number as usize);
            let seal = seal.ok_or(ClientError::Internal { what: "a sealed column without a key" })?;
            let plain = seal.open(&sealed_place(*number, append, chunk.written), blob)?;
            Ok((*name, from_ipc(&plain)?))
        });
        opened.collect()
    }
}

impl Iterator for TableDecryption {
    type Item = Result<RecordBatch, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.pending.next() {
                return Some(Ok(batch));
            }
            if self.next_part >= self.manifest.parts.len() {
                return None;
            }
            let part = self.part(self.next_part);
            self.next_part += 1;
            match part {
                Ok(batches) => self.pending = batches.into_iter(),
                Err(error) => {
                    self.next_part = usize::MAX;
                    return Some(Err(error));
                }
            }
        }
    }
}

/// The columns asked for, or all that are stored and can be given back.
fn wanted(half: &PrivateHalf, columns: Option<&[String]>) -> Result<Vec<Column>, ClientError> {
    let stored = |column: &&Column| {
        let has_value = half.encodings.iter().any(|e| e.quantity == Quantity::Value(column.name.clone()));
        matches!(column.protect, Protection::Clear | Protection::Seal) || has_value
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
    let nulls = find(Quantity::Valid(column.name.clone())).map(Cells::nulls).transpose()?;
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
