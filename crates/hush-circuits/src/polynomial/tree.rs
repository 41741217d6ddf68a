// SPDX-License-Identifier: Apache-2.0
//! The evaluation of a polynomial by divisions, whatever the arithmetic.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::{Add, Sub};
use std::rc::Rc;

use hush_ring::Level;

use crate::CircuitError;

/// The domain of a polynomial's coefficients.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// Chebyshev polynomials `T_i`, for arguments from −1 to 1.
    Chebyshev,
    /// Powers `X^i`.
    Power,
}

/// The cost of an evaluation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PolynomialCost {
    /// Levels.
    pub depth: u32,
    /// Products of ciphertexts.
    pub products: usize,
    /// Divisions to a level below of three components: each a key switch.
    pub relinearisations: usize,
    /// Divisions of two components.
    pub divisions: usize,
    /// Products with coefficients.
    pub scalings: usize,
}

impl PolynomialCost {
    /// In units of about one product: a key switch is worth several.
    fn weight(&self) -> usize {
        2 * self.products + 12 * self.relinearisations + 3 * self.divisions + self.scalings
    }
}

/// Ciphertext arithmetic as the tree needs it. An **undivided** value at a level stands at that level's own scale squared (or
/// factor squared); it may have three components.
pub(crate) trait Arithmetic {
    type Value: Clone;
    type Scalar: Copy + Default + PartialEq + Add<Output = Self::Scalar> + Sub<Output = Self::Scalar>;

    fn one(&self) -> Self::Scalar;
    fn level(&self, a: &Self::Value) -> Level;
    /// `a·b` undivided; both at one level and its own scale.
    fn product(&self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value, CircuitError>;
    /// `scalar·a`, undivided at `level`, for an `a` at its own level's scale, at `level` or above.
    fn scaled(
        &self,
        a: &Self::Value,
        scalar: Self::Scalar,
        level: Level,
    ) -> Result<Self::Value, CircuitError>;
    /// Adds `scalar·a` to an undivided value, as [`Arithmetic::scaled`] at its level.
    fn add_scaled(
        &self,
        sum: &mut Self::Value,
        a: &Self::Value,
        scalar: Self::Scalar,
    ) -> Result<(), CircuitError> {
        let term = self.scaled(a, scalar, self.level(sum))?;
        self.add(sum, &term)
    }
    /// The sum of two undivided values of one level.
    fn add(&self, a: &mut Self::Value, b: &Self::Value) -> Result<(), CircuitError>;
    /// `a + scalar`, divided.
    fn add_scalar(&self, a: &Self::Value, scalar: Self::Scalar) -> Result<Self::Value, CircuitError>;
    /// Two components at the level below and its own scale, of an undivided value.
    fn divide(&self, a: &Self::Value) -> Result<Self::Value, CircuitError>;
    /// `a`, with no slot above `2^limit_log2`. The caller knows this; arithmetic on bounds cannot see it.
    fn bounded(&self, a: Self::Value, limit_log2: f64) -> Self::Value {
        let _ = limit_log2;
        a
    }
    /// Whether [`Arithmetic::scaled`] reaches a lower level at no more cost than its own.
    fn descends_freely(&self, a: &Self::Value, level: Level) -> bool {
        let _ = (a, level);
        true
    }
    /// `a` at a lower level and its own scale.
    fn lowered(&self, a: &Self::Value, level: Level) -> Result<Self::Value, CircuitError> {
        if self.level(a) == level {
            return Ok(a.clone());
        }
        self.divide(&self.scaled(a, self.one(), Level(level.0 + 1))?)
    }
}

/// One evaluation: the powers of the argument that have been computed.
pub(super) struct Tree<'a, A: Arithmetic> {
    arithmetic: &'a A,
    basis: Basis,
    /// log2 of the number of baby powers.
    baby_log2: u32,
    top: Level,
    powers: BTreeMap<usize, Rc<A::Value>>,
    lowered: BTreeMap<(usize, Level), Rc<A::Value>>,
}

impl<'a, A: Arithmetic> Tree<'a, A> {
    pub(super) fn new(arithmetic: &'a A, basis: Basis, baby_log2: u32, argument: A::Value) -> Self {
        let top = arithmetic.level(&argument);
        let powers = BTreeMap::from([(1, Rc::new(argument))]);
        Self { arithmetic, basis, baby_log2, top, powers, lowered: BTreeMap::new() }
    }

    /// `p(argument)`, `depth` levels below the argument. The degree is at least 1 and below `2^depth`, and there are levels.
    pub(super) fn value(&mut self, coefficients: &[A::Scalar], depth: u32) -> Result<A::Value, CircuitError> {
        let (sum, constant) = self.undivided(coefficients, depth)?;
        let Some(sum) = sum else {
            return Err(CircuitError::Degree { found: 0, max: super::MAX_DEGREE });
        };
        let value = self.arithmetic.divide(&sum)?;
        if constant == A::Scalar::default() {
            return Ok(value);
        }
        self.arithmetic.add_scalar(&value, constant)
    }

    /// The polynomial without its constant, undivided one level above `depth`; and the constant.
    fn undivided(
        &mut self,
        coefficients: &[A::Scalar],
        depth: u32,
    ) -> Result<(Option<A::Value>, A::Scalar), CircuitError> {
        let degree = degree_of(coefficients);
        let Some(&constant) = coefficients.first() else { return Ok((None, A::Scalar::default())) };
        if degree == 0 {
            return Ok((None, constant));
        }
        let level = self.level(depth - 1)?;
        if degree < 1 << self.baby_log2 && depth_of_power(degree) < depth {
            let mut sum = None;
            for (index, &coefficient) in coefficients.iter().enumerate().skip(1) {
                if coefficient != A::Scalar::default() {
                    let power = self.descended(index, level)?;
                    match &mut sum {
                        Some(sum) => self.arithmetic.add_scaled(sum, &power, coefficient)?,
                        None => sum = Some(self.arithmetic.scaled(&power, coefficient, level)?),
                    }
                }
            }
            return Ok((sum, constant));
        }
        let step = 1 << degree.ilog2();
        let (quotient, rest) = divide(&coefficients[..=degree], self.basis, step);
        let term = if degree_of(&quotient) == 0 {
            let power = self.descended(step, level)?;
            self.arithmetic.scaled(&power, quotient[0], level)?
        } else {
            let quotient = self.value(&quotient, depth - 1)?;
            let power = self.lowered(step, level)?;
            self.arithmetic.product(&quotient, &power)?
        };
        let (mut sum, constant) = self.undivided(&rest, depth)?;
        self.add(&mut sum, term)?;
        Ok((sum, constant))
    }

    /// `B_index` of the argument, as high as it can be.
    fn power(&mut self, index: usize) -> Result<Rc<A::Value>, CircuitError> {
        if let Some(known) = self.powers.get(&index) {
            return Ok(known.clone());
        }
        let depth = depth_of_power(index);
        let level = self.level(depth - 1)?;
        let large = 1 << (depth - 1);
        let small = index - large;
        let (a, b) = (self.lowered(large, level)?, self.lowered(small, level)?);
        let mut product = self.arithmetic.product(&a, &b)?;
        let mut constant = A::Scalar::default();
        if self.basis == Basis::Chebyshev {
            let once = product.clone();
            self.arithmetic.add(&mut product, &once)?;
            let minus_one = constant - self.arithmetic.one();
            if large == small {
                constant = minus_one;
            } else {
                let rest = self.descended(large - small, level)?;
                self.arithmetic.add_scaled(&mut product, &rest, minus_one)?;
            }
        }
        let mut power = self.arithmetic.divide(&product)?;
        if constant != A::Scalar::default() {
            power = self.arithmetic.add_scalar(&power, constant)?;
        }
        if self.basis == Basis::Chebyshev {
            power = self.arithmetic.bounded(power, 0.0);
        }
        let power = Rc::new(power);
        self.powers.insert(index, power.clone());
        Ok(power)
    }

    /// `B_index`, from where a level is reached at no cost: one that is divided on its way there is kept.
    fn descended(&mut self, index: usize, level: Level) -> Result<Rc<A::Value>, CircuitError> {
        let power = self.power(index)?;
        if self.arithmetic.descends_freely(&power, level) { Ok(power) } else { self.lowered(index, level) }
    }

    /// `B_index` at a level and its own scale.
    fn lowered(&mut self, index: usize, level: Level) -> Result<Rc<A::Value>, CircuitError> {
        let power = self.power(index)?;
        if self.arithmetic.level(&power) == level {
            return Ok(power);
        }
        if let Some(known) = self.lowered.get(&(index, level)) {
            return Ok(known.clone());
        }
        let lowered = Rc::new(self.arithmetic.lowered(&power, level)?);
        self.lowered.insert((index, level), lowered.clone());
        Ok(lowered)
    }

    fn add(&self, sum: &mut Option<A::Value>, term: A::Value) -> Result<(), CircuitError> {
        match sum {
            Some(sum) => self.arithmetic.add(sum, &term)?,
            None => *sum = Some(term),
        }
        Ok(())
    }

    fn level(&self, depth: u32) -> Result<Level, CircuitError> {
        crate::error::check_depth(self.top, depth)?;
        Ok(Level(self.top.0 - depth as u8))
    }
}

/// `p = q·B_step + r` with `deg r < step`, for `step ≤ deg p < 2·step`.
fn divide<S>(coefficients: &[S], basis: Basis, step: usize) -> (Vec<S>, Vec<S>)
where
    S: Copy + Add<Output = S> + Sub<Output = S>,
{
    let (low, high) = coefficients.split_at(step);
    let (mut quotient, mut rest) = (high.to_vec(), low.to_vec());
    if basis == Basis::Chebyshev {
        // 2·T_step·T_i = T_(step+i) + T_(step−i).
        for (i, coefficient) in quotient.iter_mut().enumerate().skip(1) {
            rest[step - i] = rest[step - i] - *coefficient;
            *coefficient = *coefficient + *coefficient;
        }
    }
    (quotient, rest)
}

/// Position of the last coefficient that is not zero.
pub(super) fn degree_of<S: Default + PartialEq>(coefficients: &[S]) -> usize {
    coefficients.iter().rposition(|coefficient| *coefficient != S::default()).unwrap_or(0)
}

/// `⌈log2(degree + 1)⌉`.
pub(super) fn depth_of_degree(degree: usize) -> u32 {
    usize::BITS - degree.leading_zeros()
}

/// `⌈log2 index⌉`, for an index of at least 1.
fn depth_of_power(index: usize) -> u32 {
    depth_of_degree(index - 1)
}

/// The number of baby powers, as log2, that makes an evaluation cheapest, and what it then takes.
pub(super) fn cheapest<S>(
    coefficients: &[S],
    basis: Basis,
    one: S,
) -> Result<(u32, PolynomialCost), CircuitError>
where
    S: Copy + Default + PartialEq + Add<Output = S> + Sub<Output = S>,
{
    let depth = depth_of_degree(degree_of(coefficients));
    let mut best: Option<(u32, PolynomialCost)> = None;
    for baby_log2 in 1..=depth.max(1) {
        let tally = Tally { one, cost: RefCell::default() };
        let argument = Counted { level: Level(depth as u8), is_product: false };
        Tree::new(&tally, basis, baby_log2, argument).value(coefficients, depth)?;
        let cost = PolynomialCost { depth, ..tally.cost.into_inner() };
        if best.as_ref().is_none_or(|(_, known)| cost.weight() < known.weight()) {
            best = Some((baby_log2, cost));
        }
    }
    best.ok_or(CircuitError::Degree { found: 0, max: super::MAX_DEGREE })
}

/// Arithmetic that counts and computes nothing: it runs the same tree as the evaluation that it prices.
struct Tally<S> {
    one: S,
    cost: RefCell<PolynomialCost>,
}

#[derive(Clone)]
struct Counted {
    level: Level,
    is_product: bool,
}

impl<S> Arithmetic for Tally<S>
where
    S: Copy + Default + PartialEq + Add<Output = S> + Sub<Output = S>,
{
    type Value = Counted;
    type Scalar = S;

    fn one(&self) -> S {
        self.one
    }
    fn level(&self, a: &Counted) -> Level {
        a.level
    }
    fn product(&self, a: &Counted, b: &Counted) -> Result<Counted, CircuitError> {
        debug_assert_eq!(a.level, b.level);
        self.cost.borrow_mut().products += 1;
        Ok(Counted { level: a.level, is_product: true })
    }
    fn scaled(&self, _: &Counted, _: S, level: Level) -> Result<Counted, CircuitError> {
        self.cost.borrow_mut().scalings += 1;
        Ok(Counted { level, is_product: false })
    }
    fn add(&self, a: &mut Counted, b: &Counted) -> Result<(), CircuitError> {
        debug_assert_eq!(a.level, b.level);
        a.is_product |= b.is_product;
        Ok(())
    }
    fn add_scalar(&self, a: &Counted, _: S) -> Result<Counted, CircuitError> {
        Ok(a.clone())
    }
    fn divide(&self, a: &Counted) -> Result<Counted, CircuitError> {
        let mut cost = self.cost.borrow_mut();
        *(if a.is_product { &mut cost.relinearisations } else { &mut cost.divisions }) += 1;
        let level = Level(a.level.0.saturating_sub(1));
        Ok(Counted { level, is_product: false })
    }
}
