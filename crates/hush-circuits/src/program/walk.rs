// SPDX-License-Identifier: Apache-2.0
//! One pass over a circuit, on ciphertexts or on bounds.

use std::rc::Rc;

use hush_expr::Turn;
use hush_ring::Level;
use hush_schemes::SchemeError;
use hush_schemes::ckks::{CkksCiphertext, Complex};

use super::place::{Raise, Schedule};
use super::steps::{Op, Period, Steps, Term};
use crate::CircuitError;
use crate::SlotScheme;
use crate::noise::{BfvNoise, BgvNoise, LevelNoise};
use crate::polynomial::{Arithmetic, Counted, InvariantArithmetic, ModularArithmetic, RealArithmetic};
use crate::sums::Window;

/// What circuits ask beyond the arithmetic of polynomials.
pub(super) trait Machine: Arithmetic {
    /// Whether errors are followed through turns.
    const FOLLOWS_TURNS: bool = false;

    /// A whole multiple, at the same level and scale, divided or not.
    fn multiple(&self, a: &Self::Value, factor: Self::Scalar) -> Self::Value;
    /// The sum of two divided values of one level.
    fn sum(&self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value, CircuitError> {
        let mut sum = a.clone();
        self.add(&mut sum, b)?;
        Ok(sum)
    }
    /// Bits between a bound and what it must not exceed; what has no bounds has room.
    fn margin_bits(&self, a: &Self::Value) -> f64 {
        let _ = a;
        f64::INFINITY
    }
    /// The sum of the elements in a period, in every slot, of a divided value: a level below if others are cleared first.
    fn total(&self, a: &Self::Value, period: Period) -> Result<Self::Value, CircuitError> {
        let _ = (a, period);
        Err(CircuitError::Shape)
    }
    /// A value that a turn starts from, where errors are followed.
    fn turn_start(&self, a: &Self::Value) -> Self::Value {
        a.clone()
    }
    /// A state after a turn, where errors are followed: with its derivatives by values that the turn started from.
    fn turn_end(&self, a: &Self::Value, starts: &[(Rc<Self::Value>, f64)]) -> Self::Value {
        let _ = starts;
        a.clone()
    }
    /// Whether a value errs by no more than `2^limit_log2`.
    fn is_within(&self, a: &Self::Value, limit_log2: f64) -> bool {
        let _ = (a, limit_log2);
        true
    }
}

/// The form of the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Finish {
    /// Two components at the level of the output.
    Divided,
    /// Products with three components, as they are.
    Undivided,
}

/// One or two values after a bootstrapping, for values with the log2 of what they are divided by before; below 0 they are multiplied.
pub(super) type Bootstrap<'a, V> = dyn Fn(&[(Rc<V>, i32)]) -> Result<Vec<V>, CircuitError> + 'a;

/// Where nothing is bootstrapped.
pub(super) fn never<V>(_: &[(Rc<V>, i32)]) -> Result<Vec<V>, CircuitError> {
    Err(CircuitError::Shape)
}

/// The output, and the least margin of any step.
pub(super) fn walk<M: Machine>(
    (machine, bootstrap): (&M, &Bootstrap<'_, M::Value>),
    steps: &Steps<M::Scalar>,
    schedule: &Schedule,
    finish: Finish,
    inputs: Vec<M::Value>,
) -> Result<(M::Value, f64), CircuitError> {
    let count = steps.ops.len();
    let last_uses = steps.last_uses();
    let used = steps.used_inputs();
    let mut walk = Walk {
        machine,
        bootstrap,
        steps,
        schedule,
        entries: (0..count).map(|_| Entry { divided: None, undivided: None }).collect(),
        margin_bits: f64::INFINITY,
        turn: None,
    };
    let inputs: Vec<Rc<M::Value>> = inputs.into_iter().map(Rc::new).collect();
    let (mut turns, mut raises) = (steps.turns.iter().peekable(), schedule.raises.iter().peekable());
    for (place, op) in steps.ops.iter().enumerate() {
        if let (true, Some(turn)) = (M::FOLLOWS_TURNS, turns.next_if(|turn| turn.first == place)) {
            walk.start_turn(turn)?;
        }
        match op {
            Op::Input(input) => {
                let given = used.binary_search(input).ok().and_then(|index| inputs.get(index));
                let value = given.cloned().ok_or(CircuitError::Slot { found: *input, max: inputs.len() })?;
                walk.keep_divided(place, value);
            }
            Op::Linear { constant, terms } => walk.linear(place, *constant, terms)?,
            Op::Product(a, b) => walk.product(place, *a, *b)?,
            Op::Total(of) => walk.total(place, *of)?,
        }
        walk.end_turn(place)?;
        if let Some(raise) = raises.next_if(|raise| raise.after == place) {
            walk.raise(raise)?;
        }
        for operand in op.operands() {
            // Bounds are small, and turns ask for them later.
            if !M::FOLLOWS_TURNS && last_uses.get(operand) == Some(&place) && operand != place {
                walk.entries[operand] = Entry { divided: None, undivided: None };
            }
        }
    }
    let output = match (finish, walk.entries.last().and_then(|entry| entry.undivided.clone())) {
        (Finish::Undivided, Some(value)) => value,
        _ => {
            let value = walk.value(count - 1)?;
            Rc::new(machine.lowered(&*value, schedule.output)?)
        }
    };
    Ok(((*output).clone(), walk.margin_bits))
}

/// The stored result of a step.
struct Entry<V> {
    divided: Option<Rc<V>>,
    undivided: Option<Rc<V>>,
}

/// The turn of a repetition, and the values that it started from.
struct Turning<'a, V> {
    turn: &'a Turn,
    starts: Vec<(usize, Rc<V>)>,
}

struct Walk<'a, M: Machine> {
    machine: &'a M,
    bootstrap: &'a Bootstrap<'a, M::Value>,
    steps: &'a Steps<M::Scalar>,
    schedule: &'a Schedule,
    entries: Vec<Entry<M::Value>>,
    margin_bits: f64,
    turn: Option<Turning<'a, M::Value>>,
}

impl<'a, M: Machine> Walk<'a, M> {
    fn level(&self, place: usize) -> Level {
        self.schedule.levels.get(place).copied().unwrap_or(self.schedule.output)
    }

    fn watched(&mut self, place: usize, value: M::Value) -> Rc<M::Value> {
        let magnitude = self.steps.magnitudes_log2.get(place).copied().unwrap_or(f64::INFINITY);
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
        if let Some(Op::Linear { constant, .. }) = self.steps.ops.get(place) {
            value = self.plus(value, *constant)?;
        }
        let value = self.watched(place, value);
        self.entries[place].divided = Some(value.clone());
        Ok(value)
    }

    fn plus(&self, value: M::Value, constant: M::Scalar) -> Result<M::Value, CircuitError> {
        if constant == M::Scalar::default() { Ok(value) } else { self.machine.add_scalar(&value, constant) }
    }

    fn product(&mut self, place: usize, a: usize, b: usize) -> Result<(), CircuitError> {
        let level = self.schedule.above(self.level(place));
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

    fn total(&mut self, place: usize, of: usize) -> Result<(), CircuitError> {
        let Some(period) = self.steps.period else { return Err(CircuitError::Shape) };
        let own = self.level(place);
        let level = if period.is_masked() { self.schedule.above(own) } else { own };
        let value = self.machine.lowered(&*self.value(of)?, level)?;
        let total = self.machine.total(&value, period)?;
        self.entries[place].divided = Some(self.watched(place, total));
        Ok(())
    }

    /// Terms that have a level to spare, and products as they are, are added before one division; whole multiples of what is at the sum's own level after it.
    fn linear(
        &mut self,
        place: usize,
        constant: M::Scalar,
        terms: &[Term<M::Scalar>],
    ) -> Result<(), CircuitError> {
        let level = self.level(place);
        let above = self.schedule.above(level);
        let (mut before, mut after): (Option<M::Value>, Option<M::Value>) = (None, None);
        let undivided = |walk: &Self, term: &Term<M::Scalar>| {
            // The constant of a sum is added behind its division.
            let lacks = match walk.steps.ops.get(term.step) {
                Some(Op::Linear { constant, .. }) => *constant != M::Scalar::default(),
                _ => false,
            };
            let product = if lacks { None } else { walk.entries[term.step].undivided.clone() };
            product.filter(|product| term.is_whole && terms.len() > 1 && walk.machine.level(product) == above)
        };
        // On a single level everything joins what is undivided.
        let joins = above == level && terms.iter().any(|term| undivided(self, term).is_some());
        for term in terms {
            let addend = match undivided(self, term) {
                Some(product) => self.machine.multiple(&product, term.coefficient),
                _ => {
                    let value = self.value(term.step)?;
                    if term.is_whole && !joins && self.machine.level(&value) == level {
                        let multiple = self.machine.multiple(&value, term.coefficient);
                        after = Some(match after {
                            None => multiple,
                            Some(sum) => self.machine.sum(&sum, &multiple)?,
                        });
                        continue;
                    }
                    self.machine.scaled(&value, term.coefficient, above)?
                }
            };
            match &mut before {
                None => before = Some(addend),
                Some(sum) => self.machine.add(sum, &addend)?,
            }
        }
        let divided = match (before, after) {
            (Some(sum), None) => {
                self.keep_undivided(place, sum);
                return Ok(());
            }
            (Some(sum), Some(after)) => {
                self.margin_bits = self.margin_bits.min(self.machine.margin_bits(&sum));
                self.machine.sum(&self.machine.divide(&sum)?, &after)?
            }
            (None, after) => after.ok_or(CircuitError::Slot { found: place, max: 0 })?,
        };
        let sum = self.plus(divided, constant)?;
        self.entries[place].divided = Some(self.watched(place, sum));
        Ok(())
    }

    fn raise(&mut self, raise: &Raise) -> Result<(), CircuitError> {
        let values = raise.steps.iter().map(|raised| Ok((self.value(raised.step)?, raised.shift)));
        let values = values.collect::<Result<Vec<_>, CircuitError>>()?;
        let fresh = (self.bootstrap)(&values)?;
        for (raised, value) in raise.steps.iter().zip(fresh) {
            let value = self.watched(raised.step, value);
            self.entries[raised.step] = Entry { divided: Some(value), undivided: None };
        }
        Ok(())
    }

    /// Follows the errors of a turn, if its derivatives hold.
    fn start_turn(&mut self, turn: &'a Turn) -> Result<(), CircuitError> {
        self.turn = None;
        let (mut starts, mut is_within) = (Vec::new(), true);
        for &(place, limit_log2) in &turn.starts {
            // An input that comes later errs by what its steps add.
            if place >= turn.first {
                continue;
            }
            let value = self.value(place)?;
            is_within &= self.machine.is_within(&value, limit_log2);
            let start = Rc::new(self.machine.turn_start(&value));
            starts.push((place, value));
            self.entries[place] = Entry { divided: Some(start), undivided: None };
        }
        self.turn = is_within.then_some(Turning { turn, starts });
        Ok(())
    }

    fn end_turn(&mut self, place: usize) -> Result<(), CircuitError> {
        let Some(Turning { turn, starts }) = &self.turn else { return Ok(()) };
        let Some((_, slopes)) = turn.states.iter().find(|(state, _)| *state == place) else { return Ok(()) };
        let mut from = Vec::with_capacity(slopes.len());
        for &(start, slope) in slopes {
            match starts.iter().find(|(known, _)| *known == start) {
                Some((_, value)) => from.push((value.clone(), slope)),
                // An input behind a state says nothing of it.
                None if start > place => {}
                None if start >= turn.first => from.push((self.entry(start)?, slope)),
                None => return Ok(()),
            }
        }
        let value = self.value(place)?;
        let value = self.machine.turn_end(&value, &from);
        self.entries[place] = Entry { divided: Some(Rc::new(value)), undivided: None };
        Ok(())
    }

    /// A step that is there.
    fn entry(&self, place: usize) -> Result<Rc<M::Value>, CircuitError> {
        let entry = self.entries.get(place).and_then(|entry| entry.divided.clone());
        entry.ok_or(CircuitError::Slot { found: place, max: self.entries.len() })
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

impl Machine for RealArithmetic<'_> {
    fn multiple(&self, a: &CkksCiphertext, factor: f64) -> CkksCiphertext {
        // Whole and below 2^53, by the plan.
        if factor == 1.0 { a.clone() } else { self.scheme.mul_integer(a, factor as i64) }
    }
    fn total(&self, a: &CkksCiphertext, period: Period) -> Result<CkksCiphertext, CircuitError> {
        let slots = self.scheme.slot_count();
        let window = Window::new(period.slots, 1, slots)?;
        if !period.is_masked() {
            return window.sum(self.scheme, a, self.keys);
        }
        let element = |slot: usize| f64::from(u8::from(slot % period.slots < period.length));
        let mask: Vec<Complex> = (0..slots).map(|slot| Complex { re: element(slot), im: 0.0 }).collect();
        window.sum(self.scheme, &self.scheme.mul_clear(a, &mask)?, self.keys)
    }
}

/// A value divided by a power of two, if it is, as it is bootstrapped.
pub(super) fn divided<M: Machine<Scalar = f64>>(
    machine: &M,
    (value, shift): &(Rc<M::Value>, i32),
    input: Level,
) -> Result<M::Value, CircuitError> {
    if *shift <= 0 {
        return Ok((**value).clone());
    }
    machine.divide(&machine.scaled(value, (-f64::from(*shift)).exp2(), Level(input.0 + 1))?)
}

/// What a bootstrapped value is multiplied with again.
pub(super) fn multiplied<M: Machine<Scalar = f64>>(machine: &M, value: &M::Value, shift: i32) -> M::Value {
    machine.multiple(value, f64::from(shift.max(0)).exp2())
}

/// log2 of what values that are bootstrapped together are multiplied with on the way. A pair is doubled at least: where one of its values is divided before, it is by twice as much
/// as it had to be.
pub(super) fn common_up<V>(values: &[(Rc<V>, i32)]) -> u32 {
    let least = values.iter().map(|(_, shift)| (-shift).max(0).unsigned_abs()).min().unwrap_or(0);
    least.max(u32::from(values.len() == 2))
}

/// A level that a chain lacks.
pub(super) fn no_level() -> CircuitError {
    CircuitError::Scheme(SchemeError::from(hush_rlwe::RlweError::LastLevel))
}
