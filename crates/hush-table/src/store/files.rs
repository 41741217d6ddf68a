// SPDX-License-Identifier: Apache-2.0
//! Durable writes to a directory, for tables, for the spools of devices and for a server's own records: a file is written under another
//! name, synchronised, then renamed into place. Its directory is synchronised before anything relies on the name.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use super::objects::Listed;
use crate::error::{Operation, TableError};
use crate::part::{DigestTree, FileKind, PartName};

/// Ending of files that are not yet in place.
const PARTIAL: &str = ".partial";
/// Name of the file that a writer locks; its content means nothing.
pub const LOCK_NAME: &str = ".lock";

/// The right to write to a table's directory; given back when dropped, and by the system when a process ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock, or says at once that another writer has it.
    ///
    /// # Errors
    /// [`TableError::Busy`], [`TableError::Io`].
    pub fn take(directory: &Path) -> Result<Self, TableError> {
        Self::with(directory, File::try_lock)
    }

    /// Takes the lock beside others who take it so: it keeps out only whoever wants it alone.
    ///
    /// # Errors
    /// As [`Lock::take`].
    pub(super) fn take_shared(directory: &Path) -> Result<Self, TableError> {
        Self::with(directory, File::try_lock_shared)
    }

    fn with(directory: &Path, lock: fn(&File) -> Result<(), TryLockError>) -> Result<Self, TableError> {
        make_directory(directory)?;
        let path = directory.join(LOCK_NAME);
        let opened = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path);
        let file = opened.map_err(at(Operation::Lock, &path))?;
        match lock(&file) {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(TableError::Busy { place: directory.display().to_string() }),
            Err(TryLockError::Error(cause)) => Err(at(Operation::Lock, &path)(cause)),
        }
    }
}

/// Makes a directory and those above it.
///
/// # Errors
/// [`TableError::Io`].
pub fn make_directory(directory: &Path) -> Result<(), TableError> {
    fs::create_dir_all(directory).map_err(at(Operation::CreateDirectory, directory))
}

/// Writes a file so that its name either holds all bytes or what it held before. The caller synchronises the
/// directory.
///
/// # Errors
/// [`TableError::Io`]; the name then holds what it held before.
pub fn write(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), TableError> {
    make_directory(directory)?;
    through_partial(directory, name, |partial| {
        write_new(partial, bytes)?.sync_all().map_err(at(Operation::Sync, partial))
    })
}

/// As [`write()`], but never over a file that is there: gives whether this call has made it. Of several that write at once one does.
///
/// # Errors
/// [`TableError::Io`]; file systems without hard links cannot.
pub(super) fn create(directory: &Path, name: &str, bytes: &[u8]) -> Result<bool, TableError> {
    make_directory(directory)?;
    let (partial, path) = (partial_of(directory, name), directory.join(name));
    let written = write_new(&partial, bytes).and_then(|file| {
        file.sync_all().map_err(at(Operation::Sync, &partial))?;
        match fs::hard_link(&partial, &path) {
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            linked => linked.map(|()| true).map_err(at(Operation::Rename, &path)),
        }
    });
    let _ = fs::remove_file(&partial);
    written
}

/// As [`write()`], but without waiting for the disk: whole after a crash of the process, perhaps absent or empty after one of the
/// machine. For what can be made again. The directory must be there.
///
/// # Errors
/// As [`write()`].
pub fn write_unsynced(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), TableError> {
    through_partial(directory, name, |partial| write_new(partial, bytes).map(drop))
}

fn through_partial(
    directory: &Path,
    name: &str,
    write: impl FnOnce(&Path) -> Result<(), TableError>,
) -> Result<(), TableError> {
    let partial = partial_of(directory, name);
    let written = write(&partial).and_then(|()| rename(&partial, &directory.join(name)));
    if written.is_err() {
        // Gives the space back at once; if even this fails, the next run's sweep does it.
        let _ = fs::remove_file(&partial);
    }
    written
}

fn partial_of(directory: &Path, name: &str) -> PathBuf {
    // Two threads or processes may write the same content-addressed part at once: names must not meet.
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let unique = NEXT.fetch_add(1, Ordering::Relaxed);
    directory.join(format!("{name}.{}-{unique}{PARTIAL}", std::process::id()))
}

/// Gives a file that is complete and synchronised a name in another directory of the same file system. The caller synchronises that
/// directory.
///
/// # Errors
/// [`TableError::Io`]; the file is where it was then, or in its new place.
pub fn move_into(directory: &Path, name: &str, file: &Path) -> Result<(), TableError> {
    make_directory(directory)?;
    rename(file, &directory.join(name))
}

fn rename(from: &Path, to: &Path) -> Result<(), TableError> {
    fs::rename(from, to).map_err(at(Operation::Rename, to))
}

/// Reads a file of at most `limit` bytes; a longer one is not read further than that.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] for a longer file; from the file system.
pub fn read_at_most(file: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(file)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if read as u64 > limit { Err(io::ErrorKind::InvalidData.into()) } else { Ok(bytes) }
}

/// Whether something was last changed longer ago than `age`. What was changed in the future is young.
pub fn is_older(changed: SystemTime, age: Duration) -> bool {
    changed.elapsed().is_ok_and(|since| since > age)
}

/// Writes the hash tree of a part beside it, if the part is large enough to have one. Nothing relies on it: a tree that a crash
/// leaves damaged or lost is as good as none.
///
/// # Errors
/// [`TableError::Io`].
pub fn write_tree(directory: &Path, kind: FileKind, tree: &DigestTree) -> Result<(), TableError> {
    if !tree.is_stored() {
        return Ok(());
    }
    make_directory(directory)?;
    // Two threads may write it at once: they write the same.
    let path = directory.join(kind.tree_name(&tree.digest()));
    fs::write(&path, tree.encode()).map_err(at(Operation::Write, &path))
}

fn write_new(path: &Path, bytes: &[u8]) -> Result<File, TableError> {
    // A file of this name can only be left over from a dead process that had our number.
    let _ = fs::remove_file(path);
    let mut file = File::create_new(path).map_err(at(Operation::Write, path))?;
    file.write_all(bytes).map_err(at(Operation::Write, path))?;
    Ok(file)
}

/// Makes the names in a directory durable. A directory that does not exist has none.
///
/// # Errors
/// [`TableError::Io`].
pub fn sync_directory(directory: &Path) -> Result<(), TableError> {
    // Only Unix opens directories as files; elsewhere the file system orders renames itself.
    if !cfg!(unix) {
        return Ok(());
    }
    // The parent of a relative path of one segment is the empty path.
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    match File::open(directory) {
        Ok(file) => file.sync_all().map_err(at(Operation::Sync, directory)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(cause) => Err(at(Operation::Sync, directory)(cause)),
    }
}

/// The files directly in a directory; none where there is no such directory. One that goes away meanwhile may be left out.
pub(super) fn list(directory: &Path) -> Result<Vec<Listed>, TableError> {
    let mut listed = Vec::new();
    each_entry(directory, |name, metadata| {
        if metadata.is_file() {
            listed.push(Listed { name, bytes: metadata.len(), modified: metadata.modified()? });
        }
        Ok(())
    })?;
    Ok(listed)
}

/// As [`list`], but links are no files.
pub(super) fn list_own(directory: &Path) -> Result<Vec<Listed>, TableError> {
    let mut listed = list(directory)?;
    listed.retain(|file| fs::symlink_metadata(directory.join(&file.name)).is_ok_and(|found| found.is_file()));
    Ok(listed)
}

/// The names of the directories directly in a directory; none where there is no such directory.
pub(super) fn list_directories(directory: &Path) -> Result<Vec<String>, TableError> {
    let mut names = Vec::new();
    each_entry(directory, |name, metadata| {
        names.extend(metadata.is_dir().then_some(name));
        Ok(())
    })?;
    Ok(names)
}

/// Shows each entry of a directory, links followed. Names that are not Unicode are nobody's of ours.
fn each_entry(
    directory: &Path,
    mut take: impl FnMut(String, fs::Metadata) -> io::Result<()>,
) -> Result<(), TableError> {
    let failed = || at(Operation::List, directory);
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(failed())?,
    };
    for entry in entries {
        let entry = entry.map_err(failed())?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        match fs::metadata(entry.path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            metadata => metadata.and_then(|metadata| take(name, metadata)).map_err(failed())?,
        }
    }
    Ok(())
}

/// Whether a file was not yet in place.
pub fn is_partial(name: &str) -> bool {
    name.ends_with(PARTIAL)
}

/// The name of something in a directory that no table has put there, finished or not; `None` if there is nothing of that kind.
///
/// # Errors
/// The directory cannot be listed.
pub fn foreign_entry(directory: &Path) -> std::io::Result<Option<String>> {
    let is_ours = |name: &str| match name {
        LOCK_NAME | super::MANIFEST_NAME | super::PARTS_NAME | super::KEYS_NAME | super::DELIVERIES_NAME => {
            true
        }
        super::JOURNAL_NAME => true,
        name => is_unfinished(name),
    };
    let is_part = |name: &str| PartName::of_file(name).is_some() || is_partial(name);
    let mut found = first_entry(directory, is_ours)?;
    for folder in [super::PARTS_NAME, super::KEYS_NAME] {
        if found.is_none() {
            found = first_entry(&directory.join(folder), is_part)?;
        }
    }
    Ok(found)
}

/// The first name in a directory that `known` does not take; none where there is no directory.
fn first_entry(directory: &Path, known: impl Fn(&str) -> bool) -> std::io::Result<Option<String>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !known(&name) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// The name that a file was to get which is not yet in place.
pub(super) fn unfinished_name(name: &str) -> Option<&str> {
    name.strip_suffix(PARTIAL)?.rsplit_once('.').map(|(name, _)| name)
}

/// Whether a file is a manifest or a journal that is not yet in place.
pub(super) fn is_unfinished(name: &str) -> bool {
    [super::MANIFEST_NAME, super::JOURNAL_NAME].iter().any(|whole| name.starts_with(whole))
        && is_partial(name)
}

/// Removes unfinished manifests and journals.
pub(super) fn remove_partial(directory: &Path) -> Result<usize, TableError> {
    let mut removed = 0;
    let entries = fs::read_dir(directory).map_err(at(Operation::List, directory))?;
    for entry in entries {
        let path = entry.map_err(at(Operation::List, directory))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if is_unfinished(name) {
            fs::remove_file(&path).map_err(at(Operation::Delete, &path))?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Removes what is left of a deleted table's directory, unless it holds files of somebody else.
pub(super) fn remove_empty(directory: &Path) -> Result<(), TableError> {
    let parts = directory.join(super::PARTS_NAME);
    let keys = directory.join(super::KEYS_NAME);
    let lock = directory.join(LOCK_NAME);
    let deliveries = directory.join(super::DELIVERIES_NAME);
    let gate = deliveries.join(LOCK_NAME);
    let versions = directory.join(super::VERSIONS_NAME);
    let steps = [
        fs::remove_dir(&parts),
        fs::remove_dir(&keys),
        fs::remove_file(&gate),
        fs::remove_dir(&deliveries),
        fs::remove_dir(&versions),
        fs::remove_file(&lock),
        fs::remove_dir(directory),
    ];
    let places = [parts.as_path(), &keys, &gate, &deliveries, &versions, &lock, directory];
    for (step, place) in steps.into_iter().zip(places) {
        match step {
            Err(cause)
                if !matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) =>
            {
                return Err(at(Operation::Delete, place)(cause));
            }
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn at(operation: Operation, place: &Path) -> impl FnOnce(io::Error) -> TableError {
    let place = place.display().to_string();
    move |source| TableError::Io { operation, place, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn files_are_replaced_and_leave_nothing_beside_them() {
        let guard = tempfile::tempdir().unwrap();
        let directory = guard.path().join("made");
        write(&directory, "a", b"one").unwrap();
        write_unsynced(&directory, "a", b"two").unwrap();
        assert_eq!(fs::read(directory.join("a")).unwrap(), b"two");
        assert_eq!(names(&directory), ["a"]);
        let grown = guard.path().join("grown");
        fs::write(&grown, b"three").unwrap();
        move_into(&directory, "a", &grown).unwrap();
        assert_eq!(
            (fs::read(directory.join("a")).unwrap().as_slice(), grown.exists()),
            (b"three".as_slice(), false)
        );
        assert!(
            create(&directory, "new", b"first").unwrap() && !create(&directory, "new", b"second").unwrap()
        );
        assert_eq!(fs::read(directory.join("new")).unwrap(), b"first");
        fs::remove_file(directory.join("new")).unwrap();
        // A name that is taken by a directory: the error is told, and nothing is left.
        fs::create_dir(directory.join("taken")).unwrap();
        fs::write(directory.join("taken/x"), b"").unwrap();
        for failed in [write(&directory, "taken", b"x"), move_into(&directory, "taken", &directory.join("a"))]
        {
            assert_eq!(failed.unwrap_err().code(), "HUSH-T050");
        }
        let absent = write_unsynced(&guard.path().join("absent"), "a", b"x").unwrap_err().into_io();
        assert_eq!((absent.kind(), guard.path().join("absent").exists()), (io::ErrorKind::NotFound, false));
        let mut left = names(&directory);
        left.sort();
        assert_eq!(left, ["a", "taken"]);
    }

    #[test]
    fn files_are_read_up_to_a_limit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        fs::write(&path, b"seven..").unwrap();
        assert_eq!(read_at_most(&path, 7).unwrap(), b"seven..");
        assert_eq!(read_at_most(&path, u64::MAX).unwrap(), b"seven..");
        assert_eq!(read_at_most(&path, 6).unwrap_err().kind(), io::ErrorKind::InvalidData);
        OpenOptions::new().write(true).open(&path).unwrap().set_len(10 << 30).unwrap();
        assert_eq!(read_at_most(&path, 7).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(read_at_most(directory.path(), 7).unwrap_err().kind(), io::ErrorKind::IsADirectory);
    }

    #[test]
    fn ages_are_of_the_past() {
        let (now, second) = (SystemTime::now(), Duration::from_secs(1));
        assert!(is_older(now - 60 * second, 50 * second) && !is_older(now - 60 * second, 70 * second));
        assert!(!is_older(now + 60 * second, Duration::ZERO));
    }
}
