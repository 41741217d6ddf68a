// SPDX-License-Identifier: Apache-2.0
//! Records that are only ever added: what a server must never forget, whatever becomes of its tables.
//!
//! In a directory each name is one file, to whose end records are written. An object cannot be written to, so elsewhere each
//! addition is an object of its own, below the name and named by its digest; when these become many they are put together in one.
//! Both give the same records back, in no particular order.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::path::Path;

use super::files;
use super::objects::{self, Listed, Lookup};
use crate::digest::Digest;
use crate::error::{Operation, TableError};

/// Most objects of a name before they are put together.
const MAX_SEGMENTS: usize = 64;

/// Records of one length, in runs by name.
#[derive(Clone, Debug)]
pub struct RecordLog {
    place: Place,
    record_bytes: usize,
}

#[derive(Clone, Debug)]
enum Place {
    Directory(PathBuf),
    Objects(Arc<dyn ObjectStore>, Path),
}

impl RecordLog {
    /// A log in a directory, made if it does not exist, of records of `record_bytes` bytes.
    ///
    /// # Errors
    /// [`TableError::Io`].
    pub fn local(directory: impl Into<PathBuf>, record_bytes: usize) -> Result<Self, TableError> {
        let directory = directory.into();
        files::make_directory(&directory)?;
        Ok(Self { place: Place::Directory(directory), record_bytes })
    }

    /// A log below a prefix of an object store, of records of `record_bytes` bytes.
    pub fn new(objects: Arc<dyn ObjectStore>, prefix: Path, record_bytes: usize) -> Self {
        Self { place: Place::Objects(objects, prefix), record_bytes }
    }

    /// All whole records of a name, one behind the other; what a crash has left of another one is left out.
    ///
    /// # Errors
    /// [`TableError::BadName`] unless the name is of letters and digits; [`TableError::Io`].
    pub fn read(&self, name: &str) -> Result<Vec<u8>, TableError> {
        check_name(name)?;
        let mut records = match &self.place {
            Place::Directory(directory) => {
                let path = directory.join(name);
                match fs::read(&path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
                    read => read.map_err(files::at(Operation::Read, &path))?,
                }
            }
            Place::Objects(objects, prefix) => {
                let folder = prefix.clone().join(name);
                self.segments(objects, &folder, &objects::list(objects, &folder)?)?
            }
        };
        records.truncate(self.whole(records.len()));
        Ok(records)
    }

    /// Adds whole records to a name, durably: a crash adds all of them, or some of the first, or none.
    ///
    /// # Errors
    /// As [`RecordLog::read`].
    pub fn append(&self, name: &str, records: &[u8]) -> Result<(), TableError> {
        check_name(name)?;
        if records.is_empty() {
            return Ok(());
        }
        match &self.place {
            Place::Directory(directory) => {
                let path = directory.join(name);
                self.append_file(&path, records).map_err(files::at(Operation::Write, &path))?;
                files::sync_directory(directory)
            }
            Place::Objects(objects, prefix) => {
                self.append_segment(objects, &prefix.clone().join(name), records)
            }
        }
    }

    fn append_file(&self, path: &std::path::Path, records: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        let length = file.metadata()?.len();
        self.cut_torn(&file, length)?;
        file.write_all(records)?;
        file.sync_all()
    }

    /// Cuts off what is no whole record, so that the next one begins where it must.
    fn cut_torn(&self, file: &File, length: u64) -> io::Result<()> {
        let torn = length.checked_rem(self.record_bytes as u64).unwrap_or(0);
        file.set_len(length.saturating_sub(torn))
    }

    fn append_segment(
        &self,
        objects: &Arc<dyn ObjectStore>,
        folder: &Path,
        records: &[u8],
    ) -> Result<(), TableError> {
        let present = objects::list(objects, folder)?;
        let mut segment =
            if present.len() < MAX_SEGMENTS { Vec::new() } else { self.segments(objects, folder, &present)? };
        let together = !segment.is_empty();
        segment.extend_from_slice(records);
        let name = Digest::of(&segment).to_string();
        objects::put(objects, &folder.clone().join(name.as_str()), segment.into())?;
        if together {
            // Only now: they are in the new one, and a crash in between leaves their records twice.
            let old = present.iter().filter(|segment| segment.name != name);
            objects::delete_all(
                objects,
                old.map(|segment| folder.clone().join(segment.name.as_str())).collect(),
            )?;
        }
        Ok(())
    }

    /// The records of some segments.
    fn segments(
        &self,
        objects: &Arc<dyn ObjectStore>,
        folder: &Path,
        listed: &[Listed],
    ) -> Result<Vec<u8>, TableError> {
        let mut records = Vec::new();
        for segment in listed {
            let path = folder.clone().join(segment.name.as_str());
            let failed =
                |source| TableError::Io { operation: Operation::Read, place: path.to_string(), source };
            let Lookup::Object(found, _) = objects::fetch(objects, &path, segment.bytes)? else {
                return Err(failed(io::ErrorKind::NotFound.into()));
            };
            let bytes = found.read_all().map_err(failed)?;
            records.extend_from_slice(bytes.get(..self.whole(bytes.len())).unwrap_or_default());
        }
        Ok(records)
    }

    /// So many of `bytes` bytes are of whole records.
    fn whole(&self, bytes: usize) -> usize {
        bytes - bytes.checked_rem(self.record_bytes).unwrap_or(0)
    }
}

/// Names become names of files.
fn check_name(name: &str) -> Result<(), TableError> {
    let is_plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_plain { Ok(()) } else { Err(TableError::BadName { found: name.chars().take(64).collect() }) }
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;

    fn logs() -> (tempfile::TempDir, Arc<InMemory>, [RecordLog; 2]) {
        let directory = tempfile::tempdir().unwrap();
        let memory = Arc::new(InMemory::new());
        let local = RecordLog::local(directory.path().join("log"), 4).unwrap();
        let objects = RecordLog::new(memory.clone(), Path::from("a/log"), 4);
        (directory, memory, [local, objects])
    }

    fn sorted(log: &RecordLog, name: &str) -> Vec<[u8; 4]> {
        let records = log.read(name).unwrap();
        let (records, rest) = records.as_chunks::<4>();
        assert!(rest.is_empty());
        let mut records = records.to_vec();
        records.sort();
        records
    }

    #[test]
    fn what_was_added_comes_back_by_name() {
        let (_guard, memory, logs) = logs();
        for log in &logs {
            assert!(log.read("ab").unwrap().is_empty());
            let number = |at: u32| at.to_be_bytes();
            for at in 0..300 {
                log.append("ab", &[number(2 * at), number(2 * at + 1)].concat()).unwrap();
            }
            log.append("cd", b"abcd").unwrap();
            log.append("cd", b"").unwrap();
            assert_eq!(sorted(log, "ab"), (0..600).map(number).collect::<Vec<_>>());
            assert_eq!(sorted(log, "cd"), [*b"abcd"]);
            for bad in ["", "..", "a/b", "a.b"] {
                assert_eq!(log.read(bad).unwrap_err().code(), "HUSH-T042");
                assert_eq!(log.append(bad, b"abcd").unwrap_err().code(), "HUSH-T042");
            }
        }
        // They are few, though there were three hundred additions.
        let store: Arc<dyn ObjectStore> = memory;
        assert!(objects::list(&store, &Path::from("a/log/ab")).unwrap().len() <= MAX_SEGMENTS);
    }

    #[test]
    fn a_torn_record_is_cut_off() {
        let (guard, memory, [local, objects]) = logs();
        local.append("ab", b"onceagain").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(local.read("ab").unwrap(), b"onceagai");
        local.append("ab", b"then").unwrap();
        assert_eq!(local.read("ab").unwrap(), b"onceagaithen");
        assert_eq!(fs::read(guard.path().join("log/ab")).unwrap(), b"onceagaithen");
        let store: Arc<dyn ObjectStore> = memory;
        objects::put(&store, &Path::from("a/log/ab/x"), "once..".into()).unwrap();
        objects.append("ab", b"then").unwrap();
        assert_eq!(sorted(&objects, "ab"), [*b"once", *b"then"]);
    }
}
