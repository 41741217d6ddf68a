// SPDX-License-Identifier: Apache-2.0
//! Encryption from files of both kinds, on one core and on several, beside DuckDB, which reads the same files and adds up their columns.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::files::{COLUMNS, FileFormat, true_sums};
use super::{Case, Encrypted, Options, in_child};
use crate::BenchError;
use crate::aligned::{align, figure_text};
use crate::split_table::{Check, median};

/// The adapter to DuckDB.
const DUCKDB: &str = include_str!("../peers/duckdb_read.py");

/// Encryptions from one file by so many threads, on as many cores.
#[derive(Clone, Debug, Serialize)]
pub struct Reading {
    /// The file.
    pub from: FileFormat,
    /// Threads and cores.
    pub threads: usize,
    /// Each encryption.
    pub runs: Vec<Encrypted>,
    /// Each reading by DuckDB; none where it is not installed.
    pub duckdb: Vec<Duckdb>,
}

/// A reading by DuckDB.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Duckdb {
    /// Its version.
    pub version: String,
    /// Seconds of reading and adding up.
    pub seconds: f64,
    /// The sums.
    pub sums: Vec<String>,
}

impl Reading {
    /// Whether every sum was right.
    pub fn is_right(&self) -> bool {
        self.runs.iter().all(|run| run.check == Check::Exact)
    }

    fn seconds(&self) -> f64 {
        median(&self.runs.iter().map(|run| run.seconds).collect::<Vec<_>>())
    }
}

/// Encrypts from both files with one thread and with all, `repeat` times in turns, without a limit on memory.
pub(super) fn run(
    options: &Options,
    csv: &Path,
    directory: &Path,
    program: &Path,
) -> Result<Vec<Reading>, BenchError> {
    let parquet = FileFormat::Parquet.write(directory, options.seed, options.rows)?;
    let files: [(FileFormat, PathBuf); 2] =
        [(FileFormat::Csv, csv.to_owned()), (FileFormat::Parquet, parquet)];
    let mut counts = vec![1, options.threads];
    counts.dedup();
    let cases = files.iter().flat_map(|file| counts.iter().map(move |threads| (file, *threads)));
    let mut readings: Vec<(&Path, Reading)> = cases
        .map(|((from, path), threads)| {
            (path.as_path(), Reading { from: *from, threads, runs: Vec::new(), duckdb: Vec::new() })
        })
        .collect();
    let sums = true_sums(options.seed, options.rows);
    for _ in 0..options.repeat.max(1) {
        for (file, reading) in &mut readings {
            let output = directory.join("table");
            let Options { rows, seed, .. } = *options;
            let case = Case {
                file: file.to_path_buf(),
                output: output.clone(),
                rows,
                seed,
                limit: None,
                threads: reading.threads,
                is_pinned: true,
            };
            reading.runs.push(in_child(program, &case)?);
            std::fs::remove_dir_all(output)?;
            let duckdb = options.python.as_deref().and_then(|python| duckdb(python, file, reading.threads));
            reading.duckdb.extend(duckdb.filter(|read| read.sums == sums));
        }
    }
    Ok(readings.into_iter().map(|(_, reading)| reading).collect())
}

fn duckdb(python: &str, file: &Path, threads: usize) -> Option<Duckdb> {
    let mut child = Command::new(python)
        .args(["-", &file.to_string_lossy(), &threads.to_string()])
        .args(COLUMNS)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(DUCKDB.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    output.status.success().then(|| serde_json::from_slice(&output.stdout).ok()).flatten()
}

/// The readings as text.
pub(super) fn text(readings: &[Reading]) -> String {
    let header =
        ["from", "threads", "rows/s", "seconds", "CPU s", "times one thread", "DuckDB reads it in", "sums"];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    let mut alone = 0.0;
    for reading in readings {
        let seconds = reading.seconds();
        alone = if reading.threads == 1 { seconds } else { alone };
        let cpu_s: Vec<f64> = reading.runs.iter().map(|run| run.cpu_s).collect();
        let duckdb: Vec<f64> = reading.duckdb.iter().map(|read| read.seconds).collect();
        let last = reading.runs.last();
        lines.push(vec![
            reading.from.ending().to_owned(),
            reading.threads.to_string(),
            last.map_or(String::new(), |run| figure_text(run.rows as f64 / seconds)),
            format!("{seconds:.2}"),
            format!("{:.2}", median(&cpu_s)),
            format!("{:.2}", alone / seconds),
            if duckdb.is_empty() { "-".to_owned() } else { format!("{:.2} s", median(&duckdb)) },
            last.map_or(String::new(), |run| run.check.to_string()),
        ]);
    }
    let version = readings.iter().flat_map(|reading| &reading.duckdb).next();
    let peer = version.map_or_else(
        || "DuckDB is left out: --python (HUSH_PYTHON) names no interpreter that has it.".to_owned(),
        |read| {
            format!(
                "DuckDB {} reads the same file and adds up its columns, and encrypts nothing.",
                read.version
            )
        },
    );
    format!(
        "The same rows from each kind of file, without a limit, on as many cores as threads\n\n{}\nMedians. {peer}\n",
        align(&lines)
    )
}
