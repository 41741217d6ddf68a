// SPDX-License-Identifier: Apache-2.0
//! Joins of two tables on protected keys: encrypted ones, which come back as copies, and join keys, which are tokens.
//!
//! Keys are 32-bit numbers; half of those of one table are in the other, as often as it falls. Server and owner are one process, and the tables are
//! files. Every result is compared with that of the same rows in the clear, joined here.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use hush::{Catalogue, CatalogueOutcome, EncryptOptions, OwnedTable, OwnerKey, Pins, Silent};
use serde::Serialize;

use crate::BenchError;
use crate::aligned::{align, figure_text};
use crate::analytics::cells;
use crate::split_table::{Check, median};
use crate::synthetic::mix;

/// Questions, each with a name; the key of the last is drawn from the table.
const QUESTIONS: [(&str, &str); 3] = [
    ("sums", "SELECT COUNT(*), SUM(a.x), SUM(a.x * b.x) FROM a JOIN b ON a.k = b.k"),
    ("partners", "SELECT COUNT(*), SUM(a.x) FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)"),
    (
        "one key",
        "SELECT COUNT(*), SUM(a.x), SUM(a.x * b.x) FROM a JOIN b ON a.k = b.k WHERE a.k = {} AND b.k = {}",
    ),
];
/// How keys are protected, with the schema's words.
const KEYS: [(&str, &str); 2] = [
    ("encrypted", "protect = \"encrypt\"\nfor = [\"fetch\"]"),
    ("join key", "protect = \"joinkey\"\njoin = \"k\""),
];
/// Bound of the other column.
const VALUES: u64 = 1000;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rows of each table.
    pub rows: Vec<u64>,
    /// Seed of the tables.
    pub seed: u64,
    /// Repetitions of each question.
    pub repeat: u32,
    /// Threads.
    pub threads: usize,
}

/// One question on two tables.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The question's name.
    pub question: &'static str,
    /// Rows of each table.
    pub rows: u64,
    /// How keys are protected.
    pub keys: &'static str,
    /// Median milliseconds of both servers.
    pub server_ms: f64,
    /// Median milliseconds of the owner: planning, opening and joining.
    pub owner_ms: f64,
    /// Bytes of both questions and answers.
    pub bytes: u64,
    /// Whether every result was right.
    pub check: Check,
}

/// Encrypts the tables with each protection, and asks.
///
/// # Errors
/// Hushtable refuses, or files cannot be written.
pub fn run(options: &Options) -> Result<Vec<Measured>, BenchError> {
    let mut measured = Vec::new();
    for rows in &options.rows {
        let directory = tempfile::tempdir()?;
        let tables = [1_u64, 2].map(|side| draw(*rows, options.seed, side));
        for (keys, words) in KEYS {
            let key = OwnerKey::temporary().map_err(hush::Error::from)?;
            for (name, table) in ["a", "b"].into_iter().zip(&tables) {
                encrypt(&directory.path().join(keys), (name, table, words), &key, options.threads)?;
            }
            for (question, sql) in QUESTIONS {
                let common = tables[0].iter().find(|(k, _)| tables[1].iter().any(|(other, _)| other == k));
                let sql = sql.replace("{}", &common.map_or(0, |(k, _)| *k).to_string());
                let expected = expected(question, &tables, common.map(|(k, _)| *k));
                let asked = ask(&directory.path().join(keys), &key, &sql, options)?;
                let of = |part: &dyn Fn(&CatalogueOutcome) -> f64| {
                    median(&asked.iter().map(part).collect::<Vec<_>>())
                };
                let server = |asked: &CatalogueOutcome| asked.phases.of("server");
                let is_right = asked.iter().map(|asked| Ok(cells(&asked.batches)? == expected));
                let is_right =
                    is_right.collect::<Result<Vec<bool>, BenchError>>()?.into_iter().all(|right| right);
                measured.push(Measured {
                    question,
                    rows: *rows,
                    keys,
                    server_ms: of(&server) * 1e3,
                    owner_ms: of(&|asked| asked.phases.total() - server(asked)) * 1e3,
                    bytes: asked.first().map_or(0, |asked| asked.moved.up + asked.moved.down),
                    check: if is_right { Check::Exact } else { Check::Wrong },
                });
            }
        }
    }
    Ok(measured)
}

/// Rows of a table: a key and a value. Of the keys of one side half are drawn from those of the other.
fn draw(rows: u64, seed: u64, side: u64) -> Vec<(u64, u64)> {
    let of = |column: u64, row: u64| mix(seed ^ mix(row << 8 | column));
    let key = |row: u64| {
        let of_both = of(16 + side, row).is_multiple_of(2);
        let place = of(32 + side, row) % rows;
        mix(seed ^ mix(place << 8 | if of_both { 7 } else { 8 + side })) >> 33
    };
    (0..rows).map(|row| (key(row), of(64 + side, row) % VALUES)).collect()
}

/// What a question has to answer.
fn expected(question: &str, [a, b]: &[Vec<(u64, u64)>; 2], only: Option<u64>) -> Vec<Vec<f64>> {
    let mut partners: HashMap<u64, (u64, u64)> = HashMap::new();
    for (k, x) in b {
        let found = partners.entry(*k).or_default();
        *found = (found.0 + 1, found.1 + x);
    }
    let of = |row: &(u64, u64)| Some((row.1, *partners.get(&row.0)?));
    let matched: Vec<(u64, (u64, u64))> = match question {
        "one key" => a.iter().filter(|row| Some(row.0) == only).filter_map(of).collect(),
        _ => a.iter().filter_map(of).collect(),
    };
    let [mut rows, mut of_a, mut of_both, mut once] = [0; 4];
    for (x, (partners, y)) in &matched {
        (rows, of_a, of_both, once) = (rows + partners, of_a + x * partners, of_both + x * y, once + x);
    }
    let found = match question {
        "partners" => vec![matched.len() as u64, once],
        _ => vec![rows, of_a, of_both],
    };
    vec![found.into_iter().map(|number| number as f64).collect()]
}

fn encrypt(
    directory: &Path,
    (name, rows, keys): (&str, &[(u64, u64)], &str),
    key: &OwnerKey,
    threads: usize,
) -> Result<(), BenchError> {
    std::fs::create_dir_all(directory)?;
    let (csv, schema) =
        (directory.join(name).with_extension("csv"), directory.join(name).with_extension("toml"));
    let mut out = std::io::BufWriter::new(std::fs::File::create(&csv)?);
    writeln!(out, "k,x")?;
    rows.iter().try_for_each(|(k, x)| writeln!(out, "{k},{x}"))?;
    out.flush()?;
    std::fs::write(
        &schema,
        format!(
            "format = 1\ntable = \"{name}\"\nstatus = \"approved\"\n\
             [columns.k]\ntype = \"int(32)\"\n{keys}\n\
             [columns.x]\ntype = \"int(32)\"\nrange = [0, {VALUES}]\nprotect = \"encrypt\"\nfor = [\"fetch\"]\n"
        ),
    )?;
    let encryption = EncryptOptions {
        source: hush::open(&csv)?,
        schema: hush::approved_schema(&schema)?,
        output: directory.join(name),
        workload: None,
        threads,
        memory_limit: None,
        pins: Pins::forgetful(),
        replace: true,
    };
    hush::encrypt(&encryption, key, &Silent)?;
    Ok(())
}

/// The outcomes of a question, the tables opened anew each time.
fn ask(
    directory: &Path,
    key: &OwnerKey,
    sql: &str,
    options: &Options,
) -> Result<Vec<CatalogueOutcome>, BenchError> {
    let pins = Pins::forgetful();
    let once = || {
        let open = |name| OwnedTable::open_directory(&directory.join(name), key, &pins, options.threads);
        let (a, b) = (open("a")?, open("b")?);
        Catalogue::new(vec![&a, &b])?.ask(sql, &Silent)
    };
    let asked = (0..options.repeat.max(1)).map(|_| Ok(once().map_err(hush::Error::from)?));
    asked.collect()
}

/// Questions whose result was wrong.
pub fn wrong(measured: &[Measured]) -> usize {
    measured.iter().filter(|found| matches!(found.check, Check::Wrong)).count()
}

/// The report as text.
pub fn text(options: &Options, measured: &[Measured]) -> String {
    let mut out =
        format!("Joins on protected 32-bit keys, {} threads, seed {}\n\n", options.threads, options.seed);
    let head = ["", "rows each", "keys", "server ms", "you ms", "in all ms", "kB", "result"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    for found in measured {
        lines.push(vec![
            found.question.to_owned(),
            found.rows.to_string(),
            found.keys.to_owned(),
            figure_text(found.server_ms),
            figure_text(found.owner_ms),
            figure_text(found.server_ms + found.owner_ms),
            figure_text(found.bytes as f64 / 1e3),
            found.check.to_string(),
        ]);
    }
    out.push_str(&align(&lines));
    let _ = writeln!(
        out,
        "\nTimes: medians of {}, the tables opened anew each time; server: both servers; you: planning, opening and joining. kB: all questions and answers.\n\
         sums: {}\npartners: {}\none key: sums, under a condition on the key of each table.",
        options.repeat, QUESTIONS[0].1, QUESTIONS[1].1,
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_are_those_of_the_rows_in_the_clear() {
        let options = Options { rows: vec![1, 300], seed: 5, repeat: 1, threads: 2 };
        let measured = run(&options).unwrap();
        assert_eq!((measured.len(), wrong(&measured)), (12, 0), "{measured:?}");
        assert!(text(&options, &measured).contains("join key"));
        let of = |question: &str, keys: &str| {
            let is_it = |found: &&Measured| (found.question, found.keys, found.rows) == (question, keys, 300);
            measured.iter().find(is_it).unwrap().bytes
        };
        // The server has the condition on tokens.
        assert!(of("one key", "join key") < of("sums", "join key") / 2);
    }
}
