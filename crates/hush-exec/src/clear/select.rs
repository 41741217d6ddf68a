// SPDX-License-Identifier: Apache-2.0
//! The clear half of a rows task: the matching rows, their clear columns, and the programs' clear operands.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt64Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{concat_batches, filter_record_batch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::logical_expr::Expr;
use hush_plan::plan::RowsTask;

use super::compiled::{Compiled, UsedColumns, double, integer};
use super::held::PartColumns;
use super::scalar::Scope;
use super::zones::ZoneFilter;
use crate::answer;
use crate::error::{ExecError, ExpressionRole};
use crate::living::{living_rows, spread};

/// Predicate, output columns and operands of a rows task, compiled.
#[derive(Debug)]
pub(crate) struct RowSelector {
    columns: UsedColumns,
    schema: SchemaRef,
    predicate: Option<Compiled>,
    zones: Option<ZoneFilter>,
    outputs: Vec<Compiled>,
    operands: Vec<(Compiled, OperandKind)>,
    /// Largest absolute value of a double operand.
    limit: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OperandKind {
    Double,
    Integer,
}

/// A clear operand on the rows of one chunk, 0 where NULL.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    /// For approximate programs.
    Doubles(Vec<f64>),
    /// For exact programs.
    Integers(Vec<i128>),
}

impl RowSelector {
    /// Parses and compiles all SQL of the task. `approximate` gives the kind of each operand.
    ///
    /// # Errors
    /// [`ExecError::Expression`].
    pub(crate) fn parse(
        scope: &Scope<'_>,
        predicate: Option<&Expr>,
        task: &RowsTask,
        approximate: &[bool],
    ) -> Result<Self, ExecError> {
        let mut parsed = Vec::new();
        let mut fields = vec![Field::new(answer::ROW, DataType::UInt64, false)];
        for (index, text) in task.clear.iter().enumerate() {
            let role = ExpressionRole::Clear(index);
            let expr = scope.output(role, text)?;
            fields.push(Field::new(format!("c{index}"), scope.data_type(role, &expr)?, true));
            parsed.push((role, expr));
        }
        for (index, (text, approximate)) in task.operands.iter().zip(approximate).enumerate() {
            let role = ExpressionRole::Operand(index);
            let expr = if *approximate { double(scope, role, text)? } else { integer(scope, role, text)? };
            parsed.push((role, expr));
        }
        let columns =
            UsedColumns::of(scope, predicate.into_iter().chain(parsed.iter().map(|(_, expr)| expr)))?;
        let predicate = predicate
            .map(|expr| columns.compile(scope.state, ExpressionRole::Predicate, expr))
            .transpose()?;
        let zones = predicate.as_ref().and_then(|predicate| columns.zones(predicate));
        let (mut outputs, mut operands) = (Vec::new(), Vec::new());
        for (role, expr) in &parsed {
            let compiled = columns.compile(scope.state, *role, expr)?;
            match *role {
                ExpressionRole::Operand(index) => {
                    let approximate = approximate.get(index).copied().unwrap_or(false);
                    let kind = if approximate { OperandKind::Double } else { OperandKind::Integer };
                    operands.push((compiled, kind));
                }
                _ => outputs.push(compiled),
            }
        }
        let limit = f64::from(task.operand_limit_log2.min(1000)).exp2();
        Ok(Self {
            columns,
            schema: Arc::new(Schema::new(fields)),
            predicate,
            zones,
            outputs,
            operands,
            limit,
        })
    }

    /// The columns of the clear half.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The batches to evaluate on, one per chunk of a part.
    ///
    /// # Errors
    /// [`ExecError::Corrupt`].
    pub(crate) fn read(&self, part: Option<&PartColumns>, rows: u64) -> Result<Vec<RecordBatch>, ExecError> {
        self.columns.read(part, rows)
    }

    /// Whether the bounds of the part's columns prove that no row of the part matches.
    pub(crate) fn excludes(&self, part: &PartColumns) -> bool {
        self.zones.as_ref().zip(part.stored()).is_some_and(|(zones, part)| zones.excludes(part))
    }

    /// The living rows of a chunk that match, as a batch of `row` and `c0…`.
    ///
    /// # Errors
    /// [`ExecError::Evaluation`].
    pub(crate) fn matching(
        &self,
        chunk: &RecordBatch,
        living: Option<&BooleanBuffer>,
        first_row: u64,
    ) -> Result<RecordBatch, ExecError> {
        let internal = |_| ExecError::Internal { place: "matching rows" };
        let batch = living_rows(living, chunk)?;
        let rows = batch.num_rows();
        let keep = self.predicate.as_ref().map(|predicate| predicate.condition(&batch)).transpose()?;
        let kept = keep.as_ref().map_or(rows, BooleanBuffer::count_set_bits);
        if kept == 0 {
            return Ok(self.empty());
        }
        let number = |row: usize| first_row + row as u64;
        let numbers = match living {
            None => UInt64Array::from_iter_values((0..rows).map(number)),
            Some(living) => UInt64Array::from_iter_values(living.set_indices().map(number)),
        };
        let (mut numbers, mut batch): (ArrayRef, _) = (Arc::new(numbers), batch);
        if let Some(keep) = keep.filter(|_| kept < rows) {
            // Expressions see the matching rows alone, so they cannot fail on other rows.
            let keep = BooleanArray::new(keep, None);
            numbers = arrow::compute::filter(&numbers, &keep).map_err(internal)?;
            batch = Cow::Owned(filter_record_batch(&batch, &keep).map_err(internal)?);
        }
        let mut columns: Vec<ArrayRef> = vec![numbers];
        for output in &self.outputs {
            columns.push(output.array(&batch)?);
        }
        RecordBatch::try_new(self.schema.clone(), columns).map_err(internal)
    }

    /// The operands on all rows of a chunk, 0 where a row was deleted.
    ///
    /// # Errors
    /// [`ExecError::Evaluation`]; [`ExecError::Weight`] for a double that is above the plan's limit or no number.
    pub(crate) fn operands(
        &self,
        chunk: &RecordBatch,
        living: Option<&BooleanBuffer>,
    ) -> Result<Vec<Operand>, ExecError> {
        let operands = self.operands_of(living_rows(living, chunk)?.as_ref())?;
        let Some(living) = living else { return Ok(operands) };
        let spread = |operand| match operand {
            Operand::Doubles(values) => Operand::Doubles(spread(living, &values, 0.0)),
            Operand::Integers(values) => Operand::Integers(spread(living, &values, 0)),
        };
        Ok(operands.into_iter().map(spread).collect())
    }

    fn operands_of(&self, batch: &RecordBatch) -> Result<Vec<Operand>, ExecError> {
        let evaluate = |(index, (operand, kind)): (usize, &(Compiled, OperandKind))| match kind {
            OperandKind::Integer => {
                let array = operand.integers(batch)?;
                let value = |row| if array.is_null(row) { 0 } else { array.value(row) };
                Ok(Operand::Integers((0..array.len()).map(value).collect()))
            }
            OperandKind::Double => {
                let array = operand.doubles(batch)?;
                let value = |row| if array.is_null(row) { 0.0 } else { array.value(row) };
                let values: Vec<f64> = (0..array.len()).map(value).collect();
                // NaN is not below the limit either.
                if values.iter().all(|value| value.abs() <= self.limit) {
                    return Ok(Operand::Doubles(values));
                }
                Err(ExecError::Weight { role: ExpressionRole::Operand(index) })
            }
        };
        self.operands.iter().enumerate().map(evaluate).collect()
    }

    /// Joins the matching rows of several chunks.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if they have different columns.
    pub(crate) fn concat(&self, batches: &[RecordBatch]) -> Result<RecordBatch, ExecError> {
        concat_batches(&self.schema, batches).map_err(|_| ExecError::Internal { place: "row batches" })
    }

    fn empty(&self) -> RecordBatch {
        RecordBatch::new_empty(self.schema.clone())
    }
}
