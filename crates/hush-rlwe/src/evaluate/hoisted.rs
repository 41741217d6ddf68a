// SPDX-License-Identifier: Apache-2.0
//! Many automorphisms of one ciphertext, whose mask is decomposed once.

use std::sync::Arc;

use hush_ring::parallel::for_each_rows_of;
use hush_ring::{Automorphism, Chain, ChainLevel, Eval, Poly, Repeated, Words};

use crate::{Decomposed, EvaluationKeys, ExtendedPair, KeySwitchKey, RlweCiphertext, RlweError};

/// A ciphertext with its mask decomposed once, for many automorphisms.
pub struct HoistedCiphertext<'a> {
    body: &'a Poly<Eval>,
    mask: &'a Poly<Eval>,
    decomposed: Decomposed,
    chain: Chain,
}

/// A term of a sum: the index of an automorphism, and a clear polynomial over the extended ring.
pub type HoistedTerm<'a> = (usize, &'a Repeated);

impl<'a> HoistedCiphertext<'a> {
    pub(super) fn new(chain: &Chain, body: &'a Poly<Eval>, mask: &'a Poly<Eval>) -> Result<Self, RlweError> {
        Ok(Self { body, mask, decomposed: Decomposed::new(chain, mask)?, chain: chain.clone() })
    }

    /// As [`RlweCiphertext::automorphism`].
    ///
    /// # Cost
    /// No NTT but those of the division by `P`.
    ///
    /// # Errors
    /// [`RlweError::MissingKey`].
    pub fn automorphism(&self, keys: &EvaluationKeys, element: usize) -> Result<RlweCiphertext, RlweError> {
        let pair = keys.galois(element)?.apply_decomposed(&self.decomposed)?;
        finish_automorphism(&self.chain, &pair, self.body, element)
    }

    /// Sums of products of automorphisms with clear polynomials, before the division by `P`: for each sum its terms.
    ///
    /// All that has to do with one prime is done at once. An automorphism is added to every sum while it is near, and stored nowhere.
    ///
    /// # Cost
    /// No NTT at all. Each key is read once.
    ///
    /// # Memory
    /// `2·(L + K)` rows of `N` words for each sum, and five for each thread.
    ///
    /// # Errors
    /// [`RlweError::MissingKey`]; [`RlweError::KeyLevel`]; [`RlweError::Ring`] if a clear polynomial is over another ring; [`RlweError::Term`] for a term that names no
    /// element.
    pub fn sums(
        &self,
        keys: &EvaluationKeys,
        elements: &[usize],
        sums: &[Vec<HoistedTerm<'_>>],
    ) -> Result<Vec<ExtendedPair>, RlweError> {
        let (chain, level) = (&self.chain, self.decomposed.level());
        let tables = chain.level(level)?;
        for &(found, clear) in sums.iter().flatten() {
            tables.extended().check_same(clear.ring())?;
            if found >= elements.len() {
                return Err(RlweError::Term { found, count: elements.len() });
            }
        }
        let steps = elements.iter().enumerate().map(|(index, &element)| {
            let mut terms = Vec::new();
            for (sum, of_sum) in sums.iter().enumerate() {
                let own = of_sum.iter().filter(|(term, _)| *term == index);
                terms.extend(own.map(|&(_, clear)| (sum, clear)));
            }
            let turn = match element {
                1 => None,
                _ => Some((keys.galois(element)?.serving(&self.decomposed)?, chain.automorphism(element)?)),
            };
            Ok(Step { turn, terms })
        });
        let steps = steps.collect::<Result<Vec<_>, RlweError>>()?;
        let mut out = sums.iter().map(|_| ExtendedPair::zero(chain, level)).collect::<Result<Vec<_>, _>>()?;
        let matrices = out.iter_mut().map(ExtendedPair::words_mut).flat_map(<[_; 2]>::from).collect();
        for_each_rows_of(matrices, chain.degree(), |index, mut rows| {
            let mut scratch = Words::recycled(4 * chain.degree());
            let mut row = Words::recycled(chain.degree());
            for step in &steps {
                self.add_step(step, tables, index, (&mut scratch, &mut row), &mut rows);
            }
        });
        Ok(out)
    }

    /// Adds one automorphism, modulo prime `index` of the extended ring, to every sum that it belongs to.
    fn add_step(
        &self,
        step: &Step<'_>,
        tables: &ChainLevel,
        index: usize,
        (scratch, row): (&mut [u64], &mut Words),
        sums: &mut [&mut [u64]],
    ) {
        let (limb, cpu) = (&tables.extended().limbs()[index], self.chain.cpu());
        let (here, there) = scratch.split_at_mut(scratch.len() / 2);
        let (body, mask) = here.split_at_mut(here.len() / 2);
        let (turned_body, turned_mask) = there.split_at_mut(there.len() / 2);
        // Times P, which is zero modulo the special primes.
        let factor = tables.special_product().get(index).copied();
        let (body, mask): (&[u64], &[u64]) = match &step.turn {
            Some((key, tau)) => {
                key.apply_to_limb(&self.decomposed, tables, index, (body, mask));
                if let Some(factor) = factor {
                    limb.mul_scalar_add_assign(body, self.body.limb(index), factor);
                }
                tau.permute_into(cpu, turned_body, body);
                tau.permute_into(cpu, turned_mask, mask);
                (turned_body, turned_mask)
            }
            None => {
                let Some(factor) = factor else { return };
                for (out, source) in [(&mut *body, self.body), (&mut *mask, self.mask)] {
                    out.copy_from_slice(source.limb(index));
                    limb.mul_scalar_assign(out, factor);
                }
                (body, mask)
            }
        };
        for &(sum, clear) in &step.terms {
            let clear = clear.limb(index, row);
            limb.mul_add_assign(sums[2 * sum], body, clear);
            limb.mul_add_assign(sums[2 * sum + 1], mask, clear);
        }
    }
}

/// An automorphism, unless it is the identity, with the sums that it is added to and its factor in each.
struct Step<'a> {
    turn: Option<(&'a KeySwitchKey, Arc<Automorphism>)>,
    terms: Vec<(usize, &'a Repeated)>,
}

/// `τ(body + b/P), τ(a/P)`.
fn finish_automorphism(
    chain: &Chain,
    switched: &ExtendedPair,
    body: &Poly<Eval>,
    element: usize,
) -> Result<RlweCiphertext, RlweError> {
    let tau = chain.automorphism(element)?;
    let (mut switched, mask) = switched.drop_special()?;
    switched.add_assign(body)?;
    RlweCiphertext::new(vec![tau.apply(&switched)?, tau.apply(&mask)?])
}
