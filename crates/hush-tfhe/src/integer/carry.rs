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

impl Engine<'_> {
    /// The sums of columns, for each element, modulo `4^columns`.
    ///
    /// # Method
    /// Columns with more than fits one ciphertext are cut in groups that do; each group gives its lowest digit, and a carry to the next column, all of a round at once.
    /// At last carries go from the lowest column to the highest, one after another.
    ///
    /// # Errors
    /// As [`Engine::apply`].
    pub(super) fn add_up(&mut self, mut elements: Vec<Vec<Column>>) -> Result<Vec<Integer>, TfheError> {
        let low = self.look_up(|value| value % BASE)?;
        let high = self.look_up(|value| value / BASE)?;
        while self.compress(&mut elements, (&low, &high))? {}
        self.ripple(&elements, (&low, &high))
    }

    /// One round; whether there was anything to do.
    fn compress(
        &mut self,
        elements: &mut [Vec<Column>],
        (low, high): (&LookUp, &LookUp),
    ) -> Result<bool, TfheError> {
        let (mut jobs, mut places) = (Vec::new(), Vec::new());
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
                    if sum.most >= BASE && place + 1 < count {
                        jobs.push((sum.clone(), high));
                        places.push((element, place + 1));
                    }
                    jobs.push((sum, low));
                    places.push((element, place));
                }
            }
        }
        let results = self.apply(&jobs)?;
        for ((element, place), digit) in places.into_iter().zip(results) {
            if let Some(column) = elements.get_mut(element).and_then(|columns| columns.get_mut(place))
                && digit.known() != Some(0)
            {
                column.push(digit);
            }
        }
        Ok(!jobs.is_empty())
    }

    fn ripple(
        &mut self,
        elements: &[Vec<Column>],
        (low, high): (&LookUp, &LookUp),
    ) -> Result<Vec<Integer>, TfheError> {
        let count = elements.first().map_or(0, Vec::len);
        let mut found = vec![Integer(Vec::with_capacity(count)); elements.len()];
        let mut carries = vec![Digit::constant(0); elements.len()];
        for place in 0..count {
            let mut sums = Vec::with_capacity(elements.len());
            for (columns, carry) in elements.iter().zip(&carries) {
                let mut sum = sum_of(columns.get(place).map_or(&[][..], Vec::as_slice))?;
                sum.add_scaled(carry, 1)?;
                sums.push(sum);
            }
            let carried = |sum: &Digit| sum.most >= BASE && place + 1 < count;
            let lows = sums.iter().filter(|sum| !sum.is_clean()).map(|sum| (sum.clone(), low));
            let highs = sums.iter().filter(|sum| carried(sum)).map(|sum| (sum.clone(), high));
            let jobs: Vec<_> = lows.chain(highs).collect();
            let split = sums.iter().filter(|sum| !sum.is_clean()).count();
            let results = self.apply(&jobs)?;
            let (lows, highs) = results.split_at(split);
            let (mut lows, mut highs) = (lows.iter(), highs.iter());
            for ((sum, integer), carry) in sums.into_iter().zip(&mut found).zip(&mut carries) {
                *carry = match carried(&sum) {
                    true => highs.next().cloned().unwrap_or_else(|| Digit::constant(0)),
                    false => Digit::constant(0),
                };
                let digit = if sum.is_clean() { Some(sum) } else { lows.next().cloned() };
                integer.0.extend(digit);
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
