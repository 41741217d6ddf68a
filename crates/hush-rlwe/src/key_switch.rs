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

use hush_ring::parallel::{for_each_group_of, for_each_row, for_each_rows};
use hush_ring::{
    BasisSwitch, Chain, ChainLevel, Eval, ExpandLabel, Level, Poly, Ring, RowPair, UniformSeed, Words,
    limbs_together,
};

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
/// each, in the evaluation domain: what one limb of a result needs lies together. A key that serves lower levels alone lacks the primes and digits that only
/// higher ones have. *Secrecy.* Public.
#[derive(Clone, PartialEq, Eq)]
pub struct KeySwitchKey {
    chain: Chain,
    seed: UniformSeed,
    element: u32,
    /// The highest level that it serves.
    level: Level,
    /// How many primes of the universe it has: the first ones.
    universe_count: usize,
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
        Self::with_masks_up_to(chain, chain.top(), seed, element)
    }

    /// [`KeySwitchKey::with_masks`] for ciphertexts at `level` and below: a part of the key for all levels.
    ///
    /// # Errors
    /// As there; [`RlweError::Ring`] if there is no such level.
    pub fn with_masks_up_to(
        chain: &Chain,
        level: Level,
        seed: UniformSeed,
        element: u32,
    ) -> Result<Self, RlweError> {
        if chain.special().is_empty() {
            return Err(RlweError::NoSpecialPrimes);
        }
        chain.level(level)?;
        let (ring, degree, params) = (chain.key_ring(), chain.degree(), chain.params());
        let universe_count = params.primes_up_to(level);
        let digit_count = universe_count.div_ceil(params.digit_limbs());
        let rows = universe_count + chain.special().len();
        let mut key = Self {
            chain: chain.clone(),
            seed,
            element,
            level,
            universe_count,
            digit_count,
            words: Words::zeroed(2 * digit_count * rows * degree),
        };
        let primes: Vec<usize> = key.primes().collect();
        for_each_row(&mut key.words, 2 * digit_count * degree, |row, words| {
            for (digit, mask) in words[digit_count * degree..].chunks_exact_mut(degree).enumerate() {
                seed.expand_limb(ring, ExpandLabel::key_switch(element, digit as u32), primes[row], mask);
            }
        });
        Ok(key)
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
    /// The highest level that it serves.
    pub fn level(&self) -> Level {
        self.level
    }
    /// Its digits: those of the primes that its levels have.
    pub fn digit_count(&self) -> usize {
        self.digit_count
    }
    /// The places in the key ring of its primes: all of them, unless it serves lower levels alone.
    pub fn primes(&self) -> impl Iterator<Item = usize> + use<> {
        let universe = self.chain.params().universe().len();
        (0..self.universe_count).chain(universe..self.chain.key_ring().limb_count())
    }
    /// The row of the prime at this place of the key ring.
    fn row(&self, limb: usize) -> Option<usize> {
        let universe = self.chain.params().universe().len();
        match limb.checked_sub(universe) {
            Some(special) => Some(self.universe_count + special),
            None => (limb < self.universe_count).then_some(limb),
        }
    }

    /// The level of a ring, and its tables.
    pub(crate) fn tables(&self, ring: &Ring) -> Result<(Level, &ChainLevel), RlweError> {
        let level = self.chain.level_of(ring)?;
        if level > self.level {
            return Err(RlweError::KeyLevel { element: self.element, found: level, expected: self.level });
        }
        Ok((level, self.chain.level(level)?))
    }

    /// One body and its mask, modulo prime `limb` of the key ring: the body to be overwritten with canonical residues.
    ///
    /// # Panics
    /// If there is no such digit or prime.
    pub fn body_and_mask(&mut self, digit: usize, limb: usize) -> (&mut [u64], &[u64]) {
        let row = self.row(limb);
        assert!(digit < self.digit_count && row.is_some(), "a digit and a prime of the key");
        let (degree, digits, row) = (self.chain.degree(), self.digit_count, row.unwrap_or(0));
        let row = &mut self.words[2 * row * digits * degree..][..2 * digits * degree];
        let (bodies, masks) = row.split_at_mut(digits * degree);
        (&mut bodies[digit * degree..][..degree], &masks[digit * degree..][..degree])
    }

    /// The body of a digit modulo prime `limb` of the key ring; empty if there is none.
    pub fn body(&self, digit: usize, limb: usize) -> &[u64] {
        let degree = self.chain.degree();
        let Some(row) = self.row(limb).filter(|_| digit < self.digit_count) else { return &[] };
        let start = (2 * row * self.digit_count + digit) * degree;
        self.words.get(start..start + degree).unwrap_or(&[])
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
    /// [`RlweError::Ring`] if `poly` belongs to no level of the chain; [`RlweError::KeyLevel`] if to one above the key's.
    pub fn apply(&self, poly: &Poly<Eval>) -> Result<ExtendedPair, RlweError> {
        let (level, tables) = self.tables(poly.ring())?;
        let source = Source::Poly(poly);
        let digits = [PreparedDigits::new(tables, &source)];
        let mut pair = ExtendedPair::recycled(&self.chain, level)?;
        let (body, mask) = pair.words_mut();
        let (degree, group) = (self.chain.degree(), limbs_together(self.chain.degree()));
        for_each_group_of(vec![body, mask], degree, group, |first, rows| {
            let indices: Vec<usize> = (first..first + rows.len()).collect();
            let pair = |rows: Vec<_>| {
                <[_; 2]>::try_from(rows).map_or_else(|_| Vec::new(), |[body, mask]| vec![(body, mask)])
            };
            self.limbs(tables, &digits, &indices, &mut rows.into_iter().map(pair).collect::<Vec<_>>());
        });
        Ok(pair)
    }

    /// [`KeySwitchKey::apply`] for a polynomial that is decomposed already.
    ///
    /// # Errors
    /// [`RlweError::Ring`] if the decomposition is of another chain; [`RlweError::KeyLevel`] if of a level above the key's.
    pub fn apply_decomposed(&self, source: &Decomposed) -> Result<ExtendedPair, RlweError> {
        let tables = self.serving(source)?.chain.level(source.level())?;
        let mut pair = ExtendedPair::recycled(&self.chain, source.level())?;
        let (body, mask) = pair.words_mut();
        for_each_rows([body, mask], self.chain.degree(), |index, [body, mask]| {
            self.apply_to_limb(source, tables, index, (body, mask));
        });
        Ok(pair)
    }

    /// The key, if it is of the decomposition's chain and serves its level.
    pub(crate) fn serving(&self, source: &Decomposed) -> Result<&Self, RlweError> {
        if source.chain() != &self.chain {
            return Err(RlweError::ChainMismatch);
        }
        self.tables(self.chain.ring(source.level())?)?;
        Ok(self)
    }

    /// One limb of [`KeySwitchKey::apply_decomposed`], for a key that is [`KeySwitchKey::serving`].
    pub(crate) fn apply_to_limb(
        &self,
        source: &Decomposed,
        tables: &ChainLevel,
        index: usize,
        pair: RowPair<'_>,
    ) {
        self.inner_products(tables, index, &[source.limb(index).collect()], &mut [pair]);
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
        let make = |indices: &[usize], pairs: &mut [Vec<RowPair<'_>>]| {
            self.limbs(tables, &digits, indices, pairs);
            indices.iter().zip(pairs).for_each(|(&index, pairs)| before(index, pairs));
        };
        switch.apply_pairs(sources.len(), make, after)
    }

    /// Some limbs of the extended pairs.
    fn limbs(
        &self,
        tables: &ChainLevel,
        digits: &[PreparedDigits<'_>],
        indices: &[usize],
        pairs: &mut [Vec<RowPair<'_>>],
    ) {
        let (degree, count) = (self.chain.degree(), tables.digits().len());
        let mut scratch = Words::recycled(indices.len() * digits.len() * count * degree);
        let mut scratch = scratch.chunks_exact_mut(degree);
        // By source, then by digit, then by limb.
        let mut rows: Vec<(&PreparedDigits<'_>, usize, Vec<&mut [u64]>)> = Vec::new();
        for digits in digits {
            for digit in 0..count {
                let mut scratch = scratch.by_ref().take(indices.len()).collect::<Vec<_>>();
                digits.convert(digit, indices, &mut scratch);
                rows.push((digits, digit, scratch));
            }
        }
        // One prime after the other: its tables are as large as several rows.
        for (place, &index) in indices.iter().enumerate() {
            rows.iter_mut().for_each(|(digits, digit, rows)| digits.transform(*digit, index, rows[place]));
        }
        let mut by_limb: Vec<Vec<Vec<&[u64]>>> = vec![vec![Vec::new(); digits.len()]; indices.len()];
        for (at, (digits, digit, scratch)) in rows.into_iter().enumerate() {
            for ((by_limb, &index), row) in by_limb.iter_mut().zip(indices).zip(scratch) {
                by_limb[at / count].push(digits.row(digit, index, row));
            }
        }
        for ((&index, rows), pairs) in indices.iter().zip(&by_limb).zip(pairs) {
            self.inner_products(tables, index, rows, pairs);
        }
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
        // Levels above the key's have been refused.
        let row = self.row(place).unwrap_or(0);
        let (degree, count) = (self.chain.degree(), tables.digits().len());
        let key = &self.words[2 * row * self.digit_count * degree..][..2 * self.digit_count * degree];
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
