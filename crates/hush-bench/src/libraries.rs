// SPDX-License-Identifier: Apache-2.0
//! W3, libraries and schemes side by side: `y·(x + z)` on 2760 elements phase by phase, a second table of single
//! operations on full-size parameters, and a third of random [`programs`], which times nothing but compares results.
//!
//! Every row runs in a process of its own, ours too, so that its peak memory is its own. All get the same vectors, and
//! all hand back what they decrypted, which is compared here with the evaluation in the clear. Peers go through adapters of ours in `peers/`:
//!
//! | library | adapter | needs |
//! |---|---|---|
//! | TenSEAL, SEAL, OpenFHE and Pyfhel for Python | `libraries.py` | a Python interpreter that imports them |
//! | Lattigo | `lattigo/` | Go, and the module in its cache or a way to fetch it |
//! | SEAL, OpenFHE, HElib | `cpp/` | CMake, a compiler, and where the libraries are installed |
//!
//! *What a phase holds.* Parameters: every table, from nothing. Keys: secret, public (if used) and relinearisation.
//! Encrypt: three encodings and encryptions. Evaluate: one sum, one product, relinearised, in CKKS rescaled. Decrypt: with
//! decoding. *Primitives:* encryption and decryption with encoding and decoding; the product relinearised, and in BGV and
//! CKKS one level down; the transform of one polynomial modulo one prime.

mod case;
mod cases;
mod given;
mod inputs;
mod ours;
mod peers;
pub mod plots;
pub mod programs;
pub mod report;
mod row;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

pub use case::{Case, CaseError, Encryption, Scheme, Table};
pub use inputs::Inputs;
pub use programs::Tally;
pub use row::{Answer, Row};

use crate::BenchError;
use given::Given;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Repetitions behind each median.
    pub repetitions: u32,
    /// This table alone.
    pub table: Option<Table>,
    /// Only libraries with this in their name, without regard to case.
    pub only: Option<String>,
    /// Leave out the peers.
    pub skip_peers: bool,
    /// Python interpreters that may have peers; of each peer the first that has it is used.
    pub pythons: Vec<String>,
    /// The Go command.
    pub go: String,
    /// Where C++ libraries are installed.
    pub cmake_prefix: Option<PathBuf>,
    /// Where adapters are built; a temporary directory if not given.
    pub build: Option<PathBuf>,
    /// Random programs.
    pub programs: u32,
    /// Seed of the first; the others have the numbers after it.
    pub seed: u64,
}

/// A library or a row that was left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Skipped {
    /// Which.
    pub library: String,
    /// Why.
    pub reason: String,
}

/// Everything that was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The rows of the tables that time.
    pub rows: Vec<Row>,
    /// The rows of the programs.
    #[serde(default)]
    pub programs: Vec<Tally>,
    /// What was left out.
    pub skipped: Vec<Skipped>,
}

/// Name of our own rows.
const OURS: &str = "Hushtable";

/// Runs every row: ours by starting `program` again with `--case`, peers through their adapters. `progress` is
/// told of each row before it runs.
///
/// # Errors
/// A row of ours fails, or the directory of the adapters cannot be written. Peers that fail are left out with a reason.
/// Results that differ are no error: see [`Outcome::disagreements`].
pub fn run(options: &Options, program: &Path, progress: &mut dyn FnMut(&str)) -> Result<Outcome, BenchError> {
    let (degree, depth) = (cases::PROGRAM_DEGREE as usize, cases::PROGRAM_DEPTH);
    let given = Given::new(degree, depth, options.programs, options.seed);
    let mut outcome = Outcome::default();
    if options.wants(OURS) {
        for case in options.chosen(cases::ours(options.repetitions)) {
            let what = format!("{OURS} {}", case.arguments().join(" "));
            progress(&what);
            let mut command = Command::new(program);
            command.args(["libraries", "--case", &case.arguments().join(" ")]);
            let output = peers::exchange(command, case.threads, given.text(&case))?;
            let answer = serde_json::from_slice(&output.stdout).ok().filter(|_| output.status.success());
            let message = || String::from_utf8_lossy(&output.stderr).into_owned();
            let answer = answer.ok_or_else(|| BenchError::Child { what, message: message() })?;
            outcome.push(&case, answer, &given);
        }
    }
    if !options.skip_peers {
        peers::run(options, &given, progress, &mut outcome)?;
    }
    Ok(outcome)
}

/// Runs one case of ours in this process; programs are read from `input`.
///
/// # Errors
/// Whatever the schemes refuse; programs that cannot be read.
pub fn run_case(case: &Case, input: impl Read) -> Result<Answer, BenchError> {
    ours::measure(case, &Given::read(case, input)?)
}

impl Outcome {
    /// How many programs gave a wrong result.
    pub fn disagreements(&self) -> usize {
        self.programs.iter().map(|tally| tally.disagreements.len()).sum()
    }

    /// Adds a row of what was answered.
    fn push(&mut self, case: &Case, answer: Answer, given: &Given) {
        match case.table {
            Table::Workload | Table::Primitives => self.rows.push(Row::new(case, answer, &given.inputs)),
            Table::Programs => self.programs.push(given.tally(case, answer)),
        }
    }
}

impl Options {
    fn wants(&self, library: &str) -> bool {
        let contains = |only: &String| library.to_lowercase().contains(&only.to_lowercase());
        self.only.as_ref().is_none_or(contains)
    }

    fn chosen(&self, cases: Vec<Case>) -> Vec<Case> {
        cases.into_iter().filter(|case| self.table.is_none_or(|table| case.table == table)).collect()
    }
}
