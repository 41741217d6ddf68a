// SPDX-License-Identifier: Apache-2.0
//! Errors of the lattice containers. None of them carries a residue.

use hush_ring::Level;

use crate::identity::{ChainId, ObjectKind};

/// Why bytes are not the object that they should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The checksum at the end does not match: the bytes were damaged.
    #[error("checksum mismatch: the object is damaged")]
    Checksum,
    /// An object over another modulus chain, or with errors of another unit.
    #[error("object of modulus chain {found}, expected {expected}")]
    Chain {
        /// Id found.
        found: ChainId,
        /// Id expected.
        expected: ChainId,
    },
    /// Chunk index (or group index, in an answer) other than expected.
    #[error("object of chunk {found}, expected chunk {expected}")]
    Chunk {
        /// Index found.
        found: u32,
        /// Index expected.
        expected: u32,
    },
    /// Column id other than expected.
    #[error("object of encoded column {found}, expected {expected}")]
    Column {
        /// Id found.
        found: u32,
        /// Id expected.
        expected: u32,
    },
    /// Number of polynomials of a ciphertext.
    #[error("{found} ciphertext components, expected {expected}")]
    Components {
        /// Components found.
        found: u8,
        /// Components expected.
        expected: u8,
    },
    /// An object over a chain, in the form of version 0.1.
    #[error(
        "an object over a modulus chain as Hushtable 0.1 wrote it, which is not read; encrypt or make the keys again, or read it with 0.1"
    )]
    EarlierForm,
    /// Number of ring elements (or bodies, in an answer).
    #[error("{found} ring elements, expected {expected}")]
    ElementCount {
        /// Count found.
        found: u32,
        /// Count expected.
        expected: u32,
    },
    /// A factor of BGV that no ciphertext has.
    #[error("ciphertext {element}: its factor is 0 or not below the plaintext modulus")]
    Factor {
        /// The ciphertext, from 0.
        element: u32,
    },
    /// A key for another Galois element; 0 is relinearisation.
    #[error("key for Galois element {found}, expected {expected}")]
    GaloisElement {
        /// Element found.
        found: u32,
        /// Element expected.
        expected: u32,
    },
    /// An object of a chain that is insecure by construction where a secure one is expected, or the other way round.
    #[error("object of an insecure toy chain beside a secure one")]
    InsecureToy,
    /// Another kind of object.
    #[error("object of kind {found:?}, expected {expected:?}")]
    Kind {
        /// Kind found.
        found: ObjectKind,
        /// Kind expected.
        expected: ObjectKind,
    },
    /// A key that serves other levels than expected.
    #[error("the key for Galois element {element} serves level {found} and below, expected level {expected}")]
    KeyLevel {
        /// The element; 0 for relinearisation.
        element: u32,
        /// The highest level found.
        found: Level,
        /// The highest level expected.
        expected: Level,
    },
    /// Number of plaintext moduli.
    #[error("{found} lanes, expected {expected}")]
    Lanes {
        /// Lanes found.
        found: u8,
        /// Lanes expected.
        expected: u8,
    },
    /// The byte length is not the one that the header and the parameter set imply.
    #[error("{found} bytes, expected {expected}")]
    Length {
        /// Bytes found.
        found: u64,
        /// Bytes expected.
        expected: u64,
    },
    /// A level other than expected.
    #[error("object at level {found}, expected level {expected}")]
    Level {
        /// Level found.
        found: Level,
        /// Level expected.
        expected: Level,
    },
    /// Does not begin like one of our objects.
    #[error("not a Hushtable ciphertext: wrong magic bytes")]
    Magic,
    /// Bodies of one chunk with masks of their own, or some with masks and some without.
    #[error("the columns of a chunk do not share their masks")]
    Masks,
    /// The meaning of phases that is stored: 0 none, 1 a factor (BGV), 2 a scale (CKKS).
    #[error("ciphertexts with stored meaning {found}, expected {expected} (0 none, 1 factor, 2 scale)")]
    Meaning {
        /// Tag found.
        found: u8,
        /// Tag expected.
        expected: u8,
    },
    /// The parts of the object do not fit together or their chain.
    #[error(transparent)]
    Object(#[from] RlweError),
    /// A parameter set other than expected.
    #[error("parameter set {found}, expected {expected}")]
    Params {
        /// Code found.
        found: u16,
        /// Code expected.
        expected: u16,
    },
    /// A reserved byte or flag is set.
    #[error("reserved bits are set; this object may come from a newer version")]
    Reserved,
    /// A residue is not below its prime.
    #[error("a residue of ring element {element}, limb {limb} is not below its prime")]
    Residue {
        /// Ring element, from 0.
        element: u32,
        /// Limb, from 0.
        limb: u32,
    },
    /// Coefficients of another width.
    #[error("coefficients rounded to {found} bits, expected {expected} (0: residues)")]
    RoundedBits {
        /// Bits found.
        found: u8,
        /// Bits expected.
        expected: u8,
    },
    /// A scale of CKKS that is no scale.
    #[error("ciphertext {element}: its scale is not finite and positive")]
    Scale {
        /// The ciphertext, from 0.
        element: u32,
    },
    /// A ciphertext without a mask, which anyone could read.
    #[error("ciphertext {element} has no mask, so that its message lies open")]
    Transparent {
        /// The ciphertext, from 0.
        element: u32,
    },
    /// No such kind of object.
    #[error("unknown object kind {found}")]
    UnknownKind {
        /// Tag found.
        found: u8,
    },
    /// No such parameter set in this version.
    #[error("unknown parameter set {found}; this object may come from a newer version")]
    UnknownParams {
        /// Code found; 0 is a toy ring, which has no binary form.
        found: u16,
    },
    /// A format version that this program does not read.
    #[error("format version {found}, expected {expected}")]
    Version {
        /// Version found.
        found: u16,
        /// Version understood.
        expected: u16,
    },
}

impl From<hush_ring::RingError> for CodecError {
    fn from(error: hush_ring::RingError) -> Self {
        Self::Object(error.into())
    }
}

/// Why an operation on ciphertexts was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RlweError {
    /// The operands or keys belong to different modulus chains.
    #[error(
        "operands or keys of different modulus chains; keys serve the chain that they were made for alone"
    )]
    ChainMismatch,
    /// A product would have more than three components.
    #[error("a product of ciphertexts with {left} and {right} components is not supported: only 2 times 2")]
    Degree {
        /// Components on the left.
        left: usize,
        /// Components on the right.
        right: usize,
    },
    /// A product of stored ciphertexts has too many factors.
    #[error(
        "a product of {found} ciphertexts, of which the most are {most}; take fewer conditions, or wider digits"
    )]
    ProductDegree {
        /// Factors found.
        found: usize,
        /// Most factors.
        most: usize,
    },
    /// A product names a body or a factor that is not there.
    #[error("a product of operand {found}, of which there are {bodies}")]
    NoSuchOperand {
        /// The number found.
        found: usize,
        /// How many there are.
        bodies: usize,
    },
    /// A ciphertext has 1 to 3 components.
    #[error("{found} ciphertext components, expected 1 to 3")]
    ComponentCount {
        /// Components found.
        found: usize,
    },
    /// There is no level below: the budget is used up.
    #[error("the ciphertext is at level 0, and no division is left; take a chain with more levels")]
    LastLevel,
    /// A key that serves lower levels alone.
    #[error(
        "the key for Galois element {element} serves level {expected} and below, and the ciphertext is at level {found}; bring it down first, or make the key for higher levels"
    )]
    KeyLevel {
        /// The element; 0 for relinearisation.
        element: u32,
        /// The ciphertext's level.
        found: hush_ring::Level,
        /// The highest level of the key.
        expected: hush_ring::Level,
    },
    /// A key that serves lower levels alone, where one for all levels is asked for.
    #[error(
        "the key for Galois element {element} serves level {found} and below, and this form is for keys of all levels; write it with `encode_up_to`"
    )]
    PartialKey {
        /// The element; 0 for relinearisation.
        element: u32,
        /// The highest level of the key.
        found: hush_ring::Level,
    },
    /// No sparse secret can be had on this chain, and so no keys to one.
    #[error("no keys to a sparse secret on this chain: {reason}")]
    NoSparseChain {
        /// What [`hush_params::ChainParams::sparse_chain`] says.
        reason: String,
    },
    /// A term of a sum that names no automorphism.
    #[error("a term of automorphism {found}, of {count}")]
    Term {
        /// Its place, from 0.
        found: usize,
        /// How many there are.
        count: usize,
    },
    /// The operands are at different levels.
    #[error("operands at levels {left} and {right}; bring them to the lower one first")]
    LevelMismatch {
        /// Level on the left.
        left: hush_ring::Level,
        /// Level on the right.
        right: hush_ring::Level,
    },
    /// The evaluation keys lack one that this operation needs.
    #[error(
        "no evaluation key for Galois element {element} (0 is relinearisation); make the keys for the plan that runs"
    )]
    MissingKey {
        /// The Galois element; 0 for relinearisation.
        element: usize,
    },
    /// Key switching needs special primes.
    #[error(
        "the modulus chain has no special primes, so that nothing can be key-switched; choose one with some"
    )]
    NoSpecialPrimes,
    /// The operation is for ciphertexts of another number of components.
    #[error("a ciphertext of {found} components, expected {expected}")]
    Components {
        /// Components found.
        found: usize,
        /// Components expected.
        expected: usize,
    },
    /// The operands belong to different rings.
    #[error(transparent)]
    Ring(#[from] hush_ring::RingError),
}
