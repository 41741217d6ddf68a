// SPDX-License-Identifier: Apache-2.0
//! Sums: digits in columns, carried until each column has one.

use super::digit::{BASE, Digit, Integer, MOST};
use super::engine::{Engine, LookUp};
use crate::TfheError;

/// Digits of one place, to be added up.
pub(super) type Column = Vec<Digit>;

/// What a column may have before the carries ripple: a carry of up to 3 and of norm 1 comes in.
const READY_MOST: u64 = MOST - (BASE - 1);
/// See [`READY_MOST`].
const READY_NORM: u32 = 4;

/// The look-ups of sums.
struct Carries {
    /// The lowest digit.
    low: LookUp,
    /// What is carried.
    high: LookUp,
    /// Both, of sums up to 7.
    both: LookUp,
}

/// A sum, and whether its lowest digit is wanted, and its carry.
type Split = (Digit, bool, bool);
/// The lowest digit and the carry, where they are wanted.
type Halves = (Option<Digit>, Option<Digit>);

impl Engine<'_> {
    /// The sums of columns, for each element, modulo `4^columns`.
    ///
    /// # Method
    /// Columns with more than fits one ciphertext are cut in groups that do; each group gives its lowest digit, and a carry to the next column, all of a round at once.
    /// At last carries go from the lowest column to the highest, one after another. One look-up gives a digit and a carry of sums up to 7: of two digits and a carry into them.
    ///
    /// # Errors
    /// As [`Engine::apply`].
    pub(super) fn add_up(&mut self, mut elements: Vec<Vec<Column>>) -> Result<Vec<Integer>, TfheError> {
        let (low, high) = (|value: u64| value % BASE, |value: u64| value / BASE);
        let both = self.look_up_both([&low, &high])?;
        let carries = Carries { low: self.look_up(low)?, high: self.look_up(high)?, both };
        while self.compress(&mut elements, &carries)? {}
        self.ripple(&elements, &carries)
    }

    /// The lowest digits and the carries of sums, as far as they are wanted.
    fn split(&mut self, sums: &[Split], carries: &Carries) -> Result<Vec<Halves>, TfheError> {
        let Carries { low, high, both } = carries;
        let mut jobs = Vec::new();
        for (sum, wants_low, wants_high) in sums {
            let look_ups: &[&LookUp] = match (wants_low, wants_high) {
                (true, true) if sum.most <= both.most() => &[both],
                (true, true) => &[low, high],
                (true, false) => &[low],
                (false, true) => &[high],
                (false, false) => &[],
            };
            jobs.extend(look_ups.iter().map(|look_up| (sum.clone(), *look_up)));
        }
        let mut found = self.apply(&jobs)?.into_iter();
        let mut next = |is_wanted: &bool| if *is_wanted { found.next() } else { None };
        Ok(sums.iter().map(|(_, wants_low, wants_high)| (next(wants_low), next(wants_high))).collect())
    }

    /// One round; whether there was anything to do.
    fn compress(&mut self, elements: &mut [Vec<Column>], carries: &Carries) -> Result<bool, TfheError> {
        let (mut sums, mut places) = (Vec::new(), Vec::new());
        for (element, columns) in elements.iter_mut().enumerate() {
            let count = columns.len();
            for (place, column) in columns.iter_mut().enumerate() {
                if is_ready(column) {
                    continue;
                }
                for group in groups(std::mem::take(column), self.limit()) {
                    let sum = sum_of(&group)?;
                    if group.len() == 1 && sum.is_clean() {
                        column.push(sum);
                        continue;
                    }
                    let is_carried = sum.most >= BASE && place + 1 < count;
                    sums.push((sum, true, is_carried));
                    places.push((element, place));
                }
            }
        }
        let results = self.split(&sums, carries)?;
        for ((element, place), (low, high)) in places.into_iter().zip(results) {
            for (digit, place) in [(low, place), (high, place + 1)] {
                if let Some(digit) = digit.filter(|digit| digit.known() != Some(0))
                    && let Some(column) = elements.get_mut(element).and_then(|columns| columns.get_mut(place))
                {
                    column.push(digit);
                }
            }
        }
        Ok(!sums.is_empty())
    }

    fn ripple(&mut self, elements: &[Vec<Column>], carries: &Carries) -> Result<Vec<Integer>, TfheError> {
        let count = elements.first().map_or(0, Vec::len);
        let mut found = vec![Integer(Vec::with_capacity(count)); elements.len()];
        let mut carried = vec![Digit::constant(0); elements.len()];
        for place in 0..count {
            let mut sums: Vec<Split> = Vec::with_capacity(elements.len());
            for (columns, carry) in elements.iter().zip(&carried) {
                let mut sum = sum_of(columns.get(place).map_or(&[][..], Vec::as_slice))?;
                sum.add_scaled(carry, 1)?;
                let (is_clean, is_carried) = (sum.is_clean(), sum.most >= BASE && place + 1 < count);
                sums.push((sum, !is_clean, is_carried));
            }
            let results = self.split(&sums, carries)?;
            let places = sums.into_iter().zip(results).zip(&mut found).zip(&mut carried);
            for ((((sum, ..), (low, high)), integer), carry) in places {
                *carry = high.unwrap_or_else(|| Digit::constant(0));
                integer.0.push(low.unwrap_or(sum));
            }
        }
        Ok(found)
    }
}

fn is_ready(column: &[Digit]) -> bool {
    let most: u64 = column.iter().map(|digit| digit.most).sum();
    let norm: u32 = column.iter().map(|digit| digit.norm).sum();
    most <= READY_MOST && norm <= READY_NORM
}

/// Digits in groups whose sums fit a ciphertext.
fn groups(digits: Column, limit: (u64, u32)) -> Vec<Column> {
    let mut groups: Vec<(Column, u64, u32)> = Vec::new();
    for digit in digits {
        let fits = |(_, most, norm): &&mut (Column, u64, u32)| {
            most.saturating_add(digit.most) <= limit.0 && norm.saturating_add(digit.norm) <= limit.1
        };
        match groups.iter_mut().find(|group| fits(group)) {
            Some((group, most, norm)) => {
                *most += digit.most;
                *norm += digit.norm;
                group.push(digit);
            }
            None => groups.push((vec![digit.clone()], digit.most, digit.norm)),
        }
    }
    groups.into_iter().map(|(group, ..)| group).collect()
}

fn sum_of(digits: &[Digit]) -> Result<Digit, TfheError> {
    let mut sum = Digit::constant(0);
    digits.iter().try_for_each(|digit| sum.add_scaled(digit, 1))?;
    Ok(sum)
}
