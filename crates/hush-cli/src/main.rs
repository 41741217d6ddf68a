// SPDX-License-Identifier: Apache-2.0
//! The `hush` command: arguments, messages and exit statuses. All work is done by the `hush` crate.
//!
//! Standard output carries results alone; accounts, progress and errors go to standard error. Nothing prompts
//! unless a passphrase is needed and there is a terminal.

mod account;
mod analysis;
mod args;
mod commands;
mod edge;
mod output;
mod passphrase;
mod progress;
mod terminal;

use std::process::ExitCode;

use hush::Error;
use serde_json::json;

use crate::terminal::say;

fn main() -> ExitCode {
    // Before there is a passphrase or a value of anybody's table.
    hush::harden_process();
    let cli = args::Cli::of_arguments(std::env::args_os());
    match commands::run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error, cli.json_errors);
            ExitCode::from(error.exit_status())
        }
    }
}

/// Prints an error.
fn report(error: &Error, as_json: bool) {
    if as_json {
        let kind = format!("{:?}", error.kind());
        let value = json!({ "code": error.code(), "kind": kind, "message": error.message() });
        say(&terminal::json(&value));
    } else {
        say(&error.to_string());
    }
}
