// SPDX-License-Identifier: Apache-2.0
//! Workload files: several queries, separated by semicolons, that a table must be able to answer.

use sqlparser::dialect::GenericDialect;
use sqlparser::tokenizer::{Token, Tokenizer};

use super::{Query, parse};
use crate::error::PlanError;
use crate::schema::Schema;

/// Parses every query of a workload file; empty statements and comments are skipped.
///
/// # Errors
/// As [`parse`], for the first query that is wrong.
pub fn parse_workload(schema: &Schema, text: &str) -> Result<Vec<Query>, PlanError> {
    let tokens = Tokenizer::new(&GenericDialect {}, text)
        .with_unescape(false)
        .tokenize()
        .map_err(|error| PlanError::Syntax { message: error.to_string() })?;
    let statements = tokens.split(|token| *token == Token::SemiColon);
    statements
        .filter(|tokens| tokens.iter().any(|token| !matches!(token, Token::Whitespace(_) | Token::EOF)))
        .map(|tokens| parse(schema, &tokens.iter().map(ToString::to_string).collect::<String>()))
        .collect()
}
