// SPDX-License-Identifier: Apache-2.0
//! Bootstrappings of TFHE: look-ups, gates, and integers in digits, alone and in batches.

use std::time::Instant;

use hush_keys::TfheSecret;
use hush_params::tfhe::{GATES, INTEGERS, TfheSet};
use hush_ring::Cpu;
use hush_tfhe::gate::{self, Bit, Gate};
use hush_tfhe::integer::{Operand, Outcomes, Program, Step};
use hush_tfhe::{Answers, Context, Fresh, KeyParts, Lwe, ServerKey, Table};
use serde::Serialize;

use crate::BenchError;
use crate::aligned::{align, figure_text};
use crate::split_table::median;
use crate::synthetic::mix;

/// Ciphertexts of a batch: for each thread as many as share the keys.
const TOGETHER: usize = 4;

/// Options.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bits of the integers.
    pub bits: Vec<u32>,
    /// Seed of messages.
    pub seed: u64,
    /// Repetitions.
    pub repeat: u32,
    /// Threads of batches. One alone takes one.
    pub threads: usize,
}

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// The operation.
    pub name: String,
    /// The parameter set.
    pub params: &'static str,
    /// Bootstrappings of one.
    pub bootstraps: u64,
    /// Median milliseconds of one alone, on one thread.
    pub alone_ms: f64,
    /// Median milliseconds of one in a batch of four, on one thread.
    pub in_four_ms: f64,
    /// Median milliseconds of one in a batch of four for each thread.
    pub in_batch_ms: f64,
    /// Whether all results are those in the clear.
    pub is_exact: bool,
}

/// Both sides of a parameter set.
struct Sides {
    secret: TfheSecret,
    key: ServerKey,
}

impl Sides {
    fn new(set: &'static TfheSet) -> Result<Self, BenchError> {
        let secret = TfheSecret::generate(&Context::new(set, Cpu::detect()?)?)?;
        let key = KeyParts::decode(secret.context(), &secret.server_keys()?.encode(secret.context())?)?;
        Ok(Self { secret, key })
    }

    fn context(&self) -> &Context {
        self.secret.context()
    }
}

/// Measures all operations.
///
/// # Errors
/// Encryption or a thread pool refuses.
pub fn run(options: &Options) -> Result<Vec<Case>, BenchError> {
    let (integers, gates) = (Sides::new(&INTEGERS)?, Sides::new(&GATES)?);
    let mut cases = vec![look_up(options, &integers)?, gate_case(options, &gates)?];
    for bits in &options.bits {
        for (name, steps) in operations((bits / 2) as usize) {
            if name == "product" && *bits > 16 {
                continue;
            }
            cases.push(integer_case(options, &integers, &format!("{name}, {bits} bits"), *bits, steps)?);
        }
    }
    Ok(cases)
}

/// Cases with a wrong result.
pub fn wrong(cases: &[Case]) -> usize {
    cases.iter().filter(|case| !case.is_exact).count()
}

/// What is done to two integers of so many digits.
fn operations(digits: usize) -> [(&'static str, Vec<Step>); 5] {
    let less = Outcomes { less: true, equal: false, greater: false };
    let equal = Outcomes { less: false, equal: true, greater: false };
    let compare = |when| Step::Compare(0, Operand::Step(1), when);
    let steps = |more: Vec<Step>| {
        let input = |vector| Step::Input { vector, digits, last: 3 };
        [input(0), input(1)].into_iter().chain(more).collect()
    };
    [
        ("sum", steps(vec![Step::Linear(0, vec![(0, 1), (1, 1)])])),
        ("equality", steps(vec![compare(equal)])),
        ("order", steps(vec![compare(less)])),
        ("minimum", steps(vec![compare(less), Step::Choose(2, Operand::Step(0), Operand::Step(1))])),
        ("product", steps(vec![Step::Product(0, 1)])),
    ]
}

/// The median milliseconds of one of `count`, and whether all results were right. Work gives the seconds of the server.
fn timed(
    options: &Options,
    (threads, count): (usize, usize),
    mut work: impl FnMut(usize) -> Result<(f64, bool), BenchError> + Send,
) -> Result<(f64, bool), BenchError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(std::io::Error::other)?;
    pool.install(|| {
        let (mut times, mut is_exact) = (Vec::new(), true);
        for _ in 0..options.repeat.max(1) {
            let (seconds, is_right) = work(count)?;
            is_exact &= is_right;
            times.push(seconds * 1e3 / count as f64);
        }
        Ok((median(&times), is_exact))
    })
}

fn case(
    options: &Options,
    (name, set, bootstraps): (String, &'static TfheSet, u64),
    mut work: impl FnMut(usize) -> Result<(f64, bool), BenchError> + Send,
) -> Result<Case, BenchError> {
    let (alone_ms, first) = timed(options, (1, 1), &mut work)?;
    let (in_four_ms, second) = timed(options, (1, TOGETHER), &mut work)?;
    let (in_batch_ms, third) = timed(options, (options.threads, TOGETHER * options.threads), &mut work)?;
    let is_exact = first && second && third;
    Ok(Case { name, params: set.name(), bootstraps, alone_ms, in_four_ms, in_batch_ms, is_exact })
}

fn look_up(options: &Options, sides: &Sides) -> Result<Case, BenchError> {
    let (context, most) = (sides.context(), TOGETHER * options.threads);
    let messages: Vec<u64> = (0..most as u64).map(|place| mix(options.seed ^ place) % 16).collect();
    let function = |message: u64| message * message % 16;
    let inputs = Fresh::decode(context, most, &sides.secret.encrypt(&messages)?.encode(context))?;
    let table = Table::of(context, function)?;
    let work = |count: usize| {
        let jobs: Vec<(&Lwe, &Table)> = inputs[..count].iter().map(|input| (input, &table)).collect();
        let start = Instant::now();
        let results = sides.key.bootstrap(&jobs)?;
        let seconds = start.elapsed().as_secs_f64();
        let small = Answers(sides.key.switch(&results.iter().collect::<Vec<_>>())?).encode(context);
        let found = sides.secret.decrypt(count, &small)?;
        let is_right = found.iter().zip(&messages).all(|(found, message)| *found == function(*message));
        Ok((seconds, is_right))
    };
    case(options, ("look-up of 4 bits".to_owned(), &INTEGERS, 1), work)
}

fn gate_case(options: &Options, sides: &Sides) -> Result<Case, BenchError> {
    let (context, most) = (sides.context(), TOGETHER * options.threads);
    let bits: Vec<bool> = (0..2 * most as u64).map(|place| mix(options.seed ^ place) % 2 == 1).collect();
    let fresh = Fresh::decode(context, bits.len(), &sides.secret.encrypt_bits(&bits)?.encode(context))?;
    let fresh: Vec<Bit> = fresh.into_iter().map(Bit::fresh).collect();
    let work = |count: usize| {
        let pairs = fresh.chunks(2).take(count);
        let gates: Vec<_> =
            pairs.filter_map(|pair| Some((Gate::Nand, pair.first()?, pair.last()?))).collect();
        let start = Instant::now();
        let results = gate::evaluate(&sides.key, &gates)?;
        let seconds = start.elapsed().as_secs_f64();
        let small = sides.key.switch(&results.iter().map(Bit::lwe).collect::<Vec<_>>())?;
        let found = sides.secret.decrypt_bits(count, &Answers(small).encode(context))?;
        let expected = bits.chunks(2).take(count).map(|pair| Gate::Nand.of(pair[0], pair[1]));
        Ok((seconds, found.iter().copied().eq(expected)))
    };
    case(options, ("NAND".to_owned(), &GATES, 1), work)
}

fn integer_case(
    options: &Options,
    sides: &Sides,
    name: &str,
    bits: u32,
    steps: Vec<Step>,
) -> Result<Case, BenchError> {
    let (context, most) = (sides.context(), TOGETHER * options.threads);
    let program = Program::new((bits / 2) as usize, false, steps, false)?;
    let mask = (1_i128 << bits) - 1;
    let value =
        |vector: u64| move |element: u64| i128::from(mix(options.seed ^ mix(vector << 32 | element))) & mask;
    let columns: Vec<Vec<i128>> =
        (0..2).map(|vector| (0..most as u64).map(value(vector)).collect()).collect();
    let upload = |column: &Vec<i128>, count: usize| {
        let digits: Vec<u64> =
            column[..count].iter().flat_map(|value| Program::digits_of(*value, program.digits())).collect();
        Ok::<_, BenchError>(sides.secret.encrypt(&digits)?.encode(context))
    };
    let work = |count: usize| {
        let uploads = columns.iter().map(|column| upload(column, count)).collect::<Result<Vec<_>, _>>()?;
        let start = Instant::now();
        let answer = program.serve(&sides.key, count, &uploads)?;
        let seconds = start.elapsed().as_secs_f64();
        let digits = sides.secret.decrypt(program.answer_count(count), &answer)?;
        let found = program.results(&digits);
        let expected = (0..count).map(|element| program.value(&[columns[0][element], columns[1][element]]));
        Ok((seconds, found.into_iter().eq(expected)))
    };
    case(options, (name.to_owned(), &INTEGERS, program.cost(1)?.bootstraps), work)
}

/// The report as text.
pub fn text(options: &Options, cases: &[Case]) -> String {
    let heads = ["", "bootstrappings", "ms alone", "ms in fours", "ms in batches", "results"];
    let mut lines = vec![heads.map(str::to_owned).to_vec()];
    for case in cases {
        lines.push(vec![
            case.name.clone(),
            case.bootstraps.to_string(),
            figure_text(case.alone_ms),
            figure_text(case.in_four_ms),
            figure_text(case.in_batch_ms),
            if case.is_exact { "exact" } else { "WRONG" }.to_owned(),
        ]);
    }
    format!(
        "Bootstraps: TFHE, {} threads, seed {}\n\n{}\n\
         Alone and in fours: one thread; in batches: four for each of {} threads, times for one of them.\n\
         Look-ups and integers: {}; gates: {}. Chance of a wrong digit below 2^{:.0} and 2^{:.0}.\n\
         Times: medians of {}, of the server; for integers from bytes to bytes.",
        options.threads,
        options.seed,
        align(&lines),
        options.threads,
        INTEGERS.name(),
        GATES.name(),
        INTEGERS.failure_log2().ceil(),
        GATES.failure_log2().ceil(),
        options.repeat,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_exact() {
        let options = Options { bits: vec![8], seed: 7, repeat: 1, threads: 1 };
        let cases = run(&options).unwrap();
        assert!(wrong(&cases) == 0 && cases.len() == 7, "{cases:?}");
        assert!(text(&options, &cases).contains("order, 8 bits"));
    }
}
