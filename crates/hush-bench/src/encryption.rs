// SPDX-License-Identifier: Apache-2.0
//! Encryption of a file with and without a limit on memory, in turns: rows a second, peak memory, and whether the sums are right; and
//! the same from files of both kinds, beside DuckDB's reading of them.

mod files;
mod reading;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use arrow::util::display::array_value_to_string;
use hush::{EncryptOptions, OwnedTable, OwnerKey, Pins, Protection, Purpose, Silent};
use hush_system::processors;
use serde::{Deserialize, Serialize};

pub use self::files::FileFormat;
use self::files::{COLUMNS, NAME, true_sums};
pub use self::reading::{Duckdb, Reading};
use crate::BenchError;
use crate::aligned::{align, figure_text};
use crate::split_table::{Check, median};
use crate::usage::{ProcessUsage, peak_mb};

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Rows of the table.
    pub rows: u64,
    /// Seed of the table.
    pub seed: u64,
    /// Encryptions under each limit.
    pub repeat: u32,
    /// Limits in bytes, beside none.
    pub limits: Vec<u64>,
    /// Threads.
    pub threads: usize,
    /// Python interpreter that may have DuckDB; `None` to leave it out.
    pub python: Option<String>,
}

/// One encryption, in a process of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What is encrypted.
    file: PathBuf,
    /// Where the table goes.
    output: PathBuf,
    rows: u64,
    seed: u64,
    limit: Option<u64>,
    threads: usize,
    /// Whether it has as many cores as threads.
    is_pinned: bool,
}

/// The cost of one encryption.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Encrypted {
    /// Rows of the table.
    pub rows: u64,
    /// Seconds.
    pub seconds: f64,
    /// CPU seconds of all threads.
    pub cpu_s: f64,
    /// Peak resident megabytes (10^6 bytes) of the process.
    pub peak_mb: f64,
    /// Parts of the table.
    pub parts: usize,
    /// Whether all sums are those of the plaintext.
    pub check: Check,
}

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Under each limit on memory.
    pub limits: Vec<Measured>,
    /// From each kind of file.
    pub reading: Vec<Reading>,
}

impl Report {
    /// Whether every table was right and every peak below its limit.
    pub fn is_kept(&self) -> bool {
        self.limits.iter().all(Measured::is_kept) && self.reading.iter().all(Reading::is_right)
    }
}

/// Encryptions under one limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The limit in bytes; `None` for none.
    pub limit: Option<u64>,
    /// Rows of the table.
    pub rows: u64,
    /// Each of them.
    pub runs: Vec<Encrypted>,
    /// Median rows a second.
    pub rows_per_s: f64,
    /// Median of the rate beside that without a limit in the same turn; 1 for none.
    pub ratio: f64,
    /// The largest peak in megabytes (10^6 bytes).
    pub peak_mb: f64,
}

impl Measured {
    /// Whether every table was right and every peak below the limit.
    fn is_kept(&self) -> bool {
        let below = |run: &Encrypted| self.limit.is_none_or(|limit| run.peak_mb * 1e6 <= limit as f64);
        self.runs.iter().all(|run| run.check == Check::Exact && below(run))
    }
}

/// Encrypts the table without and with every limit, and from each kind of file, `repeat` times in turns. `program` is this program.
///
/// # Errors
/// Hushtable refuses, in a child too; files cannot be written.
pub fn run(options: &Options, program: &Path) -> Result<Report, BenchError> {
    let directory = tempfile::tempdir()?;
    let csv = FileFormat::Csv.write(directory.path(), options.seed, options.rows)?;
    let limits = run_limits(options, &csv, directory.path(), program)?;
    let reading = reading::run(options, &csv, directory.path(), program)?;
    Ok(Report { limits, reading })
}

fn run_limits(
    options: &Options,
    csv: &Path,
    directory: &Path,
    program: &Path,
) -> Result<Vec<Measured>, BenchError> {
    let limits: Vec<Option<u64>> =
        std::iter::once(None).chain(options.limits.iter().copied().map(Some)).collect();
    let mut runs: Vec<Vec<Encrypted>> = vec![Vec::new(); limits.len()];
    for turn in 0..options.repeat.max(1) as usize {
        // Another one is first in every turn.
        for place in (0..limits.len()).map(|place| (place + turn) % limits.len()) {
            let (limit, runs) = (&limits[place], &mut runs[place]);
            let output = directory.join("table");
            let Options { rows, seed, threads, .. } = *options;
            let case = Case {
                file: csv.to_owned(),
                output: output.clone(),
                rows,
                seed,
                limit: *limit,
                threads,
                is_pinned: false,
            };
            runs.push(in_child(program, &case)?);
            std::fs::remove_dir_all(output)?;
        }
    }
    let free: Vec<f64> = runs.first().into_iter().flatten().map(|run| run.seconds).collect();
    Ok(limits.into_iter().zip(runs).map(|(limit, runs)| measured(limit, options.rows, runs, &free)).collect())
}

fn measured(limit: Option<u64>, rows: u64, runs: Vec<Encrypted>, free: &[f64]) -> Measured {
    let seconds: Vec<f64> = runs.iter().map(|run| run.seconds).collect();
    let ratios: Vec<f64> = seconds.iter().zip(free).map(|(seconds, free)| free / seconds).collect();
    let peak_mb = runs.iter().map(|run| run.peak_mb).fold(0.0, f64::max);
    Measured {
        limit,
        rows,
        runs,
        rows_per_s: rows as f64 / median(&seconds),
        ratio: median(&ratios),
        peak_mb,
    }
}

fn in_child(program: &Path, case: &Case) -> Result<Encrypted, BenchError> {
    let text = serde_json::to_string(case).unwrap_or_default();
    let output = Command::new(program).args(["encryption", "--case", &text]).output()?;
    let parsed = serde_json::from_slice(&output.stdout).ok().filter(|_| output.status.success());
    parsed.ok_or_else(|| BenchError::Child {
        what: "an encryption".to_owned(),
        message: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Runs one encryption in this process.
///
/// # Errors
/// Hushtable refuses: a limit that is too low, for one.
pub fn run_case(text: &str) -> Result<Encrypted, BenchError> {
    let case: Case = serde_json::from_str(text)
        .map_err(|error| BenchError::Child { what: "a case".to_owned(), message: error.to_string() })?;
    if case.is_pinned {
        processors::pin_to(case.threads)?;
    }
    let key = OwnerKey::temporary().map_err(hush::Error::from)?;
    let source = hush::open(&case.file)?;
    let mut schema = hush::propose(&source, &hush::Policy::default())?.schema;
    for column in &mut schema.columns {
        (column.protect, column.purposes, column.nullable) = (Protection::Encrypt, vec![Purpose::Sum], false);
    }
    (schema.max_rows, schema.approved) = (case.rows, true);
    let encryption = EncryptOptions {
        source,
        schema,
        output: case.output.clone(),
        workload: None,
        threads: case.threads,
        memory_limit: case.limit,
        pins: Pins::forgetful(),
        replace: true,
    };
    let (start, before) = (Instant::now(), ProcessUsage::now());
    let signed = hush::encrypt(&encryption, &key, &Silent)?.manifest;
    let (seconds, peak_mb) = (start.elapsed().as_secs_f64(), peak_mb());
    let cpu_s = ProcessUsage::now().since(before).cpu_s;
    let table = OwnedTable::open_directory(&case.output, &key, &Pins::forgetful(), case.threads)
        .map_err(hush::Error::from)?;
    let sums = COLUMNS.map(|name| format!("SUM({name})")).join(", ");
    let outcome = table.ask(&format!("SELECT {sums} FROM {NAME}"), &Silent).map_err(hush::Error::from)?;
    let mut found = Vec::new();
    for column in outcome.batches.iter().flat_map(|batch| batch.columns()) {
        found.push(array_value_to_string(column, 0)?);
    }
    let check = if found == true_sums(case.seed, case.rows) { Check::Exact } else { Check::Wrong };
    Ok(Encrypted { rows: case.rows, seconds, cpu_s, peak_mb, parts: signed.manifest().parts.len(), check })
}

/// The report as text.
pub fn text(options: &Options, report: &Report) -> String {
    format!("{}\n{}", limits_text(options, &report.limits), reading::text(&report.reading))
}

fn limits_text(options: &Options, measured: &[Measured]) -> String {
    let header = ["limit", "rows/s", "beside none", "peak MB", "parts", "sums"];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    for case in measured {
        let last = case.runs.last();
        lines.push(vec![
            case.limit.map_or("none".to_owned(), |bytes| format!("{} MB", figure_text(bytes as f64 / 1e6))),
            figure_text(case.rows_per_s),
            format!("{:.2}", case.ratio),
            figure_text(case.peak_mb),
            last.map_or(String::new(), |run| run.parts.to_string()),
            last.map_or(String::new(), |run| run.check.to_string()),
        ]);
    }
    format!(
        "{} rows of {} columns encrypted for sums, from CSV, {} threads, seed {}, {} runs of each in turns\n\n{}\n\
         Rows a second: median. Beside none: median of the rate over that without a limit in the same turn. Peak: the largest,\n\
         code and all, of a process that does nothing else.\n",
        options.rows,
        COLUMNS.len(),
        options.threads,
        options.seed,
        options.repeat,
        align(&lines)
    )
}
