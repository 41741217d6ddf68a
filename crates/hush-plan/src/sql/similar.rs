// SPDX-License-Identifier: Apache-2.0
//! `x SIMILAR TO 'pattern'`: patterns of the SQL standard as regular expressions that match a whole text.
//!
//! | pattern | matches |
//! |---|---|
//! | `%`, `_` | any text, any one character |
//! | `a\|b`, `(ab)` | either, a group |
//! | `*`, `+`, `?`, `{m}`, `{m,}`, `{m,n}` | repetitions of what stands before them |
//! | `[a-z_]`, `[^a-z]`, `[[:digit:]]` | one character of a set, or outside of it |
//! | `\c` | the character c |
//!
//! Everything else, `.` `^` `$` too, stands for itself.

use std::iter::Peekable;
use std::str::Chars;

use sqlparser::ast::{Expr, Value};

use crate::error::{Clause, Feature, PlanError};

/// Most repetitions that a pattern may count: a query engine unfolds them.
const MAX_REPETITIONS: u32 = 255;
/// Most groups within each other.
const MAX_DEPTH: usize = 50;
/// Names between `[:` and `:]`.
const SETS: &[&str] = &[
    "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper",
    "xdigit",
];

/// The regular expression, in the syntax of the crate `regex`, that matches the texts that a pattern of SIMILAR TO
/// matches. `None` if the pattern is malformed: a bracket that is not closed, a repetition of nothing, a set without end.
pub fn similar_regex(pattern: &str) -> Option<String> {
    let mut reader = Reader { rest: pattern.chars().peekable(), out: "^(?s:".to_owned() };
    reader.alternatives(0)?;
    reader.out.push_str(")$");
    Some(reader.out)
}

/// Refuses a SIMILAR TO whose pattern is no literal, or no pattern.
///
/// # Errors
/// [`PlanError::Unsupported`].
pub(super) fn check(pattern: &Expr, clause: Clause) -> Result<(), PlanError> {
    let is_good = match pattern {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => similar_regex(text).is_some(),
            value => *value == Value::Null,
        },
        _ => false,
    };
    if is_good { Ok(()) } else { Err(PlanError::Unsupported { clause, feature: Feature::SimilarPattern }) }
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
}

impl Reader<'_> {
    /// Everything up to the bracket that closes group number `depth`, or to the end of the pattern.
    fn alternatives(&mut self, depth: usize) -> Option<()> {
        // Whether something stands before that can be repeated.
        let mut repeatable = false;
        while let Some(character) = self.rest.next() {
            repeatable = match character {
                ')' => return (depth > 0).then_some(()),
                '(' if depth < MAX_DEPTH => {
                    self.out.push_str("(?:");
                    self.alternatives(depth + 1)?;
                    self.out.push(')');
                    true
                }
                '|' => {
                    self.out.push('|');
                    false
                }
                '*' | '+' | '?' if repeatable => {
                    self.out.push(character);
                    false
                }
                '{' if repeatable => {
                    self.count()?;
                    false
                }
                '*' | '+' | '?' | '{' | '}' | ']' | '(' => return None,
                '[' => {
                    self.set()?;
                    true
                }
                '%' => {
                    self.out.push_str(".*");
                    false
                }
                '_' => {
                    self.out.push('.');
                    true
                }
                '\\' => {
                    let escaped = self.rest.next()?;
                    self.literal(escaped);
                    true
                }
                other => {
                    self.literal(other);
                    true
                }
            };
        }
        (depth == 0).then_some(())
    }

    /// `m}`, `m,}` or `m,n}`.
    fn count(&mut self) -> Option<()> {
        let mut text = String::new();
        loop {
            match self.rest.next()? {
                '}' => break,
                character => text.push(character),
            }
        }
        let number = |digits: &str| -> Option<u32> {
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|count| is_number && *count <= MAX_REPETITIONS)
        };
        match text.split_once(',') {
            None => drop(number(&text)?),
            Some((low, "")) => drop(number(low)?),
            Some((low, high)) => (number(low)? <= number(high)?).then_some(())?,
        }
        self.out.push_str(&format!("{{{text}}}"));
        Some(())
    }

    /// A set after its opening bracket.
    fn set(&mut self) -> Option<()> {
        self.out.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        let mut is_empty = true;
        loop {
            let character = self.rest.next()?;
            match character {
                ']' if !is_empty => break,
                '[' if self.rest.peek() == Some(&':') => self.named_set()?,
                _ => self.range(character)?,
            }
            is_empty = false;
        }
        self.out.push(']');
        Some(())
    }

    /// `:name:]`
    fn named_set(&mut self) -> Option<()> {
        self.rest.next();
        let mut name = String::new();
        while let Some(letter) = self.rest.next_if(char::is_ascii_lowercase) {
            name.push(letter);
        }
        let is_closed = self.rest.next() == Some(':') && self.rest.next() == Some(']');
        (is_closed && SETS.contains(&name.as_str())).then_some(())?;
        self.out.push_str(&format!("[:{name}:]"));
        Some(())
    }

    /// One character of a set, or a range from it.
    fn range(&mut self, first: char) -> Option<()> {
        let low = self.unescaped(first)?;
        self.literal(low);
        let mut ahead = self.rest.clone();
        if ahead.next() == Some('-') && ahead.next().is_some_and(|next| next != ']') {
            self.rest.next();
            let next = self.rest.next()?;
            let high = self.unescaped(next)?;
            (low <= high).then_some(())?;
            self.out.push('-');
            self.literal(high);
        }
        Some(())
    }

    fn unescaped(&mut self, character: char) -> Option<char> {
        if character == '\\' { self.rest.next() } else { Some(character) }
    }

    fn literal(&mut self, character: char) {
        if "\\.+*?()|[]{}^$#&-~".contains(character) {
            self.out.push('\\');
        }
        self.out.push(character);
    }
}

#[cfg(test)]
mod tests {
    use super::similar_regex;

    #[test]
    fn patterns_of_the_standard_become_anchored_expressions() {
        for (pattern, expected) in [
            ("abc", "abc"),
            ("a%_b", "a.*.b"),
            ("(a|b)+", "(?:a|b)+"),
            ("a.b^$", r"a\.b\^\$"),
            (r"50\%\\", r"50%\\"),
            ("[^a-c_-]", r"[^a-c_\-]"),
            ("[[:digit:]x]{2,3}", "[[:digit:]x]{2,3}"),
            ("[]&~a]", r"[\]\&\~a]"),
            (r"[\]-a]", r"[\]-a]"),
            ("a{0}|", "a{0}|"),
        ] {
            assert_eq!(similar_regex(pattern), Some(format!("^(?s:{expected})$")), "{pattern}");
        }
    }

    #[test]
    fn malformed_patterns_are_none() {
        let malformed = [
            "(a",
            "a)",
            "*a",
            "a|*",
            "a**",
            "[a",
            "[]",
            "[z-a]",
            "a{",
            "a{x}",
            "a{3,2}",
            "a{999}",
            "a\\",
            "[[:no:]]",
            "[[:digit]",
            "a]",
            "a}",
            "(?i:a)",
            "%*",
        ];
        for pattern in malformed {
            assert_eq!(similar_regex(pattern), None, "{pattern}");
        }
    }
}
