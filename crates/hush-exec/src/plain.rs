// SPDX-License-Identifier: Apache-2.0
//! Plain values and their bytes. A dry run has them where other tables and answers have ciphertexts.
//!
//! Integers have 256 bits, and overflow is checked; reals are doubles. So plain values are a reference for the planner's
//! ranges and for the results of ciphertexts.

use ethnum::I256;
use hush_schemes::Values;

use crate::error::ExecError;

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

    /// A row's value times its weight.
    ///
    /// # Errors
    /// [`ExecError::Corrupt`] if there are fewer rows; [`ExecError::Internal`] for products beyond 255 bits.
    pub(crate) fn weighed(&self, row: usize, weight: i128) -> Result<PlainSum, ExecError> {
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

    /// Most bytes of so many integers.
    pub(crate) fn most_bytes(count: usize) -> usize {
        5 + count * size_of::<I256>()
    }

    /// The values that some bytes hold; `None` for an unknown kind or another length.
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

    /// The sum as bytes: a kind, and 32 bytes for integers and reals alike.
    pub(crate) fn encode(self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        let (kind, bytes): (u8, &[u8]) = match self {
            Self::Exact(sum) => (WIDE, &sum.to_le_bytes()),
            Self::Approx(sum) => (REAL, &sum.to_le_bytes()),
        };
        out[0] = kind;
        out[1..=bytes.len()].copy_from_slice(bytes);
        out
    }

    /// The sum that some bytes hold; `None` for an unknown kind or another length.
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

    /// Adds a term to a sum; `None` is a sum without terms yet.
    ///
    /// # Errors
    /// [`ExecError::Internal`] for sums beyond 255 bits, and for reals among integers.
    pub(crate) fn add(sum: &mut Option<Self>, term: Self) -> Result<(), ExecError> {
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
            for cut in 0..bytes.len() {
                assert_eq!(PlainValues::decode(&bytes[..cut]), None);
            }
            assert_eq!(PlainValues::decode(&[bytes.clone(), vec![0]].concat()), None);
        }
        assert_eq!(PlainValues::decode(&[9, 0, 0, 0, 0]), None);
        assert_eq!(PlainValues::decode(&[WIDE, 255, 255, 255, 255, 1]), None);
    }
}
