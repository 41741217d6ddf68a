// SPDX-License-Identifier: Apache-2.0
//! Circuits as they are run: the coefficients of one scheme, and where values are as large as what.

use hush_expr::{Circuit, Ratio, RealCircuit, RealStep, Step, Turn, is_whole};
use num_bigint::BigInt;

/// A term of a sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Term<S> {
    pub(super) step: usize,
    pub(super) coefficient: S,
    /// Whether the multiple takes no level.
    pub(super) is_whole: bool,
}

/// An operation on encrypted values; numbers are places of earlier steps.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Op<S> {
    Input(usize),
    Linear {
        constant: S,
        terms: Vec<Term<S>>,
    },
    Product(usize, usize),
    /// The sum of all elements, in every element.
    Total(usize),
}

/// How the elements of a vector lie in slots, where they are summed: again and again, with a period that is a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period {
    /// Elements.
    pub(super) length: usize,
    /// Slots from one element to its copy.
    pub(super) slots: usize,
}

impl Period {
    /// Whether some slots of a period hold no element: they are cleared before a sum, which takes a level.
    pub(super) fn is_masked(self) -> bool {
        self.length < self.slots
    }
}

/// A circuit in the coefficients of one scheme.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Steps<S> {
    pub(super) ops: Vec<Op<S>>,
    /// log2 of the largest absolute value of each step.
    pub(super) magnitudes_log2: Vec<f64>,
    pub(super) turns: Vec<Turn>,
    /// The first step of every turn.
    pub(super) turn_starts: Vec<usize>,
    /// Whether coefficients are rounded to doubles.
    pub(super) is_rounded: bool,
    /// Where elements are summed.
    pub(super) period: Option<Period>,
}

impl<S> Op<S> {
    /// The steps that it refers to.
    pub(super) fn operands(&self) -> Vec<usize> {
        match self {
            Self::Input(_) => Vec::new(),
            Self::Linear { terms, .. } => terms.iter().map(|term| term.step).collect(),
            Self::Product(a, b) => vec![*a, *b],
            Self::Total(of) => vec![*of],
        }
    }
}

impl<S> Steps<S> {
    /// The last step that refers to each step; itself for the output.
    pub(super) fn last_uses(&self) -> Vec<usize> {
        let mut last: Vec<usize> = (0..self.ops.len()).collect();
        for (place, op) in self.ops.iter().enumerate() {
            op.operands().into_iter().for_each(|operand| last[operand] = place);
        }
        last
    }

    /// Places of the vectors that the output depends on, rising.
    pub(super) fn used_inputs(&self) -> Vec<usize> {
        let input = |op: &Op<S>| match op {
            Op::Input(input) => Some(*input),
            _ => None,
        };
        let mut used: Vec<usize> = self.ops.iter().filter_map(input).collect();
        used.sort_unstable();
        used
    }

    /// Of each step, whether it is a product.
    pub(super) fn are_products(&self) -> Vec<bool> {
        self.ops.iter().map(|op| matches!(op, Op::Product(..))).collect()
    }

    /// Whether a sum of elements takes a level.
    pub(super) fn is_masked(&self) -> bool {
        self.period.is_some_and(Period::is_masked)
    }

    /// Products one after the other, up to each step.
    pub(super) fn product_depths(&self) -> Vec<u32> {
        self.depths(|op| u32::from(matches!(op, Op::Product(..))), |_| 0)
    }

    /// Levels that each step lies below the inputs, where nothing is bootstrapped.
    pub(super) fn level_depths(&self) -> Vec<u32> {
        let of_term = |term: &Term<S>| u32::from(!term.is_whole);
        let of_op = |op: &Op<S>| match op {
            Op::Product(..) => 1,
            Op::Total(_) => u32::from(self.is_masked()),
            _ => 0,
        };
        self.depths(of_op, of_term)
    }

    fn depths(&self, of_op: impl Fn(&Op<S>) -> u32, of_term: impl Fn(&Term<S>) -> u32) -> Vec<u32> {
        let mut depths: Vec<u32> = Vec::with_capacity(self.ops.len());
        for op in &self.ops {
            let below = match op {
                Op::Linear { terms, .. } => terms.iter().map(|term| depths[term.step] + of_term(term)).max(),
                op => op.operands().into_iter().map(|operand| depths[operand]).max(),
            };
            depths.push(below.unwrap_or(0) + of_op(op));
        }
        depths
    }
}

impl Steps<i64> {
    /// Of a circuit modulo `t`: residues nearest to zero.
    pub(super) fn modulo(circuit: &Circuit, t: u64) -> Self {
        let term = |(step, coefficient): &(usize, BigInt)| Term {
            step: *step,
            coefficient: centered(coefficient, t),
            is_whole: true,
        };
        let op = |step: &Step| match step {
            Step::Input(input) => Op::Input(*input),
            Step::Linear { constant, terms } => {
                Op::Linear { constant: centered(constant, t), terms: terms.iter().map(term).collect() }
            }
            Step::Product(a, b) => Op::Product(*a, *b),
        };
        Self {
            ops: circuit.steps().iter().map(op).collect(),
            magnitudes_log2: circuit.ranges().iter().map(|range| range.magnitude().log2()).collect(),
            turns: Vec::new(),
            turn_starts: Vec::new(),
            is_rounded: false,
            period: None,
        }
    }
}

impl Steps<f64> {
    /// log2 of the largest sum of the absolute values of a step's coefficients; at least 0.
    pub(super) fn sums_log2(&self) -> f64 {
        let sums = self.ops.iter().map(|op| match op {
            Op::Linear { terms, .. } => terms.iter().map(|term| term.coefficient.abs()).sum::<f64>().log2(),
            _ => 0.0,
        });
        sums.fold(0.0, f64::max)
    }

    /// Of a circuit with whole coefficients, which are below 2^53.
    pub(super) fn exact(circuit: &Circuit) -> Self {
        let magnitudes_log2 = circuit.ranges().iter().map(|range| range.magnitude().log2()).collect();
        let double = |value: &BigInt| Ratio::from(value.clone()).to_f64();
        let op = |step: &Step| match step {
            Step::Input(input) => Op::Input(*input),
            Step::Linear { constant, terms } => {
                let term = |(step, c): &(usize, BigInt)| Term {
                    step: *step,
                    coefficient: double(c),
                    is_whole: true,
                };
                Op::Linear { constant: double(constant), terms: terms.iter().map(term).collect() }
            }
            Step::Product(a, b) => Op::Product(*a, *b),
        };
        let ops = circuit.steps().iter().map(op).collect();
        Self {
            ops,
            magnitudes_log2,
            turns: Vec::new(),
            turn_starts: Vec::new(),
            is_rounded: false,
            period: None,
        }
    }

    /// Of a circuit with real coefficients.
    pub(super) fn real(circuit: &RealCircuit) -> Self {
        let length = circuit.length();
        let has_totals = circuit.steps().iter().any(|step| matches!(step, RealStep::Total(_)));
        let term =
            |&(step, coefficient): &(usize, f64)| Term { step, coefficient, is_whole: is_whole(coefficient) };
        let op = |step: &RealStep| match step {
            RealStep::Input(input) => Op::Input(*input),
            RealStep::Linear { constant, terms } => {
                Op::Linear { constant: *constant, terms: terms.iter().map(term).collect() }
            }
            RealStep::Product(a, b) => Op::Product(*a, *b),
            RealStep::Total(of) => Op::Total(*of),
        };
        Self {
            ops: circuit.steps().iter().map(op).collect(),
            magnitudes_log2: circuit.ranges().iter().map(|range| range.magnitude().log2()).collect(),
            turns: circuit.turns().to_vec(),
            turn_starts: circuit.turn_starts().to_vec(),
            is_rounded: true,
            period: has_totals.then(|| Period { length, slots: length.next_power_of_two() }),
        }
    }
}

/// The residue nearest to zero.
pub(super) fn centered(value: &BigInt, t: u64) -> i64 {
    use num_integer::Integer;
    use num_traits::ToPrimitive;
    let residue = value.mod_floor(&BigInt::from(t)).to_i64().unwrap_or(0);
    if residue as u64 > t / 2 { residue - t as i64 } else { residue }
}
