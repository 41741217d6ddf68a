// SPDX-License-Identifier: Apache-2.0
//! Values at a place of the order under conditions without keys: the least, the largest, the median and other quantiles. They are found in rounds.
//!
//! ```text
//!   round        runs of days                              rows in each, in every group
//!   1            1992  1993  1994  1995  1996  1997  1998  10  14  [19]  12  13  11  9
//!   2                    1994: Jan-Mar  Apr-Jun  …         …  4  [5]  …
//!   …                                                      the median is in the run in brackets
//!   last                 single days                       the answer
//! ```
//!
//! A round asks how many rows are in each of a few runs of values, and the owner sees in which the wanted places are; the next one tells the values of
//! these apart. The runs of the last round that hold wanted places are single values. So its cells answer the question as those of any other do.
//!
//! *What it shows.* How many rounds there are is fixed by the column. Which encoded columns a later one combines hangs on what the rounds before have
//! found: the server does not know what they stand for, but knows them again.

use std::collections::BTreeSet;

use super::{Asked, Code, FilterShape, MAX_FILTER_CELLS, code_of};
use crate::cube::{Axis, CubeShape};
use crate::plan::{RankAt, Round, Search};
use crate::schema::Schema;
use crate::schema::cube::{Dimension, Grain};
use crate::sql::functions::{Call, aggregate};
use crate::sql::walk::each_expression;
use crate::sql::{Query, bare, column_name};

impl Round {
    /// The runs, where they are of this column.
    pub(super) fn dimension(&self, column: &str) -> Option<Dimension> {
        let grain = || Grain::Bins(self.starts.clone());
        (self.column == column).then(|| Dimension { column: column.to_owned(), grain: grain() })
    }

    /// Marks the column's axis, whose cells are told apart for places of the order alone.
    pub(super) fn mark(&self, shape: &mut CubeShape) {
        shape
            .axes
            .iter_mut()
            .filter(|axis| axis.column == self.column)
            .for_each(|axis| axis.is_searched = true);
    }
}

/// The place of the order that a call asks for of its one column.
fn rank_of(call: &Call) -> Option<(&str, RankAt)> {
    let [argument] = call.arguments.as_slice() else { return None };
    let column = column_name(bare(argument)).filter(|_| !call.distinct && call.filter.is_none())?;
    Some((column, RankAt::of(call.aggregate)?))
}

impl Search {
    /// The search for places of the order of one column with more values than a question has cells.
    pub(crate) fn of(shape: &FilterShape, query: &Query) -> Option<Self> {
        let mut ranks: Vec<(String, RankAt)> = Vec::new();
        for expr in query.expressions() {
            each_expression(expr, |part| {
                let call = aggregate(part).and_then(Result::ok);
                ranks.extend(call.iter().filter_map(rank_of).map(|(name, rank)| (name.to_owned(), rank)));
            });
        }
        let code = |name: &String| shape.codes.iter().find(|code| code.column == *name);
        let is_large = |code: &&Code| code.has_cells() && code.count() > u64::from(MAX_FILTER_CELLS);
        ranks.retain(|(name, _)| code(name).as_ref().is_some_and(is_large));
        let column = ranks.first()?.0.clone();
        let rounds = code(&column)?.levels().len();
        let is_of_it = ranks.iter().all(|(name, _)| *name == column);
        let ranks = ranks.into_iter().map(|(_, rank)| rank).collect();
        is_of_it.then_some(Self { column, ranks, rounds, round: None })
    }

    /// Whether a question wants nothing else of its cells, and those beside the column are its groups, so that each group has places of its own.
    ///
    /// Measures would be added up for every run of values, and are better asked for by themselves.
    pub(crate) fn is_all_of(&self, query: &Query, asked: &Asked) -> bool {
        let keys: Option<Vec<&str>> = query.keys.iter().map(|key| column_name(bare(key))).collect();
        let axes = asked.shape.axes.iter().map(|axis| &axis.column);
        let cells: BTreeSet<&str> = axes.chain(&asked.keys).map(String::as_str).collect();
        let is_of_groups = |keys: Vec<&str>| {
            !keys.contains(&self.column.as_str())
                && cells.iter().all(|name| *name == self.column || keys.contains(name))
        };
        asked.on_cells.lanes.is_empty() && keys.is_some_and(is_of_groups)
    }

    /// The first round.
    ///
    /// # Errors
    /// None but bugs: `None` where the schema has no such column.
    pub fn first(&self, schema: &Schema) -> Option<Round> {
        self.round(&self.code(schema)?, 0, &[])
    }

    /// The round after another, whose cells had so many rows in each group. `None` as for [`Search::first`].
    pub fn next(
        &self,
        schema: &Schema,
        round: &Round,
        shape: &CubeShape,
        groups: &[&[i128]],
    ) -> Option<Round> {
        let wanted: Vec<(i128, i128)> = self.wanted(shape, groups).into_iter().collect();
        self.round(&self.code(schema)?, round.number + 1, &wanted)
    }

    /// Whether cells with so many rows in each group have every wanted place in a run of one value.
    pub fn is_found(&self, shape: &CubeShape, groups: &[&[i128]]) -> bool {
        self.wanted(shape, groups).iter().all(|(first, last)| first == last)
    }

    /// The runs that hold wanted places.
    fn wanted(&self, shape: &CubeShape, groups: &[&[i128]]) -> BTreeSet<(i128, i128)> {
        let mut wanted = BTreeSet::new();
        for runs in groups.iter().flat_map(|rows| rows_of_runs(shape, &self.column, rows)) {
            let all: i128 = runs.iter().map(|(_, rows)| *rows).sum();
            let Some(count) = u64::try_from(all).ok().filter(|count| *count > 0) else { continue };
            let places = self.ranks.iter().map(|rank| rank.places(count));
            let places: Vec<u64> = places.flat_map(|(first, last)| [first, last]).collect();
            let mut before = 0_i128;
            for (run, rows) in runs {
                let here = before..before + rows;
                if places.iter().any(|place| here.contains(&i128::from(*place))) {
                    wanted.insert(run);
                }
                before += rows;
            }
        }
        wanted
    }

    /// The last round if every round before had found one run, in the middle: there products have the most factors.
    pub(crate) fn sample(&self, schema: &Schema) -> Option<Round> {
        let code = self.code(schema)?;
        let mut round = self.first(schema)?;
        while !round.is_last {
            let at = round.starts.len() / 2;
            let end = round.starts.get(at + 1).map_or(code.high(), |next| next - 1);
            round = self.round(&code, round.number + 1, &[(*round.starts.get(at)?, end)])?;
        }
        Some(round)
    }

    fn code(&self, schema: &Schema) -> Option<Code> {
        code_of(schema, &self.column)
    }

    /// The runs of a level within runs of the level before, and between these all values together.
    fn round(&self, code: &Code, number: usize, wanted: &[(i128, i128)]) -> Option<Round> {
        let place = |units: i128| u64::try_from(units - code.low()).ok();
        let all = [(code.low(), code.high())];
        let mut starts = BTreeSet::new();
        for (first, last) in if number == 0 { &all } else { wanted } {
            starts.insert(*first);
            starts.insert(last + 1);
            let within = code.starts(number, (place(*first)?, place(*last)?));
            starts.extend(within.into_iter().map(|place| code.low() + i128::from(place)));
        }
        starts.remove(&code.low());
        starts.remove(&(code.high() + 1));
        // Where no group has a row, nothing is wanted, and one cut does for an axis.
        if starts.is_empty() {
            starts.insert(code.high());
        }
        let is_last = number + 1 >= self.rounds;
        Some(Round { column: self.column.clone(), starts: starts.into_iter().collect(), number, is_last })
    }
}

/// The rows of each run of a column's values, in every cell of the other columns; those without a value left out.
pub(super) fn rows_of_runs(shape: &CubeShape, column: &str, rows: &[i128]) -> Vec<Vec<((i128, i128), i128)>> {
    let Some(at) = shape.axes.iter().position(|axis| axis.column == column) else { return Vec::new() };
    let (before, rest) = shape.axes.split_at(at);
    let Some((axis, behind)) = rest.split_first() else { return Vec::new() };
    let cells = |axes: &[Axis]| axes.iter().map(Axis::len).product::<usize>();
    let (outer, inner) = (cells(before), cells(behind));
    let of_cell = |(outer, within): (usize, usize)| {
        let found = (0..axis.len()).filter_map(|run| {
            let rows = rows.get((outer * axis.len() + run) * inner + within)?;
            Some((axis.bounds(run)?, *rows))
        });
        found.collect()
    };
    (0..outer).flat_map(|outer| (0..inner).map(move |within| (outer, within))).map(of_cell).collect()
}

#[cfg(test)]
mod tests;
