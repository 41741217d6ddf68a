// SPDX-License-Identifier: Apache-2.0
//! Three components to two, of ciphertexts and of products that are never stored, one or several at a time.

use hush_ring::{ChainLevel, Eval, Poly, Ring, RingLimb, RowPair};

use super::{TOGETHER, only};
use crate::key_switch::Source;
use crate::{EvaluationKeys, KeySwitchKey, RlweCiphertext, RlweError};

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
        only(Relinearisation::of_components(&[[body, mask, square]])?.run(keys)?)
    }

    /// [`RlweCiphertext::relinearize`] and the division to the level below, in one: cheaper, and with less error.
    ///
    /// # Errors
    /// As there; [`RlweError::LastLevel`]; [`RlweError::Components`] unless there are three.
    pub fn relinearize_and_mod_switch(&self, keys: &EvaluationKeys) -> Result<Self, RlweError> {
        only(Self::relinearize_and_mod_switch_all(&[self], keys)?)
    }

    /// [`RlweCiphertext::relinearize_and_mod_switch`] of several ciphertexts of one level, with one pass over the key.
    ///
    /// # Errors
    /// As there, and [`RlweError::Ring`] if the levels differ.
    pub fn relinearize_and_mod_switch_all(
        ciphertexts: &[&Self],
        keys: &EvaluationKeys,
    ) -> Result<Vec<Self>, RlweError> {
        let all = ciphertexts.iter().copied().map(three_components).collect::<Result<Vec<_>, _>>()?;
        let some = |some| Relinearisation::of_components(some)?.run_and_mod_switch(keys);
        let groups: Vec<_> = all.chunks(TOGETHER).map(some).collect::<Result<_, _>>()?;
        Ok(groups.into_iter().flatten().collect())
    }

    /// [`RlweCiphertext::mul`] and [`RlweCiphertext::relinearize`] in one: no component of the product is ever stored.
    ///
    /// # Errors
    /// As of both; [`RlweError::Components`] unless both have two components.
    pub fn mul_relinearize(&self, other: &Self, keys: &EvaluationKeys) -> Result<Self, RlweError> {
        only(Relinearisation::of_products(&[(self, other)])?.run(keys)?)
    }

    /// [`RlweCiphertext::mul`] and [`RlweCiphertext::relinearize_and_mod_switch`] in one: no component of the product is ever
    /// stored.
    ///
    /// # Errors
    /// As of both; [`RlweError::Components`] unless both have two components.
    pub fn mul_relinearize_and_mod_switch(
        &self,
        other: &Self,
        keys: &EvaluationKeys,
    ) -> Result<Self, RlweError> {
        only(Relinearisation::of_products(&[(self, other)])?.run_and_mod_switch(keys)?)
    }

    /// [`RlweCiphertext::mul_relinearize_and_mod_switch`] of several pairs of one level, with one pass over the key: what pays
    /// where the key comes from main memory.
    ///
    /// # Errors
    /// As there, and [`RlweError::Ring`] if the levels differ.
    pub fn mul_relinearize_and_mod_switch_all(
        pairs: &[(&Self, &Self)],
        keys: &EvaluationKeys,
    ) -> Result<Vec<Self>, RlweError> {
        if let Some(((first, _), rest)) = pairs.split_first() {
            rest.iter().try_for_each(|(a, _)| first.ring().check_same(a.ring()))?;
        }
        let some = |pairs| Relinearisation::of_products(pairs)?.run_and_mod_switch(keys);
        let groups: Vec<_> = pairs.chunks(TOGETHER).map(some).collect::<Result<_, _>>()?;
        Ok(groups.into_iter().flatten().collect())
    }
}

fn three_components(ciphertext: &RlweCiphertext) -> Result<[&Poly<Eval>; 3], RlweError> {
    match ciphertext.components() {
        [body, mask, square] => Ok([body, mask, square]),
        other => Err(RlweError::Components { found: other.len(), expected: 3 }),
    }
}

type Pair<'a> = (&'a Poly<Eval>, &'a Poly<Eval>);

/// Ciphertexts of three components that become ciphertexts of two: the key switches the `squares`, the `rests` join.
///
/// *Invariant.* One ring, and as many rests as squares.
struct Relinearisation<'a> {
    ring: &'a Ring,
    squares: Vec<Source<'a>>,
    rests: Vec<Rest<'a>>,
}

/// The two components that need no key switch.
enum Rest<'a> {
    Sum(Pair<'a>),
    /// Those of a product of two pairs.
    Product(Pair<'a>, Pair<'a>),
}

impl<'a> Relinearisation<'a> {
    /// At least one.
    fn of_components(components: &[[&'a Poly<Eval>; 3]]) -> Result<Self, RlweError> {
        let ring = components.first().ok_or(RlweError::ComponentCount { found: 0 })?[0].ring();
        components.iter().try_for_each(|[body, ..]| ring.check_same(body.ring()))?;
        let squares = components.iter().map(|&[.., square]| Source::Poly(square)).collect();
        let rests = components.iter().map(|&[body, mask, _]| Rest::Sum((body, mask))).collect();
        Ok(Self { ring, squares, rests })
    }

    /// At least one pair of factors.
    fn of_products(factors: &[(&'a RlweCiphertext, &'a RlweCiphertext)]) -> Result<Self, RlweError> {
        let ring = factors.first().ok_or(RlweError::ComponentCount { found: 0 })?.0.ring();
        let mut this = Self { ring, squares: Vec::new(), rests: Vec::new() };
        for (a, b) in factors {
            ring.check_same(a.ring())?;
            ring.check_same(b.ring())?;
            let (a, b) = (a.pair()?, b.pair()?);
            this.squares.push(Source::Product(a.1, b.1));
            this.rests.push(Rest::Product(a, b));
        }
        Ok(this)
    }

    fn key_and_tables<'b>(
        &self,
        keys: &'b EvaluationKeys,
    ) -> Result<(&'b KeySwitchKey, &'b ChainLevel), RlweError> {
        let key = keys.relinearisation()?;
        Ok((key, key.tables(self.ring)?.1))
    }

    fn run(&self, keys: &EvaluationKeys) -> Result<Vec<RlweCiphertext>, RlweError> {
        let (key, tables) = self.key_and_tables(keys)?;
        let after = |index: usize, rows: &mut [RowPair<'_>]| {
            for (rest, rows) in self.rests.iter().zip(rows) {
                rest.add_limb(&tables.ring().limbs()[index], index, 1, rows);
            }
        };
        ciphertexts(key.apply_and_divide(&self.squares, tables, tables.drop_special(), |_, _| {}, after))
    }

    fn run_and_mod_switch(&self, keys: &EvaluationKeys) -> Result<Vec<RlweCiphertext>, RlweError> {
        let (key, tables) = self.key_and_tables(keys)?;
        let switch = tables.drop_special_and_mod_switch().ok_or(RlweError::LastLevel)?;
        // The rest joins times P, which is zero modulo the special primes.
        let before = |index: usize, rows: &mut [RowPair<'_>]| {
            let Some(&factor) = tables.special_product().get(index) else { return };
            for (rest, rows) in self.rests.iter().zip(rows) {
                rest.add_limb(&tables.ring().limbs()[index], index, factor, rows);
            }
        };
        ciphertexts(key.apply_and_divide(&self.squares, tables, switch, before, |_, _| {}))
    }
}

impl Rest<'_> {
    /// Adds one limb of both, times a factor.
    fn add_limb(&self, limb: &RingLimb, index: usize, factor: u64, (body, mask): &mut RowPair<'_>) {
        match self {
            Self::Sum(rest) => {
                for (out, rest) in [(body, rest.0), (mask, rest.1)] {
                    match factor {
                        1 => limb.add_assign(out, rest.limb(index)),
                        _ => limb.mul_scalar_add_assign(out, rest.limb(index), factor),
                    }
                }
            }
            Self::Product(a, b) => {
                let [a, b] = [a, b].map(|pair| (pair.0.limb(index), pair.1.limb(index)));
                limb.tensor_add_assign((body, mask), a, b, factor);
            }
        }
    }
}

fn ciphertexts(pairs: Vec<(Poly<Eval>, Poly<Eval>)>) -> Result<Vec<RlweCiphertext>, RlweError> {
    pairs.into_iter().map(|(body, mask)| RlweCiphertext::new(vec![body, mask])).collect()
}
