// SPDX-License-Identifier: Apache-2.0
//! Decrypted values of a column.

pub(crate) mod decrypt;

use arrow::buffer::NullBuffer;
use ethnum::I256;
use hush_exec::plain::PlainValues;

use crate::error::ClientError;

/// One chunk of a decrypted column.
pub(crate) enum Cells {
    /// Integers in units.
    Exact(Vec<I256>),
    /// Reals.
    Approx(Vec<f64>),
}

impl Cells {
    /// The values of a dry run's column or program.
    ///
    /// # Errors
    /// [`ClientError::Answer`] if the bytes hold none.
    pub(crate) fn plain(bytes: &[u8]) -> Result<Self, ClientError> {
        match PlainValues::decode(bytes) {
            Some(PlainValues::Exact(values)) => Ok(Self::Exact(values)),
            Some(PlainValues::Approx(values)) => Ok(Self::Approx(values)),
            None => Err(ClientError::Answer { what: "a chunk has no plain values".into() }),
        }
    }

    /// What rows have of an encoding that their part lacks.
    pub(crate) fn zeros(is_approximate: bool, rows: usize) -> Self {
        if is_approximate { Self::Approx(vec![0.0; rows]) } else { Self::Exact(vec![I256::ZERO; rows]) }
    }

    /// Number of values.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Exact(values) => values.len(),
            Self::Approx(values) => values.len(),
        }
    }

    /// The values at `rows`; `None` where there is none.
    pub(crate) fn at(&self, rows: &[usize]) -> Option<Self> {
        Some(match self {
            Self::Exact(values) => {
                Self::Exact(rows.iter().map(|row| values.get(*row).copied()).collect::<Option<_>>()?)
            }
            Self::Approx(values) => {
                Self::Approx(rows.iter().map(|row| values.get(*row).copied()).collect::<Option<_>>()?)
            }
        })
    }

    /// Keeps the first `rows` values, and returns the others.
    fn split_off(&mut self, rows: usize) -> Self {
        match self {
            Self::Exact(values) => Self::Exact(values.split_off(rows.min(values.len()))),
            Self::Approx(values) => Self::Approx(values.split_off(rows.min(values.len()))),
        }
    }

    /// Adds the values of the next chunk of the same column.
    ///
    /// # Errors
    /// None but bugs: a column is exact or approximate throughout.
    pub(crate) fn append(&mut self, next: Self) -> Result<(), ClientError> {
        match (self, next) {
            (Self::Exact(values), Self::Exact(next)) => values.extend(next),
            (Self::Approx(values), Self::Approx(next)) => values.extend(next),
            _ => return Err(ClientError::Internal { what: "a column changes its kind between chunks" }),
        }
        Ok(())
    }

    /// The values of some rows as an engine that encrypts nothing takes them.
    pub(crate) fn to_plain(&self, rows: std::ops::Range<usize>) -> PlainValues {
        match self {
            Self::Exact(values) => PlainValues::Exact(values.get(rows).unwrap_or_default().to_vec()),
            Self::Approx(values) => PlainValues::Approx(values.get(rows).unwrap_or_default().to_vec()),
        }
    }

    /// The NULLs of a validity column: the rows without a value.
    ///
    /// # Errors
    /// None but bugs: validity is exact.
    pub(crate) fn nulls(&self) -> Result<NullBuffer, ClientError> {
        match self {
            Self::Exact(values) => Ok(values.iter().map(|value| *value == I256::ONE).collect()),
            Self::Approx(_) => Err(ClientError::Internal { what: "an approximate validity" }),
        }
    }
}
