// SPDX-License-Identifier: Apache-2.0
//! From text to tree, by recursive descent.
//!
//! ```text
//!   condition    conjunction (('or' | 'xor') conjunction)*
//!   conjunction  negation ('and' negation)*
//!   negation     'not' negation | comparison
//!   comparison   sum (('<' | '<=' | '>' | '>=' | '=' | '==' | '!=' | '<>') sum)?
//!   sum          product (('+' | '-') product)*
//!   product      sign (('*' | '/') sign)*
//!   sign         ('-' | '+') sign | power
//!   power        atom ('^' whole number)?
//!   atom         number | name | name '(' condition (',' condition)* ')' | '(' condition ')'
//!                | 'repeat' '(' whole number (',' name ':=' condition)+ (',' condition)+ ')'
//! ```
//!
//! The operators in quotes are no names. The names of functions are, but for a parenthesis behind them.

use crate::error::Size;
use crate::tree::{Function, Gate, Node, Repeat, Run, State};
use crate::{Comparison, ExprError, Logic, Ratio};

/// The largest exponent.
pub(crate) const MAX_EXPONENT: u32 = 1024;
/// The most repetitions.
pub(crate) const MAX_COUNT: u32 = 1000;
/// Most entries that are looked up.
const MAX_ENTRIES: usize = 16;
/// Characters of a text.
const MAX_CHARACTERS: usize = 1 << 16;
/// Operands of an expression.
const MAX_OPERATIONS: usize = 4096;
/// Pieces of an expression, with those of a repetition as often as they are repeated.
const MAX_UNROLLED: usize = 1 << 16;
/// Parentheses, signs, `not` and calls inside one another.
const MAX_NESTING: usize = 64;

/// Words that are operators.
const WORDS: [&str; 4] = ["and", "not", "or", "xor"];
/// What compares; what begins with another comes before it.
const COMPARISONS: [(&str, Comparison); 8] = [
    ("<=", Comparison::LessOrEqual),
    ("<>", Comparison::NotEqual),
    ("<", Comparison::Less),
    (">=", Comparison::GreaterOrEqual),
    (">", Comparison::Greater),
    ("==", Comparison::Equal),
    ("=", Comparison::Equal),
    ("!=", Comparison::NotEqual),
];
const OPERAND: &str = "a number, a name or an opening parenthesis";

pub(crate) struct Parser {
    text: Vec<char>,
    at: usize,
    nesting: usize,
    operations: usize,
    names: Vec<String>,
    /// States of the repetitions around this place.
    locals: Vec<String>,
}

impl Parser {
    pub(crate) fn new(text: &str) -> Result<Self, ExprError> {
        if text.len() > MAX_CHARACTERS {
            return Err(ExprError::TooLarge { what: Size::Characters, limit: MAX_CHARACTERS });
        }
        Ok(Self {
            text: text.chars().collect(),
            at: 0,
            nesting: 0,
            operations: 0,
            names: Vec::new(),
            locals: Vec::new(),
        })
    }

    pub(crate) fn parse(mut self) -> Result<(Node, Vec<String>), ExprError> {
        let root = self.condition()?;
        if root.unrolled() > MAX_UNROLLED as u64 {
            return Err(ExprError::TooLarge { what: Size::Operations, limit: MAX_UNROLLED });
        }
        match self.peek() {
            None => Ok((root, self.names)),
            Some(_) => Err(self.unexpected("an operator or the end")),
        }
    }

    fn condition(&mut self) -> Result<Node, ExprError> {
        self.logic(&[Logic::Or, Logic::Xor], Self::conjunction)
    }

    fn conjunction(&mut self) -> Result<Node, ExprError> {
        self.logic(&[Logic::And], Self::negation)
    }

    /// Operands between operators of equal rank.
    fn logic(
        &mut self,
        operations: &[Logic],
        operand: fn(&mut Self) -> Result<Node, ExprError>,
    ) -> Result<Node, ExprError> {
        let first = operand(self)?;
        let mut runs: Vec<Run> = Vec::new();
        loop {
            let position = self.position();
            let Some(&operation) = operations.iter().find(|operation| self.take_word(operation.name()))
            else {
                let is_alone = runs.is_empty();
                return Ok(if is_alone {
                    first
                } else {
                    Node::Gate(Gate::Logic { first: Box::new(first), runs })
                });
            };
            let term = operand(self)?;
            match runs.last_mut() {
                Some(run) if run.operation == operation => run.terms.push(term),
                _ => runs.push(Run { operation, terms: vec![term], position }),
            }
        }
    }

    fn negation(&mut self) -> Result<Node, ExprError> {
        let position = self.position();
        if self.take_word("not") {
            let of = Box::new(self.nested(Self::negation)?);
            return Ok(Node::Gate(Gate::Not { of, position }));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Node, ExprError> {
        let left = self.sum()?;
        let position = self.position();
        let Some(comparison) = self.take_comparison() else { return Ok(left) };
        let right = self.sum()?;
        let second = self.position();
        if self.take_comparison().is_some() {
            let expected = "one comparison, or 'and' between two";
            return Err(ExprError::Unexpected { position: second, expected });
        }
        let (left, right) = (Box::new(left), Box::new(right));
        Ok(Node::Gate(Gate::Compare { comparison, left, right, position }))
    }

    fn sum(&mut self) -> Result<Node, ExprError> {
        let mut terms = vec![self.product()?];
        loop {
            if self.take('+') {
                terms.push(self.product()?);
            } else if self.take('-') {
                terms.push(Node::Negative(Box::new(self.product()?)));
            } else {
                return Ok(single(terms, Node::Sum));
            }
        }
    }

    fn product(&mut self) -> Result<Node, ExprError> {
        let mut factors = vec![self.sign()?];
        loop {
            if self.take('*') {
                factors.push(self.sign()?);
            } else if self.take('/') {
                let position = self.position();
                factors.push(Node::Reciprocal { of: Box::new(self.sign()?), position });
            } else {
                return Ok(single(factors, Node::Product));
            }
        }
    }

    fn sign(&mut self) -> Result<Node, ExprError> {
        if self.take('-') {
            let inner = self.nested(Self::sign)?;
            return Ok(Node::Negative(Box::new(inner)));
        }
        if self.take('+') {
            return self.nested(Self::sign);
        }
        self.power()
    }

    fn power(&mut self) -> Result<Node, ExprError> {
        let base = self.atom()?;
        if !self.take('^') {
            return Ok(base);
        }
        let position = self.position();
        let digits = self.while_some(|c| c.is_ascii_digit());
        let exponent = digits.parse().ok().filter(|&exponent| exponent <= MAX_EXPONENT);
        let exponent = exponent.ok_or(ExprError::Exponent { position, max: MAX_EXPONENT })?;
        // A tower has two readings, and `x^2.5` none.
        if matches!(self.text.get(self.at), Some('.')) || self.peek() == Some('^') {
            return Err(ExprError::Exponent { position, max: MAX_EXPONENT });
        }
        Ok(Node::Power(Box::new(base), exponent))
    }

    fn atom(&mut self) -> Result<Node, ExprError> {
        self.operations += 1;
        if self.operations > MAX_OPERATIONS {
            return Err(ExprError::TooLarge { what: Size::Operations, limit: MAX_OPERATIONS });
        }
        let position = self.position();
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let inner = self.nested(Self::condition)?;
                self.expect(')', "a closing parenthesis")?;
                Ok(inner)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number().map(Node::Number),
            Some(c) if c.is_alphabetic() || c == '_' => {
                let name = self.while_some(is_of_word);
                if WORDS.contains(&name.as_str()) {
                    return Err(ExprError::Unexpected { position, expected: OPERAND });
                }
                if self.peek() == Some('(') {
                    return if name == "repeat" { self.repeat() } else { self.call(&name, position) };
                }
                Ok(match self.locals.iter().rposition(|local| *local == name) {
                    Some(local) => Node::Local(local),
                    None => Node::Name(self.place_of(name)),
                })
            }
            _ => Err(self.unexpected(OPERAND)),
        }
    }

    fn number(&mut self) -> Result<Ratio, ExprError> {
        let position = self.position();
        let mut text = self.while_some(|c| c.is_ascii_digit() || c == '.');
        if let Some('e' | 'E') = self.text.get(self.at) {
            let is_sign = matches!(self.text.get(self.at + 1), Some('+' | '-'));
            let digits = self.at + 1 + usize::from(is_sign);
            if self.text.get(digits).is_some_and(char::is_ascii_digit) {
                text.extend(&self.text[self.at..digits]);
                self.at = digits;
                text.push_str(&self.while_some(|c| c.is_ascii_digit()));
            }
        }
        // `2x` is a mistake in the writing, not a product.
        let runs_on = self.text.get(self.at).is_some_and(|&c| is_of_word(c));
        let number = Ratio::from_decimal(&text).filter(|_| !runs_on);
        number.ok_or(ExprError::Number { position })
    }

    fn call(&mut self, name: &str, position: usize) -> Result<Node, ExprError> {
        // Its name, the arguments that it takes, and whether it takes more.
        let (function, expected, or_more) = match name {
            "dot" => ("dot", 2, false),
            "if" => ("if", 3, false),
            "lookup" => ("lookup", 2, true),
            "max" => ("max", 2, true),
            "mean" => ("mean", 1, false),
            "min" => ("min", 2, true),
            "sum" => ("sum", 1, false),
            _ => return Err(ExprError::Function { position }),
        };
        self.expect('(', "an opening parenthesis")?;
        let mut arguments = vec![self.nested(Self::condition)?];
        while self.take(',') {
            let position = self.position();
            arguments.push(self.nested(Self::condition)?);
            if function == "lookup" && !arguments.last().is_some_and(Node::is_constant) {
                return Err(ExprError::Unexpected { position, expected: "a number, for an entry" });
            }
        }
        self.expect(')', "a comma or a closing parenthesis")?;
        let found = arguments.len();
        let wrong = ExprError::Arguments { position, function, found, expected, or_more };
        if found < expected || (found > expected && !or_more) {
            return Err(wrong);
        }
        let whole = |function, arguments| Node::Call { function, arguments, position };
        Ok(match function {
            "dot" => whole(Function::Dot, arguments),
            "mean" => whole(Function::Mean, arguments),
            "sum" => whole(Function::Sum, arguments),
            "lookup" if found > 1 + MAX_ENTRIES => {
                return Err(ExprError::TooLarge { what: Size::Entries, limit: MAX_ENTRIES });
            }
            "lookup" => Node::Gate(Gate::LookUp { parts: arguments, position }),
            "if" => Node::Gate(Gate::Choose { parts: arguments.try_into().map_err(|_| wrong)?, position }),
            _ => Node::Gate(Gate::Extreme { is_greatest: function == "max", of: arguments, position }),
        })
    }

    /// States and their starts, then as many next values.
    fn repeat(&mut self) -> Result<Node, ExprError> {
        self.expect('(', "an opening parenthesis")?;
        let position = self.position();
        let count = self.while_some(|c| c.is_ascii_digit()).parse().ok();
        let count = count.filter(|count| (1..=MAX_COUNT).contains(count));
        let count = count.ok_or(ExprError::Count { position, max: MAX_COUNT })?;
        let (outer, mut names, mut starts) = (self.locals.len(), Vec::new(), Vec::new());
        loop {
            self.expect(',', "a comma")?;
            let Some(name) = self.take_assigned() else { break };
            let position = self.position();
            if names.contains(&name) {
                return Err(ExprError::Unexpected { position, expected: "another name for each state" });
            }
            names.push(name);
            starts.push(self.nested(Self::condition)?);
        }
        let position = self.position();
        if names.is_empty() {
            return Err(ExprError::Unexpected { position, expected: "a state and its start, as in z := x" });
        }
        self.locals.extend(names.iter().cloned());
        let mut next = vec![self.nested(Self::condition)?];
        while self.take(',') {
            next.push(self.nested(Self::condition)?);
        }
        self.locals.truncate(outer);
        if next.len() != names.len() {
            return Err(ExprError::Unexpected { position, expected: "a next value for each state" });
        }
        self.expect(')', "a comma or a closing parenthesis")?;
        let states = names.into_iter().zip(starts).zip(next);
        let states = states.map(|((name, start), next)| State { name, start, next }).collect();
        Ok(Node::Repeat(Repeat { count, states }))
    }

    /// A name with `:=` behind it, if they come next.
    fn take_assigned(&mut self) -> Option<String> {
        let start = self.at;
        let is_name = self.peek().is_some_and(|c| c.is_alphabetic() || c == '_');
        let name = if is_name { self.while_some(is_of_word) } else { String::new() };
        if is_name && !WORDS.contains(&name.as_str()) && self.is_next(":=") {
            self.at += 2;
            return Some(name);
        }
        self.at = start;
        None
    }

    fn nested(&mut self, parse: fn(&mut Self) -> Result<Node, ExprError>) -> Result<Node, ExprError> {
        if self.nesting == MAX_NESTING {
            return Err(ExprError::TooLarge { what: Size::Nesting, limit: MAX_NESTING });
        }
        self.nesting += 1;
        let node = parse(self);
        self.nesting -= 1;
        node
    }

    fn place_of(&mut self, name: String) -> usize {
        self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }

    /// The next character that is no blank.
    fn peek(&mut self) -> Option<char> {
        while self.text.get(self.at).is_some_and(|c| c.is_whitespace()) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    /// Takes an operator that is a word, and not the beginning of a longer one.
    fn take_word(&mut self, wanted: &str) -> bool {
        let runs_on =
            |parser: &Self| parser.text.get(parser.at + wanted.len()).is_some_and(|&c| is_of_word(c));
        let found = self.is_next(wanted) && !runs_on(self);
        self.at += if found { wanted.len() } else { 0 };
        found
    }

    fn take_comparison(&mut self) -> Option<Comparison> {
        let &(text, comparison) = COMPARISONS.iter().find(|(text, _)| self.is_next(text))?;
        self.at += text.len();
        Some(comparison)
    }

    /// Whether these letters of ASCII come next.
    fn is_next(&mut self, wanted: &str) -> bool {
        self.peek();
        let rest = self.text.get(self.at..).unwrap_or_default();
        rest.len() >= wanted.len() && rest.iter().copied().zip(wanted.chars()).all(|(c, wanted)| c == wanted)
    }

    fn expect(&mut self, wanted: char, expected: &'static str) -> Result<(), ExprError> {
        if self.take(wanted) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn while_some(&mut self, keep: impl Fn(char) -> bool) -> String {
        self.peek();
        let start = self.at;
        while self.text.get(self.at).is_some_and(|&c| keep(c)) {
            self.at += 1;
        }
        self.text[start..self.at].iter().collect()
    }

    fn position(&mut self) -> usize {
        self.peek();
        self.at + 1
    }

    fn unexpected(&mut self, expected: &'static str) -> ExprError {
        ExprError::Unexpected { position: self.position(), expected }
    }
}

/// Whether names and words go on with it.
fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// One node as it is, several as a node of their own.
fn single(mut nodes: Vec<Node>, several: fn(Vec<Node>) -> Node) -> Node {
    match nodes.pop() {
        Some(only) if nodes.is_empty() => only,
        last => {
            nodes.extend(last);
            several(nodes)
        }
    }
}
