// SPDX-License-Identifier: Apache-2.0
//! What a grouped query counts: segments that stayed closed, and rows of the others. Neighbours that no expression of the query tells apart count as
//! one, so that the query engine sees few rows however many parts there are.
//!
//! ```text
//! segments ┬ closed ─────────────▶ first value, rows, sums ┐
//!          └ opened ─▶ each row ─▶ value, 1, its own sums  ┴▶ neighbours of a group between the same cuts ─▶ least value, Σ rows, Σ sums
//! ```
//!
//! Where a quantile or a greatest value is asked for, the places between values that it is made of are cuts as well.

use std::ops::Range;

use hush_plan::plan::{Cut, Key, Opens, RunQuery};
use hush_plan::run::RunColumn;

use super::Blocks;
use super::rising::{List, Rising, at_places};
use crate::run::{BlockRows, OpenRun, PartRun, RunValues};

/// Where a value stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The first of a segment of a run, by their numbers.
    Segment(usize, usize),
    /// In a row of the batch.
    Row(usize),
}

/// What counts as one.
#[derive(Default)]
pub(super) struct Units {
    /// Where its least values stand.
    pub(super) places: Vec<Place>,
    /// How many rows it is.
    pub(super) rows: Vec<i64>,
    /// Its sums, lane by lane.
    pub(super) sums: Vec<Vec<i128>>,
}

/// Segments of a group that stayed closed, or rows of one that did not.
struct Stretch<'a> {
    /// The run and the group there; `None` for rows of parts without the run.
    group: Option<(usize, u32)>,
    rising: Rising<'a>,
    /// Whether `by` has values in it.
    has_values: bool,
}

/// What the units are made of.
pub(super) struct Counting<'a> {
    pub(super) by: &'a RunColumn,
    pub(super) runs: &'a [PartRun],
    pub(super) blocks: &'a Blocks,
    /// `by` of all opened rows, block after block, and of the rows of parts without the run behind them.
    pub(super) values: &'a RunValues,
    /// The sums that are read: the lanes of segments, and what each row adds to them.
    pub(super) lanes: &'a [(usize, Vec<i128>)],
}

impl Counting<'_> {
    /// The units of a query.
    ///
    /// # Cost
    /// Binary searches in each stretch of segments or rows; linear in both where sums are read, or nothing counts as one.
    pub(super) fn units(&self, query: &RunQuery) -> Units {
        let (stretches, beside) = self.stretches();
        let cuts = self.cuts(query, &stretches, &beside);
        let mut units = Units { sums: vec![Vec::new(); self.lanes.len()], ..Units::default() };
        let mut last = None;
        for Stretch { group, rising, has_values } in &stretches {
            let mut start = rising.places.start;
            while start < rising.places.end {
                let (zone, end) = match &cuts {
                    None => (None, start + 1),
                    Some(_) if !has_values => (None, rising.places.end),
                    Some(cuts) => {
                        let rest = Rising { of: rising.of, places: start..rising.places.end };
                        let first = rest.key(self.by, start);
                        let zone = cuts
                            .partition_point(|cut| first.as_ref().is_some_and(|first| !cut.is_above(first)));
                        let end = cuts
                            .get(zone)
                            .map_or(rest.places.end, |cut| rest.end_of(self.by, |key| cut.is_above(key)));
                        (Some(zone), end.max(start + 1))
                    }
                };
                let class = group.filter(|_| cuts.is_some()).map(|group| (group, zone));
                let is_same = class.is_some() && last == class;
                last = class;
                self.count(&mut units, *group, rising, start..end, is_same);
                start = end;
            }
        }
        for row in beside {
            self.count(
                &mut units,
                None,
                &Rising { of: List::Rows(self.values), places: row..row + 1 },
                row..row + 1,
                false,
            );
        }
        units
    }

    /// Counts some segments or rows, as part of the last unit or as one more.
    fn count(
        &self,
        units: &mut Units,
        group: Option<(usize, u32)>,
        rising: &Rising<'_>,
        places: Range<usize>,
        is_same: bool,
    ) {
        let rows = i64::try_from(rising.rows_of(&places)).unwrap_or(i64::MAX);
        match units.rows.last_mut().filter(|_| is_same) {
            Some(count) => *count += rows,
            None => {
                units.rows.push(rows);
                units.places.push(match (rising.of, group) {
                    (List::Firsts(_), Some((run, _))) => Place::Segment(run, places.start),
                    _ => Place::Row(places.start),
                });
            }
        }
        for (sums, (lane, of_rows)) in units.sums.iter_mut().zip(self.lanes) {
            let sum: i128 = match rising.of {
                List::Firsts(run) | List::Lasts(run) => {
                    let segments = run.index.segments.get(places.clone()).unwrap_or_default();
                    segments.iter().filter_map(|segment| segment.sums.get(*lane)).sum()
                }
                _ => of_rows.get(places.clone()).unwrap_or_default().iter().sum(),
            };
            match sums.last_mut().filter(|_| is_same) {
                Some(all) => *all += sum,
                None => sums.push(sum),
            }
        }
    }

    /// The stretches of each run in its order, and the rows of parts without the run.
    fn stretches(&self) -> (Vec<Stretch<'_>>, Range<usize>) {
        let (mut stretches, mut next) = (Vec::new(), 0);
        for (number, (run, blocks)) in self.runs.iter().zip(self.blocks).enumerate() {
            // Rows of the batch stand block after block, and those of a block as its segments do.
            let opened = blocks.iter().map(|(block, BlockRows { numbers, .. })| {
                let first = next;
                next += numbers.len();
                (run.open.blocks.get(block).cloned().unwrap_or_default(), first)
            });
            let mut opened: Vec<(Range<usize>, usize)> = opened.collect();
            opened.sort_unstable_by_key(|(segments, _)| segments.start);
            for segments in &run.open.groups {
                let group = Some((number, segments.group));
                for (places, has_values) in [(&segments.rising, true), (&segments.missing, false)] {
                    let parts = self.parts(&run.open, places, &opened);
                    stretches.extend(parts.into_iter().map(|rising| Stretch { group, rising, has_values }));
                }
            }
        }
        (stretches, next..self.values.len())
    }

    /// Some segments of a run: those that stayed closed, and the rows of the others.
    fn parts<'s>(
        &'s self,
        run: &'s OpenRun,
        segments: &Range<usize>,
        opened: &[(Range<usize>, usize)],
    ) -> Vec<Rising<'s>> {
        let mut parts = Vec::new();
        let mut start = segments.start;
        let from = opened.partition_point(|(of_block, _)| of_block.end <= start);
        let opened = opened.get(from..).unwrap_or_default();
        for (of_block, first_row) in opened.iter().take_while(|(of_block, _)| of_block.start < segments.end) {
            let here = of_block.start.max(segments.start)..of_block.end.min(segments.end);
            if start < here.start {
                parts.push(Rising { of: List::Firsts(run), places: start..here.start });
            }
            // Segments of one group that stand in one block rise together.
            let first_row = first_row + run.rows_of(&(of_block.start..here.start)) as usize;
            let rows = first_row..first_row + run.rows_of(&here) as usize;
            parts.push(Rising { of: List::Rows(self.values), places: rows });
            start = here.end;
        }
        if start < segments.end {
            parts.push(Rising { of: List::Firsts(run), places: start..segments.end });
        }
        parts
    }

    /// The cuts between which values count as one; `None` if all have to stand for themselves.
    fn cuts(&self, query: &RunQuery, stretches: &[Stretch<'_>], beside: &Range<usize>) -> Option<Vec<Cut>> {
        let mut cuts = query.cuts.clone();
        let Opens::Parted(ranks) = &query.opens else { return None };
        if ranks.is_empty() {
            return Some(cuts);
        }
        // Of each group and condition there are other values.
        if query.segments.is_some() {
            return None;
        }
        let mut beside: Vec<Key> =
            beside.clone().filter_map(|row| self.values.key(self.by.form, row)).collect();
        beside.sort_unstable();
        let beside = Rising { of: List::Keys(&beside), places: 0..beside.len() };
        let of_runs = stretches.iter().filter(|stretch| stretch.has_values);
        let lists: Vec<Rising<'_>> = of_runs.map(|stretch| stretch.rising.clone()).chain([beside]).collect();
        let count: u64 = lists.iter().map(Rising::rows).sum();
        for rank in ranks {
            let (low, high) = rank.at.places(count);
            // They are one place, or side by side.
            let (at, behind) = at_places(self.by, &lists, low);
            let around = |at: Key| [false, true].map(|behind| Cut { at: at.clone(), behind });
            cuts.extend(at.into_iter().chain(behind.filter(|_| high > low)).flat_map(around));
        }
        cuts.sort_unstable();
        cuts.dedup();
        Some(cuts)
    }
}

#[cfg(test)]
mod tests;
