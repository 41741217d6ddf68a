// SPDX-License-Identifier: Apache-2.0
//! The packing `slots`: BGV slots, one ciphertext per plaintext prime.
//!
//! A program is evaluated modulo several plaintext primes, one ciphertext each (a *lane*); the owner joins the lanes,
//! so their product must exceed twice the largest absolute value of any result. Columns that meet in a program share
//! ring, primes and secret. Noise is a worst case over the program ([`Program::phase_log2`]) with the largest prime, and must
//! stay within `log2 Q − 1`.

use std::collections::BTreeSet;

use hush_params::{PLAINTEXT_PRIMES_32, PLAINTEXT_PRIMES_45, ParamSet, noise, presets_without_keys, size};
use num_bigint::BigInt;
use num_traits::One;

use super::sum::stored_bits;
use super::{Choice, Fit, Layout, Packing, Plaintext, ProgramFit, Rules, Stored};
use crate::error::PlanError;
use crate::program::Program;
use crate::quantity::Quantity;
use crate::range::MAX_MESSAGE_LOG2;
use crate::schema::Schema;
use crate::writers::Writers;

/// The plaintext prime of columns that are multiplied without keys: the least with slots in every ring.
pub const FILTER_PRIME: u64 = 65_537;

/// BGV slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slots {
    /// Plaintext primes, from one of the lists in `hush-params`, none twice.
    pub primes: Vec<u64>,
    /// Whether chunks of a part share ring elements that one of them would not fill: as many follow one another as fill one, each beginning
    /// where the one before it ends, and the first of them has them all ([`Packing::chunks_together`]).
    pub shared: bool,
}

impl Slots {
    /// Slots of these primes, every chunk in ring elements of its own.
    pub fn of(primes: Vec<u64>) -> Self {
        Self { primes, shared: false }
    }

    /// Those of columns that are multiplied without keys.
    pub(crate) fn of_filters(shared: bool) -> Self {
        Self { primes: vec![FILTER_PRIME], shared }
    }

    /// Whether they are of such columns.
    pub fn is_of_filters(&self) -> bool {
        self.primes == [FILTER_PRIME]
    }

    pub(super) fn read(plaintext: Plaintext, shared: bool) -> Option<Self> {
        match plaintext {
            Plaintext::Primes { primes } => Some(Self { primes, shared }),
            _ => None,
        }
    }
}

impl Rules for Slots {
    fn layout(&self) -> Layout {
        if self.shared { Layout::SharedSlots } else { Layout::Slots }
    }

    fn plaintext(&self) -> Plaintext {
        Plaintext::Primes { primes: self.primes.clone() }
    }

    fn fits(&self, set: &ParamSet) -> bool {
        let primes = &self.primes;
        let listed = |list: &[u64]| primes.iter().all(|prime| list.contains(prime));
        let distinct: BTreeSet<_> = primes.iter().collect();
        !primes.is_empty()
            && distinct.len() == primes.len()
            && primes.iter().all(|prime| (*prime as f64).log2() < set.log_q())
            && (listed(&PLAINTEXT_PRIMES_32)
                || listed(&PLAINTEXT_PRIMES_45)
                || (self.is_of_filters() && has_slots(set)))
            && (!self.shared || (self.is_of_filters() && size::chunks_of_element(set) > 1))
    }

    fn describe(&self) -> String {
        match self.primes.len() {
            1 => "slots of 1 prime".to_owned(),
            count => format!("slots of {count} primes"),
        }
    }

    fn plaintext_words(&self) -> String {
        let bits: f64 = self.primes.iter().map(|prime| (*prime as f64).log2()).sum();
        let plural = if self.primes.len() == 1 { "" } else { "s" };
        format!("t = {} prime{plural}, {:.0} bits", self.primes.len(), bits.floor())
    }

    fn stored(&self) -> Option<Stored> {
        Some(Stored::Evaluations)
    }

    fn held_bits(&self) -> u64 {
        self.primes.iter().product::<BigInt>().bits().saturating_sub(1)
    }

    fn fresh(&self, set: &ParamSet, _writers: Writers) -> Fit {
        Fit {
            margin: set.log_q() - 1.0 - noise::bgv_fresh_phase_log2(largest_log2(&self.primes)),
            error: None,
        }
    }

    fn modulus_log2(&self) -> Option<f64> {
        Some(largest_log2(&self.primes))
    }

    fn lanes(&self) -> usize {
        self.primes.len()
    }

    fn evaluates(&self) -> bool {
        !self.shared
    }

    fn chunks_together(&self, set: &ParamSet) -> u32 {
        if self.shared { size::chunks_of_element(set) } else { 1 }
    }

    fn program(&self, set: &ParamSet, program: &Program, _magnitude: f64) -> Option<ProgramFit> {
        let fit = Fit { margin: margin(program, set, &self.primes), error: None };
        fits(program, set, &self.primes).then_some(ProgramFit { fit, largest: None })
    }
}

/// Whether a ring has slots modulo the prime of filters.
pub(crate) fn has_slots(set: &ParamSet) -> bool {
    (FILTER_PRIME - 1).is_multiple_of(2 * set.degree() as u64)
}

/// The plaintext primes that suit a ring.
fn primes_for(set: &ParamSet) -> Option<&'static [u64]> {
    match (set.degree(), set.limb_count()) {
        (4096, 2) => Some(&PLAINTEXT_PRIMES_32),
        (8192, _) => Some(&PLAINTEXT_PRIMES_45),
        _ => None,
    }
}

/// Chooses for every column of the exact programs, in groups of those that meet.
pub(crate) fn choose(
    schema: &Schema,
    programs: &[Program],
) -> Result<Vec<Vec<(Quantity, Choice)>>, PlanError> {
    let exact: Vec<&Program> = programs.iter().filter(|program| !program.approximate).collect();
    let mut groups = Vec::new();
    for (columns, members) in components(&exact) {
        let quantities: Vec<Quantity> = columns.into_iter().map(Quantity::Value).collect();
        let largest = quantities.iter().map(|quantity| quantity.bound(schema)).max().unwrap_or_default();
        let (set, primes) = parameters(&members, largest)?;
        let choice = |quantity: Quantity| {
            let max_abs = quantity.bound(schema);
            let packing = Packing::Slots(Slots::of(primes.clone()));
            (quantity, Choice { packing, params: set.name(), max_abs })
        };
        groups.push(quantities.into_iter().map(choice).collect());
    }
    Ok(groups)
}

/// Groups programs that share columns, directly or by way of others.
pub(super) fn components<'a>(programs: &[&'a Program]) -> Vec<(BTreeSet<String>, Vec<&'a Program>)> {
    let mut groups: Vec<(BTreeSet<String>, Vec<&Program>)> = Vec::new();
    for program in programs {
        let (touching, mut others): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|(columns, _)| !columns.is_disjoint(&program.columns));
        let mut joined = (program.columns.clone(), vec![*program]);
        for (columns, members) in touching {
            joined.0.extend(columns);
            joined.1.extend(members);
        }
        others.push(joined);
        groups = others;
    }
    groups
}

/// The ring and primes with the fewest stored bits for these programs, on columns of values up to `largest`.
fn parameters(programs: &[&Program], largest: BigInt) -> Result<(&'static ParamSet, Vec<u64>), PlanError> {
    // A column times 0 has a result smaller than itself.
    let largest = programs.iter().map(|program| program.bound.clone()).fold(largest, BigInt::max);
    let fitting = presets_without_keys().filter_map(|set| {
        let primes = lanes(primes_for(set)?, &largest)?;
        let fits = programs.iter().all(|program| fits(program, set, &primes));
        fits.then_some((set, primes))
    });
    fitting.min_by_key(|(set, primes)| stored_bits(set) * primes.len()).ok_or_else(|| {
        PlanError::NoParameters {
            quantity: programs.iter().map(|program| program.text.clone()).next().unwrap_or_default(),
            rows: 1,
            bits: largest.bits() + 1,
        }
    })
}

/// The first primes whose product exceeds `2·bound`.
fn lanes(primes: &[u64], bound: &BigInt) -> Option<Vec<u64>> {
    if bound.bits() >= u64::from(MAX_MESSAGE_LOG2) {
        return None;
    }
    let mut product = BigInt::one();
    let mut taken = Vec::new();
    for prime in primes {
        if holds(&product, bound) && !taken.is_empty() {
            break;
        }
        product *= *prime;
        taken.push(*prime);
    }
    holds(&product, bound).then_some(taken)
}

/// Whether results of at most `bound` can be joined from their residues, with the margin that the owner's arithmetic
/// asks for (`CrtBasis::lift_limit`).
fn holds(product: &BigInt, bound: &BigInt) -> bool {
    (product >> 1u32) - (product >> 39u32) >= *bound
}

/// Whether `program` decrypts, and its results fit, with this ring and these primes.
pub(crate) fn fits(program: &Program, set: &ParamSet, primes: &[u64]) -> bool {
    let product: BigInt = primes.iter().product();
    holds(&product, &program.bound) && margin(program, set, primes) >= 0.0
}

/// Distance in bits between the program's noise bound and its limit.
pub(crate) fn margin(program: &Program, set: &ParamSet, primes: &[u64]) -> f64 {
    set.log_q() - 1.0 - program.phase_log2(set.degree(), largest_log2(primes))
}

fn largest_log2(primes: &[u64]) -> f64 {
    primes.iter().map(|prime| (*prime as f64).log2()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hush_params::{PLAINTEXT_PRIMES_32, PLAINTEXT_PRIMES_45};

    /// The lift of the owner's arithmetic is right up to half the product, less a 2^39th of it.
    #[test]
    fn primes_are_taken_until_they_hold_a_bound_of_either_sign() {
        for primes in [&PLAINTEXT_PRIMES_32[..], &PLAINTEXT_PRIMES_45[..]] {
            for count in 1..=4 {
                let product: BigInt = primes[..count].iter().product();
                let most: BigInt = (&product >> 1) - (&product >> 39);
                assert_eq!(lanes(primes, &most), Some(primes[..count].to_vec()));
                assert_eq!(lanes(primes, &(&most + 1)), Some(primes[..=count].to_vec()));
                assert!(most <= &product >> 1 && most > (&product >> 1) * 999_999 / 1_000_000);
            }
            assert_eq!(lanes(primes, &BigInt::one()), Some(primes[..1].to_vec()));
            assert_eq!(lanes(primes, &(BigInt::one() << 255)), None);
        }
    }
}
