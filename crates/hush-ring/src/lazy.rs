// SPDX-License-Identifier: Apache-2.0
//! Sums over many polynomials that are reduced once, and always before they could overflow.

use hush_kernels::lazy::{MAX_PRODUCT_TERMS, MAX_SUM_TERMS};

use crate::{Domain, Eval, Poly, Ring, RingLimb};

/// A sum of polynomials, kept unreduced in one word per residue.
///
/// *Invariant.* At most [`MAX_SUM_TERMS`] canonical residues went into each word since the last reduction; a
/// reduced word counts as one.
#[derive(Clone)]
pub struct LazySum {
    ring: Ring,
    sums: Vec<u64>,
    terms: usize,
}

impl LazySum {
    /// An empty sum.
    pub fn new(ring: &Ring) -> Self {
        Self { ring: ring.clone(), sums: vec![0; ring.poly_words()], terms: 0 }
    }

    /// Lets `add` put one canonical (or at least packed-width) residue into each word of each limb.
    ///
    /// `add` gets the limb, its index and its `N` accumulators.
    pub fn add_with(&mut self, mut add: impl FnMut(&RingLimb, usize, &mut [u64])) {
        self.make_room(1);
        let degree = self.ring.degree();
        let limbs = self.ring.limbs().iter().zip(self.sums.chunks_exact_mut(degree));
        for (index, (limb, sums)) in limbs.enumerate() {
            add(limb, index, sums);
        }
    }

    /// Adds another sum of the same ring.
    pub fn merge(&mut self, mut other: Self) {
        other.reduce();
        let degree = self.ring.degree();
        self.add_with(|limb, index, sums| {
            limb.accumulate(sums, &other.sums[index * degree..(index + 1) * degree]);
        });
    }

    /// The canonical sum.
    pub fn finish<D: Domain>(mut self) -> Poly<D> {
        self.reduce();
        Poly::from_canonical(&self.ring, self.sums)
    }

    fn make_room(&mut self, terms: usize) {
        if self.terms + terms > MAX_SUM_TERMS {
            self.reduce();
        }
        self.terms += terms;
    }

    fn reduce(&mut self) {
        let degree = self.ring.degree();
        for (limb, sums) in self.ring.limbs().iter().zip(self.sums.chunks_exact_mut(degree)) {
            limb.reduce_assign(sums);
        }
        self.terms = 1;
    }
}

/// A sum of products of polynomials, kept unreduced in two words per residue.
///
/// *Invariant.* At most [`MAX_PRODUCT_TERMS`] products since the last reduction.
#[derive(Clone)]
pub struct LazyMac {
    ring: Ring,
    low: Vec<u64>,
    high: Vec<u64>,
    terms: usize,
}

impl LazyMac {
    /// An empty sum. Takes `16·limbs·N` bytes.
    pub fn new(ring: &Ring) -> Self {
        let words = ring.poly_words();
        Self { ring: ring.clone(), low: vec![0; words], high: vec![0; words], terms: 0 }
    }

    /// Adds `a·b`; limb after limb, all slices of `limbs·N` canonical words.
    ///
    /// # Panics
    /// If a slice has another length.
    pub fn mul_add(&mut self, a: &[u64], b: &[u64]) {
        if self.terms + 1 > MAX_PRODUCT_TERMS {
            self.reduce();
        }
        self.terms += 1;
        let degree = self.ring.degree();
        let sums = self.low.chunks_exact_mut(degree).zip(self.high.chunks_exact_mut(degree));
        let factors = a.chunks_exact(degree).zip(b.chunks_exact(degree));
        assert!(a.len() == self.ring.poly_words() && b.len() == a.len(), "operands fill the ring");
        for ((limb, (low, high)), (a, b)) in self.ring.limbs().iter().zip(sums).zip(factors) {
            limb.mul_accumulate(low, high, a, b);
        }
    }

    /// Adds another sum of the same ring.
    pub fn merge(&mut self, mut other: Self) {
        self.reduce();
        other.reduce();
        self.terms += other.terms;
        for (sum, &word) in self.low.iter_mut().zip(&other.low) {
            *sum += word;
        }
    }

    /// The canonical sum.
    pub fn finish(mut self) -> Poly<Eval> {
        self.reduce();
        Poly::from_canonical(&self.ring, self.low)
    }

    /// Leaves canonical residues in the low words. Each is below `2^47`, less than one product's low word.
    fn reduce(&mut self) {
        let degree = self.ring.degree();
        let sums = self.low.chunks_exact_mut(degree).zip(self.high.chunks_exact_mut(degree));
        let mut scratch = vec![0; degree];
        for (limb, (low, high)) in self.ring.limbs().iter().zip(sums) {
            limb.reduce_wide(&mut scratch, low, high);
            low.copy_from_slice(&scratch);
            high.fill(0);
        }
        self.terms = 1;
    }
}
