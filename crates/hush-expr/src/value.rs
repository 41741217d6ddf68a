// SPDX-License-Identifier: Apache-2.0
//! The value of a piece of an expression.

use crate::tree::{Function, Gate, Node, Repeat, check_bits};
use crate::{ExprError, Ratio};

/// The values of the names, and of the states of the repetitions around.
pub(crate) struct Values<'a> {
    names: &'a [Ratio],
    locals: Vec<Ratio>,
}

impl<'a> Values<'a> {
    pub(crate) fn new(names: &'a [Ratio]) -> Self {
        Self { names, locals: Vec::new() }
    }
}

pub(crate) fn value(node: &Node, values: &mut Values<'_>) -> Result<Ratio, ExprError> {
    let missing = || ExprError::Unexpected { position: 1, expected: "a value for every name" };
    let number = match node {
        Node::Call { function, position, .. } => {
            return Err(ExprError::Aggregate { position: *position, function: function.name() });
        }
        Node::Gate(gate) => gate_value(gate, values)?,
        Node::Name(index) => values.names.get(*index).cloned().ok_or_else(missing)?,
        Node::Local(index) => values.locals.get(*index).cloned().ok_or_else(missing)?,
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
        Node::Repeat(repeat) => repeated(repeat, values)?,
        Node::Sum(terms) => terms.iter().try_fold(Ratio::zero(), |sum, term| {
            let sum = &sum + &value(term, values)?;
            check_bits(sum.bits())?;
            Ok::<_, ExprError>(sum)
        })?,
    };
    // Inside repetitions numbers grow without end.
    Ok(if values.locals.is_empty() { number } else { number.shortened() })
}

/// Every part is evaluated, also what is not chosen: encrypted, nobody knows which that is.
fn gate_value(gate: &Gate, values: &mut Values<'_>) -> Result<Ratio, ExprError> {
    match gate {
        Gate::Choose { parts, position } => {
            let [condition, then, otherwise] = parts.as_ref();
            let is_chosen = truth(condition, values, *position)?;
            let (then, otherwise) = (value(then, values)?, value(otherwise, values)?);
            Ok(if is_chosen { then } else { otherwise })
        }
        Gate::Compare { comparison, left, right, .. } => {
            Ok(number(comparison.of(&value(left, values)?, &value(right, values)?)))
        }
        Gate::Extreme { is_greatest, of, .. } => {
            let extreme = of.iter().try_fold(None, |extreme: Option<Ratio>, node| {
                let next = value(node, values)?;
                Ok::<_, ExprError>(Some(match extreme {
                    None => next,
                    Some(extreme) if *is_greatest => extreme.max(next),
                    Some(extreme) => extreme.min(next),
                }))
            })?;
            Ok(extreme.unwrap_or_else(Ratio::zero))
        }
        Gate::LookUp { parts, position } => {
            let parts = parts.iter().map(|part| value(part, values)).collect::<Result<Vec<_>, _>>()?;
            let (at, entries) = parts.split_first().ok_or(ExprError::Place { position: *position })?;
            entry(at, entries, *position).cloned()
        }
        Gate::Logic { first, runs } => {
            let start = runs.first().map_or(1, |run| run.position);
            let mut holds = truth(first, values, start)?;
            for run in runs {
                for term in &run.terms {
                    holds = run.operation.of(holds, truth(term, values, run.position)?);
                }
            }
            Ok(number(holds))
        }
        Gate::Not { of, position } => Ok(number(!truth(of, values, *position)?)),
    }
}

/// The entry at a place, counted from 0.
pub(crate) fn entry<'a, T>(at: &Ratio, entries: &'a [T], position: usize) -> Result<&'a T, ExprError> {
    let place = at.to_integer().and_then(|place| usize::try_from(place).ok());
    place.and_then(|place| entries.get(place)).ok_or(ExprError::Place { position })
}

/// Whether a condition holds.
fn truth(node: &Node, values: &mut Values<'_>, position: usize) -> Result<bool, ExprError> {
    let value = value(node, values)?;
    let is_boolean = value.is_zero() || value == Ratio::one();
    if is_boolean { Ok(!value.is_zero()) } else { Err(ExprError::NotBoolean { position }) }
}

/// The values of an expression for all elements at once, since functions of all of them stand inside.
pub(crate) fn whole_values(
    root: &Node,
    vectors: &[&[Ratio]],
    length: usize,
) -> Result<Vec<Ratio>, ExprError> {
    let mut whole = Whole { vectors, length, locals: Vec::new() };
    match root {
        Node::Call { arguments, .. } => whole.product(arguments),
        node => whole.values(node),
    }
}

/// Vectors, and the states of the repetitions around for every element.
struct Whole<'a> {
    vectors: &'a [&'a [Ratio]],
    length: usize,
    locals: Vec<Vec<Ratio>>,
}

impl Whole<'_> {
    fn values(&mut self, node: &Node) -> Result<Vec<Ratio>, ExprError> {
        let missing = || ExprError::Unexpected { position: 1, expected: "a value for every name" };
        Ok(match node {
            Node::Call { function, arguments, .. } => {
                let inside = self.product(arguments)?;
                let sum = inside.iter().fold(Ratio::zero(), |sum, value| &sum + value);
                let count = Ratio::from(num_bigint::BigInt::from(self.length.max(1)));
                let share = if *function == Function::Mean { count.recip() } else { None };
                vec![(&sum * &share.unwrap_or_else(Ratio::one)).shortened(); self.length]
            }
            Node::Local(index) => self.locals.get(*index).cloned().ok_or_else(missing)?,
            Node::Negative(of) => self.values(of)?.into_iter().map(|value| -value).collect(),
            Node::Power(of, exponent) => {
                let power = |base: Ratio| {
                    check_bits(base.bits().saturating_mul(u64::from(*exponent)))?;
                    Ok::<_, ExprError>(base.pow(*exponent))
                };
                self.values(of)?.into_iter().map(power).collect::<Result<_, _>>()?
            }
            Node::Product(factors) => self.product(factors)?,
            Node::Repeat(repeat) => self.repeated(repeat)?,
            Node::Sum(terms) => {
                let mut sum = vec![Ratio::zero(); self.length];
                for term in terms {
                    let term = self.values(term)?;
                    sum.iter_mut().zip(&term).for_each(|(sum, term)| *sum = &*sum + term);
                }
                sum
            }
            node => {
                let node = &self.without_functions(node)?;
                let at = |index: usize| {
                    let of_element =
                        |vector: &[Ratio]| vector.get(index).cloned().unwrap_or_else(Ratio::zero);
                    let names: Vec<Ratio> = self.vectors.iter().map(|vector| of_element(vector)).collect();
                    let locals = self.locals.iter().map(|local| of_element(local)).collect();
                    value(node, &mut Values { names: &names, locals })
                };
                (0..self.length).map(at).collect::<Result<_, _>>()?
            }
        })
    }

    /// Functions of all elements as the numbers that they are.
    fn without_functions(&mut self, node: &Node) -> Result<Node, ExprError> {
        match node {
            Node::Call { .. } => {
                let of_all = self.values(node)?.into_iter().next();
                Ok(Node::Number(of_all.unwrap_or_else(Ratio::zero)))
            }
            node => node.map_parts(&mut |part| self.without_functions(part)),
        }
    }

    fn product(&mut self, factors: &[Node]) -> Result<Vec<Ratio>, ExprError> {
        let mut product = vec![Ratio::one(); self.length];
        for factor in factors {
            let factor = self.values(factor)?;
            for (product, factor) in product.iter_mut().zip(&factor) {
                *product = &*product * factor;
                check_bits(product.bits())?;
            }
        }
        Ok(product)
    }

    fn repeated(&mut self, repeat: &Repeat) -> Result<Vec<Ratio>, ExprError> {
        let outer = self.locals.len();
        let starts = repeat.states.iter().map(|state| self.values(&state.start));
        let mut states = starts.collect::<Result<Vec<_>, _>>()?;
        for _ in 0..repeat.count {
            self.locals.append(&mut states);
            for state in &repeat.states {
                let next = self.values(&state.next)?;
                states.push(next.into_iter().map(Ratio::shortened).collect());
            }
            self.locals.truncate(outer);
        }
        Ok(states.swap_remove(0))
    }
}

fn repeated(repeat: &Repeat, values: &mut Values<'_>) -> Result<Ratio, ExprError> {
    let outer = values.locals.len();
    let starts = repeat.states.iter().map(|state| value(&state.start, values));
    let mut states = starts.collect::<Result<Vec<_>, _>>()?;
    for _ in 0..repeat.count {
        values.locals.append(&mut states);
        let next = repeat.states.iter().map(|state| Ok(value(&state.next, values)?.shortened()));
        states = next.collect::<Result<_, ExprError>>()?;
        values.locals.truncate(outer);
    }
    Ok(states.swap_remove(0))
}

fn number(holds: bool) -> Ratio {
    if holds { Ratio::one() } else { Ratio::zero() }
}
