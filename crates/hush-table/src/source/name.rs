// SPDX-License-Identifier: Apache-2.0
//! Names of data, and their names in SQL.

use std::path::Path;

use super::{Origin, Source};

/// The name of a folder, also of one that is written as `.` or ends in `..`.
fn folder_name(folder: &Path) -> Option<String> {
    let whole = || folder.canonicalize().ok();
    let name = folder
        .file_name()
        .map(std::ffi::OsStr::to_owned)
        .or_else(|| whole()?.file_name().map(std::ffi::OsStr::to_owned));
    name.map(|name| name.to_string_lossy().into_owned())
}

impl Source {
    /// The name that SQL gives the table: the name of the file or folder without its extensions, with `_` for whatever is
    /// not an ASCII letter, digit or `_`, cut to 64 characters. Every server takes such a name.
    pub fn table_name(&self) -> String {
        if let Origin::Joined(joined) = &self.origin {
            return joined.facts().table_name();
        }
        let stem = self.name.clone().or_else(|| match &self.origin {
            Origin::Dataset(dataset) => folder_name(&dataset.folder()),
            Origin::File(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
            Origin::Object(object) => Some(object.name().to_owned()),
            Origin::Batches(_) | Origin::Joined(_) | Origin::Memory(_) | Origin::Stream { .. } => None,
        });
        let stem = stem.unwrap_or_else(|| "table".to_owned());
        let stem = stem.split('.').find(|part| !part.is_empty()).unwrap_or("table");
        stem.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).take(64).collect()
    }

    /// What the data are called, where SQL needs another name ([`Source::table_name`]): of a file, its name without the ending.
    pub fn renamed(&self) -> Option<String> {
        if let Origin::Joined(joined) = &self.origin {
            return joined.facts().renamed();
        }
        let given = self.name.clone().or_else(|| match &self.origin {
            Origin::Dataset(dataset) => folder_name(&dataset.folder()),
            Origin::File(path) => path.file_stem().map(|name| name.to_string_lossy().into_owned()),
            Origin::Object(object) => {
                let stem = Path::new(object.name()).file_stem();
                stem.map(|name| name.to_string_lossy().into_owned())
            }
            Origin::Batches(_) | Origin::Joined(_) | Origin::Memory(_) | Origin::Stream { .. } => None,
        })?;
        (given != self.table_name()).then_some(given)
    }
    /// The name by which messages call the data: the path or address of a file or folder as it was given.
    pub(super) fn place(&self) -> String {
        match &self.origin {
            Origin::Dataset(dataset) => dataset.folder().display().to_string(),
            Origin::File(path) => path.display().to_string(),
            Origin::Joined(joined) => joined.facts().place(),
            Origin::Object(object) => object.place(),
            Origin::Batches(_) | Origin::Memory(_) | Origin::Stream { .. } => self.table_name(),
        }
    }
}
