// SPDX-License-Identifier: Apache-2.0
//! The plan of a question over the rows that came back.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, Int64Type, Schema as ArrowSchema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::tree_node::Transformed;
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::logical_expr::{LogicalPlan, TableScan};
use datafusion::physical_plan::collect;
use hush_plan::sql::shown_name;
use hush_table::CHUNK_ROWS;

use super::groups::come;
use super::planned::Planned;
use super::scan::Scan;
use crate::error::ClientError;

/// The result of a plan whose questions have these answers.
///
/// # Errors
/// [`ClientError::Finish`] where the engine refuses a value; [`ClientError::Internal`] for answers of another form than was asked for.
pub(super) fn result(
    planned: Planned,
    answers: Vec<Vec<RecordBatch>>,
) -> Result<Vec<RecordBatch>, ClientError> {
    let missing = || ClientError::Internal { what: "a scan without an answer" };
    let mut tables = Vec::with_capacity(planned.scans.len());
    for scan in &planned.scans {
        let answer = answers.get(scan.answer).ok_or_else(missing)?;
        let (schema, batches) = rows(scan, answer)?;
        tables.push(Arc::new(MemTable::try_new(schema, vec![batches])?));
    }
    drop(answers);
    let mut tables = tables.into_iter();
    let plan = planned.plan.transform_down_with_subqueries(|node| {
        let LogicalPlan::TableScan(scan) = node else { return Ok(Transformed::no(node)) };
        if let Some(rows) = come(&scan) {
            let source = provider_as_source(Arc::new(MemTable::try_new(scan.source.schema(), vec![rows])?));
            return Ok(Transformed::yes(LogicalPlan::TableScan(TableScan { source, ..scan })));
        }
        let lacking = || datafusion::error::DataFusionError::Internal("a scan without an answer".to_owned());
        let source = provider_as_source(tables.next().ok_or_else(lacking)?);
        Ok(Transformed::yes(LogicalPlan::TableScan(TableScan { source, projection: None, ..scan })))
    })?;
    let (state, plan) = (planned.state, plan.data);
    let named = named(plan.schema().as_arrow());
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let batches = runtime.block_on(async {
        let physical = state.query_planner().create_physical_plan(&plan, &state).await?;
        collect(physical, state.task_ctx()).await
    })?;
    let mut batches = batches.iter().map(|batch| under(&named, batch)).collect::<Result<Vec<_>, _>>()?;
    if batches.is_empty() {
        let fields = named
            .iter()
            .zip(plan.schema().fields())
            .map(|(name, field)| Field::new(name, field.data_type().clone(), true));
        batches.push(RecordBatch::new_empty(Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()))));
    }
    Ok(batches)
}

/// A batch with other names for its columns.
fn under(names: &[String], batch: &RecordBatch) -> Result<RecordBatch, ClientError> {
    let schema = batch.schema();
    let fields = names.iter().zip(schema.fields()).map(|(name, field)| (**field).clone().with_name(name));
    let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(schema, batch.columns().to_vec(), &options)?)
}

/// Names of the outputs; one that is there already gets a number.
fn named(schema: &ArrowSchema) -> Vec<String> {
    let mut taken = HashSet::new();
    let name = |field: &Arc<Field>| {
        let wanted = shown_name(field.name());
        let (mut name, mut number) = (wanted.to_owned(), 2);
        while !taken.insert(name.clone()) {
            name = format!("{wanted}_{number}");
            number += 1;
        }
        name
    };
    schema.fields().iter().map(name).collect()
}

/// An answer as the rows that a scan reads, of the types that the plan has.
///
/// # Errors
/// [`ClientError::Internal`] where a value has another type and would not be the same in the plan's.
fn rows(scan: &Scan, answer: &[RecordBatch]) -> Result<(SchemaRef, Vec<RecordBatch>), ClientError> {
    let other = || ClientError::Internal { what: "a question about one table has an answer of another form" };
    let fields: Vec<Field> = scan.outputs.iter().map(|(_, field)| field.clone()).collect();
    let schema = Arc::new(ArrowSchema::new(fields));
    if scan.outputs.is_empty() {
        let count = answer.iter().find(|batch| batch.num_rows() == 1).map(|batch| batch.columns().to_vec());
        let count = count.and_then(|columns| columns.into_iter().next()).ok_or_else(other)?;
        let count = count.as_primitive_opt::<Int64Type>().map(|count| count.value(0)).ok_or_else(other)?;
        return Ok((schema.clone(), counted(&schema, usize::try_from(count).map_err(|_| other())?)?));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let batch = |batch: &RecordBatch| {
        if batch.num_columns() != schema.fields().len() {
            return Err(other());
        }
        let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| {
            match (column.data_type(), field.data_type()) {
                (found, wanted) if found == wanted => Ok(Arc::clone(column)),
                // Decimals that are cut off would be another value.
                (found, wanted) if places(found) > places(wanted) => Err(other()),
                (_, wanted) => cast_with_options(column, wanted, &options).map_err(|_| other()),
            }
        });
        let columns = columns.collect::<Result<Vec<ArrayRef>, ClientError>>()?;
        Ok(RecordBatch::try_new(Arc::clone(&schema), columns)?)
    };
    Ok((Arc::clone(&schema), answer.iter().map(batch).collect::<Result<_, _>>()?))
}

/// Decimal places of a decimal.
fn places(kind: &DataType) -> Option<i8> {
    match kind {
        DataType::Decimal128(_, places) | DataType::Decimal256(_, places) => Some(*places),
        _ => None,
    }
}

/// So many rows without columns.
fn counted(schema: &SchemaRef, rows: usize) -> Result<Vec<RecordBatch>, ClientError> {
    let piece = |first: usize| {
        let count = (rows - first).min(CHUNK_ROWS as usize);
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        Ok(RecordBatch::try_new_with_options(Arc::clone(schema), Vec::new(), &options)?)
    };
    (0..rows).step_by(CHUNK_ROWS as usize).map(piece).collect()
}
