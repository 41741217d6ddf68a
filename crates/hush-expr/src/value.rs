// SPDX-License-Identifier: Apache-2.0
//! The value of a piece of an expression.

use crate::tree::{Gate, Node, Repeat, check_bits};
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
    Ok(number)
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

/// Whether a condition holds.
fn truth(node: &Node, values: &mut Values<'_>, position: usize) -> Result<bool, ExprError> {
    let value = value(node, values)?;
    let is_boolean = value.is_zero() || value == Ratio::one();
    if is_boolean { Ok(!value.is_zero()) } else { Err(ExprError::NotBoolean { position }) }
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
