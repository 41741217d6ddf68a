// SPDX-License-Identifier: Apache-2.0
//! Sorted runs in the owner's half of a plan: which blocks he opens, and where values lie in their order. A server sees none of it.

use crate::aggregates::{Aggregate, Fraction, OrderFunction};
use crate::sql::Query;

/// What a question wants of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunQuery {
    /// Its place among the runs of the schema.
    pub place: usize,
    /// Where its conditions change, rising.
    pub cuts: Vec<Cut>,
    /// Blocks that are read of each part at least, whatever the constants: as many as conditions and ranks can need in a group.
    pub least: usize,
    /// What is asked of segments: those that can match, with the keys of their group and the conditions of ranks ([`Opens::Parted`]).
    /// `None` where all match, in one group.
    pub segments: Option<SegmentsQuery>,
    /// What is opened beside.
    pub opens: Opens,
    /// Places of the blocks that it needs, of each part with the run; the others that come fill up. Known once the indexes are open.
    pub needed: Vec<Vec<u32>>,
}

/// A query on a table with a row for each piece of a segment between two cuts.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentsQuery {
    /// Its outputs are the number of the row, the keys, and the conditions.
    pub query: Query,
    /// Name of the column with the number.
    pub number: String,
    /// How many keys there are.
    pub keys: usize,
    /// The `within` columns and `by`, as far as they are read.
    pub columns: Vec<String>,
}

/// The segments that are opened.
#[derive(Clone, Debug, PartialEq)]
pub enum Opens {
    /// Those with the first rows, as many as this, of all that match.
    First {
        /// How many.
        rows: u64,
        /// Whether values fall.
        descending: bool,
        /// Whether missing values stand before the others.
        nulls_first: bool,
    },
    /// All that match.
    Matching,
    /// Those that a cut parts, and those in which one of these can lie.
    Parted(Vec<Rank>),
}

/// A value of `by` that is asked for by its place in the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rank {
    /// The place.
    pub at: RankAt,
    /// Its condition, as the number of an output of [`SegmentsQuery`] behind the keys; `None` if it has none.
    pub condition: Option<usize>,
}

/// A place in the order of a group's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankAt {
    /// The last.
    Last,
    /// Those at `⌊(n − 1)·p⌋` and behind it.
    Between(Fraction),
    /// That at a place, or the last before it.
    Nth {
        /// The place, from 0 on.
        place: u64,
        /// Whether it is counted from the last.
        descending: bool,
    },
    /// That at `⌈n·p⌉ − 1`, counted from the last if values fall.
    UpTo(Fraction, bool),
}

impl RankAt {
    /// The place of a function that is one value, or two next to one another; `None` for others.
    pub(crate) fn of(aggregate: Aggregate) -> Option<Self> {
        match aggregate {
            Aggregate::Engine("min") => Some(Self::UpTo(Fraction { numerator: 0, denominator: 1 }, false)),
            Aggregate::Engine("max") => Some(Self::Last),
            Aggregate::Ordered(OrderFunction::QuantileCont(part)) => Some(Self::Between(part)),
            Aggregate::Ordered(OrderFunction::QuantileDisc { part, descending }) => {
                Some(Self::UpTo(part, descending))
            }
            _ => None,
        }
    }

    /// The first and the last place that the value of a group of `count` values, at least one, is made of.
    pub fn places(self, count: u64) -> (u64, u64) {
        let last = count.saturating_sub(1);
        let share = |count: u64, part: Fraction, up: bool| {
            let (whole, of) =
                (u128::from(count) * u128::from(part.numerator), u128::from(part.denominator.max(1)));
            (if up { whole.div_ceil(of) } else { whole / of }) as u64
        };
        match self {
            Self::Last => (last, last),
            Self::Between(part) => {
                let low = share(last, part, false);
                (low, (low + 1).min(last))
            }
            Self::Nth { place, descending } => {
                let place = if descending { last - place.min(last) } else { place.min(last) };
                (place, place)
            }
            Self::UpTo(part, descending) => {
                let place = share(count, part, true).max(1) - 1;
                let place = if descending { last - place.min(last) } else { place.min(last) };
                (place, place)
            }
        }
    }
}

/// A value of a run's column; their order is that of the rows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A number in units, or the place of a double in the total order ([`Key::of_double`]).
    Number(i128),
    /// A text, in the order of its bytes.
    Text(String),
}

impl Key {
    /// The place of a double in IEEE 754's total order.
    pub fn of_double(value: f64) -> Self {
        let bits = value.to_bits() as i64;
        Self::Number(i128::from(bits ^ (((bits >> 63) as u64) >> 1) as i64))
    }

    /// The double at a place in the total order; 0 for what is none.
    pub fn double(place: i128) -> f64 {
        let bits = i64::try_from(place).unwrap_or_default();
        f64::from_bits((bits ^ (((bits >> 63) as u64) >> 1) as i64) as u64)
    }

    /// The least value above this one.
    fn next(&self) -> Self {
        match self {
            Self::Number(number) => Self::Number(number.saturating_add(1)),
            Self::Text(text) => Self::Text(format!("{text}\0")),
        }
    }
}

/// A place between values: before all that equal one, or behind them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cut {
    /// The value.
    pub at: Key,
    /// Whether the place is behind it.
    pub behind: bool,
}

impl Cut {
    /// Whether a value lies below.
    pub fn is_above(&self, key: &Key) -> bool {
        if self.behind { *key <= self.at } else { *key < self.at }
    }

    /// The least value that lies above.
    pub fn first_above(&self) -> Key {
        if self.behind { self.at.next() } else { self.at.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_in_the_total_order() {
        let rising = [f64::NEG_INFINITY, -1.5, -f64::MIN_POSITIVE, -0.0, 0.0, 1e-300, 2.5, f64::INFINITY];
        let keys = rising.map(Key::of_double);
        assert!(keys.is_sorted_by(|one, other| one < other), "{keys:?}");
        for (value, key) in rising.into_iter().zip(keys) {
            let Key::Number(place) = key else { panic!() };
            assert_eq!(Key::double(place).to_bits(), value.to_bits());
        }
    }

    #[test]
    fn cuts_part_what_is_below_from_what_is_not() {
        let key = Key::Number;
        let (before, behind) = (Cut { at: key(5), behind: false }, Cut { at: key(5), behind: true });
        assert_eq!([4, 5, 6].map(|number| before.is_above(&key(number))), [true, false, false]);
        assert_eq!([4, 5, 6].map(|number| behind.is_above(&key(number))), [true, true, false]);
        assert_eq!((before.first_above(), behind.first_above()), (key(5), key(6)));
        let text = Cut { at: Key::Text("b".to_owned()), behind: true };
        assert!(text.is_above(&Key::Text("b".to_owned())) && !text.is_above(&text.first_above()));
    }
}
