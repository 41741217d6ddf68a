// SPDX-License-Identifier: Apache-2.0
//! Checks before an encryption or a push replaces a table: nobody loses rows without consent.
//!
//! A version that keeps all parts of the version before it adds rows and replaces nothing. Any other version replaces all rows,
//! also those of devices, which may have no other copy.

pub(crate) mod present;

use std::io::ErrorKind;
use std::path::Path;

use hush_protocol::code::NO_TABLE;
use hush_remote::{Progress, PushReport, RemoteServer};
use hush_table::manifest::{Change, ChangeKind};
use hush_table::{Manifest, SignedManifest, TableError, TableStore, foreign_entry, named_files};

pub use self::present::Present;
use crate::devices::Waiting;
use crate::error::ClientError;
use crate::pins::Pins;
use crate::place::TablePlace;

/// The table at a place to which another is to be written, if there is one.
///
/// # Errors
/// [`ClientError::Occupied`] for a directory or prefix that holds anything else; those of [`TableStore::load`]; a server.
pub(crate) fn present_at(place: TablePlace<'_>) -> Result<Option<Present>, ClientError> {
    if let TablePlace::Directory(directory) = place {
        return present_in(directory);
    }
    let store = place.files()?;
    match store.load() {
        Ok(signed) => {
            let waiting = store.deliveries(&signed)?.len() as u64;
            Ok(Some(Present::of(signed.manifest(), waiting)))
        }
        Err(TableError::NoTable { .. }) => match store.foreign_object()? {
            None => Ok(None),
            Some(entry) => Err(ClientError::Occupied { place: place.name(), entry }),
        },
        Err(error) => Err(error.into()),
    }
}

fn present_in(directory: &Path) -> Result<Option<Present>, ClientError> {
    let file_error = |source| ClientError::File { path: directory.to_owned(), source };
    match std::fs::metadata(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        found => {
            if !found.map_err(file_error)?.is_dir() {
                return Err(file_error(ErrorKind::NotADirectory.into()));
            }
        }
    }
    match TableStore::local_existing(directory) {
        Ok(store) => {
            let signed = store.load()?;
            let waiting = store.deliveries(&signed)?.len() as u64;
            Ok(Some(Present::of(signed.manifest(), waiting)))
        }
        Err(TableError::NoTable { .. }) => match foreign_entry(directory).map_err(file_error)? {
            None => Ok(None),
            Some(entry) => {
                let place = directory.display().to_string();
                Err(ClientError::Occupied { place, entry })
            }
        },
        Err(error) => Err(error.into()),
    }
}

/// Refuses to replace a table, unless the owner means it.
///
/// # Errors
/// [`ClientError::WouldReplace`].
pub(crate) fn require(
    present: Option<Present>,
    replace: bool,
    place: impl FnOnce() -> String,
    rows: Option<u64>,
) -> Result<Option<Present>, ClientError> {
    match present {
        Some(present) if !replace => Err(ClientError::WouldReplace { place: place(), present, rows }),
        present => Ok(present),
    }
}

/// The outcome of a push.
#[derive(Clone, Copy, Debug)]
pub struct Pushed {
    /// The upload.
    pub report: PushReport,
    /// Rows of the table now.
    pub rows: u64,
    /// The version that it replaced, unless the new one only adds rows.
    pub replaced: Option<Present>,
}

/// Uploads a table of a directory or an object store, and remembers that its name on the server belongs to it.
///
/// A version that was made from the server's version, by adding, updating or deleting rows, needs no consent. Any other version replaces
/// rows, and needs `replace`.
///
/// # Errors
/// [`ClientError::WouldReplace`]; [`ClientError::Remote`]; no table there, or a damaged one.
pub fn push_table(
    server: &RemoteServer,
    table: TablePlace<'_>,
    replace: bool,
    pins: &Pins,
    progress: &dyn Progress,
) -> Result<Pushed, ClientError> {
    // An attacker who exchanges the files could have another table published in this one's place.
    let signed = table.look(pins)?;
    let manifest = signed.manifest();
    let present = present_on(server, manifest)?;
    let place = server.place(&manifest.table);
    let replaced = require(present, replace, || place.clone(), Some(manifest.living_rows()))?;
    let report = server.push_files(&table.files()?, progress)?;
    pins.remember_place(&place, &signed)?;
    Ok(Pushed { report, rows: manifest.living_rows(), replaced })
}

/// Copies a table of a directory or an object store to another such place, and remembers that it is there. Files that are there already
/// are left, so that a second call continues an interrupted one.
///
/// A version that was made from the one that is there, by adding, updating or deleting rows, needs no consent. Any other needs `replace`.
///
/// # Errors
/// [`ClientError::WouldReplace`], [`ClientError::Occupied`]; another table there, or a version that this one does not follow; no table
/// to copy, or a damaged one. What was there is still there then.
pub fn copy_table(
    table: TablePlace<'_>,
    to: TablePlace<'_>,
    replace: bool,
    pins: &Pins,
    progress: &dyn Progress,
) -> Result<Pushed, ClientError> {
    let signed = table.look(pins)?;
    let replaced = copy_to(&signed, &table.files()?, to, Some(replace), progress)?;
    to.remember(&signed, pins)?;
    let (report, rows) = (replaced.0, signed.manifest().living_rows());
    Ok(Pushed { report, rows, replaced: replaced.1 })
}

/// Copies a version to a place; asks for consent to replace rows where `replace` says whether it is given.
pub(crate) fn copy_to(
    signed: &SignedManifest,
    from: &TableStore,
    to: TablePlace<'_>,
    replace: Option<bool>,
    progress: &dyn Progress,
) -> Result<(PushReport, Option<Present>), ClientError> {
    let manifest = signed.manifest();
    let present = present_at(to)?;
    let store = to.made()?;
    let replaced = match (present, replace) {
        (Some(present), Some(replace)) => {
            let there = store.load()?;
            let adds = there.digest() == signed.digest() || continues(there.manifest(), manifest);
            require((!adds).then_some(present), replace, || to.name(), Some(manifest.living_rows()))?
        }
        _ => None,
    };
    progress.begin("copy", Some(named_files(manifest).map(|(_, file)| file.bytes).sum()), "bytes");
    let copied = from.copy_version(signed, &store, &|bytes| progress.advance(bytes));
    progress.end();
    let copied = copied?;
    let report = PushReport {
        parts_sent: copied.files,
        parts_present: copied.present,
        bytes_sent: copied.bytes,
        version: manifest.version,
        ..PushReport::default()
    };
    Ok((report, replaced))
}

/// The version on a server that `next` would replace; `None` without one, or if `next` was made from it.
fn present_on(server: &RemoteServer, next: &Manifest) -> Result<Option<Present>, ClientError> {
    let signed = match server.manifest(&next.table) {
        Err(error) if error.server_code() == Some(NO_TABLE) => return Ok(None),
        known => known?,
    };
    let present = signed.manifest();
    // The push itself refuses another table of any owner, and a version that does not come before this one: no consent would
    // help.
    let is_owners = present.key_id == next.key_id || next.had_key(&present.key_id);
    let is_before = is_owners && present.table_id == next.table_id && present.version < next.version;
    if !is_before || continues(present, next) {
        return Ok(None);
    }
    // The number of waiting deliveries is worth telling. If it cannot be known, that is no reason to refuse.
    let waiting = Waiting::beside(TablePlace::Server(server, &next.table), &signed).count().unwrap_or(0);
    Ok(Some(Present::of(present, waiting)))
}

/// Whether a version was made from another one, and not from the source: it has all its parts under the same secrets, or says itself that it
/// comes from it.
fn continues(before: &Manifest, next: &Manifest) -> bool {
    let has_parts =
        || before.encodings == next.encodings && before.parts.iter().all(|part| next.parts.contains(part));
    let is_since = |change: &&Change| change.version > before.version;
    let is_encrypted_anew =
        || next.changes.iter().filter(is_since).any(|change| change.what == ChangeKind::Encrypt);
    let comes_from =
        || before.changes.last().is_some_and(|last| next.changes.contains(last)) && !is_encrypted_anew();
    before.table_id == next.table_id && (before.encryption == next.encryption && has_parts() || comes_from())
}

#[cfg(test)]
mod tests {
    use hush_keys::OwnerSeed;
    use hush_plan::Schema;
    use hush_remote::Silent;
    use hush_table::source::{OpenOptions, Source};

    use super::*;
    use crate::encrypt::Encryption;
    use crate::policy::{Policy, propose_schema};
    use crate::private::PrivateHalf;
    use crate::scheme::Lattice;
    use crate::threads::thread_pool;

    fn present(accepted_rows: u64, waiting: u64) -> Present {
        Present { version: 3, rows: 900, accepted_rows, waiting }
    }

    #[test]
    fn losses_are_told_with_their_numbers() {
        assert_eq!(present(0, 0).losses(), "");
        assert_eq!(present(200, 0).losses(), "; 200 of them were accepted from devices");
        assert_eq!(present(0, 1).losses(), "; 1 delivery waits that the new version cannot accept");
        let both = present(7, 2).losses();
        assert_eq!(
            both,
            "; 7 of them were accepted from devices; 2 deliveries wait that the new version cannot accept"
        );
    }

    #[test]
    fn nothing_is_replaced_unless_that_is_meant() {
        let asked = |present, replace| require(present, replace, || "here".to_owned(), Some(5));
        assert!(matches!(asked(None, false), Ok(None)));
        assert!(matches!(asked(None, true), Ok(None)));
        assert!(matches!(asked(Some(present(0, 0)), true), Ok(Some(known)) if known.rows == 900));
        let refused = asked(Some(present(0, 0)), false).err().unwrap();
        assert!(
            matches!(refused, ClientError::WouldReplace { ref place, rows: Some(5), .. } if place == "here")
        );
    }

    #[test]
    fn a_version_that_came_after_the_look_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let (owner, store) = (OwnerSeed::generate().unwrap(), TableStore::local(directory.path()).unwrap());
        let source = Source::from_bytes("x\n1\n2\n".into(), &OpenOptions::default()).unwrap();
        let schema = Schema { approved: true, ..propose_schema(&source, &Policy::default()).unwrap().schema }
            .all_clear();
        let half = PrivateHalf::new(schema, Vec::new());
        let pool = thread_pool(1).unwrap();
        let write = |replaces| {
            let (source, half) = (&source, &half);
            Encryption {
                source,
                half,
                owner: &owner,
                store: &store,
                pool: &pool,
                memory_limit: None,
                scheme: &Lattice,
                replaces,
                pins: None,
            }
            .run(&Silent)
            .map(|signed| signed.manifest().version)
        };
        assert_eq!(write(None).unwrap(), 1);
        // Somebody else has made a table since the place was empty. Then an accepted delivery makes a version since the last look.
        assert_eq!(write(None).unwrap_err().code(), "HUSH-C072");
        assert_eq!(write(Some(1)).unwrap(), 2);
        assert_eq!(write(Some(1)).unwrap_err().code(), "HUSH-C072");
        assert_eq!(present_in(directory.path()).unwrap().unwrap().version, 2);
    }

    #[test]
    fn a_directory_that_holds_anything_else_is_no_place_for_a_table() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        assert_eq!(present_in(&place.join("new")).unwrap(), None);
        assert_eq!(present_in(place).unwrap(), None);
        // Leftovers of an interrupted encryption belong to nobody.
        std::fs::create_dir(place.join("parts")).unwrap();
        std::fs::write(place.join("manifest.hush.7.partial"), "x").unwrap();
        assert_eq!(present_in(place).unwrap(), None);
        std::fs::write(place.join("parts").join("thesis.txt"), "x").unwrap();
        let refused = present_in(place).unwrap_err();
        assert!(refused.code() == "HUSH-C071" && refused.to_string().contains("thesis.txt"), "{refused}");
        std::fs::remove_file(place.join("parts").join("thesis.txt")).unwrap();
        std::fs::write(place.join("notes.md"), "x").unwrap();
        assert_eq!(present_in(place).unwrap_err().code(), "HUSH-C071");
        assert_eq!(present_in(&place.join("notes.md")).unwrap_err().code(), "HUSH-C040");
    }
}
