// SPDX-License-Identifier: Apache-2.0
//! What objects say they are: their kind, and the chain that they live over.

use hush_ring::Chain;

/// The kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectKind {
    /// Full ciphertexts of 1 to 3 components, `Eval`: a server's answer to a slot expression.
    Ciphertexts,
    /// Bodies in the coefficient domain, each with its mask in the evaluation domain: a chunk of a sum column from a device
    /// that has no secret, only public keys.
    MaskedSumBody,
    /// Bodies of seeded ciphertexts, `Eval`: a chunk of a slot column.
    SlotBody,
    /// One `a` and one constant coefficient per body: a server's answer to a masked sum.
    SumAnswer,
    /// Bodies in the coefficient domain: a chunk of a sum column.
    SumBody,
}

impl ObjectKind {
    /// As a header has it.
    pub(crate) fn tag(self) -> u8 {
        match self {
            Self::SumBody => 1,
            Self::SlotBody => 2,
            Self::SumAnswer => 3,
            Self::Ciphertexts => 4,
            Self::MaskedSumBody => 5,
        }
    }

    /// The kind with this tag; `None` if there is none.
    pub(crate) fn from_tag(tag: u8) -> Option<Self> {
        match tag {
            1 => Some(Self::SumBody),
            2 => Some(Self::SlotBody),
            3 => Some(Self::SumAnswer),
            4 => Some(Self::Ciphertexts),
            5 => Some(Self::MaskedSumBody),
            _ => None,
        }
    }
}

/// The kind of an object over a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChainObjectKind {
    /// Ciphertexts of 2 or 3 components at one level.
    Ciphertexts,
    /// Key-switching keys: seeds and bodies.
    EvaluationKeys,
    /// A public key: seed and body.
    PublicKey,
    /// Fresh ciphertexts: seeds and bodies.
    SeededCiphertexts,
}

impl ChainObjectKind {
    /// As a header has it.
    pub(crate) fn tag(self) -> u8 {
        match self {
            Self::SeededCiphertexts => 1,
            Self::Ciphertexts => 2,
            Self::EvaluationKeys => 3,
            Self::PublicKey => 4,
        }
    }

    /// The kind with this tag; `None` if there is none.
    pub(crate) fn from_tag(tag: u8) -> Option<Self> {
        match tag {
            1 => Some(Self::SeededCiphertexts),
            2 => Some(Self::Ciphertexts),
            3 => Some(Self::EvaluationKeys),
            4 => Some(Self::PublicKey),
            _ => None,
        }
    }
}

/// Names a chain and the unit of its errors: BLAKE3 in key-derivation mode of the canonical encoding.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChainId([u8; 32]);

impl ChainId {
    /// The id of a chain: of [`hush_params::ChainParams::canonical_bytes`], then the unit as 8 bytes.
    pub fn of(chain: &Chain) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(ID_CONTEXT);
        hasher.update(&chain.params().canonical_bytes()).update(&chain.unit().to_le_bytes());
        Self(*hasher.finalize().as_bytes())
    }

    /// The id with these bytes, of whatever chain.
    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes as a header has them.
    pub fn to_bytes(self) -> [u8; 32] {
        self.0
    }
}

impl std::fmt::Display for ChainId {
    /// The first eight bytes in hexadecimal, which tell chains apart in a message.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0[..8].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for ChainId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ChainId({self})")
    }
}

const ID_CONTEXT: &str = "hushtable v1 modulus chain id";
