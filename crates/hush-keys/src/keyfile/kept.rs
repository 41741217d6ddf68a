// SPDX-License-Identifier: Apache-2.0
//! Roots that come into a key file and go from it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hush_ring::os_random;
use rustix::fs::{FlockOperation, flock};

use super::{
    Action, KeyFileError, MAX_ROOTS, NewPassphrase, Passphrase, ROOT_BYTES, WorkFactor, directory_of,
    io_error, load, open_error, read_sealed, rewrap, work_of,
};
use crate::kept::{Home, KeyFile, Known, Root, RootName};
use crate::seed::OwnerSeed;

impl OwnerSeed {
    /// The key, with leave to change its file at `path`: it takes the roots of tables that can be erased, and loses them when they are to be
    /// forgotten. `again` is the file with the passphrase, which is then read again; without it a copy of the passphrase stays in memory with
    /// the key.
    #[must_use]
    pub fn to_change(self, path: &Path, passphrase: &Passphrase, again: Option<&Path>) -> Self {
        let passphrase = match again {
            Some(file) => Known::InFile(file.to_owned()),
            None => Known::Kept(passphrase.secret()),
        };
        Self { home: Home::File(KeyFile { path: path.to_owned(), passphrase }), ..self }
    }

    /// The key without leave to change its file at `path`.
    #[must_use]
    pub fn to_read(self, path: &Path) -> Self {
        Self { home: Home::Fixed(path.to_owned()), ..self }
    }

    /// Puts the roots of these encryptions into the key file: copies of those that `of` has, new random ones for the others. What is there
    /// already stays.
    ///
    /// # Errors
    /// [`KeyFileError::Fixed`] for a key without leave; those of [`load`] and [`rewrap`]; [`KeyFileError::TooManyRoots`]. The file is then as it
    /// was.
    ///
    /// # Cost
    /// Trying the passphrase three times.
    pub fn keep_roots(&self, names: &[RootName], of: Option<&Self>) -> Result<(), KeyFileError> {
        self.change_roots(|roots| {
            for name in names {
                if roots.contains_key(name) {
                    continue;
                }
                let root = match of.and_then(|of| of.kept.get(name)) {
                    Some(root) => root,
                    None => new_root()?,
                };
                roots.insert(*name, root);
            }
            Ok(())
        })
    }

    /// Takes roots out of the key file: those of table `table_id` that this key knows and whose encryptions are not among `wanted`. A root that
    /// another process has put there meanwhile stays. The bytes of the file that was there are overwritten where they lay. Gives the number of roots
    /// that went.
    ///
    /// # Errors
    /// As [`OwnerSeed::keep_roots`].
    pub fn forget_roots(&self, table_id: [u8; 16], wanted: &[[u8; 16]]) -> Result<usize, KeyFileError> {
        let (known, mut gone) = (self.kept.all(), 0);
        self.change_roots(|roots| {
            let count = roots.len();
            let stays = |name: &RootName| name.table_id != table_id || wanted.contains(&name.encryption);
            roots.retain(|name, _| stays(name) || !known.contains_key(name));
            gone = count - roots.len();
            Ok(())
        })?;
        Ok(gone)
    }

    /// Whether the key has the root of an encryption.
    pub fn has_root(&self, name: &RootName) -> bool {
        self.kept.get(name).is_some()
    }

    /// How many of another look's roots this one lacks: a copy of the key file, for instance.
    pub fn lacks_of(&self, other: &Self) -> usize {
        other.kept.all().keys().filter(|name| !self.has_root(name)).count()
    }

    fn change_roots(
        &self,
        change: impl FnOnce(&mut BTreeMap<RootName, Root>) -> Result<(), KeyFileError>,
    ) -> Result<(), KeyFileError> {
        match &self.home {
            Home::File(file) => file.change(self, change),
            Home::Fixed(path) => Err(KeyFileError::Fixed { path: path.clone() }),
            Home::Memory => {
                let mut roots = self.kept.all();
                change(&mut roots)?;
                self.kept.replace(roots);
                Ok(())
            }
        }
    }
}

impl KeyFile {
    /// Changes the roots that the file has now, while no other process does.
    fn change(
        &self,
        seed: &OwnerSeed,
        change: impl FnOnce(&mut BTreeMap<RootName, Root>) -> Result<(), KeyFileError>,
    ) -> Result<(), KeyFileError> {
        let passphrase = match &self.passphrase {
            Known::Kept(secret) => NewPassphrase::of_secret(secret.clone()),
            Known::InFile(file) => NewPassphrase::weak(Passphrase::from_file(file)?)?,
        };
        let failed = |source| io_error(Action::Open, &self.path, source);
        let directory = File::open(directory_of(&self.path)).map_err(failed)?;
        flock(&directory, FlockOperation::LockExclusive).map_err(|error| failed(error.into()))?;
        let found = load(&self.path, passphrase.opens())?;
        if found.key_id() != seed.key_id() {
            let (found, expected) = (found.key_id().to_string(), seed.key_id().to_string());
            return Err(KeyFileError::OtherKey { path: self.path.clone(), found, expected });
        }
        let before = found.kept.all();
        let mut roots = found.kept.all();
        change(&mut roots)?;
        if roots.len() > MAX_ROOTS {
            return Err(KeyFileError::TooManyRoots { path: self.path.clone(), limit: MAX_ROOTS });
        }
        if !roots.keys().eq(before.keys()) {
            let opened = std::fs::OpenOptions::new().write(true).open(&self.path);
            let mut replaced = opened.map_err(|source| open_error(&self.path, source))?;
            let damaged = || KeyFileError::Damaged { path: self.path.clone() };
            let work = work_of(&read_sealed(&self.path)?).map(WorkFactor::Log2).ok_or_else(damaged)?;
            found.kept.replace(copied(&roots));
            rewrap(&self.path, &found, &passphrase, work)?;
            if before.keys().any(|name| !roots.contains_key(name)) {
                overwrite(&mut replaced).map_err(|source| io_error(Action::Write, &self.path, source))?;
            }
        }
        seed.kept.replace(roots);
        Ok(())
    }
}

/// The roots in the bytes behind a seed; `None` if they are none, or names do not rise.
pub(super) fn parse(bytes: &[u8]) -> Option<BTreeMap<RootName, Root>> {
    let mut roots = BTreeMap::new();
    let entries = bytes.chunks_exact(ROOT_BYTES);
    if !entries.remainder().is_empty() || entries.len() > MAX_ROOTS {
        return None;
    }
    for entry in entries {
        let (table_id, rest) = entry.split_first_chunk::<16>()?;
        let (encryption, rest) = rest.split_first_chunk::<16>()?;
        let name = RootName { table_id: *table_id, encryption: *encryption };
        let mut root = Root(Box::new([0; 32]));
        root.0.copy_from_slice(rest);
        if roots.last_key_value().is_some_and(|(last, _)| *last >= name) {
            return None;
        }
        roots.insert(name, root);
    }
    Some(roots)
}

fn new_root() -> Result<Root, KeyFileError> {
    let mut root = Root(Box::new([0; 32]));
    os_random(root.0.as_mut_slice())?;
    Ok(root)
}

fn copied(roots: &BTreeMap<RootName, Root>) -> BTreeMap<RootName, Root> {
    roots.iter().map(|(name, root)| (*name, root.copied())).collect()
}

/// Overwrites a file that has no name any more. One that still has is a copy that somebody made of it, and stays.
fn overwrite(file: &mut File) -> io::Result<()> {
    let meta = file.metadata()?;
    if meta.nlink() > 0 {
        return Ok(());
    }
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&vec![0; meta.size() as usize])?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::keyfile::store;

    const PASSPHRASE: &str = "correct horse battery";

    fn made(directory: &Path) -> (PathBuf, OwnerSeed) {
        let path = directory.join("k.hushkey");
        let seed = OwnerSeed::generate().unwrap();
        store(&path, &seed, &NewPassphrase::new(passphrase()).unwrap(), WorkFactor::Log2(14)).unwrap();
        let seed = reopened(&path);
        (path, seed)
    }

    fn passphrase() -> Passphrase {
        Passphrase::new(PASSPHRASE.to_owned())
    }

    fn reopened(path: &Path) -> OwnerSeed {
        load(path, &passphrase()).unwrap().to_change(path, &passphrase(), None)
    }

    fn name(table: u8, encryption: u8) -> RootName {
        RootName { table_id: [table; 16], encryption: [encryption; 16] }
    }

    /// What a root gives: a seal that no other root opens.
    fn sealed(seed: &OwnerSeed, name: RootName) -> Option<Vec<u8>> {
        let roots = crate::TableRoots::default().with_kept(seed, name.table_id, [(0, name.encryption)]);
        roots.is_kept(0).then(|| {
            roots.of_table(seed, 0, name.table_id, name.encryption).schema_seal().seal(b"", b"x").unwrap()
        })
    }

    #[test]
    fn roots_live_in_the_file_until_they_are_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let (file, seed) = made(directory.path());
        seed.keep_roots(&[name(1, 1), name(1, 2), name(2, 1)], None).unwrap();
        // Another process has seen none of this, and its root is kept beside them.
        let other = reopened(&file);
        other.kept.replace(BTreeMap::new());
        other.keep_roots(&[name(3, 1)], None).unwrap();
        let opened = reopened(&file);
        for known in [name(1, 1), name(1, 2), name(2, 1), name(3, 1)] {
            assert!(opened.has_root(&known) && other.has_root(&known), "{known:?}");
        }
        let from_one = sealed(&seed, name(1, 1)).unwrap();
        let roots = crate::TableRoots::default().with_kept(&opened, [1; 16], [(0, [1; 16])]);
        assert!(roots.of_table(&opened, 0, [1; 16], [1; 16]).schema_seal().open(b"", &from_one).is_ok());
        // Kept again: the same root.
        seed.keep_roots(&[name(1, 1)], None).unwrap();
        let roots = crate::TableRoots::default().with_kept(&seed, [1; 16], [(0, [1; 16])]);
        assert!(roots.of_table(&seed, 0, [1; 16], [1; 16]).schema_seal().open(b"", &from_one).is_ok());
        assert_eq!(seed.forget_roots([1; 16], &[[2; 16]]).unwrap(), 1);
        assert_eq!(seed.forget_roots([1; 16], &[[2; 16]]).unwrap(), 0);
        let opened = reopened(&file);
        let left = [name(1, 1), name(1, 2), name(2, 1), name(3, 1)].map(|name| opened.has_root(&name));
        assert_eq!(left, [false, true, true, true]);
        assert!(sealed(&seed, name(1, 1)).is_none());
        assert_eq!((opened.lacks_of(&seed), reopened(&file).lacks_of(&opened)), (0, 0));
    }

    /// A file that is replaced leaves no copy of its bytes where it lay.
    #[test]
    fn a_file_with_a_forgotten_root_is_overwritten() {
        use std::io::Read;
        let directory = tempfile::tempdir().unwrap();
        let (file, seed) = made(directory.path());
        seed.keep_roots(&[name(1, 1)], None).unwrap();
        let mut before = File::open(&file).unwrap();
        seed.forget_roots([1; 16], &[]).unwrap();
        let mut bytes = Vec::new();
        before.read_to_end(&mut bytes).unwrap();
        assert!(!bytes.is_empty() && bytes.iter().all(|byte| *byte == 0));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    /// Another process begins a domain of the same table meanwhile: its rows are under that root alone.
    #[test]
    fn a_root_that_another_process_has_just_made_is_not_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let (file, seed) = made(directory.path());
        seed.keep_roots(&[name(1, 1)], None).unwrap();
        reopened(&file).keep_roots(&[name(1, 2)], None).unwrap();
        assert_eq!(seed.forget_roots([1; 16], &[]).unwrap(), 1);
        assert_eq!([1, 2].map(|encryption| reopened(&file).has_root(&name(1, encryption))), [false, true]);
    }

    /// A passphrase in a file is not kept, and is looked for there again.
    #[test]
    fn a_passphrase_in_a_file_is_read_again() {
        use std::os::unix::fs::OpenOptionsExt;
        let directory = tempfile::tempdir().unwrap();
        let (file, _) = made(directory.path());
        let given = directory.path().join("passphrase");
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        options.open(&given).unwrap().write_all(PASSPHRASE.as_bytes()).unwrap();
        let seed = load(&file, &passphrase()).unwrap().to_change(&file, &passphrase(), Some(&given));
        seed.keep_roots(&[name(1, 1)], None).unwrap();
        assert!(reopened(&file).has_root(&name(1, 1)));
        std::fs::remove_file(&given).unwrap();
        assert_eq!(seed.keep_roots(&[name(1, 2)], None).unwrap_err().code(), "HUSH-K007");
        assert!(!reopened(&file).has_root(&name(1, 2)) && !seed.has_root(&name(1, 2)));
    }

    #[test]
    fn a_key_without_leave_changes_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let (file, _) = made(directory.path());
        let bytes = std::fs::read(&file).unwrap();
        let read_only = load(&file, &passphrase()).unwrap();
        let refused = read_only.keep_roots(&[name(1, 1)], None).unwrap_err();
        assert_eq!((refused.code(), std::fs::read(&file).unwrap() == bytes), ("HUSH-K025", true));
        // The file of another key is not taken for this one's.
        let stranger = OwnerSeed::generate().unwrap().to_change(&file, &passphrase(), None);
        assert_eq!(stranger.keep_roots(&[name(1, 1)], None).unwrap_err().code(), "HUSH-K018");
        assert!(std::fs::read(&file).unwrap() == bytes);
    }

    #[test]
    fn a_root_passes_to_another_key_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let (_, seed) = made(directory.path());
        seed.keep_roots(&[name(1, 1)], None).unwrap();
        let next = OwnerSeed::generate().unwrap();
        next.keep_roots(&[name(1, 1), name(1, 2)], Some(&seed)).unwrap();
        let (of_one, of_other) = (seed.kept.get(&name(1, 1)).unwrap(), next.kept.get(&name(1, 1)).unwrap());
        assert_eq!(of_one.0, of_other.0);
        assert!(next.has_root(&name(1, 2)) && seed.lacks_of(&next) == 1);
        assert_eq!(next.forget_roots([1; 16], &[[2; 16]]).unwrap(), 1);
    }

    #[test]
    fn bytes_that_are_no_roots_are_refused() {
        let entry = |table: u8| [vec![table; 16], vec![1; 48]].concat();
        assert_eq!(parse(&[entry(1), entry(2)].concat()).unwrap().len(), 2);
        for bytes in [entry(1)[1..].to_vec(), [entry(2), entry(1)].concat(), [entry(1), entry(1)].concat()] {
            assert!(parse(&bytes).is_none());
        }
        assert!(parse(&entry(1).repeat(MAX_ROOTS + 1)).is_none());
    }
}
