// SPDX-License-Identifier: Apache-2.0
//! Workload files: several queries, separated by semicolons, that a table must be able to answer.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, Select, SelectItem, SetExpr, VisitorMut};
use sqlparser::dialect::GenericDialect;
use sqlparser::tokenizer::{Token, Tokenizer};

use super::bounds::syntax;
use super::statement::parse_query;
use super::{Query, bare, parse, quoted, several};
use crate::error::PlanError;
use crate::schema::{Protection, Schema};
use crate::sql::walk::walk_mut;

/// Parses every query of a workload file; empty statements and comments are skipped.
///
/// # Errors
/// As [`asked`], for the first query that is wrong.
pub fn parse_workload(schema: &Schema, text: &str) -> Result<Vec<Query>, PlanError> {
    statements(text)?.iter().map(|statement| asked(schema, statement)).collect()
}

/// The question that a table is asked for a statement: the statement, or, where the owner's query engine plans it as one about several tables,
/// the columns that it reads, under those of its conditions that are of rows of the table alone.
///
/// # Errors
/// As [`parse`] and [`several()`].
pub fn asked(schema: &Schema, statement: &str) -> Result<Query, PlanError> {
    let refused = match parse(schema, statement) {
        Err(error) if error.is_for_several() => error,
        parsed => return parsed,
    };
    let mut query = parse_query(&several(&[schema], statement)?.sql)?;
    let mut read = Read { schema, columns: BTreeSet::new() };
    let _ = walk_mut(&mut query, &mut read);
    let columns: Vec<String> = read.columns.into_iter().map(quoted).collect();
    let columns = if columns.is_empty() { "COUNT(*)".to_owned() } else { columns.join(", ") };
    let (from, conditions) = match &*query.body {
        SetExpr::Select(select) => match (select.from.as_slice(), &select.selection) {
            ([only], selection) if only.joins.is_empty() => {
                (only.relation.to_string(), selection.iter().flat_map(members).collect())
            }
            _ => (quoted(&schema.table), Vec::new()),
        },
        _ => (quoted(&schema.table), Vec::new()),
    };
    let under = |conditions: &[String]| {
        let filter = if conditions.is_empty() { "" } else { " WHERE " };
        parse(schema, &format!("SELECT {columns} FROM {from}{filter}{}", conditions.join(" AND ")))
    };
    let conditions = conditions.into_iter().map(ToString::to_string);
    let conditions: Vec<String> =
        conditions.filter(|condition| under(std::slice::from_ref(condition)).is_ok()).collect();
    // A sub-query in FROM is no table.
    let whole = || parse(schema, &format!("SELECT {columns} FROM {}", quoted(&schema.table)));
    under(&conditions).or_else(|_| whole()).map_err(|_| refused)
}

/// The members of AND.
fn members(expr: &Expr) -> Vec<&Expr> {
    match bare(expr) {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => [members(left), members(right)].concat(),
        _ => vec![expr],
    }
}

/// Gathers the columns that a query reads: names that columns have, wherever they stand, and all for a star.
struct Read<'a> {
    schema: &'a Schema,
    columns: BTreeSet<&'a str>,
}

impl Read<'_> {
    fn add(&mut self, is_read: impl Fn(&str) -> bool) {
        let known = self.schema.columns.iter().filter(|column| column.protect != Protection::Drop);
        self.columns.extend(known.map(|column| column.name.as_str()).filter(|name| is_read(name)));
    }
}

impl VisitorMut for Read<'_> {
    type Break = Infallible;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Infallible> {
        let is_star =
            |item: &SelectItem| matches!(item, SelectItem::QualifiedWildcard(..) | SelectItem::Wildcard(_));
        if select.projection.iter().any(is_star) {
            self.add(|_| true);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        match expr {
            Expr::Identifier(ident) => self.add(|name| name == ident.value),
            Expr::CompoundIdentifier(parts) => {
                self.add(|name| parts.last().is_some_and(|last| last.value == name));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// The text of every query of a workload file, in order.
///
/// # Errors
/// [`PlanError::Syntax`] for what does not divide into tokens.
pub fn statements(text: &str) -> Result<Vec<String>, PlanError> {
    let tokens = Tokenizer::new(&GenericDialect {}, text)
        .with_unescape(false)
        .tokenize()
        .map_err(|error| syntax(&format!("{}{}", error.message, error.location)))?;
    let statements = tokens.split(|token| *token == Token::SemiColon);
    let is_query =
        |tokens: &&[Token]| tokens.iter().any(|token| !matches!(token, Token::Whitespace(_) | Token::EOF));
    Ok(statements.filter(is_query).map(|tokens| tokens.iter().map(ToString::to_string).collect()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::patients;

    fn outputs(text: &str) -> Vec<Vec<String>> {
        let queries = parse_workload(&patients(), text).unwrap();
        queries.iter().map(|query| query.outputs().map(str::to_owned).collect()).collect()
    }

    #[test]
    fn queries_are_split_at_semicolons_that_separate() {
        assert_eq!(
            outputs(
                "-- sums; and more\nSELECT SUM(age) AS a FROM patients;;\n\
                 SELECT COUNT(*) AS b FROM patients WHERE ward = 'a;b' /* ; */;\n-- the end"
            ),
            [["a"], ["b"]]
        );
        assert!(outputs(" ;\n-- nothing\n").is_empty());
        assert_eq!(outputs("SELECT ward AS \"x;y\" FROM patients"), [["x;y"]]);
    }

    #[test]
    fn what_the_owners_engine_plans_is_its_columns_under_its_conditions() {
        for (text, outputs, filter) in [
            (
                "SELECT ward, SUM(age) FROM patients p WHERE p.year > 2020 AND age > (SELECT AVG(age) FROM patients) GROUP BY ROLLUP (ward)",
                vec!["age", "ward", "year"],
                Some("p.year > 2020"),
            ),
            ("SELECT STRING_AGG(ward, ',' ORDER BY age) FROM patients", vec!["age", "ward"], None),
            ("SELECT COUNT(*) FROM (SELECT 1 FROM patients) t", vec!["count"], None),
            (
                "SELECT a.ward FROM patients a JOIN patients b ON a.age = b.bp",
                vec!["age", "bp", "ward"],
                None,
            ),
            ("SELECT SUM(age) AS s FROM patients WHERE year = 2020", vec!["s"], Some("year = 2020")),
        ] {
            let query = asked(&patients(), text).unwrap();
            assert_eq!(query.outputs().collect::<Vec<_>>(), outputs, "{text}");
            assert_eq!(query.filter.is_some(), filter.is_some(), "{text}");
            assert!(query.filter_text().is_none_or(|text| text.contains("year")), "{text}");
        }
        let star =
            asked(&patients(), "SELECT * FROM patients QUALIFY RANK() OVER (ORDER BY age) = 1").unwrap();
        assert!(star.outputs().any(|name| name == "charges") && star.outputs().any(|name| name == "age"));
        for (text, code) in [
            ("SELECT a.ward FROM patients a JOIN others b ON a.age = b.bp", "HUSH-P002"),
            ("SELECT random() FROM patients GROUP BY ROLLUP (ward)", "HUSH-P006"),
        ] {
            assert_eq!(asked(&patients(), text).unwrap_err().code(), code, "{text}");
        }
    }

    #[test]
    fn the_first_wrong_query_is_the_error() {
        let wrong = "SELECT SUM(age) FROM patients; SELECT SUM(nobody) FROM patients";
        assert_eq!(parse_workload(&patients(), wrong).unwrap_err().code(), "HUSH-P003");
        let open = parse_workload(&patients(), "SELECT 'secret-4711").unwrap_err();
        assert_eq!(open.code(), "HUSH-P001");
        assert!(!open.report().contains("4711"), "{}", open.report());
    }
}
