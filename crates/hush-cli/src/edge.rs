// SPDX-License-Identifier: Apache-2.0
//! `hush edge`: arguments, and the work of its owner's commands.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use hush::Error;

use crate::account::grouped;
use crate::args::{KeyArgs, TokenArgs};
use crate::commands::{Found, open_key, pins};
use crate::terminal::{print, say, visible};

/// The commands of `hush edge`.
#[derive(Debug, Args)]
pub(crate) struct Edge {
    #[command(subcommand)]
    command: EdgeCommand,
}

#[derive(Debug, Subcommand)]
enum EdgeCommand {
    /// Make the key of a device: it encrypts rows of a table, and decrypts nothing
    Key(Key),
    /// Encrypt rows as they come and deliver them, on the device
    Run(hush_edge::command::GatewayArgs),
    /// Take what devices have delivered into the table
    Accept(Accept),
}

#[derive(Debug, Args)]
struct Key {
    /// Table directory, or SERVER/tables/NAME
    table: String,
    /// Where to write the device's key
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    key: KeyArgs,
    #[command(flatten)]
    token: TokenArgs,
}

#[derive(Debug, Args)]
struct Accept {
    /// Table directory, or SERVER/tables/NAME
    table: String,
    #[command(flatten)]
    key: KeyArgs,
    #[command(flatten)]
    token: TokenArgs,
    /// Print what was taken in as JSON
    #[arg(long)]
    json: bool,
}

/// Runs a command of `hush edge`.
pub(crate) fn edge(args: &Edge) -> Result<(), Error> {
    match &args.command {
        EdgeCommand::Key(args) => key(args),
        EdgeCommand::Run(args) => Ok(args.run()?),
        EdgeCommand::Accept(args) => accept(args),
    }
}

fn key(args: &Key) -> Result<(), Error> {
    let owner = open_key(&args.key)?;
    let found = Found::of(&args.table, &args.token)?;
    let device = hush::device_key(found.place(), &owner, &pins())?;
    device.write(&args.output)?;
    let token = match &found {
        Found::Directory(_) => "",
        Found::Server(..) => " --token-file DEVICE_TOKEN",
    };
    say(&format!(
        "Device {} may deliver rows to {}: key at {}.\n\
         It encrypts and signs; it decrypts nothing. Whoever has it can add rows in the device's name.\n\
         Next  hush-edge rows.csv --key {} --spool SPOOL --to {}{token}",
        device.name(),
        visible(&device.schema.table),
        args.output.display(),
        args.output.display(),
        visible(&args.table),
    ));
    Ok(())
}

fn accept(args: &Accept) -> Result<(), Error> {
    let owner = open_key(&args.key)?;
    let found = Found::of(&args.table, &args.token)?;
    let accepted = hush::accept_deliveries(found.place(), &owner, &pins())?;
    if args.json {
        let text = serde_json::to_string(&accepted).map_err(|error| Error::output(error.into()))?;
        return print(&format!("{text}\n"));
    }
    let mut text = match accepted.deliveries {
        0 => format!("Nothing to take in: version {} stays", accepted.version),
        count => format!(
            "Took in {} deliveries, {} rows: version {}, {} rows",
            grouped(count),
            grouped(accepted.rows),
            accepted.version,
            grouped(accepted.table_rows)
        ),
    };
    let left = [
        (
            accepted.out_of_order,
            "wait for one before them that has not come: a device has it in its spool, or the server holds it back",
        ),
        (accepted.refused, "have parts that no table can take: make new keys for their devices"),
        (
            accepted.outdated,
            "are for an earlier version of the table's columns and stay out: encrypt those rows again",
        ),
    ];
    for (count, why) in left.into_iter().filter(|(count, _)| *count > 0) {
        text.push_str(&format!("\n! {} deliveries {why}", grouped(count)));
    }
    if accepted.rows_beyond > 0 {
        text.push_str(&format!(
            "\n! The table has {} rows more than max_rows in its schema: sums that may not fit are refused. Encrypt again with room",
            grouped(accepted.rows_beyond)
        ));
    }
    let others =
        accepted.waiting.saturating_sub(accepted.out_of_order + accepted.outdated + accepted.refused);
    if others > 0 {
        text.push_str(&format!("\n{} more wait: run the command again", grouped(others)));
    }
    say(&text);
    Ok(())
}
