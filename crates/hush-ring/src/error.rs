// SPDX-License-Identifier: Apache-2.0
//! Errors of the ring layer.

/// Why a ring or a polynomial operation was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RingError {
    /// The moduli do not make a ring of this degree.
    #[error(transparent)]
    Arith(#[from] hush_arith::ArithError),
    /// An automorphism that does not exist.
    #[error("Galois element {found}: expected an odd number below {order}")]
    GaloisElement {
        /// Element found.
        found: usize,
        /// `2N`.
        order: usize,
    },
    /// The loops cannot be set up for this ring or this machine.
    #[error(transparent)]
    Kernel(#[from] hush_kernels::KernelError),
    /// A slice has the wrong number of words.
    #[error("{found} words, expected {expected}")]
    Length {
        /// Words found.
        found: usize,
        /// Words expected.
        expected: usize,
    },
    /// A chain has no such level.
    #[error("level {found}, but the chain's levels are 0 to {top}")]
    Level {
        /// Level found.
        found: hush_params::Level,
        /// The highest level.
        top: hush_params::Level,
    },
    /// The operands live in different rings.
    #[error("operands of different rings: parameter sets {left} and {right}")]
    RingMismatch {
        /// Parameter code on the left; 0 is a toy ring.
        left: u16,
        /// Parameter code on the right.
        right: u16,
    },
    /// A residue is not below its prime.
    #[error("a residue of limb {limb} is not below its prime")]
    Residue {
        /// Limb, from 0.
        limb: usize,
    },
    /// Coefficients cannot be rounded to so many bits.
    #[error("rounding to {found} bits, expected 1 to {max}")]
    RoundedBits {
        /// Bits asked for.
        found: u32,
        /// Most bits.
        max: u32,
    },
}
