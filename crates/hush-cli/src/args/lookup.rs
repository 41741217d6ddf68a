// SPDX-License-Identifier: Apache-2.0
//! Arguments of commands that read rows with columns of other files.

use clap::Args;
use hush::FileLookup;

#[derive(Debug, Args)]
pub(crate) struct LookupArgs {
    /// Give each row the other columns of the row of FILE whose THEIR_KEY is its KEY, or NULLs; may be repeated. KEY:FILE if the name is the same,
    /// A=X,B=Y:FILE for a key of several columns
    #[arg(long = "lookup", value_name = "KEY=THEIR_KEY:FILE")]
    pub(crate) files: Vec<FileLookup>,
}

impl LookupArgs {
    /// The same arguments again, for the command that a message names.
    pub(crate) fn again(&self) -> String {
        self.files.iter().map(|lookup| format!(" --lookup {lookup}")).collect()
    }
}
