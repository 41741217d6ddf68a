// SPDX-License-Identifier: Apache-2.0
//! Arguments of `hush append`.

use std::path::PathBuf;

use clap::Args;
use hush_terminal::size;

use super::{KeyArgs, LookupArgs, TokenArgs};

#[derive(Debug, Args)]
pub(crate) struct Append {
    /// CSV or Parquet file, or a folder of them, also in an object store (s3://, gs://, az://); - is CSV on standard input
    pub(crate) file: PathBuf,
    /// Table directory, SERVER/tables/NAME, or s3://BUCKET/PREFIX
    #[arg(long = "output", short = 'o', value_name = "TABLE")]
    pub(crate) table: PathBuf,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,
    /// Your name for these rows: the same batch again adds nothing, other rows under its name are refused
    #[arg(long, value_name = "NAME")]
    pub(crate) batch: Option<String>,
    /// Then compact the table, if that is due
    #[arg(long)]
    pub(crate) compact: bool,
    /// Most memory that the program may take, for instance 64MB (the key included: see keygen --opens-in)
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) memory_limit: Option<u64>,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
}
