// SPDX-License-Identifier: Apache-2.0
//! Questions of TPC-H on dbgen's own rows with every column encrypted: conditions that the server evaluates without keys, beside cubes, and beside
//! columns that come back.
//!
//! *What is prepared.* Attributes of other tables, and comparisons of two columns, stand on the row when it is encrypted, as an owner knows them: the
//! priority of the order, whether the part is a promotion or in one of Q19's three classes, whether the line was late. Cubes are prepared sums, which
//! the rules of TPC-H do not admit; conditions without keys use nothing of the question but which columns it names.
//!
//! Server and owner are one process. Every result is compared with that of the same rows in the clear, and that with DuckDB's where it is installed.

mod questions;
mod rows;

use std::fmt::Write as _;

use hush::WayName;
use serde::Serialize;

use crate::BenchError;
use crate::aligned::{align, figure_text};
use crate::analytics::{cells, relative_error};
use crate::peers::duckdb::Asking;
use crate::prepared::{Options as Asked, Stored, Tables, check};
use crate::split_table::{Check, median};
use questions::{QUESTIONS, Question};

/// DuckDB adds doubles up where our sums are exact.
const OF_DUCKDB: f64 = 1e-9;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The scale of the rows: 1 is 6 million lines.
    pub scale: f64,
    /// Repetitions of each question by each way.
    pub repeat: u32,
    /// Threads.
    pub threads: usize,
    /// Names of the questions that are put; all of them if there is none.
    pub questions: Vec<String>,
    /// Whether dates are stored for bounds on any day, where those of a question begin years and months.
    pub any_days: bool,
    /// A Python interpreter that may have DuckDB.
    pub python: Option<String>,
}

/// One question by one way.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The way.
    pub way: WayName,
    /// Median milliseconds of the server.
    pub server_ms: f64,
    /// Median milliseconds of the owner.
    pub owner_ms: f64,
    /// Bytes of the plan.
    pub bytes_up: u64,
    /// Bytes of the answer.
    pub bytes_down: u64,
}

/// One question.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// Its name in TPC-H.
    pub query: &'static str,
    /// The question as it is put.
    pub sql: &'static str,
    /// Rows of the table that it is put to.
    pub rows: u64,
    /// Bytes of all files of the table.
    pub stored_bytes: u64,
    /// CPU microseconds a row of encrypting it, cube included.
    pub encrypt_us_a_row: f64,
    /// Every way.
    pub ways: Vec<Measured>,
    /// Whether DuckDB's result is the same; `None` without it.
    pub is_duckdbs: Option<bool>,
    /// The largest relative error of any way beside the same rows in the clear.
    pub check: Check,
}

/// Puts each question to a table of its own.
///
/// # Errors
/// Hushtable refuses, or files cannot be written.
pub fn run(options: &Options) -> Result<Vec<Case>, BenchError> {
    let asked = |question: &&Question| {
        options.questions.is_empty() || options.questions.iter().any(|name| name == question.name)
    };
    QUESTIONS.iter().filter(asked).map(|question| measure(question, options)).collect()
}

fn measure(question: &Question, options: &Options) -> Result<Case, BenchError> {
    let Question { name, sql, of_orders, .. } = *question;
    // Rows are counted before they are written, for the schema.
    let write = |out: &mut dyn std::io::Write| {
        let mut out = out;
        if of_orders {
            rows::write_orders(&mut out, options.scale)
        } else {
            rows::write_lines(&mut out, options.scale)
        }
    };
    let rows = write(&mut std::io::sink())?;
    let asked = Asked { rows, seed: 0, repeat: options.repeat, threads: options.threads };
    let forms = [Stored::Clear, Stored::Prepared];
    let tables = Tables::new(
        &asked,
        &forms,
        |out| write(out).map(|_| ()),
        |form| question.schema(form, rows, options.any_days),
    )?;
    let expected = cells(&tables.ask(Stored::Clear, None, sql)?.batches)?;
    let opened = [WayName::Filter, WayName::Cube, WayName::Fetch].map(|way| {
        let table = tables.open(Stored::Prepared, Some(way))?;
        // Of few rows there is no cube of many cells.
        let answers = way != WayName::Cube || table.plan(sql).is_ok();
        Ok(answers.then_some((way, table)))
    });
    let opened = opened.into_iter().filter_map(Result::transpose).collect::<Result<Vec<_>, BenchError>>()?;
    let (ways, opened): (Vec<WayName>, Vec<_>) = opened.into_iter().unzip();
    let mut found = vec![(Vec::new(), Vec::new(), 0, 0); ways.len()];
    let mut worst = 0.0_f64;
    // In turns, so that all ways meet the same neighbours on the machine.
    for _ in 0..options.repeat.max(1) {
        for (table, (server, owner, up, down)) in opened.iter().zip(&mut found) {
            let outcome = table.ask(sql, &hush::Silent).map_err(hush::Error::from)?;
            server.push(outcome.phases.of("server") * 1e3);
            owner.push(outcome.phases.of("decrypt") * 1e3);
            (*up, *down) = (outcome.moved.up, outcome.moved.down);
            worst = worst.max(relative_error(&cells(&outcome.batches)?, &expected));
        }
    }
    let ways = ways.into_iter().zip(&found).map(|(way, (server, owner, up, down))| Measured {
        way,
        server_ms: median(server),
        owner_ms: median(owner),
        bytes_up: *up,
        bytes_down: *down,
    });
    let said = options.python.as_ref().and_then(|python| {
        let asking = Asking { python, repeat: 1, threads: options.threads };
        asking.ask(&tables.csv(), "t", sql)
    });
    let is_duckdbs = said.map(|said| {
        let rows = said.rows.iter().map(|row| row.iter().copied().collect::<Option<Vec<f64>>>());
        let rows = rows.collect::<Option<Vec<_>>>();
        rows.is_some_and(|rows| relative_error(&rows, &expected) <= OF_DUCKDB)
    });
    Ok(Case {
        query: name,
        sql,
        rows,
        stored_bytes: tables.stored_bytes()?,
        encrypt_us_a_row: tables.prepared_us_a_row,
        ways: ways.collect(),
        is_duckdbs,
        check: check(worst),
    })
}

/// Questions whose result was wrong.
pub fn wrong(cases: &[Case]) -> usize {
    let is_wrong = |case: &&Case| matches!(case.check, Check::Wrong) || case.is_duckdbs == Some(false);
    cases.iter().filter(is_wrong).count()
}

/// The report as text.
pub fn text(options: &Options, cases: &[Case]) -> String {
    let mut out = format!(
        "TPC-H, dbgen's rows, scale {}: every condition, group and measure encrypted, no evaluation keys, {} threads\n\n",
        options.scale, options.threads
    );
    let head = [
        "",
        "rows",
        "filter ms",
        "ns a row",
        "MB down",
        "you ms",
        "cube ms",
        "MB down",
        "fetch ms",
        "MB down",
        "KB a row",
        "us a row",
        "error",
        "DuckDB",
    ];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    for case in cases {
        let way = |name: WayName| case.ways.iter().find(|way| way.way == name);
        let figure = |name: WayName, of: &dyn Fn(&Measured) -> f64| {
            way(name).map_or_else(String::new, |way| figure_text(of(way)))
        };
        let both = |way: &Measured| way.server_ms + way.owner_ms;
        let megabytes = |way: &Measured| way.bytes_down as f64 / 1e6;
        lines.push(vec![
            case.query.to_owned(),
            case.rows.to_string(),
            figure(WayName::Filter, &|way| way.server_ms),
            figure(WayName::Filter, &|way| way.server_ms * 1e6 / case.rows as f64),
            figure(WayName::Filter, &megabytes),
            figure(WayName::Filter, &|way| way.owner_ms),
            figure(WayName::Cube, &both),
            figure(WayName::Cube, &megabytes),
            figure(WayName::Fetch, &both),
            figure(WayName::Fetch, &megabytes),
            figure_text(case.stored_bytes as f64 / 1e3 / case.rows as f64),
            figure_text(case.encrypt_us_a_row),
            case.check.to_string(),
            match case.is_duckdbs {
                Some(true) => "equal",
                Some(false) => "DIFFERS",
                None => "-",
            }
            .to_owned(),
        ]);
    }
    out.push_str(&align(&lines));
    let _ = writeln!(
        out,
        "\nfilter: the server evaluates the condition on ciphertexts, and learns which numbered columns are combined; cube: prepared sums; fetch: columns come back. Times: medians of {} in turns, files in memory.\n\
         The server's time of filter, and the owner's; of the others both together. KB a row: all files of the table for this question; us a row: CPU time of encrypting it.\n\
         {}\n\
         Attributes of orders and parts, comparisons of two columns, and Q19's three classes of parts stand on the rows when they are encrypted.\n\
         Published, with encrypted constants and evaluation keys: Q6 on 10,000 rows 241 s (HE3DB); the filter of Q6 0.45 s a row and core (ArcEDB); Q6 on 10,000 rows under 3 s on 48 cores (Engorgio).",
        options.repeat,
        if options.any_days {
            "Bounds of dates may be any days."
        } else {
            "Dates of Q4, Q6, Q12 and Q14 are stored by the calendar, with parameters for four factors: their bounds begin years and months (others: --any-days)."
        },
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_answered_as_in_the_clear_by_every_way() {
        let questions = ["Q4", "Q12", "Q19"].map(str::to_owned).to_vec();
        let options =
            Options { scale: 0.002, repeat: 1, threads: 2, questions, any_days: false, python: None };
        let cases = run(&options).unwrap();
        assert_eq!((cases.len(), wrong(&cases)), (3, 0), "{cases:?}");
        assert!(cases.iter().all(|case| case.ways.len() >= 2 && case.stored_bytes > 0), "{cases:?}");
        assert!(text(&options, &cases).contains("Q19"));
    }
}
