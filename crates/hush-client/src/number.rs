// SPDX-License-Identifier: Apache-2.0
//! A number of an answer.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

/// A decrypted or clear number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Number {
    /// An integer, in units.
    Exact(BigInt),
    /// A real from an approximate layout.
    Approx(f64),
}

impl Number {
    pub(crate) fn to_f64(&self) -> f64 {
        match self {
            Self::Exact(value) => value.to_f64().unwrap_or(f64::NAN),
            Self::Approx(value) => *value,
        }
    }
}
