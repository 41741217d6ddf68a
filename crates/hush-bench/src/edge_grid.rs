// SPDX-License-Identifier: Apache-2.0
//! W1, encryption at the edge: BFV over a grid of 1 to 10 000 integers below 1024 and ring degrees 1024 to 32768.
//!
//! | way | a ciphertext holds | |
//! |---|---|---|
//! | one by one | one integer | as published; ciphertexts are made and dropped, so that every cell ends |
//! | packed | `N` integers | what a user should do |
//!
//! Each with the public key and with the secret one (half of a ciphertext is then a seed), ours and, where it is
//! installed, SEAL beside it, cell after cell. The clock runs over parameters, keys and encryption, as published; it stands
//! still while a sample of the ciphertexts is decrypted and compared with what went in. Moduli are as large as the security
//! table of 2024 allows; SEAL's defaults follow that of 2018 and are marked. Every cell runs in a process of its own, on one
//! thread, watched from outside.

mod cell;
mod coefficients;
mod energy;
mod ours;
mod parameters;
pub mod plots;
mod profile;
pub mod report;
mod row;
mod seal;
mod statistics;
mod watch;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

pub use cell::{Cell, CellError, Key, Packing};
pub use profile::{EDGE_MEMORY_BYTES, Profile};
pub use row::{Answer, Comparison, Repetition, Row};
pub use statistics::Statistics;
pub use watch::Load;

use crate::BenchError;
use crate::libraries::Skipped;
use energy::Meter;
use seal::Seal;
use watch::Watched;

/// Ring degrees of the grid.
pub const DEGREES: [u32; 6] = [1024, 2048, 4096, 8192, 16384, 32768];
/// Numbers of integers of the grid.
pub const COUNTS: [u64; 5] = [1, 10, 100, 1000, 10_000];
/// log2 of the plaintext modulus.
pub const PLAIN_BITS: u32 = 10;

/// Name of our own rows.
const OURS: &str = "Hushtable";

/// Options of the benchmark.
#[derive(Clone, Debug)]
pub struct Options {
    /// Repetitions behind each mean.
    pub repetitions: u32,
    /// Ring degrees, of [`DEGREES`].
    pub degrees: Vec<u32>,
    /// The largest of [`COUNTS`].
    pub up_to: u64,
    /// One by one or packed alone.
    pub way: Option<Packing>,
    /// One key alone.
    pub key: Option<Key>,
    /// The share of the machine that a cell may use.
    pub profile: Profile,
    /// Leave out SEAL.
    pub skip_peers: bool,
    /// Python interpreters that may have its bindings.
    pub pythons: Vec<String>,
    /// Where it is installed for C++; that is then used in place of the bindings.
    pub cmake_prefix: Option<PathBuf>,
    /// Where the adapter to that is built; a temporary directory if not given.
    pub build: Option<PathBuf>,
    /// Seconds of encryption after which a repetition of SEAL is a sample.
    pub peer_limit_s: f64,
}

impl Default for Options {
    /// The whole grid, without peers.
    fn default() -> Self {
        Self {
            repetitions: 5,
            degrees: DEGREES.into(),
            up_to: COUNTS[COUNTS.len() - 1],
            way: None,
            key: None,
            profile: Profile::Pc,
            skip_peers: true,
            pythons: Vec::new(),
            cmake_prefix: None,
            build: None,
            peer_limit_s: 5.0,
        }
    }
}

/// Everything that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The share of the machine that cells could use.
    pub profile: Profile,
    /// Bytes that a cell could take; all if none.
    pub memory_limit_bytes: Option<u64>,
    /// Plaintext modulus.
    pub plain_modulus: u64,
    /// Why there are no figures of energy, if there are none.
    pub energy_absent: Option<String>,
    /// The cells.
    pub cells: Vec<Row>,
    /// Ours beside the peer.
    pub comparisons: Vec<Comparison>,
    /// The parts that were left out.
    pub skipped: Vec<Skipped>,
}

impl Outcome {
    /// Cells in which a ciphertext did not hold what was encrypted, or nothing was checked.
    pub fn wrong_cells(&self) -> usize {
        self.cells.iter().filter(|row| !row.is_right()).count()
    }
}

/// Runs the grid: ours by starting `program` again with `--cell`. `progress` is told of each cell before it runs.
///
/// # Errors
/// A cell of ours fails or takes more memory than its profile has; the adapter cannot be written. Cells of the peer that fail are left out with a reason.
/// Wrong results are no error: see [`Outcome::wrong_cells`].
pub fn run(options: &Options, program: &Path, progress: &mut dyn FnMut(&str)) -> Result<Outcome, BenchError> {
    let meter = Meter::of_machine();
    let mut outcome = Outcome {
        profile: options.profile,
        memory_limit_bytes: options.profile.memory_bytes(),
        plain_modulus: 1 << PLAIN_BITS,
        energy_absent: meter.as_ref().err().cloned(),
        cells: Vec::new(),
        comparisons: Vec::new(),
        skipped: Vec::new(),
    };
    let seal = if options.skip_peers { Err("asked for".to_owned()) } else { Seal::find(options, progress)? };
    if let Err(reason) = &seal {
        outcome.skipped.push(Skipped { library: SEAL.to_owned(), reason: reason.clone() });
    }
    let mut hopeless: Option<u32> = None;
    for cell in cells(options) {
        let text = cell.arguments().join(" ");
        progress(&format!("{OURS} {text}"));
        let measured = metered(meter.as_ref().ok(), || measure_ours(&cell, options, program));
        outcome.push(&cell, measured)?;
        let Ok(seal) = &seal else { continue };
        if hopeless == Some(cell.degree) {
            let reason = "not tried: another cell of this ring failed".to_owned();
            outcome.skipped.push(Skipped { library: format!("{SEAL} {text}"), reason });
            continue;
        }
        progress(&format!("{SEAL} {text}"));
        let measured = metered(meter.as_ref().ok(), || seal.measure(&cell, options));
        if let Err(reason) = outcome.push(&cell, measured) {
            hopeless = Some(cell.degree);
            outcome.skipped.push(Skipped { library: format!("{SEAL} {text}"), reason });
        }
    }
    outcome.comparisons = row::comparisons(&outcome.cells);
    Ok(outcome)
}

/// Name of the peer.
const SEAL: &str = "SEAL";

/// Measures one cell of ours in this process, restricted to what the profile allows.
///
/// # Errors
/// Whatever the schemes refuse; [`BenchError::Memory`].
pub fn run_cell(cell: &Cell, profile: Profile) -> Result<Answer, BenchError> {
    profile.restrict()?;
    let answer = ours::measure(cell)?;
    match profile.memory_bytes() {
        Some(limit) if answer.peak_mb * 1e6 > limit as f64 => {
            Err(BenchError::Memory { found_mb: answer.peak_mb, limit_mb: limit as f64 / 1e6 })
        }
        _ => Ok(answer),
    }
}

/// The cells that were asked for, ring by ring.
fn cells(options: &Options) -> Vec<Cell> {
    let repetitions = options.repetitions;
    let mut cells = Vec::new();
    for &degree in &options.degrees {
        for way in Packing::ALL.into_iter().filter(|way| options.way.is_none_or(|only| only == *way)) {
            for key in Key::ALL.into_iter().filter(|key| options.key.is_none_or(|only| only == *key)) {
                let counts = COUNTS.into_iter().filter(|&count| count <= options.up_to);
                cells.extend(counts.map(|count| Cell { way, key, degree, count, repetitions }));
            }
        }
    }
    cells
}

fn measure_ours(cell: &Cell, options: &Options, program: &Path) -> Result<(Answer, Watched), BenchError> {
    let text = cell.arguments().join(" ");
    let mut command = Command::new(program);
    command.args(["edge-grid", "--profile", options.profile.name(), "--cell", &text]);
    let watched = watch::run(&mut command)?;
    let answer = serde_json::from_slice(&watched.output.stdout);
    match answer.ok().filter(|_| watched.output.status.success()) {
        Some(answer) => Ok((answer, watched)),
        None => {
            let message = String::from_utf8_lossy(&watched.output.stderr).into_owned();
            Err(BenchError::Child { what: format!("{OURS} {text}"), message })
        }
    }
}

/// A measurement with the joules that it took, where the machine tells.
fn metered<E>(
    meter: Option<&Meter>,
    work: impl FnOnce() -> Result<(Answer, Watched), E>,
) -> Result<(Answer, Watched, Option<f64>), E> {
    let before = meter.and_then(Meter::reading);
    let (answer, watched) = work()?;
    let after = meter.and_then(Meter::reading);
    let joules = meter.zip(before.zip(after)).map(|(meter, (before, after))| meter.joules(&before, &after));
    Ok((answer, watched, joules))
}

impl Outcome {
    fn push<E>(&mut self, cell: &Cell, measured: Result<(Answer, Watched, Option<f64>), E>) -> Result<(), E> {
        let (answer, watched, joules) = measured?;
        self.cells.push(Row::new(cell, answer, watched.wall_s, watched.load, joules));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_has_every_cell_once() {
        let all = cells(&Options::default());
        assert_eq!(all.len(), 6 * 5 * 2 * 2);
        let few = Options { degrees: vec![1024], up_to: 100, key: Some(Key::Public), ..Options::default() };
        let few = cells(&few);
        assert_eq!(few.iter().map(|cell| cell.count).collect::<Vec<_>>(), [1, 10, 100, 1, 10, 100]);
        assert!(
            few.iter().all(|cell| cell.degree == 1024 && cell.key == Key::Public && cell.repetitions == 5)
        );
    }

    #[test]
    fn a_cell_of_ours_that_fails_is_an_error_with_its_message() {
        let options = Options { degrees: vec![1024], up_to: 1, ..Options::default() };
        let error = run(&options, Path::new("false"), &mut |_| {}).unwrap_err();
        assert!(matches!(error, BenchError::Child { .. }), "{error}");
    }
}
