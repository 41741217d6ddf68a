// SPDX-License-Identifier: Apache-2.0
//! Keys that find the same partners, as one group: what a table with partners has many keys for, and few different partners.
//!
//! ```text
//!   w: ward region        classes: 0 = {A, C} north        p: SELECT CASE WHEN ward IN ('A', 'C') THEN 0 WHEN ward IN ('B') THEN 1 END, SUM(charges) …
//!      A    north                  1 = {B}    south        join on the class, with one partner of each: (0, north), (1, south)
//!      B    south
//!      C    north
//! ```
//!
//! A server that joins would add up with the multiplicities of partners as weights. Here the plan joins, and each server answers a question about one
//! table.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array, UInt32Array};
use arrow::compute::{concat_batches, take};
use arrow::datatypes::{Field, Schema as ArrowSchema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use arrow::row::{RowConverter, SortField};
use datafusion::common::{Column, DFSchema, NullEquality, ScalarValue, TableReference};
use datafusion::error::Result;
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{
    Expr, Join, LogicalPlan, Projection, TableScan, TableScanBuilder, TableSource,
};

use super::super::conditions::{keeps, quoted};
use crate::error::ClientError;

/// Most keys that are listed in a question.
pub(in super::super) const MAX_KEYS: usize = 2000;

/// Rows that came back of a part of a plan, as a table of the engine's.
#[derive(Debug)]
struct Partners {
    schema: SchemaRef,
    rows: Vec<RecordBatch>,
}

impl TableSource for Partners {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// The keys of a part of a plan, by the partners that they find there.
#[derive(Clone, Debug)]
pub(in super::super) struct Classes {
    /// The keys of each, as constants of a question.
    keys: Vec<Vec<String>>,
    /// The partners of one key of each, with the number of the class in the place of the key.
    rows: RecordBatch,
}

impl Classes {
    /// The classes of rows by their column `key`, whose values `constants` writes; `None` for more keys than a question may list, or one that has no
    /// constant.
    ///
    /// Classes and keys are in the order of these constants: where those are tokens, nothing tells an order of values.
    ///
    /// # Errors
    /// None but bugs.
    pub(in super::super) fn of(
        rows: &[RecordBatch],
        key: usize,
        constants: &dyn Fn(&[ScalarValue]) -> Option<Vec<String>>,
    ) -> std::result::Result<Option<Self>, ClientError> {
        let Some(first) = rows.first() else { return Ok(None) };
        let rows = concat_batches(&first.schema(), rows)?;
        let converted = |columns: &[ArrayRef]| {
            let fields = columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
            let rows = RowConverter::new(fields)?.convert_columns(columns)?;
            Ok::<_, ClientError>(rows.iter().map(|row| row.as_ref().to_vec()).collect::<Vec<Vec<u8>>>())
        };
        let keys = rows.column(key);
        let others: Vec<ArrayRef> = rows
            .columns()
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != key)
            .map(|(_, column)| Arc::clone(column))
            .collect();
        let of_rows = match others.is_empty() {
            true => vec![Vec::new(); rows.num_rows()],
            false => converted(&others)?,
        };
        // The rows of each key; no row has a partner by a missing one.
        let mut by_key: BTreeMap<Vec<u8>, Vec<u32>> = BTreeMap::new();
        for (row, bytes) in converted(std::slice::from_ref(keys))?.into_iter().enumerate() {
            if keys.is_valid(row) {
                by_key.entry(bytes).or_default().push(row as u32);
            }
        }
        if by_key.len() > MAX_KEYS {
            return Ok(None);
        }
        let places: Vec<&Vec<u32>> = by_key.values().collect();
        let values = places.iter().map(|places| ScalarValue::try_from_array(keys, places[0] as usize));
        let Some(constants) = constants(&values.collect::<Result<Vec<_>>>()?) else { return Ok(None) };
        let mut members: Vec<(String, &Vec<u32>)> = constants.into_iter().zip(places).collect();
        members.sort();
        let mut classes: Vec<Vec<String>> = Vec::new();
        let mut known: BTreeMap<Vec<&[u8]>, usize> = BTreeMap::new();
        let (mut numbers, mut places) = (Vec::new(), Vec::new());
        for (constant, of_key) in members {
            let mut partners: Vec<&[u8]> =
                of_key.iter().map(|row| of_rows[*row as usize].as_slice()).collect();
            partners.sort_unstable();
            let class = *known.entry(partners).or_insert(classes.len());
            match classes.get_mut(class) {
                Some(members) => members.push(constant),
                None => {
                    classes.push(vec![constant]);
                    numbers.extend(of_key.iter().map(|_| class as i64));
                    places.extend(of_key.iter().copied());
                }
            }
        }
        let (numbers, places): (ArrayRef, _) =
            (Arc::new(Int64Array::from(numbers)), UInt32Array::from(places));
        let columns = rows.columns().iter().enumerate().map(|(at, column)| match at == key {
            true => Ok(Arc::clone(&numbers)),
            false => Ok(take(column, &places, None)?),
        });
        let columns = columns.collect::<std::result::Result<Vec<ArrayRef>, ClientError>>()?;
        // Names are those of the plan's part, of which there may be several of one kind.
        let fields = columns
            .iter()
            .enumerate()
            .map(|(at, column)| Field::new(format!("{at}"), column.data_type().clone(), true));
        let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
        let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
        Ok(Some(Self { keys: classes, rows: RecordBatch::try_new_with_options(schema, columns, &options)? }))
    }

    /// How many there are.
    pub(in super::super) fn count(&self) -> u64 {
        self.keys.len() as u64
    }

    /// The class of a row by its column `name`, and the condition that it has one, as SQL; `None` if there are none.
    pub(super) fn sql(&self, name: &str) -> Option<(String, String)> {
        let mut whens = String::new();
        for (class, keys) in self.keys.iter().enumerate() {
            whens.push_str(&format!(" WHEN {} IN ({}) THEN {class}", quoted(name), keys.join(", ")));
        }
        let all: Vec<&str> = self.keys.iter().flatten().map(String::as_str).collect();
        let has_one = format!("({} IN ({}))", quoted(name), all.join(", "));
        (!all.is_empty()).then(|| (format!("(CASE{whens} END)"), has_one))
    }

    /// Partners of all classes, in the place of `plan`.
    ///
    /// # Errors
    /// None but bugs.
    pub(super) fn partners(&self, plan: &LogicalPlan) -> Result<LogicalPlan> {
        let source = Partners { schema: self.rows.schema(), rows: vec![self.rows.clone()] };
        let name = TableReference::bare("#partners");
        let scan = TableScanBuilder::new(name.clone(), Arc::new(source)).build()?;
        let outputs = plan.schema().iter().enumerate().map(|(at, (relation, field))| {
            Expr::Column(Column::new(Some(name.clone()), format!("{at}")))
                .alias_qualified(relation.cloned(), field.name())
        });
        let outputs = outputs.collect();
        Ok(LogicalPlan::Projection(Projection::try_new(outputs, Arc::new(LogicalPlan::TableScan(scan)))?))
    }
}

/// The expressions by which a join matches its sides, the left one first, if that is one pair; NULL does not match.
pub(super) fn matched(join: &Join) -> Option<(&Expr, &Expr)> {
    let [(left, right)] = join.on.as_slice() else { return None };
    let plain = !join.null_aware && join.null_equality == NullEquality::NullEqualsNothing;
    plain.then_some((left, right))
}

/// The column that an expression is, under casts that keep all of its values.
pub(super) fn key_of<'e>(expr: &'e Expr, columns: &DFSchema) -> Option<&'e Column> {
    match expr {
        Expr::Column(column) => Some(column),
        Expr::Cast(Cast { expr, field }) => match &**expr {
            Expr::Column(column) => {
                let found = columns.fields().iter().find(|found| found.name() == &column.name)?;
                keeps(found.data_type(), field.data_type()).then_some(column)
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether a scan is of rows that came back.
pub(in super::super) fn has_come(scan: &TableScan) -> bool {
    scan.source.is::<Partners>()
}

/// The rows of a scan of rows that came back.
pub(in super::super) fn come(scan: &TableScan) -> Option<Vec<RecordBatch>> {
    scan.source.downcast_ref::<Partners>().map(|partners| partners.rows.clone())
}
