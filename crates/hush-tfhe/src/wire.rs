// SPDX-License-Identifier: Apache-2.0
//! The objects that owner and server exchange.
//!
//! # Layout
//! Little-endian: 24 bytes of header, the payload, 16 bytes of checksum (BLAKE3, of all before).
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 6 | magic `HUSHTF` |
//! | 6 | 2 | format version, 1 |
//! | 8 | 1 | kind: 1 keys, 2 fresh ciphertexts, 3 answers, 4 keys of circuit bootstrapping, 5 keys from slots |
//! | 9 | 1 | reserved, 0 |
//! | 10 | 2 | code of the parameter set |
//! | 12 | 4 | ciphertexts; 0 in keys; in keys from slots the powers of the secret times 256, and log2 of the degree |
//! | 16 | 8 | payload bytes |
//!
//! | kind | payload |
//! |---|---|
//! | keys | seed of the rotation key (32), seed of the switching key (32), bodies of the rotation key in packed residues, bodies of the switching key in words of 4 bytes |
//! | fresh ciphertexts | seed (32), bodies in words of 8 bytes |
//! | answers | small ciphertexts in words of 4 bytes |
//! | keys of circuit bootstrapping | seed (32), bodies in packed residues |
//! | keys from slots | seed (32), bodies in packed residues |
//!
//! *Invariants.* Sizes follow from the set and the count, and are compared before anything is allocated. The checksum finds damage; it does not authenticate.

use hush_ring::{ExpandLabel, MaskPurpose, UniformSeed};

use crate::{BridgeKey, CircuitKey, Context, Lwe, RotationKey, ServerKey, SmallLwe, SwitchKey, TfheError};

const MAGIC: &[u8; 6] = b"HUSHTF";
const VERSION: u16 = 1;
const HEADER_BYTES: usize = 24;
const CHECKSUM_BYTES: usize = 16;
const SEED_BYTES: usize = 32;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Keys = 1,
    Fresh = 2,
    Answers = 3,
    Circuit = 4,
    Bridge = 5,
}

/// What the owner makes of the keys of a server: seeds, and the bodies that they do not give.
pub struct KeyParts {
    /// Of the coefficients of the rotation key.
    pub rotation_seed: UniformSeed,
    /// Bodies in the evaluation domain, one after another.
    pub rotation_bodies: Vec<u64>,
    /// Of the coefficients of the switching key.
    pub switch_seed: UniformSeed,
    /// Bodies, a word each.
    pub switch_bodies: Vec<u32>,
}

impl KeyParts {
    /// The keys as they travel: 23 MB for integers, 7 MB for gates, up to 79 MB for messages of 8 bits.
    ///
    /// # Errors
    /// [`TfheError::Count`] if parts are not of the set's sizes.
    pub fn encode(&self, context: &Context) -> Result<Vec<u8>, TfheError> {
        let degree = context.set().degree();
        let residues = (RotationKey::row_count(context) * degree) as u64;
        expect("residues of a rotation key", self.rotation_bodies.len() as u64, residues)?;
        let rows = SwitchKey::row_count(context) as u64;
        expect("rows of a switching key", self.switch_bodies.len() as u64, rows)?;
        let mut payload = Vec::with_capacity(Kind::Keys.payload_bytes(context, 0) as usize);
        payload.extend(self.rotation_seed.to_bytes());
        payload.extend(self.switch_seed.to_bytes());
        pack(context, &self.rotation_bodies, &mut payload);
        payload.extend(self.switch_bodies.iter().flat_map(|word| word.to_le_bytes()));
        Ok(object(context, Kind::Keys, 0, &payload))
    }

    /// Reads the keys of a server and expands them.
    ///
    /// # Errors
    /// A [`TfheError`] for bytes that are no keys of the set.
    pub fn decode(context: &Context, bytes: &[u8]) -> Result<ServerKey, TfheError> {
        let (count, payload) = opened(context, Kind::Keys, bytes)?;
        expect("ciphertexts", count.into(), 0)?;
        let (seeds, bodies) = payload.split_at(2 * SEED_BYTES);
        let (first, second) = seeds.split_at(SEED_BYTES);
        let packed = context.limb().packed_bytes(context.set().degree());
        let (rotation, switch) = bodies.split_at(RotationKey::row_count(context) * packed);
        let rotation = RotationKey::expand(context, seed(first), &unpacked(context, rotation))?;
        let switch = SwitchKey::expand(context, seed(second), &words_of(switch))?;
        ServerKey::new(rotation, switch)
    }
}

/// What the owner makes of the keys of circuit bootstrapping: a seed, and the bodies that it does not give.
pub struct CircuitParts {
    /// Of the masks.
    pub seed: UniformSeed,
    /// Bodies in the evaluation domain, one after another.
    pub bodies: Vec<u64>,
}

impl CircuitParts {
    /// The keys as they travel: 1.2 MB.
    ///
    /// # Errors
    /// [`TfheError::NoCircuit`]; [`TfheError::Count`] if bodies are not of the set's size.
    pub fn encode(&self, context: &Context) -> Result<Vec<u8>, TfheError> {
        let residues = (CircuitKey::row_count(context)? * context.set().degree()) as u64;
        expect("residues of a circuit key", self.bodies.len() as u64, residues)?;
        let mut payload = self.seed.to_bytes().to_vec();
        pack(context, &self.bodies, &mut payload);
        Ok(object(context, Kind::Circuit, 0, &payload))
    }

    /// Reads the keys and expands them.
    ///
    /// # Errors
    /// A [`TfheError`] for bytes that are no such keys of the set.
    pub fn decode(context: &Context, bytes: &[u8]) -> Result<CircuitKey, TfheError> {
        CircuitKey::row_count(context)?;
        let (count, payload) = opened(context, Kind::Circuit, bytes)?;
        expect("ciphertexts", count.into(), 0)?;
        let (first, bodies) = payload.split_at(SEED_BYTES);
        CircuitKey::expand(context, seed(first), &unpacked(context, bodies))
    }
}

/// What the owner makes of the key from the secret of a ring: a seed, and the bodies that it does not give.
pub struct BridgeParts {
    /// Of the masks.
    pub seed: UniformSeed,
    /// Bodies in the evaluation domain, one after another.
    pub bodies: Vec<u64>,
    /// The degree of the ring that it is from.
    pub degree: usize,
    /// Powers of the ring's secret.
    pub powers: u32,
}

impl BridgeParts {
    /// The key as it travels: 0.6 MB for a ring of degree 16384 and one power.
    ///
    /// # Errors
    /// [`TfheError::Count`] if bodies are not of the key's size.
    pub fn encode(&self, context: &Context) -> Result<Vec<u8>, TfheError> {
        let residues = (BridgeKey::row_count(self.powers) * self.degree) as u64;
        expect("residues of a key from slots", self.bodies.len() as u64, residues)?;
        let mut payload = self.seed.to_bytes().to_vec();
        pack(context, &self.bodies, &mut payload);
        Ok(object(context, Kind::Bridge, bridge_shape(self.degree, self.powers), &payload))
    }

    /// Reads the key from a ring of this degree, with so many powers of its secret, and expands it.
    ///
    /// # Errors
    /// A [`TfheError`] for bytes that are no such key.
    pub fn decode(
        context: &Context,
        (degree, powers): (usize, u32),
        bytes: &[u8],
    ) -> Result<BridgeKey, TfheError> {
        let (found, payload) = opened(context, Kind::Bridge, bytes)?;
        expect("as the shape of a key from slots", found.into(), bridge_shape(degree, powers).into())?;
        let (first, bodies) = payload.split_at(SEED_BYTES);
        BridgeKey::expand(context, (degree, powers), seed(first), &unpacked(context, bodies))
    }
}

fn bridge_shape(degree: usize, powers: u32) -> u32 {
    powers << 8 | degree.trailing_zeros()
}

/// Fresh ciphertexts under one seed.
pub struct Fresh {
    /// Of all coefficients.
    pub seed: UniformSeed,
    /// Bodies.
    pub bodies: Vec<u64>,
}

/// The label of a polynomial of coefficients (from 1 on) of a fresh ciphertext.
pub fn fresh_label(number: u32, component: u8) -> ExpandLabel {
    ExpandLabel { purpose: MaskPurpose::Ciphertext, column: 0, ring_index: number, lane: component }
}

impl Fresh {
    /// Most ciphertexts under one seed: each has a label of its own.
    pub const MOST: usize = u32::MAX as usize;

    /// The ciphertexts as they travel: 8 bytes each. There are fewer than 2^32 ([`Fresh::MOST`]).
    pub fn encode(&self, context: &Context) -> Vec<u8> {
        let mut payload = self.seed.to_bytes().to_vec();
        payload.extend(self.bodies.iter().flat_map(|word| word.to_le_bytes()));
        object(context, Kind::Fresh, self.bodies.len() as u32, &payload)
    }

    /// Reads `count` ciphertexts and expands their coefficients.
    ///
    /// # Errors
    /// A [`TfheError`] for bytes that are not so many ciphertexts of the set.
    pub fn decode(context: &Context, count: usize, bytes: &[u8]) -> Result<Vec<Lwe>, TfheError> {
        let (found, payload) = opened(context, Kind::Fresh, bytes)?;
        expect("ciphertexts", found.into(), count as u64)?;
        let (first, bodies) = payload.split_at(SEED_BYTES);
        let seed = seed(first);
        let bodies = bodies.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        let lwe = |(number, body): (u32, u64)| {
            let mut words = vec![0; context.set().large_dimension() + 1];
            let masks = words.chunks_exact_mut(context.set().degree());
            for (component, mask) in (1..).zip(masks) {
                seed.expand_limb(context.ring(), fresh_label(number, component), 0, mask);
            }
            if let Some(last) = words.last_mut() {
                *last = body;
            }
            Lwe::from_words(context, words)
        };
        (0..).zip(bodies).map(lwe).collect()
    }
}

/// Small ciphertexts of results.
pub struct Answers(pub Vec<SmallLwe>);

impl Answers {
    /// The answers as they travel: `4·(n + 1)` bytes each.
    pub fn encode(&self, context: &Context) -> Vec<u8> {
        let words = self.0.iter().flat_map(SmallLwe::words);
        let payload: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
        object(context, Kind::Answers, self.0.len() as u32, &payload)
    }

    /// Reads `count` answers.
    ///
    /// # Errors
    /// A [`TfheError`] for bytes that are not so many answers of the set.
    pub fn decode(context: &Context, count: usize, bytes: &[u8]) -> Result<Self, TfheError> {
        let (found, payload) = opened(context, Kind::Answers, bytes)?;
        expect("answers", found.into(), count as u64)?;
        let words = words_of(payload);
        let answers = words.chunks_exact(context.set().dimension() + 1);
        Ok(Self(answers.map(|words| SmallLwe { words: words.to_vec() }).collect()))
    }
}

impl Kind {
    /// Bytes of a payload.
    fn payload_bytes(self, context: &Context, count: u32) -> u64 {
        let (set, seed, count) = (context.set(), SEED_BYTES as u64, u64::from(count));
        match self {
            Self::Keys => {
                let packed = context.limb().packed_bytes(set.degree()) as u64;
                2 * seed
                    + packed * RotationKey::row_count(context) as u64
                    + 4 * SwitchKey::row_count(context) as u64
            }
            Self::Fresh => seed + 8 * count,
            Self::Answers => 4 * count * (set.dimension() as u64 + 1),
            Self::Circuit => {
                let packed = context.limb().packed_bytes(set.degree()) as u64;
                seed + packed * CircuitKey::row_count(context).unwrap_or(0) as u64
            }
            Self::Bridge => {
                // No degree is as large as 2^32, and no power.
                let (powers, degree_log2) = ((count >> 8).min(1 << 16), (count & 0xff).min(32));
                let polynomials = (1_u64 << degree_log2) / set.degree() as u64;
                let packed = context.limb().packed_bytes(set.degree()) as u64;
                seed + packed * polynomials * BridgeKey::row_count(powers as u32) as u64
            }
        }
    }
}

fn object(context: &Context, kind: Kind, count: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len() + CHECKSUM_BYTES);
    bytes.extend_from_slice(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend([kind as u8, 0]);
    bytes.extend(context.set().code().to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend((payload.len() as u64).to_le_bytes());
    bytes.extend_from_slice(payload);
    let checksum = *blake3::hash(&bytes).as_bytes();
    bytes.extend_from_slice(&checksum[..CHECKSUM_BYTES]);
    bytes
}

/// The count in a header, and the payload.
fn opened<'a>(context: &Context, kind: Kind, bytes: &'a [u8]) -> Result<(u32, &'a [u8]), TfheError> {
    let not = |what| TfheError::NotAnObject { what };
    let (header, rest) = bytes.split_at_checked(HEADER_BYTES).ok_or(not("it is shorter than a header"))?;
    if header[..6] != *MAGIC {
        return Err(not("wrong magic bytes"));
    }
    let of_16 = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    if of_16(6) != VERSION {
        return Err(not("another version of the format"));
    }
    if header[8] != kind as u8 || header[9] != 0 {
        return Err(not("another kind"));
    }
    let (found, expected) = (of_16(10), context.set().code());
    if found != expected {
        return Err(TfheError::Set { found, expected });
    }
    let count = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
    let payload_bytes = kind.payload_bytes(context, count);
    let mut stated = [0; 8];
    stated.copy_from_slice(&header[16..24]);
    expect("bytes of a payload", u64::from_le_bytes(stated), payload_bytes)?;
    expect("bytes", bytes.len() as u64, payload_bytes + (HEADER_BYTES + CHECKSUM_BYTES) as u64)?;
    let (payload, checksum) = rest.split_at(payload_bytes as usize);
    if blake3::hash(&bytes[..HEADER_BYTES + payload.len()]).as_bytes()[..CHECKSUM_BYTES] != *checksum {
        return Err(TfheError::Checksum);
    }
    Ok((count, payload))
}

fn expect(what: &'static str, found: u64, expected: u64) -> Result<(), TfheError> {
    if found == expected { Ok(()) } else { Err(TfheError::Count { what, found, expected }) }
}

/// Appends polynomials in packed residues.
fn pack(context: &Context, bodies: &[u64], payload: &mut Vec<u8>) {
    let degree = context.set().degree();
    let mut packed = vec![0; context.limb().packed_bytes(degree)];
    for body in bodies.chunks_exact(degree) {
        context.limb().pack(body, &mut packed);
        payload.extend_from_slice(&packed);
    }
}

/// The words of polynomials in packed residues.
fn unpacked(context: &Context, bytes: &[u8]) -> Vec<u64> {
    let degree = context.set().degree();
    let packed = context.limb().packed_bytes(degree);
    let mut words = vec![0; bytes.len() / packed * degree];
    for (packed, words) in bytes.chunks_exact(packed).zip(words.chunks_exact_mut(degree)) {
        context.limb().unpack(packed, words);
    }
    words
}

fn seed(bytes: &[u8]) -> UniformSeed {
    let mut seed = [0; SEED_BYTES];
    seed.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    UniformSeed::from_bytes(seed)
}

fn words_of(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

#[cfg(test)]
mod tests;
