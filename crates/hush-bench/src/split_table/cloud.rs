// SPDX-License-Identifier: Apache-2.0
//! The workload where the thesis ran it: on functions behind an HTTP API, with both halves of the table in a bucket.
//!
//! ```text
//!   this process ── push ──▶ bucket ◀── read ── workers ◀── invoke ── front ◀── ask ── this process
//! ```
//!
//! A script of the repository emulates the platform, with its limits, and counts what would be billed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use hush::{ApiToken, CopyTarget, OwnedTable, OwnerKey, Phases, Pins, RemoteServer, Silent, TableLocation};
use serde::{Deserialize, Serialize};

use crate::BenchError;

/// The script, from the root of a clone.
const SCRIPT: &str = "tests/cloud.py";
/// The variable in which a variant's process gets [`Functions`], as JSON.
const FUNCTIONS: &str = "HUSH_BENCH_FUNCTIONS";

/// What functions and bucket were used for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CloudUse {
    /// Calls of the front: requests to the HTTP API.
    pub front_calls: f64,
    /// Calls of workers.
    pub worker_calls: f64,
    /// Calls that started a process.
    pub cold_starts: f64,
    /// Seconds of the front, in whole milliseconds a call, times its memory in GB.
    pub front_gb_s: f64,
    /// The same of the workers.
    pub worker_gb_s: f64,
    /// Seconds of the longest call.
    pub longest_s: f64,
    /// Peak of a process, in MB.
    pub peak_mb: f64,
    /// Bytes of the largest event or answer.
    pub largest_bytes: f64,
    /// Calls that did not end well.
    pub failed: f64,
    /// Requests to the bucket that read.
    pub store_reads: f64,
    /// Requests to the bucket that write, list or delete.
    pub store_writes: f64,
    /// Bytes read from the bucket.
    pub store_read_bytes: f64,
    /// Bytes written to it.
    pub store_written_bytes: f64,
}

/// List prices of one region in US dollars, for x86-64 functions: us-east-1, November 2026.
pub mod prices {
    /// A GB-second of a function.
    pub const GB_SECOND: f64 = 0.000_016_666_7;
    /// A call of a function.
    pub const CALL: f64 = 0.20e-6;
    /// A request to an HTTP API.
    pub const API_REQUEST: f64 = 1.00e-6;
    /// A request to a bucket that reads.
    pub const STORE_READ: f64 = 0.000_4e-3;
    /// A request to a bucket that writes or lists.
    pub const STORE_WRITE: f64 = 0.005e-3;
}

impl CloudUse {
    /// The use of one of `count` repetitions. Largest values stay.
    #[must_use]
    pub fn of_one(self, count: f64) -> Self {
        Self {
            front_calls: self.front_calls / count,
            worker_calls: self.worker_calls / count,
            cold_starts: self.cold_starts / count,
            front_gb_s: self.front_gb_s / count,
            worker_gb_s: self.worker_gb_s / count,
            failed: self.failed / count,
            store_reads: self.store_reads / count,
            store_writes: self.store_writes / count,
            store_read_bytes: self.store_read_bytes / count,
            store_written_bytes: self.store_written_bytes / count,
            ..self
        }
    }

    /// What it costs at list [`prices`], in US dollars.
    pub fn dollars(&self) -> f64 {
        (self.front_gb_s + self.worker_gb_s) * prices::GB_SECOND
            + (self.front_calls + self.worker_calls) * prices::CALL
            + self.front_calls * prices::API_REQUEST
            + self.store_reads * prices::STORE_READ
            + self.store_writes * prices::STORE_WRITE
    }
}

/// Functions that answer, and the bucket that they read.
#[derive(Debug, Deserialize)]
pub(super) struct Functions {
    url: String,
    data: String,
    token_file: PathBuf,
    environment: BTreeMap<String, String>,
}

impl Functions {
    /// Those that the parent process has started.
    ///
    /// # Errors
    /// There are none.
    pub(super) fn given() -> Result<Self, BenchError> {
        let given = std::env::var(FUNCTIONS).ok().and_then(|json| serde_json::from_str(&json).ok());
        given.ok_or_else(|| BenchError::Child {
            what: "split-table --serverless".to_owned(),
            message: format!("{FUNCTIONS} names no functions"),
        })
    }

    /// Pushes the table into the bucket and opens it at the front. Gives the bytes sent.
    ///
    /// # Errors
    /// The bucket or the front refuses.
    pub(super) fn open(
        &self,
        table: &Path,
        name: &str,
        key: &OwnerKey,
        phases: &mut Phases,
    ) -> Result<(OwnedTable, u64), BenchError> {
        let tables = format!("{}/tables", self.data);
        // Every repetition has a key of its own, so the last one's table must go.
        drop(hush::drop_table(&tables, name, None));
        let target = CopyTarget::of(&format!("{tables}/{name}"), None)?;
        let location = TableLocation::Directory(table.to_owned());
        let pushed = phases
            .time("transfer", || hush::push(location.place(), &target, false, &Pins::forgetful(), &Silent))?;
        let token = ApiToken::from_file(&self.token_file).map_err(hush::Error::from)?;
        let remote = RemoteServer::new(&self.url, Some(token)).map_err(hush::Error::from)?;
        let opened = phases.time("open", || OwnedTable::open_remote(remote, name, key, &Pins::forgetful()));
        Ok((opened.map_err(hush::Error::from)?, pushed.report.bytes_sent))
    }
}

/// The emulated platform, which ends with this.
pub(super) struct Cloud {
    child: Child,
    asks: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    functions: Functions,
    /// The line that told of the functions.
    told: String,
}

impl Cloud {
    /// Starts the script of this clone with an interpreter that has what the tests need. `programs` is where `hush-lambda` lies.
    ///
    /// # Errors
    /// [`BenchError::Child`] outside a clone, or if it does not start.
    pub(super) fn start(python: &str, programs: &Path) -> Result<Self, BenchError> {
        let failed = |message: String| BenchError::Child { what: format!("{python} {SCRIPT}"), message };
        if !Path::new(SCRIPT).is_file() {
            let advice =
                "there is no such file: start the benchmark in the root of a clone, after `make build`";
            return Err(failed(advice.to_owned()));
        }
        let mut child = Command::new(python)
            .arg(SCRIPT)
            .env("HUSH_BIN", programs)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let (Some(asks), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("it has no pipes".to_owned()));
        };
        let mut lines = BufReader::new(output).lines();
        let told = lines.next().and_then(Result::ok).unwrap_or_default();
        match serde_json::from_str(&told) {
            Ok(functions) => Ok(Self { child, asks, lines, functions, told }),
            Err(_) => {
                drop(child.kill());
                drop(child.wait());
                Err(failed(
                    "it told no address: --python names an interpreter with tools/requirements.txt"
                        .to_owned(),
                ))
            }
        }
    }

    /// What a variant's process needs in its environment.
    pub(super) fn environment(&self) -> BTreeMap<String, String> {
        let mut environment = self.functions.environment.clone();
        environment.insert(FUNCTIONS.to_owned(), self.told.clone());
        environment
    }

    /// The use since the last call.
    ///
    /// # Errors
    /// The script ended.
    pub(super) fn used(&mut self) -> Result<CloudUse, BenchError> {
        writeln!(self.asks, "use")?;
        let line = self.lines.next().and_then(Result::ok).unwrap_or_default();
        serde_json::from_str(&line)
            .map_err(|_| BenchError::Child { what: SCRIPT.to_owned(), message: "it ended".to_owned() })
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_costs_what_the_list_says() {
        let none = CloudUse {
            front_calls: 0.0,
            worker_calls: 0.0,
            cold_starts: 0.0,
            front_gb_s: 0.0,
            worker_gb_s: 0.0,
            longest_s: 1.0,
            peak_mb: 0.0,
            largest_bytes: 0.0,
            failed: 0.0,
            store_reads: 0.0,
            store_writes: 0.0,
            store_read_bytes: 0.0,
            store_written_bytes: 0.0,
        };
        let ten = CloudUse { front_calls: 40.0, worker_gb_s: 600.0, store_writes: 2000.0, ..none };
        let one = ten.of_one(10.0);
        assert_eq!((one.front_calls, one.worker_gb_s, one.longest_s), (4.0, 60.0, 1.0));
        // 60 GB-seconds are a tenth of a cent, 200 writes another, four requests next to nothing.
        assert!((one.dollars() - 0.002_004_802).abs() < 1e-9, "{}", one.dollars());
    }
}
