// SPDX-License-Identifier: Apache-2.0
//! Entries of a table of constants.

use super::digit::{DIGIT_BITS, Digit, Integer};
use super::engine::{Engine, LookUp};
use crate::TfheError;

impl Engine<'_> {
    /// The entries, modulo `4^count`, at places whose two lowest digits count, for each element.
    ///
    /// # Method
    /// One look-up for each digit that entries differ in, or for two of them where places are below 8.
    ///
    /// # Errors
    /// As [`Engine::apply`].
    pub(super) fn entries(
        &mut self,
        places: &[Integer],
        entries: &[i128],
        count: usize,
    ) -> Result<Vec<Integer>, TfheError> {
        let places = self.cleaned(places)?;
        let pair = |integer: &Integer| match integer.0.get(1) {
            Some(high) => high.beside(&integer.lowest()),
            None => Ok(integer.lowest()),
        };
        let places = places.iter().map(pair).collect::<Result<Vec<_>, _>>()?;
        let digit = |entry: i128, place: usize| (entry >> (DIGIT_BITS as usize * place) & 3) as u64;
        let last = entries.last().copied().unwrap_or(0);
        let of_place =
            |place: usize| move |at: u64| digit(entries.get(at as usize).copied().unwrap_or(last), place);
        let differs =
            |place: &usize| entries.iter().any(|entry| digit(*entry, *place) != digit(last, *place));
        let differing: Vec<usize> = (0..count).filter(differs).collect();
        let mut look_ups: Vec<LookUp> = Vec::new();
        let are_small = places.iter().all(|place| place.most < 8);
        for group in differing.chunks(if are_small { 2 } else { 1 }) {
            look_ups.push(match group {
                [low, high] => self.look_up_both([&of_place(*low), &of_place(*high)])?,
                group => self.look_up(of_place(group.first().copied().unwrap_or(0)))?,
            });
        }
        let jobs = places.iter().flat_map(|place| look_ups.iter().map(|look_up| (place.clone(), look_up)));
        let mut found = self.apply(&jobs.collect::<Vec<_>>())?.into_iter();
        let mut of_element = || {
            let mut next = differing.iter().peekable();
            let digits = (0..count).map(|place| {
                let differs = next.next_if(|differing| **differing == place).is_some();
                let known = Digit::constant(digit(last, place));
                if differs { found.next().unwrap_or(known) } else { known }
            });
            Integer(digits.collect())
        };
        Ok(places.iter().map(|_| of_element()).collect())
    }
}
