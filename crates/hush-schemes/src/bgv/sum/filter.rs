// SPDX-License-Identifier: Apache-2.0
//! The weights of one ring element's rows in a sum without groups: dense, so that every loop is a vector loop.

use hush_ring::{Ring, RingLimb};

use super::NOT_SELECTED;

/// A weight for every row: 0 for rows that do not count, 1 or the given weight for the others.
///
/// *Invariants.* Canonical residues, `N` per limb; one set for all limbs if all are 0 or 1.
pub(super) struct Filter {
    selected: usize,
    weighted: bool,
    weights: Vec<u64>,
}

impl Filter {
    /// # Shapes
    /// `groups`: up to `N` rows of one ring element, [`NOT_SELECTED`] or not. `weights`: as many.
    pub(super) fn new(groups: &[u32], weights: Option<&[i128]>, ring: &Ring) -> Self {
        let counts = |group: u32| group != NOT_SELECTED;
        let selected = groups.iter().filter(|&&group| counts(group)).count();
        let degree = ring.degree();
        let Some(weights) = weights else {
            let mut ones = vec![0; degree];
            ones.iter_mut().zip(groups).for_each(|(one, &group)| *one = u64::from(counts(group)));
            return Self { selected, weighted: false, weights: ones };
        };
        let rows = || weights.iter().zip(groups).map(|(&w, &g)| if counts(g) { w } else { 0 });
        let mut residues = vec![0; ring.poly_words()];
        let limbs = ring.limbs().iter().zip(residues.chunks_exact_mut(degree));
        if weights.iter().all(|&weight| i64::try_from(weight).is_ok()) {
            let mut narrow = vec![0; degree];
            narrow.iter_mut().zip(rows()).for_each(|(narrow, weight)| *narrow = weight as i64);
            limbs.for_each(|(limb, out)| limb.lift_signed(&narrow, out));
        } else {
            for (limb, out) in limbs {
                out.iter_mut().zip(rows()).for_each(|(out, w)| *out = limb.modulus().reduce_i128(w));
            }
        }
        Self { selected, weighted: true, weights: residues }
    }

    /// Whether every row of a full ring element counts once.
    pub(super) fn is_whole(&self, degree: usize) -> bool {
        self.selected == degree && !self.weighted
    }

    pub(super) fn is_empty(&self) -> bool {
        self.selected == 0
    }

    /// Writes `M`, transformed: `M_0 = w_0`, `M_{N−i} = −w_i`.
    pub(super) fn selector_into(&self, ring: &Ring, out: &mut [u64]) {
        let degree = ring.degree();
        for (index, (limb, words)) in ring.limbs().iter().zip(out.chunks_exact_mut(degree)).enumerate() {
            let (Some((first, rest)), Some((out_first, out_rest))) =
                (self.of_limb(index, degree).split_first(), words.split_first_mut())
            else {
                continue;
            };
            out_rest.iter_mut().zip(rest.iter().rev()).for_each(|(out, &weight)| *out = weight);
            limb.neg_assign(out_rest);
            *out_first = *first;
            limb.forward(words);
        }
    }

    /// `Σ w_i·b_i mod q`; `words` are the residues of one limb of a body and are overwritten.
    pub(super) fn weigh(&self, limb: &RingLimb, index: usize, words: &mut [u64]) -> u64 {
        // A body that was read as verified may hold residues above the prime, which products must not meet.
        limb.reduce_assign(words);
        limb.mul_assign(words, self.of_limb(index, words.len()));
        limb.modulus().reduce_u64(sum(words))
    }

    fn of_limb(&self, index: usize, degree: usize) -> &[u64] {
        let index = if self.weighted { index } else { 0 };
        &self.weights[index * degree..(index + 1) * degree]
    }
}

/// A sum of at most 2^14 residues below 2^47, which cannot overflow: wrapping, so that the loop is a vector loop.
pub(super) fn sum(words: &[u64]) -> u64 {
    words.iter().fold(0, |sum, &word| sum.wrapping_add(word))
}
