// SPDX-License-Identifier: Apache-2.0
//! Deletes rows: the owner finds them, and a version names beside each part the list of its rows that count no longer.
//!
//! Parts stay as they are, and so do their ciphertexts, until the table is compacted and old versions are purged. The server learns the
//! positions of the deleted rows, and nothing of their values.

#[cfg(test)]
mod tests;

use std::convert::Infallible;

use hush_plan::sql::Condition;
use hush_remote::Progress;
use hush_table::manifest::ChangeKind;
use hush_table::{DeadRows, FileKind, Manifest};

use crate::destination::{Committed, Committer, Destination, Edit, Next};
use crate::error::ClientError;
use crate::find::{Finder, PartId, PartRows, id_of};
use crate::owner::OwnerKey;
use crate::pins::Pins;
use crate::place::{Opened, TablePlace};

/// Options of a deletion.
#[derive(Clone, Debug)]
pub struct DeleteOptions {
    /// The rows to delete: a condition as behind `WHERE`, which may stand before it, on any column that the table has.
    pub condition: String,
    /// Whether it may be all rows.
    pub all: bool,
    /// Whether rows are only counted.
    pub dry_run: bool,
    /// Threads.
    pub threads: usize,
    /// The pins that remember the new version.
    pub pins: Pins,
}

/// The outcome of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeleteReport {
    /// Rows that were deleted now, or would be.
    pub rows: u64,
    /// Version of the table now.
    pub version: u64,
    /// Rows of the table now; of a dry run, before.
    pub table_rows: u64,
    /// Deleted rows that its parts still hold.
    pub dead_rows: u64,
}

/// Deletes the rows that meet a condition from a table in a directory, on a server or in an object store.
///
/// # Errors
/// [`ClientError::Plan`] for a condition that cannot be evaluated; [`ClientError::NoRows`] if no row meets it, [`ClientError::AllRows`] if
/// all do and `all` is not set; another key, a rollback, damage; [`ClientError::Reencrypted`] if the table was replaced meanwhile;
/// [`hush_table::TableError::Busy`] where others keep a directory or a bucket busy; a full disk. The table is then as it was.
///
/// # Cost
/// A query of the members of the condition over clear columns. Where it has others, reading its columns in the chunks that are left;
/// from a server, taking the files of their parts. Then a list of deleted rows for each part that has some, at most a bit a row, and one
/// manifest.
pub fn delete_rows(
    place: TablePlace<'_>,
    options: &DeleteOptions,
    key: &OwnerKey,
    progress: &dyn Progress,
) -> Result<DeleteReport, ClientError> {
    let (owner, pins) = (key.seed(), &options.pins);
    // Before the manifest is read: in a directory nobody else writes meanwhile.
    let destination = if options.dry_run { None } else { Some(Destination::of(place)?) };
    let opened = place.open(owner, pins)?;
    let condition = Condition::parse(&opened.half.schema, &options.condition)?;
    let finder = Finder::new(place, options.threads)?;
    let mut search = Search { place, finder, condition, may_be_all: options.all, progress };
    let Some(destination) = &destination else {
        let (_, rows) = search.rows_of(&opened)?;
        return Ok(DeleteReport { rows, ..report(opened.manifest.manifest()) });
    };
    let mut deletion = Deletion { search, destination, lists: Vec::new(), rows: 0 };
    let committer = Committer { place, owner, pins, destination };
    match committer.commit(&opened, &mut deletion)? {
        Committed::In(version) => {
            destination.tidy();
            Ok(DeleteReport { rows: deletion.rows, ..report(version.manifest()) })
        }
        Committed::Done(never) => match never {},
    }
}

fn report(manifest: &Manifest) -> DeleteReport {
    let (table_rows, dead_rows) = (manifest.living_rows(), manifest.dead_rows());
    DeleteReport { rows: 0, version: manifest.version, table_rows, dead_rows }
}

/// Rows that are looked for.
struct Search<'a> {
    place: TablePlace<'a>,
    finder: Finder<'a>,
    condition: Condition,
    may_be_all: bool,
    progress: &'a dyn Progress,
}

impl Search<'_> {
    /// The rows of a version that meet the condition, and how many they are: some, and not all unless they may be.
    fn rows_of(&mut self, present: &Opened) -> Result<(PartRows, u64), ClientError> {
        let found = self.finder.find(present, &self.condition, self.progress)?;
        let rows: u64 = found.values().map(|rows| rows.len() as u64).sum();
        if rows == 0 {
            return Err(ClientError::NoRows { place: self.place.name() });
        }
        if rows == present.manifest.manifest().living_rows() && !self.may_be_all {
            return Err(ClientError::AllRows { place: self.place.name(), rows });
        }
        Ok((found, rows))
    }
}

/// Rows on their way out of a table.
struct Deletion<'a> {
    search: Search<'a>,
    destination: &'a Destination<'a>,
    /// The lists of the last version that was tried.
    lists: Vec<(PartId, DeadRows)>,
    /// The rows that it deletes.
    rows: u64,
}

impl Edit for Deletion<'_> {
    type Done = Infallible;

    fn next(&mut self, present: &Opened) -> Result<Next<Infallible>, ClientError> {
        let (found, rows) = self.search.rows_of(present)?;
        let mut next = present.manifest.manifest().clone();
        next.version = next.version.saturating_add(1);
        self.lists = kill(&mut next, &found, &self.search.finder, self.destination)?;
        self.rows = rows;
        next.record(ChangeKind::Delete, 0, rows);
        Ok(Next::Version(Box::new(next)))
    }

    fn has_landed(&self, found: &Manifest) -> Result<bool, ClientError> {
        are_dead(&self.lists, found, &self.search.finder)
    }
}

/// Stores lists of the deleted rows of parts, those that were deleted before among them, and names them in the manifest to come.
///
/// # Errors
/// Damage; those of the place.
pub(crate) fn kill(
    next: &mut Manifest,
    rows: &PartRows,
    finder: &Finder<'_>,
    destination: &Destination<'_>,
) -> Result<Vec<(PartId, DeadRows)>, ClientError> {
    let mut lists = Vec::with_capacity(rows.len());
    for (part, rows) in rows {
        let entry = next.parts.get_mut(*part);
        let entry = entry.ok_or(ClientError::Internal { what: "rows of a part that is not there" })?;
        let mut list = DeadRows::new(entry.rows, rows.iter().copied());
        if let Some(before) = finder.dead_rows(entry)? {
            list = list.union(&before);
        }
        let dead = destination.store().put_dead_rows(&list)?;
        destination.send_files([(FileKind::Dead, dead.file)])?;
        entry.dead = Some(dead);
        lists.push((id_of(entry), list));
    }
    Ok(lists)
}

/// Whether all rows of some lists are deleted in a version.
///
/// # Errors
/// Damage; those of the place.
pub(crate) fn are_dead(
    lists: &[(PartId, DeadRows)],
    found: &Manifest,
    finder: &Finder<'_>,
) -> Result<bool, ClientError> {
    for (id, list) in lists {
        let Some(entry) = found.parts.iter().find(|entry| id_of(entry) == *id) else { return Ok(false) };
        let Some(dead) = finder.dead_rows(entry)? else { return Ok(false) };
        if dead.union(list) != dead {
            return Ok(false);
        }
    }
    Ok(true)
}
