// SPDX-License-Identifier: Apache-2.0
//! `hush bench lwe-agcd`: starts the laboratory's own program, so that its insecure schemes are in no program of ours but that one.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsString;
use std::io;
use std::process::Command;

use hush::Error;

/// Runs `hush-lab bench` with these arguments; the program lies beside this one.
pub(super) fn bench(arguments: &[OsString]) -> Result<(), Error> {
    let own = std::env::current_exe().map_err(Error::output)?;
    let program = own.with_file_name(format!("hush-lab{EXE_SUFFIX}"));
    if !program.is_file() {
        return Err(Error::usage(format!(
            "the laboratory is a program of its own, and not at {}\n  Ways out: cargo build --release -p hush-lab",
            program.display()
        )));
    }
    let status = Command::new(&program).arg("bench").args(arguments).status().map_err(Error::output)?;
    match status.code() {
        Some(0) => Ok(()),
        Some(1) => Err(Error::output(io::Error::other("a result of the laboratory was wrong"))),
        _ => Err(Error::output(io::Error::other(format!("the laboratory ended early: {status}")))),
    }
}
