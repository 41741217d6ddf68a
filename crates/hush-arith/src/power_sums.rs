// SPDX-License-Identifier: Apache-2.0
//! A few numbers from the sums of their powers, and weights from weighted sums, modulo a prime.
//!
//! ```text
//!   numbers   x_1, …, x_k                      p_e = Σ x_i^e          for e = 0 … most
//!   weights   w_1, …, w_k                      v_e = Σ w_i·x_i^e      for e = 0 … most − 1
//! ```
//!
//! Newton's identities turn `p_1 … p_k` into the coefficients of `Π (X − x_i)`, whose roots are the numbers. The weights solve a system of Vandermonde.
//! Sums beyond these are checked, so that what is returned has exactly the sums that were given.
//!
//! *Source.* Prony's method over a prime field, as decoders of Reed-Solomon codes use it.

use crate::Modulus;

/// The numbers below `count` with these power sums `p_0, p_1, …`, rising, each once; `None` where no numbers have them.
///
/// The modulus has to be a prime above `count` and above the number of sums.
///
/// # Cost
/// `count · p_0` operations.
pub fn numbers_of(modulus: Modulus, sums: &[u64], count: u64) -> Option<Vec<u64>> {
    let found = usize::try_from(*sums.first()?).ok().filter(|found| *found < sums.len())?;
    let locator = locator_of(modulus, sums, found)?;
    let is_root = |number: &u64| {
        let of_number =
            |value: u64, coefficient: &u64| modulus.add(modulus.mul(value, *number), *coefficient);
        locator.iter().rev().fold(0, of_number) == 0
    };
    let numbers: Vec<u64> = (0..count.min(modulus.value())).filter(is_root).collect();
    let ones = vec![1; numbers.len()];
    (numbers.len() == found && are_sums(modulus, (&numbers, &ones), sums)).then_some(numbers)
}

/// The coefficients of `Π (X − x_i)`, the constant one first, from the power sums of so many numbers.
fn locator_of(modulus: Modulus, sums: &[u64], found: usize) -> Option<Vec<u64>> {
    // Newton: k·e_k = Σ_{i=1}^{k} (−1)^{i−1}·e_{k−i}·p_i.
    let mut elementary = vec![1_u64];
    for degree in 1..=found {
        let terms = (1..=degree).map(|power| {
            let term = modulus.mul(*elementary.get(degree - power)?, *sums.get(power)?);
            Some(if power % 2 == 1 { term } else { modulus.neg(term) })
        });
        let sum = terms.sum_in(modulus)?;
        elementary.push(modulus.mul(sum, modulus.inv(degree as u64).ok()?));
    }
    let signed = elementary.iter().enumerate();
    let signed = signed.map(|(place, value)| if place % 2 == 0 { *value } else { modulus.neg(*value) });
    let mut coefficients: Vec<u64> = signed.collect();
    coefficients.reverse();
    Some(coefficients)
}

/// The weights of distinct numbers that have these weighted power sums `v_0, v_1, …`, of which there are as many as numbers at least; `None` where no
/// weights have them.
///
/// # Cost
/// `k²` operations for `k` numbers.
pub fn weights_of(modulus: Modulus, numbers: &[u64], sums: &[u64]) -> Option<Vec<u64>> {
    let mut locator = vec![1_u64];
    for number in numbers {
        // Times (X − number).
        let mut next = vec![0; locator.len() + 1];
        for (place, coefficient) in locator.iter().enumerate() {
            next[place + 1] = modulus.add(next[place + 1], *coefficient);
            next[place] = modulus.sub(next[place], modulus.mul(*coefficient, *number));
        }
        locator = next;
    }
    let weight = |number: &u64| {
        // Π (X − x_l) over the other numbers, which is 0 at all of these: it picks the weight out of the sums.
        let mut others = vec![0; numbers.len()];
        let mut carried = 0;
        for (place, coefficient) in locator.iter().enumerate().skip(1).rev() {
            carried = modulus.add(*coefficient, modulus.mul(carried, *number));
            others[place - 1] = carried;
        }
        let picked = others
            .iter()
            .enumerate()
            .map(|(power, coefficient)| Some(modulus.mul(*coefficient, *sums.get(power)?)));
        let at_number =
            |value: u64, coefficient: &u64| modulus.add(modulus.mul(value, *number), *coefficient);
        let scale = modulus.inv(others.iter().rev().fold(0, at_number)).ok()?;
        Some(modulus.mul(picked.sum_in(modulus)?, scale))
    };
    let weights = numbers.iter().map(weight).collect::<Option<Vec<u64>>>()?;
    are_sums(modulus, (numbers, &weights), sums).then_some(weights)
}

/// Whether weighted numbers have these power sums.
fn are_sums(modulus: Modulus, (numbers, weights): (&[u64], &[u64]), sums: &[u64]) -> bool {
    let mut terms = weights.to_vec();
    sums.iter().all(|expected| {
        let sum = terms.iter().fold(0, |sum, term| modulus.add(sum, *term));
        terms.iter_mut().zip(numbers).for_each(|(term, number)| *term = modulus.mul(*term, *number));
        sum == *expected
    })
}

/// Sums modulo a prime of terms that may be missing.
trait SumIn {
    fn sum_in(self, modulus: Modulus) -> Option<u64>;
}

impl<I: Iterator<Item = Option<u64>>> SumIn for I {
    fn sum_in(mut self, modulus: Modulus) -> Option<u64> {
        self.try_fold(0, |sum, term| Some(modulus.add(sum, term?)))
    }
}

#[cfg(test)]
mod tests;
