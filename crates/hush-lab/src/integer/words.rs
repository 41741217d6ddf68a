// SPDX-License-Identifier: Apache-2.0
//! Linear loops on little-endian words.

use std::cmp::Ordering;

use num_bigint::BigUint;

/// `acc ← acc + x`; returns the carry out of the last word. `x` must not be longer than `acc`.
pub(crate) fn add_assign(acc: &mut [u64], x: &[u64]) -> bool {
    debug_assert!(x.len() <= acc.len());
    let (low, high) = acc.split_at_mut(x.len());
    let mut carry = false;
    for (a, &b) in low.iter_mut().zip(x) {
        (*a, carry) = a.carrying_add(b, carry);
    }
    high.iter_mut().try_for_each(|a| match carry {
        true => {
            (*a, carry) = a.overflowing_add(1);
            Some(())
        }
        false => None,
    });
    carry
}

/// `acc ← acc − x`; returns the borrow out of the last word. `x` must not be longer than `acc`.
pub(crate) fn sub_assign(acc: &mut [u64], x: &[u64]) -> bool {
    debug_assert!(x.len() <= acc.len());
    let (low, high) = acc.split_at_mut(x.len());
    let mut borrow = false;
    for (a, &b) in low.iter_mut().zip(x) {
        (*a, borrow) = a.borrowing_sub(b, borrow);
    }
    high.iter_mut().try_for_each(|a| match borrow {
        true => {
            (*a, borrow) = a.overflowing_sub(1);
            Some(())
        }
        false => None,
    });
    borrow
}

/// `acc ← acc − factor·x`; returns what is missing above the last word. One length.
pub(crate) fn sub_mul_assign(acc: &mut [u64], x: &[u64], factor: u64) -> u64 {
    debug_assert_eq!(acc.len(), x.len());
    let mut carry = 0u64;
    for (a, &b) in acc.iter_mut().zip(x) {
        let product = u128::from(b) * u128::from(factor) + u128::from(carry);
        let (difference, borrow) = a.overflowing_sub(product as u64);
        *a = difference;
        // The product is at most (2^64 − 1)² + 2^64 − 1, so its high word is below 2^64 − 1.
        carry = (product >> 64) as u64 + u64::from(borrow);
    }
    carry
}

/// `acc ← acc + factor·x`; returns the word above. One length.
pub(crate) fn add_mul_assign(acc: &mut [u64], x: &[u64], factor: u64) -> u64 {
    debug_assert_eq!(acc.len(), x.len());
    let mut carry = 0u64;
    for (a, &b) in acc.iter_mut().zip(x) {
        let sum = u128::from(b) * u128::from(factor) + u128::from(*a) + u128::from(carry);
        *a = sum as u64;
        carry = (sum >> 64) as u64;
    }
    carry
}

/// Compares as integers; one length.
pub(crate) fn compare(a: &[u64], b: &[u64]) -> Ordering {
    debug_assert_eq!(a.len(), b.len());
    a.iter().rev().cmp(b.iter().rev())
}

/// The words of an integer, filled up with zeros to `len` or cut off there.
pub(crate) fn from_big(value: &BigUint, len: usize) -> Vec<u64> {
    let mut words = value.to_u64_digits();
    words.resize(len, 0);
    words
}

/// The integer in the words.
pub(crate) fn to_big(words: &[u64]) -> BigUint {
    let halves = words.iter().flat_map(|&word| [word as u32, (word >> 32) as u32]).collect();
    BigUint::new(halves)
}

/// The low `bits` bits, the rest set to zero.
pub(crate) fn mask_assign(words: &mut [u64], bits: u64) {
    let whole = (bits / 64) as usize;
    if whole < words.len() {
        words[whole] &= (1 << (bits % 64)) - 1;
        words[whole + 1..].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn loops_agree_with_big_integers(a in prop::collection::vec(any::<u64>(), 1..8), x in prop::collection::vec(any::<u64>(), 1..8), f: u64) {
            let len = a.len().max(x.len());
            let (mut a, mut x) = (a, x);
            a.resize(len, 0);
            let top = BigUint::from(1u8) << (64 * len);
            let mut sum = a.clone();
            let carry = add_assign(&mut sum, &x);
            prop_assert_eq!(to_big(&sum) + &top * u8::from(carry), to_big(&a) + to_big(&x));
            let borrow = sub_assign(&mut sum, &x);
            prop_assert_eq!((&sum, borrow), (&a, carry));
            x.resize(len, 0);
            prop_assert_eq!(compare(&a, &x), to_big(&a).cmp(&to_big(&x)));
            let mut fused = a.clone();
            let high = add_mul_assign(&mut fused, &x, f);
            prop_assert_eq!(to_big(&fused) + &top * high, to_big(&a) + to_big(&x) * f);
            prop_assert_eq!(sub_mul_assign(&mut fused, &x, f), high);
            prop_assert_eq!(&fused, &a);
            prop_assert_eq!(from_big(&to_big(&a), len), a);
        }

        #[test]
        fn masks_keep_the_low_bits(a in prop::collection::vec(any::<u64>(), 1..8), bits in 0u64..600) {
            let mut masked = a.clone();
            mask_assign(&mut masked, bits);
            prop_assert_eq!(to_big(&masked), to_big(&a) % (BigUint::from(1u8) << bits));
        }
    }
}
