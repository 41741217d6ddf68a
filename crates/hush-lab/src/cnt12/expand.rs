// SPDX-License-Identifier: Apache-2.0
//! Expand: the part of decryption that needs no secret.

use super::InsecureCnt12PublicKey;

/// Bytes of a `y_i` that are there at a time.
const CHUNK_BYTES: usize = 1 << 14;

impl InsecureCnt12PublicKey {
    /// `z_i`: `c·y_i/2^κ mod 2`, rounded to `n` fractional bits, as an integer below `2^(n+1)`; for all `i < Θ`.
    ///
    /// # Math
    /// The product modulo `2^(κ+1) = 2^(64K)` is wanted to its `n + 2` highest bits. With `W = Σ_k c_(K−2−k)·y_k +
    /// 2^64·Σ_k c_(K−1−k)·y_k` modulo `2^128`, the column sums of the two highest words, the highest word of the product is the high
    /// word of `W` and a carry from all columns below, whose sum is under `(K + 1)·2^(64(K−1))`: at most `K + 1` more. The
    /// few `z_i` that such a carry might change are computed from the full product. So the result is exact.
    ///
    /// # Cost
    /// `2K` word products and `8K` bytes of AES for each `i`: two linear passes where the whole product takes a transform.
    ///
    /// # Memory
    /// 16 kB; only a full product ever holds a whole `y_i`.
    ///
    /// # References
    /// eprint 2011/440, section 4. `c` must be reduced modulo `x_0`, or `κ` is too small for it: ciphertexts always are.
    pub(crate) fn expand(&self, c: &[u64]) -> Vec<u32> {
        let l = self.parameters.literal();
        let word_count = c.len();
        let reversed: Vec<u64> = c.iter().rev().copied().chain([0]).collect();
        let mut bytes = vec![0; CHUNK_BYTES];
        let top_words = (0..l.secret_bits).map(|index| match index {
            0 => columns(&self.first_multiple, &reversed),
            _ => (0..(8 * word_count).div_ceil(CHUNK_BYTES)).fold(0, |sum: u128, chunk| {
                let first = chunk * CHUNK_BYTES;
                let bytes = &mut bytes[..CHUNK_BYTES.min(8 * word_count - first)];
                self.multiples.fill(index as u64, first as u64, bytes);
                let words = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
                sum.wrapping_add(partial(words, &reversed[first / 8..]))
            }),
        });
        let shift = 62 - l.precision;
        top_words
            .enumerate()
            .map(|(index, sum)| {
                let top = (sum >> 64) as u64;
                // Equal before and after the largest carry, the bits are right; a carry out of the word counts as different.
                let sure =
                    top.checked_add(word_count as u64 + 1).is_some_and(|most| most >> shift == top >> shift);
                let top = if sure { top } else { self.exact_top(c, index) };
                ((top >> shift) as u32).div_ceil(2) & ((2 << l.precision) - 1)
            })
            .collect()
    }

    /// The highest word of `c·y_i` modulo `2^(64K)`, from the full product.
    pub(crate) fn exact_top(&self, c: &[u64], index: usize) -> u64 {
        let mut multiple = self.first_multiple.clone();
        if index > 0 {
            self.multiples.fill_words(index as u64, 64 * c.len() as u64, &mut multiple);
        }
        self.modulus.product_word(c, &multiple, c.len() - 1)
    }
}

fn columns(words: &[u64], reversed: &[u64]) -> u128 {
    partial(words.iter().copied(), reversed)
}

/// `Σ_k y_k·reversed[k + 1] + 2^64·Σ_k y_k·reversed[k]` modulo `2^128`.
fn partial(words: impl ExactSizeIterator<Item = u64>, reversed: &[u64]) -> u128 {
    let (mut sum, mut high) = (0u128, 0u64);
    for (y, pair) in words.zip(reversed.array_windows::<2>()) {
        high = high.wrapping_add(y.wrapping_mul(pair[0]));
        sum = sum.wrapping_add(u128::from(y) * u128::from(pair[1]));
    }
    sum.wrapping_add(u128::from(high) << 64)
}
