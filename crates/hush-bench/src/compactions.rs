// SPDX-License-Identifier: Apache-2.0
//! Parts of a table that are written anew: rows a second, beside encrypting the same rows from their source.
//!
//! A compaction reads, decrypts and encrypts. Both begin with the key at hand and end with a committed version; the source is CSV in memory. All
//! sums are compared with those of the values before and after.

use std::time::Instant;

use hush::{AppendOptions, CompactOptions, OwnerKey, Pins, Silent, TablePlace, Which};
use serde::Serialize;

use crate::BenchError;
use crate::aligned::figure_text;
use crate::appends::{self, ask, encrypt, schema, source, sums};
use crate::split_table::{Check, median};

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Rows of the table.
    pub rows: u64,
    /// Appends that bring them.
    pub parts: u64,
    /// Encrypted columns.
    pub columns: usize,
    /// Seed of the values.
    pub seed: u64,
    /// Turns, in each of which the rows are encrypted and compacted once.
    pub repeat: u32,
    /// Threads.
    pub threads: usize,
}

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Median seconds of encrypting all rows at once.
    pub encrypt_s: f64,
    /// Median seconds of compacting the table of many parts into full ones.
    pub compact_s: f64,
    /// Median of the rate of compaction over that of encryption in a turn.
    pub rate_ratio: f64,
    /// Parts before, and after.
    pub parts: u64,
    /// See `parts`.
    pub parts_after: u64,
    /// Median seconds of the sums of all columns before, the table opened.
    pub query_before_s: f64,
    /// The same after.
    pub query_after_s: f64,
    /// Whether all sums are those of the values.
    pub check: Check,
}

/// Encrypts, appends, compacts and asks.
///
/// # Errors
/// Hushtable refuses; files cannot be written.
pub fn run(options: &Options) -> Result<Report, BenchError> {
    let Options { rows, parts, columns, seed, repeat, threads } = *options;
    let table = appends::Options { rows, appends: parts, rows_each: 0, columns, seed, repeat, threads };
    let key = OwnerKey::temporary().map_err(hush::Error::from)?;
    let schema = schema(&table, rows)?;
    let expected = sums(&table, rows);
    let (mut encrypting, mut compacting, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let (mut before, mut after, mut counts, mut check) = (Vec::new(), Vec::new(), (0, 0), Check::Exact);
    for _ in 0..repeat.max(1) {
        let directory = tempfile::tempdir()?;
        let (whole, grown) = (directory.path().join("whole"), directory.path().join("grown"));
        let begun = Instant::now();
        encrypt(&table, &schema, 0..rows, &whole, &key)?;
        encrypting.push(begun.elapsed().as_secs_f64());
        let ends: Vec<u64> = (0..=parts).map(|part| rows * part / parts.max(1)).collect();
        let place = TablePlace::Directory(&grown);
        for (number, ends) in ends.windows(2).enumerate() {
            let rows = ends[0]..ends[1];
            if number == 0 {
                encrypt(&table, &schema, rows, &grown, &key)?;
                continue;
            }
            let (source, pins) = (source(&table, rows)?, Pins::forgetful());
            let append = AppendOptions { source, batch: None, threads, memory_limit: None, pins };
            hush::append(place, &append, &key, &Silent)?;
        }
        let (seconds, found) = ask(&table, &grown, &key)?;
        before.push(seconds);
        let pins = Pins::forgetful();
        let compaction = CompactOptions { which: Which::All, threads, memory_limit: None, pins };
        let count = hush::plan_compaction(place, Which::All, &Pins::forgetful())?.table_parts;
        let begun = Instant::now();
        let report = hush::compact(place, &compaction, &key, &Silent)?;
        compacting.push(begun.elapsed().as_secs_f64());
        let (seconds, found_after) = ask(&table, &grown, &key)?;
        after.push(seconds);
        if found != expected || found_after != expected || report.table_rows != rows {
            check = Check::Wrong;
        }
        counts = (count, report.table_parts);
        ratios.push(encrypting[encrypting.len() - 1] / compacting[compacting.len() - 1]);
    }
    Ok(Report {
        encrypt_s: median(&encrypting),
        compact_s: median(&compacting),
        rate_ratio: median(&ratios),
        parts: counts.0,
        parts_after: counts.1,
        query_before_s: median(&before),
        query_after_s: median(&after),
        check,
    })
}

/// The report as text.
pub fn text(options: &Options, report: &Report) -> String {
    let Options { rows, columns, seed, repeat, threads, .. } = *options;
    let rate = |seconds: f64| figure_text(rows as f64 * columns as f64 / seconds / 1e6);
    format!(
        "{rows} rows of {columns} encrypted columns in {} parts, {threads} threads, seed {seed}\n\n\
         encrypt              {} s, {} million values a second\n\
         compact              {} s, {} million values a second: {:.2} times the rate; {} parts after\n\
         sums of all columns  {} ms before, {} ms after, table opened\n\
         sums                 {}\n\n\
         Medians of {repeat} turns.\n",
        report.parts,
        figure_text(report.encrypt_s),
        rate(report.encrypt_s),
        figure_text(report.compact_s),
        rate(report.compact_s),
        report.rate_ratio,
        report.parts_after,
        figure_text(report.query_before_s * 1e3),
        figure_text(report.query_after_s * 1e3),
        report.check,
    )
}
