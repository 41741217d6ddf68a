// SPDX-License-Identifier: Apache-2.0
//! The meaning of an expression.

use crate::parse::Parser;
use crate::tree::{Function, Node};
use crate::value::{Values, value, whole_values};
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

    pub(crate) fn of(root: Node, names: Vec<String>) -> Self {
        Self { root, names }
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

    /// Whether there is a comparison in it, `and`, `or`, `xor`, `not`, `min`, `max` or `if`. Such an expression needs a scheme that
    /// evaluates tables or gates on encrypted bits; all others have a circuit of sums and products.
    pub fn needs_gates(&self) -> bool {
        self.root.has_gates()
    }

    /// The values for all elements of vectors of one length, as [`Expression::value_at`]; functions of whole vectors may stand inside.
    ///
    /// # Errors
    /// As there, but for [`ExprError::Aggregate`].
    pub fn values(&self, vectors: &[&[Ratio]]) -> Result<Vec<Ratio>, ExprError> {
        let length = vectors.first().map_or(0, |vector| vector.len());
        let inside = match &self.root {
            Node::Call { arguments, .. } => arguments.iter().any(|node| node.function_inside().is_some()),
            node => node.function_inside().is_some(),
        };
        if inside {
            return whole_values(&self.root, vectors, length);
        }
        let at = |index: usize| {
            let values: Vec<Ratio> = vectors.iter().filter_map(|vector| vector.get(index).cloned()).collect();
            self.value_at(&values)
        };
        (0..length).map(at).collect()
    }

    /// Whether there is a `repeat` in it.
    pub fn has_repetitions(&self) -> bool {
        self.root.repetitions() > 0
    }

    /// That functions of whole vectors are the whole expression, if there are any: what a meaning of pieces cannot tell.
    ///
    /// # Errors
    /// [`ExprError::Aggregate`] for one inside another piece.
    pub fn expect_whole_functions(&self) -> Result<(), ExprError> {
        let inside = match &self.root {
            Node::Call { arguments, .. } => arguments.iter().find_map(Node::function_inside),
            node => node.function_inside(),
        };
        match inside {
            None => Ok(()),
            Some((function, position)) => Err(ExprError::Aggregate { position, function: function.name() }),
        }
    }

    /// The value for one element of every vector, in the order of [`Expression::names`]; of a function, that of what it sums.
    ///
    /// It evaluates the text directly, and so does not depend on how circuits are built. A condition that holds is 1, another 0; every
    /// part must have a value, also the one that `if` does not choose, and what `and` or `or` could do without. All is exact but for values inside
    /// repetitions that have grown beyond 2048 bits: they are rounded to 1024, where no scheme of exact numbers holds as many.
    ///
    /// # Errors
    /// [`ExprError::DivisionByZero`]; [`ExprError::Aggregate`]; [`ExprError::NotBoolean`]; [`ExprError::TooLarge`];
    /// [`ExprError::Unexpected`] for too few values.
    pub fn value_at(&self, values: &[Ratio]) -> Result<Ratio, ExprError> {
        let values = &mut Values::new(values);
        match &self.root {
            Node::Call { arguments, .. } => arguments
                .iter()
                .try_fold(Ratio::one(), |product, argument| Ok(&product * &value(argument, values)?)),
            node => value(node, values),
        }
    }
}
