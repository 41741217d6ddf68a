// SPDX-License-Identifier: Apache-2.0
//! Programs of expressions with comparisons, conditions and choices, on integers in encrypted digits (TFHE).
//!
//! # Method
//! An expression is folded to sums `constant + Σ factor·step` in a unit of its own, so that decimals are integers and sums cost nothing until something else is done
//! to them. Equal steps are one. Bounds of every step follow from those of the vectors: the integers of the program are as wide as the widest step, and what bounds decide already is no
//! step at all, unless that is the whole of it. The unit of the result and its constant are the owner's.
//!
//! *Bits.* A comparison gives a bit. Conditions join bits; a product with a bit is a choice; a sum of bits is a number.
//!
//! *Secrets.* None: this module makes programs, and the owner's half decodes with what they say.

mod build;
mod sum;
mod used;

use hush_expr::{Expression, Function, Ratio};
use hush_tfhe::integer::Program;
use num_bigint::BigInt;

use crate::bridge::Bridge;
use crate::program::{ProgramError, Vector};

use build::{Builder, Finished};
use sum::{Bounds, Value, digits_up_to};

/// A program with what the owner needs to know about it.
#[derive(Clone, Debug)]
pub struct GatePlan {
    program: Program,
    /// The units of the vectors.
    units: Vec<Ratio>,
    unit: Ratio,
    constant: Ratio,
    is_mean: bool,
    /// Between which integers that of an element is, both included.
    bounds: Bounds,
}

/// A value that a server has in digits already, as an integer from 0 on: from slots ([`crate::bridge`]), or a sum over elements of another program.
#[derive(Clone, Debug, PartialEq)]
pub struct Bridged {
    /// The value that 1 stands for, beyond the offset.
    pub factor: Ratio,
    /// The value that 0 stands for.
    pub offset: Ratio,
    /// The largest integer.
    pub most: BigInt,
}

impl Bridged {
    /// What a bridge gives.
    pub fn of(bridge: &Bridge) -> Self {
        let (circuit, low) = (bridge.plan().circuit(), bridge.low());
        let length = if bridge.is_one_value() { bridge.plan().length() } else { 1 };
        let of = |output: BigInt| circuit.result(&Ratio::from(output), length);
        let offset = of(low.clone());
        let factor = &of(low + 1) - &offset;
        Self { factor, offset, most: bridge.most().clone() }
    }

    /// What a program gives that adds up so many elements, with [`GatePlan::least`] taken away.
    pub fn of_sum(plan: &GatePlan, length: usize) -> Self {
        let offset = plan.value(&plan.least(length), length);
        let factor = &plan.value(&(plan.least(length) + 1), length) - &offset;
        let Bounds { low, high } = &plan.bounds;
        Self { factor, offset, most: (high - low) * length.max(1) }
    }

    /// Bits that hold it.
    pub fn bits(&self) -> u32 {
        self.most.bits().max(1) as u32
    }

    /// Digits that hold it.
    pub fn digits(&self) -> usize {
        digits_up_to(&self.most).0
    }
}

impl GatePlan {
    /// The program of an expression on vectors of so many values, in the order of [`Expression::names`]: the last names are those of values that are in digits already, which the program has as vectors behind the others.
    ///
    /// # Errors
    /// [`ProgramError::Expression`]; [`ProgramError::WideInteger`] for integers of more than 64 bits on the way; [`ProgramError::Approximate`] for vectors that are approximate by their
    /// type.
    pub fn of(
        expression: &Expression,
        (vectors, bridged): (&[Vector], &[Bridged]),
        length: usize,
    ) -> Result<Self, ProgramError> {
        if vectors.iter().any(|vector| vector.is_float) {
            return Err(ProgramError::Approximate);
        }
        expression.expect_whole_functions()?;
        let mut builder = Builder::new((vectors, bridged), true);
        let mut result = expression.fold(&mut builder)?;
        let mut decided = None;
        if let Value::Constant(number) = result {
            // Bounds decide all of it. That is what an evaluation is to find out.
            decided = Some(number);
            builder = Builder::new((vectors, bridged), false);
            result = expression.fold(&mut builder)?;
        }
        let Value::Sum(sum) = result else { return Err(hush_expr::ExprError::Constant.into()) };
        let function = expression.function();
        let Finished { steps, digits, is_signed, mut bounds } =
            builder.finish(&sum, if function.is_some() { length } else { 1 })?;
        let program = Program::new(digits, is_signed, steps, function.is_some())?;
        let units = vectors.iter().map(|vector| vector.unit.clone()).collect();
        let is_mean = function == Some(Function::Mean);
        let (unit, constant) = (sum.output_unit(), sum.constant());
        let in_units = |number: &Ratio| (&(number - &constant) * &unit.recip()?).to_integer().cloned();
        if let Some(only) = decided.as_ref().and_then(in_units) {
            bounds = Bounds { low: only.clone(), high: only };
        }
        Ok(Self { program, units, unit, constant, is_mean, bounds })
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// A value of a vector as an integer of the program; `None` if it is no multiple of the vector's unit, or too large.
    pub fn encode(&self, vector: usize, value: &Ratio) -> Option<i128> {
        let inverse = self.units.get(vector)?.recip()?;
        i128::try_from((value * &inverse).to_integer()?.clone()).ok()
    }

    /// The least integer that the sum over `length` elements may be.
    pub fn least(&self, length: usize) -> BigInt {
        &self.bounds.low * length.max(1)
    }

    /// The result that an integer stands for: of one element, or of the sum over `length` elements.
    pub fn result(&self, integer: i128, length: usize) -> Ratio {
        self.value(&integer.into(), length)
    }

    fn value(&self, integer: &BigInt, length: usize) -> Ratio {
        let scaled = &Ratio::from(integer.clone()) * &self.unit;
        if !self.program.is_summed() {
            return &scaled + &self.constant;
        }
        let count = Ratio::from(BigInt::from(length.max(1)));
        let sum = &scaled + &(&self.constant * &count);
        match count.recip() {
            Some(share) if self.is_mean => &sum * &share,
            _ => sum,
        }
    }
}
