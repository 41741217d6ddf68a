// SPDX-License-Identifier: Apache-2.0
//! Which public chunk seeds each key has used, in which part.
//!
//! Two chunks under one key with one seed share their mask, so that their difference reveals the difference of
//! two plaintexts; a manifest that repeats a seed in another part is refused. The log outlives deleted tables. Per
//! key one file of 64-byte records `seed ‖ part digest`, only ever appended to; a torn last record is cut off.
//! A record that precedes a commit which then failed does no harm: it names the same part.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use crate::durable;
use crate::error::{ApiError, Code};

const DIGEST_BYTES: usize = 32;
const RECORD_BYTES: usize = 2 * DIGEST_BYTES;

/// A seed and the part that used it. Both are public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) seed: [u8; DIGEST_BYTES],
    pub(super) part: [u8; DIGEST_BYTES],
}

/// The log's directory.
pub(super) struct SeedLog {
    root: PathBuf,
}

/// All seeds of one key.
#[derive(Default)]
pub(super) struct KnownSeeds(HashMap<[u8; DIGEST_BYTES], [u8; DIGEST_BYTES]>);

impl KnownSeeds {
    /// Notes a seed; false if this very part was noted with it before.
    ///
    /// # Errors
    /// [`Code::SeedReused`] if another part has it.
    pub(super) fn insert(&mut self, entry: &Entry) -> Result<bool, ApiError> {
        match self.0.insert(entry.seed, entry.part) {
            None => Ok(true),
            Some(part) if part == entry.part => Ok(false),
            Some(_) => Err(Code::SeedReused.into()),
        }
    }
}

impl SeedLog {
    pub(super) fn open(root: PathBuf) -> io::Result<Self> {
        durable::private_directory(&root)?;
        Ok(Self { root })
    }

    /// Seeds of a key. `key_id` comes from a checked manifest: hex digits.
    pub(super) fn load(&self, key_id: &str) -> io::Result<KnownSeeds> {
        let bytes = match fs::read(self.root.join(key_id)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read?,
        };
        let (records, _torn) = bytes.as_chunks::<RECORD_BYTES>();
        let pairs = records.iter().filter_map(|record| {
            let (seed, part) = record.split_first_chunk::<DIGEST_BYTES>()?;
            Some((*seed, *part.first_chunk::<DIGEST_BYTES>()?))
        });
        Ok(KnownSeeds(pairs.collect()))
    }

    /// Appends seeds durably.
    pub(super) fn record(&self, key_id: &str, entries: &[Entry]) -> io::Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let path = self.root.join(key_id);
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
        let length = file.metadata()?.len();
        file.set_len(length - length % RECORD_BYTES as u64)?;
        let mut bytes = Vec::with_capacity(entries.len() * RECORD_BYTES);
        for entry in entries {
            bytes.extend_from_slice(&entry.seed);
            bytes.extend_from_slice(&entry.part);
        }
        file.write_all(&bytes)?;
        file.sync_all()?;
        durable::sync_directory_of(&path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seed: u8, part: u8) -> Entry {
        Entry { seed: [seed; 32], part: [part; 32] }
    }

    #[test]
    fn seeds_are_remembered_per_key_over_torn_writes() {
        let dir = tempfile::tempdir().unwrap();
        let log = SeedLog::open(dir.path().join("seeds")).unwrap();
        log.record("ab", &[entry(1, 10), entry(2, 10)]).unwrap();
        let path = dir.path().join("seeds/ab");
        OpenOptions::new().append(true).open(&path).unwrap().write_all(&[7; 40]).unwrap();
        log.record("ab", &[entry(3, 11)]).unwrap();

        let mut known = log.load("ab").unwrap();
        assert_eq!(known.0.len(), 3);
        assert!(!known.insert(&entry(1, 10)).unwrap());
        assert_eq!(known.insert(&entry(3, 12)).unwrap_err().code, Code::SeedReused);
        assert!(known.insert(&entry(4, 12)).unwrap());
        assert!(log.load("cd").unwrap().insert(&entry(1, 99)).unwrap());
    }
}
