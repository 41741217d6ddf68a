// SPDX-License-Identifier: Apache-2.0
//! The place of a table, and how its owner opens it there.
//!
//! Everything that uses the owner's key on a stored table goes through [`TablePlace::open`]: query, explain, decrypt, keys of
//! devices, deliveries. So one function checks everything that a server, or a writer to a directory or a bucket, could exchange: the owner's
//! signature, the table's name, the table that was last seen at the place, and its version.

use std::path::Path;
use std::time::Duration;

use hush_keys::{OwnerSeed, TableRoots};
use hush_remote::RemoteServer;
use hush_table::{SignedManifest, TableError, TableStore};

use crate::columns::keys_of;
use crate::error::ClientError;
use crate::pins::Pins;
use crate::private::PrivateHalf;
use crate::release::Releases;
use crate::roots::{RowKeys, domain_keys};

/// Time that a version being pushed gets to appear.
const PUSH_PATIENCE: Duration = Duration::from_millis(500);

/// The place of a table.
#[derive(Clone, Copy, Debug)]
pub enum TablePlace<'a> {
    /// A directory.
    Directory(&'a Path),
    /// A server, and the table's name there.
    Server(&'a RemoteServer, &'a str),
    /// A prefix in an object store ([`TableStore::at`]).
    Bucket(&'a TableStore),
}

/// A table that its owner has opened.
pub(crate) struct Opened {
    pub(crate) manifest: SignedManifest,
    pub(crate) half: PrivateHalf,
    pub(crate) keys: RowKeys,
    pub(crate) roots: TableRoots,
    pub(crate) releases: Releases,
}

impl TablePlace<'_> {
    /// Reads the manifest of the place without the owner's key. Checks its signature, its name, and that no other table was seen at the
    /// place before. Accepts any version: earlier ones may be looked at, and copied. Remembers nothing, because nothing proves the owner.
    ///
    /// # Errors
    /// No table there; [`ClientError::OtherName`], [`ClientError::Replaced`]; damage.
    pub fn look(&self, pins: &Pins) -> Result<SignedManifest, ClientError> {
        let manifest = self.manifest()?;
        self.check(&manifest, pins)?;
        Ok(manifest)
    }

    /// Opens the table with its owner's key, and remembers place and version.
    ///
    /// # Errors
    /// As [`TablePlace::look`]; [`ClientError::OtherKey`]; a rollback or fork. The manifest of a server or an object store that is older than the version
    /// seen is fetched once more, because it may have been replaced meanwhile.
    pub(crate) fn open(&self, owner: &OwnerSeed, pins: &Pins) -> Result<Opened, ClientError> {
        match self.open_once(owner, pins) {
            Err(ClientError::Table(TableError::RolledBack { .. })) if !matches!(self, Self::Directory(_)) => {
                std::thread::sleep(PUSH_PATIENCE);
                let place = self.remembered_as()?;
                let opened = self.open_once(owner, pins);
                match self {
                    Self::Server(..) => opened.map_err(|error| not_pushed(error, &place, pins)),
                    _ => opened,
                }
            }
            opened => opened,
        }
    }

    fn open_once(&self, owner: &OwnerSeed, pins: &Pins) -> Result<Opened, ClientError> {
        let manifest = self.manifest()?;
        self.check(&manifest, pins)?;
        let opened = open_private(manifest, owner, pins)?;
        pins.remember_place(&self.remembered_as()?, &opened.manifest)?;
        Ok(opened)
    }

    /// Remembers that the owner has put this table here, instead of any before it.
    ///
    /// # Errors
    /// [`ClientError::File`] if the pin cannot be written.
    pub fn remember(&self, manifest: &SignedManifest, pins: &Pins) -> Result<(), ClientError> {
        pins.remember_place(&self.remembered_as()?, manifest)
    }

    fn check(&self, manifest: &SignedManifest, pins: &Pins) -> Result<(), ClientError> {
        if let Self::Server(server, name) = self {
            let found = &manifest.manifest().table;
            if !found.eq_ignore_ascii_case(name) {
                return Err(ClientError::OtherName { place: server.place(name), found: found.clone() });
            }
        }
        pins.check_place(&self.remembered_as()?, manifest)
    }

    /// The key of a place's pin: the address on a server or in an object store, or the directory with links resolved. A copy of a
    /// directory is another place.
    pub(crate) fn remembered_as(&self) -> Result<String, ClientError> {
        match self {
            Self::Directory(directory) => {
                let failed = |source| ClientError::File { path: directory.to_path_buf(), source };
                Ok(directory.canonicalize().map_err(failed)?.display().to_string())
            }
            Self::Server(server, name) => Ok(server.place(name)),
            Self::Bucket(store) => Ok(store.place()),
        }
    }

    fn manifest(&self) -> Result<SignedManifest, ClientError> {
        Ok(match self {
            Self::Server(server, name) => server.manifest(name)?,
            Self::Directory(_) | Self::Bucket(_) => self.files()?.load()?,
        })
    }

    /// The files of the table that is there.
    ///
    /// # Errors
    /// A server keeps them to itself; a directory without table.
    pub(crate) fn files(&self) -> Result<TableStore, TableError> {
        match self {
            Self::Directory(directory) => TableStore::local_existing(*directory),
            Self::Bucket(store) => Ok((*store).clone()),
            Self::Server(server, name) => Err(TableError::Server { place: server.place(name) }),
        }
    }

    /// The files of a table that is or will be there; a directory is made if it does not exist.
    ///
    /// # Errors
    /// A server keeps them to itself; [`TableError::Io`].
    pub(crate) fn made(&self) -> Result<TableStore, TableError> {
        match self {
            Self::Directory(directory) => TableStore::local(*directory),
            _ => self.files(),
        }
    }

    /// The place in words.
    pub fn name(&self) -> String {
        match self {
            Self::Directory(directory) => directory.display().to_string(),
            Self::Server(server, name) => server.place(name),
            Self::Bucket(store) => store.place(),
        }
    }
}

/// An older version that was seen here before is no rollback, because this place never had a newer one.
fn not_pushed(error: ClientError, place: &str, pins: &Pins) -> ClientError {
    match error {
        ClientError::Table(TableError::RolledBack { found, expected })
            if pins.seen_at(place) == Some(found) =>
        {
            ClientError::NotPushed { place: place.to_owned(), found, expected }
        }
        other => other,
    }
}

/// Opens the private half of a manifest and derives the keys of its columns. Checks first that the manifest is this key's,
/// and no older than the version seen before.
///
/// # Errors
/// Another key, a rollback or fork, damage.
pub(crate) fn open_private(
    manifest: SignedManifest,
    owner: &OwnerSeed,
    pins: &Pins,
) -> Result<Opened, ClientError> {
    let (found, expected) = (owner.key_id().to_string(), manifest.manifest().key_id.clone());
    if manifest.manifest().had_key(&found) {
        return Err(ClientError::OldKey { found, expected });
    }
    if found != expected {
        return Err(ClientError::OtherKey { found, expected });
    }
    manifest.require_key(&owner.verifying_key().to_bytes())?;
    pins.check_and_remember(&manifest)?;
    let body = manifest.manifest();
    let half = PrivateHalf::open(keys_of(owner, body), &body.sealed_schema)?;
    let public = half.encodings.iter().map(|encoding| &encoding.public);
    if !public.eq(body.encodings.iter()) {
        return Err(ClientError::Answer {
            what: "the sealed encodings are not those of the manifest".into(),
        });
    }
    let (keys, roots) = RowKeys::open(owner, body, &half)?;
    let releases = Releases::of(domain_keys(&roots, owner, body, body.domain)?, body, &half.schema, pins);
    Ok(Opened { manifest, half, keys, roots, releases })
}
