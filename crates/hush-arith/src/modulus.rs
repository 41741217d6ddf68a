// SPDX-License-Identifier: Apache-2.0
//! One prime modulus with the reciprocal that makes its reductions free of divisions.

use crate::{ArithError, prime::is_prime};

/// The largest modulus allowed, `⌊2^52/33⌋`.
///
/// A forward NTT of degree `2^16` has 16 layers; a lazy layer raises the range by `2q`, so canonical input ends
/// below `(2·16 + 1)·q = 33·q ≤ 2^52` and the 52-bit multipliers never overflow.
pub const MAX_MODULUS: u64 = (1 << 52) / 33;

/// A prime `q`, `2 ≤ q ≤` [`MAX_MODULUS`].
///
/// *Invariants* (checked by [`Modulus::new`]): `q` is prime and in range.
/// *Secrecy.* A modulus is public; the residues given to its methods may be secret, and every method but
/// [`Modulus::psi`] takes time independent of them. Exponents are public.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Modulus {
    value: u64,
    /// `⌈log2(q + 1)⌉`, so `2^(bits − 1) ≤ q < 2^bits`.
    bits: u32,
    /// `⌊(2^(63 + bits) − 1)/q⌋`, which has its top bit set and is within 1 of `2^(63 + bits)/q`.
    reciprocal: u64,
}

impl Modulus {
    /// Checks and prepares a modulus.
    ///
    /// # Errors
    /// [`ArithError::ModulusOutOfRange`] or [`ArithError::NotPrime`].
    pub fn new(value: u64) -> Result<Self, ArithError> {
        if !(2..=MAX_MODULUS).contains(&value) {
            return Err(ArithError::ModulusOutOfRange { found: value, max: MAX_MODULUS });
        }
        if !is_prime(value) {
            return Err(ArithError::NotPrime { found: value });
        }
        let bits = u64::BITS - value.leading_zeros();
        // q ≥ 2^(bits − 1), hence the quotient is at most 2^64 − 1 and the cast loses nothing.
        let reciprocal = (((1u128 << (63 + bits)) - 1) / u128::from(value)) as u64;
        Ok(Self { value, bits, reciprocal })
    }

    /// The prime itself.
    #[inline]
    pub const fn value(self) -> u64 {
        self.value
    }

    /// The bit length of `q`: the canonical residues are below `2^bits`.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// `a + b mod q`, canonical in and out.
    #[inline]
    pub const fn add(self, a: u64, b: u64) -> u64 {
        debug_assert!(a < self.value && b < self.value);
        self.subtract_once(a + b)
    }

    /// `a − b mod q`, canonical in and out.
    #[inline]
    pub const fn sub(self, a: u64, b: u64) -> u64 {
        debug_assert!(a < self.value && b < self.value);
        self.subtract_once(a + self.value - b)
    }

    /// `−a mod q`, canonical in and out.
    #[inline]
    pub const fn neg(self, a: u64) -> u64 {
        debug_assert!(a < self.value);
        self.subtract_once(self.value - a)
    }

    /// `a·b mod q`, canonical in and out.
    ///
    /// # Math
    /// Barrett: with `x = a·b < 2^(2·bits)` the estimate `⌊⌊x/2^(bits−1)⌋·reciprocal/2^64⌋` falls short of `⌊x/q⌋` by
    /// at most 2 (one for the bits of `x` cut off, one for the rounding), so two conditional subtractions finish.
    #[inline]
    pub const fn mul(self, a: u64, b: u64) -> u64 {
        debug_assert!(a < self.value && b < self.value);
        let product = a as u128 * b as u128;
        let high = (product >> (self.bits - 1)) as u64;
        let quotient = mul_high(high, self.reciprocal);
        // The difference lies in [0, 3q), so the low words hold it.
        let remainder = (product as u64).wrapping_sub(quotient.wrapping_mul(self.value));
        self.subtract_once(self.subtract_once(remainder))
    }

    /// `x mod q` for any 64-bit `x`.
    ///
    /// # Math
    /// `⌊x·reciprocal/2^(63+bits)⌋` falls short of `⌊x/q⌋` by at most 1.
    #[inline]
    pub const fn reduce_u64(self, x: u64) -> u64 {
        let quotient = mul_high(x, self.reciprocal) >> (self.bits - 1);
        self.subtract_once(x.wrapping_sub(quotient.wrapping_mul(self.value)))
    }

    /// `x mod q` for any 128-bit `x`.
    #[inline]
    pub const fn reduce_u128(self, x: u128) -> u64 {
        let high = self.reduce_u64((x >> 64) as u64);
        self.add(self.mul(high, self.two_to_64()), self.reduce_u64(x as u64))
    }

    /// `x mod q` for a signed 64-bit `x`; the result is canonical, that is non-negative.
    #[inline]
    pub const fn reduce_i64(self, x: i64) -> u64 {
        // As an unsigned word, a negative x is 2^64 too large.
        let excess = self.two_to_64() & ((x >> 63) as u64);
        self.sub(self.reduce_u64(x as u64), excess)
    }

    /// `x mod q` for a signed 128-bit `x`; the result is canonical, that is non-negative.
    #[inline]
    pub const fn reduce_i128(self, x: i128) -> u64 {
        let two_to_128 = self.mul(self.two_to_64(), self.two_to_64());
        let excess = two_to_128 & ((x >> 127) as u64);
        self.sub(self.reduce_u128(x as u128), excess)
    }

    /// `base^exponent mod q`. The exponent is public; the base may be secret.
    pub const fn pow(self, base: u64, exponent: u64) -> u64 {
        let mut result = self.reduce_u64(1);
        let mut bit = u64::BITS - exponent.leading_zeros();
        while bit > 0 {
            bit -= 1;
            result = self.mul(result, result);
            if exponent >> bit & 1 == 1 {
                result = self.mul(result, base);
            }
        }
        result
    }

    /// `a⁻¹ mod q`, as `a^(q−2)`.
    ///
    /// # Errors
    /// [`ArithError::ZeroHasNoInverse`].
    pub const fn inv(self, a: u64) -> Result<u64, ArithError> {
        if a == 0 {
            return Err(ArithError::ZeroHasNoInverse { modulus: self.value });
        }
        Ok(self.pow(a, self.value - 2))
    }

    /// `⌊w·2^52/q⌋`, the companion of the constant `w` in Shoup's multiplication with 52-bit words.
    ///
    /// # Ranges
    /// In: canonical. Out: below `2^52`.
    ///
    /// # References
    /// \[Har14, section 2\], with the word size 52 of the integer-FMA instructions.
    #[inline]
    pub const fn shoup52(self, w: u64) -> u64 {
        debug_assert!(w < self.value);
        // w·reciprocal/2^(63+bits) < 1, and the reciprocal's error moves the estimate by less than 2^−11:
        // the floor is right or one too small.
        let estimate = ((w as u128 * self.reciprocal as u128) >> (self.bits + 11)) as u64;
        let remainder = (w << 52).wrapping_sub(estimate.wrapping_mul(self.value));
        estimate + (remainder >= self.value) as u64
    }

    /// `⌊w·2^64/q⌋`, the companion of the constant `w` in Shoup's multiplication with 64-bit words.
    ///
    /// # Ranges
    /// In: canonical.
    #[inline]
    pub const fn shoup64(self, w: u64) -> u64 {
        debug_assert!(w < self.value);
        // The reciprocal's error moves the estimate by less than w/2^(bits−1) < 2: at most two too small.
        let estimate = ((w as u128 * self.reciprocal as u128) >> (self.bits - 1)) as u64;
        let remainder = 0u64.wrapping_sub(estimate.wrapping_mul(self.value));
        estimate + (remainder >= self.value) as u64 + (remainder >= 2 * self.value) as u64
    }

    /// A primitive `2N`-th root of unity, `N = degree`: `ψ^N = −1`.
    ///
    /// The choice is fixed, because files depend on it: `ψ = g^((q−1)/2N)` for the smallest `g ≥ 2` that gives order `2N`.
    ///
    /// # Errors
    /// [`ArithError::NoRootOfUnity`] unless `degree` is a power of two and `q ≡ 1 mod 2N`.
    pub fn psi(self, degree: usize) -> Result<u64, ArithError> {
        let none = ArithError::NoRootOfUnity { modulus: self.value, degree };
        if !degree.is_power_of_two() || degree as u64 > MAX_MODULUS || self.value == 2 {
            return Err(none);
        }
        let order = 2 * degree as u64;
        if self.value % order != 1 {
            return Err(none);
        }
        // Half of all g are non-residues and give order 2N exactly, so the search ends at once.
        (2..self.value)
            .map(|g| self.pow(g, (self.value - 1) / order))
            .find(|&root| self.pow(root, order / 2) == self.value - 1)
            .ok_or(none)
    }

    /// `2^64 mod q`.
    #[inline]
    const fn two_to_64(self) -> u64 {
        self.subtract_once(self.reduce_u64(u64::MAX) + 1)
    }

    /// `x − q` if `x ≥ q`, else `x`, by a mask; for `x < 2^63`.
    #[inline]
    const fn subtract_once(self, x: u64) -> u64 {
        let difference = x.wrapping_sub(self.value);
        let borrow = (difference >> 63).wrapping_neg();
        difference.wrapping_add(self.value & borrow)
    }
}

impl core::fmt::Debug for Modulus {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Modulus({})", self.value)
    }
}

impl core::fmt::Display for Modulus {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}", self.value)
    }
}

/// The high word of `a·b`.
#[inline]
const fn mul_high(a: u64, b: u64) -> u64 {
    ((a as u128 * b as u128) >> 64) as u64
}

#[cfg(test)]
mod tests;
