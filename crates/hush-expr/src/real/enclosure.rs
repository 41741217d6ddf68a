// SPDX-License-Identifier: Apache-2.0
//! Bounds of values in doubles, rounded outwards: every operation contains all results of values within its operands.

/// From `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Enclosure {
    low: f64,
    high: f64,
}

impl Enclosure {
    /// Between two numbers, in either order.
    pub fn new(a: f64, b: f64) -> Self {
        Self { low: a.min(b), high: a.max(b) }
    }
    /// A number alone.
    pub fn point(value: f64) -> Self {
        Self { low: value, high: value }
    }
    /// The smallest value.
    pub fn low(&self) -> f64 {
        self.low
    }
    /// The largest value.
    pub fn high(&self) -> f64 {
        self.high
    }
    /// The largest absolute value.
    pub fn magnitude(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }
    /// Whether both ends are numbers.
    pub fn is_finite(&self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }
    /// A double and two neighbours on either side: it encloses what it was rounded from.
    pub fn rounded(value: f64) -> Self {
        if value == 0.0 {
            return Self::point(0.0);
        }
        outward(value.next_down(), value.next_up())
    }
    /// Values of both; `self` if there are none.
    pub fn meet(self, other: Self) -> Self {
        let (low, high) = (self.low.max(other.low), self.high.min(other.high));
        if low <= high { Self { low, high } } else { self }
    }
    /// The smallest that holds both.
    pub fn join(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
    /// With so much more on either side.
    pub fn widened(self, by: f64) -> Self {
        outward(self.low - by, self.high + by)
    }
    /// The width.
    pub(crate) fn width(&self) -> f64 {
        self.high - self.low
    }
    /// The lower and the upper half.
    pub(crate) fn halves(self) -> [Self; 2] {
        let middle = self.low + self.width() / 2.0;
        [Self { high: middle, ..self }, Self { low: middle, ..self }]
    }

    /// Sums.
    pub fn plus(self, other: Self) -> Self {
        outward(self.low + other.low, self.high + other.high)
    }
    /// Products of independent values.
    pub fn times(self, other: Self) -> Self {
        // Nothing is still nothing, whatever it is multiplied with.
        let product = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        let corners = [
            product(self.low, other.low),
            product(self.low, other.high),
            product(self.high, other.low),
            product(self.high, other.high),
        ];
        let low = corners.into_iter().fold(f64::INFINITY, f64::min);
        outward(low, corners.into_iter().fold(f64::NEG_INFINITY, f64::max))
    }
    /// Negatives.
    pub fn negative(self) -> Self {
        Self { low: -self.high, high: -self.low }
    }
    /// Reciprocals; without bounds where zero is among the values.
    pub fn recip(self) -> Self {
        if self.low <= 0.0 && self.high >= 0.0 {
            return Self { low: f64::NEG_INFINITY, high: f64::INFINITY };
        }
        outward(self.high.recip(), self.low.recip())
    }
    /// Powers of one value.
    pub fn power(self, exponent: u32) -> Self {
        if exponent == 0 {
            return Self::point(1.0);
        }
        let of =
            |value: f64| (1..exponent).fold(Self::point(value), |power, _| power.times(Self::point(value)));
        let (low, high) = (of(self.low), of(self.high));
        if exponent % 2 == 1 {
            return Self { low: low.low, high: high.high };
        }
        let both = low.join(high);
        let least = if self.low <= 0.0 && self.high >= 0.0 { 0.0 } else { both.low.max(0.0) };
        Self { low: least, ..both }
    }
}

/// A bound of a rounded result, further out by one double.
fn outward(low: f64, high: f64) -> Enclosure {
    // An infinite difference of infinities has no bound.
    let low = if low.is_nan() { f64::NEG_INFINITY } else { low.next_down() };
    let high = if high.is_nan() { f64::INFINITY } else { high.next_up() };
    Enclosure { low, high }
}
