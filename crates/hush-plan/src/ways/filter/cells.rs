// SPDX-License-Identifier: Apache-2.0
//! Sums of cells under a condition: a factor for each cell, and of it the number of rows and the limbs of every measure.

use super::MAX_SUMS;
use super::products::Products;
use crate::cube::CubeShape;
use crate::filter::{SumOfCells, Term, elements_of_limbs, limb_of};
use crate::plan::{CellsQuery, Factor, FilteredSum, ShareOfCell};
use crate::quantity::{Digits, Quantity};

/// Cells with the condition.
pub(super) struct Filtered {
    cells: Vec<ShareOfCell>,
    /// The number of its factor.
    factor: usize,
    /// log2 of the bound on the phase of that for a row.
    phase_log2: f64,
    /// Its value where all quantities are 0.
    padding: i64,
}

/// A limb that is added up.
struct Measure {
    /// As in [`FilteredSum`].
    lane: usize,
    shift: u32,
    natural: bool,
    /// The place of its encoding among the columns.
    column: usize,
}

/// One factor for each cell: the condition, and that a row is in the cell.
pub(super) fn factors(
    products: &mut Products<'_, '_>,
    condition: &Term,
    cells: Vec<SumOfCells>,
) -> Result<Vec<Filtered>, String> {
    let shared = match condition {
        Term::Constant(1) => None,
        condition => {
            let factor = products.bind(condition)?;
            Some(products.factor(factor))
        }
    };
    let filtered = |SumOfCells { term: cell, cells }| {
        let factor = match (&cell, shared) {
            (Term::Constant(1), Some(shared)) => shared,
            (cell, shared) => {
                let here = products.bind(cell)?;
                products.factor(match shared {
                    Some(shared) => Factor::Mul(Box::new(Factor::Earlier(shared)), Box::new(here)),
                    None => here,
                })
            }
        };
        let whole = condition.clone().times(cell);
        let (phase_log2, padding) = (whole.phase_log2(products.space()?), whole.evaluate(&|_| 0));
        Ok(Filtered { cells, factor, phase_log2, padding })
    };
    cells.into_iter().map(filtered).collect()
}

/// The sums that a query on cells reads: rows, and the limbs of each lane. `in_limbs` is what the table has in limbs.
pub(super) fn sums(
    products: &mut Products<'_, '_>,
    filtered: &[Filtered],
    (shape, query): (&CubeShape, &CellsQuery),
    in_limbs: &[(&Quantity, Digits)],
) -> Result<Vec<FilteredSum>, String> {
    let mut measures: Vec<Measure> = Vec::new();
    for (read, lane) in query.lanes.iter().enumerate() {
        let lane = shape.lanes.get(*lane);
        let (lane, quantity) =
            lane.and_then(|lane| Some((lane, lane.quantity.as_ref()?))).ok_or("a sum of nothing")?;
        let digits = in_limbs.iter().find(|(known, _)| *known == quantity);
        let (_, digits) = digits.ok_or_else(|| {
            format!("some part of the table does not have {} as a measure", quantity.describe())
        })?;
        products.elements = products.elements.min(elements_of_limbs(digits.bits));
        for place in 0..digits.places(&lane.row) {
            let column = products.place(&limb_of(quantity, *digits, place))?;
            let shift = u32::from(digits.bits) * u32::from(place);
            measures.push(Measure { lane: read + 1, shift, natural: digits.natural, column });
        }
    }
    if filtered.len() * (1 + measures.len()) > MAX_SUMS {
        return Err(format!("it would be more than {MAX_SUMS} sums"));
    }
    let mut found = Vec::new();
    for Filtered { cells, factor, phase_log2, padding } in filtered {
        // Of several cells the one that it is for: from others it is taken off.
        let cell = cells.first().map_or(0, |share| share.cell);
        let read = |lane, shift, natural, padding| {
            let cells = cells.clone();
            FilteredSum { cells, lane, shift, natural, padding, phase_log2: 0.0 }
        };
        products.sum((*factor, None), *phase_log2, format!("rows of cell {cell}"))?;
        found.push(read(0, 0, false, *padding));
        for Measure { lane, shift, natural, column } in &measures {
            let what = format!("measure {lane} of cell {cell}, from bit {shift}");
            products.sum((*factor, Some(*column)), *phase_log2, what)?;
            found.push(read(*lane, *shift, *natural, 0));
        }
    }
    Ok(found)
}
