// SPDX-License-Identifier: Apache-2.0
//! Row counts and exact sums over all matching rows, for queries without keys that ask nothing else of the clear columns. One
//! pass over the columns, without a plan of the query engine, which would take longer than the pass for a million rows.

use std::cell::OnceCell;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Decimal128Array, Int64Array, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::logical_expr::Expr;
use rayon::prelude::*;

use super::compiled::{Compiled, UsedColumns};
use super::groups::{GroupQuery, Groups};
use super::held::PartColumns;
use super::outputs::aggregate_name;
use super::scalar::Scope;
use super::sums::{self, TOTAL};
use super::zones::ZoneFilter;
use crate::error::{ExecError, ExpressionRole};
use crate::job::Job;
use crate::table::PartRef;

const ROLE: ExpressionRole = ExpressionRole::ClearHalf;

/// The one group of such a query; `None` for other queries.
///
/// # Errors
/// [`ExecError::GroupLimit`] if not even one group may be; [`ExecError::Evaluation`] for a sum beyond 128 bits; those of reading and
/// evaluation.
pub(crate) fn group(
    job: &Job,
    scope: &Scope<'_>,
    query: &GroupQuery,
    max_groups: u64,
) -> Result<Option<Groups>, ExecError> {
    let Some(calls) = query.aggregates_of_all().and_then(Call::read_all) else { return Ok(None) };
    if max_groups == 0 {
        return Err(ExecError::GroupLimit { limit: max_groups });
    }
    let pass = Pass::compile(scope, query.predicate(), &calls)?;
    let parts = job.placed_parts();
    let nothing = || calls.iter().map(|call| call.nothing()).collect::<Vec<_>>();
    let totals = job.workers.install(|| {
        let of_parts = parts.par_iter().map(|part| pass.part(job, *part, &nothing));
        of_parts.try_reduce(&nothing, both)
    })?;
    let fields = totals.iter().enumerate().map(|(index, total)| total.field(aggregate_name(index)));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let columns = totals.into_iter().map(Total::column).collect();
    let internal = |_| ExecError::Internal { place: "totals" };
    Groups::new(RecordBatch::try_new(schema, columns).map_err(internal)?, 0).map(Some)
}

/// One aggregate, as the plan has it.
struct Call<'a> {
    kind: Kind,
    /// Those of a sum are its factors; rows are counted without any.
    arguments: &'a [Expr],
    filter: Option<&'a Expr>,
}

#[derive(Clone, Copy)]
enum Kind {
    Count,
    Sum,
}

/// An aggregate, ready to be evaluated.
struct Compute {
    arguments: Vec<Compiled>,
    /// Whether the arguments are columns: they are then read in place, where others see copies of the rows that the
    /// aggregate takes, and so cannot fail on the rest.
    are_columns: bool,
    filter: Option<Compiled>,
}

/// Some rows of a batch.
struct Matching<'a> {
    batch: &'a RecordBatch,
    /// `None` for all.
    kept: Option<BooleanArray>,
    copy: OnceCell<RecordBatch>,
}

/// An aggregate over some rows.
enum Total {
    Count(i64),
    /// `None` says that no row had a value.
    Sum(Option<i128>),
}

struct Pass {
    columns: UsedColumns,
    predicate: Option<Compiled>,
    zones: Option<ZoneFilter>,
    computes: Vec<Compute>,
}

impl<'a> Call<'a> {
    fn read_all(aggregates: &'a [Expr]) -> Option<Vec<Self>> {
        aggregates.iter().map(Self::read).collect()
    }

    fn read(aggregate: &'a Expr) -> Option<Self> {
        let Expr::AggregateFunction(call) = aggregate else { return None };
        let params = &call.params;
        if params.distinct || !params.order_by.is_empty() || params.null_treatment.is_some() {
            return None;
        }
        let filter = params.filter.as_deref();
        match (call.func.name(), params.args.as_slice()) {
            ("count", [Expr::Literal(value, _)]) if !value.is_null() => {
                Some(Self { kind: Kind::Count, arguments: &[], filter })
            }
            ("count", arguments @ [_]) => Some(Self { kind: Kind::Count, arguments, filter }),
            (sums::EXACT, arguments) => Some(Self { kind: Kind::Sum, arguments, filter }),
            _ => None,
        }
    }

    fn nothing(&self) -> Total {
        match self.kind {
            Kind::Count => Total::Count(0),
            Kind::Sum => Total::Sum(None),
        }
    }
}

impl Pass {
    fn compile(scope: &Scope<'_>, predicate: Option<&Expr>, calls: &[Call<'_>]) -> Result<Self, ExecError> {
        let of_calls = calls.iter().flat_map(|call| call.arguments.iter().chain(call.filter));
        let columns = UsedColumns::of(scope, predicate.into_iter().chain(of_calls))?;
        let compile = |role, expr: &Expr| columns.compile(scope.state, role, expr);
        let predicate = predicate.map(|expr| compile(ExpressionRole::Predicate, expr)).transpose()?;
        let zones = predicate.as_ref().and_then(|predicate| columns.zones(predicate));
        let computes = calls.iter().map(|call| {
            let arguments = call.arguments.iter().map(|expr| compile(ROLE, expr));
            let arguments: Vec<_> = arguments.collect::<Result<_, ExecError>>()?;
            let are_columns = arguments.iter().all(Compiled::is_column);
            let filter = call.filter.map(|expr| compile(ROLE, expr)).transpose()?;
            Ok(Compute { arguments, are_columns, filter })
        });
        let computes = computes.collect::<Result<_, ExecError>>()?;
        Ok(Self { predicate, zones, computes, columns })
    }

    fn part(
        &self,
        job: &Job,
        part: PartRef<'_>,
        nothing: &(impl Fn() -> Vec<Total> + Sync + Send),
    ) -> Result<Vec<Total>, ExecError> {
        job.stop.check()?;
        let clear = if self.columns.is_empty() { None } else { job.snapshot.clear_part(part)? };
        let stored = clear.as_ref().and_then(PartColumns::stored);
        if self.zones.as_ref().zip(stored).is_some_and(|(zones, clear)| zones.excludes(clear)) {
            return Ok(nothing());
        }
        let living = job.snapshot.living(part)?;
        let batches = living.rows_of(self.columns.read(clear.as_ref(), part.entry.rows)?)?;
        batches.par_iter().map(|batch| self.batch(batch, nothing())).try_reduce(nothing, both)
    }

    fn batch(&self, batch: &RecordBatch, mut totals: Vec<Total>) -> Result<Vec<Total>, ExecError> {
        let rows = Matching::of(self.predicate.as_ref(), batch)?;
        let mut computes = self.computes.iter().zip(&mut totals);
        computes.try_for_each(|(compute, total)| compute.add(&rows, total))?;
        Ok(totals)
    }
}

impl Compute {
    /// Adds those of the rows that the aggregate takes.
    fn add(&self, rows: &Matching<'_>, total: &mut Total) -> Result<(), ExecError> {
        match &self.filter {
            None => self.add_all(rows, total),
            Some(filter) => self.add_all(&Matching::of(Some(filter), rows.copied()?)?, total),
        }
    }

    fn add_all(&self, rows: &Matching<'_>, total: &mut Total) -> Result<(), ExecError> {
        let (batch, kept) = match &rows.kept {
            Some(kept) if self.are_columns => (rows.batch, Some(kept)),
            _ => (rows.copied()?, None),
        };
        let arguments = self.arguments.iter().map(|argument| argument.array(batch));
        let arguments: Vec<ArrayRef> = arguments.collect::<Result<_, _>>()?;
        let more = match total {
            Total::Count(_) => {
                let present = arguments.first().and_then(|argument| argument.logical_nulls());
                let counted = match (kept, &present) {
                    (None, None) => batch.num_rows(),
                    (None, Some(present)) => present.len() - present.null_count(),
                    (Some(kept), None) => kept.true_count(),
                    (Some(kept), Some(present)) => (kept.values() & present.inner()).count_set_bits(),
                };
                Total::Count(counted as i64)
            }
            Total::Sum(_) => {
                let failed = |_| ExecError::Evaluation { role: ROLE };
                Total::Sum(sums::total(&arguments, kept).map_err(failed)?)
            }
        };
        total.merge(&more)
    }
}

impl<'a> Matching<'a> {
    /// The rows on which a condition holds.
    fn of(condition: Option<&Compiled>, batch: &'a RecordBatch) -> Result<Self, ExecError> {
        let kept = condition.map(|condition| condition.condition(batch)).transpose()?;
        let kept = kept.filter(|kept| kept.count_set_bits() < batch.num_rows());
        Ok(Self { batch, kept: kept.map(|kept| BooleanArray::new(kept, None)), copy: OnceCell::new() })
    }

    /// A batch of these rows alone.
    fn copied(&self) -> Result<&RecordBatch, ExecError> {
        let Some(kept) = &self.kept else { return Ok(self.batch) };
        if let Some(copy) = self.copy.get() {
            return Ok(copy);
        }
        let internal = |_| ExecError::Internal { place: "matching rows" };
        let copy = filter_record_batch(self.batch, kept).map_err(internal)?;
        Ok(self.copy.get_or_init(|| copy))
    }
}

impl Total {
    fn merge(&mut self, more: &Self) -> Result<(), ExecError> {
        match (self, more) {
            (Self::Count(count), Self::Count(more)) => *count += more,
            (Self::Sum(sum), Self::Sum(Some(more))) => {
                let overflow = ExecError::Evaluation { role: ROLE };
                *sum = Some(sum.unwrap_or(0).checked_add(*more).ok_or(overflow)?);
            }
            _ => {}
        }
        Ok(())
    }

    /// The column that the query engine would name and type for it.
    fn field(&self, name: String) -> Field {
        match self {
            Self::Count(_) => Field::new(name, DataType::Int64, false),
            Self::Sum(_) => Field::new(name, TOTAL, true),
        }
    }

    fn column(self) -> ArrayRef {
        match self {
            Self::Count(count) => Arc::new(Int64Array::from(vec![count])),
            Self::Sum(sum) => Arc::new(Decimal128Array::from(vec![sum]).with_data_type(TOTAL)),
        }
    }
}

/// The totals over the rows of both.
fn both(mut one: Vec<Total>, other: Vec<Total>) -> Result<Vec<Total>, ExecError> {
    one.iter_mut().zip(&other).try_for_each(|(one, other)| one.merge(other))?;
    Ok(one)
}
