// SPDX-License-Identifier: Apache-2.0
//! The spelling of a packing in manifests: a layout and a plaintext space. Most combinations of the two mean nothing.

use serde::{Deserialize, Serialize};

/// How rows map to ring elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Layout {
    ApproxSlots,
    ApproxSum,
    Slots,
    SharedSlots,
    Sum,
}

/// Plaintext space of an encoded column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Plaintext {
    /// Modulus `2^log2`.
    PowerOfTwo { log2: u32 },
    /// One ciphertext per prime.
    Primes { primes: Vec<u64> },
    /// Scale `2^log2`.
    Scale { log2: u32 },
}

impl Layout {
    /// As it is written.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ApproxSlots => "approx_slots",
            Self::ApproxSum => "approx_sum",
            Self::Slots => "slots",
            Self::SharedSlots => "shared_slots",
            Self::Sum => "sum",
        }
    }
}

/// A plaintext space that its layout cannot have.
#[derive(Debug, thiserror::Error)]
#[error("the layout {} cannot have the plaintext space that stands beside it", layout.name())]
pub(crate) struct NoPacking {
    pub(crate) layout: Layout,
}
