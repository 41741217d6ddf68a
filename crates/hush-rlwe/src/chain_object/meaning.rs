// SPDX-License-Identifier: Apache-2.0
//! Ciphertexts that carry the meaning of their phases, for results with a meaning that no plan fixes.
//!
//! # Payload
//! For each ciphertext 8 bytes of meaning, then its components as in the form without. A BGV factor is a whole number from 1 to
//! `t − 1`, a CKKS scale the bits of a finite, positive `f64`. Which of them is stored, the header says and the chain's unit
//! decides: it is the plaintext modulus in BGV and 1 in CKKS.

use hush_ring::Chain;

use super::ciphertexts::{
    append_ciphertext, check_count, full_header, leveled_payload_bytes, read_ciphertext, times,
};
use super::{LeveledSetId, Payload, UncheckedLeveledSet};
use crate::header::{self, CHAIN_OVERHEAD_BYTES, ChainPlace, Header, Over};
use crate::{CodecError, RlweCiphertext};

/// The meaning of a ciphertext's phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PhaseMeaning {
    /// BGV: the message is multiplied by this, modulo the chain's unit.
    Factor(u64),
    /// CKKS: the message is multiplied by this.
    Scale(f64),
}

impl PhaseMeaning {
    fn tag(self) -> u8 {
        match self {
            Self::Factor(_) => 1,
            Self::Scale(_) => 2,
        }
    }

    fn to_bytes(self) -> [u8; MEANING_BYTES] {
        match self {
            Self::Factor(factor) => factor.to_le_bytes(),
            Self::Scale(scale) => scale.to_bits().to_le_bytes(),
        }
    }

    /// Refuses what no phase of the chain has.
    fn check(self, chain: &Chain, element: u32) -> Result<Self, CodecError> {
        let (found, expected) = (self.tag(), tag_of(chain));
        if found != expected {
            return Err(CodecError::Meaning { found, expected });
        }
        match self {
            Self::Factor(factor) if factor == 0 || factor >= chain.unit() => {
                Err(CodecError::Factor { element })
            }
            Self::Scale(scale) if !scale.is_finite() || scale <= 0.0 => Err(CodecError::Scale { element }),
            _ => Ok(self),
        }
    }

    fn from_bytes(chain: &Chain, bytes: [u8; MEANING_BYTES], element: u32) -> Result<Self, CodecError> {
        let word = u64::from_le_bytes(bytes);
        let meaning = if chain.unit() > 1 { Self::Factor(word) } else { Self::Scale(f64::from_bits(word)) };
        meaning.check(chain, element)
    }
}

/// The binary object of ciphertexts of one level and one number of components, each with the meaning of its phase.
///
/// # Errors
/// As [`super::encode_leveled`]; [`CodecError::Meaning`] for a factor on a chain of unit 1 or a scale on another;
/// [`CodecError::Factor`] or [`CodecError::Scale`] for one that no phase has.
pub fn encode_leveled_with_meaning(
    chain: &Chain,
    id: LeveledSetId,
    ciphertexts: &[(&RlweCiphertext, PhaseMeaning)],
) -> Result<Vec<u8>, CodecError> {
    let header = header_of(chain, id)?;
    let ring = chain.ring(id.level)?;
    check_count(ciphertexts.len(), id.count)?;
    let mut bytes = header.begin()?;
    for (element, (ciphertext, meaning)) in ciphertexts.iter().enumerate() {
        let meaning = meaning.check(chain, element as u32)?;
        bytes.extend_from_slice(&meaning.to_bytes());
        append_ciphertext(&mut bytes, ring, id, ciphertext, element as u32)?;
    }
    header::seal(&mut bytes);
    Ok(bytes)
}

/// Bytes of [`encode_leveled_with_meaning`]'s object.
///
/// # Errors
/// As [`super::leveled_set_bytes`].
pub fn leveled_set_with_meaning_bytes(chain: &Chain, id: LeveledSetId) -> Result<usize, CodecError> {
    Ok(payload_bytes(chain, id)? + CHAIN_OVERHEAD_BYTES)
}

impl UncheckedLeveledSet<'_> {
    /// Checks every residue, that these are the expected ciphertexts, and that each has a meaning that fits the chain's unit.
    ///
    /// # Errors
    /// As [`UncheckedLeveledSet::conform`]; [`CodecError::Meaning`] if none or another is stored; [`CodecError::Factor`] or
    /// [`CodecError::Scale`] for one that no phase has.
    pub fn conform_with_meaning(
        self,
        chain: &Chain,
        id: LeveledSetId,
    ) -> Result<Vec<(RlweCiphertext, PhaseMeaning)>, CodecError> {
        self.header.expect(&header_of(chain, id)?)?;
        let (ring, mut payload) = (chain.ring(id.level)?, Payload(self.payload));
        let ciphertext = |element| {
            let meaning = PhaseMeaning::from_bytes(chain, payload.take_chunk()?, element)?;
            Ok((read_ciphertext(&mut payload, ring, id, element)?, meaning))
        };
        (0..id.count).map(ciphertext).collect()
    }
}

/// The header of such an object.
fn header_of(chain: &Chain, id: LeveledSetId) -> Result<Header, CodecError> {
    let plain = full_header(chain, id)?;
    let over = match plain.over {
        Over::Chain(place) => Over::Chain(ChainPlace { meaning: tag_of(chain), ..place }),
        ring => ring,
    };
    Ok(Header { over, payload_bytes: payload_bytes(chain, id)? as u64, ..plain })
}

fn payload_bytes(chain: &Chain, id: LeveledSetId) -> Result<usize, CodecError> {
    let one = leveled_payload_bytes(chain, LeveledSetId { count: 1, ..id })?;
    times(id.count, one + MEANING_BYTES)
}

/// What phases of a chain mean.
fn tag_of(chain: &Chain) -> u8 {
    if chain.unit() > 1 { PhaseMeaning::Factor(1).tag() } else { PhaseMeaning::Scale(1.0).tag() }
}

const MEANING_BYTES: usize = 8;
