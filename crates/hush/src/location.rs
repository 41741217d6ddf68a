// SPDX-License-Identifier: Apache-2.0
//! From what a user writes to a table's place, for the command line and for Python.

use std::path::{Path, PathBuf};

use hush_client::remote::{ApiToken, RemoteServer, TableSummary};
use hush_client::{ClientError, OwnedTable, OwnerKey, Pins, TablePlace};
use hush_plan::error::Remedy;
use hush_table::uri::{TableUri, TableUriError};
use hush_table::{Catalog, Manifest, TableStore, named_files};

use crate::Error;

/// A table in a directory, on a server or in an object store.
#[derive(Debug)]
pub enum TableLocation {
    /// A directory.
    Directory(PathBuf),
    /// A server, and the table's name there.
    Server(Box<RemoteServer>, String),
    /// A prefix in an object store.
    Bucket(TableStore),
}

impl TableLocation {
    /// What `DIRECTORY`, `SERVER/tables/NAME` or `SCHEME://BUCKET/PREFIX` names; nothing is looked at yet.
    ///
    /// # Errors
    /// A server without the name of a table; the token's file or the server's address is wrong; the environment does not say how to
    /// reach the object store.
    pub fn of(table: &Path, token_file: Option<&Path>) -> Result<Self, Error> {
        match TableUri::of_path(table)? {
            TableUri::Directory(directory) => Ok(Self::Directory(directory)),
            uri @ TableUri::Object { .. } => Ok(Self::Bucket(TableStore::at(&uri)?)),
            uri @ TableUri::Server { .. } => {
                let (server, name) = connect_to_table(&uri.to_string(), token_file)?;
                Ok(Self::Server(Box::new(server), name))
            }
        }
    }

    /// As [`TableLocation::of`], for tables whose files this process reads or writes.
    ///
    /// # Errors
    /// As [`TableLocation::of`]; a server.
    pub fn of_files(table: &Path) -> Result<Self, Error> {
        match TableUri::of_path(table)? {
            uri @ TableUri::Server { .. } => {
                Err(ClientError::Misused { what: format!("{uri} is no directory"), way: Remedy::Directory }
                    .into())
            }
            _ => Self::of(table, None),
        }
    }

    /// The place.
    pub fn place(&self) -> TablePlace<'_> {
        match self {
            Self::Directory(directory) => TablePlace::Directory(directory),
            Self::Server(server, name) => TablePlace::Server(server, name),
            Self::Bucket(store) => TablePlace::Bucket(store),
        }
    }

    /// Opens the table that is there: by an engine in this process, or on its server.
    ///
    /// # Errors
    /// No table there, another key, a rollback, damage; the server or the object store fails.
    pub fn open(self, key: &OwnerKey, pins: &Pins, threads: usize) -> Result<OwnedTable, Error> {
        Ok(match self {
            Self::Directory(directory) => OwnedTable::open_directory(&directory, key, pins, threads)?,
            Self::Server(server, name) => OwnedTable::open_remote(*server, &name, key, pins)?,
            Self::Bucket(store) => OwnedTable::open_bucket(&store, key, pins, threads)?,
        })
    }

    /// The files of the table that is there.
    ///
    /// # Errors
    /// A server, which keeps them to itself; a directory without table.
    pub fn files(&self) -> Result<TableStore, Error> {
        match self {
            Self::Directory(directory) => Ok(TableStore::local_existing(directory)?),
            Self::Bucket(store) => Ok(store.clone()),
            Self::Server(server, name) => {
                Err(hush_table::TableError::Server { place: server.place(name) }.into())
            }
        }
    }
}

/// A place to which tables are copied.
#[derive(Debug)]
pub enum CopyTarget {
    /// A server, which keeps a table under the name that its manifest has.
    Server(Box<RemoteServer>),
    /// A directory or a prefix in an object store, which holds one table.
    Files(TableLocation),
}

impl CopyTarget {
    /// What `SERVER`, `SCHEME://BUCKET/PREFIX` or `file:///DIRECTORY` names. A path is taken for a server's address that lacks its
    /// scheme.
    ///
    /// # Errors
    /// As [`TableLocation::of`].
    pub fn of(place: &str, token_file: Option<&Path>) -> Result<Self, Error> {
        match place.parse()? {
            TableUri::Object { .. } => Ok(Self::Files(TableLocation::of(Path::new(place), None)?)),
            TableUri::Directory(directory) if directory.as_os_str() != place => {
                Ok(Self::Files(TableLocation::Directory(directory)))
            }
            _ => Ok(Self::Server(Box::new(connect(place, token_file)?.0))),
        }
    }

    /// The place in words.
    pub fn name(&self) -> String {
        match self {
            Self::Server(server) => server.url().to_owned(),
            Self::Files(location) => location.place().name(),
        }
    }
}

/// The tables of a server, or below a prefix of an object store.
#[derive(Debug)]
pub struct Listing {
    /// Those whose manifests can be read, or that the server names.
    pub tables: Vec<TableSummary>,
    /// Places in the object store at which a manifest lies that cannot be read, and why.
    pub unreadable: Vec<(String, Error)>,
}

impl Listing {
    /// The tables at `SERVER`, or directly below `SCHEME://BUCKET/PREFIX`, by name.
    ///
    /// # Errors
    /// The server or the object store fails; the text names neither.
    ///
    /// # Cost
    /// In an object store a request for each name below the prefix, and its manifest.
    pub fn of(place: &str, token_file: Option<&Path>) -> Result<Self, Error> {
        let uri: TableUri = place.parse()?;
        let TableUri::Object { .. } = uri else {
            return Ok(Self { tables: connect(place, token_file)?.0.tables()?, unreadable: Vec::new() });
        };
        let (mut tables, mut unreadable) = (Vec::new(), Vec::new());
        for entry in Catalog::at(&uri)?.list()? {
            match entry.manifest {
                Ok(signed) => tables.push(summary(entry.name, signed.manifest())),
                Err(error) => unreadable.push((entry.table.place(), error.into())),
            }
        }
        tables.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Self { tables, unreadable })
    }
}

fn summary(name: String, manifest: &Manifest) -> TableSummary {
    let bytes = named_files(manifest).map(|(_, file)| file.bytes).sum();
    let (version, rows, key_id) = (manifest.version, manifest.living_rows(), manifest.key_id.clone());
    TableSummary { name, version, rows, bytes, key_id }
}

/// The server of `SERVER` or `SERVER/tables/NAME`, and the name.
///
/// # Errors
/// An object store; the token's file or the server's address is wrong.
pub fn connect(url: &str, token_file: Option<&Path>) -> Result<(RemoteServer, Option<String>), Error> {
    let (address, table) = match url.parse()? {
        TableUri::Server { address, table } => (address, table),
        // Refused below, with what an address looks like.
        TableUri::Directory(_) | TableUri::Object { .. } => (url.to_owned(), None),
    };
    let token = token_file.map(ApiToken::from_file).transpose()?;
    Ok((RemoteServer::new(&address, token)?, table))
}

/// The server and the name of `SERVER/tables/NAME`.
///
/// # Errors
/// As [`connect`]; there is no name.
pub fn connect_to_table(url: &str, token_file: Option<&Path>) -> Result<(RemoteServer, String), Error> {
    let (server, name) = connect(url, token_file)?;
    Ok((server, name.ok_or_else(|| Error::usage("which table?\n  Way out: SERVER/tables/NAME"))?))
}

impl From<TableUriError> for Error {
    fn from(error: TableUriError) -> Self {
        Self::usage(error.to_string())
    }
}
