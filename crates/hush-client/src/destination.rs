// SPDX-License-Identifier: Apache-2.0
//! The place that a change to a table goes to, and its way into a version there.
//!
//! In a directory nobody else writes meanwhile. Elsewhere another writer may be faster: then the change goes into the version behind theirs.

use std::collections::HashSet;
use std::time::Duration;

use hush_keys::OwnerSeed;
use hush_protocol::code::OLD_VERSION;
use hush_remote::RemoteServer;
use hush_table::{
    Digest, FileKind, Manifest, PartEntry, PartFile, PartName, SignedManifest, TableError, TableStore,
    WriteAccess, files_of_part, named_files,
};

use crate::error::ClientError;
use crate::pins::Pins;
use crate::place::{Opened, TablePlace};

/// Time for which a change waits for other writers to a directory.
const PATIENCE: Duration = Duration::from_secs(60);
/// Versions of other writers behind which a change goes before it gives up.
const MOST_OVERTAKEN: u32 = 200;

/// The place that files of parts and a version go to.
pub(crate) enum Destination<'a> {
    /// Files of this process, to which it may write.
    Files(TableStore, WriteAccess),
    /// A server, and its table; parts are in memory until they are sent.
    Server(&'a RemoteServer, &'a str, TableStore),
}

impl<'a> Destination<'a> {
    /// Waits for the right to write.
    ///
    /// # Errors
    /// No table there; other writers that do not end.
    pub(crate) fn of(place: TablePlace<'a>) -> Result<Self, ClientError> {
        if let TablePlace::Server(server, name) = place {
            return Ok(Self::Server(server, name, TableStore::memory()));
        }
        let store = place.files()?;
        let access = store.wait_for_writers(PATIENCE)?;
        Ok(Self::Files(store, access))
    }

    /// The store that takes parts.
    pub(crate) fn store(&self) -> &TableStore {
        match self {
            Self::Files(store, _) | Self::Server(_, _, store) => store,
        }
    }

    /// Sends parts on that are stored and were not sent yet: those behind the first `sent`. Gives how many are sent.
    ///
    /// # Errors
    /// [`ClientError::Remote`].
    pub(crate) fn send(&self, parts: &[PartEntry], sent: usize) -> Result<usize, ClientError> {
        for part in parts.iter().skip(sent) {
            self.send_files(files_of(part))?;
        }
        Ok(parts.len())
    }

    /// Sends stored files on.
    ///
    /// # Errors
    /// [`ClientError::Remote`].
    pub(crate) fn send_files(
        &self,
        files: impl IntoIterator<Item = (FileKind, PartFile)>,
    ) -> Result<(), ClientError> {
        let Self::Server(server, name, memory) = self else { return Ok(()) };
        let files: Vec<(FileKind, PartFile)> = files.into_iter().collect();
        server.send_parts(name, memory, files.iter().copied())?;
        for (kind, file) in files {
            memory.remove_part(&PartName::new(kind, file.digest))?;
        }
        Ok(())
    }

    /// Keeps the files of `replaced` that `next` does not name, for whoever still reads that version. A server and an object store keep them by
    /// themselves.
    ///
    /// # Errors
    /// A full disk.
    fn keep_for_readers(&self, replaced: &SignedManifest, next: &Manifest) -> Result<(), ClientError> {
        let Self::Files(store, _) = self else { return Ok(()) };
        let named: HashSet<Digest> = named_files(next).map(|(_, file)| file.digest).collect();
        let goes = |part: &&PartEntry| files_of_part(part).any(|(_, file)| !named.contains(&file.digest));
        let gone: Vec<PartEntry> = replaced.manifest().parts.iter().filter(goes).cloned().collect();
        if gone.is_empty() {
            return Ok(());
        }
        Ok(store.keep_for_readers(replaced, &gone)?)
    }

    /// Makes a version the present one.
    ///
    /// # Errors
    /// Those that [`is_overtaken`] tells, and all others.
    fn commit(&self, next: &SignedManifest) -> Result<(), ClientError> {
        match self {
            Self::Files(_, access) => Ok(access.commit(next)?),
            Self::Server(server, ..) => Ok(server.commit(next)?),
        }
    }

    /// Removes what writers have left that were interrupted long ago.
    pub(crate) fn tidy(&self) {
        if let Self::Files(_, access) = self {
            // What cannot be removed now, a later append removes.
            let _ = access.tidy();
        }
    }
}

/// A change to a table that its owner has opened.
pub(crate) struct Committer<'a> {
    pub(crate) place: TablePlace<'a>,
    pub(crate) owner: &'a OwnerSeed,
    pub(crate) pins: &'a Pins,
    pub(crate) destination: &'a Destination<'a>,
}

/// What a change makes of a table.
pub(crate) trait Edit {
    /// What there is to say where nothing is left to be done.
    type Done;

    /// The version behind `present` that has the change; its number is set already.
    ///
    /// # Errors
    /// Those of the change.
    fn next(&mut self, present: &Opened) -> Result<Next<Self::Done>, ClientError>;

    /// Whether a version has the change already: the answer to a commit that won may be lost.
    ///
    /// # Errors
    /// Those of reading it.
    fn has_landed(&self, found: &Manifest) -> Result<bool, ClientError>;

    /// The key that signs the version; `None` for that of the version before.
    fn signer(&self) -> Option<&OwnerSeed> {
        None
    }
}

/// What becomes of a change behind some version.
pub(crate) enum Next<T> {
    /// This version.
    Version(Box<Manifest>),
    /// Nothing is left to be done.
    Done(T),
}

/// What became of a change.
pub(crate) enum Committed<T> {
    /// It is in this version.
    In(Box<SignedManifest>),
    /// Nothing was left to be done.
    Done(T),
}

impl Committer<'_> {
    /// Commits a change behind the present version, or behind what others commit meanwhile. `first` is the table as it was when the
    /// change began.
    ///
    /// # Errors
    /// Those of the change; [`ClientError::Reencrypted`] if the table was replaced meanwhile; [`TableError::Busy`] where others keep the
    /// place busy; a full disk. The table is then as it was.
    pub(crate) fn commit<E: Edit>(
        &self,
        first: &Opened,
        edit: &mut E,
    ) -> Result<Committed<E::Done>, ClientError> {
        let (mut newer, mut overtaken) = (None, 0);
        let version = loop {
            let present = newer.as_ref().unwrap_or(first);
            let manifest = match edit.next(present)? {
                Next::Version(manifest) => *manifest,
                Next::Done(done) => return Ok(Committed::Done(done)),
            };
            let signer = edit.signer().unwrap_or(self.owner);
            let key = signer.verifying_key().to_bytes();
            let signed = SignedManifest::sign(manifest, &key, |bytes| signer.sign(bytes))?;
            self.destination.keep_for_readers(&present.manifest, signed.manifest())?;
            let Err(error) = self.destination.commit(&signed) else { break signed };
            // Another writer may have been faster.
            let Ok(found) = self.place.look(self.pins) else { return Err(error) };
            if found == signed {
                break signed;
            }
            if edit.has_landed(found.manifest())? {
                break self.look_again(present, &found)?.manifest;
            }
            if !is_overtaken(&error) || overtaken >= MOST_OVERTAKEN {
                return Err(error);
            }
            step_aside(overtaken)?;
            overtaken += 1;
            newer = Some(self.look_again(present, &found)?);
        };
        match self.pins.check_and_remember(&version) {
            // Meanwhile somebody here has seen what others put behind it.
            Err(ClientError::Table(TableError::RolledBack { .. })) => {}
            remembered => remembered?,
        }
        Ok(Committed::In(Box::new(version)))
    }

    /// The version that another writer made, if a change fits it that was prepared for the one before.
    fn look_again(&self, before: &Opened, found: &SignedManifest) -> Result<Opened, ClientError> {
        let (first, found) = (before.manifest.manifest(), found.manifest());
        if !found.is_written_like(first) {
            return Err(ClientError::Reencrypted { place: self.place.name() });
        }
        self.place.open(self.owner, self.pins)
    }
}

/// Those who wait for each other should not try in step.
fn step_aside(overtaken: u32) -> Result<(), ClientError> {
    let mut random = [0; 1];
    hush_ring::os_random(&mut random)?;
    std::thread::sleep(Duration::from_millis(u64::from(overtaken.min(8)) * u64::from(random[0] % 16)));
    Ok(())
}

/// Files of a part: encrypted ones first, so that a server never has clear columns alone.
fn files_of(part: &PartEntry) -> impl Iterator<Item = (FileKind, PartFile)> {
    let encrypted = part.encrypted.map(|file| (FileKind::Encrypted, file));
    let cubes = part.cubes.as_ref().map(|cubes| (FileKind::Cubes, cubes.file));
    let runs = part.runs.as_ref().map(|runs| (FileKind::Runs, runs.file));
    encrypted.into_iter().chain(part.clear.map(|file| (FileKind::Clear, file))).chain(cubes).chain(runs)
}

/// Whether a commit failed because another version came first.
fn is_overtaken(error: &ClientError) -> bool {
    match error {
        ClientError::Table(error) => {
            matches!(error, TableError::Busy { .. } | TableError::StaleVersion { .. })
        }
        ClientError::Remote(error) => error.server_code() == Some(OLD_VERSION),
        _ => false,
    }
}
