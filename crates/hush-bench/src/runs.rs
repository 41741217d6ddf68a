// SPDX-License-Identifier: Apache-2.0
//! Sorted runs: medians, ends, first rows and ranges of an encrypted column, by blocks of runs and by columns that come back.
//!
//! Values are drawn from all of 64 bits, so that no two are alike and no cell of a cube could hold them. Each question is put twice to a table that
//! is opened anew: the first time the index of the run comes too, and is kept from then on. Server and owner are one process. Every result is
//! compared with what sorting and adding the drawn rows gives.

mod expected;

use std::fmt::Write as _;
use std::io::{self, Write};

use arrow::array::AsArray;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;
use hush::{Silent, WayName};
use serde::Serialize;

use crate::BenchError;
use crate::aligned::{align, figure_text};
use crate::analytics::{cells, relative_error};
use crate::prepared::{self, Stored, Tables, check};
use crate::split_table::{Check, median};
use crate::synthetic::mix;

/// The questions, each with a name, and with a mark where a value of the table goes.
const QUERIES: [(&str, &str); 6] = [
    ("median", "SELECT MEDIAN(value) FROM t"),
    ("least", "SELECT MIN(value), MAX(value) FROM t"),
    ("top 10", "SELECT value, measure FROM t ORDER BY value DESC LIMIT 10"),
    ("sum below", "SELECT COUNT(*), SUM(measure) FROM t WHERE value < 4611686018427387904"),
    ("one value", "SELECT measure FROM t WHERE value = {}"),
    ("median by group", "SELECT grp, MEDIAN(value) FROM t GROUP BY grp ORDER BY grp"),
];
/// The runs of the table.
const RUNS: [&str; 3] = [
    r#"{ by = "value" }"#,
    r#"{ by = "value", sum = ["measure"], cover = ["measure"] }"#,
    r#"{ by = "value", within = ["grp"] }"#,
];
/// The row whose value is asked for.
const ROW: u64 = 7;
/// The bound in the question for a sum.
const BELOW: i64 = 1 << 62;
/// Groups.
const GROUPS: u64 = 1000;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The table, and how often each question is put.
    pub table: prepared::Options,
    /// Whether questions are put to runs only, and no table without runs is encrypted: for more rows than come back in one answer.
    pub runs_only: bool,
    /// Names of the questions that are put; all of them if there is none.
    pub questions: Vec<String>,
}

/// One question.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Its name.
    pub query: &'static str,
    /// Bytes of the index, which comes once.
    pub index_bytes: u64,
    /// Bytes of the answer with the blocks.
    pub blocks_bytes: u64,
    /// Median milliseconds of server and owner where the index has to come.
    pub first_ms: f64,
    /// Median milliseconds of the server where the index is there.
    pub server_ms: f64,
    /// Median milliseconds of the owner then: planning, choosing blocks, opening them, the result.
    pub owner_ms: f64,
    /// Median milliseconds of server and owner by columns that come back, and the bytes of that answer.
    pub fetch: Option<(f64, u64)>,
    /// The largest relative error of any way; whatever is no double is the same.
    pub check: Check,
}

/// All of it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Bytes a row of the files of runs.
    pub stored_bytes_a_row: f64,
    /// Parts of the table.
    pub parts: usize,
    /// CPU microseconds a row that each run adds to an encryption.
    pub made_us_a_row_and_run: Option<f64>,
    /// The questions.
    pub queries: Vec<Measured>,
}

/// Encrypts the rows with the runs and without, and asks.
///
/// # Errors
/// Hushtable refuses, or files cannot be written.
pub fn run(options: &Options) -> Result<Report, BenchError> {
    BenchError::check_questions(&options.questions, &QUERIES.map(|(name, _)| name))?;
    let table = &options.table;
    let forms: &[Stored] =
        if options.runs_only { &[Stored::Prepared] } else { &[Stored::Encrypted, Stored::Prepared] };
    let tables = Tables::new(table, forms, |out| write_rows(out, table), |form| schema(form, table.rows))?;
    let (stored, parts) = tables.of_manifest(|manifest| {
        let runs = manifest.parts.iter().filter_map(|part| part.runs.as_ref());
        (runs.map(|runs| runs.file.bytes).sum::<u64>(), manifest.parts.len())
    })?;
    let expected = expected::results(table)?;
    let is_asked =
        |name: &str| options.questions.is_empty() || options.questions.iter().any(|asked| asked == name);
    let asked = QUERIES.iter().zip(expected).filter(|((name, _), _)| is_asked(name));
    let queries = asked.map(|(query, result)| ask(query, &[result], &tables, options));
    Ok(Report {
        stored_bytes_a_row: stored as f64 / table.rows as f64,
        parts,
        made_us_a_row_and_run: tables.made_us_a_row.map(|all| all / RUNS.len() as f64),
        queries: queries.collect::<Result<_, _>>()?,
    })
}

fn draw(options: &prepared::Options, row: u64, column: u64) -> u64 {
    mix(options.seed ^ mix(row << 8 | column))
}

/// The value of a row, from all that 64 bits have.
fn value(options: &prepared::Options, row: u64) -> i64 {
    draw(options, row, 1).cast_signed()
}

/// The amount of a row, in hundredths.
fn measure(options: &prepared::Options, row: u64) -> u64 {
    draw(options, row, 2) % 10_000_000
}

/// The group of a row.
fn group(options: &prepared::Options, row: u64) -> u64 {
    draw(options, row, 3) % GROUPS
}

fn write_rows(out: &mut impl Write, options: &prepared::Options) -> io::Result<()> {
    writeln!(out, "value,measure,grp")?;
    for row in 0..options.rows {
        let (value, measure, group) = (value(options, row), measure(options, row), group(options, row));
        writeln!(out, "{value},{}.{:02},{group}", measure / 100, measure % 100)?;
    }
    Ok(())
}

/// The schema: value and measure are protected.
fn schema(form: Stored, rows: u64) -> String {
    let order =
        if form == Stored::Prepared { format!("order = [{}]", RUNS.join(", ")) } else { String::new() };
    format!(
        r#"format = 1
table = "t"
status = "approved"
max_rows = {rows}
{order}
[columns.value]
type = "int(64)"
protect = "encrypt"
for = ["fetch"]
[columns.measure]
type = "decimal(9,2)"
range = [0, 99999.99]
protect = "encrypt"
for = ["fetch"]
[columns.grp]
type = "int(16)"
range = [0, 999]
protect = "clear"
"#
    )
}

fn ask(
    (query, sql): &(&'static str, &'static str),
    expected: &[RecordBatch],
    tables: &Tables,
    options: &Options,
) -> Result<Measured, BenchError> {
    let sql = sql.replacen("{}", &value(&options.table, ROW).to_string(), 1);
    let expected = (cells(expected)?, exact(expected)?);
    let [mut first, mut server, mut owner, mut fetch] = [const { Vec::new() }; 4];
    let (mut index_bytes, mut blocks_bytes, mut fetch_bytes, mut worst) = (0, 0, 0, 0.0_f64);
    for _ in 0..options.table.repeat.max(1) {
        let table = tables.open(Stored::Prepared, Some(WayName::Order))?;
        let ask = || table.ask(&sql, &Silent).map_err(hush::Error::from);
        let (with_index, again) = (ask()?, ask()?);
        first.push(with_index.phases.total() * 1e3);
        server.push(again.phases.of("server") * 1e3);
        owner.push((again.phases.total() - again.phases.of("server")) * 1e3);
        blocks_bytes = again.moved.down;
        index_bytes = with_index.moved.down.saturating_sub(blocks_bytes);
        let mut outcomes = vec![with_index, again];
        if !options.runs_only {
            let by_columns = tables.ask(Stored::Prepared, Some(WayName::Fetch), &sql)?;
            fetch.push(by_columns.phases.total() * 1e3);
            fetch_bytes = by_columns.moved.down;
            outcomes.push(by_columns);
        }
        for outcome in &outcomes {
            let is_same = exact(&outcome.batches)? == expected.1;
            let error = relative_error(&cells(&outcome.batches)?, &expected.0);
            worst = worst.max(if is_same { error } else { f64::INFINITY });
        }
    }
    Ok(Measured {
        query,
        index_bytes,
        blocks_bytes,
        first_ms: median(&first),
        server_ms: median(&server),
        owner_ms: median(&owner),
        fetch: (!options.runs_only).then(|| (median(&fetch), fetch_bytes)),
        check: check(worst),
    })
}

/// The cells of the columns that are not of doubles, as texts, row by row: doubles do not tell all integers apart.
fn exact(batches: &[RecordBatch]) -> Result<Vec<Vec<String>>, BenchError> {
    let mut rows = Vec::new();
    for batch in batches {
        let columns = batch.columns().iter().filter(|column| !column.data_type().is_floating());
        let texts = columns.map(|column| cast(column, &DataType::Utf8)).collect::<Result<Vec<_>, _>>()?;
        let of = |row| texts.iter().map(|column| column.as_string::<i32>().value(row).to_owned()).collect();
        rows.extend((0..batch.num_rows()).map(of));
    }
    Ok(rows)
}

/// Questions whose result was wrong.
pub fn wrong(report: &Report) -> usize {
    report.queries.iter().filter(|found| matches!(found.check, Check::Wrong)).count()
}

/// The report as text.
pub fn text(options: &Options, report: &Report) -> String {
    let mut out = format!(
        "Sorted runs: {} rows of 64-bit values in {} parts, {} threads, seed {}\n\n",
        options.table.rows, report.parts, options.table.threads, options.table.seed
    );
    let head = ["", "index KB", "blocks KB", "first ms", "server ms", "you ms", "fetch ms", "KB", "error"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    for found in &report.queries {
        lines.push(vec![
            found.query.to_owned(),
            figure_text(found.index_bytes as f64 / 1e3),
            figure_text(found.blocks_bytes as f64 / 1e3),
            figure_text(found.first_ms),
            figure_text(found.server_ms),
            figure_text(found.owner_ms),
            found.fetch.map_or("-".to_owned(), |(ms, _)| figure_text(ms)),
            found.fetch.map_or("-".to_owned(), |(_, bytes)| figure_text(bytes as f64 / 1e3)),
            found.check.to_string(),
        ]);
    }
    out.push_str(&align(&lines));
    let stored = figure_text(report.stored_bytes_a_row);
    let _ = write!(out, "\n{} runs take {stored} bytes a row in the files together", RUNS.len());
    if let Some(made) = report.made_us_a_row_and_run {
        let _ = write!(out, ", and each {} CPU microseconds a row to make", figure_text(made));
    }
    let _ = writeln!(
        out,
        ".\n\
         Times: medians of {} in turns, the table opened anew each time. first: server and owner where the index has to come; server and you: the same question again.\n\
         fetch is server and owner together, by columns that come back. Planning is in all times, opening the table in none.\n\
         Error: the largest relative one beside what sorting and adding the drawn rows gives; integers and decimals are the same.",
        options.table.repeat,
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_is_answered_as_the_rows_say() {
        let table = prepared::Options { rows: 20_000, seed: 5, repeat: 1, threads: 2 };
        let mut options = Options { table, runs_only: false, questions: Vec::new() };
        let report = run(&options).unwrap();
        assert_eq!((report.queries.len(), wrong(&report)), (QUERIES.len(), 0), "{report:?}");
        assert!(report.stored_bytes_a_row > 0.0 && report.made_us_a_row_and_run.is_some());
        assert!(report.queries.iter().all(|found| found.index_bytes > 0), "{report:?}");
        // A median opens few blocks.
        let of_median = &report.queries[0];
        assert!(of_median.fetch.is_some_and(|(_, bytes)| of_median.blocks_bytes < bytes), "{of_median:?}");
        let text = text(&options, &report);
        assert!(QUERIES.iter().all(|(name, _)| text.contains(name)), "{text}");
        options.runs_only = true;
        options.questions = vec!["no such".to_owned()];
        let refused = run(&options).map(|_| ()).unwrap_err().to_string();
        assert!(refused.starts_with("there is no question no such: known are median, least"), "{refused}");
        options.questions = vec!["median".to_owned(), "top 10".to_owned()];
        let alone = run(&options).unwrap();
        assert_eq!((wrong(&alone), alone.made_us_a_row_and_run), (0, None), "{alone:?}");
        assert_eq!(alone.queries.len(), 2);
        for (alone, beside) in alone.queries.iter().zip([&report.queries[0], &report.queries[2]]) {
            assert_eq!(
                (alone.query, alone.blocks_bytes, alone.fetch),
                (beside.query, beside.blocks_bytes, None)
            );
        }
    }

    /// Two integers of 64 bits may be one double.
    #[test]
    fn integers_are_compared_digit_by_digit() {
        use std::sync::Arc;

        use arrow::array::{ArrayRef, Int64Array};
        let of = |value: i64| {
            let column: ArrayRef = Arc::new(Int64Array::from(vec![value]));
            [RecordBatch::try_from_iter([("value", column)]).unwrap()]
        };
        let (one, other) = (of(i64::MAX), of(i64::MAX - 1));
        assert_eq!(relative_error(&cells(&one).unwrap(), &cells(&other).unwrap()), 0.0);
        assert_ne!(exact(&one).unwrap(), exact(&other).unwrap());
    }
}
