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
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{DataType, Field, Int64Type, Schema as ArrowSchema};
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, SortField};
use hush_encode::arrow_type;
use hush_plan::plan::{Cut, Key, Opens, Rank, RunQuery, SegmentsQuery};
use hush_plan::run::{RunColumn, RunShape};
use hush_plan::schema::Column;
use hush_plan::{Limits, plan_query};
use hush_remote::Silent;
use hush_table::Digest;
use rayon::prelude::*;

use super::super::{cells, local};
use super::rising::{List, Rising, at_place};
use crate::account::Phases;
use crate::error::ClientError;
use crate::private::PrivateHalf;
use crate::run::{GroupSegments, OpenRun, PartRun, RunValues};
use crate::table::OwnedTable;
use crate::threads::on_threads;

/// Segments of a group between two cuts; or one that a cut parts, once for each of its parts.
struct Span {
    run: usize,
    segments: Range<usize>,
    /// Its class, among those of all runs.
    class: usize,
    /// Whether there are others of its segment, so that nobody knows which rows are in which.
    is_cut: bool,
    /// Whether `by` has values in it.
    has_values: bool,
}

/// What conditions cannot tell apart: spans of one group of a run, between the same two cuts.
struct Class {
    run: usize,
    group: u32,
    /// A value that stands for all; `None` where `by` is missing.
    at: Option<Key>,
}

/// What a question finds of a class that can match.
#[derive(Clone, Default)]
struct Match {
    group: usize,
    conditions: Vec<bool>,
}

/// Segments of a run.
type Opened = (usize, Range<usize>);

/// What the choice is made from.
pub(super) struct Choice<'a> {
    pub(super) table: &'a OwnedTable,
    pub(super) shape: &'a RunShape,
    pub(super) runs: &'a [PartRun],
    /// Rows of parts without the run, of which nothing is known.
    pub(super) beside: u64,
}

/// Of each run the places of blocks, rising.
type Places = Vec<Vec<u32>>;

impl Choice<'_> {
    /// The blocks that a question needs, and these with the ones that fill up.
    ///
    /// # Errors
    /// None but bugs.
    ///
    /// # Cost
    /// Binary searches among the segments of each group of each run; conditions are evaluated once for each class.
    pub(super) fn blocks(&self, query: &RunQuery) -> Result<(Places, Places), ClientError> {
        let by = self.shape.by().ok_or(ClientError::Internal { what: "a run has no order" })?;
        let (spans, classes) = self.spans(by, &query.cuts)?;
        let found = match &query.segments {
            Some(segments) => self.ask(segments, &classes)?,
            None => vec![Some(Match::default()); classes.len()],
        };
        let matching = spans.iter().filter_map(|span| Some((found.get(span.class)?.as_ref()?, span)));
        let all = |span: &Span| (span.run, span.segments.clone());
        let chosen: Vec<Opened> = match &query.opens {
            Opens::Matching => matching.map(|(_, span)| all(span)).collect(),
            Opens::First { rows, descending, nulls_first } => {
                self.first(by, matching.map(|(_, span)| span).collect(), *rows, (*descending, *nulls_first))
            }
            Opens::Parted(ranks) => {
                let parted = matching.clone().filter(|(_, span)| span.is_cut).map(|(_, span)| all(span));
                let around = ranks.iter().flat_map(|rank| self.around(by, rank, matching.clone()));
                parted.chain(around).collect()
            }
        };
        let mut opened: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); self.runs.len()];
        for (run, segments) in chosen {
            opened.get_mut(run).into_iter().for_each(|opened| opened.extend(segments.clone()));
        }
        let needed = opened.iter().zip(self.runs).map(|(segments, run)| {
            let places = segments.iter().filter_map(|segment| run.open.index.segments.get(*segment));
            places.map(|segment| segment.block).collect::<BTreeSet<u32>>()
        });
        let needed: Vec<BTreeSet<u32>> = needed.collect();
        let mut blocks = needed.clone();
        if query.opens != Opens::Matching {
            // As many of each part, so that no part stands out.
            let most = blocks.iter().map(BTreeSet::len).max().unwrap_or(0).max(query.least);
            let question = format!("{:?}", RunQuery { needed: Vec::new(), ..query.clone() });
            blocks.iter_mut().zip(self.runs).for_each(|(blocks, run)| fill(blocks, run, &question, most));
        }
        let places = |blocks: Vec<BTreeSet<u32>>| {
            blocks.into_iter().map(|blocks| blocks.into_iter().collect()).collect()
        };
        Ok((places(needed), places(blocks)))
    }

    /// All segments in spans, and the classes of these.
    fn spans(&self, by: &RunColumn, cuts: &[Cut]) -> Result<(Vec<Span>, Vec<Class>), ClientError> {
        let runs = self.runs.par_iter().enumerate();
        let found = runs.map(|(run, part)| spans_of(run, &part.open, by, cuts));
        let found: Vec<(Vec<Span>, Vec<Class>)> =
            on_threads(self.table.costs.threads, || Ok(found.collect()))?;
        let (mut spans, mut classes) = (Vec::new(), Vec::new());
        for (of_run, of_classes) in found {
            let first = classes.len();
            spans.extend(of_run.into_iter().map(|span| Span { class: first + span.class, ..span }));
            classes.extend(of_classes);
        }
        Ok((spans, classes))
    }

    /// What a query says of each class; `None` where it cannot match.
    fn ask(&self, query: &SegmentsQuery, classes: &[Class]) -> Result<Vec<Option<Match>>, ClientError> {
        let mut schema = self.table.half.schema.all_clear();
        schema.columns.retain(|column| query.columns.contains(&column.name));
        let (mut fields, mut columns): (Vec<Field>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
        for column in &schema.columns {
            columns.push(self.column(column, classes)?);
            fields.push(Field::new(&column.name, arrow_type(column.kind), true));
        }
        columns.push(Arc::new(Int64Array::from_iter_values(0..classes.len() as i64)));
        fields.push(Field::new(&query.number, DataType::Int64, true));
        schema.columns.push(cells::counting(&query.number));
        let clear = RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns)?;
        let local =
            local::table(PrivateHalf::new(schema, Vec::new()), &clear, &[], self.table.costs.threads)?;
        let limits = Limits { max_groups: u64::MAX, max_answer_bytes: u64::MAX, ..Limits::default() };
        let digest = local.manifest.digest().to_string();
        let plan = plan_query(&local.half.schema, &[], &local.site(), &digest, &query.query, &limits)?;
        let mut groups = HashMap::new();
        let mut found = vec![None; classes.len()];
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
                let class = number.and_then(|number| found.get_mut(usize::try_from(number).ok()?));
                class
                    .into_iter()
                    .for_each(|class| *class = Some(Match { group, conditions: Vec::clone(&conditions) }));
            }
        }
        Ok(found)
    }

    /// The values of a column, class after class.
    fn column(&self, column: &Column, classes: &[Class]) -> Result<ArrayRef, ClientError> {
        let missing = || ClientError::Internal { what: "a run lacks a column that it is asked for" };
        let place =
            self.shape.columns.iter().position(|known| known.name == column.name).ok_or_else(missing)?;
        let described = self.shape.columns.get(place).ok_or_else(missing)?;
        let mut values = RunValues::empty(described);
        if place == self.shape.within {
            classes.iter().for_each(|class| values.push(described.form, class.at.as_ref()));
        } else {
            for class in classes {
                let of_groups = &self.runs.get(class.run).ok_or_else(missing)?.open.index.within;
                let of_groups = of_groups.get(place).ok_or_else(missing)?;
                values.push(described.form, of_groups.key(described.form, class.group as usize).as_ref());
            }
        }
        values.array(column, described.form)
    }

    /// The segments in which a value at a place of the order can lie, in any group.
    fn around<'s>(
        &self,
        by: &RunColumn,
        rank: &Rank,
        matching: impl Iterator<Item = (&'s Match, &'s Span)>,
    ) -> Vec<Opened> {
        let mut groups: BTreeMap<usize, Vec<&Span>> = BTreeMap::new();
        for (found, span) in matching.filter(|(_, span)| span.has_values) {
            let counts =
                rank.condition.is_none_or(|condition| found.conditions.get(condition) == Some(&true));
            if counts {
                groups.entry(found.group).or_default().push(span);
            }
        }
        groups.into_values().flat_map(|spans| self.around_in(by, rank, &spans)).collect()
    }

    /// They in one group.
    fn around_in(&self, by: &RunColumn, rank: &Rank, spans: &[&Span]) -> Vec<Opened> {
        // Of a segment that is cut nobody knows how many rows count.
        let certain = || spans.iter().copied().filter(|span| !span.is_cut);
        let rows = |spans: &mut dyn Iterator<Item = &Span>| -> u64 {
            spans.filter_map(|span| self.rising(span, List::Firsts)).map(|rising| rising.rows()).sum()
        };
        let (least, most) = (rows(&mut certain()), rows(&mut spans.iter().copied()) + self.beside);
        let (low, _) = rank.at.places(least.max(1));
        let (_, high) = rank.at.places(most.max(1));
        // As low as it can be: all rows have the lowest value that they can have, and those of other parts one below.
        let lows = spans.iter().filter_map(|span| self.rising(span, List::Firsts)).collect();
        let low = low.checked_sub(self.beside).and_then(|place| at_place(by, lows, place));
        // As high: what need not count does not.
        let highs = certain().filter_map(|span| self.rising(span, List::Lasts)).collect();
        let high = at_place(by, highs, high);
        let between = spans.iter().flat_map(|span| self.between(by, span, low.as_ref(), high.as_ref()));
        // A segment of one value stands for itself.
        between.filter(|(run, segments)| self.has_several(by, *run, segments.start)).collect()
    }

    /// The first values of a span, or its last ones.
    fn rising<'s>(&'s self, span: &Span, list: fn(&'s OpenRun) -> List<'s>) -> Option<Rising<'s>> {
        Some(Rising { of: list(&self.runs.get(span.run)?.open), places: span.segments.clone() })
    }

    /// The segments of a span that can have values from one to another, each by itself.
    fn between(&self, by: &RunColumn, span: &Span, low: Option<&Key>, high: Option<&Key>) -> Vec<Opened> {
        let lasts = self.rising(span, List::Lasts).filter(|_| low.is_some());
        let start = lasts.map_or(span.segments.start, |lasts| lasts.end_of(by, |last| Some(last) < low));
        let firsts = self.rising(span, List::Firsts).filter(|_| high.is_some());
        let end = firsts.map_or(span.segments.end, |firsts| firsts.end_of(by, |first| Some(first) <= high));
        (start..end).map(|segment| (span.run, segment..segment + 1)).collect()
    }

    /// Whether a segment may have more than one value.
    fn has_several(&self, by: &RunColumn, run: usize, segment: usize) -> bool {
        let index = self.runs.get(run).map(|run| &run.open.index);
        index.is_some_and(|index| index.firsts.key(by.form, segment) != index.last(by, segment))
    }

    /// The segments that can have one of the first rows.
    fn first(
        &self,
        by: &RunColumn,
        spans: Vec<&Span>,
        rows: u64,
        (descending, nulls_first): (bool, bool),
    ) -> Vec<Opened> {
        if rows == 0 {
            return Vec::new();
        }
        // Missing values stand before all others, or behind them.
        let (spans, missing): (Vec<&Span>, Vec<&Span>) = spans.into_iter().partition(|span| span.has_values);
        let missing = missing.into_iter().map(|span| (span.run, span.segments.clone()));
        let missing: Vec<Opened> = missing.collect();
        let rows_of =
            |(run, segments): &Opened| self.runs.get(*run).map_or(0, |run| run.open.rows_of(segments));
        let before = if nulls_first { missing.iter().map(rows_of).sum() } else { 0 };
        let Some(wanted) = rows.checked_sub(before).filter(|wanted| *wanted > 0) else { return missing };
        // The least that one row more can be, of those that are sure to count.
        let ends = if descending { List::Firsts } else { List::Lasts };
        let certain = spans.iter().filter(|span| !span.is_cut).filter_map(|span| self.rising(span, ends));
        let certain: Vec<Rising<'_>> = certain.collect();
        let count: u64 = certain.iter().map(Rising::rows).sum();
        let place = if descending { count.checked_sub(wanted) } else { Some(wanted - 1) };
        let limit = place.and_then(|place| at_place(by, certain, place));
        let (low, high) = if descending { (limit.as_ref(), None) } else { (None, limit.as_ref()) };
        let opened = spans.iter().flat_map(|span| self.between(by, span, low, high));
        // Behind the others they are among the first rows where these do not suffice.
        let missing = missing.into_iter().filter(|_| nulls_first || limit.is_none());
        opened.chain(missing).collect()
    }
}

/// The segments of a run in spans, and the classes of these.
fn spans_of(number: usize, run: &OpenRun, by: &RunColumn, cuts: &[Cut]) -> (Vec<Span>, Vec<Class>) {
    let (mut spans, mut classes): (Vec<Span>, Vec<Class>) = (Vec::new(), Vec::new());
    // They rise, and what lies below one lies below the next.
    let zone_of = |key: &Key| cuts.partition_point(|cut| !cut.is_above(key));
    for GroupSegments { group, rising, missing } in &run.groups {
        let mut last = None;
        let mut add = |segments: Range<usize>, zone: Option<usize>, at: Option<Key>, is_cut| {
            let has_values = at.is_some();
            if last.replace(zone) != Some(zone) {
                classes.push(Class { run: number, group: *group, at });
            }
            spans.push(Span { run: number, segments, class: classes.len() - 1, is_cut, has_values });
        };
        let Range { mut start, end } = rising.clone();
        while let Some(first) = run.index.firsts.key(by.form, start).filter(|_| start < end) {
            let zone = zone_of(&first);
            let lasts = Rising { of: List::Lasts(run), places: start..end };
            let below = cuts.get(zone).map_or(end, |cut| lasts.end_of(by, |last| cut.is_above(last)));
            if start < below {
                add(start..below, Some(zone), Some(first), false);
                start = below;
                continue;
            }
            add(start..start + 1, Some(zone), Some(first), true);
            let above = run.index.last(by, start).map_or(zone, |last| zone_of(&last));
            for (place, cut) in cuts.iter().enumerate().take(above).skip(zone) {
                add(start..start + 1, Some(place + 1), Some(cut.first_above()), true);
            }
            start += 1;
        }
        if !missing.is_empty() {
            add(missing.clone(), None, None, false);
        }
    }
    (spans, classes)
}

/// Adds blocks that nobody needs, the same ones for the same question, so that asking again does not tell them apart. They follow from the secret order
/// of the run's blocks and from the question: to whoever does not know both, each block is as likely.
fn fill(blocks: &mut BTreeSet<u32>, run: &PartRun, question: &str, most: usize) {
    let wanted = most.min(run.open.blocks.len());
    if blocks.len() >= wanted {
        return;
    }
    let all: Vec<u32> = run.open.blocks.keys().copied().collect();
    if wanted == all.len() {
        blocks.extend(all);
        return;
    }
    let lasts = format!("{:?} ", run.open.index.lasts);
    let seed = Digest::of(&[run.open.order.as_bytes(), lasts.as_bytes(), question.as_bytes()].concat());
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

#[cfg(test)]
mod tests;
