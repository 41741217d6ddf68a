// SPDX-License-Identifier: Apache-2.0
//! Which files a folder has, or a prefix of an object store.

use std::fs::Metadata;
use std::io::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::TryStreamExt;
use object_store::ObjectMeta;

use crate::source::object::{ObjectFolder, Version};
use crate::source::{NotATable, SourceError};
use crate::store::block;

/// Most files of a folder.
pub const FILE_LIMIT: usize = 1 << 18;
/// Most folders around a file: links may lead in circles.
const DEPTH_LIMIT: usize = 32;
/// How Hadoop ends the name of an object that stands for a folder.
const FOLDER_ENDING: &[u8] = b"_$folder$";
const TOO_DEEP: &str = "it lies more than 32 folders deep";

/// A file as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    /// Its path below the folder.
    pub(super) path: Box<Path>,
    pub(super) bytes: u64,
    /// The time of a file is 0 where the file system does not tell.
    pub(super) version: Version,
}

impl Listed {
    fn new(path: PathBuf, metadata: &Metadata) -> Self {
        let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok();
        let written = metadata.modified().ok().and_then(since).map_or(0, |time| time.as_nanos());
        Self { path: path.into(), bytes: metadata.len(), version: Version::Written(written.cast_signed()) }
    }

    /// An object, by its path below a folder; `None` if it lies elsewhere.
    fn of_object(folder: &ObjectFolder, meta: &ObjectMeta) -> Option<Self> {
        let below = meta.location.as_ref().strip_prefix(folder.prefix.as_ref())?.trim_start_matches('/');
        let path = Path::new(below).into();
        (!below.is_empty()).then(|| Self { path, bytes: meta.size, version: Version::of(meta) })
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

    /// A number for its path, size and version.
    pub(super) fn mark(&self) -> u64 {
        mark(&self.path, self.bytes, &self.version)
    }
}

/// A number for a file's path, size and version.
pub(super) fn mark(path: &Path, bytes: u64, version: &Version) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&bytes.to_le_bytes());
    match version {
        Version::Written(time) => hasher.update(&time.to_le_bytes()),
        Version::Tag(tag) => hasher.update(&(tag.len() as u64).to_le_bytes()).update(tag.as_bytes()),
    };
    hasher.update(path.as_os_str().as_encoded_bytes());
    let mut mark = [0; 8];
    hasher.finalize_xof().fill(&mut mark);
    u64::from_le_bytes(mark)
}

/// Whether a file or folder of this name holds no data, as in Hive.
fn is_hidden(name: &[u8]) -> bool {
    name.starts_with(b".") || (name.starts_with(b"_") && !name.contains(&b'='))
}

/// The files below a prefix of an object store, as [`list`] gives those of a folder. Objects without bytes that stand for a folder are none.
pub(super) fn list_objects(folder: &ObjectFolder) -> Result<Vec<Listed>, SourceError> {
    let (objects, below) = (folder.objects.store.clone(), folder.clone());
    let found = block(async move {
        let mut files = Vec::new();
        let prefix = Some(&below.prefix).filter(|prefix| !prefix.as_ref().is_empty());
        let mut listed = objects.list(prefix);
        while let Some(meta) = listed.try_next().await? {
            let file = Listed::of_object(&below, &meta);
            let is_hidden = |file: &Listed| file.bytes_of_path().split(|byte| *byte == b'/').any(is_hidden);
            files.extend(file.filter(|file| !is_hidden(file)));
            if files.len() > FILE_LIMIT {
                break;
            }
        }
        Ok(files)
    });
    let mut files = found.map_err(|error| folder.objects.fault(&folder.prefix, error))?;
    if files.len() > FILE_LIMIT {
        return Err(SourceError::TooManyFiles { limit: FILE_LIMIT });
    }
    sort(&mut files);
    let stands_for_a_folder = |file: &Listed| {
        let name = file.bytes_of_path();
        let first = files.partition_point(|other| other.bytes_of_path() < [name, b"/"].concat().as_slice());
        let has_files = files.get(first).is_some_and(|next| next.path.starts_with(&file.path));
        let last = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        file.bytes == 0 && (has_files || last.contains(&b'=') || last.ends_with(FOLDER_ENDING))
    };
    let folders: Vec<bool> = files.iter().map(stands_for_a_folder).collect();
    let files = files.into_iter().zip(folders).filter(|(_, is_folder)| !is_folder);
    Ok(files.map(|(file, _)| file).collect())
}

// Not by components, as paths compare: the order is that in which object stores list.
fn sort(files: &mut [Listed]) {
    files.sort_unstable_by(|a, b| a.bytes_of_path().cmp(b.bytes_of_path()));
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
            if is_hidden(bytes) {
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
    sort(&mut files);
    Ok(files)
}
