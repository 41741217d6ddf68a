// SPDX-License-Identifier: Apache-2.0
//! Lookups of a typed pass: chunks of facts get the columns of the rows that their keys find.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array, new_null_array};
use arrow::compute::{concat, take};
use arrow::row::{RowConverter, SortField};
use hush_plan::schema::{Column, ColumnType, Schema};

use super::super::batch::{ColumnData, RowBatch, TypedColumn, Values};
use super::super::column::array;
use super::super::{BatchFault, Place, ReadAs, SourceError};
use super::{INDEX_ENTRY_BYTES, Joined, KeyKind, Lookup, LookupFault};

/// The lookups of a pass, read.
pub(in super::super) struct Join {
    steps: Vec<Step>,
    /// Columns of the schema that are read for keys and not wanted otherwise.
    only_keys: Vec<usize>,
}

/// One lookup.
struct Step {
    lookup: Lookup,
    keys: Vec<Key>,
    converter: RowConverter,
    /// The row that has a key. Rows of which a part of the key is missing are none of it.
    index: HashMap<Box<[u8]>, u32>,
    /// A row that has no values: the one behind the last.
    nothing: u32,
    columns: Vec<Given>,
}

/// A column of a key: where the schema has it, and the type that its values have on both sides.
struct Key {
    position: usize,
    kind: ColumnType,
}

/// A column that a lookup gives, and where the schema has it.
struct Given {
    position: usize,
    column: Column,
    data: ColumnData,
}

impl Join {
    /// Reads what a pass looks up. `positions` has the place in the schema of each column of the data; `asked` what is read of each column of
    /// the schema. Columns of lookups are taken out of what is asked of the facts, and keys are added to it.
    ///
    /// # Errors
    /// [`SourceError::Lookup`]; those of reading, which name the file.
    pub(in super::super) fn open(
        joined: &Joined,
        schema: &Schema,
        positions: &[usize],
        asked: &mut [(Column, ReadAs)],
    ) -> Result<Self, SourceError> {
        let mut only_keys = Vec::new();
        let mut wanted = Vec::new();
        // The last first: a key may be a column that an earlier lookup gives.
        for lookup in joined.lookups.iter().rev() {
            let given = positions.get(lookup.first..lookup.first + lookup.kept.len()).unwrap_or_default();
            let columns: Vec<(usize, Column, ReadAs)> = given
                .iter()
                .filter_map(|position| {
                    let (column, form) = asked.get_mut(*position)?;
                    Some((*position, column.clone(), std::mem::replace(form, ReadAs::Skip)))
                })
                .collect();
            if columns.iter().all(|(_, _, form)| *form == ReadAs::Skip) {
                continue;
            }
            for position in lookup.keys.iter().filter_map(|(own, _)| positions.get(*own)) {
                if let Some((column, form)) = asked.get_mut(*position)
                    && *form == ReadAs::Skip
                {
                    only_keys.push(*position);
                    *form = ReadAs::Array;
                    *column = Column { nullable: true, range: None, ..column.clone() };
                }
            }
            wanted.push((lookup, columns));
        }
        let read = |(lookup, columns)| Step::read(lookup, schema, positions, columns);
        let steps = wanted.into_iter().rev().map(read).collect::<Result<_, _>>()?;
        Ok(Self { steps, only_keys })
    }

    /// The batch with what its rows look up. Their texts may take `text_bytes` more.
    ///
    /// # Errors
    /// [`LookupFault::NotFound`]; [`SourceError::ChunkTooLarge`].
    pub(in super::super) fn add(
        &self,
        mut batch: RowBatch,
        mut text_bytes: usize,
    ) -> Result<RowBatch, SourceError> {
        for step in &self.steps {
            step.add(&mut batch, &mut text_bytes)?;
        }
        for position in &self.only_keys {
            if let Some(column) = batch.columns.get_mut(*position) {
                *column = None;
            }
        }
        Ok(batch)
    }
}

impl Step {
    fn read(
        lookup: &Lookup,
        schema: &Schema,
        positions: &[usize],
        given: Vec<(usize, Column, ReadAs)>,
    ) -> Result<Self, SourceError> {
        let keys = lookup.keys.iter().filter_map(|(own, theirs)| {
            let position = *positions.get(*own)?;
            Some((position, schema.columns.get(position)?, lookup.rows.columns().get(*theirs)?))
        });
        let mut of_keys = Vec::with_capacity(lookup.keys.len());
        let mut columns = Vec::with_capacity(lookup.rows.columns().len());
        for (position, own, theirs) in keys {
            let expected = KeyKind::of(own.kind);
            let found = KeyKind::declared(theirs).unwrap_or(expected);
            if found != expected || expected == KeyKind::Float {
                let (theirs, own) = (theirs.name.as_str().into(), own.name.as_str().into());
                return Err(lookup.fault(LookupFault::OtherKind { theirs, found, own, expected }));
            }
            let kind = match own.kind {
                // Wider integers of the other side are equal to none here.
                ColumnType::Int { .. } => ColumnType::Int { bits: 64 },
                kind => kind,
            };
            of_keys.push(Key { position, kind });
            let name = theirs.name.clone();
            columns.push(Column { name, kind, nullable: true, range: None, ..own.clone() });
        }
        // What must be there is asked of the rows that are found.
        columns.extend(given.iter().map(|(_, column, _)| Column { nullable: true, ..column.clone() }));
        let forms: HashMap<&str, ReadAs> =
            given.iter().map(|(_, column, form)| (column.name.as_str(), *form)).collect();
        let theirs = Schema { columns, max_rows: u64::MAX, ..schema.clone() };
        let form = |column: &Column| forms.get(column.name.as_str()).copied().unwrap_or(ReadAs::Array);
        let batches = lookup.rows.typed_with(&theirs, form).map_err(|error| lookup.error(error))?;
        let mut reading = Reading::new(lookup, of_keys.len())?;
        for batch in batches {
            reading.add(batch.map_err(|error| lookup.error(error))?)?;
        }
        reading.finish(of_keys, given)
    }

    /// Adds the columns of the rows that are found to a batch.
    fn add(&self, batch: &mut RowBatch, text_bytes: &mut usize) -> Result<(), SourceError> {
        let of_key =
            |key: &Key| batch.columns.get(key.position)?.as_ref().map(|data| data.as_array(key.kind));
        let keys: Option<Vec<ArrayRef>> = self.keys.iter().map(of_key).collect();
        let keys = keys.ok_or(SourceError::Batches { what: BatchFault::Columns })?;
        let found = self.find(&keys)?;
        for Given { position, column, data } in &self.columns {
            // Arrow counts the bytes of an array's texts in 31 bits.
            let limit_bytes = (*text_bytes).min(i32::MAX as usize);
            let texts = data.text_bytes(&found);
            if texts > limit_bytes {
                let place = Place::Row(batch.first_row + batch.rows as u64);
                return Err(SourceError::ChunkTooLarge { place, rows: batch.rows, limit_bytes });
            }
            *text_bytes -= texts;
            let data = data.picked(&found)?;
            if !column.nullable
                && let Some((first, count)) = data.missing()
            {
                let (row, column) = (batch.first_row + first as u64 + 1, column.name.as_str().into());
                let what = LookupFault::NotFound { row, column, more: count - 1 };
                return Err(self.lookup.fault(what));
            }
            if let Some(place) = batch.columns.get_mut(*position) {
                *place = Some(data);
            }
        }
        Ok(())
    }

    /// For each row its row in the lookup.
    fn find(&self, keys: &[ArrayRef]) -> Result<Vec<u32>, SourceError> {
        let rows = self.converter.convert_columns(keys).map_err(|_| broken())?;
        let is_whole = |row: usize| keys.iter().all(|key| key.is_valid(row));
        let of_row = |(row, key): (usize, arrow::row::Row<'_>)| match self.index.get(key.as_ref()) {
            Some(found) if is_whole(row) => *found,
            _ => self.nothing,
        };
        Ok(rows.iter().enumerate().map(of_row).collect())
    }
}

/// A lookup that is being read.
struct Reading<'a> {
    lookup: &'a Lookup,
    keys: usize,
    converter: Option<RowConverter>,
    index: HashMap<Box<[u8]>, u32>,
    rows: u32,
    /// Of each column that it gives, what was read.
    chunks: Vec<Vec<ColumnData>>,
    bytes: u64,
}

impl<'a> Reading<'a> {
    fn new(lookup: &'a Lookup, keys: usize) -> Result<Self, SourceError> {
        if keys != lookup.keys.len() {
            return Err(SourceError::Batches { what: BatchFault::Columns });
        }
        let (index, chunks) = (HashMap::new(), Vec::new());
        Ok(Self { lookup, keys, converter: None, index, rows: 0, chunks, bytes: 0 })
    }

    /// Adds rows: their keys, then the columns that they give.
    fn add(&mut self, batch: RowBatch) -> Result<(), SourceError> {
        let mut columns = batch.columns.into_iter();
        let array = |data: Option<ColumnData>| match data {
            Some(ColumnData::Array(array)) => Ok(array),
            _ => Err(broken()),
        };
        let keys = columns.by_ref().take(self.keys).map(array).collect::<Result<Vec<_>, _>>()?;
        let converter = match &mut self.converter {
            Some(converter) => converter,
            none => {
                let fields = keys.iter().map(|key| SortField::new(key.data_type().clone()));
                none.insert(RowConverter::new(fields.collect()).map_err(|_| broken())?)
            }
        };
        let rows = converter.convert_columns(&keys).map_err(|_| broken())?;
        for (row, key) in rows.iter().enumerate() {
            let place = self.rows + row as u32;
            if keys.iter().any(|array| array.is_null(row)) {
                continue;
            }
            let key: Box<[u8]> = key.as_ref().into();
            self.bytes += (key.len() + INDEX_ENTRY_BYTES) as u64;
            if let Some(known) = self.index.insert(key, place) {
                let (first, second) = (u64::from(known) + 1, u64::from(place) + 1);
                return Err(self.lookup.fault(LookupFault::Twice { first, second }));
            }
        }
        self.chunks.resize_with(columns.len(), Vec::new);
        for (chunks, data) in self.chunks.iter_mut().zip(columns) {
            self.bytes += data.as_ref().map_or(0, ColumnData::bytes);
            chunks.extend(data);
        }
        self.lookup.check_size(self.bytes)?;
        // Within the limit on memory, rows are fewer than 2^32.
        self.rows = self.rows.checked_add(batch.rows as u32).ok_or_else(broken)?;
        Ok(())
    }

    fn finish(self, keys: Vec<Key>, given: Vec<(usize, Column, ReadAs)>) -> Result<Step, SourceError> {
        let mut columns = Vec::with_capacity(given.len());
        for ((position, column, _), chunks) in given.into_iter().zip(self.chunks) {
            if let Some(data) = joined(chunks)? {
                columns.push(Given { position, column, data });
            }
        }
        let converter = self.converter.ok_or_else(|| self.lookup.error(SourceError::NoRows))?;
        let (lookup, index, nothing) = (self.lookup.clone(), self.index, self.rows);
        Ok(Step { lookup, keys, converter, index, nothing, columns })
    }
}

/// Chunks of a column one behind the other, and a missing value behind the last; `None` if the column was not read.
fn joined(chunks: Vec<ColumnData>) -> Result<Option<ColumnData>, SourceError> {
    let (mut arrays, mut units): (Vec<ArrayRef>, Vec<TypedColumn>) = (Vec::new(), Vec::new());
    for chunk in chunks {
        match chunk {
            ColumnData::Array(array) => arrays.push(array),
            ColumnData::Units(column) => units.push(column),
        }
    }
    if let Some(first) = arrays.first() {
        arrays.push(new_null_array(first.data_type(), 1));
        let all: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        return Ok(Some(ColumnData::Array(concat(&all).map_err(|_| broken())?)));
    }
    let mut units = units.into_iter();
    let Some(TypedColumn { mut values, valid }) = units.next() else { return Ok(None) };
    let mut valid = valid.unwrap_or_else(|| vec![true; values.len()]);
    for next in units {
        valid.extend(next.valid.unwrap_or_else(|| vec![true; next.values.len()]));
        match (&mut values, next.values) {
            (Values::F64(all), Values::F64(more)) => all.extend(more),
            (Values::I128(all), Values::I128(more)) => all.extend(more),
            (Values::I64(all), Values::I64(more)) => all.extend(more),
            _ => return Err(broken()),
        }
    }
    valid.push(false);
    match &mut values {
        Values::F64(all) => all.push(0.0),
        Values::I128(all) => all.push(0),
        Values::I64(all) => all.push(0),
    }
    Ok(Some(ColumnData::Units(TypedColumn { values, valid: Some(valid) })))
}

impl ColumnData {
    /// The values as an array of the column's type.
    fn as_array(&self, kind: ColumnType) -> ArrayRef {
        match self {
            Self::Array(array) => array.clone(),
            Self::Units(TypedColumn { values, valid }) => {
                let values = match values {
                    Values::F64(values) => Values::F64(values.clone()),
                    Values::I128(values) => Values::I128(values.clone()),
                    Values::I64(values) => Values::I64(values.clone()),
                };
                array(values, valid.clone(), kind)
            }
        }
    }

    /// About how many bytes of memory it takes.
    fn bytes(&self) -> u64 {
        match self {
            Self::Array(array) => array.get_buffer_memory_size() as u64,
            Self::Units(TypedColumn { values, .. }) => {
                let bytes = if let Values::I128(_) = values { 17 } else { 9 };
                bytes * values.len() as u64
            }
        }
    }

    /// Bytes of the texts of some rows; 0 of other columns.
    fn text_bytes(&self, rows: &[u32]) -> usize {
        let Self::Array(array) = self else { return 0 };
        let Some(texts) = array.as_string_opt::<i32>() else { return 0 };
        let offsets = texts.value_offsets();
        let length = |row: &u32| {
            let row = *row as usize;
            let ends = offsets.get(row).zip(offsets.get(row + 1));
            ends.map_or(0, |(start, end)| (end - start) as usize)
        };
        rows.iter().map(length).fold(0, usize::saturating_add)
    }

    /// Some rows of it, in this order.
    fn picked(&self, rows: &[u32]) -> Result<Self, SourceError> {
        match self {
            Self::Array(array) => {
                let rows = UInt32Array::from(rows.to_vec());
                Ok(Self::Array(take(array, &rows, None).map_err(|_| broken())?))
            }
            Self::Units(TypedColumn { values, valid }) => {
                let values = match values {
                    Values::F64(values) => Values::F64(picked(values, rows)),
                    Values::I128(values) => Values::I128(picked(values, rows)),
                    Values::I64(values) => Values::I64(picked(values, rows)),
                };
                let valid = valid.as_ref().map(|valid| picked(valid, rows));
                let valid = valid.filter(|valid| valid.contains(&false));
                Ok(Self::Units(TypedColumn { values, valid }))
            }
        }
    }

    /// The first row whose value is missing, and how many are.
    fn missing(&self) -> Option<(usize, u64)> {
        let count = |rows: &mut dyn Iterator<Item = usize>| {
            let first = rows.next()?;
            Some((first, 1 + rows.count() as u64))
        };
        match self {
            Self::Array(array) => count(&mut (0..array.len()).filter(|row| array.is_null(*row))),
            Self::Units(TypedColumn { valid, .. }) => {
                let valid = valid.as_deref().unwrap_or_default();
                count(&mut valid.iter().enumerate().filter(|(_, valid)| !**valid).map(|(row, _)| row))
            }
        }
    }
}

fn picked<T: Copy + Default>(values: &[T], rows: &[u32]) -> Vec<T> {
    rows.iter().map(|row| values.get(*row as usize).copied().unwrap_or_default()).collect()
}

/// Arrays of one schema that do not fit each other, which the typed pass never gives.
fn broken() -> SourceError {
    SourceError::Batches { what: BatchFault::Broken }
}
