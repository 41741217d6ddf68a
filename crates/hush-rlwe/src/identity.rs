// SPDX-License-Identifier: Apache-2.0
//! What objects say they are: their kind, and the chain that they live over.

use hush_params::Fingerprint;
use hush_ring::Chain;

/// The kind of an object. The tags of kinds that a header once had keep their meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectKind {
    /// Full ciphertexts of 1 to 3 components over a ring, `Eval`: a server's answer to a slot expression.
    Ciphertexts,
    /// As a sum body, without the coefficients behind the last row.
    CutSumBody,
    /// The keys to a sparse secret and back, with which the modulus of ciphertexts is raised: seeds and bodies.
    EncapsulationKeys,
    /// Key-switching keys over a chain, for relinearisation and Galois elements: seeds and bodies.
    EvaluationKeys,
    /// Ciphertexts of 2 or 3 components at one level of a chain.
    LeveledCiphertexts,
    /// As evaluation keys, each with the highest level that it serves.
    LeveledKeys,
    /// Bodies in the coefficient domain, each with its mask in the evaluation domain: a chunk of a sum column from a device
    /// that has no secret, only public keys.
    MaskedSumBody,
    /// Keys for the powers of a secret over a ring: a seed and bodies, `Eval`.
    PowerKeys,
    /// The components of a sum of products of stored ciphertexts: a server's answer, `Eval` or rounded.
    ProductAnswer,
    /// A public key over a chain: seed and body.
    PublicKey,
    /// Fresh ciphertexts over a chain: seeds and bodies.
    SeededCiphertexts,
    /// Bodies of seeded ciphertexts, `Eval`: a chunk of a slot column.
    SlotBody,
    /// One `a` and one constant coefficient per body: a server's answer to a masked sum.
    SumAnswer,
    /// Bodies in the coefficient domain: a chunk of a sum column.
    SumBody,
}

impl ObjectKind {
    /// In the order of their tags, which begin at 1.
    const ALL: [Self; 14] = [
        Self::SumBody,
        Self::SlotBody,
        Self::SumAnswer,
        Self::Ciphertexts,
        Self::MaskedSumBody,
        Self::SeededCiphertexts,
        Self::LeveledCiphertexts,
        Self::EvaluationKeys,
        Self::PublicKey,
        Self::CutSumBody,
        Self::ProductAnswer,
        Self::PowerKeys,
        Self::LeveledKeys,
        Self::EncapsulationKeys,
    ];

    /// As a header has it.
    pub(crate) fn tag(self) -> u8 {
        Self::ALL.iter().zip(1..).find(|(kind, _)| **kind == self).map_or(0, |(_, tag)| tag)
    }

    /// The kind with this tag; `None` if there is none.
    pub(crate) fn from_tag(tag: u8) -> Option<Self> {
        Self::ALL.get(usize::from(tag).checked_sub(1)?).copied()
    }

    /// Whether objects of the kind are over a chain; the others are over a ring.
    pub fn is_over_chain(self) -> bool {
        match self {
            Self::EncapsulationKeys
            | Self::EvaluationKeys
            | Self::LeveledCiphertexts
            | Self::LeveledKeys
            | Self::PublicKey
            | Self::SeededCiphertexts => true,
            Self::Ciphertexts
            | Self::CutSumBody
            | Self::MaskedSumBody
            | Self::PowerKeys
            | Self::ProductAnswer
            | Self::SlotBody
            | Self::SumAnswer
            | Self::SumBody => false,
        }
    }
}

/// Names a chain and the unit of its errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChainId {
    /// Fingerprint of the chain's numbers.
    pub params: Fingerprint,
    /// Unit of errors and divisions: the plaintext modulus in BGV, 1 in BFV and CKKS.
    pub unit: u64,
}

impl ChainId {
    /// The id of a chain.
    pub fn of(chain: &Chain) -> Self {
        Self { params: chain.params().fingerprint(), unit: chain.unit() }
    }
}

impl std::fmt::Display for ChainId {
    /// The first eight bytes in hexadecimal, which tell chains apart in a message, and the unit.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.params.to_bytes()[..8].iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, " of unit {}", self.unit)
    }
}
