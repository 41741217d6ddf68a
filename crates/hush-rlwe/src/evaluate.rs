// SPDX-License-Identifier: Apache-2.0
//! What evaluation keys make possible: relinearisation and automorphisms; and moving between levels.
//!
//! All of it acts on phases alike for every scheme. What a level or an automorphism means for messages is the business
//! of the schemes.

use hush_ring::{Chain, Eval, Level, Poly, Ring, RingLimb};

use crate::key_switch::Source;
use crate::{Decomposed, EvaluationKeys, ExtendedPair, RlweCiphertext, RlweError};

impl RlweCiphertext {
    /// Three components to two, with the phase kept up to the error of a key switch.
    ///
    /// # Cost
    /// One key switch, see [`crate::KeySwitchKey::apply`]. Ciphertexts of one or two components come back unchanged.
    ///
    /// # Errors
    /// [`RlweError::MissingKey`]; [`RlweError::Ring`] if the ciphertext is of another chain.
    pub fn relinearize(&self, keys: &EvaluationKeys) -> Result<Self, RlweError> {
        let [body, mask, square] = self.components() else { return Ok(self.clone()) };
        Relinearisation { square: Source::Poly(square), rest: Rest::Sum(body, mask) }.run(keys)
    }

    /// [`RlweCiphertext::relinearize`] and the division to the level below, in one: cheaper, and with less error.
    ///
    /// # Errors
    /// As there; [`RlweError::LastLevel`]; [`RlweError::Components`] unless there are three.
    pub fn relinearize_and_rescale(&self, keys: &EvaluationKeys) -> Result<Self, RlweError> {
        let [body, mask, square] = self.components() else {
            return Err(RlweError::Components { found: self.components().len(), expected: 3 });
        };
        Relinearisation { square: Source::Poly(square), rest: Rest::Sum(body, mask) }.run_and_rescale(keys)
    }

    /// [`RlweCiphertext::mul`] and [`RlweCiphertext::relinearize`] in one: no component of the product is ever stored.
    ///
    /// # Errors
    /// As of both; [`RlweError::Components`] unless both have two components.
    pub fn mul_relinearize(&self, other: &Self, keys: &EvaluationKeys) -> Result<Self, RlweError> {
        Relinearisation::of_product(self.pair()?, other.pair()?)?.run(keys)
    }

    /// [`RlweCiphertext::mul`] and [`RlweCiphertext::relinearize_and_rescale`] in one: no component of the product is ever
    /// stored.
    ///
    /// # Errors
    /// As of both; [`RlweError::Components`] unless both have two components.
    pub fn mul_relinearize_and_rescale(
        &self,
        other: &Self,
        keys: &EvaluationKeys,
    ) -> Result<Self, RlweError> {
        Relinearisation::of_product(self.pair()?, other.pair()?)?.run_and_rescale(keys)
    }

    /// The division to the level below: the phase times the ratio of the moduli.
    ///
    /// # Errors
    /// [`RlweError::LastLevel`]; [`RlweError::Ring`] if the ciphertext is of another chain.
    pub fn rescale(&self, chain: &Chain) -> Result<Self, RlweError> {
        let level = chain.level_of(self.ring())?;
        let switch = chain.level(level)?.rescale().ok_or(RlweError::LastLevel)?;
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
        let (body, mask) = self.pair()?;
        let key = keys.galois(element)?;
        let tables = key.chain().level(key.chain().level_of(self.ring())?)?;
        let (limbs, tau) = (tables.ring().limbs(), key.chain().automorphism(element)?);
        let cpu = key.chain().cpu();
        let after = |index: usize, switched: &mut [u64], mask: &mut [u64]| {
            limbs[index].add_assign(switched, body.limb(index));
            tau.permute(cpu, switched);
            tau.permute(cpu, mask);
        };
        let source = Source::Poly(mask);
        let (body, mask) = key.apply_and_divide(&source, tables, tables.drop_special(), |_, _, _| {}, after);
        Self::new(vec![body, mask])
    }

    /// Prepares several automorphisms of one ciphertext; each then costs a fraction of a key switch.
    ///
    /// # Errors
    /// [`RlweError::Components`] unless there are two components; [`RlweError::Ring`] if the ciphertext is of another chain.
    pub fn hoist(&self, chain: &Chain) -> Result<HoistedCiphertext<'_>, RlweError> {
        let (body, mask) = self.pair()?;
        Ok(HoistedCiphertext { body, decomposed: Decomposed::new(chain, mask)?, chain: chain.clone() })
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

/// Three components that become two: `square` is what the key switches, `rest` are the other two.
struct Relinearisation<'a> {
    square: Source<'a>,
    rest: Rest<'a>,
}

/// The components that need no key switch.
enum Rest<'a> {
    Sum(&'a Poly<Eval>, &'a Poly<Eval>),
    /// Those of a product of two pairs.
    Product((&'a Poly<Eval>, &'a Poly<Eval>), (&'a Poly<Eval>, &'a Poly<Eval>)),
}

impl<'a> Relinearisation<'a> {
    fn of_product(
        a: (&'a Poly<Eval>, &'a Poly<Eval>),
        b: (&'a Poly<Eval>, &'a Poly<Eval>),
    ) -> Result<Self, RlweError> {
        a.0.ring().check_same(b.0.ring())?;
        Ok(Self { square: Source::Product(a.1, b.1), rest: Rest::Product(a, b) })
    }

    fn ring(&self) -> &Ring {
        match self.rest {
            Rest::Sum(body, _) | Rest::Product((body, _), _) => body.ring(),
        }
    }

    fn run(&self, keys: &EvaluationKeys) -> Result<RlweCiphertext, RlweError> {
        let key = keys.relinearisation()?;
        let tables = key.chain().level(key.chain().level_of(self.ring())?)?;
        let limbs = tables.ring().limbs();
        let after = |index: usize, body: &mut [u64], mask: &mut [u64]| {
            self.rest.add_limb(&limbs[index], index, None, body, mask);
        };
        let (body, mask) =
            key.apply_and_divide(&self.square, tables, tables.drop_special(), |_, _, _| {}, after);
        RlweCiphertext::new(vec![body, mask])
    }

    fn run_and_rescale(&self, keys: &EvaluationKeys) -> Result<RlweCiphertext, RlweError> {
        let key = keys.relinearisation()?;
        let tables = key.chain().level(key.chain().level_of(self.ring())?)?;
        let switch = tables.drop_special_and_rescale().ok_or(RlweError::LastLevel)?;
        // The rest joins times P, which is zero modulo the special primes.
        let (limbs, factors) = (tables.ring().limbs(), tables.special_product());
        let before = |index: usize, body: &mut [u64], mask: &mut [u64]| {
            if let Some(&factor) = factors.get(index) {
                self.rest.add_limb(&limbs[index], index, Some(factor), body, mask);
            }
        };
        let (body, mask) = key.apply_and_divide(&self.square, tables, switch, before, |_, _, _| {});
        RlweCiphertext::new(vec![body, mask])
    }
}

impl Rest<'_> {
    /// Adds one limb of both, times a factor if there is one.
    fn add_limb(
        &self,
        limb: &RingLimb,
        index: usize,
        factor: Option<u64>,
        body: &mut [u64],
        mask: &mut [u64],
    ) {
        let add = |out: &mut [u64], x: &[u64]| match factor {
            Some(factor) => limb.mul_scalar_add_assign(out, x, factor),
            None => limb.add_assign(out, x),
        };
        match self {
            Self::Sum(left, right) => {
                add(body, left.limb(index));
                add(mask, right.limb(index));
            }
            Self::Product(a, b) => {
                let [a, b] = [a, b].map(|pair| (pair.0.limb(index), pair.1.limb(index)));
                limb.tensor_add_assign((body, mask), a, b, factor.unwrap_or(1));
            }
        }
    }
}

/// A ciphertext whose mask has been decomposed once, for many automorphisms.
pub struct HoistedCiphertext<'a> {
    body: &'a Poly<Eval>,
    decomposed: Decomposed,
    chain: Chain,
}

impl HoistedCiphertext<'_> {
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

    /// The automorphism before the division by `P`, to be summed with others over the extended ring.
    ///
    /// # Cost
    /// No NTT at all.
    ///
    /// # Errors
    /// [`RlweError::MissingKey`].
    pub fn automorphism_extended(
        &self,
        keys: &EvaluationKeys,
        element: usize,
    ) -> Result<ExtendedPair, RlweError> {
        let mut pair = keys.galois(element)?.apply_decomposed(&self.decomposed)?;
        pair.add_ciphertext_assign(self.body, None)?;
        pair.automorphism(element)
    }
}

impl ExtendedPair {
    /// The automorphism of the ciphertext that this is `P` times, again times `P`: the giant step of a double-hoisted sum.
    ///
    /// # Math
    /// The mask alone is divided by `P` and key-switched; the body stays as it is, and both meet over the extended ring.
    ///
    /// # Cost
    /// One key switch, of whose division by `P` only half is done here; the other half is left to the end of the sum.
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
