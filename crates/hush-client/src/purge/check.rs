// SPDX-License-Identifier: Apache-2.0
//! Whether a statement of a purge still holds: it is as its owner signed it, and none of its files is at the place.

use std::collections::HashSet;
use std::path::Path;

use hush_remote::StoredFile;
use hush_table::{PartName, TableStore, named_files};

use super::error::PurgeError;
use super::statement::{Statement, read};
use super::{name_of, require_gone};
use crate::error::ClientError;
use crate::pins::Pins;
use crate::place::TablePlace;

/// A statement that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedStatement {
    /// The statement.
    pub statement: Statement,
    /// Files of which a server says nothing, because nobody can ask for them by name: hash trees and old manifests.
    pub unasked: u64,
    /// Files that a later version of the owner's names again, because it has the same clear columns or the same list of deleted rows.
    pub named_again: u64,
}

/// The place that a statement is about, as it was written down. The signature is checked, and nothing else.
///
/// # Errors
/// [`PurgeError::Statement`]; the file cannot be read.
pub fn place_of_statement(path: &Path) -> Result<String, ClientError> {
    Ok(read(path)?.statement.place)
}

/// Checks that a statement is as its owner signed it, that it is about the table at `place`, and that none of the files that it names as
/// deleted is there. Needs no key of the owner's: the table's manifest has the key that verifies, and those that it had before.
///
/// # Errors
/// [`PurgeError::Statement`], [`PurgeError::OtherTable`] also for another owner's, [`PurgeError::PutBack`],
/// [`PurgeError::StillThere`]; no table there; the place cannot be asked.
///
/// # Cost
/// A list of the files, or on a server a request for each that is gone.
pub fn check_statement(
    path: &Path,
    place: TablePlace<'_>,
    pins: &Pins,
) -> Result<CheckedStatement, ClientError> {
    let verified = read(path)?;
    let statement = verified.statement;
    let present = place.look(pins)?;
    let body = present.manifest();
    let other = |what| PurgeError::OtherTable { path: path.to_owned(), what, place: place.name() };
    // The key that the table had when it was purged.
    if *present.key_at(statement.version) != verified.key {
        return Err(other("a table of another owner").into());
    }
    if body.table_id != statement.table_id {
        return Err(other("another table").into());
    }
    let (found, expected) = (body.version, statement.version);
    if found < expected || found == expected && present.digest() != statement.manifest {
        return Err(PurgeError::PutBack { place: place.name(), found, expected }.into());
    }
    let named: HashSet<PartName> =
        named_files(body).map(|(kind, file)| PartName::new(kind, file.digest)).collect();
    let is_named =
        |file: &StoredFile| PartName::of_file(name_of(file)).is_some_and(|part| named.contains(&part));
    let (again, gone): (Vec<_>, Vec<_>) = statement.deleted.iter().cloned().partition(is_named);
    let (still, unasked) = match place {
        TablePlace::Server(server, name) => {
            let mut still = Vec::new();
            let (mut asked, parts) = (0, statement.deleted_parts());
            for (file, part) in parts.filter(|(file, _)| !is_named(file)) {
                asked += 1;
                if server.serves(name, &part)? {
                    still.push(file.path.clone());
                }
            }
            (still, gone.len() as u64 - asked)
        }
        TablePlace::Directory(_) | TablePlace::Bucket(_) => {
            (still_in(&place.files()?, &gone, statement.earlier.is_some())?, 0)
        }
    };
    require_gone(place, still)?;
    Ok(CheckedStatement { unasked, named_again: again.len() as u64, statement })
}

/// The files that are in a store; with `earlier` also those of which it keeps a content, if it tells.
pub(super) fn still_in(
    store: &TableStore,
    files: &[StoredFile],
    earlier: bool,
) -> Result<Vec<String>, ClientError> {
    let paths = || files.iter().map(|file| file.path.as_str());
    let kept = if earlier { store.kept_files(paths())? } else { None };
    let present = kept.map_or_else(|| store.present_files(paths()), Ok)?;
    Ok(present.into_iter().map(str::to_owned).collect())
}
