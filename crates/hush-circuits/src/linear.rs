// SPDX-License-Identifier: Apache-2.0
//! Linear transforms of rows, given by the diagonals of a matrix.
//!
//! # Math
//! With `(rot_k v)_i = v_(i+k)`, indices modulo the row length `n`, a matrix `M` with diagonals `d_k[i] = M[i][i+k]` acts as
//! `M·v = Σ_k d_k ⊙ rot_k v`. For a **giant step** `g` write `k = g·j + b`, `0 ≤ b < g`:
//! `M·v = Σ_j rot_(gj)( Σ_b rot_(−gj)(d_(gj+b)) ⊙ rot_b v )`,
//! so that a full matrix needs about `g + n/g` rotations and not `n`.
//!
//! *Double hoisting.* The mask of `v` is decomposed once for all **baby steps** `rot_b v`, which stay over the extended ring,
//! times `P`; the clear diagonals are encoded there. A giant step divides and key-switches one mask, and its result stays
//! over the extended ring as well. One division by `P` ends the sum; in CKKS it is the division to the level below, too.
//!
//! # References
//! \[HS18\] baby and giant steps, hoisting; \[BMTH21, section 4\] double hoisting.

mod split;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use hush_ring::{Level, Repeated};
use hush_rlwe::{EvaluationKeys, ExtendedPair, HoistedTerm, rotation_element};

pub use split::Split;

use crate::error::check_depth;
use crate::noise::{CircuitNoise, TransformShape};
use crate::{CircuitError, SlotScheme};

/// The non-zero diagonals of a matrix on rows of `N/2` slots.
///
/// *Invariants.* Offsets below the row length; each diagonal has one entry for each slot of a row, or for each slot of both
/// rows if the rows are multiplied by different matrices. *Secrecy.* Public.
#[derive(Clone, PartialEq, Debug)]
pub struct Diagonals<T> {
    row_slots: usize,
    entries: BTreeMap<usize, Vec<T>>,
}

impl<T: Copy + Default + PartialEq> Diagonals<T> {
    /// From pairs of offset and diagonal; `d_k[i]` multiplies slot `i + k` and adds to slot `i`. Offsets may be negative;
    /// diagonals of zeros are left out, and of two for the same offset the last counts.
    ///
    /// # Errors
    /// [`CircuitError::DiagonalLength`] unless each has `row_slots` or `2·row_slots` entries.
    pub fn new(
        row_slots: usize,
        diagonals: impl IntoIterator<Item = (i64, Vec<T>)>,
    ) -> Result<Self, CircuitError> {
        let mut entries = BTreeMap::new();
        for (offset, diagonal) in diagonals {
            let offset = offset.rem_euclid(row_slots.max(1) as i64) as usize;
            let found = diagonal.len();
            if found != row_slots && found != 2 * row_slots {
                return Err(CircuitError::DiagonalLength { offset, found, expected: row_slots });
            }
            if diagonal.iter().any(|&value| value != T::default()) {
                entries.insert(offset, diagonal);
            }
        }
        Ok(Self { row_slots, entries })
    }

    /// The diagonals of a matrix given by its rows, which stands in the upper left corner; the rest is zero.
    ///
    /// # Errors
    /// [`CircuitError::Slot`] if it has more rows or columns than a row has slots.
    pub fn of_matrix(row_slots: usize, matrix: &[Vec<T>]) -> Result<Self, CircuitError> {
        let columns = matrix.iter().map(Vec::len).max().unwrap_or(0);
        let found = columns.max(matrix.len());
        if found > row_slots {
            return Err(CircuitError::Slot { found, max: row_slots });
        }
        let mut entries: BTreeMap<usize, Vec<T>> = BTreeMap::new();
        for (i, row) in matrix.iter().enumerate() {
            for (j, &value) in row.iter().enumerate().filter(|&(_, &value)| value != T::default()) {
                let offset = (j + row_slots - i) % row_slots;
                entries.entry(offset).or_insert_with(|| vec![T::default(); row_slots])[i] = value;
            }
        }
        Ok(Self { row_slots, entries })
    }

    /// The offsets of the non-zero diagonals, rising.
    pub fn offsets(&self) -> Vec<usize> {
        self.entries.keys().copied().collect()
    }

    /// Each offset with its diagonal.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &[T])> {
        self.entries.iter().map(|(&offset, diagonal)| (offset, diagonal.as_slice()))
    }

    /// Bounds of a transform by these diagonals with a split.
    ///
    /// # Errors
    /// [`CircuitError::NoDiagonals`]; [`CircuitError::Scheme`] at level 0 where a level is needed.
    pub fn noise<M: CircuitNoise<Value = T>>(
        &self,
        split: &Split,
        model: &M,
        a: M::Noise,
    ) -> Result<M::Noise, CircuitError> {
        if self.entries.is_empty() {
            return Err(CircuitError::NoDiagonals);
        }
        let mut norms = vec![0.0; 2 * self.row_slots];
        for diagonal in self.entries.values() {
            let rows = diagonal.iter().cycle();
            norms.iter_mut().zip(rows).for_each(|(norm, value)| *norm += model.magnitude(value));
        }
        let row_norm = norms.into_iter().fold(0.0, f64::max);
        let giant_steps = split.giants().iter().filter(|&&steps| steps != 0).count();
        model.transformed(a, TransformShape { diagonals: self.entries.len(), giant_steps, row_norm })
    }

    /// A diagonal rotated `steps` places to the right, for each of `row_count` rows.
    fn rotated(&self, diagonal: &[T], steps: usize, row_count: usize) -> Vec<T> {
        let mut values = Vec::with_capacity(row_count * self.row_slots);
        let rows = diagonal.chunks_exact(self.row_slots).cycle().take(row_count);
        for row in rows {
            let start = values.len();
            values.extend_from_slice(row);
            values[start..].rotate_right(steps);
        }
        values
    }
}

/// A linear transform, encoded for ciphertexts of one level.
///
/// *Layout.* For each giant step the baby steps with their diagonals over the level's extended ring:
/// `8·diagonals·(L + K)·N` bytes, or less where diagonals have a period ([`Repeated`]). *Secrecy.* Public.
#[derive(Clone, Debug)]
pub struct LinearTransform {
    level: Level,
    split: Split,
    giants: Vec<Giant>,
}

/// The diagonals of one giant step.
#[derive(Clone, Debug)]
struct Giant {
    element: usize,
    /// Index into the baby steps, and the diagonal.
    terms: Vec<(usize, Repeated)>,
}

impl LinearTransform {
    /// Encodes a matrix for ciphertexts at `level`, with the cheapest split.
    ///
    /// # Cost
    /// An encoding over the extended ring for each diagonal.
    ///
    /// # Errors
    /// [`CircuitError::NoDiagonals`]; [`CircuitError::DiagonalLength`] for diagonals of another ring degree, or of two rows
    /// where there is one; [`CircuitError::Scheme`] if an entry cannot be encoded or there is no such level.
    pub fn new<S: SlotScheme>(
        scheme: &S,
        diagonals: &Diagonals<S::Value>,
        level: Level,
    ) -> Result<Self, CircuitError> {
        let split = Split::cheapest(scheme.chain(), level, &diagonals.offsets())?;
        Self::with_split(scheme, diagonals, level, split)
    }

    /// [`LinearTransform::new`] with a split of the caller's, for instance one that fits keys at hand.
    ///
    /// # Errors
    /// As there.
    pub fn with_split<S: SlotScheme>(
        scheme: &S,
        diagonals: &Diagonals<S::Value>,
        level: Level,
        split: Split,
    ) -> Result<Self, CircuitError> {
        let degree = scheme.chain().degree();
        if diagonals.entries.is_empty() {
            return Err(CircuitError::NoDiagonals);
        }
        let mut giants: BTreeMap<usize, Giant> = BTreeMap::new();
        for (&offset, diagonal) in &diagonals.entries {
            let (found, expected) = (diagonal.len(), scheme.row_slots());
            if diagonals.row_slots != expected || found > scheme.slot_count() {
                return Err(CircuitError::DiagonalLength { offset, found, expected });
            }
            let (giant, baby) = split.steps(offset);
            let Ok(baby) = split.babies().binary_search(&baby) else {
                return Err(CircuitError::Slot { found: baby, max: split.giant_step() });
            };
            let values = diagonals.rotated(diagonal, giant, scheme.row_count());
            let clear = scheme.encode_extended(&values, level)?;
            let element = rotation_element(degree, giant as i64);
            giants
                .entry(giant)
                .or_insert_with(|| Giant { element, terms: Vec::new() })
                .terms
                .push((baby, Repeated::new(&clear)));
        }
        Ok(Self { level, split, giants: giants.into_values().collect() })
    }

    /// The level that it is encoded for.
    pub fn level(&self) -> Level {
        self.level
    }
    /// The split into baby and giant steps.
    pub fn split(&self) -> &Split {
        &self.split
    }

    /// Bytes of the encoded diagonals.
    pub fn memory_bytes(&self) -> usize {
        let diagonals = self.giants.iter().flat_map(|giant| &giant.terms);
        diagonals.map(|(_, clear)| clear.memory_bytes()).sum()
    }

    /// Its diagonals and the giant steps that rotate.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let diagonals = self.giants.iter().map(|giant| giant.terms.len()).sum();
        (diagonals, self.giants.iter().filter(|giant| giant.element != 1).count())
    }

    /// The transform of every row.
    ///
    /// # Level
    /// CKKS: one lower. BGV and BFV: unchanged.
    ///
    /// # Cost
    /// One decomposition; for each baby step the products of a key switch and no NTT; for each giant step a key switch and
    /// half of a division by `P`; two products with a clear polynomial for each diagonal.
    ///
    /// # Noise
    /// For each diagonal a product with a clear polynomial (in BGV and BFV at most `N·t/2`), a key switch for each giant step.
    ///
    /// # Memory
    /// `H + 2·(L + K)·(g + 2) + S + D` rows of docs/math/chains.md for `g` giant steps.
    ///
    /// # Errors
    /// [`CircuitError::PreparedLevel`]; [`CircuitError::Levels`]; [`CircuitError::Scheme`] if a key of
    /// [`Split::galois_elements`] is missing, or for a product that is not relinearised.
    pub fn apply<S: SlotScheme>(
        &self,
        scheme: &S,
        a: &S::Ciphertext,
        keys: &EvaluationKeys,
    ) -> Result<S::Ciphertext, CircuitError> {
        let chain = scheme.chain();
        let inner = scheme.inner(a);
        let (found, expected) = (chain.level_of(inner.ring())?, self.level);
        if found != expected {
            return Err(CircuitError::PreparedLevel { found, expected });
        }
        check_depth(found, scheme.clear_product_depth())?;
        let element = |&steps: &usize| rotation_element(chain.degree(), steps as i64);
        let babies: Vec<usize> = self.split.babies().iter().map(element).collect();
        let terms: Vec<Vec<HoistedTerm<'_>>> = self.giants.iter().map(Giant::terms).collect();
        let inner = inner.hoist(chain)?.sums(keys, &babies, &terms)?;
        let mut sum = ExtendedPair::zero(chain, found)?;
        for (giant, inner) in self.giants.iter().zip(&inner) {
            match giant.element {
                1 => sum.add_assign(inner)?,
                element => sum.add_assign(&inner.switch_automorphism(keys, element)?)?,
            }
        }
        scheme.finish(a, &sum)
    }
}

impl Giant {
    fn terms(&self) -> Vec<HoistedTerm<'_>> {
        self.terms.iter().map(|(baby, clear)| (*baby, clear)).collect()
    }
}
