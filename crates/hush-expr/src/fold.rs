// SPDX-License-Identifier: Apache-2.0
//! Meanings of an expression other than numbers: any type with a sum and a product can be one.

use crate::tree::{Gate, Node, Repeat};
use crate::{Comparison, Expression, Function, Logic, Ratio};

/// The meaning of the pieces of an expression. Pieces are folded from the leaves, from left to right.
pub trait Fold {
    /// The meaning of a piece; that of a state stands wherever the state does.
    type Value: Clone;
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
    /// The entry at a place, counted from 0: one or more numbers.
    ///
    /// # Errors
    /// See [`Fold::call`].
    fn look_up(
        &mut self,
        at: Self::Value,
        entries: Vec<Self::Value>,
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
    /// `base^exponent`, with an exponent of at most 1024.
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
        fold(self.root(), &mut Scope { meaning, locals: Vec::new() })
    }
}

/// A meaning, with those of the states of the repetitions around.
struct Scope<'a, F: Fold> {
    meaning: &'a mut F,
    locals: Vec<F::Value>,
}

fn all<F: Fold>(nodes: &[Node], scope: &mut Scope<'_, F>) -> Result<Vec<F::Value>, F::Error> {
    nodes.iter().map(|node| fold(node, scope)).collect()
}

fn repeated<F: Fold>(repeat: &Repeat, scope: &mut Scope<'_, F>) -> Result<F::Value, F::Error> {
    let outer = scope.locals.len();
    let starts = repeat.states.iter().map(|state| fold(&state.start, scope));
    let mut values = starts.collect::<Result<Vec<_>, _>>()?;
    for _ in 0..repeat.count {
        scope.locals.append(&mut values);
        values = repeat.states.iter().map(|state| fold(&state.next, scope)).collect::<Result<_, _>>()?;
        scope.locals.truncate(outer);
    }
    // A repetition has a state at least.
    Ok(values.swap_remove(0))
}

fn fold<F: Fold>(node: &Node, scope: &mut Scope<'_, F>) -> Result<F::Value, F::Error> {
    match node {
        Node::Call { function, arguments, .. } => {
            let arguments = all(arguments, scope)?;
            scope.meaning.call(*function, arguments)
        }
        Node::Gate(gate) => fold_gate(gate, scope),
        Node::Local(index) => Ok(scope.locals[*index].clone()),
        Node::Name(index) => scope.meaning.name(*index),
        Node::Negative(inner) => {
            let inner = fold(inner, scope)?;
            scope.meaning.negative(inner)
        }
        Node::Number(number) => scope.meaning.number(number),
        Node::Power(base, exponent) => {
            let base = fold(base, scope)?;
            scope.meaning.power(base, *exponent)
        }
        Node::Product(factors) => {
            let factors = all(factors, scope)?;
            scope.meaning.product(factors)
        }
        Node::Reciprocal { of, position } => {
            let of = fold(of, scope)?;
            scope.meaning.reciprocal(of, *position)
        }
        Node::Repeat(repeat) => repeated(repeat, scope),
        Node::Sum(terms) => {
            let terms = all(terms, scope)?;
            scope.meaning.sum(terms)
        }
    }
}

fn fold_gate<F: Fold>(gate: &Gate, scope: &mut Scope<'_, F>) -> Result<F::Value, F::Error> {
    match gate {
        Gate::Choose { parts, position } => {
            let [condition, then, otherwise] = parts.as_ref();
            let condition = fold(condition, scope)?;
            let then = fold(then, scope)?;
            let otherwise = fold(otherwise, scope)?;
            scope.meaning.choose(condition, then, otherwise, *position)
        }
        Gate::Compare { comparison, left, right, position } => {
            let left = fold(left, scope)?;
            let right = fold(right, scope)?;
            scope.meaning.compare(*comparison, left, right, *position)
        }
        Gate::Extreme { is_greatest, of, position } => {
            let of = all(of, scope)?;
            scope.meaning.extreme(*is_greatest, of, *position)
        }
        Gate::LookUp { parts, position } => {
            let mut entries = all(parts, scope)?;
            // There is a place at least.
            let at = entries.remove(0);
            scope.meaning.look_up(at, entries, *position)
        }
        Gate::Logic { first, runs } => {
            let first = fold(first, scope)?;
            runs.iter().try_fold(first, |left, run| {
                let mut terms = vec![left];
                terms.extend(all(&run.terms, scope)?);
                scope.meaning.logic(run.operation, terms, run.position)
            })
        }
        Gate::Not { of, position } => {
            let of = fold(of, scope)?;
            scope.meaning.not(of, *position)
        }
    }
}
