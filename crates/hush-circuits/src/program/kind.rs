// SPDX-License-Identifier: Apache-2.0
//! The schemes that programs run in.

/// A scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SchemeKind {
    /// BGV: exact.
    Bgv,
    /// BFV: exact.
    Bfv,
    /// CKKS: approximate.
    Ckks,
}

impl SchemeKind {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bgv => "BGV",
            Self::Bfv => "BFV",
            Self::Ckks => "CKKS",
        }
    }
}
