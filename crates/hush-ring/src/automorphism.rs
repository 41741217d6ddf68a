// SPDX-License-Identifier: Apache-2.0
//! The automorphisms `τ_g: X ↦ X^g`, which move slots.

use hush_kernels::Permutation;

use crate::parallel::for_each_row;
use crate::{Cpu, Eval, Poly, RingError, RingLimb, Words};

/// `τ_g` for one ring degree.
///
/// # Math
/// Entry `k` of a transform is `A(ψ^e(k))`, so entry `k` of `τ_g(A)` is `A(ψ^(g·e(k)))`: the entry `k'` with
/// `e(k') = g·e(k) mod 2N`. The order of transforms is the same for every prime, hence one table serves all.
#[derive(Debug)]
pub struct Automorphism {
    element: usize,
    /// From `k'` to `k`.
    permutation: Permutation,
}

impl Automorphism {
    pub(crate) fn new(limb: &RingLimb, degree: usize, element: usize) -> Result<Self, RingError> {
        let order = 2 * degree;
        if element.is_multiple_of(2) || element >= order {
            return Err(RingError::GaloisElement { found: element, order });
        }
        let mut entry = vec![0_u32; order];
        for index in 0..degree {
            entry[limb.root_exponent(index)] = index as u32;
        }
        let index: Vec<u32> = (0..degree).map(|k| entry[element * limb.root_exponent(k) % order]).collect();
        Ok(Self { element, permutation: Permutation::new(&index) })
    }

    /// `g`.
    pub fn element(&self) -> usize {
        self.element
    }

    /// `τ_g(poly)`.
    ///
    /// # Errors
    /// [`RingError::Length`] for a polynomial of another degree.
    pub fn apply(&self, poly: &Poly<Eval>) -> Result<Poly<Eval>, RingError> {
        let degree = poly.ring().degree();
        if degree != self.permutation.len() {
            return Err(RingError::Length { found: degree, expected: self.permutation.len() });
        }
        let mut out = Poly::recycled(poly.ring());
        for_each_row(out.words_mut(), degree, |limb, row| {
            self.permutation.apply(poly.ring().cpu(), row, poly.limb(limb));
        });
        Ok(out)
    }

    /// `τ_g` of one limb, in place.
    ///
    /// # Panics
    /// If it has not `N` residues.
    pub fn permute(&self, cpu: Cpu, limb: &mut [u64]) {
        let mut source = Words::recycled(limb.len());
        source.copy_from_slice(limb);
        self.permute_into(cpu, limb, &source);
    }

    /// `τ_g` of one limb.
    ///
    /// # Panics
    /// If either has not `N` residues.
    pub fn permute_into(&self, cpu: Cpu, out: &mut [u64], limb: &[u64]) {
        self.permutation.apply(cpu, out, limb);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Coeff, Ring};

    #[test]
    fn monomials_go_to_their_powers_with_the_sign_of_the_wrap() {
        for degree in [16_usize, 128] {
            let ring = Ring::insecure_toy(degree, &[0x3fff_ffcc_0001, 0x7_ffff_6001]).unwrap();
            for element in [1, 3, 5, degree - 1, 2 * degree - 1] {
                let automorphism = Automorphism::new(&ring.limbs()[0], degree, element).unwrap();
                let coefficients: Vec<i128> = (0..degree as i128).map(|i| i * i - 7).collect();
                let mut expected = vec![0; degree];
                for (i, &coefficient) in coefficients.iter().enumerate() {
                    let power = i * element % (2 * degree);
                    let sign = if power < degree { 1 } else { -1 };
                    expected[power % degree] = sign * coefficient;
                }
                let poly = Poly::<Coeff>::from_signed(&ring, &coefficients).unwrap().into_eval();
                let expected = Poly::<Coeff>::from_signed(&ring, &expected).unwrap();
                assert_eq!(automorphism.apply(&poly).unwrap().into_coeff(), expected, "g = {element}");
            }
        }
    }

    #[test]
    fn even_and_large_elements_are_refused() {
        let ring = Ring::insecure_toy(16, &[0x3fff_ffcc_0001]).unwrap();
        for element in [0, 2, 32, 33] {
            let error = Automorphism::new(&ring.limbs()[0], 16, element).unwrap_err();
            assert_eq!(error, RingError::GaloisElement { found: element, order: 32 });
        }
    }
}
