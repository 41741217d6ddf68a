// SPDX-License-Identifier: Apache-2.0
//! From a tree to a circuit.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Zero};

use crate::error::Size;
use crate::step::{Input, Step};
use crate::tree::{Node, Repeat, check_bits};
use crate::{ExprError, Interval, Ratio};

/// Largest degree of a product in the vectors.
const MAX_DEGREE: u64 = 1024;
/// Most terms of a sum that distribution may make.
const MAX_TERMS: usize = 256;

/// Most products of atoms that are tried.
const MAX_WORK: usize = 1 << 16;

/// What sums are made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Atom {
    /// A vector, as it is encrypted.
    Input(usize),
    /// A sum that is a factor; coefficients without a common divisor, the first positive.
    Linear { constant: BigInt, terms: Vec<(usize, BigInt)> },
    /// Places with exponents, rising; at least two factors.
    Product(Vec<(usize, u32)>),
}

/// `constant + Σ coefficient·atom`; no coefficient is zero.
#[derive(Clone, Debug)]
struct Affine {
    constant: Ratio,
    terms: BTreeMap<usize, Ratio>,
}

/// Factors with exponents.
type Factors = Vec<(usize, u32)>;

impl Affine {
    fn constant(constant: Ratio) -> Self {
        Self { constant, terms: BTreeMap::new() }
    }

    fn plus(mut self, other: Self) -> Result<Self, ExprError> {
        self.constant = &self.constant + &other.constant;
        check_bits(self.constant.bits())?;
        for (atom, coefficient) in other.terms {
            let sum = match self.terms.remove(&atom) {
                None => coefficient,
                Some(present) => &present + &coefficient,
            };
            check_bits(sum.bits())?;
            if !sum.is_zero() {
                self.terms.insert(atom, sum);
            }
        }
        Ok(self)
    }

    fn scaled(self, factor: &Ratio) -> Result<Self, ExprError> {
        if factor.is_zero() {
            return Ok(Self::constant(Ratio::zero()));
        }
        let scale = |value: &Ratio| {
            let scaled = value * factor;
            check_bits(scaled.bits())?;
            Ok::<_, ExprError>(scaled)
        };
        let terms = self.terms.iter().map(|(&atom, value)| Ok((atom, scale(value)?)));
        Ok(Self { constant: scale(&self.constant)?, terms: terms.collect::<Result<_, ExprError>>()? })
    }
}

pub(crate) struct Builder<'a> {
    inputs: &'a [Input],
    /// Whether products of sums are distributed.
    distributes: bool,
    atoms: Vec<Atom>,
    places: HashMap<Atom, usize>,
    /// States of the repetitions around.
    locals: Vec<Affine>,
    /// Products made so far.
    work: usize,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(inputs: &'a [Input], distributes: bool) -> Self {
        Self { inputs, distributes, atoms: Vec::new(), places: HashMap::new(), locals: Vec::new(), work: 0 }
    }

    pub(crate) fn build(mut self, root: &Node) -> Result<Built, ExprError> {
        let value = match root {
            Node::Call { arguments, .. } => {
                let mut product = Affine::constant(Ratio::one());
                for argument in arguments {
                    let argument = self.affine(argument)?;
                    product = self.times(product, argument)?;
                }
                product
            }
            node => self.affine(node)?,
        };
        let constant = value.constant.clone();
        // The constant is the owner's to add.
        let output = Affine { constant: Ratio::zero(), ..value };
        if output.terms.is_empty() {
            return Err(ExprError::Constant);
        }
        let (factor, output) = self.primitive(&output);
        let mut lowering = Lowering { atoms: &self.atoms, inputs: self.inputs, ..Lowering::default() };
        lowering.run(&output)?;
        let Lowering { steps, depths, ranges, .. } = lowering;
        Ok(Built { steps, depths, ranges, factor, constant })
    }

    fn affine(&mut self, node: &Node) -> Result<Affine, ExprError> {
        match node {
            Node::Call { function, position, .. } => {
                Err(ExprError::Aggregate { position: *position, function: function.name() })
            }
            Node::Gate(gate) => Err(gate.refused()),
            Node::Name(index) => {
                let unit = self.inputs.get(*index).map_or_else(Ratio::one, |input| input.unit.clone());
                let atom = self.intern(Atom::Input(*index));
                Ok(Affine { constant: Ratio::zero(), terms: BTreeMap::from([(atom, unit)]) })
            }
            Node::Local(index) => Ok(self.locals[*index].clone()),
            Node::Negative(inner) => self.affine(inner)?.scaled(&-Ratio::one()),
            Node::Number(number) => Ok(Affine::constant(number.clone())),
            Node::Power(base, exponent) => {
                let base = self.affine(base)?;
                self.power(&base, *exponent)
            }
            Node::Product(factors) => {
                let mut product = Affine::constant(Ratio::one());
                for factor in factors {
                    let factor = self.affine(factor)?;
                    product = self.times(product, factor)?;
                }
                Ok(product)
            }
            Node::Reciprocal { of, position } => {
                let of = self.affine(of)?;
                if !of.terms.is_empty() {
                    return Err(ExprError::Division { position: *position });
                }
                let zero = ExprError::DivisionByZero { position: *position };
                Ok(Affine::constant(of.constant.recip().ok_or(zero)?))
            }
            Node::Repeat(repeat) => self.repeated(repeat),
            Node::Sum(terms) => {
                let mut sum = Affine::constant(Ratio::zero());
                for term in terms {
                    sum = sum.plus(self.affine(term)?)?;
                }
                Ok(sum)
            }
        }
    }

    fn repeated(&mut self, repeat: &Repeat) -> Result<Affine, ExprError> {
        let outer = self.locals.len();
        let starts = repeat.states.iter().map(|state| self.affine(&state.start));
        let mut states = starts.collect::<Result<Vec<_>, _>>()?;
        for _ in 0..repeat.count {
            self.locals.append(&mut states);
            states = repeat.states.iter().map(|state| self.affine(&state.next)).collect::<Result<_, _>>()?;
            self.locals.truncate(outer);
        }
        Ok(states.swap_remove(0))
    }

    fn power(&mut self, base: &Affine, exponent: u32) -> Result<Affine, ExprError> {
        let mut power = Affine::constant(Ratio::one());
        if base.terms.is_empty() {
            check_bits(base.constant.bits().saturating_mul(u64::from(exponent)))?;
            return Ok(Affine::constant(base.constant.pow(exponent)));
        }
        for _ in 0..exponent {
            power = self.times(power, base.clone())?;
        }
        Ok(power)
    }

    fn times(&mut self, a: Affine, b: Affine) -> Result<Affine, ExprError> {
        if a.terms.is_empty() {
            return b.scaled(&a.constant);
        }
        if b.terms.is_empty() {
            return a.scaled(&b.constant);
        }
        if self.distributes {
            return self.distributed(&a, &b);
        }
        let ((factor, a), (other, b)) = (self.factors(&a), self.factors(&b));
        let coefficient = &factor * &other;
        check_bits(coefficient.bits())?;
        let atom = self.product(a.into_iter().chain(b))?;
        Ok(Affine { constant: Ratio::zero(), terms: BTreeMap::from([(atom, coefficient)]) })
    }

    fn distributed(&mut self, a: &Affine, b: &Affine) -> Result<Affine, ExprError> {
        let mut sum = b.clone().scaled(&a.constant)?;
        let own = Affine { constant: Ratio::zero(), ..a.clone() };
        sum = sum.plus(own.scaled(&b.constant)?)?;
        for (&left, x) in &a.terms {
            for (&right, y) in &b.terms {
                let factors = [left, right].map(|atom| self.factors_of(atom));
                let atom = self.product(factors.into_iter().flatten())?;
                let term = Affine { constant: Ratio::zero(), terms: BTreeMap::from([(atom, x * y)]) };
                sum = sum.plus(term)?;
                if sum.terms.len() > MAX_TERMS {
                    return Err(ExprError::TooLarge { what: Size::Operations, limit: MAX_TERMS });
                }
            }
        }
        Ok(sum)
    }

    /// An affine value that depends on the vectors as a number times a product.
    fn factors(&mut self, value: &Affine) -> (Ratio, Factors) {
        if let (true, 1, Some((&atom, coefficient))) =
            (value.constant.is_zero(), value.terms.len(), value.terms.first_key_value())
        {
            return (coefficient.clone(), self.factors_of(atom));
        }
        let (factor, (constant, terms)) = self.primitive(value);
        (factor, vec![(self.intern(Atom::Linear { constant, terms }), 1)])
    }

    fn factors_of(&self, atom: usize) -> Factors {
        match self.atoms.get(atom) {
            Some(Atom::Product(factors)) => factors.clone(),
            _ => vec![(atom, 1)],
        }
    }

    fn product(&mut self, factors: impl Iterator<Item = (usize, u32)>) -> Result<usize, ExprError> {
        self.work += 1;
        if self.work > MAX_WORK {
            return Err(ExprError::TooLarge { what: Size::Operations, limit: MAX_WORK });
        }
        let mut exponents: BTreeMap<usize, u32> = BTreeMap::new();
        for (atom, exponent) in factors {
            *exponents.entry(atom).or_default() += exponent;
        }
        let degree: u64 = exponents.values().map(|&exponent| u64::from(exponent)).sum();
        if degree > MAX_DEGREE {
            return Err(ExprError::TooLarge { what: Size::Degree, limit: MAX_DEGREE as usize });
        }
        Ok(self.intern(Atom::Product(exponents.into_iter().collect())))
    }

    /// A value as a fraction times whole coefficients without a common divisor, the first positive.
    fn primitive(&self, value: &Affine) -> (Ratio, (BigInt, Vec<(usize, BigInt)>)) {
        let all = || value.terms.values().chain([&value.constant]).filter(|value| !value.is_zero());
        let numerators = all().fold(BigInt::zero(), |gcd, value| gcd.gcd(value.numerator()));
        let denominators = all().fold(BigInt::one(), |lcm, value| lcm.lcm(value.denominator()));
        let content = Ratio::new(numerators, denominators).unwrap_or_else(Ratio::one);
        let is_negative = value.terms.values().next().is_some_and(Ratio::is_negative);
        let factor = if is_negative { -content } else { content };
        let inverse = factor.recip().unwrap_or_else(Ratio::one);
        let whole = |value: &Ratio| (value * &inverse).numerator().clone();
        let terms = value.terms.iter().map(|(&atom, coefficient)| (atom, whole(coefficient))).collect();
        (factor, (whole(&value.constant), terms))
    }

    fn intern(&mut self, atom: Atom) -> usize {
        if let Some(&place) = self.places.get(&atom) {
            return place;
        }
        self.atoms.push(atom.clone());
        self.places.insert(atom, self.atoms.len() - 1);
        self.atoms.len() - 1
    }
}

/// The pieces of a circuit.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    pub(crate) steps: Vec<Step>,
    pub(crate) depths: Vec<u32>,
    pub(crate) ranges: Vec<Interval>,
    pub(crate) factor: Ratio,
    pub(crate) constant: Ratio,
}

impl Built {
    pub(crate) fn depth(&self) -> u32 {
        self.depths.last().copied().unwrap_or(0)
    }

    pub(crate) fn product_count(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step, Step::Product(..))).count()
    }

    /// Bounds of the result, with its constant: what is constant differs between circuits of one expression.
    pub(crate) fn result_range(&self) -> Interval {
        let constant = Interval::new(self.constant.clone(), self.constant.clone());
        self.ranges
            .last()
            .map_or_else(|| constant.clone(), |range| range.scaled(&self.factor).plus(&constant))
    }

    /// Bounds of the result, known from elsewhere.
    pub(crate) fn narrow(&mut self, result: &Interval) {
        if let (Some(range), Some(inverse)) = (self.ranges.last_mut(), self.factor.recip()) {
            let constant = -self.constant.clone();
            let varying = result.plus(&Interval::new(constant.clone(), constant));
            *range = range.meet(&varying.scaled(&inverse));
        }
    }
}

/// From atoms to steps.
#[derive(Default)]
struct Lowering<'a> {
    atoms: &'a [Atom],
    inputs: &'a [Input],
    steps: Vec<Step>,
    depths: Vec<u32>,
    ranges: Vec<Interval>,
    places: HashMap<Step, usize>,
    /// Steps of the atoms that are needed.
    of_atoms: Vec<usize>,
}

impl Lowering<'_> {
    fn run(&mut self, output: &(BigInt, Vec<(usize, BigInt)>)) -> Result<(), ExprError> {
        // Atoms refer to earlier ones.
        let mut needed = vec![false; self.atoms.len()];
        output.1.iter().for_each(|&(atom, _)| needed[atom] = true);
        for atom in (0..self.atoms.len()).rev() {
            if needed[atom] {
                self.operands(atom).into_iter().for_each(|operand| needed[operand] = true);
            }
        }
        self.of_atoms = vec![0; self.atoms.len()];
        for atom in (0..self.atoms.len()).filter(|&atom| needed[atom]) {
            let step = match &self.atoms[atom] {
                Atom::Input(input) => self.push(Step::Input(*input))?,
                Atom::Linear { constant, terms } => self.linear(constant, terms)?,
                Atom::Product(factors) => self.product(factors)?,
            };
            self.of_atoms[atom] = step;
        }
        let last = match output.1.as_slice() {
            [(atom, coefficient)] if coefficient.is_one() => self.of_atoms[*atom],
            terms => self.linear(&BigInt::zero(), terms)?,
        };
        // Needed atoms come before what needs them, and a product's last step is its own: nothing follows the output.
        debug_assert_eq!(last + 1, self.steps.len());
        Ok(())
    }

    fn operands(&self, atom: usize) -> Vec<usize> {
        match &self.atoms[atom] {
            Atom::Input(_) => Vec::new(),
            Atom::Linear { terms, .. } => terms.iter().map(|&(atom, _)| atom).collect(),
            Atom::Product(factors) => factors.iter().map(|&(atom, _)| atom).collect(),
        }
    }

    fn linear(&mut self, constant: &BigInt, terms: &[(usize, BigInt)]) -> Result<usize, ExprError> {
        let terms = terms.iter().map(|(atom, coefficient)| (self.of_atoms[*atom], coefficient.clone()));
        let step = Step::Linear { constant: constant.clone(), terms: terms.collect() };
        self.push(step)
    }

    /// The two of least depth first.
    fn product(&mut self, factors: &[(usize, u32)]) -> Result<usize, ExprError> {
        let mut heap = BinaryHeap::new();
        for &(atom, exponent) in factors {
            let step = self.of_atoms[atom];
            heap.extend((0..exponent).map(|_| Reverse((self.depths[step], step))));
        }
        loop {
            match (heap.pop(), heap.pop()) {
                (Some(Reverse((_, a))), Some(Reverse((_, b)))) => {
                    let step = self.push(Step::Product(a.min(b), a.max(b)))?;
                    heap.push(Reverse((self.depths[step], step)));
                }
                (Some(Reverse((_, step))), None) => return Ok(step),
                (None, _) => return Ok(0),
            }
        }
    }

    fn push(&mut self, step: Step) -> Result<usize, ExprError> {
        if let Some(&place) = self.places.get(&step) {
            return Ok(place);
        }
        let (depth, range) = match &step {
            Step::Input(input) => {
                let range = self.inputs.get(*input).map(|input| input.range.clone());
                (0, range.unwrap_or_else(|| Interval::new(Ratio::zero(), Ratio::zero())))
            }
            Step::Linear { constant, terms } => {
                let start = Ratio::from(constant.clone());
                let start = (0, Interval::new(start.clone(), start));
                terms.iter().fold(start, |(depth, range), (place, coefficient)| {
                    let term = self.ranges[*place].scaled(&Ratio::from(coefficient.clone()));
                    (depth.max(self.depths[*place]), range.plus(&term))
                })
            }
            Step::Product(a, b) => {
                let range =
                    if a == b { self.ranges[*a].squared() } else { self.ranges[*a].times(&self.ranges[*b]) };
                (1 + self.depths[*a].max(self.depths[*b]), range)
            }
        };
        check_bits(range.low().bits().max(range.high().bits()))?;
        self.places.insert(step.clone(), self.steps.len());
        self.steps.push(step);
        self.depths.push(depth);
        self.ranges.push(range);
        Ok(self.steps.len() - 1)
    }
}
