// SPDX-License-Identifier: Apache-2.0
//! Encoded columns: how one quantity of the table (a value, its validity, its square, a product) sits in
//! ring elements. A table has several per column, like indexes. The public half goes to the server.

use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;

/// Identifies an encoded column within a table; opaque to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EncodingId(pub u32);

/// How rows map to ring elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// CKKS by element-wise slots.
    ApproxSlots,
    /// CKKS by coefficient packing.
    ApproxSum,
    /// BGV slots with one ciphertext per plaintext prime.
    Slots,
    /// BGV by coefficient packing, plaintext modulus a power of two, mask shared by the chunk's columns.
    Sum,
}

/// Plaintext space of an encoded column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plaintext {
    /// Modulus `2^log2` (layout `sum`).
    PowerOfTwo {
        /// log2 t, 2 to 250.
        log2: u32,
    },
    /// One ciphertext per prime (layout `slots`).
    Primes {
        /// Plaintext primes, from the list in `hush-params`.
        primes: Vec<u64>,
    },
    /// Scale `2^log2` (the approximate layouts).
    Scale {
        /// log2 of the CKKS scale.
        log2: u32,
    },
}

/// The public half: all that the server knows of an encoded column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Encoding {
    /// Its number in the table.
    pub id: EncodingId,
    /// How rows map to ring elements.
    pub layout: Layout,
    /// Name of the parameter set (`hush_params::preset`).
    pub params: String,
    /// Plaintext space.
    pub plaintext: Plaintext,
}

impl Encoding {
    /// log2 of the scale of an approximate layout, 0 for an exact one.
    pub fn scale_log2(&self) -> f64 {
        match &self.plaintext {
            Plaintext::Scale { log2 } => f64::from(*log2),
            Plaintext::PowerOfTwo { .. } | Plaintext::Primes { .. } => 0.0,
        }
    }

    /// What the column was made for, as far as its public half tells: `sums of 58 bits`.
    pub fn describe(&self) -> String {
        let layout = match self.layout {
            Layout::ApproxSlots | Layout::ApproxSum => "approximate",
            Layout::Slots => "slots",
            Layout::Sum => "sums",
        };
        match &self.plaintext {
            Plaintext::PowerOfTwo { log2 } => format!("{layout} of {log2} bits"),
            Plaintext::Primes { primes } if primes.len() == 1 => format!("{layout} of 1 prime"),
            Plaintext::Primes { primes } => format!("{layout} of {} primes", primes.len()),
            Plaintext::Scale { log2 } => format!("{layout} at scale 2^{log2}"),
        }
    }
}

/// An encoded column as its owner knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrivateEncoding {
    /// The public half.
    #[serde(flatten)]
    pub public: Encoding,
    /// What a row of it holds.
    #[serde(rename = "content")]
    pub quantity: Quantity,
    /// Largest absolute value in units of any single row, in decimal digits (may exceed 128 bits). For the
    /// approximate layouts the largest absolute value that one row may have, rounded up to an integer.
    pub max_abs: String,
    /// Random identity from which the owner derives this column's secret; hex, 32 digits. Slot columns that meet in a
    /// product have one in common, hence one secret; no other two columns do.
    pub secret_id: String,
}
