// SPDX-License-Identifier: Apache-2.0
//! Signed integers of three widths, as plaintexts come in.

use ethnum::I256;
use hush_arith::Modulus;
use hush_ring::RingLimb;

use crate::SchemeError;

/// Borrowed plaintext integers. The narrowest type that holds them is the fastest.
///
/// *Secrecy.* Plaintext: no `Debug`.
#[derive(Clone, Copy)]
pub enum Values<'a> {
    /// 64-bit integers.
    I64(&'a [i64]),
    /// 128-bit integers.
    I128(&'a [i128]),
    /// 256-bit integers, for second moments of wide columns.
    I256(&'a [I256]),
}

impl<'a> Values<'a> {
    /// Their number.
    pub fn len(&self) -> usize {
        match self {
            Self::I64(values) => values.len(),
            Self::I128(values) => values.len(),
            Self::I256(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values from `start` on, at most `count` of them.
    pub fn slice(&self, start: usize, count: usize) -> Self {
        let start = start.min(self.len());
        let end = start.saturating_add(count).min(self.len());
        match self {
            Self::I64(values) => Self::I64(&values[start..end]),
            Self::I128(values) => Self::I128(&values[start..end]),
            Self::I256(values) => Self::I256(&values[start..end]),
        }
    }

    /// Checks `−2^(bits−1) ≤ v < 2^(bits−1)` for every value, without a branch on any until all are seen.
    ///
    /// # Errors
    /// [`SchemeError::ValueRange`] with the first position that does not fit, never with the value.
    pub fn check_bits(&self, bits: u32) -> Result<(), SchemeError> {
        let bits = bits.clamp(1, 256);
        let outside = match self {
            Self::I64(values) if bits < 64 => first_outside(values, |v| (v ^ (v >> 63)) >> (bits - 1), 0),
            Self::I128(values) if bits < 128 => first_outside(values, |v| (v ^ (v >> 127)) >> (bits - 1), 0),
            Self::I256(values) if bits < 256 => {
                first_outside(values, |v| (v ^ (v >> 255)) >> (bits - 1), I256::ZERO)
            }
            _ => None,
        };
        match outside {
            Some(index) => Err(SchemeError::ValueRange { index, limit_log2: bits - 1 }),
            None => Ok(()),
        }
    }

    /// Checks `|v| ≤ max_abs` for every value, without a branch on any until all are seen.
    ///
    /// # Errors
    /// [`SchemeError::ValueRange`] with the first position that does not fit, never with the value.
    pub fn check_max_abs(&self, max_abs: I256) -> Result<(), SchemeError> {
        let limit = max_abs.max(I256::ZERO).as_u256();
        let outside = match self {
            Self::I64(values) => {
                let limit = u64::try_from(limit).unwrap_or(u64::MAX);
                first_outside(values, |v| i64::from(v.unsigned_abs() > limit), 0)
            }
            Self::I128(values) => {
                let limit = u128::try_from(limit).unwrap_or(u128::MAX);
                first_outside(values, |v| i128::from(v.unsigned_abs() > limit), 0)
            }
            Self::I256(values) => {
                let excess = |v: I256| I256::from(u8::from(limit.overflowing_sub(v.unsigned_abs()).1));
                first_outside(values, excess, I256::ZERO)
            }
        };
        match outside {
            Some(index) => Err(SchemeError::ValueRange { index, limit_log2: 256 - limit.leading_zeros() }),
            None => Ok(()),
        }
    }

    /// Writes the canonical residues; words of `out` beyond the values become zero.
    ///
    /// # Timing
    /// Independent of the values.
    ///
    /// # Panics
    /// If `out` is shorter than the values; layouts fix both.
    pub fn residues_into(&self, limb: &RingLimb, out: &mut [u64]) {
        assert!(self.len() <= out.len(), "a ring element holds the values");
        let (filled, padding) = out.split_at_mut(self.len());
        let q = limb.modulus();
        match self {
            Self::I64(values) => limb.lift_signed(values, filled),
            Self::I128(values) => fill(filled, values, |value| q.reduce_i128(value)),
            Self::I256(values) => {
                let two_to_128 = q.add(q.reduce_u128(u128::MAX), q.reduce_u64(1));
                fill(filled, values, |value| reduce_i256(q, two_to_128, value));
            }
        }
        padding.fill(0);
    }
}

/// `value mod q`, canonical. `two_to_128` is `2^128 mod q`.
fn reduce_i256(q: Modulus, two_to_128: u64, value: I256) -> u64 {
    let (high, low) = value.into_words();
    q.add(q.mul(q.reduce_i128(high), two_to_128), q.reduce_u128(low as u128))
}

fn fill<T: Copy>(out: &mut [u64], values: &[T], reduce: impl Fn(T) -> u64) {
    for (out, &value) in out.iter_mut().zip(values) {
        *out = reduce(value);
    }
}

/// The first value with `excess`, the bits of its magnitude beyond the range, other than `zero`.
fn first_outside<T>(values: &[T], excess: impl Fn(T) -> T, zero: T) -> Option<usize>
where
    T: Copy + PartialEq + std::ops::BitOr<Output = T>,
{
    let all = values.iter().fold(zero, |all, &value| all | excess(value));
    if all == zero { None } else { values.iter().position(|&value| excess(value) != zero) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_two_complement_ranges_of_each_width() {
        for bits in [1_u32, 2, 27, 63, 64, 65, 127, 128, 129, 255, 256] {
            let low: I256 = I256::MIN >> (256 - bits);
            let high: I256 = -(low + I256::ONE);
            assert!(Values::I256(&[low, high, I256::ZERO]).check_bits(bits).is_ok());
            if bits < 256 {
                for outside in [low - I256::ONE, high + I256::ONE, I256::MIN, I256::MAX] {
                    let error = Values::I256(&[I256::ZERO, outside]).check_bits(bits).unwrap_err();
                    assert_eq!(error, SchemeError::ValueRange { index: 1, limit_log2: bits - 1 });
                }
            }
        }
        assert!(Values::I64(&[i64::MIN, i64::MAX]).check_bits(64).is_ok());
        assert!(Values::I64(&[i64::MIN]).check_bits(63).is_err());
        assert!(Values::I128(&[i128::from(i64::MAX) + 1]).check_bits(64).is_err());
        assert!(Values::I128(&[i128::MIN]).check_bits(128).is_ok());
    }

    #[test]
    fn magnitudes_are_checked_to_the_last_unit_in_each_width() {
        for limit in [0_i128, 1, 127, i128::from(i64::MAX) - 1, 10_i128.pow(38), i128::MAX - 1] {
            let (limit, next) = (I256::from(limit), limit + 1);
            for outside in [next, -next] {
                let found = Values::I128(&[0, outside]).check_max_abs(limit).unwrap_err();
                assert!(matches!(found, SchemeError::ValueRange { index: 1, .. }));
                assert!(Values::I128(&[next - 1, 1 - next, 0]).check_max_abs(limit).is_ok());
                assert!(Values::I256(&[I256::from(outside)]).check_max_abs(limit).is_err());
                assert!(Values::I256(&[limit, -limit]).check_max_abs(limit).is_ok());
                if let Ok(narrow) = i64::try_from(outside) {
                    assert!(Values::I64(&[narrow]).check_max_abs(limit).is_err());
                }
            }
        }
        assert!(Values::I64(&[i64::MIN]).check_max_abs(I256::from(i64::MAX)).is_err());
        assert!(Values::I128(&[i128::MIN]).check_max_abs(I256::from(i128::MAX)).is_err());
        assert!(Values::I256(&[I256::MIN]).check_max_abs(I256::MAX).is_err());
        assert!(Values::I64(&[i64::MIN]).check_max_abs(I256::MAX).is_ok());
    }

    #[test]
    fn the_three_widths_agree_on_residues() {
        let limb = RingLimb::plaintext(16, 0xffd2_0001, hush_ring::Cpu::scalar()).unwrap();
        let narrow = [i64::MIN, -1, 0, 1, i64::MAX, 12345];
        let middle = narrow.map(i128::from);
        let wide = narrow.map(I256::from);
        let residues = |values: Values<'_>| {
            let mut out = vec![7; 8];
            values.residues_into(&limb, &mut out);
            out
        };
        let expected = residues(Values::I64(&narrow));
        assert_eq!(residues(Values::I128(&middle)), expected);
        assert_eq!(residues(Values::I256(&wide)), expected);
        assert_eq!(expected[6..], [0, 0]);
        let q = I256::from(limb.modulus().value());
        for (value, residue) in wide.iter().zip(expected) {
            assert_eq!(value.rem_euclid(q), I256::from(residue));
        }
        let extremes = [I256::MIN, I256::MAX];
        for (value, residue) in extremes.iter().zip(residues(Values::I256(&extremes))) {
            assert_eq!(value.rem_euclid(q), I256::from(residue));
        }
    }
}
