// SPDX-License-Identifier: Apache-2.0
//! One encoded column as its owner holds it.

use hush_keys::SecretKey;
use hush_plan::{EncodingId, PrivateEncoding, Quantity};
use hush_ring::Ring;

use super::Codec;

/// One encoded column, ready to encrypt and decrypt.
pub(crate) struct ColumnKey {
    /// Its description.
    pub(crate) encoding: PrivateEncoding,
    /// Its secret.
    pub(crate) secret: SecretKey,
    /// Its plaintext space.
    pub(crate) codec: Codec,
}

impl ColumnKey {
    /// The column's number in its table.
    pub(crate) fn id(&self) -> EncodingId {
        self.encoding.public.id
    }

    /// Its ring.
    pub(crate) fn ring(&self) -> &Ring {
        self.secret.ring()
    }

    /// The owner's name for the column's quantity.
    pub(crate) fn content_name(&self) -> String {
        match &self.encoding.quantity {
            Quantity::Value(name) | Quantity::Valid(name) | Quantity::Square(name) => name.clone(),
            Quantity::Product(left, right) | Quantity::BothValid(left, right) => format!("{left}*{right}"),
            quantity => quantity.describe(),
        }
    }
}
