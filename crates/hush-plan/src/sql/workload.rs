// SPDX-License-Identifier: Apache-2.0
//! Workload files: several queries, separated by semicolons, that a table must be able to answer.

use sqlparser::dialect::GenericDialect;
use sqlparser::tokenizer::{Token, Tokenizer};

use super::bounds::syntax;
use super::{Query, parse};
use crate::error::PlanError;
use crate::schema::Schema;

/// Parses every query of a workload file; empty statements and comments are skipped.
///
/// # Errors
/// As [`parse`], for the first query that is wrong.
pub fn parse_workload(schema: &Schema, text: &str) -> Result<Vec<Query>, PlanError> {
    statements(text)?.iter().map(|statement| parse(schema, statement)).collect()
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
    fn the_first_wrong_query_is_the_error() {
        let wrong = "SELECT SUM(age) FROM patients; SELECT SUM(nobody) FROM patients";
        assert_eq!(parse_workload(&patients(), wrong).unwrap_err().code(), "HUSH-P003");
        let open = parse_workload(&patients(), "SELECT 'secret-4711").unwrap_err();
        assert_eq!(open.code(), "HUSH-P001");
        assert!(!open.report().contains("4711"), "{}", open.report());
    }
}
