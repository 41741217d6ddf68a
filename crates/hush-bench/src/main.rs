// SPDX-License-Identifier: Apache-2.0
//! The program `hush-bench`, which `hush bench` starts: arguments, reports and exit statuses of the benchmarks.

mod args;
mod commands;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    hush::harden_process();
    let cli = args::Cli::parse();
    match commands::run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let kind = format!("{:?}", error.kind());
            hush_terminal::say_error(cli.json_errors, error.code(), &kind, error.message());
            ExitCode::from(error.exit_status())
        }
    }
}
