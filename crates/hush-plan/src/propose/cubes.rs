// SPDX-License-Identifier: Apache-2.0
//! Cubes for grouped queries: dimensions of what a query compares, sums of what it adds up.

use std::collections::BTreeSet;

use sqlparser::ast::{Expr, Ident};

use super::reads::Reads;
use super::table::placeholders;
use super::{Structure, Workload};
use crate::cube::{self, Axis, CubeShape, is_constant_on_cells, view_of};
use crate::grouped;
use crate::quantity::Quantity;
use crate::schema::units::column_bounds;
use crate::schema::{Column, ColumnType, Cube, Dimension, Grain, Schema};
use crate::sql::{Query, shown};

/// Values up to which a column has a cell for each, whatever the query asks of it.
const FEW_CELLS: usize = 64;
/// Most cells of a dimension.
const MOST_CELLS: usize = 16_384;
/// Bytes up to which cubes of several queries become one.
const SMALL_BYTES: u64 = 16_384;

/// The cubes of all queries. Those that become one are one.
pub(super) fn find(workload: &Workload<'_>) -> Vec<Structure> {
    let mut found: Vec<(Cube, Vec<&Query>)> = Vec::new();
    for query in workload.queries {
        let Some(cube) = of_query(workload, query) else { continue };
        let joined = found.iter_mut().any(|(known, queries)| {
            queries.push(query);
            match joined(workload, known, &cube, queries) {
                Some(both) => {
                    *known = both;
                    true
                }
                None => {
                    queries.pop();
                    false
                }
            }
        });
        if !joined {
            found.push((cube, vec![query]));
        }
    }
    found.into_iter().map(|(cube, _)| Structure::Cube(cube)).collect()
}

/// The cube that answers a query, if one does.
fn of_query(workload: &Workload<'_>, query: &Query) -> Option<Cube> {
    if !query.is_grouped() {
        return None;
    }
    let reads = Reads::of(workload.schema, query);
    let by = reads.compared.iter().map(|name| {
        let column = workload.schema.columns.iter().find(|column| column.name == *name)?;
        Some(Dimension { column: name.clone(), grain: grain(workload, column, (&reads, query), FEW_CELLS)? })
    });
    let by: Vec<Dimension> = by.collect::<Option<_>>()?;
    let sum = terms(workload, &reads, query)?;
    let cube = Cube { by, sum, max_cell_rows: None };
    answers(workload, &cube, &[query]).then_some(cube)
}

/// How the values of a column make the fewest cells that a query does not tell apart; a cell for each of up to `few` values.
pub(super) fn grain(
    workload: &Workload<'_>,
    column: &Column,
    (reads, query): (&Reads, &Query),
    few: usize,
) -> Option<Grain> {
    if matches!(column.kind, ColumnType::Category | ColumnType::Text) {
        return placeholders(column, workload.situation);
    }
    let axis = |grain: &Grain| {
        let dimension = Dimension { column: column.name.clone(), grain: grain.clone() };
        Axis::of(workload.schema, &dimension).ok().filter(|axis| axis.len() <= MOST_CELLS)
    };
    let each = axis(&Grain::Each);
    // What is added up is added up value by value.
    if reads.summed.contains(&column.name) || each.as_ref().is_some_and(|each| each.len() <= few) {
        return each.map(|_| Grain::Each);
    }
    let grains = [Grain::Year, Grain::Quarter, Grain::Month, Grain::Each];
    let grains = bins(column, reads).into_iter().chain(grains);
    let cells = grains.filter_map(|grain| {
        let axis = axis(&grain).filter(|axis| is_constant_on_cells(axis, query))?;
        Some((axis.len(), grain))
    });
    cells.min_by_key(|(cells, _)| *cells).map(|(_, grain)| grain)
}

/// Bins between the constants of a query.
fn bins(column: &Column, reads: &Reads) -> Option<Grain> {
    let bounds = column_bounds(column)?;
    let changes = reads.changes.get(&column.name)?;
    let within = changes.iter().filter(|change| bounds.low < **change && **change <= bounds.high);
    let within: Vec<i128> = within.copied().collect();
    (!within.is_empty()).then_some(Grain::Bins(within))
}

/// What a cube has to add up for a query: columns, and products of columns.
pub(super) fn terms(workload: &Workload<'_>, reads: &Reads, query: &Query) -> Option<Vec<String>> {
    let mut terms: Vec<String> = Vec::new();
    for quantity in quantities(workload.schema, workload.situation.rows, (reads, query))? {
        let term = match quantity {
            Quantity::Square(name) => name,
            other => term(&other)?,
        };
        if !terms.contains(&term) {
            terms.push(term);
        }
    }
    Some(terms)
}

/// What is added up for a query in the cells of the columns whose values it asks for.
pub(super) fn quantities(
    schema: &Schema,
    rows: u64,
    (reads, query): (&Reads, &Query),
) -> Option<Vec<Quantity>> {
    let each = |name: &String| Dimension { column: name.clone(), grain: Grain::Each };
    let by = reads.compared.iter().map(each).collect();
    let summed = reads.summed.difference(&reads.compared).cloned().collect();
    let view = view_of(schema, &Cube { by, sum: summed, max_cell_rows: None }).ok()?;
    let grouped = grouped::compile_cells(&view, query, rows.max(1), "rows of a cell").ok()?;
    Some(grouped.sums.into_iter().map(|sum| sum.quantity).collect())
}

/// The column or the product, as SQL, of which a quantity is the sum.
pub(super) fn term(quantity: &Quantity) -> Option<String> {
    match quantity {
        Quantity::Valid(name) | Quantity::Value(name) => Some(name.clone()),
        Quantity::Square(name) => Some(product(&[name, name])),
        Quantity::BothValid(left, right) | Quantity::Product(left, right) => Some(product(&[left, right])),
        Quantity::Monomial(factors) => Some(product(&factors.iter().collect::<Vec<_>>())),
        Quantity::Combination(_)
        | Quantity::Flag(_)
        | Quantity::Holds(_)
        | Quantity::InCells { .. }
        | Quantity::Limb { .. }
        | Quantity::Log(_)
        | Quantity::Negative(_)
        | Quantity::Where { .. }
        | Quantity::Zero(_) => None,
    }
}

/// A product of columns as SQL.
fn product(factors: &[&String]) -> String {
    let factor = |name: &&String| shown(&Expr::Identifier(Ident::with_quote('"', *name)));
    factors.iter().map(factor).collect::<Vec<_>>().join(" * ")
}

/// Whether there can be a cube, and it answers these queries.
fn answers(workload: &Workload<'_>, cube: &Cube, queries: &[&Query]) -> bool {
    let rows = workload.situation.rows.max(1);
    let Ok(shape) = CubeShape::of(workload.schema, cube) else { return false };
    queries.iter().all(|query| cube::compile(workload.schema, (cube, &shape), query, rows).is_some())
}

/// One cube for the queries of two, where it is small.
fn joined(workload: &Workload<'_>, one: &Cube, other: &Cube, queries: &[&Query]) -> Option<Cube> {
    let mut both = one.clone();
    for dimension in &other.by {
        match both.by.iter_mut().find(|known| known.column == dimension.column) {
            None => both.by.push(dimension.clone()),
            Some(known) => known.grain = finer(&known.grain, &dimension.grain),
        }
    }
    let further = other.sum.iter().filter(|term| !one.sum.contains(term));
    both.sum.extend(further.cloned());
    let bytes = |cube: &Cube| {
        let shape = CubeShape::of(workload.schema, cube).ok()?;
        Some(u64::from(shape.cells()).saturating_mul(shape.cell_bits()).div_ceil(8))
    };
    let least = bytes(one)?.saturating_add(bytes(other)?).max(SMALL_BYTES);
    (bytes(&both)? <= least && answers(workload, &both, queries)).then_some(both)
}

/// Cells that neither of two grains parts.
fn finer(one: &Grain, other: &Grain) -> Grain {
    match (one, other) {
        (Grain::Bins(one), Grain::Bins(other)) => {
            let bins: BTreeSet<i128> = one.iter().chain(other).copied().collect();
            Grain::Bins(bins.into_iter().collect())
        }
        (Grain::Bins(_), finer) | (finer, Grain::Bins(_)) => finer.clone(),
        (Grain::Calendar | Grain::Each | Grain::Equality | Grain::Texts(_), _) => one.clone(),
        (_, Grain::Calendar | Grain::Each | Grain::Equality | Grain::Texts(_)) => other.clone(),
        (Grain::Month, _) | (_, Grain::Month) => Grain::Month,
        (Grain::Quarter, _) | (_, Grain::Quarter) => Grain::Quarter,
        (Grain::Year, Grain::Year) => Grain::Year,
    }
}
