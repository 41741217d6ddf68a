// SPDX-License-Identifier: Apache-2.0
//! `⌊2^k/d⌋` for long divisors, and plain long products.

use hush_kernels::Cpu;
use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{One, Zero};

use super::{IntegerError, digits, transform::Transform, words};

/// Words from which on a product goes through a transform; below, num-bigint is as fast.
const TRANSFORM_WORDS: u64 = 256;
/// Bits of a divisor up to which num-bigint divides.
const DIRECT_BITS: u64 = 8192;

/// `a·b`.
///
/// # Cost
/// Tables for the transform are computed anew, which takes as long as a few products.
///
/// # Errors
/// [`IntegerError::TooLong`].
pub(crate) fn product(a: &BigUint, b: &BigUint, cpu: Cpu) -> Result<BigUint, IntegerError> {
    if a.bits().min(b.bits()) <= 64 * TRANSFORM_WORDS {
        return Ok(a * b);
    }
    // A word more on each side makes room for the last digits.
    let (len, bits) = Transform::shape(a.bits() + b.bits() + 128)?;
    let transform = Transform::new(len, cpu)?;
    let spectrum = |x: &BigUint| transform.forward(&digits::split(&x.to_u64_digits(), bits));
    let mut product = spectrum(a);
    transform.mul_assign(&mut product, &spectrum(b));
    let mut words = Vec::new();
    let pair = transform.inverse(&mut product, 0);
    digits::join(&transform, pair, bits, digits::Sign::None, &mut words);
    Ok(words::to_big(&words))
}

/// `⌊2^(2n)/d⌋` for `n = d.bits()`; zero for `d = 0`.
///
/// # Math
/// Newton: from `x ≈ 2^(2n)/d`, `x + x·(2^(2n) − d·x)/2^(2n)` has the relative error squared. The start is the same for the
/// upper half of `d` and four bits more, so the error is a few units, which the remainder corrects.
///
/// # Errors
/// [`IntegerError::TooLong`].
pub(crate) fn reciprocal(d: &BigUint, cpu: Cpu) -> Result<BigUint, IntegerError> {
    let n = d.bits();
    if d.is_zero() {
        return Ok(BigUint::zero());
    }
    let one = BigUint::one() << (2 * n);
    if n <= DIRECT_BITS {
        return Ok(one / d);
    }
    let half = n / 2 + 4;
    let start = reciprocal(&(d >> (n - half)), cpu)? << (n - half);
    let one = BigInt::from(one);
    let rest = &one - BigInt::from(product(d, &start, cpu)?);
    let step = BigInt::from_biguint(rest.sign(), product(&start, rest.magnitude(), cpu)?) >> (2 * n);
    let divisor = BigInt::from(d.clone());
    let mut quotient = BigInt::from(start) + step;
    let mut rest = one - BigInt::from(product(d, quotient.magnitude(), cpu)?);
    while rest.sign() == Sign::Minus {
        rest += &divisor;
        quotient -= 1;
    }
    while rest >= divisor {
        rest -= &divisor;
        quotient += 1;
    }
    Ok(quotient.magnitude().clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn big() -> impl Strategy<Value = BigUint> {
        prop::collection::vec(any::<u32>(), 0..3000).prop_map(BigUint::new)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn products_agree_with_num_bigint(a in big(), b in big()) {
            let cpu = Cpu::detect().unwrap();
            prop_assert_eq!(product(&a, &b, cpu).unwrap(), &a * &b);
        }

        #[test]
        fn reciprocals_agree_with_num_bigint(d in big()) {
            let cpu = Cpu::detect().unwrap();
            let expected = if d.is_zero() { BigUint::zero() } else { (BigUint::one() << (2 * d.bits())) / &d };
            prop_assert_eq!(reciprocal(&d, cpu).unwrap(), expected);
        }
    }

    #[test]
    fn powers_of_two_and_their_neighbours() {
        let cpu = Cpu::detect().unwrap();
        for bits in [1u32, 2, 8192, 8193, 20_000, 70_001] {
            let power = BigUint::one() << bits;
            for d in [&power - 1u8, power.clone(), &power + 1u8] {
                assert_eq!(reciprocal(&d, cpu).unwrap(), (BigUint::one() << (2 * d.bits())) / &d, "{bits}");
            }
        }
    }
}
