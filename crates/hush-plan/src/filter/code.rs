// SPDX-License-Identifier: Apache-2.0
//! How the values of a column are written in flags, so that a comparison with a constant is a choice among them.
//!
//! *Numbers.* The place of a value is how far it lies above the least one. Its digits, most significant first, are written as a thermometer: for each
//! digit the flags `T_c = [digit ≥ c]` for c from 1 to base − 1. `T_0` is 1 where there is a value, and `T_base` is 0.
//!
//! *Dates* have even digits too, or those of the calendar: year, month and day. Then a bound that begins a year is one flag, and one that begins a
//! month two.
//!
//! *Equality alone.* A value is a set of flags, of which all values have as many.
//!
//! *Texts.* A flag for each: there is no order.
//!
//! *Ranks.* Of more values than flags can tell, and of texts that nobody lists, the place among the values of a chunk is written in digits.
//!
//! *Conditions that are derived.* A flag where it is true, and one where it is false if it may be NULL.
//!
//! *Source.* Thermometer columns for comparisons without products: docs/math/products.md.

mod digits;
mod equal;
mod inner;
mod levels;
mod ranks;

pub use digits::CodeValue;
use equal::codewords_of;
pub(crate) use inner::Inner;
pub(crate) use ranks::rank_flags;
use sqlparser::ast::Expr;

use super::USUAL_DEGREE;
use super::term::Term;
use crate::derived::Derived;
use crate::plan::{ChosenOf, Cut};
use crate::quantity::{
    ConstantWeight, DateFlag, DatePart, DigitFlag, Flag, FlagOf, Holds, Quantity, RANK_DIGITS,
};
use crate::schema::cube::{Dimension, Grain};
use crate::schema::units::{column_bounds, type_bounds};
use crate::schema::{Column, ColumnType, FilterFault, MAX_BASE, MAX_DIGITS, Protection, Schema};

/// Most years of dates in digits of the calendar.
const MAX_YEARS: u64 = 256;
/// Most texts.
const MAX_TEXTS: usize = 256;

/// A column that conditions may be on.
#[derive(Clone, Debug, PartialEq)]
pub struct Code {
    /// The column.
    pub(crate) column: String,
    pub(crate) kind: ColumnType,
    pub(crate) nullable: bool,
    values: Values,
}

#[derive(Clone, Debug, PartialEq)]
enum Values {
    /// In a code of one weight.
    Codewords {
        low: i128,
        count: u64,
        code: ConstantWeight,
    },
    Digits {
        low: i128,
        count: u64,
        /// Most significant first.
        digits: Vec<Digit>,
    },
    /// Ranks, and the cuts between places.
    Ranks(Vec<Cut>),
    Texts(Vec<String>),
    /// What is true of the values of these columns.
    Condition {
        condition: String,
        columns: Vec<String>,
        /// The columns that it compares with a constant each, if that is all.
        equalities: Vec<(String, Expr)>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Digit {
    /// Of the place of a value.
    Even { step: u64, base: u64 },
    /// Of a date, from the first to the last that it can be.
    Part { part: DatePart, first: i64, last: i64 },
}

impl Digit {
    /// Values that it has.
    fn base(self) -> u64 {
        match self {
            Self::Even { base, .. } => base,
            Self::Part { first, last, .. } => last.abs_diff(first) + 1,
        }
    }

    /// It of the value that lies so far above the least one, from 0 on.
    fn of(self, low: i128, place: u64) -> u64 {
        match self {
            Self::Even { step, base } => place / step % base,
            Self::Part { part, first, .. } => part.of(low + i128::from(place)).abs_diff(first),
        }
    }

    /// When it is at least this one, which is not 0.
    fn flag(self, low: i128, least: u64) -> FlagOf {
        match self {
            Self::Even { step, base } => FlagOf::Digit(DigitFlag { low, step, base, least }),
            Self::Part { part, first, .. } => {
                FlagOf::Date(DateFlag { part, least: first.saturating_add_unsigned(least) })
            }
        }
    }
}

/// Places from one to another, both included.
pub(crate) type Places = (u64, u64);

impl Code {
    /// The code of a column.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(schema: &Schema, dimension: &Dimension) -> Result<Self, FilterFault> {
        let Dimension { column: name, grain } = dimension;
        let column = schema.columns.iter().find(|column| column.name == *name);
        let column = column.ok_or_else(|| FilterFault::NoColumn { column: name.clone() })?;
        match (column.protect, grain) {
            (Protection::Encrypt, _) | (Protection::Seal, Grain::Texts(_)) => {}
            (Protection::Seal, Grain::Each) if column.is_ranked() => {}
            (Protection::Seal, _) => return Err(FilterFault::Sealed { column: name.clone() }),
            (Protection::Clear | Protection::Decide | Protection::Drop | Protection::JoinKey, _) => {
                return Err(FilterFault::NotHidden { column: name.clone() });
            }
        }
        let values = match grain {
            Grain::Texts(texts) => texts_of(column, texts)?,
            Grain::Each if column.is_ranked() => Values::Ranks(Vec::new()),
            Grain::Each => digits_of(column)?,
            Grain::Calendar => parts_of(column)?,
            Grain::Equality => codewords_of(column, schema.filter_factors.map_or(USUAL_DEGREE, usize::from))?,
            Grain::Bins(_) | Grain::Month | Grain::Quarter | Grain::Year => {
                return Err(FilterFault::Grain { column: name.clone() });
            }
        };
        Ok(Self { column: name.clone(), kind: column.kind, nullable: column.nullable, values })
    }

    /// The code of a condition that is derived, as a column of truth values.
    pub(crate) fn of_derived(derived: Derived) -> Self {
        let equalities = derived.equalities();
        let Derived { name, condition, columns, nullable, .. } = derived;
        Self {
            column: name,
            kind: ColumnType::Bool,
            nullable,
            values: Values::Condition { condition, columns, equalities },
        }
    }

    /// Factors of the product that a condition on it is, at most.
    pub(crate) fn degree(&self) -> usize {
        match &self.values {
            Values::Codewords { code, .. } => code.weight.into(),
            Values::Digits { digits, .. } => digits.len(),
            Values::Ranks(_) => RANK_DIGITS,
            Values::Condition { .. } | Values::Texts(_) => 1,
        }
    }

    /// Values.
    pub(crate) fn count(&self) -> u64 {
        match &self.values {
            Values::Codewords { count, .. } | Values::Digits { count, .. } => *count,
            Values::Condition { .. } => 2,
            Values::Ranks(cuts) => cuts.len() as u64 + 1,
            Values::Texts(texts) => texts.len() as u64,
        }
    }

    /// The largest value, of numbers.
    pub(crate) fn high(&self) -> i128 {
        self.low() + i128::from(self.count()) - 1
    }

    /// Whether values have an order that flags know.
    pub(crate) fn is_ordered(&self) -> bool {
        !matches!(self.values, Values::Texts(_))
    }

    /// Whether it is of the condition that a flag is of.
    pub(crate) fn is_of(&self, holds: &Holds) -> bool {
        matches!(&self.values, Values::Condition { condition, .. } if *condition == holds.condition)
    }

    /// The columns that its condition compares with a constant each, if that is all that it is.
    pub(super) fn equalities(&self) -> &[(String, Expr)] {
        match &self.values {
            Values::Condition { equalities, .. } => equalities,
            Values::Codewords { .. } | Values::Digits { .. } | Values::Ranks(_) | Values::Texts(_) => &[],
        }
    }

    /// The least value, of numbers.
    pub(crate) fn low(&self) -> i128 {
        match &self.values {
            Values::Codewords { low, .. } | Values::Digits { low, .. } => *low,
            Values::Condition { .. } | Values::Ranks(_) | Values::Texts(_) => 0,
        }
    }

    /// The place of a text.
    pub(crate) fn place_of_text(&self, text: &str) -> Option<u64> {
        match &self.values {
            Values::Codewords { .. }
            | Values::Condition { .. }
            | Values::Digits { .. }
            | Values::Ranks(_) => None,
            Values::Texts(texts) => texts.iter().position(|known| known == text).map(|place| place as u64),
        }
    }

    /// What is encrypted of it: all flags, and where there is a value.
    pub(crate) fn quantities(&self) -> Vec<Quantity> {
        let has_zero = matches!(self.values, Values::Codewords { .. } | Values::Digits { .. });
        let valid = (self.nullable && has_zero).then(|| Quantity::Valid(self.column.clone()));
        let flags: Vec<Quantity> = match &self.values {
            Values::Codewords { low, code, .. } => self.codeword_flags(*low, *code).collect(),
            Values::Digits { digits, .. } => {
                let of_digit = |digit: &Digit| {
                    (1..digit.base()).map(|least| self.flag(*digit, least)).collect::<Vec<_>>()
                };
                digits.iter().flat_map(of_digit).collect()
            }
            Values::Ranks(_) => rank_flags(&self.column).collect(),
            Values::Texts(texts) => texts.iter().map(|text| self.text(text)).collect(),
            Values::Condition { condition, columns, .. } => {
                let truths: &[bool] = if self.nullable { &[true, false] } else { &[true] };
                truths.iter().map(|truth| holds(condition, columns, *truth)).collect()
            }
        };
        valid.into_iter().chain(flags).collect()
    }

    /// 1 where there is a value.
    pub(crate) fn valid(&self) -> Term {
        match &self.values {
            _ if !self.nullable => Term::Constant(1),
            Values::Codewords { .. } | Values::Digits { .. } => {
                Term::Stored(Quantity::Valid(self.column.clone()))
            }
            Values::Ranks(_) => self.chosen(ChosenOf::Valid),
            // Every value has a flag.
            Values::Condition { condition, columns, .. } => {
                Term::sum([true, false].map(|truth| Term::Stored(holds(condition, columns, truth))))
            }
            Values::Texts(texts) => Term::sum(texts.iter().map(|text| Term::Stored(self.text(text)))),
        }
    }

    /// 1 where the value is at one of these places, which rise and do not meet, and which [`Code::tells`].
    pub(crate) fn within(&self, places: &[Places]) -> Term {
        let taken: u64 = places.iter().map(|(first, last)| last - first + 1).sum();
        match &self.values {
            Values::Codewords { low, code, .. } => self.within_codewords(*low, *code, places),
            Values::Digits { digits, .. } => {
                let ranges = places.iter().map(|(first, last)| {
                    if first == last && digits.len() > 1 && *first > 0 && *last + 1 < self.count() {
                        return self.equal(digits, *first);
                    }
                    self.from(digits, *first).minus(self.from(digits, last + 1))
                });
                Term::sum(ranges)
            }
            Values::Condition { condition, columns, .. } => self.of_truths((condition, columns), places),
            Values::Ranks(cuts) => self.within_cuts(cuts, places),
            Values::Texts(texts) => {
                let is_taken =
                    |place: u64| places.iter().any(|(first, last)| (*first..=*last).contains(&place));
                let of = |taken: bool| {
                    let some = texts.iter().zip(0..).filter(move |(_, place)| is_taken(*place) == taken);
                    Term::sum(some.map(|(text, _)| Term::Stored(self.text(text))))
                };
                if 2 * taken > self.count() && !self.nullable {
                    self.valid().minus(of(false))
                } else {
                    of(true)
                }
            }
        }
    }

    /// 1 where a condition has one of its truth values, which are the places 0 and 1.
    fn of_truths(&self, (condition, columns): (&str, &[String]), places: &[Places]) -> Term {
        let has = |place: u64| places.iter().any(|(first, last)| (*first..=*last).contains(&place));
        let flag = |truth| Term::Stored(holds(condition, columns, truth));
        match (has(0), has(1)) {
            (false, false) => Term::Constant(0),
            (false, true) => flag(true),
            (true, false) if self.nullable => flag(false),
            (true, false) => Term::Constant(1).minus(flag(true)),
            (true, true) => self.valid(),
        }
    }

    /// 1 where the place is at least this one.
    fn from(&self, digits: &[Digit], place: u64) -> Term {
        if place >= self.count() {
            return Term::Constant(0);
        }
        // From the last digit to the first; `None` as long as all digits are 0, so that every value will do.
        let mut found: Option<Term> = None;
        for digit in digits.iter().rev() {
            let least = digit.of(self.low(), place);
            found = match found {
                None if least == 0 => None,
                None => Some(self.at_least(*digit, least)),
                Some(rest) => {
                    let (this, next) = (self.at_least(*digit, least), self.at_least(*digit, least + 1));
                    Some(next.clone().plus(this.minus(next).times(rest)))
                }
            };
        }
        found.unwrap_or_else(|| self.valid())
    }

    /// 1 where the place is this one.
    fn equal(&self, digits: &[Digit], place: u64) -> Term {
        let of_digit = |digit: &Digit| {
            let value = digit.of(self.low(), place);
            self.at_least(*digit, value).minus(self.at_least(*digit, value + 1))
        };
        Term::product(digits.iter().map(of_digit))
    }

    fn at_least(&self, digit: Digit, least: u64) -> Term {
        match least {
            0 => self.valid(),
            least if least >= digit.base() => Term::Constant(0),
            least => Term::Stored(self.flag(digit, least)),
        }
    }

    fn flag(&self, digit: Digit, least: u64) -> Quantity {
        Quantity::Flag(Flag { column: self.column.clone(), of: digit.flag(self.low(), least) })
    }

    fn text(&self, text: &str) -> Quantity {
        Quantity::Flag(Flag { column: self.column.clone(), of: FlagOf::Text(text.to_owned()) })
    }
}

fn holds(condition: &str, columns: &[String], truth: bool) -> Quantity {
    Quantity::Holds(Holds { condition: condition.to_owned(), columns: columns.to_vec(), truth })
}

/// As few digits as keep each below its bound, all about as large: then there are the fewest flags.
fn digits_of(column: &Column) -> Result<Values, FilterFault> {
    let name = || column.name.clone();
    let bounds = column_bounds(column).filter(|_| !column.is_approximate());
    let bounds = match bounds {
        Some(bounds) => bounds,
        None if type_bounds(column.kind).is_none() && !column.is_approximate() => {
            return Err(FilterFault::NoValues { column: name() });
        }
        None => return Err(FilterFault::Approximate { column: name() }),
    };
    let most = MAX_BASE.pow(MAX_DIGITS);
    let count = bounds.high.abs_diff(bounds.low).saturating_add(1);
    let count = u64::try_from(count).ok().filter(|count| *count <= most);
    let count = count.ok_or(FilterFault::TooManyValues { column: name(), limit: most })?;
    let number = (1..=MAX_DIGITS).find(|digits| count <= MAX_BASE.pow(*digits)).unwrap_or(MAX_DIGITS);
    let root = (1..=MAX_BASE).find(|base| base.pow(number) >= count).unwrap_or(MAX_BASE);
    let mut digits = Vec::new();
    let (mut step, mut left) = (1_u64, count);
    for place in (1..=number).rev() {
        // The last one is as large as is needed.
        let base = if place == 1 { left } else { root.min(left) };
        digits.push(Digit::Even { step, base });
        step *= base;
        left = left.div_ceil(base);
    }
    digits.reverse();
    Ok(Values::Digits { low: bounds.low, count, digits })
}

/// Year, month and day.
fn parts_of(column: &Column) -> Result<Values, FilterFault> {
    let name = || column.name.clone();
    if column.kind != ColumnType::Date {
        return Err(FilterFault::Grain { column: name() });
    }
    let bounds = column_bounds(column).ok_or_else(|| FilterFault::NoValues { column: name() })?;
    let (first, last) = (DatePart::Year.of(bounds.low), DatePart::Year.of(bounds.high));
    let count = bounds.high.abs_diff(bounds.low).saturating_add(1);
    let count = u64::try_from(count).ok().filter(|_| last.abs_diff(first) < MAX_YEARS);
    let count = count.ok_or_else(|| FilterFault::TooManyValues { column: name(), limit: MAX_YEARS * 366 })?;
    let digits = vec![
        Digit::Part { part: DatePart::Year, first, last },
        Digit::Part { part: DatePart::Month, first: 1, last: 12 },
        Digit::Part { part: DatePart::Day, first: 1, last: 31 },
    ];
    Ok(Values::Digits { low: bounds.low, count, digits })
}

fn texts_of(column: &Column, texts: &[String]) -> Result<Values, FilterFault> {
    let name = || column.name.clone();
    if type_bounds(column.kind).is_some() || matches!(column.kind, ColumnType::Float { .. }) {
        return Err(FilterFault::Grain { column: name() });
    }
    if texts.is_empty() {
        return Err(FilterFault::NoValues { column: name() });
    }
    if texts.len() > MAX_TEXTS {
        return Err(FilterFault::TooManyValues { column: name(), limit: MAX_TEXTS as u64 });
    }
    if (1..texts.len()).any(|place| texts[..place].contains(&texts[place])) {
        return Err(FilterFault::Twice { column: name() });
    }
    Ok(Values::Texts(texts.to_vec()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::schema::units::days_from_civil;
    use crate::tables::{column, nullable, ranged, schema};

    /// What a term is for a value.
    fn value(term: &Term, code: &Code, units: Option<i128>) -> i64 {
        let known: BTreeMap<Quantity, i64> = code
            .quantities()
            .into_iter()
            .map(|quantity| {
                let set = match (&quantity, units) {
                    (_, None) => false,
                    (Quantity::Flag(Flag { of: FlagOf::Digit(flag), .. }), Some(units)) => flag.is_set(units),
                    (Quantity::Flag(Flag { of: FlagOf::Date(flag), .. }), Some(units)) => flag.is_set(units),
                    _ => true,
                };
                (quantity, i64::from(set))
            })
            .collect();
        term.evaluate(&|quantity| known[quantity])
    }

    #[test]
    fn comparisons_of_every_width_are_choices_of_flags() {
        for count in [2_i128, 11, 50, 64, 65, 100, 2526, 65_536, 300_000] {
            let kind = ColumnType::Int { bits: 64 };
            let schema =
                schema("t", vec![nullable(ranged(column("x", kind, Protection::Encrypt), -7, count - 8))]);
            let code = Code::of(&schema, &Dimension { column: "x".into(), grain: Grain::Each }).unwrap();
            let flags = code.quantities().len();
            assert!(flags as u64 <= 1 + 63 * code.degree() as u64, "{count}");
            let last = count as u64 - 1;
            let some = [0, 1, last / 3, last / 2, last / 2 + 1, last - last / 7, last];
            for first in some {
                for end in some.into_iter().filter(|end| *end >= first) {
                    let term = code.within(&[(first, end)]);
                    assert!(term.degree() <= code.degree(), "{count} {first}..{end}");
                    for place in some.into_iter().chain([first.saturating_sub(1), (end + 1).min(last)]) {
                        let inside = i64::from((first..=end).contains(&place));
                        assert_eq!(
                            value(&term, &code, Some(i128::from(place) - 7)),
                            inside,
                            "{count} {first}..{end} {place}"
                        );
                    }
                    assert_eq!(value(&term, &code, None), 0);
                }
            }
        }
    }

    #[test]
    fn days_of_seven_years_are_two_digits_of_fifty() {
        let schema =
            schema("t", vec![ranged(column("day", ColumnType::Date, Protection::Encrypt), 8035, 10_560)]);
        let code = Code::of(&schema, &Dimension { column: "day".into(), grain: Grain::Each }).unwrap();
        assert_eq!((code.count(), code.degree(), code.quantities().len()), (2526, 2, 49 + 50));
    }
    /// Every bound on seven years of dates, by the calendar: whole years take one factor, whole months two.
    #[test]
    fn dates_by_the_calendar_are_years_months_and_days() {
        let mut date = nullable(ranged(column("day", ColumnType::Date, Protection::Encrypt), 8035, 10_560));
        date.nullable = false;
        let schema = schema("t", vec![date]);
        let code = Code::of(&schema, &Dimension { column: "day".into(), grain: Grain::Calendar }).unwrap();
        assert_eq!((code.count(), code.degree(), code.quantities().len()), (2526, 3, 6 + 11 + 30));
        let degree =
            |first: i128, last: i128| code.within(&[((first - 8035) as u64, (last - 8035) as u64)]).degree();
        let day = |year, month, day| i128::from(days_from_civil(year, month, day).unwrap());
        assert_eq!(degree(day(1994, 1, 1), day(1994, 12, 31)), 1);
        assert_eq!(degree(day(1995, 9, 1), day(1996, 2, 29)), 2);
        assert_eq!(degree(day(1995, 9, 1), day(1996, 2, 28)), 3);
        let last = code.count() - 1;
        for (first, end) in
            [(0, 0), (0, last), (29, 31), (1, 365), (364, 364), (790, 1519), (851, 852), (last, last)]
        {
            let term = code.within(&[(first, end)]);
            for place in 0..=last {
                let inside = i64::from((first..=end).contains(&place));
                assert_eq!(
                    value(&term, &code, Some(8035 + i128::from(place))),
                    inside,
                    "{first}..{end} {place}"
                );
            }
        }
        let number = schema_of_number();
        assert!(Code::of(&number, &Dimension { column: "x".into(), grain: Grain::Calendar }).is_err());
    }

    fn schema_of_number() -> Schema {
        schema("t", vec![ranged(column("x", ColumnType::Int { bits: 32 }, Protection::Encrypt), 0, 9)])
    }
}
