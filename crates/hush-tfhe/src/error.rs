// SPDX-License-Identifier: Apache-2.0
//! Errors. None of them carries a coefficient.

/// Why something was not evaluated, or bytes are no object of TFHE.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TfheError {
    /// A checksum that does not match.
    #[error("checksum mismatch: the object is damaged")]
    Checksum,
    /// A number of ciphertexts, coefficients or bytes.
    #[error("{found} {what}, expected {expected}")]
    Count {
        /// Of what.
        what: &'static str,
        /// Found.
        found: u64,
        /// Expected.
        expected: u64,
    },
    /// A message beyond the set's. Which one is a secret.
    #[error("a message that the set does not have: those are below {limit}")]
    Message {
        /// The first that is too large.
        limit: u64,
    },
    /// Circuit bootstrapping with a set that has none.
    #[error("the parameter set {set} has no circuit bootstrapping: take one of those for wide look-ups")]
    NoCircuit {
        /// The set.
        set: &'static str,
    },
    /// Not an object of TFHE.
    #[error("not an object of TFHE: {what}")]
    NotAnObject {
        /// What differs.
        what: &'static str,
    },
    /// More error than a bootstrapping bears.
    #[error("a sum of norm {found}, where a bootstrapping takes {limit} at most")]
    Norm {
        /// Found.
        found: u32,
        /// The limit of the set.
        limit: u32,
    },
    /// A residue that is not below the prime.
    #[error("a residue is not below the prime")]
    Residue,
    /// The ring of a set could not be made.
    #[error(transparent)]
    Ring(#[from] RingFault),
    /// An object of another parameter set.
    #[error("an object of the parameter set with code {found}, expected {expected}")]
    Set {
        /// Code found.
        found: u16,
        /// Code expected.
        expected: u16,
    },
    /// Keys of different sets.
    #[error("keys or ciphertexts of another parameter set than {expected}")]
    Mixed {
        /// The set of the rotation key.
        expected: &'static str,
    },
    /// Integers of different widths, or of none that there is.
    #[error("integers of {found} digits, expected {expected}")]
    Width {
        /// Digits found.
        found: usize,
        /// Digits expected.
        expected: usize,
    },
}

/// Why a ring could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RingFault(String);

impl From<hush_ring::RingError> for TfheError {
    fn from(fault: hush_ring::RingError) -> Self {
        Self::Ring(RingFault(fault.to_string()))
    }
}

impl TfheError {
    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotAnObject { .. } => "HUSH-B001",
            Self::Checksum => "HUSH-B002",
            Self::Set { .. } | Self::Mixed { .. } => "HUSH-B003",
            Self::Count { .. } => "HUSH-B004",
            Self::Residue => "HUSH-B005",
            Self::Message { .. } => "HUSH-B006",
            Self::Norm { .. } => "HUSH-B007",
            Self::Width { .. } => "HUSH-B008",
            Self::Ring(_) => "HUSH-B009",
            Self::NoCircuit { .. } => "HUSH-B010",
        }
    }
}
