// SPDX-License-Identifier: Apache-2.0
//! Wide look-ups: one of `2^k` entries, by k selectors.
//!
//! # Math
//! The lower bits of the index turn a polynomial that holds as many entries as it has coefficients, or each entry in as many coefficients as are left: `acc ← acc + m_j·(X^(−2^j·w) − 1)·acc` for bit j and
//! entries w coefficients wide. Of tables with more than N entries the upper bits choose a polynomial before: `acc ← left + m_j·(right − left)`, in a tree whose lowest level is that of the
//! lowest of them. Whatever the shape, an entry has gone through k choices, each of which adds its error once ([`hush_params::tfhe::TfheSet::wide_failure_log2`]).

use hush_ring::Words;

use crate::circuit::{Selector, digits_of};
use crate::digits::Digits;
use crate::rotation::Accumulator;
use crate::{Context, Lwe, TfheError};

/// A table of `2^k` messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WideTable {
    code: u16,
    bits: u32,
    /// Coefficients of polynomials, one after another.
    coefficients: Vec<u64>,
}

impl WideTable {
    /// Most bits of an index.
    pub const MOST_BITS: u32 = 16;

    /// The messages of all indices of so many bits.
    ///
    /// # Errors
    /// [`TfheError::NoCircuit`]; [`TfheError::Count`] unless there are 1 to [`WideTable::MOST_BITS`] bits; [`TfheError::Message`] for an entry that is no message of the set.
    pub fn of(context: &Context, bits: u32, entry: impl Fn(u64) -> u64) -> Result<Self, TfheError> {
        digits_of(context)?;
        if !(1..=Self::MOST_BITS).contains(&bits) {
            let expected = bits.clamp(1, Self::MOST_BITS).into();
            return Err(TfheError::Count { what: "bits of an index", found: bits.into(), expected });
        }
        let entries =
            (0..1 << bits).map(|index| context.encode(entry(index))).collect::<Result<Vec<_>, _>>()?;
        let width = (context.set().degree() >> bits).max(1);
        let coefficients = entries.into_iter().flat_map(|entry| std::iter::repeat_n(entry, width)).collect();
        Ok(Self { code: context.set().code(), bits, coefficients })
    }

    /// The entry at the index whose bits the selectors have, the lowest first.
    ///
    /// # Cost
    /// `2·l + 2` transforms for each bit, and for each pair of polynomials of a tree, with l levels of selectors: next to nothing beside making the selectors.
    ///
    /// # Errors
    /// [`TfheError::Mixed`] for a table or selectors of another set; [`TfheError::Count`] unless there is a selector for each bit.
    pub fn look_up(&self, context: &Context, selectors: &[Selector]) -> Result<Lwe, TfheError> {
        let (set, gadget) = (context.set(), digits_of(context)?.selector);
        if self.code != set.code() || selectors.iter().any(|selector| selector.code != set.code()) {
            return Err(TfheError::Mixed { expected: set.name() });
        }
        let (found, expected) = (selectors.len() as u64, u64::from(self.bits));
        if found != expected {
            return Err(TfheError::Count { what: "selectors", found, expected });
        }
        let (degree, limb) = (set.degree(), context.limb());
        let turning = selectors.len().min(degree.trailing_zeros() as usize);
        let (lower, upper) = selectors.split_at(turning);
        let mut digits = Digits::new(limb, degree, gadget, 2);
        let mut product = Words::recycled(2 * degree);
        let ciphertext = |body: &[u64]| {
            let mut words = Words::zeroed(2 * degree);
            words[..degree].copy_from_slice(body);
            words
        };
        let mut level: Vec<Words> = self.coefficients.chunks(degree).map(ciphertext).collect();
        for selector in upper {
            for pair in level.chunks_exact_mut(2) {
                let [left, right] = pair else { continue };
                limb.sub_assign(right, left);
                digits.cut(|component, quotient| {
                    quotient.copy_from_slice(&right[component * degree..][..degree]);
                    limb.round(quotient, gadget.shift);
                });
                digits.multiply(&selector.words, &mut product);
                limb.add_assign(left, &product);
            }
            level = level.into_iter().step_by(2).collect();
        }
        let mut found = level.swap_remove(0);
        let width = degree >> turning;
        for (bit, selector) in lower.iter().enumerate() {
            digits.cut(|component, quotient| {
                let part = &found[component * degree..][..degree];
                limb.turned_digits(quotient, (part, part), 2 * degree - (width << bit), gadget.shift);
            });
            digits.multiply(&selector.words, &mut product);
            limb.add_assign(&mut found, &product);
        }
        Ok(Accumulator::of_words(found, degree).coefficient(context.modulus(), 0))
    }
}

#[cfg(test)]
mod tests;
