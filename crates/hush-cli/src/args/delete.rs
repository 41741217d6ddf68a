// SPDX-License-Identifier: Apache-2.0
//! Arguments of `hush delete`.

use std::path::PathBuf;

use clap::Args;

use super::{KeyArgs, TokenArgs};

#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// Table directory, SERVER/tables/NAME, or s3://BUCKET/PREFIX
    pub(crate) table: PathBuf,
    /// The rows: a condition on any columns, as "WHERE ward = 'icu' AND age > 90"
    #[arg(value_name = "CONDITION")]
    pub(crate) condition: String,
    /// It may be all rows
    #[arg(long)]
    pub(crate) all: bool,
    /// Count the rows, and delete none
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
}
