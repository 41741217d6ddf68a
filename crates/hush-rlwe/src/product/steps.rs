// SPDX-License-Identifier: Apache-2.0
//! Factors as a list of operations, each with a place in memory for its result.
//!
//! *Memory.* What sums read (factors, and bodies that are measures) is kept for each of the elements that are added up together; what else there is
//! serves one element after another. Results lie behind all that they are made of.

use super::{Factor, Operands, ProductSum};
use crate::RlweError;
use crate::header::MAX_PRODUCT_COMPONENTS;

/// The operations of some factors, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Steps {
    pub(super) steps: Vec<Step>,
    /// Where each body is put; `None` for one that nothing reads.
    pub(super) loads: Vec<Option<Value>>,
    /// What an element has for factors.
    operands: Operands,
    /// Whether a factor names the computed ciphertext.
    names_computed: bool,
    /// Where each factor is.
    factors: Vec<Value>,
    /// Rows of both memories.
    rows: [usize; 2],
}

/// A polynomial in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) memory: Memory,
    /// Rows before it.
    pub(super) first: usize,
    /// Its rows.
    pub(super) rows: usize,
}

/// One of the two memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// Of one element.
    Passing,
    /// Of each element of several.
    Kept,
}

/// An operation, and where its result goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) operation: Operation,
    pub(super) out: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Computed,
    Constant(i64),
    Copy(Value),
    Integer(usize),
    Mask(usize),
    Add(Value, Value),
    Sub(Value, Value),
    Mul(Value, Value),
}

impl Steps {
    /// The operations of factors in so many operands; bodies that are `measures` are kept.
    ///
    /// # Errors
    /// [`RlweError::NoSuchOperand`], [`RlweError::ProductDegree`].
    pub(super) fn new(factors: &[Factor], measures: &[usize], operands: Operands) -> Result<Self, RlweError> {
        let loads = vec![None; operands.bodies];
        let mut steps = Self {
            steps: Vec::new(),
            loads,
            operands,
            names_computed: false,
            factors: Vec::new(),
            rows: [0; 2],
        };
        for measure in measures {
            steps.load(*measure, Memory::Kept)?;
        }
        for factor in factors {
            steps.load_all(factor)?;
        }
        for factor in factors {
            let value = steps.add(factor, Memory::Kept)?;
            let value = match value.memory {
                // A body alone.
                Memory::Passing => steps.push(Operation::Copy(value), value.rows, Memory::Kept),
                // One that is a measure too: a mask is for the factor alone.
                Memory::Kept if steps.loads.contains(&Some(value)) => {
                    steps.push(Operation::Copy(value), value.rows, Memory::Kept)
                }
                Memory::Kept => value,
            };
            steps.factors.push(value);
        }
        Ok(steps)
    }

    /// What an element has for factors.
    pub(super) fn operands_of_element(&self) -> Operands {
        self.operands
    }

    /// Whether an element needs a computed ciphertext.
    pub(super) fn names_computed(&self) -> bool {
        self.names_computed
    }

    /// What the mask of an element is multiplied into: each factor once.
    pub(super) fn masked(&self, sums: &[ProductSum]) -> Vec<Value> {
        let mut masked: Vec<Value> = Vec::new();
        for factor in sums.iter().filter_map(|sum| self.factors.get(sum.factor)) {
            if !masked.contains(factor) {
                masked.push(*factor);
            }
        }
        masked
    }

    /// Rows of a memory.
    pub(super) fn rows(&self, memory: Memory) -> usize {
        self.rows[memory as usize]
    }

    /// The factor of a sum, and its measure.
    ///
    /// # Errors
    /// [`RlweError::NoSuchOperand`].
    pub(super) fn operands(&self, sum: ProductSum) -> Result<(Value, Option<Value>), RlweError> {
        let missing = |found, bodies| RlweError::NoSuchOperand { found, bodies };
        let factor = self.factors.get(sum.factor).copied();
        let factor = factor.ok_or(missing(sum.factor, self.factors.len()))?;
        let measure = sum
            .measure
            .map(|body| self.loads.get(body).copied().flatten().ok_or(missing(body, self.loads.len())));
        Ok((factor, measure.transpose()?))
    }

    /// Components of a sum's ciphertext.
    ///
    /// # Errors
    /// [`RlweError::NoSuchOperand`], [`RlweError::ProductDegree`].
    pub(super) fn components_of(&self, sum: ProductSum) -> Result<usize, RlweError> {
        let (factor, measure) = self.operands(sum)?;
        measure.map_or(Ok(factor.rows), |measure| product_components(factor.rows, measure.rows))
    }

    fn allot(&mut self, rows: usize, memory: Memory) -> Value {
        let end = &mut self.rows[memory as usize];
        let value = Value { memory, first: *end, rows };
        *end += rows;
        value
    }

    fn push(&mut self, operation: Operation, rows: usize, memory: Memory) -> Value {
        let out = self.allot(rows, memory);
        self.steps.push(Step { operation, out });
        out
    }

    fn load(&mut self, body: usize, memory: Memory) -> Result<(), RlweError> {
        match self.loads.get(body) {
            Some(Some(_)) => {}
            Some(None) => self.loads[body] = Some(self.allot(2, memory)),
            None => return Err(RlweError::NoSuchOperand { found: body, bodies: self.loads.len() }),
        }
        Ok(())
    }

    fn load_all(&mut self, factor: &Factor) -> Result<(), RlweError> {
        match factor {
            Factor::Stored(body) => self.load(*body, Memory::Passing),
            Factor::Mask(number) if *number >= self.operands.masks => {
                Err(RlweError::NoSuchOperand { found: *number, bodies: self.operands.masks })
            }
            Factor::Integer(number) if *number >= self.operands.integers => {
                Err(RlweError::NoSuchOperand { found: *number, bodies: self.operands.integers })
            }
            Factor::Computed => {
                self.names_computed = true;
                Ok(())
            }
            Factor::Constant(_) | Factor::Earlier(_) | Factor::Integer(_) | Factor::Mask(_) => Ok(()),
            Factor::Add(left, right) | Factor::Sub(left, right) | Factor::Mul(left, right) => {
                self.load_all(left)?;
                self.load_all(right)
            }
        }
    }

    /// Adds the operations of a factor, the last of them with its result in this memory.
    fn add(&mut self, factor: &Factor, memory: Memory) -> Result<Value, RlweError> {
        let mut both = |left: &Factor, right: &Factor| {
            Ok::<_, RlweError>((self.add(left, Memory::Passing)?, self.add(right, Memory::Passing)?))
        };
        match factor {
            Factor::Computed => Ok(self.push(Operation::Computed, 2, memory)),
            Factor::Constant(integer) => Ok(self.push(Operation::Constant(*integer), 1, memory)),
            Factor::Integer(number) => Ok(self.push(Operation::Integer(*number), 1, memory)),
            Factor::Mask(number) => Ok(self.push(Operation::Mask(*number), 1, memory)),
            Factor::Stored(body) => {
                let missing = RlweError::NoSuchOperand { found: *body, bodies: self.loads.len() };
                self.loads.get(*body).copied().flatten().ok_or(missing)
            }
            Factor::Earlier(number) => {
                let missing = RlweError::NoSuchOperand { found: *number, bodies: self.factors.len() };
                self.factors.get(*number).copied().ok_or(missing)
            }
            Factor::Add(left, right) => {
                let (left, right) = both(left, right)?;
                Ok(self.push(Operation::Add(left, right), left.rows.max(right.rows), memory))
            }
            Factor::Sub(left, right) => {
                let (left, right) = both(left, right)?;
                Ok(self.push(Operation::Sub(left, right), left.rows.max(right.rows), memory))
            }
            Factor::Mul(left, right) => {
                let (left, right) = both(left, right)?;
                let rows = product_components(left.rows, right.rows)?;
                Ok(self.push(Operation::Mul(left, right), rows, memory))
            }
        }
    }
}

/// Components of a product of ciphertexts with so many.
fn product_components(left: usize, right: usize) -> Result<usize, RlweError> {
    let found = left + right - 1;
    if found > MAX_PRODUCT_COMPONENTS {
        return Err(RlweError::ProductDegree { found: found - 1, most: MAX_PRODUCT_COMPONENTS - 1 });
    }
    Ok(found)
}
