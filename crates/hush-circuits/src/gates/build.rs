// SPDX-License-Identifier: Apache-2.0
//! From an expression to the steps of a program, with bounds.

use std::collections::{BTreeMap, HashMap};

use hush_expr::{Comparison, ExprError, Fold, Function, Logic, Ratio};
use hush_tfhe::integer::{Operand, Outcomes, Step};
use num_bigint::BigInt;
use num_integer::Integer as _;
use num_traits::{One, Signed, Zero};

use super::Bridged;
use super::sum::{Bounds, Sum, Value, common_unit, digits_up_to, in_common_unit, truth_value};
use super::used::used;
use crate::program::{ProgramError, Vector};

/// Bits of the widest integers.
const MAX_BITS: u64 = 64;
/// Bits of numbers on the way to them: what passes that is no integer of a program.
const MAX_BOUND_BITS: u64 = 96;

/// Steps made so far.
pub(super) struct Builder<'a> {
    vectors: &'a [Vector],
    /// Values that are in digits already, named behind the vectors.
    bridged: &'a [Bridged],
    steps: Vec<Step>,
    bounds: Vec<Bounds>,
    is_bit: Vec<bool>,
    places: HashMap<Step, usize>,
    /// Whether comparisons that bounds decide are no steps.
    decides: bool,
}

/// The steps of a program with what holds their integers.
pub(super) struct Finished {
    /// That of the result is the last.
    pub(super) steps: Vec<Step>,
    /// Digits of integers that hold all of them.
    pub(super) digits: usize,
    /// Whether some are negative.
    pub(super) is_signed: bool,
    /// Those of the result, of one element.
    pub(super) bounds: Bounds,
}

type Folded = Result<Value, ProgramError>;

impl<'a> Builder<'a> {
    pub(super) fn new((vectors, bridged): (&'a [Vector], &'a [Bridged]), decides: bool) -> Self {
        let (steps, bounds, is_bit) = (Vec::new(), Vec::new(), Vec::new());
        Self { vectors, bridged, steps, bounds, is_bit, places: HashMap::new(), decides }
    }

    /// The program of a result, which may be a sum over elements.
    pub(super) fn finish(mut self, sum: &Sum, elements: usize) -> Result<Finished, ProgramError> {
        let divisor = sum.common_factor();
        let terms = sum.terms.iter().map(|(step, factor)| (*step, factor / &divisor)).collect();
        let output = Sum { unit: Ratio::one(), constant: BigInt::zero(), terms };
        let last = self.step_of(&output)?;
        let bounds = self.bounds[last].clone();
        let elements = BigInt::from(elements.max(1));
        self.bounds.push(Bounds { low: &bounds.low * &elements, high: &bounds.high * elements });
        // A step whose bounds leave a constant out may still name it.
        let constants = self.steps.iter().flat_map(Step::constants);
        let constants = constants.map(|constant| Bounds { low: constant.into(), high: constant.into() });
        let all = self.bounds.iter().cloned().chain(constants);
        let all = all.fold(Bounds::bit(), |all, bounds| all.around(&bounds));
        let is_signed = all.low.is_negative();
        // Of a negative bound one less has no more bits.
        let bits = all.high.bits().max((-&all.low - 1_u32).bits()) + u64::from(is_signed);
        if bits > MAX_BITS {
            return Err(ProgramError::WideInteger { bits });
        }
        let digits = (bits.div_ceil(2) as usize).max(1);
        let (steps, last) = used(&self.steps, last);
        let mut steps = steps;
        for step in &mut steps {
            if let Step::Input { digits: sent, last, .. } = step
                && *sent == 0
            {
                (*sent, *last) = (digits, 3);
            }
        }
        debug_assert_eq!(last + 1, steps.len());
        Ok(Finished { steps, digits, is_signed, bounds })
    }

    fn push(&mut self, step: Step, bounds: Bounds, is_bit: bool) -> Result<usize, ProgramError> {
        let bits = bounds.low.bits().max(bounds.high.bits());
        if bits > MAX_BOUND_BITS {
            return Err(ProgramError::WideInteger { bits });
        }
        if let Some(place) = self.places.get(&step) {
            return Ok(*place);
        }
        self.places.insert(step.clone(), self.steps.len());
        self.steps.push(step);
        self.bounds.push(bounds);
        self.is_bit.push(is_bit);
        Ok(self.steps.len() - 1)
    }

    fn bit(&mut self, step: Step) -> Result<Sum, ProgramError> {
        Ok(Sum::of_step(self.push(step, Bounds::bit(), true)?, Ratio::one()))
    }

    /// Bounds of a sum, in its unit.
    fn bounds_of(&self, sum: &Sum) -> Bounds {
        let start = Bounds { low: sum.constant.clone(), high: sum.constant.clone() };
        sum.terms.iter().fold(start, |all, (step, factor)| {
            let (a, b) = (&self.bounds[*step].low * factor, &self.bounds[*step].high * factor);
            let (low, high) = if a <= b { (a, b) } else { (b, a) };
            Bounds { low: all.low + low, high: all.high + high }
        })
    }

    /// The step that a sum is, without its unit.
    fn step_of(&mut self, sum: &Sum) -> Result<usize, ProgramError> {
        if sum.constant.is_zero()
            && let Some((step, factor)) = sum.terms.first_key_value()
            && sum.terms.len() == 1
            && factor.is_one()
        {
            return Ok(*step);
        }
        let bounds = self.bounds_of(sum);
        let narrow = |number: &BigInt| {
            let wide = ProgramError::WideInteger { bits: number.bits() };
            i128::try_from(number.clone()).map_err(|_| wide)
        };
        let terms = sum.terms.iter().map(|(step, factor)| Ok((*step, narrow(factor)?)));
        let terms = terms.collect::<Result<Vec<_>, ProgramError>>()?;
        self.push(Step::Linear(narrow(&sum.constant)?, terms), bounds, false)
    }

    /// A value as a bit: a constant, or a step.
    fn truth(&mut self, value: Value, position: usize) -> Result<Result<bool, usize>, ProgramError> {
        let refused = || ProgramError::from(ExprError::NotBoolean { position });
        let sum = match value {
            Value::Constant(number) if number.is_zero() => return Ok(Ok(false)),
            Value::Constant(number) if number == Ratio::one() => return Ok(Ok(true)),
            Value::Constant(_) => return Err(refused()),
            Value::Sum(sum) => sum,
        };
        let sum = match sum.unit.to_integer() {
            Some(_) => sum.in_unit(&Ratio::one()).ok_or_else(refused)?,
            None => return Err(refused()),
        };
        let bounds = self.bounds_of(&sum);
        if bounds.low.is_negative() || bounds.high > BigInt::one() {
            return Err(refused());
        }
        let single =
            sum.terms.first_key_value().filter(|(step, _)| sum.terms.len() == 1 && self.is_bit[**step]);
        if let Some((step, factor)) = single {
            let step = *step;
            if factor.is_one() && sum.constant.is_zero() {
                return Ok(Err(step));
            }
            if (-factor).is_one() && sum.constant.is_one() {
                return Ok(Err(self.push(Step::Not(step), Bounds::bit(), true)?));
            }
        }
        let step = self.step_of(&sum)?;
        let positive = Outcomes { less: false, equal: false, greater: true };
        Ok(Err(self.push(Step::Compare(step, Operand::Constant(0), positive), Bounds::bit(), true)?))
    }

    /// Both values in one unit, as numbers or steps.
    fn operands(&mut self, a: Value, b: Value) -> Result<(Ratio, [Result<i128, usize>; 2]), ProgramError> {
        let own = |value: &Value| match value {
            Value::Constant(number) => Ratio::new(BigInt::one(), number.denominator().clone()),
            Value::Sum(sum) => Some(sum.unit.clone()),
        };
        let one = Ratio::one;
        let unit = common_unit(&own(&a).unwrap_or_else(one), &own(&b).unwrap_or_else(one));
        let mut found = [Ok(0), Ok(0)];
        for (found, value) in found.iter_mut().zip([a, b]) {
            *found = match value {
                Value::Constant(number) => {
                    let scaled = &number * &unit.recip().unwrap_or_else(one);
                    let wide = ProgramError::WideInteger { bits: scaled.bits() };
                    let integer =
                        scaled.to_integer().and_then(|integer| i128::try_from(integer.clone()).ok());
                    Ok(integer.ok_or(wide)?)
                }
                Value::Sum(sum) => {
                    let wide = ProgramError::WideInteger { bits: MAX_BITS + 1 };
                    Err(self.step_of(&sum.in_unit(&unit).ok_or(wide)?)?)
                }
            };
        }
        Ok((unit, found))
    }

    fn bounds_of_operand(&self, operand: &Result<i128, usize>) -> Bounds {
        match operand {
            Ok(number) => Bounds { low: (*number).into(), high: (*number).into() },
            Err(step) => self.bounds[*step].clone(),
        }
    }

    fn compared(&mut self, when: Outcomes, left: Value, right: Value) -> Folded {
        // Terms that both have drop out, and constants go to one side.
        let difference = self.added(left, right.negated())?;
        let sum = match difference {
            Value::Constant(number) => {
                let zero = Ratio::zero();
                let holds = match number.cmp(&zero) {
                    std::cmp::Ordering::Less => when.less,
                    std::cmp::Ordering::Equal => when.equal,
                    std::cmp::Ordering::Greater => when.greater,
                };
                return Ok(truth_value(holds));
            }
            Value::Sum(sum) => sum,
        };
        let (bounds, zero) = (self.bounds_of(&sum), BigInt::zero());
        let is_possible = [
            (when.less, bounds.low < zero),
            (when.equal, bounds.low <= zero && bounds.high >= zero),
            (when.greater, bounds.high > zero),
        ];
        let mut possible = is_possible.iter().filter(|(_, may)| *may).map(|(wanted, _)| *wanted);
        if let Some(first) = possible.next().filter(|first| possible.all(|wanted| wanted == *first)) {
            return self.decided(first, &sum);
        }
        // Positive terms on the left, negative ones on the right, each divided by what it has in common.
        let (left, right): (BTreeMap<_, _>, BTreeMap<_, _>) =
            sum.terms.into_iter().partition(|(_, factor)| factor.is_positive());
        let right: BTreeMap<usize, BigInt> =
            right.into_iter().map(|(step, factor)| (step, -factor)).collect();
        let any = left
            .first_key_value()
            .or(right.first_key_value())
            .map(|(step, _)| Sum::of_step(*step, Ratio::one()));
        let (when, left, right, constant) = match (left.is_empty(), right.is_empty()) {
            (true, _) => (when.turned(), right, left, sum.constant),
            _ => (when, left, right, -sum.constant),
        };
        // left compares with right + constant.
        let common =
            left.values().chain(right.values()).fold(BigInt::zero(), |common, factor| common.gcd(factor));
        let divided = |terms: BTreeMap<usize, BigInt>| {
            terms.into_iter().map(|(step, factor)| (step, factor / &common)).collect()
        };
        let (floor, rest) = constant.div_mod_floor(&common);
        let (when, constant) = match rest.is_zero() {
            true => (when, floor),
            // Between two integers: what is not above the lower one is less.
            false => (Outcomes { less: when.less, equal: when.less, greater: when.greater }, floor),
        };
        if let Some(any) = any.filter(|_| when.less == when.equal && when.equal == when.greater) {
            return self.decided(when.less, &any);
        }
        let of =
            |terms: BTreeMap<usize, BigInt>, constant: BigInt| Sum { unit: Ratio::one(), constant, terms };
        let left = self.step_of(&of(divided(left), BigInt::zero()))?;
        let right = match right.is_empty() {
            true => {
                let wide = ProgramError::WideInteger { bits: constant.bits() };
                Operand::Constant(i128::try_from(constant).map_err(|_| wide)?)
            }
            false => Operand::Step(self.step_of(&of(divided(right), constant))?),
        };
        Ok(Value::Sum(self.bit(Step::Compare(left, right, when))?))
    }

    /// A comparison that bounds decide: its value, or where that is the whole of an expression a step that looks nothing up.
    fn decided(&mut self, holds: bool, sum: &Sum) -> Folded {
        let Some((step, _)) = sum.terms.first_key_value().filter(|_| !self.decides) else {
            return Ok(truth_value(holds));
        };
        let low =
            self.bounds.get(*step).and_then(|bounds| i128::try_from(bounds.low.clone()).ok()).unwrap_or(0);
        let when = Outcomes { less: holds, equal: holds, greater: holds };
        Ok(Value::Sum(self.bit(Step::Compare(*step, Operand::Constant(low), when))?))
    }

    fn chosen(&mut self, bit: usize, then: Value, otherwise: Value) -> Folded {
        if let (Value::Constant(then), Value::Constant(otherwise)) = (&then, &otherwise) {
            let step = Sum::of_step(bit, Ratio::one()).scaled(&(then - otherwise));
            return self.added(step, Value::Constant(otherwise.clone()));
        }
        let (unit, [then, otherwise]) = self.operands(then, otherwise)?;
        let bounds = self.bounds_of_operand(&then).around(&self.bounds_of_operand(&otherwise));
        let operand = |side: Result<i128, usize>| match side {
            Ok(number) => Operand::Constant(number),
            Err(step) => Operand::Step(step),
        };
        let step = Step::Choose(bit, operand(then), operand(otherwise));
        Ok(Value::Sum(Sum::of_step(self.push(step, bounds, false)?, unit)))
    }

    fn added(&mut self, a: Value, b: Value) -> Folded {
        let (a, b) = match (a, b) {
            (Value::Constant(a), Value::Constant(b)) => return Ok(Value::Constant(&a + &b)),
            (Value::Sum(sum), Value::Constant(number)) | (Value::Constant(number), Value::Sum(sum)) => {
                let unit = common_unit(
                    &sum.unit,
                    &Ratio::new(BigInt::one(), number.denominator().clone()).unwrap_or_else(Ratio::one),
                );
                let wide = || ProgramError::WideInteger { bits: MAX_BITS + 1 };
                let mut sum = sum.in_unit(&unit).ok_or_else(wide)?;
                let scaled = &number * &unit.recip().ok_or_else(wide)?;
                sum.constant += scaled.to_integer().ok_or_else(wide)?;
                return Ok(Value::Sum(sum));
            }
            (Value::Sum(a), Value::Sum(b)) => (a, b),
        };
        let unit = common_unit(&a.unit, &b.unit);
        let wide = || ProgramError::WideInteger { bits: MAX_BITS + 1 };
        let (mut sum, b) = (a.in_unit(&unit).ok_or_else(wide)?, b.in_unit(&unit).ok_or_else(wide)?);
        sum.constant += b.constant;
        for (step, factor) in b.terms {
            let total = sum.terms.remove(&step).unwrap_or_default() + factor;
            if !total.is_zero() {
                sum.terms.insert(step, total);
            }
        }
        if sum.terms.is_empty() {
            return Ok(Value::Constant(sum.constant()));
        }
        Ok(Value::Sum(sum))
    }

    fn multiplied(&mut self, a: Value, b: Value) -> Folded {
        let (a, b) = match (a, b) {
            (Value::Constant(a), Value::Constant(b)) => return Ok(Value::Constant(&a * &b)),
            (Value::Sum(sum), Value::Constant(number)) | (Value::Constant(number), Value::Sum(sum)) => {
                return Ok(sum.scaled(&number));
            }
            (Value::Sum(a), Value::Sum(b)) => (a, b),
        };
        for (bit, other) in [(&a, &b), (&b, &a)] {
            if let Some((step, unit)) = self.as_bit(bit) {
                let chosen = match self.as_bit(other) {
                    Some((same, _)) if same == step => Value::Sum(other.clone()),
                    // Both are bits: a product is a condition.
                    Some((second, of_second)) => {
                        let both = self.bit(Step::All(vec![step.min(second), step.max(second)]))?;
                        both.scaled(&of_second)
                    }
                    None => self.chosen(step, Value::Sum(other.clone()), Value::Constant(Ratio::zero()))?,
                };
                return Ok(chosen.scaled(&unit));
            }
        }
        // Factors that all terms have go into the unit.
        let (a, b) = (a.reduced(), b.reduced());
        let unit = &a.unit * &b.unit;
        let (left, right) = (self.step_of(&a)?, self.step_of(&b)?);
        let (left, right) = (left.min(right), left.max(right));
        let (x, y) = (&self.bounds[left], &self.bounds[right]);
        let corners = [&x.low * &y.low, &x.low * &y.high, &x.high * &y.low, &x.high * &y.high];
        let mut bounds = corners
            .into_iter()
            .map(|corner| Bounds { low: corner.clone(), high: corner })
            .reduce(|all, corner| all.around(&corner))
            .unwrap_or_else(Bounds::bit);
        if left == right {
            bounds.low = if x.low.is_negative() && !x.high.is_negative() {
                BigInt::zero()
            } else {
                (&x.low * &x.low).min(&x.high * &x.high)
            };
        }
        Ok(Value::Sum(Sum::of_step(self.push(Step::Product(left, right), bounds, false)?, unit)))
    }

    /// The ends of a value's bounds.
    fn ends(&self, value: &Value) -> (Ratio, Ratio) {
        match value {
            Value::Constant(number) => (number.clone(), number.clone()),
            Value::Sum(sum) => {
                let Bounds { low, high } = self.bounds_of(sum);
                (&sum.unit * &Ratio::from(low), &sum.unit * &Ratio::from(high))
            }
        }
    }

    /// Narrows the bounds of what is one step.
    fn narrow(&mut self, value: &Value, (low, high): (Ratio, Ratio)) {
        let Value::Sum(sum) = value else { return };
        let is_step = sum.terms.len() == 1 && sum.constant.is_zero();
        let step = sum.terms.first_key_value().filter(|(_, factor)| is_step && factor.is_one());
        let whole = |end: Ratio| (&end * &sum.unit.recip()?).to_integer().cloned();
        if let (Some((step, _)), Some(low), Some(high)) = (step, whole(low), whole(high)) {
            let bounds = &mut self.bounds[*step];
            *bounds = Bounds { low: low.max(bounds.low.clone()), high: high.min(bounds.high.clone()) };
        }
    }

    /// The bit that a sum is a multiple of, and the factor.
    fn as_bit(&self, sum: &Sum) -> Option<(usize, Ratio)> {
        let (step, factor) = sum.terms.first_key_value()?;
        let is_multiple = sum.terms.len() == 1 && sum.constant.is_zero() && self.is_bit[*step];
        is_multiple.then(|| (*step, &sum.unit * &Ratio::from(factor.clone())))
    }
}

impl Fold for Builder<'_> {
    type Value = Value;
    type Error = ProgramError;

    fn call(&mut self, _: Function, arguments: Vec<Value>) -> Folded {
        self.product(arguments)
    }

    fn name(&mut self, index: usize) -> Folded {
        if let Some(bridged) = index.checked_sub(self.vectors.len()).and_then(|place| self.bridged.get(place))
        {
            if self.decides && bridged.most.is_zero() {
                return Ok(Value::Constant(bridged.offset.clone()));
            }
            let (digits, last) = digits_up_to(&bridged.most);
            let step = Step::Input { vector: index, digits, last };
            let bounds = Bounds { low: BigInt::zero(), high: bridged.most.clone() };
            let place = self.push(step, bounds, (digits, last) == (1, 1))?;
            let scaled = Value::Sum(Sum::of_step(place, Ratio::one())).scaled(&bridged.factor);
            return self.added(scaled, Value::Constant(bridged.offset.clone()));
        }
        let vector = self.vectors.get(index);
        let vector =
            vector.ok_or(ExprError::Unexpected { position: 1, expected: "a value for every name" })?;
        let in_units = |bound: &Ratio| {
            let scaled = vector.unit.recip().map(|inverse| bound * &inverse);
            scaled.and_then(|scaled| scaled.to_integer().cloned())
        };
        let (low, high) = (in_units(vector.range.low()), in_units(vector.range.high()));
        let (Some(low), Some(high)) = (low, high) else { return Err(ProgramError::Approximate) };
        // A digit that is not sent is 0; of negative numbers all are.
        let (digits, last) = match low.is_negative() {
            true => (0, 0),
            false => digits_up_to(&high),
        };
        let is_bit = (digits, last) == (1, 1);
        let step = Step::Input { vector: index, digits, last };
        let place = self.push(step, Bounds { low, high }, is_bit)?;
        Ok(Value::Sum(Sum::of_step(place, vector.unit.clone())))
    }

    fn negative(&mut self, value: Value) -> Folded {
        Ok(value.negated())
    }

    fn number(&mut self, number: &Ratio) -> Folded {
        Ok(Value::Constant(number.clone()))
    }

    fn power(&mut self, base: Value, exponent: u32) -> Folded {
        let (mut power, mut square, mut rest) = (Value::Constant(Ratio::one()), base, exponent);
        while rest > 0 {
            if rest & 1 == 1 {
                power = self.multiplied(power, square.clone())?;
            }
            rest >>= 1;
            if rest > 0 {
                square = self.multiplied(square.clone(), square)?;
            }
        }
        Ok(power)
    }

    fn product(&mut self, factors: Vec<Value>) -> Folded {
        factors
            .into_iter()
            .try_fold(Value::Constant(Ratio::one()), |product, factor| self.multiplied(product, factor))
    }

    fn reciprocal(&mut self, value: Value, position: usize) -> Folded {
        match value {
            Value::Constant(number) => {
                Ok(Value::Constant(number.recip().ok_or(ExprError::DivisionByZero { position })?))
            }
            Value::Sum(_) => Err(ExprError::Division { position }.into()),
        }
    }

    fn sum(&mut self, terms: Vec<Value>) -> Folded {
        terms.into_iter().try_fold(Value::Constant(Ratio::zero()), |sum, term| self.added(sum, term))
    }

    fn compare(&mut self, comparison: Comparison, left: Value, right: Value, _: usize) -> Folded {
        let (less, equal, greater) = match comparison {
            Comparison::Equal => (false, true, false),
            Comparison::NotEqual => (true, false, true),
            Comparison::Less => (true, false, false),
            Comparison::LessOrEqual => (true, true, false),
            Comparison::Greater => (false, false, true),
            Comparison::GreaterOrEqual => (false, true, true),
        };
        self.compared(Outcomes { less, equal, greater }, left, right)
    }

    fn look_up(&mut self, at: Value, entries: Vec<Value>, position: usize) -> Folded {
        let outside = || ProgramError::from(ExprError::Place { position });
        let number = |entry: Value| match entry {
            Value::Constant(number) => Some(number),
            Value::Sum(_) => None,
        };
        let entries: Vec<Ratio> = entries.into_iter().filter_map(number).collect();
        let of_place = |place: &BigInt| usize::try_from(place).ok().and_then(|place| entries.get(place));
        let sum = match at {
            Value::Constant(at) => {
                let entry = at.to_integer().and_then(of_place).ok_or_else(outside)?;
                return Ok(Value::Constant(entry.clone()));
            }
            Value::Sum(sum) => sum.reduced(),
        };
        // Places are whole.
        sum.unit.to_integer().ok_or_else(outside)?;
        let sum = sum.in_unit(&Ratio::one()).ok_or_else(outside)?;
        let bounds = self.bounds_of(&sum);
        let first = of_place(&bounds.low).ok_or_else(outside)?;
        of_place(&bounds.high).ok_or_else(outside)?;
        let (unit, multiples) = in_common_unit(&entries);
        let narrow = |multiple: &BigInt| {
            i128::try_from(multiple.clone()).map_err(|_| ProgramError::WideInteger { bits: multiple.bits() })
        };
        let numbers = multiples.iter().map(narrow).collect::<Result<Vec<_>, _>>()?;
        let ends = multiples.iter().min().zip(multiples.iter().max());
        let Some((low, high)) = ends.filter(|(low, high)| low != high) else {
            return Ok(Value::Constant(first.clone()));
        };
        let bounds = Bounds { low: low.clone(), high: high.clone() };
        let is_bit = bounds == Bounds::bit();
        let at = self.step_of(&sum)?;
        Ok(Value::Sum(Sum::of_step(self.push(Step::LookUp(at, numbers), bounds, is_bit)?, unit)))
    }

    fn logic(&mut self, operation: Logic, terms: Vec<Value>, position: usize) -> Folded {
        let mut bits = Vec::with_capacity(terms.len());
        let (mut any, mut all, mut odd) = (false, true, false);
        for term in terms {
            match self.truth(term, position)? {
                Ok(known) => (any, all, odd) = (any | known, all & known, odd ^ known),
                Err(step) => bits.push(step),
            }
        }
        match operation {
            Logic::And if !all => return Ok(truth_value(false)),
            Logic::Or if any => return Ok(truth_value(true)),
            _ => {}
        }
        bits.sort_unstable();
        if operation != Logic::Xor {
            bits.dedup();
        }
        let joined = match (operation, bits.as_slice()) {
            (_, []) => {
                return Ok(truth_value(if operation == Logic::Xor { odd } else { operation == Logic::And }));
            }
            (_, [only]) => Sum::of_step(*only, Ratio::one()),
            (Logic::And, _) => self.bit(Step::All(bits))?,
            (Logic::Or, _) => self.bit(Step::Any(bits))?,
            (Logic::Xor, _) => self.bit(Step::Odd(bits))?,
        };
        match operation == Logic::Xor && odd {
            true => self.not(Value::Sum(joined), position),
            false => Ok(Value::Sum(joined)),
        }
    }

    fn not(&mut self, value: Value, position: usize) -> Folded {
        match self.truth(value, position)? {
            Ok(known) => Ok(truth_value(!known)),
            Err(step) => Ok(Value::Sum(self.bit(Step::Not(step))?)),
        }
    }

    fn extreme(&mut self, is_greatest: bool, values: Vec<Value>, position: usize) -> Folded {
        let mut values = values.into_iter();
        let mut extreme = values.next().unwrap_or(Value::Constant(Ratio::zero()));
        for value in values {
            let when = Outcomes { less: !is_greatest, equal: false, greater: is_greatest };
            let (a, b) = (self.ends(&extreme), self.ends(&value));
            let end = |a: Ratio, b: Ratio| if is_greatest { a.max(b) } else { a.min(b) };
            let holds = self.compared(when, extreme.clone(), value.clone())?;
            extreme = self.choose(holds, extreme, value, position)?;
            self.narrow(&extreme, (end(a.0, b.0), end(a.1, b.1)));
        }
        Ok(extreme)
    }

    fn choose(&mut self, condition: Value, then: Value, otherwise: Value, position: usize) -> Folded {
        match self.truth(condition, position)? {
            Ok(true) => Ok(then),
            Ok(false) => Ok(otherwise),
            Err(bit) => self.chosen(bit, then, otherwise),
        }
    }
}

#[cfg(test)]
mod tests;
