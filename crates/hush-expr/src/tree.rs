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
    /// A state of a repetition around it, by its place among those of all repetitions around it, from the outermost.
    Local(usize),
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
    Repeat(Repeat),
    Sum(Vec<Node>),
}

/// States that take their next values together, again and again; the value is the first state's in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repeat {
    pub(crate) count: u32,
    /// At least one.
    pub(crate) states: Vec<State>,
}

/// A state of a repetition. Its start does not see the states, its next value does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) name: String,
    pub(crate) start: Node,
    pub(crate) next: Node,
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
    LookUp {
        /// The place, and the entries, which are numbers; at least one.
        parts: Vec<Node>,
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
    /// What it is made of, from left to right.
    pub(crate) fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Call { arguments: nodes, .. } | Self::Product(nodes) | Self::Sum(nodes) => {
                nodes.iter().collect()
            }
            Self::Gate(gate) => gate.parts(),
            Self::Local(_) | Self::Name(_) | Self::Number(_) => Vec::new(),
            Self::Negative(of) | Self::Power(of, _) | Self::Reciprocal { of, .. } => vec![of],
            Self::Repeat(repeat) => {
                let starts = repeat.states.iter().map(|state| &state.start);
                starts.chain(repeat.states.iter().map(|state| &state.next)).collect()
            }
        }
    }

    /// The same node of other parts.
    ///
    /// # Errors
    /// Those of `part`.
    pub(crate) fn map_parts<E>(&self, part: &mut dyn FnMut(&Self) -> Result<Self, E>) -> Result<Self, E> {
        let all = |nodes: &[Self], part: &mut dyn FnMut(&Self) -> Result<Self, E>| {
            nodes.iter().map(part).collect::<Result<Vec<_>, E>>()
        };
        Ok(match self {
            Self::Call { function, arguments, position } => {
                Self::Call { function: *function, arguments: all(arguments, part)?, position: *position }
            }
            Self::Gate(gate) => Self::Gate(gate.map_parts(part)?),
            Self::Local(_) | Self::Name(_) | Self::Number(_) => self.clone(),
            Self::Negative(of) => Self::Negative(Box::new(part(of)?)),
            Self::Power(of, exponent) => Self::Power(Box::new(part(of)?), *exponent),
            Self::Product(factors) => Self::Product(all(factors, part)?),
            Self::Reciprocal { of, position } => {
                Self::Reciprocal { of: Box::new(part(of)?), position: *position }
            }
            Self::Repeat(Repeat { count, states }) => {
                let state = |state: &State| {
                    let (start, next) = (part(&state.start)?, part(&state.next)?);
                    Ok(State { name: state.name.clone(), start, next })
                };
                Self::Repeat(Repeat {
                    count: *count,
                    states: states.iter().map(state).collect::<Result<_, E>>()?,
                })
            }
            Self::Sum(terms) => Self::Sum(all(terms, part)?),
        })
    }

    /// Whether it is, or has in it, the state of a repetition.
    pub(crate) fn has_locals(&self) -> bool {
        matches!(self, Self::Local(_)) || self.parts().into_iter().any(Self::has_locals)
    }

    /// Whether it is, or has in it, a product of what differs from element to element.
    pub(crate) fn has_products(&self) -> bool {
        let is_product = match self {
            Self::Product(factors) => factors.iter().filter(|factor| !factor.is_constant()).count() > 1,
            Self::Power(of, exponent) => *exponent > 1 && !of.is_constant(),
            _ => false,
        };
        is_product || self.parts().into_iter().any(Self::has_products)
    }

    /// Whether it is, or has in it, what is no sum and no product.
    pub(crate) fn has_gates(&self) -> bool {
        matches!(self, Self::Gate(_)) || self.parts().into_iter().any(Self::has_gates)
    }

    /// Whether it is the same for every element: no name is in it, and no function of vectors.
    pub(crate) fn is_constant(&self) -> bool {
        let varies = matches!(self, Self::Call { .. } | Self::Local(_) | Self::Name(_));
        !varies && self.parts().into_iter().all(Self::is_constant)
    }

    /// Repetitions that it is, or has in it.
    pub(crate) fn repetitions(&self) -> u64 {
        let inside: u64 = self.parts().into_iter().map(Self::repetitions).sum();
        inside + u64::from(matches!(self, Self::Repeat(_)))
    }

    /// The first function of whole vectors that it is, or has in it, with its position.
    pub(crate) fn function_inside(&self) -> Option<(Function, usize)> {
        match self {
            Self::Call { function, position, .. } => Some((*function, *position)),
            node => node.parts().into_iter().find_map(Self::function_inside),
        }
    }

    /// Pieces, those of a repetition as often as they are repeated.
    pub(crate) fn unrolled(&self) -> u64 {
        let all = |nodes: &mut dyn Iterator<Item = &Self>| {
            nodes.fold(0_u64, |sum, node| sum.saturating_add(node.unrolled()))
        };
        let inside = match self {
            Self::Repeat(repeat) => {
                let once = all(&mut repeat.states.iter().map(|state| &state.next));
                let starts = all(&mut repeat.states.iter().map(|state| &state.start));
                once.saturating_mul(u64::from(repeat.count)).saturating_add(starts)
            }
            node => all(&mut node.parts().into_iter()),
        };
        inside.saturating_add(1)
    }
}

impl Gate {
    fn parts(&self) -> Vec<&Node> {
        match self {
            Self::Choose { parts, .. } => parts.iter().collect(),
            Self::Compare { left, right, .. } => vec![left, right],
            Self::Extreme { of: parts, .. } | Self::LookUp { parts, .. } => parts.iter().collect(),
            Self::Logic { first, runs } => {
                std::iter::once(first.as_ref()).chain(runs.iter().flat_map(|run| &run.terms)).collect()
            }
            Self::Not { of, .. } => vec![of],
        }
    }

    fn map_parts<E>(&self, part: &mut dyn FnMut(&Node) -> Result<Node, E>) -> Result<Self, E> {
        let all = |nodes: &[Node], part: &mut dyn FnMut(&Node) -> Result<Node, E>| {
            nodes.iter().map(part).collect::<Result<Vec<_>, E>>()
        };
        Ok(match self {
            Self::Choose { parts, position } => {
                let [condition, then, otherwise] = parts.as_ref();
                let parts = [part(condition)?, part(then)?, part(otherwise)?];
                Self::Choose { parts: Box::new(parts), position: *position }
            }
            Self::Compare { comparison, left, right, position } => {
                let (left, right) = (Box::new(part(left)?), Box::new(part(right)?));
                Self::Compare { comparison: *comparison, left, right, position: *position }
            }
            Self::Extreme { is_greatest, of, position } => {
                Self::Extreme { is_greatest: *is_greatest, of: all(of, part)?, position: *position }
            }
            Self::LookUp { parts, position } => {
                Self::LookUp { parts: all(parts, part)?, position: *position }
            }
            Self::Logic { first, runs } => {
                let first = Box::new(part(first)?);
                let run = |run: &Run| Ok(Run { terms: all(&run.terms, part)?, ..run.clone() });
                Self::Logic { first, runs: runs.iter().map(run).collect::<Result<_, E>>()? }
            }
            Self::Not { of, position } => Self::Not { of: Box::new(part(of)?), position: *position },
        })
    }

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
            Self::LookUp { position, .. } => ("lookup", *position),
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
