// SPDX-License-Identifier: Apache-2.0
//! Sets of a column's values as sums of its flags times constants, so that what is read of the column is the same for every set.
//!
//! ```text
//!   one digit       Σ_c T_c·r_c                       r_c = f(c) − f(c − 1), with f(v) = 1 for the values v of the set
//!   two             ⟨T_h, u⟩ + Σ ⟨T_h, α⟩·⟨T_l, β⟩    a product for each end of a range of places
//!   [x ≥ (h, l)]    T_(h+1) + (T_h − T_(h+1))·T_l     what the vectors are made of; further digits take the place of T_l in turn
//! ```
//!
//! `T_0` is 1 where there is a value, and no flag is at the end, where it would be 0.

use super::{Code, Digit, Places, Values, holds};
use crate::plan::Formula;
use crate::quantity::Quantity;

/// A sum of quantities times constants; none stands for the number 1.
pub(crate) type Inner = Vec<(Option<Quantity>, i64)>;

impl Code {
    /// 1 where the value is at one of these places, which are so many ranges at most: the formula, and which sums are added to those before, are the same
    /// for all places.
    pub(in crate::filter) fn computed(
        &self,
        (places, most): (&[Places], usize),
        sums: &mut Vec<Inner>,
    ) -> Formula {
        let has = |place: u64| places.iter().any(|(first, last)| (*first..=*last).contains(&place));
        let constant = |place: u64| i64::from(has(place));
        match &self.values {
            Values::Digits { digits, .. } => match &digits[..] {
                [digit] => {
                    let before = |place: u64| place.checked_sub(1).map_or(0, constant);
                    let steps: Vec<i64> =
                        (0..digit.base()).map(|place| constant(place) - before(place)).collect();
                    push(sums, self.thermometer(*digit, &steps))
                }
                digits => self.ranges(digits, (places, most), sums),
            },
            // No formula is asked for.
            Values::Codewords { .. } | Values::Ranks(_) => push(sums, Vec::new()),
            Values::Texts(texts) => {
                let of_text = |(text, place): (&String, u64)| (Some(self.text(text)), constant(place));
                push(sums, texts.iter().zip(0..).map(of_text).collect())
            }
            Values::Condition { condition, columns, .. } => {
                let flag = |truth| Some(holds(condition, columns, truth));
                let of_truths = match self.nullable {
                    true => vec![(flag(true), constant(1)), (flag(false), constant(0))],
                    false => vec![(None, constant(0)), (flag(true), constant(1) - constant(0))],
                };
                push(sums, of_truths)
            }
        }
    }

    /// 1 where there is no value: nothing of it is a constant of a question.
    pub(in crate::filter) fn missing(&self, sums: &mut Vec<Inner>) -> Formula {
        let valid: Inner = match &self.values {
            _ if !self.nullable => vec![(None, 1)],
            Values::Digits { .. } => vec![(Some(Quantity::Valid(self.column.clone())), 1)],
            Values::Condition { condition, columns, .. } => {
                [true, false].map(|truth| (Some(holds(condition, columns, truth)), 1)).to_vec()
            }
            Values::Codewords { .. } | Values::Ranks(_) => Vec::new(),
            Values::Texts(texts) => texts.iter().map(|text| (Some(self.text(text)), 1)).collect(),
        };
        push(sums, valid).complement()
    }

    /// The flags of a digit from [`Code::valid`] on, times these constants.
    fn thermometer(&self, digit: Digit, constants: &[i64]) -> Inner {
        let valid = || self.nullable.then(|| Quantity::Valid(self.column.clone()));
        let flag = |least: u64| match least {
            0 => valid(),
            least => Some(self.flag(digit, least)),
        };
        (0..).map(flag).zip(constants.iter().copied()).collect()
    }

    /// Ranges of places of several digits: a product for each of their ends, of those that are not there with constants 0.
    fn ranges(&self, digits: &[Digit], (places, most): (&[Places], usize), sums: &mut Vec<Inner>) -> Formula {
        let Some((first, rest)) = digits.split_first() else { return self.missing(sums) };
        let mut total = vec![0; first.base() as usize];
        let mut products: Vec<Formula> = Vec::new();
        for range in 0..most {
            let ends = places.get(range).map(|(first, last)| (*first, last + 1));
            for (end, sign) in [(ends.map(|ends| ends.0), 1), (ends.map(|ends| ends.1), -1)] {
                let end = end.filter(|end| *end < self.count());
                let digit = end.map(|end| first.of(self.low(), end) as usize);
                let mut at = vec![0; total.len()];
                if let Some(digit) = digit {
                    add(&mut total, digit + 1, sign);
                    add(&mut at, digit, sign);
                    add(&mut at, digit + 1, -sign);
                }
                let at = push(sums, self.thermometer(*first, &at));
                products.push(at.times(self.at_least_from(rest, end, sums)));
            }
        }
        let total = push(sums, self.thermometer(*first, &total));
        products.into_iter().fold(total, Formula::plus)
    }

    /// 1 where these digits are at least those of a place.
    fn at_least_from(&self, digits: &[Digit], place: Option<u64>, sums: &mut Vec<Inner>) -> Formula {
        let Some((first, rest)) = digits.split_first() else { return self.missing(sums).complement() };
        let digit = place.map(|place| first.of(self.low(), place) as usize);
        let mut beyond = vec![0; first.base() as usize];
        if rest.is_empty() {
            digit.into_iter().for_each(|digit| add(&mut beyond, digit, 1));
            return push(sums, self.thermometer(*first, &beyond));
        }
        let mut at = beyond.clone();
        if let Some(digit) = digit {
            add(&mut beyond, digit + 1, 1);
            add(&mut at, digit, 1);
            add(&mut at, digit + 1, -1);
        }
        let beyond = push(sums, self.thermometer(*first, &beyond));
        let at = push(sums, self.thermometer(*first, &at));
        beyond.plus(at.times(self.at_least_from(rest, place, sums)))
    }
}

/// Adds to one of the constants; behind the last flag there is none.
fn add(constants: &mut [i64], place: usize, sign: i64) {
    if let Some(constant) = constants.get_mut(place) {
        *constant += sign;
    }
}

fn push(sums: &mut Vec<Inner>, sum: Inner) -> Formula {
    sums.push(sum);
    Formula::Inner(sums.len() - 1)
}
