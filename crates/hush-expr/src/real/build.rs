// SPDX-License-Identifier: Apache-2.0
//! From a tree to a circuit with real coefficients.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use num_bigint::BigInt;

use super::gather::{Around, gathered};
use super::{Enclosure, RealCircuit, RealStep, Turn, is_whole};
use crate::circuit::{Aggregate, Reading};
use crate::error::Size;
use crate::tree::{Function, Node};
use crate::{ExprError, Expression, Input, Ratio};

/// `constant + Σ coefficient·step`, and what it may be. Numbers are exact until they stand in a step: what cancels leaves nothing behind.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    pub(super) constant: Ratio,
    pub(super) terms: BTreeMap<usize, Ratio>,
    pub(super) range: Enclosure,
}

impl Sum {
    fn constant(constant: Ratio) -> Self {
        let range = Enclosure::rounded(constant.to_f64());
        Self { constant, terms: BTreeMap::new(), range }
    }

    /// Multiples.
    fn scaled(self, factor: &Ratio) -> Result<Self, ExprError> {
        if factor.is_zero() {
            return Ok(Self::constant(Ratio::zero()));
        }
        let scale = |value: &Ratio| kept(value * factor);
        let terms = self.terms.iter().map(|(&place, value)| Ok((place, scale(value)?)));
        let terms = terms.collect::<Result<_, ExprError>>()?;
        let range = self.range.times(Enclosure::rounded(factor.to_f64()));
        Ok(Self { constant: scale(&self.constant)?, terms, range })
    }

    fn plus(mut self, other: Self) -> Result<Self, ExprError> {
        self.constant = kept(&self.constant + &other.constant)?;
        for (place, coefficient) in other.terms {
            let sum = match self.terms.remove(&place) {
                None => coefficient,
                Some(own) => kept(&own + &coefficient)?,
            };
            if !sum.is_zero() {
                self.terms.insert(place, sum);
            }
        }
        self.range = self.range.plus(other.range);
        Ok(self)
    }

    /// Its only term, if it is nothing else.
    pub(super) fn only(&self) -> Option<(usize, &Ratio)> {
        let mut terms = self.terms.iter();
        match (terms.next(), terms.next()) {
            (Some((&place, coefficient)), None) if self.constant.is_zero() => Some((place, coefficient)),
            _ => None,
        }
    }
}

/// A step, so that equal ones are found.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum Key {
    Input(usize),
    Linear(u64, Vec<(usize, u64)>),
    Product(usize, usize),
    Total(usize),
}

pub(super) struct Builder<'a> {
    pub(super) inputs: &'a [Input],
    /// Elements of a vector.
    pub(super) length: usize,
    pub(super) steps: Vec<RealStep>,
    pub(super) ranges: Vec<Enclosure>,
    /// Levels that a step lies below the inputs, as long as nothing is bootstrapped.
    pub(super) depths: Vec<u32>,
    pub(super) places: HashMap<Key, usize>,
    /// States of the repetitions around.
    pub(super) locals: Vec<Sum>,
    pub(super) turns: Vec<Turn>,
    /// The first step of every turn of an outermost repetition, whether its errors are followed or not.
    pub(super) turn_starts: Vec<usize>,
    /// Turns of the repetitions around, multiplied, and with the number of all repetitions.
    pub(super) around: u64,
    /// The first step of the turn of the outermost repetition.
    pub(super) turn: Option<usize>,
    /// Steps that a turn started from, and of each step whether it was made of one: errors that were followed since then say nothing about those of before.
    pub(super) started: BTreeSet<usize>,
    pub(super) follows: Vec<bool>,
    /// Whether such a step came again in this turn, where it is something else than what the turn started from.
    pub(super) is_mixed: bool,
}

pub(super) fn build(
    expression: &Expression,
    inputs: &[Input],
    length: usize,
) -> Result<RealCircuit, ExprError> {
    let mut builder = Builder {
        inputs,
        length,
        steps: Vec::new(),
        ranges: Vec::new(),
        depths: Vec::new(),
        places: HashMap::new(),
        locals: Vec::new(),
        turns: Vec::new(),
        turn_starts: Vec::new(),
        around: expression.root().repetitions(),
        turn: None,
        started: BTreeSet::new(),
        follows: Vec::new(),
        is_mixed: false,
    };
    let (value, aggregate) = match expression.root() {
        Node::Call { function, arguments, .. } => {
            let aggregate = if *function == Function::Mean { Aggregate::Mean } else { Aggregate::Sum };
            let inside = arguments.iter().map(|argument| gathered(argument, length, &mut Around::default()));
            let inside = inside.map(|inside| Ok(inside?.0)).collect::<Result<Vec<_>, ExprError>>()?;
            (builder.product(&inside)?, Some(aggregate))
        }
        node => (builder.sum(&gathered(node, length, &mut Around::default())?.0)?, None),
    };
    let constant = value.constant.clone();
    // The constant is the owner's to add.
    let without = Enclosure::rounded(-constant.to_f64());
    let output = Sum { constant: Ratio::zero(), range: value.range.plus(without), ..value };
    if output.terms.is_empty() {
        return Err(ExprError::Constant);
    }
    let (last, factor) = builder.step_of(&output)?;
    builder.finish(last, (factor, constant), aggregate)
}

impl Builder<'_> {
    pub(super) fn sum(&mut self, node: &Node) -> Result<Sum, ExprError> {
        Ok(match node {
            // Gathered, every function is a mean.
            Node::Call { arguments, .. } => self.mean(arguments)?,
            Node::Gate(gate) => return Err(gate.refused()),
            Node::Local(index) => self.locals[*index].clone(),
            Node::Name(index) => self.input(*index)?,
            Node::Negative(of) => self.sum(of)?.scaled(&-Ratio::one())?,
            Node::Number(number) => Sum::constant(kept(number.clone())?),
            Node::Power(base, exponent) => {
                let base = self.sum(base)?;
                self.power(&base, *exponent)?
            }
            Node::Product(factors) => self.product(factors)?,
            Node::Reciprocal { of, position } => {
                let of = self.sum(of)?;
                if !of.terms.is_empty() {
                    return Err(ExprError::Division { position: *position });
                }
                let zero = ExprError::DivisionByZero { position: *position };
                Sum::constant(of.constant.recip().ok_or(zero)?)
            }
            Node::Repeat(repeat) => self.repeated(repeat)?,
            Node::Sum(terms) => {
                let mut sum = Sum::constant(Ratio::zero());
                for term in terms {
                    sum = sum.plus(self.sum(term)?)?;
                }
                sum
            }
        })
    }

    fn input(&mut self, index: usize) -> Result<Sum, ExprError> {
        let input = self.inputs.get(index);
        let input =
            input.ok_or(ExprError::Unexpected { position: 1, expected: "a vector for every name" })?;
        let unit = kept(input.unit.clone())?;
        // Ranges are doubles, and so are their powers for a while.
        if unit.magnitude_bits().unsigned_abs() > LARGEST_UNIT_LOG2 {
            return Err(beyond());
        }
        let end = |end: &Ratio| Enclosure::rounded(end.to_f64());
        let range = end(input.range.low()).join(end(input.range.high()));
        let place = self.push(Key::Input(index), RealStep::Input(index), (0, range))?;
        Ok(self.single(place, unit))
    }

    /// A multiple of a step.
    pub(super) fn single(&self, place: usize, coefficient: Ratio) -> Sum {
        let range = self.ranges[place].times(Enclosure::rounded(coefficient.to_f64()));
        Sum { constant: Ratio::zero(), terms: BTreeMap::from([(place, coefficient)]), range }
    }

    fn product(&mut self, factors: &[Node]) -> Result<Sum, ExprError> {
        let factors = factors.iter().map(|factor| self.sum(factor));
        let mut factors = factors.collect::<Result<Vec<_>, _>>()?;
        // The two of least depth first: this gives the product the least depth that it can have.
        while factors.len() > 1 {
            factors.sort_by_key(|factor| std::cmp::Reverse(self.depth(factor)));
            let (Some(a), Some(b)) = (factors.pop(), factors.pop()) else { break };
            factors.push(self.times(&a, &b)?);
        }
        Ok(factors.pop().unwrap_or_else(|| Sum::constant(Ratio::one())))
    }

    fn mean(&mut self, arguments: &[Node]) -> Result<Sum, ExprError> {
        let of = self.product(arguments)?;
        if of.terms.is_empty() {
            return Ok(of);
        }
        let (place, unit) = self.factor(&of)?;
        let count = Ratio::from(BigInt::from(self.length.max(1)));
        let range = self.ranges[place].times(Enclosure::point(count.to_f64()));
        let depth = self.depths[place] + u32::from(!self.length.is_power_of_two());
        let total = self.push(Key::Total(place), RealStep::Total(place), (depth, range))?;
        let mean = self.single(total, quotient(&unit, &count)?);
        Ok(Sum { range: mean.range.meet(of.range), ..mean })
    }

    fn power(&mut self, base: &Sum, exponent: u32) -> Result<Sum, ExprError> {
        match exponent {
            0 => return Ok(Sum::constant(Ratio::one())),
            1 => return Ok(base.clone()),
            _ => {}
        }
        let half = exponent.div_ceil(2).next_power_of_two().min(exponent - 1);
        let (high, low) = (self.power(base, half)?, self.power(base, exponent - half)?);
        let power = self.times(&high, &low)?;
        Ok(Sum { range: power.range.meet(base.range.power(exponent)), ..power })
    }

    fn times(&mut self, a: &Sum, b: &Sum) -> Result<Sum, ExprError> {
        if a.terms.is_empty() {
            return b.clone().scaled(&a.constant);
        }
        if b.terms.is_empty() {
            return a.clone().scaled(&b.constant);
        }
        let (left, x) = self.factor(a)?;
        let (right, y) = self.factor(b)?;
        let (first, second) = (left.min(right), left.max(right));
        let range = if left == right {
            self.ranges[left].power(2)
        } else {
            self.ranges[left].times(self.ranges[right])
        };
        let depth = 1 + self.depths[left].max(self.depths[right]);
        let key = Key::Product(first, second);
        let place = self.push(key, RealStep::Product(first, second), (depth, range))?;
        Ok(self.single(place, kept(&x * &y)?))
    }

    /// The depth of the step that a sum would be as a factor.
    fn depth(&self, sum: &Sum) -> u32 {
        sum.terms.keys().map(|&place| self.depths[place]).max().unwrap_or(0)
    }

    /// A sum as a number times a step of about 1.
    fn factor(&mut self, sum: &Sum) -> Result<(usize, Ratio), ExprError> {
        let (place, unit) = self.step_of(sum)?;
        let range = self.ranges[place];
        let log2 = TARGET_LOG2 - log2_above(range.magnitude());
        if range.magnitude() > LARGEST || (log2 > 0 && range.magnitude() > NOTHING) {
            let factor = Ratio::one().times_power_of_two(log2.min(LARGEST_UP_LOG2));
            let range = range.times(Enclosure::point(factor.to_f64()));
            let unit = quotient(&unit, &factor)?;
            return self.linear(&Ratio::zero(), vec![(place, factor)], (range, unit));
        }
        Ok((place, unit))
    }

    /// A sum as a number times a step.
    pub(super) fn step_of(&mut self, sum: &Sum) -> Result<(usize, Ratio), ExprError> {
        if let Some((place, coefficient)) = sum.only() {
            let own = sum.range.times(Enclosure::rounded(coefficient.to_f64()).recip());
            self.ranges[place] = self.ranges[place].meet(own);
            return Ok((place, coefficient.clone()));
        }
        let deepest = self.depth(sum);
        let of_deepest = || sum.terms.iter().filter(|(place, _)| self.depths[**place] == deepest);
        let smallest = of_deepest().map(|(_, c)| c.abs()).min().unwrap_or_else(Ratio::one);
        if !sum.range.is_finite() {
            return Err(beyond());
        }
        // What is nothing whatever happens has no size: coefficients stand for it.
        let largest = || sum.terms.values().map(|c| c.abs().to_f64()).fold(0.0, f64::max);
        let magnitude = Some(sum.range.magnitude()).filter(|&size| size > NOTHING).unwrap_or_else(largest);
        let multiple = |c: &Ratio| quotient(c, &smallest).map(|ratio| is_whole_ratio(&ratio));
        let mut whole = magnitude / smallest.to_f64() <= LARGEST;
        for (_, coefficient) in of_deepest() {
            whole &= multiple(coefficient)?;
        }
        let unit = if whole {
            // Whole multiples of what is small cost nothing.
            let up = TARGET_LOG2 - log2_above(magnitude / smallest.to_f64());
            smallest.times_power_of_two(-up.clamp(0, LARGEST_UP_LOG2))
        } else {
            Ratio::one().times_power_of_two(log2_above(magnitude) - TARGET_LOG2)
        };
        let term = |(&place, c): (&usize, &Ratio)| Ok((place, quotient(c, &unit)?));
        let terms = sum.terms.iter().map(term).collect::<Result<_, ExprError>>()?;
        let range = sum.range.times(Enclosure::rounded(unit.to_f64()).recip());
        self.linear(&quotient(&sum.constant, &unit)?, terms, (range, unit))
    }

    /// A step of a sum, its numbers rounded to doubles.
    fn linear(
        &mut self,
        constant: &Ratio,
        terms: Vec<(usize, Ratio)>,
        (range, unit): (Enclosure, Ratio),
    ) -> Result<(usize, Ratio), ExprError> {
        let constant = finite(constant.to_f64())?;
        let rounded = terms.iter().map(|(place, c)| Ok((*place, normal(c.to_f64())?)));
        let terms = rounded.collect::<Result<Vec<(usize, f64)>, ExprError>>()?;
        let depth_of = |&(place, c): &(usize, f64)| self.depths[place] + u32::from(!is_whole(c));
        let depth = terms.iter().map(depth_of).max().unwrap_or(0);
        let own = terms.iter().fold(Enclosure::rounded(constant), |own, &(place, c)| {
            own.plus(self.ranges[place].times(Enclosure::rounded(c)))
        });
        let bits = terms.iter().map(|&(place, c)| (place, c.to_bits())).collect();
        let key = Key::Linear(constant.to_bits(), bits);
        let place = self.push(key, RealStep::Linear { constant, terms }, (depth, own.meet(range)))?;
        Ok((place, unit))
    }

    fn push(
        &mut self,
        key: Key,
        step: RealStep,
        (depth, range): (u32, Enclosure),
    ) -> Result<usize, ExprError> {
        if !range.is_finite() {
            return Err(beyond());
        }
        if let Some(&place) = self.places.get(&key) {
            self.ranges[place] = self.ranges[place].meet(range);
            let is_older = self.turn.is_some_and(|first| place < first);
            let is_input = matches!(key, Key::Input(_));
            self.is_mixed |= is_older && !is_input && (self.follows[place] || self.started.contains(&place));
            return Ok(place);
        }
        let follows = |operand: &usize| self.follows[*operand] || self.started.contains(operand);
        self.follows.push(step.operands().iter().any(follows));
        if self.steps.len() == MAX_STEPS {
            return Err(ExprError::TooLarge { what: Size::Operations, limit: MAX_STEPS });
        }
        self.places.insert(key, self.steps.len());
        self.steps.push(step);
        self.depths.push(depth);
        self.ranges.push(range);
        Ok(self.steps.len() - 1)
    }

    /// The steps that the output needs.
    fn finish(
        self,
        last: usize,
        (factor, constant): (Ratio, Ratio),
        aggregate: Option<Aggregate>,
    ) -> Result<RealCircuit, ExprError> {
        let mut needed = vec![false; self.steps.len()];
        needed[last] = true;
        for place in (0..=last).rev() {
            if needed[place] {
                self.steps[place].operands().into_iter().for_each(|operand| needed[operand] = true);
            }
        }
        // Where each step goes; of a step that goes nowhere, the next that stays.
        let mut count = 0;
        let moved: Vec<usize> = needed
            .iter()
            .map(|&needed| {
                count += usize::from(needed);
                count - usize::from(needed)
            })
            .collect();
        let step = |step: RealStep| match step {
            RealStep::Input(input) => RealStep::Input(input),
            RealStep::Linear { constant, terms } => RealStep::Linear {
                constant,
                terms: terms.into_iter().map(|(at, c)| (moved[at], c)).collect(),
            },
            RealStep::Product(a, b) => RealStep::Product(moved[a], moved[b]),
            RealStep::Total(of) => RealStep::Total(moved[of]),
        };
        let stays = |place: &usize| needed[*place];
        let place_of = |first: usize| moved.get(first).copied().unwrap_or(count);
        let turn_starts = self.turn_starts.into_iter().map(place_of).collect();
        let turn = |turn: Turn| Turn {
            first: place_of(turn.first),
            starts: turn
                .starts
                .into_iter()
                .filter(|(at, _)| stays(at))
                .map(|(at, limit)| (moved[at], limit))
                .collect(),
            states: turn
                .states
                .into_iter()
                .filter(|(at, _)| stays(at))
                .map(|(at, slopes)| {
                    let slopes = slopes.into_iter().filter(|(at, _)| stays(at));
                    (moved[at], slopes.map(|(at, slope)| (moved[at], slope)).collect())
                })
                .collect(),
        };
        let turns = self.turns.into_iter().map(turn).filter(|turn| !turn.states.is_empty()).collect();
        let kept = |(place, step): (usize, RealStep)| stays(&place).then_some(step);
        let steps: Vec<RealStep> = self.steps.into_iter().enumerate().filter_map(kept).map(step).collect();
        let ranges = self
            .ranges
            .into_iter()
            .enumerate()
            .filter_map(|(at, range)| stays(&at).then_some(range))
            .collect();
        Ok(RealCircuit {
            steps,
            ranges,
            turns,
            turn_starts,
            reading: Reading { factor, constant, aggregate },
            length: self.length,
        })
    }
}

/// log2 of the smallest power of two that is no less; 0 for what is as good as nothing.
fn log2_above(value: f64) -> i64 {
    if value > NOTHING { value.log2().ceil() as i64 } else { 0 }
}

/// A number that is as long as numbers may be.
fn kept(value: Ratio) -> Result<Ratio, ExprError> {
    if value.magnitude_bits().unsigned_abs() > MAX_EXPONENT_LOG2 {
        return Err(beyond());
    }
    Ok(value.shortened())
}

fn quotient(value: &Ratio, by: &Ratio) -> Result<Ratio, ExprError> {
    kept(value * &by.recip().ok_or_else(beyond)?)
}

/// [`is_whole`] before it is rounded.
fn is_whole_ratio(value: &Ratio) -> bool {
    value.to_integer().is_some() && is_whole(value.to_f64())
}

fn finite(value: f64) -> Result<f64, ExprError> {
    if value.is_finite() { Ok(value) } else { Err(beyond()) }
}

/// A factor that doubles hold to all their digits.
fn normal(value: f64) -> Result<f64, ExprError> {
    if value.is_normal() { Ok(value) } else { Err(beyond()) }
}

pub(super) fn beyond() -> ExprError {
    ExprError::TooLarge { what: Size::Digits, limit: LARGEST_DIGITS }
}

/// Digits before the point that doubles hold.
const LARGEST_DIGITS: usize = 308;
/// Values as they are encrypted, about. Where a repetition multiplies a square with a number below 1, the same in units of 8 is multiplied with more: what is
/// too small is multiplied by a whole number, which takes no level.
const TARGET_LOG2: i64 = -3;
/// log2 of the largest whole number that it is multiplied by at once.
const LARGEST_UP_LOG2: i64 = 40;
/// log2 of the largest unit of a vector, and of the reciprocal of the smallest.
const LARGEST_UNIT_LOG2: u64 = 500;
/// Magnitudes from which nothing is followed.
const NOTHING: f64 = 1e-270;
/// Numbers on the way: log2.
const MAX_EXPONENT_LOG2: u64 = 1 << 14;
/// What is larger as a factor is divided first, which takes one.
const LARGEST: f64 = 64.0;
/// Steps of a circuit.
const MAX_STEPS: usize = 1 << 14;
