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
//! It is the aggregate of partners' attributes that a server would make of a join, with the multiplicities of partners as weights: but without the join, on a
//! server that has the one table alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array, UInt32Array};
use arrow::compute::{concat_batches, take};
use arrow::datatypes::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use arrow::row::{RowConverter, SortField};
use datafusion::common::{Column, NullEquality, ScalarValue, TableReference};
use datafusion::error::Result;
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{
    Expr, Join, LogicalPlan, Projection, TableScan, TableScanBuilder, TableSource,
};

use super::super::conditions::{Described, listed, quoted};

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
    /// The keys of each.
    keys: Vec<Vec<ScalarValue>>,
    /// The partners of one key of each, with the number of the class in the place of the key.
    rows: RecordBatch,
}

impl Classes {
    /// The classes of rows by their column `key`; `None` for more keys than a question may list.
    ///
    /// # Errors
    /// None but bugs.
    pub(in super::super) fn of(
        rows: &[RecordBatch],
        key: usize,
    ) -> std::result::Result<Option<Self>, crate::ClientError> {
        let Some(first) = rows.first() else { return Ok(None) };
        let rows = concat_batches(&first.schema(), rows)?;
        let converted = |columns: &[ArrayRef]| {
            let fields = columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
            let rows = RowConverter::new(fields)?.convert_columns(columns)?;
            Ok::<_, crate::ClientError>(
                rows.iter().map(|row| row.as_ref().to_vec()).collect::<Vec<Vec<u8>>>(),
            )
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
        let mut by_partners: BTreeMap<Vec<&[u8]>, Vec<&Vec<u32>>> = BTreeMap::new();
        for places in by_key.values() {
            let mut partners: Vec<&[u8]> =
                places.iter().map(|row| of_rows[*row as usize].as_slice()).collect();
            partners.sort_unstable();
            by_partners.entry(partners).or_default().push(places);
        }
        let (mut listed, mut numbers, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for (class, members) in by_partners.values().enumerate() {
            let of_key = |places: &&Vec<u32>| ScalarValue::try_from_array(keys, places[0] as usize);
            listed.push(members.iter().map(of_key).collect::<Result<Vec<_>>>()?);
            for row in members[0] {
                numbers.push(class as i64);
                places.push(*row);
            }
        }
        let (numbers, places): (ArrayRef, _) =
            (Arc::new(Int64Array::from(numbers)), UInt32Array::from(places));
        let columns = rows.columns().iter().enumerate().map(|(at, column)| match at == key {
            true => Ok(Arc::clone(&numbers)),
            false => Ok(take(column, &places, None)?),
        });
        let columns = columns.collect::<std::result::Result<Vec<ArrayRef>, crate::ClientError>>()?;
        // Names are those of the plan's part, of which there may be several of one kind.
        let fields = columns
            .iter()
            .enumerate()
            .map(|(at, column)| Field::new(format!("{at}"), column.data_type().clone(), true));
        let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
        let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
        Ok(Some(Self { keys: listed, rows: RecordBatch::try_new_with_options(schema, columns, &options)? }))
    }

    /// How many there are.
    pub(in super::super) fn count(&self) -> u64 {
        self.keys.len() as u64
    }

    /// The class of a row by its column `name`, and the condition that it has one, as SQL; `None` if a key has no constant.
    pub(super) fn sql(&self, name: &str, kind: &DataType, table: Described<'_>) -> Option<(String, String)> {
        let mut whens = String::new();
        let mut all = Vec::new();
        for (class, keys) in self.keys.iter().enumerate() {
            let constants = listed(name, kind, keys, table)?;
            whens.push_str(&format!(" WHEN {} IN ({}) THEN {class}", quoted(name), constants.join(", ")));
            all.extend(constants);
        }
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

/// The columns by which a join matches its sides, the left one first, if that is one pair of columns; NULL does not match.
pub(super) fn matched(join: &Join) -> Option<(&Column, &Column)> {
    let [(left, right)] = join.on.as_slice() else { return None };
    let plain = !join.null_aware && join.null_equality == NullEquality::NullEqualsNothing;
    plain.then_some((column_of(left)?, column_of(right)?))
}

/// The column under casts that keep its values.
fn column_of(expr: &Expr) -> Option<&Column> {
    match expr {
        Expr::Column(column) => Some(column),
        Expr::Cast(Cast { expr, .. }) => match &**expr {
            Expr::Column(column) => Some(column),
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
