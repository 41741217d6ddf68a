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

impl std::ops::Add for Number {
    type Output = Self;

    /// Exact if both are.
    fn add(self, other: Self) -> Self {
        match (self, other) {
            (Self::Exact(a), Self::Exact(b)) => Self::Exact(a + b),
            (a, b) => Self::Approx(a.to_f64() + b.to_f64()),
        }
    }
}

impl Number {
    pub(crate) fn to_f64(&self) -> f64 {
        match self {
            Self::Exact(value) => value.to_f64().unwrap_or(f64::NAN),
            Self::Approx(value) => *value,
        }
    }
}
