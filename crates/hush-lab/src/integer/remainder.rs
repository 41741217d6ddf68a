// SPDX-License-Identifier: Apache-2.0
//! Long integers modulo a short one.

use num_bigint::BigUint;
use num_traits::One;

use super::words;

/// An integer `p` of `w` words and the powers of `2^(64w)` modulo it.
///
/// # Memory
/// As long as the longest integer.
#[derive(Clone)]
pub(crate) struct ShortModulus {
    value: BigUint,
    /// `2^(64·w·j) mod p`, `w` words each.
    powers: Vec<u64>,
    width: usize,
}

impl ShortModulus {
    /// For integers of up to `word_count` words. `value` must not be zero.
    pub(crate) fn new(value: BigUint, word_count: usize) -> Self {
        let width = (value.bits().div_ceil(64) as usize).max(1);
        let base = (BigUint::one() << (64 * width)) % &value;
        let mut power = BigUint::one() % &value;
        let mut powers = Vec::with_capacity(word_count + width);
        for _ in 0..word_count.div_ceil(width) {
            powers.extend(words::from_big(&power, width));
            power = power * &base % &value;
        }
        Self { value, powers, width }
    }

    /// The short integer.
    pub(crate) fn value(&self) -> &BigUint {
        &self.value
    }

    /// `x mod p`.
    ///
    /// # Math
    /// `Σ_j x_j·(2^(64wj) mod p)` over pieces `x_j` of `w` words has `2w` words and a little more; one division ends it.
    ///
    /// # Cost
    /// `w` word products for each word of `x`.
    pub(crate) fn remainder(&self, x: &[u64]) -> BigUint {
        debug_assert!(x.len() <= self.powers.len());
        let mut sum = vec![0; 2 * self.width + 1];
        for (piece, power) in x.chunks(self.width).zip(self.powers.chunks_exact(self.width)) {
            for (at, &word) in piece.iter().enumerate() {
                let (low, high) = sum[at..].split_at_mut(self.width);
                let carry = words::add_mul_assign(low, power, word);
                words::add_assign(high, &[carry]);
            }
        }
        words::to_big(&sum) % &self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn remainders_agree_with_num_bigint(
            p in prop::collection::vec(any::<u64>(), 1..5),
            x in prop::collection::vec(any::<u64>(), 0..64),
        ) {
            let p = words::to_big(&p) + 1u8;
            prop_assert_eq!(ShortModulus::new(p.clone(), 64).remainder(&x), words::to_big(&x) % p);
        }
    }
}
