// SPDX-License-Identifier: Apache-2.0
//! Encryption with the public key.

use num_bigint::{BigInt, Sign};

use super::{Cnt12Error, InsecureCnt12Ciphertext, InsecureCnt12PublicKey, InsecureCnt12Random, keys};
use crate::integer::{
    sums::{LongSums, SumShape},
    words,
};

impl InsecureCnt12PublicKey {
    /// Encrypts bits: `[m + 2r + Σ b_i·x_i]` modulo `x_0` with random `b_i < 2^α` and `|r| < 2^ρ'` for each.
    ///
    /// # Noise
    /// [`super::InsecureCnt12Parameters::fresh_noise_bits`]: too much for a product, so refresh first.
    ///
    /// # Cost
    /// One pass over the `τ·γ` bits of the public key, expanded and transformed piece by piece, for all bits together; for each bit
    /// besides `τ·α` random bits and `2·τ·γ/37` multiplications modulo a word.
    ///
    /// # Memory
    /// 32 bytes for each 37 bits of `γ`, and `τ·α/8` bytes, for each bit: 4.3 MB in the medium set, 20 MB in the large one.
    ///
    /// # Errors
    /// [`Cnt12Error::Integer`].
    ///
    /// # References
    /// eprint 2011/440, section 3. Here `x_i = p·q_i + 2r_i`, so the sum needs no doubling; `r` does (`keys::signed_noise`).
    pub fn encrypt(
        &self,
        bits: &[bool],
        random: &mut InsecureCnt12Random,
    ) -> Result<Vec<InsecureCnt12Ciphertext>, Cnt12Error> {
        let l = self.parameters.literal();
        let shape = SumShape { long_bits: l.ciphertext_bits, short_bits: l.factor_bits, count: l.zero_count };
        let factors: Vec<Vec<Vec<u64>>> =
            bits.iter().map(|_| (0..l.zero_count).map(|_| random.bits(l.factor_bits)).collect()).collect();
        let sums = LongSums::new(shape, self.cpu)?
            .sums(&factors, |index, first, bytes| self.masks.fill(index as u64, first, bytes));
        let finish = |((&bit, factors), sum): ((&bool, &Vec<Vec<u64>>), Vec<u64>)| {
            let noise = keys::signed_noise(self.parameters.encryption_noise_bits(), bit, random);
            InsecureCnt12Ciphertext { words: self.finish(sum, factors, noise) }
        };
        Ok(bits.iter().zip(&factors).zip(sums).map(finish).collect())
    }

    /// Adds `Σ b_i·δ_i` and the noise, and reduces.
    fn finish(&self, mut sum: Vec<u64>, factors: &[Vec<u64>], noise: BigInt) -> Vec<u64> {
        let corrections: num_bigint::BigUint =
            factors.iter().zip(&self.zeros).map(|(b, d)| words::to_big(b) * words::to_big(d)).sum();
        let small = BigInt::from(corrections) + noise;
        if small.sign() == Sign::Minus {
            // |small| < 2^η < x_0.
            words::add_assign(&mut sum, self.modulus.value());
            words::sub_assign(&mut sum, &small.magnitude().to_u64_digits());
        } else {
            words::add_assign(&mut sum, &small.magnitude().to_u64_digits());
        }
        self.modulus.reduce_words(&sum)
    }
}
