// SPDX-License-Identifier: Apache-2.0
//! Numbers in the place of the cell that a row is in.

use std::collections::BTreeMap;

use ethnum::I256;
use hush_plan::Quantity;
use hush_plan::quantity::{Cell, CellValues};
use hush_schemes::Values;
use hush_table::source::{ColumnData, RowBatch, TypedColumn, Values as Units};
use zeroize::Zeroizing;

use super::{QuantityValues, View, data, quantity_values};
use crate::EncodeError;
use crate::units::{RowValues, units_of};

/// Bits of places whose numbers stand in 64 and 128 bits, with a sign.
const SHORT_BITS: usize = 62;
const LONG_BITS: usize = 126;

/// `quantity`, or 1, times `2^(bits·place)` in each row that is in the cell of some place, 0 in the others. A number that its place does not hold is
/// given as one that no encoding holds.
///
/// # Errors
/// [`EncodeError::Internal`] if the batch was read without a column.
///
/// # Cost
/// A pass over the rows for each condition of each cell, and two for the numbers.
pub(super) fn in_cells<'a>(
    (quantity, cells, bits): (Option<&Quantity>, &[Cell], u8),
    batch: &RowBatch,
    positions: &BTreeMap<&str, usize>,
) -> Result<QuantityValues<'a>, EncodeError> {
    let places = places(cells, batch, positions)?;
    let total = cells.len() * usize::from(bits);
    let Some(quantity) = quantity else {
        let one = |place: &Option<u8>| place.map_or(I256::ZERO, |place| I256::ONE << shift(place, bits));
        let short = |place: &Option<u8>| place.map_or(0, |place| 1_i64 << shift(place, bits));
        let long = |place: &Option<u8>| place.map_or(0, |place| 1_i128 << shift(place, bits));
        return Ok(if total <= SHORT_BITS {
            QuantityValues::I64(places.iter().map(short).collect())
        } else if total <= LONG_BITS {
            QuantityValues::I128(places.iter().map(long).collect())
        } else {
            QuantityValues::I256(places.iter().map(one).collect())
        });
    };
    let opened = Opened::of(quantity, batch, positions)?;
    let numbers = opened.numbers(quantity, batch, positions)?;
    Ok(match (numbers.view(), total) {
        (View::Exact(Values::I64(values)), ..=SHORT_BITS) => {
            let placed = |(value, place): (&i64, &Option<u8>)| match place {
                None => 0,
                Some(_) if value.unsigned_abs() >> bits != 0 => i64::MAX,
                Some(place) => *value << shift(*place, bits),
            };
            QuantityValues::I64(values.iter().zip(places.iter()).map(placed).collect())
        }
        (View::Exact(Values::I64(values)), ..=LONG_BITS) => {
            let values = values.iter().map(|value| i128::from(*value));
            QuantityValues::I128(values.zip(places.iter()).map(|row| long(row, bits)).collect())
        }
        (View::Exact(Values::I128(values)), ..=LONG_BITS) => QuantityValues::I128(
            values.iter().copied().zip(places.iter()).map(|row| long(row, bits)).collect(),
        ),
        (View::Exact(values), _) => {
            let values: Box<dyn Iterator<Item = I256>> = match values {
                Values::I64(values) => Box::new(values.iter().map(|value| I256::from(*value))),
                Values::I128(values) => Box::new(values.iter().map(|value| I256::from(*value))),
                Values::I256(values) => Box::new(values.iter().copied()),
            };
            let placed = |(value, place): (I256, &Option<u8>)| match place {
                None => I256::ZERO,
                Some(_) if value.unsigned_abs() >> u32::from(bits) != 0 => I256::MAX,
                Some(place) => value << shift(*place, bits),
            };
            QuantityValues::I256(values.zip(places.iter()).map(placed).collect())
        }
        (View::Approx(_), _) => return Err(EncodeError::Internal { what: "an approximate sum of cells" }),
    })
}

fn shift(place: u8, bits: u8) -> u32 {
    u32::from(bits) * u32::from(place)
}

fn long((value, place): (i128, &Option<u8>), bits: u8) -> i128 {
    match place {
        None => 0,
        Some(_) if value.unsigned_abs() >> bits != 0 => i128::MAX,
        Some(place) => value << shift(*place, bits),
    }
}

/// The place of the cell that each row is in.
fn places(
    cells: &[Cell],
    batch: &RowBatch,
    positions: &BTreeMap<&str, usize>,
) -> Result<Zeroizing<Vec<Option<u8>>>, EncodeError> {
    let mut columns: BTreeMap<&str, RowValues<'_>> = BTreeMap::new();
    for within in cells.iter().flatten() {
        if !columns.contains_key(within.column.as_str()) {
            columns.insert(&within.column, RowValues::of(data(&within.column, batch, positions)?)?);
        }
    }
    let mut places = Zeroizing::new(vec![None; batch.rows]);
    let mut is_in = Zeroizing::new(vec![true; batch.rows]);
    for (cell, place) in cells.iter().zip(0..) {
        is_in.fill(true);
        for within in cell {
            columns.get(within.column.as_str()).into_iter().for_each(|column| {
                keep(&mut is_in, column, &within.values);
            });
        }
        places.iter_mut().zip(is_in.iter()).filter(|(_, is_in)| **is_in).for_each(|(found, _)| {
            *found = Some(place);
        });
    }
    Ok(places)
}

/// Keeps the rows whose value is among these.
fn keep(is_in: &mut [bool], column: &RowValues<'_>, values: &CellValues) {
    let typed = match column {
        RowValues::Borrowed(typed) => Some(*typed),
        RowValues::Units(typed) => Some(typed),
        RowValues::Texts(_) => None,
    };
    // The common case without a decision for each row.
    if let (CellValues::Between { low, high }, Some(TypedColumn { values: Units::I64(units), valid })) =
        (values, typed)
    {
        let clamp = |units: i128| units.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
        let (least, most) = (clamp(*low), clamp(*high));
        let is_empty = *low > i128::from(i64::MAX) || *high < i128::from(i64::MIN);
        is_in.iter_mut().zip(units).for_each(|(is_in, units)| {
            *is_in &= !is_empty & (least <= *units) & (*units <= most);
        });
        if let Some(valid) = valid {
            is_in.iter_mut().zip(valid).for_each(|(is_in, valid)| *is_in &= *valid);
        }
        return;
    }
    let rows = is_in.iter_mut().enumerate();
    match values {
        CellValues::Missing => rows.for_each(|(row, is_in)| *is_in &= !column.is_valid(row)),
        CellValues::Text(text) => rows.for_each(|(row, is_in)| {
            *is_in &= column.is_valid(row) && column.text(row) == Some(text.as_str());
        }),
        CellValues::Between { low, high } => rows.for_each(|(row, is_in)| {
            let is_between = column.units(row).is_some_and(|units| *low <= units && units <= *high);
            *is_in &= is_between && column.is_valid(row);
        }),
    }
}

/// The columns of a quantity in units, of which some were arrays: clear ones.
struct Opened<'a>(Option<(RowBatch, BTreeMap<&'a str, usize>)>);

impl<'a> Opened<'a> {
    fn of(
        quantity: &'a Quantity,
        batch: &RowBatch,
        positions: &BTreeMap<&str, usize>,
    ) -> Result<Self, EncodeError> {
        let columns = quantity.columns();
        let found = columns.iter().map(|name| data(name, batch, positions));
        let found = found.collect::<Result<Vec<_>, _>>()?;
        if found.iter().all(|data| matches!(data, ColumnData::Units(_))) {
            return Ok(Self(None));
        }
        let units = found.iter().map(|data| Ok(Some(ColumnData::Units(units_of(data)?))));
        let columns_of = units.collect::<Result<Vec<_>, EncodeError>>()?;
        let opened = RowBatch { first_row: batch.first_row, rows: batch.rows, columns: columns_of };
        Ok(Self(Some((opened, columns.into_iter().zip(0..).collect()))))
    }

    fn numbers<'b>(
        &'b self,
        quantity: &Quantity,
        batch: &'b RowBatch,
        positions: &BTreeMap<&str, usize>,
    ) -> Result<QuantityValues<'b>, EncodeError> {
        match &self.0 {
            None => quantity_values(quantity, batch, positions),
            Some((opened, places)) => quantity_values(quantity, opened, places),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::StringArray;
    use hush_plan::quantity::Within;

    use super::*;

    fn batch() -> RowBatch {
        let typed = |values, valid: Option<Vec<bool>>| Some(ColumnData::Units(TypedColumn { values, valid }));
        let texts = StringArray::from(vec![Some("a"), Some("b"), None, Some("a"), Some("other")]);
        let ages = vec![true, true, true, false, true];
        let columns = vec![
            Some(ColumnData::Array(Arc::new(texts))),
            typed(Units::I64(vec![17, 18, 64, 0, 40]), Some(ages)),
            typed(Units::I64(vec![-5, 7, 9, 11, 1000]), None),
        ];
        RowBatch { first_row: 0, rows: 5, columns }
    }

    fn wide(quantity: &QuantityValues<'_>) -> Vec<I256> {
        match quantity.view() {
            View::Exact(Values::I64(values)) => values.iter().map(|value| I256::from(*value)).collect(),
            View::Exact(Values::I128(values)) => values.iter().map(|value| I256::from(*value)).collect(),
            View::Exact(Values::I256(values)) => values.to_vec(),
            View::Approx(_) => Vec::new(),
        }
    }

    fn placed(of: Option<&str>, cells: &[Cell], bits: u8) -> Vec<I256> {
        let quantity = of.map(|name| Box::new(Quantity::Value(name.to_owned())));
        let whole = Quantity::InCells { quantity, cells: cells.to_vec(), bits };
        let positions = BTreeMap::from([("kind", 0), ("age", 1), ("pay", 2)]);
        wide(&quantity_values(&whole, &batch(), &positions).unwrap())
    }

    fn within(column: &str, values: CellValues) -> Within {
        Within { column: column.to_owned(), values }
    }

    #[test]
    fn a_row_counts_in_the_place_of_its_cell_alone() {
        let kind = |text: &str| vec![within("kind", CellValues::Text(text.to_owned()))];
        let missing = vec![within("kind", CellValues::Missing)];
        let cells = [kind("b"), kind("a"), missing];
        for bits in [5_u8, 30, 60] {
            let one = |place: u32| I256::ONE << (place * u32::from(bits));
            assert_eq!(placed(None, &cells, bits), [one(1), one(0), one(2), one(1), I256::ZERO]);
            let of_pay = |pay: i64, place| I256::from(pay) * one(place);
            let pays = [of_pay(-5, 1), of_pay(7, 0), of_pay(9, 2), of_pay(11, 1), I256::ZERO];
            assert_eq!(placed(Some("pay"), &cells, bits), pays);
        }
    }

    /// Also where two columns decide, and a missing number is no 0.
    #[test]
    fn numbers_are_in_the_cell_between_whose_ends_they_lie() {
        let ages = |low, high| within("age", CellValues::Between { low, high });
        let of_a = |age: Within| vec![within("kind", CellValues::Text("a".to_owned())), age];
        let cells = [of_a(ages(0, 17)), of_a(ages(18, 120)), of_a(within("age", CellValues::Missing))];
        let (zero, one) = (I256::ZERO, I256::ONE);
        assert_eq!(placed(None, &cells, 4), [one, zero, zero, one << 8_u32, zero]);
        assert_eq!(placed(None, &[vec![ages(18, 64)]], 4), [zero, one, one, zero, one]);
    }

    /// 1000 does not fit eight bits: it is given as what no encoding takes, and never as a number in a neighbour's place.
    #[test]
    fn a_number_too_large_for_its_place_is_beyond_every_bound() {
        let ages = |low, high| vec![within("age", CellValues::Between { low, high })];
        let found = placed(Some("pay"), &[ages(0, 39), ages(40, 50), ages(60, 70)], 8);
        assert_eq!(found[4], I256::from(i64::MAX));
        let found = placed(Some("pay"), &[ages(0, 39), ages(40, 50)], 8);
        assert_eq!(found[..2], [I256::from(-5), I256::from(7)]);
    }
}
