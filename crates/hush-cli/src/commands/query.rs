// SPDX-License-Identifier: Apache-2.0
//! `hush query`.

use std::path::Path;

use hush::{Error, OwnedTable};

use super::{open_key, pins, profile, server};
use crate::account::{moved, precision, times};
use crate::analysis;
use crate::args::{KeyArgs, Query, TokenArgs};
use crate::output::write_result;
use crate::progress::Bar;
use crate::terminal::{self, say};

/// Asks and prints.
pub(super) fn query(args: &Query, threads: usize) -> Result<(), Error> {
    let open = || open(&args.table, &args.sql, (&args.key, &args.token), threads, args.link);
    let mut table = open()?;
    let outcome = match table.ask(&args.sql, &Bar::default()) {
        // A new version came between the plan and the server: once more on that one. Nothing was decrypted yet.
        Err(error) if error.is_stale_version() => {
            table = open()?;
            table.ask(&args.sql, &Bar::default())?
        }
        asked => asked?,
    };
    write_result(&outcome.batches, args.format)?;
    if args.account {
        if let Some(error) = outcome.plan.cost.precision {
            say(&format!("Error     {}", precision(error)));
        }
        let text = format!("Time      {}\nMoved     {}", times(&outcome.phases), moved(outcome.moved, None));
        say(&text);
    }
    if args.analyze {
        let analysis = table.analyze(&outcome, threads, profile())?;
        say(&if args.json { terminal::json(&analysis.to_json()) } else { analysis::text(&analysis) });
    }
    Ok(())
}

/// Opens the table that the arguments name: a directory, or a server with the table that the query names.
pub(super) fn open(
    place: &str,
    sql: &str,
    (key, token): (&KeyArgs, &TokenArgs),
    threads: usize,
    link: Option<f64>,
) -> Result<OwnedTable, Error> {
    let key = open_key(key)?;
    let table = if server::is_url(place) {
        let (server, name) = server::connect(place, token)?;
        let name = name.map_or_else(|| hush::table_of_query(sql), Ok)?;
        OwnedTable::open_remote(server, &name, &key, &pins())?
    } else {
        OwnedTable::open_directory(Path::new(place), &key, &pins(), threads)?
    };
    Ok(match link {
        Some(megabit) => table.with_link((megabit > 0.0).then_some(megabit * BYTES_PER_MEGABIT)),
        None => table,
    })
}

const BYTES_PER_MEGABIT: f64 = 125_000.0;
