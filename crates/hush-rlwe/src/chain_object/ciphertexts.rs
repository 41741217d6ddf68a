// SPDX-License-Identifier: Apache-2.0
//! Ciphertexts over a chain: fresh ones with a seed in place of the mask, and any others in full.
//!
//! # Payload
//! *Seeded*: for each ciphertext its seed (32 bytes) and its body. *Full*: for each ciphertext its components `c_0, c_1, …`.
//! A polynomial is packed limb after limb in the order of the level's primes, each limb at the width of its own prime.

use hush_params::size::SEED_BYTES;
use hush_ring::{Chain, Level, Ring, UniformSeed};

use super::{Payload, append_poly, chain_header, packed_poly_bytes};
use crate::header::{self, CHAIN_OVERHEAD_BYTES, Header};
use crate::{CodecError, ObjectKind, RlweCiphertext, SeededCiphertext};

/// Which full ciphertexts are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeveledSetId {
    /// Level of all of them.
    pub level: Level,
    /// Number of ciphertexts.
    pub count: u32,
    /// Components of each: 2, or 3 where products are not relinearised.
    pub components: u8,
}

/// The binary object of ciphertexts of one level and one number of components.
///
/// The object does not hold the meaning of a ciphertext's phase (the factor of BGV, the scale of CKKS), because it follows from the
/// plan. Otherwise [`super::encode_leveled_with_meaning`] keeps it.
///
/// # Errors
/// [`CodecError::Object`] if a ciphertext is not at the level; [`CodecError::ElementCount`] or [`CodecError::Components`] if `id`
/// does not describe them; [`CodecError::Transparent`] for a ciphertext without a mask, which anyone could read.
pub fn encode_leveled(
    chain: &Chain,
    id: LeveledSetId,
    ciphertexts: &[RlweCiphertext],
) -> Result<Vec<u8>, CodecError> {
    let header = full_header(chain, id)?;
    let ring = chain.ring(id.level)?;
    check_count(ciphertexts.len(), id.count)?;
    let mut bytes = header.begin()?;
    for (element, ciphertext) in ciphertexts.iter().enumerate() {
        append_ciphertext(&mut bytes, ring, id, ciphertext, element as u32)?;
    }
    header::seal(&mut bytes);
    Ok(bytes)
}

/// The components of one ciphertext of a set.
pub(super) fn append_ciphertext(
    bytes: &mut Vec<u8>,
    ring: &Ring,
    id: LeveledSetId,
    ciphertext: &RlweCiphertext,
    element: u32,
) -> Result<(), CodecError> {
    ring.check_same(ciphertext.ring())?;
    let found = ciphertext.components().len() as u8;
    if found != id.components {
        return Err(CodecError::Components { found, expected: id.components });
    }
    refuse_transparent(ciphertext, element)?;
    ciphertext.components().iter().for_each(|component| append_poly(bytes, component));
    Ok(())
}

/// The other direction.
pub(super) fn read_ciphertext(
    payload: &mut Payload<'_>,
    ring: &Ring,
    id: LeveledSetId,
    element: u32,
) -> Result<RlweCiphertext, CodecError> {
    let components = (0..id.components).map(|_| payload.poly(ring, element));
    let ciphertext = RlweCiphertext::new(components.collect::<Result<_, _>>()?)?;
    refuse_transparent(&ciphertext, element)?;
    Ok(ciphertext)
}

/// Bytes of [`encode_leveled`]'s object.
///
/// # Errors
/// [`CodecError::Components`] unless there are 2 or 3; [`CodecError::Object`] if the chain has no such level;
/// [`CodecError::Length`] beyond what a computer can address.
pub fn leveled_set_bytes(chain: &Chain, id: LeveledSetId) -> Result<usize, CodecError> {
    Ok(leveled_payload_bytes(chain, id)? + CHAIN_OVERHEAD_BYTES)
}

/// Bytes that decoded as full ciphertexts; not yet compared with the request.
#[derive(Clone, Copy, Debug)]
pub struct UncheckedLeveledSet<'a> {
    pub(super) header: Header,
    pub(super) payload: &'a [u8],
}

impl<'a> UncheckedLeveledSet<'a> {
    /// Checks lengths, header and checksum; allocates nothing.
    ///
    /// # Errors
    /// A [`CodecError`] that names the first thing wrong.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, CodecError> {
        let (header, payload) = Header::decode(bytes)?;
        Ok(Self { header, payload })
    }

    /// Checks every residue, and that these are the expected ciphertexts.
    ///
    /// # Errors
    /// A [`CodecError`] that names the difference; [`CodecError::Transparent`].
    pub fn conform(self, chain: &Chain, id: LeveledSetId) -> Result<Vec<RlweCiphertext>, CodecError> {
        self.header.expect(&full_header(chain, id)?)?;
        let (ring, mut payload) = (chain.ring(id.level)?, Payload(self.payload));
        (0..id.count).map(|element| read_ciphertext(&mut payload, ring, id, element)).collect()
    }
}

/// The binary object of fresh ciphertexts of one level: half the size of the full form.
///
/// # Errors
/// [`CodecError::Object`] if a ciphertext is not at the level; [`CodecError::Length`] for more than `u32::MAX` of them.
pub fn encode_seeded(
    chain: &Chain,
    level: Level,
    ciphertexts: &[SeededCiphertext],
) -> Result<Vec<u8>, CodecError> {
    let (found, expected) = (ciphertexts.len() as u64, u64::from(u32::MAX));
    let count = u32::try_from(ciphertexts.len()).map_err(|_| CodecError::Length { found, expected })?;
    let ring = chain.ring(level)?;
    let mut bytes = seeded_header(chain, level, count)?.begin()?;
    for ciphertext in ciphertexts {
        ring.check_same(ciphertext.body().ring())?;
        bytes.extend_from_slice(&ciphertext.seed().to_bytes());
        append_poly(&mut bytes, ciphertext.body());
    }
    header::seal(&mut bytes);
    Ok(bytes)
}

/// Bytes of [`encode_seeded`]'s object.
///
/// # Errors
/// As [`leveled_set_bytes`].
pub fn seeded_set_bytes(chain: &Chain, level: Level, count: u32) -> Result<usize, CodecError> {
    Ok(seeded_payload_bytes(chain, level, count)? + CHAIN_OVERHEAD_BYTES)
}

/// Bytes that decoded as fresh ciphertexts; not yet compared with the request.
#[derive(Clone, Copy, Debug)]
pub struct UncheckedSeededSet<'a> {
    header: Header,
    payload: &'a [u8],
}

impl<'a> UncheckedSeededSet<'a> {
    /// As [`UncheckedLeveledSet::decode`].
    ///
    /// # Errors
    /// As there.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, CodecError> {
        let (header, payload) = Header::decode(bytes)?;
        Ok(Self { header, payload })
    }

    /// Checks every residue, and that these are `count` fresh ciphertexts of a level.
    ///
    /// # Errors
    /// A [`CodecError`] that names the difference.
    pub fn conform(
        self,
        chain: &Chain,
        level: Level,
        count: u32,
    ) -> Result<Vec<SeededCiphertext>, CodecError> {
        self.header.expect(&seeded_header(chain, level, count)?)?;
        let (ring, mut payload) = (chain.ring(level)?, Payload(self.payload));
        let ciphertext = |element| {
            let seed = UniformSeed::from_bytes(payload.take_chunk::<SEED_BYTES>()?);
            Ok(SeededCiphertext::new(seed, payload.poly(ring, element)?))
        };
        (0..count).map(ciphertext).collect()
    }
}

pub(super) fn full_header(chain: &Chain, id: LeveledSetId) -> Result<Header, CodecError> {
    let payload_bytes = leveled_payload_bytes(chain, id)?;
    let kind = (ObjectKind::LeveledCiphertexts, id.level);
    Ok(chain_header(chain, kind, (id.components, id.count), payload_bytes))
}

fn seeded_header(chain: &Chain, level: Level, count: u32) -> Result<Header, CodecError> {
    let payload_bytes = seeded_payload_bytes(chain, level, count)?;
    Ok(chain_header(chain, (ObjectKind::SeededCiphertexts, level), (1, count), payload_bytes))
}

pub(super) fn leveled_payload_bytes(chain: &Chain, id: LeveledSetId) -> Result<usize, CodecError> {
    if !(2..=3).contains(&id.components) {
        return Err(CodecError::Components { found: id.components, expected: 2 });
    }
    times(id.count, usize::from(id.components) * packed_poly_bytes(chain.ring(id.level)?))
}

fn seeded_payload_bytes(chain: &Chain, level: Level, count: u32) -> Result<usize, CodecError> {
    times(count, SEED_BYTES + packed_poly_bytes(chain.ring(level)?))
}

/// `count·bytes`, if that leaves room for header and checksum.
pub(super) fn times(count: u32, bytes: usize) -> Result<usize, CodecError> {
    payload_of(u128::from(count) * bytes as u128)
}

/// A payload of so many bytes, if that leaves room for header and checksum.
pub(super) fn payload_of(total: u128) -> Result<usize, CodecError> {
    let limit = (isize::MAX as u64).saturating_sub(CHAIN_OVERHEAD_BYTES as u64);
    let too_long = CodecError::Length { found: u64::try_from(total).unwrap_or(u64::MAX), expected: limit };
    usize::try_from(total).ok().filter(|&total| total as u64 <= limit).ok_or(too_long)
}

pub(super) fn check_count(found: usize, expected: u32) -> Result<(), CodecError> {
    if found == expected as usize {
        return Ok(());
    }
    Err(CodecError::ElementCount { found: u32::try_from(found).unwrap_or(u32::MAX), expected })
}

/// A ciphertext with zero masks carries its message in the clear; one prime is enough for a small message.
fn refuse_transparent(ciphertext: &RlweCiphertext, element: u32) -> Result<(), CodecError> {
    let masks = ciphertext.components().get(1..).unwrap_or(&[]);
    let open = |limb: usize| masks.iter().all(|mask| mask.limb(limb).iter().all(|&word| word == 0));
    if (0..ciphertext.ring().limb_count()).any(open) {
        return Err(CodecError::Transparent { element });
    }
    Ok(())
}
