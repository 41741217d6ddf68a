// SPDX-License-Identifier: Apache-2.0
//! One pass over a circuit, on ciphertexts or on bounds.

use std::rc::Rc;

use hush_expr::{Circuit, Ratio, Step};
use hush_ring::Level;
use hush_schemes::SchemeError;
use hush_schemes::ckks::CkksCiphertext;
use num_bigint::BigInt;

use crate::CircuitError;
use crate::noise::{BfvNoise, BgvNoise, CkksNoise, LevelNoise, SlotNoise};
use crate::polynomial::{Arithmetic, Counted, InvariantArithmetic, ModularArithmetic, RealArithmetic};

/// What circuits ask beyond the arithmetic of polynomials.
pub(super) trait Machine: Arithmetic {
    /// A whole multiple, at the same level and scale, divided or not.
    fn multiple(&self, a: &Self::Value, factor: Self::Scalar) -> Self::Value;
    /// Bits between a bound and what it must not exceed; what has no bounds has room.
    fn margin_bits(&self, a: &Self::Value) -> f64 {
        let _ = a;
        f64::INFINITY
    }
}

/// The form of the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Finish {
    /// Two components at level 0.
    Divided,
    /// Products with three components, as they are.
    Undivided,
}

/// The output, and the least margin of any step.
pub(super) fn walk<M: Machine>(
    machine: &M,
    circuit: &Circuit,
    top: Level,
    finish: Finish,
    inputs: Vec<M::Value>,
    scalar: impl Fn(&BigInt) -> M::Scalar,
) -> Result<(M::Value, f64), CircuitError> {
    let count = circuit.steps().len();
    let last_uses = circuit.last_uses();
    let used = circuit.used_inputs();
    let mut walk = Walk {
        machine,
        circuit,
        top,
        scalar,
        entries: (0..count).map(|_| Entry { divided: None, undivided: None }).collect(),
        margin_bits: f64::INFINITY,
    };
    let inputs: Vec<Rc<M::Value>> = inputs.into_iter().map(Rc::new).collect();
    for (place, step) in circuit.steps().iter().enumerate() {
        match step {
            Step::Input(input) => {
                let given = used.binary_search(input).ok().and_then(|index| inputs.get(index));
                let value = given.cloned().ok_or(CircuitError::Slot { found: *input, max: inputs.len() })?;
                walk.keep_divided(place, value);
            }
            Step::Linear { constant, terms } => walk.linear(place, constant, terms)?,
            Step::Product(a, b) => walk.product(place, *a, *b)?,
        }
        for operand in step.operands() {
            if last_uses.get(operand) == Some(&place) && operand != place {
                walk.entries[operand] = Entry { divided: None, undivided: None };
            }
        }
    }
    let output = match (finish, walk.entries.last().and_then(|entry| entry.undivided.clone())) {
        (Finish::Undivided, Some(value)) => value,
        _ => walk.value(count - 1)?,
    };
    Ok(((*output).clone(), walk.margin_bits))
}

/// The stored result of a step.
struct Entry<V> {
    divided: Option<Rc<V>>,
    undivided: Option<Rc<V>>,
}

struct Walk<'a, M: Machine, F> {
    machine: &'a M,
    circuit: &'a Circuit,
    top: Level,
    scalar: F,
    entries: Vec<Entry<M::Value>>,
    margin_bits: f64,
}

impl<M: Machine, F: Fn(&BigInt) -> M::Scalar> Walk<'_, M, F> {
    /// The level of steps of a depth.
    fn level(&self, depth: u32) -> Level {
        Level(self.top.0.saturating_sub(depth as u8))
    }

    fn watched(&mut self, place: usize, value: M::Value) -> Rc<M::Value> {
        let magnitude =
            self.circuit.ranges().get(place).map_or(f64::INFINITY, |range| range.magnitude().log2());
        let value = self.machine.bounded(value, magnitude);
        self.margin_bits = self.margin_bits.min(self.machine.margin_bits(&value));
        Rc::new(value)
    }

    fn keep_divided(&mut self, place: usize, value: Rc<M::Value>) {
        self.margin_bits = self.margin_bits.min(self.machine.margin_bits(&value));
        self.entries[place].divided = Some(value);
    }

    fn keep_undivided(&mut self, place: usize, value: M::Value) {
        self.margin_bits = self.margin_bits.min(self.machine.margin_bits(&value));
        self.entries[place].undivided = Some(Rc::new(value));
    }

    /// A step at its own level, divided.
    fn value(&mut self, place: usize) -> Result<Rc<M::Value>, CircuitError> {
        if let Some(value) = &self.entries[place].divided {
            return Ok(value.clone());
        }
        let undivided = self.entries[place].undivided.clone();
        let undivided = undivided.ok_or(CircuitError::Slot { found: place, max: self.entries.len() })?;
        let mut value = self.machine.divide(&undivided)?;
        if let Some(Step::Linear { constant, .. }) = self.circuit.steps().get(place) {
            value = self.plus(value, constant)?;
        }
        let value = self.watched(place, value);
        self.entries[place].divided = Some(value.clone());
        Ok(value)
    }

    fn plus(&self, value: M::Value, constant: &BigInt) -> Result<M::Value, CircuitError> {
        let constant = (self.scalar)(constant);
        if constant == M::Scalar::default() { Ok(value) } else { self.machine.add_scalar(&value, constant) }
    }

    fn product(&mut self, place: usize, a: usize, b: usize) -> Result<(), CircuitError> {
        let level = self.level(self.circuit.depth_of(place) - 1);
        let left = self.machine.lowered(&*self.value(a)?, level)?;
        let product = if a == b {
            self.machine.product(&left, &left)?
        } else {
            let right = self.machine.lowered(&*self.value(b)?, level)?;
            self.machine.product(&left, &right)?
        };
        self.keep_undivided(place, product);
        Ok(())
    }

    fn linear(
        &mut self,
        place: usize,
        constant: &BigInt,
        terms: &[(usize, BigInt)],
    ) -> Result<(), CircuitError> {
        let depth = self.circuit.depth_of(place);
        let is_divided = depth == 0 || terms.len() == 1;
        let mut sum: Option<M::Value> = None;
        for (term, coefficient) in terms {
            let coefficient = (self.scalar)(coefficient);
            let undivided = self.entries[*term].undivided.clone();
            let value = match undivided {
                _ if is_divided => self.machine.multiple(&*self.value(*term)?, coefficient),
                Some(product) if self.circuit.depth_of(*term) == depth => {
                    self.machine.multiple(&product, coefficient)
                }
                _ => self.machine.scaled(&*self.value(*term)?, coefficient, self.level(depth - 1))?,
            };
            match &mut sum {
                None => sum = Some(value),
                Some(sum) => self.machine.add(sum, &value)?,
            }
        }
        let sum = sum.ok_or(CircuitError::Slot { found: place, max: 0 })?;
        if is_divided {
            let sum = self.plus(sum, constant)?;
            let sum = self.watched(place, sum);
            self.entries[place].divided = Some(sum);
        } else {
            self.keep_undivided(place, sum);
        }
        Ok(())
    }
}

impl Machine for RealArithmetic<'_> {
    fn multiple(&self, a: &CkksCiphertext, factor: f64) -> CkksCiphertext {
        // Whole and below 2^53, by the plan.
        if factor == 1.0 { a.clone() } else { self.scheme.mul_integer(a, factor as i64) }
    }
}

impl Machine for ModularArithmetic<'_> {
    fn multiple(&self, a: &Self::Value, factor: i64) -> Self::Value {
        if factor == 1 { a.clone() } else { self.scheme.mul_scalar(a, factor) }
    }
}

impl Machine for InvariantArithmetic<'_> {
    fn multiple(&self, a: &Counted, factor: i64) -> Counted {
        let mut out = a.clone();
        if factor != 1 {
            out.inner.mul_integer_assign(factor.into());
        }
        out
    }
}

impl Machine for BgvNoise<'_> {
    fn multiple(&self, a: &LevelNoise, factor: i64) -> LevelNoise {
        a.times(factor)
    }
    fn margin_bits(&self, a: &LevelNoise) -> f64 {
        BgvNoise::margin_bits(self, a)
    }
}

impl Machine for BfvNoise<'_> {
    fn multiple(&self, a: &LevelNoise, factor: i64) -> LevelNoise {
        a.times(factor)
    }
    fn margin_bits(&self, a: &LevelNoise) -> f64 {
        BfvNoise::margin_bits(self, a)
    }
}

impl Machine for CkksNoise<'_> {
    fn multiple(&self, a: &SlotNoise, factor: f64) -> SlotNoise {
        a.times(factor)
    }
    fn margin_bits(&self, a: &SlotNoise) -> f64 {
        CkksNoise::margin_bits(self, a)
    }
}

/// The residue nearest to zero.
pub(super) fn centered(value: &BigInt, t: u64) -> i64 {
    use num_integer::Integer;
    use num_traits::ToPrimitive;
    let residue = value.mod_floor(&BigInt::from(t)).to_i64().unwrap_or(0);
    if residue as u64 > t / 2 { residue - t as i64 } else { residue }
}

/// A whole number as a double, exactly where it is below 2^53.
pub(super) fn double(value: &BigInt) -> f64 {
    Ratio::from(value.clone()).to_f64()
}

/// A level that a chain lacks.
pub(super) fn no_level() -> CircuitError {
    CircuitError::Scheme(SchemeError::from(hush_rlwe::RlweError::LastLevel))
}
