// SPDX-License-Identifier: Apache-2.0
//! Grouped queries, protection known, layouts not yet: which sums are needed and how they become the result.
//!
//! Every aggregate reduces to linear forms in *moments*: clear aggregates, and masked sums of encoded columns.
//! `SUM` is the first moment of its argument, `COUNT` the zeroth, `VARIANCE` needs the second as well, which is the
//! first moment of the squared polynomial. A term without encrypted column still depends on the missingness of
//! those beside it: it becomes a sum over their validity.

mod call;
mod joint;
mod logistic;
mod moments;
mod order;
mod product;

use crate::error::{Clause, Feature, PlanError};
use crate::final_sql::{self, Clauses, Replacement};
use crate::plan::{Mask, OwnerAggregate};
use crate::quantity::Quantity;
use crate::range::Interval;
use crate::schema::Schema;
use crate::sql::clear::{check_clear, encrypted_in};
use crate::sql::{Query, bare, column_name, functions, quoted};

/// A grouped query without its encodings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grouped {
    pub(crate) keys: Vec<String>,
    /// Clear aggregates; the first is `COUNT(*)`. Over cells the second is the number of rows for which they stand.
    pub(crate) clear: Vec<String>,
    pub(crate) masks: Vec<BoundedMask>,
    pub(crate) sums: Vec<QuantitySum>,
    pub(crate) outputs: Vec<OwnerAggregate>,
    pub(crate) final_sql: String,
}

/// A mask and what its weights can be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BoundedMask {
    pub(crate) mask: Mask,
    pub(crate) weights: Interval,
}

/// A masked sum of something that some encoding may hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QuantitySum {
    pub(crate) mask: usize,
    pub(crate) quantity: Quantity,
    /// The aggregate that asked first, as typed.
    pub(crate) text: String,
    /// The columns of an aggregate of several, for which the schema can declare `moments`; else empty.
    pub(crate) together: Vec<String>,
}

/// Reduces a grouped query to sums over at most `rows` rows.
///
/// # Errors
/// Whatever no encoding could make possible: codes P007, P010, P011, P014 to P017 and P019, and P005 for aggregates that
/// encrypted columns do not have.
pub(crate) fn compile(schema: &Schema, query: &Query, rows: u64) -> Result<Grouped, PlanError> {
    compile_from(schema, query, rows, None)
}

/// The same over cells, each of which stands for as many rows as a clear column `count` of theirs says, at least one. Quantities are sums over these
/// rows.
///
/// # Errors
/// As [`compile`]; [`PlanError::UnsupportedCall`] for aggregates that need each row.
pub(crate) fn compile_cells(
    schema: &Schema,
    query: &Query,
    rows: u64,
    count: &str,
) -> Result<Grouped, PlanError> {
    compile_from(schema, query, rows, Some(count))
}

fn compile_from(
    schema: &Schema,
    query: &Query,
    rows: u64,
    count: Option<&str>,
) -> Result<Grouped, PlanError> {
    if let Some(filter) = &query.filter {
        check_clear(schema, filter, Clause::Where)?;
    }
    check_keys(schema, query)?;
    let mut grouped = Grouped {
        keys: query.keys.iter().map(ToString::to_string).collect(),
        clear: std::iter::once("COUNT(*)".to_owned())
            .chain(count.map(|count| format!("SUM({})", quoted(count))))
            .collect(),
        masks: Vec::new(),
        sums: Vec::new(),
        outputs: Vec::new(),
        final_sql: String::new(),
    };
    let (seen, together) = (Vec::new(), Vec::new());
    let mut builder = Builder { schema, query, rows, count, grouped: &mut grouped, seen, together };
    let items = query.items.iter().map(|item| builder.finish(&item.expr, Clause::Select));
    let items = items.collect::<Result<_, _>>()?;
    let having = query.having.as_ref().map(|expr| builder.finish(expr, Clause::Having)).transpose()?;
    let order = query.order.iter().map(|key| builder.finish(&key.expr, Clause::OrderBy));
    let order = order.collect::<Result<_, _>>()?;
    let ties = (0..query.keys.len()).map(|index| format!("k{index}")).collect();
    grouped.final_sql = final_sql::assemble(query, &Clauses { items, having, order, ties });
    Ok(grouped)
}

fn check_keys(schema: &Schema, query: &Query) -> Result<(), PlanError> {
    for key in &query.keys {
        if query.distinct && encrypted_in(schema, key, Clause::Select)?.is_some() {
            return Err(PlanError::Unsupported { clause: Clause::Select, feature: Feature::Distinct });
        }
        check_clear(schema, key, Clause::GroupBy)?;
    }
    Ok(())
}

struct Builder<'a> {
    schema: &'a Schema,
    query: &'a Query,
    rows: u64,
    /// The column with the number of rows for which a row stands; `None` where it is one.
    count: Option<&'a str>,
    grouped: &'a mut Grouped,
    /// Calls that already have an output.
    seen: Vec<functions::Call>,
    /// [`QuantitySum::together`] of the call that is being planned.
    together: Vec<String>,
}

impl Builder<'_> {
    /// Rewrites an expression over keys and aggregates as SQL over `merged`.
    fn finish(&mut self, expr: &sqlparser::ast::Expr, clause: Clause) -> Result<String, PlanError> {
        let whole = expr;
        final_sql::rewrite(expr, &mut |expr| {
            if let Some(index) = self.query.keys.iter().position(|key| bare(key) == bare(expr)) {
                return Ok(Some(Replacement { column: format!("k{index}"), is_int: false }));
            }
            if let Some(call) = functions::aggregate(expr) {
                let index = self.output(call?, expr)?;
                let is_int = self.grouped.outputs[index].is_int();
                return Ok(Some(Replacement { column: format!("a{index}"), is_int }));
            }
            match column_name(expr) {
                None => Ok(None),
                Some(name) => Err(self.stray_column(whole, name, clause)),
            }
        })
    }

    /// A column that is neither a key nor inside an aggregate: say first if it could not be a key.
    fn stray_column(&self, whole: &sqlparser::ast::Expr, name: &str, clause: Clause) -> PlanError {
        let not_grouped = PlanError::NotGrouped { clause, column: name.to_owned() };
        match check_clear(self.schema, whole, clause) {
            Ok(()) => not_grouped,
            Err(PlanError::EncryptedOperand { .. }) if clause == Clause::Select => not_grouped,
            Err(error) => error,
        }
    }

    /// The index of the output for `call`, which is added if it is new.
    fn output(&mut self, call: functions::Call, expr: &sqlparser::ast::Expr) -> Result<usize, PlanError> {
        let same = |seen: &functions::Call| {
            seen.aggregate == call.aggregate
                && seen.distinct == call.distinct
                && seen.filter == call.filter
                && seen.arguments.len() == call.arguments.len()
                && seen.arguments.iter().zip(&call.arguments).all(|(a, b)| bare(a) == bare(b))
        };
        if let Some(index) = self.seen.iter().position(same) {
            return Ok(index);
        }
        self.together.clear();
        let output = call::aggregate(self, &call, &crate::sql::shown(expr))?;
        self.seen.push(call);
        self.grouped.outputs.push(output);
        Ok(self.grouped.outputs.len() - 1)
    }
}

#[cfg(test)]
mod tests;
