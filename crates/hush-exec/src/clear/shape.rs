// SPDX-License-Identifier: Apache-2.0
//! Predicts the size of an answer's clear half, from the plan and the manifest alone.

use std::sync::Arc;

use arrow::array::{ArrayData, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::DFSchema;
use datafusion::datasource::{MemTable, provider_as_source};
use hush_plan::ServerPlan;
use hush_plan::plan::{AggregateTask, Task};
use hush_plan::predict::ClearBytes;
use hush_table::{Manifest, PartEntry};

use super::groups::GroupQuery;
use super::masks::clear_task;
use super::scalar::Scope;
use super::select::RowSelector;
use super::session::Session;
use super::texts::{mean_bytes, text_bytes};
use crate::error::{ExecError, ExpressionRole};
use crate::stop::Stop;
use crate::workers::with_stack;
use crate::{answer, conform};

/// Arrow pads every buffer to a multiple of so many bytes.
const ALIGNMENT: u64 = 64;
/// Bytes of a column's texts that are reckoned with at most.
const MOST_TEXT_BYTES: u64 = 1 << 48;
/// Memory of the query engine for planning; nothing runs.
const PLANNING_BYTES: usize = 1 << 20;

/// Bytes of the clear half of an answer of `rows` rows (groups, or matching rows).
///
/// Exact if every column has a fixed width and cannot be NULL. Otherwise it assumes no NULLs, which would add a bitmap, and texts as long as
/// those of the columns that they are made of: 12 bytes each where the manifest does not say how long these are.
///
/// # Errors
/// Those of checking the plan against the manifest.
pub fn clear_half_bytes(manifest: &Manifest, plan: &ServerPlan, rows: u64) -> Result<ClearBytes, ExecError> {
    let (schema, texts) = with_stack(|| columns(manifest, plan))?;
    let none = ClearBytes { bytes: 0, exact: true };
    let numbers = match &plan.task {
        Task::Rows(_) => row_numbers(manifest, plan, rows),
        // Not even an empty stream.
        Task::Products(task) if task.keys.is_empty() => return Ok(none),
        Task::Aggregate(_) | Task::Products(_) => none,
    };
    let columns = columns_bytes(schema, &texts, rows)?;
    Ok(ClearBytes { bytes: numbers.bytes + columns.bytes, exact: numbers.exact && columns.exact })
}

/// Bytes of the numbers of `rows` matching rows, with their length. Certain where they are the first rows of the table.
fn row_numbers(manifest: &Manifest, plan: &ServerPlan, rows: u64) -> ClearBytes {
    const LENGTH_BYTES: u64 = 8;
    let has_dead = manifest.parts.iter().any(|part| part.dead.is_some());
    // Parts with a cube or a sorted run send no rows, so that others do not begin with the first one.
    let is_prepared = matches!(&plan.task, Task::Rows(task) if task.cube.is_some() || task.run.is_some());
    let is_all = plan.predicate.is_none() || rows == manifest.rows;
    let exact = rows == 0 || (!has_dead && !is_prepared && is_all);
    let packed = if exact {
        answer::bytes_of_first(rows)
    } else {
        // Those that match are spread over the parts that send rows, and all of these may match.
        answer::bytes_of_some(rows, rows_of_senders(manifest, plan).max(rows))
    };
    ClearBytes { bytes: LENGTH_BYTES + packed, exact }
}

/// Rows of the parts that send rows: those without the cube or the sorted run that the others answer by.
fn rows_of_senders(manifest: &Manifest, plan: &ServerPlan) -> u64 {
    let sends = |part: &&PartEntry| match &plan.task {
        Task::Rows(task) => {
            let has_cube = task.cube.is_some_and(|number| part.has_cube(number));
            !has_cube && !task.run.as_ref().is_some_and(|run| part.has_run(run.number))
        }
        Task::Aggregate(_) | Task::Products(_) => true,
    };
    manifest.parts.iter().filter(sends).fold(0, |rows, part| rows.saturating_add(part.rows))
}

/// Bytes of so many rows of columns, each with the bytes of its texts, where it has some.
fn columns_bytes(schema: SchemaRef, texts: &[f64], rows: u64) -> Result<ClearBytes, ExecError> {
    let internal = |_| ExecError::Internal { place: "clear half" };
    if rows == 0 {
        // Messages leave out lengths of 0, so an empty batch is written to measure it.
        let bytes = answer::write_clear(&RecordBatch::new_empty(schema))?.len() as u64;
        return Ok(ClearBytes { bytes, exact: true });
    }
    let zero = |kind: &DataType| -> Result<ArrayRef, ExecError> {
        let data = ArrayData::new_null(kind, 1).into_builder().nulls(None).build();
        Ok(make_array(data.map_err(internal)?))
    };
    let columns = schema.fields().iter().map(|field| zero(field.data_type()));
    let (columns, one_row) =
        (columns.collect::<Result<_, _>>()?, RecordBatchOptions::new().with_row_count(Some(1)));
    let one = RecordBatch::try_new_with_options(schema.clone(), columns, &one_row).map_err(internal)?;
    let kinds = || schema.fields().iter().map(|field| field.data_type());
    let texts = texts.iter().map(|each| ((each * rows as f64) as u64).min(MOST_TEXT_BYTES));
    let texts = texts.chain(std::iter::repeat(0));
    let with_one = answer::write_clear(&one)?.len() as u64;
    // The number of rows changes the buffers alone, not the rest of the messages.
    let frame = with_one - kinds().map(|kind| buffers(kind, 1, 0)).sum::<u64>();
    let bytes = frame + kinds().zip(texts).map(|(kind, texts)| buffers(kind, rows, texts)).sum::<u64>();
    let exact =
        schema.fields().iter().all(|field| !field.is_nullable() && width(field.data_type()).is_some());
    Ok(ClearBytes { bytes, exact })
}

/// Bytes of a column's buffers with their padding, without a bitmap of NULLs; its texts have so many bytes together.
fn buffers(kind: &DataType, rows: u64, texts: u64) -> u64 {
    let padded = |bytes: u64| bytes.next_multiple_of(ALIGNMENT);
    match (kind, width(kind)) {
        (_, Some(bits)) => padded((rows * bits).div_ceil(8)),
        (DataType::LargeUtf8 | DataType::LargeBinary, None) => padded(8 * (rows + 1)) + padded(texts),
        (_, None) => padded(4 * (rows + 1)) + padded(texts),
    }
}

/// Bits of a value, if all have the same.
fn width(kind: &DataType) -> Option<u64> {
    match kind {
        DataType::Boolean => Some(1),
        DataType::Null => Some(0),
        other => other.primitive_width().map(|bytes| 8 * bytes as u64),
    }
}

/// The columns of the clear half, and how many bytes a text of each has, about.
fn columns(manifest: &Manifest, plan: &ServerPlan) -> Result<(SchemaRef, Vec<f64>), ExecError> {
    let internal = |_| ExecError::Internal { place: "clear half" };
    let columns = manifest.clear_schema()?;
    let session = Session::new(PLANNING_BYTES)?;
    let df_schema = DFSchema::try_from(columns.as_ref().clone()).map_err(internal)?;
    let stop = Stop::never();
    let scope = Scope { state: session.state(), schema: &df_schema, stop: &stop };
    let parse = |predicate| scope.predicate(ExpressionRole::Predicate, predicate);
    let predicate = plan.predicate.as_ref().map(parse).transpose()?;
    let mean = mean_bytes(manifest);
    let of_groups = |task: &AggregateTask| {
        let table = MemTable::try_new(columns, vec![Vec::new()]).map_err(internal)?;
        let query = GroupQuery::parse(&scope, predicate.as_ref(), task, 1)?;
        let clear = |(index, text): (usize, &String)| scope.aggregate(ExpressionRole::Clear(index), text);
        let key = |(index, text): (usize, &String)| scope.scalar(ExpressionRole::Key(index), text);
        let exprs = task.keys.iter().enumerate().map(key).chain(task.clear.iter().enumerate().map(clear));
        let texts = exprs.map(|expr| Ok(text_bytes(&expr?, &mean))).collect::<Result<_, ExecError>>()?;
        Ok((query.output_schema(provider_as_source(Arc::new(table)))?, texts))
    };
    match &plan.task {
        Task::Aggregate(task) => of_groups(task),
        Task::Products(task) => {
            conform::products(task, &manifest.encodings, &conform::Strata::of(manifest))?;
            match &*task.keys {
                [] => Ok((Arc::new(Schema::empty()), Vec::new())),
                _ => of_groups(&clear_task(task)),
            }
        }
        Task::Rows(task) => {
            let shape = conform::rows(task, &manifest.encodings)?;
            let selector = RowSelector::parse(&scope, predicate.as_ref(), task, &shape.approximate_operands)?;
            // The numbers of the rows stand apart.
            let fields = selector.schema().fields().iter().skip(1).cloned().collect::<Vec<_>>();
            let scalar = |(index, text): (usize, &String)| scope.scalar(ExpressionRole::Clear(index), text);
            let exprs = task.clear.iter().enumerate().map(scalar);
            let texts = exprs.map(|expr| Ok(text_bytes(&expr?, &mean))).collect::<Result<_, ExecError>>()?;
            Ok((Arc::new(Schema::new(fields)), texts))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{BooleanArray, Decimal128Array, Int64Array, StringArray};
    use arrow::datatypes::Field;

    use super::*;

    #[test]
    fn buffers_are_those_that_arrow_writes() {
        let write = |rows: usize| {
            let texts = (0..rows).map(|row| format!("{row:012}"));
            let columns: Vec<(&str, ArrayRef)> = vec![
                ("a", Arc::new(Int64Array::from_iter_values(0..rows as i64))),
                ("b", Arc::new(BooleanArray::from(vec![true; rows]))),
                ("c", Arc::new(Decimal128Array::from_iter_values((0..rows).map(|row| row as i128)))),
                ("d", Arc::new(StringArray::from_iter_values(texts))),
            ];
            let fields =
                columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true));
            let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
            let kinds: Vec<DataType> = columns.iter().map(|(_, column)| column.data_type().clone()).collect();
            let batch = RecordBatch::try_new(schema, columns.into_iter().map(|(_, column)| column).collect());
            let bytes = answer::write_clear(&batch.unwrap()).unwrap().len() as u64;
            bytes - kinds.iter().map(|kind| buffers(kind, rows as u64, 12 * rows as u64)).sum::<u64>()
        };
        let frame = write(1);
        for rows in [2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 511, 512, 513, 10_000] {
            assert_eq!(write(rows), frame, "{rows} rows");
        }
    }
}
