// SPDX-License-Identifier: Apache-2.0
//! A circuit with the level of each of its steps.

use hush_expr::{Aggregate, Circuit, Ratio, Reading, RealCircuit, Step};
use hush_ring::Level;

use super::place::{Raise, Schedule};
use super::steps::{Op, Period, Steps};
use crate::sums::Window;

/// What is evaluated.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// Whole numbers, in every exact scheme.
    Exact(Circuit),
    /// Doubles.
    Real(Steps<f64>),
}

impl Body {
    /// The steps of a circuit with whole coefficients, in doubles.
    pub(super) fn of_whole(circuit: &Circuit) -> Self {
        Self::Real(Steps::exact(circuit))
    }
    pub(super) fn of_real(circuit: &RealCircuit) -> Self {
        Self::Real(Steps::real(circuit))
    }

    /// Levels that each step lies below the inputs, where nothing is bootstrapped.
    fn level_depths(&self) -> Vec<u32> {
        match self {
            Self::Exact(circuit) => (0..circuit.steps().len()).map(|step| circuit.depth_of(step)).collect(),
            Self::Real(steps) => steps.level_depths(),
        }
    }
    /// Levels below the inputs that the output lies, where nothing is bootstrapped.
    pub(super) fn level_depth(&self) -> u32 {
        self.level_depths().last().copied().unwrap_or(0)
    }
    /// Levels below the inputs that the operands of each product lie.
    pub(super) fn products(&self) -> Vec<u32> {
        let depths = self.level_depths().into_iter().zip(self.are_products());
        let of_products = depths.filter(|&(_, is_product)| is_product);
        of_products.map(|(depth, _)| depth.saturating_sub(1)).collect()
    }
    /// Of each step, whether it is a product.
    pub(super) fn are_products(&self) -> Vec<bool> {
        match self {
            Self::Exact(circuit) => {
                circuit.steps().iter().map(|step| matches!(step, Step::Product(..))).collect()
            }
            Self::Real(steps) => steps.are_products(),
        }
    }
    /// In a schedule, the levels of the operands of each product.
    pub(super) fn product_levels(&self, schedule: &Schedule) -> Vec<Level> {
        let levels = schedule.levels.iter().map(|level| Level(level.0 + 1)).zip(self.are_products());
        levels.filter_map(|(level, is_product)| is_product.then_some(level)).collect()
    }
    /// Products one after the other.
    fn product_depth(&self) -> u32 {
        match self {
            Self::Exact(circuit) => circuit.depth(),
            Self::Real(steps) => steps.product_depths().last().copied().unwrap_or(0),
        }
    }
    /// Places of the vectors that the output depends on, rising.
    pub(super) fn used_inputs(&self) -> Vec<usize> {
        match self {
            Self::Exact(circuit) => circuit.used_inputs(),
            Self::Real(steps) => steps.used_inputs(),
        }
    }
    /// Steps.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Exact(circuit) => circuit.steps().len(),
            Self::Real(steps) => steps.ops.len(),
        }
    }
    /// Whether values are about 1, or below, in every step.
    pub(super) fn keeps_small(&self) -> bool {
        matches!(self, Self::Real(steps) if steps.is_rounded)
    }
    /// Elements that must lie in one ciphertext, since they are summed on the way; 1 otherwise.
    pub(super) fn summed(&self) -> usize {
        match self {
            Self::Exact(_) => 1,
            Self::Real(steps) => steps.period.map_or(1, |period| period.length),
        }
    }
    /// Whether errors are followed through turns.
    pub(super) fn has_turns(&self) -> bool {
        matches!(self, Self::Real(steps) if !steps.turns.is_empty())
    }
    /// Whether something of less depth is added to something of more.
    pub(super) fn is_mixed(&self) -> bool {
        let depths = self.level_depths();
        match self {
            Self::Exact(_) => false,
            Self::Real(steps) => steps.ops.iter().zip(&depths).any(|(op, &depth)| match op {
                Op::Linear { terms, .. } => terms.iter().any(|term| depths[term.step] < depth),
                _ => false,
            }),
        }
    }
    /// log2 of the largest sum of the absolute values of a step's coefficients.
    pub(super) fn sums_log2(&self) -> f64 {
        match self {
            Self::Exact(circuit) => circuit.sums_log2(),
            // Whose ranges are known step by step.
            Self::Real(_) if self.keeps_small() => 0.0,
            Self::Real(steps) => steps.sums_log2(),
        }
    }
    /// log2 of the largest value of a step.
    pub(super) fn largest_log2(&self) -> f64 {
        match self {
            Self::Exact(circuit) => circuit.largest_magnitude().log2(),
            Self::Real(steps) => steps.magnitudes_log2.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
    /// log2 of the largest value of the output.
    pub(super) fn output_log2(&self) -> f64 {
        match self {
            Self::Exact(circuit) => circuit.output_magnitude().log2(),
            Self::Real(steps) => steps.magnitudes_log2.last().copied().unwrap_or(f64::NEG_INFINITY),
        }
    }
    /// Every step as far below the top as it must be, and none bootstrapped.
    pub(super) fn straight(&self, top: Level) -> Schedule {
        match self {
            // Whole coefficients take no level, whatever they are modulo.
            Self::Exact(circuit) => Schedule::straight(&Steps::exact(circuit), top),
            Self::Real(steps) => Schedule::straight(steps, top),
        }
    }
}

/// A circuit with the level of each of its steps, and its bootstrappings.
#[derive(Clone, Debug)]
pub struct PlacedCircuit {
    pub(super) body: Body,
    pub(super) schedule: Schedule,
    reading: Reading,
}

impl PlacedCircuit {
    pub(super) fn new(body: Body, schedule: Schedule, reading: Reading) -> Self {
        Self { body, schedule, reading }
    }

    /// Places of the vectors that the output depends on, rising.
    pub fn used_inputs(&self) -> Vec<usize> {
        self.body.used_inputs()
    }
    /// How the elements become one result, if they do.
    pub fn aggregate(&self) -> Option<Aggregate> {
        self.reading.aggregate
    }
    /// The result that an output stands for: of one element, or of the sum of `count` elements.
    pub fn result(&self, output: &Ratio, count: usize) -> Ratio {
        self.reading.result(output, count)
    }
    /// How results are read from outputs.
    pub fn reading(&self) -> &Reading {
        &self.reading
    }
    /// Products.
    pub fn product_count(&self) -> usize {
        self.body.products().len()
    }
    /// Products one after the other.
    pub fn depth(&self) -> u32 {
        self.body.product_depth()
    }
    /// Levels one after the other that it would take without bootstrapping.
    pub fn levels(&self) -> u32 {
        self.body.level_depth()
    }
    /// Bootstrappings, in their order.
    pub fn raises(&self) -> &[Raise] {
        &self.schedule.raises
    }
    /// Turns that have begun where a step is computed, over all repetitions; 0 before the first.
    pub fn turns_until(&self, step: usize) -> usize {
        match &self.body {
            Body::Exact(_) => 0,
            Body::Real(steps) => steps.turn_starts.iter().filter(|&&first| first <= step).count(),
        }
    }
    /// How elements lie in slots, where they are summed.
    pub(super) fn period(&self) -> Option<Period> {
        match &self.body {
            Body::Exact(_) => None,
            Body::Real(steps) => steps.period,
        }
    }
    /// The Galois elements of the rotations in it, each once.
    pub(super) fn rotations(&self, degree: usize) -> Vec<usize> {
        let window = self.period().and_then(|period| Window::new(period.slots, 1, degree / 2).ok());
        window.map_or_else(Vec::new, |window| window.galois_elements(degree))
    }
    /// The level at which inputs are encrypted, where it is not the top.
    pub(super) fn start(&self) -> Level {
        self.schedule.start
    }
}
