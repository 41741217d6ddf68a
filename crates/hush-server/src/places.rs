// SPDX-License-Identifier: Apache-2.0
//! How many tables there may be, begun ones included: each name takes directories, and memory for its manifest.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use hush_table::store::files::make_directory;
use hush_table::{Catalog, TableError};

use crate::error::{ApiError, Code};
use crate::names::TableName;

/// The names that are taken, by tables and by uploads.
pub struct Places {
    tables: Catalog,
    uploads: PathBuf,
    limit: usize,
    /// Held from the count to the new directory, so that two requests cannot both take the last place.
    change: Mutex<()>,
}

impl Places {
    /// Places for `limit` tables, which lie in `tables`, begun ones in `uploads` too.
    pub fn new(tables: Catalog, uploads: PathBuf, limit: usize) -> Self {
        Self { tables, uploads, limit, change: Mutex::default() }
    }

    /// Takes a place for a table, unless it has one.
    ///
    /// # Errors
    /// [`Code::TablesFull`]; from the store and the file system.
    pub fn take(&self, table: &TableName) -> Result<(), ApiError> {
        let _change = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        self.check(table)?;
        Ok(make_directory(&self.uploads.join(table.as_str()))?)
    }

    /// Whether a table has a place or could take one.
    ///
    /// # Errors
    /// [`Code::TablesFull`]; from the store.
    pub fn check(&self, table: &TableName) -> Result<(), ApiError> {
        if self.uploads.join(table.as_str()).exists() || self.tables.contains(table.as_str())? {
            return Ok(());
        }
        match self.count()? {
            found if found < self.limit => Ok(()),
            found => Err(ApiError::over(Code::TablesFull, found as u64 + 1, self.limit as u64)),
        }
    }

    fn count(&self) -> Result<usize, TableError> {
        let uploads = fs::read_dir(&self.uploads).into_iter().flatten().flatten();
        let begun = uploads.filter_map(|entry| entry.file_name().into_string().ok());
        let names: HashSet<String> = begun.chain(self.tables.names()?).collect();
        Ok(names.iter().filter(|name| TableName::of_stored(name).is_some()).count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_over_begun_and_committed_tables() {
        let dir = tempfile::tempdir().unwrap();
        let (tables, uploads) = (dir.path().join("tables"), dir.path().join("uploads"));
        fs::create_dir_all(tables.join("one")).unwrap();
        fs::create_dir_all(uploads.join("one")).unwrap();
        fs::create_dir_all(tables.join(".deleted-x")).unwrap();
        let places = Places::new(Catalog::local(&tables).unwrap(), uploads.clone(), 2);
        let name = |text: &str| TableName::parse(text).unwrap();
        places.take(&name("one")).unwrap();
        places.check(&name("three")).unwrap();
        places.take(&name("two")).unwrap();
        places.take(&name("two")).unwrap();
        let full = places.take(&name("three")).unwrap_err();
        assert_eq!((full.code, full.over), (Code::TablesFull, Some((3, 2))));
        fs::remove_dir(uploads.join("two")).unwrap();
        places.take(&name("three")).unwrap();
    }
}
