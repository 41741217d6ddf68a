// SPDX-License-Identifier: Apache-2.0
//! Queries put to a run: what of it the owner has to open, and how he answers on that.
//!
//! | query | he opens | and answers on |
//! |---|---|---|
//! | grouped, of sums, of conditions on `by`, of its order statistics | segments that a condition parts, or in which such a value can lie | segments and rows, as on the cells of a cube |
//! | any, with a condition on `by` or on `within` columns | what can match | rows |
//! | `ORDER BY by LIMIT k` | what the first rows can be in | rows |
//!
//! A segment that stays closed lies between two cuts of every condition, so that its first value stands for all.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, VisitorMut};

use super::cut::{CUTS_OF_A_DOUBLE, cuts_of};
use super::{RunForm, RunShape};
use crate::aggregates::{Aggregate, FromSums};
use crate::cube::view_of;
use crate::fetch::conjuncts;
use crate::grouped::{self, Grouped};
use crate::plan::{Cut, Opens, Rank, RankAt, RunQuery, SegmentsQuery};
use crate::schema::cube::{Cube, Dimension, Grain};
use crate::schema::{Protection, Run, Schema};
use crate::sql::functions::{self, Call};
use crate::sql::walk::walk_mut;
use crate::sql::{Item, Query, bare, column_name};

/// Most cuts of a question.
const MAX_CUTS: usize = 512;

/// A grouped query on segments and rows.
pub(crate) struct OnRun {
    pub(crate) grouped: Grouped,
    /// The lane of each sum.
    pub(crate) lanes: Vec<usize>,
    /// The name of the column with the rows of each segment.
    pub(crate) count: String,
}

/// A run, and a query of a table with so many rows.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) place: usize,
    pub(crate) run: &'a Run,
    pub(crate) shape: &'a RunShape,
    pub(crate) query: &'a Query,
    pub(crate) rows: u64,
}

impl Asking<'_> {
    /// The query on segments; `None` where they do not answer it.
    pub(crate) fn on_segments(&self) -> Option<(RunQuery, OnRun)> {
        let Self { schema, query, rows, .. } = *self;
        if !query.is_grouped() {
            return None;
        }
        let mut scan = Scan::new(self);
        let all = query.expressions().map(|expr| scan.read(expr, false)).collect::<Option<Vec<()>>>();
        all.filter(|_| scan.cuts.len() <= MAX_CUTS)?;
        let by = self.shape.by()?.name.as_str();
        let dimension = |name: &String| Dimension { column: name.clone(), grain: Grain::Each };
        let by_of_view = self.run.within.iter().chain([&self.run.by]).map(dimension).collect();
        let mut view =
            view_of(schema, &Cube { by: by_of_view, sum: self.run.sum.clone(), max_cell_rows: None }).ok()?;
        let (alias, count) = (unused(&view, by), unused(&view, "rows of the segment"));
        let mut summed = schema.columns.iter().find(|column| column.name == by)?.clone();
        (summed.name, summed.protect, summed.purposes) = (alias.clone(), Protection::Encrypt, Vec::new());
        view.columns.push(summed);
        let aliased = self.aliased(&alias);
        let grouped = grouped::compile_cells(&view, &aliased, rows, &count).ok()?;
        let lanes = grouped.sums.iter().map(|sum| {
            let quantity = sum.quantity.renamed(&|name| if name == alias { by } else { name }.to_owned());
            self.shape.lanes.iter().position(|lane| lane.quantity.as_ref() == Some(&quantity))
        });
        let lanes = lanes.collect::<Option<Vec<_>>>()?;
        let Scan { cuts, sides, ranks, conditions, .. } = scan;
        let (cuts, least) = (sorted(cuts), sides + 2 * ranks.len());
        let segments = self.of_segments(query.filter.clone(), query.keys.clone(), conditions);
        let opens = Opens::Parted(ranks);
        let run = RunQuery { place: self.place, cuts, least, segments, opens, needed: Vec::new() };
        Some((run, OnRun { grouped, lanes, count }))
    }

    /// The query on rows of the run; `None` where it does not have them.
    pub(crate) fn on_rows(&self) -> Option<RunQuery> {
        let query = self.query;
        let has = |name: &String| self.shape.columns.iter().any(|column| column.name == *name);
        if !query.columns().iter().all(has) || !(self.shape.has_numbers || self.is_settled()) {
            return None;
        }
        // The members of the condition that segments decide; rows decide the others.
        let mut scan = Scan::new(self);
        let mut members = query.filter.iter().flat_map(conjuncts);
        let (decided, others): (Vec<&Expr>, Vec<&Expr>) = members.by_ref().partition(|member| {
            let mut alone = Scan::new(self);
            let is_decided = alone.read(member, false).is_some() && alone.is_of_segments(member);
            if is_decided {
                scan.cuts.append(&mut alone.cuts);
                scan.sides += alone.sides;
            }
            is_decided
        });
        if scan.cuts.len() > MAX_CUTS {
            return None;
        }
        let is_whole = others.is_empty();
        let filter = decided.into_iter().cloned().reduce(crate::fetch::and);
        let opens = match self.first_rows().filter(|_| is_whole) {
            Some(first) => first,
            None if filter.is_some() => Opens::Matching,
            None => return None,
        };
        let segments = filter.and_then(|filter| self.of_segments(Some(filter), Vec::new(), Vec::new()));
        let (cuts, least) = (sorted(scan.cuts), scan.sides);
        Some(RunQuery { place: self.place, cuts, least, segments, opens, needed: Vec::new() })
    }

    /// Whether the order of the table does not matter: rows that are alike in every sort key are alike.
    fn is_settled(&self) -> bool {
        let query = self.query;
        let is_key = |name: &String| query.order.iter().any(|key| column_name(bare(&key.expr)) == Some(name));
        query.is_grouped() || (!query.has_windows() && query.columns().iter().all(is_key))
    }

    /// How many rows `ORDER BY by LIMIT` wants.
    fn first_rows(&self) -> Option<Opens> {
        let query = self.query;
        let key = query.order.first().filter(|_| !query.is_grouped() && !query.has_windows())?;
        if column_name(bare(&key.expr)) != Some(self.run.by.as_str()) {
            return None;
        }
        let rows = query.limit?.saturating_add(query.offset);
        let descending = key.options.asc == Some(false);
        // As query engines have it.
        let nulls_first = key.options.nulls_first.unwrap_or(descending);
        Some(Opens::First { rows, descending, nulls_first })
    }

    /// What is asked of segments, if anything.
    fn of_segments(
        &self,
        filter: Option<Expr>,
        keys: Vec<Expr>,
        conditions: Vec<Expr>,
    ) -> Option<SegmentsQuery> {
        if filter.is_none() && keys.is_empty() && conditions.is_empty() {
            return None;
        }
        let number = unused(self.schema, "number");
        let (count, exprs) = (keys.len(), [vec![column(&number)], keys, conditions].concat());
        let items = exprs.into_iter().enumerate();
        let items = items.map(|(place, expr)| Item { expr, name: format!("o{place}"), named: true });
        let query = Query {
            items: items.collect(),
            filter,
            keys: Vec::new(),
            having: None,
            order: Vec::new(),
            limit: None,
            offset: 0,
            grouped: false,
            distinct: false,
            left_out: Vec::new(),
        };
        let read = query.columns();
        let columns = self.run.within.iter().chain([&self.run.by]).filter(|name| read.contains(*name));
        let columns = columns.cloned().collect();
        Some(SegmentsQuery { query, number, keys: count, columns })
    }

    /// The query with another name for `by` where it is added up.
    fn aliased(&self, alias: &str) -> Query {
        let mut query = self.query.clone();
        let items = query.items.iter_mut().map(|item| &mut item.expr);
        let others = query.having.iter_mut().chain(query.order.iter_mut().map(|key| &mut key.expr));
        for expr in items.chain(others) {
            let _ = walk_mut(expr, &mut AliasSums { asking: self, alias });
        }
        query
    }

    /// Where a condition on `by` changes, if an expression is one.
    fn cuts_of(&self, expr: &Expr) -> Option<Vec<Cut>> {
        cuts_of(self.shape.by()?, expr)
    }

    /// Cuts that stand for one side of a literal.
    fn cuts_of_a_side(&self) -> usize {
        let is_double = self.shape.by().is_some_and(|by| by.form == RunForm::Doubles);
        if is_double { CUTS_OF_A_DOUBLE } else { 1 }
    }

    fn is_by(&self, expr: &Expr) -> bool {
        column_name(expr) == Some(self.run.by.as_str())
    }

    /// Whether `by` may be added up.
    fn is_summed(&self) -> bool {
        self.run.sum.contains(&self.run.by)
    }
}

/// A call that adds its arguments up.
fn adds_up(call: &Call) -> bool {
    !call.distinct && matches!(call.aggregate, Aggregate::FromSums(_) | Aggregate::Jointly(_))
}

/// Reads expressions for what they want to know of `by`.
struct Scan<'a> {
    asking: &'a Asking<'a>,
    cuts: Vec<Cut>,
    /// Places between values that the conditions name.
    sides: usize,
    ranks: Vec<Rank>,
    conditions: Vec<Expr>,
    /// Whether values themselves are added up where it stands.
    adds_up: bool,
}

impl<'a> Scan<'a> {
    fn new(asking: &'a Asking<'a>) -> Self {
        Self { asking, cuts: Vec::new(), sides: 0, ranks: Vec::new(), conditions: Vec::new(), adds_up: false }
    }

    /// Reads an expression; `None` where segments do not tell its value.
    fn read(&mut self, expr: &Expr, adds_up: bool) -> Option<()> {
        let before = std::mem::replace(&mut self.adds_up, adds_up);
        let found = walk_mut(&mut expr.clone(), self);
        self.adds_up = before;
        found.is_continue().then_some(())
    }

    /// Whether an expression reads nothing but what the index has.
    fn is_of_segments(&self, expr: &Expr) -> bool {
        let run = self.asking.run;
        crate::sql::columns_of(expr).iter().all(|name| *name == run.by || run.within.contains(name))
    }

    /// Reads a call; `None` where segments do not tell its value.
    fn read_call(&mut self, call: &Call) -> Option<()> {
        let of_by = matches!(call.arguments.as_slice(), [only] if self.asking.is_by(bare(only)));
        // The first value of a segment stands for it, and MIN wants no other.
        let is_least = matches!(call.aggregate, Aggregate::Engine("min"));
        let at = RankAt::of(call.aggregate).filter(|_| of_by && !call.distinct && !is_least);
        let is_known = is_least || call.aggregate == Aggregate::FromSums(FromSums::Count);
        if let Some(at) = at {
            let condition = call.filter.as_ref().map(|filter| {
                let known = self.conditions.iter().position(|known| known == filter);
                known.unwrap_or_else(|| {
                    self.conditions.push(filter.clone());
                    self.conditions.len() - 1
                })
            });
            self.ranks.push(Rank { at, condition });
        } else if !(of_by && is_known && !call.distinct) {
            let adds_up = adds_up(call) && self.asking.is_summed();
            call.arguments.iter().try_for_each(|argument| self.read(argument, adds_up).ok_or(())).ok()?;
        }
        call.filter.iter().try_for_each(|filter| self.read(filter, false).ok_or(())).ok()
    }
}

impl VisitorMut for Scan<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(cuts) = self.asking.cuts_of(expr) {
            self.sides += cuts.len() / self.asking.cuts_of_a_side();
            self.cuts.extend(cuts);
        } else if let Some(Ok(call)) = functions::aggregate(expr) {
            if self.read_call(&call).is_none() {
                return ControlFlow::Break(());
            }
        } else if self.asking.is_by(expr) && !self.adds_up {
            return ControlFlow::Break(());
        } else {
            return ControlFlow::Continue(());
        }
        // What stands in it has been read.
        *expr = Expr::Identifier(Ident::new("read"));
        ControlFlow::Continue(())
    }
}

/// Renames `by` in what is added up, but for conditions.
struct AliasSums<'a> {
    asking: &'a Asking<'a>,
    alias: &'a str,
}

impl VisitorMut for AliasSums<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let is_count = |call: &Call| {
            matches!(call.arguments.as_slice(), [only] if self.asking.is_by(bare(only)))
                && call.aggregate == Aggregate::FromSums(FromSums::Count)
        };
        let sums = functions::aggregate(expr).and_then(Result::ok);
        if sums.is_some_and(|call| adds_up(&call) && !is_count(&call))
            && let Expr::Function(call) = expr
        {
            let mut rename = Rename { asking: self.asking, alias: self.alias, conditions: Vec::new() };
            let _ = walk_mut(&mut call.args, &mut rename);
        }
        ControlFlow::Continue(())
    }
}

struct Rename<'a> {
    asking: &'a Asking<'a>,
    alias: &'a str,
    /// Whether each open node is a condition.
    conditions: Vec<bool>,
}

impl VisitorMut for Rename<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.conditions.push(self.asking.cuts_of(expr).is_some());
        if self.asking.is_by(expr) && !self.conditions.contains(&true) {
            *expr = column(self.alias);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _: &mut Expr) -> ControlFlow<()> {
        self.conditions.pop();
        ControlFlow::Continue(())
    }
}

fn column(name: &str) -> Expr {
    Expr::Identifier(Ident::with_quote('"', name))
}

/// A name like this one that no column has.
fn unused(schema: &Schema, name: &str) -> String {
    let mut name = format!("{name} ");
    while schema.column(&name).is_some() {
        name.push('_');
    }
    name
}

fn sorted(mut cuts: Vec<Cut>) -> Vec<Cut> {
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

#[cfg(test)]
mod tests;
