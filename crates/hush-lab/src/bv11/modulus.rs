// SPDX-License-Identifier: Apache-2.0
//! Residues modulo an odd number of at most 60 bits.

use crate::LabError;

/// The longest modulus, in bits: sixteen residues add up in 64 bits, and 128 products in 128.
pub const MAX_MODULUS_BITS: u32 = 60;

/// An odd number in `[3, 2^60)`. Residues are `u64` in `[0, q)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OddModulus(u64);

impl OddModulus {
    /// Checks a modulus.
    ///
    /// # Errors
    /// [`LabError::Parameter`] if it is even: samples `⟨a,s⟩ + 2e` could be reduced modulo 2, where the errors vanish, and linear
    /// algebra would find the key's parities, which are all that reading a bit takes. Also if it is too small or too large.
    pub fn new(q: u64) -> Result<Self, LabError> {
        let refuse = |expected| Err(LabError::Parameter { name: "q", found: q.to_string(), expected });
        if q.is_multiple_of(2) {
            return refuse(
                "odd: modulo 2, which divides an even q, the errors 2e vanish and linear algebra finds the key",
            );
        }
        if !(3..1 << MAX_MODULUS_BITS).contains(&q) {
            return refuse("between 3 and 2^60");
        }
        Ok(Self(q))
    }

    /// The number.
    pub fn value(self) -> u64 {
        self.0
    }

    /// Binary digits of a residue: `⌊log2 q⌋ + 1`.
    pub fn bits(self) -> u32 {
        64 - self.0.leading_zeros()
    }

    /// log2 of it.
    pub fn log2(self) -> f64 {
        (self.0 as f64).log2()
    }

    pub(crate) fn add(self, a: u64, b: u64) -> u64 {
        debug_assert!(a < self.0 && b < self.0);
        let sum = a + b;
        if sum >= self.0 { sum - self.0 } else { sum }
    }

    pub(crate) fn sub(self, a: u64, b: u64) -> u64 {
        self.add(a, self.neg(b))
    }

    pub(crate) fn neg(self, a: u64) -> u64 {
        if a == 0 { 0 } else { self.0 - a }
    }

    pub(crate) fn mul(self, a: u64, b: u64) -> u64 {
        debug_assert!(a < self.0 && b < self.0);
        if self.0 >> 32 == 0 { a * b % self.0 } else { self.reduce(u128::from(a) * u128::from(b)) }
    }

    /// `a/2`, that is `a·(q+1)/2`.
    pub(crate) fn halve(self, a: u64) -> u64 {
        if a.is_multiple_of(2) { a / 2 } else { (a + self.0) / 2 }
    }

    /// Of a signed integer.
    pub(crate) fn signed(self, a: i64) -> u64 {
        // Below 2^60, so it fits.
        a.rem_euclid(self.0 as i64) as u64
    }

    pub(crate) fn reduce(self, a: u128) -> u64 {
        (a % u128::from(self.0)) as u64
    }

    /// The representative in `(−q/2, q/2)`.
    pub(crate) fn centred(self, a: u64) -> i64 {
        debug_assert!(a < self.0);
        if a > self.0 / 2 { a as i64 - self.0 as i64 } else { a as i64 }
    }

    /// `⌊x·to/self⌉ mod to`, for a residue `x`.
    pub(crate) fn scale(self, x: u64, to: Self) -> u64 {
        let twice = 2 * u128::from(x) * u128::from(to.0) + u128::from(self.0);
        to.reduce(twice / (2 * u128::from(self.0)))
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn residues_agree_with_big_integers(q in 1_u64..1 << 59, to in 1_u64..1 << 59, x in any::<u64>(), y in any::<u64>()) {
            let (modulus, to) = (OddModulus(2 * q + 1), OddModulus(2 * to + 1));
            let q = modulus.0;
            let (x, y) = (x % q, y % q);
            let big = |value: u64| BigUint::from(value);
            prop_assert_eq!(big(modulus.mul(x, y)), big(x) * big(y) % big(q));
            prop_assert_eq!(big(modulus.add(x, y)), (big(x) + big(y)) % big(q));
            prop_assert_eq!(modulus.add(modulus.sub(x, y), y), x);
            prop_assert_eq!(modulus.mul(modulus.halve(x), 2), x);
            prop_assert_eq!(modulus.signed(modulus.centred(x)), x);
            let rounded = (big(2) * big(x) * big(to.0) + big(q)) / (big(2) * big(q)) % big(to.0);
            prop_assert_eq!(big(modulus.scale(x, to)), rounded);
        }
    }

    #[test]
    fn even_small_and_large_moduli_are_refused() {
        for q in [0, 1, 2, 1 << 20, (1 << 60) + 1, u64::MAX] {
            assert!(matches!(OddModulus::new(q), Err(LabError::Parameter { name: "q", .. })), "{q}");
        }
        assert!(OddModulus::new(3).is_ok() && OddModulus::new((1 << 60) - 1).is_ok());
    }
}
