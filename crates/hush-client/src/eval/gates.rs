// SPDX-License-Identifier: Apache-2.0
//! Expressions with comparisons, conditions and choices: integers in encrypted digits. The server's half takes and gives bytes, and has no secret.
//!
//! ```text
//!   vectors ─ ranges ─▶ program ─▶ keys ─▶ block by block: encrypt digits, Program::serve, decrypt ─▶ unit, constant ─▶ result
//! ```

use arrow::record_batch::RecordBatch;
use hush_circuits::gates::GatePlan;
use hush_expr::{Expression, Ratio};
use hush_keys::TfheSecret;
use hush_params::tfhe::INTEGERS;
use hush_plan::report::Leakage;
use hush_ring::{Cpu, Wiped};
use hush_system::memory::peak_resident_bytes;
use hush_tfhe::integer::Program;
use hush_tfhe::{Context, KeyParts, ServerKey, TfheError};
use rayon::ThreadPool;
use zeroize::Zeroizing;

use super::vectors::Column;
use super::{EvalAccount, EvalError, EvalOptions, Evaluation, IntegerAccount, array_of, verify};
use crate::account::{Moved, Phases};
use crate::error::ClientError;

/// Elements that are evaluated together: a digit takes 16 KB as a ciphertext.
const BLOCK: usize = 128;
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
    let plan = phases.time("plan", || GatePlan::of(expression, &vectors, length)).map_err(EvalError::from)?;
    let bootstraps = cost(plan.program(), length).map_err(failed)?;
    if bootstraps > MAX_BOOTSTRAPS {
        return Err(EvalError::Slow { found: bootstraps, limit: MAX_BOOTSTRAPS }.into());
    }
    let integers: Vec<Zeroizing<Vec<i128>>> =
        (0..columns.len()).map(|vector| integers(&plan, columns, vector)).collect::<Result<_, _>>()?;
    let mut run =
        Run { program: plan.program(), integers: &integers, phases, moved: Moved::default(), ciphertexts: 0 };
    let (outputs, key_bytes) = pool.install(|| run.outputs(length))?;
    let Run { mut phases, mut moved, ciphertexts, .. } = run;
    moved.up += key_bytes;
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
    let rounds = plan.program().cost(length.min(BLOCK)).map_err(failed)?.rounds;
    let account = EvalAccount {
        is_rounded,
        key_bytes,
        ciphertexts,
        moved,
        phases,
        peak_bytes: peak_resident_bytes(),
        verified,
        ..describe(expression, plan.program(), length, (bootstraps, rounds))
    };
    Ok(Evaluation { batch, account })
}

/// A vector as integers of the program.
fn integers(plan: &GatePlan, columns: &[Column], vector: usize) -> Result<Zeroizing<Vec<i128>>, ClientError> {
    let values = columns.get(vector).map_or(&[][..], |column| &column.values);
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

/// Bootstrappings of all blocks.
fn cost(program: &Program, length: usize) -> Result<u64, TfheError> {
    let of_block = |elements: usize| Ok::<_, TfheError>(program.cost(elements)?.bootstraps);
    let whole = (length / BLOCK) as u64;
    let of_whole = if whole > 0 { of_block(BLOCK)? } else { 0 };
    Ok(of_whole.saturating_mul(whole).saturating_add(of_block(length % BLOCK)?))
}

/// One evaluation.
struct Run<'a> {
    program: &'a Program,
    /// Of each vector.
    integers: &'a [Zeroizing<Vec<i128>>],
    phases: Phases,
    moved: Moved,
    ciphertexts: usize,
}

impl Run<'_> {
    /// Decrypted integers: one for each element, or one for each block. With them the bytes of the keys.
    fn outputs(&mut self, length: usize) -> Result<(Vec<i128>, u64), ClientError> {
        let cpu = Cpu::detect().map_err(|source| ClientError::Cpu { source })?;
        let context = Context::new(&INTEGERS, cpu).map_err(failed)?;
        let (secret, keys) = self.phases.time("keys", || {
            let secret = TfheSecret::generate(&context)?;
            let keys = secret.server_keys()?.encode(&context).map_err(failed)?;
            Ok::<_, ClientError>((secret, keys))
        })?;
        let server = self.phases.time("server", || KeyParts::decode(&context, &keys)).map_err(failed)?;
        let mut outputs = Vec::new();
        for first in (0..length).step_by(BLOCK) {
            outputs.extend(self.block(&secret, &server, first..length.min(first + BLOCK))?);
        }
        Ok((outputs, keys.len() as u64))
    }

    fn block(
        &mut self,
        secret: &TfheSecret,
        server: &ServerKey,
        elements: std::ops::Range<usize>,
    ) -> Result<Vec<i128>, ClientError> {
        let (program, length) = (self.program, elements.len());
        let upload = |(vector, digits): (usize, usize)| {
            let values =
                self.integers.get(vector).and_then(|values| values.get(elements.clone())).unwrap_or_default();
            let mut sent = Wiped::zeroed(digits * values.len());
            let all = values.iter().flat_map(|value| Program::digits_of(*value, digits));
            sent.iter_mut().zip(all).for_each(|(sent, digit)| *sent = digit);
            Ok::<_, ClientError>(secret.encrypt(&sent)?.encode(secret.context()))
        };
        let uploads: Vec<Vec<u8>> =
            self.phases.time("encrypt", || program.inputs().map(upload).collect::<Result<_, _>>())?;
        let answer =
            self.phases.time("server", || program.serve(server, length, &uploads)).map_err(failed)?;
        self.moved.up += uploads.iter().map(|upload| upload.len() as u64).sum::<u64>();
        self.moved.down += answer.len() as u64;
        self.ciphertexts += program.inputs().map(|(_, digits)| digits * length).sum::<usize>();
        let digits = self.phases.time("decrypt", || secret.decrypt(program.answer_count(length), &answer))?;
        Ok(program.results(&digits))
    }
}

fn failed(error: TfheError) -> ClientError {
    EvalError::from(hush_circuits::program::ProgramError::from(error)).into()
}

fn describe(
    expression: &Expression,
    program: &Program,
    length: usize,
    (bootstraps, rounds): (u64, u64),
) -> EvalAccount {
    let mut used: Vec<usize> = program.inputs().map(|(vector, _)| vector).collect();
    used.sort_unstable();
    used.dedup();
    let names = used.iter().filter_map(|vector| expression.names().get(*vector).cloned());
    let encrypted: Vec<String> = names.collect();
    let failure_log2 = INTEGERS.failure_log2() + (bootstraps.max(1) as f64).log2();
    let leakage = Leakage {
        table: vec![format!("{} vectors of {length} values", encrypted.len())],
        query: vec![
            "the program: what is compared, added, multiplied and chosen, and the constants in it".into(),
            "digits of each vector and of the integers: ranges are those of the vectors".into(),
        ],
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
        security_bits: INTEGERS.security_bits(),
        plaintext_primes: Vec::new(),
        depth: rounds as u32,
        products: 0,
        integers: Some(IntegerAccount {
            bits: program.bits(),
            is_signed: program.is_signed(),
            bootstraps,
            set: INTEGERS.name(),
        }),
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
