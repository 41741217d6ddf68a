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

impl Schedule {
    pub(crate) fn new(key: &[u8; 16]) -> Self {
        Self(Aes128::new(key.into()))
    }

    pub(crate) fn fill_uniform(&self, nonce: u64, modulus: Modulus, out: &mut [u64]) {
        let mask = (1 << modulus.bits()) - 1;
        for (counter, pair) in out.chunks_mut(2).enumerate() {
            for (lane, (out, word)) in pair.iter_mut().zip(self.block(nonce, counter as u64)).enumerate() {
                let candidate = word & mask;
                *out = if candidate < modulus.value() {
                    candidate
                } else {
                    retry(modulus, 2 * counter + lane, |retry_counter| self.block(nonce, retry_counter)[0])
                };
            }
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
