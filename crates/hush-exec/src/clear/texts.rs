// SPDX-License-Identifier: Apache-2.0
//! How long the texts of an answer's column are, about: as long as those of the clear columns that they are made of.

use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use hush_table::Manifest;

/// Bytes of a text of which nothing is known.
const TEXT_BYTES: f64 = 12.0;

/// Mean bytes of the values of clear columns, by their names, as the owner counted them.
pub(super) fn mean_bytes(manifest: &Manifest) -> impl Fn(&str) -> Option<f64> {
    |name| {
        let place = manifest.clear_columns.iter().position(|column| column.name == name)?;
        let length = manifest.lengths.of_clear(place)?;
        Some(length.bytes as f64 / length.rows.max(1) as f64)
    }
}

/// Bytes of a text that an expression over clear columns gives, which have so many by their names.
pub(super) fn text_bytes(expr: &Expr, mean: &dyn Fn(&str) -> Option<f64>) -> f64 {
    let inner = |expr: &Expr| text_bytes(expr, mean);
    let first = |args: &[Expr]| args.first().map_or(TEXT_BYTES, inner);
    match expr {
        Expr::Column(column) => mean(&column.name).unwrap_or(TEXT_BYTES),
        Expr::Literal(value, _) => {
            value.try_as_str().map_or(TEXT_BYTES, |text| text.map_or(0, str::len) as f64)
        }
        Expr::Alias(alias) => inner(&alias.expr),
        Expr::Cast(cast) => inner(&cast.expr),
        Expr::TryCast(cast) => inner(&cast.expr),
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::StringConcat, right }) => {
            inner(left) + inner(right)
        }
        Expr::Case(case) => {
            let results = case.when_then_expr.iter().map(|(_, result)| result).chain(&case.else_expr);
            let lengths: Vec<f64> = results.map(|result| inner(result)).collect();
            lengths.iter().sum::<f64>() / lengths.len().max(1) as f64
        }
        Expr::ScalarFunction(call) if call.name() == "concat" => call.args.iter().map(inner).sum(),
        Expr::ScalarFunction(call) => first(&call.args),
        // The least and the greatest text are texts of a column.
        Expr::AggregateFunction(call) => first(&call.params.args),
        _ => TEXT_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::common::DFSchema;
    use datafusion::prelude::SessionContext;

    use super::*;

    #[test]
    fn texts_are_as_long_as_what_they_are_made_of() {
        use arrow::datatypes::{DataType, Field, Schema};
        let field = |name, kind| Field::new(name, kind, true);
        let fields =
            vec![field("a", DataType::Utf8), field("b", DataType::Utf8), field("n", DataType::Int64)];
        let schema = DFSchema::try_from(Schema::new(fields)).unwrap();
        let session = SessionContext::new();
        let mean = |name: &str| match name {
            "a" => Some(40.5),
            "b" => Some(3.0),
            _ => None,
        };
        for (text, bytes) in [
            ("a", 40.5),
            ("\"b\"", 3.0),
            ("'süd'", 4.0),
            ("upper(trim(a))", 40.5),
            ("coalesce(b, a)", 3.0),
            ("a || '-' || b", 44.5),
            ("concat(a, '-', b)", 44.5),
            ("CASE WHEN a = 'long' THEN 'yes' ELSE 'n' END", 2.0),
            ("CASE WHEN n > 0 THEN a END", 40.5),
            ("CAST(n AS VARCHAR)", 12.0),
            ("CAST(b AS VARCHAR)", 3.0),
            ("max(a)", 40.5),
            ("min(b)", 3.0),
        ] {
            let expr = session.parse_sql_expr(text, &schema).unwrap();
            assert_eq!(text_bytes(&expr, &mean), bytes, "{text}");
        }
    }
}
