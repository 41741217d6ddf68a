// SPDX-License-Identifier: Apache-2.0
//! CKKS over a modulus chain: approximate arithmetic on complex (or real) slots, with divisions that keep the scale.
//!
//! # Math
//! Slot `i` is the value at `ζ^(5^i)`, so that `X ↦ X^(5^k)` moves slots `k` places to the left and `X ↦ X^(−1)` conjugates
//! them. A phase is `Δ·m + e`. A product has scale `Δ²`, and the division to the level below multiplies it by the exact
//! ratio of the moduli, which is near `1/Δ` and never equal to it.
//!
//! *Scales.* Every level has one scale of its own, `Δ_(ℓ−1) = Δ_ℓ²·ratio_ℓ` ([`Ckks::scale`]): a product of two ciphertexts of
//! a level, divided, has the scale of the level below exactly, whatever the order of operations, and sums need no
//! correction \[KPP22, section 4\]. [`Ckks::level_down`] brings a ciphertext to a lower level at its scale.
//!
//! # References
//! \[CKKS17\]; \[CHKKS18\] in RNS; \[KPP22\] exact scales; \[SS24\] divisions by any ratio ("rational rescaling").

use hush_params::ChainParams;
use hush_ring::{Chain, Cpu, Eval, Level, Poly, Ring};
use hush_rlwe::{EvaluationKeys, RlweCiphertext, RlweError, conjugation_element, rotation_element};

pub use super::embedding::Complex;
use super::embedding::Embedding;
use super::reals::{integers, rounded};
use crate::{RealScale, SchemeError};

mod encoding;
mod several;

/// The scheme over one chain. Public; share it by reference.
#[derive(Debug)]
pub struct Ckks {
    chain: Chain,
    embedding: Embedding,
    /// Place in the embedding's order of slot `i`.
    places: Vec<u32>,
    scales: Vec<f64>,
    /// For each level the scale of clear factors of ciphertexts at their own scale.
    clear_scales: Vec<f64>,
    segment_tops: Vec<Level>,
}

/// A ciphertext with its level and scale.
///
/// *Invariants.* The components are over the ring of `level`; the scale is finite and positive. *Secrecy.* Public.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CkksCiphertext {
    inner: RlweCiphertext,
    level: Level,
    scale: RealScale,
}

impl CkksCiphertext {
    /// The components.
    pub fn inner(&self) -> &RlweCiphertext {
        &self.inner
    }
    /// The level.
    pub fn level(&self) -> Level {
        self.level
    }
    /// The scale of the phase.
    pub fn scale(&self) -> RealScale {
        self.scale
    }
}

impl Ckks {
    /// Tables for a chain, with fresh ciphertexts at scale `2^scale_log2` (at the top level).
    ///
    /// # Errors
    /// [`SchemeError::RealScale`] if a level's scale falls below 1 or reaches its modulus, which means that the chain was made
    /// for another scale; [`SchemeError::Ring`] if the chain's numbers are no primes.
    pub fn new(params: &ChainParams, scale_log2: f64, cpu: Cpu) -> Result<Self, SchemeError> {
        Self::with_segments(params, &[(params.top(), scale_log2)], cpu)
    }

    /// [`Ckks::new`] for a chain in segments with a scale each: their highest levels, and log2 of the scales there. Without one for the top level its scale is 1.
    ///
    /// Products of ciphertexts keep to the scales of a segment. Between two of them, products with clear values lead from one scale to the other.
    ///
    /// # Errors
    /// As [`Ckks::new`].
    pub fn with_segments(
        params: &ChainParams,
        segments: &[(Level, f64)],
        cpu: Cpu,
    ) -> Result<Self, SchemeError> {
        let chain = Chain::new(params, 1, cpu)?;
        let degree = chain.degree();
        let (mut scales, mut clear_scales) = (Vec::new(), Vec::new());
        // Of the division that leads to a level.
        let mut ratio = 1.0;
        for level in (0..=chain.top().0).rev().map(Level) {
            let segment = segments.iter().find(|(top, _)| *top == level).map(|(_, log2)| log2.exp2());
            let continued = scales.last().map_or(1.0, |above| above * above * ratio);
            let scale = segment.unwrap_or(continued);
            // Within a segment a clear factor has the scale of its level, to the bit.
            let clear = |above: f64| if segment.is_none() { above } else { scale / (above * ratio) };
            clear_scales.extend(scales.last().map(|&above| clear(above)));
            scales.push(scale);
            ratio = chain.level(level)?.mod_switch().map_or(1.0, |switch| switch.ratio());
        }
        // At level 0 nothing is divided.
        clear_scales.extend(scales.last());
        scales.reverse();
        clear_scales.reverse();
        for (level, &scale) in scales.iter().enumerate() {
            let modulus_log2 = params.log_q(Level(level as u8)).unwrap_or(0.0);
            if !(scale.is_finite() && scale > 1.0 && scale.log2() < modulus_log2) {
                return Err(SchemeError::RealScale {
                    found: RealScale::new(scale),
                    modulus_log2: modulus_log2 as u32,
                });
            }
        }
        let (embedding, places) = (Embedding::new(degree, cpu), encoding::places_of(degree));
        let segment_tops = segments.iter().map(|(top, _)| *top).collect();
        Ok(Self { embedding, chain, places, scales, clear_scales, segment_tops })
    }

    /// The chain.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }
    /// Slots per ciphertext, `N/2`.
    pub fn slot_count(&self) -> usize {
        self.places.len()
    }

    /// The scale of a level.
    ///
    /// # Errors
    /// [`SchemeError::Ring`] if there is no such level.
    pub fn scale(&self, level: Level) -> Result<RealScale, SchemeError> {
        self.chain.level(level)?;
        Ok(RealScale::new(self.scales.get(level.index()).copied().unwrap_or(1.0)))
    }

    /// The scale of clear factors of ciphertexts at a level's own scale, after which a division gives the scale of the level below.
    ///
    /// # Errors
    /// [`SchemeError::Ring`] if there is no such level.
    pub fn own_clear_scale(&self, level: Level) -> Result<RealScale, SchemeError> {
        self.chain.level(level)?;
        Ok(RealScale::new(self.clear_scales.get(level.index()).copied().unwrap_or(1.0)))
    }

    /// A fresh ciphertext of a message that was encoded at its level's own scale.
    ///
    /// # Errors
    /// [`SchemeError::Ring`] if it is of no level of this chain.
    pub fn ciphertext(&self, inner: RlweCiphertext) -> Result<CkksCiphertext, SchemeError> {
        let level = self.chain.level_of(inner.ring())?;
        Ok(CkksCiphertext { scale: self.scale(level)?, inner, level })
    }

    /// A ciphertext with its phase at `scale`.
    ///
    /// # Errors
    /// As [`Ckks::ciphertext`].
    pub fn ciphertext_at(
        &self,
        inner: RlweCiphertext,
        scale: RealScale,
    ) -> Result<CkksCiphertext, SchemeError> {
        let level = self.chain.level_of(inner.ring())?;
        Ok(CkksCiphertext { inner, level, scale })
    }

    /// `a + b`.
    ///
    /// # Errors
    /// [`SchemeError::Rlwe`] if the levels differ, [`SchemeError::RealScales`] if the scales do.
    pub fn add(&self, a: &CkksCiphertext, b: &CkksCiphertext) -> Result<CkksCiphertext, SchemeError> {
        let mut out = a.clone();
        self.add_assign(&mut out, b)?;
        Ok(out)
    }

    /// `a += b`.
    ///
    /// # Errors
    /// As [`Ckks::add`].
    pub fn add_assign(&self, a: &mut CkksCiphertext, b: &CkksCiphertext) -> Result<(), SchemeError> {
        check_alike(a, b)?;
        Ok(a.inner.add_assign(&b.inner)?)
    }

    /// `a − b`.
    ///
    /// # Errors
    /// As [`Ckks::add`].
    pub fn sub(&self, a: &CkksCiphertext, b: &CkksCiphertext) -> Result<CkksCiphertext, SchemeError> {
        check_alike(a, b)?;
        let mut out = a.clone();
        out.inner.sub_assign(&b.inner)?;
        Ok(out)
    }

    /// `−a`.
    pub fn neg(&self, a: &CkksCiphertext) -> CkksCiphertext {
        let mut out = a.clone();
        out.inner.neg_assign();
        out
    }

    /// `a + values`, slot by slot.
    ///
    /// # Errors
    /// As [`Ckks::encode`].
    pub fn add_plain(&self, a: &CkksCiphertext, values: &[Complex]) -> Result<CkksCiphertext, SchemeError> {
        let clear = self.encode_at(values, a.level, a.scale)?.into_eval();
        let mut out = a.clone();
        out.inner.add_clear_assign(&clear)?;
        Ok(out)
    }

    /// `a + value` in every slot.
    ///
    /// # Errors
    /// As [`Ckks::encode`].
    pub fn add_constant(&self, a: &CkksCiphertext, value: Complex) -> Result<CkksCiphertext, SchemeError> {
        let mut out = a.clone();
        out.inner.add_clear_assign(&self.constant(value, a.inner.ring(), a.scale)?)?;
        Ok(out)
    }

    /// `a·values`, slot by slot, with the clear vector at such a scale that [`Ckks::rescale`] gives the scale of the level
    /// below.
    ///
    /// # Errors
    /// As [`Ckks::encode`]; [`SchemeError::Rlwe`] at level 0.
    pub fn mul_plain(&self, a: &CkksCiphertext, values: &[Complex]) -> Result<CkksCiphertext, SchemeError> {
        let scale = self.clear_scale(a)?;
        let clear = self.encode_at(values, a.level, scale)?.into_eval();
        let mut out = a.clone();
        out.inner.mul_clear_assign(&clear)?;
        out.scale = a.scale.times(scale);
        Ok(out)
    }

    /// `value·a`, at such a scale that [`Ckks::rescale`] gives the scale of the level below.
    ///
    /// # Errors
    /// As [`Ckks::mul_plain`].
    pub fn mul_constant(&self, a: &CkksCiphertext, value: Complex) -> Result<CkksCiphertext, SchemeError> {
        let scale = self.clear_scale(a)?;
        let inner = if value.im == 0.0 {
            a.inner.clone().mul_scalars(&residues(value.re, a.inner.ring(), scale)?)?
        } else {
            let mut inner = a.inner.clone();
            inner.mul_clear_assign(&self.constant(value, a.inner.ring(), scale)?)?;
            inner
        };
        Ok(CkksCiphertext { inner, level: a.level, scale: a.scale.times(scale) })
    }

    /// `sum += value·a`, as the sum with [`Ckks::mul_constant`], in one pass.
    ///
    /// # Errors
    /// As [`Ckks::mul_constant`] and [`Ckks::add`].
    pub fn mul_constant_add_assign(
        &self,
        sum: &mut CkksCiphertext,
        a: &CkksCiphertext,
        value: f64,
    ) -> Result<(), SchemeError> {
        check_levels(sum, a)?;
        let scale = self.clear_scale(a)?;
        let product = a.scale.times(scale);
        if !sum.scale.is_near(product) {
            return Err(SchemeError::RealScales { left: sum.scale, right: product });
        }
        Ok(sum.inner.mul_scalars_add_assign(&a.inner, &residues(value, a.inner.ring(), scale)?)?)
    }

    /// `integer·a`, exactly; the scale stays.
    pub fn mul_integer(&self, a: &CkksCiphertext, integer: i64) -> CkksCiphertext {
        let mut out = a.clone();
        out.inner.mul_integer_assign(integer.into());
        out
    }

    /// `i·a`, exactly; level and scale stay.
    ///
    /// # Errors
    /// None in practice: it is a product with `X^(N/2)`, which is `i` in every slot.
    pub fn mul_i(&self, a: &CkksCiphertext) -> Result<CkksCiphertext, SchemeError> {
        let i = self.constant(Complex { re: 0.0, im: 1.0 }, a.inner.ring(), RealScale::new(1.0))?;
        let mut out = a.clone();
        out.inner.mul_clear_assign(&i)?;
        Ok(out)
    }

    /// `a·b`: three components at the product of the scales, to be relinearised or summed first.
    ///
    /// # Memory
    /// `3·L` rows of `N` words, see docs/math/chains.md.
    ///
    /// # Errors
    /// [`SchemeError::Rlwe`] if the levels differ or an operand is a product already.
    pub fn mul(&self, a: &CkksCiphertext, b: &CkksCiphertext) -> Result<CkksCiphertext, SchemeError> {
        check_levels(a, b)?;
        Ok(CkksCiphertext { inner: a.inner.mul(&b.inner)?, level: a.level, scale: a.scale.times(b.scale) })
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
        a: &CkksCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<CkksCiphertext, SchemeError> {
        Ok(CkksCiphertext { inner: a.inner.relinearize(keys)?, ..*a })
    }

    /// `a·b`, relinearised, in one.
    ///
    /// # Errors
    /// As [`Ckks::mul`] and [`Ckks::relinearize`].
    pub fn mul_relinearize(
        &self,
        a: &CkksCiphertext,
        b: &CkksCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<CkksCiphertext, SchemeError> {
        check_levels(a, b)?;
        let inner = a.inner.mul_relinearize(&b.inner, keys)?;
        Ok(CkksCiphertext { inner, level: a.level, scale: a.scale.times(b.scale) })
    }

    /// `a·b`, relinearised and divided to the level below: the step of every deep circuit, in one.
    ///
    /// # Memory
    /// `F` rows of docs/math/chains.md.
    ///
    /// # Errors
    /// As [`Ckks::mul`], [`Ckks::relinearize`] and [`Ckks::rescale`].
    pub fn mul_rescale(
        &self,
        a: &CkksCiphertext,
        b: &CkksCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<CkksCiphertext, SchemeError> {
        check_levels(a, b)?;
        let inner = a.inner.mul_relinearize_and_mod_switch(&b.inner, keys)?;
        self.divided(inner, a.level, a.scale.times(b.scale))
    }

    /// Relinearisation and division in one, for sums of products.
    ///
    /// # Errors
    /// [`SchemeError::Rlwe`] without the key, at level 0, or unless there are three components.
    pub fn relinearize_rescale(
        &self,
        a: &CkksCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<CkksCiphertext, SchemeError> {
        self.divided(a.inner.relinearize_and_mod_switch(keys)?, a.level, a.scale)
    }

    /// The division to the level below; the scale is multiplied by the ratio of the moduli.
    ///
    /// # Errors
    /// [`SchemeError::Rlwe`] at level 0.
    pub fn rescale(&self, a: &CkksCiphertext) -> Result<CkksCiphertext, SchemeError> {
        self.divided(a.inner.mod_switch(&self.chain)?, a.level, a.scale)
    }

    /// The same message at a lower level and that level's scale.
    ///
    /// # Noise
    /// One rounding, if the levels' primes are subsets of one another; else one for each level passed.
    ///
    /// # Cost
    /// One division, or as many as there are levels in between: primes that the lower levels lack are forgotten first.
    ///
    /// # Errors
    /// [`SchemeError::Rlwe`] if `level` is above the ciphertext's.
    pub fn level_down(&self, a: &CkksCiphertext, level: Level) -> Result<CkksCiphertext, SchemeError> {
        if level > a.level {
            return Err(RlweError::LevelMismatch { left: a.level, right: level }.into());
        }
        let mut out = a.clone();
        while out.level > level {
            let to = self.descent(out.level, level);
            out = self.forget_primes(out, to);
            out = self.rescale(&self.mul_constant(&out, Complex { re: 1.0, im: 0.0 })?)?;
        }
        Ok(out)
    }

    /// To which level primes may be forgotten on the way to a lower one: a level above it, within the segment. Below that the scale is too large for what the
    /// division takes.
    pub fn descent(&self, from: Level, to: Level) -> Level {
        let next_segment = self.segment_tops.iter().filter(|&&top| top < from).max();
        let lowest = next_segment.map_or(Level(0), |top| Level(top.0 + 1));
        Level(to.0 + 1).max(lowest).min(from)
    }

    /// The same phase at the same scale and a lower level, for nothing; unchanged where the lower level has primes of its own.
    fn forget_primes(&self, a: CkksCiphertext, level: Level) -> CkksCiphertext {
        match a.inner.drop_to(&self.chain, level) {
            Ok(inner) if level < a.level => CkksCiphertext { inner, level, ..a },
            _ => a,
        }
    }

    /// Slots `steps` places to the left.
    ///
    /// # Memory
    /// `F + 1` rows of docs/math/chains.md.
    ///
    /// # Errors
    /// [`SchemeError::Rlwe`] without the key for `hush_rlwe::rotation_element`, or for a product that is not relinearised.
    pub fn rotate(
        &self,
        a: &CkksCiphertext,
        steps: i64,
        keys: &EvaluationKeys,
    ) -> Result<CkksCiphertext, SchemeError> {
        self.automorphism(a, rotation_element(self.chain.degree(), steps), keys)
    }

    /// The complex conjugates.
    ///
    /// # Errors
    /// As [`Ckks::rotate`].
    pub fn conjugate(
        &self,
        a: &CkksCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<CkksCiphertext, SchemeError> {
        self.automorphism(a, conjugation_element(self.chain.degree()), keys)
    }

    /// Several rotations of one ciphertext, decomposed once.
    ///
    /// # Memory
    /// `H + 2·(L + K) + D` rows of docs/math/chains.md, and `2·L` for each result.
    ///
    /// # Errors
    /// As [`Ckks::rotate`].
    pub fn rotate_many(
        &self,
        a: &CkksCiphertext,
        steps: &[i64],
        keys: &EvaluationKeys,
    ) -> Result<Vec<CkksCiphertext>, SchemeError> {
        let hoisted = a.inner.hoist(&self.chain)?;
        let rotate = |&steps: &i64| match rotation_element(self.chain.degree(), steps) {
            1 => Ok(a.clone()),
            element => Ok(CkksCiphertext { inner: hoisted.automorphism(keys, element)?, ..*a }),
        };
        steps.iter().map(rotate).collect()
    }

    /// The sum of all slots, in every slot; needs the keys of rotations by powers of two.
    ///
    /// # Errors
    /// As [`Ckks::rotate`].
    pub fn sum_slots(
        &self,
        a: &CkksCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<CkksCiphertext, SchemeError> {
        let mut sum = a.clone();
        for k in 0..self.slot_count().trailing_zeros() {
            let moved = self.rotate(&sum, 1 << k, keys)?;
            sum.inner.add_assign(&moved.inner)?;
        }
        Ok(sum)
    }

    /// The scale of a clear factor after which a division gives the scale of the level below.
    ///
    /// # Errors
    /// [`SchemeError::Rlwe`] at level 0.
    pub fn clear_scale(&self, a: &CkksCiphertext) -> Result<RealScale, SchemeError> {
        let below = a.level.below().ok_or(RlweError::LastLevel)?;
        let switch = self.chain.level(a.level)?.mod_switch().ok_or(RlweError::LastLevel)?;
        Ok(RealScale::new(self.scale(below)?.value() / (a.scale.value() * switch.ratio())))
    }

    /// `re + im·X^(N/2)`, scaled: the polynomial that has the value in every slot.
    fn constant(&self, value: Complex, ring: &Ring, scale: RealScale) -> Result<Poly<Eval>, SchemeError> {
        if value.im == 0.0 {
            // An integer is its own value at every root: no transform is needed.
            let residues = residues(value.re, ring, scale)?;
            let mut poly = Poly::recycled(ring);
            residues.iter().enumerate().for_each(|(index, &residue)| poly.limb_mut(index).fill(residue));
            return Ok(poly);
        }
        if !(value.re.is_finite() && value.im.is_finite()) {
            return Err(SchemeError::NotFinite { index: 0 });
        }
        let mut coefficients = vec![0.0; ring.degree()];
        coefficients[0] = value.re;
        coefficients[ring.degree() / 2] = value.im;
        Ok(integers(coefficients, scale, ring)?.into_eval())
    }

    fn automorphism(
        &self,
        a: &CkksCiphertext,
        element: usize,
        keys: &EvaluationKeys,
    ) -> Result<CkksCiphertext, SchemeError> {
        if element == 1 {
            return Ok(a.clone());
        }
        Ok(CkksCiphertext { inner: a.inner.automorphism(keys, element)?, ..*a })
    }

    fn divided(
        &self,
        inner: RlweCiphertext,
        from: Level,
        scale: RealScale,
    ) -> Result<CkksCiphertext, SchemeError> {
        let level = from.below().ok_or(RlweError::LastLevel)?;
        let switch = self.chain.level(from)?.mod_switch().ok_or(RlweError::LastLevel)?;
        let scale = RealScale::new(scale.value() * switch.ratio());
        // The scale of the level, to the bit, where it equals that.
        let own = self.scale(level)?;
        Ok(CkksCiphertext { inner, level, scale: if scale.is_near(own) { own } else { scale } })
    }
}

/// A number, scaled and rounded, modulo each prime.
fn residues(value: f64, ring: &Ring, scale: RealScale) -> Result<Vec<u64>, SchemeError> {
    if !value.is_finite() {
        return Err(SchemeError::NotFinite { index: 0 });
    }
    let integer = rounded(vec![value], scale, ring)?[0] as i128;
    Ok(ring.limbs().iter().map(|limb| limb.modulus().reduce_i128(integer)).collect())
}

fn check_levels(a: &CkksCiphertext, b: &CkksCiphertext) -> Result<(), SchemeError> {
    if a.level == b.level {
        return Ok(());
    }
    Err(RlweError::LevelMismatch { left: a.level, right: b.level }.into())
}

fn check_alike(a: &CkksCiphertext, b: &CkksCiphertext) -> Result<(), SchemeError> {
    check_levels(a, b)?;
    if a.scale.is_near(b.scale) {
        return Ok(());
    }
    Err(SchemeError::RealScales { left: a.scale, right: b.scale })
}
