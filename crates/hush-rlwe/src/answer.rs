// SPDX-License-Identifier: Apache-2.0
//! Objects that a server sends back: answers to masked sums, and ciphertexts of slot expressions.

use hush_ring::{Coeff, Eval, Poly, Ring};

use crate::header::{self, CHECKSUM_BYTES, Header, Shape};
use crate::{CodecError, ObjectKind, RlweCiphertext, append_packed, check_residues, set_of};

/// The answer to a masked sum over any number of columns of one parameter set, for one group.
///
/// Column `c` has the phase `bodies[c] + (a·s_c)_0`, a single integer modulo `Q`; the other coefficients, which
/// would be cross terms, are never computed. If every weight was zero, `a` and the bodies are zero and so is
/// the sum: the server knows that anyway, since weights are clear.
///
/// # Payload
/// `a` packed as in a body; then for each column its residue modulo each prime, 8 bytes each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SumAnswer {
    /// The mask part, all coefficients.
    pub a: Poly<Coeff>,
    /// Coefficient 0 of the body part: `columns × limbs` canonical residues, column after column.
    bodies: Vec<u64>,
}

impl SumAnswer {
    /// Puts an answer together.
    ///
    /// # Errors
    /// [`CodecError::Length`] or [`CodecError::Residue`] if `bodies` is not a whole number of columns of
    /// canonical residues.
    pub fn new(a: Poly<Coeff>, bodies: Vec<u64>) -> Result<Self, CodecError> {
        let limbs = a.ring().limb_count();
        if !bodies.len().is_multiple_of(limbs) {
            let expected = bodies.len().next_multiple_of(limbs) as u64;
            return Err(CodecError::Length { found: bodies.len() as u64, expected });
        }
        for (column, residues) in bodies.chunks_exact(limbs).enumerate() {
            for (index, (limb, &residue)) in a.ring().limbs().iter().zip(residues).enumerate() {
                check_residues(limb, &[residue], column as u32, index)?;
            }
        }
        Ok(Self { a, bodies })
    }

    /// The ring.
    pub fn ring(&self) -> &Ring {
        self.a.ring()
    }

    /// Number of columns.
    pub fn body_count(&self) -> usize {
        self.bodies.len() / self.ring().limb_count()
    }

    /// The residues of one column, one for each prime; `None` if there is no such column.
    pub fn body(&self, column: usize) -> Option<&[u64]> {
        self.bodies.chunks_exact(self.ring().limb_count()).nth(column)
    }

    /// Adds the answer over other rows: the sum is the answer over both, bit for bit.
    ///
    /// # Errors
    /// [`CodecError::Params`] if the rings differ, [`CodecError::ElementCount`] if the numbers of columns do; nothing has been
    /// added then.
    pub fn add_assign(&mut self, other: &Self) -> Result<(), CodecError> {
        let (found, expected) = (other.body_count() as u32, self.body_count() as u32);
        if found != expected {
            return Err(CodecError::ElementCount { found, expected });
        }
        let (found, expected) = (other.ring().param_code(), self.ring().param_code());
        self.a.add_assign(&other.a).map_err(|_| CodecError::Params { found, expected })?;
        let limbs = self.a.ring().limbs().iter().cycle();
        for (limb, (sum, term)) in limbs.zip(self.bodies.iter_mut().zip(&other.bodies)) {
            *sum = limb.modulus().add(*sum, *term);
        }
        Ok(())
    }

    /// The binary object. `group` numbers the answer within the result.
    ///
    /// # Errors
    /// [`CodecError::UnknownParams`] for a toy ring.
    pub fn encode(&self, group: u32) -> Result<Vec<u8>, CodecError> {
        let header = sum_header(self.ring(), group, self.body_count() as u32)?;
        let mut bytes = header.begin()?;
        for (limb, words) in self.a.limbs() {
            append_packed(&mut bytes, limb, words);
        }
        for residue in &self.bodies {
            bytes.extend_from_slice(&residue.to_le_bytes());
        }
        header::seal(&mut bytes);
        Ok(bytes)
    }
}

/// Bytes of an encoded answer for this many columns.
pub fn sum_answer_bytes(ring: &Ring, body_count: usize) -> usize {
    let payload = ring.limb_count() * (ring.limb_bytes() + 8 * body_count);
    header::HEADER_BYTES + payload + CHECKSUM_BYTES
}

/// Bytes that decoded as a sum answer; not yet compared with the request.
#[derive(Clone, Copy, Debug)]
pub struct UncheckedSumAnswer<'a> {
    header: Header,
    payload: &'a [u8],
}

impl<'a> UncheckedSumAnswer<'a> {
    /// Checks lengths, header and checksum; allocates nothing.
    ///
    /// # Errors
    /// A [`CodecError`] that names the first thing wrong.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, CodecError> {
        let (header, payload) = Header::decode(bytes)?;
        Ok(Self { header, payload })
    }

    /// Checks that this answers group `group` of a query over `body_count` columns, and every residue.
    ///
    /// # Errors
    /// A [`CodecError`] that names the difference.
    pub fn conform(self, ring: &Ring, group: u32, body_count: u32) -> Result<SumAnswer, CodecError> {
        self.header.expect(&sum_header(ring, group, body_count)?)?;
        let (packed, rest) = self.payload.split_at(ring.limb_count() * ring.limb_bytes());
        let a = unpack_poly(ring, packed, 0)?;
        let bodies = rest.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        SumAnswer::new(Poly::from_words(ring, a).map_err(|_| CodecError::Checksum)?, bodies)
    }
}

/// Ciphertexts that answer a slot expression: for each ring element, one per plaintext modulus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CiphertextSet {
    /// Ring element after ring element, lane after lane.
    pub ciphertexts: Vec<RlweCiphertext>,
    /// Plaintext moduli per ring element.
    pub lanes: u8,
}

/// Which ciphertexts were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CiphertextSetId {
    /// Chunk that they cover, or a number that the request gives.
    pub chunk: u32,
    /// Ring elements.
    pub element_count: u32,
    /// Plaintext moduli.
    pub lanes: u8,
    /// Components of each ciphertext, 1 to 3.
    pub components: u8,
}

impl CiphertextSet {
    /// The binary object. Shorter ciphertexts are extended by zero components to the longest.
    ///
    /// # Payload
    /// Ring element, lane, component, limb, from the outside in; limbs packed as in a body.
    ///
    /// # Errors
    /// [`CodecError::ElementCount`] if the set is not a whole number of ring elements,
    /// [`CodecError::Params`] if a ciphertext belongs to another ring, [`CodecError::UnknownParams`] for toys.
    pub fn encode(&self, ring: &Ring, chunk: u32) -> Result<Vec<u8>, CodecError> {
        let mut bytes = set_header(ring, self.id(chunk)?)?.begin()?;
        let zero = Poly::zero(ring);
        for (_, component) in self.components(ring, &zero)? {
            for (limb, words) in component.limbs() {
                append_packed(&mut bytes, limb, words);
            }
        }
        header::seal(&mut bytes);
        Ok(bytes)
    }

    /// The identity of this set, as an answer about a chunk.
    ///
    /// # Errors
    /// [`CodecError::ElementCount`] if the set is not a whole number of ring elements.
    pub(crate) fn id(&self, chunk: u32) -> Result<CiphertextSetId, CodecError> {
        let lanes = self.lanes.max(1);
        let (found, element_count) = (self.ciphertexts.len(), self.ciphertexts.len() / usize::from(lanes));
        if element_count * usize::from(lanes) != found {
            let expected = (element_count as u32 + 1) * u32::from(lanes);
            return Err(CodecError::ElementCount { found: found as u32, expected });
        }
        let components = self.ciphertexts.iter().map(|ct| ct.components().len()).max().unwrap_or(1) as u8;
        Ok(CiphertextSetId { chunk, element_count: element_count as u32, lanes, components })
    }

    /// All polynomials in payload order, each with its lane; missing components are `zero`.
    ///
    /// # Errors
    /// [`CodecError::Params`] if a ciphertext belongs to another ring.
    pub(crate) fn components<'a>(
        &'a self,
        ring: &Ring,
        zero: &'a Poly<Eval>,
    ) -> Result<impl Iterator<Item = (usize, &'a Poly<Eval>)>, CodecError> {
        let other = self.ciphertexts.iter().find(|ciphertext| ring.check_same(ciphertext.ring()).is_err());
        if let Some(other) = other {
            let (found, expected) = (other.ring().param_code(), ring.param_code());
            return Err(CodecError::Params { found, expected });
        }
        let most = self.ciphertexts.iter().map(|ct| ct.components().len()).max().unwrap_or(1);
        let lanes = usize::from(self.lanes.max(1));
        Ok(self.ciphertexts.iter().enumerate().flat_map(move |(index, ciphertext)| {
            let padding = std::iter::repeat_n(zero, most - ciphertext.components().len());
            ciphertext.components().iter().chain(padding).map(move |component| (index % lanes, component))
        }))
    }
}

/// Bytes that decoded as ciphertexts; not yet compared with the request.
#[derive(Clone, Copy, Debug)]
pub struct UncheckedCiphertextSet<'a> {
    header: Header,
    payload: &'a [u8],
}

impl<'a> UncheckedCiphertextSet<'a> {
    /// Checks lengths, header and checksum; allocates nothing.
    ///
    /// # Errors
    /// A [`CodecError`] that names the first thing wrong.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, CodecError> {
        let (header, payload) = Header::decode(bytes)?;
        Ok(Self { header, payload })
    }

    /// Checks every residue, and that these are the expected ciphertexts.
    ///
    /// # Errors
    /// A [`CodecError`] that names the difference.
    pub fn conform(self, ring: &Ring, id: CiphertextSetId) -> Result<CiphertextSet, CodecError> {
        if !(1..=3).contains(&id.components) {
            return Err(CodecError::Components {
                found: self.header.shape.components,
                expected: id.components,
            });
        }
        self.header.expect(&set_header(ring, id)?)?;
        let poly_bytes = ring.limb_count() * ring.limb_bytes();
        let mut ciphertexts = Vec::new();
        let per_element = usize::from(id.lanes.max(1)) * usize::from(id.components) * poly_bytes;
        for (index, bytes) in self.payload.chunks_exact(poly_bytes * usize::from(id.components)).enumerate() {
            let element = (index * bytes.len() / per_element) as u32;
            let components = bytes
                .chunks_exact(poly_bytes)
                .map(|packed| {
                    let words = unpack_poly(ring, packed, element)?;
                    Poly::<Eval>::from_words(ring, words).map_err(|_| CodecError::Checksum)
                })
                .collect::<Result<Vec<_>, _>>()?;
            let found = components.len() as u8;
            let wrong = CodecError::Components { found, expected: id.components };
            ciphertexts.push(RlweCiphertext::new(components).map_err(|_| wrong)?);
        }
        Ok(CiphertextSet { ciphertexts, lanes: id.lanes })
    }
}

/// Unpacks all limbs of one polynomial and checks the residues.
pub(crate) fn unpack_poly(ring: &Ring, packed: &[u8], element: u32) -> Result<Vec<u64>, CodecError> {
    let mut words = vec![0; ring.poly_words()];
    let limbs = words.chunks_exact_mut(ring.degree()).zip(packed.chunks_exact(ring.limb_bytes()));
    for (index, (limb, (words, packed))) in ring.limbs().iter().zip(limbs).enumerate() {
        limb.unpack(packed, words);
        check_residues(limb, words, element, index)?;
    }
    Ok(words)
}

fn sum_header(ring: &Ring, group: u32, body_count: u32) -> Result<Header, CodecError> {
    let shape = Shape {
        column: 0,
        chunk: group,
        element_count: body_count,
        lanes: 1,
        components: 1,
        rounded_bits: 0,
    };
    Ok(Header::over_ring(ObjectKind::SumAnswer, set_of(ring)?, shape))
}

pub(crate) fn set_header(ring: &Ring, id: CiphertextSetId) -> Result<Header, CodecError> {
    let CiphertextSetId { chunk, element_count, lanes, components } = id;
    let shape = Shape { column: 0, chunk, element_count, lanes, components, rounded_bits: 0 };
    Ok(Header::over_ring(ObjectKind::Ciphertexts, set_of(ring)?, shape))
}
