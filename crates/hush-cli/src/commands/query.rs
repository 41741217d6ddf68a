// SPDX-License-Identifier: Apache-2.0
//! `hush query`.

use std::path::Path;
use std::time::Instant;

use hush::{ColumnCache, Error, NO_HOME, OwnedTable, OwnerKey, Phases, TableLocation, TableUri};

use super::{pins, profile};
use crate::account::{exposure, moved, precision, released, times};
use crate::analysis;
use crate::args::{Query, TokenArgs, WayArgs};
use crate::output::write_result;
use crate::progress::Bar;
use crate::terminal::{self, say, visible};

/// Asks one table and prints, with the key and the time that it took since the start; false if the question is one for a catalogue, and nothing
/// was done.
pub(super) fn query(
    args: &Query,
    (place, sql): (&str, &str),
    key: &OwnerKey,
    (start, mut phases): (Instant, Phases),
    threads: usize,
) -> Result<bool, Error> {
    let place = Place { place, sql, token: &args.token, threads, ways: &args.ways };
    let open = || kept(place.open(key)?, args.keep);
    let mut table = phases.time("open", open)?;
    let ask = |table: &OwnedTable| match args.release.digits {
        Some(digits) => table.ask_released(sql, digits, &Bar::default()),
        None => table.ask(sql, &Bar::default()),
    };
    let outcome = match ask(&table) {
        Err(error) if error.needs_catalogue() && args.release.digits.is_none() => return Ok(false),
        // A new version came between the plan and the server: once more on that one. Nothing was decrypted yet.
        Err(error) if error.is_stale_version() => {
            table = phases.time("open", open)?;
            ask(&table)?
        }
        asked => asked?,
    };
    outcome.phases.iter().for_each(|(name, seconds)| phases.add(name, seconds));
    exposure(&outcome.exposed);
    phases.time("write", || write_result(&outcome.batches, args.format, args.wide))?;
    outcome.plan.notes.iter().for_each(|note| say(&format!("! {}", visible(note))));
    if args.account {
        match (outcome.released.filter(|counted| counted.numbers > 0), outcome.plan.cost.precision) {
            (Some(counted), _) => say(&format!("Released  {}", released(counted))),
            (None, Some(error)) => say(&format!("Error     {}", precision(error))),
            (None, None) => {}
        }
        let wall = start.elapsed().as_secs_f64();
        say(&format!("Time      {}\nMoved     {}", times(&phases, wall), moved(outcome.moved, None)));
    }
    if args.analyze {
        let analysis = table.analyze(&outcome, threads, profile())?;
        say(&if args.json { terminal::json(&analysis.to_json()) } else { analysis::text(&analysis) });
    }
    Ok(true)
}

/// The table, with columns that are kept in so many bytes.
pub(super) fn kept(table: OwnedTable, bytes: Option<u64>) -> Result<OwnedTable, Error> {
    let Some(bytes) = bytes else { return Ok(table) };
    let cache = ColumnCache::of_user(bytes).ok_or_else(|| Error::usage(NO_HOME))?;
    Ok(table.with_kept_columns(cache))
}

/// A table with everything that a query needs to open it, except the key.
pub(super) struct Place<'a> {
    /// A directory, or a server with the table that the query names.
    pub(super) place: &'a str,
    pub(super) sql: &'a str,
    pub(super) token: &'a TokenArgs,
    pub(super) threads: usize,
    pub(super) ways: &'a WayArgs,
}

impl Place<'_> {
    /// Opens the table.
    pub(super) fn open(&self, key: &OwnerKey) -> Result<OwnedTable, Error> {
        let table = match self.place.parse()? {
            TableUri::Directory(_) | TableUri::Object { .. } => {
                TableLocation::of_files(Path::new(self.place))?.open(key, &pins(), self.threads)?
            }
            TableUri::Server { .. } => {
                let (server, name) = hush::connect(self.place, self.token.token_file.as_deref())?;
                let name = name.map_or_else(|| hush::table_of_query(self.sql), Ok)?;
                OwnedTable::open_remote(server, &name, key, &pins())?
            }
        };
        Ok(self.ways.of(table))
    }
}
