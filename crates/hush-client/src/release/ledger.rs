// SPDX-License-Identifier: Apache-2.0
//! The ledger of numbers released of one encryption of a table. It is written before a number leaves, so no number leaves
//! uncounted.
//!
//! Each encryption has one sealed file beside the pins, made when the table is encrypted. A missing file was lost, and nothing is
//! released then. An older copy of it put back in its place would not be noticed.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use hush_keys::{NumberId, SEAL_OVERHEAD_BYTES, SealKey};
use hush_params::noise::release::MAX_ANSWERS;
use hush_table::Manifest;

use super::ReleaseError;
use crate::error::ClientError;
use crate::pins::Pins;

/// First bytes of a ledger, once it is opened.
const MAGIC: [u8; 8] = *b"HUSHRLS1";
/// The place that the sealed bytes are bound to, beside the key of the encryption.
const PLACE: &[u8] = b"ledger of releases";
/// Largest ledger.
const MAX_BYTES: u64 = (MAGIC.len() + MAX_ANSWERS as usize * NumberId::BYTES + SEAL_OVERHEAD_BYTES) as u64;

/// Counts the numbers that were released of one encryption.
pub(crate) struct Ledger {
    place: Place,
    seal: SealKey,
}

enum Place {
    /// Nothing is remembered here, so nothing can be counted.
    Nowhere,
    /// For a table that lives as long as the process.
    Memory(Mutex<BTreeSet<NumberId>>),
    File(PathBuf),
}

/// The state of a ledger after counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spent {
    /// Numbers released so far.
    pub(crate) released: u32,
}

impl Ledger {
    /// The ledger of the encryption that `manifest` describes.
    pub(crate) fn of(manifest: &Manifest, seal: SealKey, pins: &Pins) -> Self {
        let name = format!("{}-{}.sealed", manifest.table_id, manifest.encryption);
        let place = pins.releases().map_or(Place::Nowhere, |directory| Place::File(directory.join(name)));
        Self { place, seal }
    }

    /// A ledger that is forgotten with the process, as its table is.
    pub(crate) fn in_memory(seal: SealKey) -> Self {
        Self { place: Place::Memory(Mutex::default()), seal }
    }

    /// Begins the ledger of a new encryption, where one is kept.
    ///
    /// # Errors
    /// [`ClientError::File`].
    pub(crate) fn begin(&self) -> Result<(), ClientError> {
        match &self.place {
            Place::File(path) => self.write(path, &BTreeSet::new()),
            Place::Memory(_) | Place::Nowhere => Ok(()),
        }
    }

    /// Counts `numbers`; those that were released before cost nothing. When this returns, the count survives the process and the
    /// machine.
    ///
    /// # Errors
    /// [`ReleaseError::Budget`], with nothing counted; [`ReleaseError::NoLedger`] and [`ReleaseError::BadLedger`].
    pub(crate) fn count(&self, numbers: &BTreeSet<NumberId>, answers: u32) -> Result<Spent, ClientError> {
        match &self.place {
            Place::Nowhere => Err(ReleaseError::Nowhere.into()),
            Place::Memory(released) => {
                let mut released = released.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                *released = with(&released, numbers, answers)?;
                Ok(spent(&released))
            }
            Place::File(path) => {
                // Held until the new ledger is in place: two processes count one after the other.
                let _lock = locked(path)?;
                let before = self.read(path)?;
                let after = with(&before, numbers, answers)?;
                if after != before {
                    self.write(path, &after)?;
                }
                Ok(spent(&after))
            }
        }
    }

    fn read(&self, path: &Path) -> Result<BTreeSet<NumberId>, ClientError> {
        let file_error = |source| ClientError::File { path: path.to_owned(), source };
        let file = match File::open(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(ReleaseError::NoLedger { path: path.to_owned() }.into());
            }
            opened => opened.map_err(file_error)?,
        };
        let mut sealed = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut sealed).map_err(file_error)?;
        let bad = || ReleaseError::BadLedger { path: path.to_owned() };
        let plain = self.seal.open(PLACE, &sealed).map_err(|_| bad())?;
        let (numbers, rest) = plain.strip_prefix(&MAGIC).ok_or_else(bad)?.as_chunks::<{ NumberId::BYTES }>();
        if !rest.is_empty() {
            return Err(bad().into());
        }
        Ok(numbers.iter().map(|bytes| NumberId::from_bytes(*bytes)).collect())
    }

    fn write(&self, path: &Path, released: &BTreeSet<NumberId>) -> Result<(), ClientError> {
        let mut plain = MAGIC.to_vec();
        released.iter().for_each(|number| plain.extend_from_slice(&number.to_bytes()));
        let sealed = self.seal.seal(PLACE, &plain)?;
        durably(path, &sealed).map_err(|source| ClientError::File { path: path.to_owned(), source })
    }
}

fn with(
    released: &BTreeSet<NumberId>,
    numbers: &BTreeSet<NumberId>,
    answers: u32,
) -> Result<BTreeSet<NumberId>, ReleaseError> {
    let all: BTreeSet<NumberId> = released.union(numbers).copied().collect();
    if all.len() > answers as usize {
        let (spent, asked) = (released.len() as u32, all.len() as u32 - released.len() as u32);
        return Err(ReleaseError::Budget { spent, asked, answers });
    }
    Ok(all)
}

fn spent(released: &BTreeSet<NumberId>) -> Spent {
    Spent { released: released.len() as u32 }
}

/// A lock beside the ledger, which is replaced and cannot hold one itself.
fn locked(path: &Path) -> Result<File, ClientError> {
    let path = path.with_extension("lock");
    let locked = || {
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        let file = File::options().create(true).truncate(false).write(true).open(&path)?;
        file.lock()?;
        Ok(file)
    };
    locked().map_err(|source| ClientError::File { path: path.clone(), source })
}

/// Replaces a file: afterwards the new one is there even if the machine stops.
fn durably(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let directory = path.parent().ok_or(std::io::ErrorKind::InvalidInput)?;
    std::fs::create_dir_all(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use hush_keys::OwnerSeed;

    use super::*;

    fn numbers(range: std::ops::Range<u8>) -> BTreeSet<NumberId> {
        range.map(|n| NumberId::from_bytes([n; 16])).collect()
    }

    fn ledger(path: &Path, owner: &OwnerSeed, encryption: u8) -> Ledger {
        let seal = owner.of_table([1; 16], [encryption; 16]).ledger_seal();
        Ledger { place: Place::File(path.to_owned()), seal }
    }

    fn code<T>(result: Result<T, ClientError>) -> &'static str {
        result.err().map_or("none", |error| error.code())
    }

    #[test]
    fn a_number_counts_once_and_the_budget_ends() {
        let (directory, owner) = (tempfile::tempdir().unwrap(), OwnerSeed::generate().unwrap());
        let path = directory.path().join("releases/l.sealed");
        let open = || ledger(&path, &owner, 1);
        open().begin().unwrap();
        assert_eq!(open().count(&numbers(0..3), 5).unwrap(), Spent { released: 3 });
        assert_eq!(open().count(&numbers(0..3), 5).unwrap(), Spent { released: 3 }, "again is free");
        assert_eq!(open().count(&numbers(1..5), 5).unwrap(), Spent { released: 5 });
        assert_eq!(code(open().count(&numbers(4..6), 5)), "HUSH-C082");
        assert_eq!(
            open().count(&numbers(0..5), 5).unwrap(),
            Spent { released: 5 },
            "what is known stays free"
        );
        let memory = Ledger::in_memory(owner.of_table([1; 16], [1; 16]).ledger_seal());
        assert_eq!(memory.count(&numbers(0..5), 5).unwrap(), Spent { released: 5 });
        assert_eq!(code(memory.count(&numbers(5..6), 5)), "HUSH-C082");
    }

    #[test]
    fn a_lost_or_altered_ledger_fails_closed() {
        let (directory, owner) = (tempfile::tempdir().unwrap(), OwnerSeed::generate().unwrap());
        let path = directory.path().join("l.sealed");
        assert_eq!(code(ledger(&path, &owner, 1).count(&numbers(0..1), 5)), "HUSH-C080");
        ledger(&path, &owner, 1).begin().unwrap();
        ledger(&path, &owner, 1).count(&numbers(0..1), 5).unwrap();
        assert_eq!(
            code(ledger(&path, &owner, 2).count(&numbers(0..1), 5)),
            "HUSH-C081",
            "of another encryption"
        );
        let good = std::fs::read(&path).unwrap();
        for length in 0..good.len() {
            std::fs::write(&path, &good[..length]).unwrap();
            assert_eq!(
                code(ledger(&path, &owner, 1).count(&numbers(0..1), 5)),
                "HUSH-C081",
                "{length} bytes"
            );
        }
        let nowhere = Ledger { place: Place::Nowhere, seal: owner.of_table([1; 16], [1; 16]).ledger_seal() };
        assert_eq!(code(nowhere.count(&numbers(0..1), 5)), "HUSH-C084");
    }

    /// Eight threads count disjoint numbers at once: none is lost.
    #[test]
    fn counts_at_the_same_time_add_up() {
        let (directory, owner) = (tempfile::tempdir().unwrap(), OwnerSeed::generate().unwrap());
        let path = directory.path().join("l.sealed");
        ledger(&path, &owner, 1).begin().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8_u8 {
                let (path, owner) = (&path, &owner);
                scope.spawn(move || {
                    for n in 0..4 {
                        let number = thread * 4 + n;
                        ledger(path, owner, 1).count(&numbers(number..number + 1), 100).unwrap();
                    }
                });
            }
        });
        assert_eq!(ledger(&path, &owner, 1).count(&numbers(0..0), 100).unwrap(), Spent { released: 32 });
    }

    const KILLED: &str = "HUSH_TEST_LEDGER";

    /// Counts numbers and reports each afterwards, until it is killed. The test below runs it as a process.
    #[test]
    #[ignore = "the child process of another test"]
    fn count_until_killed() {
        let directory = PathBuf::from(std::env::var_os(KILLED).unwrap());
        let owner = OwnerSeed::generate().unwrap();
        let (path, seal) = (directory.join("l.sealed"), owner.of_table([1; 16], [1; 16]).ledger_seal());
        let ledger = Ledger { place: Place::File(path), seal };
        ledger.begin().unwrap();
        let mut left = File::create(directory.join("left")).unwrap();
        for number in 0_u32.. {
            let id = NumberId::from_bytes(u128::from(number).to_le_bytes());
            let spent = ledger.count(&BTreeSet::from([id]), MAX_ANSWERS).unwrap();
            left.write_all(&spent.released.to_le_bytes()).unwrap();
        }
    }

    /// Whenever the process is killed, the ledger has every number that left. Its length tells their count.
    #[test]
    fn a_killed_process_never_leaves_a_number_uncounted() {
        for round in 0..12_u64 {
            let directory = tempfile::tempdir().unwrap();
            let mut child = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--ignored", "--exact", "release::ledger::tests::count_until_killed"])
                .env(KILLED, directory.path())
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap();
            let left = directory.path().join("left");
            let numbers = || std::fs::read(&left).map_or(0, |bytes| bytes.len() / 4);
            while numbers() < 3 {
                assert!(child.try_wait().unwrap().is_none(), "the child ended by itself");
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            std::thread::sleep(std::time::Duration::from_micros(700 * round));
            child.kill().unwrap();
            child.wait().unwrap();
            let sealed = std::fs::metadata(directory.path().join("l.sealed")).unwrap().len() as usize;
            let counted = (sealed - SEAL_OVERHEAD_BYTES - MAGIC.len()) / NumberId::BYTES;
            assert!(counted >= numbers(), "round {round}: {counted} counted, {} left", numbers());
        }
    }
}
