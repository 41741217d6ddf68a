// SPDX-License-Identifier: Apache-2.0
//! One ciphertext that becomes many, each of a constant, without anything being learned of them.
//!
//! # Math
//! The scalars are coefficients of one message. With `τ: X ↦ X^(N/2^j + 1)` a power `X^i` of which `2^j` divides `i` keeps its sign where `i/2^j` is even,
//! and changes it where that is odd. So `c + τ(c)` has twice the even ones, and `X^(−2^j)·(c − τ(c))` twice the odd ones, both as multiples of `2^(j+1)`.
//! After `k` levels each ciphertext has one coefficient of the first `2^k`, times `2^k`, which its message was divided by.
//!
//! # References
//! \[ACLS18, Algorithm 4\]; \[ALPRSSY21\] the division by `2^k` before encryption.
//! Differs: only nodes above one of the `count` leaves are computed, and scalars stand in the order of reversed bits, so that leaves come in order.

use hush_ring::{Coeff, Level, Poly, RingError};
use hush_rlwe::{EvaluationKeys, RlweCiphertext, RlweError};

use super::batch::lift_eval;
use super::{Bgv, BgvCiphertext};
use crate::SchemeError;

/// The Galois elements of [`Bgv::expand`] to `count` ciphertexts: `N/2^j + 1`, one for each level.
pub fn expansion_elements(degree: usize, count: usize) -> Vec<usize> {
    (0..levels(count)).map(|level| (degree >> level) + 1).collect()
}

impl Bgv {
    /// The message that [`Bgv::expand`] makes ciphertexts of these scalars of, ready to be encrypted at `level`.
    ///
    /// # Errors
    /// [`SchemeError::TooManyValues`] for more than `N`; [`SchemeError::Ring`] if there is no such level.
    pub fn encode_expandable(&self, scalars: &[i64], level: Level) -> Result<Poly<Coeff>, SchemeError> {
        self.check_count(scalars.len())?;
        let (t, levels) = (self.t(), levels(scalars.len()));
        let inverse = t.inv(t.reduce_u64(1 << levels)).map_err(RingError::from)?;
        let mut coefficients = vec![0; 1 << levels];
        for (index, &scalar) in scalars.iter().enumerate() {
            let place = reversed_bits(index, levels);
            coefficients[place] = self.encoder().centered(t.mul(t.reduce_i64(scalar), inverse));
        }
        self.encode_coefficients(&coefficients, level)
    }

    /// Ciphertexts of the scalars of [`Bgv::encode_expandable`], each in every slot. `count` is how many were encoded.
    ///
    /// # Cost
    /// `count + ⌈log2 count⌉` key switches at most; as many NTTs as a level has primes, for each level of the tree.
    ///
    /// # Memory
    /// The ciphertexts that come out, and a few more.
    ///
    /// # Noise
    /// `hush_params::noise::expanded`.
    ///
    /// # Errors
    /// [`SchemeError::TooManyValues`] for more than `N`; [`SchemeError::Rlwe`] without the keys of [`expansion_elements`], or for a product that is not
    /// relinearised.
    pub fn expand(
        &self,
        ciphertext: &BgvCiphertext,
        count: usize,
        keys: &EvaluationKeys,
    ) -> Result<Vec<BgvCiphertext>, SchemeError> {
        self.check_count(count)?;
        let (levels, ring) = (levels(count), ciphertext.inner().ring());
        let mut nodes = vec![ciphertext.inner().clone()];
        for (level, element) in expansion_elements(self.chain().degree(), count).into_iter().enumerate() {
            let needed = count.div_ceil(1 << (levels as usize - level - 1));
            let mut monomial = vec![0; ring.degree()];
            monomial[ring.degree() - (1 << level)] = -1;
            let monomial = lift_eval(ring, &monomial)?;
            let mut children = Vec::with_capacity(needed);
            let mut rest = nodes.into_iter();
            loop {
                let some: Vec<RlweCiphertext> = rest.by_ref().take(TOGETHER).collect();
                if some.is_empty() {
                    break;
                }
                let moved =
                    RlweCiphertext::automorphism_all(&some.iter().collect::<Vec<_>>(), keys, element)?;
                for (node, moved) in some.into_iter().zip(moved) {
                    let odd = (children.len() + 1 < needed).then(|| -> Result<_, RlweError> {
                        let mut odd = node.clone();
                        odd.sub_assign(&moved)?;
                        odd.mul_clear_assign(&monomial)?;
                        Ok(odd)
                    });
                    let mut even = node;
                    even.add_assign(&moved)?;
                    children.push(even);
                    children.extend(odd.transpose()?);
                }
            }
            nodes = children;
        }
        nodes.truncate(count);
        nodes.into_iter().map(|inner| self.ciphertext_at(inner, ciphertext.factor())).collect()
    }

    fn check_count(&self, found: usize) -> Result<(), SchemeError> {
        let max = self.chain().degree();
        if found <= max { Ok(()) } else { Err(SchemeError::TooManyValues { found, max }) }
    }
}

/// Nodes whose children are made together, so that parents go as children come.
const TOGETHER: usize = 16;

/// Levels of the tree above so many leaves.
fn levels(count: usize) -> u32 {
    count.max(1).next_power_of_two().ilog2()
}

fn reversed_bits(index: usize, bits: u32) -> usize {
    if bits == 0 { 0 } else { index.reverse_bits() >> (usize::BITS - bits) }
}

#[cfg(test)]
mod tests {
    use hush_params::ChainParams;
    use hush_ring::Cpu;

    use super::*;

    #[test]
    fn scalars_stand_in_the_order_of_reversed_bits_divided_by_the_leaves() {
        let params = ChainParams::uniform(8192, 46, 1, 1, 1, 1).unwrap();
        let scheme = Bgv::new(&params, 65_537, Cpu::detect().unwrap()).unwrap();
        let top = scheme.chain().top();
        let message = scheme.encode_expandable(&[8, 16, -24, 32, 40], top).unwrap();
        let expected = scheme.encode_coefficients(&[1, 5, -3, 0, 2, 0, 4], top).unwrap();
        assert_eq!(message, expected);
        assert_eq!(scheme.encode_expandable(&[], top).unwrap(), Poly::zero(message.ring()));
        assert_eq!(expansion_elements(8192, 5), [8193, 4097, 2049]);
        assert_eq!((expansion_elements(8192, 0), expansion_elements(8192, 1)), (vec![], vec![]));
        let refused = scheme.encode_expandable(&vec![0; 8193], top).unwrap_err();
        assert_eq!(refused, SchemeError::TooManyValues { found: 8193, max: 8192 });
    }
}
