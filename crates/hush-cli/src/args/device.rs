// SPDX-License-Identifier: Apache-2.0
//! Options about machines, and about the machine that a schema is for.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Who encrypts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// Devices too, with public keys
    Edge,
}

/// For which machine a schema is.
#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    /// Fit the schema to machines that encrypt rows of it besides the owner's
    #[arg(long, value_enum)]
    pub(crate) target: Option<Target>,
    /// What the device can carry, from `hush-edge doctor --json` there (default: this machine, measured now)
    #[arg(long, value_name = "FILE", requires = "target")]
    pub(crate) device: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Measure what the steps of a query take on this machine, for predictions (some ten seconds)
    #[arg(long, conflicts_with = "device")]
    pub(crate) calibrate: bool,
    /// Measure what this machine can carry as a device: rings, columns, rows a second, bytes a row (some seconds)
    #[arg(long)]
    pub(crate) device: bool,
    /// Print it as JSON, for `hush init --target edge --device`
    #[arg(long, requires = "device")]
    pub(crate) json: bool,
}
