// SPDX-License-Identifier: Apache-2.0
//! Key switching: from a large ciphertext to a small one.

use hush_params::tfhe::SwitchDigits;
use hush_ring::{Cpu, ExpandLabel, MaskPurpose, UniformSeed, gadget};
use rayon::prelude::*;

use crate::{Context, Lwe, SmallLwe, TfheError};

/// For each coefficient of the large secret and each digit an encryption of `S_j·2^(32 − bits·(digit + 1))` under the small one.
///
/// *Layout.* Rows of `n + 1` words, coefficient by coefficient, the highest digit first.
#[derive(Clone)]
pub struct SwitchKey {
    rows: Vec<u32>,
    width: usize,
    digits: SwitchDigits,
    code: u16,
}

/// The label of a row's coefficients.
pub fn switch_label(row: u32) -> ExpandLabel {
    ExpandLabel { purpose: MaskPurpose::KeySwitch, column: row, ring_index: 0, lane: 0 }
}

impl SwitchKey {
    /// Rows of a key for a set.
    pub fn row_count(context: &Context) -> usize {
        context.set().large_dimension() * context.set().switch().levels as usize
    }

    /// Expands the coefficients of all rows, whose bodies are these.
    ///
    /// # Errors
    /// [`TfheError::Count`] unless there are [`SwitchKey::row_count`] bodies.
    pub fn expand(context: &Context, seed: UniformSeed, bodies: &[u32]) -> Result<Self, TfheError> {
        let (found, expected) = (bodies.len() as u64, Self::row_count(context) as u64);
        if found != expected {
            return Err(TfheError::Count { what: "rows of a switching key", found, expected });
        }
        let width = context.set().dimension() + 1;
        let mut rows = vec![0; width * bodies.len()];
        rows.par_chunks_exact_mut(width).zip(bodies).enumerate().for_each(|(number, (row, body))| {
            if let Some((last, mask)) = row.split_last_mut() {
                seed.expand_words(context.cpu(), switch_label(number as u32), mask);
                *last = *body;
            }
        });
        Ok(Self { rows, width, digits: context.set().switch(), code: context.set().code() })
    }

    /// The code of its set.
    pub(crate) fn code(&self) -> u16 {
        self.code
    }

    /// The small ciphertexts of the same messages. One pass over the key for all of them.
    ///
    /// # Math
    /// A coefficient `a` is rounded to `2^32`, and to the bits that its balanced digits have: `a ≈ Σ d_i·2^(32 − bits·(i + 1))`. Then `Σ d_i·row` has the
    /// phase `a·S_j`, but for rounding and errors.
    pub fn switch(&self, cpu: Cpu, inputs: &[&Lwe]) -> Vec<SmallLwe> {
        let words: Vec<Vec<u32>> = inputs.iter().map(|input| narrowed(input)).collect();
        let zero = |words: &Vec<u32>| {
            let mut sum = vec![0; self.width];
            if let (Some(body), Some(found)) = (sum.last_mut(), words.last()) {
                *body = *found;
            }
            sum
        };
        let mut sums: Vec<Vec<u32>> = words.iter().map(zero).collect();
        let levels = self.digits.levels as usize;
        let mut digits = vec![0; levels];
        for (place, rows) in self.rows.chunks_exact(self.width * levels).enumerate() {
            for (sum, words) in sums.iter_mut().zip(&words) {
                self.cut(words[place], &mut digits);
                gadget::add_scaled(cpu, sum, rows, &digits);
            }
        }
        let switched = sums.into_iter().map(|words| SmallLwe { words });
        switched.collect()
    }

    /// Balanced digits of a word, the highest first. The carry out of the highest is a multiple of `2^32`.
    ///
    /// A digit of half of the base has either sign, as one of the bits that are left out says. With one sign always, digits would have a mean, and the sum of
    /// all errors of a key would be in every result.
    fn cut(&self, word: u32, digits: &mut [i32]) {
        let SwitchDigits { bits, levels } = self.digits;
        let left_out = 32 - bits * levels;
        let mut rest = word.wrapping_add(1 << (left_out - 1)) >> left_out;
        for (level, digit) in digits.iter_mut().enumerate().rev() {
            let (low, half) = (rest & ((1 << bits) - 1), 1 << (bits - 1));
            let is_negative = low > half || low == half && word >> level & 1 == 1;
            let carry = u32::from(is_negative);
            *digit = low as i32 - ((carry as i32) << bits);
            rest = (rest >> bits) + carry;
        }
    }
}

/// The words of a ciphertext modulo `2^32`, rounded. Doubles hold residues and `2^32/q` with far more bits than are left.
fn narrowed(input: &Lwe) -> Vec<u32> {
    let scale = 2f64.powi(32) / input.modulus().value() as f64;
    // A quotient of 2^32 is 0.
    let narrow = |word: &u64| (*word as f64 * scale + 0.5) as u64 as u32;
    input.words().iter().map(narrow).collect()
}

#[cfg(test)]
mod tests;
