// SPDX-License-Identifier: Apache-2.0
//! What can be wrong with a modulus, a root or a basis. Every field is public data.

/// Why a modulus, a root of unity or a basis was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArithError {
    /// The same prime stands twice in a basis, so the residues would not determine the integer.
    #[error("the modulus {found} occurs more than once in the basis")]
    DuplicateModulus {
        /// The repeated prime.
        found: u64,
    },
    /// A basis needs at least one modulus.
    #[error("the basis holds no modulus")]
    EmptyBasis,
    /// The modulus is too small or too large for the lazy 52-bit loops.
    #[error("the modulus {found} is outside 2..={max}")]
    ModulusOutOfRange {
        /// The value offered.
        found: u64,
        /// The largest value allowed, [`crate::MAX_MODULUS`].
        max: u64,
    },
    /// The prime has no primitive `2·degree`-th root of unity, or `degree` is not a power of two.
    #[error(
        "no primitive root of order 2·{degree} modulo {modulus}: {modulus} ≡ 1 mod 2·{degree} is needed, {degree} a power of two"
    )]
    NoRootOfUnity {
        /// The prime.
        modulus: u64,
        /// The ring degree asked for.
        degree: usize,
    },
    /// The modulus is composite.
    #[error("the modulus {found} is not prime")]
    NotPrime {
        /// The value offered.
        found: u64,
    },
    /// The basis is longer than the float correction of the reconstruction allows.
    #[error("the basis holds {found} moduli, at most {max} are supported")]
    TooManyModuli {
        /// The number of moduli offered.
        found: usize,
        /// The largest number allowed, [`crate::MAX_BASIS_LEN`].
        max: usize,
    },
    /// Zero has no inverse.
    #[error("zero has no inverse modulo {modulus}")]
    ZeroHasNoInverse {
        /// The prime.
        modulus: u64,
    },
}
