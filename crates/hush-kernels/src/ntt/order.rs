// SPDX-License-Identifier: Apache-2.0
//! The order of a transform's values and of its twiddles: `τ` and `brv` of [`crate::ntt`].

use hush_arith::Modulus;

/// `τ`: swaps the two lowest octal digits of an index if the transform has at least 64 points. Its own inverse.
#[inline]
pub(crate) fn transpose_index(index: usize, degree: usize) -> usize {
    if degree < 64 { index } else { index & !63 | (index & 7) << 3 | (index >> 3 & 7) }
}

/// `brv`: reverses the `log2 degree` low bits of an index. Its own inverse.
#[inline]
pub(crate) fn reverse_bits(index: usize, degree: usize) -> usize {
    // degree ≥ 16, so the shift is below the word size.
    index.reverse_bits() >> (usize::BITS - degree.trailing_zeros())
}

/// `base^brv(i)` at index `i`, for `i < degree`.
pub(crate) fn bit_reversed_powers(modulus: Modulus, degree: usize, base: u64) -> Vec<u64> {
    let mut powers = vec![0; degree];
    let mut power = modulus.reduce_u64(1);
    for exponent in 0..degree {
        powers[reverse_bits(exponent, degree)] = power;
        power = modulus.mul(power, base);
    }
    powers
}
