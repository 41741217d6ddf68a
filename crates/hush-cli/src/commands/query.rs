// SPDX-License-Identifier: Apache-2.0
//! `hush query`.

use std::io::{Write, stderr};
use std::path::Path;

use hush::{Error, OwnedTable, Pins};

use super::{open_key, server};
use crate::account::{moved, times};
use crate::args::Query;
use crate::output::write_result;
use crate::progress::Bar;

/// Asks and prints.
pub(super) fn query(args: &Query, threads: usize) -> Result<(), Error> {
    let table = open(args, threads)?;
    let outcome = table.ask(&args.sql, &Bar::default())?;
    write_result(&outcome.batches, args.format)?;
    if args.account {
        let text = format!("Time      {}\nMoved     {}", times(&outcome.phases), moved(outcome.moved, None));
        drop(writeln!(stderr(), "{text}"));
    }
    Ok(())
}

/// Opens the table that the arguments name: a directory, or a server with the table that the query names.
pub(super) fn open(args: &Query, threads: usize) -> Result<OwnedTable, Error> {
    let key = open_key(&args.key)?;
    if server::is_url(&args.table) {
        let (server, name) = server::connect(&args.table, &args.token)?;
        let name = name.map_or_else(|| hush::table_of_query(&args.sql), Ok)?;
        return Ok(OwnedTable::open_remote(server, &name, &key, &Pins::of_user())?);
    }
    Ok(OwnedTable::open_directory(Path::new(&args.table), &key, &Pins::of_user(), threads)?)
}
