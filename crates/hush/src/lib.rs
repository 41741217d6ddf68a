// SPDX-License-Identifier: Apache-2.0
//! Hushtable's stable Rust API: *ask questions of a table that the server cannot read.*
//!
//! ```no_run
//! use std::path::Path;
//!
//! use hush::{Policy, RehearsalOptions, Silent, open, rehearse};
//!
//! # fn main() -> Result<(), hush::Error> {
//! let options = RehearsalOptions {
//!     source: open(Path::new("patients.csv"))?,
//!     sql: "SELECT ward, AVG(age) FROM patients GROUP BY ward".into(),
//!     policy: Policy { clear: vec!["ward".into()], ..Policy::default() },
//!     schema: None,
//!     verify: true,
//!     dry_run: false,
//!     threads: 2,
//! };
//! let rehearsal = rehearse(&options, &Silent, &|_| {})?;
//! println!("{} rows of result", rehearsal.batches[0].num_rows());
//! # Ok(())
//! # }
//! ```
//!
//! The crates below this one may change; what is exported here follows semantic versioning.
//!
//! *Non-goals.* Logic: it lives in `hush-client` and below.

mod error;
mod machine;

use std::path::Path;

pub use error::Error;
pub use hush_client::remote::{ApiToken, PushReport, RemoteServer, TableSummary};
pub use hush_client::{
    Account, EncryptOptions, ErrorKind, Moved, Outcome, OwnedTable, OwnerKey, Passphrase, Phases, Pins,
    Policy, PrivateHalf, Progress, Proposal, Rehearsal, RehearsalOptions, SecurityLine, Silent,
    TableDecryption, Verified, peak_resident_bytes, schema_path,
};
pub use hush_plan::plan::{Cost, Leakage};
pub use hush_plan::schema::Purpose;
pub use hush_plan::{Protection, QueryPlan, Schema};
pub use hush_table::source::{OpenOptions, Source};
pub use hush_table::{Manifest, SignedManifest, TableStore};
pub use machine::{Machine, machine};

/// Rehearses one query on one file; see [`hush_client::rehearse`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn rehearse(
    options: &RehearsalOptions,
    progress: &dyn Progress,
    preamble: &dyn Fn(&Account),
) -> Result<Rehearsal, Error> {
    Ok(hush_client::rehearse(options, progress, preamble)?)
}

/// Opens a CSV or Parquet file; see [`Source::open`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn open(file: &Path) -> Result<Source, Error> {
    Ok(Source::open(file, &OpenOptions::default())?)
}

/// Proposes a schema for data; see [`hush_client::propose_schema`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn propose(source: &Source, policy: &Policy) -> Result<Proposal, Error> {
    Ok(hush_client::propose_schema(source, policy)?)
}

/// Reads a schema file that a person has approved.
///
/// # Errors
/// [`Error`], with a stable code.
pub fn approved_schema(path: &Path) -> Result<Schema, Error> {
    Ok(hush_client::read_approved_schema(path)?)
}

/// Reads a schema file, approved or not.
///
/// # Errors
/// [`Error`], with a stable code.
pub fn read_schema(path: &Path) -> Result<Schema, Error> {
    Ok(hush_client::read_schema(path)?)
}

/// Writes a schema file; see [`hush_client::write_schema`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn write_schema(path: &Path, schema: &Schema, replace: bool) -> Result<(), Error> {
    Ok(hush_client::write_schema(path, schema, replace)?)
}

/// The text of a schema file.
pub fn schema_text(schema: &Schema) -> String {
    hush_client::schema_text(schema)
}

/// Encrypts data into a table directory; see [`hush_client::encrypt`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn encrypt(
    options: &EncryptOptions,
    key: &OwnerKey,
    progress: &dyn Progress,
) -> Result<SignedManifest, Error> {
    Ok(hush_client::encrypt(options, key, progress)?)
}

/// The table that a query names, so that it can be asked for on a server.
///
/// # Errors
/// [`Error`] if the text is not one SELECT over one table.
pub fn table_of_query(sql: &str) -> Result<String, Error> {
    Ok(hush_plan::sql::table_of(sql).map_err(hush_client::ClientError::from)?)
}
