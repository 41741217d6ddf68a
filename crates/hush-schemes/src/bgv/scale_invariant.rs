// SPDX-License-Identifier: Apache-2.0
//! BFV over a modulus chain: the message in the high digits, products that need no level.
//!
//! # Math
//! A phase is `round(Q·m/t) + e`, which is `t⁻¹·(m' + t·e)` modulo `Q` with `m' = −[Q·m]_t` (docs/math/chains.md). The product of two phases times `t/Q` is a phase of the
//! product again. It is computed with integers: both factors are lifted from `Q` to `Q·R`, multiplied there, and
//! `round(t·d/Q)` is taken in `R` by an exact division and carried back to `Q`. `R > t·N·Q`, so nothing wraps.
//!
//! # References
//! \[HPS18\] with exact conversions in both directions: every coefficient is the correctly rounded one (up to ties).

use hush_params::ChainParams;
use hush_params::primes::primes_of;
use hush_ring::parallel::{for_each_row, for_each_rows};
use hush_ring::{BaseConverter, Chain, Coeff, Cpu, Eval, Level, Poly, Ring, RingError, RingLimb, Words};
use hush_rlwe::{EvaluationKeys, RlweCiphertext, RlweError, conjugation_element, rotation_element};

use super::batch::{BatchEncoder, lift_eval};
use crate::SchemeError;

/// The scheme over one chain and plaintext modulus. Ciphertexts are [`RlweCiphertext`]s: nothing else needs to be known about them
/// but their ring.
#[derive(Debug)]
pub struct Bfv {
    chain: Chain,
    encoder: BatchEncoder,
    products: Vec<ProductTables>,
}

/// Tables for a product at one level.
#[derive(Debug)]
struct ProductTables {
    /// `Z_R[X]/(X^N + 1)`.
    auxiliary: Ring,
    /// From `Q` to `R`, nearest to zero.
    up: BaseConverter,
    /// From `Q` to `R`: `t·x` modulo `Q`, nearest to zero.
    remainder: BaseConverter,
    /// From `R` to `Q`, nearest to zero.
    down: BaseConverter,
    /// `t·Q⁻¹` and `−Q⁻¹` modulo each prime of `R`.
    factors: Vec<(u64, u64)>,
}

impl Bfv {
    /// Tables for a chain and a plaintext modulus, a prime `1 mod 2N`.
    ///
    /// # Errors
    /// [`SchemeError::PlaintextModulus`]; [`SchemeError::Ring`] if the chain's numbers are no primes.
    pub fn new(params: &ChainParams, t: u64, cpu: Cpu) -> Result<Self, SchemeError> {
        let chain = Chain::new(params, 1, cpu)?;
        let encoder = BatchEncoder::new(chain.key_ring(), t)?;
        let auxiliary = auxiliary_limbs(&chain, t)?;
        let tables = |level: usize| ProductTables::new(&chain, Level(level as u8), t, &auxiliary);
        let products = (0..params.levels().len()).map(tables).collect::<Result<_, _>>()?;
        Ok(Self { chain, encoder, products })
    }

    /// The chain.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }
    /// The encoder of rows.
    pub fn encoder(&self) -> &BatchEncoder {
        &self.encoder
    }

    /// The message with these slots, ready to be encrypted at `level`: `round(Q·m/t)`.
    ///
    /// # Timing
    /// Independent of the values.
    ///
    /// # Errors
    /// [`SchemeError::TooManyValues`]; [`SchemeError::Ring`] if there is no such level.
    pub fn encode(&self, values: &[i64], level: Level) -> Result<Poly<Coeff>, SchemeError> {
        let ring = self.chain.ring(level)?;
        let t = self.encoder.t();
        let minus_q =
            t.neg(ring.limbs().iter().fold(1, |q, limb| t.mul(q, t.reduce_u64(limb.modulus().value()))));
        let mut scaled = self.encoder.coefficients(values)?;
        for coefficient in &mut scaled {
            *coefficient = self.encoder.centered(t.mul(t.reduce_i64(*coefficient), minus_q));
        }
        let mut poly = super::batch::lift(ring, &scaled)?;
        let inverse = |limb: &RingLimb| limb.modulus().inv(limb.modulus().reduce_u64(t.value()));
        let inverses =
            ring.limbs().iter().map(inverse).collect::<Result<Vec<_>, _>>().map_err(RingError::from)?;
        poly.mul_scalars_assign(&inverses)?;
        Ok(poly)
    }

    /// The slots of a decrypted phase: `t·phase` modulo `Q`, lifted, modulo `t`, divided by `−Q`.
    ///
    /// # Errors
    /// [`SchemeError::Ring`], which a phase of this chain rules out.
    pub fn decode(&self, phase: &Poly<Coeff>) -> Result<Vec<i64>, SchemeError> {
        let t = self.encoder.t();
        let limbs = phase.ring().limbs().iter();
        let minus_q = t.neg(limbs.fold(1, |q, limb| t.mul(q, t.reduce_u64(limb.modulus().value()))));
        let words = self.encoder.reduce(phase, t.value(), t.inv(minus_q).map_err(RingError::from)?)?;
        Ok(self.encoder.slots(words))
    }

    /// `a + values`, slot by slot.
    ///
    /// # Errors
    /// [`SchemeError::TooManyValues`]; [`SchemeError::Ring`] for a ciphertext of another chain.
    pub fn add_plain(&self, a: &RlweCiphertext, values: &[i64]) -> Result<RlweCiphertext, SchemeError> {
        let level = self.chain.level_of(a.ring())?;
        let mut out = a.clone();
        out.add_clear_assign(&self.encode(values, level)?.into_eval())?;
        Ok(out)
    }

    /// `a·values`, slot by slot.
    ///
    /// # Noise
    /// Times at most `N·t/2`.
    ///
    /// # Errors
    /// As [`Bfv::add_plain`].
    pub fn mul_plain(&self, a: &RlweCiphertext, values: &[i64]) -> Result<RlweCiphertext, SchemeError> {
        let clear = lift_eval(a.ring(), &self.encoder.coefficients(values)?)?;
        let mut out = a.clone();
        out.mul_clear_assign(&clear)?;
        Ok(out)
    }

    /// `a·b`: three components, at the same level.
    ///
    /// # Cost
    /// With `L` primes in `Q` and `L'` in `R`: `7·L + 3·L'` inverse and `3·L + 4·L'` forward NTTs.
    ///
    /// # Memory
    /// `4·L + 3·L' + 4` rows of `N` words, see docs/math/chains.md.
    ///
    /// # Errors
    /// [`SchemeError::Rlwe`] if the levels differ or an operand is a product already.
    pub fn mul(&self, a: &RlweCiphertext, b: &RlweCiphertext) -> Result<RlweCiphertext, SchemeError> {
        a.ring().check_same(b.ring()).map_err(RlweError::from)?;
        let tables = &self.products[self.chain.level_of(a.ring())?.index()];
        Ok(RlweCiphertext::new(tables.product(a.pair()?, b.pair()?))?)
    }

    /// `a·b`, relinearised.
    ///
    /// # Errors
    /// As [`Bfv::mul`]; [`SchemeError::Rlwe`] without the key.
    pub fn mul_relinearize(
        &self,
        a: &RlweCiphertext,
        b: &RlweCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<RlweCiphertext, SchemeError> {
        Ok(self.mul(a, b)?.relinearize(keys)?)
    }

    /// Both rows `steps` places to the left.
    ///
    /// # Errors
    /// [`SchemeError::Rlwe`] without the key for `hush_rlwe::rotation_element`.
    pub fn rotate_rows(
        &self,
        a: &RlweCiphertext,
        steps: i64,
        keys: &EvaluationKeys,
    ) -> Result<RlweCiphertext, SchemeError> {
        match rotation_element(self.chain.degree(), steps) {
            1 => Ok(a.clone()),
            element => Ok(a.automorphism(keys, element)?),
        }
    }

    /// The rows swapped.
    ///
    /// # Errors
    /// As [`Bfv::rotate_rows`].
    pub fn swap_rows(
        &self,
        a: &RlweCiphertext,
        keys: &EvaluationKeys,
    ) -> Result<RlweCiphertext, SchemeError> {
        Ok(a.automorphism(keys, conjugation_element(self.chain.degree()))?)
    }
}

impl ProductTables {
    fn new(chain: &Chain, level: Level, t: u64, auxiliary: &[RingLimb]) -> Result<Self, SchemeError> {
        let ring = chain.ring(level)?;
        let needed = auxiliary_bits(ring, t);
        let mut bits = 0.0;
        let missing = |limb: &&RingLimb| {
            let missing = bits < needed;
            bits += (limb.modulus().value() as f64).log2();
            missing
        };
        let limbs: Vec<RingLimb> = auxiliary.iter().take_while(missing).cloned().collect();
        let up = BaseConverter::new(ring.limbs(), &limbs)?;
        let remainder = BaseConverter::with_factor(ring.limbs(), &limbs, |q| Ok(q.reduce_u64(t)))?;
        let down = BaseConverter::new(&limbs, ring.limbs())?;
        let inverse = |limb: &RingLimb| {
            let r = limb.modulus();
            let product = |q, limb: &RingLimb| r.mul(q, r.reduce_u64(limb.modulus().value()));
            let inverse = r.inv(ring.limbs().iter().fold(1, product))?;
            Ok::<_, RingError>((r.mul(r.reduce_u64(t), inverse), r.neg(inverse)))
        };
        let factors = limbs.iter().map(inverse).collect::<Result<_, _>>()?;
        let auxiliary = Ring::of_limbs(limbs, ring.degree(), ring.cpu())?;
        Ok(Self { auxiliary, up, remainder, down, factors })
    }

    /// The three components of a product, limb by limb: a limb modulo `R` is lifted, multiplied and brought back to
    /// coefficients while it is in the nearest cache.
    fn product(&self, a: Pair<'_>, b: Pair<'_>) -> Vec<Poly<Eval>> {
        let (ring, degree) = (a.0.ring(), a.0.ring().degree());
        let high = self.product_in_auxiliary(a, b);
        let mut low = [(); 3].map(|()| Words::recycled(ring.poly_words()));
        for_each_rows(low.each_mut().map(|rows| &mut **rows), degree, |index, mut rows| {
            let limb = &ring.limbs()[index];
            let [a, b] = [a, b].map(|pair| (pair.0.limb(index), pair.1.limb(index)));
            limb.tensor(rows.each_mut().map(|row| &mut **row), a, b);
            rows.into_iter().for_each(|row| limb.inverse(row));
        });
        low.into_iter().zip(high).map(|(low, high)| self.scale_down(ring, low, high)).collect()
    }

    /// The coefficients of the product's components modulo `R`.
    fn product_in_auxiliary(&self, a: Pair<'_>, b: Pair<'_>) -> [Words; 3] {
        let degree = self.auxiliary.degree();
        let digits = [a.0, a.1, b.0, b.1].map(|poly| {
            let mut rows = Words::recycled(poly.words().len());
            for_each_row(&mut rows, degree, |index, row| {
                row.copy_from_slice(poly.limb(index));
                poly.ring().limbs()[index].inverse(row);
            });
            self.up.prepare(&mut rows);
            rows
        });
        let mut out = [(); 3].map(|()| Words::recycled(self.auxiliary.poly_words()));
        for_each_rows(out.each_mut().map(|rows| &mut **rows), degree, |index, mut rows| {
            let limb = &self.auxiliary.limbs()[index];
            let [a0, a1, b0, b1] = digits.each_ref().map(|digits| {
                let mut row = Words::recycled(degree);
                self.up.convert(index, digits, &mut row);
                limb.forward(&mut row);
                row
            });
            limb.tensor(rows.each_mut().map(|row| &mut **row), (&a0, &a1), (&b0, &b1));
            rows.into_iter().for_each(|row| limb.inverse(row));
        });
        out
    }

    /// `round(t·d/Q)` modulo `Q`, for the coefficients of `d` modulo `Q` and `R`.
    fn scale_down(&self, ring: &Ring, mut low: Words, mut high: Words) -> Poly<Eval> {
        let degree = ring.degree();
        self.remainder.prepare(&mut low);
        for_each_row(&mut high, degree, |index, row| {
            let mut remainder = Words::recycled(degree);
            self.remainder.convert(index, &low, &mut remainder);
            let (alpha, beta) = self.factors[index];
            self.auxiliary.limbs()[index].combine_assign(row, alpha, &remainder, beta);
        });
        self.down.prepare(&mut high);
        let mut out = Poly::recycled(ring);
        for_each_row(out.words_mut(), degree, |index, row| {
            self.down.convert(index, &high, row);
            ring.limbs()[index].forward(row);
        });
        out
    }
}

/// Body and mask of a ciphertext.
type Pair<'a> = (&'a Poly<Eval>, &'a Poly<Eval>);

/// log2 of the bound that `R` must exceed: `2·t·N·Q`, twice the largest `|t·d/Q|`.
fn auxiliary_bits(ring: &Ring, t: u64) -> f64 {
    ring.crt().log2_product() + (ring.degree() as f64).log2() + (t as f64).log2() + 1.0
}

/// Primes outside the chain, enough for its top level. No key lives modulo them, so security does not count them.
fn auxiliary_limbs(chain: &Chain, t: u64) -> Result<Vec<RingLimb>, SchemeError> {
    let needed = auxiliary_bits(chain.ring(chain.top())?, t);
    let params = chain.params();
    let free = |q: &&u64| !params.universe().contains(q) && **q != t;
    let mut bits = 0.0;
    let mut limbs = Vec::new();
    for &q in primes_of(47).iter().chain(primes_of(46)).chain(primes_of(45)).filter(free) {
        if bits >= needed {
            break;
        }
        bits += (q as f64).log2();
        limbs.push(RingLimb::plaintext(chain.degree(), q, chain.cpu())?);
    }
    Ok(limbs)
}
