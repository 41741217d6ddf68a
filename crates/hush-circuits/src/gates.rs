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

use build::Builder;
use sum::Value;

/// A program with what the owner needs to know about it.
#[derive(Clone, Debug)]
pub struct GatePlan {
    program: Program,
    /// The units of the vectors.
    units: Vec<Ratio>,
    unit: Ratio,
    constant: Ratio,
    is_mean: bool,
}

/// A value that comes from slots, as an integer from 0 on: [`crate::bridge`].
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
}

impl GatePlan {
    /// The program of an expression on vectors of so many values, in the order of [`Expression::names`]: the last names are those of values from slots, which the program has as vectors behind the others.
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
        if let Value::Constant(_) = result {
            // Bounds decide all of it. That is what an evaluation is to find out.
            builder = Builder::new((vectors, bridged), false);
            result = expression.fold(&mut builder)?;
        }
        let Value::Sum(sum) = result else { return Err(hush_expr::ExprError::Constant.into()) };
        let function = expression.function();
        let (steps, digits, is_signed) = builder.finish(&sum, if function.is_some() { length } else { 1 })?;
        let program = Program::new(digits, is_signed, steps, function.is_some())?;
        let units = vectors.iter().map(|vector| vector.unit.clone()).collect();
        let is_mean = function == Some(Function::Mean);
        Ok(Self { program, units, unit: sum.output_unit(), constant: sum.constant(), is_mean })
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

    /// The result that an integer stands for: of one element, or of the sum over `length` elements.
    pub fn result(&self, integer: i128, length: usize) -> Ratio {
        let scaled = &Ratio::from(BigInt::from(integer)) * &self.unit;
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
