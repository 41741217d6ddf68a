// SPDX-License-Identifier: Apache-2.0
//! AES-CTR by the `aes` crate.

use aes::{
    Aes128,
    cipher::{BlockCipherEncrypt, KeyInit},
};
use hush_arith::Modulus;

use crate::uniform::retry;

#[derive(Clone)]
pub(crate) struct Schedule(Aes128);

/// The candidate in a word, if it is below `q`.
#[inline]
pub(crate) fn accept(modulus: Modulus, word: u64) -> Option<u64> {
    let candidate = word & ((1 << modulus.bits()) - 1);
    (candidate < modulus.value()).then_some(candidate)
}

impl Schedule {
    pub(crate) fn new(key: &[u8; 16]) -> Self {
        Self(Aes128::new(key.into()))
    }

    pub(crate) fn fill_uniform(&self, nonce: u64, modulus: Modulus, out: &mut [u64]) {
        for (counter, pair) in out.chunks_mut(2).enumerate() {
            for (lane, (out, word)) in pair.iter_mut().zip(self.block(nonce, counter as u64)).enumerate() {
                let first_word = |retry_counter| self.block(nonce, retry_counter)[0];
                *out =
                    accept(modulus, word).unwrap_or_else(|| retry(modulus, 2 * counter + lane, first_word));
            }
        }
    }

    pub(crate) fn fill_words(&self, counter: u64, nonce: u64, out: &mut [u64]) {
        for (place, pair) in out.chunks_mut(2).enumerate() {
            let words = self.block(nonce, counter.wrapping_add(place as u64));
            pair.copy_from_slice(&words[..pair.len()]);
        }
    }

    /// The two words of `B(counter)`.
    fn block(&self, nonce: u64, counter: u64) -> [u64; 2] {
        let mut block = (u128::from(counter) << 64 | u128::from(nonce)).to_le_bytes().into();
        self.0.encrypt_block(&mut block);
        let words = u128::from_le_bytes(block.into());
        [words as u64, (words >> 64) as u64]
    }
}
