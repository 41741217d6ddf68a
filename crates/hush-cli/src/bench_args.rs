// SPDX-License-Identifier: Apache-2.0
//! Arguments of benchmarks.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hush_bench::edge_grid;
use hush_edge::size;

#[derive(Debug, Args)]
pub(crate) struct LweAgcd {
    /// Of `hush-lab bench`: see `hush-lab bench --help`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Encryption {
    /// Rows of the table; the file and the table take 45 bytes a row each, in the temporary directory
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

impl EdgeGrid {
    /// The same for the benchmark.
    pub(crate) fn options(&self) -> edge_grid::Options {
        edge_grid::Options {
            repetitions: self.repeat,
            degrees: self.degrees.clone(),
            up_to: self.up_to,
            way: self.way.map(|way| match way {
                EdgeGridWay::OneByOne => edge_grid::Way::OneByOne,
                EdgeGridWay::Packed => edge_grid::Way::Packed,
            }),
            key: self.key.map(|key| match key {
                EdgeGridKey::Public => edge_grid::Key::Public,
                EdgeGridKey::Secret => edge_grid::Key::Secret,
            }),
            profile: match self.profile {
                EdgeGridProfile::Edge => edge_grid::Profile::Edge,
                EdgeGridProfile::Pc => edge_grid::Profile::Pc,
            },
            skip_peers: self.skip_peers,
            pythons: self.python.clone(),
            cmake_prefix: self.cmake_prefix.clone(),
            build: self.build.clone(),
            peer_limit_s: self.seal_limit,
        }
    }
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
