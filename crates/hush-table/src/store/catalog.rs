// SPDX-License-Identifier: Apache-2.0
//! Several tables below one prefix: what a server keeps for one tenant.

use std::path::PathBuf;
use std::sync::Arc;

use hush_plan::schema::is_table_name;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path;

use super::{TableStore, files, objects};
use crate::error::{Operation, TableError};
use crate::manifest::SignedManifest;

/// A prefix below which each table has a prefix of its own, by its name.
#[derive(Clone, Debug)]
pub struct Catalog {
    objects: Arc<dyn ObjectStore>,
    root: Path,
    /// The file system behind `objects`, where tables are written durably.
    files: Option<Arc<LocalFileSystem>>,
}

/// A table that a catalog lists.
#[derive(Debug)]
pub struct CatalogEntry {
    /// Its place.
    pub table: TableStore,
    /// Its manifest, or why it cannot be read. A prefix without manifest is not listed.
    pub manifest: Result<SignedManifest, TableError>,
}

impl Catalog {
    /// A prefix in any object store; see [`TableStore::new`] for what it asks of the store.
    pub fn new(objects: Arc<dyn ObjectStore>, root: Path) -> Self {
        Self { objects, root, files: None }
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
        let files = Arc::new(files);
        Ok(Self { files: Some(files.clone()), ..Self::new(files, Path::default()) })
    }

    /// The place of a table by name, whether or not there is one. Each call gives a place without memory of
    /// verified parts: keep it.
    ///
    /// # Errors
    /// [`TableError::BadName`].
    pub fn table(&self, name: &str) -> Result<TableStore, TableError> {
        let bad = || TableError::BadName { found: name.chars().take(64).collect() };
        if !is_table_name(name) {
            return Err(bad());
        }
        // One name is one segment: the store's path type escapes what it must.
        let prefix = self.root.clone().join(name);
        self.at(prefix).map_err(|_| bad())
    }

    /// All tables, in the order of their prefixes.
    ///
    /// # Errors
    /// [`TableError::Io`] if the store cannot be listed; trouble with one table is in its entry.
    ///
    /// # Cost
    /// Reads and verifies every manifest.
    pub fn list(&self) -> Result<Vec<CatalogEntry>, TableError> {
        let mut entries = Vec::new();
        for prefix in objects::list_prefixes(&self.objects, &self.root)? {
            let table = self.at(prefix)?;
            match table.load() {
                Err(TableError::NoTable { .. }) => {}
                manifest => entries.push(CatalogEntry { table, manifest }),
            }
        }
        Ok(entries)
    }

    fn at(&self, prefix: Path) -> Result<TableStore, TableError> {
        let directory = self.files.as_ref().map(|files| files.path_to_filesystem(&prefix)).transpose();
        let directory = directory.map_err(|cause| objects::io(Operation::Read, prefix.as_ref(), cause))?;
        Ok(TableStore { directory, ..TableStore::new(self.objects.clone(), prefix) })
    }
}
