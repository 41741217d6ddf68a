// SPDX-License-Identifier: Apache-2.0
//! Cutting an expression in two: pieces that are sums and products, and what is compared and chosen among their values.

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

/// An expression in two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// What is left. Its names are those of the expression, and one for each piece behind them.
    pub outer: Expression,
    /// The pieces, each once, with the names of the expression.
    pub pieces: Vec<Expression>,
}

impl Expression {
    /// Cuts pieces out.
    ///
    /// # Errors
    /// [`ExprError::Aggregate`] for a function of what is compared or chosen, or of the states of a repetition.
    pub fn cut(&self, cut: Cut) -> Result<Parts, ExprError> {
        let mut cutter = Cutter { whole: self, cut, pieces: Vec::new() };
        let root = match self.root() {
            // The function of the whole stays.
            Node::Call { .. } => self.root().map_parts(&mut |part| cutter.rest(part))?,
            root => cutter.rest(root)?,
        };
        let texts = cutter.pieces.iter().map(Self::to_string);
        let names = self.names().iter().cloned().chain(texts).collect();
        Ok(Parts { outer: Self::of(root, names), pieces: cutter.pieces })
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

struct Cutter<'a> {
    whole: &'a Expression,
    cut: Cut,
    pieces: Vec<Expression>,
}

impl Cutter<'_> {
    /// What is left of a part.
    fn rest(&mut self, node: &Node) -> Result<Node, ExprError> {
        let is_free = !node.has_gates() && !node.has_locals();
        match node {
            Node::Call { function, position, .. } if !is_free => {
                Err(ExprError::Aggregate { position: *position, function: function.name() })
            }
            Node::Call { .. } => Ok(self.piece(node)),
            node if self.cut == Cut::Products
                && is_free
                && node.has_products()
                && node.function_inside().is_none() =>
            {
                Ok(self.piece(node))
            }
            node => node.map_parts(&mut |part| self.rest(part)),
        }
    }

    /// The name of a piece.
    fn piece(&mut self, node: &Node) -> Node {
        let names = self.whole.names();
        let piece = Expression::of(node.clone(), names.to_vec());
        // Positions differ where texts do not.
        let text = piece.to_string();
        let place = self.pieces.iter().position(|known| known.to_string() == text).unwrap_or_else(|| {
            self.pieces.push(piece);
            self.pieces.len() - 1
        });
        Node::Name(names.len() + place)
    }
}
