// SPDX-License-Identifier: Apache-2.0
//! Words to digits and back.

use super::transform::Transform;

/// The widest digit that is canonical for both primes.
pub(crate) const MAX_DIGIT_BITS: u32 = 46;

/// The digits of `bits` bits each, lowest first, until the words end.
///
/// # Ranges
/// `1 ≤ bits ≤` [`MAX_DIGIT_BITS`].
pub(crate) fn split(words: &[u64], bits: u32) -> Vec<u64> {
    let count = (64 * words.len()).div_ceil(bits as usize);
    let mut digits = vec![0; count];
    split_into(words, bits, &mut digits);
    digits
}

/// As [`split`], into a slice: as many digits as it has, zeros after the end of the words.
pub(crate) fn split_into(words: &[u64], bits: u32, digits: &mut [u64]) {
    let mask = (1u64 << bits) - 1;
    let (mut source, mut window, mut held) = (words.iter(), 0u64, 0u32);
    for digit in digits {
        if held >= bits {
            *digit = window & mask;
            window >>= bits;
            held -= bits;
        } else {
            let word = source.next().copied().unwrap_or(0);
            *digit = (window | word << held) & mask;
            // held < bits < 64, so both shifts are in range.
            window = word >> (bits - held);
            held += 64 - bits;
        }
    }
}

/// Whether coefficients can be negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// They are in `[0, q_0·q_1)`.
    None,
    /// Those above half of `q_0·q_1` are negative.
    Signed,
}

/// `Σ_k c_k·2^(bits·k)` over the coefficients of [`Transform::inverse`]. Sets `words` to the low `⌊bits·len/64⌋` words and returns
/// what remains above `2^(bits·len)`.
///
/// # Ranges
/// `|c_k| < q_0·q_1/2 − q_0` if signed; `bits·len` a multiple of 64.
///
/// # Cost
/// One word product and a few additions a coefficient.
pub(crate) fn join(
    transform: &Transform,
    pair: [&[u64]; 2],
    bits: u32,
    sign: Sign,
    words: &mut Vec<u64>,
) -> i128 {
    words.clear();
    match sign {
        Sign::None => join_as::<false>(transform, pair, bits, words),
        Sign::Signed => join_as::<true>(transform, pair, bits, words),
    }
}

fn join_as<const SIGNED: bool>(
    transform: &Transform,
    [first, second]: [&[u64]; 2],
    bits: u32,
    words: &mut Vec<u64>,
) -> i128 {
    let [q0, q1] = transform.moduli().map(|modulus| u128::from(modulus.value()));
    // Both primes are below 2^47, so casts between signed and unsigned change nothing here.
    let (product, half) = ((q0 * q1) as i128, (q1 / 2) as u64);
    let mask = (1u64 << bits) - 1;
    let (mut carry, mut window, mut held) = (0i128, 0u64, 0u32);
    for (&r, &h) in first.iter().zip(second) {
        let magnitude = (u128::from(h) * q0 + u128::from(r)) as i128;
        // Sums stay below 2^94 + 2^94: no overflow.
        carry = carry.wrapping_add(magnitude);
        if SIGNED && h > half {
            carry = carry.wrapping_sub(product);
        }
        let digit = carry as u64 & mask;
        carry >>= bits;
        window |= digit << held;
        held += bits;
        if held >= 64 {
            words.push(window);
            held -= 64;
            // held < bits now, so the shift is in range.
            window = digit >> (bits - held);
        }
    }
    debug_assert_eq!(held, 0);
    carry
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integer::words::to_big;
    use hush_kernels::Cpu;
    use num_bigint::{BigInt, BigUint};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digits_make_the_integer(words in prop::collection::vec(any::<u64>(), 0..20), bits in 1u32..=MAX_DIGIT_BITS) {
            let digits = split(&words, bits);
            let sum: BigUint = digits.iter().enumerate().map(|(k, &d)| BigUint::from(d) << (k * bits as usize)).sum();
            prop_assert_eq!(sum, to_big(&words));
            let mut longer = vec![7; digits.len() + 3];
            split_into(&words, bits, &mut longer);
            prop_assert_eq!(&longer[..digits.len()], &digits[..]);
            prop_assert!(longer[digits.len()..].iter().all(|&d| d == 0));
        }

        #[test]
        fn signed_coefficients_make_the_integer(
            values in prop::collection::vec(-(1i128 << 91)..1i128 << 91, 64),
            bits in 1u32..=MAX_DIGIT_BITS,
        ) {
            let transform = Transform::new(64, Cpu::scalar()).unwrap();
            let [q0, q1] = transform.moduli().map(|q| i128::from(q.value()));
            let canonical = values.iter().map(|v| v.rem_euclid(q0 * q1));
            let (first, second): (Vec<u64>, Vec<u64>) = canonical.map(|v| ((v % q0) as u64, (v / q0) as u64)).unzip();
            let mut words = vec![1, 2, 3];
            let carry = join(&transform, [&first, &second], bits, Sign::Signed, &mut words);
            let sum: BigInt = values.iter().enumerate().map(|(k, &v)| BigInt::from(v) << (k * bits as usize)).sum();
            prop_assert_eq!(BigInt::from(to_big(&words)) + (BigInt::from(carry) << (64 * words.len())), sum);
        }
    }
}
