// SPDX-License-Identifier: Apache-2.0
//! Hybrid key switching: from a product with one secret to a ciphertext under another.
//!
//! # Math
//! The universe of primes is cut in digits `D_0, D_1, …`. For a polynomial `c` at a level with modulus `Q` let `c_d` be the
//! integer nearest to zero that is `c` modulo the primes of `D_d`. The key holds, for each digit and modulo every prime,
//! `b_d = −a_d·s + u·e_d + P·g_d·s'`, where `g_d` is 1 modulo the primes of `D_d` and 0 modulo the others. Then
//! `Σ c_d·(b_d + a_d·s) = P·c·s' + u·Σ c_d·e_d` modulo `Q·P`, and division by `P` leaves `c·s'` with an error of about
//! `u·Σ c_d·e_d/P`. Since `g_d` is defined prime by prime, one key serves every level, whatever subset of the universe it has.
//!
//! # References
//! \[HK20\] hybrid decomposition; \[HS18\] hoisting; \[BMTH21, section 4\] sums before the division ("double hoisting").
//! Differs: rotation keys lead to `τ⁻¹(s)`, so that the permutation comes last and on half the data.

use hush_ring::parallel::{for_each_row, for_each_row_pair};
use hush_ring::{
    BasisSwitch, Chain, ChainLevel, Digit, Eval, ExpandLabel, Level, Poly, RingLimb, UniformSeed, Words,
};

use crate::RlweError;

/// A key that turns products with `s'` into ciphertexts under `s`.
///
/// *Layout.* For each prime of the chain's key ring the bodies of all digits, then the masks of all digits, `N` residues
/// each, in the evaluation domain: what one limb of a result needs lies together. *Secrecy.* Public.
#[derive(Clone, PartialEq, Eq)]
pub struct KeySwitchKey {
    chain: Chain,
    seed: UniformSeed,
    element: u32,
    digit_count: usize,
    words: Words,
}

impl KeySwitchKey {
    /// A key with the masks that belong to `seed` and zero bodies, to be filled by who knows the secrets. `element` is the
    /// Galois element that it is for, 0 for relinearisation.
    ///
    /// # Cost
    /// `16·digits·primes·N` bytes.
    ///
    /// # Errors
    /// [`RlweError::NoSpecialPrimes`] if the chain has none.
    pub fn with_masks(chain: &Chain, seed: UniformSeed, element: u32) -> Result<Self, RlweError> {
        if chain.special().is_empty() {
            return Err(RlweError::NoSpecialPrimes);
        }
        let (ring, degree) = (chain.key_ring(), chain.degree());
        let digit_count = chain.params().digit_count();
        let mut words = Words::zeroed(2 * digit_count * ring.poly_words());
        for_each_row(&mut words, 2 * digit_count * degree, |limb, row| {
            for (digit, mask) in row[digit_count * degree..].chunks_exact_mut(degree).enumerate() {
                seed.expand_limb(ring, ExpandLabel::key_switch(element, digit as u32), limb, mask);
            }
        });
        Ok(Self { chain: chain.clone(), seed, element, digit_count, words })
    }

    /// The chain that the key belongs to.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }
    /// The seed of the masks.
    pub fn seed(&self) -> UniformSeed {
        self.seed
    }
    /// The Galois element that it is for; 0 for relinearisation.
    pub fn element(&self) -> u32 {
        self.element
    }
    /// Digits of the whole universe.
    pub fn digit_count(&self) -> usize {
        self.digit_count
    }

    /// One body and its mask, modulo prime `limb` of the key ring: the body to be overwritten with canonical residues.
    ///
    /// # Panics
    /// If there is no such digit or prime.
    pub fn body_and_mask(&mut self, digit: usize, limb: usize) -> (&mut [u64], &[u64]) {
        assert!(digit < self.digit_count, "a digit of the key");
        let (degree, digits) = (self.chain.degree(), self.digit_count);
        let row = &mut self.words[2 * limb * digits * degree..][..2 * digits * degree];
        let (bodies, masks) = row.split_at_mut(digits * degree);
        (&mut bodies[digit * degree..][..degree], &masks[digit * degree..][..degree])
    }

    /// The body of a digit modulo prime `limb` of the key ring; empty if there is none.
    pub fn body(&self, digit: usize, limb: usize) -> &[u64] {
        let degree = self.chain.degree();
        let start = (2 * limb * self.digit_count + digit) * degree;
        if digit < self.digit_count { self.words.get(start..start + degree).unwrap_or(&[]) } else { &[] }
    }

    /// Bytes in memory, masks included.
    pub fn memory_bytes(&self) -> usize {
        8 * self.words.len()
    }

    /// `(b, a)` over the extended ring with `b + a·s = P·poly·s' + error`.
    ///
    /// # Shapes
    /// `poly`: over the ring of a level of the key's chain.
    ///
    /// # Cost
    /// `L` inverse NTTs, `digits·(L + K) − L` NTTs, `N·(L + K)·(L + 3·digits)` products.
    ///
    /// # Noise
    /// See [`hush_params::noise::key_switch_log2`].
    ///
    /// # Errors
    /// [`RlweError::Ring`] if `poly` belongs to no level of the chain.
    pub fn apply(&self, poly: &Poly<Eval>) -> Result<ExtendedPair, RlweError> {
        let level = self.chain.level_of(poly.ring())?;
        let tables = self.chain.level(level)?;
        let digits = PreparedDigits::new(tables, poly);
        let degree = self.chain.degree();
        let mut pair = ExtendedPair::recycled(&self.chain, level)?;
        let (body, mask) = (pair.body.words_mut(), pair.mask.words_mut());
        for_each_row_pair(body, mask, degree, |index, body, mask| {
            let mut rows = Words::recycled(tables.digits().len() * degree);
            for (digit, row) in rows.chunks_exact_mut(degree).enumerate() {
                digits.limb(poly, digit, index, row);
            }
            self.inner_product(tables, index, &rows, body, mask);
        });
        Ok(pair)
    }

    /// [`KeySwitchKey::apply`] for a polynomial that is decomposed already.
    ///
    /// # Errors
    /// [`RlweError::Ring`] if the decomposition is of another chain.
    pub fn apply_decomposed(&self, source: &Decomposed) -> Result<ExtendedPair, RlweError> {
        if source.chain != self.chain {
            return Err(RlweError::ChainMismatch);
        }
        let (tables, degree) = (self.chain.level(source.level)?, self.chain.degree());
        let mut pair = ExtendedPair::recycled(&self.chain, source.level)?;
        let (body, mask) = (pair.body.words_mut(), pair.mask.words_mut());
        let stride = tables.digits().len() * degree;
        for_each_row_pair(body, mask, degree, |index, body, mask| {
            self.inner_product(tables, index, &source.rows[index * stride..][..stride], body, mask);
        });
        Ok(pair)
    }

    /// One limb of the sums over the digits, whose rows lie one after the other.
    fn inner_product(
        &self,
        tables: &ChainLevel,
        index: usize,
        rows: &[u64],
        body: &mut [u64],
        mask: &mut [u64],
    ) {
        let universe = self.chain.params().universe().len();
        let place = match tables.places().get(index) {
            Some(&place) => place,
            None => universe + index - tables.places().len(),
        };
        let (degree, count) = (body.len(), tables.digits().len());
        let key = &self.words[2 * place * self.digit_count * degree..][..2 * self.digit_count * degree];
        let (bodies, masks) = key.split_at(self.digit_count * degree);
        let limb = &tables.extended().limbs()[index];
        limb.dot_pair((body, mask), rows, (&bodies[..count * degree], &masks[..count * degree]), count);
    }
}

impl std::fmt::Debug for KeySwitchKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeySwitchKey(element {}, {} digits, {:?})", self.element, self.digit_count, self.chain)
    }
}

/// The coefficients of a polynomial's digits, ready to be converted to any prime of the extended ring.
struct PreparedDigits<'a> {
    tables: &'a ChainLevel,
    rows: Vec<Words>,
}

impl<'a> PreparedDigits<'a> {
    fn new(tables: &'a ChainLevel, poly: &Poly<Eval>) -> Self {
        let degree = tables.ring().degree();
        let prepare = |digit: &Digit| {
            let mut rows = Words::recycled(digit.converter().row_count() * degree);
            let limbs = digit.limbs();
            for_each_row(&mut rows[..limbs.len() * degree], degree, |index, row| {
                row.copy_from_slice(poly.limb(limbs[index]));
                tables.ring().limbs()[limbs[index]].inverse(row);
            });
            digit.converter().prepare(&mut rows);
            rows
        };
        Self { tables, rows: tables.digits().iter().map(prepare).collect() }
    }

    /// Digit `digit` modulo prime `index` of the extended ring, in the evaluation domain.
    fn limb(&self, poly: &Poly<Eval>, digit: usize, index: usize, out: &mut [u64]) {
        let tables = &self.tables.digits()[digit];
        if tables.limbs().contains(&index) {
            return out.copy_from_slice(poly.limb(index));
        }
        if tables.limbs().is_empty() {
            return out.fill(0);
        }
        tables.converter().convert(index, &self.rows[digit], out);
        self.tables.extended().limbs()[index].forward(out);
    }
}

/// A polynomial's digits over the extended ring: the part of key switching that does not depend on the key.
///
/// *Layout.* For each prime of the extended ring the rows of all digits.
pub struct Decomposed {
    chain: Chain,
    level: Level,
    rows: Words,
}

impl Decomposed {
    /// Decomposes a polynomial of one of the chain's levels.
    ///
    /// # Cost
    /// All the NTTs of [`KeySwitchKey::apply`]; `8·digits·(L + K)·N` bytes.
    ///
    /// # Errors
    /// [`RlweError::Ring`] if it belongs to no level.
    pub fn new(chain: &Chain, poly: &Poly<Eval>) -> Result<Self, RlweError> {
        let level = chain.level_of(poly.ring())?;
        let (tables, degree) = (chain.level(level)?, chain.degree());
        let digits = PreparedDigits::new(tables, poly);
        let count = tables.digits().len();
        let mut rows = Words::recycled(count * tables.extended().poly_words());
        for_each_row(&mut rows, count * degree, |index, rows| {
            for (digit, row) in rows.chunks_exact_mut(degree).enumerate() {
                digits.limb(poly, digit, index, row);
            }
        });
        Ok(Self { chain: chain.clone(), level, rows })
    }
}

/// `(b, a)` over the extended ring of a level: a ciphertext times `P`, before the division.
///
/// Sums and products with clear polynomials may be taken here, so that one division serves many key switches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExtendedPair {
    pub(crate) body: Poly<Eval>,
    pub(crate) mask: Poly<Eval>,
    chain: Chain,
    level: Level,
}

impl ExtendedPair {
    /// Zero.
    ///
    /// # Errors
    /// [`RlweError::Ring`] if there is no such level.
    pub fn zero(chain: &Chain, level: Level) -> Result<Self, RlweError> {
        let zero = Poly::zero(chain.level(level)?.extended());
        Ok(Self { body: zero.clone(), mask: zero, chain: chain.clone(), level })
    }

    fn recycled(chain: &Chain, level: Level) -> Result<Self, RlweError> {
        let ring = chain.level(level)?.extended();
        let (body, mask) = (Poly::recycled(ring), Poly::recycled(ring));
        Ok(Self { body, mask, chain: chain.clone(), level })
    }

    /// The level.
    pub fn level(&self) -> Level {
        self.level
    }

    /// `self += other`.
    ///
    /// # Errors
    /// [`RlweError::Ring`] if levels or chains differ.
    pub fn add_assign(&mut self, other: &Self) -> Result<(), RlweError> {
        self.body.add_assign(&other.body)?;
        Ok(self.mask.add_assign(&other.mask)?)
    }

    /// `self += other·clear`, for a clear polynomial over the extended ring.
    ///
    /// # Errors
    /// [`RlweError::Ring`] if the rings differ.
    pub fn mul_add_assign(&mut self, other: &Self, clear: &Poly<Eval>) -> Result<(), RlweError> {
        self.body.mul_add_assign(&other.body, clear)?;
        Ok(self.mask.mul_add_assign(&other.mask, clear)?)
    }

    /// Adds the polynomials of a ciphertext at this level, times `P`, so that the division gives their sum.
    ///
    /// # Errors
    /// [`RlweError::Ring`] if they are of another level.
    pub fn add_ciphertext_assign(
        &mut self,
        body: &Poly<Eval>,
        mask: Option<&Poly<Eval>>,
    ) -> Result<(), RlweError> {
        let ring = self.chain.ring(self.level)?.clone();
        let specials = self.chain.special();
        let factor = |limb: &RingLimb| {
            let q = limb.modulus();
            specials
                .iter()
                .fold(q.reduce_u64(1), |p, special| q.mul(p, q.reduce_u64(special.modulus().value())))
        };
        let factors: Vec<u64> = ring.limbs().iter().map(factor).collect();
        for (out, source) in [(&mut self.body, Some(body)), (&mut self.mask, mask)] {
            let Some(source) = source else { continue };
            ring.check_same(source.ring())?;
            let degree = ring.degree();
            let rows = &mut out.words_mut()[..ring.poly_words()];
            for_each_row(rows, degree, |index, row| {
                ring.limbs()[index].mul_scalar_add_assign(row, source.limb(index), factors[index]);
            });
        }
        Ok(())
    }

    /// `τ` of both polynomials.
    ///
    /// # Errors
    /// [`RlweError::Ring`] for a Galois element that does not exist.
    pub fn automorphism(&self, element: usize) -> Result<Self, RlweError> {
        let tau = self.chain.automorphism(element)?;
        let (body, mask) = (tau.apply(&self.body)?, tau.apply(&self.mask)?);
        Ok(Self { body, mask, chain: self.chain.clone(), level: self.level })
    }

    /// Divides by `P`: both polynomials of a ciphertext at this level.
    ///
    /// # Errors
    /// [`RlweError::Ring`], which the constructors rule out.
    pub fn drop_special(&self) -> Result<(Poly<Eval>, Poly<Eval>), RlweError> {
        let switch = self.chain.level(self.level)?.drop_special();
        self.divide(switch)
    }

    /// Divides by `P` and to the level below at once.
    ///
    /// # Errors
    /// [`RlweError::LastLevel`] at level 0.
    pub fn drop_special_and_rescale(&self) -> Result<(Poly<Eval>, Poly<Eval>), RlweError> {
        let switch = self.chain.level(self.level)?.drop_special_and_rescale();
        self.divide(switch.ok_or(RlweError::LastLevel)?)
    }

    fn divide(&self, switch: &BasisSwitch) -> Result<(Poly<Eval>, Poly<Eval>), RlweError> {
        Ok((switch.apply(&self.body)?, switch.apply(&self.mask)?))
    }
}
