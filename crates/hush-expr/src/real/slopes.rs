// SPDX-License-Identifier: Apache-2.0
//! What a piece of an expression may be, and how fast it may change with each thing that it depends on.
//!
//! # Math
//! Values and derivatives are enclosed together (dual numbers over intervals). An interval forgets that two factors are the same value, and errs by as much as it is wide: so
//! the box of all values is cut, again and again, where the present bound comes from, and the bounds of the pieces are joined. What is left over shrinks with the pieces.
//!
//! # References
//! R. E. Moore, "Interval Analysis" (1966): refinement by subdivision; S. Skelboe, "Computation of rational interval functions", BIT 14 (1974): cutting where the bound is.

use super::enclosure::Enclosure;
use crate::tree::{Node, Repeat};

/// A value and its derivatives by some variables.
#[derive(Clone, Debug)]
struct Dual {
    value: Enclosure,
    slopes: Vec<Enclosure>,
}

/// Bounds of a piece for values of the names and of the states around within a box: names first, then states. About `work` evaluations.
pub(super) fn range(node: &Node, names: usize, whole: &[Enclosure], work: usize) -> Enclosure {
    let used = used_variables(node, names, whole.len());
    let evaluate = |at: &[Enclosure]| dual(node, names, &variables(at, &[]));
    let first = evaluate(whole).value;
    let search = |start: f64, objective: &dyn Fn(&Dual) -> f64| {
        largest(whole, &used, (start, share(work, 2)), &evaluate, objective)
    };
    let low = -search(-first.low(), &|dual| -dual.value.low());
    Enclosure::new(low, search(first.high(), &|dual| dual.value.high()))
}

/// The largest absolute derivatives of a piece by each variable, as [`range`].
pub(super) fn slopes(node: &Node, names: usize, whole: &[Enclosure], work: usize) -> Vec<f64> {
    let used = used_variables(node, names, whole.len());
    let evaluate = |at: &[Enclosure]| dual(node, names, &variables(at, &used));
    let first = evaluate(whole);
    let mut slopes = vec![0.0; whole.len()];
    for (index, &variable) in used.iter().enumerate() {
        let objective = |dual: &Dual| dual.slopes.get(index).map_or(0.0, Enclosure::magnitude);
        let work = share(work, used.len());
        slopes[variable] = largest(whole, &used, (objective(&first), work), &evaluate, &objective);
    }
    slopes
}

/// Cuts for each of several bounds.
fn share(work: usize, bounds: usize) -> usize {
    (work / bounds.max(1)).clamp(LEAST_WORK, MOST_WORK)
}

/// A bound on the largest value of an objective over a box.
fn largest(
    whole: &[Enclosure],
    used: &[usize],
    (start, work): (f64, usize),
    evaluate: &dyn Fn(&[Enclosure]) -> Dual,
    objective: &dyn Fn(&Dual) -> f64,
) -> f64 {
    let mut pieces = vec![(start, whole.to_vec())];
    for _ in 0..work {
        let Some(worst) = pieces.iter().enumerate().max_by(|(_, a), (_, b)| a.0.total_cmp(&b.0)) else {
            break;
        };
        let (bound, piece) = pieces.swap_remove(worst.0);
        // Where values were wide, in relation to the whole.
        let share = |&variable: &usize| -> f64 {
            let all = whole[variable].width();
            if all > 0.0 { piece[variable].width() / all } else { 0.0 }
        };
        let widest = used.iter().copied().max_by(|a, b| share(a).total_cmp(&share(b)));
        let Some(widest) = widest.filter(|variable| share(variable) > NARROWEST) else {
            pieces.push((bound, piece));
            break;
        };
        for half in piece[widest].halves() {
            let mut piece = piece.clone();
            piece[widest] = half;
            // A piece has no value that the whole has not.
            let own = objective(&evaluate(&piece)).min(bound);
            pieces.push((own, piece));
        }
    }
    pieces.into_iter().map(|(bound, _)| bound).fold(f64::NEG_INFINITY, f64::max)
}

/// The variables that a piece depends on.
fn used_variables(node: &Node, names: usize, count: usize) -> Vec<usize> {
    let mut used = vec![false; count];
    mark(node, names, &mut used);
    (0..count).filter(|&variable| used[variable]).collect()
}

fn mark(node: &Node, names: usize, used: &mut [bool]) {
    let place = match node {
        Node::Name(index) => Some(*index),
        Node::Local(index) => Some(names + index),
        _ => None,
    };
    // States of repetitions inside are beyond the end.
    if let Some(used) = place.and_then(|place| used.get_mut(place)) {
        *used = true;
    }
    node.parts().into_iter().for_each(|part| mark(part, names, used));
}

fn variables(at: &[Enclosure], used: &[usize]) -> Vec<Dual> {
    let slope = |variable: usize, by: usize| Enclosure::point(if variable == by { 1.0 } else { 0.0 });
    let dual = |(variable, &value): (usize, &Enclosure)| Dual {
        value,
        slopes: used.iter().map(|&by| slope(variable, by)).collect(),
    };
    at.iter().enumerate().map(dual).collect()
}

/// A piece for given variables: names, then states.
fn dual(node: &Node, names: usize, variables: &[Dual]) -> Dual {
    let width = variables.first().map_or(0, |variable| variable.slopes.len());
    let constant = |value: Enclosure| Dual { value, slopes: vec![Enclosure::point(0.0); width] };
    let anything = || constant(Enclosure::new(f64::NEG_INFINITY, f64::INFINITY));
    match node {
        // Refused where circuits are built.
        Node::Call { .. } | Node::Gate(_) => anything(),
        Node::Local(index) => variables.get(names + index).cloned().unwrap_or_else(anything),
        Node::Name(index) => variables.get(*index).cloned().unwrap_or_else(anything),
        Node::Negative(of) => {
            let of = dual(of, names, variables);
            Dual {
                value: of.value.negative(),
                slopes: of.slopes.into_iter().map(Enclosure::negative).collect(),
            }
        }
        Node::Number(number) => constant(Enclosure::rounded(number.to_f64())),
        Node::Power(of, exponent) => {
            let of = dual(of, names, variables);
            let below = of.value.power(exponent.saturating_sub(1));
            let outer = below.times(Enclosure::point(f64::from(*exponent)));
            let slopes = of.slopes.iter().map(|slope| slope.times(outer)).collect();
            Dual { value: of.value.power(*exponent), slopes }
        }
        Node::Product(factors) => factors
            .iter()
            .map(|factor| dual(factor, names, variables))
            .fold(constant(Enclosure::point(1.0)), times),
        // Only constants are divided by.
        Node::Reciprocal { of, .. } => constant(dual(of, names, variables).value.recip()),
        Node::Repeat(repeat) => repeated(repeat, names, variables),
        Node::Sum(terms) => {
            terms.iter().map(|term| dual(term, names, variables)).fold(constant(Enclosure::point(0.0)), plus)
        }
    }
}

fn repeated(repeat: &Repeat, names: usize, variables: &[Dual]) -> Dual {
    let mut states: Vec<Dual> =
        repeat.states.iter().map(|state| dual(&state.start, names, variables)).collect();
    for _ in 0..repeat.count {
        let all: Vec<Dual> = variables.iter().cloned().chain(states).collect();
        states = repeat.states.iter().map(|state| dual(&state.next, names, &all)).collect();
    }
    states.swap_remove(0)
}

fn plus(a: Dual, b: Dual) -> Dual {
    let slopes = a.slopes.iter().zip(&b.slopes).map(|(a, b)| a.plus(*b)).collect();
    Dual { value: a.value.plus(b.value), slopes }
}

fn times(a: Dual, b: Dual) -> Dual {
    let slope = |(da, db): (&Enclosure, &Enclosure)| da.times(b.value).plus(db.times(a.value));
    let slopes = a.slopes.iter().zip(&b.slopes).map(slope).collect();
    Dual { value: a.value.times(b.value), slopes }
}

/// Cuts for one bound.
const LEAST_WORK: usize = 16;
const MOST_WORK: usize = 256;
/// A piece that is so narrow in relation to the whole is not cut.
const NARROWEST: f64 = 1e-6;
