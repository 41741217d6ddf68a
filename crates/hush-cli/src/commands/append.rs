// SPDX-License-Identifier: Apache-2.0
//! `hush append`: more rows for a table.

use std::time::Instant;

use hush::{AppendOptions, Error, Phases, TableLocation};

use super::compact::compact_if_due;
use super::{open_key_within, open_rows, pins};
use crate::account::{bytes, grouped, times};
use crate::args::Append;
use crate::progress::Bar;
use crate::terminal::{say, visible};

/// Adds rows to a table, and says how many it has.
pub(super) fn append(args: &Append, threads: usize) -> Result<(), Error> {
    let (start, mut phases) = (Instant::now(), Phases::default());
    let location = TableLocation::of(&args.table, args.token.token_file.as_deref())?;
    let key = phases.time("key", || open_key_within(&args.key, args.memory_limit))?;
    let source = open_rows(&args.file, &args.lookup)?;
    let (batch, memory_limit) = (args.batch.clone(), args.memory_limit);
    let options = AppendOptions { source, batch, threads, memory_limit, pins: pins() };
    let place = location.place();
    let report = phases.time("append", || hush::append(place, &options, &key, &Bar::default()))?;
    let name = visible(&place.name());
    let table = format!("{name} is version {} with {} rows", report.version, grouped(report.table_rows));
    let mut text = match report.known_since {
        Some(version) => {
            let batch = visible(args.batch.as_deref().unwrap_or_default());
            format!("Nothing added: batch {batch} has been in the table since version {version}. {table}")
        }
        None if report.rows == 0 => format!("Nothing added: there are no rows. {table}"),
        None => format!("Added {} rows, {}. {table}", grouped(report.rows), bytes(report.bytes)),
    };
    if report.rows_beyond > 0 {
        text.push_str(&format!(
            "\n! The table has {} rows more than max_rows in its schema: sums that may not fit are refused. Encrypt again with room",
            grouped(report.rows_beyond)
        ));
    }
    if args.compact {
        // The rows are in, whatever becomes of this.
        say(&text);
        text = phases.time("compact", || compact_if_due(place, &key, (threads, memory_limit)))?;
    }
    let times = times(&phases, start.elapsed().as_secs_f64());
    say(&format!("{text}\nTime  {times}"));
    Ok(())
}
