// SPDX-License-Identifier: Apache-2.0
//! Exact fractions.

use std::cmp::Ordering;
use std::ops::{Add, Mul, Neg, Sub};

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// A fraction in lowest terms, with a positive denominator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    numerator: BigInt,
    denominator: BigInt,
}

impl Ratio {
    /// `numerator/denominator`; `None` for a denominator of zero.
    pub fn new(numerator: BigInt, denominator: BigInt) -> Option<Self> {
        if denominator.is_zero() {
            return None;
        }
        let common = numerator.gcd(&denominator);
        let sign = if denominator.is_negative() { -BigInt::one() } else { BigInt::one() };
        Some(Self { numerator: numerator / &common * &sign, denominator: denominator / common * sign })
    }

    /// A decimal such as `-12`, `.5` or `1.5e-3`, exactly; `None` for another text, or beyond 400 digits before or after the point.
    pub fn from_decimal(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (is_negative, digits) = match mantissa.as_bytes().first()? {
            b'-' => (true, &mantissa[1..]),
            b'+' => (false, &mantissa[1..]),
            _ => (false, mantissa),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if digits.len() > MAX_DIGITS || !(all_digits(whole) && all_digits(fraction)) {
            return None;
        }
        let exponent = i64::from(exponent) - fraction.len() as i64;
        let count = (whole.trim_start_matches('0').len() + fraction.len()) as i64;
        // Accepted text prints to accepted text.
        if whole.len() + fraction.len() == 0 || exponent.abs().max(count + exponent) > MAX_PLACES {
            return None;
        }
        let mut value: BigInt = format!("{whole}{fraction}").parse().ok()?;
        if is_negative {
            value = -value;
        }
        let power = BigInt::from(10).pow(exponent.unsigned_abs() as u32);
        if exponent < 0 { Self::new(value, power) } else { Some(Self::from(value * power)) }
    }

    /// A double, exactly; `None` for one that is not finite.
    pub fn from_f64(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        let bits = value.to_bits();
        let exponent = ((bits >> 52) & 0x7ff) as i64;
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, shift) =
            if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
        let magnitude = Self::from(BigInt::from(mantissa)).times_power_of_two(shift);
        Some(if value < 0.0 { -magnitude } else { magnitude })
    }

    /// Numerator.
    pub fn numerator(&self) -> &BigInt {
        &self.numerator
    }
    /// Denominator, positive.
    pub fn denominator(&self) -> &BigInt {
        &self.denominator
    }
    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.numerator.is_zero()
    }
    /// Whether it is below zero.
    pub fn is_negative(&self) -> bool {
        self.numerator.is_negative()
    }
    /// The absolute value.
    pub fn abs(&self) -> Self {
        Self { numerator: self.numerator.abs(), denominator: self.denominator.clone() }
    }
    /// `1/self`; `None` for zero.
    pub fn recip(&self) -> Option<Self> {
        Self::new(self.denominator.clone(), self.numerator.clone())
    }
    /// The power.
    pub fn pow(&self, exponent: u32) -> Self {
        Self { numerator: self.numerator.pow(exponent), denominator: self.denominator.pow(exponent) }
    }
    /// `self·2^shift`.
    pub fn times_power_of_two(&self, shift: i64) -> Self {
        let power = BigInt::one() << shift.unsigned_abs();
        let (up, down) = if shift < 0 { (BigInt::one(), power) } else { (power, BigInt::one()) };
        Self::new(&self.numerator * up, &self.denominator * down).unwrap_or_else(Self::zero)
    }
    /// Zero.
    pub fn zero() -> Self {
        Self::from(BigInt::zero())
    }
    /// One.
    pub fn one() -> Self {
        Self::from(BigInt::one())
    }
    /// Bits of numerator and denominator together.
    pub fn bits(&self) -> u64 {
        self.numerator.bits() + self.denominator.bits()
    }

    /// `k` with `2^(k-1) ≤ |self| < 2^(k+1)`; 0 for zero.
    pub fn magnitude_bits(&self) -> i64 {
        if self.is_zero() { 0 } else { self.numerator.bits() as i64 - self.denominator.bits() as i64 }
    }

    /// log2 of the absolute value; −∞ for zero.
    pub fn log2(&self) -> f64 {
        let shift = self.magnitude_bits();
        self.abs().times_power_of_two(-shift).small_to_f64().log2() + shift as f64
    }

    /// The nearest double or a neighbour of it; infinite or zero beyond what doubles hold.
    pub fn to_f64(&self) -> f64 {
        let shift = self.magnitude_bits();
        let small = self.times_power_of_two(-shift).small_to_f64();
        // In two steps, for 2^-1074 is a double and 2^1074 is none.
        let half = (shift / 2).clamp(-1100, 1100) as i32;
        let rest = (shift - shift / 2).clamp(-1100, 1100) as i32;
        small * 2_f64.powi(half) * 2_f64.powi(rest)
    }

    /// Itself, or rounded to 1024 bits if it has more than 2048.
    pub(crate) fn shortened(self) -> Self {
        if self.bits() <= LONG_BITS {
            return self;
        }
        let shift = SHORT_BITS - self.magnitude_bits();
        let whole = self.times_power_of_two(shift);
        Self::from(whole.numerator.div_floor(&whole.denominator)).times_power_of_two(-shift)
    }

    /// For absolute values between 1/2 and 2: to the last bit but one.
    fn small_to_f64(&self) -> f64 {
        let scaled: BigInt = (&self.numerator << 64) / &self.denominator;
        scaled.to_f64().unwrap_or(0.0) / 2_f64.powi(64)
    }

    /// The whole number that it is, if it is one.
    pub fn to_integer(&self) -> Option<&BigInt> {
        self.denominator.is_one().then_some(&self.numerator)
    }

    /// Digits after the point of its decimal, if that ends.
    pub fn decimal_places(&self) -> Option<u32> {
        let (mut rest, mut places) = (self.denominator.clone(), [0_u32; 2]);
        for (prime, count) in [2_u32, 5].into_iter().zip(&mut places) {
            loop {
                let (quotient, remainder) = rest.div_rem(&BigInt::from(prime));
                if !remainder.is_zero() {
                    break;
                }
                (rest, *count) = (quotient, *count + 1);
            }
        }
        rest.is_one().then(|| places[0].max(places[1]))
    }

    /// In units of `10^-places`, rounded half away from zero.
    pub fn rounded_units(&self, places: u32) -> BigInt {
        let scaled = &self.numerator.abs() * BigInt::from(10).pow(places) * 2_u32 + &self.denominator;
        let units = scaled / (&self.denominator * 2_u32);
        if self.is_negative() { -units } else { units }
    }

    /// Decimal text with so many digits after the point.
    pub fn to_decimal(&self, places: u32) -> String {
        let units = self.rounded_units(places);
        let digits = format!("{:0>width$}", units.abs().to_string(), width = places as usize + 1);
        let (whole, fraction) = digits.split_at(digits.len() - places as usize);
        let sign = if units.is_negative() { "-" } else { "" };
        if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
    }
}

impl From<u64> for Ratio {
    fn from(integer: u64) -> Self {
        Self::from(BigInt::from(integer))
    }
}

impl From<BigInt> for Ratio {
    fn from(numerator: BigInt) -> Self {
        Self { numerator, denominator: BigInt::one() }
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        (&self.numerator * &other.denominator).cmp(&(&other.numerator * &self.denominator))
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Of a product of non-zero denominators.
fn reduced(numerator: BigInt, denominator: BigInt) -> Ratio {
    Ratio::new(numerator, denominator).unwrap_or_else(Ratio::zero)
}

impl Add for &Ratio {
    type Output = Ratio;
    fn add(self, other: &Ratio) -> Ratio {
        let numerator = &self.numerator * &other.denominator + &other.numerator * &self.denominator;
        reduced(numerator, &self.denominator * &other.denominator)
    }
}

impl Sub for &Ratio {
    type Output = Ratio;
    fn sub(self, other: &Ratio) -> Ratio {
        self + &(-other.clone())
    }
}

impl Mul for &Ratio {
    type Output = Ratio;
    fn mul(self, other: &Ratio) -> Ratio {
        reduced(&self.numerator * &other.numerator, &self.denominator * &other.denominator)
    }
}

impl Neg for Ratio {
    type Output = Ratio;
    fn neg(self) -> Ratio {
        Self { numerator: -self.numerator, denominator: self.denominator }
    }
}

impl std::fmt::Display for Ratio {
    /// The decimal if it ends, else a fraction.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.decimal_places() {
            Some(places) => f.write_str(&self.to_decimal(places)),
            None => write!(f, "{}/{}", self.numerator, self.denominator),
        }
    }
}

/// Characters of a number without its exponent.
const MAX_DIGITS: usize = 1000;
/// Digits before the point, or after it.
const MAX_PLACES: i64 = 400;

/// Bits of numerator and denominator beyond which fractions are rounded where they may be.
const LONG_BITS: u64 = 2048;
/// Bits that are left.
const SHORT_BITS: i64 = 1024;
