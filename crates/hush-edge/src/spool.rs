// SPDX-License-Identifier: Apache-2.0
//! The spool: encrypted deliveries on the device's disk, until the table has them.
//!
//! ```text
//! state.json                        the stream, the next number, where the input is read on
//! <number>-<position>.delivery      a signed delivery, and the place in the input after its rows
//! parts/<digest>.enc.parquet        its files, as in a table
//! .lock, *.partial                  the process at work; files not yet in place
//! ```
//!
//! A delivery appears under its name once its parts are durable, so that number and position become durable at once. Before it is
//! deleted, `state.json` has taken over what its name says.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use hush_ring::os_random;
use hush_table::delivery::{DELIVERY_FORMAT, DeliveryId};
use hush_table::part::PartKind;
use hush_table::store::{PARTS_NAME, files};
use hush_table::{Delivery, Digest, PartFile, SignedDelivery, StreamId, TableStore};
use serde::{Deserialize, Serialize};

use crate::encrypt::EncryptedRows;
use crate::{DeviceKey, EdgeError};

const STATE: &str = "state.json";
const ENDING: &str = ".delivery";
const FORMAT: u16 = 1;
/// Largest state file that is read.
const STATE_MAX_BYTES: u64 = 4096;

/// The spool of one device's key, for one process.
#[derive(Debug)]
pub struct Spool {
    directory: PathBuf,
    store: TableStore,
    state: Mutex<State>,
    _lock: files::Lock,
}

/// What stands in `state.json`, and what is newer in names of deliveries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    format: u16,
    stream: StreamId,
    /// Digest of the encodings of the key that the spool belongs to, and of the device.
    key: String,
    /// Number of the next delivery.
    next: u64,
    /// Where the input is read on.
    position: u64,
    /// Which file the position is in; `None` for a stream.
    source: Option<SourceId>,
}

/// Tells one file from another under the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourceId {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// Of a file whose places are rows: what it holds, as [`DeviceKey::fingerprint`] has it. Such files do not grow; one that was written
    /// again is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<Digest>,
}

/// A delivery that waits in the spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) number: u64,
    position: u64,
}

impl Spool {
    /// Opens the spool of `key`, making it if there is none. What a crash left is removed.
    ///
    /// # Errors
    /// [`EdgeError::Table`] if another process has it, [`EdgeError::Spool`] if it is another key's, [`EdgeError::File`].
    pub fn open(directory: &Path, key: &DeviceKey) -> Result<Self, EdgeError> {
        let store = TableStore::local(directory)?;
        let lock = files::Lock::take(directory)?;
        let key = format!("{}-{}", key.name(), key.digest);
        let stored = read_state(directory)?;
        let state = match stored {
            Some(state) if state.key != key => {
                let what = "it holds deliveries of another key";
                return Err(EdgeError::Spool { path: directory.to_owned(), what });
            }
            Some(state) => state,
            None => {
                let mut stream = [0; 16];
                os_random(&mut stream).map_err(|_| hush_schemes::PublicKeyError::Randomness)?;
                let stream = StreamId::from_bytes(stream);
                State { format: FORMAT, stream, key, next: 0, position: 0, source: None }
            }
        };
        let spool = Self { directory: directory.to_owned(), store, state: Mutex::new(state), _lock: lock };
        spool.save(&spool.state())?;
        let waiting = spool.waiting()?;
        if let Some(last) = waiting.last() {
            let mut state = spool.state();
            if last.number >= state.next {
                (state.next, state.position) = (last.number + 1, last.position);
            }
        }
        spool.sweep(&waiting)?;
        Ok(spool)
    }

    /// Where the file that `source` tells apart, of `length` bytes now, is read on: where the last delivery ended, or at the
    /// beginning of another file or one that was cut.
    ///
    /// # Errors
    /// [`EdgeError::Table`] if it cannot be written down.
    pub(crate) fn resume(&self, source: SourceId, length: u64) -> Result<u64, EdgeError> {
        let state = self.state();
        let (same, position) = (state.source == Some(source), state.position);
        drop(state);
        // A last line without its end was passed with one.
        if same && position <= length + 1 {
            return Ok(position);
        }
        self.restart(source)?;
        Ok(0)
    }

    /// Notes that reading begins anew, with another file or one that was cut.
    ///
    /// # Errors
    /// [`EdgeError::Table`] if it cannot be written down.
    pub(crate) fn restart(&self, source: SourceId) -> Result<(), EdgeError> {
        let mut state = self.state();
        (state.source, state.position) = (Some(source), 0);
        self.save(&state)
    }

    /// Lets a part wait; `position` is the place in the input after its rows.
    ///
    /// # Errors
    /// [`EdgeError::Table`] for a full disk, for one: the spool is then as it was.
    pub(crate) fn push(
        &self,
        key: &DeviceKey,
        rows: &EncryptedRows,
        position: u64,
    ) -> Result<Waiting, EdgeError> {
        let mut state = self.state();
        for part in [&rows.encrypted, &rows.clear].into_iter().flatten() {
            self.store.put_part(part)?;
        }
        let delivery = Delivery {
            format: DELIVERY_FORMAT,
            table_id: key.table_id,
            encodings: key.digest,
            id: DeliveryId { stream: state.stream, number: state.next },
            rows: rows.rows as u64,
            chunks: 1,
            clear: rows.clear.as_ref().map(|part| part.file),
            encrypted: rows.encrypted.as_ref().map(|part| part.file),
        };
        let sign = |bytes: &[u8]| key.sign(bytes);
        let signed = SignedDelivery::sign(delivery, &key.verifying_key(), &key.certificate, sign)?;
        let waiting = Waiting { number: state.next, position };
        files::sync_directory(&self.directory.join(PARTS_NAME))?;
        files::write(&self.directory, &waiting.file_name(), signed.as_bytes())?;
        files::sync_directory(&self.directory)?;
        (state.next, state.position) = (waiting.number + 1, position);
        Ok(waiting)
    }

    /// What waits, oldest first.
    ///
    /// # Errors
    /// [`EdgeError::File`].
    pub(crate) fn waiting(&self) -> Result<Vec<Waiting>, EdgeError> {
        let failed = |source| EdgeError::File { what: "list", path: self.directory.clone(), source };
        let mut waiting = BTreeMap::new();
        for entry in fs::read_dir(&self.directory).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            if let Some(found) = name.to_str().and_then(Waiting::of_file_name) {
                waiting.insert(found.number, found);
            }
        }
        Ok(waiting.into_values().collect())
    }

    /// Reads a waiting delivery.
    ///
    /// # Errors
    /// [`EdgeError::File`]; [`EdgeError::Table`] if it is damaged.
    pub(crate) fn read(&self, waiting: Waiting) -> Result<SignedDelivery, EdgeError> {
        let path = self.directory.join(waiting.file_name());
        let bytes = fs::read(&path).map_err(|source| EdgeError::File { what: "read", path, source })?;
        Ok(SignedDelivery::decode(&bytes)?)
    }

    /// Deletes a delivery that the table has, and its parts.
    ///
    /// # Errors
    /// [`EdgeError::File`], [`EdgeError::Table`]; it is then sent again, which changes nothing.
    pub(crate) fn delivered(&self, waiting: Waiting, signed: &SignedDelivery) -> Result<(), EdgeError> {
        let state = self.state();
        // What the name says must not be lost with it.
        self.save(&state)?;
        drop(state);
        self.remove(&self.directory.join(waiting.file_name()))?;
        let delivery = signed.delivery();
        let parts = [(PartKind::Encrypted, delivery.encrypted), (PartKind::Clear, delivery.clear)];
        let others = self.named_parts(&self.waiting()?)?;
        for (kind, file) in parts {
            // Two deliveries may have the same clear rows.
            let Some(name) =
                file.map(|file| kind.file_name(&file.digest)).filter(|name| !others.contains(name))
            else {
                continue;
            };
            self.remove(&self.directory.join(PARTS_NAME).join(name))?;
        }
        Ok(())
    }

    /// Bytes on the disk.
    pub(crate) fn bytes(&self) -> u64 {
        let directory = fs::read_dir(self.directory.join(PARTS_NAME));
        let files = directory.into_iter().flatten().flatten();
        files.filter_map(|file| file.metadata().ok()).map(|facts| facts.len()).sum()
    }

    /// The parts, laid out as a table's are.
    pub(crate) fn store(&self) -> &TableStore {
        &self.store
    }

    /// Its directory.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn save(&self, state: &State) -> Result<(), EdgeError> {
        let text = serde_json::to_vec(state)
            .map_err(|_| EdgeError::Internal { what: "a state does not serialise" })?;
        files::write(&self.directory, STATE, &text)?;
        Ok(files::sync_directory(&self.directory)?)
    }

    fn remove(&self, path: &Path) -> Result<(), EdgeError> {
        match fs::remove_file(path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(EdgeError::File { what: "remove", path: path.to_owned(), source })
            }
            _ => Ok(()),
        }
    }

    fn named_parts(&self, waiting: &[Waiting]) -> Result<Vec<String>, EdgeError> {
        let mut names = Vec::new();
        for waiting in waiting {
            let signed = self.read(*waiting)?;
            let delivery = signed.delivery();
            let name = |kind: PartKind, file: Option<PartFile>| file.map(|file| kind.file_name(&file.digest));
            names.extend(name(PartKind::Encrypted, delivery.encrypted));
            names.extend(name(PartKind::Clear, delivery.clear));
        }
        Ok(names)
    }

    /// Removes parts that no delivery names, and files not yet in place.
    fn sweep(&self, waiting: &[Waiting]) -> Result<(), EdgeError> {
        let named = self.named_parts(waiting)?;
        for (folder, all) in [(self.directory.join(PARTS_NAME), true), (self.directory.clone(), false)] {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let Some(name) = name.to_str() else { continue };
                if files::is_partial(name) || all && !named.iter().any(|part| part == name) {
                    self.remove(&entry.path())?;
                }
            }
        }
        Ok(())
    }
}

impl Waiting {
    fn file_name(self) -> String {
        format!("{:012}-{}{ENDING}", self.number, self.position)
    }

    fn of_file_name(name: &str) -> Option<Self> {
        let (number, position) = name.strip_suffix(ENDING)?.split_once('-')?;
        let found = Self { number: number.parse().ok()?, position: position.parse().ok()? };
        (found.file_name() == name).then_some(found)
    }
}

fn read_state(directory: &Path) -> Result<Option<State>, EdgeError> {
    let path = directory.join(STATE);
    let file = match File::open(&path) {
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(EdgeError::File { what: "read", path, source }),
        Ok(file) => file,
    };
    let mut bytes = Vec::new();
    let read = io::Read::read_to_end(&mut io::Read::take(file, STATE_MAX_BYTES), &mut bytes);
    read.map_err(|source| EdgeError::File { what: "read", path, source })?;
    let state: Option<State> = serde_json::from_slice(&bytes).ok();
    let what = "its state file is damaged";
    match state.filter(|state| state.format == FORMAT) {
        Some(state) => Ok(Some(state)),
        None => Err(EdgeError::Spool { path: directory.to_owned(), what }),
    }
}

#[cfg(test)]
mod tests;
