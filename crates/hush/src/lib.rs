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
//!     release: None,
//!     analyze: None,
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
mod location;
mod machine;

use std::path::Path;

pub use error::Error;
pub use hush_client::Fit as ModelFit;
pub use hush_client::remote::{ApiToken, PushReport, RemoteServer, StoredFile, TableSummary};
pub use hush_client::{
    Accepted, Account, AlterOptions, AlterReport, Analysis, AppendOptions, AppendReport, BootstrapAccount,
    Catalogue, CatalogueExplanation, CatalogueOutcome, CheckedStatement, ClientError, Coefficients,
    ColumnCache, CompactOptions, CompactReport, CompactionPlan, CompactionState, Counted, DUE_PARTS,
    DeleteOptions, DeleteReport, DeviceFit, EncryptOptions, Encrypted, ErrorKind, EvalAccount, EvalOptions,
    EvalScheme, Evaluation, Explanation, FileLookup, History, IntegerAccount, Keeping, MAX_REJECTIONS,
    MOST_DELETED_PERCENT, Measured, MissingRows, Model, ModelError, ModelKind, ModelRequest, Moved, NO_HOME,
    NewPassphrase, Numbers, Outcome, OwnedTable, OwnerKey, Passphrase, Phases, PieceAccount, Pins, Policy,
    PreparedQuery, Present, PrivateHalf, ProfileInUse, Progress, Proposal, PurgeReport, Pushed, Rehearsal,
    RehearsalOptions, RejectedDelivery, Revoked, RotateOptions, RotateReport, RotateWay, SchemeKind,
    ScoreRequest, SecurityLine, Silent, Statement, StoredBytes, SumAccount, TableAnswer, TableDecryption,
    TableExplanation, TablePlace, Tree, TreeSize, UnusedProfile, UpdateOptions, UpdateReport, VectorSource,
    Verified, VersionChange, Which, WorkFactor, WorkloadAdvice, harden_process, peak_resident_bytes,
    profile_path, schema_path,
};
pub use hush_edge::{
    Capacity, Destination, DeviceKey, Event as GatewayEvent, GatewayOptions, Input, LineForm,
    Summary as GatewaySummary,
};
pub use hush_plan::error::Front;
pub use hush_plan::physical::MANY_GROUPS;
pub use hush_plan::predict::{MachineProfile, Prediction, Times, UnitCosts};
pub use hush_plan::report::{Cost, EncryptedNode, Leakage, Turn, Way};
pub use hush_plan::schema::alter::Alteration;
pub use hush_plan::schema::file::{Change as SchemaChange, Setting, type_name};
pub use hush_plan::schema::{Column, Purpose};
pub use hush_plan::{Facet, Graph, Limits as QueryLimits, Protection, QueryPlan, Schema, Shown, WayName};
pub use hush_table::source::{BatchColumn, BatchReader, BatchSource, OpenOptions, Source, SourceError};
pub use hush_table::{Manifest, SignedManifest, TableStore, TableUri};
pub use hush_worker as worker;
pub use location::{CopyTarget, Listing, TableLocation, connect, connect_to_table};
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
/// use hush::{EvalOptions, Numbers, Silent, VectorSource, eval};
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
/// let evaluation = eval(&options, &Silent)?;
/// println!("{} by {}", evaluation.batch.num_rows(), evaluation.account.scheme);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error`], with a stable code.
pub fn eval(options: &EvalOptions, progress: &dyn Progress) -> Result<Evaluation, Error> {
    Ok(hush_client::evaluate_expression(options, progress)?)
}

/// Opens a CSV or Parquet file, or a folder of them, also in an object store; see [`hush_client::open_data`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn open(file: &Path) -> Result<Source, Error> {
    Ok(hush_client::open_data(file)?)
}

/// The rows of a source with the columns of other files behind their own, found by keys; see [`hush_client::look_up`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn look_up(source: Source, lookups: &[FileLookup]) -> Result<Source, Error> {
    Ok(hush_client::look_up(source, lookups)?)
}

/// CSV from standard input, or from whatever else can be read only once; see [`Source::from_stream`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn open_stream(input: Box<dyn std::io::Read + Send>) -> Result<Source, Error> {
    Ok(Source::from_stream(input, &OpenOptions::default())?)
}

/// Proposes a schema for data; see [`hush_client::propose_schema`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn propose(source: &Source, policy: &Policy) -> Result<Proposal, Error> {
    Ok(hush_client::propose_schema(source, policy)?)
}

/// Adds to a proposal what makes the queries of a workload clearly cheaper; see [`hush_client::propose_for`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn propose_for(
    source: &Source,
    proposal: &mut Proposal,
    workload: &str,
) -> Result<WorkloadAdvice, Error> {
    Ok(hush_client::propose_for(source, proposal, workload)?)
}

/// The schema of a proposal as `by` approves it; see [`Proposal::approve`].
///
/// # Errors
/// [`Error`] HUSH-S003 while columns are undecided.
pub fn approve(proposal: Proposal, by: &str) -> Result<Schema, Error> {
    Ok(proposal.approve(by)?)
}

/// Changes a proposal so that devices can append rows; see [`hush_client::fit_to_device`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn fit_to_device(proposal: &mut Proposal, capacity: &Capacity) -> Result<DeviceFit, Error> {
    Ok(hush_client::fit_to_device(proposal, capacity)?)
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

/// Reads the text of a schema file, approved or not.
///
/// # Errors
/// [`Error`], with a stable code.
pub fn parse_schema(text: &str) -> Result<Schema, Error> {
    Ok(hush_client::parse_schema(text)?)
}

/// The schema with keys of a column, or its own, changed and not approved; see [`hush_plan::schema::file::edit`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn edit_schema(
    schema: &Schema,
    column: Option<&str>,
    changes: &[SchemaChange<'_>],
) -> Result<Schema, Error> {
    Ok(hush_client::edit_schema(schema, column, changes)?)
}

/// Writes a schema file; see [`hush_client::write_schema`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn write_schema(path: &Path, schema: &Schema, replace: bool) -> Result<(), Error> {
    Ok(hush_client::write_schema(path, schema, replace)?)
}

/// What reading by a schema changes in values; see [`hush_client::reading_notes`].
pub fn reading_notes(schema: &Schema, source: &Source) -> Vec<String> {
    hush_client::reading_notes(schema, source)
}

/// What conditions without keys take for so many rows, in words; see [`hush_plan::filter::note`].
pub fn filter_note(schema: &Schema, rows: u64) -> Option<String> {
    hush_plan::filter::note(schema, rows)
}

/// The text of a schema file.
pub fn schema_text(schema: &Schema) -> String {
    hush_client::schema_text(schema)
}

/// Encrypts data into a table, in a directory or an object store; see [`hush_client::encrypt`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn encrypt(
    options: &EncryptOptions,
    key: &OwnerKey,
    progress: &dyn Progress,
) -> Result<Encrypted, Error> {
    let options = match TableLocation::of_files(&options.output)? {
        // `file:///PATH` is a path.
        TableLocation::Directory(output) => EncryptOptions { output, ..options.clone() },
        _ => options.clone(),
    };
    Ok(hush_client::encrypt(&options, key, progress)?)
}

/// Adds rows to a table; see [`hush_client::append`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn append(
    place: TablePlace<'_>,
    options: &AppendOptions,
    key: &OwnerKey,
    progress: &dyn Progress,
) -> Result<AppendReport, Error> {
    Ok(hush_client::append(place, options, key, progress)?)
}

/// Writes small parts and parts with many deleted rows of a table anew; see [`hush_client::compact`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn compact(
    place: TablePlace<'_>,
    options: &CompactOptions,
    key: &OwnerKey,
    progress: &dyn Progress,
) -> Result<CompactReport, Error> {
    Ok(hush_client::compact(place, options, key, progress)?)
}

/// Alters the columns of a table; see [`hush_client::alter()`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn alter(
    place: TablePlace<'_>,
    options: &AlterOptions,
    key: &OwnerKey,
    progress: &dyn Progress,
) -> Result<AlterReport, Error> {
    Ok(hush_client::alter(place, options, key, progress)?)
}

/// Reads one column as it stands in a schema file, on one line; see [`hush_client::parse_column`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn column_of_text(text: &str) -> Result<Column, Error> {
    Ok(hush_client::parse_column(text)?)
}

/// Gives a table another owner's key, or new secrets; see [`hush_client::rotate`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn rotate(
    place: TablePlace<'_>,
    options: &RotateOptions<'_>,
    key: &OwnerKey,
    progress: &dyn Progress,
) -> Result<RotateReport, Error> {
    Ok(hush_client::rotate(place, options, key, progress)?)
}

/// What [`compact`] would do; see [`hush_client::plan_compaction`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn plan_compaction(place: TablePlace<'_>, which: Which, pins: &Pins) -> Result<CompactionPlan, Error> {
    Ok(hush_client::plan_compaction(place, which, pins)?)
}

/// Takes a table over from a server or an object store, checked; see [`hush_client::pull`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn pull(
    table: TablePlace<'_>,
    to: TablePlace<'_>,
    key: &OwnerKey,
    pins: &Pins,
    progress: &dyn Progress,
) -> Result<SignedManifest, Error> {
    Ok(hush_client::pull(table, to, key, pins, progress)?)
}

/// What the versions of a table have changed; see [`hush_client::history`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn history(place: TablePlace<'_>, key: Option<&OwnerKey>, pins: &Pins) -> Result<History, Error> {
    Ok(hush_client::history(place, key, pins)?)
}

/// Deletes old versions of a table for good, and writes a signed statement of it; see [`hush_client::purge`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn purge(
    place: TablePlace<'_>,
    statement: &Path,
    key: &OwnerKey,
    pins: &Pins,
) -> Result<PurgeReport, Error> {
    Ok(hush_client::purge(place, statement, key, pins)?)
}

/// What [`purge`] would delete; see [`hush_client::look_at_purge`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn look_at_purge(place: TablePlace<'_>, key: &OwnerKey, pins: &Pins) -> Result<PurgeReport, Error> {
    Ok(hush_client::look_at_purge(place, key, pins)?)
}

/// Whether the statement of a purge holds; see [`hush_client::check_statement`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn check_statement(
    statement: &Path,
    place: TablePlace<'_>,
    pins: &Pins,
) -> Result<CheckedStatement, Error> {
    Ok(hush_client::check_statement(statement, place, pins)?)
}

/// The place that the statement of a purge names; see [`hush_client::place_of_statement`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn place_of_statement(statement: &Path) -> Result<String, Error> {
    Ok(hush_client::place_of_statement(statement)?)
}

/// Copies a table to a server or an object store; a version that does not continue the one there needs `replace`. See
/// [`hush_client::push_table`] and [`hush_client::copy_table`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn push(
    table: TablePlace<'_>,
    to: &CopyTarget,
    replace: bool,
    pins: &Pins,
    progress: &dyn Progress,
) -> Result<Pushed, Error> {
    Ok(match to {
        CopyTarget::Server(server) => hush_client::push_table(server, table, replace, pins, progress)?,
        CopyTarget::Files(to) => hush_client::copy_table(table, to.place(), replace, pins, progress)?,
    })
}

/// Deletes rows of a table; see [`hush_client::delete_rows`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn delete_rows(
    place: TablePlace<'_>,
    options: &DeleteOptions,
    key: &OwnerKey,
    progress: &dyn Progress,
) -> Result<DeleteReport, Error> {
    Ok(hush_client::delete_rows(place, options, key, progress)?)
}

/// Gives rows of a table new values; see [`hush_client::update_rows`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn update_rows(
    place: TablePlace<'_>,
    options: &UpdateOptions,
    key: &OwnerKey,
    progress: &dyn Progress,
) -> Result<UpdateReport, Error> {
    Ok(hush_client::update_rows(place, options, key, progress)?)
}

/// Deletes the table `name` of a server, or below a prefix of an object store.
///
/// # Errors
/// [`Error`]: there is no such table; the server or the object store fails.
pub fn drop_table(place: &str, name: &str, token_file: Option<&Path>) -> Result<(), Error> {
    let uri: TableUri = place.parse()?;
    if !matches!(uri, TableUri::Object { .. }) {
        return Ok(connect(place, token_file)?.0.delete(name)?);
    }
    let bucket = hush_table::Catalog::at(&uri)?;
    if bucket.delete(name)? {
        return Ok(());
    }
    Err(hush_table::TableError::NoTable { place: bucket.table(name)?.place() }.into())
}

/// Deletes the table at `SERVER/tables/NAME` or `SCHEME://BUCKET/PREFIX`.
///
/// # Errors
/// As [`drop_table`]; a directory, or a server's address without a table.
pub fn drop_table_at(table: &str, token_file: Option<&Path>) -> Result<(), Error> {
    let TableUri::Object { store, bucket, prefix } = table.parse()? else {
        let (server, name) = connect_to_table(table, token_file)?;
        return Ok(server.delete(&name)?);
    };
    let (below, name) = prefix.rsplit_once('/').unwrap_or(("", &prefix));
    let place = TableUri::Object { store, bucket, prefix: below.to_owned() };
    drop_table(&place.to_string(), name, token_file)
}

/// Makes the key of a device; see [`hush_client::device_key`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn device_key(place: TablePlace<'_>, key: &OwnerKey, pins: &Pins) -> Result<DeviceKey, Error> {
    Ok(hush_client::device_key(place, key, pins)?)
}

/// Takes in what devices delivered; see [`hush_client::accept_deliveries`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn accept_deliveries(
    place: TablePlace<'_>,
    key: &OwnerKey,
    pins: &Pins,
    discard: &[String],
) -> Result<Accepted, Error> {
    Ok(hush_client::accept_deliveries(place, key, pins, discard)?)
}

/// Revokes a device, and removes its rows if asked; see [`hush_client::revoke_device`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn revoke_device(
    place: TablePlace<'_>,
    key: &OwnerKey,
    pins: &Pins,
    device: &str,
    remove_rows: bool,
) -> Result<Revoked, Error> {
    Ok(hush_client::revoke_device(place, key, pins, device, remove_rows)?)
}

/// The whole way of rows through a device; see [`hush_edge::run`].
///
/// # Errors
/// [`Error`], with a stable code.
pub fn run_gateway(
    key: &DeviceKey,
    options: &GatewayOptions,
    report: &(dyn Fn(GatewayEvent) + Sync),
) -> Result<GatewaySummary, Error> {
    Ok(hush_edge::run(key, options, report)?)
}

/// The table that a query names, so that it can be asked for on a server.
///
/// # Errors
/// [`Error`] if the text is not one SELECT over one table.
pub fn table_of_query(sql: &str) -> Result<String, Error> {
    Ok(hush_plan::sql::table_of(sql).map_err(hush_client::ClientError::from)?)
}

/// Measures this machine and keeps the result for predictions; gives the file too. Takes a few seconds.
///
/// # Errors
/// There is no home directory; the file cannot be written.
pub fn calibrate() -> Result<ProfileInUse, Error> {
    let path = profile_path()
        .ok_or_else(|| Error::usage("there is no home directory\n  Way out: set XDG_CACHE_HOME or HOME."))?;
    let profile = hush_client::calibrate()?;
    hush_client::save_profile(&path, &profile)?;
    Ok(ProfileInUse { profile, path: Some(path), unused: None })
}
