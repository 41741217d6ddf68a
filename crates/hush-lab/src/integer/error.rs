// SPDX-License-Identifier: Apache-2.0
//! Why an integer cannot be computed with.

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IntegerError {
    /// The modular arithmetic refused a prime.
    #[error("modular arithmetic")]
    Arith(#[from] hush_arith::ArithError),
    /// The kernels refused a length or a path.
    #[error("kernels")]
    Kernel(#[from] hush_kernels::KernelError),
    /// A modulus that no product can be reduced by.
    #[error("the modulus must be odd and have {min} bits or more; found {found}")]
    ModulusUnfit {
        /// Its bits.
        found: u64,
        /// The fewest.
        min: u64,
    },
    /// No transform is long enough.
    #[error("a product of {found} bits; the longest transform holds {max}")]
    TooLong {
        /// Bits wanted.
        found: u64,
        /// Bits possible.
        max: u64,
    },
}
