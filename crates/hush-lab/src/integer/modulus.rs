// SPDX-License-Identifier: Apache-2.0
//! Arithmetic modulo one long odd integer.

use std::{cmp::Ordering, sync::Mutex};

use hush_kernels::Cpu;
use num_bigint::BigUint;

use super::{
    IntegerError,
    digits::{self, Sign},
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
#[derive(Debug)]
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
    /// Buffers of products that are over, one for each thread that had one.
    buffers: Mutex<Vec<Buffers>>,
}

/// Memory of a product besides its operands: six times `16·L` bytes or so, allocated once.
#[derive(Debug)]
struct Buffers {
    digits: Vec<u64>,
    /// Operands in the full ring.
    left: Spectrum,
    right: Spectrum,
    sum: Spectrum,
    /// In the half ring.
    multiple: Spectrum,
    /// The sum of products, then the remainder.
    words: Vec<u64>,
    /// The quotient, then its product with the modulus.
    quotient: Vec<u64>,
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
            buffers: Mutex::new(Vec::new()),
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
    /// Six transforms of length `L` (those of a half ring count half) and `2·L` digits joined.
    pub(crate) fn mul(&self, a: &[u64], b: &[u64]) -> Vec<u64> {
        self.sum_of_products(&[(a, b)])
    }

    /// `Σ a·b mod x`, reduced once.
    ///
    /// # Ranges
    /// In: `K` words each, at most [`MAX_PRODUCTS`] pairs, the sum below `16·x²`. Out: `K` words, below `x`.
    pub(crate) fn sum_of_products(&self, pairs: &[(&[u64], &[u64])]) -> Vec<u64> {
        debug_assert!(pairs.len() <= MAX_PRODUCTS);
        self.with_buffers(|buffers| {
            for (index, (a, b)) in pairs.iter().enumerate() {
                self.load(a, &mut buffers.digits, &mut buffers.left);
                self.load(b, &mut buffers.digits, &mut buffers.right);
                match index {
                    0 => self.full.mul_into(&mut buffers.sum, &buffers.left, &buffers.right),
                    _ => self.full.mul_add_assign(&mut buffers.sum, &buffers.left, &buffers.right),
                }
            }
            let pair = self.full.inverse(&mut buffers.sum, 0);
            digits::join(&self.full, pair, self.digit_bits, Sign::None, &mut buffers.words);
            self.reduce(buffers)
        })
    }

    /// The remainder of any integer below `16·x²`.
    pub(crate) fn reduce_words(&self, words: &[u64]) -> Vec<u64> {
        self.with_buffers(|buffers| {
            buffers.words.clear();
            buffers.words.extend_from_slice(words);
            buffers.words.resize(self.full.len() * self.digit_bits as usize / 64, 0);
            self.reduce(buffers)
        })
    }

    /// The words of `buffers` modulo `x`.
    ///
    /// # Math
    /// Barrett. With `t < 16·x²` and `μ = ⌊2^(128K)/x⌋` the quotient `⌊⌊t/2^(64(K−2))⌋·μ/2^(64(K+2))⌋` falls short of `t/x` by
    /// less than 7: less than 1 for the words of `t` cut off, as `x > 2^(64(K−2))`; less than 4 for the floor in `μ`, as
    /// `t < 2^(128K + 2)`; less than 1 for its own floor, less than 1 for the coefficients left out, which end over 92 + 36 bits
    /// below. The remainder, below `8x < F`, is computed modulo `F` alone: `2^(b·L/2) = −1` folds `t`, and half the transform
    /// length gives quotient times `x`.
    fn reduce(&self, buffers: &mut Buffers) -> Vec<u64> {
        let word_count = self.word_count();
        let t = &buffers.words;
        self.load(
            &t[word_count - 2..t.len().min(2 * word_count + 2)],
            &mut buffers.digits,
            &mut buffers.left,
        );
        self.full.mul_assign(&mut buffers.left, &self.inverse);
        // The first coefficient that is joined: at a whole word, and long before the quotient.
        let from = (64 * (word_count as u64 + 2) / u64::from(self.digit_bits)).saturating_sub(GUARD_DIGITS)
            as usize
            / 64
            * 64;
        let pair = self.full.inverse(&mut buffers.left, from);
        digits::join(&self.full, pair, self.digit_bits, Sign::None, &mut buffers.quotient);
        let first = word_count + 2 - from * self.digit_bits as usize / 64;
        let quotient = &buffers.quotient[first..buffers.quotient.len().min(first + word_count + 1)];
        let digits = split(quotient, self.digit_bits, &mut buffers.digits);
        self.half.forward_into(digits, &mut buffers.multiple);
        self.half.mul_assign(&mut buffers.multiple, &self.value_spectrum);
        let pair = self.half.inverse(&mut buffers.multiple, 0);
        let carry = digits::join(&self.half, pair, self.digit_bits, Sign::Signed, &mut buffers.quotient);
        fold(&mut buffers.words, &buffers.quotient, carry);
        debug_assert!(buffers.words[word_count..buffers.quotient.len()].iter().all(|&word| word == 0));
        let mut rest = buffers.words[..word_count].to_vec();
        self.normalize(&mut rest);
        rest
    }

    fn load(&self, a: &[u64], digits: &mut Vec<u64>, out: &mut Spectrum) {
        self.full.forward_into(split(a, self.digit_bits, digits), out);
    }

    fn with_buffers<T>(&self, run: impl FnOnce(&mut Buffers) -> T) -> T {
        let kept = self.buffers.lock().ok().and_then(|mut kept| kept.pop());
        let mut buffers = kept.unwrap_or_else(|| Buffers {
            digits: Vec::new(),
            left: self.full.zero(),
            right: self.full.zero(),
            sum: self.full.zero(),
            multiple: self.half.zero(),
            words: Vec::new(),
            quotient: Vec::new(),
        });
        let result = run(&mut buffers);
        if let Ok(mut kept) = self.buffers.lock() {
            kept.push(buffers);
        }
        result
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
        self.with_buffers(|buffers| {
            self.load(a, &mut buffers.digits, &mut buffers.left);
            self.load(b, &mut buffers.digits, &mut buffers.right);
            self.full.mul_assign(&mut buffers.left, &buffers.right);
            let pair = self.full.inverse(&mut buffers.left, 0);
            digits::join(&self.full, pair, self.digit_bits, Sign::None, &mut buffers.words);
            buffers.words.get(from).copied().unwrap_or(0)
        })
    }
}

impl Clone for LongModulus {
    fn clone(&self) -> Self {
        Self {
            value: self.value.clone(),
            full: self.full.clone(),
            half: self.half.clone(),
            inverse: self.inverse.clone(),
            value_spectrum: self.value_spectrum.clone(),
            buffers: Mutex::new(Vec::new()),
            ..*self
        }
    }
}

/// Splits into a buffer of any length.
fn split<'a>(words: &[u64], bits: u32, digits: &'a mut Vec<u64>) -> &'a [u64] {
    digits.resize((64 * words.len()).div_ceil(bits as usize), 0);
    digits::split_into(words, bits, digits);
    digits
}

/// The low `m = 64·multiple.len()` bits of `t ← t − multiple − carry·2^m mod 2^m + 1`, where `t` has at most `2m` bits. The result
/// must be known not to be `2^m`.
fn fold(t: &mut [u64], multiple: &[u64], carry: i128) {
    let (low, high) = t.split_at_mut(multiple.len());
    // What stands at 2^m, as 2^m = −1 counts the other way round at 1.
    let mut units = carry;
    units += i128::from(words::sub_assign(low, high));
    units += i128::from(words::sub_assign(low, multiple));
    while units != 0 {
        let size = [units.unsigned_abs() as u64, (units.unsigned_abs() >> 64) as u64];
        units = match units > 0 {
            true => -i128::from(words::add_assign(low, &size)),
            false => i128::from(words::sub_assign(low, &size)),
        };
    }
}

/// Products that are reduced together.
pub(crate) const MAX_PRODUCTS: usize = 15;
/// Coefficients below the quotient that still matter to it.
const GUARD_DIGITS: u64 = 128;

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
            let word = words::from_big(&((&big_a * &big_b) >> (64 * from)), 1)[0];
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
                    let a = words::from_big(&big, modulus.word_count());
                    let sum = modulus.sum_of_products(&[(&a[..], &a[..]); MAX_PRODUCTS]);
                    assert_eq!(words::to_big(&sum), &big * &big * MAX_PRODUCTS % &x, "{bits} {back}");
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
