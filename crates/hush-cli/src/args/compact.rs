// SPDX-License-Identifier: Apache-2.0
//! Arguments of `hush compact`.

use std::path::PathBuf;

use clap::Args;
use hush::Which;
use hush_terminal::size;

use super::{KeyArgs, TokenArgs};

#[derive(Debug, Args)]
pub(crate) struct Compact {
    /// Table directory, SERVER/tables/NAME, or s3://BUCKET/PREFIX
    pub(crate) table: PathBuf,
    #[command(flatten)]
    pub(crate) parts: PartsArgs,
    /// Say what would be written anew, and change nothing; needs no key
    #[arg(long)]
    pub(crate) dry_run: bool,
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

/// Which parts are written anew; without an option those that are worth it.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct PartsArgs {
    /// Only if it is due: from 8 small parts side by side on, or where a part has more than 20 % of its rows deleted
    #[arg(long)]
    pub(crate) auto: bool,
    /// Also every part with a deleted row
    #[arg(long)]
    pub(crate) deleted: bool,
    /// Every part
    #[arg(long)]
    pub(crate) all: bool,
}

impl PartsArgs {
    /// The rule that they name.
    pub(crate) fn which(&self) -> Which {
        match (self.auto, self.deleted, self.all) {
            (true, ..) => Which::Due,
            (_, true, _) => Which::Deleted,
            (.., true) => Which::All,
            _ => Which::Worth,
        }
    }
}
