// SPDX-License-Identifier: Apache-2.0
//! `LIKE … ESCAPE 'c'` as a LIKE with the backslash, the one escape character that the query engine knows.

use sqlparser::ast::{Expr, Value, ValueWithSpan};

use crate::error::{Clause, Feature, PlanError};

/// Rewrites the pattern of a LIKE or ILIKE with an ESCAPE clause; leaves anything else as it is.
///
/// # Errors
/// [`PlanError::Unsupported`] unless the pattern is a text and the escape character one character other than a quote,
/// for a pattern that ends in it, and for SIMILAR TO.
pub(super) fn with_backslash(expr: &mut Expr, clause: Clause) -> Result<(), PlanError> {
    let refused = || PlanError::Unsupported { clause, feature: Feature::LikeEscape };
    let (pattern, escape) = match expr {
        Expr::Like { pattern, escape_char, .. } | Expr::ILike { pattern, escape_char, .. } => {
            (pattern, escape_char)
        }
        Expr::SimilarTo { escape_char: Some(_), .. } => return Err(refused()),
        _ => return Ok(()),
    };
    let Some(escape) = escape.take() else { return Ok(()) };
    let escape = single_character(&escape).ok_or_else(refused)?;
    let Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) = &mut **pattern else {
        return Err(refused());
    };
    *text = translated(text, escape).ok_or_else(refused)?;
    Ok(())
}

/// The character of a one-character text. A quote is none: in a literal it stands doubled.
fn single_character(value: &ValueWithSpan) -> Option<char> {
    let Value::SingleQuotedString(text) = &value.value else { return None };
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(only), None) if only != '\'' => Some(only),
        _ => None,
    }
}

/// The pattern with `\` in the place of `escape`; `None` if it ends in it.
fn translated(pattern: &str, escape: char) -> Option<String> {
    let mut out = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            character if character == escape => {
                out.push('\\');
                out.push(characters.next()?);
            }
            '\\' => out.push_str("\\\\"),
            other => out.push(other),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::translated;

    #[test]
    fn every_character_keeps_its_meaning() {
        let cases = [
            ("50!%", "50\\%"),
            ("a!_b_%", "a\\_b_%"),
            ("a!!b", "a\\!b"),
            ("a\\b%", "a\\\\b%"),
            ("!'' it''s", "\\'' it''s"),
            ("é!é", "é\\é"),
        ];
        for (pattern, expected) in cases {
            assert_eq!(translated(pattern, '!').as_deref(), Some(expected));
        }
        assert_eq!(translated("a\\%\\\\", '\\').as_deref(), Some("a\\%\\\\"));
        assert_eq!(translated("ends in it!", '!'), None);
    }
}
