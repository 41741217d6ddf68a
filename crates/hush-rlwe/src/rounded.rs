// SPDX-License-Identifier: Apache-2.0
//! Bodies and ciphertexts of exact columns with rounded coefficients: the same messages in fewer bytes.
//!
//! ```text
//!   Body | CiphertextSet ─ round ─▶ bytes ─ restore ─▶ body object | CiphertextSet
//!             server                                      owner
//! ```
//!
//! # Payload
//! As that of the object which was rounded, but each polynomial is `N` coefficients of `w` bits ([`Rounding::pack`]).
//!
//! *Invariants.* Restored objects are what a server might have sent unrounded: every residue is canonical. Whether they still
//! decrypt is the planner's question (`hush_params::noise::rounded_bits`).

use hush_ring::{Coeff, Poly, Ring, Rounding};

use crate::answer::set_header;
use crate::body::body_header;
use crate::header::{self, Header, Shape};
use crate::{
    Body, BodyId, BodyKind, BodyWriter, CiphertextSet, CiphertextSetId, CodecError, RlweCiphertext, set_of,
};

/// A plaintext modulus, of any size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaintextModulus {
    /// `2^k`, of the layout `sum`.
    PowerOfTwo(u32),
    /// A prime, of a lane of the layout `slots`.
    Prime(u64),
}

/// Rounds objects of one ring, lane by lane.
#[derive(Clone, Debug)]
pub struct ObjectRounding {
    ring: Ring,
    bits: u8,
    lanes: Vec<Rounding>,
}

impl ObjectRounding {
    /// Rounding to `bits` bits; `moduli` has the plaintext modulus of each lane.
    ///
    /// # Errors
    /// [`CodecError::Object`] for bits out of range and moduli that share a prime with the ring's,
    /// [`CodecError::UnknownParams`] for a toy ring.
    pub fn new(ring: &Ring, bits: u32, moduli: &[PlaintextModulus]) -> Result<Self, CodecError> {
        set_of(ring)?;
        let lane = |modulus: &PlaintextModulus| {
            Rounding::new(ring, bits, |q| match modulus {
                PlaintextModulus::PowerOfTwo(log2) => q.pow(2, u64::from(*log2)),
                PlaintextModulus::Prime(prime) => q.reduce_u64(*prime),
            })
        };
        let lanes = moduli.iter().map(lane).collect::<Result<_, _>>()?;
        // A `Rounding` has at most 63 bits.
        Ok(Self { ring: ring.clone(), bits: bits as u8, lanes })
    }

    /// Rounds a stored body.
    ///
    /// # Cost
    /// For slots an inverse transform of each polynomial, then that of [`Rounding::round`].
    ///
    /// # Errors
    /// [`CodecError::Lanes`] for other lanes than this has moduli, [`CodecError::Params`] for a body of another ring.
    pub fn round_body(&self, body: &Body<'_>, kind: BodyKind) -> Result<Vec<u8>, CodecError> {
        let (found, expected) = (body.param_code(), self.ring.param_code());
        if found != expected {
            return Err(CodecError::Params { found, expected });
        }
        let id = body.id();
        let mut bytes = self.header(body_header(set_of(&self.ring)?, kind, id))?.begin()?;
        for element in 0..id.element_count {
            for (lane, rounding) in (0..id.lanes).zip(&self.lanes) {
                let mut poly = Poly::<Coeff>::zero(&self.ring);
                for (index, limb) in self.ring.limbs().iter().enumerate() {
                    let words = poly.limb_mut(index);
                    limb.unpack(body.packed(element, lane, index), words);
                    if kind == BodyKind::Slot {
                        limb.inverse(words);
                    }
                }
                rounding.pack(&rounding.round(poly)?, &mut bytes);
            }
        }
        header::seal(&mut bytes);
        Ok(bytes)
    }

    /// The body object, with residues, before rounding.
    ///
    /// # Errors
    /// A [`CodecError`] that names the first fault of the bytes, or the difference from the request.
    pub fn restore_body(&self, bytes: &[u8], kind: BodyKind, id: BodyId) -> Result<Vec<u8>, CodecError> {
        let payload = self.open(bytes, body_header(set_of(&self.ring)?, kind, id))?;
        let mut writer = BodyWriter::new(&self.ring, kind, id)?;
        for (rounding, packed) in self.polynomials(payload, 1) {
            let mut poly = rounding.restore(&rounding.unpack(packed))?;
            for (index, limb) in self.ring.limbs().iter().enumerate() {
                let words = poly.limb_mut(index);
                if kind == BodyKind::Slot {
                    limb.forward(words);
                }
                writer.push_limb(limb, words);
            }
        }
        writer.finish()
    }

    /// Rounds the ciphertexts that answer an expression about a chunk. Shorter ones are extended as in
    /// [`CiphertextSet::encode`].
    ///
    /// # Cost
    /// As [`ObjectRounding::round_body`], for each component.
    ///
    /// # Errors
    /// As [`CiphertextSet::encode`], and [`CodecError::Lanes`].
    pub fn round_ciphertexts(&self, set: &CiphertextSet, chunk: u32) -> Result<Vec<u8>, CodecError> {
        let mut bytes = self.header(set_header(&self.ring, set.id(chunk)?)?)?.begin()?;
        let zero = Poly::zero(&self.ring);
        for (lane, component) in set.components(&self.ring, &zero)? {
            if let Some(rounding) = self.lanes.get(lane) {
                rounding.pack(&rounding.round(component.clone().into_coeff())?, &mut bytes);
            }
        }
        header::seal(&mut bytes);
        Ok(bytes)
    }

    /// The ciphertexts before rounding.
    ///
    /// # Errors
    /// A [`CodecError`] that names the first fault of the bytes, or the difference from the request.
    pub fn restore_ciphertexts(
        &self,
        bytes: &[u8],
        id: CiphertextSetId,
    ) -> Result<CiphertextSet, CodecError> {
        let payload = self.open(bytes, set_header(&self.ring, id)?)?;
        let components = usize::from(id.components);
        let restore = |(rounding, packed): (&Rounding, &[u8])| {
            Ok(rounding.restore(&rounding.unpack(packed))?.into_eval())
        };
        let polys = self.polynomials(payload, components).map(restore);
        let polys = polys.collect::<Result<Vec<_>, CodecError>>()?;
        let ciphertexts = polys.chunks(components.max(1)).map(|polys| RlweCiphertext::new(polys.to_vec()));
        Ok(CiphertextSet { ciphertexts: ciphertexts.collect::<Result<_, _>>()?, lanes: id.lanes })
    }

    /// The rounded form of an object with this header.
    fn header(&self, whole: Header) -> Result<Header, CodecError> {
        let expected = self.lanes.len() as u8;
        let found = whole.shape.lanes;
        if found != expected {
            return Err(CodecError::Lanes { found, expected });
        }
        let shape = Shape { rounded_bits: self.bits, ..whole.shape };
        Ok(Header::over_ring(whole.kind, set_of(&self.ring)?, shape))
    }

    /// The payload of a rounded object, once its frame, and that it is the one asked for, has been checked.
    fn open<'a>(&self, bytes: &'a [u8], expected: Header) -> Result<&'a [u8], CodecError> {
        let expected = self.header(expected)?;
        let (header, payload) = Header::decode(bytes)?;
        header.expect(&expected)?;
        Ok(payload)
    }

    /// The packed polynomials of a payload with so many for each lane, and how each is rounded.
    fn polynomials<'a>(
        &'a self,
        payload: &'a [u8],
        components: usize,
    ) -> impl Iterator<Item = (&'a Rounding, &'a [u8])> {
        let of_lanes = self.lanes.iter().flat_map(move |lane| std::iter::repeat_n(lane, components));
        let each = self.lanes.first().map_or(1, Rounding::packed_bytes);
        of_lanes.cycle().zip(payload.chunks_exact(each))
    }
}
