// SPDX-License-Identifier: Apache-2.0
//! Which blocks of runs a question needs. A segment is cut where a condition changes; the pieces become rows of a table in memory, to which conditions
//! and keys are put; then
//!
//! * a segment that is cut and can match is opened, because its rows tell what it is;
//! * of a value at a place of the order, say the median, two bounds are found, and all segments between them are opened;
//! * of the first rows in order, all segments that can have one.
//!
//! What stays closed has one answer to every condition, and no value that is asked for.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{DataType, Field, Int64Type, Schema as ArrowSchema};
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, SortField};
use hush_encode::arrow_type;
use hush_plan::plan::{Cut, Key, Opens, Rank, RunQuery, SegmentsQuery};
use hush_plan::run::RunShape;
use hush_plan::{Limits, plan_query};
use hush_remote::Silent;
use hush_table::Digest;

use super::super::{cells, local};
use crate::account::Phases;
use crate::error::ClientError;
use crate::private::PrivateHalf;
use crate::run::{PartRun, RunValues};
use crate::table::OwnedTable;

/// A part of a segment between two cuts.
struct Piece {
    run: usize,
    segment: usize,
    /// Rows of its segment.
    rows: u64,
    /// A value that stands for all; `None` where `by` is missing.
    at: Option<Key>,
    /// The first value of its segment, and one that none of it is above.
    bounds: Option<(Key, Key)>,
    /// Whether there are others of its segment, so that nobody knows which rows are in which.
    is_cut: bool,
}

/// A piece with its bounds.
type Bounded<'p> = (&'p Piece, &'p (Key, Key));

/// What a question finds of a piece that can match.
struct Match {
    piece: usize,
    group: usize,
    conditions: Vec<bool>,
}

/// What the choice is made from.
pub(super) struct Choice<'a> {
    pub(super) table: &'a OwnedTable,
    pub(super) shape: &'a RunShape,
    pub(super) runs: &'a [PartRun],
    /// Rows of parts without the run, of which nothing is known.
    pub(super) beside: u64,
}

impl Choice<'_> {
    /// Of each run the places of the blocks, rising.
    ///
    /// # Errors
    /// None but bugs.
    pub(super) fn blocks(&self, query: &RunQuery) -> Result<Vec<Vec<u32>>, ClientError> {
        let pieces = self.pieces(query)?;
        let found = match &query.segments {
            Some(segments) => self.ask(segments, &pieces)?,
            None => {
                (0..pieces.len()).map(|piece| Match { piece, group: 0, conditions: Vec::new() }).collect()
            }
        };
        let mut opened: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); self.runs.len()];
        let mut open = |piece: &Piece| {
            opened.get_mut(piece.run).into_iter().for_each(|segments| {
                segments.insert(piece.segment);
            });
        };
        let matching = || found.iter().filter_map(|found| Some((found, pieces.get(found.piece)?)));
        match &query.opens {
            Opens::Matching => matching().for_each(|(_, piece)| open(piece)),
            Opens::First { rows, descending, nulls_first } => {
                let way = (*descending, *nulls_first);
                let first = self.first(matching().map(|(_, piece)| piece).collect(), *rows, way);
                first.into_iter().for_each(open);
            }
            Opens::Parted(ranks) => {
                matching().filter(|(_, piece)| piece.is_cut).for_each(|(_, piece)| open(piece));
                for rank in ranks {
                    self.around(rank, &found, &pieces).into_iter().for_each(&mut open);
                }
            }
        }
        let blocks = opened.iter().zip(self.runs).map(|(segments, run)| {
            let places = segments.iter().filter_map(|segment| run.open.index.segments.get(*segment));
            places.map(|segment| segment.block).collect::<BTreeSet<u32>>()
        });
        let mut blocks: Vec<BTreeSet<u32>> = blocks.collect();
        if query.opens != Opens::Matching {
            // As many of each part, so that no part stands out.
            let most = blocks.iter().map(BTreeSet::len).max().unwrap_or(0).max(query.least);
            blocks.iter_mut().zip(self.runs).for_each(|(blocks, run)| fill(blocks, run, query, most));
        }
        Ok(blocks.into_iter().map(|blocks| blocks.into_iter().collect()).collect())
    }

    /// All segments, cut.
    fn pieces(&self, query: &RunQuery) -> Result<Vec<Piece>, ClientError> {
        let by = self.shape.by().ok_or(ClientError::Internal { what: "a run has no order" })?;
        let mut pieces = Vec::new();
        for (run, part) in self.runs.iter().enumerate() {
            for (segment, described) in part.open.index.segments.iter().enumerate() {
                let rows = described.rows.into();
                let Some((first, last)) = part.open.index.bounds(by, segment) else {
                    pieces.push(Piece { run, segment, rows, at: None, bounds: None, is_cut: false });
                    continue;
                };
                // They rise, and what lies below one lies below the next.
                let below = |key: &Key| query.cuts.partition_point(|cut| !cut.is_above(key));
                let cuts = query.cuts.get(below(&first)..below(&last)).unwrap_or_default();
                let inner: Vec<Key> = cuts.iter().map(Cut::first_above).collect();
                let is_cut = !inner.is_empty();
                let bounds = Some((first.clone(), last));
                let piece = |at| Piece { run, segment, rows, at: Some(at), bounds: bounds.clone(), is_cut };
                pieces.extend(std::iter::once(first).chain(inner).map(piece));
            }
        }
        Ok(pieces)
    }

    /// The pieces that can match, with what a query says of them.
    fn ask(&self, query: &SegmentsQuery, pieces: &[Piece]) -> Result<Vec<Match>, ClientError> {
        let mut schema = self.table.half.schema.all_clear();
        schema.columns.retain(|column| query.columns.contains(&column.name));
        let (mut fields, mut columns): (Vec<Field>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
        for column in &schema.columns {
            columns.push(self.column(column, pieces)?);
            fields.push(Field::new(&column.name, arrow_type(column.kind), true));
        }
        columns.push(Arc::new(Int64Array::from_iter_values(0..pieces.len() as i64)));
        fields.push(Field::new(&query.number, DataType::Int64, true));
        schema.columns.push(cells::counting(&query.number));
        let clear = RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns)?;
        let local =
            local::table(PrivateHalf::new(schema, Vec::new()), &clear, &[], self.table.costs.threads)?;
        let limits = Limits { max_groups: u64::MAX, max_answer_bytes: u64::MAX, ..Limits::default() };
        let digest = local.manifest.digest().to_string();
        let plan = plan_query(&local.half.schema, &[], &local.site(), &digest, &query.query, &limits)?;
        let mut groups = HashMap::new();
        let mut found = Vec::new();
        for batch in local.run(plan, Phases::default(), &Silent)?.batches {
            let (keys, conditions) = batch.columns().get(1..).unwrap_or_default().split_at(query.keys);
            let fields = keys.iter().map(|key| SortField::new(key.data_type().clone())).collect();
            let converter = RowConverter::new(fields)?;
            let rows = if keys.is_empty() { None } else { Some(converter.convert_columns(keys)?) };
            let numbers = batch.column(0).as_primitive::<Int64Type>();
            for (row, number) in numbers.iter().enumerate() {
                let next = groups.len();
                let key = rows.as_ref().map(|rows| rows.row(row).as_ref().to_vec());
                let group = *groups.entry(key).or_insert(next);
                let is_true = |condition: &ArrayRef| {
                    condition.as_boolean_opt().is_some_and(|truth| truth.is_valid(row) && truth.value(row))
                };
                let conditions = conditions.iter().map(is_true).collect();
                let piece = number.and_then(|number| usize::try_from(number).ok()).unwrap_or(usize::MAX);
                found.push(Match { piece, group, conditions });
            }
        }
        Ok(found)
    }

    /// The values of a column, piece after piece.
    fn column(&self, column: &hush_plan::schema::Column, pieces: &[Piece]) -> Result<ArrayRef, ClientError> {
        let missing = || ClientError::Internal { what: "a run lacks a column that it is asked for" };
        let place =
            self.shape.columns.iter().position(|known| known.name == column.name).ok_or_else(missing)?;
        let described = self.shape.columns.get(place).ok_or_else(missing)?;
        let mut values = RunValues::empty(described);
        if place == self.shape.within {
            pieces.iter().for_each(|piece| values.push(described.form, piece.at.as_ref()));
        } else {
            for piece in pieces {
                let index = &self.runs.get(piece.run).ok_or_else(missing)?.open.index;
                let group = index.segments.get(piece.segment).ok_or_else(missing)?.group as usize;
                let of_groups = index.within.get(place).ok_or_else(missing)?;
                values.push(described.form, of_groups.key(described.form, group).as_ref());
            }
        }
        values.array(column, described.form)
    }

    /// The pieces in which a value at a place of the order can lie, in any group.
    fn around<'p>(&self, rank: &Rank, found: &[Match], pieces: &'p [Piece]) -> Vec<&'p Piece> {
        let mut groups: BTreeMap<usize, Vec<Bounded<'p>>> = BTreeMap::new();
        for found in found {
            let counts =
                rank.condition.is_none_or(|condition| found.conditions.get(condition) == Some(&true));
            let piece = pieces.get(found.piece).filter(|_| counts);
            let Some((piece, bounds)) = piece.and_then(|piece| Some((piece, piece.bounds.as_ref()?))) else {
                continue;
            };
            groups.entry(found.group).or_default().push((piece, bounds));
        }
        groups.into_values().flat_map(|pieces| self.around_in(rank, pieces)).collect()
    }

    /// They in one group.
    fn around_in<'p>(&self, rank: &Rank, pieces: Vec<Bounded<'p>>) -> Vec<&'p Piece> {
        // Of a segment that is cut nobody knows how many rows count.
        let certain = || pieces.iter().filter(|(piece, _)| !piece.is_cut);
        let least: u64 = certain().map(|(piece, _)| piece.rows).sum();
        let uncertain = pieces.iter().filter(|(piece, _)| piece.is_cut).map(|(piece, _)| piece.rows);
        let most = least + uncertain.sum::<u64>() + self.beside;
        let (low, _) = rank.at.places(least.max(1));
        let (_, high) = rank.at.places(most.max(1));
        // As low as it can be: all rows have the lowest value that they can have, and those of other parts one below.
        let lows = pieces.iter().map(|(piece, (first, _))| (first, piece.rows));
        let low = low.checked_sub(self.beside).and_then(|place| at_place(lows.collect(), place));
        // As high: what need not count does not.
        let highs = certain().map(|(piece, (_, last))| (last, piece.rows));
        let high = at_place(highs.collect(), high);
        let can_have = |&(first, last): &&(Key, Key)| {
            first < last
                && low.as_ref().is_none_or(|low| last >= low)
                && high.as_ref().is_none_or(|high| first <= high)
        };
        pieces.iter().filter(|(_, bounds)| can_have(bounds)).map(|(piece, _)| *piece).collect()
    }

    /// The pieces that can have one of the first rows.
    fn first<'p>(
        &self,
        pieces: Vec<&'p Piece>,
        rows: u64,
        (descending, nulls_first): (bool, bool),
    ) -> Vec<&'p Piece> {
        if rows == 0 {
            return Vec::new();
        }
        // Missing values stand before all others, or behind them.
        let spot = |key: Option<Key>| match key {
            None => (if nulls_first { -1 } else { 1 }, None),
            Some(key) if descending => (0, Some(Reversed::Falling(std::cmp::Reverse(key)))),
            Some(key) => (0, Some(Reversed::Rising(key))),
        };
        let spread = pieces.iter().map(|piece| {
            let bounds = piece.bounds.clone();
            let (first, last) = bounds.map_or((None, None), |(first, last)| (Some(first), Some(last)));
            let (near, far) = if descending { (last, first) } else { (first, last) };
            (*piece, spot(near), spot(far))
        });
        let spread: Vec<_> = spread.collect();
        let fars = spread.iter().filter(|(piece, ..)| !piece.is_cut).map(|(piece, _, far)| (far, piece.rows));
        let limit = at_place(fars.collect(), rows - 1);
        let can_have = |near: &(i32, Option<Reversed>)| limit.as_ref().is_none_or(|limit| near <= limit);
        spread.iter().filter(|(_, near, _)| can_have(near)).map(|(piece, ..)| *piece).collect()
    }
}

/// Adds blocks that nobody needs, the same ones for the same question, so that asking again does not tell them apart. They follow from the secret order
/// of the run's blocks and from the question: to whoever does not know both, each block is as likely.
fn fill(blocks: &mut BTreeSet<u32>, run: &PartRun, query: &RunQuery, most: usize) {
    let segments = &run.open.index.segments;
    let mut all: Vec<u32> = segments.iter().map(|segment| segment.block).collect();
    all.sort_unstable();
    all.dedup();
    let wanted = most.min(all.len());
    if blocks.len() >= wanted {
        return;
    }
    if wanted == all.len() {
        blocks.extend(all);
        return;
    }
    let order: Vec<u8> = segments.iter().flat_map(|segment| segment.block.to_le_bytes()).collect();
    let seed = Digest::of(&[&order, format!("{:?} {query:?}", run.open.index.lasts).as_bytes()].concat());
    let draw = |number: u64| {
        let drawn = Digest::of(&[seed.as_bytes().as_slice(), &number.to_le_bytes()].concat());
        let drawn = drawn.as_bytes().first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
        (drawn % all.len() as u64) as usize
    };
    // The first blocks of an endless draw of all of them that are not there yet.
    for number in 0_u64.. {
        if blocks.len() >= wanted {
            break;
        }
        blocks.extend(all.get(draw(number)));
    }
}

/// A value in rising order, or in falling order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Reversed {
    Rising(Key),
    Falling(std::cmp::Reverse<Key>),
}

/// The value at a place, counted from 0, among some that stand for several rows each; `None` behind the last row.
///
/// # Cost
/// Linear: the half without the place is dropped, again and again.
fn at_place<K: Ord + Clone>(mut values: Vec<(&K, u64)>, mut place: u64) -> Option<K> {
    let mut left = values.as_mut_slice();
    while left.len() > 1 {
        let (before, _, _) = left.select_nth_unstable_by_key(left.len() / 2, |(value, _)| *value);
        let (middle, rows) = (before.len(), before.iter().map(|(_, rows)| rows).sum::<u64>());
        let (before, behind) = left.split_at_mut(middle);
        left = if place < rows {
            before
        } else {
            place -= rows;
            behind
        };
    }
    left.first().filter(|(_, rows)| place < *rows).map(|(value, _)| (*value).clone())
}

#[cfg(test)]
mod tests;
