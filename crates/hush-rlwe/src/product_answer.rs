// SPDX-License-Identifier: Apache-2.0
//! Objects with the components of a sum of products: with residues, which can be added to those over other rows, or rounded.
//!
//! ```text
//!   c_0 … c_d ─ encode_product(form) ─▶ bytes ─ decode ─▶ UncheckedProduct ─ conform(ring, form) ─▶ c_0 … c_d
//!               server                                                       owner, from the plan
//! ```
//!
//! # Payload
//! Component after component: in residues a packed polynomial in the evaluation domain; rounded, `N` coefficients of the component's own
//! bits ([`Rounding::pack`]), because roundings count with the power of the secret that they meet (docs/math/products.md).
//!
//! *Invariants.* The header has the bits of all components, so that the length follows from it. The plaintext modulus is not stored: the
//! plan knows it. What conforms has canonical residues. Whether it still decrypts is the planner's question
//! (`hush_params::noise::product_bits`).

use hush_params::size::{MAX_ROUNDED_BITS, packed_bytes, rounded_widths};
use hush_ring::{Eval, Poly, Ring, RingError, Rounding};

use crate::answer::unpack_poly;
use crate::header::{self, Header, MAX_PRODUCT_COMPONENTS, OVERHEAD_BYTES, Shape};
use crate::{CodecError, ObjectKind, append_packed, set_of};

/// How the components of a sum of products travel, as the owner's plan has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ProductForm {
    /// All residues: for partial sums, which are added up later.
    Residues {
        /// Components, 1 to [`MAX_PRODUCT_COMPONENTS`].
        components: u8,
    },
    /// Each component rounded to bits of its own.
    Rounded {
        /// Bits of a coefficient, 1 to [`MAX_ROUNDED_BITS`], of each of 1 to [`MAX_PRODUCT_COMPONENTS`] components.
        bits: Vec<u32>,
        /// The plaintext modulus, a prime that is none of the ring's.
        t: u64,
    },
}

impl ProductForm {
    /// How many components there are, at most 255.
    pub fn components(&self) -> u8 {
        match self {
            Self::Residues { components } => *components,
            Self::Rounded { bits, .. } => u8::try_from(bits.len()).unwrap_or(u8::MAX),
        }
    }

    /// The bits of each component, or `None` where it has residues.
    pub fn component_bits(&self) -> Vec<Option<u32>> {
        match self {
            Self::Residues { components } => vec![None; usize::from(*components)],
            Self::Rounded { bits, .. } => bits.iter().copied().map(Some).collect(),
        }
    }

    /// How each component is rounded, if it is.
    fn roundings(&self, ring: &Ring) -> Result<Vec<Option<Rounding>>, CodecError> {
        let rounding = |bits: Option<u32>, t: u64| {
            bits.map(|bits| Rounding::new(ring, bits, |q| q.reduce_u64(t))).transpose()
        };
        let t = match self {
            Self::Residues { .. } => 1,
            Self::Rounded { t, .. } => *t,
        };
        Ok(self.component_bits().into_iter().map(|bits| rounding(bits, t)).collect::<Result<_, _>>()?)
    }

    /// The header of an object in this form.
    fn header(&self, ring: &Ring) -> Result<Header, CodecError> {
        let components = self.components();
        if !(1..=MAX_PRODUCT_COMPONENTS).contains(&usize::from(components)) {
            let expected = components.clamp(1, MAX_PRODUCT_COMPONENTS as u8);
            return Err(CodecError::Components { found: components, expected });
        }
        let mut each = [0; MAX_PRODUCT_COMPONENTS];
        for (field, bits) in each.iter_mut().zip(self.component_bits()) {
            *field = match bits {
                Some(found @ 1..=MAX_ROUNDED_BITS) => found as u8,
                Some(found) => return Err(RingError::RoundedBits { found, max: MAX_ROUNDED_BITS }.into()),
                None => 0,
            };
        }
        Ok(Header::over_ring(ObjectKind::ProductAnswer, set_of(ring)?, Shape::of_product(components, each)))
    }
}

/// The binary object of a sum's components in this form.
///
/// # Cost
/// Rounded, for each component an inverse transform and what [`Rounding::round`] takes.
///
/// # Errors
/// [`CodecError::Components`] for another number of components than the form has, or one out of range; [`CodecError::Params`] for a
/// component of another ring; [`CodecError::Object`] for bits out of range, and a plaintext modulus that shares a prime with the ring;
/// [`CodecError::UnknownParams`] for a toy ring.
pub fn encode_product(
    ring: &Ring,
    components: &[Poly<Eval>],
    form: &ProductForm,
) -> Result<Vec<u8>, CodecError> {
    let header = form.header(ring)?;
    let (found, expected) = (components.len(), form.components());
    if found != usize::from(expected) {
        let found = u8::try_from(found).unwrap_or(u8::MAX);
        return Err(CodecError::Components { found, expected });
    }
    if let Some(other) = components.iter().find(|component| ring.check_same(component.ring()).is_err()) {
        let (found, expected) = (other.ring().param_code(), ring.param_code());
        return Err(CodecError::Params { found, expected });
    }
    let mut bytes = header.begin()?;
    for (component, rounding) in components.iter().zip(form.roundings(ring)?) {
        match rounding {
            Some(rounding) => rounding.pack(&rounding.round(component.clone().into_coeff())?, &mut bytes),
            None => component.limbs().for_each(|(limb, words)| append_packed(&mut bytes, limb, words)),
        }
    }
    header::seal(&mut bytes);
    Ok(bytes)
}

/// The components in a binary object that must have this form: [`UncheckedProduct`] in one step.
///
/// # Errors
/// A [`CodecError`] that names the first fault of the bytes, or the difference from the plan.
pub fn decode_product(bytes: &[u8], ring: &Ring, form: &ProductForm) -> Result<Vec<Poly<Eval>>, CodecError> {
    UncheckedProduct::decode(bytes)?.conform(ring, form)
}

/// Bytes of an object in this form, whether or not there can be one.
pub fn product_bytes(ring: &Ring, form: &ProductForm) -> usize {
    let bytes = |bits: Option<u32>| match bits {
        Some(bits) => rounded_widths(bits).map(|width| packed_bytes(ring.degree(), width)).sum(),
        None => ring.limb_count() * ring.limb_bytes(),
    };
    OVERHEAD_BYTES + form.component_bits().into_iter().map(bytes).sum::<usize>()
}

/// Bytes that decoded as a sum of products; not yet compared with the plan.
#[derive(Clone, Copy, Debug)]
pub struct UncheckedProduct<'a> {
    header: Header,
    payload: &'a [u8],
}

impl<'a> UncheckedProduct<'a> {
    /// Checks lengths, header and checksum; allocates nothing.
    ///
    /// # Errors
    /// A [`CodecError`] that names the first thing wrong.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, CodecError> {
        let (header, payload) = Header::decode(bytes)?;
        Ok(Self { header, payload })
    }

    /// Checks that these are components in the form of the plan, and every residue; restores what is rounded.
    ///
    /// # Cost
    /// Rounded, for each component what [`Rounding::restore`] takes and a transform.
    ///
    /// # Errors
    /// A [`CodecError`] that names the difference; those of [`encode_product`] about the form.
    pub fn conform(self, ring: &Ring, form: &ProductForm) -> Result<Vec<Poly<Eval>>, CodecError> {
        self.header.expect(&form.header(ring)?)?;
        let mut components = Vec::new();
        let mut rest = self.payload;
        for rounding in form.roundings(ring)? {
            let length = match &rounding {
                Some(rounding) => rounding.packed_bytes(),
                None => ring.limb_count() * ring.limb_bytes(),
            };
            let (packed, behind) = rest
                .split_at_checked(length)
                .ok_or(CodecError::Length { found: rest.len() as u64, expected: length as u64 })?;
            rest = behind;
            components.push(match rounding {
                Some(rounding) => rounding.restore(&rounding.unpack(packed))?.into_eval(),
                None => Poly::from_words(ring, unpack_poly(ring, packed, 0)?)?,
            });
        }
        Ok(components)
    }
}

#[cfg(test)]
mod tests;
