// SPDX-License-Identifier: Apache-2.0
//! Arguments of `hush rotate`.

use std::path::PathBuf;

use clap::Args;
use hush::RotateWay;
use hush_terminal::size;

use super::{KeyArgs, TokenArgs};

#[derive(Debug, Args)]
pub(crate) struct Rotate {
    /// Table directory, SERVER/tables/NAME, or s3://BUCKET/PREFIX
    pub(crate) table: PathBuf,
    #[command(flatten)]
    pub(crate) way: WayArgs,
    /// Owner key file that the table is to have from now on (default: it keeps its key)
    #[arg(long, value_name = "PATH")]
    pub(crate) new_key: Option<PathBuf>,
    /// File whose first line is the passphrase of the new key
    #[arg(long, value_name = "PATH", requires = "new_key")]
    pub(crate) new_passphrase_file: Option<PathBuf>,
    /// Open file descriptor whose first line is the passphrase of the new key
    #[arg(long, value_name = "N", requires = "new_key", conflicts_with = "new_passphrase_file")]
    pub(crate) new_passphrase_fd: Option<u32>,
    /// In the end, take the roots of all earlier secrets out of the key file: no copy of an earlier version opens any more (only a table with
    /// erasable = true in its schema)
    #[arg(long, conflicts_with_all = ["new_rows", "rewrap"])]
    pub(crate) forget: bool,
    /// The outcome as one JSON object on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Most memory that the program may take, for instance 64MB (the key included: see keygen --opens-in)
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) memory_limit: Option<u64>,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
}

/// What is replaced; without an option all secrets, and every row is written anew.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct WayArgs {
    /// New secrets for the rows to come; rows that are there stay as they are
    #[arg(long)]
    pub(crate) new_rows: bool,
    /// The owner's key alone; all rows and their secrets stay as they are
    #[arg(long, requires = "new_key")]
    pub(crate) rewrap: bool,
}

impl WayArgs {
    /// The way that they name.
    pub(crate) fn way(&self) -> RotateWay {
        match (self.new_rows, self.rewrap) {
            (true, _) => RotateWay::NewRows,
            (_, true) => RotateWay::Rewrap,
            _ => RotateWay::Everything,
        }
    }
}
