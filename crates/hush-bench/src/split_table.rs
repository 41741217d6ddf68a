// SPDX-License-Identifier: Apache-2.0
//! W0, the split-table workload: sums over every column of a table with 8 columns, 4 of them sensitive.
//!
//! | variant | encrypts | how |
//! |---|---|---|
//! | naive CKKS, BGV, BFV | 8 columns | one ciphertext per cell, as the thesis did |
//! | packed whole | 8 columns | Hushtable, every column encrypted |
//! | packed split | 4 columns | Hushtable, the sensitive ones encrypted, the others clear |
//! | split in process | 4 columns | the same without a server: the table's directory is asked by the process that encrypted it |
//! | split on disk | 4 columns | the same, every file flushed to the disk by owner and server |
//! | split on functions | 4 columns | both halves in a bucket, asked through a front and workers that the platform starts, if asked for |
//! | TenSEAL thesis, packed, added, tuned | 4 columns | where TenSEAL is installed |

mod cloud;
mod measured;
mod naive;
mod packed;
pub mod plots;
pub mod report;

use std::process::Command;
use std::time::Duration;

use cloud::Cloud;
pub use cloud::{CloudUse, prices};
pub(crate) use measured::median;
pub use measured::{Check, Measured};
pub use naive::Scheme;
use packed::{Encrypted, Storage};

use crate::BenchError;
use crate::peers;
use crate::synthetic::Synthetic;

/// Longest run of a naive variant before the rest is extrapolated.
const NAIVE_BUDGET: Duration = Duration::from_secs(60);
/// Longest run of the thesis's own way in TenSEAL before the rest is extrapolated.
const TENSEAL_NAIVE_S: f64 = 10.0;
/// Largest table that peers and naive variants are given: they hold it in memory.
const LARGEST_NAIVE_ROWS: u64 = 100_000;

/// Options of the benchmark.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rows of the table.
    pub rows: u64,
    /// Seed of the table.
    pub seed: u64,
    /// Repetitions of the packed variants and of TenSEAL's fast ways.
    pub repeat: u32,
    /// Leave out the naive variants.
    pub skip_naive: bool,
    /// Leave out TenSEAL.
    pub skip_peers: bool,
    /// Python interpreter that may have TenSEAL.
    pub python: String,
    /// Threads.
    pub threads: usize,
    /// Run the split table on emulated functions too.
    pub serverless: bool,
}

/// One variant of ours; each runs in a process of its own.
pub const VARIANTS: [&str; 8] = [
    "packed-split",
    "packed-split-process",
    "packed-split-disk",
    "packed-split-functions",
    "packed-whole",
    "naive-ckks",
    "naive-bgv",
    "naive-bfv",
];

/// Runs every variant, ours by starting `program` again with [`variant_arguments`].
///
/// # Errors
/// A variant of ours fails. Peers that fail are left out.
pub fn run(options: &Options, program: &std::path::Path) -> Result<Vec<Measured>, BenchError> {
    let mut measured = Vec::new();
    for variant in VARIANTS {
        let is_naive = variant.starts_with("naive");
        if is_naive && (options.skip_naive || options.rows > LARGEST_NAIVE_ROWS) {
            continue;
        }
        // Large tables are on the disk anyway, and what a server costs is lost in them.
        let is_for_small = ["packed-split-process", "packed-split-disk"].contains(&variant);
        if is_for_small && options.rows > packed::LARGEST_ROWS_IN_MEMORY {
            continue;
        }
        if variant == FUNCTIONS {
            if options.serverless {
                measured.push(run_on_functions(options, program)?);
            }
            continue;
        }
        measured.push(child(Command::new(program).args(variant_arguments(options, variant)), variant)?);
    }
    if !options.skip_peers && options.rows <= LARGEST_NAIVE_ROWS && peers::has_tenseal(&options.python) {
        let table = Synthetic::new(options.rows, options.seed);
        for (way, repeat) in [
            ("tuned", options.repeat),
            ("added", options.repeat),
            ("packed", options.repeat.min(3)),
            ("naive", 1),
        ] {
            if way == "naive" && options.skip_naive {
                continue;
            }
            measured.extend(peers::tenseal(&options.python, way, &table, TENSEAL_NAIVE_S, repeat));
        }
    }
    Ok(measured)
}

/// The variant that runs on functions.
const FUNCTIONS: &str = "packed-split-functions";

/// Runs the variant on functions, with what one repetition used of them.
fn run_on_functions(options: &Options, program: &std::path::Path) -> Result<Measured, BenchError> {
    let mut cloud = Cloud::start(&options.python, program.parent().unwrap_or(program))?;
    let mut command = Command::new(program);
    command.args(variant_arguments(options, FUNCTIONS)).envs(cloud.environment());
    let measured = child(&mut command, FUNCTIONS)?;
    let used = cloud.used()?.of_one(f64::from(measured.repetitions.max(1)));
    Ok(Measured { cloud: Some(used), ..measured })
}

/// What a process of this program measured.
fn child(command: &mut Command, variant: &str) -> Result<Measured, BenchError> {
    let output = command.output()?;
    let parsed = serde_json::from_slice(&output.stdout).ok().filter(|_| output.status.success());
    parsed.ok_or_else(|| BenchError::Child {
        what: variant.to_owned(),
        message: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Arguments that make this program run one variant and print it as JSON.
pub fn variant_arguments(options: &Options, variant: &str) -> Vec<String> {
    let (rows, seed, repeat) =
        (options.rows.to_string(), options.seed.to_string(), options.repeat.to_string());
    let threads = options.threads.to_string();
    [
        "split-table",
        "--variant",
        variant,
        "--rows",
        &rows,
        "--seed",
        &seed,
        "--repeat",
        &repeat,
        "--threads",
        &threads,
    ]
    .map(str::to_owned)
    .into()
}

/// Runs one variant of ours in this process.
///
/// # Errors
/// An unknown name; whatever fails in the variant.
pub fn run_variant(options: &Options, variant: &str) -> Result<Measured, BenchError> {
    let table = Synthetic::new(options.rows, options.seed);
    match variant {
        "packed-split" => packed::run(&table, Encrypted::Sensitive, Storage::Memory, options),
        "packed-split-process" => packed::run(&table, Encrypted::Sensitive, Storage::Process, options),
        "packed-split-disk" => packed::run(&table, Encrypted::Sensitive, Storage::Disk, options),
        FUNCTIONS => packed::run(&table, Encrypted::Sensitive, Storage::Functions, options),
        "packed-whole" => packed::run(&table, Encrypted::Whole, Storage::Memory, options),
        "naive-ckks" => naive::run(&table, Scheme::Ckks, NAIVE_BUDGET),
        "naive-bgv" => naive::run(&table, Scheme::Bgv, NAIVE_BUDGET),
        "naive-bfv" => naive::run(&table, Scheme::Bfv, NAIVE_BUDGET),
        _ => {
            Err(hush::Error::usage(format!("no variant {variant:?}; there are {}", VARIANTS.join(", ")))
                .into())
        }
    }
}
