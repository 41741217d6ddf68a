// SPDX-License-Identifier: Apache-2.0
//! What the owner remembers of each table, so that a server cannot present an older or another version.
//!
//! One small file per table below the state directory: `HUSH_STATE_DIR`, else `$XDG_STATE_HOME/hushtable`, else
//! `~/.local/state/hushtable`. Pins hold no secrets. A lost pin costs the memory of versions, nothing else.

use std::io::Write;
use std::path::PathBuf;

use hush_table::{Pin, SignedManifest};

use crate::error::ClientError;

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

    /// Remembers nothing: for tables that live as long as the process.
    pub fn forgetful() -> Self {
        Self { directory: None }
    }

    /// Refuses a manifest that goes back behind what was seen, and remembers it otherwise.
    ///
    /// # Errors
    /// [`ClientError::Table`] for a rollback or a fork; [`ClientError::File`] if the pin cannot be written.
    pub(crate) fn check_and_remember(&self, manifest: &SignedManifest) -> Result<(), ClientError> {
        let Some(path) = self.path(manifest) else { return Ok(()) };
        let file_error = |source| ClientError::File { path: path.clone(), source };
        match std::fs::read(&path) {
            Ok(bytes) => {
                let pin: Pin = serde_json::from_slice(&bytes).map_err(|error| file_error(error.into()))?;
                pin.check(manifest)?;
                if pin == Pin::of(manifest) {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(file_error(error)),
        }
        self.write(&path, &Pin::of(manifest)).map_err(file_error)
    }

    fn path(&self, manifest: &SignedManifest) -> Option<PathBuf> {
        let directory = self.directory.as_ref()?;
        Some(directory.join(format!("{}.json", manifest.manifest().table_id)))
    }

    fn write(&self, path: &PathBuf, pin: &Pin) -> std::io::Result<()> {
        let directory = path.parent().ok_or(std::io::ErrorKind::InvalidInput)?;
        std::fs::create_dir_all(directory)?;
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(&serde_json::to_vec(pin)?)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }
}
