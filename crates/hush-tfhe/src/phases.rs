// SPDX-License-Identifier: Apache-2.0
//! The digits of a number, of ciphertexts in which the upper bits have run over.
//!
//! # Math
//! The **phases** of an integer M below `2^w` are ciphertexts of `M/2^(j + 1)` modulo 1 for j from 0 on: bit j is a half, and the bits below it less. From the lowest on, the bit before is
//! taken away, so that what is left of lower bits is below a quarter, and the middle of its range is moved to a quarter. The sign of the phase is then the bit: one rotation
//! of a table whose entries are all alike, which needs no bit above that stays 0. It gives the bit as a message, twice as large where it is the upper one of a digit, so that the sum of two is a digit, which
//! another rotation makes fresh.
//!
//! *References.* Bits from the lowest on, by signs: Liu, Micciancio and Polyakov, Asiacrypt 2022.

use crate::{Lwe, ServerKey, Table, TfheError};

/// Bootstrappings that give the digits of a number of so many bits.
pub fn digits_cost(bits: u32) -> u64 {
    u64::from(bits) + u64::from(bits / 2)
}

impl ServerKey {
    /// The digits of two bits, the lowest first, of integers whose phases these are, the lowest bit's first: of each as many.
    ///
    /// # Cost
    /// [`digits_cost`] bootstrappings for each, those of all numbers side by side.
    ///
    /// # Errors
    /// [`TfheError::Count`] unless all have as many phases; [`TfheError::Mixed`] for a ciphertext of another set; [`TfheError::Message`] for a set that has not the messages of digits.
    pub fn digits_of(&self, numbers: &[Vec<Lwe>]) -> Result<Vec<Vec<Lwe>>, TfheError> {
        let context = self.context();
        let bits = numbers.first().map_or(0, Vec::len);
        if let Some(other) = numbers.iter().find(|phases| phases.len() != bits) {
            let (found, expected) = (other.len() as u64, bits as u64);
            return Err(TfheError::Count { what: "phases of a number", found, expected });
        }
        self.expect_own(numbers.iter().flatten())?;
        // The messages of digits, and as many again: 1 is a unit of them.
        let unit = 2 * context.message_count();
        let identity = Table::of(context, |digit| digit)?;
        let mut digits: Vec<Vec<Lwe>> =
            numbers.iter().map(|_| Vec::with_capacity(bits.div_ceil(2))).collect();
        let mut previous: Vec<Lwe> = Vec::new();
        for place in 0..bits {
            // 1 or 2 as a message, and half of it either way.
            let value = 1 << (place % 2);
            let half = context.fraction(value, 2 * unit);
            let table = Table::constant(context, context.modulus().neg(half));
            let turned = numbers.iter().enumerate().map(|(number, phases)| {
                let mut phase = phases[place].clone();
                phase.add_constant(middle(context, place));
                if let Some(previous) = previous.get(number) {
                    // A quarter where it is 1: it is a message of 2 where this bit is a lower one.
                    let quarter = unit / 4 / (3 - value);
                    phase.add_scaled(previous, -(quarter as i64))?;
                }
                Ok(phase)
            });
            let turned = turned.collect::<Result<Vec<_>, TfheError>>()?;
            let jobs: Vec<_> = turned.iter().map(|phase| (phase, &table)).collect();
            let mut found = self.bootstrap(&jobs)?;
            found.iter_mut().for_each(|bit| bit.add_constant(half));
            for (digits, bit) in digits.iter_mut().zip(&found) {
                match digits.last_mut().filter(|_| place % 2 == 1) {
                    Some(lower) => lower.add_scaled(bit, 1)?,
                    None => digits.push(bit.clone()),
                }
            }
            previous = found;
        }
        // A digit of one bit is as it came.
        let whole = bits / 2;
        let jobs: Vec<_> =
            digits.iter().flat_map(|digits| &digits[..whole]).map(|digit| (digit, &identity)).collect();
        let mut clean = self.bootstrap(&jobs)?.into_iter();
        for digits in &mut digits {
            digits[..whole].iter_mut().zip(clean.by_ref()).for_each(|(digit, clean)| *digit = clean);
        }
        Ok(digits)
    }
}

/// What moves the middle of what may be left of lower bits to a quarter: `1/8 + 2^-(j + 2)`, and a quarter for the lowest.
fn middle(context: &crate::Context, place: usize) -> u64 {
    match place {
        0 => context.fraction(1, 4),
        // Beyond what a modulus tells apart nothing is added.
        _ => {
            let denominator = 1_u64 << (place + 2).min(40);
            context.fraction(denominator / 8 + 1, denominator)
        }
    }
}

#[cfg(test)]
mod tests;
