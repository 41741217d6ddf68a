// SPDX-License-Identifier: Apache-2.0
//! BGV over a modulus chain: products, rotations, and the divisions that keep noise small.
//!
//! # Math
//! A phase is `f·m + t·e`, where the factor `f` modulo `t` is public: a division by `q` multiplies it by `q⁻¹`, a product
//! multiplies the factors. Sums first bring operands to one factor, by the smallest integers that do.
//!
//! # References
//! \[BGV12\]; \[GHS12\] division that keeps the message modulo `t`; \[KPZ21\] BGV in RNS with hybrid key switching.

use hush_arith::Modulus;
use hush_params::ChainParams;
use hush_ring::{Chain, Coeff, Cpu, Level, Poly};
use hush_rlwe::{
    EvaluationKeys, HoistedCiphertext, RlweCiphertext, RlweError, conjugation_element, rotation_element,
};

use super::batch::{BatchEncoder, lift, lift_eval};
use crate::SchemeError;

mod several;

/// The scheme over one chain and plaintext modulus. Public; cheap to share by reference.
#[derive(Debug)]
pub struct Bgv {
    chain: Chain,
    encoder: BatchEncoder,
}

/// A ciphertext with the facts that are publicly known of it.
///
/// *Invariants.* The components are over the ring of `level`; `factor` is invertible modulo `t`. *Secrecy.* Public.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BgvCiphertext {
    inner: RlweCiphertext,
    level: Level,
    factor: u64,
}

impl BgvCiphertext {
    /// The components.
    pub fn inner(&self) -> &RlweCiphertext {
        &self.inner
    }
    /// The components, taken out.
    pub fn into_inner(self) -> RlweCiphertext {
        self.inner
    }
    /// The level.
    pub fn level(&self) -> Level {
        self.level
    }
    /// The factor of the message, modulo `t`.
    pub fn factor(&self) -> u64 {
        self.factor
    }
}

impl Bgv {
    /// Tables for a chain and a plaintext modulus, a prime `1 mod 2N`.
    ///
    /// # Errors
    /// [`SchemeError::PlaintextModulus`]; [`SchemeError::Ring`] if the chain's numbers are no primes.
    pub fn new(params: &ChainParams, t: u64, cpu: Cpu) -> Result<Self, SchemeError> {
        let chain = Chain::new(params, t, cpu)?;
        let encoder = BatchEncoder::new(chain.key_ring(), t)?;
        Ok(Self { chain, encoder })
    }

    /// The chain.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }
    /// The encoder of rows.
    pub fn encoder(&self) -> &BatchEncoder {
        &self.encoder
    }
    /// The plaintext modulus.
    pub fn t(&self) -> Modulus {
        self.encoder.t()
    }

    /// The message with these slots, ready to be encrypted at `level`.
    ///
    /// # Errors
    /// [`SchemeError::TooManyValues`]; [`SchemeError::Ring`] if there is no such level.
    pub fn encode(&self, values: &[i64], level: Level) -> Result<Poly<Coeff>, SchemeError> {
        lift(self.chain.ring(level)?, &self.encoder.coefficients(values)?)
    }

    /// The message with these coefficients, taken modulo `t`: for inner products by coefficient packing.
    ///
    /// # Errors
    /// As [`Bgv::encode`].
    pub fn encode_coefficients(&self, values: &[i64], level: Level) -> Result<Poly<Coeff>, SchemeError> {
        let reduced: Vec<i64> =
            values.iter().map(|&value| self.encoder.centered(self.t().reduce_i64(value))).collect();
        lift(self.chain.ring(level)?, &reduced)
    }

    /// The message whose product with [`Bgv::encode_coefficients`] of `x` has `Σ x_i·values_i` as coefficient 0: the values
    /// reversed, `v_0 − Σ_{i>0} v_i·X^(N−i)`.
    ///
    /// # Errors
    /// As [`Bgv::encode`].
    pub fn encode_reversed(&self, values: &[i64], level: Level) -> Result<Poly<Coeff>, SchemeError> {
        let (found, max) = (values.len(), self.chain.degree());
        if found > max {
            return Err(SchemeError::TooManyValues { found, max });
        }
        let mut reversed = vec![0; max];
        for (index, &value) in values.iter().enumerate() {
            let value = self.t().reduce_i64(value);
            let (place, value) = if index == 0 { (0, value) } else { (max - index, self.t().neg(value)) };
            reversed[place] = self.encoder.centered(value);
        }
        lift(self.chain.ring(level)?, &reversed)
    }

    /// A fresh ciphertext of an encoded message.
    ///
    /// # Errors
    /// [`SchemeError::Ring`] if it is of no level of this chain.
    pub fn ciphertext(&self, inner: RlweCiphertext) -> Result<BgvCiphertext, SchemeError> {
        let level = self.chain.level_of(inner.ring())?;
        Ok(BgvCiphertext { inner, level, factor: 1 })
    }

    /// A ciphertext with its message multiplied by `factor` modulo `t`.
    ///
    /// # Errors
    /// As [`Bgv::ciphertext`]; [`SchemeError::Ring`] if the factor has no inverse.
    pub fn ciphertext_at(&self, inner: RlweCiphertext, factor: u64) -> Result<BgvCiphertext, SchemeError> {
        let level = self.chain.level_of(inner.ring())?;
        let factor = self.t().reduce_u64(factor);
        self.inverse(factor)?;
        Ok(BgvCiphertext { inner, level, factor })
    }

    /// The slots of a decrypted phase.
    ///
    /// # Errors
    /// [`SchemeError::Ring`], which a phase of this chain rules out.
    pub fn decode(&self, phase: &Poly<Coeff>, ciphertext: &BgvCiphertext) -> Result<Vec<i64>, SchemeError> {
        Ok(self.encoder.slots(self.encoder.reduce(phase, 1, self.inverse(ciphertext.factor)?)?))
    }

    /// The coefficients of a decrypted phase, modulo `t`, nearest to zero.
    ///
    /// # Errors
    /// As [`Bgv::decode`].
    pub fn decode_coefficients(
        &self,
        phase: &Poly<Coeff>,
        ciphertext: &BgvCiphertext,
    ) -> Result<Vec<i64>, SchemeError> {
        let words = self.encoder.reduce(phase, 1, self.inverse(ciphertext.factor)?)?;
        Ok(words.iter().map(|&word| self.encoder.centered(word)).collect())
    }

    /// `a + b`.
    ///
    /// # Noise
    /// Bounds add; if the factors differ, each operand is first multiplied by an integer of about `√t`.
    ///
    /// # Errors
    /// [`SchemeError::Rlwe`] if the levels differ.
    pub fn add(&self, a: &BgvCiphertext, b: &BgvCiphertext) -> Result<BgvCiphertext, SchemeError> {
        self.combine(a, b, RlweCiphertext::add_assign)
    }

    /// `a − b`.
    ///
    /// # Errors
    /// As [`Bgv::add`].
    pub fn sub(&self, a: &BgvCiphertext, b: &BgvCiphertext) -> Result<BgvCiphertext, SchemeError> {
        self.combine(a, b, RlweCiphertext::sub_assign)
    }

    /// `−a`.
    pub fn neg(&self, a: &BgvCiphertext) -> BgvCiphertext {
        let mut out = a.clone();
        out.inner.neg_assign();
        out
    }

    /// `a + values`, slot by slot.
    ///
    /// # Errors
    /// [`SchemeError::TooManyValues`].
    pub fn add_plain(&self, a: &BgvCiphertext, values: &[i64]) -> Result<BgvCiphertext, SchemeError> {
        let mut coefficients = self.encoder.coefficients(values)?;
        for coefficient in &mut coefficients {
            let residue = self.t().mul(self.t().reduce_i64(*coefficient), a.factor);
            *coefficient = self.encoder.centered(residue);
        }
        let mut out = a.clone();
        out.inner.add_clear_assign(&lift_eval(a.inner.ring(), &coefficients)?)?;
        Ok(out)
    }

    /// `a·values`, slot by slot.
    ///
    /// # Noise
    /// Times at most `N·t/2`.
    ///
    /// # Errors
    /// [`SchemeError::TooManyValues`].
    pub fn mul_plain(&self, a: &BgvCiphertext, values: &[i64]) -> Result<BgvCiphertext, SchemeError> {
        let clear = lift_eval(a.inner.ring(), &self.encoder.coefficients(values)?)?;
        let mut out = a.clone();
        out.inner.mul_clear_assign(&clear)?;
        Ok(out)
    }

    /// `scalar·a`; the noise grows by the residue of the scalar nearest to zero.
    pub fn mul_scalar(&self, a: &BgvCiphertext, scalar: i64) -> BgvCiphertext {
        let mut out = a.clone();
        out.inner.mul_integer_assign(self.encoder.centered(self.t().reduce_i64(scalar)).into());
        out
    }

    /// `a·b`: three components, to be relinearised or summed first.
    ///
    /// # Memory
    /// `3·L` rows of `N` words, see docs/math/chains.md.
    ///
    /// # Errors
    /// [`SchemeError::Rlwe`] if the levels differ or an operand is a product already.
    pub fn mul(&self, a: &BgvCiphertext, b: &BgvCiphertext) -> Result<BgvCiphertext, SchemeError> {
        check_levels(a, b)?;
        let inner = a.inner.mul(&b.inner)?;
        Ok(BgvCiphertext { inner, level: a.level, factor: self.t().mul(a.factor, b.factor) })
    }

    /// Three components to two.
    ///
    /// # Memory
    /// `F` rows of docs/math/chains.md.
    ///
    /// # Errors
    /// [`SchemeError::Rlwe`] without the key.
    pub fn relinearize(
        &self,
        a: &BgvCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<BgvCiphertext, SchemeError> {
        Ok(BgvCiphertext { inner: a.inner.relinearize(keys)?, ..*a })
    }

    /// `a·b`, relinearised, in one.
    ///
    /// # Errors
    /// As [`Bgv::mul`] and [`Bgv::relinearize`].
    pub fn mul_relinearize(
        &self,
        a: &BgvCiphertext,
        b: &BgvCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<BgvCiphertext, SchemeError> {
        check_levels(a, b)?;
        let inner = a.inner.mul_relinearize(&b.inner, keys)?;
        Ok(BgvCiphertext { inner, level: a.level, factor: self.t().mul(a.factor, b.factor) })
    }

    /// `a·b`, relinearised and divided to the level below: the step of every deep circuit, in one.
    ///
    /// # Memory
    /// `F` rows of docs/math/chains.md.
    ///
    /// # Errors
    /// As [`Bgv::mul`], [`Bgv::relinearize`] and [`Bgv::mod_switch`].
    pub fn mul_mod_switch(
        &self,
        a: &BgvCiphertext,
        b: &BgvCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<BgvCiphertext, SchemeError> {
        check_levels(a, b)?;
        let inner = a.inner.mul_relinearize_and_mod_switch(&b.inner, keys)?;
        self.divided(inner, a.level, self.t().mul(a.factor, b.factor))
    }

    /// Relinearisation and division in one, for sums of products.
    ///
    /// # Errors
    /// [`SchemeError::Rlwe`] without the key, at level 0, or unless there are three components.
    pub fn relinearize_mod_switch(
        &self,
        a: &BgvCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<BgvCiphertext, SchemeError> {
        self.divided(a.inner.relinearize_and_mod_switch(keys)?, a.level, a.factor)
    }

    /// The division to the level below: noise shrinks by the ratio of the moduli, down to a floor.
    ///
    /// # Errors
    /// [`SchemeError::Rlwe`] at level 0.
    pub fn mod_switch(&self, a: &BgvCiphertext) -> Result<BgvCiphertext, SchemeError> {
        self.divided(a.inner.mod_switch(&self.chain)?, a.level, a.factor)
    }

    /// Divisions down to `level`.
    ///
    /// # Errors
    /// [`SchemeError::Rlwe`] if `level` is above the ciphertext's.
    pub fn mod_switch_to(&self, a: &BgvCiphertext, level: Level) -> Result<BgvCiphertext, SchemeError> {
        if level > a.level {
            return Err(RlweError::LevelMismatch { left: a.level, right: level }.into());
        }
        let mut out = a.clone();
        while out.level > level {
            out = self.mod_switch(&out)?;
        }
        Ok(out)
    }

    /// Both rows `steps` places to the left.
    ///
    /// # Memory
    /// `F + 1` rows of docs/math/chains.md.
    ///
    /// # Errors
    /// [`SchemeError::Rlwe`] without the key for `hush_rlwe::rotation_element`, or for a product that is not relinearised.
    pub fn rotate_rows(
        &self,
        a: &BgvCiphertext,
        steps: i64,
        keys: &EvaluationKeys,
    ) -> Result<BgvCiphertext, SchemeError> {
        self.automorphism(a, rotation_element(self.chain.degree(), steps), keys)
    }

    /// The rows swapped.
    ///
    /// # Errors
    /// As [`Bgv::rotate_rows`].
    pub fn swap_rows(&self, a: &BgvCiphertext, keys: &EvaluationKeys) -> Result<BgvCiphertext, SchemeError> {
        self.automorphism(a, conjugation_element(self.chain.degree()), keys)
    }

    /// Several rotations of one ciphertext, decomposed once.
    ///
    /// # Memory
    /// `H + 2·(L + K) + D` rows of docs/math/chains.md, and `2·L` for each result.
    ///
    /// # Errors
    /// As [`Bgv::rotate_rows`].
    pub fn rotate_rows_many(
        &self,
        a: &BgvCiphertext,
        steps: &[i64],
        keys: &EvaluationKeys,
    ) -> Result<Vec<BgvCiphertext>, SchemeError> {
        let hoisted: HoistedCiphertext<'_> = a.inner.hoist(&self.chain)?;
        let rotate = |&steps: &i64| {
            let element = rotation_element(self.chain.degree(), steps);
            if element == 1 {
                return Ok(a.clone());
            }
            Ok(BgvCiphertext { inner: hoisted.automorphism(keys, element)?, ..*a })
        };
        steps.iter().map(rotate).collect()
    }

    /// The sum of all slots, in every slot; needs the keys of [`sum_elements`].
    ///
    /// # Cost
    /// `log2 N` key switches.
    ///
    /// # Errors
    /// As [`Bgv::rotate_rows`].
    pub fn sum_slots(&self, a: &BgvCiphertext, keys: &EvaluationKeys) -> Result<BgvCiphertext, SchemeError> {
        let mut sum = a.clone();
        for element in sum_elements(self.chain.degree()) {
            let moved = self.automorphism(&sum, element, keys)?;
            sum.inner.add_assign(&moved.inner)?;
        }
        Ok(sum)
    }

    /// The BFV ciphertext of the same message, exactly: the phase divided by `t` modulo `Q` (docs/math/chains.md).
    ///
    /// # Noise
    /// The BGV error, times an integer of at most `t/2` unless the factor is `−Q` already.
    ///
    /// # Errors
    /// [`SchemeError::Ring`], which the chain rules out.
    pub fn to_bfv(&self, a: &BgvCiphertext) -> Result<RlweCiphertext, SchemeError> {
        let t = self.t();
        let aligned = t.mul(self.minus_q(a.inner.ring()), self.inverse(a.factor)?);
        let mut inner = a.inner.clone();
        inner.mul_integer_assign(self.encoder.centered(aligned).into());
        self.divided_by_t(inner)
    }

    /// `a·values`, slot by slot, as a BFV ciphertext: [`Bgv::mul_plain`] and [`Bgv::to_bfv`] in one.
    ///
    /// # Noise
    /// Times at most `N·t/2`, as of the former alone.
    ///
    /// # Errors
    /// As of both.
    pub fn mul_plain_to_bfv(&self, a: &BgvCiphertext, values: &[i64]) -> Result<RlweCiphertext, SchemeError> {
        let t = self.t();
        let aligned = t.mul(self.minus_q(a.inner.ring()), self.inverse(a.factor)?);
        let mut coefficients = self.encoder.coefficients(values)?;
        for coefficient in &mut coefficients {
            *coefficient = self.encoder.centered(t.mul(t.reduce_i64(*coefficient), aligned));
        }
        let mut inner = a.inner.clone();
        inner.mul_clear_assign(&lift_eval(a.inner.ring(), &coefficients)?)?;
        self.divided_by_t(inner)
    }

    /// Phases divided by `t` modulo `Q`.
    fn divided_by_t(&self, a: RlweCiphertext) -> Result<RlweCiphertext, SchemeError> {
        let t = self.t().value();
        let inverse = |limb: &hush_ring::RingLimb| {
            let q = limb.modulus();
            q.inv(q.reduce_u64(t)).map_err(hush_ring::RingError::from)
        };
        let scalars = a.ring().limbs().iter().map(inverse).collect::<Result<Vec<_>, _>>()?;
        Ok(a.mul_scalars(&scalars)?)
    }

    /// The BGV ciphertext of a BFV ciphertext's message, exactly: the phase times `t`, with factor `−Q`.
    ///
    /// # Errors
    /// [`SchemeError::Ring`] if it is of no level of this chain.
    pub fn from_bfv(&self, inner: &RlweCiphertext) -> Result<BgvCiphertext, SchemeError> {
        let level = self.chain.level_of(inner.ring())?;
        let mut out = inner.clone();
        out.mul_integer_assign(self.t().value().into());
        let factor = self.minus_q(inner.ring());
        Ok(BgvCiphertext { inner: out, level, factor })
    }

    /// `−Q mod t`.
    fn minus_q(&self, ring: &hush_ring::Ring) -> u64 {
        let t = self.t();
        let product =
            |product, limb: &hush_ring::RingLimb| t.mul(product, t.reduce_u64(limb.modulus().value()));
        t.neg(ring.limbs().iter().fold(1, product))
    }

    fn automorphism(
        &self,
        a: &BgvCiphertext,
        element: usize,
        keys: &EvaluationKeys,
    ) -> Result<BgvCiphertext, SchemeError> {
        if element == 1 {
            return Ok(a.clone());
        }
        Ok(BgvCiphertext { inner: a.inner.automorphism(keys, element)?, ..*a })
    }

    fn divided(&self, inner: RlweCiphertext, from: Level, factor: u64) -> Result<BgvCiphertext, SchemeError> {
        let level = from.below().ok_or(RlweError::LastLevel)?;
        let switch = self.chain.level(from)?.mod_switch().ok_or(RlweError::LastLevel)?;
        let factor = self.t().mul(factor, switch.factor_mod(self.t())?);
        Ok(BgvCiphertext { inner, level, factor })
    }

    fn combine(
        &self,
        a: &BgvCiphertext,
        b: &BgvCiphertext,
        op: impl Fn(&mut RlweCiphertext, &RlweCiphertext) -> Result<(), RlweError>,
    ) -> Result<BgvCiphertext, SchemeError> {
        check_levels(a, b)?;
        let mut out = a.clone();
        if a.factor == b.factor {
            op(&mut out.inner, &b.inner)?;
            return Ok(out);
        }
        let (x, y) = balance(self.t(), a.factor, b.factor)?;
        out.inner.mul_integer_assign(x.into());
        out.factor = self.t().mul(a.factor, self.t().reduce_i64(x));
        let mut other = b.inner.clone();
        other.mul_integer_assign(y.into());
        op(&mut out.inner, &other)?;
        Ok(out)
    }

    fn inverse(&self, factor: u64) -> Result<u64, SchemeError> {
        Ok(self.t().inv(factor).map_err(hush_ring::RingError::from)?)
    }
}

/// The Galois elements of [`Bgv::sum_slots`]: rotations by powers of two, then the swap of rows.
pub fn sum_elements(degree: usize) -> Vec<usize> {
    let rotations = (0..degree.trailing_zeros() - 1).map(|k| rotation_element(degree, 1 << k));
    rotations.chain([conjugation_element(degree)]).collect()
}

fn check_levels(a: &BgvCiphertext, b: &BgvCiphertext) -> Result<(), SchemeError> {
    if a.level == b.level {
        return Ok(());
    }
    Err(RlweError::LevelMismatch { left: a.level, right: b.level }.into())
}

/// Integers `x, y` of about `√t` at most with `x·a ≡ y·b mod t`.
///
/// # Math
/// In Euclid's algorithm on `t` and `r = a·b⁻¹` every remainder is `y = x·r mod t` for the cofactor `x`, and
/// `|x|·(previous remainder) ≤ t`: at the first remainder below `√t` both are small. Public values.
fn balance(t: Modulus, a: u64, b: u64) -> Result<(i64, i64), SchemeError> {
    let ratio = t.mul(a, t.inv(b).map_err(hush_ring::RingError::from)?);
    let root = (t.value() as f64).sqrt() as i64;
    let (mut previous, mut current) = ((t.value() as i64, 0_i64), (ratio as i64, 1_i64));
    while current.0 > root {
        let quotient = previous.0 / current.0;
        let next = (previous.0 - quotient * current.0, previous.1 - quotient * current.1);
        (previous, current) = (current, next);
    }
    Ok((current.1, current.0))
}
