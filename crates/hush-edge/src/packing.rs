// SPDX-License-Identifier: Apache-2.0
//! A device's part of each packing: it checks bounds and scales reals before a public key encrypts them.
//!
//! Each packing that public keys encrypt has a file of its name here.

mod approx_sum;
mod sum;

use hush_encode::{QuantityValues, View};
use hush_plan::{Packing, PrivateEncoding, Quantity};
use hush_schemes::{SchemeError, Values};
use zeroize::Zeroizing;

use crate::EdgeError;

/// The encrypted quantities of one column.
///
/// *Secrecy.* Plaintext; wiped on drop.
pub(crate) enum Plain<'a> {
    Exact(QuantityValues<'a>),
    Scaled(Zeroizing<Vec<i128>>),
}

impl<'a> Plain<'a> {
    /// Checks bounds and scales reals.
    ///
    /// # Errors
    /// [`EdgeError::Range`] for a value out of bounds; [`EdgeError::Internal`] for a packing that no device encrypts.
    pub(crate) fn of(encoding: &PrivateEncoding, values: QuantityValues<'a>) -> Result<Self, EdgeError> {
        match &encoding.public.packing {
            Packing::ApproxSum(packing) => approx_sum::plain(*packing, encoding, &values),
            Packing::Sum(packing) => sum::plain(*packing, encoding, values),
            Packing::ApproxSlots(_) | Packing::Slots(_) => Err(UNSUITED),
        }
    }

    /// The integers.
    ///
    /// # Errors
    /// None but bugs.
    pub(crate) fn values(&self) -> Result<Values<'_>, EdgeError> {
        match self {
            Self::Scaled(values) => Ok(Values::I128(values)),
            Self::Exact(exact) => match exact.view() {
                View::Exact(values) => Ok(values),
                View::Approx(_) => Err(EdgeError::Internal { what: "reals among integers" }),
            },
        }
    }
}

const UNSUITED: EdgeError = EdgeError::Internal { what: "a column's layout does not suit its type" };

/// A value out of bounds, by the owner's name of its column.
pub(crate) fn out_of_range(encoding: &PrivateEncoding, error: &SchemeError) -> EdgeError {
    let row = match error {
        SchemeError::ValueRange { index, .. } | SchemeError::NotFinite { index } => index + 1,
        _ => 0,
    };
    EdgeError::Range { column: column_name(encoding), row }
}

fn column_name(encoding: &PrivateEncoding) -> String {
    match &encoding.quantity {
        Quantity::Value(name) | Quantity::Valid(name) | Quantity::Square(name) => name.clone(),
        quantity => quantity.describe(),
    }
}
