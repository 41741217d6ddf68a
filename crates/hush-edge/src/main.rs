// SPDX-License-Identifier: Apache-2.0
//! `hush-edge`: the device's program alone, without keys that decrypt, query engine or server.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use hush_edge::EdgeError;
use hush_edge::command::{GatewayArgs, report_capacity, say};

/// Encrypt rows as they come, with a key that cannot decrypt, and deliver them to a table.
#[derive(Debug, Parser)]
#[command(name = "hush-edge", version, max_term_width = 100, arg_required_else_help = true)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Cli {
    #[command(flatten)]
    gateway: Option<GatewayArgs>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure what this machine can carry: rings, columns, rows a second, bytes a row (some seconds)
    Doctor {
        /// Print it as JSON, for `hush init --target edge --device`
        #[arg(long)]
        json: bool,
    },
}

impl Cli {
    fn run(&self) -> Result<(), EdgeError> {
        match (&self.command, &self.gateway) {
            (Some(Command::Doctor { json }), _) => report_capacity(*json),
            (None, Some(gateway)) => gateway.run(),
            (None, None) => {
                Err(EdgeError::Usage { what: "which key and spool?\n  Way out: hush-edge --help".to_owned() })
            }
        }
    }
}

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&error.report());
            ExitCode::from(error.kind().exit_status())
        }
    }
}
