// SPDX-License-Identifier: Apache-2.0
//! Questions of TPC-H on dbgen's own rows with every column encrypted: conditions that the server evaluates without keys, beside cubes, and beside
//! columns that come back.
//!
//! *What is prepared.* Attributes of other tables, and comparisons of two columns, stand on the row when it is encrypted, as an owner knows them: the
//! priority of the order, whether the part is a promotion or in one of Q19's three classes, whether the line was late. Cubes are prepared sums, which
//! the rules of TPC-H do not admit; conditions without keys use nothing of the question but which columns it names.
//!
//! Server and owner are one process. Every result is compared with that of the same rows in the clear, and that with DuckDB's where it is installed.

pub mod plots;
mod published;
mod questions;
pub mod report;
mod rows;

use hush::{Facet, Outcome, OwnedTable, QueryLimits, WayName};
use serde::Serialize;

use crate::BenchError;
use crate::analytics::{cells, relative_error};
use crate::peers::duckdb::Asking;
use crate::prepared::{Options as Asked, Stored, Tables, check};
use crate::split_table::{Check, median};
pub use published::{PUBLISHED, Published};
use questions::{QUESTIONS, Question, Random};

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
    /// Sets of further constants that each question is put with, once by each way, drawn as TPC-H draws them.
    pub constants: u32,
    /// Seed of these.
    pub seed: u64,
    /// Names of the questions that are put; all of them if there is none.
    pub questions: Vec<String>,
    /// Whether dates are stored for bounds on any day, where those of a question begin years and months.
    pub any_days: bool,
    /// Whether tables have keys that make answers smaller.
    pub answer_keys: bool,
    /// Whether constants of the way on ciphertexts are encrypted too, with keys of the tables.
    pub encrypted_constants: bool,
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
    /// The question as it is measured, with the constants that TPC-H validates it with.
    pub sql: String,
    /// Rows of the table that it is put to.
    pub rows: u64,
    /// Bytes of all files of the table.
    pub stored_bytes: u64,
    /// CPU microseconds a row of encrypting it, cube included.
    pub encrypt_us_a_row: f64,
    /// Every way.
    pub ways: Vec<Measured>,
    /// The question with other constants, as it was put once by each way.
    pub varied: Vec<String>,
    /// Whether DuckDB's results are the same; `None` without it.
    pub is_duckdbs: Option<bool>,
    /// Whether all that is sent is the same for all constants, but for their ciphertext; `None` where they are not encrypted.
    pub are_alike: Option<bool>,
    /// The largest relative error of any way beside the same rows in the clear.
    pub check: Check,
}

/// Puts each question to a table of its own.
///
/// # Errors
/// Hushtable refuses, or files cannot be written.
pub fn run(options: &Options) -> Result<Vec<Case>, BenchError> {
    let known = QUESTIONS.each_ref().map(|question| question.name);
    BenchError::check_questions(&options.questions, &known)?;
    let asked = |question: &&Question| {
        options.questions.is_empty() && question.is_of_tpch()
            || options.questions.iter().any(|name| name == question.name)
    };
    QUESTIONS.iter().filter(asked).map(|question| measure(question, options)).collect()
}

fn measure(question: &Question, options: &Options) -> Result<Case, BenchError> {
    let (name, sql) = (question.name, question.validating());
    // Rows are counted before they are written, for the schema.
    let write = |out: &mut dyn std::io::Write| {
        let mut out = out;
        if question.of_orders {
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
        |form| question.schema(form, rows, options),
    )?;
    let clear = tables.open(Stored::Clear, None)?;
    let opened = [WayName::Filter, WayName::Cube, WayName::Fetch].map(|way| {
        let hide =
            [Facet::Pattern].into_iter().filter(|_| options.encrypted_constants && way == WayName::Filter);
        let limits = QueryLimits { way: Some(way), hide: hide.collect(), ..QueryLimits::default() };
        let table = tables.open_within(Stored::Prepared, limits)?;
        // Of few rows there is no cube of many cells.
        let answers = way != WayName::Cube || table.plan(&sql).is_ok();
        Ok(answers.then_some((way, table)))
    });
    let opened = opened.into_iter().filter_map(Result::transpose).collect::<Result<Vec<_>, BenchError>>()?;
    let (ways, opened): (Vec<WayName>, Vec<_>) = opened.into_iter().unzip();
    let mut random = Random::new(options.seed);
    let varied: Vec<String> = (0..options.constants).map(|_| question.drawn(&mut random)).collect();
    let mut checks = Checks { tables: &tables, options, worst: 0.0, is_duckdbs: None };
    for sql in &varied {
        let expected = checks.expected(&clear, sql)?;
        for table in &opened {
            checks.compare(&asked_once(table, sql)?, &expected)?;
        }
    }
    let filtered = ways.iter().position(|way| *way == WayName::Filter).and_then(|place| opened.get(place));
    let are_alike = filtered.filter(|_| options.encrypted_constants);
    let are_alike = are_alike.map(|table| are_alike_but_for_constants(table, &sql, &varied)).transpose()?;
    let expected = checks.expected(&clear, &sql)?;
    let mut found = vec![(Vec::new(), Vec::new(), 0, 0); ways.len()];
    // In turns, so that all ways meet the same neighbours on the machine.
    for _ in 0..options.repeat.max(1) {
        for (table, (server, owner, up, down)) in opened.iter().zip(&mut found) {
            let outcome = asked_once(table, &sql)?;
            server.push(outcome.phases.of("server") * 1e3);
            owner.push(outcome.phases.of("decrypt") * 1e3);
            (*up, *down) = (outcome.moved.up, outcome.moved.down);
            checks.compare(&outcome, &expected)?;
        }
    }
    let ways = ways.into_iter().zip(&found).map(|(way, (server, owner, up, down))| Measured {
        way,
        server_ms: median(server),
        owner_ms: median(owner),
        bytes_up: *up,
        bytes_down: *down,
    });
    let (is_duckdbs, check) = (checks.is_duckdbs, check(checks.worst));
    Ok(Case {
        query: name,
        sql,
        rows,
        stored_bytes: tables.stored_bytes()?,
        encrypt_us_a_row: tables.prepared_us_a_row,
        ways: ways.collect(),
        varied,
        is_duckdbs,
        are_alike,
        check,
    })
}

/// Whether plans of a question with other constants are those of the question, before their constants are encrypted.
fn are_alike_but_for_constants(table: &OwnedTable, sql: &str, varied: &[String]) -> Result<bool, BenchError> {
    let plan = |sql: &str| table.plan(sql).map(|plan| plan.server).map_err(hush::Error::from);
    let of_question = plan(sql)?;
    let of_others = varied.iter().map(|sql| plan(sql)).collect::<Result<Vec<_>, _>>()?;
    Ok(of_others.iter().all(|other| *other == of_question))
}

fn asked_once(table: &OwnedTable, sql: &str) -> Result<Outcome, BenchError> {
    Ok(table.ask(sql, &hush::Silent).map_err(hush::Error::from)?)
}

/// Compares every result with that of the same rows in the clear, and that with DuckDB's.
struct Checks<'a> {
    tables: &'a Tables,
    options: &'a Options,
    worst: f64,
    is_duckdbs: Option<bool>,
}

impl Checks<'_> {
    /// The result in the clear.
    fn expected(&mut self, clear: &OwnedTable, sql: &str) -> Result<Vec<Vec<f64>>, BenchError> {
        let expected = cells(&asked_once(clear, sql)?.batches)?;
        let said = self.options.python.as_ref().and_then(|python| {
            let asking = Asking { python, repeat: 1, threads: self.options.threads };
            asking.ask(&self.tables.csv(), "t", sql)
        });
        if let Some(said) = said {
            // NULL is 0 there as in our doubles, of a sum of no row.
            let rows = said.rows.iter().map(|row| row.iter().map(|cell| cell.unwrap_or(0.0)).collect());
            let is_same = relative_error(&rows.collect::<Vec<Vec<f64>>>(), &expected) <= OF_DUCKDB;
            self.is_duckdbs = Some(is_same && self.is_duckdbs != Some(false));
        }
        Ok(expected)
    }

    fn compare(&mut self, outcome: &Outcome, expected: &[Vec<f64>]) -> Result<(), BenchError> {
        self.worst = self.worst.max(relative_error(&cells(&outcome.batches)?, expected));
        Ok(())
    }
}

/// Questions whose result was wrong, or which showed their constants.
pub fn wrong(cases: &[Case]) -> usize {
    let is_wrong = |case: &&Case| {
        matches!(case.check, Check::Wrong) || case.is_duckdbs == Some(false) || case.are_alike == Some(false)
    };
    cases.iter().filter(is_wrong).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_answered_as_in_the_clear_by_every_way() {
        let questions = ["Q4", "Q12", "Q19"].map(str::to_owned).to_vec();
        let options = Options {
            scale: 0.002,
            repeat: 1,
            threads: 2,
            constants: 2,
            seed: 3,
            questions,
            any_days: false,
            answer_keys: false,
            encrypted_constants: false,
            python: None,
        };
        let cases = run(&options).unwrap();
        assert_eq!((cases.len(), wrong(&cases)), (3, 0), "{cases:?}");
        assert!(cases.iter().all(|case| case.ways.len() >= 2 && case.stored_bytes > 0), "{cases:?}");
        assert!(cases.iter().all(|case| case.varied.len() == 2 && case.varied[0] != case.sql), "{cases:?}");
        let keyed = Options { answer_keys: true, questions: vec!["Q4".to_owned()], ..options.clone() };
        let keyed = run(&keyed).unwrap();
        let down = |cases: &[Case]| {
            let ways = cases.iter().filter(|case| case.query == "Q4").flat_map(|case| &case.ways);
            ways.filter(|way| way.way == WayName::Filter).map(|way| way.bytes_down).sum::<u64>()
        };
        assert!(wrong(&keyed) == 0 && 0 < 2 * down(&keyed) && 2 * down(&keyed) < down(&cases), "{keyed:?}");
        let hidden =
            Options { encrypted_constants: true, questions: vec!["Q6".to_owned()], ..options.clone() };
        let hidden_cases = run(&hidden).unwrap();
        assert!(wrong(&hidden_cases) == 0 && hidden_cases[0].are_alike == Some(true), "{hidden_cases:?}");
        let text = report::text(&hidden, &hidden_cases);
        assert!(text.contains("the same for all constants") && !text.contains("DIFFER"), "{text}");
        let rows = Options { questions: ["rows", "first"].map(str::to_owned).to_vec(), ..options.clone() };
        let of_rows = run(&rows).unwrap();
        assert_eq!((of_rows.len(), wrong(&of_rows)), (2, 0), "{of_rows:?}");
        let by_filter = |case: &Case| case.ways.iter().any(|way| way.way == WayName::Filter);
        assert!(of_rows.iter().all(by_filter), "{of_rows:?}");
        let text = report::text(&options, &cases);
        assert!(text.contains("Q19") && text.contains("HE3DB"), "{text}");
        let directory = tempfile::tempdir().unwrap();
        let figures = plots::write(directory.path(), &cases, 2).unwrap();
        let figures: Vec<String> =
            figures.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
        assert!(figures[0].contains("Q12, by columns that come back"), "{}", figures[0]);
    }
}
