// SPDX-License-Identifier: Apache-2.0
//! The `hush-lab` command: the historical schemes on expressions of encrypted bits. Insecure, for teaching.
//!
//! Results and accounts go to standard output, progress and errors to standard error. The exit status is 0 if every result is right, 1
//! if a decryption is wrong, 2 for an error.

mod args;
mod commands;
mod outcome;
mod prompt;
mod session;
mod show;
mod table;
mod terminal;
mod timing;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match commands::run(&args::Cli::parse()) {
        Ok(outcome::Outcome::Right) => ExitCode::SUCCESS,
        Ok(outcome::Outcome::Wrong) => ExitCode::from(1),
        Err(error) => {
            terminal::say(&format!("error: {}", terminal::one_line(&error.to_string())));
            ExitCode::from(2)
        }
    }
}
