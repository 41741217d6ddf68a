// SPDX-License-Identifier: Apache-2.0
//! Deletes old versions of a table for good, with all that only they need, and writes a signed statement of it.
//!
//! *A directory* is purged under its writers' lock, so that no writer is at work; what came after the present version may be of a device's
//! job, and is left for a day and told. *An object store* has no locks: so is what no version has named. *A server* does it itself; its owner asks what it would delete,
//! has it deleted, and then asks for each of these files, so that a server that only says so is found out.

mod check;
pub(crate) mod error;
mod statement;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hush_protocol::code::OTHER_VERSION;
use hush_remote::{Purged, RemoteServer, StoredFile};
use hush_table::{EarlierGone, PartName, PlacedFile, PurgeRun, SignedManifest, named_files};

pub use self::check::{CheckedStatement, check_statement, place_of_statement};
pub use self::error::{PurgeError, StatementFault};
pub use self::statement::{Earlier, Statement};
use self::statement::{Reserved, part_of};
use crate::error::ClientError;
use crate::history::utc;
use crate::owner::OwnerKey;
use crate::pins::Pins;
use crate::place::TablePlace;

/// Time for which a purge waits for other writers to a directory.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a purge has done, or would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeReport {
    /// The version that stays.
    pub version: u64,
    /// Files that are gone, or would be.
    pub deleted: Vec<StoredFile>,
    /// Files of deliveries of devices that wait: they stay.
    pub waiting: Vec<StoredFile>,
    /// Files that no version names and that are of an upload under way, or of one that was interrupted less than a day ago: they stay.
    pub unnamed: Vec<StoredFile>,
    /// Contents of overwritten and deleted objects that a bucket had kept, and that are gone, or would be; `None` where nobody can tell.
    pub earlier: Option<EarlierGone>,
    /// What nobody can prove of the place, in words.
    pub not_proven: Vec<String>,
}

impl PurgeReport {
    /// The bytes of some files.
    pub fn bytes(files: &[StoredFile]) -> u64 {
        files.iter().fold(0, |sum, file| sum.saturating_add(file.bytes))
    }
}

/// Deletes old versions of a table and all files that the present version does not name, and writes a statement of it, signed with the
/// owner's key, to `statement`.
///
/// Files that are no table's are not touched, nor those of waiting deliveries and of uploads. Whoever is still reading an old version is told
/// that its files are missing. A purge that breaks off has written no statement; another one finishes it, and states what it has found.
///
/// # Errors
/// [`PurgeError::Exists`] for a file under the statement's name: nothing was deleted. [`PurgeError::Overtaken`];
/// [`PurgeError::StillThere`] if a file is served after the purge: no statement is written. [`hush_table::TableError::Interrupted`] beside an
/// encryption that was interrupted; [`hush_table::TableError::Busy`]; a server that takes parts in at the moment. Another key, a rollback,
/// damage.
///
/// # Cost
/// A list of the table's files; on a server two requests, and one for each file that is gone.
pub fn purge(
    place: TablePlace<'_>,
    statement: &Path,
    key: &OwnerKey,
    pins: &Pins,
) -> Result<PurgeReport, ClientError> {
    let reserved = Reserved::at(statement)?;
    let (manifest, report) = run(place, key, pins, PurgeRun::Delete)?;
    let body = manifest.manifest();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let left = [report.waiting.clone(), report.unnamed.clone()].concat();
    let statement = Statement {
        format: Statement::format(),
        table: body.table.clone(),
        table_id: body.table_id,
        place: place.remembered_as()?,
        purged_at: utc(now),
        version: body.version,
        manifest: manifest.digest(),
        deleted: report.deleted.clone(),
        deleted_bytes: PurgeReport::bytes(&report.deleted),
        left,
        earlier: report.earlier.map(Earlier::from),
        not_proven: report.not_proven.clone(),
    };
    reserved.write(statement, key.seed())?;
    Ok(report)
}

/// As [`purge()`], but nothing is deleted and nothing written.
///
/// # Errors
/// As [`purge()`].
pub fn look_at_purge(place: TablePlace<'_>, key: &OwnerKey, pins: &Pins) -> Result<PurgeReport, ClientError> {
    run(place, key, pins, PurgeRun::Look).map(|(_, report)| report)
}

fn run(
    place: TablePlace<'_>,
    key: &OwnerKey,
    pins: &Pins,
    run: PurgeRun,
) -> Result<(SignedManifest, PurgeReport), ClientError> {
    let (manifest, mut purged, earlier) = match place {
        TablePlace::Server(server, name) => {
            let manifest = place.open(key.seed(), pins)?.manifest;
            let purged = on_server(place, server, name, &manifest, run)?;
            (manifest, purged, None)
        }
        TablePlace::Directory(_) | TablePlace::Bucket(_) => {
            let store = place.files()?;
            let access = store.wait_for_writers(PATIENCE)?;
            let manifest = place.open(key.seed(), pins)?.manifest;
            let purge = access.purge(&manifest.digest(), run)?;
            let purge = purge.ok_or_else(|| PurgeError::Overtaken { place: place.name() })?;
            let stored = |files: Vec<PlacedFile>| files.into_iter().map(stored).collect();
            let purged = Purged {
                deleted: stored(purge.deleted),
                waiting: stored(purge.waiting),
                unnamed: stored(purge.unnamed),
            };
            if run == PurgeRun::Delete {
                require_gone(place, check::still_in(&store, &purged.deleted, purge.earlier.is_some())?)?;
            }
            (manifest, purged, purge.earlier)
        }
    };
    purged.deleted.sort_unstable();
    let report = PurgeReport {
        version: manifest.manifest().version,
        deleted: purged.deleted,
        waiting: purged.waiting,
        unnamed: purged.unnamed,
        earlier,
        not_proven: not_proven(place, earlier.is_some()),
    };
    Ok((manifest, report))
}

/// Has a server purge a table, and asks for what it says to have deleted.
fn on_server(
    place: TablePlace<'_>,
    server: &RemoteServer,
    name: &str,
    manifest: &SignedManifest,
    run: PurgeRun,
) -> Result<Purged, ClientError> {
    let ask = |dry_run| {
        server.purge(name, &manifest.digest(), dry_run).map_err(|error| match error.server_code() {
            Some(OTHER_VERSION) => PurgeError::Overtaken { place: place.name() }.into(),
            _ => ClientError::from(error),
        })
    };
    // Asked before: the answer to the purge itself may be lost, and another one tells only what is left by then.
    let looked = ask(true)?;
    require_needed(place, manifest, &looked)?;
    if run == PurgeRun::Look {
        return Ok(looked);
    }
    let mut purged = ask(false)?;
    require_needed(place, manifest, &purged)?;
    let told: HashSet<String> = purged.deleted.iter().map(|file| file.path.clone()).collect();
    let mut still = Vec::new();
    for file in &purged.deleted {
        if let Some(part) = part_of(file)
            && server.serves(name, &part)?
        {
            still.push(file.path.clone());
        }
    }
    require_gone(place, still)?;
    // Those of a first try, whose answer was lost. A delivery that came meanwhile may have kept some.
    for file in looked.deleted.into_iter().filter(|file| !told.contains(&file.path)) {
        let is_there = match part_of(&file) {
            Some(part) => server.serves(name, &part)?,
            None => purged.waiting.contains(&file) || purged.unnamed.contains(&file),
        };
        if !is_there {
            purged.deleted.push(file);
        }
    }
    Ok(purged)
}

/// Refuses a server's word for files that the present version names.
fn require_needed(
    place: TablePlace<'_>,
    manifest: &SignedManifest,
    purged: &Purged,
) -> Result<(), PurgeError> {
    let named = named_files(manifest.manifest()).map(|(kind, file)| PartName::new(kind, file.digest));
    let named: HashSet<PartName> = named.collect();
    let is_needed =
        |file: &&StoredFile| PartName::of_file(name_of(file)).is_some_and(|part| named.contains(&part));
    match purged.deleted.iter().find(is_needed) {
        None => Ok(()),
        Some(file) => Err(PurgeError::Needed { place: place.name(), file: file.path.clone() }),
    }
}

fn require_gone(place: TablePlace<'_>, still: Vec<String>) -> Result<(), PurgeError> {
    let (count, first) = (still.len(), still.into_iter().next());
    first.map_or(Ok(()), |first| Err(PurgeError::StillThere { place: place.name(), count, first }))
}

fn name_of(file: &StoredFile) -> &str {
    file.path.rsplit('/').next().unwrap_or_default()
}

fn stored(file: PlacedFile) -> StoredFile {
    StoredFile { path: file.path, bytes: file.bytes }
}

/// What no purge of a place can prove; of a bucket also what it keeps of earlier contents, unless that was listed and deleted.
fn not_proven(place: TablePlace<'_>, without_earlier: bool) -> Vec<String> {
    let everywhere = [
        "copies that others made of earlier versions: pulls, pushes to other places, answers to queries",
        "backups and snapshots of the place",
    ];
    let here: &[&str] = match place {
        TablePlace::Directory(_) => {
            &["blocks of the disk that held the files, until the file system writes over them"]
        }
        TablePlace::Server(..) => &[
            "that the server and its operator kept nothing: the files were asked for and not given",
            "files of old versions that the server does not name",
            "blocks of the server's disk that held the files, until its file system writes over them",
        ],
        TablePlace::Bucket(_) if without_earlier => &[
            "what the store's provider keeps of objects that were deleted, and copies in other buckets that it makes by itself",
        ],
        TablePlace::Bucket(_) => &[
            "noncurrent versions of the objects, if the bucket keeps versions, and objects under retention or soft deletion: a lifecycle rule of the bucket ends them",
            "what the store's provider keeps of objects that were deleted",
        ],
    };
    everywhere.iter().chain(here).map(|text| (*text).to_owned()).collect()
}
