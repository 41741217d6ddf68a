// SPDX-License-Identifier: Apache-2.0
//! The memory of operations, measured against the formulas that their documentation states (`docs/math/chains.md`, "Memory").
//!
//! *How.* Each operation runs in a process of its own, on one thread, with an allocator that takes every block of 16 KiB and more from
//! the operating system and gives it back when it is freed. The kernel then counts the bytes: the high water of the process's
//! address space above its size before is what the operation holds at its worst, buffers that wait in the thread's pool
//! included. Inputs are made on another thread, so that no pool helps. That is the allocator of glibc on Linux; elsewhere the
//! tests say that they measure nothing.
//!
//! *Steady state.* Once an operation has run a few times it takes its buffers from the pool: further runs map no memory and touch no
//! fresh page.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

use hush_circuits::linear::{Diagonals, LinearTransform, Split};
use hush_keys::ChainSecret;
use hush_params::ChainParams;
use hush_ring::{Coeff, Cpu, Poly};
use hush_rlwe::{EvaluationKeys, SeededCiphertext, rotation_element};
use hush_schemes::bgv::{Bfv, Bgv, BgvCiphertext};
use hush_schemes::ckks::{Ckks, CkksCiphertext, Complex};

/// The variables of the formulas: primes of the level, special primes, digits, and for BFV the primes of the auxiliary ring.
struct Size {
    limbs: usize,
    special: usize,
    digits: usize,
    auxiliary: usize,
}

/// An operation and the most rows of `N` words that it holds, its result included.
struct Operation {
    name: &'static str,
    rows: fn(&Size) -> usize,
    /// Whether it is to run without fresh memory.
    is_evaluation: bool,
}

/// A key switch and its division, limb by limb: the mask's coefficients, the primes that go and the outcome of both polynomials,
/// and of one limb the pair and a row of each digit.
fn fused(s: &Size) -> usize {
    s.limbs + 2 * (s.limbs + s.special) + 2 + s.digits
}

/// A key switch up to its division by `P`: the mask's coefficients, one row of each digit, and the pair.
fn switched(s: &Size) -> usize {
    s.limbs + s.digits + 2 * (s.limbs + s.special)
}

/// A division by `P`: the primes of both polynomials that stay, and those of one that go.
fn divided(s: &Size) -> usize {
    2 * s.limbs + s.special
}

/// All digits of a mask over the extended ring, and their coefficients.
fn hoisted(s: &Size) -> usize {
    s.digits * (s.limbs + s.special) + s.limbs
}

const OPERATIONS: [Operation; 11] = [
    Operation { name: "encrypt", rows: |s| 2 * s.limbs + 3, is_evaluation: false },
    Operation { name: "decrypt", rows: |s| s.limbs + 1, is_evaluation: false },
    Operation { name: "mul", rows: |s| 3 * s.limbs, is_evaluation: true },
    Operation { name: "relinearize", rows: fused, is_evaluation: true },
    Operation { name: "mul_rescale", rows: fused, is_evaluation: true },
    Operation { name: "rotate", rows: |s| fused(s) + 1, is_evaluation: true },
    // Four of them: each keeps its result.
    Operation {
        name: "rotate_many",
        rows: |s| hoisted(s) + 2 * (s.limbs + s.special) + divided(s) + 4 * 2 * s.limbs,
        is_evaluation: true,
    },
    Operation { name: "bgv_mul_mod_switch", rows: fused, is_evaluation: true },
    Operation { name: "bgv_rotate", rows: |s| fused(s) + 1, is_evaluation: true },
    // The coefficients of both operands, the product modulo R, and of one limb the four lifted factors.
    Operation { name: "bfv_mul", rows: |s| 4 * s.limbs + 3 * s.auxiliary + 4, is_evaluation: true },
    // Four baby steps, and for the sum, a giant step's sum and its switch one pair each over the extended ring.
    Operation {
        name: "transform",
        rows: |s| hoisted(s) + (4 + 3) * 2 * (s.limbs + s.special) + switched(s) + divided(s),
        is_evaluation: true,
    },
];

/// Pages, headers of blocks and everything small.
const OVERHEAD_BYTES: u64 = 128 << 10;
/// Runs after which every buffer is in the pool, and runs that are watched.
const WARM_RUNS: usize = 4;
const WATCHED_RUNS: usize = 8;

fn chains() -> [ChainParams; 2] {
    [
        ChainParams::uniform(8192, 46, 1, 3, 1, 1).unwrap(),
        ChainParams::uniform(16384, 46, 1, 6, 3, 3).unwrap(),
    ]
}

fn size(params: &ChainParams) -> Size {
    let limbs = params.levels().last().unwrap().len();
    // R > 2·t·N·Q, of primes of 46 bits.
    let bits = params.log_q(params.top()).unwrap() + 18.0 + (params.degree() as f64).log2();
    let auxiliary = (bits / 45.9).ceil() as usize + 1;
    Size { limbs, special: params.special().len(), digits: params.digit_count(), auxiliary }
}

#[test]
fn operations_keep_to_their_memory_and_then_allocate_nothing() {
    if !is_measurable() {
        return;
    }
    for (index, params) in chains().iter().enumerate() {
        let row_bytes = 8 * params.degree() as u64;
        for operation in &OPERATIONS {
            let Measured { peak, faults, mapped } = measure(operation.name, index);
            let name = format!("{} at N = {}", operation.name, params.degree());
            let stated = (operation.rows)(&size(params)) as u64 * row_bytes;
            let rows = peak as f64 / row_bytes as f64;
            assert!(peak <= stated + OVERHEAD_BYTES, "{name}: {rows:.1} rows, stated {}", stated / row_bytes);
            // A measurement that sees nothing, or a formula that says nothing.
            assert!(3 * peak > stated, "{name}: only {rows:.1} rows of {}", stated / row_bytes);
            if operation.is_evaluation {
                // One block of 16 KiB a run would touch four pages a run.
                assert!(faults < 4 * WATCHED_RUNS as u64, "{name}: {faults} fresh pages in the steady state");
                assert!(mapped < 16 << 10, "{name}: {mapped} bytes mapped in the steady state");
            }
        }
    }
}

struct Measured {
    peak: u64,
    faults: u64,
    mapped: u64,
}

/// Runs [`one_operation`] in a process of its own.
fn measure(name: &str, chain: usize) -> Measured {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "one_operation", "--ignored", "--nocapture", "--test-threads=1"])
        .env("HUSH_MEMORY_CASE", format!("{chain} {name}"))
        .env("RAYON_NUM_THREADS", "1")
        .env("MALLOC_ARENA_MAX", "1")
        .env("MALLOC_MMAP_THRESHOLD_", "16384")
        .env("MALLOC_MMAP_MAX_", "1000000")
        .env("MALLOC_TRIM_THRESHOLD_", "0")
        .env("MALLOC_TOP_PAD_", "0")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.split_once("MEMORY ")).map(|(_, numbers)| numbers);
    let mut numbers = line.unwrap_or_else(|| panic!("{name}: {text}")).split(' ').map(|n| n.parse().unwrap());
    let mut next = || numbers.next().unwrap();
    Measured { peak: next(), faults: next(), mapped: next() }
}

#[test]
#[ignore = "run by the other test, in a process of its own"]
fn one_operation() {
    let case = std::env::var("HUSH_MEMORY_CASE").expect("set by the other test");
    let (chain, name) = case.split_once(' ').unwrap();
    let params = chains().into_iter().nth(chain.parse().unwrap()).unwrap();
    let name = name.to_owned();
    let setup = std::thread::spawn(move || prepared(&name, params)).join().unwrap();
    std::thread::spawn(move || report(setup)).join().unwrap();
}

/// One run of an operation; the caller drops the result.
type Run = Box<dyn Fn() -> Box<dyn std::any::Any> + Send>;

fn report(run: Run) {
    // The high water of the past is filled up, so that what comes next shows.
    let room = status("VmPeak:").saturating_sub(status("VmSize:"));
    let ballast = std::hint::black_box(Vec::<u8>::with_capacity((room as usize).max(32 << 10)));
    let before = status("VmSize:").max(status("VmPeak:"));
    let result = run();
    let peak = status("VmPeak:") - before;
    drop(result);
    for _ in 0..WARM_RUNS {
        drop(run());
    }
    let (pages, mapped) = (fresh_pages(), status("VmSize:"));
    let high = status("VmPeak:");
    for _ in 0..WATCHED_RUNS {
        drop(run());
    }
    let (faults, mapped) = (fresh_pages() - pages, status("VmSize:").saturating_sub(mapped));
    announce(peak, faults, mapped + status("VmPeak:") - high);
    drop(ballast);
}

#[expect(clippy::print_stdout, reason = "the other test reads it")]
fn announce(peak: u64, faults: u64, mapped: u64) {
    println!("MEMORY {peak} {faults} {mapped}");
}

/// A line of what the kernel says of this process, in bytes.
fn status(line: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let found = text.lines().find_map(|found| found.strip_prefix(line)).unwrap();
    1024 * found.split_whitespace().next().unwrap().parse::<u64>().unwrap()
}

/// Pages that this process touched for the first time.
fn fresh_pages() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    // Fields after the name, which is in parentheses: state, …, minor faults.
    text.rsplit_once(')').unwrap().1.split_whitespace().nth(7).unwrap().parse().unwrap()
}

#[expect(clippy::print_stderr, reason = "a test that measures nothing must say so")]
fn is_measurable() -> bool {
    let measurable = cfg!(all(target_os = "linux", target_env = "gnu"));
    if !measurable {
        eprintln!("SKIPPED: memory is measured with glibc on Linux");
    }
    measurable
}

const T: u64 = 65537;

fn prepared(name: &str, params: ChainParams) -> Run {
    match name.split_once('_') {
        Some(("bgv", _)) => prepared_bgv(name, &params),
        Some(("bfv", _)) => prepared_bfv(&params),
        _ => prepared_ckks(name, &params),
    }
}

/// Scheme, secret and keys of CKKS, and two ciphertexts.
struct Approximate {
    scheme: Ckks,
    secret: ChainSecret,
    keys: EvaluationKeys,
    a: CkksCiphertext,
    product: CkksCiphertext,
}

fn prepared_ckks(name: &str, params: &ChainParams) -> Run {
    // A scale that leaves values room at level 0, of one prime.
    let scheme = Ckks::new(params, params.steady_scale_log2() - 0.01, Cpu::detect().unwrap()).unwrap();
    let secret = ChainSecret::generate(scheme.chain()).unwrap();
    let (n, degree) = (scheme.slot_count(), params.degree());
    let one = |slot: usize| Complex { re: (slot as f64).cos(), im: 0.0 };
    let offsets = [0_i64, 1, 2, 3, 4, 5, 6, 7];
    let diagonals = offsets.map(|offset| (offset, (0..n).map(one).collect()));
    let diagonals = Diagonals::new(n, diagonals).unwrap();
    let split = Split::by(4, &diagonals.offsets());
    let mut elements = split.galois_elements(degree);
    elements.extend([1, 2, 3, 5].map(|steps| rotation_element(degree, steps)));
    elements.sort_unstable();
    elements.dedup();
    let keys = secret.evaluation_keys(true, &elements).unwrap();
    let message: Poly<Coeff> = scheme.encode(&(0..n).map(one).collect::<Vec<_>>(), params.top()).unwrap();
    let a = scheme.ciphertext(secret.encrypt(message.clone()).unwrap().expand().unwrap()).unwrap();
    let product = scheme.mul(&a, &a).unwrap();
    let transform = LinearTransform::with_split(&scheme, &diagonals, params.top(), split).unwrap();
    let s = Approximate { scheme, secret, keys, a, product };
    match name {
        "encrypt" => Box::new(move || {
            let fresh: SeededCiphertext = s.secret.encrypt(message.clone()).unwrap();
            Box::new(fresh.expand().unwrap())
        }),
        "decrypt" => {
            Box::new(move || Box::new(s.secret.phase(s.a.inner()).map(|phase| phase.poly().words()[0])))
        }
        "mul" => Box::new(move || Box::new(s.scheme.mul(&s.a, &s.a).unwrap())),
        "relinearize" => Box::new(move || Box::new(s.scheme.relinearize(&s.product, &s.keys).unwrap())),
        "mul_rescale" => Box::new(move || Box::new(s.scheme.mul_rescale(&s.a, &s.a, &s.keys).unwrap())),
        "rotate" => Box::new(move || Box::new(s.scheme.rotate(&s.a, 1, &s.keys).unwrap())),
        "rotate_many" => {
            Box::new(move || Box::new(s.scheme.rotate_many(&s.a, &[1, 2, 3, 5], &s.keys).unwrap()))
        }
        "transform" => Box::new(move || Box::new(transform.apply(&s.scheme, &s.a, &s.keys).unwrap())),
        _ => panic!("no operation {name}"),
    }
}

fn prepared_bgv(name: &str, params: &ChainParams) -> Run {
    let scheme = Bgv::new(params, T, Cpu::detect().unwrap()).unwrap();
    let secret = ChainSecret::generate(scheme.chain()).unwrap();
    let keys = secret.evaluation_keys(true, &[rotation_element(params.degree(), 1)]).unwrap();
    let message = scheme.encode(&[1, 2, 3], params.top()).unwrap();
    let a: BgvCiphertext = scheme.ciphertext(secret.encrypt(message).unwrap().expand().unwrap()).unwrap();
    match name {
        "bgv_mul_mod_switch" => Box::new(move || Box::new(scheme.mul_mod_switch(&a, &a, &keys).unwrap())),
        "bgv_rotate" => Box::new(move || Box::new(scheme.rotate_rows(&a, 1, &keys).unwrap())),
        _ => panic!("no operation {name}"),
    }
}

fn prepared_bfv(params: &ChainParams) -> Run {
    let scheme = Bfv::new(params, T, Cpu::detect().unwrap()).unwrap();
    let secret = ChainSecret::generate(scheme.chain()).unwrap();
    let encrypt = |values: &[i64]| {
        secret.encrypt(scheme.encode(values, params.top()).unwrap()).unwrap().expand().unwrap()
    };
    let (a, b) = (encrypt(&[1, 2, 3]), encrypt(&[4, 5, 6]));
    Box::new(move || Box::new(scheme.mul(&a, &b).unwrap()))
}
