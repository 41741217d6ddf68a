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
    /// By the same element of each variable.
    slopes: Vec<Enclosure>,
    /// By all elements together, through means: the sum of the absolute derivatives. Elements err independently, so it adds to the other one whatever the signs.
    through: Vec<f64>,
}

impl Dual {
    /// By how much the value may change where a variable changes by 1 in every element, up or down.
    fn steepness(&self, variable: usize) -> f64 {
        let own = self.slopes.get(variable).map_or(0.0, Enclosure::magnitude);
        up(own + self.through.get(variable).copied().unwrap_or(0.0))
    }
}

/// Bounds of a piece for values of the names and of the states around within a box: names first, then states. About `work` evaluations.
pub(super) fn range(node: &Node, names: usize, whole: &[Enclosure], work: usize) -> Enclosure {
    let scope = Scope::new(node, (names, whole), (Vec::new(), work));
    let first = dual(node, &scope, &scope.whole).value;
    let search = |start: f64, objective: &dyn Fn(&Dual) -> f64| {
        largest((node, whole), &scope, (start, share(work, 2)), objective)
    };
    let low = -search(-first.low(), &|dual| -dual.value.low());
    Enclosure::new(low, search(first.high(), &|dual| dual.value.high()))
}

/// The largest absolute derivatives of a piece by each variable, as [`range`].
pub(super) fn slopes(node: &Node, names: usize, whole: &[Enclosure], work: usize) -> Vec<f64> {
    let used = used_variables(node, names, whole.len(), true);
    let scope = Scope::new(node, (names, whole), (used.clone(), work));
    let first = dual(node, &scope, &scope.whole);
    let mut slopes = vec![0.0; whole.len()];
    for (index, &variable) in used.iter().enumerate() {
        let objective = |dual: &Dual| dual.steepness(index);
        let work = share(work, used.len());
        slopes[variable] = largest((node, whole), &scope, (objective(&first), work), &objective);
    }
    slopes
}

/// What a piece is evaluated in. A mean is over all elements: it does not know which part of the box an element is in, and is bounded once, over all of it.
struct Scope<'a> {
    names: usize,
    /// Variables that derivatives are taken by.
    by: Vec<usize>,
    /// Variables that the box is cut along: those of means change nothing.
    along: Vec<usize>,
    whole: Vec<Dual>,
    /// Means outside of repetitions, with their bounds.
    means: Vec<(&'a Node, Dual)>,
}

impl<'a> Scope<'a> {
    fn new(node: &'a Node, (names, whole): (usize, &[Enclosure]), (by, work): (Vec<usize>, usize)) -> Self {
        let mut means = Vec::new();
        means_of(node, &mut means);
        let bounded = |mean: &'a Node| {
            let inside = product_of(mean);
            let value = range(&inside, names, whole, work);
            let through = match by.is_empty() {
                true => Vec::new(),
                false => {
                    let slopes = slopes(&inside, names, whole, work);
                    by.iter().map(|&variable| slopes[variable]).collect()
                }
            };
            (mean, Dual { value, slopes: vec![Enclosure::point(0.0); by.len()], through })
        };
        let means = means.into_iter().map(bounded).collect();
        let along = used_variables(node, names, whole.len(), false);
        Self { names, whole: variables(whole, &by), by, along, means }
    }
}

/// Means that are not inside a repetition, nor inside one another.
fn means_of<'a>(node: &'a Node, means: &mut Vec<&'a Node>) {
    match node {
        Node::Call { .. } => means.push(node),
        Node::Repeat(_) => {}
        node => node.parts().into_iter().for_each(|part| means_of(part, means)),
    }
}

/// What a mean is of.
fn product_of(mean: &Node) -> Node {
    match mean {
        Node::Call { arguments, .. } => Node::Product(arguments.clone()),
        node => node.clone(),
    }
}

/// Cuts for each of several bounds.
fn share(work: usize, bounds: usize) -> usize {
    (work / bounds.max(1)).clamp(LEAST_WORK, MOST_WORK)
}

/// A bound on the largest value of an objective over a box.
fn largest(
    (node, whole): (&Node, &[Enclosure]),
    scope: &Scope<'_>,
    (start, work): (f64, usize),
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
        let widest = scope.along.iter().copied().max_by(|a, b| share(a).total_cmp(&share(b)));
        let Some(widest) = widest.filter(|variable| share(variable) > NARROWEST) else {
            pieces.push((bound, piece));
            break;
        };
        for half in piece[widest].halves() {
            let mut piece = piece.clone();
            piece[widest] = half;
            // A piece has no value that the whole has not.
            let own = objective(&dual(node, scope, &variables(&piece, &scope.by))).min(bound);
            pieces.push((own, piece));
        }
    }
    pieces.into_iter().map(|(bound, _)| bound).fold(f64::NEG_INFINITY, f64::max)
}

/// The variables that a piece depends on: with those of its means, or with others alone.
fn used_variables(node: &Node, names: usize, count: usize, with_means: bool) -> Vec<usize> {
    let mut used = vec![false; count];
    mark(node, (names, with_means), &mut used);
    (0..count).filter(|&variable| used[variable]).collect()
}

fn mark(node: &Node, (names, with_means): (usize, bool), used: &mut [bool]) {
    if !with_means && is_of_all(node) {
        return;
    }
    let place = match node {
        Node::Name(index) => Some(*index),
        Node::Local(index) => Some(names + index),
        _ => None,
    };
    // States of repetitions inside are beyond the end.
    if let Some(used) = place.and_then(|place| used.get_mut(place)) {
        *used = true;
    }
    node.parts().into_iter().for_each(|part| mark(part, (names, with_means), used));
}

/// Whether it is a mean, or a repetition with one inside.
fn is_of_all(node: &Node) -> bool {
    match node {
        Node::Call { .. } => true,
        Node::Repeat(_) => node.function_inside().is_some(),
        _ => false,
    }
}

fn variables(at: &[Enclosure], used: &[usize]) -> Vec<Dual> {
    let slope = |variable: usize, by: usize| Enclosure::point(if variable == by { 1.0 } else { 0.0 });
    let dual = |(variable, &value): (usize, &Enclosure)| Dual {
        value,
        slopes: used.iter().map(|&by| slope(variable, by)).collect(),
        through: vec![0.0; used.len()],
    };
    at.iter().enumerate().map(dual).collect()
}

/// A piece for given variables: names, then states.
fn dual(node: &Node, scope: &Scope<'_>, variables: &[Dual]) -> Dual {
    let names = scope.names;
    let width = variables.first().map_or(0, |variable| variable.slopes.len());
    let constant = |value: Enclosure| Dual {
        value,
        slopes: vec![Enclosure::point(0.0); width],
        through: vec![0.0; width],
    };
    let anything = || constant(Enclosure::new(f64::NEG_INFINITY, f64::INFINITY));
    match node {
        // Gathered, every function is a mean: its derivatives are no larger than the largest of an element.
        Node::Call { arguments, .. } => {
            if let Some((_, bounds)) = scope.means.iter().find(|(mean, _)| std::ptr::eq(*mean, node)) {
                return bounds.clone();
            }
            let one = constant(Enclosure::point(1.0));
            let of = arguments.iter().map(|argument| dual(argument, scope, variables)).fold(one, times);
            let through = (0..width).map(|variable| of.steepness(variable)).collect();
            Dual { through, ..constant(of.value) }
        }
        // Refused where circuits are built.
        Node::Gate(_) => anything(),
        Node::Local(index) => variables.get(names + index).cloned().unwrap_or_else(anything),
        Node::Name(index) => variables.get(*index).cloned().unwrap_or_else(anything),
        Node::Negative(of) => {
            let of = dual(of, scope, variables);
            Dual {
                value: of.value.negative(),
                slopes: of.slopes.into_iter().map(Enclosure::negative).collect(),
                through: of.through,
            }
        }
        Node::Number(number) => constant(Enclosure::rounded(number.to_f64())),
        Node::Power(of, exponent) => {
            let of = dual(of, scope, variables);
            let below = of.value.power(exponent.saturating_sub(1));
            let outer = below.times(Enclosure::point(f64::from(*exponent)));
            let slopes = of.slopes.iter().map(|slope| slope.times(outer)).collect();
            let through = of.through.iter().map(|through| up(larger(*through, outer.magnitude()))).collect();
            Dual { value: of.value.power(*exponent), slopes, through }
        }
        Node::Product(factors) => factors
            .iter()
            .map(|factor| dual(factor, scope, variables))
            .fold(constant(Enclosure::point(1.0)), times),
        // Only constants are divided by.
        Node::Reciprocal { of, .. } => constant(dual(of, scope, variables).value.recip()),
        Node::Repeat(repeat) if is_of_all(node) => repeated(repeat, scope, &scope.whole),
        Node::Repeat(repeat) => repeated(repeat, scope, variables),
        Node::Sum(terms) => {
            terms.iter().map(|term| dual(term, scope, variables)).fold(constant(Enclosure::point(0.0)), plus)
        }
    }
}

fn repeated(repeat: &Repeat, scope: &Scope<'_>, variables: &[Dual]) -> Dual {
    let mut states: Vec<Dual> =
        repeat.states.iter().map(|state| dual(&state.start, scope, variables)).collect();
    for _ in 0..repeat.count {
        let all: Vec<Dual> = variables.iter().cloned().chain(states).collect();
        states = repeat.states.iter().map(|state| dual(&state.next, scope, &all)).collect();
    }
    states.swap_remove(0)
}

fn plus(a: Dual, b: Dual) -> Dual {
    let slopes = a.slopes.iter().zip(&b.slopes).map(|(a, b)| a.plus(*b)).collect();
    let through = a.through.iter().zip(&b.through).map(|(a, b)| up(a + b)).collect();
    Dual { value: a.value.plus(b.value), slopes, through }
}

fn times(a: Dual, b: Dual) -> Dual {
    let slope = |(da, db): (&Enclosure, &Enclosure)| da.times(b.value).plus(db.times(a.value));
    let slopes = a.slopes.iter().zip(&b.slopes).map(slope).collect();
    let through = |(da, db): (&f64, &f64)| {
        up(up(larger(*da, b.value.magnitude())) + up(larger(*db, a.value.magnitude())))
    };
    let through = a.through.iter().zip(&b.through).map(through).collect();
    Dual { value: a.value.times(b.value), slopes, through }
}

/// A product in which nothing stays nothing.
fn larger(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

/// Rounded up.
fn up(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.next_up() }
}

/// Cuts for one bound.
const LEAST_WORK: usize = 1;
const MOST_WORK: usize = 256;
/// A piece that is so narrow in relation to the whole is not cut.
const NARROWEST: f64 = 1e-6;
