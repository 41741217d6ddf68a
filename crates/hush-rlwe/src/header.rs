// SPDX-License-Identifier: Apache-2.0
//! The header and the checksum that every binary object has, over a ring or over a modulus chain.
//!
//! # Layout
//! Little-endian, fixed width: 32 bytes, and 48 more where the object is over a chain; then the payload; then 16 bytes of checksum.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 6 | magic `HUSHCT` |
//! | 6 | 2 | format version: 1 over a ring, 2 over a chain |
//! | 8 | 1 | kind, [`ObjectKind`] |
//! | 9 | 1 | flags: bit 0 for a chain that is insecure by construction, the rest 0 |
//! | 10 | 2 | parameter code of the ring; 0 over a chain |
//! | 12 | 4 | encoded column id (answers, and objects over chains: 0) |
//! | 16 | 4 | chunk index (sum answers: group index; objects over chains: 0) |
//! | 20 | 4 | ring elements (cut sum bodies: coefficients; sum answers: bodies; keys of powers: bodies; over chains: ciphertexts or keys) |
//! | 24 | 1 | lanes |
//! | 25 | 1 | components stored per ring element or ciphertext |
//! | 26 | 1 | bits of a rounded coefficient; 0 where residues are stored, and in sums of products |
//! | 27 | 1 | level of the chain; 0 over a ring |
//! | 28 | 4 | payload bytes; over a chain their lower half |
//!
//! In sums of products, which have neither column nor chunk, byte `12 + i` has the bits of a rounded coefficient of component `i`; 0 where it has
//! residues, or is not there.
//!
//! Over a chain:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 32 | 32 | fingerprint of the chain ([`hush_params::Fingerprint`]) |
//! | 64 | 8 | unit of errors and divisions: the plaintext modulus in BGV, else 1 |
//! | 72 | 4 | payload bytes, upper half |
//! | 76 | 1 | meaning of the phases: 0 not stored, 1 a factor, 2 a scale, before each ciphertext |
//! | 77 | 3 | reserved, 0 |
//!
//! *Invariants.* The payload length must equal the number of bytes present, and the number that fields and parameters imply. Both are
//! compared before anything is allocated. A header over a ring names a ring of known sizes. A chain is the reader's own: nobody
//! learns one from bytes. The checksum finds damage; it does not authenticate (the signed manifest does).

use hush_params::size::{self, MAX_ROUNDED_BITS};
use hush_params::{Definitions, Fingerprint, Level, Named, ParamSet};

use crate::{ChainId, CodecError, ObjectKind};

/// The fields of a header: which object it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// What it is.
    pub kind: ObjectKind,
    /// Its parameters.
    pub over: Over,
    /// Its place and its numbers.
    pub shape: Shape,
    /// Bytes between header and checksum.
    pub payload_bytes: u64,
}

/// The parameters of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Chain(ChainPlace),
    Ring(&'static ParamSet),
}

/// A level of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChainPlace {
    pub chain: ChainId,
    pub is_insecure_toy: bool,
    pub level: Level,
    /// [`crate::PhaseMeaning`]'s tag, or 0.
    pub meaning: u8,
}

/// The place of an object in its table or answer, and how many polynomials it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Encoded column, numbered by the manifest; 0 in answers and over chains; see [`Shape::component_bits`].
    pub column: u32,
    /// Chunk index; group index in sum answers; 0 over chains; see [`Shape::component_bits`].
    pub chunk: u32,
    /// Ring elements; coefficients in cut sum bodies; bodies in sum answers; ciphertexts or keys over chains.
    pub element_count: u32,
    /// Plaintext moduli; 1 outside the slots layout.
    pub lanes: u8,
    /// Polynomials stored per ring element and lane.
    pub components: u8,
    /// Bits of a coefficient where the object is rounded, else 0.
    pub rounded_bits: u8,
}

/// Most components of a sum: of a product of seven stored ciphertexts.
pub const MAX_PRODUCT_COMPONENTS: usize = 8;
/// Bytes of a seed before bodies.
pub(crate) const SEED_BYTES: usize = 32;
/// Bytes of a header over a ring.
pub const HEADER_BYTES: usize = size::OBJECT_HEADER_BYTES;
/// Bytes of a header over a chain.
pub const CHAIN_HEADER_BYTES: usize = size::CHAIN_HEADER_BYTES;
/// Bytes of a checksum.
pub const CHECKSUM_BYTES: usize = size::OBJECT_CHECKSUM_BYTES;
/// Bytes that an object over a ring takes beyond its payload.
pub const OVERHEAD_BYTES: usize = size::OBJECT_OVERHEAD_BYTES;
/// Bytes that an object over a chain takes beyond its payload.
pub const CHAIN_OVERHEAD_BYTES: usize = size::CHAIN_OVERHEAD_BYTES;

impl Header {
    /// The header of an object over a ring; the payload's size follows.
    pub(crate) fn over_ring(kind: ObjectKind, set: &'static ParamSet, shape: Shape) -> Self {
        Self { kind, over: Over::Ring(set), shape, payload_bytes: ring_payload_bytes(kind, set, shape) }
    }

    /// Bytes of the whole object.
    pub(crate) fn object_bytes(&self) -> u64 {
        let overhead = match self.over {
            Over::Chain(_) => CHAIN_OVERHEAD_BYTES,
            Over::Ring(_) => OVERHEAD_BYTES,
        };
        self.payload_bytes.saturating_add(overhead as u64)
    }

    /// Writes the header to a new buffer, with room reserved for payload and checksum.
    ///
    /// # Errors
    /// [`CodecError::Length`] if the payload would exceed `u32::MAX` bytes over a ring, or what a computer can address.
    pub(crate) fn begin(&self) -> Result<Vec<u8>, CodecError> {
        let limit = match self.over {
            Over::Chain(_) => isize::MAX as u64 - CHAIN_OVERHEAD_BYTES as u64,
            Over::Ring(_) => u64::from(u32::MAX),
        };
        if self.payload_bytes > limit {
            return Err(CodecError::Length { found: self.payload_bytes, expected: limit });
        }
        let mut out = Vec::with_capacity(self.object_bytes() as usize);
        let (version, flags, code, level) = match self.over {
            Over::Chain(place) => (CHAIN_VERSION, u8::from(place.is_insecure_toy), 0, place.level.0),
            Over::Ring(set) => (RING_VERSION, 0, set.code(), 0),
        };
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&version.to_le_bytes());
        out.extend_from_slice(&[self.kind.tag(), flags]);
        out.extend_from_slice(&code.to_le_bytes());
        let Shape { column, chunk, element_count, lanes, components, rounded_bits } = self.shape;
        for field in [column, chunk, element_count] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(&[lanes, components, rounded_bits, level]);
        let (lower, upper) = (self.payload_bytes as u32, (self.payload_bytes >> 32) as u32);
        out.extend_from_slice(&lower.to_le_bytes());
        if let Over::Chain(place) = self.over {
            out.extend_from_slice(&place.chain.params.to_bytes());
            out.extend_from_slice(&place.chain.unit.to_le_bytes());
            out.extend_from_slice(&upper.to_le_bytes());
            out.extend_from_slice(&[place.meaning, 0, 0, 0]);
        }
        Ok(out)
    }

    /// Parses a header and compares all lengths and the checksum; allocates nothing.
    ///
    /// # Errors
    /// As [`Header::parse`]; [`CodecError::Checksum`].
    pub(crate) fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), CodecError> {
        let parsed = Self::parse(bytes)?;
        match bytes.split_last_chunk::<CHECKSUM_BYTES>() {
            Some((body, checksum)) if checksum_of(body) == *checksum => Ok(parsed),
            _ => Err(CodecError::Checksum),
        }
    }

    /// Parses a header and compares all lengths; does not look at the payload or the checksum.
    ///
    /// # Errors
    /// The first [`CodecError`] met, in the order of the fields.
    pub(crate) fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), CodecError> {
        let (mut fields, rest) = cut::<HEADER_BYTES>(bytes, OVERHEAD_BYTES)?;
        match &fields.take() {
            MAGIC => {}
            EARLIER_CHAIN_MAGIC => return Err(CodecError::EarlierForm),
            _ => return Err(CodecError::Magic),
        }
        let version = u16::from_le_bytes(fields.take());
        if !(RING_VERSION..=CHAIN_VERSION).contains(&version) {
            return Err(CodecError::Version { found: version, expected: CHAIN_VERSION });
        }
        let [tag, flags] = fields.take();
        let kind = ObjectKind::from_tag(tag).ok_or(CodecError::UnknownKind { found: tag })?;
        let expected = if kind.is_over_chain() { CHAIN_VERSION } else { RING_VERSION };
        if version != expected {
            return Err(CodecError::Version { found: version, expected });
        }
        let code = u16::from_le_bytes(fields.take());
        let [column, chunk, element_count] = [(); 3].map(|()| u32::from_le_bytes(fields.take()));
        let [lanes, components, rounded_bits, level] = fields.take();
        let lower = u32::from_le_bytes(fields.take());
        let shape = Shape { column, chunk, element_count, lanes, components, rounded_bits };
        if kind.is_over_chain() {
            let is_plain = code == 0 && flags <= 1 && rounded_bits == 0;
            return Self::parse_chain(bytes, (kind, shape, lower), (is_plain, flags == 1, Level(level)));
        }
        let unknown = |_| CodecError::UnknownParams { found: code };
        let named = Definitions::default().resolve(Named::Code(code));
        let set = named.and_then(|params| params.ring()).map_err(unknown)?;
        let has_bits = kind != ObjectKind::ProductAnswer || shape.has_component_bits();
        if flags != 0 || level != 0 || u32::from(rounded_bits) > MAX_ROUNDED_BITS || !has_bits {
            return Err(CodecError::Reserved);
        }
        let header = Self::over_ring(kind, set, shape);
        let payload = payload_of(rest, &[u64::from(lower), header.payload_bytes])?;
        Ok((header, payload))
    }

    /// What a header over a chain has beyond the others.
    fn parse_chain(
        bytes: &[u8],
        (kind, shape, lower): (ObjectKind, Shape, u32),
        (is_plain, is_insecure_toy, level): (bool, bool, Level),
    ) -> Result<(Self, &[u8]), CodecError> {
        let (mut fields, rest) = cut::<CHAIN_HEADER_BYTES>(bytes, CHAIN_OVERHEAD_BYTES)?;
        fields.take::<HEADER_BYTES>();
        let params = Fingerprint::from_bytes(fields.take());
        let unit = u64::from_le_bytes(fields.take());
        let upper = u32::from_le_bytes(fields.take());
        let [meaning, reserved @ ..] = fields.take::<4>();
        let may_mean = kind == ObjectKind::LeveledCiphertexts && meaning <= MAX_MEANING;
        if !is_plain || reserved != [0; 3] || (meaning != 0 && !may_mean) {
            return Err(CodecError::Reserved);
        }
        let payload_bytes = u64::from(upper) << 32 | u64::from(lower);
        let payload = payload_of(rest, &[payload_bytes])?;
        let chain = ChainId { params, unit };
        let over = Over::Chain(ChainPlace { chain, is_insecure_toy, level, meaning });
        Ok((Self { kind, over, shape, payload_bytes }, payload))
    }

    /// Compares with the object that the manifest or the request names.
    ///
    /// # Errors
    /// The [`CodecError`] that names the first field that differs.
    pub(crate) fn expect(&self, expected: &Self) -> Result<(), CodecError> {
        let check = |same: bool, error: CodecError| if same { Ok(()) } else { Err(error) };
        check(self.kind == expected.kind, CodecError::Kind { found: self.kind, expected: expected.kind })?;
        match (self.over, expected.over) {
            (Over::Chain(found), Over::Chain(expected)) => found.expect(&expected)?,
            (found, expected) => {
                let (found, expected) = (found.code(), expected.code());
                check(found == expected, CodecError::Params { found, expected })?;
            }
        }
        let (f, e) = (&self.shape, &expected.shape);
        if self.kind == ObjectKind::ProductAnswer {
            f.expect_components(e)?;
        }
        check(f.column == e.column, CodecError::Column { found: f.column, expected: e.column })?;
        check(f.chunk == e.chunk, CodecError::Chunk { found: f.chunk, expected: e.chunk })?;
        let (found, wanted) = (f.element_count, e.element_count);
        check(found == wanted, CodecError::ElementCount { found, expected: wanted })?;
        check(f.lanes == e.lanes, CodecError::Lanes { found: f.lanes, expected: e.lanes })?;
        let (found, wanted) = (f.components, e.components);
        check(found == wanted, CodecError::Components { found, expected: wanted })?;
        let (found, wanted) = (f.rounded_bits, e.rounded_bits);
        check(found == wanted, CodecError::RoundedBits { found, expected: wanted })?;
        let (found, wanted) = (self.payload_bytes, expected.payload_bytes);
        check(found == wanted, CodecError::Length { found, expected: wanted })
    }
}

impl Shape {
    /// The shape of a sum of products, with the bits of each component, or 0.
    pub(crate) fn of_product(components: u8, bits: [u8; MAX_PRODUCT_COMPONENTS]) -> Self {
        let [column, chunk] = [0, 4].map(|first| {
            bits.iter().skip(first).take(4).rev().fold(0, |field, bits| field << 8 | u32::from(*bits))
        });
        Self { column, chunk, element_count: 1, lanes: 1, components, rounded_bits: 0 }
    }

    /// The bits that each component of a sum of products is rounded to; 0 where it has residues, or is not there.
    pub(crate) fn component_bits(&self) -> [u8; MAX_PRODUCT_COMPONENTS] {
        (u64::from(self.chunk) << 32 | u64::from(self.column)).to_le_bytes()
    }

    /// Whether the bits of components can be, and no others have any.
    fn has_component_bits(&self) -> bool {
        let bits = self.component_bits();
        bits.iter().all(|bits| u32::from(*bits) <= MAX_ROUNDED_BITS)
            && bits.iter().skip(usize::from(self.components)).all(|bits| *bits == 0)
    }

    /// Compares the components of sums of products.
    fn expect_components(&self, expected: &Self) -> Result<(), CodecError> {
        let (found, wanted) = (self.components, expected.components);
        if found != wanted {
            return Err(CodecError::Components { found, expected: wanted });
        }
        match self.component_bits().into_iter().zip(expected.component_bits()).find(|(f, e)| f != e) {
            Some((found, expected)) => Err(CodecError::RoundedBits { found, expected }),
            None => Ok(()),
        }
    }
}

impl Over {
    /// The code that names the parameters; 0 for a chain.
    pub(crate) fn code(self) -> u16 {
        match self {
            Self::Chain(_) => 0,
            Self::Ring(set) => set.code(),
        }
    }
}

impl ChainPlace {
    fn expect(&self, expected: &Self) -> Result<(), CodecError> {
        let check = |same: bool, error: CodecError| if same { Ok(()) } else { Err(error) };
        let (f, e) = (self, expected);
        check(f.is_insecure_toy == e.is_insecure_toy, CodecError::InsecureToy)?;
        check(f.chain == e.chain, CodecError::Chain { found: f.chain, expected: e.chain })?;
        check(f.level == e.level, CodecError::Level { found: f.level, expected: e.level })?;
        check(f.meaning == e.meaning, CodecError::Meaning { found: f.meaning, expected: e.meaning })
    }
}

/// Payload bytes that these fields imply over a ring; saturates on absurd fields, which no real length then equals.
fn ring_payload_bytes(kind: ObjectKind, set: &ParamSet, shape: Shape) -> u64 {
    let rounded = (shape.rounded_bits > 0).then_some(u32::from(shape.rounded_bits));
    let poly = size::answer_poly_bytes(set, rounded) as u64;
    let elements = u64::from(shape.element_count);
    if kind == ObjectKind::SumAnswer {
        return poly + elements * 8 * set.limb_count() as u64;
    }
    if kind == ObjectKind::ProductAnswer {
        let each = shape.component_bits().map(|bits| (bits > 0).then_some(u32::from(bits)));
        let there = each.into_iter().take(usize::from(shape.components));
        return there.map(|bits| size::answer_poly_bytes(set, bits) as u64).sum();
    }
    if kind == ObjectKind::PowerKeys {
        return poly.saturating_mul(elements).saturating_add(SEED_BYTES as u64);
    }
    if kind == ObjectKind::CutSumBody {
        let degree = set.degree() as u64;
        let rest = size::packed_bytes((elements % degree) as usize, set.residue_bits()) * set.limb_count();
        return poly * (elements / degree) + rest as u64;
    }
    poly.saturating_mul(elements * u64::from(shape.lanes) * u64::from(shape.components))
}

/// Cuts a header off an object that has room for one and for a checksum.
fn cut<const HEADER: usize>(bytes: &[u8], overhead: usize) -> Result<(Fields<'_>, &[u8]), CodecError> {
    let (found, expected) = (bytes.len() as u64, overhead as u64);
    let head = bytes.split_first_chunk::<HEADER>().filter(|_| bytes.len() >= overhead);
    head.map(|(head, rest)| (Fields(head), rest)).ok_or(CodecError::Length { found, expected })
}

/// What lies before the checksum, if its length is each of `expected`.
fn payload_of<'a>(rest: &'a [u8], expected: &[u64]) -> Result<&'a [u8], CodecError> {
    let payload = rest.split_last_chunk::<CHECKSUM_BYTES>().map_or(rest, |(payload, _)| payload);
    let present = payload.len() as u64;
    let Some(&implied) = expected.last() else { return Ok(payload) };
    match expected.iter().chain([&present]).find(|&&length| length != implied) {
        Some(&found) => Err(CodecError::Length { found, expected: implied }),
        None => Ok(payload),
    }
}

/// Appends the checksum of everything in `out`.
pub(crate) fn seal(out: &mut Vec<u8>) {
    let digest = checksum_of(out);
    out.extend_from_slice(&digest);
}

fn checksum_of(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut short = [0; CHECKSUM_BYTES];
    short.copy_from_slice(&blake3::hash(bytes).as_bytes()[..CHECKSUM_BYTES]);
    short
}

/// Cuts a header into fields; a header has the right length by its type.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const BYTES: usize>(&mut self) -> [u8; BYTES] {
        match self.0.split_first_chunk::<BYTES>() {
            Some((field, rest)) => {
                self.0 = rest;
                *field
            }
            None => [0; BYTES],
        }
    }
}

/// Largest tag of a meaning.
const MAX_MEANING: u8 = 2;
const MAGIC: &[u8; 6] = b"HUSHCT";
/// What objects over chains began with before they shared this header.
const EARLIER_CHAIN_MAGIC: &[u8; 6] = b"HUSHCH";
const RING_VERSION: u16 = 1;
const CHAIN_VERSION: u16 = 2;
