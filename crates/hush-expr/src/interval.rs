// SPDX-License-Identifier: Apache-2.0
//! Bounds of values.

use crate::Ratio;

/// From `low` to `high`, both included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    low: Ratio,
    high: Ratio,
}

impl Interval {
    /// The interval between two numbers, in either order.
    pub fn new(a: Ratio, b: Ratio) -> Self {
        if a <= b { Self { low: a, high: b } } else { Self { low: b, high: a } }
    }
    /// The smallest value.
    pub fn low(&self) -> &Ratio {
        &self.low
    }
    /// The largest value.
    pub fn high(&self) -> &Ratio {
        &self.high
    }
    /// The largest absolute value.
    pub fn magnitude(&self) -> Ratio {
        self.low.abs().max(self.high.abs())
    }
    /// Values of both; `self` if there are none.
    pub fn meet(&self, other: &Self) -> Self {
        let (low, high) =
            (self.low.clone().max(other.low.clone()), self.high.clone().min(other.high.clone()));
        if low <= high { Self { low, high } } else { self.clone() }
    }
    /// Sums.
    pub fn plus(&self, other: &Self) -> Self {
        Self { low: &self.low + &other.low, high: &self.high + &other.high }
    }
    /// Multiples.
    pub fn scaled(&self, factor: &Ratio) -> Self {
        Self::new(&self.low * factor, &self.high * factor)
    }
    /// Products of independent values.
    pub fn times(&self, other: &Self) -> Self {
        let corners = [&self.low * &other.low, &self.low * &other.high, &self.high * &other.low];
        let first = &self.high * &other.high;
        corners.into_iter().fold(Self::new(first.clone(), first), |all, corner| Self {
            low: all.low.min(corner.clone()),
            high: all.high.max(corner),
        })
    }
    /// Squares.
    pub fn squared(&self) -> Self {
        let (low, high) = (self.low.pow(2), self.high.pow(2));
        let spans_zero = self.low.is_negative() && !self.high.is_negative();
        let square = Self::new(low, high);
        if spans_zero { Self { low: Ratio::zero(), ..square } } else { square }
    }
}
