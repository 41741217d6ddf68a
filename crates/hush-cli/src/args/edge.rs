// SPDX-License-Identifier: Apache-2.0
//! Arguments of `hush edge`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{KeyArgs, TokenArgs};

/// The commands of `hush edge`.
#[derive(Debug, Args)]
pub(crate) struct Edge {
    #[command(subcommand)]
    pub(crate) command: EdgeCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EdgeCommand {
    /// Make the key of a device: it encrypts rows of a table, and decrypts nothing
    Key(DeviceKeyArgs),
    /// Encrypt rows as they come and deliver them, on the device
    Run(hush_edge::command::GatewayArgs),
    /// Take what devices have delivered into the table
    Accept(Accept),
    /// Refuse a device's deliveries from now on; with --remove-rows, take its rows out of the table
    Revoke(Revoke),
}

#[derive(Debug, Args)]
pub(crate) struct DeviceKeyArgs {
    /// Table directory, SERVER/tables/NAME, or s3://BUCKET/PREFIX
    pub(crate) table: String,
    /// Where to write the device's key
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Accept {
    /// Table directory, SERVER/tables/NAME, or s3://BUCKET/PREFIX
    pub(crate) table: String,
    /// Discard this waiting delivery for good, so that its stream goes on without it (may be given again)
    #[arg(long, value_name = "DELIVERY")]
    pub(crate) reject: Vec<String>,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
    /// Print what was taken in as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Revoke {
    /// Table directory, SERVER/tables/NAME, or s3://BUCKET/PREFIX
    pub(crate) table: String,
    /// The device: its 32 digits, as hush edge key prints them; of one that has delivered, the first 8 or more
    pub(crate) device: String,
    /// Remove the device's rows from the table too
    #[arg(long)]
    pub(crate) remove_rows: bool,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
    /// Print what was done as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
