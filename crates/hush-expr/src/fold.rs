// SPDX-License-Identifier: Apache-2.0
//! Meanings of an expression other than numbers: any type with a sum and a product can be one.

use crate::tree::{Gate, Node};
use crate::{Comparison, Expression, Function, Logic, Ratio};

/// The meaning of the pieces of an expression. Pieces are folded from the leaves, from left to right.
pub trait Fold {
    /// The meaning of a piece.
    type Value;
    /// Why a piece has none.
    type Error;

    /// A function of whole vectors.
    ///
    /// # Errors
    /// Of the meaning; so for all.
    fn call(&mut self, function: Function, arguments: Vec<Self::Value>) -> Result<Self::Value, Self::Error>;
    /// `then` where the condition is 1, `otherwise` where it is 0. Positions count characters from 1, and are those of the operator or
    /// of the name of the function; so for all.
    ///
    /// # Errors
    /// See [`Fold::call`].
    fn choose(
        &mut self,
        condition: Self::Value,
        then: Self::Value,
        otherwise: Self::Value,
        position: usize,
    ) -> Result<Self::Value, Self::Error>;
    /// 1 where the comparison holds, else 0.
    ///
    /// # Errors
    /// See [`Fold::call`].
    fn compare(
        &mut self,
        comparison: Comparison,
        left: Self::Value,
        right: Self::Value,
        position: usize,
    ) -> Result<Self::Value, Self::Error>;
    /// The largest of two or more, or the smallest.
    ///
    /// # Errors
    /// See [`Fold::call`].
    fn extreme(
        &mut self,
        is_greatest: bool,
        values: Vec<Self::Value>,
        position: usize,
    ) -> Result<Self::Value, Self::Error>;
    /// Two or more conditions, joined from left to right to 0 or 1. Operators of equal rank that take turns, as in `a or b xor c`, are
    /// one piece each, the first of whose terms is the piece to the left.
    ///
    /// # Errors
    /// See [`Fold::call`].
    fn logic(
        &mut self,
        operation: Logic,
        terms: Vec<Self::Value>,
        position: usize,
    ) -> Result<Self::Value, Self::Error>;
    /// The name at this place of [`Expression::names`]; once for every occurrence.
    ///
    /// # Errors
    /// See [`Fold::call`].
    fn name(&mut self, index: usize) -> Result<Self::Value, Self::Error>;
    /// `-value`.
    ///
    /// # Errors
    /// See [`Fold::call`].
    fn negative(&mut self, value: Self::Value) -> Result<Self::Value, Self::Error>;
    /// 1 where the value is 0, and 0 where it is 1.
    ///
    /// # Errors
    /// See [`Fold::call`].
    fn not(&mut self, value: Self::Value, position: usize) -> Result<Self::Value, Self::Error>;
    /// A number, once for every occurrence.
    ///
    /// # Errors
    /// See [`Fold::call`].
    fn number(&mut self, number: &Ratio) -> Result<Self::Value, Self::Error>;
    /// `base^exponent`, with an exponent of at most 64.
    ///
    /// # Errors
    /// See [`Fold::call`].
    fn power(&mut self, base: Self::Value, exponent: u32) -> Result<Self::Value, Self::Error>;
    /// A product of two or more.
    ///
    /// # Errors
    /// See [`Fold::call`].
    fn product(&mut self, factors: Vec<Self::Value>) -> Result<Self::Value, Self::Error>;
    /// `1/value`; the position is that of the value.
    ///
    /// # Errors
    /// See [`Fold::call`].
    fn reciprocal(&mut self, value: Self::Value, position: usize) -> Result<Self::Value, Self::Error>;
    /// A sum of two or more.
    ///
    /// # Errors
    /// See [`Fold::call`].
    fn sum(&mut self, terms: Vec<Self::Value>) -> Result<Self::Value, Self::Error>;
}

impl Expression {
    /// The meaning of the whole. The parser limits the nesting, and so this recursion.
    ///
    /// # Errors
    /// The first that a piece gives.
    pub fn fold<F: Fold>(&self, meaning: &mut F) -> Result<F::Value, F::Error> {
        fold(self.root(), meaning)
    }
}

fn all<F: Fold>(nodes: &[Node], meaning: &mut F) -> Result<Vec<F::Value>, F::Error> {
    nodes.iter().map(|node| fold(node, meaning)).collect()
}

fn fold<F: Fold>(node: &Node, meaning: &mut F) -> Result<F::Value, F::Error> {
    match node {
        Node::Call { function, arguments, .. } => {
            let arguments = all(arguments, meaning)?;
            meaning.call(*function, arguments)
        }
        Node::Gate(gate) => fold_gate(gate, meaning),
        Node::Name(index) => meaning.name(*index),
        Node::Negative(inner) => {
            let inner = fold(inner, meaning)?;
            meaning.negative(inner)
        }
        Node::Number(number) => meaning.number(number),
        Node::Power(base, exponent) => {
            let base = fold(base, meaning)?;
            meaning.power(base, *exponent)
        }
        Node::Product(factors) => {
            let factors = all(factors, meaning)?;
            meaning.product(factors)
        }
        Node::Reciprocal { of, position } => {
            let of = fold(of, meaning)?;
            meaning.reciprocal(of, *position)
        }
        Node::Sum(terms) => {
            let terms = all(terms, meaning)?;
            meaning.sum(terms)
        }
    }
}

fn fold_gate<F: Fold>(gate: &Gate, meaning: &mut F) -> Result<F::Value, F::Error> {
    match gate {
        Gate::Choose { parts, position } => {
            let [condition, then, otherwise] = parts.as_ref();
            let condition = fold(condition, meaning)?;
            let then = fold(then, meaning)?;
            let otherwise = fold(otherwise, meaning)?;
            meaning.choose(condition, then, otherwise, *position)
        }
        Gate::Compare { comparison, left, right, position } => {
            let left = fold(left, meaning)?;
            let right = fold(right, meaning)?;
            meaning.compare(*comparison, left, right, *position)
        }
        Gate::Extreme { is_greatest, of, position } => {
            let of = all(of, meaning)?;
            meaning.extreme(*is_greatest, of, *position)
        }
        Gate::Logic { first, runs } => {
            let first = fold(first, meaning)?;
            runs.iter().try_fold(first, |left, run| {
                let mut terms = vec![left];
                terms.extend(all(&run.terms, meaning)?);
                meaning.logic(run.operation, terms, run.position)
            })
        }
        Gate::Not { of, position } => {
            let of = fold(of, meaning)?;
            meaning.not(of, *position)
        }
    }
}
