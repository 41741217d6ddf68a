// SPDX-License-Identifier: Apache-2.0
//! Expressions compiled for batches of one chunk.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Float64Array, RecordBatch, RecordBatchOptions,
};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Schema};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, cast};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use hush_ring::Cpu;
use hush_table::CHUNK_ROWS;

use super::held::PartColumns;
use super::ranges::Ranges;
use super::scalar::Scope;
use super::zones::ZoneFilter;
use crate::error::{ExecError, ExpressionFault, ExpressionRole};
use crate::machine::cpu;

/// The clear columns that some expressions need, by position in the table.
#[derive(Debug)]
pub(crate) struct UsedColumns {
    positions: Vec<usize>,
    schema: Arc<Schema>,
    df_schema: DFSchema,
}

/// One expression, ready to be evaluated on batches of those columns.
#[derive(Debug)]
pub(crate) struct Compiled {
    role: ExpressionRole,
    expr: Arc<dyn PhysicalExpr>,
    /// What the expression is, if it is such a condition, and the kernels for it.
    ranges: Option<(Cpu, Ranges)>,
}

impl UsedColumns {
    /// Collects the columns that `exprs` use.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if an expression names a column that its scope did not have.
    pub(crate) fn of<'a>(
        scope: &Scope<'_>,
        exprs: impl IntoIterator<Item = &'a Expr>,
    ) -> Result<Self, ExecError> {
        let internal = || ExecError::Internal { place: "columns of an expression" };
        let table = scope.schema.as_arrow();
        let mut positions = BTreeSet::new();
        for expr in exprs {
            let visited = expr.apply(|node| {
                if let Expr::Column(column) = node {
                    positions.insert(table.index_of(&column.name)?);
                }
                Ok(TreeNodeRecursion::Continue)
            });
            visited.map_err(|_| internal())?;
        }
        let positions: Vec<usize> = positions.into_iter().collect();
        let schema = Arc::new(table.project(&positions).map_err(|_| internal())?);
        let df_schema = DFSchema::try_from(schema.as_ref().clone()).map_err(|_| internal())?;
        Ok(Self { positions, schema, df_schema })
    }

    /// Whether the expressions are constants, so that no file need be opened.
    pub(crate) fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Compiles an expression over these columns.
    ///
    /// # Errors
    /// [`ExecError::Expression`] if its types do not go together.
    pub(crate) fn compile(
        &self,
        state: &SessionState,
        role: ExpressionRole,
        expr: &Expr,
    ) -> Result<Compiled, ExecError> {
        let malformed = |_| ExecError::Expression { role, fault: ExpressionFault::Malformed };
        let expr = state.create_physical_expr(expr.clone(), &self.df_schema).map_err(malformed)?;
        let ranges = match Ranges::of(&expr, &self.schema) {
            Some(ranges) => Some((cpu()?, ranges)),
            None => None,
        };
        Ok(Compiled { role, expr, ranges })
    }

    /// The type of an expression over these columns.
    ///
    /// # Errors
    /// [`ExecError::Internal`] for one that has none.
    pub(crate) fn type_of(&self, expr: &Compiled) -> Result<DataType, ExecError> {
        expr.expr.data_type(&self.schema).map_err(|_| ExecError::Internal { place: "type of an expression" })
    }

    /// The filter of parts by the bounds of their columns, for a condition over these columns.
    pub(crate) fn zones(&self, condition: &Compiled) -> Option<ZoneFilter> {
        ZoneFilter::new(&condition.expr, &self.schema, &self.positions)
    }

    /// The columns of one part, one batch per chunk, in row order. Without columns (or without a clear part) the
    /// batches have rows alone.
    ///
    /// # Errors
    /// [`ExecError::Corrupt`] if the part does not read, or its batches are not its chunks.
    pub(crate) fn read(&self, part: Option<&PartColumns>, rows: u64) -> Result<Vec<RecordBatch>, ExecError> {
        let damaged = ExecError::Corrupt { code: "HUSH-T033" };
        let batches = match part {
            Some(part) if !self.positions.is_empty() => part.read(&self.positions)?,
            _ => chunk_rows(rows).map(|rows| self.rows_alone(rows)).collect::<Result<_, _>>()?,
        };
        let expected = chunk_rows(rows);
        if batches.len() as u64 != rows.div_ceil(u64::from(CHUNK_ROWS))
            || batches.iter().zip(expected).any(|(batch, rows)| batch.num_rows() != rows)
        {
            return Err(damaged);
        }
        Ok(batches)
    }

    /// The columns out of a batch that has all of them.
    ///
    /// # Errors
    /// [`ExecError::Internal`] for another batch.
    pub(crate) fn of_batch(&self, batch: &RecordBatch) -> Result<RecordBatch, ExecError> {
        batch.project(&self.positions).map_err(|_| ExecError::Internal { place: "columns of an expression" })
    }

    fn rows_alone(&self, rows: usize) -> Result<RecordBatch, ExecError> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = if self.positions.is_empty() { self.schema.clone() } else { Arc::new(Schema::empty()) };
        RecordBatch::try_new_with_options(schema, Vec::new(), &options)
            .map_err(|_| ExecError::Internal { place: "rows without columns" })
    }
}

impl Compiled {
    /// Whether it is a column alone.
    pub(crate) fn is_column(&self) -> bool {
        self.expr.is::<Column>()
    }

    /// Evaluates to an array of as many rows as the batch has.
    ///
    /// # Errors
    /// [`ExecError::Evaluation`].
    pub(crate) fn array(&self, batch: &RecordBatch) -> Result<ArrayRef, ExecError> {
        let value = self.expr.evaluate(batch).and_then(|value| value.into_array(batch.num_rows()));
        value.map_err(|_| ExecError::Evaluation { role: self.role })
    }

    /// Evaluates a condition: true where it is true, false where it is false or NULL.
    ///
    /// # Errors
    /// [`ExecError::Evaluation`].
    pub(crate) fn condition(&self, batch: &RecordBatch) -> Result<BooleanBuffer, ExecError> {
        if let Some(rows) = self.ranges.as_ref().and_then(|(cpu, ranges)| ranges.rows(*cpu, batch)) {
            return Ok(rows);
        }
        let array = self.array(batch)?;
        let array = array.as_boolean_opt().ok_or(ExecError::Evaluation { role: self.role })?;
        Ok(match array.nulls() {
            Some(nulls) => array.values() & nulls.inner(),
            None => array.values().clone(),
        })
    }

    /// Evaluates an expression made by [`integer`].
    ///
    /// # Errors
    /// [`ExecError::Evaluation`].
    pub(crate) fn integers(&self, batch: &RecordBatch) -> Result<Decimal128Array, ExecError> {
        let array = self.array(batch)?;
        let array = array.as_primitive_opt::<Decimal128Type>().cloned();
        array.ok_or(ExecError::Evaluation { role: self.role })
    }

    /// Evaluates an expression made by [`double`].
    ///
    /// # Errors
    /// [`ExecError::Evaluation`].
    pub(crate) fn doubles(&self, batch: &RecordBatch) -> Result<Float64Array, ExecError> {
        let array = self.array(batch)?;
        let array = array.as_primitive_opt::<Float64Type>().cloned();
        array.ok_or(ExecError::Evaluation { role: self.role })
    }
}

/// Parses an expression of an integer type and makes it `DECIMAL(38,0)`.
///
/// # Errors
/// [`ExecError::Expression`], also for other types.
pub(crate) fn integer(scope: &Scope<'_>, role: ExpressionRole, text: &str) -> Result<Expr, ExecError> {
    let expr = scope.scalar(role, text)?;
    match scope.data_type(role, &expr)? {
        DataType::Decimal128(38, 0) => Ok(expr),
        kind if kind.is_integer()
            || matches!(kind, DataType::Decimal128(_, 0) | DataType::Decimal256(_, 0) | DataType::Null) =>
        {
            Ok(cast(expr, DataType::Decimal128(38, 0)))
        }
        _ => Err(ExecError::Expression { role, fault: ExpressionFault::Type }),
    }
}

/// Parses an expression of a numeric type and makes it `DOUBLE`.
///
/// # Errors
/// [`ExecError::Expression`], also for other types.
pub(crate) fn double(scope: &Scope<'_>, role: ExpressionRole, text: &str) -> Result<Expr, ExecError> {
    let expr = scope.scalar(role, text)?;
    match scope.data_type(role, &expr)? {
        DataType::Float64 => Ok(expr),
        kind if kind.is_numeric() || kind == DataType::Null => Ok(cast(expr, DataType::Float64)),
        _ => Err(ExecError::Expression { role, fault: ExpressionFault::Type }),
    }
}

/// Rows of each chunk of a part with `rows` rows.
fn chunk_rows(rows: u64) -> impl Iterator<Item = usize> {
    let chunk = u64::from(CHUNK_ROWS);
    (0..rows.div_ceil(chunk)).map(move |index| (rows - index * chunk).min(chunk) as usize)
}
