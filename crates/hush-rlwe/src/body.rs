// SPDX-License-Identifier: Apache-2.0
//! Stored bodies: the `b` halves of one encoded column in one chunk. The `a` halves come from the chunk's seed, or, where
//! somebody without the secret encrypted, stand beside them.
//!
//! # Payload
//! Ring element after ring element, lane after lane within it, limb after limb within that: `N` residues
//! packed at the parameter set's residue width, each limb padded to a whole byte. Where masks are stored, an element's mask
//! follows its body. Of the last ring element of a cut body only the coefficients of rows are stored: a sum needs no other.
//!
//! Evaluation reads the packed bytes as they lie; nothing is unpacked into objects.

use hush_ring::{ExpandLabel, Ring, RingLimb, UniformSeed};

use crate::header::{self, CHECKSUM_BYTES, HEADER_BYTES, Header, Over, Shape};
use crate::{CodecError, ObjectKind, check_residues};

/// Which body is meant; [`UncheckedBody::conform`] compares with it.
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
    /// As [`BodyKind::Sum`], without the coefficients behind the last row. Decodes where sum bodies are asked for.
    CutSum,
    /// As [`BodyKind::Sum`], with the masks, in the evaluation domain. Decodes where sum bodies are asked for.
    MaskedSum,
    /// `slots` and `approx_slots`: evaluation domain, one mask per ciphertext.
    Slot,
    /// `sum` and `approx_sum`: coefficients, under the mask that the chunk's columns share.
    Sum,
}

impl BodyKind {
    fn object(self) -> ObjectKind {
        match self {
            Self::CutSum => ObjectKind::CutSumBody,
            Self::MaskedSum => ObjectKind::MaskedSumBody,
            Self::Slot => ObjectKind::SlotBody,
            Self::Sum => ObjectKind::SumBody,
        }
    }

    /// The kind that an object may be where this one is asked for.
    fn of_object(self, object: ObjectKind) -> Self {
        match (self, object) {
            (Self::Sum, ObjectKind::MaskedSumBody) => Self::MaskedSum,
            (Self::Sum, ObjectKind::CutSumBody) => Self::CutSum,
            _ => self,
        }
    }

    /// Polynomials for each ciphertext.
    fn components(self) -> u8 {
        match self {
            Self::MaskedSum => 2,
            Self::CutSum | Self::Slot | Self::Sum => 1,
        }
    }
}

/// Bytes that decoded as a body, with residues and identity still unchecked.
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
        let (header, payload) = Header::decode(bytes)?;
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
                    // The last byte may have room for bits of a coefficient more.
                    let stored =
                        body.coefficients - (element as usize * ring.degree()).min(body.coefficients);
                    if words.iter().skip(stored).any(|word| *word != 0) {
                        return Err(CodecError::Residue { element, limb: index as u32 });
                    }
                }
            }
            for (index, limb) in ring.limbs().iter().enumerate().take(body.mask_limbs()) {
                limb.unpack(body.packed_mask(element, index), &mut words);
                check_residues(limb, &words, element, index)?;
                if words.iter().all(|word| *word == 0) {
                    return Err(CodecError::Transparent { element });
                }
            }
        }
        Ok(body)
    }

    fn identify(self, ring: &Ring, kind: BodyKind, id: BodyId) -> Result<Body<'a>, CodecError> {
        let (found, expected) = (self.header.over.code(), ring.param_code());
        let Over::Ring(set) = self.header.over else { return Err(CodecError::Params { found, expected }) };
        if found != expected {
            return Err(CodecError::Params { found, expected });
        }
        let kind = kind.of_object(self.header.kind);
        let mut expected = body_header(set, kind, id);
        let mut coefficients = id.element_count as usize * ring.degree();
        if kind == BodyKind::CutSum {
            let found = self.header.shape.element_count as usize;
            let (elements, wanted) = (found.div_ceil(ring.degree()) as u32, id.element_count);
            if elements != wanted {
                return Err(CodecError::ElementCount { found: elements, expected: wanted });
            }
            coefficients = found;
            expected = cut_header(set, id, found as u32);
        }
        self.header.expect(&expected)?;
        let last = coefficients - coefficients.saturating_sub(1) / ring.degree() * ring.degree();
        Ok(Body {
            payload: self.payload,
            id,
            param_code: ring.param_code(),
            components: usize::from(kind.components()),
            limb_count: ring.limb_count(),
            limb_bytes: ring.limb_bytes(),
            coefficients,
            last_limb_bytes: ring.limbs().first().map_or(0, |limb| limb.packed_bytes(last)),
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
    components: usize,
    limb_count: usize,
    limb_bytes: usize,
    /// Coefficients of all ring elements that are stored.
    coefficients: usize,
    /// Bytes of a limb of the last ring element.
    last_limb_bytes: usize,
}

impl<'a> Body<'a> {
    /// Reads a body that conformed before, with a digest compared since, without checking the
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

    /// The coefficients that are stored: as many as the ring elements have, or as the chunk has rows.
    pub fn coefficients(&self) -> usize {
        self.coefficients
    }

    /// Which body this is.
    pub fn id(&self) -> BodyId {
        self.id
    }

    /// The parameter set that it conforms to.
    pub fn param_code(&self) -> u16 {
        self.param_code
    }

    /// The packed residues of one limb, of the last element perhaps fewer than it has; empty if there is no such element, lane or limb.
    pub fn packed(&self, element: u32, lane: u8, limb: usize) -> &'a [u8] {
        self.polynomial(element, lane, 0, limb)
    }

    /// Whether the masks stand beside the bodies.
    pub fn has_masks(&self) -> bool {
        self.components > 1
    }

    /// Limbs of a stored mask; 0 without one.
    fn mask_limbs(&self) -> usize {
        if self.has_masks() { self.limb_count } else { 0 }
    }

    /// The packed residues of one limb of a stored mask; empty if there is no such element, limb or mask.
    fn packed_mask(&self, element: u32, limb: usize) -> &'a [u8] {
        self.polynomial(element, 0, 1, limb)
    }

    fn polynomial(&self, element: u32, lane: u8, component: usize, limb: usize) -> &'a [u8] {
        if lane >= self.id.lanes || component >= self.components || limb >= self.limb_count {
            return &[];
        }
        let ciphertext = element as usize * usize::from(self.id.lanes) + usize::from(lane);
        let polynomial = (ciphertext * self.components + component) * self.limb_count * self.limb_bytes;
        let is_last = element + 1 == self.id.element_count;
        let limb_bytes = if is_last { self.last_limb_bytes } else { self.limb_bytes };
        let start = polynomial + limb * limb_bytes;
        self.payload.get(start..start + limb_bytes).unwrap_or(&[])
    }
}

/// The masks that the sum columns of a chunk share.
#[derive(Clone, Copy, Debug)]
pub enum SumMasks<'a> {
    /// Expanded from the chunk's seed.
    Seed(UniformSeed),
    /// Stored in every body; these are the masks of the first.
    Stored(Body<'a>),
}

impl<'a> SumMasks<'a> {
    /// The masks of bodies of one chunk with this seed.
    ///
    /// # Cost
    /// Where masks are stored, one comparison of bytes for each body after the first.
    ///
    /// # Errors
    /// [`CodecError::Masks`] if the bodies do not share their masks: one sum of masks must serve them all.
    pub fn of(seed: UniformSeed, bodies: &[Body<'a>]) -> Result<Self, CodecError> {
        let Some(first) = bodies.first().filter(|body| body.has_masks()) else {
            let seeded = !bodies.iter().any(Body::has_masks);
            return if seeded { Ok(Self::Seed(seed)) } else { Err(CodecError::Masks) };
        };
        let same = |body: &Body<'_>| {
            let mut elements = 0..first.id.element_count;
            let limb = |element, limb| body.packed_mask(element, limb) == first.packed_mask(element, limb);
            body.has_masks()
                && elements.all(|element| (0..first.limb_count).all(|index| limb(element, index)))
        };
        if bodies.iter().skip(1).all(same) { Ok(Self::Stored(*first)) } else { Err(CodecError::Masks) }
    }

    /// One limb of the mask of a ring element, in the evaluation domain: canonical, or at least below the packed width.
    ///
    /// # Panics
    /// If the ring has no such limb.
    pub fn limb_into(&self, ring: &Ring, element: u32, index: usize, out: &mut [u64]) {
        match self {
            Self::Seed(seed) => seed.expand_limb(ring, ExpandLabel::sum(element), index, out),
            Self::Stored(body) => ring.limbs()[index].unpack(body.packed_mask(element, index), out),
        }
    }

    /// The mask of a ring element, limb after limb.
    ///
    /// # Panics
    /// If `words` does not hold exactly one polynomial.
    pub fn expand_into(&self, ring: &Ring, element: u32, words: &mut [u64]) {
        assert_eq!(words.len(), ring.poly_words(), "one polynomial");
        for (index, out) in words.chunks_exact_mut(ring.degree()).enumerate() {
            self.limb_into(ring, element, index, out);
        }
    }

    /// Adds one limb of a mask to accumulators without reduction; see [`hush_ring::LazySum`]. `scratch` holds a limb.
    ///
    /// # Panics
    /// If the ring has no such limb.
    pub fn accumulate_limb(&self, ring: &Ring, at: (u32, usize), sums: &mut [u64], scratch: &mut [u64]) {
        let (element, index) = at;
        match self {
            Self::Seed(seed) => seed.accumulate_limb(ring, ExpandLabel::sum(element), index, sums),
            Self::Stored(_) => {
                self.limb_into(ring, element, index, scratch);
                ring.limbs()[index].accumulate(sums, scratch);
            }
        }
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
    /// Limbs before those of a ring element of which only the first coefficients are stored, and how many of these.
    cut: Option<(usize, usize)>,
}

impl BodyWriter {
    /// A writer with room for the whole object.
    ///
    /// # Errors
    /// [`CodecError::UnknownParams`] for a toy ring, which has no code; [`CodecError::Length`] for an object
    /// above 4 GiB.
    pub fn new(ring: &Ring, kind: BodyKind, id: BodyId) -> Result<Self, CodecError> {
        Self::begin(&body_header(crate::set_of(ring)?, kind, id), None)
    }

    /// A writer of a [`BodyKind::CutSum`]: of a chunk of `rows` rows, as many coefficients are stored. All `N` residues of each limb are pushed
    /// nevertheless.
    ///
    /// # Errors
    /// As [`BodyWriter::new`]; [`CodecError::ElementCount`] if these rows take another number of ring elements.
    pub fn cut(ring: &Ring, id: BodyId, rows: usize) -> Result<Self, CodecError> {
        let (found, expected) = (rows.div_ceil(ring.degree()) as u32, id.element_count);
        if found != expected || rows == 0 {
            return Err(CodecError::ElementCount { found, expected });
        }
        let whole = rows / ring.degree();
        let header = cut_header(crate::set_of(ring)?, id, rows as u32);
        Self::begin(&header, Some((whole * ring.limb_count(), rows % ring.degree())))
    }

    fn begin(header: &Header, cut: Option<(usize, usize)>) -> Result<Self, CodecError> {
        Ok(Self { bytes: header.begin()?, object_bytes: header.object_bytes() as usize, cut })
    }

    /// Appends the `N` canonical residues of the next limb.
    pub fn push_limb(&mut self, limb: &RingLimb, words: &[u64]) {
        let start = self.bytes.len();
        crate::append_packed(&mut self.bytes, limb, words);
        match &mut self.cut {
            Some((0, stored)) => {
                let bits = *stored * limb.width_bits();
                self.bytes.truncate(start + bits.div_ceil(8));
                // The last byte has bits of the coefficient behind.
                if let (Some(last), over) = (self.bytes.last_mut(), bits % 8)
                    && over > 0
                {
                    *last &= (1 << over) - 1;
                }
            }
            Some((whole, _)) => *whole -= 1,
            None => {}
        }
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

/// Whether bytes begin as a body with masks does.
pub fn has_masks(bytes: &[u8]) -> bool {
    Header::parse(bytes).is_ok_and(|(header, _)| header.kind == ObjectKind::MaskedSumBody)
}

/// Bytes of a body object with this many ring elements, each with its mask.
pub fn masked_body_bytes(ring: &Ring, element_count: u32) -> usize {
    body_bytes(ring, element_count, BodyKind::MaskedSum.components())
}

/// Bytes of a body object with this many ring elements and lanes.
pub fn body_bytes(ring: &Ring, element_count: u32, lanes: u8) -> usize {
    let limbs = element_count as usize * usize::from(lanes) * ring.limb_count();
    HEADER_BYTES + limbs * ring.limb_bytes() + CHECKSUM_BYTES
}

pub(crate) fn body_header(set: &'static hush_params::ParamSet, kind: BodyKind, id: BodyId) -> Header {
    let BodyId { column, chunk, element_count, lanes } = id;
    let components = kind.components();
    let shape = Shape { column, chunk, element_count, lanes, components, rounded_bits: 0 };
    Header::over_ring(kind.object(), set, shape)
}

/// The header of a cut sum body of so many coefficients.
fn cut_header(set: &'static hush_params::ParamSet, id: BodyId, coefficients: u32) -> Header {
    body_header(set, BodyKind::CutSum, BodyId { element_count: coefficients, ..id })
}
