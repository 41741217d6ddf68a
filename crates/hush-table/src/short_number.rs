// SPDX-License-Identifier: Apache-2.0
//! Short numbers, which most cells hold: at most 18 digits, so that they fit a machine word without a check.

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
        if let Some(magnitude) = unsigned(digits) {
            return Some(Self::new(negative, magnitude.cast_signed(), 0, digits));
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
        let fraction_digits = point.map_or(0, |at| digits.len() - at - 1) as u8;
        Some(Self::new(negative, magnitude, fraction_digits, digits))
    }

    #[inline]
    fn new(negative: bool, magnitude: i64, fraction_digits: u8, digits: &[u8]) -> Self {
        let value = if negative { -magnitude } else { magnitude };
        Self { value, fraction_digits, leading_zeros: matches!(digits, [b'0', b'0'..=b'9', ..]) }
    }

    /// The value in units of `10^-scale`; `None` where digits would be lost or 64 bits do not hold it.
    #[inline]
    pub(crate) fn units(self, scale: u8) -> Option<i64> {
        let missing = scale.checked_sub(self.fraction_digits)?;
        if missing == 0 {
            return Some(self.value);
        }
        self.value.checked_mul(10i64.checked_pow(missing.into())?)
    }
}

/// Reads decimals with a fixed number of digits after the point out of a longer text, sixteen bytes at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedPoint {
    /// Digits after the point.
    scale: usize,
    /// The bytes of these digits among the sixteen.
    fraction: u128,
}

/// Bytes that are looked at together.
const WINDOW_BYTES: usize = 16;
/// Bytes of so many digits, or fewer, that end a window: the others are taken for zeros.
const KEPT: [u128; WINDOW_BYTES + 1] = kept();

#[expect(clippy::indexing_slicing, reason = "the compiler evaluates it, and would tell")]
const fn kept() -> [u128; WINDOW_BYTES + 1] {
    let mut masks = [u128::MAX; WINDOW_BYTES + 1];
    let mut length = 0;
    while length < WINDOW_BYTES {
        masks[length] = !(u128::MAX >> (8 * length));
        length += 1;
    }
    masks
}

impl FixedPoint {
    /// For numbers with `scale` digits after the point; `None` if there is no room for as many.
    pub(crate) fn new(scale: u8) -> Option<Self> {
        let scale = usize::from(scale);
        (scale < WINDOW_BYTES - 1).then_some(Self { scale, fraction: *KEPT.get(scale)? })
    }

    /// The number in `text[start..end]` without its point. `None` for anything but a minus or none and at most 16 bytes of digits and
    /// that point, and within the first 16 bytes of the text.
    #[inline]
    pub(crate) fn read(self, text: &[u8], start: usize, end: usize) -> Option<i64> {
        let window = text.get(end.checked_sub(WINDOW_BYTES)?..end)?.first_chunk()?;
        let negative = *text.get(start)? == b'-';
        let mut length = end.checked_sub(start)?.wrapping_sub(usize::from(negative));
        let mut window = u128::from_le_bytes(*window);
        if self.scale > 0 {
            let point = window << (8 * self.scale) >> (8 * (WINDOW_BYTES - 1));
            if point != u128::from(b'.') || length < self.scale + 2 {
                return None;
            }
            window = window & self.fraction | (window << 8) & !self.fraction;
            length -= 1;
        }
        if length == 0 {
            return None;
        }
        let kept = *KEPT.get(length)?;
        let digits = window & kept | u128::from_le_bytes([b'0'; WINDOW_BYTES]) & !kept;
        let (upper, lower) = (eight_digits(digits as u64), eight_digits((digits >> 64) as u64));
        let magnitude = upper?.wrapping_mul(power(8)).wrapping_add(lower?).cast_signed();
        Some(if negative { magnitude.wrapping_neg() } else { magnitude })
    }
}

/// Eight times the digit 0, as text.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// 1 to 18 digits and nothing else, as a number: eight at a time, because numbers are most of what is read.
#[inline]
fn unsigned(digits: &[u8]) -> Option<u64> {
    let (Some(first), Some(last)) = (digits.first_chunk(), digits.last_chunk()) else {
        return eight_digits(short_word(digits));
    };
    let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
    // The last digits that the words before do not have, behind zeros.
    let tail = |length: usize| {
        let others = !0u64 >> (8 * length);
        eight_digits(last & !others | ZEROS & others)
    };
    match digits.len() {
        8 => eight_digits(first),
        length @ 9..=15 => Some(eight_digits(first)? * power(length - 8) + tail(length - 8)?),
        16 => Some(eight_digits(first)? * power(8) + eight_digits(last)?),
        length @ 17..=MOST_DIGITS => {
            let middle = u64::from_le_bytes(*digits.get(8..)?.first_chunk()?);
            let upper = eight_digits(first)? * power(8) + eight_digits(middle)?;
            Some(upper * power(length - 16) + tail(length - 16)?)
        }
        _ => None,
    }
}

/// Up to seven bytes of text behind zeros.
#[inline]
fn short_word(text: &[u8]) -> u64 {
    let length = text.len();
    let byte = |at: usize| text.get(at).map_or(0, |byte| u64::from(*byte) << (8 * at));
    let word = match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << (8 * (length - 4))
        }
        _ => byte(0) | byte(1) | byte(2),
    };
    match length {
        0 => ZEROS,
        _ => word << (8 * (8 - length)) | ZEROS >> (8 * length),
    }
}

/// Eight digits as text, the first in the lowest byte, as a number.
#[inline]
fn eight_digits(text: u64) -> Option<u64> {
    const UPPER_HALVES: u64 = 0xf0f0_f0f0_f0f0_f0f0;
    // The upper half of a digit is 3, and still is with 6 added.
    let with_six = text.wrapping_add(0x0606_0606_0606_0606);
    if text & UPPER_HALVES | (with_six & UPPER_HALVES) >> 4 != 0x3333_3333_3333_3333 {
        return None;
    }
    let digits = text & !UPPER_HALVES;
    // Two, four and eight digits together: multiplied into the place where the lower ones stand.
    let pairs = digits.wrapping_mul(10 * 0x100 + 1) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100 * 0x1_0000 + 1) >> 16 & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(10_000 * 0x1_0000_0000 + 1) >> 32)
}

fn power(exponent: usize) -> u64 {
    const POWERS: [u64; 9] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
    POWERS.get(exponent).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use hush_plan::schema::units::{DecimalPoint, scan_number};

    use super::*;

    /// The short parser agrees with the exact one or declines.
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

    /// Behind other fields, it gives what the exact parser gives of a number with as many digits after its point, or declines.
    #[test]
    fn fixed_points_agree_with_the_exact_parser() {
        let mut state = 0x9876_5432_1fed_cba1u64;
        let mut next = |bound: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % bound
        };
        let (mut taken, alphabet) = ([0; 20], b"0123456789.-+e ,");
        for round in 0..400_000 {
            let scale = next(17) as u8;
            let mut text: Vec<u8> = (0..next(40)).map(|_| alphabet[next(16) as usize]).collect();
            let start = text.len();
            let letters = if round % 4 == 0 { 16 } else { 10 };
            if next(3) == 0 {
                text.push(b'-');
            }
            text.extend((0..next(18)).map(|_| alphabet[next(letters) as usize]));
            if next(2) == 0 {
                text.push(b'.');
                let digits = if next(4) == 0 { next(8) } else { u64::from(scale) };
                text.extend((0..digits).map(|_| alphabet[next(letters) as usize]));
            }
            let end = text.len();
            text.extend((0..next(20)).map(|_| alphabet[next(16) as usize]));
            let field = &text[start..end];
            let number = FixedPoint::new(scale).and_then(|numbers| numbers.read(&text, start, end));
            let Some(found) = number else {
                // Nothing but digits is declined for its place or its length alone.
                let is_short = end >= 16 && (1..=16).contains(&field.len());
                assert!(scale > 0 || !is_short || !field.iter().all(u8::is_ascii_digit));
                continue;
            };
            let exact = scan_number(field, DecimalPoint::Dot).expect("a number");
            assert_eq!(exact.fraction_digits, u32::from(scale));
            assert_eq!(exact.units_exact(scale), Some(found.into()), "{:?}", String::from_utf8_lossy(field));
            taken[usize::from(scale)] += 1;
        }
        assert!(taken[0] > 3000 && taken[1..13].iter().all(|count| *count > 100), "{taken:?}");
    }
}
