// SPDX-License-Identifier: Apache-2.0
//! Hushtable's stable Rust API: *ask questions of a table that the server cannot read.*
//!
//! ```no_run
//! use hush::{Policy, RehearsalOptions, Silent, rehearse};
//!
//! # fn main() -> Result<(), hush::Error> {
//! let options = RehearsalOptions {
//!     file: "patients.csv".into(),
//!     sql: "SELECT ward, AVG(age) FROM patients GROUP BY ward".into(),
//!     policy: Policy { clear: vec!["ward".into()], ..Policy::default() },
//!     schema: None,
//!     verify: true,
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
    Account, EncryptOptions, ErrorKind, EvalAccount, EvalOptions, Evaluation, Moved, Numbers, Outcome,
    OwnedTable, OwnerKey, Passphrase, Phases, Pins, Policy, PrivateHalf, Progress, Proposal, Rehearsal,
    RehearsalOptions, SchemeKind, SecurityLine, Silent, TableDecryption, VectorSource, Verified,
    peak_resident_bytes, schema_path,
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

/// Evaluates an expression on encrypted vectors, as a rehearsal in one process.
///
/// ```no_run
/// use hush::{EvalOptions, Numbers, VectorSource, eval};
///
/// # fn main() -> Result<(), hush::Error> {
/// let vector = |values: &[i64]| VectorSource::Numbers(Numbers::Integers(values.to_vec()));
/// let options = EvalOptions {
///     expression: "y*(x+z)".into(),
///     vectors: vec![
///         ("x".into(), vector(&[1, 2, 3])),
///         ("y".into(), vector(&[4, 5, 6])),
///         ("z".into(), VectorSource::Text("readings.csv:z".into())),
///     ],
///     data: None,
///     scheme: None,
///     precision: None,
///     verify: true,
///     threads: 2,
/// };
/// let evaluation = eval(&options)?;
/// println!("{} by {}", evaluation.batch.num_rows(), evaluation.account.scheme);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error`], with a stable code.
pub fn eval(options: &EvalOptions) -> Result<Evaluation, Error> {
    Ok(hush_client::evaluate_expression(options)?)
}

/// Proposes a schema for a file; see [`hush_client::propose_schema`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn propose(file: &Path, policy: &Policy) -> Result<Proposal, Error> {
    let source = Source::open(file, &OpenOptions::default()).map_err(hush_client::ClientError::from)?;
    Ok(hush_client::propose_schema(&source, policy)?)
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

/// Encrypts a file into a table directory; see [`hush_client::encrypt_file`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn encrypt(
    options: &EncryptOptions,
    key: &OwnerKey,
    progress: &dyn Progress,
) -> Result<SignedManifest, Error> {
    Ok(hush_client::encrypt_file(options, key, progress)?)
}

/// The table that a query names, so that it can be asked for on a server.
///
/// # Errors
/// [`Error`] if the text is not one SELECT over one table.
pub fn table_of_query(sql: &str) -> Result<String, Error> {
    Ok(hush_plan::sql::table_of(sql).map_err(hush_client::ClientError::from)?)
}
