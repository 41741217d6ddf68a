// SPDX-License-Identifier: Apache-2.0
//! Which files a folder has.

use std::fs::Metadata;
use std::io::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::source::{NotATable, SourceError};

/// Most files of a folder.
pub const FILE_LIMIT: usize = 1 << 18;
/// Most folders around a file: links may lead in circles.
const DEPTH_LIMIT: usize = 32;
const TOO_DEEP: &str = "it lies more than 32 folders deep";

/// A file as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    /// Its path below the folder.
    pub(super) path: Box<Path>,
    pub(super) bytes: u64,
    /// Nanoseconds since 1970 when it was last changed; 0 where the file system does not tell.
    pub(super) modified: u128,
}

impl Listed {
    fn new(path: PathBuf, metadata: &Metadata) -> Self {
        let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok();
        let modified = metadata.modified().ok().and_then(since).map_or(0, |time| time.as_nanos());
        Self { path: path.into(), bytes: metadata.len(), modified }
    }

    /// A single file, by its whole path; `None` if it is none.
    pub(super) fn of_file(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok().filter(Metadata::is_file)?;
        Some(Self::new(path.to_owned(), &metadata))
    }

    /// The same file by its name alone.
    pub(super) fn without_folder(self) -> Self {
        let name = self.path.file_name().map(Path::new).map(Box::from);
        Self { path: name.unwrap_or(self.path), ..self }
    }

    /// What messages call it.
    pub(super) fn name(&self) -> Arc<str> {
        self.path.to_string_lossy().into()
    }

    fn bytes_of_path(&self) -> &[u8] {
        self.path.as_os_str().as_encoded_bytes()
    }

    /// A number for its path, size and time.
    pub(super) fn mark(&self) -> u64 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.bytes.to_le_bytes()).update(&self.modified.to_le_bytes());
        hasher.update(self.bytes_of_path());
        let mut mark = [0; 8];
        hasher.finalize_xof().fill(&mut mark);
        u64::from_le_bytes(mark)
    }
}

/// The files below a folder in the order of their paths, byte by byte. Names that begin with `.` or `_` are no data, as in Hive, but for
/// folders called `_key=value`.
pub(super) fn list(folder: &Path) -> Result<Vec<Listed>, SourceError> {
    let failed = |path: &Path, source| SourceError::Open { path: path.to_owned(), source };
    let mut files = Vec::new();
    let mut folders = vec![(PathBuf::new(), 0)];
    while let Some((below, depth)) = folders.pop() {
        let place = folder.join(&below);
        let entries = std::fs::read_dir(&place).map_err(|error| failed(&place, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| failed(&place, error))?;
            let (name, path) = (entry.file_name(), entry.path());
            let bytes = name.as_encoded_bytes();
            if bytes.starts_with(b".") || (bytes.starts_with(b"_") && !bytes.contains(&b'=')) {
                continue;
            }
            let metadata = std::fs::metadata(&path).map_err(|error| failed(&path, error))?;
            if metadata.is_dir() {
                if depth == DEPTH_LIMIT {
                    return Err(failed(&path, Error::other(TOO_DEEP)));
                }
                folders.push((below.join(name), depth + 1));
            } else if metadata.is_file() {
                files.push(Listed::new(below.join(name), &metadata));
            } else {
                let file = below.join(name).display().to_string();
                let error = Box::new(SourceError::NotATable { found: NotATable::Special });
                return Err(SourceError::InFile { file, error });
            }
            if files.len() > FILE_LIMIT {
                return Err(SourceError::TooManyFiles { limit: FILE_LIMIT });
            }
        }
    }
    // Not by components, as paths compare: the order is that in which object stores list.
    files.sort_unstable_by(|a, b| a.bytes_of_path().cmp(b.bytes_of_path()));
    Ok(files)
}
