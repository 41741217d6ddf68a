// SPDX-License-Identifier: Apache-2.0
//! The living rows of stored parts, decrypted into the form in which rows of a source are encrypted.
//!
//! Exact columns go from units to units, so that nothing is rounded. Values of approximate columns are rounded to the digit behind the last one
//! that the schema declares, as decryption shows them; the error of an encryption is less than half of that digit, so that rounding once more
//! changes nothing.

use std::collections::BTreeMap;

use arrow::array::{RecordBatch, new_null_array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{cast, concat_batches};
use ethnum::I256;
use hush_encode::arrow_type;
use hush_plan::bounds::{Bound, Values as Allowed};
use hush_plan::physical::stored_bounds;
use hush_plan::schema::units::column_bounds;
use hush_plan::schema::{Column, UnitRange};
use hush_plan::{ColumnType, EncodingId, Protection, Quantity};
use hush_table::manifest::PartPlace;
use hush_table::source::{ColumnData, RowBatch, TypedColumn, Values};
use hush_table::{AppendId, CHUNK_ROWS, ChunkRow, Manifest, PartEntry, Projection, TableStore};

use super::error::{CompactError, Lacking};
use super::rows::living;
use crate::cells::Cells;
use crate::cells::decrypt::decrypt_chunk;
use crate::chunk::{from_ipc, sealed_place};
use crate::copy;
use crate::decrypt::check_declared;
use crate::error::ClientError;
use crate::packing::ColumnKey;
use crate::place::Opened;
use crate::precision::{stable_digits, to_digits};
use crate::roots::RowKeys;

/// Decrypts parts of one encryption of a table.
pub(super) struct Reader<'a> {
    /// By generation.
    recipes: BTreeMap<u32, Recipe<'a>>,
    keys: &'a RowKeys,
    /// The version in which the parts are.
    manifest: &'a Manifest,
}

/// How the rows of parts of one generation are had again.
struct Recipe<'a> {
    columns: Vec<Recovered<'a>>,
    /// The encoded columns that are read, in the order of `projection`.
    needed: Vec<(EncodingId, Bound)>,
    projection: Projection,
}

/// How the cells of a column of the schema are had again.
enum Recovered<'a> {
    /// The values of a join key's tokens.
    Token(&'a Column),
    /// They are not stored.
    Nothing,
    /// The column was added later: all are missing.
    Missing(&'a Column),
    Clear(&'a Column),
    /// The column under a seal at this place of the projection, and among the keys of the table; the column, if it is a copy.
    Sealed {
        read: usize,
        of_table: usize,
        copied: Option<&'a Column>,
    },
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
    /// Its generation.
    generation: u32,
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
        let manifest = opened.manifest.manifest();
        let earlier = manifest.generations.iter().map(|generation| generation.number);
        let recipes = earlier.chain([manifest.generation]);
        let recipes = recipes.map(|number| Ok((number, Recipe::new(opened, number)?)));
        let recipes = recipes.collect::<Result<_, ClientError>>()?;
        Ok(Self { recipes, keys: &opened.keys, manifest })
    }

    fn recipe(&self, generation: u32) -> Result<&Recipe<'a>, ClientError> {
        let found = self.recipes.get(&generation);
        found.ok_or(ClientError::Internal { what: "a part is of no generation of its table" })
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
        let (dead, append) = (files.dead_rows(entry)?, entry.append.map(|append| append.id));
        let (domain, generation) = (entry.domain, entry.generation);
        let mut offset = 0;
        let mut pass = |chunk: ChunkRow| {
            let rows = chunk.rows as usize;
            let living = dead.as_ref().and_then(|dead| dead.living_of_rows(offset, rows));
            let clear = clear.as_ref().map(|batch| batch.slice(offset, rows));
            offset += rows;
            let has_rows = living.as_ref().is_none_or(|living| living.count_set_bits() > 0);
            if has_rows { take(Sealed { chunk, clear, living, append, domain, generation }) } else { Ok(()) }
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
        part.chunks(&self.recipe(generation)?.projection)?.try_for_each(|chunk| pass(chunk?))?;
        Ok(part.expect_unchanged()?)
    }

    /// Decrypts the living rows of a chunk.
    ///
    /// # Errors
    /// A blob that is damaged or belongs elsewhere; [`ClientError::Beyond`].
    pub(super) fn decrypt(&self, sealed: &Sealed) -> Result<RowBatch, ClientError> {
        let Sealed { chunk, clear, living: marks, append, domain, generation } = sealed;
        let recipe = self.recipe(*generation)?;
        let keys = self.keys.of(self.manifest, *domain)?;
        let cells = recipe.needed.iter().zip(&chunk.encoded).map(|((id, bound), blob)| {
            let key = keys.columns.get(*id)?;
            let seed =
                chunk.seed.ok_or(ClientError::Internal { what: "a chunk was read without its seed" })?;
            decrypt_chunk(key, (seed, chunk.written, chunk.rows), blob, bound, None)
        });
        let cells = cells.collect::<Result<Vec<Cells>, ClientError>>()?;
        let columns = recipe.columns.iter().map(|recovered| {
            Ok(match recovered {
                Recovered::Nothing => None,
                Recovered::Missing(column) => Some(all_missing(column, chunk.rows as usize)),
                Recovered::Clear(column) => {
                    let found = clear.as_ref().and_then(|batch| batch.column_by_name(&column.name));
                    let array = found.ok_or(ClientError::Internal { what: "a clear column is missing" })?;
                    Some(ColumnData::Array(cast(array, &arrow_type(column.kind))?))
                }
                Recovered::Token(column) => {
                    let found = clear.as_ref().and_then(|batch| batch.column_by_name(&column.name));
                    let tokens = found.ok_or(ClientError::Internal { what: "a join key is missing" })?;
                    Some(ColumnData::Array(self.keys.tokens.values(&column.name, tokens)?))
                }
                Recovered::Sealed { read, of_table, copied } => {
                    let missing = ClientError::Internal { what: "a sealed column is missing" };
                    let found = keys.seals.get(*of_table).zip(chunk.sealed.get(*read));
                    let (seal, blob) = found.ok_or(missing)?;
                    let plain = seal.key.open(&sealed_place(seal.number, *append, chunk.written), blob)?;
                    if let Some(column) = copied {
                        let data = copy::unpack(&plain, chunk.rows as usize)?;
                        Some(ColumnData::Units(copy::within(column, data)?))
                    } else {
                        let array = from_ipc(&plain)?;
                        if array.len() != chunk.rows as usize {
                            return Err(ClientError::Internal {
                                what: "a sealed column has other rows than its chunk",
                            });
                        }
                        Some(ColumnData::Array(array))
                    }
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

impl<'a> Recipe<'a> {
    fn new(opened: &'a Opened, generation: u32) -> Result<Self, ClientError> {
        let Opened { manifest, half, keys, .. } = opened;
        let (schema, manifest) = (&half.schema, manifest.manifest());
        let stored = manifest.columns_of(generation);
        let bounds = stored_bounds(schema, &half.encodings)?;
        let all: Vec<(&ColumnKey, Bound)> = (keys.present().columns.iter().zip(bounds))
            .filter(|(key, _)| stored.encodings.binary_search(&key.id()).is_ok())
            .collect();
        let (mut needed, mut sealed) = (Vec::new(), Vec::new());
        // The place of a column among the keys of the table, if the parts have it under a seal.
        let under_seal = |name: &str| {
            let place = keys.present().seals.iter().position(|seal| seal.name == name)?;
            let number = keys.present().seals.get(place)?.number;
            stored.sealed.binary_search(&number).is_ok().then_some((place, number))
        };
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
                Protection::JoinKey => Recovered::Token(column),
                Protection::Seal => match under_seal(&column.name) {
                    Some((of_table, number)) => {
                        sealed.push(number);
                        Recovered::Sealed { read: sealed.len() - 1, of_table, copied: None }
                    }
                    None => Recovered::Missing(column),
                },
                Protection::Encrypt if under_seal(&column.name).is_some() => {
                    let (of_table, number) = under_seal(&column.name).unwrap_or_default();
                    sealed.push(number);
                    Recovered::Sealed { read: sealed.len() - 1, of_table, copied: Some(column) }
                }
                Protection::Encrypt if column.is_copy_alone() => Recovered::Missing(column),
                _ if !half.has(manifest, generation, &column.name) => Recovered::Missing(column),
                Protection::Encrypt | Protection::Decide => {
                    if !all
                        .iter()
                        .any(|(key, _)| key.encoding.quantity.columns().contains(&column.name.as_str()))
                    {
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
        let projection = Projection { seed: true, encodings, sealed, chunks: None };
        let needed = needed.into_iter().map(|(key, bound)| (key.id(), bound)).collect();
        Ok(Self { columns, needed, projection })
    }
}

/// The form in which a source's values of this column are encrypted; `None` if they are known less well than the schema declares.
fn numbers_of(column: &Column, allowed: Option<&Allowed>) -> Option<EncryptedAs> {
    let Some(bounds) = column_bounds(column) else {
        let ColumnType::Float { digits } = column.kind else { return None };
        let Some(Allowed::Approx { error, .. }) = allowed else { return None };
        return Some(EncryptedAs::F64 { digits: stable_digits(digits, *error)? });
    };
    Some(if is_short(&bounds) { EncryptedAs::I64 } else { EncryptedAs::I128 })
}

/// The cells of a column in rows from before it was added.
fn all_missing(column: &Column, rows: usize) -> ColumnData {
    let is_encrypted = matches!(column.protect, Protection::Encrypt | Protection::Decide);
    if !is_encrypted {
        return ColumnData::Array(new_null_array(&arrow_type(column.kind), rows));
    }
    let values = match column_bounds(column) {
        None => Values::F64(vec![0.0; rows]),
        Some(bounds) if is_short(&bounds) => Values::I64(vec![0; rows]),
        Some(_) => Values::I128(vec![0; rows]),
    };
    ColumnData::Units(TypedColumn { values, valid: Some(vec![false; rows].into_iter().collect()) })
}

fn is_short(bounds: &UnitRange) -> bool {
    i64::try_from(bounds.low).is_ok() && i64::try_from(bounds.high).is_ok()
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
