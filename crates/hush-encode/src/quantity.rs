// SPDX-License-Identifier: Apache-2.0
//! Computes the numbers of an encoded column from a batch of typed rows.

mod cells;
mod codewords;
mod flags;

use std::collections::BTreeMap;

use ethnum::I256;
use hush_plan::Quantity;
use hush_schemes::Values;
use hush_table::source::{ColumnData, RowBatch, TypedColumn, Values as Cells};
use zeroize::Zeroize;

use crate::EncodeError;
use crate::logarithm::ln_units;
pub use codewords::Codewords;

/// The numbers of one quantity in one chunk, borrowed from the batch where they stand there.
///
/// *Secrecy.* Plaintext; what is owned is wiped on drop.
pub enum QuantityValues<'a> {
    /// A column as it stands in the batch.
    Borrowed(&'a Cells),
    /// Reals.
    F64(Vec<f64>),
    /// 64-bit integers.
    I64(Vec<i64>),
    /// 128-bit integers.
    I128(Vec<i128>),
    /// 256-bit integers.
    I256(Vec<I256>),
}

/// The plaintext as encryption takes it.
#[derive(Clone, Copy)]
pub enum View<'a> {
    /// Integers in units.
    Exact(Values<'a>),
    /// Floats without a range.
    Approx(&'a [f64]),
}

impl View<'_> {
    /// How many numbers there are.
    fn len(&self) -> usize {
        match self {
            Self::Exact(values) => values.len(),
            Self::Approx(values) => values.len(),
        }
    }
}

impl QuantityValues<'_> {
    /// The plaintext.
    pub fn view(&self) -> View<'_> {
        match self {
            Self::Borrowed(Cells::F64(values)) => View::Approx(values),
            Self::Borrowed(Cells::I64(values)) => View::Exact(Values::I64(values)),
            Self::Borrowed(Cells::I128(values)) => View::Exact(Values::I128(values)),
            Self::F64(values) => View::Approx(values),
            Self::I64(values) => View::Exact(Values::I64(values)),
            Self::I128(values) => View::Exact(Values::I128(values)),
            Self::I256(values) => View::Exact(Values::I256(values)),
        }
    }
}

impl<'a> QuantityValues<'a> {
    /// The integers of several chunks, one after another; `None` of reals, and of integers of more than 128 bits.
    pub fn joined(chunks: &[&Self]) -> Option<QuantityValues<'static>> {
        // With room for all, so that no copy is left behind.
        let rows = chunks.iter().map(|chunk| chunk.view().len()).sum();
        let (mut all, mut is_narrow) = (Vec::with_capacity(rows), true);
        for chunk in chunks {
            match chunk.view() {
                View::Exact(Values::I64(values)) => all.extend(values.iter().map(|value| i128::from(*value))),
                View::Exact(Values::I128(values)) => {
                    is_narrow = false;
                    all.extend_from_slice(values);
                }
                View::Exact(Values::I256(_)) | View::Approx(_) => return None,
            }
        }
        let all = QuantityValues::I128(all);
        let QuantityValues::I128(values) = &all else { return None };
        if is_narrow {
            Some(QuantityValues::I64(values.iter().map(|value| *value as i64).collect()))
        } else {
            Some(all)
        }
    }

    /// The quantity on rows where every one of `present` has a value, 0 elsewhere.
    fn where_all(&self, present: &[&TypedColumn]) -> QuantityValues<'a> {
        let keep = |row: usize| present.iter().all(|column| is_valid(column, row));
        match self {
            Self::Borrowed(Cells::F64(values)) | Self::F64(values) => QuantityValues::F64(kept(values, keep)),
            Self::Borrowed(Cells::I64(values)) | Self::I64(values) => QuantityValues::I64(kept(values, keep)),
            Self::Borrowed(Cells::I128(values)) | Self::I128(values) => {
                QuantityValues::I128(kept(values, keep))
            }
            Self::I256(values) => QuantityValues::I256(kept(values, keep)),
        }
    }
}

impl Drop for QuantityValues<'_> {
    fn drop(&mut self) {
        match self {
            Self::Borrowed(_) => {}
            Self::F64(values) => values.zeroize(),
            Self::I64(values) => values.zeroize(),
            Self::I128(values) => values.zeroize(),
            Self::I256(values) => values.fill(I256::ZERO),
        }
    }
}

/// Computes `quantity` over `batch`; `positions` maps column names to places in the batch.
///
/// # Errors
/// [`EncodeError::Internal`] if the batch was read without a column that the quantity names.
pub fn quantity_values<'a>(
    quantity: &Quantity,
    batch: &'a RowBatch,
    positions: &BTreeMap<&str, usize>,
) -> Result<QuantityValues<'a>, EncodeError> {
    let column = |name: &String| units(name, batch, positions);
    let cells = |names: &[String]| -> Result<Vec<&Cells>, EncodeError> {
        names.iter().map(|name| Ok(&column(name)?.values)).collect()
    };
    Ok(match quantity {
        Quantity::Value(name) => QuantityValues::Borrowed(&column(name)?.values),
        Quantity::Valid(name) => {
            let typed = column(name)?;
            QuantityValues::I64(match &typed.valid {
                Some(valid) => valid.iter().map(|v| i64::from(*v)).collect(),
                None => vec![1; typed.values.len()],
            })
        }
        Quantity::BothValid(left, right) => {
            let (left, right) = (column(left)?, column(right)?);
            let both =
                (0..left.values.len()).map(|row| i64::from(is_valid(left, row) && is_valid(right, row)));
            QuantityValues::I64(both.collect())
        }
        Quantity::Combination(terms) => {
            let terms = terms
                .iter()
                .map(|(weight, quantity)| Ok((*weight, quantity_values(quantity, batch, positions)?)));
            let terms = terms.collect::<Result<Vec<_>, EncodeError>>()?;
            combination(&terms, batch.rows)
        }
        Quantity::InCells { quantity, cells, bits } => {
            cells::in_cells((quantity.as_deref(), cells, *bits), batch, positions)?
        }
        Quantity::Flag(flag) => flags::flags(flag, data(&flag.column, batch, positions)?)?,
        Quantity::Holds(_) => {
            return Err(EncodeError::Internal { what: "conditions take a query engine to work out" });
        }
        Quantity::Limb { quantity, digits, place } => {
            flags::limbs(&quantity_values(quantity, batch, positions)?, *digits, *place)?
        }
        Quantity::Square(name) => {
            let values = &column(name)?.values;
            products(values, values)
        }
        Quantity::Log(factors) => {
            let factors = cells(factors)?;
            let log = |row| {
                let magnitudes = factors.iter().map(|values| whole(values, row).unsigned_abs());
                magnitudes.map(|size| (size > 0).then(|| ln_units(size))).sum::<Option<i128>>().unwrap_or(0)
            };
            QuantityValues::I128(rows_of(&factors).map(log).collect())
        }
        Quantity::Monomial(factors) => long_product(&cells(factors)?),
        Quantity::Negative(factors) => {
            let factors = cells(factors)?;
            let sign = |row| factors.iter().map(|values| whole(values, row).signum128()).product::<i128>();
            QuantityValues::I64(rows_of(&factors).map(|row| i64::from(sign(row) < 0)).collect())
        }
        Quantity::Product(left, right) => products(&column(left)?.values, &column(right)?.values),
        Quantity::Where { quantity, present } => {
            let whole = quantity_values(quantity, batch, positions)?;
            let present = present.iter().map(column).collect::<Result<Vec<_>, _>>()?;
            whole.where_all(&present)
        }
        Quantity::Zero(factors) => {
            let columns = factors.iter().map(column).collect::<Result<Vec<_>, _>>()?;
            let factors = cells(factors)?;
            let is_zero = |row| {
                factors.iter().any(|values| whole(values, row) == 0)
                    && columns.iter().all(|column| is_valid(column, row))
            };
            QuantityValues::I64(rows_of(&factors).map(|row| i64::from(is_zero(row))).collect())
        }
    })
}

/// The sum of multiples of exact numbers, row by row; in 128 bits where these hold every step.
fn combination<'a>(terms: &[(i64, QuantityValues<'_>)], rows: usize) -> QuantityValues<'a> {
    let mut short = vec![0_i128; rows];
    if terms.iter().all(|(weight, numbers)| add_short_multiple(&mut short, *weight, numbers)) {
        return QuantityValues::I128(short);
    }
    short.zeroize();
    let mut sums = vec![I256::ZERO; rows];
    for (weight, numbers) in terms {
        add_multiple(&mut sums, *weight, numbers);
    }
    QuantityValues::I256(sums)
}

/// Adds a multiple of exact numbers, row by row; `false` where 128 bits do not hold them.
fn add_short_multiple(sums: &mut [i128], weight: i64, numbers: &QuantityValues<'_>) -> bool {
    let add = |sum: &mut i128, number: i128| {
        let total = number.checked_mul(weight.into()).and_then(|times| sum.checked_add(times));
        total.inspect(|total| *sum = *total).is_some()
    };
    match numbers.view() {
        View::Exact(Values::I64(numbers)) => {
            sums.iter_mut().zip(numbers).all(|(sum, number)| add(sum, i128::from(*number)))
        }
        View::Exact(Values::I128(numbers)) => {
            sums.iter_mut().zip(numbers).all(|(sum, number)| add(sum, *number))
        }
        View::Exact(Values::I256(_)) | View::Approx(_) => false,
    }
}

/// Adds a multiple of exact numbers, row by row.
fn add_multiple(sums: &mut [I256], weight: i64, numbers: &QuantityValues<'_>) {
    // The planner found that every partial sum fits in 126 bits.
    let mut add = |numbers: &mut dyn Iterator<Item = I256>| {
        for (sum, number) in sums.iter_mut().zip(numbers) {
            *sum = sum.wrapping_add(number.wrapping_mul(I256::from(weight)));
        }
    };
    match numbers.view() {
        View::Exact(Values::I64(numbers)) => add(&mut numbers.iter().map(|number| I256::from(*number))),
        View::Exact(Values::I128(numbers)) => add(&mut numbers.iter().map(|number| I256::from(*number))),
        View::Exact(Values::I256(numbers)) => add(&mut numbers.iter().copied()),
        View::Approx(_) => {}
    }
}

fn is_valid(column: &TypedColumn, row: usize) -> bool {
    column.valid.as_ref().is_none_or(|valid| valid.get(row) == Some(&true))
}

/// `values` where `keep` says so, 0 elsewhere.
fn kept<T: Copy + Default>(values: &[T], keep: impl Fn(usize) -> bool) -> Vec<T> {
    let cells = values.iter().enumerate();
    cells.map(|(row, value)| if keep(row) { *value } else { T::default() }).collect()
}

fn units<'a>(
    name: &str,
    batch: &'a RowBatch,
    positions: &BTreeMap<&str, usize>,
) -> Result<&'a TypedColumn, EncodeError> {
    match data(name, batch, positions)? {
        ColumnData::Units(typed) => Ok(typed),
        ColumnData::Array(_) => Err(EncodeError::Internal { what: "an encoded column is of another type" }),
    }
}

fn data<'a>(
    name: &str,
    batch: &'a RowBatch,
    positions: &BTreeMap<&str, usize>,
) -> Result<&'a ColumnData, EncodeError> {
    let place = positions.get(name).and_then(|place| batch.columns.get(*place));
    let missing = EncodeError::Internal { what: "an encoded column's data was not read" };
    place.and_then(Option::as_ref).ok_or(missing)
}

/// Row-wise products in the next wider type; the product of 64-bit values fits 127 bits, that of 128-bit
/// values 255 bits. Missing values are 0 already.
fn products<'a>(left: &Cells, right: &Cells) -> QuantityValues<'a> {
    match (left, right) {
        (Cells::I64(left), Cells::I64(right)) => QuantityValues::I128(
            left.iter().zip(right).map(|(l, r)| i128::from(*l) * i128::from(*r)).collect(),
        ),
        (Cells::F64(_), _) | (_, Cells::F64(_)) => {
            QuantityValues::F64(floats(left).zip(floats(right)).map(|(l, r)| l * r).collect())
        }
        _ => QuantityValues::I256(wide(left).zip(wide(right)).map(|(l, r)| l * r).collect()),
    }
}

/// Row-wise products of any number of columns.
fn long_product<'a>(factors: &[&Cells]) -> QuantityValues<'a> {
    if let Some(short) = short_product(factors) {
        return QuantityValues::I128(short);
    }
    if !factors.iter().any(|values| matches!(values, Cells::F64(_))) {
        // Values within their declared ranges do not wrap: the planner found at most 250 bits.
        let times = |product: I256, factor| product.wrapping_mul(factor);
        let product = |row| factors.iter().map(|values| whole(values, row)).fold(I256::ONE, times);
        return QuantityValues::I256(rows_of(factors).map(product).collect());
    }
    let mut product = vec![1.0; factors.first().map_or(0, |first| first.len())];
    for values in factors {
        product.iter_mut().zip(floats(values)).for_each(|(product, value)| *product *= value);
    }
    QuantityValues::F64(product)
}

/// Row-wise products of 64-bit integers; `None` where 128 bits do not hold them, or for others.
fn short_product(factors: &[&Cells]) -> Option<Vec<i128>> {
    let mut product = vec![1_i128; factors.first()?.len()];
    for values in factors {
        let Cells::I64(values) = values else { return None };
        let times = |(product, factor): (&mut i128, &i64)| {
            *product = product.checked_mul((*factor).into())?;
            Some(())
        };
        product.iter_mut().zip(values).try_for_each(times)?;
    }
    Some(product)
}

/// The integer in a row; 0 of floats, which the planner keeps apart.
fn whole(values: &Cells, row: usize) -> I256 {
    match values {
        Cells::I64(values) => values.get(row).map_or(I256::ZERO, |value| I256::from(*value)),
        Cells::I128(values) => values.get(row).map_or(I256::ZERO, |value| I256::from(*value)),
        Cells::F64(_) => I256::ZERO,
    }
}

fn rows_of(columns: &[&Cells]) -> std::ops::Range<usize> {
    0..columns.first().map_or(0, |first| first.len())
}

fn wide(values: &Cells) -> Box<dyn Iterator<Item = I256> + '_> {
    match values {
        Cells::I64(values) => Box::new(values.iter().map(|v| I256::from(*v))),
        Cells::I128(values) => Box::new(values.iter().map(|v| I256::from(*v))),
        Cells::F64(_) => Box::new(std::iter::empty()),
    }
}

fn floats(values: &Cells) -> Box<dyn Iterator<Item = f64> + '_> {
    match values {
        Cells::F64(values) => Box::new(values.iter().copied()),
        Cells::I64(values) => Box::new(values.iter().map(|v| *v as f64)),
        Cells::I128(values) => Box::new(values.iter().map(|v| *v as f64)),
    }
}

#[cfg(test)]
mod tests;
