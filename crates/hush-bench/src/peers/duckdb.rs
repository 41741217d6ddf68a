// SPDX-License-Identifier: Apache-2.0
//! DuckDB on a plaintext file, in memory, where a Python interpreter has it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

const PROGRAM: &str = include_str!("duckdb_query.py");

/// How a query is put.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'a> {
    /// The interpreter.
    pub(crate) python: &'a str,
    /// How often.
    pub(crate) repeat: u32,
    /// Threads of DuckDB.
    pub(crate) threads: usize,
}

/// What DuckDB says.
#[derive(Deserialize)]
pub(crate) struct Said {
    /// Its version.
    pub(crate) version: String,
    /// Median seconds of the query.
    pub(crate) seconds: f64,
    /// The result's first row and every so many after it, as doubles.
    pub(crate) every: usize,
    /// These rows.
    pub(crate) rows: Vec<Vec<Option<f64>>>,
}

impl Asking<'_> {
    /// Puts a query to the rows of a file; `None` if there is no DuckDB, or it fails.
    pub(crate) fn ask(self, csv: &Path, table: &str, sql: &str) -> Option<Said> {
        let (repeat, threads) = (self.repeat.max(1).to_string(), self.threads.to_string());
        let mut child = Command::new(self.python)
            .args(["-", &csv.to_string_lossy(), table, sql, &repeat, &threads])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        child.stdin.take()?.write_all(PROGRAM.as_bytes()).ok()?;
        let output = child.wait_with_output().ok()?;
        output.status.success().then(|| serde_json::from_slice(&output.stdout).ok()).flatten()
    }
}
