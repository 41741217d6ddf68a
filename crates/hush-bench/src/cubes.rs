// SPDX-License-Identifier: Apache-2.0
//! Cubes: two questions like TPC-H's first and sixth, with every column encrypted, by sums over cells and by columns that come back.
//!
//! The rows are drawn as TPC-H draws them, in days, prices, discounts and quantities; they are not its files. Cubes are prepared sums, which the
//! rules of that benchmark do not admit. Server and owner are one process. Every result is compared with that of the same rows in the clear.

use std::fmt::Write as _;
use std::io::{self, Write};

use hush::{Silent, WayName};
use serde::Serialize;

use crate::BenchError;
use crate::aligned::{align, figure_text};
use crate::analytics::{cells, relative_error};
pub use crate::prepared::Options;
use crate::prepared::{Stored, Tables, check};
use crate::split_table::{Check, median};
use crate::synthetic::mix;

/// The questions, each with a name, and with a mark where a constant goes.
const QUERIES: [(&str, &str, &[&str]); 2] = [
    (
        "like Q1",
        "SELECT flag, status, SUM(quantity), SUM(price), SUM(price * (1 - discount)), SUM(price * (1 - discount) * (1 + tax)), AVG(quantity), AVG(price), AVG(discount), COUNT(*) \
         FROM lines WHERE shipped <= DATE '{}' GROUP BY flag, status ORDER BY flag, status",
        &["1998-09-02"],
    ),
    (
        "like Q6",
        "SELECT SUM(price * discount) FROM lines WHERE shipped >= DATE '{}' AND shipped < DATE '1997-01-01' AND discount BETWEEN 0.05 AND 0.07 AND quantity < 24",
        &["1994-01-01"],
    ),
];
/// Constants that take the place of the marks: what is sent must not depend on them.
const CONSTANTS: u64 = 100;
/// Days from the first to the last, as TPC-H ships.
const DAYS: u64 = 2526;

/// One question.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Its name.
    pub query: &'static str,
    /// Median milliseconds of the server by the cube, which compares the digests of all files.
    pub server_ms: f64,
    /// Median milliseconds of the server for the same question again.
    pub again_ms: f64,
    /// Median milliseconds of the owner by the cube.
    pub owner_ms: f64,
    /// Bytes of the answer by the cube.
    pub bytes_down: u64,
    /// Median milliseconds of server and owner by columns that come back.
    pub fetch_ms: f64,
    /// Bytes of that answer.
    pub fetch_bytes: u64,
    /// Whether plan and answer have the same size, and the plan the same bytes, for every constant.
    pub is_constant: bool,
    /// The largest relative error of any way beside the same rows in the clear.
    pub check: Check,
}

/// All of it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Bytes a row of the files of cubes.
    pub stored_bytes_a_row: f64,
    /// CPU microseconds a row that they add to an encryption.
    pub made_us_a_row: f64,
    /// The questions.
    pub queries: Vec<Measured>,
}

/// Encrypts the rows with the cubes and without, and asks.
///
/// # Errors
/// Hushtable refuses, or files cannot be written.
pub fn run(options: &Options) -> Result<Report, BenchError> {
    let rows = options.rows;
    let forms = [Stored::Clear, Stored::Encrypted, Stored::Prepared];
    let tables = Tables::new(options, &forms, |out| write_rows(out, options), |form| schema(form, rows))?;
    let stored = tables.of_manifest(|manifest| {
        manifest
            .parts
            .iter()
            .filter_map(|part| part.cubes.as_ref())
            .map(|cubes| cubes.file.bytes)
            .sum::<u64>()
    })?;
    let queries = QUERIES.iter().map(|query| measure(query, &tables, options));
    Ok(Report {
        stored_bytes_a_row: stored as f64 / rows as f64,
        made_us_a_row: tables.made_us_a_row.unwrap_or(0.0),
        queries: queries.collect::<Result<_, _>>()?,
    })
}

/// Draws a row as TPC-H does: a price is that of a part times the quantity.
fn write_rows(out: &mut impl Write, options: &Options) -> io::Result<()> {
    writeln!(out, "shipped,quantity,price,discount,tax,flag,status")?;
    for row in 0..options.rows {
        let draw = |column: u64, bound: u64| mix(options.seed ^ mix(row << 8 | column)) % bound;
        let day = draw(1, DAYS);
        let quantity = 1 + draw(2, 50);
        let price = quantity * (90_000 + draw(3, 120_000));
        let is_past = day < 1263;
        let flag = if is_past { ["A", "R"][draw(6, 2) as usize] } else { "N" };
        writeln!(
            out,
            "{},{quantity},{}.{:02},0.{:02},0.{:02},{flag},{}",
            date(day),
            price / 100,
            price % 100,
            draw(4, 11),
            draw(5, 9),
            if is_past { "F" } else { "O" },
        )?;
    }
    Ok(())
}

/// A day from 1992-01-02 on.
fn date(day: u64) -> String {
    let (mut year, mut rest) = (1992_u64, day + 1);
    let length = |year: u64| if year.is_multiple_of(4) { 366 } else { 365 };
    while rest >= length(year) {
        rest -= length(year);
        year += 1;
    }
    let february = if year.is_multiple_of(4) { 29 } else { 28 };
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if rest < days {
            break;
        }
        rest -= days;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", rest + 1)
}

/// The schema: every column is protected, or none.
fn schema(form: Stored, rows: u64) -> String {
    let (number, text) = if form == Stored::Clear {
        ("\"clear\"", "\"clear\"")
    } else {
        ("\"encrypt\"\nfor = [\"fetch\"]", "\"seal\"")
    };
    // Rows are drawn evenly: half as many again as a cell has on average, and some for cells of few, are more than any has.
    let most = |cells: u64| rows / cells * 3 / 2 + 64;
    let (of_days, of_orders) = (most(DAYS), most(84 * 11 * 50));
    let cubes = format!(
        r#"cubes = [
  {{ by = ["shipped", {{ column = "flag", values = ["A", "N", "R"] }}, {{ column = "status", values = ["F", "O"] }}], sum = ["(quantity)", "(price)", "(discount)", "price * (1 - discount) * (1 + tax)"], max_cell_rows = {of_days} }},
  {{ by = ["month(shipped)", "discount", "quantity"], sum = ["(price)"], max_cell_rows = {of_orders} }},
]"#
    );
    let cubes = if form == Stored::Prepared { cubes } else { String::new() };
    format!(
        r#"format = 1
table = "lines"
status = "approved"
max_rows = {rows}
{cubes}
[columns.shipped]
type = "date"
range = ["1992-01-02", "1998-12-01"]
protect = {number}
[columns.quantity]
type = "int(16)"
range = [1, 50]
protect = {number}
[columns.price]
type = "decimal(9,2)"
range = [900, 104999.50]
protect = {number}
[columns.discount]
type = "decimal(3,2)"
range = [0, 0.10]
protect = {number}
[columns.tax]
type = "decimal(3,2)"
range = [0, 0.08]
protect = {number}
[columns.flag]
type = "category"
protect = {text}
[columns.status]
type = "category"
protect = {text}
"#
    )
}

fn measure(
    (query, sql, constants): &(&'static str, &'static str, &[&str]),
    tables: &Tables,
    options: &Options,
) -> Result<Measured, BenchError> {
    let with = |constant: &str| sql.replacen("{}", constant, 1);
    let asked = with(constants.first().copied().unwrap_or_default());
    let expected = cells(&tables.ask(Stored::Clear, None, &asked)?.batches)?;
    let (mut server, mut again, mut owner, mut fetch) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut bytes_down, mut fetch_bytes, mut worst) = (0, 0, 0.0_f64);
    for _ in 0..options.repeat.max(1) {
        let table = tables.open(Stored::Prepared, Some(WayName::Cube))?;
        let ask = || table.ask(&asked, &Silent).map_err(hush::Error::from);
        let (by_cube, once_more) = (ask()?, ask()?);
        server.push(by_cube.phases.of("server") * 1e3);
        again.push(once_more.phases.of("server") * 1e3);
        owner.push(by_cube.phases.of("decrypt") * 1e3);
        bytes_down = by_cube.moved.down;
        let by_columns = tables.ask(Stored::Prepared, Some(WayName::Fetch), &asked)?;
        fetch.push((by_columns.phases.of("server") + by_columns.phases.of("decrypt")) * 1e3);
        fetch_bytes = by_columns.moved.down;
        for outcome in [&by_cube, &once_more, &by_columns] {
            worst = worst.max(relative_error(&cells(&outcome.batches)?, &expected));
        }
    }
    let table = tables.open(Stored::Prepared, Some(WayName::Cube))?;
    let plans = (0..CONSTANTS).map(|place| {
        // The first days of months, within the range.
        let (year, month) = (1992 + place % 5, 2 + place / 5 % 11);
        let prepared = table.prepare(&with(&format!("{year}-{month:02}-01"))).map_err(hush::Error::from);
        Ok(prepared?.request().to_vec())
    });
    let mut plans = plans.collect::<Result<Vec<_>, BenchError>>()?;
    plans.dedup();
    Ok(Measured {
        query,
        server_ms: median(&server),
        again_ms: median(&again),
        owner_ms: median(&owner),
        bytes_down,
        fetch_ms: median(&fetch),
        fetch_bytes,
        is_constant: plans.len() == 1,
        check: check(worst),
    })
}

/// Questions whose result was wrong, or whose plan told something.
pub fn wrong(report: &Report) -> usize {
    let is_wrong = |found: &&Measured| matches!(found.check, Check::Wrong) || !found.is_constant;
    report.queries.iter().filter(is_wrong).count()
}

/// The report as text.
pub fn text(options: &Options, report: &Report) -> String {
    let mut out = format!(
        "Cubes: every column encrypted, {} rows, {} threads, seed {}\n\n",
        options.rows, options.threads, options.seed
    );
    let head = ["", "server ms", "again ms", "you ms", "MB down", "fetch ms", "MB down", "sent", "error"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    for found in &report.queries {
        lines.push(vec![
            found.query.to_owned(),
            figure_text(found.server_ms),
            figure_text(found.again_ms),
            figure_text(found.owner_ms),
            figure_text(found.bytes_down as f64 / 1e6),
            figure_text(found.fetch_ms),
            figure_text(found.fetch_bytes as f64 / 1e6),
            if found.is_constant { "one plan" } else { "DIFFERS" }.to_owned(),
            found.check.to_string(),
        ]);
    }
    out.push_str(&align(&lines));
    let _ = writeln!(
        out,
        "\nCubes take {} bytes a row in the files and {} CPU microseconds a row to make.\n\
         Times: medians of {} in turns, the table opened anew each time; again is the same question to the table that is open, whose files the server has compared with their digests; fetch is server and owner together. sent: whether the plan has the same bytes for {CONSTANTS} constants.\n\
         Error: the largest relative one of either way beside the same rows in the clear.",
        figure_text(report.stored_bytes_a_row),
        figure_text(report.made_us_a_row),
        options.repeat,
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let expected = [
            (0, "1992-01-02"),
            (58, "1992-02-29"),
            (59, "1992-03-01"),
            (365, "1993-01-01"),
            (2525, "1998-12-01"),
        ];
        for (day, expected) in expected {
            assert_eq!(date(day), expected);
        }
    }

    /// Few rows take less than the cubes, which then are not there.
    #[test]
    fn both_questions_are_answered_as_in_the_clear() {
        let options = Options { rows: 80_000, seed: 5, repeat: 1, threads: 2 };
        let report = run(&options).unwrap();
        assert_eq!((report.queries.len(), wrong(&report)), (2, 0), "{report:?}");
        assert!(report.stored_bytes_a_row > 0.0);
        assert!(text(&options, &report).contains("one plan"));
    }
}
