// SPDX-License-Identifier: Apache-2.0
//! A second reading of the data, for `--verify`. It uses another parser, and no code of ours that could take a value for a
//! missing one.
//!
//! ```text
//!  file ─┬─ our reader, by the schema ────────▶ arrays ─┐
//!        └─ Arrow's CSV reader, or Parquet's ─▶ arrays ─┴─▶ cell by cell
//! ```
//!
//! A cell that is missing in the second reading must be missing in ours. Any other must be present, unless the schema lists its
//! text as a missing value. If Arrow's conversions understand a value, it must be the same. Values that they do not understand (a
//! date with the day first, a decimal comma, `<5`), and types that they convert by other rules, are only compared by presence.
//!
//! *Non-goals.* CSV of one column, where the two readers disagree on purpose: a blank line is a row for us and nothing for Arrow. Which row
//! of a lookup a row finds: its file is read a second time, and not joined.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Field, Float64Type, Schema as ArrowSchema, SchemaRef};
use arrow::record_batch::RecordBatch;
use hush_plan::schema::Column;
use hush_plan::{ColumnType, Protection, Schema};
use hush_table::CHUNK_ROWS;
use hush_table::source::{ColumnData, DataFile, Format, ReadAs, Source};

use crate::error::ClientError;

/// Compares the columns of `schema` that are not dropped with a second reading of `source`, and of what is looked up for it.
///
/// # Cost
/// Two passes over the data.
///
/// # Errors
/// [`ClientError::Unequal`] with the first column that differs; those of reading.
pub(crate) fn check_reading(source: &Source, schema: &Schema) -> Result<(), ClientError> {
    let lookups = source.lookups();
    if lookups.is_empty() {
        return check_file(source, schema);
    }
    let found =
        |source: &Source, column: &Column| source.columns().iter().any(|known| known.name == column.name);
    let of_facts = schema.columns.iter().filter(|column| found(source.facts(), column)).cloned();
    check_file(source.facts(), &Schema { columns: of_facts.collect(), ..schema.clone() })?;
    for (rows, keys) in lookups {
        let is_key = |column: &Column| keys.iter().any(|(_, theirs)| *theirs == column.name);
        let given = schema.columns.iter().filter(|column| found(rows, column) && !is_key(column));
        let given = given.map(|column| Column { nullable: true, ..column.clone() });
        let key = |(own, theirs): &(String, String)| {
            let own = schema.columns.iter().find(|column| column.name == *own)?;
            Some(Column { name: theirs.clone(), protect: Protection::Drop, ..own.clone() })
        };
        let columns = given.chain(keys.iter().filter_map(key)).collect();
        check_reading(rows, &Schema { columns, max_rows: u64::MAX, ..schema.clone() })?;
    }
    Ok(())
}

/// Compares columns with a second reading of data that look nothing up.
fn check_file(source: &Source, schema: &Schema) -> Result<(), ClientError> {
    let is_text = matches!(source.format(), Format::Csv { .. });
    let of_files = (0..source.columns().len()).filter(|place| !source.is_of_path(*place)).count();
    if is_text && of_files == 1 {
        return Ok(());
    }
    let form = |column: &Column| match column.protect {
        Protection::Drop => ReadAs::Skip,
        _ => ReadAs::Array,
    };
    let mut theirs = Second { batches: second_reader(source)?, rest: None };
    for batch in source.typed_with(schema, form)? {
        let batch = batch?;
        let other = theirs.take(batch.rows)?;
        for (column, data) in schema.columns.iter().zip(&batch.columns) {
            let Some(ColumnData::Array(array)) = data else { continue };
            let place = source.columns().iter().position(|known| known.name == column.name);
            let raw = place.and_then(|place| other.columns().get(place));
            let raw = raw.ok_or(ClientError::Internal { what: "a second reading without a column" })?;
            let tokens = if is_text && !place.is_some_and(|place| source.is_of_path(place)) {
                column.null_tokens(schema)
            } else {
                column.written.null_tokens.as_deref().unwrap_or_default()
            };
            if !is_same(column, array, raw, tokens)? {
                return Err(ClientError::Unequal { column: column.name.clone() });
            }
        }
    }
    match theirs.take(1) {
        Err(ClientError::Unequal { .. }) => Ok(()),
        _ => Err(rows_differ()),
    }
}

fn rows_differ() -> ClientError {
    ClientError::Unequal { column: "count".to_owned() }
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ClientError>>>;

/// The second reading, cut as the first one is.
struct Second {
    batches: Batches,
    rest: Option<RecordBatch>,
}

impl Second {
    /// The next rows: exactly so many.
    fn take(&mut self, rows: usize) -> Result<RecordBatch, ClientError> {
        let mut found: Vec<RecordBatch> = self.rest.take().into_iter().collect();
        let mut count: usize = found.iter().map(RecordBatch::num_rows).sum();
        while count < rows {
            let batch = self.batches.next().transpose()?.ok_or_else(rows_differ)?;
            count += batch.num_rows();
            found.push(batch);
        }
        let all = concat_batches(&found.first().ok_or_else(rows_differ)?.schema(), &found)?;
        self.rest = (count > rows).then(|| all.slice(rows, count - rows));
        Ok(all.slice(0, rows))
    }
}

/// Every cell as others read it: the texts of a CSV, none of them missing, or the arrays of Parquet.
fn second_reader(source: &Source) -> Result<Batches, ClientError> {
    let Format::Csv { delimiter } = source.format() else {
        return Ok(Box::new(source.arrow_batches()?.map(|batch| Ok(batch?))));
    };
    let Some(files) = source.files() else { return texts(source, delimiter) };
    let schema = text_schema(source);
    Ok(Box::new(files.flat_map(move |opened| {
        let schema = schema.clone();
        let read = opened.map_err(ClientError::from).and_then(|(file, source)| {
            let batches = texts(&source, delimiter)?;
            Ok(batches.map(move |batch| in_table(&batch?, &file, &schema)))
        });
        match read {
            Ok(batches) => Box::new(batches) as Batches,
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    })))
}

/// The texts of a CSV file. No text stands for NULL, so nothing is missing to this reader.
fn texts(source: &Source, delimiter: u8) -> Result<Batches, ClientError> {
    let builder = arrow::csv::ReaderBuilder::new(text_schema(source)).with_header(true);
    let builder = builder.with_delimiter(delimiter).with_batch_size(CHUNK_ROWS as usize);
    let reader = builder.build(source.bytes()?)?;
    Ok(Box::new(reader.map(|batch| batch.map_err(ClientError::from))))
}

fn text_schema(source: &Source) -> SchemaRef {
    let fields = source.columns().iter().map(|column| Field::new(&column.name, DataType::Utf8, true));
    Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()))
}

/// Rows of a file of a folder as rows of the table, with the values of its path.
fn in_table(batch: &RecordBatch, file: &DataFile, schema: &SchemaRef) -> Result<RecordBatch, ClientError> {
    let places = (0..batch.num_columns()).map(|column| file.position(column));
    let of_file = places.filter_map(|place| batch.columns().get(place).cloned());
    let constant = |value: &Option<String>| -> ArrayRef {
        Arc::new(StringArray::from(vec![value.as_deref(); batch.num_rows()]))
    };
    let columns = of_file.chain(file.values.iter().map(constant)).collect();
    Ok(RecordBatch::try_new(schema.clone(), columns)?)
}

/// Whether both readings of a column have the same cells missing, and the same values where they can be compared.
fn is_same(column: &Column, ours: &ArrayRef, raw: &ArrayRef, tokens: &[String]) -> Result<bool, ClientError> {
    let raw = match raw.data_type() {
        DataType::Dictionary(_, value) => &cast(raw, value)?,
        _ => raw,
    };
    let raw = match raw.data_type() {
        DataType::LargeUtf8 | DataType::Utf8View => &cast(raw, &DataType::Utf8)?,
        DataType::Float16 | DataType::Float32 => &cast(raw, &DataType::Float64)?,
        _ => raw,
    };
    let is_text = matches!(column.kind, ColumnType::Category | ColumnType::Text);
    let texts = raw.as_string_opt::<i32>();
    let floats = raw.as_primitive_opt::<Float64Type>();
    let nulls = raw.logical_nulls();
    let is_missing = |row: usize| {
        let means_missing = |text: &str| {
            let text = if is_text { text } else { text.trim_ascii() };
            tokens.iter().any(|token| token == text)
        };
        nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
            || texts.is_some_and(|texts| means_missing(texts.value(row)))
            || floats.is_some_and(|floats| floats.value(row).is_nan())
    };
    if (0..ours.len()).any(|row| is_missing(row) != ours.is_null(row)) {
        return Ok(false);
    }
    let kind = raw.data_type();
    let is_exact =
        matches!(kind, DataType::Boolean | DataType::Date32 | DataType::Decimal128(..) | DataType::Utf8)
            || kind.is_integer();
    match (column.kind, kind) {
        (_, kind) if !is_exact && *kind != DataType::Float64 => Ok(true),
        (ColumnType::Float { digits }, _) => same_floats(ours, raw, digits),
        (ColumnType::Decimal { scale, .. }, _) if column.written.rounded => same_floats(ours, raw, scale),
        (ColumnType::Decimal { scale, .. }, DataType::Float64) => same_floats(ours, raw, scale),
        (ColumnType::Timestamp, DataType::Utf8) => same_values(ours, raw),
        (ColumnType::Timestamp, _) | (_, DataType::Float64) => Ok(true),
        (ColumnType::Category | ColumnType::Text, kind) if *kind != DataType::Utf8 => Ok(true),
        _ => same_values(ours, raw),
    }
}

/// Whether all values that Arrow can convert are equal.
fn same_values(ours: &ArrayRef, raw: &ArrayRef) -> Result<bool, ClientError> {
    let theirs = cast(raw, ours.data_type())?;
    let both: Vec<usize> =
        (0..ours.len()).filter(|row| ours.is_valid(*row) && theirs.is_valid(*row)).collect();
    let rows = arrow::array::UInt64Array::from_iter_values(both.iter().map(|row| *row as u64));
    let taken = |array: &ArrayRef| arrow::compute::take(array, &rows, None);
    Ok(taken(ours)?.to_data() == taken(&theirs)?.to_data())
}

/// Whether floats differ by no more than rounding to `digits` can explain.
fn same_floats(ours: &ArrayRef, raw: &ArrayRef, digits: u8) -> Result<bool, ClientError> {
    let (ours, theirs) = (cast(ours, &DataType::Float64)?, cast(raw, &DataType::Float64)?);
    let half = 0.5 * 10_f64.powi(-i32::from(digits));
    let pairs = ours.as_primitive::<Float64Type>().iter().zip(theirs.as_primitive::<Float64Type>());
    Ok(pairs.into_iter().all(|(ours, theirs)| match (ours, theirs) {
        (Some(ours), Some(theirs)) => (ours - theirs).abs() <= half.mul_add(1.0 + 1e-9, theirs.abs() * 1e-15),
        _ => true,
    }))
}

#[cfg(test)]
mod tests {
    use hush_plan::schema::file::from_toml;
    use hush_table::source::OpenOptions;

    use super::*;

    fn schema(columns: &str) -> Schema {
        from_toml(&format!("format = 1\ntable = \"t\"\n{columns}")).unwrap()
    }

    fn csv(text: &str) -> Source {
        Source::from_bytes(text.to_owned().into(), &OpenOptions::default()).unwrap()
    }

    const COLUMNS: &str = "[columns.country]\ntype = \"text\"\nnullable = true\nprotect = \"clear\"\n\
        [columns.x]\ntype = \"decimal(12,2)\"\nnullable = true\nprotect = \"clear\"\n";

    #[test]
    fn a_good_reading_passes_and_a_row_too_few_does_not() {
        let text = "country,x\nNA,1.50\n\"a, \"\"b\"\"\",\n,2\nDE,-3.25\n";
        check_reading(&csv(text), &schema(COLUMNS)).unwrap();
        let mut second = Second { batches: second_reader(&csv(text)).unwrap(), rest: None };
        assert_eq!((second.take(3).unwrap().num_rows(), second.take(1).unwrap().num_rows()), (3, 1));
        assert!(matches!(second.take(1), Err(ClientError::Unequal { .. })));
    }

    /// Each file is compared with its own second reading; the key of the other is none of the columns.
    #[test]
    fn lookups_are_read_twice_too() {
        let schema = schema(&format!("{COLUMNS}[columns.k]\ntype = \"int(64)\"\nprotect = \"drop\"\n"));
        let facts = csv("k,country\n1,NA\n2,DE\n7,\n");
        let lookup = |text: &str| {
            let key = ("k".to_owned(), "key".to_owned());
            check_reading(&facts.with_lookup(csv(text), &[key]).unwrap(), &schema)
        };
        lookup("key;x\n2;1,50\n1;\n3;2\n").unwrap();
        assert_eq!(lookup("key;x\n2;1,50\n1;a\n").unwrap_err().code(), "HUSH-D021");
    }

    #[test]
    fn a_text_taken_for_a_missing_value_is_found() {
        let columns = schema(COLUMNS).columns;
        let (texts, numbers): (ArrayRef, ArrayRef) = (
            Arc::new(arrow::array::StringArray::from(vec!["NA", "DE", ""])),
            Arc::new(arrow::array::StringArray::from(vec!["1.5", "2", "3"])),
        );
        let wrong: ArrayRef = Arc::new(arrow::array::StringArray::from(vec![None, Some("DE"), None]));
        let empty = [String::new()];
        assert!(!is_same(&columns[0], &wrong, &texts, &empty).unwrap());
        assert!(is_same(&columns[0], &wrong, &texts, &[String::new(), "NA".to_owned()]).unwrap());
        let decimals = |units: Vec<i128>| -> ArrayRef {
            let array = arrow::array::Decimal128Array::from(units);
            Arc::new(array.with_precision_and_scale(12, 2).unwrap())
        };
        assert!(is_same(&columns[1], &decimals(vec![150, 200, 300]), &numbers, &empty).unwrap());
        assert!(!is_same(&columns[1], &decimals(vec![150, 201, 300]), &numbers, &empty).unwrap());
    }
}
