// SPDX-License-Identifier: Apache-2.0
//! Where keys and tokens come from: files and descriptors.

use std::path::PathBuf;

use clap::Args;

/// Where the owner's key is and how it opens.
#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    /// Owner key file (default: ~/.config/hushtable/owner.hushkey)
    #[arg(long, value_name = "PATH", env = "HUSH_KEY")]
    pub(crate) key: Option<PathBuf>,
    /// File whose first line is the passphrase
    #[arg(long, value_name = "PATH", env = "HUSH_PASSPHRASE_FILE")]
    pub(crate) passphrase_file: Option<PathBuf>,
    /// Open file descriptor whose first line is the passphrase
    #[arg(long, value_name = "N", conflicts_with = "passphrase_file")]
    pub(crate) passphrase_fd: Option<u32>,
}

/// How to reach a server.
#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    /// File that holds the server's API token
    #[arg(long, value_name = "PATH", env = "HUSH_TOKEN_FILE")]
    pub(crate) token_file: Option<PathBuf>,
}
