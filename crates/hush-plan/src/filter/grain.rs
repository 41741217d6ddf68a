// SPDX-License-Identifier: Apache-2.0
//! The cells of a column that a query tells apart: its values, or no more than the years, quarters or months of its dates, or the runs between the
//! constants that the query compares it with.

use std::collections::BTreeSet;

use sqlparser::ast::Expr;

use super::MAX_FILTER_CELLS;
use crate::cube::{Axis, is_constant_on_cells};
use crate::fetch::and;
use crate::schema::cube::{Dimension, Grain};
use crate::schema::units::column_bounds;
use crate::schema::{ColumnType, Schema};
use crate::sql::walk::each_expression;
use crate::sql::{Query, changes, columns_of, constant_units};

/// How many times as many cells a condition is worth that leaves cells out.
const MORE_CELLS: usize = 4;

/// The dimension with as few cells as a query tells apart, and those of its conditions that are on this column alone: then they leave cells out.
pub(super) fn coarsest(schema: &Schema, query: &Query, conditions: &[&Expr], by: Dimension) -> Dimension {
    let own =
        conditions.iter().filter(|condition| columns_of(condition).iter().all(|name| *name == by.column));
    let with_own = Query { filter: own.copied().cloned().reduce(and), ..query.clone() };
    let (with_own, alone) = (fewest(schema, &with_own, &by), fewest(schema, query, &by));
    // A factor less is not worth many more sums.
    let few = alone.as_ref().map_or(MAX_FILTER_CELLS as usize, |(cells, _)| cells.saturating_mul(MORE_CELLS));
    with_own.filter(|(cells, _)| *cells <= few).or(alone).map_or(by, |(_, by)| by)
}

/// The dimension of a column with the fewest cells on which expressions of a query are constant, and how many these are.
fn fewest(schema: &Schema, query: &Query, by: &Dimension) -> Option<(usize, Dimension)> {
    let column = schema.columns.iter().find(|column| column.name == by.column);
    let bounds = column.and_then(column_bounds);
    let of_dates = [Grain::Year, Grain::Quarter, Grain::Month].into_iter();
    let of_dates = of_dates.filter(|_| column.is_some_and(|column| column.kind == ColumnType::Date));
    let is_inside = |cut: &i128| bounds.is_some_and(|bounds| bounds.low < *cut && *cut <= bounds.high);
    let cuts = column.map_or_else(BTreeSet::new, |column| cuts(query, &by.column, column.kind));
    let cuts: Vec<i128> = cuts.into_iter().filter(is_inside).collect();
    let runs = (!cuts.is_empty()).then_some(Grain::Bins(cuts));
    let grains = of_dates.chain(runs).map(|grain| Dimension { column: by.column.clone(), grain });
    // Where two have as many cells, the values themselves are simpler.
    let fewest = std::iter::once(by.clone()).chain(grains).filter_map(|by| {
        let axis = Axis::of(schema, &by).ok()?;
        is_constant_on_cells(&axis, query).then(|| (axis.len(), by))
    });
    fewest.min_by_key(|(cells, _)| *cells)
}

/// The first values behind the changes of a column's comparisons with constants.
fn cuts(query: &Query, name: &str, kind: ColumnType) -> BTreeSet<i128> {
    let mut found = BTreeSet::new();
    for expr in query.expressions() {
        each_expression(expr, |part| {
            let of_column = changes(part).into_iter().filter(|change| change.column == name);
            let first = of_column.filter_map(|change| {
                Some(constant_units(kind, change.at)?.saturating_add(i128::from(change.behind)))
            });
            found.extend(first);
        });
    }
    found
}
