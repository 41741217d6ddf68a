// SPDX-License-Identifier: Apache-2.0
//! Vectors of reals in slots, and element-wise arithmetic on them.

use std::sync::Arc;

use ethnum::I256;
use hush_ring::{Eval, Poly, Ring, UniformSeed};
use hush_rlwe::{Body, RlweCiphertext};

use super::embedding::{Complex, Embedding};
use super::{Scale, rounded};
use crate::{SchemeError, Values};

/// Encodes and decodes `N/2` real slots over one ring. Public tables, cheap to clone.
#[derive(Clone, Debug)]
pub struct ApproxEncoder {
    ring: Ring,
    embedding: Arc<Embedding>,
}

impl ApproxEncoder {
    /// Tables for a ring.
    pub fn new(ring: &Ring) -> Self {
        Self { ring: ring.clone(), embedding: Arc::new(Embedding::new(ring.degree(), ring.cpu())) }
    }

    /// The ciphertext ring.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Values per ring element, `N/2`.
    pub fn slot_count(&self) -> usize {
        self.ring.degree() / 2
    }

    /// The rounded coefficients of the polynomial with these slots at `scale`; missing slots are zero.
    ///
    /// # Errors
    /// [`SchemeError::TooManyValues`], [`SchemeError::NotFinite`], or [`SchemeError::ValueRange`] if a value or a
    /// coefficient reaches `Q/4`; the position is that of the value, or of the coefficient if only their sum is too large.
    pub fn coefficients(&self, values: &[f64], scale: Scale) -> Result<Vec<i128>, SchemeError> {
        let (found, max) = (values.len(), self.slot_count());
        if found > max {
            return Err(SchemeError::TooManyValues { found, max });
        }
        let limit_log2 = (self.ring.crt().log2_product() as u32).saturating_sub(2).min(126);
        let mut slots = vec![Complex::default(); max];
        for (index, (slot, &value)) in slots.iter_mut().zip(values).enumerate() {
            rounded(index, value, scale, limit_log2)?;
            slot.re = value;
        }
        let coefficients = self.embedding.interpolate(&slots).into_iter().enumerate();
        let encode = |(index, c)| Ok(rounded(index, c, scale, limit_log2)? as i128);
        coefficients.map(encode).collect()
    }

    /// A clear vector, ready to be added to a ciphertext of the same scale or multiplied with any.
    ///
    /// # Errors
    /// As [`ApproxEncoder::coefficients`].
    pub fn encode_clear(&self, values: &[f64], scale: Scale) -> Result<Poly<Eval>, SchemeError> {
        let coefficients = self.coefficients(values, scale)?;
        let degree = self.ring.degree();
        let mut words = vec![0; self.ring.poly_words()];
        for (limb, out) in self.ring.limbs().iter().zip(words.chunks_exact_mut(degree)) {
            Values::I128(&coefficients).residues_into(limb, out);
            limb.forward(out);
        }
        Ok(Poly::from_words(&self.ring, words)?)
    }

    /// The real parts of the slots of a phase that has been lifted to integers.
    ///
    /// # Errors
    /// [`SchemeError::TooManyValues`] unless there are `N` coefficients.
    pub fn decode(&self, phase: &[I256], scale: Scale) -> Result<Vec<f64>, SchemeError> {
        let (found, max) = (phase.len(), self.ring.degree());
        if found != max {
            return Err(SchemeError::TooManyValues { found, max });
        }
        let coefficients: Vec<f64> = phase.iter().map(|c| c.as_f64() / scale.factor()).collect();
        Ok(self.embedding.evaluate(&coefficients).into_iter().map(|slot| slot.re).collect())
    }
}

/// An encrypted vector of reals with its scale.
///
/// *Secrecy.* Public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApproxCiphertext {
    ciphertext: RlweCiphertext,
    scale: Scale,
}

impl ApproxCiphertext {
    /// A ciphertext with its phase at `scale`.
    pub fn new(ciphertext: RlweCiphertext, scale: Scale) -> Self {
        Self { ciphertext, scale }
    }

    /// Ring element `element` of a stored `approx_slots` column.
    ///
    /// # Errors
    /// [`SchemeError::Rlwe`] if the body belongs to another parameter set or has no such element.
    pub fn load(
        ring: &Ring,
        seed: UniformSeed,
        body: &Body<'_>,
        element: u32,
        scale: Scale,
    ) -> Result<Self, SchemeError> {
        Ok(Self { ciphertext: RlweCiphertext::load(ring, seed, body, element, 0)?, scale })
    }

    /// The ciphertext.
    pub fn ciphertext(&self) -> &RlweCiphertext {
        &self.ciphertext
    }

    /// The ciphertext.
    pub fn into_ciphertext(self) -> RlweCiphertext {
        self.ciphertext
    }

    /// The scale of the phase: the owner needs it to decode.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// `self += other`.
    ///
    /// # Errors
    /// [`SchemeError::ScaleMismatch`] if the scales differ; also if the rings do.
    pub fn add_assign(&mut self, other: &Self) -> Result<(), SchemeError> {
        self.check_scale(other.scale)?;
        Ok(self.ciphertext.add_assign(&other.ciphertext)?)
    }

    /// `self −= other`.
    ///
    /// # Errors
    /// [`SchemeError::ScaleMismatch`] if the scales differ; also if the rings do.
    pub fn sub_assign(&mut self, other: &Self) -> Result<(), SchemeError> {
        self.check_scale(other.scale)?;
        Ok(self.ciphertext.sub_assign(&other.ciphertext)?)
    }

    /// `self = −self`.
    pub fn neg_assign(&mut self) {
        self.ciphertext.neg_assign();
    }

    /// The product; scales multiply.
    ///
    /// # Errors
    /// [`SchemeError::Rlwe`] if an operand is a product already; [`SchemeError::ScaleRange`].
    pub fn mul(&self, other: &Self) -> Result<Self, SchemeError> {
        let scale = self.scale.product(other.scale)?;
        Ok(Self { ciphertext: self.ciphertext.mul(&other.ciphertext)?, scale })
    }

    /// Adds a clear vector, encoded at this ciphertext's scale.
    ///
    /// # Errors
    /// As [`ApproxEncoder::coefficients`].
    pub fn add_clear_assign(&mut self, encoder: &ApproxEncoder, values: &[f64]) -> Result<(), SchemeError> {
        let clear = encoder.encode_clear(values, self.scale)?;
        Ok(self.ciphertext.add_clear_assign(&clear)?)
    }

    /// Multiplies by a clear vector encoded at `scale`; scales multiply.
    ///
    /// # Errors
    /// As [`ApproxEncoder::coefficients`]; [`SchemeError::ScaleRange`].
    pub fn mul_clear_assign(
        &mut self,
        encoder: &ApproxEncoder,
        values: &[f64],
        scale: Scale,
    ) -> Result<(), SchemeError> {
        let product = self.scale.product(scale)?;
        self.ciphertext.mul_clear_assign(&encoder.encode_clear(values, scale)?)?;
        self.scale = product;
        Ok(())
    }

    /// Multiplies every slot by a clear integer; the scale stays.
    pub fn mul_integer_assign(&mut self, integer: i128) {
        self.ciphertext.mul_integer_assign(integer);
    }

    /// Brings the phase to a larger scale by an exact multiplication with a power of two, so that it can be
    /// added to a product.
    ///
    /// # Errors
    /// [`SchemeError::ScaleMismatch`] if `scale` is smaller than the present one.
    pub fn raise_to(&mut self, scale: Scale) -> Result<(), SchemeError> {
        let shift = scale.log2().checked_sub(self.scale.log2());
        let Some(shift) = shift else {
            return Err(SchemeError::ScaleMismatch { left: self.scale.log2(), right: scale.log2() });
        };
        self.ciphertext.mul_integer_assign(1 << shift);
        self.scale = scale;
        Ok(())
    }

    fn check_scale(&self, other: Scale) -> Result<(), SchemeError> {
        if self.scale == other {
            return Ok(());
        }
        Err(SchemeError::ScaleMismatch { left: self.scale.log2(), right: other.log2() })
    }
}
