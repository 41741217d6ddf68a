// SPDX-License-Identifier: Apache-2.0
//! Masked sums of coefficient-packed columns, on the server, without any key.
//!
//! # Math
//! A ring element holds the values `p_0 … p_{N−1}` as coefficients. For clear weights `w_i` let
//! `M(X) = w_0 − Σ_{i>0} w_i·X^{N−i}`. Since `X^N = −1`, coefficient 0 of `p·M` is `Σ w_i·p_i`. Multiplying a
//! ciphertext `(b, a)` by `M` therefore gives one that holds the masked sum in coefficient 0:
//! - of `b·M` only coefficient 0 is needed, which is `Σ w_i·b_i`: a scalar product, no transform;
//! - of `a·M` all is needed, because the owner multiplies it by the secret: one NTT of `M` per ring element and
//!   group, shared by all columns of the chunk, because they share `a`.
//!
//! Masks are expanded from the chunk's seed, or read where a public key encrypted ([`hush_rlwe::SumMasks`]); a sum may take
//! both kinds.
//!
//! Where every row counts once, `M` is the same for all ring elements, so the `a` are added up and multiplied by
//! it once, at the end.
//!
//! # Noise
//! `hush_params::noise::bgv_sum_phase_log2` with the sum of the weights' squares over the rows that count. Padding
//! after a chunk's last row never counts.
//!
//! The same code serves `approx_sum` columns, which have scaled reals as phases.

mod filter;
mod partial;
mod selection;

use hush_ring::{Eval, LazyMac, LazySum, Poly, Ring, UniformSeed};
use hush_rlwe::{Body, SumAnswer, SumMasks};

pub use self::partial::PartialSum;

use self::filter::Filter;
use self::selection::Selection;
use crate::SumError;

/// The group number of a row that does not count.
pub const NOT_SELECTED: u32 = u32::MAX;

/// A running masked sum over the chunks of some columns that share one parameter set.
///
/// Each thread has one of its own; [`SumAccumulator::merge`] puts them together. The result does not depend on
/// the order or the grouping of chunks: it is exact modulo `Q`.
///
/// *Invariant.* Lazy sums are reduced before they can overflow. *Memory.* [`SumAccumulator::memory_bytes`].
pub struct SumAccumulator {
    ring: Ring,
    body_count: usize,
    groups: Vec<Group>,
    /// `Σ a` over ring elements in which every row counts once, before the multiplication by `M`. Only for a single
    /// group.
    whole: Option<LazySum>,
    scratch: Scratch,
}

/// The sums of one group so far.
#[derive(Default)]
struct Group {
    /// `Σ a·M`, from the first row on.
    masks: Option<LazyMac>,
    /// `Σ w_i·b_i`: `body_count × limbs` canonical residues.
    bodies: Vec<u64>,
}

/// Buffers that live as long as the accumulator.
struct Scratch {
    /// One expanded mask.
    mask: Vec<u64>,
    /// One transformed `M`.
    selector: Vec<u64>,
    /// One unpacked limb of a body.
    body: Vec<u64>,
    /// A zero for every group, for sorting rows.
    counts: Vec<u32>,
}

impl SumAccumulator {
    /// An empty sum for `group_count` groups over `body_count` columns.
    pub fn new(ring: &Ring, group_count: usize, body_count: usize) -> Self {
        let empty = || Group { masks: None, bodies: vec![0; body_count * ring.limb_count()] };
        let scratch = Scratch {
            mask: vec![0; ring.poly_words()],
            selector: vec![0; ring.poly_words()],
            body: vec![0; ring.degree()],
            counts: vec![0; group_count],
        };
        let groups = std::iter::repeat_with(empty).take(group_count).collect();
        Self { ring: ring.clone(), body_count, groups, whole: None, scratch }
    }

    /// Bytes that an accumulator takes at most, for admission before one is made.
    pub fn memory_bytes(ring: &Ring, group_count: usize, body_count: usize) -> usize {
        let poly = 8 * ring.poly_words();
        let group = 2 * poly + 8 * body_count * ring.limb_count() + 4;
        let whole = if group_count == 1 { poly } else { 0 };
        group_count * group + whole + 3 * poly
    }

    /// Adds a chunk to group 0, with each of its `row_count` rows counted once.
    ///
    /// The coefficients after the last row hold zeros with errors of their own. They are left out, so that the noise
    /// of a sum is that of its rows.
    ///
    /// # Cost
    /// Per full ring element one expansion and one pass over the packed bodies, no transform; for the rows after the
    /// last full one as [`SumAccumulator::absorb_masked`].
    ///
    /// # Errors
    /// A [`SumError`] if the bodies are not `body_count` of equal length, or do not have just so many rows.
    pub fn absorb_unfiltered(
        &mut self,
        seed: UniformSeed,
        row_count: usize,
        bodies: &[Body<'_>],
    ) -> Result<(), SumError> {
        if self.groups.len() != 1 {
            return self.absorb_masked(seed, &vec![0; row_count], None, bodies);
        }
        let element_count = self.check_bodies(bodies)?;
        let degree = self.ring.degree();
        if row_count.div_ceil(degree) != element_count as usize {
            return Err(SumError::RowCount { found: row_count, expected: element_count as usize * degree });
        }
        check_coefficients(bodies, row_count)?;
        let masks = SumMasks::of(seed, bodies)?;
        let whole = (row_count / degree) as u32;
        (0..whole).for_each(|element| self.absorb_whole(masks, element, bodies));
        let rest = vec![0; row_count % degree];
        self.absorb_filtered(masks, whole, &Filter::new(&rest, None, &self.ring), bodies);
        Ok(())
    }

    /// Adds a chunk with a group, and maybe a weight, for each row.
    ///
    /// # Shapes
    /// `groups`: one entry per row of the chunk, [`NOT_SELECTED`] for rows that do not count; `weights`, if
    /// given, as long. `bodies`: in the order that answers will have.
    ///
    /// # Cost
    /// Per ring element one expansion; per group that occurs in it one NTT and one multiplication for each limb;
    /// per body one pass over the rows.
    ///
    /// # Errors
    /// A [`SumError`] that names the operand that does not fit. Nothing has been added then.
    pub fn absorb_masked(
        &mut self,
        seed: UniformSeed,
        groups: &[u32],
        weights: Option<&[i128]>,
        bodies: &[Body<'_>],
    ) -> Result<(), SumError> {
        let element_count = self.check_bodies(bodies)?;
        let expected = element_count as usize * self.ring.degree();
        for found in [Some(groups.len()), weights.map(<[i128]>::len)].into_iter().flatten() {
            if found > expected || found != groups.len() {
                return Err(SumError::RowCount { found, expected: expected.min(groups.len()) });
            }
        }
        self.check_groups(groups)?;
        check_coefficients(bodies, groups.len())?;
        let masks = SumMasks::of(seed, bodies)?;
        let degree = self.ring.degree();
        for (element, groups) in (0..element_count).zip(groups.chunks(degree)) {
            let weights = weights.and_then(|weights| weights.chunks(degree).nth(element as usize));
            if self.groups.len() == 1 {
                self.absorb_filtered(masks, element, &Filter::new(groups, weights, &self.ring), bodies);
                continue;
            }
            let selection = Selection::new(groups, weights, &self.ring, &mut self.scratch.counts);
            if !selection.is_empty() {
                self.absorb_selection(masks, element, &selection, bodies);
            }
        }
        Ok(())
    }

    /// Adds the sums of another accumulator of the same shape.
    ///
    /// # Errors
    /// [`SumError::Shape`] if rings, groups or bodies differ.
    pub fn merge(&mut self, other: Self) -> Result<(), SumError> {
        let shape = |sum: &Self| (sum.ring.clone(), sum.groups.len(), sum.body_count);
        if shape(self) != shape(&other) {
            return Err(SumError::Shape);
        }
        for (mine, theirs) in self.groups.iter_mut().zip(other.groups) {
            add_residues(&self.ring, &mut mine.bodies, &theirs.bodies);
            merge_option(&mut mine.masks, theirs.masks, LazyMac::merge);
        }
        merge_option(&mut self.whole, other.whole, LazySum::merge);
        Ok(())
    }

    /// The answers, one per group. A group that no row went to has an answer of zeros.
    ///
    /// # Errors
    /// [`SumError::Codec`] never, for sums that this type has built; the constructor of answers checks again.
    pub fn finish(mut self) -> Result<Vec<SumAnswer>, SumError> {
        self.fold_whole()?;
        let ring = self.ring;
        let answers = self.groups.into_iter().map(|group| {
            let mask = group.masks.map_or_else(|| Poly::zero(&ring), LazyMac::finish);
            Ok(SumAnswer::new(mask.into_coeff(), group.bodies)?)
        });
        answers.collect()
    }

    fn absorb_whole(&mut self, masks: SumMasks<'_>, element: u32, bodies: &[Body<'_>]) {
        let Self { ring, whole, groups, scratch, .. } = self;
        let Some(group) = groups.first_mut() else {
            return;
        };
        let whole = whole.get_or_insert_with(|| LazySum::new(ring));
        whole.add_with(|_, index, sums| {
            masks.accumulate_limb(ring, (element, index), sums, &mut scratch.body);
        });
        for (totals, body) in group.bodies.chunks_exact_mut(ring.limb_count()).zip(bodies) {
            for (index, (limb, total)) in ring.limbs().iter().zip(totals).enumerate() {
                *total = limb.modulus().add(*total, limb.unpack_sum(body.packed(element, 0, index)));
            }
        }
    }

    fn absorb_filtered(&mut self, masks: SumMasks<'_>, element: u32, filter: &Filter, bodies: &[Body<'_>]) {
        if filter.is_empty() {
            return;
        }
        if filter.is_whole(self.ring.degree()) {
            return self.absorb_whole(masks, element, bodies);
        }
        let Self { ring, scratch, groups, .. } = self;
        let Some(group) = groups.first_mut() else {
            return;
        };
        masks.expand_into(ring, element, &mut scratch.mask);
        filter.selector_into(ring, &mut scratch.selector);
        let products = group.masks.get_or_insert_with(|| LazyMac::new(ring));
        products.mul_add(&scratch.mask, &scratch.selector);
        for (totals, body) in group.bodies.chunks_exact_mut(ring.limb_count()).zip(bodies) {
            for (index, (limb, total)) in ring.limbs().iter().zip(totals).enumerate() {
                limb.unpack(body.packed(element, 0, index), &mut scratch.body);
                *total = limb.modulus().add(*total, filter.weigh(limb, index, &mut scratch.body));
            }
        }
    }

    fn absorb_selection(
        &mut self,
        masks: SumMasks<'_>,
        element: u32,
        selection: &Selection,
        bodies: &[Body<'_>],
    ) {
        let Self { ring, scratch, groups, .. } = self;
        masks.expand_into(ring, element, &mut scratch.mask);
        for group_rows in selection.by_group() {
            selection.selector_into(ring, group_rows, &mut scratch.selector);
            let products = groups[group_rows.group as usize].masks.get_or_insert_with(|| LazyMac::new(ring));
            products.mul_add(&scratch.mask, &scratch.selector);
        }
        for (column, body) in bodies.iter().enumerate() {
            for (index, limb) in ring.limbs().iter().enumerate() {
                limb.unpack(body.packed(element, 0, index), &mut scratch.body);
                let place = column * ring.limb_count() + index;
                for group_rows in selection.by_group() {
                    let sum = selection.weigh(limb.modulus(), index, group_rows, &scratch.body);
                    let total = &mut groups[group_rows.group as usize].bodies[place];
                    *total = limb.modulus().add(*total, sum);
                }
            }
        }
    }

    /// Multiplies the masks of the whole elements by the all-ones `M` and adds them to group 0.
    fn fold_whole(&mut self) -> Result<(), SumError> {
        let (Some(whole), Some(group)) = (self.whole.take(), self.groups.first_mut()) else {
            return Ok(());
        };
        let ring = &self.ring;
        let mut ones = vec![-1_i128; ring.degree()];
        ones[0] = 1;
        let selector = Poly::from_signed(ring, &ones)?.into_eval();
        let sum: Poly<Eval> = whole.finish();
        let masks = group.masks.get_or_insert_with(|| LazyMac::new(ring));
        masks.mul_add(sum.words(), selector.words());
        Ok(())
    }

    /// Looks at all rows before it looks for the wrong one: the usual case is a vector loop.
    fn check_groups(&self, groups: &[u32]) -> Result<(), SumError> {
        let group_count = self.groups.len();
        let wrong = |group: u32| group != NOT_SELECTED && group as usize >= group_count;
        if !groups.iter().fold(false, |any, &group| any | wrong(group)) {
            return Ok(());
        }
        let found = groups.iter().copied().find(|&group| wrong(group)).unwrap_or(NOT_SELECTED);
        Err(SumError::Group { found, group_count })
    }

    fn check_bodies(&self, bodies: &[Body<'_>]) -> Result<u32, SumError> {
        let (found, expected) = (bodies.len(), self.body_count);
        if found != expected {
            return Err(SumError::BodyCount { found, expected });
        }
        let Some(expected) = bodies.first().map(|body| body.id().element_count) else {
            return Ok(0);
        };
        for body in bodies {
            let found = body.id().element_count;
            if found != expected {
                return Err(SumError::ElementCount { found, expected });
            }
            let (found, expected) = (body.param_code(), self.ring.param_code());
            if found != expected {
                return Err(SumError::Params { found, expected });
            }
        }
        Ok(expected)
    }
}

impl std::fmt::Debug for SumAccumulator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (groups, bodies) = (self.groups.len(), self.body_count);
        write!(f, "SumAccumulator({:?}, {groups} groups, {bodies} bodies)", self.ring)
    }
}

/// Refuses bodies that lack coefficients of rows: a cut one has those of its own rows alone.
fn check_coefficients(bodies: &[Body<'_>], row_count: usize) -> Result<(), SumError> {
    let stored = bodies.iter().map(Body::coefficients).min().unwrap_or(row_count);
    if row_count <= stored { Ok(()) } else { Err(SumError::RowCount { found: row_count, expected: stored }) }
}

/// `sums += others`, residue by residue, limb index running fastest.
fn add_residues(ring: &Ring, sums: &mut [u64], others: &[u64]) {
    let limbs = ring.limbs().iter().cycle();
    for (limb, (sum, &other)) in limbs.zip(sums.iter_mut().zip(others)) {
        *sum = limb.modulus().add(*sum, other);
    }
}

fn merge_option<T>(mine: &mut Option<T>, theirs: Option<T>, merge: impl FnOnce(&mut T, T)) {
    match (mine.as_mut(), theirs) {
        (Some(mine), Some(theirs)) => merge(mine, theirs),
        (None, theirs) => *mine = theirs,
        (Some(_), None) => {}
    }
}

#[cfg(test)]
mod tests;
