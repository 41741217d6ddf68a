// SPDX-License-Identifier: Apache-2.0
//! The scheme that encrypts nothing: an owner's dry run of a plan, in a process of his own. No server makes such an engine.
//!
//! Columns and answers hold plain values ([`crate::plain`]). Everything else is as usual: the engine checks the plan,
//! evaluates the clear half and the masks, and adds up or computes chunk after chunk.

mod products;

use ethnum::I256;
use hush_plan::{EncodingId, Packing};
use hush_ring::Ring;
use hush_rlwe::ObjectRounding;
use hush_schemes::bgv::sum::NOT_SELECTED;

use self::products::PlainProducts;
use super::{BlockInput, ChunkInput, DAMAGED, Program, RunningSums, Scheme, Total};
use crate::clear::masks::RowMask;
use crate::clear::select::Operand;
use crate::error::ExecError;
use crate::packing::element::{ElementInput, PlainColumns};
use crate::plain::{PlainSum, PlainValues};

/// Computes on plain values.
pub(crate) struct NoOp;

impl Scheme for NoOp {
    type Sums = PlainSums;
    type Total = PlainTotal;
    type Products = PlainProducts;

    /// Plain values are small and have no modulus.
    fn rounding(_: &Ring, _: &Packing, _: u32) -> Result<Option<ObjectRounding>, ExecError> {
        Ok(None)
    }

    /// All rows of a chunk at once, as if they were those of one ring element.
    fn evaluate(
        program: &Program<'_>,
        chunk: &ChunkInput<'_>,
        operands: &[Operand],
    ) -> Result<Vec<u8>, ExecError> {
        let columns = program.shape.columns.iter().map(|id| Ok((*id, values(chunk, *id)?)));
        let columns = columns.collect::<Result<Vec<_>, ExecError>>()?;
        let row_count = chunk.row_count();
        let input = ElementInput { ring: &program.ring, operands, element: 0, first_row: 0, row_count };
        let columns = PlainColumns(&columns);
        Ok(program.arithmetic.evaluate_plain(program.expr, &columns, &input)?.encode())
    }
}

fn values(chunk: &ChunkInput<'_>, column: EncodingId) -> Result<PlainValues, ExecError> {
    PlainValues::decode(chunk.blob(column)?).ok_or(DAMAGED)
}

/// For each group one sum for each column, `None` until a row counts.
#[derive(Debug)]
pub(crate) struct PlainSums {
    sums: Vec<Option<PlainSum>>,
    column_count: usize,
}

impl PlainSums {
    fn with_shape(group_count: usize, column_count: usize) -> Self {
        Self { sums: vec![None; group_count * column_count], column_count }
    }

    /// Adds each row of a chunk to its group, as often as its weight says.
    fn add(
        &mut self,
        groups: &[u32],
        weights: Option<&[i128]>,
        columns: &[PlainValues],
    ) -> Result<(), ExecError> {
        for (row, group) in groups.iter().enumerate().filter(|(_, group)| **group != NOT_SELECTED) {
            let weight = weights.map_or(1, |weights| weights[row]);
            let first = *group as usize * self.column_count;
            for (sum, column) in self.sums[first..first + self.column_count].iter_mut().zip(columns) {
                PlainSum::add(sum, column.weighed(row, weight)?)?;
            }
        }
        Ok(())
    }
}

impl RunningSums for PlainSums {
    // A sum of plain values is made as fast as it is looked up.
    const CAN_BE_KEPT: bool = false;

    fn new(_: &Ring, group_count: usize, column_count: usize) -> Self {
        Self::with_shape(group_count, column_count)
    }

    fn memory_bytes(_: &Ring, group_count: usize, column_count: usize) -> usize {
        group_count.saturating_mul(column_count).saturating_mul(size_of::<Option<PlainSum>>())
    }

    fn absorb(&mut self, mask: &RowMask, block: &BlockInput<'_>) -> Result<(), ExecError> {
        let columns =
            || block.columns.iter().map(|id| values(&block.chunk, *id)).collect::<Result<Vec<_>, _>>();
        match mask {
            RowMask::Nothing => Ok(()),
            RowMask::All => self.add(&vec![0; block.chunk.row_count()], None, &columns()?),
            RowMask::Rows { groups, weights } => self.add(groups, weights.as_deref(), &columns()?),
        }
    }

    fn merge(&mut self, other: Self) -> Result<(), ExecError> {
        let pairs = self.sums.iter_mut().zip(other.sums);
        pairs
            .filter_map(|(mine, theirs)| Some((mine, theirs?)))
            .try_for_each(|(sum, term)| PlainSum::add(sum, term))
    }

    /// The sums of all columns, 0 where no row counted.
    fn encode(self, _first: usize) -> Result<Vec<Vec<u8>>, ExecError> {
        let none = PlainSum::Exact(I256::ZERO);
        let object =
            |sums: &[Option<PlainSum>]| sums.iter().flat_map(|sum| sum.unwrap_or(none).encode()).collect();
        Ok(self.sums.chunks(self.column_count.max(1)).map(object).collect())
    }
}

/// The sums of one group, a sum for each column.
#[derive(Debug)]
pub(crate) struct PlainTotal(Vec<PlainSum>);

impl Total for PlainTotal {
    fn decode(object: &[u8], _: &Ring, _: u32, column_count: usize) -> Option<Self> {
        let sums = object.chunks(PlainSum::BYTES).map(PlainSum::decode).collect::<Option<Vec<_>>>()?;
        (sums.len() == column_count).then_some(Self(sums))
    }

    /// A column that had no row to count has an integer 0, whatever it holds.
    fn add(&mut self, other: Self) -> Result<(), ExecError> {
        let zero = PlainSum::Exact(I256::ZERO);
        for (sum, term) in self.0.iter_mut().zip(other.0) {
            let mut known = Some(*sum).filter(|sum| *sum != zero);
            if term != zero {
                PlainSum::add(&mut known, term)?;
            }
            *sum = known.unwrap_or(zero);
        }
        Ok(())
    }

    fn encode(&self, _: u32) -> Result<Vec<u8>, ExecError> {
        Ok(self.0.iter().flat_map(|sum| sum.encode()).collect())
    }

    fn object_bytes(_: &Ring, column_count: usize) -> usize {
        PlainSum::BYTES * column_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_follow_groups_and_weights_on_every_thread() {
        let exact = PlainValues::Exact([5, -7, 11, 13].map(I256::from).to_vec());
        let approx = PlainValues::Approx(vec![0.5, 0.25, 1.0, 2.0]);
        let bodies = [exact, approx];
        let (mut here, mut there) = (PlainSums::with_shape(3, 2), PlainSums::with_shape(3, 2));
        here.add(&[0, 1, NOT_SELECTED, 1], Some(&[2, 3, 100, -1]), &bodies).unwrap();
        there.add(&[0; 4], None, &bodies).unwrap();
        here.merge(there).unwrap();
        let objects = here.encode(0).unwrap();
        let sums = |object: &[u8]| -> Vec<PlainSum> {
            object.chunks(PlainSum::BYTES).map(|sum| PlainSum::decode(sum).unwrap()).collect()
        };
        let exact = |sum: i32| PlainSum::Exact(I256::from(sum));
        let expected = |sum: i32, approx: f64| [exact(sum), PlainSum::Approx(approx)];
        assert_eq!(sums(&objects[0]), expected(10 + 22, 1.0 + 3.75));
        assert_eq!(sums(&objects[1]), expected(-21 - 13, 0.75 - 2.0));
        assert_eq!(sums(&objects[2]), [exact(0), exact(0)]);
        assert_eq!(PlainSum::decode(&[9; PlainSum::BYTES]), None);
        assert_eq!(PlainSum::decode(&objects[0][1..PlainSum::BYTES]), None);
        assert_eq!(PlainSum::decode(&[]), None);
    }

    #[test]
    fn what_exceeds_every_plaintext_space_is_an_error() {
        let mut sums = PlainSums::with_shape(1, 1);
        let huge = PlainValues::Exact(vec![I256::MAX; 2]);
        assert!(sums.add(&[0; 2], None, std::slice::from_ref(&huge)).is_err());
        assert!(PlainSums::with_shape(1, 1).add(&[0], Some(&[2]), &[huge]).is_err());
    }
}
