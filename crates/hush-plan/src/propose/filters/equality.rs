// SPDX-License-Identifier: Apache-2.0
//! Columns that the queries of a workload compare for equality alone: those are shorter in codes of constant weight.

use std::collections::BTreeSet;

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use crate::filter::Code;
use crate::propose::Workload;
use crate::schema::Schema;
use crate::schema::cube::{Dimension, Grain};
use crate::sql::{Query, bare, columns_of};

/// Those of some columns that have fewer flags so, and of which the queries that are to be served want no more than equality.
pub(super) fn keys(
    workload: &Workload<'_>,
    columns: &BTreeSet<String>,
    served: &[usize],
) -> BTreeSet<String> {
    let queries = || served.iter().filter_map(|place| workload.queries.get(*place));
    let is_key = |name: &&String| {
        is_shorter(workload.schema, name) && queries().all(|query| wants_equality(query, name))
    };
    columns.iter().filter(is_key).cloned().collect()
}

fn is_shorter(schema: &Schema, name: &str) -> bool {
    let flags = |grain| {
        let code = Code::of(schema, &Dimension { column: name.to_owned(), grain }).ok()?;
        Some(code.quantities().len())
    };
    flags(Grain::Each).zip(flags(Grain::Equality)).is_some_and(|(digits, codewords)| codewords < digits)
}

/// Whether a query compares a column for equality, and reads it nowhere else.
fn wants_equality(query: &Query, name: &str) -> bool {
    let rest = query.without_filter();
    let reads = |expr: &Expr| columns_of(expr).iter().any(|column| *column == name);
    !rest.expressions().any(reads) && query.filter.as_ref().is_none_or(|filter| is_equality(filter, name))
}

/// Whether a condition compares a column for equality with constants, if it reads it.
fn is_equality(condition: &Expr, name: &str) -> bool {
    use BinaryOperator::{And, Eq, NotEq, Or};
    let is_column = |expr: &Expr| crate::sql::column_name(bare(expr)) == Some(name);
    match bare(condition) {
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => is_equality(expr, name),
        Expr::BinaryOp { left, op: And | Or, right } => is_equality(left, name) && is_equality(right, name),
        Expr::BinaryOp { left, op: Eq | NotEq, right } if is_column(left) => columns_of(right).is_empty(),
        Expr::BinaryOp { left, op: Eq | NotEq, right } if is_column(right) => columns_of(left).is_empty(),
        Expr::InList { expr, list, .. } if is_column(expr) => {
            list.iter().all(|one| columns_of(one).is_empty())
        }
        Expr::IsNull(expr) | Expr::IsNotNull(expr) if is_column(expr) => true,
        other => !columns_of(other).iter().any(|column| *column == name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{ColumnType, Protection};
    use crate::sql::parse;
    use crate::tables::{column, ranged, schema};

    #[test]
    fn a_column_is_a_key_where_nothing_but_equality_is_asked() {
        let kind = ColumnType::Int { bits: 32 };
        let key = |name| ranged(column(name, kind, Protection::Encrypt), 1, 60_000);
        let table = schema("t", vec![key("id"), key("other")]);
        let wants = |text: &str| wants_equality(&parse(&table, text).unwrap(), "id");
        for condition in [
            "id = 5",
            "5 <> id AND other < 3",
            "NOT (id IN (1, 2 + 3) OR other > 7)",
            "id IS NULL",
            "other < 5",
        ] {
            assert!(wants(&format!("SELECT COUNT(*) FROM t WHERE {condition}")), "{condition}");
        }
        for condition in [
            "id < 5",
            "id = other",
            "id BETWEEN 1 AND 2",
            "id % 2 = 1",
            "id = 5 OR id > 7",
            "id IN (1, other)",
        ] {
            assert!(!wants(&format!("SELECT COUNT(*) FROM t WHERE {condition}")), "{condition}");
        }
        for text in ["SELECT MAX(id) FROM t WHERE id = 5", "SELECT id, COUNT(*) FROM t GROUP BY id"] {
            assert!(!wants(text), "{text}");
        }
        assert!(is_shorter(&table, "id"));
        let few = schema("t", vec![ranged(column("id", kind, Protection::Encrypt), 1, 4)]);
        assert!(!is_shorter(&few, "id") && !is_shorter(&few, "no"));
    }
}
