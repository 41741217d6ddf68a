// SPDX-License-Identifier: Apache-2.0
//! Conditions whose constants are encrypted: which columns they read, and how large their noise can be.
//!
//! The chain that a server computes them over has the primes of the stored flags, and one more for keys. All primes are 1 modulo the plaintext modulus, so
//! that a division leaves messages as they are (docs/math/constants.md).

use std::sync::Arc;

use hush_params::noise::{NoiseModel, Operands, PhaseNoise, View, expanded};
use hush_params::{ChainParams, Definitions, Level, Named, ParamSet, preset};

use super::Inner;
use crate::packing::slots::FILTER_PRIME;
use crate::plan::Formula;

/// Most constants of a condition: as many as there are Galois keys for.
pub const MAX_CONSTANTS: usize = 512;
/// The ring of flags for which there are keys, and the chain that these are over.
const RING: &str = "n14_q5x46u_sec128_v1";
const CHAIN: &str = "n14_q5p1x46u_d1_sec192_v1";

/// A condition, and its constants.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Computed {
    pub(crate) sums: Vec<Inner>,
    pub(crate) formula: Formula,
}

/// What the ciphertext of a condition is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ComputedPhase {
    /// log2 of what no coefficient of its phase exceeds, but for a chance of 2^-128, over the ring of the flags.
    pub(crate) log2: f64,
    /// Primes of that ring in which it is not 0.
    pub(crate) limbs: usize,
}

impl Computed {
    /// What it is where all quantities are 0.
    pub(crate) fn padding(&self) -> i64 {
        let clear =
            |sum: &Inner| sum.iter().filter(|(quantity, _)| quantity.is_none()).map(|(_, one)| one).sum();
        self.formula.evaluate(&|place| self.sums.get(place).map_or(0, clear))
    }

    /// The noise of its ciphertext, and of every one on the way; `None` where that could not be decrypted, or there are too few levels.
    pub(crate) fn phase(&self, chain: &ChainParams) -> Option<ComputedPhase> {
        let model = NoiseModel::new(chain.degree(), FILTER_PRIME, View::Bound);
        let message_log2 = (FILTER_PRIME as f64).log2() - 1.0;
        let count = self.sums.iter().map(Vec::len).sum::<usize>();
        let noise = Noise {
            model,
            chain,
            flag: model.fresh(model.message(message_log2)),
            constant: expanded(&model, chain, chain.top(), count),
        };
        let terms: Vec<usize> = self.sums.iter().map(Vec::len).collect();
        let (phase, level) = noise.of(&self.formula, &terms)?;
        let missing = chain.log_q(chain.top())? - chain.log_q(level)?;
        let limbs = chain.levels().get(level.index())?.len();
        Some(ComputedPhase { log2: model.phase_log2(phase) + missing, limbs })
    }
}

/// The chain of the keys for flags over a ring, with its name; `None` for rings without.
pub fn chain_of_constants(set: &ParamSet) -> Option<(&'static str, Arc<ChainParams>)> {
    if set.name() != RING {
        return None;
    }
    let params = Definitions::default().resolve(Named::Name(CHAIN)).ok()?;
    Some((CHAIN, params.chain().ok()?.clone()))
}

/// The ring of flags for which there are to be keys.
pub(super) fn ring() -> Option<&'static ParamSet> {
    preset(RING).ok()
}

struct Noise<'a> {
    model: NoiseModel,
    chain: &'a ChainParams,
    flag: PhaseNoise,
    constant: PhaseNoise,
}

impl Noise<'_> {
    /// A formula in sums of so many terms: its noise, and its level.
    fn of(&self, formula: &Formula, terms: &[usize]) -> Option<(PhaseNoise, Level)> {
        let model = &self.model;
        match formula {
            Formula::Inner(place) => {
                let terms = *terms.get(*place)?;
                let product = model.tensor(self.flag, self.constant, Operands::Independent);
                self.divided(model.sum(product, (terms.max(1) as f64).log2()), self.chain.top())
            }
            Formula::Mul(left, right) => {
                let (left, right, level) = self.both(left, right, terms)?;
                self.divided(model.tensor(left, right, Operands::Dependent), level)
            }
            Formula::Add(left, right) => {
                let (left, right, level) = self.both(left, right, terms)?;
                Some((model.add(left, right, Operands::Dependent), level))
            }
            Formula::Not(inner) => {
                let (inner, level) = self.of(inner, terms)?;
                Some((model.add(inner, model.message(0.0), Operands::Independent), level))
            }
        }
    }

    /// Two operands at the lower of their levels.
    fn both(
        &self,
        left: &Formula,
        right: &Formula,
        terms: &[usize],
    ) -> Option<(PhaseNoise, PhaseNoise, Level)> {
        let ((left, of_left), (right, of_right)) = (self.of(left, terms)?, self.of(right, terms)?);
        let level = of_left.min(of_right);
        Some((self.lowered(left, of_left, level)?, self.lowered(right, of_right, level)?, level))
    }

    fn lowered(&self, mut phase: PhaseNoise, mut from: Level, to: Level) -> Option<PhaseNoise> {
        while from > to {
            let below = from.below()?;
            phase = self.model.mod_switch(phase, self.chain.log_q(below)? - self.chain.log_q(from)?);
            from = below;
        }
        Some(phase)
    }

    /// A product that fits its level, brought back and divided to the one below.
    fn divided(&self, product: PhaseNoise, level: Level) -> Option<(PhaseNoise, Level)> {
        let switched = self.model.key_switched(product, self.chain, level);
        let fits = self.model.phase_log2(switched) <= self.chain.log_q(level)? - 1.0;
        let divided = self.model.relinearized_and_mod_switched(product, self.chain, level)?;
        fits.then_some((divided, level.below()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_lengths(lengths: &[usize], formula: Formula) -> Computed {
        let sums = lengths.iter().map(|terms| vec![(None, 0); *terms]).collect();
        Computed { sums, formula }
    }

    /// Days in two digits, discounts and quantities: TPC-H's Q6.
    fn sixth() -> Computed {
        let inner = Formula::Inner;
        let days = inner(4).plus(inner(0).times(inner(1))).plus(inner(2).times(inner(3)));
        of_lengths(&[51, 50, 51, 50, 51, 11, 50], days.times(inner(5).times(inner(6))))
    }

    /// The figures of docs/math/constants.md, and what further terms, levels and operands change.
    #[test]
    fn bounds_are_those_of_the_page() {
        let (name, chain) = chain_of_constants(ring().unwrap()).unwrap();
        assert_eq!((name, usize::from(chain.top().0)), (CHAIN, 4));
        assert!(chain_of_constants(preset("n14_q5x46_sec128_v1").unwrap()).is_none());
        let phase = |computed: &Computed| computed.phase(&chain).unwrap();
        let of_page = phase(&sixth());
        assert!((of_page.log2 - 163.0).abs() < 0.1 && of_page.limbs == 2, "{of_page:?}");
        // Divisions leave their roundings, whatever there was; a level more takes a prime.
        let flat = phase(&of_lengths(&[3], Formula::Inner(0)));
        assert!((flat.log2 - 25.1 - 46.0).abs() < 1.1 && flat.limbs == 4, "{flat:?}");
        let more = phase(&of_lengths(&[500], Formula::Inner(0)));
        assert!(more.log2 > flat.log2 + 1.0, "{more:?} {flat:?}");
        let several = phase(&of_lengths(&[3, 3], Formula::Inner(0).plus(Formula::Inner(1))));
        assert!((several.log2 - flat.log2 - 1.0).abs() < 0.1, "{several:?} {flat:?}");
        let deeper = Computed { formula: sixth().formula.times(Formula::Inner(0)), ..sixth() };
        assert_eq!(phase(&deeper).limbs, 1);
        let deepest = Computed { formula: deeper.formula.times(Formula::Inner(0)), ..sixth() };
        assert_eq!(deepest.phase(&chain), None);
        assert_eq!(of_lengths(&[1], Formula::Inner(1)).phase(&chain), None);
    }

    /// Behind the rows all quantities are 0, and the number 1 is not.
    #[test]
    fn padding_is_what_numbers_alone_make() {
        let flag = || Some(crate::quantity::Quantity::Valid("x".into()));
        let sums = vec![vec![(None, 1), (flag(), 5)], vec![(None, 2), (None, -1)]];
        let both = Computed { sums, formula: Formula::Inner(0).times(Formula::Inner(1)) };
        assert_eq!(both.padding(), 1);
        assert_eq!(Computed { formula: both.formula.clone().complement(), ..both }.padding(), 0);
    }
}
