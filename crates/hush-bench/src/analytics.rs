// SPDX-License-Identifier: Apache-2.0
//! Analytical queries on large tables: grouped moments with a correlation, and a regression by many features, beside
//! DuckDB on the plaintext where it is installed.
//!
//! The table is encrypted once, in a directory of its own, with the quantities that the query needs; then the query is
//! asked again and again, planned each time. What is measured as evaluation is the embedded engine's whole work: files
//! are read and their digests compared, clear conditions evaluated, sums taken, the answer written.

mod expected;
pub mod report;
mod table;

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use arrow::record_batch::RecordBatch;
use hush::{EncryptOptions, Outcome, OwnedTable, OwnerKey, Pins, Protection, Silent};
use serde::{Deserialize, Serialize};

use crate::BenchError;
use crate::peers::duckdb::Asking;
use crate::split_table::{Check, median};
use crate::usage::peak_mb;
pub(crate) use expected::relative_error;
pub use table::Question;
use table::Table;

/// Results are correctly rounded; the reference, in doubles, is not.
const TOLERANCE: f64 = 1e-9;

/// Rows that sums are sized for.
const MOST_ROWS: u64 = 10_000_000;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rows of the largest table; the regression has a tenth of them.
    pub rows: u64,
    /// Seed of the tables.
    pub seed: u64,
    /// Repetitions of the query.
    pub repeat: u32,
    /// Leave out DuckDB.
    pub skip_peers: bool,
    /// Python interpreter that may have DuckDB.
    pub python: String,
    /// Threads of the engine and of DuckDB.
    pub threads: usize,
}

/// One query on one table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The question.
    pub question: Question,
    /// Rows of the table.
    pub rows: u64,
    /// Its columns, and how many of them are encrypted.
    pub columns: (usize, usize),
    /// Encrypted quantities that the query adds up: columns, squares and products.
    pub quantities: usize,
    /// The query.
    pub sql: String,
    /// Parameter sets.
    pub params: Vec<String>,
    /// Threads.
    pub threads: usize,
    /// Repetitions behind the medians.
    pub repetitions: u32,
    /// Seconds of encryption, the file's reading included; once.
    pub encrypt_s: f64,
    /// Median seconds of planning.
    pub plan_s: f64,
    /// Median seconds of evaluation by the embedded engine.
    pub evaluate_s: f64,
    /// The same where the sums of whole parts are kept from one time to the next; nothing for a query that has none.
    pub again_s: Option<f64>,
    /// Median seconds of decryption and what the owner computes from it.
    pub decrypt_s: f64,
    /// Bytes of the plan.
    pub bytes_up: u64,
    /// Bytes of the answer.
    pub bytes_down: u64,
    /// Peak resident megabytes (10^6 bytes) of the process, encryption included.
    pub peak_mb: f64,
    /// The largest relative error beside the same computed from the plaintext.
    pub check: Check,
    /// DuckDB on the plaintext, if it is installed.
    pub duckdb: Option<Duckdb>,
}

/// DuckDB on the same rows, in memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Duckdb {
    /// Its version.
    pub version: String,
    /// Median seconds of the query; for the regression, of the sums that its normal equations need.
    pub seconds: f64,
}

/// Every question, the grouped one on tables of three sizes; each by starting `program` again.
///
/// # Errors
/// A question of ours fails. A DuckDB that fails is left out.
pub fn run(options: &Options, program: &Path) -> Result<Vec<Measured>, BenchError> {
    let sizes = [options.rows / 100, options.rows / 10, options.rows].map(|rows| rows.max(1));
    let grouped = sizes.into_iter().map(|rows| (Question::Groups, rows));
    let regression = (Question::Regression, (options.rows / 10).max(table::FEWEST_ROWS_OF_A_FIT));
    let mut measured = Vec::new();
    for (question, rows) in grouped.chain([regression]) {
        let output = Command::new(program).args(case_arguments(options, question, rows)).output()?;
        let parsed = serde_json::from_slice(&output.stdout).ok().filter(|_| output.status.success());
        measured.push(parsed.ok_or_else(|| BenchError::Child {
            what: format!("{} on {rows} rows", question.name()),
            message: String::from_utf8_lossy(&output.stderr).into_owned(),
        })?);
    }
    Ok(measured)
}

/// Arguments that make this program ask one question and print what it measured as JSON.
fn case_arguments(options: &Options, question: Question, rows: u64) -> Vec<String> {
    let mut arguments = ["analytics", "--question", question.name()].map(str::to_owned).to_vec();
    let numbers = [
        ("--rows", rows),
        ("--seed", options.seed),
        ("--repeat", options.repeat.into()),
        ("--threads", options.threads as u64),
    ];
    arguments.extend(numbers.into_iter().flat_map(|(name, value)| [name.to_owned(), value.to_string()]));
    arguments.extend(["--python".to_owned(), options.python.clone()]);
    arguments.extend(options.skip_peers.then(|| "--skip-peers".to_owned()));
    arguments
}

/// Asks one question of a table of `options.rows` rows, in this process.
///
/// # Errors
/// Hushtable refuses, or files cannot be written.
pub fn ask(options: &Options, question: Question) -> Result<Measured, BenchError> {
    let table = Table::new(question, options.rows, options.seed);
    let directory = tempfile::tempdir()?;
    let csv = directory.path().join(format!("{}.csv", table::NAME));
    let mut out = BufWriter::new(File::create(&csv)?);
    table.write_csv(&mut out)?;
    out.into_inner().map_err(|error| error.into_error())?.sync_all()?;
    let schema = directory.path().join("schema.toml");
    write_schema(&table, &csv, &schema)?;
    let key = OwnerKey::temporary().map_err(hush::Error::from)?;
    let output = directory.path().join("table");
    let encryption = EncryptOptions {
        source: hush::open(&csv)?,
        schema: hush::approved_schema(&schema)?,
        output: output.clone(),
        workload: None,
        threads: options.threads,
        memory_limit: None,
        pins: Pins::forgetful(),
        replace: true,
    };
    let start = std::time::Instant::now();
    hush::encrypt(&encryption, &key, &Silent)?;
    let encrypt_s = start.elapsed().as_secs_f64();
    let open = || OwnedTable::open_directory(&output, &key, &Pins::forgetful(), options.threads);
    let owned = open().map_err(hush::Error::from)?.without_kept_sums();
    let keeping = open().map_err(hush::Error::from)?;
    let sql = question.sql();
    let ask = |table: &OwnedTable| table.ask(&sql, &Silent).map_err(hush::Error::from);
    let repeat =
        |table: &OwnedTable| (0..options.repeat.max(1)).map(|_| ask(table)).collect::<Result<Vec<_>, _>>();
    // The first time, which verifies files, is not counted.
    let last = ask(&owned)?;
    let outcomes = repeat(&owned)?;
    let again = if question.sums_whole_parts() {
        ask(&keeping)?;
        repeat(&keeping)?
    } else {
        Vec::new()
    };
    let phase = |outcomes: &[Outcome], name: &str| {
        let of = |outcome: &Outcome| outcome.phases.iter().filter(|(n, _)| *n == name).map(|(_, s)| s).sum();
        median(&outcomes.iter().map(of).collect::<Vec<f64>>())
    };
    let expected = table.expected();
    let mut error = 0.0_f64;
    for outcome in outcomes.iter().chain(&again).chain([&last]) {
        error = error.max(relative_error(&cells(&outcome.batches)?, &expected));
    }
    let peak_mb = peak_mb();
    let asking = Asking { python: &options.python, repeat: options.repeat, threads: options.threads };
    let peer = (!options.skip_peers).then(|| asking.ask(&csv, table::NAME, &question.plaintext_sql()));
    let duckdb = peer.flatten().map(|said| Duckdb { version: said.version, seconds: said.seconds });
    Ok(Measured {
        question,
        rows: options.rows,
        columns: (question.columns().len(), question.encrypted().len()),
        quantities: owned.manifest().manifest().encodings.len(),
        sql,
        params: last.plan.cost.params.clone(),
        threads: options.threads,
        repetitions: outcomes.len() as u32,
        encrypt_s,
        plan_s: phase(&outcomes, "plan"),
        evaluate_s: phase(&outcomes, "server"),
        again_s: (!again.is_empty()).then(|| phase(&again, "server")),
        decrypt_s: phase(&outcomes, "decrypt"),
        bytes_up: last.moved.up,
        bytes_down: last.moved.down,
        peak_mb,
        check: if error <= TOLERANCE { Check::Within(error) } else { Check::Wrong },
        duckdb,
    })
}

fn write_schema(table: &Table, csv: &Path, path: &Path) -> Result<(), BenchError> {
    let question = table.question();
    let mut schema = hush::propose(&hush::open(csv)?, &hush::Policy::default())?.schema;
    for column in &mut schema.columns {
        let is_encrypted = question.encrypted().contains(&column.name.as_str());
        column.protect = if is_encrypted { Protection::Encrypt } else { Protection::Clear };
        column.purposes = question.purposes(&column.name);
        column.nullable = false;
    }
    schema.moments = question.moments();
    // The same for tables of all sizes, so that their answers have the same size too.
    schema.max_rows = table.rows().max(MOST_ROWS);
    schema.approved = true;
    schema.approved_by = "the benchmark".to_owned();
    hush::write_schema(path, &schema, true)?;
    Ok(())
}

/// The cells of a result as doubles, row by row; of a text a number that stands for it.
pub(crate) fn cells(batches: &[RecordBatch]) -> Result<Vec<Vec<f64>>, BenchError> {
    let mut rows = Vec::new();
    for batch in batches {
        let doubles = batch.columns().iter().map(|column| match column.as_string_opt::<i32>() {
            Some(texts) => {
                let numbers = texts.iter().map(|text| text.map(|text| f64::from(number_of(text))));
                Ok(Arc::new(numbers.collect::<Float64Array>()) as ArrayRef)
            }
            None => cast(column, &DataType::Float64),
        });
        let columns = doubles.collect::<Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            rows.push(columns.iter().map(|column| column.as_primitive::<Float64Type>().value(row)).collect());
        }
    }
    Ok(rows)
}

/// A number that stands for a text: FNV-1a of 32 bits, as the program that asks DuckDB has it.
fn number_of(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
