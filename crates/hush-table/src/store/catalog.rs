// SPDX-License-Identifier: Apache-2.0
//! Several tables below one prefix: what a server keeps for one tenant.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use hush_plan::schema::is_table_name;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path;

use super::earlier::EarlierContents;
use super::open::KnownParts;
use super::{FOLDERS, TableStore, files, objects};
use crate::error::{Operation, TableError};
use crate::manifest::SignedManifest;
use crate::part::RangeMemory;

/// Prefix of directories of tables that are being deleted; no table name starts with a dot.
const DELETED_PREFIX: &str = ".deleted-";

/// A prefix below which each table has a prefix of its own, by its name.
///
/// Cheap to clone. All tables of a catalogue and of its clones share one memory of verified parts, so that its bound is one of the
/// process.
#[derive(Clone, Debug)]
pub struct Catalog {
    objects: Arc<dyn ObjectStore>,
    root: Path,
    /// The directory behind `objects`, where tables are written durably.
    directory: Option<PathBuf>,
    /// `SCHEME://BUCKET` of a store in the cloud.
    pub(super) store_root: Option<Arc<str>>,
    pub(super) memory: Option<Arc<RangeMemory>>,
    /// What the store keeps of objects that were overwritten or deleted, where that can be listed.
    pub(super) earlier: Option<Arc<dyn EarlierContents>>,
    known: Arc<Mutex<KnownParts>>,
    mends_trees: bool,
}

/// A table that a catalogue lists.
#[derive(Debug)]
pub struct CatalogEntry {
    /// Its name in the catalogue.
    pub name: String,
    /// Its place.
    pub table: TableStore,
    /// Its manifest, or why it cannot be read. A prefix without manifest is not listed.
    pub manifest: Result<SignedManifest, TableError>,
}

impl Catalog {
    /// A prefix in any object store; see [`TableStore::new`] for what it asks of the store.
    pub fn new(objects: Arc<dyn ObjectStore>, root: Path) -> Self {
        Self {
            objects,
            root,
            directory: None,
            store_root: None,
            memory: None,
            earlier: None,
            known: Arc::default(),
            mends_trees: false,
        }
    }

    /// A directory, made if it does not exist.
    ///
    /// # Errors
    /// [`TableError::Io`].
    pub fn local(directory: impl Into<PathBuf>) -> Result<Self, TableError> {
        let directory = directory.into();
        files::make_directory(&directory)?;
        let files = LocalFileSystem::new_with_prefix(&directory)
            .map_err(|cause| objects::io(Operation::Read, &directory.display().to_string(), cause))?;
        Ok(Self { directory: Some(directory), ..Self::new(Arc::new(files), Path::default()) })
    }

    /// The same catalogue, whose tables get lost hash trees back ([`TableStore::mending_trees`]).
    #[must_use]
    pub fn mending_trees(self) -> Self {
        Self { mends_trees: true, ..self }
    }

    /// Whether the tables are in a directory, which nobody else writes to while a server has it.
    pub fn is_directory(&self) -> bool {
        self.directory.is_some()
    }

    /// The place of a table by name, whether or not there is one.
    ///
    /// # Errors
    /// [`TableError::BadName`].
    pub fn table(&self, name: &str) -> Result<TableStore, TableError> {
        if !is_table_name(name) {
            return Err(TableError::BadName { found: name.chars().take(64).collect() });
        }
        Ok(TableStore {
            objects: self.objects.clone(),
            prefix: self.prefix(name),
            directory: self.directory.as_ref().map(|directory| directory.join(name)),
            root: self.store_root.clone(),
            memory: self.memory.clone(),
            earlier: self.earlier.clone(),
            known: self.known.clone(),
            mends_trees: self.mends_trees,
        })
    }

    /// Names below which something lies, a table or the beginning of one, in no particular order.
    ///
    /// # Errors
    /// [`TableError::Io`].
    pub fn names(&self) -> Result<Vec<String>, TableError> {
        let mut names = match &self.directory {
            Some(directory) => files::list_directories(directory)?,
            None => objects::list_prefixes(&self.objects, &self.root)?,
        };
        names.retain(|name| is_table_name(name));
        Ok(names)
    }

    /// Whether something lies below a name.
    ///
    /// # Errors
    /// [`TableError::BadName`], [`TableError::Io`].
    pub fn contains(&self, name: &str) -> Result<bool, TableError> {
        match self.table(name)?.directory {
            Some(directory) => Ok(directory.exists()),
            None => objects::any(&self.objects, &self.prefix(name)),
        }
    }

    /// All tables, in no particular order.
    ///
    /// # Errors
    /// [`TableError::Io`] if the store cannot be listed; trouble with one table is in its entry.
    ///
    /// # Cost
    /// Reads and verifies every manifest.
    pub fn list(&self) -> Result<Vec<CatalogEntry>, TableError> {
        let mut entries = Vec::new();
        for name in self.names()? {
            let table = self.table(&name)?;
            match table.load() {
                Err(TableError::NoTable { .. }) => {}
                manifest => entries.push(CatalogEntry { name, table, manifest }),
            }
        }
        Ok(entries)
    }

    /// Deletes a table with all that lies below its name, whoever put it there; gives whether there was anything. The table is gone
    /// at once: a directory by one rename, in other stores its manifest goes first.
    ///
    /// # Errors
    /// [`TableError::BadName`]; [`TableError::Io`]: then the table is gone if its manifest is. Repeat to finish.
    pub fn delete(&self, name: &str) -> Result<bool, TableError> {
        let table = self.table(name)?;
        let deleted = match (&self.directory, &table.directory) {
            (Some(root), Some(directory)) => self.delete_directory(root, directory, name)?,
            _ => self.delete_objects(&table)?,
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove_below(table.prefix());
        Ok(deleted)
    }

    fn delete_directory(
        &self,
        root: &std::path::Path,
        directory: &std::path::Path,
        name: &str,
    ) -> Result<bool, TableError> {
        let doomed = root.join(format!("{DELETED_PREFIX}{name}"));
        // Left by a deletion that did not come to its end.
        remove_tree(&doomed)?;
        match fs::rename(directory, &doomed) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(false),
            renamed => renamed.map_err(files::at(Operation::Delete, directory))?,
        }
        files::sync_directory(root)?;
        remove_tree(&doomed)?;
        Ok(true)
    }

    fn delete_objects(&self, table: &TableStore) -> Result<bool, TableError> {
        if !objects::any(&self.objects, table.prefix())? {
            return Ok(false);
        }
        objects::delete(&self.objects, &table.manifest_path())?;
        table.remove_journal()?;
        for folder in FOLDERS.map(|name| table.folder(name)) {
            let listed = objects::list(&self.objects, &folder)?.into_iter();
            let paths = listed.map(|object| folder.clone().join(object.name)).collect();
            objects::delete_all(&self.objects, paths)?;
        }
        Ok(true)
    }

    /// Finishes the deletions that a crash has interrupted.
    ///
    /// # Errors
    /// [`TableError::Io`].
    pub fn finish_deletions(&self) -> Result<(), TableError> {
        let Some(root) = &self.directory else { return Ok(()) };
        let failed = || files::at(Operation::List, root);
        for entry in fs::read_dir(root).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            if entry.file_name().to_str().is_some_and(|name| name.starts_with(DELETED_PREFIX)) {
                remove_tree(&entry.path())?;
            }
        }
        Ok(())
    }

    fn prefix(&self, name: &str) -> Path {
        // One name is one segment: the store's path type escapes what it must.
        self.root.clone().join(name)
    }
}

fn remove_tree(directory: &std::path::Path) -> Result<(), TableError> {
    match fs::remove_dir_all(directory) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            Err(files::at(Operation::Delete, directory)(cause))
        }
        _ => Ok(()),
    }
}
