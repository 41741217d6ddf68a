// SPDX-License-Identifier: Apache-2.0
//! The `hush` command: arguments, messages and exit statuses. All work is done by the `hush` crate.
//!
//! Standard output carries results alone; accounts, progress and errors go to standard error. Nothing prompts
//! unless a passphrase is needed and there is a terminal.

mod account;
mod args;
mod commands;
mod output;
mod passphrase;
mod progress;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use hush::Error;
use serde_json::json;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    match commands::run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error, cli.json_errors);
            ExitCode::from(error.exit_status())
        }
    }
}

/// Prints an error; a standard error that is closed is nobody's loss.
fn report(error: &Error, as_json: bool) {
    let text = if as_json {
        json!({ "code": error.code(), "kind": format!("{:?}", error.kind()), "message": error.message() })
            .to_string()
    } else {
        error.to_string()
    };
    drop(writeln!(std::io::stderr(), "{text}"));
}
