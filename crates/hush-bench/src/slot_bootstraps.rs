// SPDX-License-Identifier: Apache-2.0
//! Bootstrappings of CKKS: time, memory, and how near slots come back, for messages of every kind.

use std::time::Instant;

use hush_circuits::bootstrap::{BootstrapKeys, Bootstrapping};
use hush_circuits::noise::CkksNoise;
use hush_keys::ChainSecret;
use hush_params::bootstrap::{self, BootstrapSet, FAILURE_LOG2, SETS};
use hush_ring::Cpu;
use hush_schemes::ckks::{Ckks, CkksCiphertext, Complex};
use serde::Serialize;

use crate::BenchError;
use crate::aligned::{align, figure_text};
use crate::beside::{Slots, Tools};
use crate::split_table::median;
use crate::synthetic::mix;

/// Options.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names of the parameter sets; those that there is memory for if none is named.
    pub sets: Vec<String>,
    /// Seed of messages.
    pub seed: u64,
    /// Repetitions.
    pub repeat: u32,
    /// Threads of the column that takes several.
    pub threads: usize,
    /// How Lattigo is reached, if it is to be measured as well.
    pub beside: Option<Tools>,
}

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Each set.
    pub cases: Vec<Case>,
    /// Sets that were left out, and why.
    pub left_out: Vec<String>,
    /// Lattigo, where it was measured.
    pub lattigo: Option<Slots>,
}

/// One parameter set.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// The parameter set.
    pub params: &'static str,
    /// log2 of complex slots.
    pub slots_log2: u32,
    /// Levels that a bootstrapped ciphertext has for a program.
    pub levels: u32,
    /// Bits of each.
    pub level_bits: f64,
    /// log2 of all primes, special ones included.
    pub log_qp: u32,
    /// Seconds for the keys, on all threads.
    pub keys_s: f64,
    /// Bytes of the keys in memory.
    pub key_bytes: u64,
    /// Bytes of the matrices.
    pub matrix_bytes: u64,
    /// Median milliseconds of complex slots, on one thread.
    pub complex_ms: f64,
    /// The same on several threads.
    pub threads_ms: f64,
    /// Median milliseconds of real slots, on one thread.
    pub real_ms: f64,
    /// Median milliseconds of one of two ciphertexts with real slots, bootstrapped as one, on one thread.
    pub of_pair_ms: f64,
    /// Median milliseconds of real slots with what the first bootstrapping errs by, on one thread; sets for few slots have none.
    pub twice_ms: Option<f64>,
    /// log2 of the largest error of a slot over all messages.
    pub worst_log2: f64,
    /// log2 of the mean error of random slots.
    pub mean_log2: f64,
    /// log2 of the bound on errors.
    pub bound_log2: f64,
    /// The largest error and its bound, both log2, where what the first bootstrapping errs by is bootstrapped too.
    pub twice_log2: Option<[f64; 2]>,
    /// Whether every error was within the bound.
    pub is_within: bool,
}

/// Sets with an error beyond the bound.
pub fn wrong(report: &Report) -> usize {
    report.cases.iter().filter(|case| !case.is_within).count()
}

/// Measures the sets.
///
/// # Errors
/// An unknown set; encryption or a thread pool refuses; the adapter to Lattigo cannot be built, or fails.
pub fn run(options: &Options) -> Result<Report, BenchError> {
    let adapter = options.beside.as_ref().map(Tools::lattigo).transpose()?;
    let mut report = Report { cases: Vec::new(), left_out: Vec::new(), lattigo: None };
    for set in chosen(&options.sets)? {
        let (needed, free) = (set.memory_bytes(), hush_system::memory::available_bytes());
        if let Some(free) = free.filter(|&free| free < needed) {
            report.left_out.push(format!(
                "{}: needs {}, {} are free",
                set.name(),
                gigabytes(needed),
                gigabytes(free)
            ));
            continue;
        }
        report.cases.push(case(options, set)?);
    }
    if let Some(adapter) = adapter {
        report.lattigo = Some(adapter.run(&[options.repeat.max(1).to_string()])?);
    }
    Ok(report)
}

fn chosen(names: &[String]) -> Result<Vec<&'static BootstrapSet>, BenchError> {
    if names.is_empty() {
        return Ok(SETS.to_vec());
    }
    Ok(names.iter().map(|name| bootstrap::named(name)).collect::<Result<_, _>>()?)
}

/// Both sides of a set.
struct Sides {
    scheme: Ckks,
    bootstrapping: Bootstrapping,
    secret: ChainSecret,
    keys: BootstrapKeys,
}

impl Sides {
    fn new(set: &BootstrapSet) -> Result<Self, BenchError> {
        let (chain, cpu) = (set.chain()?, Cpu::detect()?);
        let scheme = Bootstrapping::scheme(set.shape(), &chain, cpu)?;
        let bootstrapping = Bootstrapping::new(&scheme, set.shape())?;
        let secret = ChainSecret::generate(scheme.chain())?;
        let evaluation = secret.evaluation_keys_up_to(&bootstrapping.key_levels())?;
        let keys = BootstrapKeys { evaluation, encapsulation: secret.encapsulation_keys()? };
        Ok(Self { scheme, bootstrapping, secret, keys })
    }

    /// In all slots, as often as it takes.
    fn encrypt(&self, slots: &[Complex]) -> Result<CkksCiphertext, BenchError> {
        let all: Vec<Complex> = slots.iter().copied().cycle().take(self.scheme.slot_count()).collect();
        let message = self.scheme.encode(&all, self.bootstrapping.shape().input())?;
        Ok(self.scheme.ciphertext(self.secret.encrypt(message)?.expand()?)?)
    }

    /// The largest error of a slot, and the mean.
    fn errors(&self, a: &CkksCiphertext, expected: &[Complex]) -> Result<(f64, f64), BenchError> {
        let found = self.scheme.decode(self.secret.phase(a.inner())?.poly(), a.scale())?;
        let error = |(&a, &b): (&Complex, &Complex)| (a - b).re.hypot((a - b).im);
        let errors: Vec<f64> = found.iter().zip(expected.iter().cycle()).map(error).collect();
        let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
        Ok((errors.into_iter().fold(0.0, f64::max), mean))
    }
}

fn case(options: &Options, set: &'static BootstrapSet) -> Result<Case, BenchError> {
    let pool = |threads: usize| rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let one = pool(1).map_err(std::io::Error::other)?;
    let several = pool(options.threads).map_err(std::io::Error::other)?;
    let start = Instant::now();
    let sides = several.install(|| Sides::new(set))?;
    let keys_s = start.elapsed().as_secs_f64();
    let (scheme, bootstrapping, keys) = (&sides.scheme, &sides.bootstrapping, &sides.keys);
    let chain = scheme.chain().params();
    let slots = set.shape().slots();
    let model = CkksNoise::new(scheme);
    let bound_log2 = bootstrapping.error_log2(&model)?;
    let is_refined = set.shape().repeats_log2 == 0;

    let (mut worst, mut mean) = (0.0_f64, 0.0);
    let mut times: [Vec<f64>; 5] = Default::default();
    let mut worst_twice = 0.0_f64;
    for (kind, message) in messages(options, slots).into_iter().enumerate() {
        let a = sides.encrypt(&message)?;
        let start = Instant::now();
        let out = one.install(|| bootstrapping.apply(scheme, &a, keys))?;
        // The first finds no buffers.
        if kind > 0 {
            times[0].push(start.elapsed().as_secs_f64() * 1e3);
        }
        let (largest, of_message) = sides.errors(&out, &message)?;
        worst = worst.max(largest);
        if kind == 0 {
            mean = of_message;
        }
    }
    let real = |seed: u64| -> Vec<Complex> {
        (0..slots as u64).map(|slot| Complex { re: part(seed ^ mix(slot)), im: 0.0 }).collect()
    };
    let (x, y) = (real(options.seed), real(options.seed + 1));
    let (a, b) = (sides.encrypt(&x)?, sides.encrypt(&y)?);
    for _ in 0..options.repeat.max(1) {
        let mut timed = |place: usize, each: f64, work: &mut dyn FnMut() -> Result<(), BenchError>| {
            let start = Instant::now();
            work()?;
            times[place].push(start.elapsed().as_secs_f64() * 1e3 / each);
            Ok::<_, BenchError>(())
        };
        let mut outputs = Vec::new();
        timed(1, 1.0, &mut || {
            outputs.push((several.install(|| bootstrapping.apply(scheme, &a, keys))?, &x));
            Ok(())
        })?;
        timed(2, 1.0, &mut || {
            outputs.push((one.install(|| bootstrapping.apply_real(scheme, &a, keys))?, &x));
            Ok(())
        })?;
        timed(3, 2.0, &mut || {
            let [left, right] = one.install(|| bootstrapping.apply_pair(scheme, ([&a, &b], 1), keys))?;
            outputs.extend([(left, &x), (right, &y)]);
            Ok(())
        })?;
        if is_refined {
            let mut twice = Vec::new();
            timed(4, 1.0, &mut || {
                twice = one.install(|| bootstrapping.apply_refined(scheme, (&[&a], 0), keys))?;
                Ok(())
            })?;
            for output in &twice {
                worst_twice = worst_twice.max(sides.errors(output, &x)?.0);
            }
        }
        for (output, expected) in &outputs {
            worst = worst.max(sides.errors(output, expected)?.0);
        }
    }
    let [complex_ms, threads_ms, real_ms, of_pair_ms, twice_ms] = times.map(|times| median(&times));
    let shape = set.shape();
    let twice_log2 = match is_refined {
        true => Some([worst_twice.log2(), bootstrapping.refined_error_log2(&model)?]),
        false => None,
    };
    Ok(Case {
        params: set.name(),
        slots_log2: slots.ilog2(),
        levels: shape.program,
        level_bits: f64::from(shape.low) * 46.0 / 3.0,
        log_qp: chain.log_qp_ceil(),
        keys_s,
        key_bytes: keys.memory_bytes() as u64,
        matrix_bytes: bootstrapping.memory_bytes() as u64,
        complex_ms,
        threads_ms,
        real_ms,
        of_pair_ms,
        twice_ms: is_refined.then_some(twice_ms),
        worst_log2: worst.log2(),
        mean_log2: mean.log2(),
        bound_log2,
        twice_log2,
        is_within: worst.log2() <= bound_log2 && twice_log2.is_none_or(|[found, bound]| found <= bound),
    })
}

/// From −1 to 1.
fn part(word: u64) -> f64 {
    (mix(word) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// Random slots first, then those that are worst for a sine or for an order of phases that mixes slots; and random ones again.
fn messages(options: &Options, slots: usize) -> Vec<Vec<Complex>> {
    let random = |round: u64| -> Vec<Complex> {
        let slot = |slot: u64| {
            let word = mix(options.seed ^ round << 40) ^ slot;
            Complex { re: part(word), im: part(!word) }
        };
        (0..slots as u64).map(slot).collect()
    };
    let extreme = |sign: f64| Complex { re: sign, im: -sign };
    let constant = vec![extreme(1.0); slots];
    let alternating = (0..slots).map(|slot| extreme(if slot % 2 == 0 { 1.0 } else { -1.0 })).collect();
    let rounds = u64::from(options.repeat.max(3));
    [random(0), constant, alternating].into_iter().chain((1..rounds).map(random)).collect()
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

/// The report as text.
pub fn text(options: &Options, report: &Report) -> String {
    let threads = options.threads;
    let heads: Vec<String> = vec![
        String::new(),
        "slots".to_owned(),
        "levels left".to_owned(),
        "ms".to_owned(),
        format!("ms, {threads} threads"),
        "ms, real".to_owned(),
        "ms, one of a real pair".to_owned(),
        "largest error".to_owned(),
        "mean".to_owned(),
        "bound".to_owned(),
        "twice: ms, real".to_owned(),
        "largest error".to_owned(),
        "bound".to_owned(),
        "keys".to_owned(),
        "matrices".to_owned(),
    ];
    let mut lines = vec![heads];
    for case in &report.cases {
        let power = |log2: f64| format!("2^{log2:.1}");
        lines.push(vec![
            case.params.to_owned(),
            format!("2^{}", case.slots_log2),
            format!("{} x {:.1} bits", case.levels, case.level_bits),
            figure_text(case.complex_ms),
            figure_text(case.threads_ms),
            figure_text(case.real_ms),
            figure_text(case.of_pair_ms),
            format!("{}{}", power(case.worst_log2), if case.is_within { "" } else { " WRONG" }),
            power(case.mean_log2),
            power(case.bound_log2),
            case.twice_ms.map_or_else(|| "-".to_owned(), figure_text),
            case.twice_log2.map_or_else(|| "-".to_owned(), |[found, _]| power(found)),
            case.twice_log2.map_or_else(|| "-".to_owned(), |[_, bound]| power(bound)),
            format!("{} in {:.0} s", gigabytes(case.key_bytes), case.keys_s),
            gigabytes(case.matrix_bytes),
        ]);
    }
    if let Some(peer) = &report.lattigo {
        let mut line = vec![
            peer.library.clone(),
            format!("2^{}", peer.slots_log2),
            format!("{} x {:.1} bits", peer.levels, peer.level_bits),
            figure_text(peer.ms),
        ];
        line.resize(7, "-".to_owned());
        line.push(format!("2^{:.1}", peer.random_log2.max(peer.extreme_log2)));
        line.resize(lines[0].len() - 2, "-".to_owned());
        line.extend([format!("in {:.0} s", peer.keys_s), "-".to_owned()]);
        lines.push(line);
    }
    let mut text = format!("Bootstraps: CKKS, seed {}\n\n{}", options.seed, align(&lines));
    for set in &report.left_out {
        text.push_str(&format!("\nLeft out: {set}."));
    }
    if let Some(peer) = &report.lattigo {
        text.push_str(&format!(
            "\n{}: {}, log2 QP = {:.0}, keys on one thread; the largest error of random slots 2^{:.1}, of extreme ones 2^{:.1}.",
            peer.library, peer.params, peer.log_qp, peer.random_log2, peer.extreme_log2
        ));
    }
    text.push_str(&format!(
        "\nTimes: medians of {}, of the server, on one thread but where it says otherwise; keys with matrices, on {threads}.\n\
         Errors: of slots with real and imaginary parts up to 1, random, all extreme, and alternating. Chance that a ciphertext loses its sense: below 2^{:.0}.",
        options.repeat.max(3),
        FAILURE_LOG2.ceil(),
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_names_and_are_left_out_where_memory_lacks() {
        let names: Vec<_> = chosen(&[]).unwrap().iter().map(|set| set.name()).collect();
        assert_eq!(names.len(), SETS.len());
        assert_eq!(chosen(&[names[1].to_owned()]).unwrap()[0].name(), names[1]);
        let unknown = chosen(&["n14".to_owned()]).err().unwrap().to_string();
        assert!(unknown.contains("n14") && names.iter().all(|name| unknown.contains(name)), "{unknown}");
        let left_out = vec!["n16: needs 13.0 GB, 2.0 GB are free".to_owned()];
        let options = Options { sets: Vec::new(), seed: 1, repeat: 1, threads: 2, beside: None };
        let peer = Slots {
            library: "Lattigo 9".to_owned(),
            params: "P".to_owned(),
            slots_log2: 15,
            levels: 9,
            level_bits: 40.0,
            log_qp: 1546.0,
            keys_s: 40.0,
            ms: 12_345.0,
            random_log2: -24.0,
            extreme_log2: -13.0,
        };
        let report = Report { cases: Vec::new(), left_out, lattigo: Some(peer) };
        let text = text(&options, &report);
        assert!(text.contains("Left out: n16") && text.contains("2^-132"), "{text}");
        assert!(text.contains("9 x 40.0 bits") && text.contains("random slots 2^-24.0"), "{text}");
    }

    #[test]
    fn messages_are_within_what_bootstrapping_takes_and_reach_its_ends() {
        let options = Options { sets: Vec::new(), seed: 3, repeat: 1, threads: 1, beside: None };
        let all = messages(&options, 64);
        assert_eq!(all.len(), 5);
        assert!(all.iter().flatten().all(|z| z.re.abs() <= 1.0 && z.im.abs() <= 1.0));
        assert!(all[1].iter().chain(&all[2]).all(|z| z.re.abs() == 1.0));
        assert_ne!(all[0], all[3]);
    }
}
