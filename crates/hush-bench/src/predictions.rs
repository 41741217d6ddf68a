// SPDX-License-Identifier: Apache-2.0
//! What `hush explain` predicts beside what is measured: bytes and time of queries of every kind.
//!
//! The table is encrypted once and opened anew for each query, as a command does, so that nothing is verified or kept from the
//! query before. Results are compared with those of the same table with every column in the clear.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use hush::{
    Analysis, EncryptOptions, Outcome, OwnedTable, OwnerKey, Pins, ProfileInUse, Protection, Purpose, Schema,
    Silent,
};
use serde::Serialize;

use crate::BenchError;
use crate::aligned::{align, figure_text};
use crate::analytics::{cells, relative_error};
use crate::split_table::{Check, median};
use crate::synthetic::mix;

/// Name of the table, as SQL knows it.
pub(crate) const NAME: &str = "t";
/// Its columns; the last four are encrypted.
const COLUMNS: [&str; 8] = ["id", "g", "k", "name", "a", "b", "c", "d"];
/// How many are clear.
const CLEAR: usize = 4;
/// Doubles from the same exact sums differ in their last bits at most.
const TOLERANCE: f64 = 1e-12;

/// The queries, with a name for each.
const QUERIES: &[(&str, &str)] = &[
    ("total", "SELECT SUM(a) FROM t"),
    ("totals", "SELECT SUM(a), AVG(b), VARIANCE(c) FROM t"),
    ("count", "SELECT COUNT(*) FROM t WHERE k > 300"),
    ("filter", "SELECT SUM(a) FROM t WHERE k > 300"),
    ("text filter", "SELECT AVG(b) FROM t WHERE name LIKE 'n1%'"),
    ("weights", "SELECT SUM(a * k) FROM t"),
    ("case", "SELECT SUM(CASE WHEN g = 1 THEN a ELSE 0 END), SUM(b) FILTER (WHERE k < 10) FROM t"),
    ("8 groups", "SELECT g, COUNT(*), AVG(a) FROM t GROUP BY g ORDER BY g"),
    (
        "moments",
        "SELECT g, SUM(a), AVG(b), VARIANCE(c), CORR(a, b) FROM t WHERE k > 100 GROUP BY g ORDER BY g",
    ),
    ("regression", "SELECT LINREG(a, b, c, d) FROM t"),
    ("1000 groups", "SELECT k, SUM(a) FROM t GROUP BY k ORDER BY k"),
    ("8000 groups", "SELECT k, g, SUM(a) FROM t GROUP BY k, g ORDER BY k, g"),
    ("column", "SELECT id, a FROM t"),
    ("columns", "SELECT id, a, b, d FROM t"),
    ("few rows", "SELECT id, a FROM t WHERE k < 10"),
    ("limit", "SELECT a, b FROM t LIMIT 10"),
    ("product", "SELECT id, a * c + b FROM t"),
    ("window", "SELECT id, SUM(a) OVER (ORDER BY id ROWS 3 PRECEDING) FROM t"),
    ("sorted", "SELECT id, a FROM t ORDER BY a DESC, id LIMIT 5"),
];

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rows of each table.
    pub rows: Vec<u64>,
    /// Seed of the tables.
    pub seed: u64,
    /// Repetitions of each query.
    pub repeat: u32,
    /// Threads of the engine.
    pub threads: usize,
}

/// One query on one table.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The query's name.
    pub query: &'static str,
    /// The query.
    pub sql: &'static str,
    /// Rows of the table.
    pub rows: u64,
    /// Repetitions behind the medians.
    pub repetitions: u32,
    /// Seconds of the server: predicted, and the measured median.
    pub server_s: (f64, f64),
    /// Seconds of the owner, likewise.
    pub owner_s: (f64, f64),
    /// Bytes of the plan and of the answer, predicted and measured.
    pub bytes: (u64, u64),
    /// Whether the prediction of bytes is certain: texts in an answer have a length that nobody knows beforehand.
    pub bytes_exact: bool,
    /// The largest relative error beside the same table in the clear; wrong too if bytes that are certain differ.
    pub check: Check,
}

impl Measured {
    /// Measured over predicted seconds of server and owner together.
    pub fn ratio(&self) -> f64 {
        (self.server_s.1 + self.owner_s.1) / (self.server_s.0 + self.owner_s.0)
    }
}

/// Asks every query of every table, with the profile of the machine that predictions use.
///
/// # Errors
/// Hushtable refuses, or files cannot be written.
pub fn run(options: &Options, profile: &ProfileInUse) -> Result<Vec<Measured>, BenchError> {
    let mut measured = Vec::new();
    for rows in &options.rows {
        let directory = tempfile::tempdir()?;
        let queries: Vec<&str> = QUERIES.iter().map(|(_, sql)| *sql).collect();
        let table = Tables::new(directory.path(), (*rows, options.seed), &queries, options.threads)?;
        for (query, sql) in QUERIES {
            measured.push(table.measure(query, sql, options, profile)?);
        }
    }
    Ok(measured)
}

/// The same rows encrypted and in the clear.
pub(crate) struct Tables {
    pub(crate) key: OwnerKey,
    pub(crate) encrypted: std::path::PathBuf,
    pub(crate) schema: Schema,
    pub(crate) clear: std::path::PathBuf,
    pub(crate) csv: std::path::PathBuf,
    rows: u64,
}

impl Tables {
    /// So many rows from a seed, encrypted for a workload.
    pub(crate) fn new(
        directory: &Path,
        (rows, seed): (u64, u64),
        queries: &[&str],
        threads: usize,
    ) -> Result<Self, BenchError> {
        let csv = directory.join(format!("{NAME}.csv"));
        let mut out = BufWriter::new(File::create(&csv)?);
        writeln!(out, "{}", COLUMNS.join(","))?;
        for row in 0..rows {
            let draw = |column: u64, bound: u64| mix(seed ^ mix(row << 8 | column)) % bound;
            let (a, b) = (draw(4, 100_000), draw(5, 1_000_000));
            let (c, d) = (draw(6, 1000), draw(7, 1000) as i64 - 500);
            writeln!(out, "{row},{},{},n{},{a},{b},{c},{d}", draw(1, 8), draw(2, 1000), draw(3, 100_000))?;
        }
        out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        let workload = directory.join("queries.sql");
        std::fs::write(&workload, queries.join(";\n"))?;
        let key = OwnerKey::temporary().map_err(hush::Error::from)?;
        let table = |name: &str, encrypts: bool| {
            let mut schema = hush::propose(&hush::open(&csv)?, &hush::Policy::default())?.schema;
            for (place, column) in schema.columns.iter_mut().enumerate() {
                let is_encrypted = encrypts && place >= CLEAR;
                column.protect = if is_encrypted { Protection::Encrypt } else { Protection::Clear };
                column.purposes = if is_encrypted { vec![Purpose::Sum] } else { Vec::new() };
                column.nullable = false;
            }
            (schema.max_rows, schema.approved) = (rows, true);
            let (output, described) = (directory.join(name), schema.clone());
            let encryption = EncryptOptions {
                source: hush::open(&csv)?,
                schema,
                output: output.clone(),
                workload: encrypts.then(|| workload.clone()),
                threads,
                memory_limit: None,
                pins: Pins::forgetful(),
                replace: true,
            };
            hush::encrypt(&encryption, &key, &Silent)?;
            Ok::<_, BenchError>((output, described))
        };
        let ((encrypted, schema), (clear, _)) = (table("encrypted", true)?, table("clear", false)?);
        Ok(Self { encrypted, schema, clear, csv, key, rows })
    }

    fn measure(
        &self,
        query: &'static str,
        sql: &'static str,
        options: &Options,
        profile: &ProfileInUse,
    ) -> Result<Measured, BenchError> {
        let (expected, _) = self.ask(&self.clear, sql, options, profile)?;
        let expected = cells(&expected.batches)?;
        let (mut server, mut owner) = (Vec::new(), Vec::new());
        let mut worst = 0.0_f64;
        let (mut predicted, mut bytes, mut bytes_exact) = ((0.0, 0.0), (0, 0), true);
        for _ in 0..options.repeat.max(1) {
            let (outcome, analysis) = self.ask(&self.encrypted, sql, options, profile)?;
            let (times, prediction) = (&analysis.predicted.times, &analysis.predicted.prediction);
            server.push(analysis.measured.server_s);
            owner.push(analysis.measured.owner_s);
            predicted = (times.server_s, times.owner_s);
            bytes = (
                prediction.bytes_up + prediction.bytes_down,
                analysis.measured.bytes_up + analysis.measured.bytes_down,
            );
            bytes_exact = prediction.bytes_down_exact;
            worst = worst.max(relative_error(&cells(&outcome.batches)?, &expected));
            if bytes_exact && bytes.0 != bytes.1 {
                worst = f64::INFINITY;
            }
        }
        Ok(Measured {
            query,
            sql,
            rows: self.rows,
            repetitions: server.len() as u32,
            server_s: (predicted.0, median(&server)),
            owner_s: (predicted.1, median(&owner)),
            bytes,
            bytes_exact,
            check: if worst <= TOLERANCE { Check::Within(worst) } else { Check::Wrong },
        })
    }

    fn ask(
        &self,
        directory: &Path,
        sql: &str,
        options: &Options,
        profile: &ProfileInUse,
    ) -> Result<(Outcome, Analysis), BenchError> {
        let table = OwnedTable::open_directory(directory, &self.key, &Pins::forgetful(), options.threads)
            .map_err(hush::Error::from)?;
        let outcome = table.ask(sql, &Silent).map_err(hush::Error::from)?;
        let analysis =
            table.analyze(&outcome, options.threads, profile.clone()).map_err(hush::Error::from)?;
        Ok((outcome, analysis))
    }
}

/// The report as text.
pub fn text(options: &Options, profile: &ProfileInUse, measured: &[Measured]) -> String {
    let mut out = format!("Predicted and measured, {} threads, seed {}\n", options.threads, options.seed);
    out.push_str(match &profile.path {
        Some(_) => "Times by this machine's profile.\n\n",
        None => "Times by built-in figures: `hush doctor --calibrate` measures this machine.\n\n",
    });
    let header =
        ["", "rows", "server ms", "measured", "owner ms", "measured", "ratio", "bytes", "measured", "error"];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    let milliseconds = |seconds: f64| figure_text(seconds * 1e3);
    for case in measured {
        lines.push(vec![
            case.query.to_owned(),
            case.rows.to_string(),
            milliseconds(case.server_s.0),
            milliseconds(case.server_s.1),
            milliseconds(case.owner_s.0),
            milliseconds(case.owner_s.1),
            figure_text(case.ratio()),
            case.bytes.0.to_string(),
            case.bytes.1.to_string(),
            case.check.to_string(),
        ]);
    }
    out.push_str(&align(&lines));
    let ratios: Vec<f64> = measured.iter().map(Measured::ratio).collect();
    let within = ratios.iter().filter(|ratio| (0.5..=2.0).contains(*ratio)).count();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    let _ = writeln!(
        out,
        "\nRatio: measured over predicted time, server and owner together, medians of {}; the table is opened anew each time.\n\
         Median {}, from {} to {}; {within} of {} within a factor of two.\n\
         Error: the largest relative one beside the same rows in the clear.",
        options.repeat,
        figure_text(median(&ratios)),
        figure_text(least),
        figure_text(most),
        ratios.len(),
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_is_answered_as_in_the_clear_with_the_bytes_that_were_predicted() {
        let options = Options { rows: vec![300], seed: 5, repeat: 1, threads: 2 };
        let profile = ProfileInUse::of_user();
        let measured = run(&options, &profile).unwrap();
        assert_eq!(measured.len(), QUERIES.len());
        for case in &measured {
            assert!(matches!(case.check, Check::Within(_)), "{case:?}");
        }
        let text = text(&options, &profile, &measured);
        assert!(QUERIES.iter().all(|(name, _)| text.contains(name)), "{text}");
    }
}
