// SPDX-License-Identifier: Apache-2.0
//! Sums of products of plain values, slot by slot: padding is made of zeros, and counts where it would count in ciphertexts.

use arrow::buffer::BooleanBuffer;
use ethnum::I256;
use hush_plan::EncodingId;
use hush_plan::plan::{Factor, ProductSum, ProductsTask};
use rayon::prelude::*;

use super::super::{ChunkInput, DAMAGED, ProductChunk, ProductTotal, Products, RunningProducts};
use super::values;
use crate::error::ExecError;
use crate::job::Extent;
use crate::plain::{PlainSum, PlainValues};
use crate::stop::Stop;

/// The sums of one run: of each one number, or one for each slot where these are read one by one.
pub(crate) struct PlainProducts(Vec<Vec<I256>>);

/// The numbers of a sum.
fn width(products: &Products) -> usize {
    products.task.highest_power().map_or(1, |_| products.ring.degree())
}

impl RunningProducts for PlainProducts {
    type Total = Self;

    fn new(products: &Products) -> Self {
        Self(vec![vec![I256::ZERO; width(products)]; products.task.sums.len()])
    }

    fn memory_bytes(_: &Products, _: usize) -> Result<u64, ExecError> {
        Ok(0)
    }

    fn absorb(
        &mut self,
        products: &Products,
        chunks: &[ProductChunk<'_>],
        stop: &Stop,
    ) -> Result<(), ExecError> {
        let of_chunk = |chunk| {
            stop.check()?;
            chunk_sums(products, chunk)
        };
        let sums: Vec<Self> = chunks.par_iter().map(of_chunk).collect::<Result<_, _>>()?;
        sums.into_iter().try_for_each(|sums| self.add(sums))
    }

    fn into_objects(self, products: &Products, extent: Extent) -> Result<Vec<Vec<u8>>, ExecError> {
        self.encode(products, extent)
    }
}

fn chunk_sums(products: &Products, chunk: &ProductChunk<'_>) -> Result<PlainProducts, ExecError> {
    let column = |id: &EncodingId| exact(&chunk.input, *id);
    let columns = chunk.operands.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    let (_, together) = products.in_ring();
    let most = chunk.input.row_count().saturating_mul(together as usize);
    // Those of chunks that are together are in the first.
    let rows = columns.first().map_or(chunk.input.row_count(), Vec::len);
    if columns.iter().any(|column| column.len() != rows) || !(chunk.input.row_count()..=most).contains(&rows)
    {
        return Err(DAMAGED);
    }
    let mut sums = PlainProducts::new(products);
    let degree = products.ring.degree();
    let powers_of = |row: usize| products.powers_of(chunk.number.saturating_add((row / degree) as u32));
    let elements = products.shape.packing.element_count(products.shape.set, rows as u32) as usize;
    let powers = (0..elements).map(|element| powers_of(element * degree));
    let powers = powers.collect::<Result<Vec<Vec<i64>>, _>>()?;
    let mut add = |row: usize, (values, masks): (&[I256], &[bool])| {
        let powers = powers.get(row / degree).map_or(&[][..], |powers| powers);
        let found = slot(products, &Operands { task: &products.task, columns: values, masks, powers })?;
        for (numbers, more) in sums.0.iter_mut().zip(found) {
            let place = row % numbers.len().max(1);
            let number = numbers.get_mut(place).ok_or(DAMAGED)?;
            *number = number.checked_add(more).ok_or(RANGE)?;
        }
        Ok::<_, ExecError>(())
    };
    for row in 0..rows {
        if chunk.counted.is_none_or(|counted| row < counted.len() && counted.value(row)) {
            let values: Vec<I256> = columns.iter().filter_map(|column| column.get(row)).copied().collect();
            let is_true = |mask: &BooleanBuffer| row < mask.len() && mask.value(row);
            let group = chunk.groups.get(row).map(|group| *group as usize);
            let of_groups = (0..products.groups.unwrap_or(0)).map(|number| group == Some(number));
            let masks: Vec<bool> = chunk.masks.iter().map(is_true).chain(of_groups).collect();
            add(row, (&values, &masks))?;
        }
    }
    if chunk.counted.is_none() {
        let (values, masks) = (vec![I256::ZERO; columns.len()], vec![false; chunk.masks.len()]);
        (rows..elements * degree).try_for_each(|row| add(row, (&values, &masks)))?;
    }
    Ok(sums)
}

/// What factors are of in one slot.
struct Operands<'a> {
    task: &'a ProductsTask,
    columns: &'a [I256],
    masks: &'a [bool],
    /// Of the number of its ring element.
    powers: &'a [i64],
}

/// What each sum has of one slot.
fn slot(products: &Products, operands: &Operands<'_>) -> Result<Vec<I256>, ExecError> {
    let mut factors: Vec<I256> = Vec::with_capacity(products.task.factors.len());
    for factor in &products.task.factors {
        let value = value(factor, operands, &factors)?;
        factors.push(value);
    }
    let sum = |sum: &ProductSum| {
        let factor = factors.get(sum.factor).copied().ok_or(DAMAGED)?;
        let Some(measure) = sum.measure else { return Ok(factor) };
        factor.checked_mul(*operands.columns.get(measure).ok_or(DAMAGED)?).ok_or(RANGE)
    };
    products.task.sums.iter().map(sum).collect()
}

fn value(factor: &Factor, operands: &Operands<'_>, earlier: &[I256]) -> Result<I256, ExecError> {
    let Operands { task, columns, masks, powers } = operands;
    let one = |factor| value(factor, operands, earlier);
    let both = |left, right| Ok::<_, ExecError>((one(left)?, one(right)?));
    match factor {
        Factor::Chosen(choices, place) => {
            columns.get(task.place_of_chosen(*choices, *place)).copied().ok_or(DAMAGED)
        }
        Factor::Column(place) => columns.get(*place).copied().ok_or(DAMAGED),
        // There are no keys where nothing is encrypted.
        Factor::Computed => Err(ExecError::NoKeys),
        Factor::Constant(integer) => Ok(I256::from(*integer)),
        Factor::Mask(place) => masks.get(*place).map(|mask| I256::from(i32::from(*mask))).ok_or(DAMAGED),
        Factor::Number(power) => powers.get(usize::from(*power)).copied().map(I256::from).ok_or(DAMAGED),
        Factor::Earlier(number) => earlier.get(*number).copied().ok_or(DAMAGED),
        Factor::Add(left, right) => both(left, right).and_then(|(l, r)| l.checked_add(r).ok_or(RANGE)),
        Factor::Mul(left, right) => both(left, right).and_then(|(l, r)| l.checked_mul(r).ok_or(RANGE)),
        Factor::Sub(left, right) => both(left, right).and_then(|(l, r)| l.checked_sub(r).ok_or(RANGE)),
    }
}

fn exact(chunk: &ChunkInput<'_>, column: EncodingId) -> Result<Vec<I256>, ExecError> {
    match values(chunk, column)? {
        PlainValues::Exact(values) => Ok(values),
        _ => Err(DAMAGED),
    }
}

impl ProductTotal for PlainProducts {
    fn zero(products: &Products) -> Self {
        Self::new(products)
    }

    fn decode(products: &Products, objects: &[&[u8]]) -> Option<Self> {
        let width = width(products);
        let exact = |object: &&[u8]| match (width, PlainSum::decode(object), PlainValues::decode(object)) {
            (1, Some(PlainSum::Exact(sum)), _) => Some(vec![sum]),
            (2.., _, Some(PlainValues::Exact(slots))) if slots.len() == width => Some(slots),
            _ => None,
        };
        let sums = objects.iter().map(exact).collect::<Option<Vec<_>>>()?;
        (sums.len() == products.task.sums.len()).then_some(Self(sums))
    }

    fn add(&mut self, other: Self) -> Result<(), ExecError> {
        let pairs = self.0.iter_mut().zip(other.0).flat_map(|(sum, terms)| sum.iter_mut().zip(terms));
        for (sum, term) in pairs {
            *sum = sum.checked_add(term).ok_or(RANGE)?;
        }
        Ok(())
    }

    fn encode(&self, _: &Products, _: Extent) -> Result<Vec<Vec<u8>>, ExecError> {
        let object = |numbers: &Vec<I256>| match numbers[..] {
            [sum] => PlainSum::Exact(sum).encode().to_vec(),
            _ => PlainValues::Exact(numbers.clone()).encode(),
        };
        Ok(self.0.iter().map(object).collect())
    }

    fn object_bytes(products: &Products, _: &ProductSum, _: Extent) -> u64 {
        match width(products) {
            1 => PlainSum::BYTES as u64,
            slots => PlainValues::most_bytes(slots) as u64,
        }
    }

    fn memory_bytes(products: &Products) -> u64 {
        (products.task.sums.len() * width(products) * size_of::<I256>()) as u64
    }
}

/// The error of numbers beyond 255 bits.
const RANGE: ExecError = ExecError::Internal { place: "range of a sum" };
