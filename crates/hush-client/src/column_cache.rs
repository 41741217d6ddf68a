// SPDX-License-Identifier: Apache-2.0
//! Columns that came back for a question, kept for the next ones.
//!
//! A file is what a server sent: sealed and encrypted columns are sealed and encrypted in it, and clear columns are what the server reads
//! anyway. It is named for the version of the table and for what was asked, and an answer names both itself. So a file of another version or
//! of other columns is never taken for it, and a damaged one is asked for again. Whoever can write to the directory can do to the
//! answers what a server can do.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hush_table::{Digest, TableId};

use crate::error::ClientError;

/// Why there is no directory for columns, and a way out.
pub const NO_HOME: &str =
    "columns have no place to be kept in\n  Way out: HOME or XDG_CACHE_HOME names a directory.";
/// Ending of a file.
const ENDING: &str = "columns";

/// A directory for columns, of a limited size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnCache {
    directory: PathBuf,
    max_bytes: u64,
}

/// What a file holds: one column of one version of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) table: TableId,
    /// Digest of the manifest.
    pub(crate) version: Digest,
    /// Digest of the plan.
    pub(crate) plan: Digest,
}

impl ColumnCache {
    /// The directory of this user, `$XDG_CACHE_HOME/hushtable/columns`, else `~/.cache/hushtable/columns`; `None` without a home.
    pub fn of_user(max_bytes: u64) -> Option<Self> {
        Some(Self { directory: crate::machine::cache_directory()?.join("columns"), max_bytes })
    }

    /// Another directory.
    pub fn in_directory(directory: &Path, max_bytes: u64) -> Self {
        Self { directory: directory.to_owned(), max_bytes }
    }

    /// The bytes of a column, which are as untrusted as those of a server.
    pub(crate) fn get(&self, kept: Kept) -> Option<Vec<u8>> {
        let path = self.path(kept);
        let is_small = std::fs::metadata(&path).is_ok_and(|found| found.len() <= self.max_bytes);
        let bytes = is_small.then(|| std::fs::read(&path).ok()).flatten()?;
        // Those used last are kept longest. A file that cannot be touched is merely older.
        if let Ok(file) = std::fs::File::options().append(true).open(&path) {
            let _ = file.set_modified(SystemTime::now());
        }
        Some(bytes)
    }

    /// Keeps a column. Files of other versions of the table go, and then those that were used longest ago, until there is room. What has no room
    /// at all is not kept.
    ///
    /// # Errors
    /// [`ClientError::File`].
    pub(crate) fn put(&self, kept: Kept, bytes: &[u8]) -> Result<(), ClientError> {
        let has_room = bytes.len() as u64 <= self.max_bytes;
        let path = self.path(kept);
        let failed = |source| ClientError::File { path: path.clone(), source };
        private(&self.directory).map_err(failed)?;
        self.make_room(kept, if has_room { bytes.len() as u64 } else { 0 }).map_err(failed)?;
        if !has_room {
            return Ok(());
        }
        // What an end of the process leaves is counted, and goes in its turn.
        let ending = format!(".{ENDING}");
        let mut file =
            tempfile::Builder::new().suffix(&ending).tempfile_in(&self.directory).map_err(failed)?;
        file.write_all(bytes).map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    fn make_room(&self, kept: Kept, bytes: u64) -> std::io::Result<()> {
        let mut files = Vec::new();
        let (of_table, of_version) = (format!("{}-", kept.table), self.of_version(kept));
        for entry in std::fs::read_dir(&self.directory)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.ends_with(ENDING) {
                continue;
            }
            if name.starts_with(&of_table) && !name.starts_with(&of_version) {
                remove(&entry.path())?;
            } else if let Ok(found) = entry.metadata() {
                files.push((found.modified().unwrap_or(SystemTime::UNIX_EPOCH), found.len(), entry.path()));
            }
        }
        files.sort();
        let mut taken: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, size, path) in files {
            if taken.saturating_add(bytes) <= self.max_bytes {
                break;
            }
            remove(&path)?;
            taken -= size;
        }
        Ok(())
    }

    fn of_version(&self, kept: Kept) -> String {
        format!("{}-{}-", kept.table, short(kept.version))
    }

    fn path(&self, kept: Kept) -> PathBuf {
        self.directory.join(format!("{}{}.{ENDING}", self.of_version(kept), short(kept.plan)))
    }
}

/// The first 128 bits: the answer in the file has all.
fn short(digest: Digest) -> String {
    digest.to_string().chars().take(32).collect()
}

/// Another process may have been first.
fn remove(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes a directory that this user alone may look into.
fn private(directory: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(table: u8, version: &str, plan: &str) -> Kept {
        let table = TableId::from_bytes([table; 16]);
        Kept { table, version: Digest::of(version.as_bytes()), plan: Digest::of(plan.as_bytes()) }
    }

    #[test]
    fn columns_of_other_versions_go_and_then_the_oldest() {
        let directory = tempfile::tempdir().unwrap();
        let cache = ColumnCache::in_directory(&directory.path().join("a/b"), 100);
        let old = kept(1, "1", "x");
        cache.put(old, &[1; 40]).unwrap();
        cache.put(kept(2, "1", "x"), &[2; 40]).unwrap();
        assert_eq!(cache.get(old).unwrap(), [1; 40]);
        // A new version of the first table.
        cache.put(kept(1, "2", "x"), &[3; 40]).unwrap();
        assert_eq!(cache.get(old), None);
        assert_eq!(cache.get(kept(2, "1", "x")).unwrap(), [2; 40]);
        // No room for three: the one that was used longest ago goes.
        std::thread::sleep(std::time::Duration::from_millis(20));
        cache.get(kept(2, "1", "x")).unwrap();
        cache.put(kept(3, "1", "x"), &[4; 40]).unwrap();
        assert_eq!(cache.get(kept(1, "2", "x")), None);
        assert!(cache.get(kept(2, "1", "x")).is_some() && cache.get(kept(3, "1", "x")).is_some());
        // More than everything.
        cache.put(kept(4, "1", "x"), &[5; 101]).unwrap();
        assert!(cache.get(kept(4, "1", "x")).is_none() && cache.get(kept(3, "1", "x")).is_some());
        // Nothing of anybody else is removed.
        let other = directory.path().join("a/b/notes.txt");
        std::fs::write(&other, "mine").unwrap();
        cache.put(kept(5, "1", "x"), &[6; 100]).unwrap();
        assert!(other.exists());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&directory.path().join("a/b")), 0o700);
            assert_eq!(mode(&cache.path(kept(5, "1", "x"))), 0o600);
        }
    }
}
