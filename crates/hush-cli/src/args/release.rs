// SPDX-License-Identifier: Apache-2.0
//! Results that are to leave their owner.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ReleaseArgs {
    /// Make approximate results fit to be given away: noise that hides what they tell of the key, so many digits after the
    /// point (negative: whole tens, hundreds), counted against the table's budget. Exact results need none of this
    #[arg(long = "release", value_name = "DIGITS", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(i32).range(-60..=15))]
    pub(crate) digits: Option<i32>,
}
