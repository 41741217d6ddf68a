// SPDX-License-Identifier: Apache-2.0
//! Binary forms of objects over a modulus chain: ciphertexts, evaluation keys, public keys, keys to a sparse secret. The header is that of all objects
//! (`header.rs`).
//!
//! *Invariants.* Decoding compares lengths and the checksum and allocates nothing. Conforming compares every field with the
//! reader's expectation, computes the size from the reader's own chain, and only then allocates. The id names a chain; nobody
//! learns or adopts one from an object.

mod ciphertexts;
mod encapsulation_keys;
mod keys;
mod leveled_keys;
mod meaning;

pub use ciphertexts::{
    LeveledSetId, UncheckedLeveledSet, UncheckedSeededSet, encode_leveled, encode_seeded, leveled_set_bytes,
    seeded_set_bytes,
};
pub use encapsulation_keys::{UncheckedEncapsulationKeys, encapsulation_keys_bytes};
pub use keys::{UncheckedEvaluationKeys, UncheckedPublicKey, evaluation_keys_bytes, public_key_bytes};
pub use leveled_keys::{UncheckedLeveledKeys, leveled_keys_bytes};
pub use meaning::{PhaseMeaning, encode_leveled_with_meaning, leveled_set_with_meaning_bytes};

use hush_ring::{Chain, Eval, Level, Poly, Ring};

use crate::header::{ChainPlace, Header, Over, Shape};
use crate::{ChainId, CodecError, ObjectKind, append_packed, check_residues};

/// The header of an object over a chain.
fn chain_header(
    chain: &Chain,
    (kind, level): (ObjectKind, Level),
    (components, element_count): (u8, u32),
    payload_bytes: usize,
) -> Header {
    let is_insecure_toy = chain.params().is_insecure_toy();
    let place = ChainPlace { chain: ChainId::of(chain), is_insecure_toy, level, meaning: 0 };
    let shape = Shape { column: 0, chunk: 0, element_count, lanes: 1, components, rounded_bits: 0 };
    Header { kind, over: Over::Chain(place), shape, payload_bytes: payload_bytes as u64 }
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

#[cfg(test)]
pub(crate) mod tests;
