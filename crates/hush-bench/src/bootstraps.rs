// SPDX-License-Identifier: Apache-2.0
//! Bootstrappings of TFHE: look-ups, gates, selectors, integers in digits, and the way into digits from slots, alone and in batches.

mod from_slots;

use std::time::Instant;

use hush_keys::TfheSecret;
use hush_params::tfhe::{GATES, INTEGERS, MESSAGES, TfheSet, WIDE};
use hush_ring::Cpu;
use hush_tfhe::gate::{self, Bit, Gate};
use hush_tfhe::integer::{Operand, Outcomes, Program, Step};
use hush_tfhe::{
    Answers, CircuitParts, Context, Fresh, KeyParts, Lwe, ServerKey, Table, TfheError, WideTable,
};
use serde::Serialize;

use crate::BenchError;
use crate::aligned::{align, figure_text};
use crate::beside::{Operations, Tools};
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
    /// How tfhe-rs is reached, if it is to be measured as well.
    pub beside: Option<Tools>,
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
    /// log2 of a bound on the chance that one of them is wrong.
    pub chance_log2: f64,
    /// Median milliseconds of one alone, on one thread.
    pub alone_ms: f64,
    /// Median milliseconds of one in a batch of four, on one thread.
    pub in_four_ms: f64,
    /// Median milliseconds of one in a batch of four for each thread.
    pub in_batch_ms: f64,
    /// Whether all results are those in the clear.
    pub is_exact: bool,
    /// Median milliseconds of the same in tfhe-rs alone, on one thread, where it was measured.
    pub tfhe_rs_ms: Option<f64>,
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
/// Encryption or a thread pool refuses; the adapter to tfhe-rs cannot be built, or fails.
pub fn run(options: &Options) -> Result<Vec<Case>, BenchError> {
    let adapter = options.beside.as_ref().map(Tools::tfhe_rs).transpose()?;
    let mut cases = Vec::new();
    for set in MESSAGES {
        let sides = Sides::new(set)?;
        cases.push(look_up(options, &sides, 1)?);
        if set == &INTEGERS {
            cases.push(look_up(options, &sides, 2)?);
        }
    }
    cases.push(gate_case(options, &Sides::new(&GATES)?)?);
    let wide = Sides::new(&WIDE)?;
    for bits in [1, 4, 8, 13] {
        cases.push(wide_case(options, &wide, bits)?);
    }
    let integers = Sides::new(&INTEGERS)?;
    for bits in &options.bits {
        for (name, steps) in operations((bits / 2) as usize) {
            if name == "product" && *bits > 16 {
                continue;
            }
            cases.push(integer_case(options, &integers, &format!("{name}, {bits} bits"), *bits, steps)?);
        }
        cases.push(from_slots::from_slots_case(options, &integers, *bits)?);
    }
    if let Some(adapter) = adapter {
        let bits = options.bits.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let found: Operations = adapter.run(&[options.repeat.max(1).to_string(), bits])?;
        for case in &mut cases {
            case.tfhe_rs_ms = found.ms.get(&case.name).copied();
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
    chance_log2: f64,
    mut work: impl FnMut(usize) -> Result<(f64, bool), BenchError> + Send,
) -> Result<Case, BenchError> {
    let (alone_ms, first) = timed(options, (1, 1), &mut work)?;
    let (in_four_ms, second) = timed(options, (1, TOGETHER), &mut work)?;
    let (in_batch_ms, third) = timed(options, (options.threads, TOGETHER * options.threads), &mut work)?;
    let is_exact = first && second && third;
    Ok(Case {
        name,
        params: set.name(),
        bootstraps,
        chance_log2,
        alone_ms,
        in_four_ms,
        in_batch_ms,
        is_exact,
        tfhe_rs_ms: None,
    })
}

/// A look-up of so many functions.
fn look_up(options: &Options, sides: &Sides, functions: usize) -> Result<Case, BenchError> {
    let (context, most) = (sides.context(), TOGETHER * options.threads);
    let (count, set) = (context.message_count(), context.set());
    let messages: Vec<u64> =
        (0..most as u64).map(|place| mix(options.seed ^ place) % (count / functions as u64)).collect();
    let (square, cube) = (|m: u64| m * m % count, |m: u64| m * m * m % count);
    let of_message: [&(dyn Fn(u64) -> u64 + Sync); 2] = [&square, &cube];
    let of_message = &of_message[..functions];
    let inputs = Fresh::decode(context, most, &sides.secret.encrypt(&messages)?.encode(context))?;
    let table = Table::several(context, &of_message.iter().map(|of| *of as _).collect::<Vec<_>>())?;
    let work = |count: usize| {
        let jobs: Vec<(&Lwe, &Table)> = inputs[..count].iter().map(|input| (input, &table)).collect();
        let start = Instant::now();
        let results = sides.key.bootstrap(&jobs)?;
        let seconds = start.elapsed().as_secs_f64();
        let small = Answers(sides.key.switch(&results.iter().collect::<Vec<_>>())?).encode(context);
        let found = sides.secret.decrypt(results.len(), &small)?;
        let expected = messages.iter().take(count).flat_map(|m| of_message.iter().map(|of| of(*m)));
        Ok((seconds, found.iter().copied().eq(expected)))
    };
    let bits = set.message_bits() - functions.trailing_zeros();
    let name = if functions == 1 {
        format!("look-up of {bits} bits")
    } else {
        format!("two functions of {bits} bits")
    };
    case(options, (name, set, 1), set.failure_log2(), work)
}

/// A look-up of 4 bits at an index of so many, by circuit bootstrapping.
fn wide_case(options: &Options, sides: &Sides, bits: u32) -> Result<Case, BenchError> {
    let (context, most) = (sides.context(), TOGETHER * options.threads);
    let circuit = CircuitParts::decode(context, &sides.secret.circuit_keys()?.encode(context)?)?;
    let entry = |index: u64| mix(options.seed ^ index) % 16;
    let table = WideTable::of(context, bits, entry)?;
    let indices: Vec<u64> = (0..most as u64).map(|place| mix(options.seed ^ place) >> (64 - bits)).collect();
    let digits: Vec<u64> =
        indices.iter().flat_map(|index| (0..bits).map(move |bit| index >> bit & 1)).collect();
    let inputs = Fresh::decode(context, digits.len(), &sides.secret.encrypt(&digits)?.encode(context))?;
    let work = |count: usize| {
        let start = Instant::now();
        let of_bits: Vec<&Lwe> = inputs.iter().take(count * bits as usize).collect();
        let selectors = circuit.selectors(&sides.key, &of_bits)?;
        let found = selectors.chunks(bits as usize).map(|selectors| table.look_up(context, selectors));
        let found: Vec<Lwe> = found.collect::<Result<_, TfheError>>()?;
        let seconds = start.elapsed().as_secs_f64();
        let small = Answers(sides.key.switch(&found.iter().collect::<Vec<_>>())?).encode(context);
        let found = sides.secret.decrypt(count, &small)?;
        Ok((seconds, found.iter().copied().eq(indices.iter().take(count).map(|index| entry(*index)))))
    };
    let set = context.set();
    let chances = [set.circuit_failure_log2(set.norm()), set.wide_failure_log2(bits, 1)];
    let chance = chances.into_iter().flatten().fold(f64::MIN, f64::max);
    let name = if bits == 1 {
        "circuit bootstrapping of a bit".to_owned()
    } else {
        format!("wide look-up of {bits} bits")
    };
    case(options, (name, set, bits.into()), chance, work)
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
    case(options, ("NAND".to_owned(), &GATES, 1), GATES.failure_log2(), work)
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
    let bootstraps = program.cost(1)?.bootstraps;
    case(options, (name.to_owned(), &INTEGERS, bootstraps), INTEGERS.failure_log2(), work)
}

/// The report as text.
pub fn text(options: &Options, cases: &[Case]) -> String {
    let heads = ["", "bootstrappings", "wrong", "ms alone", "ms in fours", "ms in batches", "results"];
    let has_peer = options.beside.is_some();
    let peer_heads = ["ms, tfhe-rs alone", "times ours, alone", "in fours"].into_iter().filter(|_| has_peer);
    let mut lines = vec![heads.into_iter().chain(peer_heads).map(str::to_owned).collect::<Vec<_>>()];
    for case in cases {
        let times = |ours: f64| case.tfhe_rs_ms.map(|peer| format!("{:.2}", peer / ours));
        let peer = [case.tfhe_rs_ms.map(figure_text), times(case.alone_ms), times(case.in_four_ms)];
        let peer = peer.into_iter().filter(|_| has_peer).map(|text| text.unwrap_or_else(|| "-".to_owned()));
        let mut line = vec![
            case.name.clone(),
            case.bootstraps.to_string(),
            format!("2^{:.0}", case.chance_log2.ceil()),
            figure_text(case.alone_ms),
            figure_text(case.in_four_ms),
            figure_text(case.in_batch_ms),
            if case.is_exact { "exact" } else { "WRONG" }.to_owned(),
        ];
        line.extend(peer);
        lines.push(line);
    }
    let peer = match has_peer {
        true => {
            "\ntfhe-rs 1.8.2: PARAM_MESSAGE_2_CARRY_2_KS_PBS, gates PARAMETERS_ERROR_PROB_2_POW_MINUS_165; one thread, in a process of its own, results checked."
        }
        false => "",
    };
    format!(
        "Bootstraps: TFHE, {} threads, seed {}\n\n{}\n\
         Alone and in fours: one thread; in batches: four for each of {} threads, times for one of them.\n\
         Wrong: a bound on the chance that one bootstrapping gives another result. Integers: {}; gates: {}; wide look-ups: {}.\n\
         Times: medians of {}, of the server; for integers from bytes to bytes; from slots without what was computed there.{peer}",
        options.threads,
        options.seed,
        align(&lines),
        options.threads,
        INTEGERS.name(),
        GATES.name(),
        WIDE.name(),
        options.repeat,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_exact() {
        let mut options = Options { bits: vec![8], seed: 7, repeat: 1, threads: 1, beside: None };
        let mut cases = run(&options).unwrap();
        assert!(wrong(&cases) == 0 && cases.len() == 19, "{cases:?}");
        let alone = text(&options, &cases);
        assert!(alone.contains("order, 8 bits") && alone.contains("wide look-up of 13 bits"), "{alone}");
        assert!(alone.contains("from slots to digits, 8 bits"), "{alone}");
        // One of many bootstrappings is no more certain than one alone.
        let of_digits = |case: &&Case| case.params == INTEGERS.name();
        assert!(cases.iter().filter(of_digits).all(|case| case.chance_log2 >= INTEGERS.failure_log2()));
        assert!(!alone.contains("tfhe-rs"), "{alone}");
        // Beside a library that takes twice as long for one operation, and has no other.
        options.beside = Some(Tools { go: String::new(), cargo: String::new(), build: None });
        let nand = cases.iter_mut().find(|case| case.name == "NAND").unwrap();
        nand.tfhe_rs_ms = Some(2.0 * nand.alone_ms);
        let beside = text(&options, &cases);
        let line = |name: &str| beside.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
        assert!(line("NAND").contains(" 2.00 ") && line("order, 8 bits").ends_with('-'), "{beside}");
    }
}
