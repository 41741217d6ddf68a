// SPDX-License-Identifier: Apache-2.0
//! Arguments of benchmarks.

mod options;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use hush_bench::{edge_grid, libraries};
use hush_terminal::size;

/// Run a benchmark of the workloads that Hushtable was built for
#[derive(Debug, Parser)]
#[command(name = "hush-bench", bin_name = "hush bench", max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) benchmark: Benchmark,
    /// Print errors as one JSON object on standard error
    #[arg(long, global = true, display_order = 100, overrides_with = "json_errors")]
    pub(crate) json_errors: bool,
    /// Worker threads (default: all cores)
    #[arg(long, global = true, display_order = 101, overrides_with = "threads", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Benchmark {
    /// W0: sums over a table split by sensitivity, naive and packed, beside TenSEAL where it is installed
    #[command(name = "split-table", visible_alias = "W0")]
    SplitTable(SplitTable),
    /// W1: BFV over 1 to 10000 integers and six rings, one by one and packed, beside SEAL where it is installed
    #[command(name = "edge-grid", visible_alias = "W1")]
    EdgeGrid(EdgeGrid),
    /// W3: y*(x+z) on 2760 elements in BGV, BFV and CKKS, primitives and random programs, beside every library that is installed
    #[command(name = "libraries", visible_alias = "W3")]
    Libraries(Libraries),
    /// Grouped moments with a correlation, and a regression by 8 features, beside DuckDB on the plaintext where it is installed
    Analytics(Analytics),
    /// Encryption of a file with and without a limit on memory, and from CSV and Parquet beside DuckDB's reading where it is installed
    Encryption(Encryption),
    /// Rows that are added to a table many times, and queries of it beside the same rows encrypted at once
    Appends(Appends),
    /// Bootstrappings of TFHE: look-ups, gates, and integers in digits, alone and in batches; or of CKKS: slots that get levels back
    Bootstraps(Bootstraps),
    /// Parts of a table written anew, beside encrypting the same rows
    Compact(Compact),
    /// Questions about encrypted columns by every way that answers them, over several links
    Conditions(Conditions),
    /// Sums over the cells of small dimensions, beside columns that come back
    Cubes(Cubes),
    /// One row that goes out of a table, and one that gets a new value, found by clear and by sealed columns
    Delete(Delete),
    /// Joins of two tables on encrypted keys, and on join keys
    Joins(Joins),
    /// Predicted bytes and times of queries of every kind beside measured ones
    Predictions(Predictions),
    /// A question like TPC-H's sixth with all conditions encrypted, by products of ciphertexts without keys
    Products(Products),
    /// Medians, ends, first rows and ranges from sorted runs, beside columns that come back
    Runs(Runs),
    /// Questions of TPC-H on dbgen's rows with every column encrypted, by conditions without keys, by cubes and by columns that come back
    Tpch(Tpch),
    /// W2: two historical schemes, insecure, with the published seconds beside ours; starts hush-lab, which lies beside this program
    #[command(name = "lwe-agcd", visible_alias = "W2")]
    LweAgcd(LweAgcd),
}

#[derive(Debug, Args)]
pub(crate) struct Analytics {
    /// Rows of the largest table; the regression has a tenth of them
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) rows: u64,
    /// Seed of the tables
    #[arg(long, default_value_t = 2024)]
    pub(crate) seed: u64,
    /// Repetitions of each query
    #[arg(long, default_value_t = 21, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Leave out DuckDB even where it is installed
    #[arg(long)]
    pub(crate) skip_peers: bool,
    /// Python interpreter that has duckdb
    #[arg(long, default_value = "python3", env = "HUSH_PYTHON")]
    pub(crate) python: String,
    /// Ask this question alone, in this process, of a table of so many rows, and print it as JSON
    #[arg(long, hide = true)]
    pub(crate) question: Option<AnalyticsQuestion>,
}

#[derive(Debug, Args)]
pub(crate) struct Appends {
    /// Rows of the table before any append
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) rows: u64,
    /// Appends
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) appends: u64,
    /// Rows of each
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) rows_each: u64,
    /// Encrypted columns
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) columns: u8,
    /// Seed of the values
    #[arg(long, default_value_t = 2024)]
    pub(crate) seed: u64,
    /// Queries of each table
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Compact {
    /// Rows of the table
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) rows: u64,
    /// Encryption and appends that bring them
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) parts: u64,
    /// Encrypted columns
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) columns: u8,
    /// Seed of the values
    #[arg(long, default_value_t = 2024)]
    pub(crate) seed: u64,
    /// Turns
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// Rows of the table
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    pub(crate) rows: u64,
    /// Encrypted columns
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) columns: u8,
    /// Seed of the values
    #[arg(long, default_value_t = 2024)]
    pub(crate) seed: u64,
    /// Rows that go and that change, by each condition
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=20))]
    pub(crate) repeat: u32,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Conditions {
    /// Rows of each table, separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 100_000, 1_000_000], value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) rows: Vec<u64>,
    /// Speeds of the link in megabit per second, separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = [10.0, 100.0, 1000.0], value_parser = link_speed)]
    pub(crate) links: Vec<f64>,
    /// Seed of the tables
    #[arg(long, default_value_t = 2024)]
    pub(crate) seed: u64,
    /// Repetitions of each query by each way
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Names of the questions to put, as in the report, separated by commas (default: all)
    #[arg(long, value_delimiter = ',')]
    pub(crate) questions: Vec<String>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Leave out DuckDB even where it is installed
    #[arg(long)]
    pub(crate) skip_peers: bool,
    /// Python interpreter that has duckdb
    #[arg(long, default_value = "python3", env = "HUSH_PYTHON")]
    pub(crate) python: String,
}

#[derive(Debug, Args)]
pub(crate) struct Bootstraps {
    /// The scheme
    #[arg(long, value_enum, default_value_t = BootstrapScheme::Tfhe)]
    pub(crate) scheme: BootstrapScheme,
    /// TFHE: bits of the integers, separated by commas; products have 16 at most [default: 8,16,32,64]
    #[arg(long, value_delimiter = ',', value_parser = even_bits)]
    pub(crate) bits: Vec<u32>,
    /// CKKS: names of the parameter sets, separated by commas; those that there is memory for if none is named
    #[arg(long, value_delimiter = ',', value_name = "NAME,NAME")]
    pub(crate) sets: Vec<String>,
    /// Measure tfhe-rs or Lattigo as well, on one thread: an adapter is built, which downloads the library
    #[arg(long)]
    pub(crate) peers: bool,
    /// Go command that builds the adapter to Lattigo
    #[arg(long, default_value = "go", env = "HUSH_GO")]
    pub(crate) go: String,
    /// Cargo command that builds the adapter to tfhe-rs
    #[arg(long, default_value = "cargo", env = "HUSH_CARGO")]
    pub(crate) cargo: String,
    /// Keep what is built of the adapters in this directory (default: a temporary one)
    #[arg(long, value_name = "DIR", requires = "peers")]
    pub(crate) build: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// A scheme with bootstrapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum BootstrapScheme {
    /// Digits and gates
    Tfhe,
    /// Slots
    Ckks,
}

/// Bits of integers in digits of two.
fn even_bits(text: &str) -> Result<u32, String> {
    let bits = text.parse().ok().filter(|bits| (2..=64).contains(bits) && bits % 2 == 0);
    bits.ok_or_else(|| "expected an even number from 2 to 64".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct Cubes {
    /// Rows of the table
    #[arg(long, default_value_t = 6_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) rows: u64,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, Args)]
pub(crate) struct Products {
    /// Rows
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) rows: u64,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, Args)]
pub(crate) struct Runs {
    /// Rows of the table
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) rows: u64,
    /// Ask runs only, for tables of more rows than come back in one answer; and encrypt once
    #[arg(long)]
    pub(crate) runs_only: bool,
    /// Names of the questions to put, as in the report, separated by commas (default: all)
    #[arg(long, value_delimiter = ',')]
    pub(crate) questions: Vec<String>,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, Args)]
pub(crate) struct Tpch {
    /// The scale: 1 is 6 million lines, and takes some 25 GB of disk for each question
    #[arg(long, default_value_t = 0.01, value_parser = scale)]
    pub(crate) scale: f64,
    /// Repetitions of each question by each way
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Further sets of constants for each question, drawn as TPC-H draws them
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub(crate) constants: u32,
    /// Seed of these constants
    #[arg(long, default_value_t = 2024)]
    pub(crate) seed: u64,
    /// Names of the questions to put, separated by commas (default: Q1,Q4,Q6,Q12,Q14,Q19; also rows, first, ranks, keys)
    #[arg(long, value_delimiter = ',')]
    pub(crate) questions: Vec<String>,
    /// Store all dates for bounds on any day, also those of questions whose bounds begin years and months
    #[arg(long)]
    pub(crate) any_days: bool,
    /// Give the tables evaluation keys that make answers to conditions without keys smaller
    #[arg(long)]
    pub(crate) answer_keys: bool,
    /// Give the tables evaluation keys for conditions with encrypted constants, and encrypt those of questions (Q6 alone, if none is named)
    #[arg(long)]
    pub(crate) encrypted_constants: bool,
    /// A Python interpreter that may have DuckDB
    #[arg(long, default_value = "python3")]
    pub(crate) python: String,
    /// Do not compare with DuckDB
    #[arg(long)]
    pub(crate) skip_peers: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the plots into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) plots: Option<PathBuf>,
}

/// A scale of TPC-H.
fn scale(text: &str) -> Result<f64, String> {
    let scale: f64 = text.parse().map_err(|_| "expected a number".to_owned())?;
    if (0.001..=10.0).contains(&scale) { Ok(scale) } else { Err("expected 0.001 to 10".to_owned()) }
}

/// What questions of cubes, of products and of runs have in common.
#[derive(Debug, Args)]
pub(crate) struct Asking {
    /// Seed of the table
    #[arg(long, default_value_t = 2024)]
    pub(crate) seed: u64,
    /// Repetitions of each question
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// Megabit per second of a link.
fn link_speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| "expected a number of megabit per second".to_owned())?;
    if (0.001..=1e7).contains(&speed) { Ok(speed) } else { Err("expected 0.001 to 10000000".to_owned()) }
}

#[derive(Debug, Args)]
pub(crate) struct Joins {
    /// Rows of each table, separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = [1000, 100_000], value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) rows: Vec<u64>,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, Args)]
pub(crate) struct Predictions {
    /// Rows of each table, separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = [100_000, 1_000_000], value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) rows: Vec<u64>,
    /// Seed of the tables
    #[arg(long, default_value_t = 2024)]
    pub(crate) seed: u64,
    /// Repetitions of each query
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SplitTable {
    /// Rows of the synthetic table
    #[arg(long, default_value_t = 6000, value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
    pub(crate) rows: u64,
    /// Seed of the synthetic table
    #[arg(long, default_value_t = 2024)]
    pub(crate) seed: u64,
    /// Repetitions of the packed variants
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the plots into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) plots: Option<PathBuf>,
    /// Leave out the variants with one ciphertext per cell
    #[arg(long)]
    pub(crate) skip_naive: bool,
    /// Leave out TenSEAL even where it is installed
    #[arg(long)]
    pub(crate) skip_peers: bool,
    /// Ask the split table through functions on a bucket too, emulated by tests/cloud.py: in the root of a clone, after make build
    #[arg(long)]
    pub(crate) serverless: bool,
    /// Run this variant alone, in this process, and print it as JSON
    #[arg(long, hide = true)]
    pub(crate) variant: Option<String>,
    /// Python interpreter that has TenSEAL
    #[arg(long, default_value = "python3", env = "HUSH_PYTHON")]
    pub(crate) python: String,
}

#[derive(Debug, Args)]
pub(crate) struct Libraries {
    /// Repetitions behind each median; 5 for what takes more than 100 ms
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the plots into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) plots: Option<PathBuf>,
    /// One table alone
    #[arg(long, value_enum)]
    pub(crate) table: Option<LibrariesTable>,
    /// Random programs that every library runs; a wrong result makes the command fail
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) programs: u32,
    /// Seed of the first program; the others have the numbers after it
    #[arg(long, default_value_t = 2024)]
    pub(crate) seed: u64,
    /// Only libraries whose name contains this
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Option<String>,
    /// Leave out the other libraries even where they are installed
    #[arg(long)]
    pub(crate) skip_peers: bool,
    /// Python interpreter that has tenseal, seal, openfhe or Pyfhel; may be repeated, for each library the first that has it
    #[arg(long, default_value = "python3", env = "HUSH_PYTHON")]
    pub(crate) python: Vec<String>,
    /// Go command that builds the adapter to Lattigo
    #[arg(long, default_value = "go", env = "HUSH_GO")]
    pub(crate) go: String,
    /// Where SEAL, OpenFHE and HElib are installed; their adapters are built with CMake
    #[arg(long, value_name = "DIR", env = "HUSH_CMAKE_PREFIX")]
    pub(crate) cmake_prefix: Option<PathBuf>,
    /// Keep what is built of the adapters in this directory (default: a temporary one)
    #[arg(long, value_name = "DIR")]
    pub(crate) build: Option<PathBuf>,
    /// Run this row of ours alone, in this process, and print it as JSON
    #[arg(long, hide = true)]
    pub(crate) case: Option<libraries::Case>,
}

#[derive(Debug, Args)]
pub(crate) struct LweAgcd {
    /// Of `hush-lab bench`: see `hush-lab bench --help`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Encryption {
    /// Rows of the table; two files and the table take 45 bytes a row each, in the temporary directory
    #[arg(long, default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
    pub(crate) rows: u64,
    /// Limits on memory beside none, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "SIZE,SIZE", default_value = "128MB,64MB", value_parser = size::parse)]
    pub(crate) limits: Vec<u64>,
    /// Seed of the table
    #[arg(long, default_value_t = 2024)]
    pub(crate) seed: u64,
    /// Encryptions under each limit
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Leave out DuckDB even where it is installed
    #[arg(long)]
    pub(crate) skip_peers: bool,
    /// Python interpreter that has duckdb
    #[arg(long, default_value = "python3", env = "HUSH_PYTHON")]
    pub(crate) python: String,
    /// One encryption, in this process
    #[arg(long, hide = true)]
    pub(crate) case: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct EdgeGrid {
    /// Ring degrees, separated by commas (default: 1024 to 32768)
    #[arg(long, value_delimiter = ',', value_name = "N,N", default_values_t = edge_grid::DEGREES, value_parser = degree, hide_default_value = true)]
    pub(crate) degrees: Vec<u32>,
    /// Leave out cells of more integers; of 1, 10, 100, 1000 and 10000
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) up_to: u64,
    /// One integer in each ciphertext alone, or N of them alone
    #[arg(long, value_enum)]
    pub(crate) way: Option<EdgeGridWay>,
    /// Ciphertexts of this key alone
    #[arg(long, value_enum)]
    pub(crate) key: Option<EdgeGridKey>,
    /// What a cell may use: everything, or one core and 256 MiB of memory
    #[arg(long, value_enum, default_value_t = EdgeGridProfile::Pc)]
    pub(crate) profile: EdgeGridProfile,
    /// Repetitions behind each mean
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the plots into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) plots: Option<PathBuf>,
    /// Leave out SEAL even where it is installed
    #[arg(long)]
    pub(crate) skip_peers: bool,
    /// Seconds of encryption after which a repetition of SEAL is stopped and extrapolated
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = seconds)]
    pub(crate) seal_limit: f64,
    /// Python interpreter that has seal; may be repeated, the first that has it is used
    #[arg(long, default_value = "python3", env = "HUSH_PYTHON")]
    pub(crate) python: Vec<String>,
    /// Where SEAL is installed for C++, used in place of Python's; its adapter is built with CMake
    #[arg(long, value_name = "DIR", env = "HUSH_CMAKE_PREFIX")]
    pub(crate) cmake_prefix: Option<PathBuf>,
    /// Keep what is built of the adapter in this directory (default: a temporary one)
    #[arg(long, value_name = "DIR")]
    pub(crate) build: Option<PathBuf>,
    /// Run this cell of ours alone, in this process, and print it as JSON
    #[arg(long, hide = true)]
    pub(crate) cell: Option<edge_grid::Cell>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnalyticsQuestion {
    Groups,
    Regression,
}

/// A table of the comparison of libraries.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LibrariesTable {
    /// y*(x+z), phase by phase
    Workload,
    /// One operation at a time
    Primitives,
    /// Random programs, whose results are compared
    Programs,
}

/// One integer in each ciphertext, or all that it holds.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EdgeGridWay {
    /// One integer in each ciphertext, as published
    OneByOne,
    /// N integers in each ciphertext
    Packed,
}

/// The key that encrypts.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EdgeGridKey {
    /// The public key
    Public,
    /// The secret key; half of a ciphertext is a seed
    Secret,
}

/// What a cell may use of the machine.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EdgeGridProfile {
    /// One core and 256 MiB of memory
    Edge,
    /// Everything; a cell computes on one thread all the same
    Pc,
}

/// A ring degree of the grid.
fn degree(text: &str) -> Result<u32, String> {
    let found = text.trim().parse().ok().filter(|degree| edge_grid::DEGREES.contains(degree));
    found.ok_or_else(|| format!("expected one of {:?}", edge_grid::DEGREES))
}

/// Seconds within a day.
fn seconds(text: &str) -> Result<f64, String> {
    let found = text.parse().ok().filter(|seconds| (0.001..=86_400.0).contains(seconds));
    found.ok_or_else(|| "expected 0.001 to 86400 seconds".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `hush` passes on its own; those that follow `bench` win.
    #[test]
    fn the_last_of_options_of_all_commands_counts() {
        let words = ["hush-bench", "--json-errors", "--threads=1", "--threads", "2", "--json-errors", "W0"];
        assert_eq!(Cli::parse_from(words).threads, Some(2));
        assert_eq!(Cli::parse_from(words.into_iter().chain(["--threads", "3"])).threads, Some(3));
    }

    #[test]
    fn arguments_of_the_laboratory_are_passed_on() {
        let line = "hush-bench lwe-agcd --up-to 52 --json".split(' ');
        let Benchmark::LweAgcd(lab) = Cli::parse_from(line).benchmark else {
            panic!("another benchmark");
        };
        assert_eq!(lab.arguments, ["--up-to", "52", "--json"]);
    }
}
