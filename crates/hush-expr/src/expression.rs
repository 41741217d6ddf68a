// SPDX-License-Identifier: Apache-2.0
//! What an expression means.

use crate::parse::{MAX_EXPONENT, Parser};
use crate::{ExprError, Ratio, error::Size};

/// A function of whole vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The sum of the products of two vectors.
    Dot,
    /// The mean of a vector.
    Mean,
    /// The sum of a vector.
    Sum,
}

impl Function {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dot => "dot",
            Self::Mean => "mean",
            Self::Sum => "sum",
        }
    }
}

/// A parsed expression. Numbers are exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    root: Node,
    names: Vec<String>,
}

/// A node of the tree. Chains of sums and products are flat, so that its height is the nesting of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Call {
        function: Function,
        arguments: Vec<Node>,
        position: usize,
    },
    /// Of [`Expression::names`].
    Name(usize),
    Negative(Box<Node>),
    Number(Ratio),
    Power(Box<Node>, u32),
    Product(Vec<Node>),
    Reciprocal {
        of: Box<Node>,
        position: usize,
    },
    Sum(Vec<Node>),
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
    /// It evaluates the text as it stands, and so is independent of how circuits are built.
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

/// Refuses numbers that only a mistake or an attack asks for.
pub(crate) fn check_bits(bits: u64) -> Result<(), ExprError> {
    if bits > MAX_BITS {
        return Err(ExprError::TooLarge { what: Size::Digits, limit: (MAX_BITS as f64 / 3.33) as usize });
    }
    Ok(())
}

/// Bits of any number on the way.
const MAX_BITS: u64 = 1 << 17;

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
