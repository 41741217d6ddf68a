// SPDX-License-Identifier: Apache-2.0
//! The split of rotations into baby steps and giant steps.

use std::collections::BTreeSet;

use hush_ring::{Chain, Level};
use hush_rlwe::rotation_element;

use crate::CircuitError;

/// A giant step `g` and the rotations that a set of diagonals needs with it.
///
/// *Invariants.* Baby steps and giant steps are rising and distinct; each serves a diagonal. *Secrecy.* Public.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Split {
    giant_step: usize,
    babies: Vec<usize>,
    giants: Vec<usize>,
}

impl Split {
    /// The split of these offsets by a giant step (0 counts as 1).
    pub fn by(giant_step: usize, offsets: &[usize]) -> Self {
        let giant_step = giant_step.max(1);
        let babies: BTreeSet<usize> = offsets.iter().map(|offset| offset % giant_step).collect();
        let giants: BTreeSet<usize> = offsets.iter().map(|offset| offset - offset % giant_step).collect();
        Self { giant_step, babies: babies.into_iter().collect(), giants: giants.into_iter().collect() }
    }

    /// The split that costs least at a level, by counting products and transforms of rows of residues.
    ///
    /// # Math
    /// With `L` primes, `K` special ones and `d` digits, a baby step takes `2·d·(L + K)` products; a giant step takes
    /// `d·(L + K) + L + K` transforms besides, each worth about `log2(N)/2` products.
    ///
    /// Few diagonals are tried with every giant step up to the largest offset, many with `2^k` and `3·2^k` alone: there the
    /// cost is flat around its minimum.
    ///
    /// # Cost
    /// At most some `2^20` steps.
    ///
    /// # Errors
    /// [`CircuitError::Scheme`] if there is no such level.
    pub fn cheapest(chain: &Chain, level: Level, offsets: &[usize]) -> Result<Self, CircuitError> {
        let tables = chain.level(level)?;
        let (rows, digits) = (tables.extended().limb_count(), tables.digits().len());
        let baby = 2 * digits * rows;
        let transform = chain.degree().ilog2() as usize / 2;
        let giant = baby + (digits * rows + rows) * transform;
        let moves = |steps: &[usize]| steps.iter().filter(|&&steps| steps != 0).count();
        let cost = |split: &Self| moves(&split.babies) * baby + moves(&split.giants) * giant;
        let last = offsets.iter().copied().max().unwrap_or(0) + 1;
        let is_few = offsets.len() * last <= 1 << 18;
        let is_round = |step: &usize| (step >> step.trailing_zeros()) < 4;
        let steps = (1..=last.min(chain.degree() / 2)).filter(|step| is_few || is_round(step));
        let splits = steps.map(|giant_step| Self::by(giant_step, offsets));
        // Of equal costs the larger giant step: its rotations need no transform.
        let best = splits.min_by_key(|split| (cost(split), usize::MAX - split.giant_step));
        Ok(best.unwrap_or_else(|| Self::by(1, offsets)))
    }

    /// `g`.
    pub fn giant_step(&self) -> usize {
        self.giant_step
    }
    /// The baby steps, zero included if a diagonal has it.
    pub fn babies(&self) -> &[usize] {
        &self.babies
    }
    /// The giant steps, zero included if a diagonal has it.
    pub fn giants(&self) -> &[usize] {
        &self.giants
    }

    /// The Galois elements that a transform with this split uses: all of them, each once, and no others.
    pub fn galois_elements(&self, degree: usize) -> Vec<usize> {
        let steps: BTreeSet<usize> = self.babies.iter().chain(&self.giants).copied().collect();
        steps.into_iter().map(|steps| rotation_element(degree, steps as i64)).filter(|&g| g != 1).collect()
    }

    /// Giant step and baby step of an offset.
    pub(super) fn steps(&self, offset: usize) -> (usize, usize) {
        let baby = offset % self.giant_step;
        (offset - baby, baby)
    }
}
