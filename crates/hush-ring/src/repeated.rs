// SPDX-License-Identifier: Apache-2.0
//! Public polynomials that are kept for many products, without what repeats in them.

use crate::{Eval, Poly, Ring, Words};

/// A polynomial in the evaluation domain. Where every value stands several times in a row it is kept once.
///
/// # Math
/// Entry `k` of a transform is the value at `ψ^e(k)`, where the upper bits of `k`, reversed, are the lower bits of `e(k)`. A polynomial in `X^m` has values that depend on `e` modulo
/// `2N/m` alone: runs of `m` equal ones, from `m = 64` on. (The lowest six bits of `k` stand in another order.)
///
/// *Secrecy.* Public: how much repeats is found by looking.
#[derive(Clone, Debug)]
pub struct Repeated {
    ring: Ring,
    /// How often each value stands in a row: a power of two.
    run: usize,
    words: Vec<u64>,
}

impl Repeated {
    /// The polynomial, with the longest runs that all of its limbs are made of.
    pub fn new(poly: &Poly<Eval>) -> Self {
        let degree = poly.ring().degree();
        let changes = poly.words().windows(2).enumerate().filter(|(_, pair)| pair[0] != pair[1]);
        // A change at a place that a run of the length divides.
        let run = changes.fold(degree, |run, (index, _)| run.min(1 << (index + 1).trailing_zeros()));
        let words = poly.words().iter().step_by(run).copied().collect();
        Self { ring: poly.ring().clone(), run, words }
    }

    /// The ring.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }
    /// Bytes that are kept.
    pub fn memory_bytes(&self) -> usize {
        8 * self.words.len()
    }

    /// One limb: as it is kept, or spread in `scratch`; empty for a limb that the ring does not have.
    ///
    /// # Panics
    /// If `scratch` has not `N` words.
    pub fn limb<'a>(&'a self, limb: usize, scratch: &'a mut Words) -> &'a [u64] {
        let count = self.ring.degree() / self.run;
        let kept = self.words.chunks_exact(count).nth(limb).unwrap_or(&[]);
        if self.run == 1 {
            return kept;
        }
        assert_eq!(scratch.len(), self.ring.degree(), "a row");
        scratch.chunks_exact_mut(self.run).zip(kept).for_each(|(run, &value)| run.fill(value));
        &scratch[..self.run * kept.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Coeff;

    #[test]
    fn polynomials_in_a_power_are_kept_once_for_each_run() {
        let degree = 512_usize;
        let ring = Ring::insecure_toy(degree, &[0x3fff_ffcc_0001, 0x7_ffff_6001]).unwrap();
        for power in [1_usize, 8, 64, 128, 512] {
            let mut coefficients = vec![0; degree];
            for (index, c) in coefficients.iter_mut().step_by(power).enumerate() {
                *c = 3 * index as i128 - 7;
            }
            let poly = Poly::<Coeff>::from_signed(&ring, &coefficients).unwrap().into_eval();
            let kept = Repeated::new(&poly);
            let run = if power < 64 { 1 } else { power };
            assert_eq!(kept.memory_bytes(), 2 * 8 * degree / run, "X^{power}");
            let mut scratch = Words::zeroed(degree);
            for limb in 0..2 {
                assert_eq!(kept.limb(limb, &mut scratch), poly.limb(limb));
            }
            assert!(kept.limb(2, &mut scratch).is_empty());
        }
        // Runs that one limb alone is made of do not count.
        let mut words = vec![5; 2 * degree];
        words[degree + 3] = 6;
        let poly = Poly::<crate::Eval>::from_words(&ring, words).unwrap();
        assert_eq!(Repeated::new(&poly).memory_bytes(), 2 * 8 * degree);
    }
}
