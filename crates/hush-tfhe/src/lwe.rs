// SPDX-License-Identifier: Apache-2.0
//! Ciphertexts of one number.

use hush_arith::Modulus;

use crate::{Context, TfheError};

/// A large ciphertext: `k·N` coefficients and a body, modulo the prime of its set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lwe {
    modulus: Modulus,
    /// The coefficients, then the body.
    words: Vec<u64>,
}

impl Lwe {
    /// Coefficients, and a body behind them.
    ///
    /// # Errors
    /// [`TfheError::Count`] unless there are `k·N + 1` words; [`TfheError::Residue`] unless all are residues.
    pub fn from_words(context: &Context, words: Vec<u64>) -> Result<Self, TfheError> {
        let expected = context.set().large_dimension() + 1;
        if words.len() != expected {
            let (found, expected) = (words.len() as u64, expected as u64);
            return Err(TfheError::Count { what: "words of a ciphertext", found, expected });
        }
        if words.iter().any(|word| *word >= context.modulus().value()) {
            return Err(TfheError::Residue);
        }
        Ok(Self { modulus: context.modulus(), words })
    }

    /// A residue as a ciphertext without coefficients or error, which every secret opens.
    pub fn constant(context: &Context, residue: u64) -> Self {
        let mut words = vec![0; context.set().large_dimension() + 1];
        if let Some(body) = words.last_mut() {
            *body = context.modulus().reduce_u64(residue);
        }
        Self { modulus: context.modulus(), words }
    }

    /// Words that are residues, as many as a ciphertext has.
    pub(crate) fn of_residues(modulus: Modulus, words: Vec<u64>) -> Self {
        Self { modulus, words }
    }

    /// Whether it is of this set.
    pub(crate) fn suits(&self, context: &Context) -> bool {
        (self.words.len(), self.modulus) == (context.set().large_dimension() + 1, context.modulus())
    }

    /// The modulus.
    pub(crate) fn modulus(&self) -> Modulus {
        self.modulus
    }
    /// Coefficients and body.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }
    /// The coefficients.
    pub fn mask(&self) -> &[u64] {
        self.words.split_last().map_or(&[], |(_, mask)| mask)
    }
    /// The body.
    pub fn body(&self) -> u64 {
        self.words.last().copied().unwrap_or(0)
    }

    /// Adds `factor` times another ciphertext of the same set. Norms add up so, too.
    ///
    /// # Errors
    /// [`TfheError::Count`] for one of another set.
    pub fn add_scaled(&mut self, other: &Self, factor: i64) -> Result<(), TfheError> {
        if (self.words.len(), self.modulus) != (other.words.len(), other.modulus) {
            let (found, expected) = (other.words.len() as u64, self.words.len() as u64);
            return Err(TfheError::Count { what: "words of a ciphertext", found, expected });
        }
        let (q, factor) = (self.modulus, self.modulus.reduce_i64(factor));
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word = q.add(*word, if factor == 1 { *other } else { q.mul(*other, factor) });
        }
        Ok(())
    }

    /// So many times the ciphertext, and its norm.
    pub(crate) fn scaled(&self, factor: u64) -> Self {
        let q = self.modulus;
        let factor = q.reduce_u64(factor);
        Self { modulus: q, words: self.words.iter().map(|word| q.mul(*word, factor)).collect() }
    }

    /// Adds a residue to the message.
    pub fn add_constant(&mut self, residue: u64) {
        if let Some(body) = self.words.last_mut() {
            *body = self.modulus.add(*body, self.modulus.reduce_u64(residue));
        }
    }
}

/// A small ciphertext: `n` coefficients and a body, modulo `2^32`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmallLwe {
    /// The coefficients, then the body.
    pub(crate) words: Vec<u32>,
}

impl SmallLwe {
    /// Coefficients, and a body behind them.
    ///
    /// # Errors
    /// [`TfheError::Count`] unless there are `n + 1` words.
    pub fn from_words(context: &Context, words: Vec<u32>) -> Result<Self, TfheError> {
        let (found, expected) = (words.len() as u64, context.set().dimension() as u64 + 1);
        if found != expected {
            return Err(TfheError::Count { what: "words of a small ciphertext", found, expected });
        }
        Ok(Self { words })
    }

    /// Coefficients and body.
    pub fn words(&self) -> &[u32] {
        &self.words
    }
    /// The coefficients.
    pub fn mask(&self) -> &[u32] {
        self.words.split_last().map_or(&[], |(_, mask)| mask)
    }
    /// The body.
    pub fn body(&self) -> u32 {
        self.words.last().copied().unwrap_or(0)
    }

    /// The ciphertext modulo `2N`, for tables of N coefficients, in multiples of `2^dropped`: each coefficient rounded, the mean of what rounding does taken out of the body, and the body rounded down: of an even number of places
    /// a table has one less above the middle of a message than below.
    ///
    /// # Math
    /// With `a' = a + e` the phase gains `Σ e_i·s_i`. A bit of the secret is 0 or 1, and `e_i/2` is its mean. The body gives up `Σ e_i/2`, so
    /// that `Σ e_i·(s_i − 1/2)` remains: half of the variance. Source: ePrint 2025/809.
    pub(crate) fn turns(&self, context: &Context, dropped: u32) -> Turns {
        let log_turns = context.set().table_degree().trailing_zeros() + 1 - dropped;
        let step = 32 - log_turns;
        let round = |word: u32| word.wrapping_add(1 << (step - 1)) >> step;
        let mask: Vec<u32> = self.mask().iter().map(|word| round(*word)).collect();
        let error = |(word, turn): (&u32, &u32)| i64::from((turn << step).wrapping_sub(*word) as i32);
        let errors: i64 = self.mask().iter().zip(&mask).map(error).sum();
        let body = self.body().wrapping_sub((errors / 2) as u32) >> step;
        Turns { mask: mask.into_iter().map(|turn| turn << dropped).collect(), body: body << dropped }
    }
}

/// A ciphertext modulo `2N`: how far a table is turned.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    pub(crate) mask: Vec<u32>,
    pub(crate) body: u32,
}

#[cfg(test)]
mod tests;
