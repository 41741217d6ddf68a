// SPDX-License-Identifier: Apache-2.0
//! Arguments of `hush update`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hush::MissingRows;
use hush_terminal::size;

use super::{KeyArgs, LookupArgs, TokenArgs};

#[derive(Debug, Args)]
pub(crate) struct Update {
    /// Table directory, SERVER/tables/NAME, or s3://BUCKET/PREFIX
    pub(crate) table: PathBuf,
    /// The new values: CSV or Parquet with the key and the columns that change; - is CSV on standard input
    pub(crate) file: PathBuf,
    /// Columns that tell rows apart
    #[arg(long, value_delimiter = ',', required = true, value_name = "COLUMNS")]
    pub(crate) on: Vec<String>,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,
    /// What becomes of rows whose key is not in the table
    #[arg(long, value_enum, default_value_t = Missing::Refuse)]
    pub(crate) missing: Missing,
    /// A key may be that of several rows, which all get the values
    #[arg(long)]
    pub(crate) all: bool,
    /// Count the rows, and change none
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Most memory that the program may take, for instance 64MB (the key included: see keygen --opens-in)
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) memory_limit: Option<u64>,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
}

/// [`MissingRows`] on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Missing {
    /// They are refused, and all others with them
    Refuse,
    /// They are left out
    Skip,
    /// They are added
    Insert,
}

impl From<Missing> for MissingRows {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Refuse => Self::Refuse,
            Missing::Skip => Self::Skip,
            Missing::Insert => Self::Insert,
        }
    }
}
