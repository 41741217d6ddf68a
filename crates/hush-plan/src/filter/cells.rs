// SPDX-License-Identifier: Apache-2.0
//! Sums over the cells of columns for conditions.
//!
//! Every row is in one cell. So the last cell of a column needs no sum of its own: it is what the others leave of all rows, and a sum over all rows
//! takes a factor less.
//!
//! ```text
//!   cells of a column with three texts    A, N, R
//!   sums                                  [A], [N], all rows
//!   last cell                             all rows − A − N
//! ```
//!
//! A cell of several columns is a product of their flags, or the one flag of a condition that is derived and says the same.

use std::collections::BTreeMap;

use super::FilterShape;
use super::condition::place_of;
use super::term::Term;
use crate::cube::{Axis, CubeShape, Place};
use crate::plan::ShareOfCell;
use crate::quantity::{CellValues, Flag, FlagOf, Holds, Quantity};

/// A sum over the rows for which a polynomial is 1, and what it is to the cells.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SumOfCells {
    pub(crate) term: Term,
    pub(crate) cells: Vec<ShareOfCell>,
}

/// The sums from which those of some cells follow. With `completes`, the last cell of a column of which all cells are asked for is what the others leave.
pub(super) fn sums_of_cells(
    (shape, cube): (&FilterShape, &CubeShape),
    asked: &[usize],
    completes: bool,
) -> Option<Vec<SumOfCells>> {
    if let Some(derived) = derived_sums((shape, cube), asked, completes) {
        return Some(derived);
    }
    let places = |axis: usize| {
        let mut places: Vec<usize> = asked.iter().map(|cell| place_in(cube, axis, *cell)).collect();
        places.sort_unstable();
        places.dedup();
        places
    };
    let by_axis: Vec<Vec<usize>> = (0..cube.axes.len()).map(places).collect();
    // Cells that are not all combinations of some values of each column stand alone.
    let is_product = by_axis.iter().map(Vec::len).product::<usize>() == asked.len();
    let mut sums =
        vec![SumOfCells { term: Term::Constant(1), cells: vec![ShareOfCell { cell: 0, weight: 1 }] }];
    for (axis, places) in cube.axes.iter().zip(&by_axis) {
        let is_whole = completes && is_product && places.len() == axis.len();
        let of_axis = sums_of_axis(shape, axis, places, is_whole)?;
        sums = sums
            .iter()
            .flat_map(|before| of_axis.iter().map(|here| both(before, here, axis.len())))
            .collect();
    }
    if !is_product {
        sums.retain(|sum| sum.cells.iter().all(|share| asked.contains(&share.cell)));
    }
    Some(sums)
}

/// The same where a condition that is derived says of each cell what rows are in it, but of one that the others leave; `None` where some does not.
fn derived_sums(
    (shape, cube): (&FilterShape, &CubeShape),
    asked: &[usize],
    completes: bool,
) -> Option<Vec<SumOfCells>> {
    let flags = derived_flags(shape, cube);
    let is_whole = completes && asked.len() == cube.cells() as usize;
    let lacking: Vec<usize> = asked.iter().copied().filter(|cell| !flags.contains_key(cell)).collect();
    let rest = match lacking.as_slice() {
        [] => asked.last().copied().filter(|_| is_whole),
        [cell] if is_whole => Some(*cell),
        _ => return None,
    };
    let share = |cell: usize, weight: i8| ShareOfCell { cell, weight };
    let sum = |cell: &usize| {
        let taken_off = rest.map(|rest| share(rest, -1));
        let cells = std::iter::once(share(*cell, 1)).chain(taken_off).collect();
        Some(SumOfCells { term: flags.get(cell)?.clone(), cells })
    };
    let all = rest.map(|rest| Some(SumOfCells { term: Term::Constant(1), cells: vec![share(rest, 1)] }));
    asked.iter().filter(|cell| Some(**cell) != rest).map(sum).chain(all).collect()
}

/// The flags of conditions that are derived and are cells of several columns.
fn derived_flags(shape: &FilterShape, cube: &CubeShape) -> BTreeMap<usize, Term> {
    let mut flags = BTreeMap::new();
    if !cube.axes.iter().all(Axis::is_exact) {
        return flags;
    }
    for code in &shape.codes {
        let equalities = code.equalities();
        if equalities.len() != cube.axes.len() || equalities.len() < 2 {
            continue;
        }
        let cell = cube.axes.iter().try_fold(0, |cell, axis| {
            let (_, value) = equalities.iter().find(|(column, _)| *column == axis.column)?;
            let of_axis = shape.codes.iter().find(|code| code.column == axis.column)?;
            Some(cell * axis.len() + place_of(of_axis, value)? as usize)
        });
        cell.into_iter().for_each(|cell| {
            flags.insert(cell, code.within(&[(1, 1)]));
        });
    }
    flags
}

/// The place of a cell in one column.
fn place_in(cube: &CubeShape, axis: usize, cell: usize) -> usize {
    let behind: usize = cube.axes.iter().skip(axis + 1).map(Axis::len).product();
    let cells = cube.axes.get(axis).map_or(1, Axis::len);
    cell / behind.max(1) % cells.max(1)
}

/// The sums of some cells of one column.
fn sums_of_axis(
    shape: &FilterShape,
    axis: &Axis,
    places: &[usize],
    is_whole: bool,
) -> Option<Vec<SumOfCells>> {
    let code = shape.codes.iter().find(|code| code.column == axis.column && code.has_cells())?;
    let place_of = |units: i128| u64::try_from(units - code.low()).unwrap_or_default();
    let flag = |place: usize| match axis.values(place) {
        CellValues::Missing => Term::Constant(1).minus(code.valid()),
        CellValues::Text(_) => code.within(&[(place as u64, place as u64)]),
        CellValues::Between { low, high } => code.within(&[(place_of(low), place_of(high))]),
    };
    let share = |cell: usize, weight: i8| ShareOfCell { cell, weight };
    let Some((last, others)) = places.split_last().filter(|_| is_whole) else {
        let alone = |place: &usize| SumOfCells { term: flag(*place), cells: vec![share(*place, 1)] };
        return Some(places.iter().map(alone).collect());
    };
    let taken_off =
        |place: &usize| SumOfCells { term: flag(*place), cells: vec![share(*place, 1), share(*last, -1)] };
    let all = SumOfCells { term: Term::Constant(1), cells: vec![share(*last, 1)] };
    Some(others.iter().map(taken_off).chain([all]).collect())
}

/// The sum over the rows that are in both, where the second is of one column more, with so many cells.
fn both(before: &SumOfCells, here: &SumOfCells, cells: usize) -> SumOfCells {
    let shares = before.cells.iter().flat_map(|one| {
        here.cells.iter().map(|other| ShareOfCell {
            cell: one.cell * cells + other.cell,
            weight: one.weight * other.weight,
        })
    });
    SumOfCells { term: before.term.clone().times(here.term.clone()), cells: shares.collect() }
}

/// What a flag of a column of cells is for the rows of a cell.
pub(super) fn flag_of_cell(
    (shape, cube): (&FilterShape, &CubeShape),
    cell: usize,
    quantity: &Quantity,
) -> i64 {
    let is_of = |axis: &Axis, holds: &Holds| {
        shape.codes.iter().any(|code| code.column == axis.column && code.is_of(holds))
    };
    let mut stride = cube.cells() as usize;
    for axis in &cube.axes {
        stride /= axis.len().max(1);
        let place = axis.place(cell / stride.max(1) % axis.len().max(1));
        let is_set = match (quantity, place) {
            (Quantity::Flag(flag), _) if flag.column != axis.column => continue,
            (Quantity::Flag(Flag { of: FlagOf::Digit(flag), .. }), Place::Units(units)) => flag.is_set(units),
            (Quantity::Flag(Flag { of: FlagOf::Date(flag), .. }), Place::Units(units)) => flag.is_set(units),
            (Quantity::Flag(Flag { of: FlagOf::Text(text), .. }), Place::Text(value)) => text == value,
            (Quantity::Flag(_), _) => false,
            (Quantity::Holds(holds), Place::Units(units)) if is_of(axis, holds) => {
                (units == 1) == holds.truth
            }
            (Quantity::Holds(holds), _) if is_of(axis, holds) => false,
            (Quantity::Valid(column), place) if *column == axis.column => place != Place::Missing,
            _ => continue,
        };
        return i64::from(is_set);
    }
    0
}
