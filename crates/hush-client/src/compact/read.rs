// SPDX-License-Identifier: Apache-2.0
//! The living rows of stored parts, decrypted into the form in which rows of a source are encrypted.
//!
//! Exact columns go from units to units, so that nothing is rounded. Values of approximate columns are rounded to the digit behind the last one
//! that the schema declares, as decryption shows them; the error of an encryption is less than half of that digit, so that rounding once more
//! changes nothing.

use arrow::array::RecordBatch;
use arrow::buffer::BooleanBuffer;
use arrow::compute::{cast, concat_batches};
use ethnum::I256;
use hush_encode::arrow_type;
use hush_plan::bounds::{Bound, Values as Allowed};
use hush_plan::physical::stored_bounds;
use hush_plan::schema::Column;
use hush_plan::schema::units::column_bounds;
use hush_plan::{ColumnType, EncodingId, Protection, Quantity};
use hush_table::manifest::PartPlace;
use hush_table::source::{ColumnData, RowBatch, TypedColumn, Values};
use hush_table::{AppendId, CHUNK_ROWS, ChunkRow, Manifest, PartEntry, Projection, TableStore};

use super::error::{CompactError, Lacking};
use super::rows::living;
use crate::cells::Cells;
use crate::cells::decrypt::decrypt_chunk;
use crate::chunk::{from_ipc, sealed_columns, sealed_place};
use crate::decrypt::check_declared;
use crate::error::ClientError;
use crate::packing::ColumnKey;
use crate::place::Opened;
use crate::precision::{stable_digits, to_digits};
use crate::roots::RowKeys;

/// Decrypts parts of one encryption of a table.
pub(super) struct Reader<'a> {
    columns: Vec<Recovered<'a>>,
    /// The encoded columns that are read, in the order of `projection`.
    needed: Vec<(EncodingId, Bound)>,
    keys: &'a RowKeys,
    /// The version in which the parts are.
    manifest: &'a Manifest,
    projection: Projection,
}

/// How the cells of a column of the schema are had again.
enum Recovered<'a> {
    /// They are not stored.
    Nothing,
    Clear(&'a Column),
    /// The sealed column with this number.
    Sealed(usize),
    /// From the encoded columns at these places of [`Reader::needed`].
    Encrypted {
        column: &'a Column,
        value: usize,
        valid: Option<usize>,
        form: EncryptedAs,
    },
}

/// The numbers as which values are encrypted.
#[derive(Clone, Copy)]
enum EncryptedAs {
    /// Reals, rounded to so many digits after the point.
    F64 {
        digits: usize,
    },
    I64,
    I128,
}

/// A stored chunk with some living rows, not decrypted yet.
pub(super) struct Sealed {
    chunk: ChunkRow,
    /// Its clear columns.
    clear: Option<RecordBatch>,
    /// The rows that count; `None` for all.
    living: Option<BooleanBuffer>,
    /// The append that it is of.
    append: Option<AppendId>,
    /// Its domain.
    domain: u32,
}

impl Sealed {
    /// Rows, deleted ones too.
    pub(super) fn rows(&self) -> usize {
        self.chunk.rows as usize
    }
}

impl<'a> Reader<'a> {
    /// Of a table that its owner has opened.
    ///
    /// # Errors
    /// [`CompactError::Lost`] for a table of which a column cannot be had again.
    pub(super) fn new(opened: &'a Opened) -> Result<Self, ClientError> {
        let Opened { manifest, half, keys, .. } = opened;
        let schema = &half.schema;
        let bounds = stored_bounds(schema, &half.encodings)?;
        let all: Vec<(&ColumnKey, Bound)> = keys.present().columns.iter().zip(bounds).collect();
        let (mut needed, mut sealed) = (Vec::new(), 0);
        // The first encoded column of a quantity is as good as any other.
        let place_of = |needed: &mut Vec<(&'a ColumnKey, Bound)>, quantity: &Quantity| {
            let found = all.iter().find(|(key, _)| key.encoding.quantity == *quantity)?;
            needed.push(found.clone());
            Some(needed.len() - 1)
        };
        let mut columns = Vec::with_capacity(schema.columns.len());
        for column in &schema.columns {
            columns.push(match column.protect {
                Protection::Drop => Recovered::Nothing,
                Protection::Clear => Recovered::Clear(column),
                Protection::Seal => {
                    sealed += 1;
                    Recovered::Sealed(sealed - 1)
                }
                Protection::Encrypt | Protection::Decide => {
                    if !all.iter().any(|(key, _)| names(&key.encoding.quantity, &column.name)) {
                        columns.push(Recovered::Nothing);
                        continue;
                    }
                    let lost = |lacking| CompactError::Lost { column: column.name.clone(), lacking };
                    let value = place_of(&mut needed, &Quantity::Value(column.name.clone()));
                    let value = value.ok_or_else(|| lost(Lacking::Values))?;
                    let valid = place_of(&mut needed, &Quantity::Valid(column.name.clone()));
                    if column.nullable && valid.is_none() {
                        return Err(lost(Lacking::Missing).into());
                    }
                    let bound = needed.get(value).map(|(_, bound)| &bound.values);
                    let form = numbers_of(column, bound).ok_or_else(|| lost(Lacking::Digits))?;
                    Recovered::Encrypted { column, value, valid, form }
                }
            });
        }
        let encodings: Vec<EncodingId> = needed.iter().map(|(key, _)| key.id()).collect();
        let sealed = (0..sealed_columns(schema).len() as u32).collect();
        let projection = Projection { seed: true, encodings, sealed, chunks: None };
        let needed = needed.into_iter().map(|(key, bound)| (key.id(), bound)).collect();
        Ok(Self { columns, needed, keys, manifest: manifest.manifest(), projection })
    }

    /// Gives the chunks of a part that have living rows to `take`, in their order.
    ///
    /// # Errors
    /// Those of reading the part, and of `take`.
    pub(super) fn each_chunk(
        &self,
        files: &TableStore,
        manifest: &Manifest,
        (place, entry): (PartPlace, &PartEntry),
        mut take: impl FnMut(Sealed) -> Result<(), ClientError>,
    ) -> Result<(), ClientError> {
        if entry.living_rows() == 0 {
            return Ok(());
        }
        let clear = clear_batch(files, manifest, entry)?;
        let (dead, append, domain) =
            (files.dead_rows(entry)?, entry.append.map(|append| append.id), entry.domain);
        let mut offset = 0;
        let mut pass = |chunk: ChunkRow| {
            let rows = chunk.rows as usize;
            let living = dead.as_ref().and_then(|dead| dead.living_of_rows(offset, rows));
            let clear = clear.as_ref().map(|batch| batch.slice(offset, rows));
            offset += rows;
            let has_rows = living.as_ref().is_none_or(|living| living.count_set_bits() > 0);
            if has_rows { take(Sealed { chunk, clear, living, append, domain }) } else { Ok(()) }
        };
        if entry.encrypted.is_none() {
            let bare = |number: u32| {
                let rows = entry.rows - u64::from(number) * u64::from(CHUNK_ROWS);
                let rows = rows.min(u64::from(CHUNK_ROWS)) as u32;
                ChunkRow { index: number, written: number, rows, seed: None, encoded: vec![], sealed: vec![] }
            };
            return (0..entry.chunks).try_for_each(|number| pass(bare(number)));
        }
        let part = files.open_encrypted(manifest, place, entry)?;
        part.chunks(&self.projection)?.try_for_each(|chunk| pass(chunk?))?;
        Ok(part.expect_unchanged()?)
    }

    /// Decrypts the living rows of a chunk.
    ///
    /// # Errors
    /// A blob that is damaged or belongs elsewhere; [`ClientError::Beyond`].
    pub(super) fn decrypt(&self, sealed: &Sealed) -> Result<RowBatch, ClientError> {
        let Sealed { chunk, clear, living: marks, append, domain } = sealed;
        let keys = self.keys.of(self.manifest, *domain)?;
        let cells = self.needed.iter().zip(&chunk.encoded).map(|((id, bound), blob)| {
            let key = keys.columns.get(*id)?;
            let seed =
                chunk.seed.ok_or(ClientError::Internal { what: "a chunk was read without its seed" })?;
            decrypt_chunk(key, (seed, chunk.written, chunk.rows), blob, bound, None)
        });
        let cells = cells.collect::<Result<Vec<Cells>, ClientError>>()?;
        let columns = self.columns.iter().map(|recovered| {
            Ok(match recovered {
                Recovered::Nothing => None,
                Recovered::Clear(column) => {
                    let found = clear.as_ref().and_then(|batch| batch.column_by_name(&column.name));
                    let array = found.ok_or(ClientError::Internal { what: "a clear column is missing" })?;
                    Some(ColumnData::Array(cast(array, &arrow_type(column.kind))?))
                }
                Recovered::Sealed(number) => {
                    let missing = ClientError::Internal { what: "a sealed column is missing" };
                    let found = keys.seals.get(*number).zip(chunk.sealed.get(*number));
                    let (seal, blob) = found.ok_or(missing)?;
                    let plain = seal.open(&sealed_place(*number as u32, *append, chunk.written), blob)?;
                    let array = from_ipc(&plain)?;
                    if array.len() != chunk.rows as usize {
                        return Err(ClientError::Internal {
                            what: "a sealed column has other rows than its chunk",
                        });
                    }
                    Some(ColumnData::Array(array))
                }
                Recovered::Encrypted { column, value, valid, form } => {
                    let missing = ClientError::Internal { what: "an encrypted column is missing" };
                    let value = cells.get(*value).ok_or(missing)?;
                    let valid = valid.and_then(|valid| cells.get(valid));
                    Some(ColumnData::Units(units(column, value, valid, *form)?))
                }
            })
        });
        let columns = columns.collect::<Result<Vec<_>, ClientError>>()?;
        let batch = RowBatch { first_row: 0, rows: chunk.rows as usize, columns };
        match marks {
            Some(marks) => living(batch, marks),
            None => Ok(batch),
        }
    }
}

/// Whether a quantity is computed from a column.
fn names(quantity: &Quantity, column: &String) -> bool {
    match quantity {
        Quantity::Square(name) | Quantity::Valid(name) | Quantity::Value(name) => name == column,
        Quantity::BothValid(left, right) | Quantity::Product(left, right) => {
            left == column || right == column
        }
        Quantity::Log(factors) | Quantity::Monomial(factors) => factors.contains(column),
        Quantity::Negative(factors) | Quantity::Zero(factors) => factors.contains(column),
        Quantity::Where { quantity, present } => present.contains(column) || names(quantity, column),
    }
}

/// The form in which a source's values of this column are encrypted; `None` if they are known less well than the schema declares.
fn numbers_of(column: &Column, allowed: Option<&Allowed>) -> Option<EncryptedAs> {
    let Some(bounds) = column_bounds(column) else {
        let ColumnType::Float { digits } = column.kind else { return None };
        let Some(Allowed::Approx { error, .. }) = allowed else { return None };
        return Some(EncryptedAs::F64 { digits: stable_digits(digits, *error)? });
    };
    let is_short = i64::try_from(bounds.low).is_ok() && i64::try_from(bounds.high).is_ok();
    Some(if is_short { EncryptedAs::I64 } else { EncryptedAs::I128 })
}

/// Decrypted cells as they are encrypted: 0 where missing.
fn units(
    column: &Column,
    value: &Cells,
    valid: Option<&Cells>,
    form: EncryptedAs,
) -> Result<TypedColumn, ClientError> {
    let nulls = valid.map(Cells::nulls).transpose()?;
    let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    let values = match (value, form) {
        (Cells::Exact(units), EncryptedAs::I64 | EncryptedAs::I128) => {
            check_declared(column, units, nulls.as_ref())?;
            match form {
                EncryptedAs::I64 => Values::I64(narrowed(units)?),
                _ => Values::I128(narrowed(units)?),
            }
        }
        (Cells::Approx(reals), EncryptedAs::F64 { digits }) => {
            let rounded = reals.iter().enumerate();
            let rounded =
                rounded.map(|(row, real)| if is_null(row) { 0.0 } else { to_digits(*real, digits) });
            Values::F64(rounded.collect())
        }
        _ => return Err(ClientError::Internal { what: "a column is not encrypted as its schema says" }),
    };
    let valid = nulls.filter(|nulls| nulls.null_count() > 0).map(|nulls| nulls.iter().collect());
    Ok(TypedColumn { values, valid })
}

fn narrowed<T: TryFrom<I256>>(values: &[I256]) -> Result<Vec<T>, ClientError> {
    values.iter().map(|value| T::try_from(*value).map_err(|_| ClientError::Overflow)).collect()
}

/// The clear columns of a part; `None` for a table without.
fn clear_batch(
    files: &TableStore,
    manifest: &Manifest,
    entry: &PartEntry,
) -> Result<Option<RecordBatch>, ClientError> {
    if entry.clear.is_none() {
        return Ok(None);
    }
    let part = files.open_clear(manifest, entry)?;
    let all: Vec<usize> = (0..part.schema().fields().len()).collect();
    Ok(Some(concat_batches(part.schema(), &part.read(&all)?)?))
}
