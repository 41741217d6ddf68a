// SPDX-License-Identifier: Apache-2.0
//! Columns that are compared for equality alone, by constant-weight codes: a set of few values is a sum of products of flags, one product for each value.

use super::{Code, Places, Values};
use crate::filter::term::Term;
use crate::quantity::{CodewordFlag, ConstantWeight, Flag, FlagOf, MAX_LENGTH, MAX_WEIGHT, Quantity};
use crate::schema::units::{column_bounds, type_bounds};
use crate::schema::{Column, FilterFault};

/// Most values of a set, or of what a set leaves out.
const MOST_VALUES: u64 = 64;

impl Code {
    /// Whether flags tell the values at some places from others: all sets but those of many values of a column for equality alone.
    pub(in crate::filter) fn tells(&self, places: &[Places]) -> bool {
        let Values::Codewords { .. } = &self.values else { return true };
        self.told(places).is_some()
    }

    /// Whether it can be the columns of cells: its flags tell each value, and where it stands among others.
    pub(crate) fn has_cells(&self) -> bool {
        match &self.values {
            Values::Codewords { .. } | Values::Ranks(_) => false,
            Values::Condition { .. } | Values::Digits { .. } | Values::Texts(_) => true,
        }
    }

    /// The few places of a set, or with `false` those that it leaves out; `None` if both are many.
    fn told(&self, places: &[Places]) -> Option<(Vec<u64>, bool)> {
        let taken: u64 = places.iter().map(|(first, last)| last - first + 1).sum();
        let each = |places: &[Places]| places.iter().flat_map(|(first, last)| *first..=*last).collect();
        if taken <= MOST_VALUES {
            return Some((each(places), true));
        }
        let left = crate::filter::condition::others(places, self.count() - 1);
        (self.count() - taken <= MOST_VALUES).then(|| (each(&left), false))
    }

    /// 1 where the value is at one of these places, which [`Code::tells`].
    pub(super) fn within_codewords(&self, low: i128, code: ConstantWeight, places: &[Places]) -> Term {
        let Some((values, is_within)) = self.told(places) else { return Term::Constant(0) };
        let coder = code.coder();
        let equal = |place: u64| {
            let word = coder(place);
            Term::product(code.flags_of(&word).iter().map(|number| {
                let flag = CodewordFlag { low, code, number: *number };
                Term::Stored(self.codeword_flag(flag))
            }))
        };
        let sum = Term::sum(values.into_iter().map(equal));
        if is_within { sum } else { self.valid().minus(sum) }
    }

    /// The flags of a code.
    pub(super) fn codeword_flags(&self, low: i128, code: ConstantWeight) -> impl Iterator<Item = Quantity> {
        (0..code.length).map(move |number| self.codeword_flag(CodewordFlag { low, code, number }))
    }

    fn codeword_flag(&self, flag: CodewordFlag) -> Quantity {
        Quantity::Flag(Flag { column: self.column.clone(), of: FlagOf::Codeword(flag) })
    }
}

/// Values in a constant-weight code, whose weight leaves room for a measure among so many factors.
pub(super) fn codewords_of(column: &Column, factors: usize) -> Result<Values, FilterFault> {
    let name = || column.name.clone();
    let bounds = column_bounds(column).filter(|_| !column.is_approximate());
    let bounds = match bounds {
        Some(bounds) => bounds,
        None if type_bounds(column.kind).is_none() && !column.is_approximate() => {
            return Err(FilterFault::NoRange { column: name() });
        }
        None => return Err(FilterFault::Approximate { column: name() }),
    };
    let most = factors.saturating_sub(1).clamp(1, MAX_WEIGHT);
    let count = bounds.high.abs_diff(bounds.low).saturating_add(1);
    let code = u64::try_from(count).ok().and_then(|count| Some((count, ConstantWeight::of(count, most)?)));
    let limit = || ConstantWeight { length: MAX_LENGTH, weight: most as u8 }.words();
    let (count, code) = code.ok_or_else(|| FilterFault::TooManyValues { column: name(), limit: limit() })?;
    Ok(Values::Codewords { low: bounds.low, count, code })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::cube::{Dimension, Grain};
    use crate::schema::{ColumnType, Protection};
    use crate::tables::{column, nullable, ranged, schema};

    fn code(low: i128, high: i128, factors: Option<u8>) -> Result<Code, FilterFault> {
        let kind = ColumnType::Int { bits: 64 };
        let mut table =
            schema("t", vec![nullable(ranged(column("x", kind, Protection::Encrypt), low, high))]);
        table.filter_factors = factors;
        Code::of(&table, &Dimension { column: "x".into(), grain: Grain::Equality })
    }

    /// What a term is for a value.
    fn value(term: &Term, units: Option<i128>) -> i64 {
        term.evaluate(&|quantity| match (quantity, units) {
            (_, None) => 0,
            (Quantity::Flag(Flag { of: FlagOf::Codeword(flag), .. }), Some(units)) => {
                let word = flag.code.coder()((units - flag.low) as u64);
                i64::from(flag.code.flags_of(&word).contains(&flag.number))
            }
            _ => 1,
        })
    }

    #[test]
    fn sets_of_few_values_and_all_but_few_are_sums_of_products() {
        for (count, factors) in [(3, Some(2)), (70, None), (300, Some(3)), (5000, None), (1 << 24, None)] {
            let code = code(-5, count - 6, factors).unwrap();
            let last = count as u64 - 1;
            let some = [0, 1, 2, last / 3, last / 2, last - 1, last];
            let ranges = [(0, 0), (1, 1), (2, last), (0, last), (last / 3, last / 2), (0, last - 1)];
            let sets = ranges.map(|range| vec![range]).into_iter().chain([
                vec![(0, 0), (last, last)],
                vec![(0, last / 2), (last / 2 + 1, last)],
                Vec::new(),
            ]);
            for places in sets.filter(|places| code.tells(places)) {
                let term = code.within(&places);
                assert!(term.degree() <= code.degree(), "{count} {places:?}");
                for place in some {
                    let inside = places.iter().any(|(first, last)| (*first..=*last).contains(&place));
                    let found = value(&term, Some(i128::from(place) - 5));
                    assert_eq!(found, i64::from(inside), "{count} {places:?} {place}");
                }
                assert_eq!(value(&term, None), 0, "{count} {places:?}");
            }
            assert!(code.tells(&[(3, 3)]) || last < 3);
            assert_eq!(code.tells(&[(0, last / 2)]), last < 127, "{count}");
            assert!(code.tells(&[(0, last)]) && code.tells(&[]) && !code.has_cells());
        }
    }

    #[test]
    fn weights_leave_room_for_a_measure() {
        let shape = |code: Code| (code.degree(), code.quantities().len());
        assert_eq!(code(0, 65_535, None).map(shape), Ok((3, 1 + 75)));
        assert_eq!(code(0, 65_535, Some(3)).map(shape), Ok((2, 1 + 363)));
        assert_eq!(code(0, 300, Some(2)).map(shape), Ok((1, 1 + 301)));
        let too_many = |limit| Err(FilterFault::TooManyValues { column: "x".into(), limit });
        assert_eq!(code(0, 1 << 40, None), too_many(2_829_877_120));
        assert_eq!(code(0, 200_000, Some(3)), too_many(130_816));
        let text = schema("t", vec![column("x", ColumnType::Text, Protection::Encrypt)]);
        let of = Code::of(&text, &Dimension { column: "x".into(), grain: Grain::Equality });
        assert_eq!(of, Err(FilterFault::NoRange { column: "x".into() }));
    }
}
