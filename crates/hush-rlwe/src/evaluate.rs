// SPDX-License-Identifier: Apache-2.0
//! Operations with evaluation keys, which are relinearisation and automorphisms; and moves between levels.
//!
//! They act on phases alike for every scheme. The schemes define what a level or an automorphism does to messages.

use hush_ring::{Chain, ChainLevel, Eval, Level, Poly, RowPair};

mod hoisted;
mod relinearise;

pub use hoisted::{HoistedCiphertext, HoistedTerm};

use crate::key_switch::Source;
use crate::{EvaluationKeys, ExtendedPair, KeySwitchKey, RlweCiphertext, RlweError};

impl RlweCiphertext {
    /// The division to the level below: the phase times the ratio of the moduli.
    ///
    /// # Errors
    /// [`RlweError::LastLevel`]; [`RlweError::Ring`] if the ciphertext is of another chain.
    pub fn mod_switch(&self, chain: &Chain) -> Result<Self, RlweError> {
        let level = chain.level_of(self.ring())?;
        let switch = chain.level(level)?.mod_switch().ok_or(RlweError::LastLevel)?;
        let components = self.components().iter().map(|component| switch.apply(component));
        Self::new(components.collect::<Result<_, _>>()?)
    }

    /// The same phase at a lower level: primes are forgotten, nothing is divided. The phase must be smaller than the new
    /// modulus, which the planner sees to.
    ///
    /// # Errors
    /// [`RlweError::Ring`] if the level has a prime that this one has not.
    pub fn drop_to(&self, chain: &Chain, level: Level) -> Result<Self, RlweError> {
        let ring = chain.ring(level)?;
        let components = self.components().iter().map(|component| component.restrict(ring));
        Self::new(components.collect::<Result<_, _>>()?)
    }

    /// The ciphertext with phase `τ(phase)`, for `τ: X ↦ X^element`.
    ///
    /// # Cost
    /// One key switch.
    ///
    /// # Errors
    /// [`RlweError::MissingKey`]; [`RlweError::Components`] unless there are two; [`RlweError::Ring`] if the ciphertext is
    /// of another chain.
    pub fn automorphism(&self, keys: &EvaluationKeys, element: usize) -> Result<Self, RlweError> {
        only(Self::automorphism_all(&[self], keys, element)?)
    }

    /// [`RlweCiphertext::automorphism`] of several ciphertexts of one level, with one pass over the key.
    ///
    /// # Errors
    /// As there, and [`RlweError::Ring`] if the levels differ.
    pub fn automorphism_all(
        ciphertexts: &[&Self],
        keys: &EvaluationKeys,
        element: usize,
    ) -> Result<Vec<Self>, RlweError> {
        let Some(first) = ciphertexts.first() else { return Ok(Vec::new()) };
        ciphertexts.iter().try_for_each(|other| first.ring().check_same(other.ring()))?;
        let key = keys.galois(element)?;
        let (_, tables) = key.tables(first.ring())?;
        let groups =
            ciphertexts.chunks(TOGETHER).map(|some| automorphism_of_some(some, key, tables, element));
        Ok(groups.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// Prepares several automorphisms of one ciphertext; each then costs a fraction of a key switch.
    ///
    /// # Errors
    /// [`RlweError::Components`] unless there are two components; [`RlweError::Ring`] if the ciphertext is of another chain.
    pub fn hoist(&self, chain: &Chain) -> Result<HoistedCiphertext<'_>, RlweError> {
        let (body, mask) = self.pair()?;
        HoistedCiphertext::new(chain, body, mask)
    }

    /// Body and mask.
    ///
    /// # Errors
    /// [`RlweError::Components`] unless there are two components.
    pub fn pair(&self) -> Result<(&Poly<Eval>, &Poly<Eval>), RlweError> {
        match self.components() {
            [body, mask] => Ok((body, mask)),
            other => Err(RlweError::Components { found: other.len(), expected: 2 }),
        }
    }
}

/// Ciphertexts that share a pass over a key: with more of them their digits leave the second cache (measured at `N = 32768`).
const TOGETHER: usize = 4;

/// `τ(body + b/P), τ(a/P)` for each.
fn automorphism_of_some(
    ciphertexts: &[&RlweCiphertext],
    key: &KeySwitchKey,
    tables: &ChainLevel,
    element: usize,
) -> Result<Vec<RlweCiphertext>, RlweError> {
    let pairs = ciphertexts.iter().map(|a| a.pair()).collect::<Result<Vec<_>, _>>()?;
    let (limbs, tau, cpu) = (tables.ring().limbs(), key.chain().automorphism(element)?, key.chain().cpu());
    let after = |index: usize, rows: &mut [RowPair<'_>]| {
        for ((switched, mask), (body, _)) in rows.iter_mut().zip(&pairs) {
            limbs[index].add_assign(switched, body.limb(index));
            tau.permute(cpu, switched);
            tau.permute(cpu, mask);
        }
    };
    let sources: Vec<Source<'_>> = pairs.iter().map(|(_, mask)| Source::Poly(mask)).collect();
    let out = key.apply_and_divide(&sources, tables, tables.drop_special(), |_, _| {}, after);
    out.into_iter().map(|(body, mask)| RlweCiphertext::new(vec![body, mask])).collect()
}

impl ExtendedPair {
    /// The automorphism of the ciphertext that this is `P` times, again times `P`: the giant step of a double-hoisted sum.
    ///
    /// # Math
    /// The mask alone is divided by `P` and key-switched; the body stays as it is, and both meet over the extended ring.
    ///
    /// # Cost
    /// One key switch with half of its division by `P`; the other half is left to the end of the sum.
    ///
    /// # Errors
    /// [`RlweError::MissingKey`]; [`RlweError::Ring`] if the keys are of another chain.
    pub fn switch_automorphism(&self, keys: &EvaluationKeys, element: usize) -> Result<Self, RlweError> {
        let key = keys.galois(element)?;
        let mask = key.chain().level(self.level())?.drop_special().apply(&self.mask)?;
        let mut pair = key.apply(&mask)?;
        pair.body.add_assign(&self.body)?;
        pair.automorphism(element)
    }
}

/// The one ciphertext of a list that has one.
fn only(ciphertexts: Vec<RlweCiphertext>) -> Result<RlweCiphertext, RlweError> {
    let found = ciphertexts.len();
    ciphertexts.into_iter().next().ok_or(RlweError::ComponentCount { found })
}
