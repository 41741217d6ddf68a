// SPDX-License-Identifier: Apache-2.0
//! Arguments of `hush key`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use hush_terminal::size;

use super::KeyArgs;

#[derive(Debug, Args)]
pub(crate) struct Key {
    #[command(subcommand)]
    pub(crate) command: KeyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Put the key under another passphrase
    Passphrase(ChangePassphrase),
    /// Copy the key file, or check that a copy opens and is of this key
    Backup(Backup),
}

#[derive(Debug, Args)]
pub(crate) struct ChangePassphrase {
    /// File whose first line is the new passphrase
    #[arg(long, value_name = "PATH")]
    pub(crate) new_passphrase_file: Option<PathBuf>,
    /// Open file descriptor whose first line is the new passphrase
    #[arg(long, value_name = "N", conflicts_with = "new_passphrase_file")]
    pub(crate) new_passphrase_fd: Option<u32>,
    /// Accept a passphrase of fewer than 12 characters
    #[arg(long)]
    pub(crate) weak_passphrase: bool,
    /// Memory that trying the new passphrase takes at most, for small machines: 16MiB or more (default: about a second's work, 128 MiB or more)
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) opens_in: Option<u64>,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The copy (on another disk, please); nothing is overwritten
    pub(crate) copy: PathBuf,
    /// Write nothing: open the copy that is there, and compare it with the key
    #[arg(long)]
    pub(crate) verify: bool,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
}
