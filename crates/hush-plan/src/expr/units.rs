// SPDX-License-Identifier: Apache-2.0
//! Clear integers: SQL over clear columns whose value is an exact number of units, with a bound.

use num_bigint::BigInt;
use num_traits::{One, Zero};

use crate::range::{Interval, fits_digits, power_of_ten};

/// Width of the decimals in rendered SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Width {
    /// `DECIMAL(38,0)`
    Narrow,
    /// `DECIMAL(76,0)`
    Wide,
}

impl Width {
    /// The narrowest that holds `±max_abs`.
    pub(crate) fn holding(max_abs: &BigInt) -> Option<Self> {
        [Self::Narrow, Self::Wide].into_iter().find(|width| fits_digits(max_abs, width.digits()))
    }

    /// Decimal digits.
    pub(crate) fn digits(self) -> u32 {
        match self {
            Self::Narrow => 38,
            Self::Wide => 76,
        }
    }

    /// `CAST(sql AS DECIMAL(digits, scale))`.
    fn cast(self, sql: &str, scale: u32) -> String {
        format!("CAST({sql} AS DECIMAL({},{scale}))", self.digits())
    }

    /// `sql::DECIMAL(digits,0)`.
    fn cast_after(self, sql: &str) -> String {
        format!("{sql}::DECIMAL({},0)", self.digits())
    }
}

/// Conversion of a clear column's value to an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Leaf {
    /// Boolean, or date: by way of a 32-bit integer.
    Int32,
    /// Integer.
    Integer,
    /// Decimal: times `10^scale`.
    Decimal {
        /// Total digits.
        precision: u32,
        /// Digits after the point.
        scale: u32,
    },
    /// Timestamp in microseconds.
    Timestamp,
}

/// A clear, exact, bounded integer expression.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Units {
    /// Sum.
    Add(Box<Units>, Box<Units>),
    /// CASE: conditions in SQL and their values, NULL where `None`.
    Case { branches: Vec<(String, Option<Units>)>, otherwise: Option<Box<Units>> },
    /// A number.
    Constant(BigInt),
    /// A column or a cast.
    Leaf { sql: String, leaf: Leaf, range: Interval },
    /// Product.
    Mul(Box<Units>, Box<Units>),
}

impl Units {
    /// Times a constant.
    pub(super) fn scaled(self, factor: BigInt) -> Self {
        if factor.is_one() { self } else { Self::Constant(factor).times(self) }
    }

    pub(crate) fn times(self, other: Self) -> Self {
        match (self, other) {
            (Self::Constant(a), Self::Constant(b)) => Self::Constant(a * b),
            // One order for both spellings, so that equal products share a mask.
            (a, b) if a <= b => Self::Mul(Box::new(a), Box::new(b)),
            (a, b) => Self::Mul(Box::new(b), Box::new(a)),
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Constant(a), Self::Constant(b)) => Self::Constant(a + b),
            (a, b) if a <= b => Self::Add(Box::new(a), Box::new(b)),
            (a, b) => Self::Add(Box::new(b), Box::new(a)),
        }
    }

    /// Bounds of the value.
    pub(crate) fn range(&self) -> Interval {
        match self {
            Self::Add(a, b) => a.range().add(&b.range()),
            Self::Mul(a, b) if a == b => {
                let side = a.range();
                let square = side.mul(&side);
                let crosses_zero = side.low() <= &BigInt::zero() && side.high() >= &BigInt::zero();
                let ends = Interval::point(side.low() * side.low())
                    .hull(&Interval::point(side.high() * side.high()));
                if crosses_zero {
                    Interval::point(BigInt::zero()).hull(&Interval::point(square.max_abs()))
                } else {
                    ends
                }
            }
            Self::Mul(a, b) => a.range().mul(&b.range()),
            Self::Constant(value) => Interval::point(value.clone()),
            Self::Leaf { range, .. } => range.clone(),
            Self::Case { branches, otherwise } => {
                let values =
                    branches.iter().filter_map(|(_, units)| units.as_ref()).chain(otherwise.as_deref());
                let hull = values.map(Self::range).reduce(|a, b| a.hull(&b));
                hull.unwrap_or_else(|| Interval::point(BigInt::zero()))
            }
        }
    }

    /// Whether it is NULL wherever `sql` is, a leaf or a whole CASE in it.
    pub(crate) fn is_null_with(&self, sql: &str) -> bool {
        match self {
            Self::Add(a, b) | Self::Mul(a, b) => a.is_null_with(sql) || b.is_null_with(sql),
            Self::Case { .. } => self.render(self.width().unwrap_or(Width::Wide)) == sql,
            Self::Constant(_) => false,
            Self::Leaf { sql: own, .. } => own == sql,
        }
    }

    /// Largest absolute value of any node: what the decimals must hold while computing.
    fn widest(&self) -> BigInt {
        let own = self.range().max_abs();
        match self {
            Self::Add(a, b) | Self::Mul(a, b) => own.max(a.widest()).max(b.widest()),
            Self::Case { branches, otherwise } => {
                let values =
                    branches.iter().filter_map(|(_, units)| units.as_ref()).chain(otherwise.as_deref());
                values.map(Self::widest).fold(own, BigInt::max)
            }
            Self::Constant(_) | Self::Leaf { .. } => own,
        }
    }

    /// The narrowest decimals in which it can be computed; `None` above 76 digits.
    pub(crate) fn width(&self) -> Option<Width> {
        Width::holding(&self.widest())
    }

    /// SQL of type `DECIMAL(38,0)` or `DECIMAL(76,0)`.
    pub(crate) fn render(&self, width: Width) -> String {
        match self {
            // Not `CAST(`: sums nest, and a parser may read again what stands behind that word, each level of it.
            Self::Add(a, b) => width.cast_after(&format!("({} + {})", a.render(width), b.render(width))),
            Self::Mul(a, b) => width.cast_after(&format!("({} * {})", a.render(width), b.render(width))),
            // From text, because an engine may read a long numeric literal as a double.
            Self::Constant(value) => width.cast(&format!("'{value}'"), 0),
            Self::Leaf { sql, leaf, .. } => render_leaf(sql, *leaf, width),
            Self::Case { branches, otherwise } => {
                let mut text = "CASE".to_owned();
                for (condition, value) in branches {
                    let value = value.as_ref().map_or_else(|| "NULL".to_owned(), |units| units.render(width));
                    text.push_str(&format!(" WHEN {condition} THEN {value}"));
                }
                if let Some(value) = otherwise {
                    text.push_str(&format!(" ELSE {}", value.render(width)));
                }
                text + " END"
            }
        }
    }
}

fn render_leaf(sql: &str, leaf: Leaf, width: Width) -> String {
    match leaf {
        Leaf::Int32 => width.cast(&format!("CAST({sql} AS INT)"), 0),
        Leaf::Integer => width.cast(sql, 0),
        Leaf::Timestamp => width.cast(&format!("CAST(CAST({sql} AS TIMESTAMP(6)) AS BIGINT)"), 0),
        Leaf::Decimal { scale: 0, .. } => width.cast(sql, 0),
        Leaf::Decimal { precision, scale } => {
            // The product keeps the operand's scale, so it needs `precision + scale` digits.
            let inner = if precision + scale <= Width::Narrow.digits() { Width::Narrow } else { Width::Wide };
            let shift = inner.cast(&format!("'{}'", power_of_ten(scale)), 0);
            width.cast(&format!("{} * {shift}", inner.cast(sql, scale)), 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(name: &str, low: i64, high: i64) -> Units {
        let range = Interval::point(low.into()).hull(&Interval::point(high.into()));
        Units::Leaf { sql: name.to_owned(), leaf: Leaf::Integer, range }
    }

    fn constant(value: i64) -> Units {
        Units::Constant(value.into())
    }

    fn interval(low: i64, high: i64) -> Interval {
        Interval::point(low.into()).hull(&Interval::point(high.into()))
    }

    #[test]
    fn constants_are_computed_and_spellings_share_one_order() {
        assert_eq!(constant(6).times(constant(7)), constant(42));
        assert_eq!(constant(6).plus(constant(7)), constant(13));
        let (x, y) = (leaf("x", 0, 1), leaf("y", 0, 1));
        assert_eq!(x.clone().times(y.clone()), y.clone().times(x.clone()));
        assert_eq!(x.clone().plus(y.clone()), y.clone().plus(x.clone()));
        assert_eq!(x.clone().times(constant(3)), constant(3).times(x.clone()));
        assert!(matches!(x.clone().times(y.clone()), Units::Mul(a, b) if *a == x && *b == y));
        assert!(matches!(x.clone().plus(y.clone()), Units::Add(a, b) if *a == x && *b == y));
    }

    /// A square is never negative and no wider than it must be; a product of two columns may be.
    #[test]
    fn ranges_are_those_of_the_values() {
        for (low, high, expected) in [
            (-3, 5, (0, 25)),
            (-7, 5, (0, 49)),
            (2, 5, (4, 25)),
            (-5, -2, (4, 25)),
            (0, 4, (0, 16)),
            (-4, 0, (0, 16)),
        ] {
            let x = leaf("x", low, high);
            assert_eq!(x.clone().times(x).range(), interval(expected.0, expected.1), "{low}..{high}");
        }
        let (x, y) = (leaf("x", -3, 5), leaf("y", -2, 7));
        assert_eq!(x.clone().times(y.clone()).range(), interval(-21, 35));
        assert_eq!(x.plus(y).range(), interval(-5, 12));
    }

    /// A sum may be small and its terms not: the decimals must hold both.
    #[test]
    fn decimals_hold_every_node_on_the_way() {
        let digits = |digits: u32| Units::Constant(power_of_ten(digits) - 1);
        let minus = |units: Units| constant(-1).times(units);
        assert_eq!(digits(38).width(), Some(Width::Narrow));
        assert_eq!(Units::Constant(power_of_ten(38)).width(), Some(Width::Wide));
        assert_eq!(digits(76).width(), Some(Width::Wide));
        assert_eq!(Units::Constant(power_of_ten(76)).width(), None);
        let cancelled = Units::Add(Box::new(digits(40)), Box::new(minus(digits(40))));
        assert_eq!(cancelled.range(), interval(0, 0));
        assert_eq!(cancelled.width(), Some(Width::Wide));
        let branches = vec![("c".to_owned(), Some(constant(1))), ("d".to_owned(), None)];
        let chosen = |otherwise| Units::Case { branches: branches.clone(), otherwise };
        assert_eq!(chosen(None).width(), Some(Width::Narrow));
        assert_eq!(chosen(Some(Box::new(digits(40)))).width(), Some(Width::Wide));
    }

    #[test]
    fn a_product_is_missing_with_either_factor() {
        let (x, y) = (leaf("x", 0, 1), leaf("y", 0, 1));
        for units in
            [x.clone().times(y.clone()), x.clone().plus(y.clone()), x.clone().times(y).plus(constant(3))]
        {
            assert!(units.is_null_with("x") && units.is_null_with("y") && !units.is_null_with("z"));
        }
        let case = Units::Case { branches: vec![("c".to_owned(), Some(x))], otherwise: None };
        let sql = case.render(case.width().unwrap());
        assert!(case.is_null_with(&sql) && !case.is_null_with("x"));
    }

    /// A decimal times its power of ten needs the digits of both.
    #[test]
    fn decimals_are_widened_where_their_digits_ask_for_it() {
        let inner = |precision, scale| render_leaf("d", Leaf::Decimal { precision, scale }, Width::Wide);
        let (narrow, wide) = ("CAST(d AS DECIMAL(38,", "CAST(d AS DECIMAL(76,");
        assert!(inner(28, 10).contains(narrow) && !inner(28, 10).contains(wide), "{}", inner(28, 10));
        assert!(inner(29, 10).contains(wide), "{}", inner(29, 10));
        assert!(inner(20, 2).contains(narrow) && inner(38, 1).contains(wide));
    }
}
