// SPDX-License-Identifier: Apache-2.0
//! The expected results of a program, computed in the clear.

use super::{Batch, Program, Step};
use crate::libraries::case::Scheme;
use crate::libraries::inputs::{PLAINTEXT_MODULUS, REAL_UNIT};

impl Batch {
    /// What every program must give in a scheme: integers nearest to zero in BGV and BFV, reals of the first row in CKKS.
    pub fn results(&self, scheme: Scheme) -> Vec<Vec<f64>> {
        let row = self.degree / 2;
        let result = |program: &Program| match scheme {
            Scheme::Bgv | Scheme::Bfv => program.evaluate::<Residue>(row, self.degree, Residue::centered),
            Scheme::Ckks => program.evaluate::<f64>(row, row, |real| real),
        };
        self.programs.iter().map(result).collect()
    }
}

impl Program {
    /// The result on the first `slots` slots, in rows of `row`.
    fn evaluate<T: Number>(&self, row: usize, slots: usize, show: fn(T) -> f64) -> Vec<f64> {
        let read = |vector: &Vec<i64>| -> Vec<T> { vector[..slots].iter().map(|&v| T::read(v)).collect() };
        let clears: Vec<Vec<T>> = self.clears.iter().map(read).collect();
        let mut values: Vec<Vec<T>> = self.inputs.iter().map(read).collect();
        let each = |a: &[T], b: &[T], op: fn(T, T) -> T| a.iter().zip(b).map(|(&a, &b)| op(a, b)).collect();
        for &step in &self.steps {
            let next = match step {
                Step::Add(a, b) => each(&values[a], &values[b], T::add),
                Step::AddClear(a, clear) => each(&values[a], &clears[clear], T::add),
                Step::Mul(a, b) => each(&values[a], &values[b], T::mul),
                Step::MulClear(a, clear) => each(&values[a], &clears[clear], T::mul),
                Step::Neg(a) => values[a].iter().map(|&value| T::read(0).sub(value)).collect(),
                Step::Rotate(a, places) => {
                    let from = |slot: usize| {
                        slot / row * row + (slot as i64 + places).rem_euclid(row as i64) as usize % row
                    };
                    (0..slots).map(|slot| values[a][from(slot)]).collect()
                }
                Step::Sub(a, b) => each(&values[a], &values[b], T::sub),
            };
            values.push(next);
        }
        values.pop().unwrap_or_default().into_iter().map(show).collect()
    }
}

/// The arithmetic of a slot.
trait Number: Copy {
    /// From an integer of a vector.
    fn read(value: i64) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
}

impl Number for f64 {
    fn read(value: i64) -> Self {
        value as Self / REAL_UNIT
    }
    fn add(self, other: Self) -> Self {
        self + other
    }
    fn sub(self, other: Self) -> Self {
        self - other
    }
    fn mul(self, other: Self) -> Self {
        self * other
    }
}

/// An integer in `[0, t)`.
#[derive(Clone, Copy)]
struct Residue(i64);

const T: i64 = PLAINTEXT_MODULUS as i64;

impl Residue {
    fn centered(self) -> f64 {
        (if self.0 > T / 2 { self.0 - T } else { self.0 }) as f64
    }
}

impl Number for Residue {
    fn read(value: i64) -> Self {
        Self(value.rem_euclid(T))
    }
    fn add(self, other: Self) -> Self {
        Self((self.0 + other.0).rem_euclid(T))
    }
    fn sub(self, other: Self) -> Self {
        Self((self.0 - other.0).rem_euclid(T))
    }
    fn mul(self, other: Self) -> Self {
        Self((self.0 * other.0).rem_euclid(T))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_worked_out_by_hand() {
        let program = |steps: Vec<Step>| Program {
            seed: 0,
            depth: 2,
            inputs: vec![vec![1, 2, 3, 4, 5, 6, 7, 8], vec![-128, 127, 0, 1, -1, 100, 64, -64]],
            clears: vec![vec![2, -2, 64, 1, 0, 127, -127, 5]],
            steps,
        };
        let step_results = [
            (vec![Step::Sub(0, 1)], vec![129, -125, 3, 3, 6, -94, -57, 72]),
            (vec![Step::Neg(1), Step::Add(2, 0)], vec![129, -125, 3, 3, 6, -94, -57, 72]),
            (vec![Step::Rotate(0, 1)], vec![2, 3, 4, 1, 6, 7, 8, 5]),
            (vec![Step::Rotate(0, -1)], vec![4, 1, 2, 3, 8, 5, 6, 7]),
            (vec![Step::AddClear(0, 0)], vec![3, 0, 67, 5, 5, 133, -120, 13]),
            (vec![Step::MulClear(0, 0), Step::Mul(2, 1)], vec![-256, -508, 0, 4, 0, 76_200, -56_896, -2560]),
        ];
        for (steps, expected) in step_results {
            let batch = Batch { degree: 8, programs: vec![program(steps.clone())] };
            let centered = |&v: &i64| if v.abs() > T / 2 { v - v.signum() * T } else { v };
            let exact: Vec<f64> = expected.iter().map(|v| centered(v) as f64).collect();
            assert_eq!(batch.results(Scheme::Bgv), [exact], "{steps:?}");
            let unit = if steps.iter().any(|step| step.is_product()) { 128_f64.powi(3) } else { 128.0 };
            let real: Vec<f64> = expected[..4].iter().map(|&v| v as f64 / unit).collect();
            assert_eq!(batch.results(Scheme::Ckks), [real], "{steps:?}");
        }
    }
}
