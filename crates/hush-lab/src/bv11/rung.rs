// SPDX-License-Identifier: Apache-2.0
//! Where ciphertexts live, and how they get from one place to the next.

use super::OddModulus;
use super::security::security_bits;

/// Where a ciphertext lives: a dimension and a modulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rung {
    /// LWE dimension, in `[1, 8192]`.
    pub n: u32,
    /// Modulus.
    pub q: OddModulus,
}

impl Rung {
    /// Security of a ciphertext there, in bits.
    pub(super) fn security_bits(self) -> f64 {
        security_bits(self.n, self.q.log2())
    }
}

/// The work of a step from one rung to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Dimension-modulus reduction of a ciphertext.
    Linear,
    /// Relinearisation of a product.
    Quadratic,
    /// Relinearisation and reduction of a product at once.
    QuadraticScaled,
}

impl Style {
    /// How many inputs a key has: `x_0 = 1` counts as a coordinate.
    pub(crate) fn inputs(self, n: u32) -> u64 {
        let n = u64::from(n);
        match self {
            Self::Linear => n + 1,
            Self::Quadratic | Self::QuadraticScaled => (n + 1) * (n + 2) / 2,
        }
    }

    pub(crate) fn is_scaled(self) -> bool {
        self != Self::Quadratic
    }
}
