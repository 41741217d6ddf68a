// SPDX-License-Identifier: Apache-2.0
//! `hush bench`: starts the program of the benchmarks, which the client does not contain.

use std::io;
use std::process::{Command, ExitCode};

use hush::Error;
use hush_system::program::beside;

use crate::args::{Bench, Cli};

/// Runs `hush-bench` with these arguments and those of all commands, and gives its exit status; it has said why if it failed.
pub(super) fn bench(args: &Bench, cli: &Cli) -> Result<ExitCode, Error> {
    let program = beside("hush-bench").map_err(Error::output)?;
    if !program.is_file() {
        return Err(Error::usage(format!(
            "the benchmarks are a program of their own, and not at {}\n  Ways out: cargo build --release -p hush-bench",
            program.display()
        )));
    }
    let mut command = Command::new(&program);
    command.args(cli.json_errors.then_some("--json-errors"));
    command.args(cli.threads.map(|threads| format!("--threads={threads}")));
    let status = command.args(&args.arguments).status().map_err(Error::output)?;
    match status.code().and_then(|code| u8::try_from(code).ok()) {
        Some(code) => Ok(ExitCode::from(code)),
        None => Err(Error::output(io::Error::other(format!("the benchmarks ended early: {status}")))),
    }
}
