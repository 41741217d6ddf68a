// SPDX-License-Identifier: Apache-2.0
//! The tree that a text is parsed to.

use crate::error::Size;
use crate::{Comparison, ExprError, Logic, Ratio};

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

/// A node of the tree. Chains of sums, products and conditions are flat, so its height is the nesting of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Call {
        function: Function,
        arguments: Vec<Node>,
        position: usize,
    },
    /// No sum and no product.
    Gate(Gate),
    /// Of [`crate::Expression::names`].
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

/// A piece that a circuit of sums and products does not have. Positions are those of the operator, or of the name of the function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    Choose {
        /// The condition, the value where it holds, and the other.
        parts: Box<[Node; 3]>,
        position: usize,
    },
    Compare {
        comparison: Comparison,
        left: Box<Node>,
        right: Box<Node>,
        position: usize,
    },
    Extreme {
        is_greatest: bool,
        of: Vec<Node>,
        position: usize,
    },
    /// Operators of equal rank, from left to right. Flat as sums are, whichever operators take turns; at least one run.
    Logic {
        first: Box<Node>,
        runs: Vec<Run>,
    },
    Not {
        of: Box<Node>,
        position: usize,
    },
}

/// An operator once or more in a row, with what stands to the right of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) operation: Logic,
    pub(crate) terms: Vec<Node>,
    pub(crate) position: usize,
}

impl Node {
    /// Whether it is, or has in it, what is no sum and no product.
    pub(crate) fn has_gates(&self) -> bool {
        match self {
            Self::Call { arguments: nodes, .. } | Self::Product(nodes) | Self::Sum(nodes) => {
                nodes.iter().any(Self::has_gates)
            }
            Self::Gate(_) => true,
            Self::Name(_) | Self::Number(_) => false,
            Self::Negative(of) | Self::Power(of, _) | Self::Reciprocal { of, .. } => of.has_gates(),
        }
    }
}

impl Node {
    /// The first function of whole vectors that it is, or has in it, with its position.
    pub(crate) fn function_inside(&self) -> Option<(Function, usize)> {
        let first = |nodes: &[Self]| nodes.iter().find_map(Self::function_inside);
        match self {
            Self::Call { function, position, .. } => Some((*function, *position)),
            Self::Product(nodes) | Self::Sum(nodes) | Self::Gate(Gate::Extreme { of: nodes, .. }) => {
                first(nodes)
            }
            Self::Gate(Gate::Choose { parts, .. }) => first(parts.as_slice()),
            Self::Gate(Gate::Compare { left, right, .. }) => {
                left.function_inside().or_else(|| right.function_inside())
            }
            Self::Gate(Gate::Logic { first: left, runs }) => {
                left.function_inside().or_else(|| runs.iter().find_map(|run| first(&run.terms)))
            }
            Self::Name(_) | Self::Number(_) => None,
            Self::Negative(of)
            | Self::Power(of, _)
            | Self::Reciprocal { of, .. }
            | Self::Gate(Gate::Not { of, .. }) => of.function_inside(),
        }
    }
}

impl Gate {
    /// The largest or the smallest, by the name of its function.
    pub(crate) fn extreme(is_greatest: bool) -> &'static str {
        if is_greatest { "max" } else { "min" }
    }

    /// That a circuit of sums and products has no such piece.
    pub(crate) fn refused(&self) -> ExprError {
        let (what, position) = match self {
            Self::Choose { position, .. } => ("if", *position),
            Self::Compare { comparison, position, .. } => (comparison.symbol(), *position),
            Self::Extreme { is_greatest, position, .. } => (Self::extreme(*is_greatest), *position),
            Self::Logic { runs, .. } => {
                runs.first().map_or(("and", 1), |run| (run.operation.name(), run.position))
            }
            Self::Not { position, .. } => ("not", *position),
        };
        ExprError::Gates { position, what }
    }
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
