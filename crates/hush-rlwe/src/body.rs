// SPDX-License-Identifier: Apache-2.0
//! Stored bodies: the `b` halves of one encoded column in one chunk. The `a` halves come from the chunk's seed.
//!
//! # Payload
//! Ring element after ring element, lane after lane within it, limb after limb within that: `N` residues
//! packed at the parameter set's residue width, each limb padded to a whole byte.
//!
//! Evaluation reads the packed bytes as they lie; nothing is unpacked into objects.

use hush_ring::{Ring, RingLimb};

use crate::header::{self, CHECKSUM_BYTES, HEADER_BYTES, Header, ObjectKind};
use crate::{CodecError, check_residues};

/// Which body is meant: what [`UncheckedBody::conform`] compares with.
///
/// Everything in it comes from the signed manifest, nothing from the bytes themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyId {
    /// Encoded column, as the manifest numbers them.
    pub column: u32,
    /// Chunk of the table.
    pub chunk: u32,
    /// Ring elements in this chunk.
    pub element_count: u32,
    /// Plaintext moduli; 1 for sum columns.
    pub lanes: u8,
}

/// The domain and use of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// `slots` and `approx_slots`: evaluation domain, one mask per ciphertext.
    Slot,
    /// `sum` and `approx_sum`: coefficients, under the mask that the chunk's columns share.
    Sum,
}

impl BodyKind {
    fn object(self) -> ObjectKind {
        match self {
            Self::Slot => ObjectKind::SlotBody,
            Self::Sum => ObjectKind::SumBody,
        }
    }
}

/// Bytes that decoded as a body, whose residues and identity nobody has looked at yet.
#[derive(Clone, Copy, Debug)]
pub struct UncheckedBody<'a> {
    header: Header,
    payload: &'a [u8],
}

impl<'a> UncheckedBody<'a> {
    /// Checks lengths, header and checksum; allocates nothing.
    ///
    /// # Errors
    /// A [`CodecError`] that names the first thing wrong.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, CodecError> {
        let (header, payload) = Header::parse(bytes)?;
        header::verify(bytes)?;
        Ok(Self { header, payload })
    }

    /// Checks that this is the body that the manifest speaks of, and every residue.
    ///
    /// # Cost
    /// One pass over the payload; one limb is unpacked at a time.
    ///
    /// # Errors
    /// A [`CodecError`] that names the field that differs or the limb with a residue out of range.
    pub fn conform(self, ring: &Ring, kind: BodyKind, id: BodyId) -> Result<Body<'a>, CodecError> {
        let body = self.identify(ring, kind, id)?;
        let mut words = vec![0; ring.degree()];
        for element in 0..id.element_count {
            for lane in 0..id.lanes {
                for (index, limb) in ring.limbs().iter().enumerate() {
                    limb.unpack(body.packed(element, lane, index), &mut words);
                    check_residues(limb, &words, element, index)?;
                }
            }
        }
        Ok(body)
    }

    fn identify(self, ring: &Ring, kind: BodyKind, id: BodyId) -> Result<Body<'a>, CodecError> {
        let (found, expected) = (self.header.set.code(), ring.param_code());
        if found != expected {
            return Err(CodecError::Params { found, expected });
        }
        self.header.expect(&body_header(self.header.set, kind, id))?;
        let limb_bytes = ring.limb_bytes();
        Ok(Body {
            payload: self.payload,
            id,
            param_code: ring.param_code(),
            limb_count: ring.limb_count(),
            limb_bytes,
        })
    }
}

/// A body that conforms: right column, chunk, size and parameters, all residues canonical.
///
/// *Secrecy.* Public ciphertext. *Layout.* See the module.
#[derive(Clone, Copy)]
pub struct Body<'a> {
    payload: &'a [u8],
    id: BodyId,
    param_code: u16,
    limb_count: usize,
    limb_bytes: usize,
}

impl<'a> Body<'a> {
    /// Reads a body that conformed before and whose digest has been compared since, without looking at the
    /// residues or the checksum again: the hot path of a server that checked the bytes when they came in.
    ///
    /// If that was not so, results are wrong; nothing worse, since a packed residue cannot exceed its width
    /// and sums are bounded by the width.
    ///
    /// # Errors
    /// A [`CodecError`] about the header or a length.
    pub fn from_verified(
        bytes: &'a [u8],
        ring: &Ring,
        kind: BodyKind,
        id: BodyId,
    ) -> Result<Self, CodecError> {
        let (header, payload) = Header::parse(bytes)?;
        UncheckedBody { header, payload }.identify(ring, kind, id)
    }

    /// Which body this is.
    pub fn id(&self) -> BodyId {
        self.id
    }

    /// The parameter set that it conforms to.
    pub fn param_code(&self) -> u16 {
        self.param_code
    }

    /// The packed residues of one limb; empty if there is no such element, lane or limb.
    pub fn packed(&self, element: u32, lane: u8, limb: usize) -> &'a [u8] {
        if lane >= self.id.lanes || limb >= self.limb_count {
            return &[];
        }
        let poly = element as usize * usize::from(self.id.lanes) + usize::from(lane);
        let start = (poly * self.limb_count + limb) * self.limb_bytes;
        self.payload.get(start..start + self.limb_bytes).unwrap_or(&[])
    }
}

impl std::fmt::Debug for Body<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Body({:?}, {} bytes)", self.id, self.payload.len())
    }
}

/// Writes a body, limb after limb in payload order.
#[derive(Debug)]
pub struct BodyWriter {
    bytes: Vec<u8>,
    object_bytes: usize,
}

impl BodyWriter {
    /// A writer with room for the whole object.
    ///
    /// # Errors
    /// [`CodecError::UnknownParams`] for a toy ring, which has no code; [`CodecError::Length`] for an object
    /// above 4 GiB.
    pub fn new(ring: &Ring, kind: BodyKind, id: BodyId) -> Result<Self, CodecError> {
        let set = crate::set_of(ring)?;
        let header = body_header(set, kind, id);
        let mut bytes = Vec::new();
        header.begin(&mut bytes)?;
        Ok(Self { bytes, object_bytes: header.object_bytes() as usize })
    }

    /// Appends the `N` canonical residues of the next limb.
    pub fn push_limb(&mut self, limb: &RingLimb, words: &[u64]) {
        crate::append_packed(&mut self.bytes, limb, words);
    }

    /// Appends the checksum and gives out the object.
    ///
    /// # Errors
    /// [`CodecError::Length`] if limbs are missing or too many.
    pub fn finish(mut self) -> Result<Vec<u8>, CodecError> {
        let (found, expected) = (self.bytes.len() + CHECKSUM_BYTES, self.object_bytes);
        if found != expected {
            return Err(CodecError::Length { found: found as u64, expected: expected as u64 });
        }
        header::seal(&mut self.bytes);
        Ok(self.bytes)
    }
}

/// Bytes of a body object with this many ring elements and lanes.
pub fn body_bytes(ring: &Ring, element_count: u32, lanes: u8) -> usize {
    let limbs = element_count as usize * usize::from(lanes) * ring.limb_count();
    HEADER_BYTES + limbs * ring.limb_bytes() + CHECKSUM_BYTES
}

pub(crate) fn body_header(set: &'static hush_params::ParamSet, kind: BodyKind, id: BodyId) -> Header {
    Header {
        kind: kind.object(),
        set,
        column: id.column,
        chunk: id.chunk,
        element_count: id.element_count,
        lanes: id.lanes,
        components: 1,
        rounded_bits: 0,
    }
}
