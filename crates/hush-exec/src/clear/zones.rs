// SPDX-License-Identifier: Apache-2.0
//! Zone maps: the bounds of a part's columns can show that no row of the part matches a condition.
//!
//! Such a part is not read; any other is. The query engine prunes by any expression that it can rewrite, but this module
//! only by expressions for which the rewriting is plainly sound. They compare columns with literals, and are joined by
//! AND and OR. The columns have bounds (floats have none, see [`ClearPart::bounds`]), and are taken as they are or after a
//! conversion that keeps their order. Members of AND of another kind are left out, which only weakens the condition.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::{DataType, Schema};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CastExpr, Column as ColumnExpr, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NotExpr,
};
use datafusion::physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder};
use hush_table::ClearPart;
use hush_table::part::{ColumnBounds, Zones};

use crate::parts::PartSet;

/// A condition on the bounds of a part's columns.
#[derive(Debug)]
pub(crate) struct ZoneFilter {
    predicate: Arc<PruningPredicate>,
    /// Names and positions in the table of the condition's columns.
    columns: Vec<(String, usize)>,
}

impl ZoneFilter {
    /// The filter for a condition over columns at these positions in the table. `None` if bounds tell nothing about the
    /// condition.
    pub(super) fn new(
        expr: &Arc<dyn PhysicalExpr>,
        schema: &Arc<Schema>,
        positions: &[usize],
    ) -> Option<Self> {
        let builder = PruningPredicateBuilder::new().with_file_schema(schema.clone());
        let predicate = builder.build(weakened(expr, schema)?)?;
        let names = schema.fields().iter().map(|field| field.name().clone());
        Some(Self { predicate, columns: names.zip(positions.iter().copied()).collect() })
    }

    /// The parts of a table of which certainly no row can match, as far as its zones tell.
    pub(crate) fn ruled_out(&self, zones: &Zones) -> PartSet {
        let columns = self.columns.iter();
        let columns = columns.filter_map(|(name, position)| Some((name.clone(), zones.bounds(*position)?)));
        let bounds = PartBounds { runs: zones.parts(), columns: columns.collect() };
        if bounds.columns.is_empty() {
            return PartSet::default();
        }
        let may_match = self.predicate.prune(&bounds).unwrap_or_default();
        (0..).zip(may_match).filter(|(_, may)| !may).map(|(part, _)| part..part + 1).collect()
    }

    /// Whether certainly no row of the part can match. `false` also if the bounds cannot be read: the part is then read, which
    /// shows the error.
    pub(crate) fn excludes(&self, part: &ClearPart) -> bool {
        let mut bounds = PartBounds { runs: 0, columns: HashMap::new() };
        for (name, position) in &self.columns {
            if let Ok(Some(found)) = part.bounds(*position) {
                bounds.runs = found.null_count.len();
                bounds.columns.insert(name.clone(), found);
            }
        }
        let same = bounds
            .columns
            .values()
            .all(|found| [found.min.len(), found.max.len(), found.null_count.len()] == [bounds.runs; 3]);
        if bounds.runs == 0 || !same {
            return false;
        }
        self.predicate.prune(&bounds).is_ok_and(|may_match| !may_match.contains(&true))
    }
}

/// The bounds of one part's columns, as the query engine asks for them.
struct PartBounds {
    runs: usize,
    columns: HashMap<String, ColumnBounds>,
}

impl PruningStatistics for PartBounds {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        Some(self.columns.get(&column.name)?.min.clone())
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        Some(self.columns.get(&column.name)?.max.clone())
    }

    fn num_containers(&self) -> usize {
        self.runs
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        Some(Arc::new(self.columns.get(&column.name)?.null_count.clone()))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        None
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}

/// A condition that bounds can decide soundly and that is true wherever this one is. `None` if only TRUE is one.
fn weakened(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Arc<dyn PhysicalExpr>> {
    let is_list = |binary: &&BinaryExpr| matches!(binary.op(), Operator::And | Operator::Or);
    let Some(binary) = expr.downcast_ref::<BinaryExpr>().filter(is_list) else {
        let expr = negated_comparison(expr).unwrap_or_else(|| expr.clone());
        return is_sound(&expr, schema).then_some(expr);
    };
    match (weakened(binary.left(), schema), weakened(binary.right(), schema)) {
        (Some(left), Some(right)) => Some(Arc::new(BinaryExpr::new(left, *binary.op(), right))),
        (one, other) if *binary.op() == Operator::And => one.or(other),
        _ => None,
    }
}

/// `x >= 5` for `NOT x < 5`: both are equal for every type with bounds, NULL included.
fn negated_comparison(expr: &Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
    let binary = expr.downcast_ref::<NotExpr>()?.arg().downcast_ref::<BinaryExpr>()?;
    let op = binary.op().negate()?;
    Some(Arc::new(BinaryExpr::new(binary.left().clone(), op, binary.right().clone())))
}

/// Whether bounds can decide a condition without AND and OR soundly.
fn is_sound(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        return match binary.op() {
            Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq => {
                is_literal(binary.right()) && is_ordered(binary.left(), schema)
                    || is_literal(binary.left()) && is_ordered(binary.right(), schema)
            }
            _ => false,
        };
    }
    if let Some(list) = expr.downcast_ref::<InListExpr>() {
        return is_ordered(list.expr(), schema) && list.list().iter().all(is_literal);
    }
    let tested = expr.downcast_ref::<IsNullExpr>().map(IsNullExpr::arg);
    let tested = tested.or_else(|| expr.downcast_ref::<IsNotNullExpr>().map(IsNotNullExpr::arg));
    tested.is_some_and(|column| column.downcast_ref::<ColumnExpr>().is_some())
}

/// Whether the expression is a literal, or a literal that the query engine converts to other types.
pub(super) fn is_literal(expr: &Arc<dyn PhysicalExpr>) -> bool {
    match expr.downcast_ref::<CastExpr>() {
        Some(cast) => is_literal(cast.expr()),
        None => expr.downcast_ref::<Literal>().is_some(),
    }
}

/// Whether the expression is a column, or a column after a conversion that keeps the order and every digit. Those are
/// between integers and decimals, and an error for a value that does not fit. A conversion that rounds is not sound: the
/// engine takes `CAST(x AS DECIMAL(9,0)) = 14` for `x = 14.00`.
fn is_ordered(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    let kind = |expr: &Arc<dyn PhysicalExpr>| expr.data_type(schema).ok();
    match expr.downcast_ref::<CastExpr>() {
        Some(cast) => {
            let is_column = cast.expr().downcast_ref::<ColumnExpr>().is_some();
            let digits = (kind(cast.expr()).and_then(digits), kind(expr).and_then(digits));
            is_column && matches!(digits, (Some(from), Some(to)) if to >= from)
        }
        None => expr.downcast_ref::<ColumnExpr>().is_some() && kind(expr).is_some_and(has_bounds),
    }
}

/// Digits after the point of an exact number's type.
fn digits(kind: DataType) -> Option<i8> {
    match kind {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => Some(scale),
        kind => kind.is_integer().then_some(0),
    }
}

fn has_bounds(kind: DataType) -> bool {
    let is_day = matches!(kind, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..));
    let is_text = matches!(kind, DataType::Utf8 | DataType::LargeUtf8);
    kind.is_integer() || kind.is_decimal() || is_day || is_text || kind == DataType::Boolean
}

#[cfg(test)]
mod tests;
