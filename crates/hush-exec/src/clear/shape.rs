// SPDX-License-Identifier: Apache-2.0
//! Predicts the size of an answer's clear half, from the plan and the manifest alone.

use std::sync::Arc;

use arrow::array::{ArrayData, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::DFSchema;
use datafusion::datasource::{MemTable, provider_as_source};
use hush_plan::ServerPlan;
use hush_plan::plan::Task;
use hush_plan::predict::ClearBytes;
use hush_table::Manifest;

use super::groups::GroupQuery;
use super::scalar::Scope;
use super::select::RowSelector;
use super::session::Session;
use crate::error::{ExecError, ExpressionRole};
use crate::stop::Stop;
use crate::workers::with_stack;
use crate::{answer, conform};

/// Arrow pads every buffer to a multiple of so many bytes.
const ALIGNMENT: u64 = 64;
/// Bytes that a text is assumed to have.
const TEXT_BYTES: u64 = 12;
/// Memory of the query engine for planning; nothing runs.
const PLANNING_BYTES: usize = 1 << 20;

/// Bytes of the clear half of an answer of `rows` rows (groups, or matching rows).
///
/// Exact if every column has a fixed width and cannot be NULL. Otherwise it assumes no NULLs, which would add a bitmap, and
/// 12 bytes a text.
///
/// # Errors
/// Those of checking the plan against the manifest.
pub fn clear_half_bytes(manifest: &Manifest, plan: &ServerPlan, rows: u64) -> Result<ClearBytes, ExecError> {
    let schema = with_stack(|| schema(manifest, plan))?;
    let none = ClearBytes { bytes: 0, exact: true };
    let numbers = match &plan.task {
        Task::Rows(_) => row_numbers(manifest, plan, rows),
        Task::Aggregate(_) => none,
        // Not even an empty stream.
        Task::Products(_) => return Ok(none),
    };
    let columns = columns_bytes(schema, rows)?;
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
    let packed =
        if exact { answer::bytes_of_first(rows) } else { answer::bytes_of_some(rows, manifest.rows) };
    ClearBytes { bytes: LENGTH_BYTES + packed, exact }
}

/// Bytes of so many rows of columns.
fn columns_bytes(schema: SchemaRef, rows: u64) -> Result<ClearBytes, ExecError> {
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
    let with_one = answer::write_clear(&one)?.len() as u64;
    // The number of rows changes the buffers alone, not the rest of the messages.
    let frame = with_one - kinds().map(|kind| buffers(kind, 1, 0)).sum::<u64>();
    let bytes = frame + kinds().map(|kind| buffers(kind, rows, TEXT_BYTES)).sum::<u64>();
    let exact =
        schema.fields().iter().all(|field| !field.is_nullable() && width(field.data_type()).is_some());
    Ok(ClearBytes { bytes, exact })
}

/// Bytes of a column's buffers with their padding, without a bitmap of NULLs.
fn buffers(kind: &DataType, rows: u64, text_bytes: u64) -> u64 {
    let padded = |bytes: u64| bytes.next_multiple_of(ALIGNMENT);
    match (kind, width(kind)) {
        (_, Some(bits)) => padded((rows * bits).div_ceil(8)),
        (DataType::LargeUtf8 | DataType::LargeBinary, None) => {
            padded(8 * (rows + 1)) + padded(rows * text_bytes)
        }
        (_, None) => padded(4 * (rows + 1)) + padded(rows * text_bytes),
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

/// The columns of the clear half.
fn schema(manifest: &Manifest, plan: &ServerPlan) -> Result<SchemaRef, ExecError> {
    let internal = |_| ExecError::Internal { place: "clear half" };
    let columns = manifest.clear_schema()?;
    let session = Session::new(PLANNING_BYTES)?;
    let df_schema = DFSchema::try_from(columns.as_ref().clone()).map_err(internal)?;
    let stop = Stop::never();
    let scope = Scope { state: session.state(), schema: &df_schema, stop: &stop };
    let parse = |predicate| scope.predicate(ExpressionRole::Predicate, predicate);
    let predicate = plan.predicate.as_ref().map(parse).transpose()?;
    match &plan.task {
        Task::Aggregate(task) => {
            let table = MemTable::try_new(columns, vec![Vec::new()]).map_err(internal)?;
            let query = GroupQuery::parse(&scope, predicate.as_ref(), task, 1)?;
            query.output_schema(provider_as_source(Arc::new(table)))
        }
        Task::Products(task) => {
            conform::products(task, &manifest.encodings, &conform::Strata::of(manifest))?;
            Ok(Arc::new(Schema::empty()))
        }
        Task::Rows(task) => {
            let shape = conform::rows(task, &manifest.encodings)?;
            let selector = RowSelector::parse(&scope, predicate.as_ref(), task, &shape.approximate_operands)?;
            // The numbers of the rows stand apart.
            Ok(Arc::new(Schema::new(selector.schema().fields().iter().skip(1).cloned().collect::<Vec<_>>())))
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
            bytes - kinds.iter().map(|kind| buffers(kind, rows as u64, 12)).sum::<u64>()
        };
        let frame = write(1);
        for rows in [2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 511, 512, 513, 10_000] {
            assert_eq!(write(rows), frame, "{rows} rows");
        }
    }
}
