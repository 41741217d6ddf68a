// SPDX-License-Identifier: Apache-2.0
//! Final queries that only pick, order and cut columns of `merged`, as most do. They are read and answered here in microseconds. The
//! query engine would take a millisecond to plan, and in a new process several to get ready.
//!
//! The grammar is that of [`hush_plan`]'s final queries without expressions: `SELECT column AS "name", … FROM merged [ORDER BY column
//! [ASC | DESC] [NULLS FIRST | NULLS LAST], …] [LIMIT n] [OFFSET n]`. Any other query is left to the query engine.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::compute::{SortColumn, SortOptions, lexsort_to_indices, take_record_batch};
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};

/// A final query without expressions. Columns are positions in `merged`.
#[derive(Debug, PartialEq)]
pub(super) struct Picked {
    columns: Vec<(usize, String)>,
    order: Vec<(usize, SortOptions)>,
    limit: Option<usize>,
    offset: usize,
}

impl Picked {
    /// Reads a query over columns of `merged`; `None` if it is of another form.
    pub(super) fn read(sql: &str, merged: &Schema) -> Option<Self> {
        let mut text = Text(sql);
        text.take("SELECT ")?;
        let mut columns = vec![text.output(merged)?];
        while text.take(", ").is_some() {
            columns.push(text.output(merged)?);
        }
        text.take(" FROM merged")?;
        let mut order = Vec::new();
        if text.take(" ORDER BY ").is_some() {
            order.push(text.key(merged)?);
            while text.take(", ").is_some() {
                order.push(text.key(merged)?);
            }
        }
        let limit = text.number(" LIMIT ")?;
        let offset = text.number(" OFFSET ")?.unwrap_or(0);
        // The engine refuses two columns of one name.
        let mut names = HashSet::new();
        let differ = columns.iter().all(|(_, name)| names.insert(name.as_str()));
        (text.0.is_empty() && differ).then_some(Self { columns, order, limit, offset })
    }

    /// The result.
    ///
    /// # Errors
    /// A type that has no order.
    pub(super) fn of(&self, merged: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let from = self.offset.min(merged.num_rows());
        let rows = self.limit.unwrap_or(usize::MAX).min(merged.num_rows() - from);
        let sorted = if self.order.is_empty() || merged.num_rows() < 2 {
            merged.slice(from, rows)
        } else {
            let key = |&(column, options): &(usize, SortOptions)| SortColumn {
                values: Arc::clone(merged.column(column)),
                options: Some(options),
            };
            let keys: Vec<SortColumn> = self.order.iter().map(key).collect();
            let places = lexsort_to_indices(&keys, None)?;
            take_record_batch(merged, &places.slice(from, rows))?
        };
        let schema = sorted.schema();
        let field = |(column, name): &(usize, String)| schema.field(*column).clone().with_name(name.as_str());
        let fields: Vec<_> = self.columns.iter().map(field).collect();
        let columns = self.columns.iter().map(|(column, _)| Arc::clone(sorted.column(*column))).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
    }
}

/// The text that is left to read.
struct Text<'a>(&'a str);

impl Text<'_> {
    fn take(&mut self, word: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(word)?;
        Some(())
    }

    /// The position of a column.
    fn column(&mut self, merged: &Schema) -> Option<usize> {
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let (name, rest) = self.0.split_at(self.0.find(|c| !is_part(c)).unwrap_or(self.0.len()));
        self.0 = rest;
        merged.index_of(name).ok()
    }

    /// `column AS "name"`.
    fn output(&mut self, merged: &Schema) -> Option<(usize, String)> {
        let column = self.column(merged)?;
        self.take(" AS \"")?;
        let mut name = String::new();
        loop {
            let (part, rest) = self.0.split_once('"')?;
            name.push_str(part);
            self.0 = rest;
            if self.take("\"").is_none() {
                return Some((column, name));
            }
            name.push('"');
        }
    }

    /// A sort key. Without a place of their own, NULLs are larger than everything.
    fn key(&mut self, merged: &Schema) -> Option<(usize, SortOptions)> {
        let column = self.column(merged)?;
        let descending = self.take(" DESC").is_some();
        if !descending {
            self.take(" ASC");
        }
        let nulls_first = match (self.take(" NULLS FIRST"), self.take(" NULLS LAST")) {
            (Some(()), _) => true,
            (None, Some(())) => false,
            (None, None) => descending,
        };
        Some((column, SortOptions { descending, nulls_first }))
    }

    /// The number behind a word, if the word is there; `None` if it is no number.
    fn number(&mut self, word: &str) -> Option<Option<usize>> {
        if self.take(word).is_none() {
            return Some(None);
        }
        let (digits, rest) =
            self.0.split_at(self.0.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.0.len()));
        self.0 = rest;
        digits.parse().ok().map(Some)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
    use arrow::compute::concat_batches;

    use super::super::{by_engine, finish};
    use super::*;

    fn merged() -> RecordBatch {
        let columns: [(&str, ArrayRef); 3] = [
            ("k0", Arc::new(StringArray::from(vec![Some("b"), None, Some("a"), Some("b"), Some("")]))),
            ("a0", Arc::new(Int64Array::from(vec![Some(3), Some(1), None, Some(2), Some(3)]))),
            (
                "a1",
                Arc::new(Float64Array::from(vec![
                    Some(0.0),
                    Some(-0.0),
                    Some(f64::NAN),
                    None,
                    Some(f64::NEG_INFINITY),
                ])),
            ),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    /// Queries of every shape have the query engine's results, names and types included.
    #[test]
    fn picked_columns_are_those_of_the_query_engine() {
        let merged = merged();
        let keys = ["a0", "a0 DESC", "a1", "a1 ASC NULLS FIRST", "a1 DESC NULLS LAST", "k0", "k0 DESC"];
        let mut orders = vec![String::new()];
        for first in keys {
            orders.push(format!(" ORDER BY {first}, a1, k0"));
            orders.extend(keys.map(|second| format!(" ORDER BY {first}, {second}, a1 DESC, a0, k0")));
        }
        let cuts = ["", " LIMIT 2", " LIMIT 0", " LIMIT 9 OFFSET 2", " OFFSET 4", " LIMIT 1 OFFSET 7"];
        let picks =
            [r#"a1 AS "SUM(x)", k0 AS "a ""b"" c""#, r#"a0 AS "", a0 AS "A0""#, r#"k0 AS "naïve, x""#];
        for order in &orders {
            for (cut, pick) in cuts.iter().zip(picks.iter().cycle()) {
                let sql = format!("SELECT {pick} FROM merged{order}{cut}");
                assert!(Picked::read(&sql, &merged.schema()).is_some(), "{sql}");
                let found = by_engine(merged.clone(), &sql).unwrap();
                let found = concat_batches(&found[0].schema(), &found).unwrap();
                let here = &finish(merged.clone(), &sql).unwrap()[0];
                // NaN is not equal to itself, so texts are compared.
                assert_eq!(format!("{here:?}"), format!("{found:?}"), "{sql}");
            }
        }
    }

    #[test]
    fn other_queries_are_left_to_the_query_engine() {
        let schema = merged().schema();
        for sql in [
            r#"SELECT a0 + 1 AS "x" FROM merged"#,
            r#"SELECT -a0 AS "x" FROM merged"#,
            r#"SELECT CAST(a0 AS DOUBLE) AS "x" FROM merged"#,
            r#"SELECT a9 AS "x" FROM merged"#,
            r#"SELECT a0 AS "x", k0 AS "x" FROM merged"#,
            r#"SELECT a0 AS "x" FROM merged WHERE a0 > 1"#,
            r#"SELECT a0 AS "x" FROM merged ORDER BY a0 + 1"#,
            r#"SELECT a0 AS "x" FROM merged ORDER BY -a0"#,
            r#"SELECT a0 AS "x" FROM merged LIMIT -1"#,
            r#"SELECT a0 AS "x" FROM merged LIMIT 99999999999999999999"#,
            r#"SELECT a0 AS "x" FROM merged ORDER BY"#,
            r#"SELECT a0 AS "x FROM merged"#,
            r#"SELECT a0 AS x FROM merged"#,
            r#"SELECT a0 FROM merged"#,
            r#"SELECT a0 AS "x" FROM merged UNION SELECT 1"#,
            "",
        ] {
            assert_eq!(Picked::read(sql, &schema), None, "{sql}");
        }
    }
}
