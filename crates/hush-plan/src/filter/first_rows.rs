// SPDX-License-Identifier: Apache-2.0
//! The first rows by a column with flags, under conditions without keys: `ORDER BY x LIMIT k`.
//!
//! Rounds that count rows, as for other places of the order ([`super::search`]), find the value of the last row that is wanted. Then the rows up to it are
//! the rows that match ([`super::matching`]), about as many as are wanted, and those of the same value.

use super::code::Code;
use super::search::rows_of_runs;
use super::term::Term;
use super::{FilterShape, code_of};
use crate::cube::CubeShape;
use crate::fetch::and;
use crate::plan::{RankAt, Search};
use crate::schema::units::format_units;
use crate::schema::{ColumnType, Schema};
use crate::sql::{Query, bare, column_name, parse, quoted};

/// Most rows that are found so.
const MOST_ROWS: u64 = 1000;

impl Search {
    /// The search for the last of the first rows that a query wants; `None` where it wants none by one column alone, or missing values first.
    pub(crate) fn of_first_rows(shape: &FilterShape, query: &Query) -> Option<Self> {
        let key = query.order.first().filter(|_| !query.is_grouped() && !query.has_windows())?;
        let column = column_name(bare(&key.expr))?;
        let code = shape.codes.iter().find(|code| code.column == column)?;
        let descending = key.options.asc == Some(false);
        // As query engines have it.
        let nulls_first = key.options.nulls_first.unwrap_or(descending);
        let rows = query.limit?.saturating_add(query.offset);
        let rounds = code.levels().len();
        let is_found = (1..=MOST_ROWS).contains(&rows) && rounds > 0 && code.kind != ColumnType::Bool;
        (is_found && !(code.nullable && nulls_first)).then(|| Self {
            column: column.to_owned(),
            ranks: vec![RankAt::Nth { place: rows - 1, descending }],
            rounds,
            round: None,
        })
    }

    /// Whether it is one for the last of the first rows, and those of the least values.
    fn descends(&self) -> Option<bool> {
        match self.ranks.as_slice() {
            [RankAt::Nth { descending, .. }] => Some(*descending),
            _ => None,
        }
    }

    /// Whether rows are wanted up to what it finds.
    pub fn is_of_rows(&self) -> bool {
        self.descends().is_some()
    }

    /// The question of its rounds: how many rows of a query are in runs of the column's values.
    ///
    /// # Errors
    /// None but bugs: `None` where the schema lacks the column.
    pub fn counting(&self, schema: &Schema, query: &Query) -> Option<Query> {
        Some(Query { filter: query.filter.clone(), ..self.least(schema, "")? })
    }

    /// The least value of the column, of rows for which a condition holds.
    fn least(&self, schema: &Schema, condition: &str) -> Option<Query> {
        let (column, table) = (quoted(&self.column), quoted(&schema.table));
        parse(schema, &format!("SELECT MIN({column}) FROM {table} {condition}")).ok()
    }

    /// The value of the last row that is wanted, where a last round has found so many rows in each run; none where there are fewer rows than are wanted.
    /// `None` if the rounds do not agree with each other.
    pub fn last_wanted(&self, shape: &CubeShape, rows: &[i128]) -> Option<Option<i128>> {
        let [RankAt::Nth { place, descending }] = *self.ranks.as_slice() else { return None };
        let mut runs = rows_of_runs(shape, &self.column, rows).into_iter().flatten().collect::<Vec<_>>();
        if descending {
            runs.reverse();
        }
        let mut before = 0_i128;
        for ((first, last), rows) in runs {
            before += rows;
            if before > i128::from(place) {
                return (first == last).then_some(Some(first));
            }
        }
        Some(None)
    }

    /// A query for the rows up to a value, all of them; without one, for all of its rows.
    ///
    /// # Errors
    /// None but bugs: `None` where the schema lacks the column.
    pub fn up_to(&self, schema: &Schema, query: &Query, last: Option<i128>) -> Option<Query> {
        let all = Query { limit: None, offset: 0, ..query.clone() };
        let Some(last) = last else { return Some(all) };
        let column = schema.column(&self.column)?;
        let text = format_units(column.kind, last);
        let constant = match column.kind {
            ColumnType::Date => format!("DATE '{text}'"),
            ColumnType::Timestamp => format!("TIMESTAMP '{text}'"),
            _ => text,
        };
        let op = if self.descends()? { ">=" } else { "<=" };
        let bound = self.least(schema, &format!("WHERE {} {op} {constant}", quoted(&self.column)))?.filter;
        let filter = [query.filter.clone(), bound].into_iter().flatten().reduce(and);
        Some(Query { filter, ..all })
    }

    /// What is true of the rows up to a value in the middle: of all bounds it takes the most factors.
    pub(crate) fn sample_of_rows(&self, schema: &Schema) -> Option<Term> {
        let code: Code = code_of(schema, &self.column)?;
        let (last, descends) = (code.count() - 1, self.descends()?);
        let up_to = |place: u64| if descends { (place, last) } else { (0, place) };
        // A bound that begins a digit takes fewer.
        let middle = (code.count() / 2..last).take(3).chain([last / 2]);
        middle.map(|place| code.within(&[up_to(place)])).max_by_key(Term::degree)
    }
}

#[cfg(test)]
mod tests;
