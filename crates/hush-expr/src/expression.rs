// SPDX-License-Identifier: Apache-2.0
//! The meaning of an expression.

use crate::parse::{MAX_EXPONENT, Parser};
use crate::tree::{Function, Node, check_bits};
use crate::{ExprError, Ratio};

/// A parsed expression. Numbers are exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    root: Node,
    names: Vec<String>,
}

impl Expression {
    /// Parses a text.
    ///
    /// # Errors
    /// An [`ExprError`] with its position.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        let (root, names) = Parser::new(text)?.parse()?;
        Ok(Self { root, names })
    }

    /// The names in it, each once, in the order of their first occurrence.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub(crate) fn root(&self) -> &Node {
        &self.root
    }

    /// The function that the whole expression is, if it is one.
    pub fn function(&self) -> Option<Function> {
        match &self.root {
            Node::Call { function, .. } => Some(*function),
            _ => None,
        }
    }

    /// The value for one element of every vector, in the order of [`Expression::names`]; of a function, that of what it sums.
    ///
    /// It evaluates the text directly, and so does not depend on how circuits are built.
    ///
    /// # Errors
    /// [`ExprError::DivisionByZero`]; [`ExprError::Aggregate`]; [`ExprError::TooLarge`]; [`ExprError::Unexpected`] for too few values.
    pub fn value_at(&self, values: &[Ratio]) -> Result<Ratio, ExprError> {
        match &self.root {
            Node::Call { arguments, .. } => arguments
                .iter()
                .try_fold(Ratio::one(), |product, argument| Ok(&product * &value(argument, values)?)),
            node => value(node, values),
        }
    }
}

fn value(node: &Node, values: &[Ratio]) -> Result<Ratio, ExprError> {
    let number = match node {
        Node::Call { function, position, .. } => {
            return Err(ExprError::Aggregate { position: *position, function: function.name() });
        }
        Node::Name(index) => {
            let missing = ExprError::Unexpected { position: 1, expected: "a value for every name" };
            values.get(*index).cloned().ok_or(missing)?
        }
        Node::Negative(inner) => -value(inner, values)?,
        Node::Number(number) => number.clone(),
        Node::Power(base, exponent) => {
            let base = value(base, values)?;
            check_bits(base.bits().saturating_mul(u64::from(*exponent)))?;
            base.pow(*exponent)
        }
        Node::Product(factors) => factors.iter().try_fold(Ratio::one(), |product, factor| {
            let product = &product * &value(factor, values)?;
            check_bits(product.bits())?;
            Ok::<_, ExprError>(product)
        })?,
        Node::Reciprocal { of, position } => {
            value(of, values)?.recip().ok_or(ExprError::DivisionByZero { position: *position })?
        }
        Node::Sum(terms) => terms.iter().try_fold(Ratio::zero(), |sum, term| {
            let sum = &sum + &value(term, values)?;
            check_bits(sum.bits())?;
            Ok::<_, ExprError>(sum)
        })?,
    };
    Ok(number)
}

impl std::fmt::Display for Expression {
    /// A text that parses to the same expression, with no more nesting than it was parsed from.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.write(f, &self.root, Binding::Sum)
    }
}

/// How tightly a place binds what stands there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Sum,
    Product,
    Sign,
    Atom,
}

impl Expression {
    fn write(&self, f: &mut std::fmt::Formatter<'_>, node: &Node, place: Binding) -> std::fmt::Result {
        let own = match node {
            Node::Sum(_) => Binding::Sum,
            Node::Product(_) | Node::Reciprocal { .. } => Binding::Product,
            Node::Negative(_) | Node::Power(..) => Binding::Sign,
            Node::Call { .. } | Node::Name(_) | Node::Number(_) => Binding::Atom,
        };
        if own < place {
            f.write_str("(")?;
            self.write(f, node, Binding::Sum)?;
            return f.write_str(")");
        }
        match node {
            Node::Call { function, arguments, .. } => {
                write!(f, "{}(", function.name())?;
                for (index, argument) in arguments.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { ", " })?;
                    self.write(f, argument, Binding::Sum)?;
                }
                f.write_str(")")
            }
            Node::Name(index) => f.write_str(self.names.get(*index).map_or("?", String::as_str)),
            Node::Negative(inner) => {
                f.write_str("-")?;
                self.write(f, inner, Binding::Sign)
            }
            Node::Number(number) => write!(f, "{number}"),
            Node::Power(base, exponent) => {
                debug_assert!(*exponent <= MAX_EXPONENT);
                self.write(f, base, Binding::Atom)?;
                write!(f, "^{exponent}")
            }
            Node::Product(factors) => {
                for (index, factor) in factors.iter().enumerate() {
                    match factor {
                        Node::Reciprocal { of, .. } => {
                            f.write_str(" / ")?;
                            self.write(f, of, Binding::Sign)?;
                        }
                        factor => {
                            f.write_str(if index == 0 { "" } else { "*" })?;
                            self.write(f, factor, Binding::Sign)?;
                        }
                    }
                }
                Ok(())
            }
            Node::Reciprocal { of, .. } => {
                f.write_str("1 / ")?;
                self.write(f, of, Binding::Sign)
            }
            Node::Sum(terms) => {
                for (index, term) in terms.iter().enumerate() {
                    match term {
                        Node::Negative(inner) if index > 0 => {
                            f.write_str(" - ")?;
                            self.write(f, inner, Binding::Product)?;
                        }
                        term => {
                            f.write_str(if index == 0 { "" } else { " + " })?;
                            self.write(f, term, Binding::Product)?;
                        }
                    }
                }
                Ok(())
            }
        }
    }
}
