// SPDX-License-Identifier: Apache-2.0
//! The rehearsal: the whole way from a file to a result in one process, with temporary keys and an embedded
//! engine that takes and gives the bytes that a server would.

use std::collections::{BTreeMap, BTreeSet};

use arrow::record_batch::RecordBatch;
use hush_exec::Limits;
use hush_keys::{OwnerSeed, harden_process};
use hush_plan::error::Subject;
use hush_plan::plan::OwnerAggregate;
use hush_plan::schema::Purpose;
use hush_plan::{ColumnType, Needs, PrivateEncoding, Protection, Quantity, Schema, needs_of, read_by_owner};
use hush_table::TableStore;
use hush_table::source::Source;

use crate::account::{Account, Moved, Phases, SecurityLine, Verified};
use crate::ask::Outcome;
use crate::compare::{compare, smallest_magnitude};
use crate::copy;
use crate::encrypt::{Encryption, plan_encodings};
use crate::error::ClientError;
use crate::explain::Analysis;
use crate::independent::check_reading;
use crate::machine::ProfileInUse;
use crate::policy::{Policy, Proposal, propose_schema, protect_undecided};
use crate::private::PrivateHalf;
use crate::schema_file::reading_notes;
use crate::scheme::{Lattice, NoOp, Scheme};
use crate::table::OwnedTable;
use crate::threads::thread_pool;
use crate::workload::keeping;
use hush_remote::Progress;
use hush_system::memory::peak_resident_bytes;

/// Options of a rehearsal.
#[derive(Clone, Debug)]
pub struct RehearsalOptions {
    /// The data: a file, or batches in memory.
    pub source: Source,
    /// The query.
    pub sql: String,
    /// The user's choice of protections.
    pub policy: Policy,
    /// A schema instead of a proposal and the policy.
    pub schema: Option<Schema>,
    /// Recompute everything in the clear and compare.
    pub verify: bool,
    /// Run the same plan with nothing encrypted ([`hush_exec::plain`]).
    pub dry_run: bool,
    /// Digits after the point of approximate results that are to leave the owner; without effect on a dry run.
    pub release: Option<i32>,
    /// Predict with this profile, and put the prediction beside the measurement.
    pub analyze: Option<ProfileInUse>,
    /// Threads.
    pub threads: usize,
}

/// A result with its account.
#[derive(Clone, Debug)]
pub struct Rehearsal {
    /// The result.
    pub batches: Vec<RecordBatch>,
    /// Its cost, and a server's view.
    pub account: Account,
    /// Measured beside predicted, if asked for.
    pub analysis: Option<Analysis>,
}

/// Rehearses one query on one file. `preamble` is called before the work begins, with the columns that will be encrypted
/// and the reasons.
///
/// # Errors
/// Everything that a real run refuses; [`ClientError::Unequal`] if verification finds a difference.
pub fn rehearse(
    options: &RehearsalOptions,
    progress: &dyn Progress,
    preamble: &dyn Fn(&Account),
) -> Result<Rehearsal, ClientError> {
    let by = if options.schema.is_some() { Subject::Schema } else { Subject::Proposal };
    run(options, progress, preamble).map_err(|error| error.rehearsed(by))
}

fn run(
    options: &RehearsalOptions,
    progress: &dyn Progress,
    preamble: &dyn Fn(&Account),
) -> Result<Rehearsal, ClientError> {
    harden_process();
    let pool = thread_pool(options.threads)?;
    let mut phases = Phases::default();
    let source = &options.source;
    let read = phases.time("read", || approved_schema(options, source))?;
    let Proposal { schema, rows, distinct, warnings } = read;
    let (schema, needs, notes) = phases.time("plan", || used_part(&schema, &options.sql))?;
    let encodings = phases.time("plan", || plan_encodings(&schema, &needs, rows))?;
    let mut account = described(source, &schema, rows, warnings, &encodings)?;
    account.dry_run = options.dry_run;
    let known = (rows, &distinct);
    account.keeping = phases.time("plan", || keeping(&schema, &encodings, &options.sql, known))?;
    account.warnings.extend(notes);
    preamble(&account);

    let owner = phases.time("keys", OwnerSeed::generate)?;
    let half = PrivateHalf::new(schema, encodings);
    let store = TableStore::memory();
    let scheme: &'static dyn Scheme = if options.dry_run { &NoOp } else { &Lattice };
    let encryption = Encryption {
        source,
        half: &half,
        owner: &owner,
        store: &store,
        pool: &pool,
        memory_limit: None,
        scheme,
        replaces: None,
        pins: None,
    };
    let phase = if options.dry_run { "copy" } else { "encrypt" };
    let manifest = phases.time(phase, || encryption.run(progress))?;
    let open = || OwnedTable::open_store(&store, &owner, scheme, options.threads, Limits::default());
    let table = phases.time("server", open)?;
    let outcome = pool.install(|| match options.release {
        Some(digits) if !options.dry_run => table.ask_released(&options.sql, digits, progress),
        _ => table.ask(&options.sql, progress),
    })?;
    if !options.dry_run {
        (account.exposed, account.released) = (outcome.exposed.clone(), outcome.released);
    }
    let analysis = options.analyze.clone().map(|profile| table.analyze(&outcome, options.threads, profile));
    let analysis = analysis.transpose()?;
    for (name, seconds) in outcome.phases.iter() {
        phases.add(name, seconds);
    }
    if !options.dry_run {
        account.moved = Moved { up: outcome.moved.up + uploaded_bytes(&manifest), down: outcome.moved.down };
        account.bytes_per_value = bytes_per_value(&half, manifest.manifest());
    }
    account.leakage = outcome.plan.leakage.clone();
    account.precision = outcome.plan.cost.precision;
    if options.verify {
        let verified =
            phases.time("check", || verify(options, source, &half.schema, &outcome, &pool, progress))?;
        account.verified = Some(verified);
    }
    account.phases = phases;
    account.peak_bytes = peak_resident_bytes();
    Ok(Rehearsal { batches: outcome.batches, account, analysis })
}

/// The schema given, or the proposal; undecided columns are protected.
fn approved_schema(options: &RehearsalOptions, source: &Source) -> Result<Proposal, ClientError> {
    let mut proposal = match &options.schema {
        Some(schema) => {
            let rows = count_rows(source, schema)?;
            let warnings = reading_notes(schema, source);
            Proposal { schema: schema.clone(), rows, distinct: BTreeMap::new(), warnings }
        }
        None => propose_schema(source, &options.policy)?,
    };
    let Proposal { schema, rows, .. } = &mut proposal;
    protect_undecided(schema);
    // Sums are sized for the rows at hand: nothing is appended to a rehearsal.
    schema.max_rows = *rows;
    schema.approved = true;
    Ok(proposal)
}

fn count_rows(source: &Source, schema: &Schema) -> Result<u64, ClientError> {
    if let Some(rows) = source.rows() {
        return Ok(rows);
    }
    let mut rows = 0;
    for batch in source.typed_with(schema, |_| hush_table::source::ReadAs::Skip)? {
        rows += batch?.rows as u64;
    }
    Ok(rows)
}

/// The schema with all columns dropped that the query does not use, the needs of the query, and notes on it.
pub(crate) fn used_part(schema: &Schema, sql: &str) -> Result<(Schema, Needs, Vec<String>), ClientError> {
    let query = hush_plan::sql::parse(schema, sql)?;
    let mut used: BTreeSet<String> = query.columns();
    let mut part = schema.clone();
    // No server computes on what the owner reads.
    let by_groups = hush_plan::one_hot::answers(schema, &query);
    let read = if by_groups { BTreeSet::new() } else { read_by_owner(schema, std::slice::from_ref(&query))? };
    for column in part.columns.iter_mut().filter(|column| read.contains(&column.name)) {
        let is_ordered = column.purposes.contains(&Purpose::Order);
        column.purposes = vec![if is_ordered { Purpose::Order } else { Purpose::Fetch }];
    }
    let mut needs = needs_of(&part, std::slice::from_ref(&query))?;
    if used.is_empty() {
        // COUNT(*) reads no column, but a table without columns has no rows. So one column goes along.
        let stored = |protect| schema.protected(protect).next();
        let any = [Protection::Clear, Protection::Encrypt, Protection::Seal].into_iter().find_map(stored);
        if let Some(column) = any {
            used.insert(column.name.clone());
        }
    }
    for column in part.columns.iter_mut().filter(|column| !used.contains(&column.name)) {
        column.protect = Protection::Drop;
    }
    hush_plan::cube::forget_lost(&mut part);
    hush_plan::one_hot::forget_lost(&mut part);
    hush_plan::run::forget_lost(&mut part);
    hush_plan::filter::forget_lost(&mut part);
    if by_groups {
        needs.add_one_hot(&part);
    }
    // The query does not need the column that goes along, but an encrypted one must have an encoding.
    if needs.is_empty() && part.protected(Protection::Clear).next().is_none() {
        needs = Needs::of_purposes(&part)?;
    }
    Ok((part, needs, query.notes()))
}

/// The part of the account that is known before the work.
fn described(
    source: &Source,
    schema: &Schema,
    rows: u64,
    warnings: Vec<String>,
    encodings: &[PrivateEncoding],
) -> Result<Account, ClientError> {
    let reasons =
        |protect| schema.protected(protect).map(|c| (c.name.clone(), c.reason.clone())).collect::<Vec<_>>();
    let clear = reasons(Protection::Clear);
    let mut security: Vec<SecurityLine> = Vec::new();
    for encoding in encodings {
        let set = encoding.public.ring()?;
        let scheme = encoding.public.packing.scheme();
        let line =
            SecurityLine { scheme, degree: set.degree(), log_q: set.log_q_ceil(), bits: set.security_bits() };
        if !security.contains(&line) {
            security.push(line);
        }
    }
    let copied = schema.columns.iter().filter(|column| column.has_copy());
    let copies = copied.map(|column| (column.name.clone(), copy::shape(column).row_bits())).collect();
    Ok(Account {
        copies,
        rows,
        columns: source.columns().len(),
        encrypted: reasons(Protection::Encrypt),
        sealed: reasons(Protection::Seal),
        unused: schema.protected(Protection::Drop).count(),
        warnings,
        clear,
        security,
        ..Account::default()
    })
}

fn uploaded_bytes(manifest: &hush_table::SignedManifest) -> u64 {
    let parts = manifest.manifest().parts.iter().map(hush_table::PartEntry::stored_bytes);
    parts.sum::<u64>() + manifest.as_bytes().len() as u64
}

/// Bytes of encrypted files over encrypted values (each column of the owner counts once per row); `None` with sealed columns in them.
fn bytes_per_value(half: &PrivateHalf, manifest: &hush_table::Manifest) -> Option<f64> {
    if manifest.sealed_columns > 0 {
        return None;
    }
    let encrypted: u64 = manifest.parts.iter().filter_map(|part| part.encrypted).map(|file| file.bytes).sum();
    let values = half.encodings.iter().filter(|e| matches!(e.quantity, Quantity::Value(_))).count() as u64
        * manifest.rows;
    (values > 0).then(|| encrypted as f64 / values as f64)
}

/// Reads the data a second time by other means, answers the query on the same rows with every column clear, and compares.
fn verify(
    options: &RehearsalOptions,
    source: &Source,
    schema: &Schema,
    outcome: &Outcome,
    pool: &rayon::ThreadPool,
    progress: &dyn Progress,
) -> Result<Verified, ClientError> {
    // Floats are rounded when they are encrypted; products of clear rows are multiplied in doubles.
    let has_floats =
        schema.protected(Protection::Encrypt).any(|column| matches!(column.kind, ColumnType::Float { .. }));
    let has_products = outcome
        .plan
        .owner
        .aggregates
        .iter()
        .any(|aggregate| matches!(aggregate, OwnerAggregate::Product { .. }));
    let half = PrivateHalf::new(schema.all_clear(), Vec::new());
    check_reading(source, &half.schema)?;
    let (owner, store) = (OwnerSeed::generate()?, TableStore::memory());
    let encryption = Encryption {
        source,
        half: &half,
        owner: &owner,
        store: &store,
        pool,
        memory_limit: None,
        scheme: &Lattice,
        replaces: None,
        pins: None,
    };
    encryption.run(progress)?;
    let table = OwnedTable::open_store(&store, &owner, &Lattice, options.threads, Limits::default())?;
    let expected = table.ask(&options.sql, progress)?;
    let least = smallest_magnitude(outcome.plan.cost.precision);
    compare(&outcome.batches, &expected.batches, (has_floats || has_products).then_some(least))
}
