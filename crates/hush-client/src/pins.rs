// SPDX-License-Identifier: Apache-2.0
//! The owner's memory of each table, so that a server cannot present an older or another version.
//!
//! One small file per table, and one per place (a name on a server, a directory), below the state directory: `HUSH_STATE_DIR`, else
//! `$XDG_STATE_HOME/hushtable`, else `~/.local/state/hushtable`. Pins hold no secrets. A lost pin costs the memory of versions,
//! nothing else.

#[cfg(test)]
pub(crate) mod mutations;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use hush_table::{Pin, SignedManifest, TableId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::ClientError;

/// Largest file that is read as a pin; one has about 150 bytes.
const PIN_MAX_BYTES: u64 = 1024;

/// The pins of this user.
#[derive(Clone, Debug)]
pub struct Pins {
    directory: Option<PathBuf>,
}

impl Pins {
    /// The pins in the state directory of this user; without a home directory nothing is remembered.
    pub fn of_user() -> Self {
        let from_env =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let directory = from_env("HUSH_STATE_DIR")
            .or_else(|| from_env("XDG_STATE_HOME").map(|state| state.join("hushtable")))
            .or_else(|| from_env("HOME").map(|home| home.join(".local/state/hushtable")));
        Self { directory: directory.map(|directory| directory.join("pins")) }
    }

    /// The directory of release ledgers, beside the pins; `None` if nothing is remembered.
    pub(crate) fn releases(&self) -> Option<PathBuf> {
        let directory = self.directory.as_ref()?;
        Some(directory.parent().unwrap_or(directory).join("releases"))
    }

    /// Whether anything is remembered.
    pub fn remembers(&self) -> bool {
        self.directory.is_some()
    }

    /// Pins in a directory of a test.
    #[cfg(test)]
    pub(crate) fn in_directory(directory: &Path) -> Self {
        Self { directory: Some(directory.to_owned()) }
    }

    /// Remembers nothing: for tables that live as long as the process.
    pub fn forgetful() -> Self {
        Self { directory: None }
    }

    /// Refuses a manifest that goes back behind the version seen, and remembers it otherwise.
    ///
    /// # Errors
    /// As [`Pins::check`]; [`ClientError::File`] if the pin cannot be written.
    pub(crate) fn check_and_remember(&self, manifest: &SignedManifest) -> Result<(), ClientError> {
        self.check(manifest)?;
        match self.path(manifest) {
            Some(path) => remember(&path, &Pin::of(manifest)),
            None => Ok(()),
        }
    }

    /// Refuses a manifest that goes back behind the version seen.
    ///
    /// # Errors
    /// [`ClientError::Table`] for a rollback or a fork; [`ClientError::Pin`] for a damaged pin; [`ClientError::File`] if
    /// it cannot be read.
    pub(crate) fn check(&self, manifest: &SignedManifest) -> Result<(), ClientError> {
        let Some(path) = self.path(manifest) else { return Ok(()) };
        match read::<Pin>(&path)? {
            Some(pin) => Ok(pin.check(manifest)?),
            None => Ok(()),
        }
    }

    /// The version of a table that was seen last; `None` if none was.
    ///
    /// # Errors
    /// [`ClientError::Pin`] for a damaged pin; [`ClientError::File`] if it cannot be read.
    pub(crate) fn version_of(&self, table: TableId) -> Result<Option<u64>, ClientError> {
        let Some(directory) = &self.directory else { return Ok(None) };
        Ok(read::<Pin>(&directory.join(format!("{table}.json")))?.map(|pin| pin.version))
    }

    /// Refuses a table at a place that belonged to another table when it was seen last.
    ///
    /// # Errors
    /// [`ClientError::Replaced`]; [`ClientError::Pin`] for a damaged pin; [`ClientError::File`] if it cannot be read.
    pub(crate) fn check_place(&self, place: &str, manifest: &SignedManifest) -> Result<(), ClientError> {
        let Some(path) = self.place_path(place) else { return Ok(()) };
        match read::<TableId>(&path)? {
            Some(expected) if expected != manifest.manifest().table_id => {
                Err(ClientError::Replaced { place: place.to_owned(), pin: path })
            }
            _ => Ok(()),
        }
    }

    /// Remembers the table at a place, instead of any before it: the owner has just put it there, or has seen it.
    ///
    /// # Errors
    /// [`ClientError::File`] if the pin cannot be written.
    pub fn remember_place(&self, place: &str, manifest: &SignedManifest) -> Result<(), ClientError> {
        match self.place_path(place) {
            Some(path) => remember(&path, &manifest.manifest().table_id)?,
            None => return Ok(()),
        }
        self.remember_seen(place, manifest)
    }

    /// Remembers the version of the table that was seen at a place, or put there. A newer version elsewhere was then not pushed.
    fn remember_seen(&self, place: &str, manifest: &SignedManifest) -> Result<(), ClientError> {
        match self.seen_path(place) {
            Some(path) => remember(&path, &manifest.manifest().version),
            None => Ok(()),
        }
    }

    /// The version that was last seen at a place; `None` if nothing readable is remembered, which only costs a better
    /// message.
    pub(crate) fn seen_at(&self, place: &str) -> Option<u64> {
        read::<u64>(&self.seen_path(place)?).ok()?
    }

    fn seen_path(&self, place: &str) -> Option<PathBuf> {
        let directory = self.directory.as_ref()?;
        Some(directory.join(format!("seen-{}.json", hush_table::Digest::of(place.as_bytes()))))
    }

    fn place_path(&self, place: &str) -> Option<PathBuf> {
        let directory = self.directory.as_ref()?;
        Some(directory.join(format!("place-{}.json", hush_table::Digest::of(place.as_bytes()))))
    }

    fn path(&self, manifest: &SignedManifest) -> Option<PathBuf> {
        let directory = self.directory.as_ref()?;
        Some(directory.join(format!("{}.json", manifest.manifest().table_id)))
    }
}

/// The contents of a pin; nothing without one.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, ClientError> {
    let file_error = |source| ClientError::File { path: path.to_owned(), source };
    let file = match std::fs::File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(file_error)?,
    };
    let mut bytes = Vec::new();
    file.take(PIN_MAX_BYTES + 1).read_to_end(&mut bytes).map_err(file_error)?;
    let pin = serde_json::from_slice(&bytes).ok().filter(|_| bytes.len() as u64 <= PIN_MAX_BYTES);
    pin.map(Some).ok_or_else(|| ClientError::Pin { path: path.to_owned() })
}

/// Writes a pin, unless the file holds it already.
fn remember<T: DeserializeOwned + Serialize + PartialEq>(path: &Path, pin: &T) -> Result<(), ClientError> {
    let failed = |source| ClientError::File { path: path.to_owned(), source };
    if read::<T>(path).is_ok_and(|known| known.as_ref() == Some(pin)) {
        return Ok(());
    }
    let bytes = serde_json::to_vec(pin).map_err(|error| failed(error.into()))?;
    write(path, &bytes).map_err(failed)
}

fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let directory = path.parent().ok_or(std::io::ErrorKind::InvalidInput)?;
    std::fs::create_dir_all(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
