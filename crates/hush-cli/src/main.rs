// SPDX-License-Identifier: Apache-2.0
//! The `hush` command: arguments, messages and exit statuses. All work is done by the `hush` crate.
//!
//! Standard output carries results alone; accounts, progress and errors go to standard error. Nothing prompts
//! unless a passphrase is needed and there is a terminal.

mod account;
mod analysis;
mod args;
mod commands;
mod output;
mod passphrase;
mod progress;
mod terminal;

use std::process::ExitCode;

use crate::terminal::say_error;

fn main() -> ExitCode {
    // Before there is a passphrase or a value of anybody's table.
    hush::harden_process();
    let cli = args::Cli::of_arguments(std::env::args_os());
    match commands::run(&cli) {
        Ok(status) => status,
        Err(error) => {
            say_error(cli.json_errors, error.code(), &format!("{:?}", error.kind()), error.message());
            ExitCode::from(error.exit_status())
        }
    }
}
