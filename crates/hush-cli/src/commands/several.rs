// SPDX-License-Identifier: Apache-2.0
//! `hush query` and `hush explain` with several tables, or of one table that a question reads several times.

use std::time::Instant;

use hush::{Catalogue, CatalogueOutcome, Error, OwnedTable, OwnerKey, Phases, TableAnswer};
use serde_json::{Value, json};

use super::explain::whole;
use super::query::{Place, kept};
use super::{open_key, profile};
use crate::account::{bytes, grouped, moved, seconds, times, wrapped};
use crate::analysis;
use crate::args::{Explain, Query};
use crate::output::write_result;
use crate::progress::Bar;
use crate::terminal::{self, print, say, visible};

/// Asks one table or several, and prints.
pub(super) fn query(args: &Query, threads: usize) -> Result<(), Error> {
    let (places, sql) = args.question.parts()?;
    let (start, mut phases) = (Instant::now(), Phases::default());
    let key = phases.time("key", || open_key(&args.key))?;
    if let [place] = places
        && super::query::query(args, (place, sql), &key, (start, phases.clone()), threads)?
    {
        return Ok(());
    }
    if args.release.digits.is_some() {
        return Err(Error::usage(
            "--release is for a question about one table: of several tables nothing is released\n  Way out: ask each table for its columns with --release, and join the results.",
        ));
    }
    let open = |key: &OwnerKey| -> Result<Vec<OwnedTable>, Error> {
        let places =
            places.iter().map(|place| Place { place, sql, token: &args.token, threads, ways: &args.ways });
        places.map(|place| kept(place.open(key)?, args.keep)).collect()
    };
    let mut tables = phases.time("open", || open(&key))?;
    let outcome = match Catalogue::new(tables.iter().collect())?.ask(sql, &Bar::default()) {
        // A new version of a table came between the plan and its server: once more, on that one.
        Err(error) if error.is_stale_version() => {
            tables = phases.time("open", || open(&key))?;
            Catalogue::new(tables.iter().collect())?.ask(sql, &Bar::default())?
        }
        asked => asked?,
    };
    outcome.phases.iter().for_each(|(name, seconds)| phases.add(name, seconds));
    phases.time("write", || write_result(&outcome.batches, args.format, args.wide))?;
    outcome.notes.iter().for_each(|note| say(&format!("! {}", visible(note))));
    if args.account {
        outcome.answers.iter().for_each(|answer| say(&format!("Asked     {}", asked(answer))));
        let wall = start.elapsed().as_secs_f64();
        say(&format!("Time      {}\nMoved     {}", times(&phases, wall), moved(outcome.moved, None)));
    }
    if args.analyze {
        analyze(&tables, &outcome, (threads, args.json))?;
    }
    Ok(())
}

/// `patients by fetch: SELECT …; 120 rows, up 1.2 kB, down 3.4 kB`.
fn asked(answer: &TableAnswer) -> String {
    let way = answer.outcome.plan.ways.iter().find(|way| way.taken);
    let way = way.map_or(String::new(), |way| format!(" by {}", way.name.name()));
    let (rows, moved) = (grouped(answer.rows as u64), answer.outcome.moved);
    let line = format!(
        "{}{way}: {}; {rows} rows, up {}, down {}",
        answer.table,
        abbreviated(&answer.sql),
        bytes(moved.up),
        bytes(moved.down)
    );
    wrapped(&visible(&line), 10)
}

/// A question without most of the constants of long lists.
fn abbreviated(sql: &str) -> String {
    let mut out = String::new();
    let mut rest = sql;
    while let Some((before, listed)) = rest.split_once(" IN (") {
        let (list, after) = list_of(listed);
        out.push_str(before);
        out.push_str(" IN (");
        match list.as_slice() {
            [first, second, more @ ..] if more.len() > SHOWN_CONSTANTS => {
                out.push_str(&format!("{first}, {second}, … {} more", grouped(more.len() as u64)));
            }
            list => out.push_str(&list.join(", ")),
        }
        rest = after;
    }
    out + rest
}

/// Constants of a list that are shown, beside two, before others are left out.
const SHOWN_CONSTANTS: usize = 8;

/// The constants of a list behind its bracket, and what follows them.
fn list_of(text: &str) -> (Vec<&str>, &str) {
    let (mut list, mut start, mut is_quoted) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            ',' | ')' if !is_quoted => {
                list.push(text[start..at].trim());
                start = at + 1;
                if letter == ')' {
                    return (list, &text[at..]);
                }
            }
            _ => {}
        }
    }
    (vec![text], "")
}

/// Measured beside predicted figures of every question.
fn analyze(
    tables: &[OwnedTable],
    outcome: &CatalogueOutcome,
    (threads, as_json): (usize, bool),
) -> Result<(), Error> {
    let mut list = Vec::new();
    for answer in &outcome.answers {
        let name = |table: &&OwnedTable| table.schema().table == answer.table;
        let table = tables.iter().find(name).ok_or_else(|| Error::bug("several::analyze"))?;
        let analysis = table.analyze(&answer.outcome, threads, profile())?;
        match as_json {
            true => {
                list.push(json!({ "table": answer.table, "sql": answer.sql, "analysis": analysis.to_json() }))
            }
            false => say(&format!("{}\n{}", visible(&answer.table), analysis::text(&analysis))),
        }
    }
    if as_json {
        say(&terminal::json(&Value::Array(list)));
    }
    Ok(())
}

/// Plans for one table or several, and prints, without running.
pub(super) fn explain(args: &Explain, threads: usize) -> Result<(), Error> {
    let (places, sql) = args.question.parts()?;
    let key = open_key(&args.key)?;
    if let [place] = places
        && super::explain::explain(args, (place, sql), &key, threads)?
    {
        return Ok(());
    }
    if args.graph.is_some() || args.groups.is_some() {
        return Err(Error::usage(
            "--graph and --groups are for a question about one table\n  Way out: explain each question that this one shows.",
        ));
    }
    let places =
        places.iter().map(|place| Place { place, sql, token: &args.token, threads, ways: &args.ways });
    let tables = places.map(|place| place.open(&key)).collect::<Result<Vec<_>, _>>()?;
    let explained = Catalogue::new(tables.iter().collect())?.explain(sql, threads, &profile())?;
    let questions = explained.questions.iter();
    if args.json {
        let list = questions.map(|question| {
            json!({ "table": question.table, "sql": question.sql, "explanation": question.explanation.to_json() })
        });
        let list = Value::Array(list.collect());
        return print(&format!(
            "{}\n",
            terminal::json(&json!({ "questions": list, "notes": explained.notes }))
        ));
    }
    explained.notes.iter().for_each(|note| say(&format!("! {}", visible(note))));
    let mut out = "Asks\n".to_owned();
    for (number, question) in (1..).zip(questions.clone()) {
        let line = format!("{}: {}", question.table, question.sql);
        out.push_str(&format!(" {number} {}\n", wrapped(&visible(&line), 3)));
    }
    let total: f64 = questions.clone().map(|question| question.explanation.total_s()).sum();
    let down: u64 = questions.clone().map(|question| question.explanation.prediction.bytes_down).sum();
    let last =
        format!("you join what comes back: about {} s and {} down before that", seconds(total), bytes(down));
    out.push_str(&format!(" {} {last}\n", explained.questions.len() + 1));
    for (number, question) in (1..).zip(questions) {
        let heading = format!("\nQuestion {number}, {}\n", visible(&question.table));
        out.push_str(&format!("{heading}{}", whole(&question.explanation, args.verbose)));
    }
    print(&out)
}

#[cfg(test)]
mod tests {
    use super::abbreviated;

    #[test]
    fn long_lists_are_abbreviated_and_nothing_else() {
        let numbers = |count: u32| (0..count).map(|number| number.to_string()).collect::<Vec<_>>().join(", ");
        for sql in
            ["SELECT x FROM t", "SELECT x FROM t WHERE (a IN (1, 2)) AND b IN ('x, y)', 'it''s (')", "x IN ("]
        {
            assert_eq!(abbreviated(sql), sql);
        }
        let long = format!("a IN ({}) AND b IN ({}) OR c", numbers(1000), numbers(3));
        assert_eq!(abbreviated(&long), "a IN (0, 1, … 998 more) AND b IN (0, 1, 2) OR c");
        let texts = ["'it''s (a), b'"; 11].join(", ");
        assert_eq!(
            abbreviated(&format!("a IN ({texts})")),
            "a IN ('it''s (a), b', 'it''s (a), b', … 9 more)"
        );
    }
}
