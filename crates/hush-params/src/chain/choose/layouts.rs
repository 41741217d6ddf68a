// SPDX-License-Identifier: Apache-2.0
//! The chains that are tried: how many primes there are for each role, and of what size.

use super::{ChainRequest, KeySwitching, Plaintexts};
use crate::chain::{ChainParams, ChainSpec};
use crate::primes::{LARGEST_BITS, SMALLEST_BITS, primes_of};

/// Numbers of primes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Of level 0.
    pub(super) base: usize,
    /// That leave at a division.
    pub(super) per_level: usize,
    /// Of ciphertexts at the top.
    pub(super) limbs: usize,
    /// Special ones.
    pub(super) special: usize,
    /// In a digit.
    pub(super) digit_limbs: usize,
}

impl Shape {
    /// Polynomials of one prime in a fresh ciphertext and an evaluation key; times `8·N`, their bytes in memory.
    fn rows(&self) -> usize {
        2 * self.limbs + self.digits() * 2 * (self.limbs + self.special)
    }

    fn digits(&self) -> usize {
        if self.special == 0 { 0 } else { self.limbs.div_ceil(self.digit_limbs) }
    }
}

/// Sizes in bits of the primes of each role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) base: u32,
    pub(super) level: u32,
    pub(super) special: u32,
}

impl ChainRequest {
    /// Every shape, those first that take the fewest bytes, and of these the ones with the fewest primes.
    pub(super) fn shapes(&self, max_per_level: usize) -> Vec<Shape> {
        let divisions = self.divisions();
        let (max_base, max_per_level) = match (self.plaintexts, divisions) {
            (Plaintexts::ExactScaled { .. }, _) => (primes_of(MOST_PRIMES_BITS).len(), 1),
            (_, 0) => (MAX_BASE, 1),
            _ => (MAX_BASE, max_per_level),
        };
        let mut shapes = Vec::new();
        for per_level in 1..=max_per_level {
            for base in 1..=max_base {
                let limbs = base + per_level * divisions;
                if limbs > primes_of(MOST_PRIMES_BITS).len() {
                    break;
                }
                let shape = |special, digit_limbs| Shape { base, per_level, limbs, special, digit_limbs };
                match self.key_switching {
                    KeySwitching::Never => shapes.push(shape(0, 1)),
                    KeySwitching::Used => {
                        let digits = (1..=limbs).map(|count| limbs.div_ceil(count));
                        let mut digits: Vec<usize> = digits.collect();
                        digits.dedup();
                        let specials = |digit_limbs: usize| (1..=digit_limbs).map(move |k| (k, digit_limbs));
                        shapes.extend(digits.into_iter().flat_map(specials).map(|(k, d)| shape(k, d)));
                    }
                }
            }
        }
        shapes.sort_by_key(|shape| (shape.rows(), shape.limbs + shape.special));
        shapes
    }

    /// Sizes of the primes that leave; of a chain of one level, which has none, any one.
    pub(super) fn level_sizes(&self, shape: Shape) -> impl Iterator<Item = u32> {
        let sizes =
            if self.divisions() == 0 { LARGEST_BITS..=LARGEST_BITS } else { SMALLEST_BITS..=LARGEST_BITS };
        sizes.filter(move |&level| match self.plaintexts {
            Plaintexts::Approximate { scale_log2: Some(scale_log2), .. } if self.divisions() > 0 => {
                (f64::from(level) * shape.per_level as f64 - scale_log2).abs() <= NEAR_BITS
            }
            _ => true,
        })
    }
}

impl Shape {
    /// No less than log2 of the largest modulus, and hardly more.
    pub(super) fn ciphertext_bits(&self, sizes: Sizes) -> f64 {
        self.base as f64 * size_log2(sizes.base) + (self.limbs - self.base) as f64 * size_log2(sizes.level)
    }

    /// With the largest special primes that leave the chain within `max_log_qp`; `None` if there are none.
    ///
    /// Larger ones never make noise larger: the errors of a key switch are divided by their product.
    pub(super) fn with_special(&self, sizes: Sizes, max_log_qp: f64) -> Option<Sizes> {
        let rest = max_log_qp - self.ciphertext_bits(sizes);
        if self.special == 0 {
            return (rest >= 0.0).then_some(sizes);
        }
        let fits = |bits: &u32| self.special as f64 * size_log2(*bits) <= rest;
        let special = (SMALLEST_BITS..=LARGEST_BITS).rev().find(fits)?;
        Some(Sizes { special, ..sizes })
    }

    /// The primes; `None` if there are too few of a size. The largest of each go to the special ones.
    pub(super) fn spec(&self, degree: u32, sizes: Sizes) -> Option<ChainSpec> {
        let mut taken = [0; (LARGEST_BITS - SMALLEST_BITS + 1) as usize];
        let mut take = |bits: u32, count: usize| {
            let start = &mut taken[(bits - SMALLEST_BITS) as usize];
            let primes = primes_of(bits).get(*start..*start + count)?;
            *start += count;
            Some(primes)
        };
        let special = take(sizes.special, self.special)?.to_vec();
        let mut universe = take(sizes.base, self.base)?.to_vec();
        universe.extend_from_slice(take(sizes.level, self.limbs - self.base)?);
        let counts = (self.base..=self.limbs).step_by(self.per_level);
        let levels = counts.map(|count| (0..count as u8).collect()).collect();
        Some(ChainSpec { degree, universe, special, levels, digit_limbs: self.digit_limbs })
    }
}

/// Chains of one ring with levels of a scale's own size, whatever the size of primes; the fewest special primes first.
pub(super) fn rational_specs(
    request: &ChainRequest,
    degree: u32,
    layout: &ChainSpec,
) -> impl Iterator<Item = ChainSpec> {
    let primes = primes_of(LARGEST_BITS);
    let counts = match request.key_switching {
        KeySwitching::Never => 0..=0,
        KeySwitching::Used => 1..=layout.universe.len().min(primes.len()),
    };
    counts.map(move |special| {
        let digit_limbs = special.max(1);
        let special = primes.iter().take(special).copied().collect();
        ChainSpec { degree, special, digit_limbs, ..layout.clone() }
    })
}

/// Rows of memory of any chain, as [`Shape::rows`].
pub(super) fn rows(chain: &ChainParams) -> usize {
    let (limbs, special) = (chain.universe().len(), chain.special().len());
    Shape { base: limbs, per_level: 1, limbs, special, digit_limbs: chain.digit_limbs() }.rows()
}

/// log2 of the largest prime of a size.
fn size_log2(bits: u32) -> f64 {
    primes_of(bits).first().map_or(f64::INFINITY, |&q| (q as f64).log2())
}

/// The most frequent size of primes.
const MOST_PRIMES_BITS: u32 = 46;
/// Large plaintext moduli and scales need levels of several primes.
pub(super) const MAX_LIMBS_PER_LEVEL: usize = 3;
/// How far a level's worth may be from a scale asked for; the run is stricter.
const NEAR_BITS: f64 = 2.0;
/// Primes of level 0.
const MAX_BASE: usize = 5;
