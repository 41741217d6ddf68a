// SPDX-License-Identifier: Apache-2.0
//! Binary forms of what lives over a modulus chain: the header and checksum that all of them have.
//!
//! # Layout
//! Little-endian, fixed width, 64 bytes; then the payload; then 16 bytes of checksum.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 6 | magic `HUSHCH` |
//! | 6 | 2 | format version: 2 if phases have a stored meaning, else 1 |
//! | 8 | 1 | kind, [`ChainObjectKind`] |
//! | 9 | 1 | flags: bit 0 for a chain that is insecure by construction, the rest 0 |
//! | 10 | 1 | level |
//! | 11 | 1 | polynomials stored per ciphertext; 1 for keys |
//! | 12 | 4 | ciphertexts or keys |
//! | 16 | 32 | chain id, [`ChainId`] |
//! | 48 | 8 | payload bytes |
//! | 56 | 1 | meaning of the phases: 0 not stored (version 1), 1 a factor, 2 a scale, before each ciphertext |
//! | 57 | 7 | reserved, 0 |
//! | 64 | … | payload |
//! | end − 16 | 16 | first half of BLAKE3 of all bytes before |
//!
//! *Invariants.* Decoding compares lengths and the checksum and allocates nothing. Conforming compares every field with what
//! the reader expects, computes the size from the reader's own chain, and only then allocates. The id names a chain; nobody
//! learns or adopts one from bytes.

mod ciphertexts;
mod keys;
mod meaning;

pub use ciphertexts::{
    LeveledSetId, UncheckedLeveledSet, UncheckedSeededSet, encode_leveled, encode_seeded, leveled_set_bytes,
    seeded_set_bytes,
};
pub use keys::{UncheckedEvaluationKeys, UncheckedPublicKey, evaluation_keys_bytes, public_key_bytes};
pub use meaning::{PhaseMeaning, encode_leveled_with_meaning, leveled_set_with_meaning_bytes};

use hush_ring::{Chain, Eval, Level, Poly, Ring};

use crate::header::{self, CHECKSUM_BYTES};
use crate::{ChainId, ChainObjectKind, CodecError, append_packed, check_residues};

/// Bytes of a chain object's header.
pub const CHAIN_HEADER_BYTES: usize = 64;
/// Bytes that a chain object takes beyond its payload.
pub const CHAIN_OVERHEAD_BYTES: usize = CHAIN_HEADER_BYTES + CHECKSUM_BYTES;

/// The fields that say which object this is.
#[derive(Clone, Copy, Debug)]
struct ChainHeader {
    kind: ChainObjectKind,
    is_insecure_toy: bool,
    level: Level,
    components: u8,
    count: u32,
    chain: ChainId,
    /// [`PhaseMeaning`]'s tag, or 0.
    meaning: u8,
}

impl ChainHeader {
    fn new(chain: &Chain, kind: ChainObjectKind, level: Level, components: u8, count: u32) -> Self {
        let is_insecure_toy = chain.params().is_insecure_toy();
        Self { kind, is_insecure_toy, level, components, count, chain: ChainId::of(chain), meaning: 0 }
    }

    /// The header, with room reserved for payload and checksum.
    fn begin(&self, payload_bytes: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(payload_bytes.saturating_add(CHAIN_OVERHEAD_BYTES));
        // What needs nothing new is written as it always was.
        let version = if self.meaning == 0 { FORMAT_VERSION } else { MEANING_VERSION };
        header::start(&mut out, MAGIC, version);
        out.extend_from_slice(&[
            self.kind.tag(),
            u8::from(self.is_insecure_toy),
            self.level.0,
            self.components,
        ]);
        out.extend_from_slice(&self.count.to_le_bytes());
        out.extend_from_slice(&self.chain.to_bytes());
        out.extend_from_slice(&(payload_bytes as u64).to_le_bytes());
        out.extend_from_slice(&[self.meaning, 0, 0, 0, 0, 0, 0, 0]);
        out
    }

    /// Parses and compares lengths and the checksum; allocates nothing.
    fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), CodecError> {
        let (version, mut fields, payload) =
            header::open::<CHAIN_HEADER_BYTES>(bytes, MAGIC, MEANING_VERSION)?;
        let [tag, flags, level, components] = fields.take();
        let kind = ChainObjectKind::from_tag(tag).ok_or(CodecError::UnknownKind { found: tag })?;
        let count = u32::from_le_bytes(fields.take());
        let chain = ChainId::from_bytes(fields.take());
        let expected = u64::from_le_bytes(fields.take());
        let [meaning] = fields.take();
        let has_meaning =
            kind == ChainObjectKind::Ciphertexts && (1..=PhaseMeaning::MAX_TAG).contains(&meaning);
        let suits_version = if version == FORMAT_VERSION { meaning == 0 } else { has_meaning };
        if flags > 1 || !suits_version || fields.take::<7>() != [0; 7] {
            return Err(CodecError::Reserved);
        }
        let found = payload.len() as u64;
        if found != expected {
            return Err(CodecError::Length { found, expected });
        }
        header::verify(bytes)?;
        let (is_insecure_toy, level) = (flags == 1, Level(level));
        Ok((Self { kind, is_insecure_toy, level, components, count, chain, meaning }, payload))
    }

    /// Compares with what the reader expects, field by field, and then the payload with the size that follows.
    fn expect(&self, expected: &Self, payload: &[u8], payload_bytes: usize) -> Result<(), CodecError> {
        let check = |same: bool, error: CodecError| if same { Ok(()) } else { Err(error) };
        let (f, e) = (self, expected);
        check(f.kind == e.kind, CodecError::ChainKind { found: f.kind, expected: e.kind })?;
        check(f.is_insecure_toy == e.is_insecure_toy, CodecError::InsecureToy)?;
        check(f.chain == e.chain, CodecError::Chain { found: f.chain, expected: e.chain })?;
        check(f.level == e.level, CodecError::Level { found: f.level, expected: e.level })?;
        let (found, wanted) = (f.components, e.components);
        check(found == wanted, CodecError::Components { found, expected: wanted })?;
        let (found, wanted) = (f.meaning, e.meaning);
        check(found == wanted, CodecError::Meaning { found, expected: wanted })?;
        let (found, wanted) = (f.count, e.count);
        check(found == wanted, CodecError::ElementCount { found, expected: wanted })?;
        let (found, wanted) = (payload.len() as u64, payload_bytes as u64);
        check(found == wanted, CodecError::Length { found, expected: wanted })
    }
}

/// Bytes of one polynomial: every limb packed at its own prime's width.
fn packed_poly_bytes(ring: &Ring) -> usize {
    ring.limbs().iter().map(|limb| limb.packed_bytes(ring.degree())).sum()
}

fn append_poly(bytes: &mut Vec<u8>, poly: &Poly<Eval>) {
    for (limb, words) in poly.limbs() {
        append_packed(bytes, limb, words);
    }
}

/// Reads a payload from its beginning.
struct Payload<'a>(&'a [u8]);

impl<'a> Payload<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], CodecError> {
        let (found, expected) = (self.0.len() as u64, bytes as u64);
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or(CodecError::Length { found, expected })?;
        self.0 = rest;
        Ok(taken)
    }

    fn take_chunk<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], CodecError> {
        let mut chunk = [0; BYTES];
        chunk.copy_from_slice(self.take(BYTES)?);
        Ok(chunk)
    }

    /// A polynomial of object `element`, every residue checked.
    fn poly(&mut self, ring: &Ring, element: u32) -> Result<Poly<Eval>, CodecError> {
        let mut poly = Poly::zero(ring);
        for (index, limb) in ring.limbs().iter().enumerate() {
            let packed = self.take(limb.packed_bytes(ring.degree()))?;
            limb.unpack(packed, poly.limb_mut(index));
            check_residues(limb, poly.limb(index), element, index)?;
        }
        Ok(poly)
    }
}

const MAGIC: &[u8; 6] = b"HUSHCH";
const FORMAT_VERSION: u16 = 1;
/// The version of objects with a stored meaning of their phases.
const MEANING_VERSION: u16 = 2;
/// Bytes of a seed.
const SEED_BYTES: usize = 32;

#[cfg(test)]
pub(crate) mod tests;
