// SPDX-License-Identifier: Apache-2.0
//! Values in their order, and the one at a place of the order of many such lists: by halves, without looking at every value.

use std::ops::Range;

use hush_plan::plan::Key;
use hush_plan::run::RunColumn;

use crate::run::{OpenRun, RunValues};

/// Values that rise, each of some rows, from one place of a list to another.
#[derive(Clone)]
pub(super) struct Rising<'a> {
    pub(super) of: List<'a>,
    pub(super) places: Range<usize>,
}

/// A list of rising values.
#[derive(Clone, Copy)]
pub(super) enum List<'a> {
    /// The first value of each segment of a run.
    Firsts(&'a OpenRun),
    /// Of each segment of a run a value that none of it is above.
    Lasts(&'a OpenRun),
    /// Values of rows.
    Rows(&'a RunValues),
    /// Values of other rows.
    Keys(&'a [Key]),
}

impl Rising<'_> {
    /// The value at a place of its list.
    pub(super) fn key(&self, by: &RunColumn, place: usize) -> Option<Key> {
        match self.of {
            List::Firsts(run) => run.index.firsts.key(by.form, place),
            List::Lasts(run) => run.index.last(by, place),
            List::Rows(values) => values.key(by.form, place),
            List::Keys(keys) => keys.get(place).cloned(),
        }
    }

    /// Rows of some places of its list.
    pub(super) fn rows_of(&self, places: &Range<usize>) -> u64 {
        match self.of {
            List::Firsts(run) | List::Lasts(run) => run.rows_of(places),
            List::Rows(_) | List::Keys(_) => places.len() as u64,
        }
    }

    /// All of its rows.
    pub(super) fn rows(&self) -> u64 {
        self.rows_of(&self.places)
    }

    /// The place behind the last value of which this holds; it holds of all before.
    pub(super) fn end_of(&self, by: &RunColumn, holds: impl Fn(&Key) -> bool) -> usize {
        let Range { mut start, mut end } = self.places;
        while start < end {
            let middle = start + (end - start) / 2;
            match self.key(by, middle) {
                Some(key) if holds(&key) => start = middle + 1,
                _ => end = middle,
            }
        }
        start
    }
}

/// The values at a place, counted from 0, and at the one behind it, among the rows of some lists; `None` behind the last row.
pub(super) fn at_places(by: &RunColumn, lists: &[Rising<'_>], place: u64) -> (Option<Key>, Option<Key>) {
    let Some(found) = at_place(by, lists.to_vec(), place) else { return (None, None) };
    let (mut rows, mut next) = (0, None);
    for list in lists {
        let end = list.end_of(by, |key| *key <= found);
        rows += list.rows_of(&(list.places.start..end));
        let above = list.key(by, end).filter(|_| end < list.places.end);
        next = next.into_iter().chain(above).min();
    }
    let next = if place + 1 < rows { Some(found.clone()) } else { next };
    (Some(found), next)
}

/// The value at a place, counted from 0, among the rows of some lists; `None` behind the last row.
///
/// # Cost
/// A binary search in each list for each of some `log n` values.
pub(super) fn at_place(by: &RunColumn, mut lists: Vec<Rising<'_>>, mut place: u64) -> Option<Key> {
    loop {
        lists.retain(|list| !list.places.is_empty());
        // The middle of the middles of all lists, by their rows: a quarter of these is below, and a quarter above.
        let middle = |list: &Rising<'_>| {
            let middle = list.places.start + list.places.len() / 2;
            Some((list.key(by, middle)?, list.rows()))
        };
        let mut middles: Vec<(Key, u64)> = lists.iter().filter_map(middle).collect();
        middles.sort_unstable();
        let half = middles.iter().map(|(_, rows)| rows).sum::<u64>() / 2;
        let mut before = 0;
        let pivot = middles.into_iter().find(|(_, rows)| {
            before += rows;
            before > half
        });
        let (pivot, _) = pivot?;
        let ends = lists.iter().map(|list| {
            let below = list.end_of(by, |key| *key < pivot);
            let rest = Rising { of: list.of, places: below..list.places.end };
            (below, rest.end_of(by, |key| *key <= pivot))
        });
        let ends: Vec<(usize, usize)> = ends.collect();
        let rows = |end: fn(&(usize, usize)) -> usize| -> u64 {
            lists.iter().zip(&ends).map(|(list, ends)| list.rows_of(&(list.places.start..end(ends)))).sum()
        };
        let (below, up_to) = (rows(|ends| ends.0), rows(|ends| ends.1));
        if (below..up_to).contains(&place) {
            return Some(pivot);
        }
        let is_below = place < below;
        for (list, (below, up_to)) in lists.iter_mut().zip(ends) {
            if is_below {
                list.places.end = below;
            } else {
                list.places.start = up_to;
            }
        }
        place -= if is_below { 0 } else { up_to };
    }
}

#[cfg(test)]
mod tests;
