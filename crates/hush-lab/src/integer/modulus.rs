// SPDX-License-Identifier: Apache-2.0
//! Arithmetic modulo one long odd integer.

use std::cmp::Ordering;

use hush_kernels::Cpu;
use num_bigint::BigUint;

use super::{
    IntegerError, digits,
    reciprocal::reciprocal,
    transform::{Spectrum, Transform},
    words,
};

/// An odd integer `x` of `γ` bits with what its products need.
///
/// # Layout
/// Residues have `K = ⌊γ/64⌋ + 1` words. With digits of `b` bits: one transform of length `L`, `b·L ≥ 2γ + 512`, for
/// products, one of `L/2` for products modulo `F = 2^(b·L/2) + 1`.
///
/// # Memory
/// 16·L bytes for `⌊2^(128K)/x⌋`, 8·L for `x`, and `48·L` for the tables if `L > 2^17`: 0.2 MB for 147 456 bits, 1.6 MB
/// for 843 033, 19 MB for 4 251 866, 151 MB for 19 575 950 bits, next to kernel tables of a few MB.
#[derive(Debug, Clone)]
pub(crate) struct LongModulus {
    value: Vec<u64>,
    bits: u64,
    digit_bits: u32,
    full: Transform,
    half: Transform,
    /// Of `⌊2^(128K)/x⌋`, in the full ring.
    inverse: Spectrum,
    /// Of `x`, in the half ring.
    value_spectrum: Spectrum,
    /// `⌊x/2^(γ−64)⌋`, which has its top bit set.
    top: u64,
}

/// Fewest bits of a modulus.
const MIN_BITS: u64 = 256;

impl LongModulus {
    /// # Cost
    /// About fifteen products of this length.
    ///
    /// # Errors
    /// [`IntegerError::ModulusUnfit`] if even or short, [`IntegerError::TooLong`] from some 42 million bits on.
    pub(crate) fn new(value: &BigUint, cpu: Cpu) -> Result<Self, IntegerError> {
        let bits = value.bits();
        if bits < MIN_BITS || !value.bit(0) {
            return Err(IntegerError::ModulusUnfit { found: bits, min: MIN_BITS });
        }
        let word_count = (bits / 64 + 1) as usize;
        let (len, digit_bits) = Transform::shape(2 * bits + 512)?;
        let (full, half) = (Transform::new(len, cpu)?, Transform::new(len / 2, cpu)?);
        // 2^(2(γ+j))/(x·2^j) = 2^(2γ+j)/x, and 2γ + j is to be 128·K.
        let inverse = reciprocal(&(value << (128 * word_count as u64 - 2 * bits)), cpu)?;
        let spectrum =
            |ring: &Transform, x: &BigUint| ring.forward(&digits::split(&x.to_u64_digits(), digit_bits));
        Ok(Self {
            value: words::from_big(value, word_count),
            bits,
            digit_bits,
            inverse: spectrum(&full, &inverse),
            value_spectrum: spectrum(&half, value),
            top: words::from_big(&(value >> (bits - 64)), 1)[0],
            full,
            half,
        })
    }

    /// `K`.
    pub(crate) fn word_count(&self) -> usize {
        self.value.len()
    }

    /// The modulus itself, `K` words.
    pub(crate) fn value(&self) -> &[u64] {
        &self.value
    }

    /// `a·b mod x`.
    ///
    /// # Ranges
    /// In: `K` words, below `2x`. Out: below `x`.
    ///
    /// # Cost
    /// Six transforms of length `L` (those of a half ring count half) and 5·L/2 digits joined.
    pub(crate) fn mul(&self, a: &[u64], b: &[u64]) -> Vec<u64> {
        self.reduce(self.full.mul(&self.spectrum(a), &self.spectrum(b)))
    }

    /// The transform of an integer of `K` words.
    pub(crate) fn spectrum(&self, a: &[u64]) -> Spectrum {
        self.full.forward(&digits::split(a, self.digit_bits))
    }

    /// The product of two spectra.
    pub(crate) fn product(&self, a: &Spectrum, b: &Spectrum) -> Spectrum {
        self.full.mul(a, b)
    }

    /// `acc ← acc + a·b`: at most 15 times for the product of one [`LongModulus::product`].
    pub(crate) fn product_add_assign(&self, acc: &mut Spectrum, a: &Spectrum, b: &Spectrum) {
        self.full.mul_add_assign(acc, a, b);
    }

    /// A sum of products, modulo `x`.
    ///
    /// # Math
    /// Barrett. With `t < 16·x²` and `μ = ⌊2^(128K)/x⌋` the quotient `⌊⌊t/2^(64(K−2))⌋·μ/2^(64(K+2))⌋` falls short of `t/x` by
    /// less than 6: less than 1 for the words of `t` cut off, as `x > 2^(64(K−2))`; less than 4 for the floor in `μ`, as
    /// `t < 2^(128K + 2)`; less than 1 for its own floor. The remainder, below `7x < F`, is computed modulo `F` alone:
    /// `2^(b·L/2) = −1` folds `t`, and half the transform length gives quotient times `x`.
    ///
    /// # Ranges
    /// In: the sum below `16·x²`. Out: `K` words, below `x`.
    pub(crate) fn reduce(&self, products: Spectrum) -> Vec<u64> {
        self.reduce_words(digits::join(&self.full, &self.full.inverse(products), self.digit_bits).0)
    }

    /// As [`LongModulus::reduce`], for the words of any integer below `16·x²`.
    pub(crate) fn reduce_words(&self, mut t: Vec<u64>) -> Vec<u64> {
        let word_count = self.word_count();
        t.resize(self.full.len() * self.digit_bits as usize / 64, 0);
        let mut estimate = self
            .full
            .forward(&digits::split(&t[word_count - 2..t.len().min(2 * word_count + 2)], self.digit_bits));
        self.full.mul_assign(&mut estimate, &self.inverse);
        let (estimate, _) = digits::join(&self.full, &self.full.inverse(estimate), self.digit_bits);
        let quotient = &estimate[word_count + 2..estimate.len().min(2 * word_count + 3)];
        let mut multiple = self.half.forward(&digits::split(quotient, self.digit_bits));
        self.half.mul_assign(&mut multiple, &self.value_spectrum);
        let (multiple, carry) = digits::join(&self.half, &self.half.inverse(multiple), self.digit_bits);
        let mut rest = fold(t, &multiple, carry);
        debug_assert!(rest[word_count..].iter().all(|&word| word == 0));
        rest.truncate(word_count);
        self.normalize(&mut rest);
        rest
    }

    /// `acc ← acc mod x`, for any `K` words.
    ///
    /// # Cost
    /// A pass or two over the words.
    pub(crate) fn normalize(&self, acc: &mut [u64]) {
        let (word, shift) = (((self.bits - 64) / 64) as usize, (self.bits % 64) as u32);
        loop {
            // ⌊acc/2^(γ−64)⌋ < 2^128: acc has K words, and γ − 64 is at least 64(K − 2).
            let at = |index: usize| acc.get(index).copied().map_or(0, u128::from);
            let low = at(word) | at(word + 1) << 64;
            let high = if shift == 0 { low } else { low >> shift | at(word + 2) << (128 - shift) };
            let factor = (high / (u128::from(self.top) + 1)).min(u128::from(u64::MAX)) as u64;
            if factor == 0 {
                break;
            }
            words::sub_mul_assign(acc, &self.value, factor);
        }
        while words::compare(acc, &self.value) != Ordering::Less {
            words::sub_assign(acc, &self.value);
        }
    }

    /// `a + b mod x`, for residues below `x`.
    pub(crate) fn add(&self, a: &[u64], b: &[u64]) -> Vec<u64> {
        let mut sum = a.to_vec();
        words::add_assign(&mut sum, b);
        if words::compare(&sum, &self.value) != Ordering::Less {
            words::sub_assign(&mut sum, &self.value);
        }
        sum
    }

    /// `⌊a·b/2^(64·from)⌋ mod 2^64`, exactly, for `K` words each: the slow way for a single word of a product.
    pub(crate) fn product_word(&self, a: &[u64], b: &[u64], from: usize) -> u64 {
        let product = self.full.mul(&self.spectrum(a), &self.spectrum(b));
        let (words, _) = digits::join(&self.full, &self.full.inverse(product), self.digit_bits);
        words.get(from).copied().unwrap_or(0)
    }
}

/// `t − multiple − carry·2^m mod 2^m + 1` where `multiple` has `m` bits and `t` at most twice as many. The result must be
/// known not to be `2^m`.
fn fold(t: Vec<u64>, multiple: &[u64], carry: i128) -> Vec<u64> {
    let mut low = t;
    let high = low.split_off(multiple.len());
    // What stands at 2^m, as 2^m = −1 counts the other way round at 1.
    let mut units = carry;
    units += i128::from(words::sub_assign(&mut low, &high));
    units += i128::from(words::sub_assign(&mut low, multiple));
    while units != 0 {
        let size = [units.unsigned_abs() as u64, (units.unsigned_abs() >> 64) as u64];
        let over = match units > 0 {
            true => -i128::from(words::add_assign(&mut low, &size)),
            false => i128::from(words::sub_assign(&mut low, &size)),
        };
        units = over;
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn odd(words: Vec<u64>, bits: u64) -> BigUint {
        let mut value = words::to_big(&words) % (BigUint::from(1u8) << bits);
        value.set_bit(0, true);
        value.set_bit(bits - 1, true);
        value
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn residues_agree_with_num_bigint(
            seed in prop::collection::vec(any::<u64>(), 80),
            bits in prop::sample::select(vec![256u64, 257, 319, 320, 321, 1000, 4095, 4096, 4097]),
            a in prop::collection::vec(any::<u64>(), 80),
            b in prop::collection::vec(any::<u64>(), 80),
        ) {
            let cpu = Cpu::detect().unwrap();
            let x = odd(seed, bits);
            let modulus = LongModulus::new(&x, cpu).unwrap();
            let count = modulus.word_count();
            let (mut a, mut b) = (a[..count].to_vec(), b[..count].to_vec());
            let (big_a, big_b) = (words::to_big(&a) % &x, words::to_big(&b) % &x);
            modulus.normalize(&mut a);
            modulus.normalize(&mut b);
            prop_assert_eq!(words::to_big(&a), big_a.clone());
            prop_assert_eq!(words::to_big(&modulus.add(&a, &b)), (&big_a + &big_b) % &x);
            prop_assert_eq!(words::to_big(&modulus.mul(&a, &b)), &big_a * &big_b % &x);
            let from = count / 2;
            let word = words::from_big(&(&big_a * &big_b >> (64 * from)), 1)[0];
            prop_assert_eq!(modulus.product_word(&a, &b, from), word);
        }
    }

    /// The largest sum of products that is allowed, near the modulus, and moduli next to powers of two.
    #[test]
    fn extreme_products_are_reduced() {
        let cpu = Cpu::detect().unwrap();
        for bits in [256u64, 300, 447, 448, 449, 20_000, 300_000] {
            let power = BigUint::from(1u8) << (bits - 1);
            for x in [&power + 1u8, (&power << 1) - 1u8] {
                let modulus = LongModulus::new(&x, cpu).unwrap();
                for back in [1u8, 2, 77] {
                    let big = &x - back;
                    let spectrum = modulus.spectrum(&words::from_big(&big, modulus.word_count()));
                    let mut sum = modulus.product(&spectrum, &spectrum);
                    for _ in 1..15 {
                        modulus.product_add_assign(&mut sum, &spectrum, &spectrum);
                    }
                    assert_eq!(words::to_big(&modulus.reduce(sum)), &big * &big * 15u8 % &x, "{bits} {back}");
                }
            }
        }
    }

    /// Rings of several blocks.
    #[test]
    fn long_residues_agree_with_num_bigint() {
        let cpu = Cpu::detect().unwrap();
        let words: Vec<u64> = (1..40_000u64).map(|i| (i * i).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let x = odd(words.clone(), 2_400_000);
        let modulus = LongModulus::new(&x, cpu).unwrap();
        let a = &words[100..100 + modulus.word_count() - 1];
        let mut padded = a.to_vec();
        padded.push(0);
        modulus.normalize(&mut padded);
        let big = words::to_big(&padded);
        let square = modulus.mul(&padded, &padded);
        assert!(words::to_big(&square) == &big * &big % &x);
    }

    #[test]
    fn even_and_short_moduli_are_refused() {
        let power = BigUint::from(1u8) << 300u32;
        assert!(LongModulus::new(&power, Cpu::scalar()).is_err());
        assert!(LongModulus::new(&BigUint::from(77u8), Cpu::scalar()).is_err());
    }
}
