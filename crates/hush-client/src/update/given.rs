// SPDX-License-Identifier: Apache-2.0
//! The rows that an update is given: new values of some columns, by the values of a key.

use std::collections::BTreeMap;
use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::concat_batches;
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, SortField};
use hush_encode::{arrow_type, clear_rows, clear_schema};
use hush_plan::plan::Predicate;
use hush_plan::schema::Column;
use hush_plan::sql::Condition;
use hush_plan::{ColumnType, Protection, Schema};
use hush_table::source::{Source, SourceError};

use crate::decrypt::ChunkRows;
use crate::error::ClientError;
use crate::find::Criterion;

/// Most values of a key that are named to an engine without keys. Beyond them every part is read.
const MOST_NAMED: usize = 1000;

/// Rows with new values, found by their key.
pub(super) struct Given {
    /// Some of the table's columns, as their Arrow types.
    pub(super) rows: RecordBatch,
    key: Key,
    /// The row of each value of the key.
    index: HashMap<Box<[u8]>, usize>,
    /// A condition that the rows of all these values meet, on a clear column.
    clear: Option<Condition>,
}

/// Columns that tell rows apart.
struct Key {
    columns: Vec<String>,
    converter: RowConverter,
}

impl Given {
    /// Reads new values of the columns that the source has, by the table's schema. `key` names columns of the table.
    ///
    /// # Errors
    /// Rows that do not fit the schema; [`ClientError::Usage`] for a key that is not in the source or is approximate, and for columns
    /// that the table does not have; [`ClientError::NullKey`]; [`ClientError::DuplicateKey`].
    pub(super) fn read(source: &Source, schema: &Schema, key: &[String]) -> Result<Self, ClientError> {
        let rows = typed(source, schema)?;
        check_bounds(&rows, schema)?;
        let key = Key::new(key, schema, &rows)?;
        let (bytes, mut index) = (key.bytes(&rows)?, HashMap::new());
        for (row, bytes) in bytes.into_iter().enumerate() {
            let bytes = bytes.ok_or(ClientError::NullKey { row: row as u64 + 1 })?;
            if let Some(first) = index.insert(bytes, row) {
                return Err(ClientError::DuplicateKey { first: first as u64 + 1, second: row as u64 + 1 });
            }
        }
        let clear = key.condition(schema, &rows)?;
        Ok(Self { rows, key, index, clear })
    }

    /// For each of some rows of the table the row that was given for it, if one was.
    ///
    /// # Errors
    /// [`ClientError::Internal`] for rows without the key.
    pub(super) fn of(&self, rows: &RecordBatch) -> Result<Vec<Option<usize>>, ClientError> {
        let bytes = self.key.bytes(rows)?;
        Ok(bytes.into_iter().map(|bytes| self.index.get(&bytes?).copied()).collect())
    }
}

impl Criterion for Given {
    fn clear(&self) -> Option<&Predicate> {
        self.clear.as_ref().and_then(Condition::clear)
    }

    fn is_clear(&self) -> bool {
        false
    }

    fn columns(&self) -> &[String] {
        &self.key.columns
    }

    fn matching(&self, _: &Schema, chunks: &[ChunkRows]) -> Result<Vec<u64>, ClientError> {
        let mut found = Vec::new();
        for chunk in chunks {
            let given = self.of(&chunk.rows)?;
            let lives = |row: usize| chunk.living.as_ref().is_none_or(|living| living.value(row));
            let rows = given.iter().enumerate().filter(|(row, given)| given.is_some() && lives(*row));
            found.extend(rows.map(|(row, _)| (chunk.first_row + row) as u64));
        }
        Ok(found)
    }
}

impl Key {
    fn new(names: &[String], schema: &Schema, rows: &RecordBatch) -> Result<Self, ClientError> {
        let mut fields = Vec::with_capacity(names.len());
        for name in names {
            let column = schema.columns.iter().find(|column| column.name == *name);
            let is_given = rows.column_by_name(name).is_some();
            let Some(column) = column.filter(|_| is_given) else {
                let what = format!("the rows have no column {name:?} to find theirs by");
                return Err(ClientError::Usage { what });
            };
            if matches!(column.kind, ColumnType::Float { .. }) {
                let what = format!("rows are not found by {name:?}: its numbers are not exact");
                return Err(ClientError::Usage { what });
            }
            fields.push(SortField::new(arrow_type(column.kind)));
        }
        if fields.is_empty() {
            return Err(ClientError::Usage { what: "no column is named to find rows by".into() });
        }
        Ok(Self { columns: names.to_vec(), converter: RowConverter::new(fields)? })
    }

    /// The value of each row, as bytes that are equal where it is; `None` where a column is NULL.
    fn bytes(&self, rows: &RecordBatch) -> Result<Vec<Option<Box<[u8]>>>, ClientError> {
        let missing = ClientError::Internal { what: "rows without their key" };
        let columns: Option<Vec<ArrayRef>> =
            self.columns.iter().map(|name| rows.column_by_name(name).cloned()).collect();
        let columns = columns.ok_or(missing)?;
        let values = self.converter.convert_columns(&columns)?;
        let of_row = |(at, value): (usize, arrow::row::Row<'_>)| {
            let is_null = columns.iter().any(|column| column.is_null(at));
            (!is_null).then(|| value.as_ref().into())
        };
        Ok(values.iter().enumerate().map(of_row).collect())
    }

    /// The values of a clear column of the key, if they are few.
    fn condition(&self, schema: &Schema, rows: &RecordBatch) -> Result<Option<Condition>, ClientError> {
        if rows.num_rows() == 0 || rows.num_rows() > MOST_NAMED {
            return Ok(None);
        }
        let clear = |name: &&String| {
            let column = schema.columns.iter().find(|column| column.name == **name);
            column.is_some_and(|column| column.protect == Protection::Clear)
        };
        for name in self.columns.iter().filter(clear) {
            let Some(column) = rows.column_by_name(name) else { continue };
            let texts: Vec<String> =
                match (column.as_string_opt::<i32>(), column.as_primitive_opt::<Int64Type>()) {
                    (Some(texts), _) => {
                        texts.iter().flatten().map(|text| format!("'{}'", text.replace('\'', "''"))).collect()
                    }
                    (_, Some(numbers)) => numbers.values().iter().map(ToString::to_string).collect(),
                    _ => continue,
                };
            let name = name.replace('"', "\"\"");
            let condition = Condition::parse(schema, &format!("\"{name}\" IN ({})", texts.join(", ")))?;
            return Ok(Some(condition));
        }
        Ok(None)
    }
}

/// The rows of a source as arrays, whatever their protection.
fn typed(source: &Source, schema: &Schema) -> Result<RecordBatch, ClientError> {
    let has = |source: &Source, name: &str| source.columns().iter().any(|found| found.name == name);
    // What is looked up may have more columns than the table, and its key may be none of it.
    let lookups = source.lookups();
    let is_key = |name: &str| lookups.iter().any(|(_, on)| on.iter().any(|(own, _)| own == name));
    let is_given = |name: &str| has(source.facts(), name) && !is_key(name);
    if let Some(column) = schema.protected(Protection::Drop).find(|column| is_given(&column.name)) {
        return Err(ClientError::DroppedColumn { column: column.name.clone() });
    }
    let readable = |column: &Column| match column.protect {
        Protection::Drop => column.clone(),
        _ => Column { protect: Protection::Clear, ..column.clone() },
    };
    let columns = schema.columns.iter().filter(|column| has(source, &column.name)).map(readable).collect();
    let readable = Schema { columns, ..schema.clone() };
    let arrays = clear_schema(&readable);
    let mut batches = Vec::new();
    for batch in source.typed(&readable)? {
        match batch {
            Ok(batch) => batches.push(clear_rows(&readable, &arrays, &batch, &BTreeMap::new())?),
            Err(SourceError::NoRows) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(concat_batches(&arrays, &batches)?)
}

/// Refuses values that the table cannot have, by the number of their row.
fn check_bounds(rows: &RecordBatch, schema: &Schema) -> Result<(), ClientError> {
    if rows.num_rows() == 0 {
        return Ok(());
    }
    let given = |column: &&Column| rows.column_by_name(&column.name).is_some();
    let columns = schema.columns.iter().filter(given).cloned().collect();
    let readable = Schema { columns, ..schema.clone() };
    let source = Source::from_batches(&schema.table, rows.schema(), std::slice::from_ref(rows))?;
    source.typed(&readable)?.try_for_each(|batch| batch.map(drop))?;
    Ok(())
}
