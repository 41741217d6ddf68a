// SPDX-License-Identifier: Apache-2.0
//! The size and form of a column's numbers, and whether they are integers, decimals or floats.
//!
//! *The rule.* A declared type stays: a decimal in the file is a decimal here. Numbers written as text are decimals if nobody
//! wrote an exponent, 38 digits hold them, and one of these is true:
//! - at most 9 digits after the point and 18 in all: amounts, prices, rates, most measurements;
//! - every value has the same number of digits after the point, as databases print decimal columns;
//! - at most 9 digits after the point, and some value has more than the 17 digits that a double can have.
//!
//! All others are floats: binary floats in full show up to 17 digits, and not always the same number of them.

use super::kind::Kind;
use crate::source::Declared;

/// Digits after the point, and in all, of decimals that people write.
const USUAL_PLACES: u32 = 9;
const USUAL_DIGITS: u32 = 18;
/// Digits that every double can be told from its neighbours by.
const DOUBLE_DIGITS: u32 = 17;
/// Digits of the widest decimal.
const MOST_DIGITS: u32 = 38;

/// How large the numbers of a column are. Stays inside the crate: a schema shows only the next power of ten.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Magnitude {
    /// Smallest and largest whole part, rounded away from zero; days or microseconds for dates and timestamps.
    pub(super) low: i128,
    pub(super) high: i128,
    /// Digits after the point, at most.
    pub(super) fraction_digits: u32,
    /// Power of ten of the first digit of the largest number other than 0: 2 for 150, -9 for 3e-9.
    pub(super) first_digit: Option<i32>,
}

/// Collects the size and form of a column's numbers.
#[derive(Default)]
pub(super) struct Numbers {
    pub(super) magnitude: Magnitude,
    seen: bool,
    integer_digits: u32,
    /// Fewest digits after the point of a number.
    fewest_places: Option<u32>,
    /// Most digits of one number.
    longest: u32,
    scientific: bool,
    leading_zeros: bool,
    /// A fraction other than zeros.
    fraction: bool,
}

/// One number as it is written.
#[derive(Clone, Copy)]
pub(super) struct Written {
    pub(super) integer_digits: u32,
    pub(super) fraction_digits: u32,
    pub(super) leading_zeros: bool,
    /// Whether its fraction is other than zeros.
    pub(super) fraction: bool,
    /// With an exponent, or of more digits than a decimal can have.
    pub(super) scientific: bool,
    /// Power of ten of its first digit; `None` for 0.
    pub(super) first_digit: Option<i32>,
}

impl Numbers {
    /// Makes room for values from `low` to `high`.
    #[inline]
    pub(super) fn widen(&mut self, low: i128, high: i128) {
        if self.seen {
            self.magnitude.low = self.magnitude.low.min(low);
            self.magnitude.high = self.magnitude.high.max(high);
        } else {
            (self.magnitude.low, self.magnitude.high, self.seen) = (low, high, true);
        }
    }

    /// Takes the form of a number.
    #[inline]
    pub(super) fn add(&mut self, number: Written) {
        let places = number.fraction_digits;
        self.magnitude.fraction_digits = self.magnitude.fraction_digits.max(places);
        self.fewest_places = Some(self.fewest_places.map_or(places, |fewest| fewest.min(places)));
        self.integer_digits = self.integer_digits.max(number.integer_digits);
        self.longest = self.longest.max(number.integer_digits.saturating_add(places));
        self.magnitude.first_digit = self.magnitude.first_digit.max(number.first_digit);
        self.fraction |= number.fraction;
        self.leading_zeros |= number.leading_zeros;
        self.scientific |= number.scientific;
    }

    /// The kind of a column of such numbers; `None` for codes, whose leading zeros mean something.
    pub(super) fn kind(&self, declared: Option<Declared>) -> Option<Kind> {
        let places = self.magnitude.fraction_digits;
        let digits = self.integer_digits.saturating_add(places);
        let fits_64_bits =
            i64::try_from(self.magnitude.low).is_ok() && i64::try_from(self.magnitude.high).is_ok();
        if matches!(declared, Some(Declared::Decimal { scale, .. }) if scale > 0 || !fits_64_bits) {
            return Some(Kind::Decimal);
        }
        let usual = places <= USUAL_PLACES && digits <= USUAL_DIGITS;
        let same_places = self.fewest_places == Some(places);
        let no_double = places <= USUAL_PLACES && self.longest > DOUBLE_DIGITS;
        let written_so = declared.is_none() && digits <= MOST_DIGITS && (same_places || no_double);
        match self {
            Self { leading_zeros: true, .. } => None,
            Self { scientific: true, .. } => Some(Kind::Float),
            // `5.0`, as whole numbers are written that have passed through floats.
            Self { fraction: false, .. } if places <= 1 => {
                Some(if fits_64_bits { Kind::Int } else { Kind::Text })
            }
            _ => Some(if usual || written_so { Kind::Decimal } else { Kind::Float }),
        }
    }
}
