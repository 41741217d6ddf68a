// SPDX-License-Identifier: Apache-2.0
//! Text on its way to a person, and the error of one that cannot be written.

use hush::Error;
pub(crate) use hush_terminal::{one_line as json, say, say_error, visible};

/// Writes text to standard output.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    hush_terminal::print(text).map_err(Error::output)
}
