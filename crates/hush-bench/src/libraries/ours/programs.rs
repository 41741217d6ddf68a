// SPDX-License-Identifier: Apache-2.0
//! Random programs in our schemes.

use std::collections::BTreeMap;
use std::time::Instant;

use hush_rlwe::{EvaluationKeys, rotation_element};

use super::engine::Engine;
use super::{Keys, answer, chain_params};
use crate::BenchError;
use crate::libraries::case::{Case, Encryption};
use crate::libraries::programs::{Batch, Program, ProgramError, Step};
use crate::libraries::row::Answer;
use crate::usage::peak_mb;

/// Runs every program with keys of its own, and decrypts its result.
///
/// # Errors
/// [`ProgramError::Degree`] if the programs are for another ring; whatever the schemes refuse.
pub(super) fn run<E: Engine>(case: &Case, batch: &Batch) -> Result<Answer, BenchError> {
    let (found, expected) = (batch.degree, case.degree as usize);
    if found != expected {
        return Err(ProgramError::Degree { found, expected }.into());
    }
    let start = Instant::now();
    let engine = E::new(&chain_params(case)?)?;
    let mut out = Answer::default();
    let mut values = BTreeMap::new();
    for (index, program) in batch.programs.iter().enumerate() {
        let element = |&places: &i64| rotation_element(engine.chain().degree(), places);
        let elements: Vec<usize> = program.rotations().iter().map(element).collect();
        let keys = Keys::generate(engine.chain(), Encryption::Public, &elements)?;
        values.insert(index.to_string(), result(&engine, program, &keys)?);
        out = answer(&engine, &keys);
    }
    let ms = start.elapsed().as_secs_f64() * 1e3;
    let times_ms = BTreeMap::from([("programs".to_owned(), ms)]);
    // Every program has other keys.
    Ok(Answer { repetitions: 1, times_ms, key_bytes: None, peak_mb: peak_mb(), values, ..out })
}

fn result<E: Engine>(engine: &E, program: &Program, keys: &Keys) -> Result<Vec<f64>, BenchError> {
    let slots = engine.slots();
    let encrypt = |values: &Vec<i64>| keys.encrypt(engine, engine.encode(&values[..slots])?);
    let mut values: Vec<E::Ciphertext> = program.inputs.iter().map(encrypt).collect::<Result<_, _>>()?;
    for &step in &program.steps {
        let next = value(engine, step, &values, &program.clears, &keys.evaluation)?;
        values.push(next);
    }
    keys.decrypt(engine, values.last().ok_or(BenchError::Empty)?)
}

fn value<E: Engine>(
    engine: &E,
    step: Step,
    values: &[E::Ciphertext],
    clears: &[Vec<i64>],
    keys: &EvaluationKeys,
) -> Result<E::Ciphertext, BenchError> {
    let clear = |index: usize| &clears[index][..engine.slots()];
    // The operands at the lower one's level.
    let pair = |a: usize, b: usize| {
        let level = engine.level(&values[a])?.min(engine.level(&values[b])?);
        Ok::<_, BenchError>((engine.down_to(&values[a], level)?, engine.down_to(&values[b], level)?))
    };
    match step {
        Step::Add(a, b) => pair(a, b).and_then(|(a, b)| engine.add(&a, &b)),
        Step::AddClear(a, index) => engine.add_clear(&values[a], clear(index)),
        Step::Mul(a, b) => pair(a, b).and_then(|(a, b)| engine.multiply_down(&a, &b, keys)),
        Step::MulClear(a, index) => engine.mul_clear_down(&values[a], clear(index)),
        Step::Neg(a) => Ok(engine.neg(&values[a])),
        Step::Rotate(a, places) => engine.rotate(&values[a], places, keys),
        Step::Sub(a, b) => pair(a, b).and_then(|(a, b)| engine.sub(&a, &b)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::engine::{BfvEngine, BgvEngine, CkksEngine};
    use super::*;
    use crate::libraries::Scheme;
    use crate::libraries::case::Table;
    use crate::libraries::programs::Tally;

    /// As deep as a small ring allows.
    const DEPTH: u32 = 2;

    fn case(scheme: Scheme) -> Case {
        let (q_bits, p_bits) = (vec![42, 43, 43, 43], vec![43]);
        let (table, encryption) = (Table::Programs, Encryption::Public);
        Case { table, scheme, degree: 8192, q_bits, p_bits, encryption, threads: 1, repetitions: 1 }
    }

    #[test]
    fn random_programs_give_what_they_give_in_the_clear_in_every_scheme() {
        let batch = Batch::random(8192, DEPTH, 10, 2026);
        // By way of the text, as every adapter.
        let batch: Batch = batch.to_text().parse().unwrap();
        for scheme in Scheme::ALL {
            let case = case(scheme);
            let answer = match scheme {
                Scheme::Bgv => run::<BgvEngine>(&case, &batch),
                Scheme::Bfv => run::<BfvEngine>(&case, &batch),
                Scheme::Ckks => run::<CkksEngine>(&case, &batch),
            };
            let tally = Tally::new(&case, answer.unwrap(), &batch, &batch.results(scheme));
            assert_eq!((tally.run, tally.agreed), (10, 10), "{scheme:?}: {:?}", tally.disagreements);
            assert!(tally.worst_error.is_none_or(|error| error < 1e-6), "{:?}", tally.worst_error);
        }
    }

    #[test]
    fn programs_for_another_ring_are_refused() {
        let error = run::<BgvEngine>(&case(Scheme::Bgv), &Batch::random(4096, DEPTH, 1, 1)).unwrap_err();
        assert_eq!(error.to_string(), "programs for degree 4096, a case of degree 8192");
    }
}
