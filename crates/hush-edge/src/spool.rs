// SPDX-License-Identifier: Apache-2.0
//! The spool: encrypted deliveries on the device's disk, until the table has them.
//!
//! ```text
//! state.json                            the stream, the next number, where files are read on
//! <number>-<position>[-<mark>].delivery a signed delivery, and the place in the input after its rows
//! parts/<digest>.enc.parquet            its files, as in a table
//! .lock, *.partial                      the process at work; files not yet in place
//! ```
//!
//! A delivery appears under its name once its parts are durable, so number and position become durable together. Before it is
//! deleted, `state.json` takes them over from its name.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use hush_ring::os_random;
use hush_table::delivery::DeliveryId;
use hush_table::part::{FileKind, PartName};
use hush_table::store::{PARTS_NAME, files};
use hush_table::{Digest, PartFile, SignedDelivery, StreamId, TableError, TableStore};
use serde::{Deserialize, Serialize};

use crate::encrypt::EncryptedRows;
use crate::error::SpoolFault;
use crate::place::{Mark, Place};
use crate::{DeviceKey, EdgeError};

const STATE: &str = "state.json";
const ENDING: &str = ".delivery";
const FORMAT: u16 = 2;
/// The format without marks and files before.
const OLD_FORMAT: u16 = 1;
/// Largest state file that is read.
const STATE_MAX_BYTES: u64 = 64 << 10;
/// Earlier files with places that are kept beside that of the present one.
const MAX_FILES_BEFORE: usize = 64;

/// The spool of one device's key, for one process.
#[derive(Debug)]
pub struct Spool {
    directory: PathBuf,
    store: TableStore,
    state: Mutex<State>,
    _lock: files::Lock,
}

/// The contents of `state.json`, with newer facts from the names of deliveries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    format: u16,
    stream: StreamId,
    /// Digest of the encodings of the key that the spool belongs to, and of the device.
    key: String,
    /// Number of the next delivery.
    next: u64,
    /// The place from which the present file is read on.
    #[serde(flatten)]
    place: Place,
    /// The present file; `None` if there was none yet.
    source: Option<SourceId>,
    /// Files before it, the oldest first.
    #[serde(default)]
    before: Vec<Known>,
}

/// A file, and the place up to which it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    source: SourceId,
    place: Place,
}

/// Tells one file from another under the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourceId {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// The [`DeviceKey::fingerprint`] of a file with rows as places. Such files do not grow; a file that was written again is another
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<Digest>,
}

/// A delivery that waits in the spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) number: u64,
    place: Place,
}

impl Spool {
    /// Opens the spool of `key`, or makes one. Removes leftovers of a crash.
    ///
    /// # Errors
    /// [`EdgeError::Spool`] if another process has it, if it is another key's, or if the directory is not empty and no spool;
    /// [`EdgeError::File`], [`EdgeError::Table`].
    pub fn open(directory: &Path, key: &DeviceKey) -> Result<Self, EdgeError> {
        let refused = |fault| EdgeError::Spool { path: directory.to_owned(), fault };
        let stored = read_state(directory)?;
        // Checked before anything is written: another directory is never changed.
        if stored.is_none() && !could_become_one(directory) {
            return Err(refused(SpoolFault::NotEmpty));
        }
        let lock = match files::Lock::take(directory) {
            Err(TableError::Busy { .. }) => return Err(refused(SpoolFault::Busy)),
            taken => taken?,
        };
        let store = TableStore::local(directory)?;
        let key = format!("{}-{}", key.id(), key.digest);
        // The last holder of the lock may have changed the state.
        let state = match read_state(directory)? {
            Some(state) if state.key != key => return Err(refused(SpoolFault::OtherKey)),
            Some(state) => state,
            None => {
                let mut stream = [0; 16];
                os_random(&mut stream).map_err(|_| hush_schemes::PublicKeyError::Randomness)?;
                let stream = StreamId::from_bytes(stream);
                let place = Place::default();
                State { format: FORMAT, stream, key, next: 0, place, source: None, before: Vec::new() }
            }
        };
        let spool = Self { directory: directory.to_owned(), store, state: Mutex::new(state), _lock: lock };
        spool.save(&spool.state())?;
        let waiting = spool.waiting()?;
        if let Some(last) = waiting.last() {
            let mut state = spool.state();
            if last.number >= state.next {
                (state.next, state.place) = (last.number + 1, last.place);
            }
        }
        spool.sweep(&waiting)?;
        Ok(spool)
    }

    /// The place from which the file `source` is read on: the end of its last delivery; or the beginning, for a file that was not
    /// read before, was written anew, or was cut. `mark_at` gives the mark of a place in the file as it is now, `None` if it is not
    /// that long.
    ///
    /// # Errors
    /// [`EdgeError::Changed`] for a file that begins as it did, but has other bytes before the place; [`EdgeError::Table`] if the
    /// state cannot be written; those of `mark_at`.
    pub(crate) fn resume(
        &self,
        source: SourceId,
        mark_at: impl FnOnce(u64) -> Result<Option<Option<Mark>>, EdgeError>,
    ) -> Result<u64, EdgeError> {
        let state = self.state();
        let is_present = state.source == Some(source);
        let before = state.before.iter().find(|known| known.source == source).map(|known| known.place);
        let place = if is_present { Some(state.place) } else { before };
        drop(state);
        let Some(place) = place.filter(|place| place.position > 0) else {
            self.restart(source)?;
            return Ok(0);
        };
        let goes_on = match (mark_at(place.position)?, place.mark) {
            (None, _) => false,
            (Some(Some(now)), Some(then)) if now.head == then.head && now != then => {
                return Err(EdgeError::Changed { position: place.position });
            }
            (Some(now), then) => then.is_none() || now == then,
        };
        match (goes_on, is_present) {
            (true, true) => {}
            (true, false) => self.turn_to(source, place)?,
            (false, _) => self.restart(source)?,
        }
        Ok(if goes_on { place.position } else { 0 })
    }

    /// Notes that reading begins anew, with another file or one that was cut.
    ///
    /// # Errors
    /// [`EdgeError::Table`] if the state cannot be written.
    pub(crate) fn restart(&self, source: SourceId) -> Result<(), EdgeError> {
        self.turn_to(source, Place::default())
    }

    /// Notes that `source` is read from `place` on, and keeps the place of the file before it.
    fn turn_to(&self, source: SourceId, place: Place) -> Result<(), EdgeError> {
        let mut state = self.state();
        if let Some(left) = state.source {
            let place = state.place;
            state.before.retain(|known| known.source != left);
            state.before.push(Known { source: left, place });
        }
        state.before.retain(|known| known.source != source);
        let surplus = state.before.len().saturating_sub(MAX_FILES_BEFORE);
        state.before.drain(..surplus);
        (state.source, state.place) = (Some(source), place);
        self.save(&state)
    }

    /// The name of the next delivery, under which its rows are encrypted. So one thread must encrypt and push.
    pub(crate) fn next_delivery(&self, key: &DeviceKey) -> DeliveryId {
        self.state().next_delivery(key)
    }

    /// Lets a part wait. `place` is the place in the input after its rows; `None` if the input is no file, which leaves the places of
    /// files as they are.
    ///
    /// # Errors
    /// [`EdgeError::Table`], for example for a full disk. The spool is then as it was.
    pub(crate) fn push(
        &self,
        key: &DeviceKey,
        rows: &EncryptedRows,
        place: Option<Place>,
    ) -> Result<Waiting, EdgeError> {
        let mut state = self.state();
        for part in [&rows.encrypted, &rows.clear].into_iter().flatten() {
            self.store.put_part(part)?;
        }
        let signed = rows.sign(key, state.next_delivery(key))?;
        let waiting = Waiting { number: state.next, place: place.unwrap_or(state.place) };
        files::sync_directory(&self.directory.join(PARTS_NAME))?;
        files::write(&self.directory, &waiting.file_name(), signed.as_bytes())?;
        files::sync_directory(&self.directory)?;
        (state.next, state.place) = (waiting.number + 1, waiting.place);
        Ok(waiting)
    }

    /// The waiting deliveries, oldest first.
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
        // The number in the file's name must not be lost with the file.
        self.save(&state)?;
        drop(state);
        self.remove(&self.directory.join(waiting.file_name()))?;
        let delivery = signed.delivery();
        let parts = [(FileKind::Encrypted, delivery.encrypted), (FileKind::Clear, delivery.clear)];
        let others = self.named_parts(&self.waiting()?)?;
        for (kind, file) in parts {
            let Some(file) = file else { continue };
            // Two deliveries may have the same clear rows.
            let name = kind.file_name(&file.digest);
            if others.contains(&name) {
                continue;
            }
            let parts = self.directory.join(PARTS_NAME);
            self.remove(&parts.join(name))?;
            self.remove(&parts.join(kind.tree_name(&file.digest)))?;
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
            let name = |kind: FileKind, file: Option<PartFile>| file.map(|file| kind.file_name(&file.digest));
            names.extend(name(FileKind::Encrypted, delivery.encrypted));
            names.extend(name(FileKind::Clear, delivery.clear));
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
                let part = PartName::of_file(name).map(|part| part.file_name());
                let is_left = all && part.is_some_and(|part| !named.contains(&part));
                let is_half =
                    files::is_partial(name) && (all && name.contains(".parquet.") || is_half_written(name));
                if is_half || is_left {
                    self.remove(&entry.path())?;
                }
            }
        }
        Ok(())
    }
}

impl State {
    fn next_delivery(&self, key: &DeviceKey) -> DeliveryId {
        DeliveryId { device: key.id(), stream: self.stream, number: self.next }
    }
}

impl Waiting {
    fn file_name(self) -> String {
        let mark =
            self.place.mark.map_or_else(String::new, |mark| format!("-{:016x}{:016x}", mark.head, mark.tail));
        format!("{:012}-{}{mark}{ENDING}", self.number, self.place.position)
    }

    fn of_file_name(name: &str) -> Option<Self> {
        let mut fields = name.strip_suffix(ENDING)?.split('-');
        let (number, position) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let half = |text: Option<&str>| u64::from_str_radix(text?, 16).ok();
        let mark = match fields.next() {
            None => None,
            Some(text) => Some(Mark { head: half(text.get(..16))?, tail: half(text.get(16..))? }),
        };
        let found = Self { number, place: Place { position, mark } };
        (found.file_name() == name).then_some(found)
    }
}

/// Whether a directory without a state holds only files of a spool whose making was interrupted.
fn could_become_one(directory: &Path) -> bool {
    let names = |directory: &Path| -> Vec<String> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let own = |name: &String| name == files::LOCK_NAME || name == PARTS_NAME || is_half_written(name);
    names(directory).iter().all(own) && names(&directory.join(PARTS_NAME)).is_empty()
}

/// Whether a file of the directory itself is one of ours that is not yet in place.
fn is_half_written(name: &str) -> bool {
    files::is_partial(name) && (name.starts_with(STATE) || name.contains(ENDING))
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
    match state.filter(|state| [OLD_FORMAT, FORMAT].contains(&state.format)) {
        Some(state) => Ok(Some(State { format: FORMAT, ..state })),
        None => Err(EdgeError::Spool { path: directory.to_owned(), fault: SpoolFault::Damaged }),
    }
}

#[cfg(test)]
mod tests;
