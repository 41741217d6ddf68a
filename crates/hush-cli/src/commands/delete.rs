// SPDX-License-Identifier: Apache-2.0
//! `hush delete`: rows go out of a table.

use std::time::Instant;

use hush::{DeleteOptions, Error, Phases, TableLocation};

use super::{open_key, pins};
use crate::account::{grouped, times};
use crate::args::Delete;
use crate::progress::Bar;
use crate::terminal::{say, visible};

/// Deletes rows of a table, and says how many it has left.
pub(super) fn delete(args: &Delete, threads: usize) -> Result<(), Error> {
    let (start, mut phases) = (Instant::now(), Phases::default());
    let location = TableLocation::of(&args.table, args.token.token_file.as_deref())?;
    let key = phases.time("key", || open_key(&args.key))?;
    let Delete { condition, all, dry_run, .. } = args;
    let (condition, all, dry_run) = (condition.clone(), *all, *dry_run);
    let options = DeleteOptions { condition, all, dry_run, threads, pins: pins() };
    let place = location.place();
    let report = phases.time("delete", || hush::delete_rows(place, &options, &key, &Bar::default()))?;
    let (name, rows) = (visible(&place.name()), grouped(report.rows));
    let text = match dry_run {
        true => format!("Would delete {rows} of {} rows of {name}", grouped(report.table_rows)),
        false => format!(
            "Deleted {rows} rows. {name} is version {} with {} rows\n\
             ! No answer counts them. Their ciphertexts stay, {} deleted rows in all, until the table is compacted and old versions are purged",
            report.version,
            grouped(report.table_rows),
            grouped(report.dead_rows)
        ),
    };
    let times = times(&phases, start.elapsed().as_secs_f64());
    say(&format!("{text}\nTime  {times}"));
    Ok(())
}
