// SPDX-License-Identifier: Apache-2.0
//! The rows of one ring element that count in a sum with groups: sorted by group once, and used for every column
//! and limb.

use std::ops::Range;

use hush_arith::Modulus;
use hush_ring::Ring;

use super::NOT_SELECTED;

/// Selected rows by group.
///
/// *Invariants.* `rows` are below `N`, each once, and ascend within a group; the ranges of the groups cover `rows`
/// without overlap. Weights, if
/// any, stand beside the rows, canonical modulo each prime.
pub(super) struct Selection {
    rows: Vec<u32>,
    by_group: Vec<GroupRows>,
    /// Limb after limb, one residue per entry of `rows`; empty if all weights are 1.
    weights: Vec<u64>,
}

/// The rows of one group.
pub(super) struct GroupRows {
    pub(super) group: u32,
    range: Range<usize>,
}

impl Selection {
    /// # Shapes
    /// `groups`: up to `N` rows of one ring element. `weights`: as many. `counts`: a zero for every group; zeros
    /// again afterwards.
    ///
    /// # Cost
    /// Linear: a counting sort over the groups that occur.
    pub(super) fn new(groups: &[u32], weights: Option<&[i128]>, ring: &Ring, counts: &mut [u32]) -> Self {
        let chosen = chosen(groups);
        let selected = || chosen.iter().map(|&row| (row, groups[row as usize]));
        let mut by_group: Vec<GroupRows> = Vec::new();
        for (_, group) in selected() {
            if counts[group as usize] == 0 {
                by_group.push(GroupRows { group, range: 0..0 });
            }
            counts[group as usize] += 1;
        }
        let mut end = 0;
        for group_rows in &mut by_group {
            let start = end;
            end += counts[group_rows.group as usize] as usize;
            group_rows.range = start..end;
            counts[group_rows.group as usize] = start as u32;
        }
        let mut rows = vec![0; end];
        for (row, group) in selected() {
            let place = &mut counts[group as usize];
            rows[*place as usize] = row;
            *place += 1;
        }
        by_group.iter().for_each(|group_rows| counts[group_rows.group as usize] = 0);
        let moduli = ring.limbs().iter().map(|limb| limb.modulus());
        let weights = weights.map_or_else(Vec::new, |weights| {
            let residues = |q: Modulus| rows.iter().map(move |&row| q.reduce_i128(weights[row as usize]));
            moduli.flat_map(residues).collect()
        });
        Self { rows, by_group, weights }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn by_group(&self) -> &[GroupRows] {
        &self.by_group
    }

    /// Writes `M` of one group, transformed: `M_0 = w_0`, `M_{N−i} = −w_i`.
    pub(super) fn selector_into(&self, ring: &Ring, group_rows: &GroupRows, out: &mut [u64]) {
        let degree = ring.degree();
        let rows = &self.rows[group_rows.range.clone()];
        out.fill(0);
        for (index, (limb, words)) in ring.limbs().iter().zip(out.chunks_exact_mut(degree)).enumerate() {
            let q = limb.modulus();
            match self.weights_of(index, group_rows) {
                None => {
                    let minus_one = q.value() - 1;
                    for &row in rows.iter().filter(|&&row| row != 0) {
                        words[degree - row as usize] = minus_one;
                    }
                    words[0] = u64::from(rows.first() == Some(&0));
                }
                Some(weights) => {
                    for (&row, &weight) in rows.iter().zip(weights) {
                        match row as usize {
                            0 => words[0] = weight,
                            row => words[degree - row] = q.neg(weight),
                        }
                    }
                }
            }
            limb.forward(words);
        }
    }

    /// `Σ w_i·b_i mod q` over the rows of one group; `words` are the residues of one limb of a body.
    pub(super) fn weigh(&self, q: Modulus, index: usize, group_rows: &GroupRows, words: &[u64]) -> u64 {
        let rows = &self.rows[group_rows.range.clone()];
        match self.weights_of(index, group_rows) {
            None => q.reduce_u64(sum_at(words, rows)),
            // At most 2^14 products below 2^94.
            Some(weights) => {
                let words = rows.iter().map(|&row| words[row as usize]);
                let products = words.zip(weights).map(|(b, &w)| u128::from(b) * u128::from(w));
                q.reduce_u128(products.sum())
            }
        }
    }

    fn weights_of(&self, limb: usize, group_rows: &GroupRows) -> Option<&[u64]> {
        self.weights
            .chunks_exact(self.rows.len().max(1))
            .nth(limb)
            .map(|weights| &weights[group_rows.range.clone()])
    }
}

/// The rows that have a group. Every row is written down, and the next one over it if it has none: a branch that half of the rows take, here
/// and there, would cost more.
fn chosen(groups: &[u32]) -> Vec<u32> {
    let (mut rows, mut count) = (vec![0; groups.len()], 0);
    for (row, &group) in (0_u32..).zip(groups) {
        rows[count] = row;
        count += usize::from(group != NOT_SELECTED);
    }
    rows.truncate(count);
    rows
}

/// The sum of some of `N` words: of at most 2^14 residues below 2^47, which cannot overflow.
fn sum_at(words: &[u64], rows: &[u32]) -> u64 {
    if words.is_empty() {
        return 0;
    }
    // Rows are below N, a power of two: the mask changes none of them and spares a comparison for each.
    let at = |row: u32| words[row as usize & (words.len() - 1)];
    let (fours, rest) = rows.as_chunks::<4>();
    // Four sums, so that an addition need not wait for the one before.
    let mut sums = [0_u64; 4];
    for four in fours {
        for (sum, &row) in sums.iter_mut().zip(four) {
            *sum = sum.wrapping_add(at(row));
        }
    }
    rest.iter().map(|&row| at(row)).chain(sums).fold(0, u64::wrapping_add)
}
