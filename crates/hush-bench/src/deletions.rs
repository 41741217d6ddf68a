// SPDX-License-Identifier: Apache-2.0
//! One row that goes out of a table, and one that gets a new value: by a clear column, by a sealed one beside a clear one, and by a sealed one
//! alone, which reads that column of the whole table.
//!
//! Each begins with the key at hand and ends with a committed version. All sums are compared with those of the values at the end.

use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use hush::{
    DeleteOptions, EncryptOptions, MissingRows, OpenOptions, OwnerKey, Pins, Schema, Silent, Source,
    TablePlace, UpdateOptions,
};
use serde::Serialize;

use crate::BenchError;
use crate::aligned::figure_text;
use crate::appends::{self, ask, sums, value};
use crate::split_table::{Check, median};

/// Rows of a day.
const DAY_ROWS: u64 = 1000;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Rows of the table.
    pub rows: u64,
    /// Encrypted columns.
    pub columns: usize,
    /// Seed of the values.
    pub seed: u64,
    /// Rows that go and that change, by each condition.
    pub repeat: u32,
    /// Threads.
    pub threads: usize,
}

/// What was measured: medians.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Seconds of deleting one row by the value of a clear column.
    pub clear_s: f64,
    /// The same by a day, which is clear, and a sealed text.
    pub clear_and_sealed_s: f64,
    /// The same by a sealed text alone.
    pub sealed_s: f64,
    /// Seconds of giving one row a new value, by a clear column.
    pub update_s: f64,
    /// Bytes of the manifest before, and after everything.
    pub manifest_bytes: u64,
    /// See `manifest_bytes`.
    pub manifest_bytes_after: u64,
    /// Seconds of the sums of all columns before, the table opened.
    pub query_before_s: f64,
    /// The same after.
    pub query_after_s: f64,
    /// Whether all sums are those of the values that are left.
    pub check: Check,
}

/// Encrypts, deletes, updates and asks.
///
/// # Errors
/// Hushtable refuses; files cannot be written.
pub fn run(options: &Options) -> Result<Report, BenchError> {
    let Options { rows, columns, seed, repeat, threads } = *options;
    let values = appends::Options { rows, appends: 0, rows_each: 0, columns, seed, repeat, threads };
    let directory = tempfile::tempdir()?;
    let (key, output) = (OwnerKey::temporary().map_err(hush::Error::from)?, directory.path().join("t"));
    let encryption = EncryptOptions {
        source: csv(&values, 0..rows)?,
        schema: schema(&values)?,
        output: output.clone(),
        workload: None,
        threads,
        memory_limit: None,
        pins: Pins::forgetful(),
        replace: false,
    };
    hush::encrypt(&encryption, &key, &Silent)?;
    let manifest_bytes = || Ok::<_, BenchError>(std::fs::metadata(output.join("manifest.hush"))?.len());
    let (manifest_before, asked) = (manifest_bytes()?, || queries(&values, &output, &key));
    let (query_before_s, mut expected) = asked()?;
    let mut numbers: Vec<i128> = expected.iter().filter_map(|sum| sum.parse().ok()).collect();
    let (mut clear, mut both, mut sealed, mut updates) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut all_went = expected == sums(&values, rows);
    // Rows far from each other, none of them twice.
    let step = (rows / (4 * u64::from(repeat.max(1)) + 1)).max(1);
    for turn in 0..u64::from(repeat.max(1)) {
        let row = |number: u64| (4 * turn + number + 1) * step % rows;
        for (number, seconds) in [(0, &mut clear), (1, &mut both), (2, &mut sealed)] {
            let row = row(number);
            let condition = match number {
                0 => format!("k = {row}"),
                1 => format!("day = {} AND id = 'r{row}'", row / DAY_ROWS),
                _ => format!("id = 'r{row}'"),
            };
            let pins = Pins::forgetful();
            let deletion = DeleteOptions { condition, all: false, dry_run: false, threads, pins };
            let begun = Instant::now();
            let report = hush::delete_rows(TablePlace::Directory(&output), &deletion, &key, &Silent)?;
            seconds.push(begun.elapsed().as_secs_f64());
            all_went &= report.rows == 1;
            let gone = (0..columns).map(|column| i128::from(value(&values, row, column)));
            numbers.iter_mut().zip(gone).for_each(|(sum, gone)| *sum -= gone);
        }
        let row = row(3);
        let text = format!("k,c0\n{row},0\n");
        let source = Source::from_bytes(text.into_bytes().into(), &OpenOptions::default());
        let update = UpdateOptions {
            source: source.map_err(hush::Error::from)?,
            key: vec!["k".to_owned()],
            missing: MissingRows::Refuse,
            all: false,
            dry_run: false,
            threads,
            memory_limit: None,
            pins: Pins::forgetful(),
        };
        let begun = Instant::now();
        let report = hush::update_rows(TablePlace::Directory(&output), &update, &key, &Silent)?;
        updates.push(begun.elapsed().as_secs_f64());
        all_went &= report.updated + report.unchanged == 1;
        numbers.iter_mut().take(1).for_each(|sum| *sum -= i128::from(value(&values, row, 0)));
    }
    expected = numbers.iter().map(ToString::to_string).collect();
    let (query_after_s, found) = asked()?;
    Ok(Report {
        clear_s: median(&clear),
        clear_and_sealed_s: median(&both),
        sealed_s: median(&sealed),
        update_s: median(&updates),
        manifest_bytes: manifest_before,
        manifest_bytes_after: manifest_bytes()?,
        query_before_s,
        query_after_s,
        check: if all_went && found == expected { Check::Exact } else { Check::Wrong },
    })
}

/// Median seconds of five queries for all sums, and the sums.
fn queries(
    values: &appends::Options,
    table: &Path,
    key: &OwnerKey,
) -> Result<(f64, Vec<String>), BenchError> {
    let (mut seconds, mut sums) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let (took, found) = ask(values, table, key)?;
        seconds.push(took);
        sums = found;
    }
    Ok((median(&seconds), sums))
}

/// The rows with a number and a day, which stay clear, and a text, which is sealed.
fn csv(values: &appends::Options, rows: Range<u64>) -> Result<Source, BenchError> {
    let names: Vec<String> = (0..values.columns).map(|column| format!("c{column}")).collect();
    let mut text = format!("k,day,id,{}\n", names.join(","));
    for row in rows {
        let cells: Vec<String> =
            (0..values.columns).map(|column| value(values, row, column).to_string()).collect();
        text.push_str(&format!("{row},{},r{row},{}\n", row / DAY_ROWS, cells.join(",")));
    }
    Ok(Source::from_bytes(text.into_bytes().into(), &OpenOptions::default()).map_err(hush::Error::from)?)
}

/// The schema of such rows, with room for those that are updated.
fn schema(values: &appends::Options) -> Result<Schema, BenchError> {
    let sums = hush::schema_text(&appends::schema(values, 2 * values.rows)?);
    let more = "[columns.k]\ntype = \"int(64)\"\nprotect = \"clear\"\n\
                [columns.day]\ntype = \"int(32)\"\nprotect = \"clear\"\n\
                [columns.id]\ntype = \"text\"\nprotect = \"seal\"\n";
    Ok(hush::parse_schema(&format!("{sums}\n{more}"))?)
}

/// The report as text.
pub fn text(options: &Options, report: &Report) -> String {
    let Options { rows, columns, seed, repeat, threads } = *options;
    let ms = |seconds: f64| figure_text(seconds * 1e3);
    format!(
        "{rows} rows of {columns} encrypted columns, two clear ones and a sealed one, {threads} threads, seed {seed}\n\n\
         delete one row       {} ms by a clear column, {} ms by a sealed one beside a clear one, {} ms by the sealed one alone\n\
         update one row       {} ms by a clear column\n\
         manifest             {} kB before, {} kB after {} changes\n\
         sums of all columns  {} ms before, {} ms after, table opened\n\
         sums                 {}\n\n\
         Medians of {repeat}; the key is open.\n",
        ms(report.clear_s),
        ms(report.clear_and_sealed_s),
        ms(report.sealed_s),
        ms(report.update_s),
        figure_text(report.manifest_bytes as f64 / 1e3),
        figure_text(report.manifest_bytes_after as f64 / 1e3),
        4 * repeat,
        ms(report.query_before_s),
        ms(report.query_after_s),
        report.check,
    )
}
