// SPDX-License-Identifier: Apache-2.0
//! Programs drawn from a seed.

use super::{Batch, Program, Step};
use crate::libraries::inputs::next;

impl Batch {
    /// `count` programs, the first from `seed`, the next from `seed + 1`, and so on: each can be drawn alone.
    ///
    /// # Panics
    /// Never: a ring of at least 8 coefficients has rows to rotate.
    pub fn random(degree: usize, depth: u32, count: u32, seed: u64) -> Self {
        let seeds = (0..count).map(|index| seed.wrapping_add(index.into()));
        Self { degree, programs: seeds.map(|seed| Draw::program(degree, depth, seed)).collect() }
    }
}

/// The known bounds of a value while steps are drawn.
#[derive(Clone, Copy)]
struct Known {
    depth: u32,
    /// Largest magnitude in CKKS.
    bound: f64,
    /// The value as a linear form in random numbers, clear summands left out. Zero if the ciphertext may be without a mask,
    /// as `a − a` is: libraries rightly refuse that.
    mask: u64,
    is_used: bool,
}

struct Draw {
    state: u64,
    degree: usize,
    depth: u32,
    clears: usize,
    has_rotations: bool,
    known: Vec<Known>,
    steps: Vec<Step>,
}

impl Draw {
    fn program(degree: usize, depth: u32, seed: u64) -> Program {
        let mut draw = Self {
            state: seed ^ 0x7072_6f67_7261_6d73,
            degree,
            depth,
            clears: 0,
            has_rotations: false,
            known: Vec::new(),
            steps: Vec::new(),
        };
        let inputs = 2 + draw.below(3);
        draw.clears = 1 + draw.below(3);
        // Some libraries do not rotate.
        draw.has_rotations = draw.below(3) != 0;
        let steps = 6 + draw.below(9);
        for _ in 0..inputs {
            let mask = 1 + next(&mut draw.state) % (PRIME - 1);
            draw.known.push(Known { depth: 0, bound: 1.0, mask, is_used: false });
        }
        while draw.steps.len() < steps {
            draw.step();
        }
        draw.join();
        let inputs = (0..inputs).map(|_| draw.vector()).collect();
        let clears = (0..draw.clears).map(|_| draw.vector()).collect();
        Program { seed, depth, inputs, clears, steps: draw.steps }
    }

    /// One more step, drawn until it is allowed; a change of sign always is.
    fn step(&mut self) {
        for _ in 0..TRIES {
            let step = self.draw();
            if self
                .known_of(step)
                .is_some_and(|known| known.mask != 0 && known.bound <= MAX_BOUND && known.depth <= self.depth)
            {
                return self.push(step);
            }
        }
        self.push(Step::Neg(self.known.len() - 1));
    }

    /// Adds up what no step used, so that the result depends on every step.
    fn join(&mut self) {
        let last = self.known.len() - 1;
        for value in 0..last {
            if !self.known[value].is_used {
                let sum = Step::Add(self.known.len() - 1, value);
                let is_masked = self.known_of(sum).is_some_and(|known| known.mask != 0);
                self.push(if is_masked { sum } else { Step::Sub(self.known.len() - 1, value) });
            }
        }
    }

    fn draw(&mut self) -> Step {
        let a = self.operand();
        match self.below(17) {
            0..=2 => Step::Add(a, self.operand()),
            3..=4 => Step::Sub(a, self.operand()),
            5 => Step::Neg(a),
            6..=9 => Step::Mul(a, self.operand()),
            10..=11 => Step::MulClear(a, self.below(self.clears)),
            12..=13 => Step::AddClear(a, self.below(self.clears)),
            _ if self.has_rotations => {
                let places = 1 + self.below(self.degree / 2 - 1) as i64;
                Step::Rotate(a, if self.below(2) == 0 { places } else { -places })
            }
            _ => Step::Add(a, self.operand()),
        }
    }

    /// A value, most often one that no step used yet.
    fn operand(&mut self) -> usize {
        let unused: Vec<usize> = (0..self.known.len()).filter(|&value| !self.known[value].is_used).collect();
        if unused.is_empty() || self.below(4) == 0 {
            return self.below(self.known.len());
        }
        unused[self.below(unused.len())]
    }

    /// The value that a step would have; `None` for a step on a missing value.
    fn known_of(&self, step: Step) -> Option<Known> {
        let known = |value: usize| self.known.get(value).copied();
        let (depth, bound, mask) = match step {
            Step::Add(a, b) | Step::Sub(a, b) => {
                let (a, b) = (known(a)?, known(b)?);
                let sign = if matches!(step, Step::Add(..)) { 1 } else { PRIME - 1 };
                (a.depth.max(b.depth), a.bound + b.bound, (a.mask + times(sign, b.mask)) % PRIME)
            }
            Step::AddClear(a, _) => (known(a)?.depth, known(a)?.bound + 1.0, known(a)?.mask),
            Step::Mul(a, b) => {
                let (a, b) = (known(a)?, known(b)?);
                (a.depth.max(b.depth) + 1, a.bound * b.bound, times(a.mask, b.mask))
            }
            Step::MulClear(a, clear) => {
                (known(a)?.depth + 1, known(a)?.bound, times(known(a)?.mask, CLEAR + clear as u64))
            }
            Step::Neg(a) => (known(a)?.depth, known(a)?.bound, times(PRIME - 1, known(a)?.mask)),
            Step::Rotate(a, places) => {
                (known(a)?.depth, known(a)?.bound, times(known(a)?.mask, ROTATION + places as u64 % PRIME))
            }
        };
        Some(Known { depth, bound, mask, is_used: false })
    }

    fn push(&mut self, step: Step) {
        if let Some(known) = self.known_of(step) {
            for value in step.values() {
                self.known[value].is_used = true;
            }
            self.known.push(known);
            self.steps.push(step);
        }
    }

    fn vector(&mut self) -> Vec<i64> {
        (0..self.degree).map(|_| i64::from((next(&mut self.state) >> 56) as u8) - 128).collect()
    }

    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(next(&mut self.state)) * bound as u128) >> 64) as usize
    }
}

fn times(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64
}

/// `2^61 − 1`: two different linear forms agree with a chance of about `2^-61`.
const PRIME: u64 = (1 << 61) - 1;
/// By what the mask of a product with clear vector 0 is multiplied, and that of a rotation by nothing: any large numbers.
const CLEAR: u64 = 0x0b5a_4d1e_93c7_2f68;
const ROTATION: u64 = 0x1327_e6b8_5d0f_9ca4;
/// Largest magnitude of a drawn step in CKKS.
const MAX_BOUND: f64 = 8.0;
const TRIES: u32 = 64;
