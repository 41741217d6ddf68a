// SPDX-License-Identifier: Apache-2.0
//! How much work a text may be for a parser of SQL: checked on its tokens, before it is parsed.
//!
//! The parser has a limit on nesting, which is not enough. It reads chains of operators in a loop, so that the limit does not
//! see how deep what it makes is, and whoever walks that tree by recursion runs out of stack. And it **tries again**:
//! where what stands in brackets behind a word such as CAST is no expression, *or exceeds the limit on nesting*, it reads
//! it a second time as the arguments of a function of that name, and so takes time that doubles with each level.
//!
//! A query is checked by [`QUERY`]. Its plan holds texts that the planner has put more around; they are checked by
//! [`check_expression`], by the planner before they are sent and by the server before it parses them.

use sqlparser::dialect::GenericDialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, TokenizerError};

use crate::error::{Measure, PlanError};

/// The largest text that is read, by several measures.
#[derive(Debug)]
pub(super) struct Bounds {
    bytes: usize,
    /// Bounds the depth of `a + b + c + …`, which nests to the left.
    operators: usize,
    /// `+ - * / %`: a query engine finds out the type of each of them from all below it, again and again.
    arithmetic: usize,
    /// Words, signs and brackets: bounds the size of the tree, but for lists of literals.
    tokens: usize,
    /// Brackets open at once.
    nesting: usize,
    /// Places open at once that the parser may try a second time.
    retries: usize,
}

/// For the text of a query or of a workload. The parser's limit on nesting holds beside these.
pub(super) const QUERY: Bounds = Bounds {
    bytes: 64 << 10,
    operators: 400,
    arithmetic: 400,
    tokens: usize::MAX,
    nesting: usize::MAX,
    retries: 12,
};

/// For one expression of a plan: that of a query with what the planner puts around it, such as a cast around each sum.
const EXPRESSION: Bounds =
    Bounds { bytes: 64 << 10, operators: 1000, arithmetic: 200, tokens: 2000, nesting: 100, retries: 14 };

/// Why a server does not parse an expression of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextFault {
    /// A subquery.
    #[error("holds a query")]
    Query,
    /// Characters that are no tokens of SQL.
    #[error("is not SQL")]
    Syntax,
    /// More than a parser should be given.
    #[error("has {found} {what}, at most {limit} are read")]
    TooMuch {
        /// The measure.
        what: Measure,
        /// Found.
        found: usize,
        /// Allowed.
        limit: usize,
    },
}

/// Checks that an expression of a plan can be given to a parser without harm, whoever wrote it.
///
/// # Errors
/// A [`TextFault`].
pub fn check_expression(text: &str) -> Result<(), TextFault> {
    let tokens = EXPRESSION.read(text, true)?.map_err(|_| TextFault::Syntax)?;
    let is_select = |token: &Token| matches!(token, Token::Word(word) if word.keyword == Keyword::SELECT);
    if tokens.iter().any(|token| is_select(&token.token)) { Err(TextFault::Query) } else { Ok(()) }
}

/// Whether a text or number of the question stands in an expression that a server is sent, but for the digits of types.
pub(crate) fn has_literal(text: &str) -> bool {
    let Ok(Ok(tokens)) = EXPRESSION.read(text, true) else { return true };
    let mut is_type = false;
    let mut of_type = false;
    tokens.iter().any(|token| {
        match &token.token {
            Token::Word(word) => is_type = word.keyword == Keyword::DECIMAL,
            Token::LParen => of_type = is_type,
            Token::RParen => (is_type, of_type) = (false, false),
            Token::Number(..) => return !of_type,
            // Texts of every notation: 'x', E'x', N'x'. A quoted name is a word.
            token if token.to_string().contains('\'') => return true,
            _ => {}
        }
        false
    })
}

/// The parser's message without the token that it found, which may be a value.
pub(super) fn syntax(message: &str) -> PlanError {
    let place = message.rfind(" at Line:").map_or("", |at| &message[at..]);
    let reason = message.split(", found").next().unwrap_or_default();
    let reason = reason.split(" at Line:").next().unwrap_or_default();
    let known = reason.starts_with("Expected") || reason.starts_with("Unterminated");
    PlanError::Syntax { message: format!("{}{place}", if known { reason } else { "unexpected text" }) }
}

/// The tokens of a query, with doubled quotes in names made single.
///
/// # Errors
/// [`PlanError::TooComplex`], [`PlanError::Syntax`].
pub(super) fn tokens(text: &str, bounds: &Bounds) -> Result<Vec<TokenWithSpan>, PlanError> {
    // Literals keep their doubled quotes, which the printer passes on as they are; of quotes made single it would
    // double some and leave others.
    let tokens = bounds.read(text, false)?;
    let mut tokens = tokens.map_err(|error| syntax(&format!("{}{}", error.message, error.location)))?;
    for token in &mut tokens {
        if let Token::Word(word) = &mut token.token
            && word.quote_style == Some('"')
        {
            word.value = word.value.replace("\"\"", "\"");
        }
    }
    Ok(tokens)
}

impl From<TextFault> for PlanError {
    fn from(fault: TextFault) -> Self {
        match fault {
            TextFault::TooMuch { what, limit, .. } => Self::TooComplex { what, limit: limit as u64 },
            TextFault::Query | TextFault::Syntax => syntax(""),
        }
    }
}

impl Bounds {
    /// Splits a text into tokens and counts.
    ///
    /// # Errors
    /// [`TextFault::TooMuch`]; within, whatever the tokenizer refuses.
    fn read(
        &self,
        text: &str,
        unescape: bool,
    ) -> Result<Result<Vec<TokenWithSpan>, TokenizerError>, TextFault> {
        let at_most = |what, found: usize, limit: usize| {
            if found <= limit { Ok(()) } else { Err(TextFault::TooMuch { what, found, limit }) }
        };
        at_most(Measure::Bytes, text.len(), self.bytes)?;
        let dialect = GenericDialect {};
        let tokens = match Tokenizer::new(&dialect, text).with_unescape(unescape).tokenize_with_location() {
            Ok(tokens) => tokens,
            Err(error) => return Ok(Err(error)),
        };
        let count = |kind: fn(&Token) -> bool| tokens.iter().filter(|token| kind(&token.token)).count();
        at_most(Measure::Operators, count(is_operator), self.operators)?;
        at_most(Measure::Operators, count(is_arithmetic), self.arithmetic)?;
        at_most(Measure::Tokens, count(is_no_literal), self.tokens)?;
        let (nesting, retries) = depths(&tokens);
        at_most(Measure::Nesting, nesting, self.nesting)?;
        at_most(Measure::Nesting, retries, self.retries)?;
        Ok(Ok(tokens))
    }
}

/// Parts that are open between two brackets.
#[derive(Default)]
struct Level {
    /// How often the parser may read what is in the brackets again, as a power of two.
    retries: usize,
    /// Periods of the name that is being read: the parser tries the rest of `a.b.c` as an expression after each.
    periods: usize,
    /// INTERVALs of something else than a literal, each of which the parser tries twice.
    intervals: usize,
}

/// Most brackets open at once, and most places open at once that the parser may try a second time.
fn depths(tokens: &[TokenWithSpan]) -> (usize, usize) {
    let mut levels = vec![Level::default()];
    let (mut open, mut nesting, mut retries) = (0, 0, 0);
    let mut last = &Token::Comma;
    for token in tokens {
        let token = &token.token;
        if matches!(token, Token::Whitespace(_)) {
            continue;
        }
        if is_word(last, Some(Keyword::INTERVAL))
            && !is_literal(token)
            && let Some(level) = levels.last_mut()
        {
            level.intervals += 1;
            open += 1;
        }
        let ends_name = match token {
            Token::Word(_) => !matches!(last, Token::Period),
            Token::Period | Token::LParen | Token::RParen | Token::LBracket | Token::RBracket => false,
            other => !is_literal(other),
        };
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                // Of an array as of a call: the word before them may be read as a name, and they as its index.
                let again = is_word(last, None) || matches!(token, Token::LBracket);
                levels.push(Level { retries: usize::from(again), ..Level::default() });
                open += usize::from(again);
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                if levels.len() > 1
                    && let Some(closed) = levels.pop()
                {
                    open -= closed.retries + closed.periods + closed.intervals;
                }
            }
            Token::Period => {
                if let Some(level) = levels.last_mut() {
                    level.periods += 1;
                    open += 1;
                }
            }
            _ if ends_name => {
                if let Some(level) = levels.last_mut() {
                    open -= std::mem::take(&mut level.periods);
                }
            }
            _ => {}
        }
        nesting = nesting.max(levels.len() - 1);
        retries = retries.max(open);
        last = token;
    }
    (nesting, retries)
}

/// Whether a token is a word of SQL: the one asked for, or any.
fn is_word(token: &Token, keyword: Option<Keyword>) -> bool {
    let Token::Word(word) = token else { return false };
    keyword.map_or(word.keyword != Keyword::NoKeyword, |keyword| word.keyword == keyword)
}

fn is_literal(token: &Token) -> bool {
    matches!(token, Token::Number(..) | Token::SingleQuotedString(_))
}

fn is_no_literal(token: &Token) -> bool {
    !matches!(token, Token::Whitespace(_) | Token::Comma | Token::EOF) && !is_literal(token)
}

fn is_operator(token: &Token) -> bool {
    match token {
        Token::Word(word) => OPERATOR_WORDS.contains(&word.keyword),
        Token::LParen | Token::RParen | Token::Period | Token::SemiColon => false,
        other => is_no_literal(other),
    }
}

fn is_arithmetic(token: &Token) -> bool {
    matches!(token, Token::Plus | Token::Minus | Token::Mul | Token::Div | Token::Mod)
}

/// Words that continue an expression or a query to their left: the parser reads chains of them in a loop, so that its limit on
/// nesting does not see how deep what it makes is.
const OPERATOR_WORDS: [Keyword; 24] = [
    Keyword::AND,
    Keyword::AT,
    Keyword::BETWEEN,
    Keyword::COLLATE,
    Keyword::DIV,
    Keyword::EXCEPT,
    Keyword::ILIKE,
    Keyword::IN,
    Keyword::INTERSECT,
    Keyword::IS,
    Keyword::LIKE,
    Keyword::MATCH,
    Keyword::MEMBER,
    Keyword::MINUS,
    Keyword::NOT,
    Keyword::NOTNULL,
    Keyword::OPERATOR,
    Keyword::OR,
    Keyword::OVERLAPS,
    Keyword::REGEXP,
    Keyword::RLIKE,
    Keyword::SIMILAR,
    Keyword::UNION,
    Keyword::XOR,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(open: &str, depth: usize, close: &str) -> String {
        format!("{}1{}", open.repeat(depth), close.repeat(depth))
    }

    fn too_much(what: Measure, found: usize, limit: usize) -> Result<(), TextFault> {
        Err(TextFault::TooMuch { what, found, limit })
    }

    #[test]
    fn expressions_up_to_the_bounds_pass() {
        let words = " IS NULL".repeat(990);
        for text in [
            "\"year\" + 1 > 2.5 AND \"ward\" IN ('a', 'b''c')",
            "CAST(\"day\" AS TIMESTAMP(6)) < DATE '2020-01-01' + INTERVAL '1' DAY",
            &format!("1{words}"),
            &nested("(", 100, ")"),
            &nested("CAST(", 14, " AS INT)"),
            &vec!["INTERVAL '1' DAY"; 200].join(" + "),
            &vec!["\"t\".\"year\""; 200].join(" + "),
            &vec!["(CAST(1 AS INT))[1]"; 60].join(" + "),
        ] {
            assert_eq!(check_expression(text), Ok(()), "{text:.60}");
        }
    }

    #[test]
    fn expressions_beyond_the_bounds_are_refused_with_what_was_found() {
        use Measure::{Bytes, Nesting, Operators, Tokens};
        for (text, expected) in [
            (" ".repeat(65_537), too_much(Bytes, 65_537, 65_536)),
            ("= ".repeat(1001), too_much(Operators, 1001, 1000)),
            ("- ".repeat(201), too_much(Operators, 201, 200)),
            ("a ".repeat(2001), too_much(Tokens, 2001, 2000)),
            (nested("(", 101, ")"), too_much(Nesting, 101, 100)),
            (nested("CAST(", 15, " AS INT)"), too_much(Nesting, 15, 14)),
            (nested("ARRAY [", 15, "]"), too_much(Nesting, 15, 14)),
            ("a.".repeat(15), too_much(Nesting, 15, 14)),
            // The brackets do not end the name.
            ("a.f(b + c).".repeat(8), too_much(Nesting, 16, 14)),
            (nested("a.b.f[", 5, "]"), too_much(Nesting, 15, 14)),
            ("INTERVAL - ".repeat(15), too_much(Nesting, 15, 14)),
            (nested("case (interval x, ", 8, ")"), too_much(Nesting, 16, 14)),
            ("'open".to_owned(), Err(TextFault::Syntax)),
            ("a IN (select 1)".to_owned(), Err(TextFault::Query)),
        ] {
            assert_eq!(check_expression(&text), expected, "{text:.60}");
        }
        assert_eq!(check_expression("\"select\" = 'select'"), Ok(()));
    }

    #[test]
    fn brackets_without_partners_do_not_confuse_the_count() {
        for text in [")))]", ")a.b).c", "((a.b", "]INTERVAL)x", "{a.b}"] {
            assert_eq!(check_expression(text), Ok(()), "{text}");
        }
    }
}
