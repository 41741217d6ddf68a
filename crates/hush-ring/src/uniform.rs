// SPDX-License-Identifier: Apache-2.0
//! Public uniform polynomials from 32-byte seeds.
//!
//! # Expansion
//! For each limb, BLAKE3 in key-derivation mode hashes the seed and a label (what the polynomial is for, over
//! which parameters, where it stands) to an AES-128 key and a nonce; AES in counter mode gives the stream; each
//! residue takes the next little-endian word, masked to the bit length of the prime, and is drawn again if it
//! is not below the prime. The rules are part of the file format: a test pins the first residues.
//!
//! A public stream and a secret one never meet: this module takes nothing from [`crate::SecretRng`], and seeds
//! come straight from the operating system.

use std::sync::LazyLock;

use hush_arith::Modulus;
use hush_kernels::{AesCtr128, Cpu};

use crate::{Eval, Poly, RandomnessError, Ring, Words, os_random};

/// A public seed. One chunk of a table has one; no two chunks share it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct UniformSeed([u8; 32]);

/// The kind of object that an expanded polynomial masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MaskPurpose {
    /// A ciphertext outside tables: a fresh seed each.
    Ciphertext,
    /// One digit of a key-switching key.
    KeySwitch,
    /// A public key.
    PublicKey,
    /// One ciphertext of a slot column: used by one secret, once.
    Slot,
    /// The mask that all `sum` and `approx_sum` columns of a chunk share, each under a secret of its own.
    Sum,
}

/// The place of a polynomial. Distinct labels give independent polynomials from one seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExpandLabel {
    /// The kind of object that it masks.
    pub purpose: MaskPurpose,
    /// Encoded column; [`ExpandLabel::SHARED`] for the shared mask.
    pub column: u32,
    /// Ring element within the chunk.
    pub ring_index: u32,
    /// Plaintext modulus, by its place in the column's list.
    pub lane: u8,
}

impl ExpandLabel {
    /// The column id that stands for all sum columns of a chunk.
    pub const SHARED: u32 = u32::MAX;

    /// The label of the shared mask of ring element `ring_index`.
    pub fn sum(ring_index: u32) -> Self {
        Self { purpose: MaskPurpose::Sum, column: Self::SHARED, ring_index, lane: 0 }
    }

    /// The label of a ciphertext with a seed of its own.
    pub fn ciphertext() -> Self {
        Self { purpose: MaskPurpose::Ciphertext, column: 0, ring_index: 0, lane: 0 }
    }

    /// The label of digit `digit` of the key for Galois element `element`; 0 for relinearisation.
    pub fn key_switch(element: u32, digit: u32) -> Self {
        Self { purpose: MaskPurpose::KeySwitch, column: element, ring_index: digit, lane: 0 }
    }

    /// The label of a public key.
    pub fn public_key() -> Self {
        Self { purpose: MaskPurpose::PublicKey, column: 0, ring_index: 0, lane: 0 }
    }

    /// The label of one slot ciphertext.
    pub fn slot(column: u32, ring_index: u32, lane: u8) -> Self {
        Self { purpose: MaskPurpose::Slot, column, ring_index, lane }
    }
}

impl UniformSeed {
    /// A fresh seed of the operating system's entropy.
    ///
    /// # Errors
    /// [`RandomnessError`] if there is none.
    pub fn generate() -> Result<Self, RandomnessError> {
        let mut seed = [0; 32];
        os_random(&mut seed)?;
        Ok(Self(seed))
    }

    /// A seed read from a table's chunk.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes as a table stores them.
    pub fn to_bytes(self) -> [u8; 32] {
        self.0
    }

    /// The uniform polynomial that belongs to `label`.
    ///
    /// # Cost
    /// `limbs·N` residues of AES-CTR, no NTT: the residues are sampled in the evaluation domain.
    pub fn expand(&self, ring: &Ring, label: ExpandLabel) -> Poly<Eval> {
        let mut words = Words::recycled(ring.poly_words());
        self.expand_into(ring, label, &mut words);
        Poly::from_canonical(ring, words)
    }

    /// [`UniformSeed::expand`] into `words`, limb after limb, without allocation.
    ///
    /// # Panics
    /// If `words` does not hold exactly one polynomial.
    pub fn expand_into(&self, ring: &Ring, label: ExpandLabel, words: &mut [u64]) {
        assert_eq!(words.len(), ring.poly_words(), "one polynomial");
        for (index, out) in words.chunks_exact_mut(ring.degree()).enumerate() {
            self.expand_limb(ring, label, index, out);
        }
    }

    /// Limb `index` of [`UniformSeed::expand`]; `out` is overwritten with canonical residues.
    ///
    /// # Panics
    /// If the ring has no such limb.
    pub fn expand_limb(&self, ring: &Ring, label: ExpandLabel, index: usize, out: &mut [u64]) {
        let (key, nonce) = self.stream(ring.param_code(), label, index as u32);
        ring.limbs()[index].fill_uniform(key, nonce, out);
    }

    /// Uniform words of 32 bits that belong to `label`: the lower half of each word of the stream, then the upper one.
    ///
    /// # Cost
    /// A block of AES-CTR for four words.
    pub fn expand_words(&self, cpu: Cpu, label: ExpandLabel, out: &mut [u32]) {
        let (key, nonce) = self.stream(0, label, WORDS_OF_32);
        let mut words = Words::recycled(out.len().div_ceil(2));
        AesCtr128::new(cpu, &key).fill_words(nonce, 0, &mut words);
        for (halves, word) in out.chunks_mut(2).zip(words.iter()) {
            halves.iter_mut().zip([*word as u32, (word >> 32) as u32]).for_each(|(out, half)| *out = half);
        }
    }

    /// The stream of limb `index` of [`UniformSeed::expand`], for whoever needs it in parts.
    ///
    /// # Panics
    /// If the ring has no such limb.
    pub fn limb_stream(&self, ring: &Ring, label: ExpandLabel, index: usize) -> LimbStream {
        let (key, nonce) = self.stream(ring.param_code(), label, index as u32);
        let limb = &ring.limbs()[index];
        LimbStream { stream: AesCtr128::new(limb.cpu(), &key), nonce, modulus: limb.modulus() }
    }

    /// Adds limb `index` of [`UniformSeed::expand`] to accumulators without reduction; see [`crate::LazySum`].
    ///
    /// # Panics
    /// If the ring has no such limb.
    pub fn accumulate_limb(&self, ring: &Ring, label: ExpandLabel, index: usize, sums: &mut [u64]) {
        let (key, nonce) = self.stream(ring.param_code(), label, index as u32);
        ring.limbs()[index].accumulate_uniform(key, nonce, sums);
    }

    /// Key and nonce of a limb's stream: 192 derived bits, so that two of 2^40 streams agree with chance 2^-113.
    fn stream(&self, param_code: u16, label: ExpandLabel, limb: u32) -> ([u8; 16], u64) {
        let purpose: u8 = match label.purpose {
            MaskPurpose::Sum => 1,
            MaskPurpose::Slot => 2,
            MaskPurpose::KeySwitch => 3,
            MaskPurpose::PublicKey => 4,
            MaskPurpose::Ciphertext => 5,
        };
        let mut material = [0_u8; 48];
        let (seed, rest) = material.split_at_mut(32);
        seed.copy_from_slice(&self.0);
        rest[0..2].copy_from_slice(&param_code.to_le_bytes());
        rest[2] = purpose;
        rest[3] = label.lane;
        rest[4..8].copy_from_slice(&label.column.to_le_bytes());
        rest[8..12].copy_from_slice(&label.ring_index.to_le_bytes());
        rest[12..16].copy_from_slice(&limb.to_le_bytes());
        let derived = *DERIVATION.clone().update(&material).finalize().as_bytes();
        let (mut key, mut nonce) = ([0; 16], [0; 8]);
        key.copy_from_slice(&derived[..16]);
        nonce.copy_from_slice(&derived[16..24]);
        (key, u64::from_le_bytes(nonce))
    }
}

/// One limb of a uniform polynomial, of which any part can be expanded.
#[derive(Clone, Debug)]
pub struct LimbStream {
    stream: AesCtr128,
    nonce: u64,
    modulus: Modulus,
}

impl LimbStream {
    /// The residues from place `2·half` on; `out` is overwritten with canonical ones.
    pub fn expand_into(&self, half: u64, out: &mut [u64]) {
        self.stream.fill_uniform_from(self.nonce, self.modulus, half, out);
    }
}

/// `derive_key` with the context hashed once: masks are expanded by the thousand.
static DERIVATION: LazyLock<blake3::Hasher> = LazyLock::new(|| blake3::Hasher::new_derive_key(CONTEXT));

impl std::fmt::Debug for UniformSeed {
    /// Seeds are public, but long; the first four bytes tell them apart in a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b, c, d, ..] = self.0;
        write!(f, "UniformSeed({a:02x}{b:02x}{c:02x}{d:02x}…)")
    }
}

/// The limb that stands for words of 32 bits. No ring has so many primes.
const WORDS_OF_32: u32 = u32::MAX;
const CONTEXT: &str = "hushtable v1 uniform polynomial AES-128-CTR";
