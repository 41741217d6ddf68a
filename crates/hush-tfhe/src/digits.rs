// SPDX-License-Identifier: Apache-2.0
//! Products of digits with rows of keys: what rotations, selectors and automorphisms have in common.

use hush_params::tfhe::Gadget;
use hush_ring::{RingLimb, Words};

/// Room for the digits of polynomials, in the evaluation domain once they are cut.
pub(crate) struct Digits<'a> {
    limb: &'a RingLimb,
    gadget: Gadget,
    degree: usize,
    words: Words,
}

impl<'a> Digits<'a> {
    /// For so many polynomials.
    pub(crate) fn new(limb: &'a RingLimb, degree: usize, gadget: Gadget, polynomials: usize) -> Self {
        let words = Words::recycled(polynomials * gadget.levels as usize * degree);
        Self { limb, gadget, degree, words }
    }

    /// Cuts the digits of each polynomial. `quotient` writes that of the polynomial with this number, rounded to whole lowest units.
    pub(crate) fn cut(&mut self, mut quotient: impl FnMut(usize, &mut [u64])) {
        let Self { limb, gadget, degree, words } = self;
        let of_polynomial = words.chunks_exact_mut(gadget.levels as usize * *degree);
        for (number, digits) in of_polynomial.enumerate() {
            let (lower, highest) = digits.split_at_mut((gadget.levels as usize - 1) * *degree);
            quotient(number, highest);
            for digit in lower.chunks_exact_mut(*degree) {
                limb.cut_digits(digit, highest, gadget.bits);
                limb.forward(digit);
            }
            limb.forward(highest);
        }
    }

    /// The sum of digits times rows, a row of as many polynomials as `sums` has for each digit, as coefficients.
    pub(crate) fn multiply(&self, rows: &[u64], sums: &mut [u64]) {
        let digits = self.words.chunks_exact(self.degree);
        let pairs: Vec<(&[u64], &[u64])> = digits.zip(rows.chunks_exact(sums.len())).collect();
        self.limb.multiply_sum(self.degree, sums, &pairs);
        sums.chunks_exact_mut(self.degree).for_each(|sum| self.limb.inverse(sum));
    }
}
