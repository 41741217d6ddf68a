// SPDX-License-Identifier: Apache-2.0
//! Writing files so that a crash leaves the old content or the new, never a mixture, and reading them back within a limit.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use hush_table::part::{DigestTree, PartSource};

/// Suffix of files that are not yet what their name says; swept at start.
pub const TEMPORARY_SUFFIX: &str = ".tmp";

/// Makes a directory and its missing parents with mode 0700.
///
/// # Errors
/// From the file system.
pub fn private_directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Replaces `path` by `content` at once: temporary file beside it, sync, rename, sync of the directory.
///
/// # Errors
/// From the file system; the temporary file is removed then and `path` is as before.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    through_temporary(path, |temporary| {
        let file = write_new(temporary, content)?;
        file.sync_all()?;
        publish(temporary, path)
    })
}

/// As [`replace`] but without waiting for the disk: whole after a crash of the process, perhaps absent or empty
/// after one of the machine. For what can be made again.
///
/// # Errors
/// As [`replace`].
pub fn replace_unsynced(path: &Path, content: &[u8]) -> io::Result<()> {
    through_temporary(path, |temporary| {
        write_new(temporary, content)?;
        fs::rename(temporary, path)
    })
}

fn through_temporary(path: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(TEMPORARY_SUFFIX);
    let temporary = path.with_file_name(name);
    write(&temporary).inspect_err(|_| {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    })
}

/// Reads a file of at most `max_bytes` bytes; a longer one is not read further than that.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] for a longer file; from the file system.
pub fn read_at_most(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path)?.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if read as u64 > max_bytes { Err(io::ErrorKind::InvalidData.into()) } else { Ok(bytes) }
}

/// The hash tree of a file.
///
/// # Errors
/// The file cannot be read.
///
/// # Cost
/// One pass over the file.
pub fn tree(path: &Path) -> io::Result<DigestTree> {
    PartSource::from_file(File::open(path)?)?.tree()
}

/// Renames a complete, synced file to its visible name and makes the rename durable.
///
/// # Errors
/// From the file system.
pub fn publish(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_directory_of(to)
}

/// Makes changes to the directory that holds `path` durable.
///
/// # Errors
/// From the file system.
pub fn sync_directory_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(directory) => File::open(directory)?.sync_all(),
        None => Ok(()),
    }
}

/// Whether a file was last changed more than `age_s` seconds ago. Unknown ages are young.
pub fn older_than(path: &Path, age_s: u64) -> bool {
    let changed = fs::metadata(path).and_then(|facts| facts.modified());
    let age = changed.ok().and_then(|changed| changed.elapsed().ok());
    age.is_some_and(|age| age.as_secs() > age_s)
}

fn write_new(path: &Path, content: &[u8]) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(content)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replace_leaves_no_temporary_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        replace(&path, b"one").unwrap();
        replace_unsynced(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(replace(&dir.path().join("missing/a"), b"x").is_err());
    }

    #[test]
    fn files_are_read_up_to_a_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, b"seven..").unwrap();
        assert_eq!(read_at_most(&path, 7).unwrap(), b"seven..");
        assert_eq!(read_at_most(&path, u64::MAX).unwrap(), b"seven..");
        assert_eq!(read_at_most(&path, 6).unwrap_err().kind(), io::ErrorKind::InvalidData);
        OpenOptions::new().write(true).open(&path).unwrap().set_len(10 << 30).unwrap();
        assert_eq!(read_at_most(&path, 7).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(read_at_most(dir.path(), 7).unwrap_err().kind(), io::ErrorKind::IsADirectory);
    }
}
