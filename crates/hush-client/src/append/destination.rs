// SPDX-License-Identifier: Apache-2.0
//! The place that appended rows go to.

use std::time::Duration;

use hush_protocol::code::OLD_VERSION;
use hush_remote::RemoteServer;
use hush_table::{
    FileKind, PartEntry, PartFile, PartName, SignedManifest, TableError, TableStore, WriteAccess,
};

use crate::error::ClientError;
use crate::place::TablePlace;

/// Time for which an append waits for other writers to a directory.
const PATIENCE: Duration = Duration::from_secs(60);

/// The place that parts and a version go to.
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
        let Self::Server(server, name, memory) = self else { return Ok(parts.len()) };
        for part in parts.iter().skip(sent) {
            let files: Vec<(FileKind, PartFile)> = files_of(part).collect();
            server.send_parts(name, memory, files.iter().copied())?;
            for (kind, file) in files {
                memory.remove_part(&PartName::new(kind, file.digest))?;
            }
        }
        Ok(parts.len())
    }

    /// Makes a version the present one.
    ///
    /// # Errors
    /// Those that [`is_overtaken`] tells, and all others.
    pub(crate) fn commit(&self, next: &SignedManifest) -> Result<(), ClientError> {
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

/// Files of a part: encrypted ones first, so that a server never has clear columns alone.
fn files_of(part: &PartEntry) -> impl Iterator<Item = (FileKind, PartFile)> {
    let encrypted = part.encrypted.map(|file| (FileKind::Encrypted, file));
    encrypted.into_iter().chain(part.clear.map(|file| (FileKind::Clear, file)))
}

/// Whether a commit failed because another version came first.
pub(crate) fn is_overtaken(error: &ClientError) -> bool {
    match error {
        ClientError::Table(error) => {
            matches!(error, TableError::Busy { .. } | TableError::StaleVersion { .. })
        }
        ClientError::Remote(error) => error.server_code() == Some(OLD_VERSION),
        _ => false,
    }
}
