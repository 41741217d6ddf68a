// SPDX-License-Identifier: Apache-2.0
//! W3, libraries and schemes side by side: `y·(x + z)` on 2760 elements phase by phase, and a second table of single
//! operations on full-size parameters.
//!
//! Every row runs in a process of its own, ours too, so that its peak memory is its own. All get the same vectors, and
//! all hand back what they decrypted, which is compared here. Peers go through adapters of ours in `peers/`:
//!
//! | library | adapter | needs |
//! |---|---|---|
//! | TenSEAL, SEAL and OpenFHE for Python | `libraries.py` | a Python interpreter that imports them |
//! | Lattigo | `lattigo/` | Go, and the module in its cache or a way to fetch it |
//! | SEAL, OpenFHE | `cpp/` | CMake, a compiler, and where the libraries are installed |
//!
//! *What a phase holds.* Parameters: every table, from nothing. Keys: secret, public (if used) and relinearisation.
//! Encrypt: three encodings and encryptions. Evaluate: one sum, one product, relinearised, in CKKS rescaled. Decrypt: with
//! decoding. *Primitives:* encryption and decryption with encoding and decoding; the product relinearised, and in BGV and
//! CKKS one level down; the transform of one polynomial modulo one prime.

mod case;
mod cases;
mod inputs;
mod ours;
mod peers;
pub mod plots;
pub mod report;
mod row;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

pub use case::{Case, CaseError, Encryption, Scheme, Table};
pub use inputs::Inputs;
pub use row::{Answer, Row};

use crate::BenchError;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Repetitions behind each median.
    pub repetitions: u32,
    /// This table alone.
    pub table: Option<Table>,
    /// Only libraries whose name contains this, whatever the case of its letters.
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
    /// The rows of both tables.
    pub rows: Vec<Row>,
    /// What was left out.
    pub skipped: Vec<Skipped>,
}

/// Name of our own rows.
const OURS: &str = "Hushtable";

/// Runs every row: ours by starting `program` again with [`case_arguments`], peers through their adapters. `progress` is
/// told of each row before it runs.
///
/// # Errors
/// A row of ours fails, or the directory of the adapters cannot be written. Peers that fail are left out with a reason.
pub fn run(options: &Options, program: &Path, progress: &mut dyn FnMut(&str)) -> Result<Outcome, BenchError> {
    let inputs = Inputs::fixed();
    let mut outcome = Outcome::default();
    if options.wants(OURS) {
        for case in options.chosen(cases::ours(options.repetitions)) {
            progress(&format!("{OURS} {}", case.arguments().join(" ")));
            let output = Command::new(program).args(case_arguments(&case)).output()?;
            let answer = serde_json::from_slice(&output.stdout).ok().filter(|_| output.status.success());
            let answer = answer.ok_or_else(|| BenchError::Child {
                what: format!("{OURS} {}", case.arguments().join(" ")),
                message: String::from_utf8_lossy(&output.stderr).into_owned(),
            })?;
            outcome.rows.push(Row::new(&case, answer, &inputs));
        }
    }
    if !options.skip_peers {
        peers::run(options, &inputs, progress, &mut outcome)?;
    }
    Ok(outcome)
}

/// Arguments that make this program run one case of ours and print its [`Answer`] as JSON.
pub fn case_arguments(case: &Case) -> Vec<String> {
    ["bench", "libraries", "--case", &case.arguments().join(" ")].map(str::to_owned).into()
}

/// Runs one case of ours in this process.
///
/// # Errors
/// Whatever the schemes refuse.
pub fn run_case(case: &Case) -> Result<Answer, BenchError> {
    ours::measure(case, &Inputs::fixed())
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
