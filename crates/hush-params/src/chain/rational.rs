// SPDX-License-Identifier: Apache-2.0
//! Chains with levels of any number of bits, whatever the size of the primes.
//!
//! # Method
//! A level is a set of large primes, all of [`LARGE_BITS`] bits, and some of a few **fillers** of 30 to 46 bits. The search
//! looks for the fewest fillers, and among those for the smallest universe, such that every level can be `scale_bits`
//! smaller than the one above, to within [`TOLERANCE_BITS`]. A filler that comes at a lower level is missing at the top: that is
//! the price, some 35 bits of the universe, for any size of level. A level's scale is `Δ² · ratio`, so a deviation at one level would double at the next:
//! each step aims at the modulus that brings the scale back to its nominal size.
//!
//! # References
//! \[SS24\] moduli that pack machine words; \[CCKS24\] the same for key switching ("grafting").

use super::{ChainError, ChainParams, ChainSpec};
use crate::primes::{SMALLEST_BITS, primes_of};

/// Bits of the primes that fill a modulus.
const LARGE_BITS: u32 = 46;
/// How far a level's scale may be from the nominal one.
const TOLERANCE_BITS: f64 = 1.0;
/// Most fillers that are tried: the search grows with the number of their sets.
const MAX_FILLERS: usize = 4;

impl ChainParams {
    /// The primes and levels of a chain with `depth` divisions by about `2^scale_bits` over a base of at least `base_bits`,
    /// with digits of `digit_limbs` primes and as many special primes.
    ///
    /// # Cost
    /// Some milliseconds; the result is small and worth keeping.
    ///
    /// # Errors
    /// [`ChainError::Unreachable`] if no set of fillers does; the caller checks the specification against the security table by
    /// [`ChainParams::new`].
    pub fn rational_spec(
        degree: u32,
        scale_bits: f64,
        depth: u32,
        base_bits: f64,
        digit_limbs: usize,
    ) -> Result<ChainSpec, ChainError> {
        let unreachable = ChainError::Unreachable { depth, bits: scale_bits as u32 };
        let wanted = base_bits + scale_bits * f64::from(depth);
        let with_fillers = |count: usize| {
            let mut sizes = vec![SMALLEST_BITS; count];
            let mut best: Option<(f64, Layout)> = None;
            loop {
                for found in Universe::all(&sizes, wanted)
                    .iter()
                    .filter_map(|u| u.levels(scale_bits, depth, base_bits))
                {
                    let bits = log2_sum(&found.0);
                    if best.as_ref().is_none_or(|(smallest, _)| bits < *smallest) {
                        best = Some((bits, found));
                    }
                }
                if !advance(&mut sizes) {
                    return best;
                }
            }
        };
        let found = (0..=MAX_FILLERS).find_map(with_fillers);
        let (_, (universe, levels)) = found.ok_or(unreachable)?;
        let special = primes_of(47).iter().take(digit_limbs).copied().collect();
        Ok(ChainSpec { degree, universe, special, levels, digit_limbs })
    }
}

/// The next rising list of filler sizes; `false` after the last.
fn advance(sizes: &mut [u32]) -> bool {
    let Some(place) = sizes.iter().rposition(|&size| size < LARGE_BITS - 1) else { return false };
    let next = sizes[place] + 1;
    sizes[place..].fill(next);
    true
}

/// A universe and the places of each level's primes, from level 0 up.
type Layout = (Vec<u64>, Vec<Vec<u8>>);

struct Universe {
    fillers: Vec<u64>,
    large: Vec<u64>,
    /// The fillers of the top level, as bits.
    top: u32,
}

impl Universe {
    /// For every set of fillers at the top, as many large primes as make its modulus at least `2^wanted`.
    fn all(sizes: &[u32], wanted: f64) -> Vec<Self> {
        let filler = |(index, &size): (usize, &u32)| {
            let before = sizes[..index].iter().filter(|&&other| other == size).count();
            primes_of(size).get(before).copied()
        };
        let fillers: Option<Vec<u64>> = sizes.iter().enumerate().map(filler).collect();
        let universe = |top: u32| {
            let mut universe = Self { fillers: fillers.clone()?, large: Vec::new(), top };
            let rest = (wanted - universe.filler_bits(top) - TOLERANCE_BITS).max(0.0);
            let count = (rest / f64::from(LARGE_BITS)).ceil() as usize;
            universe.large = primes_of(LARGE_BITS).get(..count)?.to_vec();
            (count > 0).then_some(universe)
        };
        (0..1 << sizes.len()).filter_map(universe).collect()
    }

    /// The levels, if every step can be taken.
    fn levels(&self, scale_bits: f64, depth: u32, base_bits: f64) -> Option<Layout> {
        let subsets: Vec<(f64, u32)> =
            (0..1_u32 << self.fillers.len()).map(|subset| (self.filler_bits(subset), subset)).collect();
        let mut modulus = self.filler_bits(self.top) + log2_sum(&self.large);
        let mut scale = scale_bits;
        let mut levels = vec![self.places(self.large.len(), self.top)];
        for _ in 0..depth {
            // 2·scale − (bits divided by) must be the nominal scale again.
            let target = modulus - (2.0 * scale - scale_bits);
            let (count, subset, bits) = self.nearest(&subsets, target)?;
            scale = 2.0 * scale - (modulus - bits);
            if (scale - scale_bits).abs() > TOLERANCE_BITS || bits >= modulus {
                return None;
            }
            modulus = bits;
            levels.push(self.places(count, subset));
        }
        if modulus < base_bits - TOLERANCE_BITS {
            return None;
        }
        levels.reverse();
        Some((self.fillers.iter().chain(&self.large).copied().collect(), levels))
    }

    /// The number of large primes and the set of fillers with a product nearest to `2^target`.
    fn nearest(&self, subsets: &[(f64, u32)], target: f64) -> Option<(usize, u32, f64)> {
        let candidate = |&(filler_bits, subset): &(f64, u32)| {
            let count = ((target - filler_bits) / f64::from(LARGE_BITS)).round().max(0.0) as usize;
            let bits = filler_bits + log2_sum(self.large.get(..count)?);
            (bits > 0.0).then_some((count, subset, bits))
        };
        let distance = |bits: f64| (bits - target).abs();
        subsets.iter().filter_map(candidate).min_by(|a, b| distance(a.2).total_cmp(&distance(b.2)))
    }

    fn filler_bits(&self, subset: u32) -> f64 {
        let chosen = self.fillers.iter().enumerate().filter(|(index, _)| subset >> index & 1 == 1);
        chosen.map(|(_, &q)| (q as f64).log2()).sum()
    }

    /// Fillers stand first in the universe.
    fn places(&self, large: usize, subset: u32) -> Vec<u8> {
        let fillers = (0..self.fillers.len()).filter(|index| subset >> index & 1 == 1);
        fillers.chain(self.fillers.len()..self.fillers.len() + large).map(|place| place as u8).collect()
    }
}

fn log2_sum(primes: &[u64]) -> f64 {
    primes.iter().map(|&q| (q as f64).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;

    #[test]
    fn levels_are_worth_what_was_asked_for_and_scales_do_not_drift() {
        for (degree, scale, depth, base) in
            [(16384, 55.0, 3, 60.0), (32768, 55.0, 10, 60.0), (32768, 50.0, 12, 60.0), (16384, 60.0, 3, 66.0)]
        {
            let spec = ChainParams::rational_spec(degree, scale, depth, base, 2).unwrap();
            let chain = ChainParams::new(spec).unwrap();
            assert_eq!(u32::from(chain.top().0), depth);
            let mut current = scale;
            for level in (1..=chain.top().0).rev() {
                let ratio = chain.log_q(Level(level)).unwrap() - chain.log_q(Level(level - 1)).unwrap();
                current = 2.0 * current - ratio;
                assert!((current - scale).abs() <= TOLERANCE_BITS, "scale {current} at level {level}");
            }
            assert!(chain.log_q(Level(0)).unwrap() >= base - TOLERANCE_BITS);
            let waste = log2_sum(chain.universe()) - chain.log_q(chain.top()).unwrap();
            assert!(waste < 80.0, "{waste} bits of the universe are missing at the top");
        }
        assert!(ChainParams::rational_spec(16384, 55.0, 60, 60.0, 2).is_err());
    }
}
