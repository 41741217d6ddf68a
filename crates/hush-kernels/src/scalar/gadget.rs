// SPDX-License-Identifier: Apache-2.0
//! Digits of differences, and sums of rows.

use hush_arith::Modulus;

/// `±from − x` in whole units of `2^shift`, rounded.
#[inline(always)]
pub(crate) fn digits(q: Modulus, out: &mut [u64], from: &[u64], x: &[u64], is_negated: bool, shift: u32) {
    let q = q.value();
    let (middle, half_unit) = (q / 2, 1_i64 << (shift - 1));
    let below = |x: u64| if x >= q { x - q } else { x };
    for ((out, &from), &x) in out.iter_mut().zip(from).zip(x) {
        let from = if is_negated { q - from } else { from };
        // From 1 to 2q.
        let difference = below(below(from + q - x));
        let centred = difference as i64 - if difference > middle { q as i64 } else { 0 };
        let digit = (centred + half_unit) >> shift;
        *out = (digit + if digit < 0 { q as i64 } else { 0 }) as u64;
    }
}

/// Residues nearest to 0 in whole units of `2^shift`, rounded.
#[inline(always)]
pub(crate) fn round(q: Modulus, words: &mut [u64], shift: u32) {
    let q = q.value();
    let (middle, half_unit) = (q / 2, 1_i64 << (shift - 1));
    for word in words {
        let centred = *word as i64 - if *word > middle { q as i64 } else { 0 };
        let digit = (centred + half_unit) >> shift;
        *word = (digit + if digit < 0 { q as i64 } else { 0 }) as u64;
    }
}

/// The lowest balanced digit, and the rest without it.
#[inline(always)]
pub(crate) fn cut(q: Modulus, low: &mut [u64], rest: &mut [u64], bits: u32) {
    let q = q.value();
    let (middle, half) = (q / 2, 1_i64 << (bits - 1));
    let residue = |digit: i64| (digit + if digit < 0 { q as i64 } else { 0 }) as u64;
    for (low, rest) in low.iter_mut().zip(rest) {
        let centred = *rest as i64 - if *rest > middle { q as i64 } else { 0 };
        let above = (centred + half) >> bits;
        *low = residue(centred - (above << bits));
        *rest = residue(above);
    }
}

/// Four rows at a time, so that sums are loaded and stored once for them.
#[inline(always)]
pub(crate) fn add_scaled(out: &mut [u32], rows: &[u32], factors: &[i32]) {
    let width = out.len();
    let (fours, rest) = factors.as_chunks::<4>();
    for (four, factors) in fours.iter().enumerate() {
        let row = |place: usize| &rows[(4 * four + place) * width..][..width];
        let (a, b, c, d) = (row(0), row(1), row(2), row(3));
        let factors = factors.map(|factor| factor as u32);
        for place in 0..width {
            let low = a[place].wrapping_mul(factors[0]).wrapping_add(b[place].wrapping_mul(factors[1]));
            let high = c[place].wrapping_mul(factors[2]).wrapping_add(d[place].wrapping_mul(factors[3]));
            out[place] = out[place].wrapping_add(low).wrapping_add(high);
        }
    }
    for (place, factor) in rest.iter().enumerate() {
        let row = &rows[(4 * fours.len() + place) * width..][..width];
        for (out, row) in out.iter_mut().zip(row) {
            *out = out.wrapping_add(row.wrapping_mul(*factor as u32));
        }
    }
}
