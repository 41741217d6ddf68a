// SPDX-License-Identifier: Apache-2.0
//! Arguments of `hush history` and `hush purge`.

use std::path::PathBuf;

use clap::Args;

use super::{KeyArgs, TokenArgs};

#[derive(Debug, Args)]
pub(crate) struct History {
    /// Table directory, SERVER/tables/NAME, or s3://BUCKET/PREFIX
    pub(crate) table: String,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Purge {
    /// Table directory, SERVER/tables/NAME, or s3://BUCKET/PREFIX (with --check: instead of the place that the statement names)
    #[arg(required_unless_present = "check")]
    pub(crate) table: Option<String>,
    /// Where to write the signed statement of what was deleted; never over a file
    #[arg(long, short, value_name = "PATH", required_unless_present_any = ["check", "dry_run"])]
    pub(crate) output: Option<PathBuf>,
    /// Say what would be deleted, and delete nothing
    #[arg(long, conflicts_with = "output")]
    pub(crate) dry_run: bool,
    /// Check a statement: its signature, and that none of its files is there any more
    #[arg(long, value_name = "STATEMENT", conflicts_with_all = ["output", "dry_run"])]
    pub(crate) check: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
    /// What was found, as JSON on standard output
    #[arg(long)]
    pub(crate) json: bool,
}
