// SPDX-License-Identifier: Apache-2.0
//! Numbers as most cells hold them: at most 18 digits, which a machine word holds without a check.

/// Most digits, so that no value reaches 10^18; the point counts as one.
const MOST_DIGITS: usize = 18;

/// A sign, digits, at most one point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShortNumber {
    /// All digits as one integer, with the sign.
    pub(crate) value: i64,
    /// Digits after the point.
    pub(crate) fraction_digits: u8,
    /// Whether zeros that carry no value stand in front.
    pub(crate) leading_zeros: bool,
}

impl ShortNumber {
    /// Reads all of `text`. `None` for anything longer or other, number or not.
    #[inline]
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let (negative, digits) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        if digits.is_empty() || digits.len() > MOST_DIGITS {
            return None;
        }
        let mut magnitude = 0i64;
        let mut point = None;
        for (i, &byte) in digits.iter().enumerate() {
            let digit = byte.wrapping_sub(b'0');
            if digit < 10 {
                // Below 10^18 after the last digit.
                magnitude = magnitude.wrapping_mul(10).wrapping_add(i64::from(digit));
            } else if byte == b'.' && point.is_none() && digits.len() > 1 {
                point = Some(i);
            } else {
                return None;
            }
        }
        Some(Self {
            value: if negative { -magnitude } else { magnitude },
            fraction_digits: point.map_or(0, |at| digits.len() - at - 1) as u8,
            leading_zeros: matches!(digits, [b'0', b'0'..=b'9', ..]),
        })
    }

    /// The value in units of `10^-scale`; `None` where digits would be lost or 64 bits do not hold it.
    #[inline]
    pub(crate) fn units(self, scale: u8) -> Option<i64> {
        let missing = scale.checked_sub(self.fraction_digits)?;
        self.value.checked_mul(10i64.checked_pow(missing.into())?)
    }
}

#[cfg(test)]
mod tests {
    use hush_plan::schema::units::{DecimalPoint, scan_number};

    use super::*;

    /// It gives what the exact parser gives, or declines.
    #[test]
    fn units_agree_with_the_exact_parser() {
        let mut state = 0x1234_5678_9abc_def1u64;
        let mut next = |bound: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % bound
        };
        let (mut taken, alphabet) = (0, b"0123456789.-+e ");
        for round in 0..200_000 {
            let letters = if round % 2 == 0 { 11 } else { alphabet.len() as u64 };
            let mut text: Vec<u8> = (0..next(20)).map(|_| alphabet[next(letters) as usize]).collect();
            if next(3) == 0 {
                text.insert(0, b'-');
            }
            let scale = next(8) as u8;
            let Some(short) = ShortNumber::read(&text) else { continue };
            let exact = scan_number(&text, DecimalPoint::Dot).expect("a number");
            assert_eq!(u32::from(short.fraction_digits), exact.fraction_digits);
            assert_eq!(short.leading_zeros, exact.leading_zeros);
            if let Some(units) = short.units(scale) {
                let expected = exact.units_exact(scale);
                assert_eq!(
                    expected,
                    Some(i128::from(units)),
                    "{:?} at {scale}",
                    String::from_utf8_lossy(&text)
                );
                taken += 1;
            }
        }
        assert!(taken > 10_000, "the fast path was taken {taken} times");
    }
}
