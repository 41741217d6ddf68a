// SPDX-License-Identifier: Apache-2.0
//! Meanings of an expression other than numbers: any type with a sum and a product can be one.

use crate::tree::Node;
use crate::{Expression, Function, Ratio};

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
    /// `1/value`; positions count characters from 1.
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

fn fold<F: Fold>(node: &Node, meaning: &mut F) -> Result<F::Value, F::Error> {
    let all = |nodes: &[Node], meaning: &mut F| -> Result<Vec<F::Value>, F::Error> {
        nodes.iter().map(|node| fold(node, meaning)).collect()
    };
    match node {
        Node::Call { function, arguments, .. } => {
            let arguments = all(arguments, meaning)?;
            meaning.call(*function, arguments)
        }
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
