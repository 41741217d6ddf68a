// SPDX-License-Identifier: Apache-2.0
//! Expressions with comparisons, conditions and choices: integers in encrypted digits. The server's half takes and gives bytes, and has no secret.
//!
//! ```text
//!   vectors ─ ranges ─▶ program ─▶ keys ─▶ block by block: encrypt digits, Program::serve, decrypt ─▶ unit, constant ─▶ result
//!                         ▲
//!                pieces in slots, brought into digits (slots)
//! ```

use arrow::record_batch::RecordBatch;
use hush_circuits::gates::GatePlan;
use hush_expr::{Expression, Ratio};
use hush_keys::TfheSecret;
use hush_params::tfhe::INTEGERS;
use hush_plan::report::Leakage;
use hush_ring::Wiped;
use hush_system::memory::peak_resident_bytes;
use hush_tfhe::integer::{Program, Sent};
use hush_tfhe::{KeyParts, ServerKey, TfheError};
use rayon::ThreadPool;
use zeroize::Zeroizing;

use super::slots::{Crossing, Division, Piece, context, failed};
use super::vectors::Column;
use super::{EvalAccount, EvalError, EvalOptions, Evaluation, IntegerAccount, array_of, verify};
use crate::account::{Moved, Phases};
use crate::error::ClientError;

/// Most elements that are evaluated together.
const MAX_BLOCK: u64 = 128;
/// Ciphertexts of a block, of 16 KB each: a quarter of a gigabyte, and about twice as much while they are looked up.
const MAX_HELD: u64 = 1 << 14;
/// Bootstrappings of one evaluation: hours.
const MAX_BOOTSTRAPS: u64 = 1 << 22;

/// As [`super::evaluate_expression`], in TFHE.
pub(super) fn evaluate(
    expression: &Expression,
    columns: &[Column],
    options: &EvalOptions,
    (mut phases, pool): (Phases, &ThreadPool),
) -> Result<Evaluation, ClientError> {
    let length = columns.first().map_or(0, |column| column.values.len());
    let vectors: Vec<_> = columns.iter().map(Column::vector).collect();
    let division = phases
        .time("plan", || pool.install(|| Division::of(expression, &vectors, length)))
        .map_err(EvalError::from)?;
    let plan = &division.digits;
    // Where all elements have one result, it is found once.
    let elements =
        if expression.function().is_none() && expression.is_one_value() { length.min(1) } else { length };
    let block = block_of(plan.program()).map_err(failed)?;
    let of_program = cost(plan.program(), (elements, block)).map_err(failed)?;
    let bootstraps = of_program.saturating_add(division.bridge_bootstraps(elements));
    if bootstraps > MAX_BOOTSTRAPS {
        return Err(
            EvalError::Slow { found: bootstraps, limit: MAX_BOOTSTRAPS, each: "some milliseconds" }.into()
        );
    }
    let integers: Vec<Zeroizing<Vec<i128>>> =
        (0..columns.len()).map(|vector| integers(plan, columns, vector)).collect::<Result<_, _>>()?;
    let mut run = Run {
        program: plan.program(),
        integers: &integers,
        pieces: &division.pieces,
        columns,
        phases,
        key_bytes: 0,
        moved: Moved::default(),
        ciphertexts: 0,
    };
    let outputs = pool.install(|| run.outputs((elements, block)))?;
    let Run { mut phases, moved, key_bytes, ciphertexts, .. } = run;
    let results: Vec<Ratio> = match plan.program().is_summed() {
        // A block gives the sum over its elements; that of all fits as well.
        true => vec![plan.result(outputs.iter().sum(), length)],
        false => outputs.iter().map(|output| plan.result(*output, 1)).collect(),
    };
    let verified = match options.verify {
        true => Some(phases.time("check", || verify(expression, columns, None, &results))?),
        false => None,
    };
    let (array, is_rounded) = array_of(&results, false);
    let batch = RecordBatch::try_from_iter([("result", array)])?;
    let rounds = plan.program().cost(elements.min(block)).map_err(failed)?.rounds + division.bridge_rounds();
    let account = EvalAccount {
        is_rounded,
        key_bytes,
        ciphertexts,
        moved,
        phases,
        peak_bytes: peak_resident_bytes(),
        verified,
        ..describe(expression, &division, (length, elements), (bootstraps, rounds))
    };
    Ok(Evaluation { batch, account })
}

/// A vector as integers of the program; nothing of one that only pieces in slots use, whose values may be wider.
fn integers(plan: &GatePlan, columns: &[Column], vector: usize) -> Result<Zeroizing<Vec<i128>>, ClientError> {
    let is_used = plan.program().inputs().any(|(used, _)| used == vector);
    let values = columns.get(vector).filter(|_| is_used).map_or(&[][..], |column| &column.values);
    let integer = |value: &Ratio| {
        plan.encode(vector, value)
            .ok_or(ClientError::Internal { what: "a value outside the range of its vector" })
    };
    let mut integers = Zeroizing::new(Vec::with_capacity(values.len()));
    for value in values {
        integers.push(integer(value)?);
    }
    Ok(integers)
}

/// Elements of a block: one has no more ciphertexts than it sends and looks up.
fn block_of(program: &Program) -> Result<usize, TfheError> {
    let sent: usize = program.inputs().map(|(_, digits)| digits).sum();
    let held = program.cost(1)?.bootstraps.saturating_add(sent as u64);
    Ok((MAX_HELD / held.max(1)).clamp(1, MAX_BLOCK) as usize)
}

/// Bootstrappings of all blocks.
fn cost(program: &Program, (length, block): (usize, usize)) -> Result<u64, TfheError> {
    let of_block = |elements: usize| Ok::<_, TfheError>(program.cost(elements)?.bootstraps);
    let whole = (length / block) as u64;
    let of_whole = if whole > 0 { of_block(block)? } else { 0 };
    Ok(of_whole.saturating_mul(whole).saturating_add(of_block(length % block)?))
}

/// One evaluation.
struct Run<'a> {
    program: &'a Program,
    /// Of each vector.
    integers: &'a [Zeroizing<Vec<i128>>],
    pieces: &'a [Piece],
    columns: &'a [Column],
    phases: Phases,
    key_bytes: u64,
    moved: Moved,
    ciphertexts: usize,
}

impl<'a> Run<'a> {
    /// Decrypted integers: one for each element, or one for each block.
    fn outputs(&mut self, (length, block): (usize, usize)) -> Result<Vec<i128>, ClientError> {
        let context = context()?;
        let (secret, keys) = self.phases.time("keys", || {
            let secret = TfheSecret::generate(&context)?;
            let keys = secret.server_keys()?.encode(&context).map_err(failed)?;
            Ok::<_, ClientError>((secret, keys))
        })?;
        let server = self.phases.time("server", || KeyParts::decode(&context, &keys)).map_err(failed)?;
        self.key_bytes += keys.len() as u64;
        self.moved.up += keys.len() as u64;
        let mut crossings = self.crossings(&secret)?;
        let mut outputs = Vec::new();
        for first in (0..length).step_by(block) {
            let elements = first..length.min(first + block);
            outputs.extend(self.block(&secret, (&server, &mut crossings), elements)?);
        }
        Ok(outputs)
    }

    /// Evaluates the pieces in slots.
    fn crossings(&mut self, secret: &TfheSecret) -> Result<Vec<Crossing<'a>>, ClientError> {
        let mut crossings = Vec::with_capacity(self.pieces.len());
        for piece in self.pieces {
            let plan = piece.bridge.plan();
            let mut run = super::Run {
                plan,
                columns: self.columns,
                length: plan.length(),
                is_one_value: false,
                phases: std::mem::take(&mut self.phases),
                key_bytes: self.key_bytes,
                moved: self.moved,
            };
            crossings.push(Crossing::new(piece, &mut run, secret)?);
            (self.phases, self.key_bytes, self.moved) = (run.phases, run.key_bytes, run.moved);
            self.ciphertexts += plan.lanes().len() * plan.circuit().used_inputs().len() * plan.block_count();
        }
        Ok(crossings)
    }

    fn block(
        &mut self,
        secret: &TfheSecret,
        (server, crossings): (&ServerKey, &mut [Crossing<'a>]),
        elements: std::ops::Range<usize>,
    ) -> Result<Vec<i128>, ClientError> {
        let (program, length, vectors) = (self.program, elements.len(), self.columns.len());
        let upload = |(vector, digits): (usize, usize)| {
            let values =
                self.integers.get(vector).and_then(|values| values.get(elements.clone())).unwrap_or_default();
            let mut sent = Wiped::zeroed(digits * values.len());
            let all = values.iter().flat_map(|value| Program::digits_of(*value, digits));
            sent.iter_mut().zip(all).for_each(|(sent, digit)| *sent = digit);
            Ok::<_, ClientError>(secret.encrypt(&sent)?.encode(secret.context()))
        };
        let uploads: Vec<Vec<u8>> = self
            .phases
            .time("encrypt", || own_inputs(program, vectors).map(upload).collect::<Result<_, _>>())?;
        let answer = self.phases.time("server", || {
            let mut objects = uploads.iter();
            let sent = program.inputs().map(|(vector, _)| {
                match crossings.iter_mut().find(|crossing| crossing.vector() == vector) {
                    None => Ok(Sent::Object(objects.next().map_or(&[][..], |object| object))),
                    Some(crossing) => Ok(Sent::Digits(crossing.digits(server, elements.clone())?)),
                }
            });
            let sent = sent.collect::<Result<Vec<_>, ClientError>>()?;
            program.serve_sent(server, length, sent).map_err(failed)
        })?;
        self.moved.up += uploads.iter().map(|upload| upload.len() as u64).sum::<u64>();
        self.moved.down += answer.len() as u64;
        self.ciphertexts += own_inputs(program, vectors).map(|(_, digits)| digits * length).sum::<usize>();
        let digits = self.phases.time("decrypt", || secret.decrypt(program.answer_count(length), &answer))?;
        Ok(program.results(&digits))
    }
}

/// The inputs of a program that the owner sends: those from slots are behind them.
fn own_inputs(program: &Program, vectors: usize) -> impl Iterator<Item = (usize, usize)> {
    program.inputs().filter(move |(vector, _)| *vector < vectors)
}

fn describe(
    expression: &Expression,
    division: &Division,
    (length, elements): (usize, usize),
    (bootstraps, rounds): (u64, u64),
) -> EvalAccount {
    let program = division.digits.program();
    let of_pieces = division.pieces.iter().flat_map(|piece| piece.bridge.plan().circuit().used_inputs());
    let mut used: Vec<usize> = program.inputs().map(|(vector, _)| vector).chain(of_pieces).collect();
    used.retain(|vector| *vector < expression.names().len());
    used.sort_unstable();
    used.dedup();
    let names = used.iter().filter_map(|vector| expression.names().get(*vector).cloned());
    let encrypted: Vec<String> = names.collect();
    let of_digits = INTEGERS.failure_log2() + (bootstraps.max(1) as f64).log2();
    let failures = division.failures_log2(elements).into_iter().chain([of_digits]);
    let failure_log2 = failures.map(f64::exp2).sum::<f64>().log2();
    let pieces = division.accounts(elements);
    let circuits = pieces.iter().map(|piece| format!("the circuit of {} in slots", piece.expression));
    let security_bits =
        pieces.iter().map(|piece| piece.security_bits).fold(INTEGERS.security_bits(), u32::min);
    let leakage = Leakage {
        table: vec![format!("{} vectors of {length} values", encrypted.len())],
        query: vec![
            "the program: what is compared, added, multiplied and chosen, and the constants in it".into(),
            "digits of each vector and of the integers: ranges are those of the vectors".into(),
        ]
        .into_iter()
        .chain(circuits)
        .collect(),
        hidden: vec![
            format!("the values of {}", encrypted.join(", ")),
            "the results, and which way any choice went".into(),
            "names, units and the constant that is added last".into(),
        ],
    };
    EvalAccount {
        expression: expression.to_string(),
        encrypted,
        length,
        scheme: "TFHE",
        degree: INTEGERS.degree(),
        log_q: INTEGERS.log_q(),
        log_p: 0.0,
        security_bits,
        plaintext_primes: Vec::new(),
        depth: rounds as u32,
        products: 0,
        integers: Some(IntegerAccount {
            bits: program.bits(),
            is_signed: program.is_signed(),
            bootstraps,
            set: INTEGERS.name(),
        }),
        pieces,
        bootstraps: None,
        margin_bits: -128.0 - INTEGERS.failure_log2(),
        failure_log2,
        error: None,
        is_rounded: false,
        key_bytes: 0,
        ciphertexts: 0,
        moved: Moved::default(),
        phases: Phases::default(),
        peak_bytes: None,
        verified: None,
        leakage,
    }
}

#[cfg(test)]
mod tests {
    use hush_tfhe::integer::Step;

    use super::*;

    /// Whatever a program looks up, a block of it fits in memory: wide products have few elements, comparisons many.
    #[test]
    fn blocks_hold_no_more_ciphertexts_than_memory() {
        let input = |vector| Step::Input { vector, digits: 32, last: 3 };
        let squared = |times: usize| {
            let steps = std::iter::once(input(0)).chain((0..times).map(|place| Step::Product(place, place)));
            Program::new(32, false, steps.collect(), false).unwrap()
        };
        for (times, most) in [(1, 32), (4, 8), (40, 1)] {
            let (program, block) = (squared(times), block_of(&squared(times)).unwrap());
            let held = program.cost(block).unwrap().bootstraps;
            assert!(block <= most && (block == 1 || held <= MAX_HELD), "{times}: {block} elements, {held}");
        }
        let plain =
            Program::new(4, false, vec![Step::Input { vector: 0, digits: 4, last: 3 }], false).unwrap();
        assert_eq!(block_of(&plain).unwrap() as u64, MAX_BLOCK);
    }
}
