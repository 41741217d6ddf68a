// SPDX-License-Identifier: Apache-2.0
//! Gives rows new values: the owner finds them by a key, deletes them and adds them again with the new values, in one version.
//!
//! Changed rows stand at the end of the table then. An update given twice changes nothing the second time, so it may be repeated after
//! any failure. The server learns which rows went and how many came.

mod given;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt64Array};
use arrow::compute::{filter_record_batch, take, take_record_batch};
use arrow::datatypes::{Field, Float64Type, Schema as ArrowSchema};
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, SortField};
use hush_plan::bounds::Values;
use hush_plan::physical::stored_bounds;
use hush_plan::schema::Column;
use hush_plan::{ColumnType, Protection, Quantity};
use hush_remote::Progress;
use hush_table::manifest::ChangeKind;
use hush_table::source::Source;
use hush_table::{Appender, DeadRows, Manifest, PartEntry};

use self::given::Given;
use crate::append::RowStore;
use crate::delete::{are_dead, kill};
use crate::destination::{Committed, Committer, Destination, Edit, Next};
use crate::error::ClientError;
use crate::find::{Finder, PartId, PartRows, id_of};
use crate::owner::OwnerKey;
use crate::pins::Pins;
use crate::place::{Opened, TablePlace};
use crate::precision::{stable_digits, to_digits};

/// What becomes of rows whose key is not in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingRows {
    /// They are refused, and all others with them.
    #[default]
    Refuse,
    /// They are left out.
    Skip,
    /// They are added.
    Insert,
}

/// Options of an update.
#[derive(Clone, Debug)]
pub struct UpdateOptions {
    /// The new values: the key and the columns that change.
    pub source: Source,
    /// The columns that tell rows apart.
    pub key: Vec<String>,
    /// What becomes of rows whose key is not in the table.
    pub missing: MissingRows,
    /// Whether a key may be that of several rows, which all get the values.
    pub all: bool,
    /// Whether rows are only counted.
    pub dry_run: bool,
    /// Threads.
    pub threads: usize,
    /// Most bytes of memory that the process may take, its code included; `None` for as many as the system allows.
    pub memory_limit: Option<u64>,
    /// The pins that remember the new version.
    pub pins: Pins,
}

/// The outcome of an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateReport {
    /// Rows that were given.
    pub given: u64,
    /// Rows of the table with new values.
    pub updated: u64,
    /// Rows of the table that had the values already.
    pub unchanged: u64,
    /// Rows that were added.
    pub inserted: u64,
    /// Rows that were left out, because their key is not in the table.
    pub skipped: u64,
    /// Bytes that were stored for new values, without the manifest.
    pub bytes: u64,
    /// Version of the table now.
    pub version: u64,
    /// Rows of the table now; of a dry run, before.
    pub table_rows: u64,
    /// Deleted rows, those with old values among them, that its parts still hold.
    pub dead_rows: u64,
    /// Stored rows beyond those that the schema's `max_rows` sized the sums for.
    pub rows_beyond: u64,
}

/// Gives rows of a table in a directory, on a server or in an object store new values.
///
/// # Errors
/// Rows that do not fit the table's schema; a column that was dropped; [`ClientError::NullKey`], [`ClientError::DuplicateKey`];
/// [`ClientError::MissingKeys`] and [`ClientError::ManyRows`] for keys of none and of several rows, unless the options allow them;
/// [`ClientError::NeedsColumn`] for a column whose values the table cannot give back; those of [`crate::delete_rows`]. The table is then as it was.
///
/// # Cost
/// Finding the rows, as [`crate::delete_rows`] does; reading all columns of their chunks; encrypting the changed rows. The rows that
/// are given, and those that change, are in memory.
pub fn update_rows(
    place: TablePlace<'_>,
    options: &UpdateOptions,
    key: &OwnerKey,
    progress: &dyn Progress,
) -> Result<UpdateReport, ClientError> {
    let (owner, pins) = (key.seed(), &options.pins);
    // Before the manifest is read: in a directory nobody else writes meanwhile.
    let destination = if options.dry_run { None } else { Some(Destination::of(place)?) };
    let opened = place.open(owner, pins)?;
    let given = Given::read(&options.source, &opened.half.schema, &options.key)?;
    let finder = Finder::new(place, options.threads)?;
    let mut search = Search { place, options, finder, given, progress };
    let Some(destination) = &destination else {
        let change = search.change(&opened)?;
        return Ok(report(change.counts, &opened, opened.manifest.manifest()));
    };
    let mut update = Update { search, destination, prepared: None, dead: Vec::new() };
    let committer = Committer { place, owner, pins, destination };
    match committer.commit(&opened, &mut update)? {
        Committed::In(version) => {
            let prepared = update.prepared.ok_or(ClientError::Internal { what: "an update without rows" })?;
            let counts = UpdateReport { bytes: prepared.bytes(), ..prepared.change.counts };
            prepared.appender.keep();
            destination.tidy();
            Ok(report(counts, &opened, version.manifest()))
        }
        Committed::Done(unchanged) => Ok(unchanged),
    }
}

fn report(counts: UpdateReport, opened: &Opened, now: &Manifest) -> UpdateReport {
    let rows_beyond = now.rows.saturating_sub(opened.half.schema.max_rows);
    let (table_rows, dead_rows) = (now.living_rows(), now.dead_rows());
    UpdateReport { version: now.version, table_rows, dead_rows, rows_beyond, ..counts }
}

/// Rows that are looked for, with their new values.
struct Search<'a> {
    place: TablePlace<'a>,
    options: &'a UpdateOptions,
    finder: Finder<'a>,
    given: Given,
    progress: &'a dyn Progress,
}

/// What an update changes in a version.
struct Change {
    /// The rows that go.
    old: PartRows,
    /// The rows that come, with all columns.
    new: RecordBatch,
    counts: UpdateReport,
}

impl Search<'_> {
    /// What is to be changed in a version.
    fn change(&mut self, present: &Opened) -> Result<Change, ClientError> {
        let found = self.finder.find(present, &self.given, self.progress)?;
        let old = self.finder.rows(present, &found)?;
        let given: Vec<usize> = self.given.of(&old)?.into_iter().flatten().collect();
        if given.len() != old.num_rows() {
            return Err(ClientError::Internal { what: "a row that was not looked for" });
        }
        let missing = self.missing(&given)?;
        let new = self.overlaid(present, &old, &given)?;
        let changed = changed(&self.given.rows, &old, &new)?;
        let updated = changed.true_count();
        let (skipped, inserted) = match self.options.missing {
            MissingRows::Insert => (Vec::new(), missing),
            _ => (missing, Vec::new()),
        };
        let counts = UpdateReport {
            given: self.given.rows.num_rows() as u64,
            updated: updated as u64,
            unchanged: (old.num_rows() - updated) as u64,
            inserted: inserted.len() as u64,
            skipped: skipped.len() as u64,
            ..UpdateReport::default()
        };
        let mut new = filter_record_batch(&new, &changed)?;
        if !inserted.is_empty() {
            let inserted = UInt64Array::from_iter_values(inserted.iter().map(|row| *row as u64));
            let inserted = self.complete(&new, &take_record_batch(&self.given.rows, &inserted)?)?;
            new = arrow::compute::concat_batches(&new.schema(), [&new, &inserted])?;
        }
        Ok(Change { old: only(found, &changed), new, counts })
    }

    /// The given rows whose key is not in the table, after a check of how often each is. `given` has the given row of each row found.
    fn missing(&self, given: &[usize]) -> Result<Vec<usize>, ClientError> {
        let mut times = vec![0_u64; self.given.rows.num_rows()];
        given.iter().for_each(|row| times.get_mut(*row).into_iter().for_each(|times| *times += 1));
        let place = || self.place.name();
        if let Some(row) = times.iter().position(|times| *times > 1).filter(|_| !self.options.all) {
            let found = times.get(row).copied().unwrap_or_default();
            return Err(ClientError::ManyRows { place: place(), row: row as u64 + 1, found });
        }
        let missing: Vec<usize> = (0..times.len()).filter(|row| times.get(*row) == Some(&0)).collect();
        match (missing.first(), self.options.missing) {
            (Some(first), MissingRows::Refuse) => {
                let (first, count) = (*first as u64 + 1, missing.len() as u64);
                Err(ClientError::MissingKeys { place: place(), first, count })
            }
            _ => Ok(missing),
        }
    }

    /// The rows `old` with the values that were given for them; all columns that the table has.
    fn overlaid(
        &self,
        present: &Opened,
        old: &RecordBatch,
        given: &[usize],
    ) -> Result<RecordBatch, ClientError> {
        let rows = UInt64Array::from_iter_values(given.iter().map(|row| *row as u64));
        let (mut fields, mut columns) = (Vec::new(), Vec::<ArrayRef>::new());
        let schema = &present.half.schema;
        for column in schema.columns.iter().filter(|column| column.protect != Protection::Drop) {
            let array = match (self.given.rows.column_by_name(&column.name), old.column_by_name(&column.name))
            {
                (Some(given), _) => take(given, &rows, None)?,
                (None, Some(old)) => kept(present, column, old)?,
                (None, None) => return Err(ClientError::NeedsColumn { column: column.name.clone() }),
            };
            fields.push(Field::new(&column.name, array.data_type().clone(), true));
            columns.push(array);
        }
        Ok(RecordBatch::try_new(ArrowSchema::new(fields).into(), columns)?)
    }

    /// Given rows as rows of the table, which have all columns of `like`.
    fn complete(&self, like: &RecordBatch, rows: &RecordBatch) -> Result<RecordBatch, ClientError> {
        let schema = like.schema();
        let column = |field: &Field| {
            let found = rows.column_by_name(field.name()).cloned();
            found.ok_or_else(|| ClientError::NeedsColumn { column: field.name().clone() })
        };
        let columns = schema.fields().iter().map(|field| column(field)).collect::<Result<Vec<_>, _>>()?;
        Ok(RecordBatch::try_new(schema, columns)?)
    }
}

/// Values as they are encrypted again: approximate ones with digits to which rounding them once more changes nothing.
fn kept(opened: &Opened, column: &Column, old: &ArrayRef) -> Result<ArrayRef, ClientError> {
    let is_decrypted = column.protect == Protection::Encrypt && column.is_approximate();
    let (ColumnType::Float { digits }, true) = (column.kind, is_decrypted) else { return Ok(old.clone()) };
    let Opened { half, keys, manifest, .. } = opened;
    if column.has_copy() && half.without_copies(manifest.manifest()).is_empty() {
        // Copies give the values that were read.
        return Ok(old.clone());
    }
    let (value, bounds) =
        (Quantity::Value(column.name.clone()), stored_bounds(&half.schema, &half.encodings)?);
    let bound = keys.present().columns.iter().zip(bounds).find(|(key, _)| key.encoding.quantity == value);
    let digits = match bound.map(|(_, bound)| bound.values) {
        Some(Values::Approx { error, .. }) => stable_digits(digits, error),
        _ => None,
    };
    let (digits, values) = digits
        .zip(old.as_primitive_opt::<Float64Type>())
        .ok_or_else(|| ClientError::NeedsColumn { column: column.name.clone() })?;
    Ok(Arc::new(values.unary::<_, Float64Type>(|value| to_digits(value, digits))))
}

/// Which rows have other values in the given columns than before.
fn changed(given: &RecordBatch, old: &RecordBatch, new: &RecordBatch) -> Result<BooleanArray, ClientError> {
    let mut changed = vec![false; new.num_rows()];
    for field in given.schema().fields() {
        let (before, after) = (old.column_by_name(field.name()), new.column_by_name(field.name()));
        let (Some(before), Some(after)) = (before, after) else {
            // What the table cannot give back counts as changed.
            changed.fill(true);
            continue;
        };
        let converter = RowConverter::new(vec![SortField::new(after.data_type().clone())])?;
        let both = [before, after].map(|column| converter.convert_columns(std::slice::from_ref(column)));
        let [before, after] = both;
        let (before, after) = (before?, after?);
        for (changed, (before, after)) in changed.iter_mut().zip(before.iter().zip(after.iter())) {
            *changed |= before != after;
        }
    }
    Ok(changed.into())
}

/// The rows that changed, of those that were found; in the order of the table.
fn only(found: PartRows, changed: &BooleanArray) -> PartRows {
    let mut changed = changed.values().iter();
    let mut kept: PartRows = BTreeMap::new();
    for (part, rows) in found {
        let rows: Vec<u64> = rows.into_iter().filter(|_| changed.next().unwrap_or(false)).collect();
        if !rows.is_empty() {
            kept.insert(part, rows);
        }
    }
    kept
}

/// An update on its way into a table.
struct Update<'a> {
    search: Search<'a>,
    destination: &'a Destination<'a>,
    prepared: Option<Prepared>,
    /// The lists of the last version that was tried.
    dead: Vec<(PartId, DeadRows)>,
}

/// Rows with new values that are stored.
struct Prepared {
    change: Change,
    /// The parts of the rows that go, by number.
    gone: BTreeMap<usize, PartId>,
    appender: Appender,
}

impl Prepared {
    fn parts(&self) -> &[PartEntry] {
        self.appender.stored()
    }

    fn bytes(&self) -> u64 {
        self.parts().iter().map(PartEntry::stored_bytes).sum()
    }
}

impl Edit for Update<'_> {
    type Done = UpdateReport;

    fn next(&mut self, present: &Opened) -> Result<Next<UpdateReport>, ClientError> {
        let change = self.search.change(present)?;
        let manifest = present.manifest.manifest();
        if change.new.num_rows() == 0 {
            self.prepared = None;
            return Ok(Next::Done(report(change.counts, present, manifest)));
        }
        let gone = change.old.keys().filter_map(|part| Some((*part, id_of(manifest.parts.get(*part)?))));
        let gone: BTreeMap<usize, PartId> = gone.collect();
        // Behind a version of others mostly the same rows change, and are stored already.
        let is_stored = self.prepared.as_ref().is_some_and(|prepared| {
            prepared.gone.values().eq(gone.values())
                && prepared.change.old.values().eq(change.old.values())
                && prepared.change.new == change.new
        });
        if !is_stored {
            let appender = self.store(present, &change.new)?;
            self.prepared = Some(Prepared { change, gone, appender });
        } else if let Some(prepared) = &mut self.prepared {
            prepared.change = change;
            prepared.gone = gone;
        }
        let prepared =
            self.prepared.as_ref().ok_or(ClientError::Internal { what: "an update without rows" })?;
        let mut next = manifest.clone();
        next.version = next.version.saturating_add(1);
        self.dead = kill(&mut next, &prepared.change.old, &self.search.finder, self.destination)?;
        let (added, removed) = (prepared.change.new.num_rows() as u64, prepared.change.counts.updated);
        next.rows = next.rows.saturating_add(added);
        next.parts.extend_from_slice(prepared.parts());
        next.lengths.add(prepared.appender.lengths());
        next.record(ChangeKind::Update, added, removed);
        Ok(Next::Version(Box::new(next)))
    }

    fn has_landed(&self, found: &Manifest) -> Result<bool, ClientError> {
        let Some(prepared) = &self.prepared else { return Ok(false) };
        let has_new =
            prepared.parts().iter().all(|part| found.parts.iter().any(|found| id_of(found) == id_of(part)));
        Ok(has_new && are_dead(&self.dead, found, &self.search.finder)?)
    }
}

impl Update<'_> {
    /// Encrypts rows and stores their parts.
    fn store(&self, opened: &Opened, rows: &RecordBatch) -> Result<Appender, ClientError> {
        let Search { options, progress, .. } = &self.search;
        let UpdateOptions { threads, memory_limit, .. } = **options;
        let store = RowStore { opened, destination: self.destination, threads, memory_limit };
        let table = &opened.half.schema.table;
        let source = Source::from_batches(table, rows.schema(), std::slice::from_ref(rows))?;
        Ok(store.store(&source, None, *progress)?.appender)
    }
}
