// SPDX-License-Identifier: Apache-2.0
//! Ring-LWE containers: stored bodies, ciphertexts, answers, and their binary forms.
//!
//! *Words used.* A ciphertext `(b, a)` has the **phase** `b + a·s`. A **body** is `b` alone: the mask `a` of a
//! stored ciphertext is expanded from its chunk's seed, or stored beside it where a public key encrypted. A **lane** is one of several plaintext moduli.
//!
//! ```text
//!   bytes ─ decode ─▶ Unchecked… ─ conform(what the manifest says) ─▶ Body | SumAnswer | CiphertextSet
//!                     lengths, header,       or the plan               sums of products, ciphertexts,
//!                     checksum                                         keys over a chain:
//!                                                                      every residue below its prime
//! ```
//!
//! *Invariants.* Sizes are computed from the parameter set, compared with the stored and the actual length, and
//! only then is anything allocated. Every residue of a conforming object is canonical, so evaluation cannot
//! fail or overflow on it. No object here is secret.
//!
//! *Non-goals.* No meaning of phases (`hush-schemes`), no keys (`hush-keys`), no authentication: the checksum
//! finds damage, the signed manifest finds forgery.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answer;
mod body;
mod chain_object;
mod ciphertext;
mod encapsulation;
mod error;
mod evaluate;
mod galois;
mod header;
mod identity;
mod inner;
mod key_switch;
mod keys;
mod power_keys;
mod product;
mod product_answer;
mod rounded;
mod seeded;

pub use answer::{
    CiphertextSet, CiphertextSetId, SumAnswer, UncheckedCiphertextSet, UncheckedSumAnswer, sum_answer_bytes,
};
pub use body::{
    Body, BodyId, BodyKind, BodyWriter, SumMasks, UncheckedBody, body_bytes, has_masks, masked_body_bytes,
};
pub use chain_object::{
    LeveledSetId, PhaseMeaning, UncheckedEncapsulationKeys, UncheckedEvaluationKeys, UncheckedLeveledKeys,
    UncheckedLeveledSet, UncheckedPublicKey, UncheckedSeededSet, encapsulation_keys_bytes, encode_leveled,
    encode_leveled_with_meaning, encode_seeded, evaluation_keys_bytes, leveled_keys_bytes, leveled_set_bytes,
    leveled_set_with_meaning_bytes, public_key_bytes, seeded_set_bytes,
};
pub use ciphertext::RlweCiphertext;
pub use encapsulation::EncapsulationKeys;
pub use error::{CodecError, RlweError};
pub use evaluate::{HoistedCiphertext, HoistedTerm};
pub use galois::{conjugation_element, inverse_element, rotation_element};
pub use header::{
    CHAIN_HEADER_BYTES, CHAIN_OVERHEAD_BYTES, CHECKSUM_BYTES, HEADER_BYTES, MAX_PRODUCT_COMPONENTS,
    OVERHEAD_BYTES,
};
pub use identity::{ChainId, ObjectKind};
pub use inner::{InnerMemory, InnerProducts, InnerTerm};
pub use key_switch::{Decomposed, ExtendedPair, KeySwitchKey};
pub use keys::{EvaluationKeys, PublicKey};
pub use power_keys::PowerKeys;
pub use product::{BlockMemory, Factor, Operands, ProductSum, ProductSums, ProductTask, StoredElement};
pub use product_answer::{ProductForm, UncheckedProduct, decode_product, encode_product, product_bytes};
pub use rounded::{ObjectRounding, PlaintextModulus};
pub use seeded::SeededCiphertext;

use hush_params::ParamSet;
use hush_ring::{Ring, RingLimb};

/// The parameter set of a ring that may be written down; toy rings may not.
fn set_of(ring: &Ring) -> Result<&'static ParamSet, CodecError> {
    ring.set().ok_or(CodecError::UnknownParams { found: 0 })
}

fn check_residues(limb: &RingLimb, words: &[u64], element: u32, index: usize) -> Result<(), CodecError> {
    if limb.all_below(words) {
        return Ok(());
    }
    Err(CodecError::Residue { element, limb: index as u32 })
}

fn append_packed(bytes: &mut Vec<u8>, limb: &RingLimb, words: &[u64]) {
    let start = bytes.len();
    bytes.resize(start + limb.packed_bytes(words.len()), 0);
    limb.pack(words, &mut bytes[start..]);
}

#[cfg(test)]
mod tests;
