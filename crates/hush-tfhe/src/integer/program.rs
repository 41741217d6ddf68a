// SPDX-License-Identifier: Apache-2.0
//! Programs on vectors of integers: public, and the same for every element.

use super::digit::{BASE, DIGIT_BITS, Digit, Integer};
use super::engine::Engine;
use crate::{Answers, Fresh, Lwe, ServerKey, TfheError};
use hush_params::tfhe::INTEGERS;

/// Orders of two numbers that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outcomes {
    /// The first is less.
    pub less: bool,
    /// Both are equal.
    pub equal: bool,
    /// The first is greater.
    pub greater: bool,
}

impl Outcomes {
    /// Whether less and greater make no difference.
    pub(super) fn is_equality(self) -> bool {
        self.less == self.greater
    }

    /// The same of the numbers in the other order.
    pub fn turned(self) -> Self {
        Self { less: self.greater, equal: self.equal, greater: self.less }
    }

    /// Whether two numbers compare as wanted.
    pub fn hold(self, left: i128, right: i128) -> bool {
        match left.cmp(&right) {
            std::cmp::Ordering::Less => self.less,
            std::cmp::Ordering::Equal => self.equal,
            std::cmp::Ordering::Greater => self.greater,
        }
    }
}

/// An earlier step, or a number that everybody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A constant.
    Constant(i128),
    /// The step at this place.
    Step(usize),
}

/// One operation. Numbers are places of earlier steps; those of bits are 0 and 1.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// All of them are 1: steps of bits.
    All(Vec<usize>),
    /// At least one of them is 1: steps of bits.
    Any(Vec<usize>),
    /// The first where a bit is 1, the second where it is 0.
    Choose(usize, Operand, Operand),
    /// A bit: whether the first compares with the second as wanted.
    Compare(usize, Operand, Outcomes),
    /// An encrypted vector of numbers from 0 on, whose digits but the last are below 4, and the last up to `last`; or, if it has all digits of the program, any.
    Input {
        /// Its place among the vectors.
        vector: usize,
        /// Digits that are sent.
        digits: usize,
        /// The largest value of the last of them, 1 to 3.
        last: u64,
    },
    /// `constant + Σ factor·step`; at least one term.
    Linear(i128, Vec<(usize, i128)>),
    /// The entry at the place that an earlier step is, modulo 16 and counted from 0; the last one for places beyond. 1 to 16 entries.
    LookUp(usize, Vec<i128>),
    /// The other bit.
    Not(usize),
    /// An odd number of them is 1: steps of bits.
    Odd(Vec<usize>),
    /// The product of two steps, or the square of one.
    Product(usize, usize),
}

/// A program. The last step is the result.
///
/// *Invariants* (checked by [`Program::new`]): steps refer to earlier ones, and to bits where they must; there are 1 to 32 digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    digits: usize,
    is_signed: bool,
    steps: Vec<Step>,
    is_summed: bool,
}

/// An input of a program.
pub enum Sent<'a> {
    /// The object of an owner, with the digits of all elements.
    Object(&'a [u8]),
    /// The digits of all elements, one element after the other: as they come from a bootstrapping, within what the step of the input says.
    Digits(Vec<Lwe>),
}

/// What a program takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Bootstrappings.
    pub bootstraps: u64,
    /// Batches of bootstrappings, one after another.
    pub rounds: u64,
}

/// Most steps of a program, and most operands of one.
const MAX_STEPS: usize = 1 << 16;
/// Most entries that are looked up: those that two digits tell apart.
const MAX_ENTRIES: usize = 16;
/// Most digits of a vector that are sent at once: as ciphertexts they take 1 GB.
const MAX_SENT: usize = 1 << 16;
/// Most digits of an integer: 64 bits.
const MAX_DIGITS: usize = 32;

impl Program {
    /// A program on integers modulo `4^digits`, compared as signed ones or not; with the sum over all elements at its end, or without.
    ///
    /// # Errors
    /// [`TfheError::Width`] for no digits, or more than 32, and for constants that integers cannot be; [`TfheError::Count`] for steps that refer to none before them, or to numbers where bits belong.
    pub fn new(digits: usize, is_signed: bool, steps: Vec<Step>, is_summed: bool) -> Result<Self, TfheError> {
        if !(1..=MAX_DIGITS).contains(&digits) {
            return Err(TfheError::Width { found: digits, expected: digits.clamp(1, MAX_DIGITS) });
        }
        let program = Self { digits, is_signed, steps, is_summed };
        program.check()?;
        Ok(program)
    }

    fn check(&self) -> Result<(), TfheError> {
        let count = self.steps.len();
        let refuse = |what, found: usize, expected: usize| {
            Err(TfheError::Count { what, found: found as u64, expected: expected as u64 })
        };
        if count == 0 || count > MAX_STEPS {
            return refuse("steps of a program", count, count.clamp(1, MAX_STEPS));
        }
        let mut is_bit: Vec<bool> = Vec::with_capacity(count);
        for (place, step) in self.steps.iter().enumerate() {
            let operands = step.operands();
            if let Some(later) = operands.iter().find(|operand| **operand >= place) {
                return refuse("as an earlier step of a program", *later, place.saturating_sub(1));
            }
            if let Some(constant) = step.constants().find(|constant| self.wrapped(*constant) != *constant) {
                let bits = 128 - constant.unsigned_abs().leading_zeros() + 1;
                return Err(TfheError::Width {
                    found: bits.div_ceil(DIGIT_BITS) as usize,
                    expected: self.digits,
                });
            }
            let of_bits = match step {
                Step::All(bits) | Step::Any(bits) | Step::Odd(bits) => &bits[..],
                Step::Not(bit) | Step::Choose(bit, ..) => std::slice::from_ref(bit),
                _ => &[],
            };
            if let Some(number) = of_bits.iter().find(|bit| !is_bit[**bit]) {
                return refuse("as a step of bits", *number, place);
            }
            is_bit.push(match step {
                Step::All(bits) | Step::Any(bits) | Step::Odd(bits)
                    if bits.is_empty() || bits.len() > MAX_STEPS =>
                {
                    return refuse("bits of a step", bits.len(), bits.len().clamp(1, MAX_STEPS));
                }
                Step::Linear(_, terms) if terms.is_empty() || terms.len() > MAX_STEPS => {
                    return refuse("terms of a sum", terms.len(), terms.len().clamp(1, MAX_STEPS));
                }
                Step::LookUp(_, entries) if entries.is_empty() || entries.len() > MAX_ENTRIES => {
                    return refuse("entries of a step", entries.len(), entries.len().clamp(1, MAX_ENTRIES));
                }
                Step::LookUp(_, entries) => entries.iter().all(|entry| matches!(entry, 0 | 1)),
                Step::Input { digits, last, .. } => {
                    if !(1..=self.digits).contains(digits) || !(1..BASE).contains(last) {
                        return Err(TfheError::Width { found: *digits, expected: self.digits });
                    }
                    (*digits, *last) == (1, 1)
                }
                Step::All(_) | Step::Any(_) | Step::Odd(_) | Step::Not(_) | Step::Compare(..) => true,
                Step::Choose(..) | Step::Linear(..) | Step::Product(..) => false,
            });
        }
        Ok(())
    }

    /// Digits of its integers.
    pub fn digits(&self) -> usize {
        self.digits
    }
    /// Whether integers are compared as signed ones.
    pub fn is_signed(&self) -> bool {
        self.is_signed
    }
    /// The steps.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
    /// Whether the elements of the result are added up.
    pub fn is_summed(&self) -> bool {
        self.is_summed
    }

    /// Bits of its integers.
    pub fn bits(&self) -> u32 {
        DIGIT_BITS * self.digits as u32
    }

    /// Digits that are sent of each vector, in the order of its elements: vectors in the order of their steps.
    pub fn inputs(&self) -> impl Iterator<Item = (usize, usize)> {
        self.steps.iter().filter_map(|step| match step {
            Step::Input { vector, digits, .. } => Some((*vector, *digits)),
            _ => None,
        })
    }

    /// The digits of a value that are sent for an input of so many digits.
    pub fn digits_of(value: i128, digits: usize) -> impl Iterator<Item = u64> {
        (0..digits).map(move |place| (value >> (DIGIT_BITS as usize * place) & 3) as u64)
    }

    /// Ciphertexts of an answer about so many elements.
    pub fn answer_count(&self, length: usize) -> usize {
        self.digits * if self.is_summed { 1 } else { length }
    }

    /// The results in the digits of an answer.
    pub fn results(&self, digits: &[u64]) -> Vec<i128> {
        let value = |digits: &[u64]| {
            let value =
                digits.iter().rev().fold(0, |value, digit| value * i128::from(BASE) + i128::from(*digit));
            self.wrapped(value)
        };
        digits.chunks(self.digits).map(value).collect()
    }

    /// The number modulo `4^digits` that integers of the program can be.
    fn wrapped(&self, value: i128) -> i128 {
        let bits = DIGIT_BITS as usize * self.digits;
        let rest = value & ((1 << bits) - 1);
        if self.is_signed && rest >> (bits - 1) & 1 == 1 { rest - (1 << bits) } else { rest }
    }

    /// The result for one element, in the clear, without the sum over elements: the reference of everything else here.
    ///
    /// Values beyond the range of the program's integers wrap.
    pub fn value(&self, vectors: &[i128]) -> i128 {
        let mut values: Vec<i128> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let of = |operand: &Operand| match operand {
                Operand::Constant(value) => self.wrapped(*value),
                Operand::Step(place) => values[*place],
            };
            let value = match step {
                Step::Input { vector, .. } => vectors.get(*vector).copied().unwrap_or(0),
                Step::Linear(constant, terms) => terms.iter().fold(*constant, |sum, (place, factor)| {
                    sum.wrapping_add(values[*place].wrapping_mul(*factor))
                }),
                Step::Product(a, b) => values[*a].wrapping_mul(values[*b]),
                Step::LookUp(at, entries) => {
                    let at =
                        values[*at].rem_euclid(MAX_ENTRIES.min(1 << self.bits().min(4)) as i128) as usize;
                    entries.get(at).or(entries.last()).copied().unwrap_or(0)
                }
                Step::Not(bit) => 1 - values[*bit],
                Step::All(bits) => i128::from(bits.iter().all(|bit| values[*bit] == 1)),
                Step::Any(bits) => i128::from(bits.iter().any(|bit| values[*bit] == 1)),
                Step::Odd(bits) => bits.iter().map(|bit| values[*bit]).sum::<i128>() % 2,
                Step::Compare(left, right, when) => i128::from(when.hold(values[*left], of(right))),
                Step::Choose(bit, then, otherwise) => {
                    if values[*bit] == 1 {
                        of(then)
                    } else {
                        of(otherwise)
                    }
                }
            };
            values.push(self.wrapped(value));
        }
        values.last().copied().unwrap_or(0)
    }

    /// What it takes for so many elements: counted by the code that evaluates.
    ///
    /// # Errors
    /// None for a program that [`Program::new`] has checked.
    pub fn cost(&self, length: usize) -> Result<Cost, TfheError> {
        // Elements have one shape, and share their rounds. A sum over them does not scale: it is counted as it is.
        let counted = if self.is_summed { length } else { length.min(1) };
        let mut engine = Engine::new(None);
        let inputs = self.inputs().map(|(_, digits)| vec![None; digits * counted]).collect();
        self.run(&mut engine, inputs, counted)?;
        let times = if self.is_summed { 1 } else { length as u64 };
        Ok(Cost { bootstraps: engine.count * times, rounds: engine.rounds })
    }

    /// Evaluates it on what an owner has sent: for each input an object of the digits of all elements. Gives the object of the answer.
    ///
    /// # Errors
    /// A [`TfheError`] for objects that are not the program's.
    pub fn serve(&self, key: &ServerKey, length: usize, uploads: &[Vec<u8>]) -> Result<Vec<u8>, TfheError> {
        let sent = uploads.iter().map(|bytes| Sent::Object(bytes)).collect();
        self.serve_sent(key, length, sent)
    }

    /// [`Program::serve`] of inputs of which some are digits that the server has already.
    ///
    /// # Errors
    /// As there.
    pub fn serve_sent(
        &self,
        key: &ServerKey,
        length: usize,
        sent: Vec<Sent<'_>>,
    ) -> Result<Vec<u8>, TfheError> {
        let context = key.context();
        let results = self.evaluated(key, length, sent)?;
        let digits: Vec<Lwe> =
            results.iter().flat_map(|integer| &integer.0).map(|digit| digit.to_lwe(context)).collect();
        Ok(Answers(key.switch(&digits.iter().collect::<Vec<_>>())?).encode(context))
    }

    /// As [`Program::serve_sent`], for digits that stay on the server: those of each result, the lowest first, as [`Sent::Digits`] takes them.
    ///
    /// # Errors
    /// As there.
    pub fn digits_sent(
        &self,
        key: &ServerKey,
        length: usize,
        sent: Vec<Sent<'_>>,
    ) -> Result<Vec<Vec<Lwe>>, TfheError> {
        let results = Engine::new(Some(key)).cleaned(&self.evaluated(key, length, sent)?)?;
        let of_result = |result: &Integer| result.0.iter().map(|digit| digit.to_lwe(key.context())).collect();
        Ok(results.iter().map(of_result).collect())
    }

    fn evaluated(
        &self,
        key: &ServerKey,
        length: usize,
        sent: Vec<Sent<'_>>,
    ) -> Result<Vec<Integer>, TfheError> {
        let context = key.context();
        if context.set() != &INTEGERS {
            return Err(TfheError::Mixed { expected: INTEGERS.name() });
        }
        let (found, expected) = (sent.len() as u64, self.inputs().count() as u64);
        if found != expected {
            return Err(TfheError::Count { what: "vectors", found, expected });
        }
        let decode = |((_, digits), sent): ((usize, usize), Sent<'_>)| {
            let count = digits.checked_mul(length).filter(|count| *count <= MAX_SENT);
            let too_many = TfheError::Count {
                what: "elements at once",
                found: length as u64,
                expected: MAX_SENT as u64,
            };
            let count = count.ok_or(too_many)?;
            let digits = match sent {
                Sent::Object(bytes) => Fresh::decode(context, count, bytes)?,
                Sent::Digits(digits) if digits.len() == count => digits,
                Sent::Digits(digits) => {
                    let (found, expected) = (digits.len() as u64, count as u64);
                    return Err(TfheError::Count { what: "digits", found, expected });
                }
            };
            key.expect_own(digits.iter())?;
            Ok(digits.into_iter().map(Some).collect())
        };
        let inputs = self.inputs().zip(sent).map(decode).collect::<Result<Vec<_>, TfheError>>()?;
        self.run(&mut Engine::new(Some(key)), inputs, length)
    }

    fn run(
        &self,
        engine: &mut Engine<'_>,
        inputs: Vec<Vec<Option<Lwe>>>,
        length: usize,
    ) -> Result<Vec<Integer>, TfheError> {
        let mut inputs = inputs.into_iter();
        let mut values: Vec<Vec<Integer>> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let value = match step {
                Step::Input { digits, last, .. } => {
                    self.input(inputs.next().unwrap_or_default(), (*digits, *last), length)
                }
                step => self.step(engine, step, &values, length)?,
            };
            values.push(value);
        }
        let results = values.pop().unwrap_or_default();
        if !self.is_summed {
            return Ok(results);
        }
        let results = engine.cleaned(&results)?;
        let of_place =
            |place: usize| results.iter().filter_map(|integer| integer.0.get(place).cloned()).collect();
        engine.add_up(vec![(0..self.digits).map(of_place).collect()])
    }

    fn input(&self, sent: Vec<Option<Lwe>>, (digits, last): (usize, u64), length: usize) -> Vec<Integer> {
        let mut sent = sent.into_iter();
        let mut digit = |place: usize| match place < digits {
            true => Digit::clean(sent.next().flatten(), if place + 1 == digits { last } else { BASE - 1 }),
            false => Digit::constant(0),
        };
        (0..length).map(|_| Integer((0..self.digits).map(&mut digit).collect())).collect()
    }

    fn step(
        &self,
        engine: &mut Engine<'_>,
        step: &Step,
        values: &[Vec<Integer>],
        length: usize,
    ) -> Result<Vec<Integer>, TfheError> {
        let of = |operand: &Operand| match operand {
            Operand::Constant(value) => vec![Integer::constant(*value, self.digits); length],
            Operand::Step(place) => values[*place].clone(),
        };
        let bits = |place: &usize| values[*place].iter().map(Integer::lowest).collect::<Vec<_>>();
        // For each element the bits of all steps.
        let lists = |steps: &[usize]| {
            let steps: Vec<Vec<Digit>> = steps.iter().map(bits).collect();
            (0..length)
                .map(|element| steps.iter().filter_map(|step| step.get(element).cloned()).collect())
                .collect()
        };
        let found = match step {
            Step::Input { .. } => return Ok(Vec::new()),
            Step::Linear(constant, terms) => {
                let terms: Vec<_> =
                    terms.iter().map(|(place, factor)| (values[*place].clone(), *factor)).collect();
                return engine.linear(self.digits, *constant, &terms, length);
            }
            Step::Product(a, b) => {
                return engine.multiply(self.digits, (&values[*a], &values[*b], a == b));
            }
            Step::LookUp(at, entries) => return engine.entries(&values[*at], entries, self.digits),
            Step::Choose(bit, then, otherwise) => {
                return engine.choose(&bits(bit), (&of(then), &of(otherwise)));
            }
            Step::Compare(left, right, when) => {
                engine.compare((&values[*left], &of(right)), *when, self.is_signed)?
            }
            Step::All(steps) => engine.all(lists(steps))?,
            Step::Any(steps) => engine.any(lists(steps))?,
            Step::Odd(steps) => engine.odd(lists(steps))?,
            Step::Not(bit) => bits(bit).iter().map(|bit| bit.taken_from(1)).collect::<Result<_, _>>()?,
        };
        Ok(found.into_iter().map(|bit| Integer::bit(bit, self.digits)).collect())
    }
}

impl Step {
    /// Constants that are compared, chosen or looked up.
    pub fn constants(&self) -> impl Iterator<Item = i128> {
        let entries = if let Self::LookUp(_, entries) = self { &entries[..] } else { &[] };
        let operands = match self {
            Self::Compare(_, right, _) => [Some(*right), None],
            Self::Choose(_, then, otherwise) => [Some(*then), Some(*otherwise)],
            _ => [None, None],
        };
        let operands = operands.into_iter().flatten().filter_map(|operand| match operand {
            Operand::Constant(constant) => Some(constant),
            Operand::Step(_) => None,
        });
        operands.chain(entries.iter().copied())
    }

    /// The same with other places of the steps that it refers to.
    pub fn moved(&self, place: impl Fn(usize) -> usize) -> Self {
        let moved = |places: &[usize]| places.iter().map(|step| place(*step)).collect();
        let operand = |operand: &Operand| match operand {
            Operand::Constant(_) => *operand,
            Operand::Step(step) => Operand::Step(place(*step)),
        };
        match self {
            Self::Input { .. } => self.clone(),
            Self::All(bits) => Self::All(moved(bits)),
            Self::Any(bits) => Self::Any(moved(bits)),
            Self::Odd(bits) => Self::Odd(moved(bits)),
            Self::Not(bit) => Self::Not(place(*bit)),
            Self::LookUp(at, entries) => Self::LookUp(place(*at), entries.clone()),
            Self::Linear(constant, terms) => {
                Self::Linear(*constant, terms.iter().map(|(step, factor)| (place(*step), *factor)).collect())
            }
            Self::Product(a, b) => Self::Product(place(*a), place(*b)),
            Self::Compare(left, right, when) => Self::Compare(place(*left), operand(right), *when),
            Self::Choose(bit, then, otherwise) => {
                Self::Choose(place(*bit), operand(then), operand(otherwise))
            }
        }
    }

    /// The steps that it refers to.
    pub fn operands(&self) -> Vec<usize> {
        let step = |operand: &Operand| match operand {
            Operand::Constant(_) => None,
            Operand::Step(place) => Some(*place),
        };
        match self {
            Self::Input { .. } => Vec::new(),
            Self::All(bits) | Self::Any(bits) | Self::Odd(bits) => bits.clone(),
            Self::Not(place) | Self::LookUp(place, _) => vec![*place],
            Self::Linear(_, terms) => terms.iter().map(|(place, _)| *place).collect(),
            Self::Product(a, b) => vec![*a, *b],
            Self::Compare(left, right, _) => std::iter::once(*left).chain(step(right)).collect(),
            Self::Choose(bit, then, otherwise) => {
                std::iter::once(*bit).chain(step(then)).chain(step(otherwise)).collect()
            }
        }
    }
}
