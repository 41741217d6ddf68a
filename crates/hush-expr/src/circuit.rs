// SPDX-License-Identifier: Apache-2.0
//! Circuits: what is done to encrypted vectors, element by element.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use crate::build::{Builder, Built};
use crate::step::{Input, Step};
use crate::tree::{Function, Node};
use crate::{ExprError, Expression, Interval, Ratio};

/// How a vector of results becomes one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// The mean of the elements.
    Mean,
    /// The sum of the elements.
    Sum,
}

/// How results are read from outputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The value that an output of 1 stands for.
    pub factor: Ratio,
    /// The constant that is added to an output times the factor.
    pub constant: Ratio,
    /// How the elements become one result, if they do.
    pub aggregate: Option<Aggregate>,
}

impl Reading {
    /// The result that an output stands for: of one element, or of the sum of `count` elements.
    pub fn result(&self, output: &Ratio, count: usize) -> Ratio {
        let count = Ratio::from(BigInt::from(count.max(1)));
        let scaled = output * &self.factor;
        match self.aggregate {
            None => &scaled + &self.constant,
            Some(Aggregate::Sum) => &scaled + &(&self.constant * &count),
            Some(Aggregate::Mean) => {
                let share = count.recip().unwrap_or_else(Ratio::one);
                &(&scaled * &share) + &self.constant
            }
        }
    }
}

/// A circuit of least depth among those tried, and of these one with the fewest products.
///
/// *Invariants.* Steps refer to earlier ones; the last step is the output; every step is used.
#[derive(Clone, Debug, PartialEq)]
pub struct Circuit {
    steps: Vec<Step>,
    depths: Vec<u32>,
    ranges: Vec<Interval>,
    reading: Reading,
}

impl Circuit {
    /// Builds the circuit of an expression over vectors in the order of [`Expression::names`].
    ///
    /// # Math
    /// Every part is kept as `constant + Σ coefficient·atom` in fractions; an atom is a vector, a product of atoms (a multiset, so that
    /// it can be associated anew), or a sum that is a factor. A sum that is a factor is divided by what its coefficients have in
    /// common, which moves into the factor of the circuit. Equal atoms are one. The same is done once more with products of sums
    /// distributed; the circuit with less depth is taken, then the one with fewer products. A product of many is built by joining
    /// the two of least depth, which gives the least depth that a product of those factors can have.
    ///
    /// # Errors
    /// [`ExprError::Constant`], [`ExprError::Aggregate`], [`ExprError::Division`], [`ExprError::DivisionByZero`],
    /// [`ExprError::Gates`] where [`Expression::needs_gates`], [`ExprError::TooLarge`].
    pub fn build(expression: &Expression, inputs: &[Input]) -> Result<Self, ExprError> {
        let factored = Builder::new(inputs, false).build(expression.root())?;
        let distributed = Builder::new(inputs, true).build(expression.root()).ok();
        // Both are the same value: it lies within the bounds of either.
        let bounds = distributed.as_ref().map(Built::result_range);
        let key = |built: &Built| (built.depth(), built.product_count());
        let mut built = match distributed {
            Some(distributed) if key(&distributed) < key(&factored) => {
                let mut distributed = distributed;
                distributed.narrow(&factored.result_range());
                distributed
            }
            _ => factored,
        };
        if let Some(bounds) = bounds {
            built.narrow(&bounds);
        }
        let aggregate = match expression.root() {
            Node::Call { function: Function::Mean, .. } => Some(Aggregate::Mean),
            Node::Call { .. } => Some(Aggregate::Sum),
            _ => None,
        };
        let Built { steps, depths, ranges, factor, constant } = built;
        Ok(Self { steps, depths, ranges, reading: Reading { factor, constant, aggregate } })
    }

    /// The steps; the last is the output.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
    /// Products one after the other, up to a step.
    pub fn depth_of(&self, step: usize) -> u32 {
        self.depths.get(step).copied().unwrap_or(0)
    }
    /// Products one after the other.
    pub fn depth(&self) -> u32 {
        self.depths.last().copied().unwrap_or(0)
    }
    /// Bounds of every step.
    pub fn ranges(&self) -> &[Interval] {
        &self.ranges
    }
    /// Bounds of the output.
    pub fn output_magnitude(&self) -> Ratio {
        self.ranges.last().map_or_else(Ratio::zero, Interval::magnitude)
    }
    /// The largest bound of a step.
    pub fn largest_magnitude(&self) -> Ratio {
        self.ranges.iter().map(Interval::magnitude).max().unwrap_or_else(Ratio::zero)
    }
    /// How results are read from outputs.
    pub fn reading(&self) -> &Reading {
        &self.reading
    }
    /// How the elements become one result, if they do.
    pub fn aggregate(&self) -> Option<Aggregate> {
        self.reading.aggregate
    }
    /// Products of two.
    pub fn product_count(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step, Step::Product(..))).count()
    }
    /// Places of the vectors that the output depends on, rising.
    pub fn used_inputs(&self) -> Vec<usize> {
        let mut used: Vec<usize> = self.steps.iter().filter_map(Step::input).collect();
        used.sort_unstable();
        used
    }
    /// The last step that refers to each step; itself for the output.
    pub fn last_uses(&self) -> Vec<usize> {
        let mut last: Vec<usize> = (0..self.steps.len()).collect();
        for (place, step) in self.steps.iter().enumerate() {
            for operand in step.operands() {
                last[operand] = place;
            }
        }
        last
    }
    /// log2 of the largest sum of the absolute values of a step's coefficients.
    pub fn sums_log2(&self) -> f64 {
        let sums = self.steps.iter().map(|step| match step {
            Step::Linear { terms, .. } => {
                terms.iter().map(|(_, c)| c.magnitude().to_f64().unwrap_or(f64::MAX)).sum::<f64>().log2()
            }
            _ => 0.0,
        });
        sums.fold(0.0, f64::max)
    }
}
