// SPDX-License-Identifier: Apache-2.0
//! Runs of a column's values for a search in rounds, along its digits: then a run is a product of as few flags as can be.

use super::{Code, Digit, Places, Values};

/// Most runs that a round parts a run into.
const MAX_RUNS: u64 = 8;

impl Code {
    /// The runs in which a search tells values apart, one level after another: values of a digit, so many together. There are eight runs or fewer within
    /// one of the level before.
    pub(crate) fn levels(&self) -> Vec<(usize, u64)> {
        let Values::Digits { digits, .. } = &self.values else { return Vec::new() };
        let of_digit = |(place, digit): (usize, &Digit)| {
            let base = digit.base();
            let levels = (0..u64::BITS).find(|levels| MAX_RUNS.pow(*levels) >= base).unwrap_or(0);
            let root = (1..=MAX_RUNS).find(|root| root.pow(levels) >= base).unwrap_or(MAX_RUNS);
            (0..levels).rev().map(move |level| (place, root.pow(level)))
        };
        digits.iter().enumerate().flat_map(of_digit).collect()
    }

    /// The places at which runs of a level begin, behind the first of some places and up to the last.
    pub(crate) fn starts(&self, level: usize, (first, last): Places) -> Vec<u64> {
        let Values::Digits { digits, .. } = &self.values else { return Vec::new() };
        let Some((at, together)) = self.levels().get(level).copied() else { return Vec::new() };
        let run = |place: u64| {
            let of_digit = |(digit, value): (usize, &Digit)| {
                value.of(self.low(), place) / if digit == at { together } else { 1 }
            };
            digits.iter().take(at + 1).enumerate().map(of_digit).collect::<Vec<u64>>()
        };
        let (mut starts, mut begin) = (Vec::new(), first);
        // Runs rise with the places.
        while run(begin) < run(last) {
            let (mut low, mut high) = (begin, last);
            while low + 1 < high {
                let middle = low + (high - low) / 2;
                if run(middle) == run(begin) { low = middle } else { high = middle }
            }
            starts.push(high);
            begin = high;
        }
        starts
    }
}
