// SPDX-License-Identifier: Apache-2.0
//! The scheme that encrypts nothing: an owner's dry run of a plan, in a process of his own.
//!
//! Where a table would have ciphertexts it has plain values, and so has the answer. Everything else is the engine's
//! usual way: the plan is checked, the clear half evaluated, masks taken, chunk after chunk added up or computed with.
//! Arithmetic is in 256 bits with overflow checked, and in doubles: a reference for both the planner's ranges and the
//! ciphertexts' results. No server makes such an engine.

use ethnum::I256;
use hush_schemes::Values;
use hush_schemes::bgv::sum::NOT_SELECTED;

use crate::error::ExecError;

/// Whose arithmetic an engine uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// BGV and CKKS, on ciphertexts.
    Lattice,
    /// None, on plain values.
    NoOp,
}

/// Plain values of an encoded column in a chunk, or of one sum.
#[derive(Clone, Debug, PartialEq)]
pub enum PlainValues {
    /// Integers, in units.
    Exact(Vec<I256>),
    /// Reals.
    Approx(Vec<f64>),
}

impl From<Values<'_>> for PlainValues {
    fn from(values: Values<'_>) -> Self {
        Self::Exact(match values {
            Values::I64(values) => values.iter().map(|value| I256::from(*value)).collect(),
            Values::I128(values) => values.iter().map(|value| I256::from(*value)).collect(),
            Values::I256(values) => values.to_vec(),
        })
    }
}

impl PlainValues {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Exact(values) => values.len(),
            Self::Approx(values) => values.len(),
        }
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn weighed(&self, row: usize, weight: i128) -> Result<PlainSum, ExecError> {
        let damaged = ExecError::Corrupt { code: "HUSH-T033" };
        match self {
            Self::Exact(values) => {
                let term = values.get(row).ok_or(damaged)?.checked_mul(I256::from(weight));
                term.map(PlainSum::Exact).ok_or(ExecError::Internal { place: "range of a sum" })
            }
            Self::Approx(values) => Ok(PlainSum::Approx(values.get(row).ok_or(damaged)? * weight as f64)),
        }
    }

    /// The values as bytes: a kind, their number, and 16, 32 or 8 bytes for each.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(5 + 16 * self.len());
        let mut begin = |kind: u8| {
            out.push(kind);
            out.extend((self.len() as u32).to_le_bytes());
        };
        match self {
            Self::Exact(values) => {
                let narrow: Option<Vec<i128>> = values.iter().map(|v| i128::try_from(*v).ok()).collect();
                match narrow {
                    Some(values) => {
                        begin(NARROW);
                        values.iter().for_each(|value| out.extend(value.to_le_bytes()));
                    }
                    None => {
                        begin(WIDE);
                        values.iter().for_each(|value| out.extend(value.to_le_bytes()));
                    }
                }
            }
            Self::Approx(values) => {
                begin(REAL);
                values.iter().for_each(|value| out.extend(value.to_le_bytes()));
            }
        }
        out
    }

    /// The values that some bytes hold. `None` if they are not what [`PlainValues::encode`] writes.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (kind, bytes) = bytes.split_first()?;
        let (count, bytes) = bytes.split_first_chunk::<4>()?;
        let count = u32::from_le_bytes(*count) as usize;
        let width = match *kind {
            NARROW => 16,
            WIDE => 32,
            REAL => 8,
            _ => return None,
        };
        let body = Some(bytes).filter(|bytes| count.checked_mul(width) == Some(bytes.len()))?;
        Some(match *kind {
            NARROW => Self::Exact(words(body).map(|word| I256::from(i128::from_le_bytes(word))).collect()),
            WIDE => Self::Exact(words(body).map(I256::from_le_bytes).collect()),
            _ => Self::Approx(words(body).map(f64::from_le_bytes).collect()),
        })
    }
}

fn words<const WIDTH: usize>(body: &[u8]) -> impl Iterator<Item = [u8; WIDTH]> {
    body.as_chunks().0.iter().copied()
}

const NARROW: u8 = 1;
const WIDE: u8 = 2;
const REAL: u8 = 3;

/// A column of a stored chunk.
///
/// # Errors
/// [`ExecError::Corrupt`] if it is of something else.
pub(crate) fn column(blob: &[u8]) -> Result<PlainValues, ExecError> {
    PlainValues::decode(blob).ok_or(ExecError::Corrupt { code: "HUSH-T033" })
}

/// A plain sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PlainSum {
    /// Of integers, in units.
    Exact(I256),
    /// Of reals.
    Approx(f64),
}

impl PlainSum {
    /// Bytes of every sum in an answer.
    pub const BYTES: usize = 33;

    fn encode(self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        let (kind, bytes): (u8, &[u8]) = match self {
            Self::Exact(sum) => (WIDE, &sum.to_le_bytes()),
            Self::Approx(sum) => (REAL, &sum.to_le_bytes()),
        };
        out[0] = kind;
        out[1..=bytes.len()].copy_from_slice(bytes);
        out
    }

    /// The sum that some bytes hold. `None` if they are not what an answer has.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (kind, bytes) = bytes.split_first()?;
        match *kind {
            WIDE => Some(Self::Exact(I256::from_le_bytes(bytes.try_into().ok()?))),
            REAL if bytes.len() == Self::BYTES - 1 => {
                bytes.first_chunk().map(|real| Self::Approx(f64::from_le_bytes(*real)))
            }
            _ => None,
        }
    }

    fn add(sum: &mut Option<Self>, term: Self) -> Result<(), ExecError> {
        let outside = ExecError::Internal { place: "range of a sum" };
        *sum = Some(match (*sum, term) {
            (None, term) => term,
            (Some(Self::Exact(sum)), Self::Exact(term)) => Self::Exact(sum.checked_add(term).ok_or(outside)?),
            (Some(Self::Approx(sum)), Self::Approx(term)) => Self::Approx(sum + term),
            _ => return Err(outside),
        });
        Ok(())
    }
}

/// Running sums of one block: for each group one for each column, `None` until a row counts.
#[derive(Debug)]
pub(crate) struct PlainSums {
    sums: Vec<Option<PlainSum>>,
    columns: usize,
}

impl PlainSums {
    pub(crate) fn new(groups: usize, columns: usize) -> Self {
        Self { sums: vec![None; groups * columns], columns }
    }

    /// Memory of so many sums.
    pub(crate) fn memory_bytes(groups: usize, columns: usize) -> usize {
        groups.saturating_mul(columns).saturating_mul(size_of::<Option<PlainSum>>())
    }

    /// Adds every row of a chunk to group 0.
    ///
    /// # Errors
    /// As [`PlainSums::absorb_masked`].
    pub(crate) fn absorb_unfiltered(&mut self, rows: usize, bodies: &[PlainValues]) -> Result<(), ExecError> {
        self.absorb_masked(&vec![0; rows], None, bodies)
    }

    /// Adds each row of a chunk to its group, as often as its weight says.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if a sum exceeds 255 bits, which every plaintext space is below;
    /// [`ExecError::Corrupt`] if a column has fewer rows.
    pub(crate) fn absorb_masked(
        &mut self,
        groups: &[u32],
        weights: Option<&[i128]>,
        bodies: &[PlainValues],
    ) -> Result<(), ExecError> {
        for (row, group) in groups.iter().enumerate().filter(|(_, group)| **group != NOT_SELECTED) {
            let weight = weights.map_or(1, |weights| weights[row]);
            let first = *group as usize * self.columns;
            for (sum, body) in self.sums[first..first + self.columns].iter_mut().zip(bodies) {
                PlainSum::add(sum, body.weighed(row, weight)?)?;
            }
        }
        Ok(())
    }

    /// Adds the sums of another thread.
    ///
    /// # Errors
    /// As [`PlainSums::absorb_masked`].
    pub(crate) fn merge(&mut self, other: Self) -> Result<(), ExecError> {
        let pairs = self.sums.iter_mut().zip(other.sums);
        pairs
            .filter_map(|(mine, theirs)| Some((mine, theirs?)))
            .try_for_each(|(sum, term)| PlainSum::add(sum, term))
    }

    /// For each group the sums of all columns, 0 where no row counted.
    pub(crate) fn finish(self) -> Vec<Vec<u8>> {
        let none = PlainSum::Exact(I256::ZERO);
        let object =
            |sums: &[Option<PlainSum>]| sums.iter().flat_map(|sum| sum.unwrap_or(none).encode()).collect();
        self.sums.chunks(self.columns.max(1)).map(object).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_their_bytes_and_nothing_else_is_read() {
        let wide = I256::from(i128::MAX) * I256::from(5);
        for values in [
            PlainValues::Exact(vec![I256::from(-3), I256::from(i128::MIN)]),
            PlainValues::Exact(vec![wide, -wide, I256::ZERO]),
            PlainValues::Exact(Vec::new()),
            PlainValues::Approx(vec![0.5, -1e300]),
        ] {
            let bytes = values.encode();
            assert_eq!(PlainValues::decode(&bytes), Some(values.clone()));
            assert_eq!(column(&bytes).unwrap(), values);
            for cut in 0..bytes.len() {
                assert_eq!(PlainValues::decode(&bytes[..cut]), None);
            }
            assert!(column(&[bytes.clone(), vec![0]].concat()).is_err());
        }
        assert_eq!(PlainValues::decode(&[9, 0, 0, 0, 0]), None);
        assert_eq!(PlainValues::decode(&[WIDE, 255, 255, 255, 255, 1]), None);
    }

    #[test]
    fn sums_follow_groups_and_weights_on_every_thread() {
        let exact = PlainValues::Exact([5, -7, 11, 13].map(I256::from).to_vec());
        let approx = PlainValues::Approx(vec![0.5, 0.25, 1.0, 2.0]);
        let bodies = [exact, approx];
        let (mut here, mut there) = (PlainSums::new(3, 2), PlainSums::new(3, 2));
        here.absorb_masked(&[0, 1, NOT_SELECTED, 1], Some(&[2, 3, 100, -1]), &bodies).unwrap();
        there.absorb_unfiltered(4, &bodies).unwrap();
        here.merge(there).unwrap();
        let objects = here.finish();
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
        let mut sums = PlainSums::new(1, 1);
        let huge = PlainValues::Exact(vec![I256::MAX; 2]);
        assert!(sums.absorb_unfiltered(2, std::slice::from_ref(&huge)).is_err());
        assert!(PlainSums::new(1, 1).absorb_masked(&[0], Some(&[2]), &[huge]).is_err());
    }
}
