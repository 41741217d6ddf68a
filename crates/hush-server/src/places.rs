// SPDX-License-Identifier: Apache-2.0
//! How many tables there may be, begun ones included: each name takes directories, and memory for its manifest.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::durable;
use crate::error::{ApiError, Code};
use crate::names::TableName;

/// The names that are taken, on disk.
pub struct Places {
    tables: PathBuf,
    uploads: PathBuf,
    limit: usize,
    /// Held from the count to the new directory, so that two requests cannot both take the last place.
    change: Mutex<()>,
}

impl Places {
    /// Places for `limit` tables, whose directories lie below `tables` and `uploads`.
    pub fn new(tables: &Path, uploads: &Path, limit: usize) -> Self {
        Self { tables: tables.to_owned(), uploads: uploads.to_owned(), limit, change: Mutex::default() }
    }

    /// Takes a place for a table, unless it has one.
    ///
    /// # Errors
    /// [`Code::TablesFull`]; from the file system.
    pub fn take(&self, table: &TableName) -> Result<(), ApiError> {
        let _change = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        self.check(table)?;
        Ok(durable::private_directory(&self.uploads.join(table.as_str()))?)
    }

    /// Whether a table has a place or could take one.
    ///
    /// # Errors
    /// [`Code::TablesFull`].
    pub fn check(&self, table: &TableName) -> Result<(), ApiError> {
        if [&self.tables, &self.uploads].iter().any(|root| root.join(table.as_str()).exists()) {
            return Ok(());
        }
        match self.count() {
            found if found < self.limit => Ok(()),
            found => Err(ApiError::over(Code::TablesFull, found as u64 + 1, self.limit as u64)),
        }
    }

    fn count(&self) -> usize {
        let entries = [&self.tables, &self.uploads].into_iter().filter_map(|root| fs::read_dir(root).ok());
        let names = entries.flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| TableName::parse(&name).ok()).collect::<HashSet<_>>().len()
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
        let places = Places::new(&tables, &uploads, 2);
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
