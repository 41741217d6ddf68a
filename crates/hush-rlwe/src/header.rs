// SPDX-License-Identifier: Apache-2.0
//! The header and the checksum that every binary object has.
//!
//! # Layout
//! Little-endian, fixed width, 32 bytes; then the payload; then 16 bytes of checksum.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 6 | magic `HUSHCT` |
//! | 6 | 2 | format version, 1 |
//! | 8 | 1 | kind, [`ObjectKind`] |
//! | 9 | 1 | flags, 0 |
//! | 10 | 2 | parameter code |
//! | 12 | 4 | encoded column id (answers: 0) |
//! | 16 | 4 | chunk index (sum answers: group index) |
//! | 20 | 4 | ring elements (sum answers: bodies) |
//! | 24 | 1 | lanes |
//! | 25 | 1 | components stored per ring element |
//! | 26 | 1 | bits of a rounded coefficient; 0 where residues are stored |
//! | 27 | 1 | reserved, 0 |
//! | 28 | 4 | payload bytes |
//! | 32 | … | payload |
//! | end − 16 | 16 | first half of BLAKE3 of all bytes before |
//!
//! *Invariants.* The payload length is computed from the other fields and the parameter set and must equal
//! the stored one and the bytes present, before anything is allocated. The checksum finds damage; it does not
//! authenticate (the signed manifest does).

use hush_params::size::{self, MAX_ROUNDED_BITS};
use hush_params::{ParamSet, presets::preset_by_code};

use crate::{CodecError, ObjectKind};

/// The fields of a header that say which object this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// What it is.
    pub kind: ObjectKind,
    /// Over which ring.
    pub set: &'static ParamSet,
    /// Encoded column, numbered by the manifest; 0 in answers.
    pub column: u32,
    /// Chunk index; group index in sum answers.
    pub chunk: u32,
    /// Ring elements; bodies in sum answers.
    pub element_count: u32,
    /// Plaintext moduli; 1 outside the slots layout.
    pub lanes: u8,
    /// Polynomials stored per ring element and lane.
    pub components: u8,
    /// Bits of a coefficient where the object is rounded, else 0.
    pub rounded_bits: u8,
}

/// Bytes of a header.
pub const HEADER_BYTES: usize = size::OBJECT_HEADER_BYTES;
/// Bytes of a checksum.
pub const CHECKSUM_BYTES: usize = size::OBJECT_CHECKSUM_BYTES;
/// Bytes that an object takes beyond its payload.
pub const OVERHEAD_BYTES: usize = size::OBJECT_OVERHEAD_BYTES;

impl Header {
    /// Payload bytes that these fields imply; saturates on absurd fields, which no real length then equals.
    pub(crate) fn payload_bytes(&self) -> u64 {
        let rounded = (self.rounded_bits > 0).then_some(u32::from(self.rounded_bits));
        let poly = size::answer_poly_bytes(self.set, rounded) as u64;
        let elements = u64::from(self.element_count);
        match self.kind {
            ObjectKind::SumAnswer => poly + elements * 8 * self.set.limb_count() as u64,
            _ => {
                let polys = elements * u64::from(self.lanes) * u64::from(self.components);
                poly.saturating_mul(polys)
            }
        }
    }

    /// Bytes of the whole object.
    pub(crate) fn object_bytes(&self) -> u64 {
        self.payload_bytes().saturating_add(OVERHEAD_BYTES as u64)
    }

    /// Writes the header to the empty buffer `out`, with room reserved for payload and checksum.
    ///
    /// # Errors
    /// [`CodecError::Length`] if the payload would exceed `u32::MAX` bytes.
    pub(crate) fn begin(&self, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let payload = self.payload_bytes();
        let length = u32::try_from(payload)
            .map_err(|_| CodecError::Length { found: payload, expected: u64::from(u32::MAX) })?;
        out.clear();
        out.reserve_exact(payload as usize + OVERHEAD_BYTES);
        start(out, MAGIC, FORMAT_VERSION);
        out.extend_from_slice(&[self.kind.tag(), 0]);
        out.extend_from_slice(&self.set.code().to_le_bytes());
        for field in [self.column, self.chunk, self.element_count] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(&[self.lanes, self.components, self.rounded_bits, 0]);
        out.extend_from_slice(&length.to_le_bytes());
        Ok(())
    }

    /// Parses the header and compares all lengths; does not look at the payload or the checksum.
    ///
    /// # Errors
    /// The first [`CodecError`] met, in the order of the fields.
    pub(crate) fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), CodecError> {
        let (_, mut fields, payload) = open::<HEADER_BYTES>(bytes, MAGIC, FORMAT_VERSION)?;
        let [tag, flags] = fields.take();
        let kind = ObjectKind::from_tag(tag).ok_or(CodecError::UnknownKind { found: tag })?;
        let found = u16::from_le_bytes(fields.take());
        let set = preset_by_code(found).map_err(|_| CodecError::UnknownParams { found })?;
        let [column, chunk, element_count] = [(); 3].map(|()| u32::from_le_bytes(fields.take()));
        let [lanes, components, rounded_bits, reserved] = fields.take();
        if flags != 0 || reserved != 0 || u32::from(rounded_bits) > MAX_ROUNDED_BITS {
            return Err(CodecError::Reserved);
        }
        let stored = u64::from(u32::from_le_bytes(fields.take()));
        let header = Self { kind, set, column, chunk, element_count, lanes, components, rounded_bits };
        let expected = header.payload_bytes();
        for found in [stored, payload.len() as u64] {
            if found != expected {
                return Err(CodecError::Length { found, expected });
            }
        }
        Ok((header, payload))
    }

    /// Compares with what the manifest or the request says that it should be.
    ///
    /// # Errors
    /// The [`CodecError`] that names the first field that differs.
    pub(crate) fn expect(&self, expected: &Self) -> Result<(), CodecError> {
        let check = |same: bool, error: CodecError| if same { Ok(()) } else { Err(error) };
        let (f, e) = (self, expected);
        check(f.kind == e.kind, CodecError::Kind { found: f.kind, expected: e.kind })?;
        let (found, wanted) = (f.set.code(), e.set.code());
        check(found == wanted, CodecError::Params { found, expected: wanted })?;
        check(f.column == e.column, CodecError::Column { found: f.column, expected: e.column })?;
        check(f.chunk == e.chunk, CodecError::Chunk { found: f.chunk, expected: e.chunk })?;
        let (found, wanted) = (f.element_count, e.element_count);
        check(found == wanted, CodecError::ElementCount { found, expected: wanted })?;
        check(f.lanes == e.lanes, CodecError::Lanes { found: f.lanes, expected: e.lanes })?;
        let (found, wanted) = (f.components, e.components);
        check(found == wanted, CodecError::Components { found, expected: wanted })?;
        let (found, wanted) = (f.rounded_bits, e.rounded_bits);
        check(found == wanted, CodecError::RoundedBits { found, expected: wanted })
    }
}

/// Writes what every object begins with: what family it is of, and the version of that family's format.
pub(crate) fn start(out: &mut Vec<u8>, magic: &[u8; 6], version: u16) {
    out.extend_from_slice(magic);
    out.extend_from_slice(&version.to_le_bytes());
}

/// Cuts an object of the family `magic` with a header of `HEADER` bytes into its version (1 to `newest`), the fields of its header
/// after that, and its payload. Neither lengths nor the checksum are compared.
///
/// # Errors
/// [`CodecError::Length`] where header and checksum have no room, [`CodecError::Magic`], [`CodecError::Version`].
pub(crate) fn open<'a, const HEADER: usize>(
    bytes: &'a [u8],
    magic: &[u8; 6],
    newest: u16,
) -> Result<(u16, Fields<'a>, &'a [u8]), CodecError> {
    let (found, expected) = (bytes.len() as u64, (HEADER + CHECKSUM_BYTES) as u64);
    let short = CodecError::Length { found, expected };
    let (head, rest) = bytes.split_first_chunk::<HEADER>().ok_or_else(|| short.clone())?;
    let (payload, _) = rest.split_last_chunk::<CHECKSUM_BYTES>().ok_or(short)?;
    let mut fields = Fields(head);
    if fields.take::<6>() != *magic {
        return Err(CodecError::Magic);
    }
    let found = u16::from_le_bytes(fields.take());
    if found == 0 || found > newest {
        return Err(CodecError::Version { found, expected: newest });
    }
    Ok((found, fields, payload))
}

/// Appends the checksum of everything in `out`.
pub(crate) fn seal(out: &mut Vec<u8>) {
    let digest = checksum_of(out);
    out.extend_from_slice(&digest);
}

/// Checks the checksum at the end of `bytes`.
///
/// # Errors
/// [`CodecError::Checksum`].
pub(crate) fn verify(bytes: &[u8]) -> Result<(), CodecError> {
    match bytes.split_last_chunk::<CHECKSUM_BYTES>() {
        Some((body, checksum)) if checksum_of(body) == *checksum => Ok(()),
        _ => Err(CodecError::Checksum),
    }
}

fn checksum_of(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut short = [0; CHECKSUM_BYTES];
    short.copy_from_slice(&blake3::hash(bytes).as_bytes()[..CHECKSUM_BYTES]);
    short
}

/// Cuts a header into fields; a header has the right length by its type.
pub(crate) struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    pub(crate) fn take<const BYTES: usize>(&mut self) -> [u8; BYTES] {
        match self.0.split_first_chunk::<BYTES>() {
            Some((field, rest)) => {
                self.0 = rest;
                *field
            }
            None => [0; BYTES],
        }
    }
}

const MAGIC: &[u8; 6] = b"HUSHCT";
const FORMAT_VERSION: u16 = 1;
