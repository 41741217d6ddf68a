// SPDX-License-Identifier: Apache-2.0
//! Where tables live: a directory, memory, or a prefix of any object store.
//!
//! ```text
//! <prefix>/manifest.hush                     written last, replaced atomically
//! <prefix>/parts/<digest>.clear.parquet
//! <prefix>/parts/<digest>.enc.parquet
//! <prefix>/parts/<digest>.{clear,enc}.tree   hash trees of large parts: ranges are checked without reading the rest
//! <prefix>/parts/<digest>.dead                rows of a part that were deleted
//! <prefix>/parts/<digest>.cubes               joint histograms of a part, under pads of the owner
//! <prefix>/parts/<digest>.runs                sorted runs of a part, in blocks that the owner has sealed
//! <prefix>/keys/<digest>.key                 evaluation keys
//! <prefix>/versions/<digest>.hush            manifests that were replaced not long ago; not in directories
//! <prefix>/encryption.journal                how far an encryption that was interrupted has come, sealed
//! <prefix>/deliveries/<device>-<stream>-<number>.delivery    from devices, until the owner takes them in
//! <prefix>/deliveries/<device>-<job>.job                     all deliveries of a job of many tasks
//! <directory>/.lock, *.partial               directories only: the writer's lock, files not yet in place
//! <directory>/deliveries/.lock               directories only: keeps devices that deliver and a purge apart
//! ```
//!
//! All functions block; an asynchronous caller runs them on a thread made for blocking. Stores that are
//! asynchronous themselves are driven by one background runtime of the process.

mod announcements;
mod append;
mod catalog;
mod clear;
#[cfg(feature = "stores")]
mod cloud;
mod commit;
mod copy;
mod cubes;
mod cutter;
mod dead;
mod delivered;
mod deliveries;
mod earlier;
pub mod files;
mod journal;
mod log;
mod objects;
mod open;
mod parts;
#[cfg(feature = "stores")]
mod place;
mod purge;
mod runs;
mod seen;
mod sweep;
#[cfg(test)]
mod tests;
mod verify;
mod versions;
mod writer;
mod zones;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;

pub use crate::part::{KEYS_NAME, PARTS_NAME};
pub use append::{Appender, PartBounds, WriteAccess};
pub use catalog::{Catalog, CatalogEntry};
pub use clear::ClearColumns;
pub use copy::Copied;
pub use cutter::{Prepared, PreparedOfPart};
pub use delivered::Delivered;
pub use deliveries::check_seeds;
pub use earlier::EarlierGone;
pub use log::RecordLog;
pub(crate) use objects::{Pending, as_io, block, start};
pub use parts::{StoredPart, files_of_part, named_files};
#[cfg(feature = "stores")]
pub use place::Bucket;
#[cfg(feature = "stores")]
pub(crate) use place::open as open_bucket;
pub use purge::{PlacedFile, Purge, PurgeRun};
pub use seen::SeenVersion;
pub use versions::KEPT;
pub use writer::{KeysToStore, TableIdentity, TableLayout, TableWriter};

use self::earlier::EarlierContents;
use self::open::KnownParts;
use crate::digest::Digest;
use crate::error::{Operation, TableError};
use crate::part::{FileKind, RangeMemory};

/// Name of the folder of waiting deliveries below a table's prefix.
pub const DELIVERIES_NAME: &str = "deliveries";
/// Names of all folders below a table's prefix.
const FOLDERS: [&str; 4] = [PARTS_NAME, KEYS_NAME, DELIVERIES_NAME, VERSIONS_NAME];
/// Name of the folder of replaced versions below a table's prefix in an object store.
pub const VERSIONS_NAME: &str = "versions";
/// Name of the journal of an interrupted encryption below a table's prefix.
pub const JOURNAL_NAME: &str = "encryption.journal";
/// Name of the manifest below a table's prefix.
pub const MANIFEST_NAME: &str = "manifest.hush";

/// One table's place in a store. Cheap to clone; clones share the memory of verified parts.
#[derive(Clone, Debug)]
pub struct TableStore {
    objects: Arc<dyn ObjectStore>,
    prefix: Path,
    /// The prefix as a directory, where this store writes durably by itself.
    directory: Option<PathBuf>,
    /// `SCHEME://BUCKET` of a store in the cloud.
    root: Option<Arc<str>>,
    /// Bytes of parts of a store in the cloud that are not asked for again.
    memory: Option<Arc<RangeMemory>>,
    /// What the store keeps of objects that were overwritten or deleted, where that can be listed.
    earlier: Option<Arc<dyn EarlierContents>>,
    /// What has been checked of which parts.
    known: Arc<Mutex<KnownParts>>,
    /// Whether hash trees that are lost are written again.
    mends_trees: bool,
}

impl TableStore {
    /// A prefix in any object store. Replacing a manifest needs conditional writes, which directories opened this
    /// way lack: use [`TableStore::local`] to write to one. Reading works with every store.
    pub fn new(objects: Arc<dyn ObjectStore>, prefix: Path) -> Self {
        Self {
            objects,
            prefix,
            directory: None,
            root: None,
            memory: None,
            earlier: None,
            known: Arc::default(),
            mends_trees: false,
        }
    }

    /// A table in memory, for one process.
    pub fn memory() -> Self {
        Self::new(Arc::new(InMemory::new()), Path::default())
    }

    /// A directory, made if it does not exist. Writes are durable: a file is synchronised before it gets its
    /// name, and its directory after.
    ///
    /// # Errors
    /// [`TableError::Io`] if the directory cannot be made or opened.
    pub fn local(directory: impl Into<PathBuf>) -> Result<Self, TableError> {
        let directory = directory.into();
        files::make_directory(&directory)?;
        let files = LocalFileSystem::new_with_prefix(&directory)
            .map_err(|cause| objects::io(Operation::Read, &directory.display().to_string(), cause))?;
        Ok(Self { directory: Some(directory), ..Self::new(Arc::new(files), Path::default()) })
    }

    /// A directory that must already hold a table.
    ///
    /// # Errors
    /// [`TableError::NoTable`] if there is no manifest; [`TableError::Io`].
    pub fn local_existing(directory: impl Into<PathBuf>) -> Result<Self, TableError> {
        let directory = directory.into();
        if !directory.join(MANIFEST_NAME).is_file() {
            return Err(TableError::NoTable { place: directory.display().to_string() });
        }
        Self::local(directory)
    }

    /// The same place, whose owner wants lost hash trees back: whoever reads a large part whole for want of its tree writes the tree
    /// beside it. What cannot be written is left, and costs another such pass.
    #[must_use]
    pub fn mending_trees(self) -> Self {
        Self { mends_trees: true, ..self }
    }

    /// The object store, for engines that read Parquet themselves.
    pub fn objects(&self) -> &Arc<dyn ObjectStore> {
        &self.objects
    }

    /// The table's prefix in [`TableStore::objects`].
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// Path of a part file in [`TableStore::objects`].
    pub fn part_path(&self, kind: FileKind, digest: &Digest) -> Path {
        self.folder(kind.folder()).join(kind.file_name(digest))
    }

    /// Path of the manifest in [`TableStore::objects`].
    pub fn manifest_path(&self) -> Path {
        self.prefix.clone().join(MANIFEST_NAME)
    }

    fn folder(&self, name: &str) -> Path {
        self.prefix.clone().join(name)
    }

    fn tree_path(&self, kind: FileKind, digest: &Digest) -> Path {
        self.folder(kind.folder()).join(kind.tree_name(digest))
    }

    /// Bytes that this user may still write to the directory's disk; `None` for other stores, and where the system does not
    /// tell.
    pub fn free_bytes(&self) -> Option<u64> {
        hush_system::disk::free_bytes(self.directory.as_ref()?)
    }

    /// Whether the table is in a directory, where reading a range is no request.
    pub fn is_directory(&self) -> bool {
        self.directory.is_some()
    }

    /// The table's place in words: its directory, its address in an object store, or its prefix in a store without address.
    pub fn place(&self) -> String {
        match (&self.directory, &self.root) {
            (Some(directory), _) => directory.display().to_string(),
            (None, Some(root)) if self.prefix.as_ref().is_empty() => root.to_string(),
            (None, Some(root)) => format!("{root}/{}", self.prefix),
            (None, None) => self.prefix.to_string(),
        }
    }
}
