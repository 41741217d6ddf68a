// SPDX-License-Identifier: Apache-2.0
//! Expressions with comparisons, conditions and choices: integers in encrypted digits. The server's half takes and gives bytes, and has no secret.
//!
//! ```text
//!   vectors ─ ranges ─▶ division ─▶ keys ─▶ pieces: in slots (slots), or sums in digits (blocks), which stay on the server
//!                                            │
//!                                            ▼
//!                                   block by block: encrypt digits, Program::serve_sent, decrypt ─▶ unit, constant ─▶ result
//! ```

use std::ops::Range;

use arrow::record_batch::RecordBatch;
use hush_circuits::bridge::Bridge;
use hush_circuits::gates::GatePlan;
use hush_expr::{Expression, Ratio};
use hush_keys::TfheSecret;
use hush_params::tfhe::INTEGERS;
use hush_plan::report::Leakage;
use hush_remote::Progress;
use hush_ring::Wiped;
use hush_system::memory::peak_resident_bytes;
use hush_tfhe::integer::{Program, Sent};
use hush_tfhe::{KeyParts, Lwe, ServerKey};
use rayon::ThreadPool;
use zeroize::Zeroizing;

use super::blocks::{Blocks, Sum};
use super::division::{Cost, Division, Piece, Place};
use super::slots::{Crossing, InSlots, context, failed};
use super::vectors::Column;
use super::{EvalAccount, EvalError, EvalOptions, Evaluation, IntegerAccount, array_of, verify};
use crate::account::{Moved, Phases};
use crate::error::ClientError;

/// Bootstrappings of one evaluation: hours.
const MAX_BOOTSTRAPS: u64 = 1 << 22;

/// As [`super::evaluate_expression`], in TFHE.
pub(super) fn evaluate(
    expression: &Expression,
    columns: &[Column],
    (options, progress): (&EvalOptions, &dyn Progress),
    (mut phases, pool): (Phases, &ThreadPool),
) -> Result<Evaluation, ClientError> {
    let length = columns.first().map_or(0, |column| column.values.len());
    let vectors: Vec<_> = columns.iter().map(Column::vector).collect();
    let division = phases
        .time("plan", || pool.install(|| Division::of(expression, &vectors, length)))
        .map_err(EvalError::from)?;
    let plan = &division.digits;
    let cost = division.cost().map_err(EvalError::from)?;
    if cost.bootstraps > MAX_BOOTSTRAPS {
        let (found, limit) = (cost.bootstraps, MAX_BOOTSTRAPS);
        return Err(EvalError::Slow { found, limit, each: "some milliseconds" }.into());
    }
    let account = describe(expression, &division, cost)?;
    let mut run = Run { columns, progress, phases, key_bytes: 0, moved: Moved::default(), ciphertexts: 0 };
    progress.begin("evaluate", Some(division.all_elements()), "elements");
    let outputs = pool.install(|| run.outputs(&division));
    progress.end();
    let outputs = outputs?;
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
    let peak_bytes = peak_resident_bytes();
    let account =
        EvalAccount { is_rounded, key_bytes, ciphertexts, moved, phases, peak_bytes, verified, ..account };
    Ok(Evaluation { batch, account })
}

/// A program on digits, and what the owner sends for it.
struct Work<'a> {
    program: &'a Program,
    /// Of each vector; nothing of one that the program does not read, whose values may be wider.
    integers: Vec<Zeroizing<Vec<i128>>>,
    blocks: Blocks,
}

impl<'a> Work<'a> {
    fn new(plan: &'a GatePlan, columns: &[Column], elements: usize) -> Result<Self, ClientError> {
        let program = plan.program();
        let of_vector = |(vector, column): (usize, &Column)| {
            let is_used = program.inputs().any(|(used, _)| used == vector);
            let values = if is_used { &column.values[..] } else { &[] };
            let mut integers = Zeroizing::new(Vec::with_capacity(values.len()));
            for value in values {
                let integer = plan.encode(vector, value);
                let outside = ClientError::Internal { what: "a value outside the range of its vector" };
                integers.push(integer.ok_or(outside)?);
            }
            Ok(integers)
        };
        let integers = columns.iter().enumerate().map(of_vector).collect::<Result<_, ClientError>>()?;
        Ok(Self { program, integers, blocks: Blocks::of(program, elements).map_err(failed)? })
    }

    /// The inputs that the owner sends: others are behind them.
    fn own_inputs(&self) -> impl Iterator<Item = (usize, usize)> {
        self.program.inputs().filter(|(vector, _)| *vector < self.integers.len())
    }
}

/// The owner's secret, and what the server has.
struct Sides<'a> {
    secret: TfheSecret,
    server: ServerKey,
    /// Results of pieces, by the vectors of programs that they are.
    known: Vec<(usize, Crossing<'a>)>,
}

/// One evaluation.
struct Run<'a> {
    columns: &'a [Column],
    progress: &'a dyn Progress,
    phases: Phases,
    key_bytes: u64,
    moved: Moved,
    ciphertexts: usize,
}

impl<'a> Run<'a> {
    /// Decrypted integers: one for each element, or one for each block.
    fn outputs(&mut self, division: &'a Division) -> Result<Vec<i128>, ClientError> {
        let context = context()?;
        let (secret, keys) = self.phases.time("keys", || {
            let secret = TfheSecret::generate(&context)?;
            let keys = secret.server_keys()?.encode(&context).map_err(failed)?;
            Ok::<_, ClientError>((secret, keys))
        })?;
        let server = self.phases.time("server", || KeyParts::decode(&context, &keys)).map_err(failed)?;
        self.key_bytes += keys.len() as u64;
        self.moved.up += keys.len() as u64;
        let mut sides = Sides { secret, server, known: Vec::with_capacity(division.pieces.len()) };
        for piece in &division.pieces {
            let crossing = match &piece.place {
                Place::Slots(bridge) => {
                    let slots = self.in_slots(bridge, &sides.secret)?;
                    match bridge.is_one_value() {
                        true => {
                            Crossing::One(self.phases.time("server", || slots.digits(&sides.server, 0..1))?)
                        }
                        false => Crossing::Slots(slots),
                    }
                }
                Place::Digits(plan) => Crossing::One(self.sum(plan, division.length, &sides)?),
            };
            sides.known.push((piece.vector, crossing));
        }
        let work = Work::new(&division.digits, self.columns, division.elements)?;
        let mut outputs = Vec::new();
        for elements in work.blocks.iter() {
            let (program, length) = (work.program, elements.len());
            let serve = |sent: Vec<Sent<'_>>| program.serve_sent(&sides.server, length, sent).map_err(failed);
            let answer = self.block(&work, &sides, elements, serve)?;
            self.moved.down += answer.len() as u64;
            let decrypt = || sides.secret.decrypt(program.answer_count(length), &answer);
            let digits = self.phases.time("decrypt", decrypt)?;
            outputs.extend(program.results(&digits));
        }
        Ok(outputs)
    }

    /// Evaluates a piece in slots.
    fn in_slots(&mut self, bridge: &'a Bridge, secret: &TfheSecret) -> Result<InSlots<'a>, ClientError> {
        let plan = bridge.plan();
        let mut run = super::Run {
            plan,
            columns: self.columns,
            length: plan.length(),
            is_one_value: false,
            phases: std::mem::take(&mut self.phases),
            key_bytes: self.key_bytes,
            moved: self.moved,
        };
        let slots = InSlots::new(bridge, &mut run, secret)?;
        (self.phases, self.key_bytes, self.moved) = (run.phases, run.key_bytes, run.moved);
        self.ciphertexts += plan.lanes().len() * plan.circuit().used_inputs().len() * plan.block_count();
        Ok(slots)
    }

    /// The digits of a sum over all elements, on the server.
    fn sum(&mut self, plan: &GatePlan, length: usize, sides: &Sides<'_>) -> Result<Vec<Lwe>, ClientError> {
        let work = Work::new(plan, self.columns, length)?;
        let mut sum = Sum::new(plan, length);
        for elements in work.blocks.iter() {
            let count = elements.len();
            let add =
                |sent: Vec<Sent<'_>>| Ok(sum.add(&sides.server, count, sent).map_err(EvalError::from)?);
            self.block(&work, sides, elements, add)?;
        }
        let digits = self.phases.time("server", || sum.digits(&sides.server));
        Ok(digits.map_err(EvalError::from)?)
    }

    /// Encrypts what the owner has of some elements, and gives it to the server with what that has.
    fn block<T>(
        &mut self,
        work: &Work<'_>,
        sides: &Sides<'_>,
        elements: Range<usize>,
        serve: impl FnOnce(Vec<Sent<'_>>) -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        let secret = &sides.secret;
        let upload = |(vector, digits): (usize, usize)| {
            let values = work.integers.get(vector).and_then(|values| values.get(elements.clone()));
            let values = values.unwrap_or_default();
            let mut sent = Wiped::zeroed(digits * values.len());
            let all = values.iter().flat_map(|value| Program::digits_of(*value, digits));
            sent.iter_mut().zip(all).for_each(|(sent, digit)| *sent = digit);
            Ok::<_, ClientError>(secret.encrypt(&sent)?.encode(secret.context()))
        };
        let uploads: Vec<Vec<u8>> =
            self.phases.time("encrypt", || work.own_inputs().map(upload).collect::<Result<_, _>>())?;
        self.moved.up += uploads.iter().map(|upload| upload.len() as u64).sum::<u64>();
        self.ciphertexts += work.own_inputs().map(|(_, digits)| digits * elements.len()).sum::<usize>();
        let count = elements.len() as u64;
        let served = self.phases.time("server", || {
            let mut objects = uploads.iter();
            let sent = work.program.inputs().map(|(vector, _)| {
                match sides.known.iter().find(|(place, _)| *place == vector) {
                    None => Ok(Sent::Object(objects.next().map_or(&[][..], |object| object))),
                    Some((_, crossing)) => {
                        Ok(Sent::Digits(crossing.digits(&sides.server, elements.clone())?))
                    }
                }
            });
            serve(sent.collect::<Result<Vec<_>, ClientError>>()?)
        })?;
        self.progress.advance(count);
        Ok(served)
    }
}

fn describe(
    expression: &Expression,
    division: &Division,
    Cost { bootstraps, rounds }: Cost,
) -> Result<EvalAccount, EvalError> {
    let (program, length) = (division.digits.program(), division.length);
    let of_pieces = division.pieces.iter().flat_map(Piece::inputs);
    let mut used: Vec<usize> = program.inputs().map(|(vector, _)| vector).chain(of_pieces).collect();
    used.retain(|vector| *vector < expression.names().len());
    used.sort_unstable();
    used.dedup();
    let names = used.iter().filter_map(|vector| expression.names().get(*vector).cloned());
    let encrypted: Vec<String> = names.collect();
    let of_digits = INTEGERS.failure_log2() + (bootstraps.max(1) as f64).log2();
    let failures = division.failures_log2().into_iter().chain([of_digits]);
    let failure_log2 = failures.map(f64::exp2).sum::<f64>().log2();
    let (pieces, sums) = (division.slot_accounts(), division.sum_accounts()?);
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
    Ok(EvalAccount {
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
        sums,
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
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::{Numbers, VectorSource, evaluate_expression};
    use super::*;

    /// What was told.
    #[derive(Default)]
    struct Told(Mutex<Vec<String>>);

    impl Progress for Told {
        fn begin(&self, phase: &str, total: Option<u64>, unit: &str) {
            self.0.lock().unwrap().push(format!("{phase} {} {unit}", total.unwrap_or(0)));
        }
        fn advance(&self, amount: u64) {
            self.0.lock().unwrap().push(amount.to_string());
        }
        fn end(&self) {
            self.0.lock().unwrap().push("end".to_owned());
        }
    }

    /// The elements of a sum that stays on the server are counted too; one result for all is one element.
    #[test]
    fn progress_counts_the_elements_of_all_programs() {
        for (expression, told) in [
            ("sum(x > 1) > x", &["evaluate 6 elements", "3", "3", "end"][..]),
            ("sum(x > 1) > 1", &["evaluate 4 elements", "3", "1", "end"]),
        ] {
            let numbers = VectorSource::Numbers(Numbers::Integers(vec![0, 2, 3]));
            let options = EvalOptions {
                expression: expression.into(),
                vectors: vec![("x".into(), numbers)],
                data: None,
                scheme: None,
                precision: None,
                verify: true,
                threads: 2,
            };
            let progress = Told::default();
            evaluate_expression(&options, &progress).unwrap();
            assert_eq!(*progress.0.lock().unwrap(), told, "{expression}");
        }
    }
}
