// SPDX-License-Identifier: Apache-2.0
//! The results of a library for a batch, compared with the expected ones.

use serde::{Deserialize, Serialize};

use super::Batch;
use crate::libraries::case::{Case, Scheme};
use crate::libraries::row::{Answer, TOLERANCE};

/// One row of the table of programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Scheme.
    pub scheme: Scheme,
    /// Programs that there were.
    pub programs: usize,
    /// Programs that the library ran.
    pub run: usize,
    /// Programs with all values right.
    pub agreed: usize,
    /// Steps of the programs that ran.
    pub steps: usize,
    /// Largest error of a value in CKKS.
    pub worst_error: Option<f64>,
    /// Results that were wrong.
    pub disagreements: Vec<Disagreement>,
    /// Programs that the library does not offer all steps of, or refused.
    pub left_out: Vec<LeftOut>,
    /// The library, its parameters, times and memory; its values are left out.
    #[serde(flatten)]
    pub answer: Answer,
}

/// A program that came out wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disagreement {
    /// The seed of the program.
    pub seed: u64,
    /// Its steps, one a line.
    pub steps: String,
    /// Inputs and clear vectors.
    pub vectors: [usize; 2],
    /// Values that are wrong.
    pub wrong: usize,
    /// Values that there should be.
    pub slots: usize,
    /// The first wrong value: slot, what was found (`None` if nothing, or no number) and what should have been.
    pub first: (usize, Option<f64>, f64),
}

/// A program that a library did not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The seed of the program.
    pub seed: u64,
    /// Why.
    pub reason: String,
}

impl Tally {
    /// Compares an answer; a program without an answer counts as wrong. `expected` is [`Batch::results`].
    pub fn new(case: &Case, mut answer: Answer, batch: &Batch, expected: &[Vec<f64>]) -> Self {
        let mut out = Self {
            scheme: case.scheme,
            programs: batch.programs.len(),
            run: 0,
            agreed: 0,
            steps: 0,
            worst_error: None,
            disagreements: Vec::new(),
            left_out: Vec::new(),
            answer: Answer::default(),
        };
        let tolerance = if case.scheme == Scheme::Ckks { TOLERANCE } else { 0.0 };
        for (index, (program, expected)) in batch.programs.iter().zip(expected).enumerate() {
            let name = index.to_string();
            let seed = program.seed;
            if let Some(reason) = answer.left_out.remove(&name) {
                out.left_out.push(LeftOut { seed, reason });
                continue;
            }
            let found = answer.values.remove(&name).unwrap_or_default();
            out.run += 1;
            out.steps += program.steps.len();
            let error = |slot: usize| {
                let error = found.get(slot).map_or(f64::INFINITY, |found| (found - expected[slot]).abs());
                if error.is_nan() { f64::INFINITY } else { error }
            };
            let errors: Vec<f64> = (0..expected.len()).map(error).collect();
            let wrong = errors.iter().filter(|&&error| error > tolerance).count();
            let worst = errors.iter().copied().fold(out.worst_error.unwrap_or(0.0), f64::max);
            out.worst_error = (case.scheme == Scheme::Ckks && worst.is_finite()).then_some(worst);
            match errors.iter().position(|&error| error > tolerance) {
                None => out.agreed += 1,
                Some(slot) => out.disagreements.push(Disagreement {
                    seed,
                    steps: program.steps_text(),
                    vectors: [program.inputs.len(), program.clears.len()],
                    wrong,
                    slots: expected.len(),
                    first: (slot, found.get(slot).copied().filter(|v| v.is_finite()), expected[slot]),
                }),
            }
        }
        answer.values.clear();
        answer.left_out.clear();
        Self { answer, ..out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::libraries::case::Table;

    fn answered(case: &Case, batch: &Batch) -> Answer {
        let results = batch.results(case.scheme).into_iter().enumerate();
        let values = results.map(|(index, values)| (index.to_string(), values)).collect();
        Answer { library: "Test 1.0".into(), values, ..Answer::default() }
    }

    #[test]
    fn right_results_agree_and_every_wrong_or_missing_one_is_named() {
        let batch = Batch::random(16, 3, 3, 7);
        for scheme in Scheme::ALL {
            let case = crate::libraries::row::tests::case(Table::Programs, scheme);
            let expected = batch.results(scheme);
            let tally = |answer: Answer| Tally::new(&case, answer, &batch, &expected);
            let right = tally(answered(&case, &batch));
            assert_eq!((right.run, right.agreed, right.steps), (3, 3, batch.step_count()));
            assert_eq!(right.worst_error, (scheme == Scheme::Ckks).then_some(0.0));
            assert!(right.disagreements.is_empty() && right.answer.values.is_empty());

            type Change = fn(&mut Vec<f64>);
            let changes: [(Change, usize, usize); 5] = [
                (|v| v[5] += 1.0, 5, 1),
                (|v| v[5] = f64::NAN, 5, 1),
                (|v| v.iter_mut().for_each(|v| *v += 65537.0), 0, expected[1].len()),
                (|v| v.truncate(3), 3, expected[1].len() - 3),
                (Vec::clear, 0, expected[1].len()),
            ];
            for (change, slot, wrong) in changes {
                let mut answer = answered(&case, &batch);
                change(answer.values.get_mut("1").unwrap());
                let found = tally(answer);
                assert_eq!((found.run, found.agreed, found.disagreements.len()), (3, 2, 1), "{scheme:?}");
                let disagreement = &found.disagreements[0];
                assert_eq!((disagreement.seed, disagreement.wrong), (8, wrong), "{scheme:?}");
                assert_eq!(disagreement.first.0, slot, "{scheme:?}");
                assert_eq!(disagreement.steps, batch.programs[1].steps_text());
            }
        }
    }

    #[test]
    fn a_program_that_is_not_offered_is_neither_right_nor_wrong() {
        let batch = Batch::random(16, 3, 3, 7);
        let case = crate::libraries::row::tests::case(Table::Programs, Scheme::Bfv);
        let mut answer = answered(&case, &batch);
        answer.values.remove("2");
        answer.left_out.insert("2".into(), "no rotations".into());
        let tally = Tally::new(&case, answer, &batch, &batch.results(Scheme::Bfv));
        assert_eq!((tally.programs, tally.run, tally.agreed, tally.disagreements.len()), (3, 2, 2, 0));
        assert_eq!(tally.left_out, [LeftOut { seed: 9, reason: "no rotations".into() }]);
    }
}
