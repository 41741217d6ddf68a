// SPDX-License-Identifier: Apache-2.0
//! Refusals to release.

use std::path::PathBuf;

use hush_plan::error::Remedy;

/// A refusal to release.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReleaseError {
    /// The ledger does not open.
    #[error(
        "{path}: the ledger of what was released does not open: it was altered or belongs to another table\n  Ways out: put back the file that was there; or encrypt the table again, which begins a new budget.",
        path = path.display()
    )]
    BadLedger {
        /// The file.
        path: PathBuf,
    },
    /// More numbers than the budget has left.
    #[error(
        "the table's budget of {answers} released numbers has {} left, this takes {asked}; nothing was released\n  Ways out: fewer groups or rows; what was released before costs nothing again; a larger `release = {{ answers = N }}` in the schema, then encrypt again.",
        answers.saturating_sub(*spent)
    )]
    Budget {
        /// Numbers released before.
        spent: u32,
        /// Further numbers.
        asked: u32,
        /// The budget.
        answers: u32,
    },
    /// The scale of a column leaves fewer digits beside the noise.
    #[error("{column} has room for {possible} digits after the point once the noise is on it, not {asked}")]
    Digits {
        /// The column.
        column: String,
        /// Digits asked for.
        asked: i32,
        /// Digits that would be right.
        possible: i32,
    },
    /// There is no ledger for this encryption of the table.
    #[error(
        "{path}: no such file, so that nobody knows what was released of this table before; nothing was released\n  Ways out: release on the machine that encrypted the table; or move that file of its state directory here (move it: two copies count apart); or encrypt the table again, which begins a new budget.",
        path = path.display()
    )]
    NoLedger {
        /// Its expected place.
        path: PathBuf,
    },
    /// Rows that devices encrypted are among those that would be released.
    #[error(
        "the table has rows of devices: a device's ciphertext can be made so that a released number tells of the column's secret; nothing was released\n  Ways out: a table of your own rows; a range in the schema, which makes the column exact (docs/security/devices.md says what devices can do to published results)."
    )]
    Devices,
    /// Some rows are under earlier secrets than others.
    #[error(
        "the table's rows are under {domains} sets of secrets, and a number over several of them would carry noise of each; nothing was released\n  Way out: write the rows under earlier secrets anew: rotate, or compact --all."
    )]
    Domains {
        /// How many.
        domains: usize,
    },
    /// Nothing is remembered, so nothing can be counted.
    #[error(
        "there is no directory in which releases could be counted\n  Way out: set HUSH_STATE_DIR, XDG_STATE_HOME or HOME."
    )]
    Nowhere,
}

impl ReleaseError {
    /// The ways out that the sentence does not tell.
    pub(crate) fn ways_out(&self) -> Vec<Remedy> {
        let Self::Digits { asked, possible, .. } = self else { return Vec::new() };
        let again = format!(
            "`release = {{ digits = {}, answers = N }}` in the schema, which makes room, then encrypt again",
            (*asked).max(0)
        );
        let exact = "a range in the schema, which makes the column exact: exact results need no release";
        vec![Remedy::Release { digits: *possible }, again.into(), exact.into()]
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoLedger { .. } => "HUSH-C080",
            Self::BadLedger { .. } => "HUSH-C081",
            Self::Budget { .. } => "HUSH-C082",
            Self::Digits { .. } => "HUSH-C083",
            Self::Nowhere => "HUSH-C084",
            Self::Devices => "HUSH-C085",
            Self::Domains { .. } => "HUSH-C086",
        }
    }
}
