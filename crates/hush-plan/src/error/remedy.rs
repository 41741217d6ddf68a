// SPDX-License-Identifier: Apache-2.0
//! What somebody can do about an error: facts here, words in a file for each front.
//!
//! What is an option of the command line is an argument in Python. So an error of a library says what it found and which remedies
//! there are, and the front that shows it words them.

mod command_line;
mod device;
mod python;

/// The program that shows an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Front {
    /// `hush`.
    #[default]
    CommandLine,
    /// `hush-edge`, on a device.
    Device,
    /// The package `hushtable`.
    Python,
}

/// The thing that a query was asked of: it decides how a column becomes clear.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Subject {
    /// Data at hand, protected by a proposal and the caller's choice: a rehearsal.
    #[default]
    Proposal,
    /// Data at hand, protected by a schema: a rehearsal too.
    Schema,
    /// A table that is stored, or is being made.
    Table,
}

/// A way out of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Say that it may be all rows.
    AllRows,
    /// Approve a schema.
    Approve,
    /// Let the server read a column.
    Clear {
        /// Its name.
        column: String,
        /// Its protection.
        of: Subject,
    },
    /// Have a copy of a stored column, for the owner to read.
    Copy {
        /// Its name.
        column: String,
    },
    /// Say whether undecided columns are protected.
    Decide,
    /// Have the owner's columns back without a query.
    Decrypt,
    /// Name a delivery as it is listed.
    DeliveryName,
    /// Name a device by its digits.
    DeviceDigits {
        /// How many suffice for one that has delivered.
        fewest: usize,
    },
    /// Make a key for a device.
    DeviceKey,
    /// Show a server the devices' token.
    DeviceToken,
    /// Work in a directory, then push.
    Directory,
    /// Take a table off a server, whose place another one wants.
    Drop {
        /// The server's address.
        url: String,
        /// The table.
        table: String,
    },
    /// Read how the options of an evaluation are written.
    EvalHelp,
    /// Evaluate in a scheme that is exact.
    Exact,
    /// Encrypt fewer columns.
    FewerColumns,
    /// Evaluate approximately.
    Inexact,
    /// Make a key that takes less memory to open.
    LighterKey {
        /// The memory there is, in MiB.
        limit_mib: u64,
    },
    /// Make room for long texts, or leave them out; nothing was written.
    LongTexts,
    /// Ask for fewer digits.
    LooserPrecision,
    /// Measure what a device can carry.
    MeasureDevice,
    /// Let the process take more memory.
    Memory {
        /// How much, as people write it: `64MB`.
        needed: String,
    },
    /// Leave rows out that are not in the table, or add them.
    MissingRows,
    /// Let the process take more memory; nobody knows how much.
    MoreMemory,
    /// Replace a device's key and its spool.
    NewDeviceKey,
    /// Replace the keys of all devices, and their spools.
    NewDeviceKeys,
    /// Give a precision as it is written.
    Precision,
    /// Have a schema proposed.
    Propose,
    /// Have a schema proposed by this version.
    ProposeAgain,
    /// Look at a proposal.
    ProposeExample,
    /// Push the version that was made.
    Push,
    /// Release a result with other digits.
    Release {
        /// After the point; below 0, whole tens, hundreds, ….
        digits: i32,
    },
    /// Give a table another name.
    Rename,
    /// Open a table again, which has a new version.
    Reopen,
    /// Replace a file.
    Replace,
    /// Say that a table may be replaced.
    ReplaceTable,
    /// Shut a device out.
    Revoke,
    /// The same in every front.
    Say(String),
    /// Put the question to several tables, or to one as often as it needs.
    SeveralTables,
    /// Give each device's key a spool of its own.
    SpoolEach,
    /// Begin with another spool.
    SpoolOther,
    /// Deliver what the spool holds, or give it more room.
    SpoolRoom,
    /// Show a server its token.
    Token,
    /// Give an expression's vectors.
    Vectors,
    /// Name a vector's column.
    VectorColumn,
    /// Take a weak passphrase all the same.
    WeakPassphrase,
    /// Make a key that takes more memory to open.
    Work {
        /// At least, as people write it: `16MiB`.
        least: String,
    },
    /// Encrypt for the queries that shall be asked.
    Workload {
        /// What the query was asked of: a table that is there is replaced.
        of: Subject,
    },
}

impl Remedy {
    /// The remedy in the words of a front, a phrase without a stop.
    pub fn describe(&self, front: Front) -> String {
        match front {
            Front::CommandLine => command_line::describe(self),
            Front::Device => device::describe(self),
            Front::Python => python::describe(self),
        }
    }
}

impl From<&str> for Remedy {
    fn from(text: &str) -> Self {
        Self::Say(text.to_owned())
    }
}

impl From<String> for Remedy {
    fn from(text: String) -> Self {
        Self::Say(text)
    }
}

/// A column made clear by `choice`: at a rehearsal that is all, a table is encrypted again.
fn clear(column: &str, of: Subject, choice: String) -> String {
    let choice = match of {
        Subject::Proposal => choice,
        Subject::Schema | Subject::Table => format!("protect = \"clear\" for {column} in the schema"),
    };
    let again = if of == Subject::Table { ", then encrypt again" } else { "" };
    format!("{choice}{again} (the server reads {column})")
}

/// What fewer digits than none mean, in brackets.
fn tens(digits: i32) -> String {
    if digits < 0 { format!(" (whole multiples of 10^{})", -digits) } else { String::new() }
}

#[cfg(test)]
mod tests;
