// SPDX-License-Identifier: Apache-2.0
//! Cutting an expression: pieces that have results of their own, and what is compared and chosen among them.

use crate::tree::Node;
use crate::{ExprError, Expression};

/// What is cut out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Functions of whole vectors that are not the whole expression.
    Functions,
    /// These, and the largest pieces with a product in which nothing is compared or chosen.
    Products,
}

/// An expression in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// What is left. Its names are those of the expression, and one for each piece behind them.
    pub outer: Expression,
    /// The pieces, each once, behind those that it is of.
    pub pieces: Vec<Piece>,
}

/// What is cut out of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A function of what is compared or chosen, or of other pieces. Its names are those of the expression, and one for each piece before it.
    Digits(Expression),
    /// Sums and products, or a function of them, with the names of the expression.
    Slots(Expression),
}

impl Piece {
    /// It as an expression.
    pub fn expression(&self) -> &Expression {
        match self {
            Self::Digits(expression) | Self::Slots(expression) => expression,
        }
    }
}

impl Expression {
    /// Cuts pieces out.
    ///
    /// # Errors
    /// [`ExprError::Aggregate`] for a function of the states of a repetition around it.
    pub fn cut(&self, cut: Cut) -> Result<Parts, ExprError> {
        let (names, pieces) = (self.names().to_vec(), Vec::new());
        let mut cutter = Cutter { count: names.len(), names, cut, pieces, repetitions: 0 };
        let root = match self.root() {
            // The function of the whole stays.
            Node::Call { .. } => self.root().map_parts(&mut |part| cutter.rest(part))?,
            root => cutter.rest(root)?,
        };
        Ok(Parts { outer: Self::of(root, cutter.names), pieces: cutter.pieces })
    }

    /// Whether there is one value for all elements, because every name stands in a function of whole vectors.
    pub fn is_one_value(&self) -> bool {
        fn has_elements(node: &Node) -> bool {
            match node {
                Node::Call { .. } => false,
                Node::Name(_) => true,
                node => node.parts().into_iter().any(has_elements),
            }
        }
        !has_elements(self.root())
    }
}

struct Cutter {
    /// Names of the expression, and then of the pieces.
    names: Vec<String>,
    /// How many are those of the expression.
    count: usize,
    cut: Cut,
    pieces: Vec<Piece>,
    /// Repetitions around.
    repetitions: usize,
}

impl Cutter {
    /// What is left of a part.
    fn rest(&mut self, node: &Node) -> Result<Node, ExprError> {
        let is_polynomial = !node.has_gates() && !node.has_locals();
        let has_functions = || node.parts().into_iter().any(|part| part.function_inside().is_some());
        match node {
            Node::Call { function, position, .. } if self.repetitions > 0 && node.has_locals() => {
                Err(ExprError::Aggregate { position: *position, function: function.name() })
            }
            Node::Call { .. } if is_polynomial && !has_functions() => Ok(self.in_slots(node)),
            Node::Call { .. } => {
                let node = node.map_parts(&mut |part| self.rest(part))?;
                let expression = Expression::of(node, self.names.clone());
                Ok(self.named(Piece::Digits(expression)))
            }
            node if self.cut == Cut::Products && is_polynomial && node.has_products() && !has_functions() => {
                Ok(self.in_slots(node))
            }
            Node::Repeat(_) => {
                self.repetitions += 1;
                let rest = node.map_parts(&mut |part| self.rest(part));
                self.repetitions -= 1;
                rest
            }
            node => node.map_parts(&mut |part| self.rest(part)),
        }
    }

    fn in_slots(&mut self, node: &Node) -> Node {
        let names = self.names[..self.count].to_vec();
        self.named(Piece::Slots(Expression::of(node.clone(), names)))
    }

    /// The name of a piece.
    fn named(&mut self, piece: Piece) -> Node {
        // Positions differ where texts do not.
        let text = match piece.expression() {
            called if called.function().is_some() => called.to_string(),
            others => format!("({others})"),
        };
        let known = self.names[self.count..].iter().position(|known| *known == text);
        let place = known.unwrap_or_else(|| {
            self.pieces.push(piece);
            self.names.push(text);
            self.pieces.len() - 1
        });
        Node::Name(self.count + place)
    }
}
