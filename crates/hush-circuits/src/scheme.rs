// SPDX-License-Identifier: Apache-2.0
//! The operations that linear circuits ask of a scheme, so that circuits are written once.

use hush_ring::{Chain, Eval, Level, Poly, Ring};
use hush_rlwe::{ExtendedPair, RlweCiphertext};
use hush_schemes::SchemeError;
use hush_schemes::bgv::{BatchEncoder, Bfv, Bgv, BgvCiphertext};
use hush_schemes::ckks::{Ckks, CkksCiphertext, Complex};

use crate::CircuitError;
use crate::error::check_depth;

/// A scheme over a chain with rows of slots as messages.
pub trait SlotScheme {
    /// Its ciphertexts.
    type Ciphertext: Clone;
    /// The type of a clear slot.
    type Value: Copy + Default + PartialEq;

    /// The chain.
    fn chain(&self) -> &Chain;
    /// Rows of `N/2` slots.
    fn row_count(&self) -> usize;
    /// The slot value 1.
    fn one(&self) -> Self::Value;
    /// The components of a ciphertext.
    fn inner<'a>(&self, a: &'a Self::Ciphertext) -> &'a RlweCiphertext;

    /// A ciphertext with other components, and the level, scale or factor of `a`.
    ///
    /// # Errors
    /// [`CircuitError::Scheme`] if they are over a ring of another chain.
    fn like(&self, a: &Self::Ciphertext, inner: RlweCiphertext) -> Result<Self::Ciphertext, CircuitError>;

    /// Levels that a product with clear slots uses.
    fn clear_product_depth(&self) -> u32;

    /// Clear slots over the extended ring of a level, ready for products with ciphertexts at that level's own scale.
    ///
    /// # Errors
    /// [`CircuitError::Scheme`] as the scheme's own encoding.
    fn encode_extended(&self, values: &[Self::Value], level: Level) -> Result<Poly<Eval>, CircuitError>;

    /// The sum of products of rotations of `a` with clear slots, from `P` times the sum.
    ///
    /// # Errors
    /// [`CircuitError::Scheme`] if `a` is not at its level's own scale, or at level 0 where a level is needed.
    fn finish(&self, a: &Self::Ciphertext, sum: &ExtendedPair) -> Result<Self::Ciphertext, CircuitError>;

    /// `a·values`, slot by slot, one level lower if [`SlotScheme::clear_product_depth`] says so.
    ///
    /// # Errors
    /// [`CircuitError::Levels`]; [`CircuitError::Scheme`] for too many values.
    fn mul_clear(
        &self,
        a: &Self::Ciphertext,
        values: &[Self::Value],
    ) -> Result<Self::Ciphertext, CircuitError>;

    /// Slots of a row.
    fn row_slots(&self) -> usize {
        self.chain().degree() / 2
    }
    /// Slots of a ciphertext.
    fn slot_count(&self) -> usize {
        self.row_count() * self.row_slots()
    }
}

impl SlotScheme for Ckks {
    type Ciphertext = CkksCiphertext;
    type Value = Complex;

    fn chain(&self) -> &Chain {
        Ckks::chain(self)
    }
    fn row_count(&self) -> usize {
        1
    }
    fn one(&self) -> Complex {
        Complex { re: 1.0, im: 0.0 }
    }
    fn inner<'a>(&self, a: &'a CkksCiphertext) -> &'a RlweCiphertext {
        a.inner()
    }
    fn like(&self, a: &CkksCiphertext, inner: RlweCiphertext) -> Result<CkksCiphertext, CircuitError> {
        Ok(self.ciphertext_at(inner, a.scale())?)
    }
    fn clear_product_depth(&self) -> u32 {
        1
    }
    fn encode_extended(&self, values: &[Complex], level: Level) -> Result<Poly<Eval>, CircuitError> {
        let ring = self.chain().level(level)?.extended();
        Ok(self.encode_over(values, ring, self.own_clear_scale(level)?)?.into_eval())
    }
    fn finish(&self, a: &CkksCiphertext, sum: &ExtendedPair) -> Result<CkksCiphertext, CircuitError> {
        check_own_scale(self, a)?;
        let (body, mask) = sum.drop_special_and_mod_switch()?;
        Ok(self.ciphertext(RlweCiphertext::new(vec![body, mask])?)?)
    }
    fn mul_clear(&self, a: &CkksCiphertext, values: &[Complex]) -> Result<CkksCiphertext, CircuitError> {
        check_depth(a.level(), 1)?;
        Ok(self.rescale(&self.mul_plain(a, values)?)?)
    }
}

impl SlotScheme for Bgv {
    type Ciphertext = BgvCiphertext;
    type Value = i64;

    fn chain(&self) -> &Chain {
        Bgv::chain(self)
    }
    fn row_count(&self) -> usize {
        2
    }
    fn one(&self) -> i64 {
        1
    }
    fn inner<'a>(&self, a: &'a BgvCiphertext) -> &'a RlweCiphertext {
        a.inner()
    }
    fn like(&self, a: &BgvCiphertext, inner: RlweCiphertext) -> Result<BgvCiphertext, CircuitError> {
        Ok(self.ciphertext_at(inner, a.factor())?)
    }
    fn clear_product_depth(&self) -> u32 {
        0
    }
    fn encode_extended(&self, values: &[i64], level: Level) -> Result<Poly<Eval>, CircuitError> {
        lift(self.encoder(), values, self.chain().level(level)?.extended())
    }
    fn finish(&self, a: &BgvCiphertext, sum: &ExtendedPair) -> Result<BgvCiphertext, CircuitError> {
        let (body, mask) = sum.drop_special()?;
        self.like(a, RlweCiphertext::new(vec![body, mask])?)
    }
    fn mul_clear(&self, a: &BgvCiphertext, values: &[i64]) -> Result<BgvCiphertext, CircuitError> {
        Ok(self.mul_plain(a, values)?)
    }
}

impl SlotScheme for Bfv {
    type Ciphertext = RlweCiphertext;
    type Value = i64;

    fn chain(&self) -> &Chain {
        Bfv::chain(self)
    }
    fn row_count(&self) -> usize {
        2
    }
    fn one(&self) -> i64 {
        1
    }
    fn inner<'a>(&self, a: &'a RlweCiphertext) -> &'a RlweCiphertext {
        a
    }
    fn like(&self, _: &RlweCiphertext, inner: RlweCiphertext) -> Result<RlweCiphertext, CircuitError> {
        Ok(inner)
    }
    fn clear_product_depth(&self) -> u32 {
        0
    }
    fn encode_extended(&self, values: &[i64], level: Level) -> Result<Poly<Eval>, CircuitError> {
        lift(self.encoder(), values, self.chain().level(level)?.extended())
    }
    fn finish(&self, _: &RlweCiphertext, sum: &ExtendedPair) -> Result<RlweCiphertext, CircuitError> {
        let (body, mask) = sum.drop_special()?;
        Ok(RlweCiphertext::new(vec![body, mask])?)
    }
    fn mul_clear(&self, a: &RlweCiphertext, values: &[i64]) -> Result<RlweCiphertext, CircuitError> {
        Ok(self.mul_plain(a, values)?)
    }
}

/// The polynomial with these slots modulo `t`, its coefficients nearest to zero, over any ring of the chain.
fn lift(encoder: &BatchEncoder, values: &[i64], ring: &Ring) -> Result<Poly<Eval>, CircuitError> {
    let coefficients = encoder.coefficients(values)?;
    let mut poly = Poly::recycled(ring);
    for (index, limb) in ring.limbs().iter().enumerate() {
        limb.lift_signed(&coefficients, poly.limb_mut(index));
    }
    Ok(poly.into_eval())
}

/// Refuses a ciphertext at another scale than its level's own, at which products would not stay on the chain's scales.
pub(crate) fn check_own_scale(scheme: &Ckks, a: &CkksCiphertext) -> Result<(), CircuitError> {
    let own = scheme.scale(a.level())?;
    if a.scale().is_near(own) {
        return Ok(());
    }
    Err(SchemeError::RealScales { left: a.scale(), right: own }.into())
}
