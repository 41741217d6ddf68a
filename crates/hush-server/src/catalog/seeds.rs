// SPDX-License-Identifier: Apache-2.0
//! Which public chunk seeds each key has used, in which part.
//!
//! Two chunks under one key with one seed share their mask, so that their difference reveals the difference of
//! two plaintexts; a manifest that repeats a seed in another part is refused. The log outlives deleted tables: for
//! each key 64-byte records `seed ‖ part digest`, which are only ever added to ([`RecordLog`]). In a data directory that is one file for
//! each key. A record that precedes a commit which then failed does no harm: it names the same part.

use std::collections::HashMap;

use hush_table::{RecordLog, TableError};

use crate::error::{ApiError, Code};

const DIGEST_BYTES: usize = 32;
/// Bytes of a record.
pub(super) const RECORD_BYTES: usize = 2 * DIGEST_BYTES;

/// A seed and the part that used it. Both are public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) seed: [u8; DIGEST_BYTES],
    pub(super) part: [u8; DIGEST_BYTES],
}

/// The log.
pub(super) struct SeedLog(RecordLog);

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
    pub(super) fn new(log: RecordLog) -> Self {
        Self(log)
    }

    /// Seeds of a key. `key_id` comes from a checked manifest: hex digits.
    pub(super) fn load(&self, key_id: &str) -> Result<KnownSeeds, TableError> {
        let bytes = self.0.read(key_id)?;
        let (records, _) = bytes.as_chunks::<RECORD_BYTES>();
        let pairs = records.iter().filter_map(|record| {
            let (seed, part) = record.split_first_chunk::<DIGEST_BYTES>()?;
            Some((*seed, *part.first_chunk::<DIGEST_BYTES>()?))
        });
        Ok(KnownSeeds(pairs.collect()))
    }

    /// Adds seeds durably.
    pub(super) fn record(&self, key_id: &str, entries: &[Entry]) -> Result<(), TableError> {
        let records: Vec<u8> = entries.iter().flat_map(|entry| [entry.seed, entry.part]).flatten().collect();
        self.0.append(key_id, &records)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use super::*;

    fn entry(seed: u8, part: u8) -> Entry {
        Entry { seed: [seed; 32], part: [part; 32] }
    }

    #[test]
    fn seeds_are_remembered_per_key_over_torn_writes() {
        let dir = tempfile::tempdir().unwrap();
        let log = SeedLog::new(RecordLog::local(dir.path().join("seeds"), RECORD_BYTES).unwrap());
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

    /// A data directory of an earlier server: the files are what they were.
    #[test]
    fn the_file_of_a_key_is_its_records() {
        let dir = tempfile::tempdir().unwrap();
        let record = [[5; 32], [6; 32]].concat();
        std::fs::write(dir.path().join("ab"), &record).unwrap();
        let log = SeedLog::new(RecordLog::local(dir.path(), RECORD_BYTES).unwrap());
        assert!(!log.load("ab").unwrap().insert(&entry(5, 6)).unwrap());
        log.record("ab", &[entry(7, 8)]).unwrap();
        assert_eq!(
            std::fs::read(dir.path().join("ab")).unwrap(),
            [record, [[7; 32], [8; 32]].concat()].concat()
        );
    }
}
