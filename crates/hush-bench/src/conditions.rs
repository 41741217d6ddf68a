// SPDX-License-Identifier: Apache-2.0
//! Questions about encrypted columns by every way that answers them, over links of several speeds: what each takes, and whether the way
//! that the planner takes is the quickest.
//!
//! Server and owner are one process and are measured; the link's time is its bytes over its speed. Every result is compared with that of the same
//! rows in the clear, and that with DuckDB's where it is installed.

use std::fmt::Write as _;

use hush::{OwnedTable, Pins, QueryLimits, QueryPlan, Schema, Silent, WayName};
use serde::Serialize;

use crate::BenchError;
use crate::aligned::{align, figure_text};
use crate::analytics::{cells, relative_error};
use crate::peers::duckdb::{Asking, Said};
use crate::predictions::{NAME, Tables};
use crate::split_table::{Check, median};

/// The queries, with a name for each.
const QUERIES: &[(&str, &str)] = &[
    ("total", "SELECT SUM(a) FROM t"),
    ("filter", "SELECT SUM(a), AVG(b) FROM t WHERE k > 300"),
    ("8 groups", "SELECT g, COUNT(*), AVG(a), VARIANCE(c) FROM t GROUP BY g ORDER BY g"),
    ("1000 groups", "SELECT k, SUM(a) FROM t GROUP BY k ORDER BY k"),
    ("columns", "SELECT id, a, b FROM t"),
    ("product", "SELECT id, a * c + b FROM t"),
    ("few rows", "SELECT id, a FROM t WHERE k < 10"),
    ("condition", "SELECT COUNT(*), SUM(a) FROM t WHERE b > 500000"),
    ("conditions", "SELECT COUNT(*), SUM(a) FROM t WHERE b > 500000 AND c BETWEEN 10 AND 90 AND k < 500"),
    ("group", "SELECT c, COUNT(*), SUM(a) FROM t GROUP BY c ORDER BY c"),
    ("median", "SELECT g, MEDIAN(b) FROM t GROUP BY g ORDER BY g"),
    ("top 10", "SELECT id, b FROM t ORDER BY b DESC, id LIMIT 10"),
];
/// Doubles from the same exact sums differ in their last bits at most.
const TOLERANCE: f64 = 1e-12;
/// DuckDB adds doubles up where our sums are exact.
const OF_DUCKDB: f64 = 1e-9;
/// Bytes a second of a link of one megabit a second.
const BYTES_PER_MEGABIT: f64 = 125_000.0;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rows of each table.
    pub rows: Vec<u64>,
    /// Speeds of the link, in megabit per second.
    pub links: Vec<f64>,
    /// Seed of the tables.
    pub seed: u64,
    /// Repetitions of each query by each way.
    pub repeat: u32,
    /// Threads of the engine.
    pub threads: usize,
    /// Names of the questions that are put; all of them if there is none.
    pub questions: Vec<String>,
    /// A Python interpreter that may have DuckDB.
    pub python: Option<String>,
}

impl Options {
    fn asks(&self, name: &str) -> bool {
        self.questions.is_empty() || self.questions.iter().any(|asked| asked == name)
    }
}

/// One query by one way.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The way.
    pub way: WayName,
    /// Median seconds of server and owner.
    pub computing_s: f64,
    /// Median seconds of the owner, after the answer has come.
    pub owner_s: f64,
    /// Bytes of plan and answer.
    pub bytes: u64,
    /// The same with the link.
    pub seconds: f64,
}

/// One query on one table over one link.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// The query's name.
    pub query: &'static str,
    /// The query.
    pub sql: &'static str,
    /// Rows of the table.
    pub rows: u64,
    /// Speed of the link, in megabit per second.
    pub link: f64,
    /// Every way that answers it.
    pub ways: Vec<Measured>,
    /// Median seconds of the query on the same rows in the clear, where they are stored.
    pub clear_s: f64,
    /// Median seconds of DuckDB on the same rows in memory.
    pub duckdb_s: Option<f64>,
    /// Bits that the ranges of the encrypted columns need for a row, where all that `fetch` reads of them is copies.
    pub range_bits: Option<u32>,
    /// The way that the planner takes.
    pub taken: WayName,
    /// The time of the way taken over the least.
    pub over_best: f64,
    /// The largest relative error of any way beside the same rows in the clear.
    pub check: Check,
}

/// Asks every query of every table over every link by every way.
///
/// # Errors
/// Hushtable refuses, or files cannot be written.
pub fn run(options: &Options) -> Result<Vec<Case>, BenchError> {
    let (names, queries): (Vec<&str>, Vec<&str>) = QUERIES.iter().copied().unzip();
    BenchError::check_questions(&options.questions, &names)?;
    let mut cases = Vec::new();
    for rows in &options.rows {
        let directory = tempfile::tempdir()?;
        let tables = Tables::new(directory.path(), (*rows, options.seed), &queries, options.threads)?;
        for (query, sql) in QUERIES.iter().filter(|(name, _)| options.asks(name)) {
            let said = options.python.as_ref().and_then(|python| {
                let asking = Asking { python, repeat: options.repeat, threads: options.threads };
                asking.ask(&tables.csv, NAME, sql)
            });
            for link in &options.links {
                cases.push(measure(&tables, (query, sql), (*rows, *link), said.as_ref(), options)?);
            }
        }
    }
    Ok(cases)
}

fn open(tables: &Tables, link: f64, way: Option<WayName>, threads: usize) -> Result<OwnedTable, BenchError> {
    let table = OwnedTable::open_directory(&tables.encrypted, &tables.key, &Pins::forgetful(), threads);
    let limits = QueryLimits { way, ..QueryLimits::default() };
    Ok(table.map_err(hush::Error::from)?.with_link(Some(link * BYTES_PER_MEGABIT)).with_limits(limits))
}

fn measure(
    tables: &Tables,
    (query, sql): (&'static str, &'static str),
    (rows, link): (u64, f64),
    duckdb: Option<&Said>,
    options: &Options,
) -> Result<Case, BenchError> {
    let threads = options.threads;
    let clear = OwnedTable::open_directory(&tables.clear, &tables.key, &Pins::forgetful(), threads);
    let clear = clear.map_err(hush::Error::from)?;
    let ask_clear = || clear.ask(sql, &Silent).map_err(hush::Error::from);
    let expected = cells(&ask_clear()?.batches)?;
    let plan = open(tables, link, None, threads)?.plan(sql).map_err(hush::Error::from)?;
    let taken = plan.way;
    let mut found: Vec<WayName> = plan.ways.iter().map(|way| way.name).chain([taken]).collect();
    found.sort_unstable_by_key(|way| WayName::ALL.iter().position(|other| other == way));
    found.dedup();
    // Sums that give way to rows where there are many groups are neither of the two.
    let asked = found.iter().copied().map(Some).chain(plan.gathered.is_some().then_some(None));
    let asked: Vec<Option<WayName>> = asked.collect();
    let fetching = open(tables, link, Some(WayName::Fetch), threads)?;
    let range_bits = fetching.plan(sql).ok().and_then(|plan| range_bits(&tables.schema, &plan));
    let (mut worst, mut clear_times) = (0.0_f64, Vec::new());
    let mut runs = vec![(Vec::new(), Vec::new(), 0); asked.len()];
    // In turns, so that all ways meet the same neighbours on the machine.
    for _ in 0..options.repeat.max(1) {
        let phases = ask_clear()?.phases;
        clear_times.push(phases.of("server") + phases.of("decrypt"));
        for (way, (times, of_owner, bytes)) in asked.iter().zip(&mut runs) {
            let outcome = open(tables, link, *way, threads)?.ask(sql, &Silent);
            let outcome = outcome.map_err(hush::Error::from)?;
            times.push(outcome.phases.of("server") + outcome.phases.of("decrypt"));
            of_owner.push(outcome.phases.of("decrypt"));
            *bytes = outcome.moved.up + outcome.moved.down;
            worst = worst.max(relative_error(&cells(&outcome.batches)?, &expected));
        }
    }
    let measured = asked.iter().zip(&runs).map(|(way, (times, of_owner, bytes))| {
        let (computing_s, owner_s, bytes) = (median(times), median(of_owner), *bytes);
        let seconds = computing_s + bytes as f64 / (link * BYTES_PER_MEGABIT);
        Measured { way: way.unwrap_or(taken), computing_s, owner_s, bytes, seconds }
    });
    let mut ways: Vec<Measured> = measured.collect();
    let best = ways.iter().map(|way| way.seconds).fold(f64::INFINITY, f64::min);
    let as_planned =
        if ways.len() > found.len() { ways.pop() } else { ways.iter().find(|way| way.way == taken).cloned() };
    let of_taken = as_planned.map_or(f64::INFINITY, |way| way.seconds);
    let is_duckdbs = duckdb.is_none_or(|said| is_said(said, &expected));
    let check = if worst <= TOLERANCE && is_duckdbs { Check::Within(worst) } else { Check::Wrong };
    let (over_best, clear_s) = (of_taken / best, median(&clear_times));
    let duckdb_s = duckdb.map(|said| said.seconds);
    Ok(Case { query, sql, rows, link, ways, clear_s, duckdb_s, range_bits, taken, over_best, check })
}

/// Whether DuckDB's result is this one.
fn is_said(said: &Said, expected: &[Vec<f64>]) -> bool {
    let some: Vec<Vec<f64>> = expected.iter().step_by(said.every.max(1)).cloned().collect();
    let cells = said.rows.iter().map(|row| row.iter().copied().collect::<Option<Vec<f64>>>());
    cells.collect::<Option<Vec<_>>>().is_some_and(|rows| relative_error(&rows, &some) <= OF_DUCKDB)
}

/// Bits of a row that the ranges of the encrypted columns of a question need; `None` if bodies of sums come back.
fn range_bits(schema: &Schema, plan: &QueryPlan) -> Option<u32> {
    let own = plan.owner.own.as_ref().filter(|own| own.encrypted.is_empty())?;
    let bits = own.sealed.iter().map(|name| {
        let column = schema.columns.iter().find(|column| column.name == *name)?;
        column.range.map(|range| u128::BITS - range.high.abs_diff(range.low).leading_zeros())
    });
    bits.sum()
}

/// Cases whose result was wrong.
pub fn wrong(cases: &[Case]) -> usize {
    cases.iter().filter(|case| matches!(case.check, Check::Wrong)).count()
}

/// The report as text.
pub fn text(options: &Options, cases: &[Case]) -> String {
    let mut out = format!(
        "Questions about encrypted columns by every way, {} threads, seed {}\n\n",
        options.threads, options.seed
    );
    let names = WayName::ALL.map(|way| format!("{} ms", way.name()));
    let head = ["", "rows", "Mbit/s"].map(str::to_owned).into_iter().chain(names);
    let head = head.chain(
        [
            "taken",
            "over best",
            "clear ms",
            "fetch ns/row more",
            "DuckDB ms",
            "you ns/row more",
            "fetch B/row",
            "range B/row",
            "error",
        ]
        .map(str::to_owned),
    );
    let mut lines = vec![head.collect::<Vec<_>>()];
    for case in cases {
        let of = |way: WayName| case.ways.iter().find(|measured| measured.way == way);
        let time = |way| of(way).map_or("-".to_owned(), |found| figure_text(found.seconds * 1e3));
        let mut line = vec![case.query.to_owned(), case.rows.to_string(), case.link.to_string()];
        line.extend(WayName::ALL.map(time));
        line.push(case.taken.name().to_owned());
        line.push(figure_text(case.over_best));
        line.push(figure_text(case.clear_s * 1e3));
        let a_row = |seconds: f64| figure_text(seconds * 1e9 / case.rows as f64);
        let fetch = of(WayName::Fetch);
        line.push(fetch.map_or("-".to_owned(), |found| a_row(found.computing_s - case.clear_s)));
        line.push(case.duckdb_s.map_or("-".to_owned(), |seconds| figure_text(seconds * 1e3)));
        let beyond = fetch.zip(case.duckdb_s).map(|(found, duckdb_s)| found.owner_s - duckdb_s);
        line.push(beyond.map_or("-".to_owned(), a_row));
        let fetched = fetch.map(|found| found.bytes as f64 / case.rows as f64);
        line.push(fetched.map_or("-".to_owned(), figure_text));
        let least = case.range_bits.map(|bits| f64::from(bits) / 8.0);
        line.push(least.map_or("-".to_owned(), figure_text));
        line.push(case.check.to_string());
        lines.push(line);
    }
    out.push_str(&align(&lines));
    let good = cases.iter().filter(|case| case.over_best <= 1.3).count();
    let most = cases.iter().map(|case| case.over_best).fold(0.0, f64::max);
    let _ = writeln!(
        out,
        "\nTimes: server and owner measured, medians of {} in turns, the table opened anew each time; the link's are its bytes over its speed.\n\
         clear: the same query on the same rows in the clear, no link. fetch ns/row more: what server and owner take beyond that.\n\
         DuckDB: the same query on the same rows in its memory. you ns/row more: what the owner takes beyond that, by fetch. range B/row: bits of the encrypted columns' ranges; clear columns are beside them.\n\
         The way taken is within 1.3 times of the best in {good} of {} cases; at most {} times.\n\
         Error: the largest relative one of any way beside the same rows in the clear.",
        options.repeat,
        cases.len(),
        figure_text(most),
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_another_engine_are_compared_row_by_row() {
        let said = |every: usize, rows: &[[Option<f64>; 2]]| Said {
            version: String::new(),
            seconds: 1.0,
            every,
            rows: rows.iter().map(|row| row.to_vec()).collect(),
        };
        let ours = [vec![1.0, 10.0], vec![2.0, 20.0], vec![3.0, 30.0]];
        assert!(is_said(&said(2, &[[Some(1.0), Some(10.0)], [Some(3.0), Some(30.0)]]), &ours));
        for wrong in [
            said(2, &[[Some(1.0), Some(10.0)], [Some(3.0), Some(31.0)]]),
            said(2, &[[Some(1.0), Some(10.0)]]),
            said(2, &[[Some(1.0), None], [Some(3.0), Some(30.0)]]),
            said(1, &[[Some(1.0), Some(10.0)], [Some(3.0), Some(30.0)]]),
        ] {
            assert!(!is_said(&wrong, &ours));
        }
    }

    #[test]
    fn every_way_answers_as_in_the_clear() {
        let options = Options {
            rows: vec![300],
            links: vec![10.0],
            seed: 5,
            repeat: 1,
            threads: 2,
            questions: Vec::new(),
            python: None,
        };
        let cases = run(&options).unwrap();
        assert_eq!((cases.len(), wrong(&cases)), (QUERIES.len(), 0), "{cases:?}");
        assert!(cases.iter().all(|case| case.ways.iter().any(|found| found.way == WayName::Fetch)));
        assert!(cases.iter().any(|case| case.ways.len() == 3));
        let text = text(&options, &cases);
        assert!(QUERIES.iter().all(|(name, _)| text.contains(name)), "{text}");
    }
}
