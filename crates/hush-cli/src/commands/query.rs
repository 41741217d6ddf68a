// SPDX-License-Identifier: Apache-2.0
//! `hush query`.

use std::path::Path;

use hush::{Error, OwnedTable};

use super::{open_key, pins, server};
use crate::account::{moved, times};
use crate::args::Query;
use crate::output::write_result;
use crate::progress::Bar;
use crate::terminal::say;

/// Asks and prints.
pub(super) fn query(args: &Query, threads: usize) -> Result<(), Error> {
    let asked = open(args, threads)?.ask(&args.sql, &Bar::default());
    let outcome = match asked {
        // A new version came between the plan and the server: once more on that one. Nothing was decrypted yet.
        Err(error) if error.is_stale_version() => open(args, threads)?.ask(&args.sql, &Bar::default())?,
        asked => asked?,
    };
    write_result(&outcome.batches, args.format)?;
    if args.account {
        let text = format!("Time      {}\nMoved     {}", times(&outcome.phases), moved(outcome.moved, None));
        say(&text);
    }
    Ok(())
}

/// Opens the table that the arguments name: a directory, or a server with the table that the query names.
pub(super) fn open(args: &Query, threads: usize) -> Result<OwnedTable, Error> {
    let key = open_key(&args.key)?;
    if server::is_url(&args.table) {
        let (server, name) = server::connect(&args.table, &args.token)?;
        let name = name.map_or_else(|| hush::table_of_query(&args.sql), Ok)?;
        return Ok(OwnedTable::open_remote(server, &name, &key, &pins())?);
    }
    Ok(OwnedTable::open_directory(Path::new(&args.table), &key, &pins(), threads)?)
}
