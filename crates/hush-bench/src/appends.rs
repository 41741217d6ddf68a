// SPDX-License-Identifier: Apache-2.0
//! Rows that are added to a table, many times: what one append takes in time and bytes, and what a query takes beside the same rows
//! encrypted at once.
//!
//! The tables are opened anew for each query, as a command does. All sums are compared with those of the values.

use std::path::Path;
use std::time::Instant;

use arrow::util::display::array_value_to_string;
use hush::{
    AppendOptions, EncryptOptions, OpenOptions, OwnedTable, OwnerKey, Pins, Schema, Silent, Source,
    TablePlace,
};
use serde::Serialize;

use crate::BenchError;
use crate::aligned::figure_text;
use crate::split_table::{Check, median};
use crate::synthetic::mix;

/// Name of the table, as SQL knows it.
const NAME: &str = "t";
/// Values lie below it.
const BOUND: u64 = 1_000_000;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Rows of the table before any append.
    pub rows: u64,
    /// Appends.
    pub appends: u64,
    /// Rows of each.
    pub rows_each: u64,
    /// Encrypted columns.
    pub columns: usize,
    /// Seed of the values.
    pub seed: u64,
    /// Queries of each table.
    pub repeat: u32,
    /// Threads.
    pub threads: usize,
}

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Seconds of encrypting the rows before any append.
    pub encrypt_s: f64,
    /// Median seconds of an append, with the key at hand.
    pub append_s: f64,
    /// Median seconds of the first tenth of appends, and of the last.
    pub first_s: f64,
    /// See `first_s`.
    pub last_s: f64,
    /// Bytes that an append stored, without the manifest: the median.
    pub append_bytes: f64,
    /// Bytes of the manifest after all appends.
    pub manifest_bytes: u64,
    /// Bytes by which each append made the manifest longer.
    pub manifest_growth: f64,
    /// Median seconds of a query after all appends.
    pub query_s: f64,
    /// Median seconds of it on the same rows encrypted at once.
    pub whole_query_s: f64,
    /// Median of the ratio of both in a turn.
    pub query_ratio: f64,
    /// Whether all sums are those of the values.
    pub check: Check,
}

/// Encrypts, appends and asks.
///
/// # Errors
/// Hushtable refuses; files cannot be written.
pub fn run(options: &Options) -> Result<Report, BenchError> {
    let directory = tempfile::tempdir()?;
    let key = OwnerKey::temporary().map_err(hush::Error::from)?;
    let (grown, whole) = (directory.path().join("grown"), directory.path().join("whole"));
    let last = options.rows + options.appends * options.rows_each;
    let schema = schema(options, last)?;
    let begun = Instant::now();
    encrypt(options, &schema, 0..options.rows, &grown, &key)?;
    let encrypt_s = begun.elapsed().as_secs_f64();
    let first_manifest = manifest_bytes(&grown)?;
    let (mut seconds, mut bytes) = (Vec::new(), Vec::new());
    for append in 0..options.appends {
        let first = options.rows + append * options.rows_each;
        let source = source(options, first..first + options.rows_each)?;
        let (threads, pins) = (options.threads, Pins::forgetful());
        let append = AppendOptions { source, batch: None, threads, memory_limit: None, pins };
        let begun = Instant::now();
        let report = hush::append(TablePlace::Directory(&grown), &append, &key, &Silent)?;
        seconds.push(begun.elapsed().as_secs_f64());
        bytes.push(report.bytes as f64);
    }
    encrypt(options, &schema, 0..last, &whole, &key)?;
    let expected = sums(options, last);
    let (mut asked, mut asked_whole, mut ratios, mut check) =
        (Vec::new(), Vec::new(), Vec::new(), Check::Exact);
    for turn in 0..options.repeat.max(1) {
        let mut took = [0.0; 2];
        // Another one is first in every turn.
        for at in [turn as usize % 2, (turn as usize + 1) % 2] {
            let (s, found) = ask(options, [&grown, &whole][at], &key)?;
            took[at] = s;
            if found != expected {
                check = Check::Wrong;
            }
        }
        asked.push(took[0]);
        asked_whole.push(took[1]);
        ratios.push(took[0] / took[1]);
    }
    let tenth = (seconds.len() / 10).max(1).min(seconds.len());
    let manifest_bytes = manifest_bytes(&grown)?;
    Ok(Report {
        encrypt_s,
        append_s: median(&seconds),
        first_s: median(&seconds[..tenth]),
        last_s: median(&seconds[seconds.len() - tenth..]),
        append_bytes: median(&bytes),
        manifest_bytes,
        manifest_growth: (manifest_bytes - first_manifest) as f64 / options.appends.max(1) as f64,
        query_s: median(&asked),
        whole_query_s: median(&asked_whole),
        query_ratio: median(&ratios),
        check,
    })
}

pub(crate) fn value(options: &Options, row: u64, column: usize) -> u64 {
    mix(options.seed ^ mix(row << 6 | column as u64)) % BOUND
}

pub(crate) fn sums(options: &Options, rows: u64) -> Vec<String> {
    let sum = |column| (0..rows).map(|row| u128::from(value(options, row, column))).sum::<u128>();
    (0..options.columns).map(|column| sum(column).to_string()).collect()
}

/// Some rows as CSV in memory.
pub(crate) fn source(options: &Options, rows: std::ops::Range<u64>) -> Result<Source, BenchError> {
    let names: Vec<String> = (0..options.columns).map(|column| format!("c{column}")).collect();
    let mut text = names.join(",");
    text.push('\n');
    for row in rows {
        let cells = (0..options.columns).map(|column| value(options, row, column).to_string());
        text.push_str(&cells.collect::<Vec<_>>().join(","));
        text.push('\n');
    }
    Ok(Source::from_bytes(text.into_bytes().into(), &OpenOptions::default()).map_err(hush::Error::from)?)
}

/// All columns encrypted, for sums.
pub(crate) fn schema(options: &Options, rows: u64) -> Result<Schema, BenchError> {
    let head = format!("format = 1\ntable = \"{NAME}\"\nstatus = \"approved\"\nmax_rows = {rows}\n");
    let column = |column| {
        let range = format!("range = [0, {}]\nprotect = \"encrypt\"\nfor = [\"sum\"]", BOUND - 1);
        format!("[columns.c{column}]\ntype = \"int(32)\"\n{range}\n")
    };
    let columns: String = (0..options.columns).map(column).collect();
    Ok(hush::parse_schema(&(head + &columns))?)
}

pub(crate) fn encrypt(
    options: &Options,
    schema: &Schema,
    rows: std::ops::Range<u64>,
    output: &Path,
    key: &OwnerKey,
) -> Result<(), BenchError> {
    let encryption = EncryptOptions {
        source: source(options, rows)?,
        schema: schema.clone(),
        output: output.to_owned(),
        workload: None,
        threads: options.threads,
        memory_limit: None,
        pins: Pins::forgetful(),
        replace: false,
    };
    hush::encrypt(&encryption, key, &Silent)?;
    Ok(())
}

/// Seconds of the sums of all columns, of a table that is opened for it, and the sums.
pub(crate) fn ask(options: &Options, table: &Path, key: &OwnerKey) -> Result<(f64, Vec<String>), BenchError> {
    let sums: Vec<String> = (0..options.columns).map(|column| format!("SUM(c{column})")).collect();
    let sql = format!("SELECT {} FROM {NAME}", sums.join(", "));
    let begun = Instant::now();
    let table = OwnedTable::open_directory(table, key, &Pins::forgetful(), options.threads);
    let outcome = table.and_then(|table| table.ask(&sql, &Silent)).map_err(hush::Error::from)?;
    let seconds = begun.elapsed().as_secs_f64();
    let columns = outcome.batches.iter().flat_map(|batch| batch.columns());
    let found = columns.map(|column| array_value_to_string(column, 0)).collect::<Result<_, _>>()?;
    Ok((seconds, found))
}

fn manifest_bytes(table: &Path) -> Result<u64, BenchError> {
    Ok(std::fs::metadata(table.join("manifest.hush"))?.len())
}

/// The report as text.
pub fn text(options: &Options, report: &Report) -> String {
    let Options { rows, appends, rows_each, columns, seed, repeat, threads } = *options;
    let ms = |seconds: f64| figure_text(seconds * 1e3);
    format!(
        "{appends} appends of {rows_each} rows to {rows} rows of {columns} encrypted columns, {threads} threads, seed {seed}\n\n\
         encrypt {rows} rows    {} s\n\
         append               {} ms each; the first tenth {}, the last {}; the key is open\n\
         stored               {} kB an append, and {} bytes more in the manifest ({} kB at the end)\n\
         sums of all columns  {} ms, table opened; {} ms where the rows were encrypted at once: {:.2} times\n\
         sums                 {}\n\n\
         Medians; of the queries of {repeat} turns, in which each table is asked once.\n",
        figure_text(report.encrypt_s),
        ms(report.append_s),
        ms(report.first_s),
        ms(report.last_s),
        figure_text(report.append_bytes / 1e3),
        figure_text(report.manifest_growth),
        figure_text(report.manifest_bytes as f64 / 1e3),
        ms(report.query_s),
        ms(report.whole_query_s),
        report.query_ratio,
        report.check,
    )
}
