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

use hush_ring::parallel::{for_each_row, for_each_rows};
use hush_ring::{BasisSwitch, Chain, ChainLevel, Eval, ExpandLabel, Poly, RowPair, UniformSeed, Words};

mod digits;
mod extended;

pub use digits::Decomposed;
pub(crate) use digits::Source;
pub use extended::ExtendedPair;

use crate::RlweError;
use digits::PreparedDigits;

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
    /// `L` inverse NTTs, `digits·(L + K) − L` NTTs, `N·(L + K)·(L + 2·digits)` products.
    ///
    /// # Noise
    /// See [`hush_params::noise::key_switch_log2`].
    ///
    /// # Errors
    /// [`RlweError::Ring`] if `poly` belongs to no level of the chain.
    pub fn apply(&self, poly: &Poly<Eval>) -> Result<ExtendedPair, RlweError> {
        let level = self.chain.level_of(poly.ring())?;
        let tables = self.chain.level(level)?;
        let source = Source::Poly(poly);
        let digits = [PreparedDigits::new(tables, &source)];
        let mut pair = ExtendedPair::recycled(&self.chain, level)?;
        let (body, mask) = pair.words_mut();
        for_each_rows([body, mask], self.chain.degree(), |index, [body, mask]| {
            self.limbs(tables, &digits, index, &mut [(body, mask)]);
        });
        Ok(pair)
    }

    /// [`KeySwitchKey::apply`] for a polynomial that is decomposed already.
    ///
    /// # Errors
    /// [`RlweError::Ring`] if the decomposition is of another chain.
    pub fn apply_decomposed(&self, source: &Decomposed) -> Result<ExtendedPair, RlweError> {
        if source.chain() != &self.chain {
            return Err(RlweError::ChainMismatch);
        }
        let tables = self.chain.level(source.level())?;
        let mut pair = ExtendedPair::recycled(&self.chain, source.level())?;
        let (body, mask) = pair.words_mut();
        for_each_rows([body, mask], self.chain.degree(), |index, [body, mask]| {
            let rows = [source.limb(index).collect()];
            self.inner_products(tables, index, &rows, &mut [(body, mask)]);
        });
        Ok(pair)
    }

    /// [`KeySwitchKey::apply`] to several polynomials of one level and a division, limb by limb: for each `(b, a)` over the
    /// ring that `switch` leads to.
    ///
    /// `before` may change a limb of the extended pairs, `after` one of the outcomes.
    ///
    /// # Cost
    /// That of both, without the extended pairs ever leaving the nearest cache, and the key is read once.
    ///
    /// # Panics
    /// If sources, tables and switch are not of one level of the key's chain.
    pub(crate) fn apply_and_divide(
        &self,
        sources: &[Source<'_>],
        tables: &ChainLevel,
        switch: &BasisSwitch,
        before: impl Fn(usize, &mut [RowPair<'_>]) + Sync,
        after: impl Fn(usize, &mut [RowPair<'_>]) + Sync,
    ) -> Vec<(Poly<Eval>, Poly<Eval>)> {
        let digits: Vec<_> = sources.iter().map(|source| PreparedDigits::new(tables, source)).collect();
        let make = |index: usize, pairs: &mut [RowPair<'_>]| {
            self.limbs(tables, &digits, index, pairs);
            before(index, pairs);
        };
        switch.apply_pairs(sources.len(), make, after)
    }

    /// One limb of the extended pairs.
    fn limbs(
        &self,
        tables: &ChainLevel,
        digits: &[PreparedDigits<'_>],
        index: usize,
        pairs: &mut [RowPair<'_>],
    ) {
        let (degree, count) = (self.chain.degree(), tables.digits().len());
        let mut scratch = Words::recycled(digits.len() * count * degree);
        let mut scratch = scratch.chunks_exact_mut(degree);
        let mut rows: Vec<Vec<&[u64]>> = Vec::with_capacity(digits.len());
        for digits in digits {
            let of_source = scratch.by_ref().take(count).enumerate();
            rows.push(of_source.map(|(digit, row)| digits.limb(digit, index, row)).collect());
        }
        self.inner_products(tables, index, &rows, pairs);
    }

    /// One limb of the sums over the digits, for each pair with its digits; a stretch of the key is read once for all.
    fn inner_products(
        &self,
        tables: &ChainLevel,
        index: usize,
        rows: &[Vec<&[u64]>],
        pairs: &mut [RowPair<'_>],
    ) {
        let universe = self.chain.params().universe().len();
        let place = match tables.places().get(index) {
            Some(&place) => place,
            None => universe + index - tables.places().len(),
        };
        let (degree, count) = (self.chain.degree(), tables.digits().len());
        let key = &self.words[2 * place * self.digit_count * degree..][..2 * self.digit_count * degree];
        let (bodies, masks) = key.split_at(self.digit_count * degree);
        let limb = &tables.extended().limbs()[index];
        let stretch = if pairs.len() == 1 { degree } else { degree.min(STRETCH) };
        for start in (0..degree).step_by(stretch) {
            let columns = start..start + stretch;
            let [bodies, masks] = [bodies, masks].map(|matrix| -> Vec<&[u64]> {
                matrix.chunks_exact(degree).take(count).map(|row| &row[columns.clone()]).collect()
            });
            for (rows, (body, mask)) in rows.iter().zip(pairs.iter_mut()) {
                let rows: Vec<&[u64]> = rows.iter().map(|row| &row[columns.clone()]).collect();
                limb.dot_pair(
                    (&mut body[columns.clone()], &mut mask[columns.clone()]),
                    &rows,
                    (&bodies, &masks),
                );
            }
        }
    }
}

/// Columns of a key that stay in the nearest cache while several sums use them.
const STRETCH: usize = 256;

impl std::fmt::Debug for KeySwitchKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeySwitchKey(element {}, {} digits, {:?})", self.element, self.digit_count, self.chain)
    }
}
