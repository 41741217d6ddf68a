// SPDX-License-Identifier: Apache-2.0
//! `hush update`: new values for rows of a table.

use std::time::Instant;

use hush::{Error, Phases, TableLocation, UpdateOptions, UpdateReport};

use super::{open_key_within, open_rows, pins};
use crate::account::{bytes, grouped, times};
use crate::args::Update;
use crate::progress::Bar;
use crate::terminal::{say, visible};

/// Gives rows new values, and says which had them already.
pub(super) fn update(args: &Update, threads: usize) -> Result<(), Error> {
    let (start, mut phases) = (Instant::now(), Phases::default());
    let location = TableLocation::of(&args.table, args.token.token_file.as_deref())?;
    let key = phases.time("key", || open_key_within(&args.key, args.memory_limit))?;
    let options = UpdateOptions {
        source: open_rows(&args.file, &args.lookup)?,
        key: args.on.clone(),
        missing: args.missing.into(),
        all: args.all,
        dry_run: args.dry_run,
        threads,
        memory_limit: args.memory_limit,
        pins: pins(),
    };
    let place = location.place();
    let report = phases.time("update", || hush::update_rows(place, &options, &key, &Bar::default()))?;
    let name = visible(&place.name());
    let mut text = match args.dry_run {
        true => format!("Would change {}", counts(&report)),
        false if report.updated + report.inserted == 0 => format!("Nothing changed: {}", counts(&report)),
        false => format!("Changed {}, {}", counts(&report), bytes(report.bytes)),
    };
    text.push_str(&format!(
        "\n{name} is version {} with {} rows",
        report.version,
        grouped(report.table_rows)
    ));
    if report.rows_beyond > 0 {
        text.push_str(&format!(
            "\n! The table stores {} rows more than max_rows in its schema, deleted ones among them: sums that may not fit are refused. Compact it",
            grouped(report.rows_beyond)
        ));
    }
    let times = times(&phases, start.elapsed().as_secs_f64());
    say(&format!("{text}\nTime  {times}"));
    Ok(())
}

/// What became of the rows.
fn counts(report: &UpdateReport) -> String {
    let mut text = format!("{} rows", grouped(report.updated));
    for (count, what) in [
        (report.unchanged, "had the values already"),
        (report.inserted, "are new"),
        (report.skipped, "are not in the table and were left out"),
    ] {
        if count > 0 {
            text.push_str(&format!("; {} {what}", grouped(count)));
        }
    }
    text
}
