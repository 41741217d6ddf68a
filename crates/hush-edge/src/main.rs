// SPDX-License-Identifier: Apache-2.0
//! `hush-edge`: the device's program alone, without keys that decrypt, query engine or server.

use std::process::ExitCode;

use clap::Parser;
use hush_edge::command::{GatewayArgs, say};

/// Encrypt rows as they come, with a key that cannot decrypt, and deliver them to a table.
#[derive(Debug, Parser)]
#[command(name = "hush-edge", version, max_term_width = 100, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    gateway: GatewayArgs,
}

fn main() -> ExitCode {
    match Cli::parse().gateway.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&error.report());
            ExitCode::from(error.kind().exit_status())
        }
    }
}
