// SPDX-License-Identifier: Apache-2.0
//! From what a user writes to a table's place, for the command line and for Python.

use std::path::{Path, PathBuf};

use hush_client::remote::{ApiToken, RemoteServer};
use hush_client::{ClientError, TablePlace};
use hush_plan::error::Remedy;
use hush_table::uri::{TableUri, TableUriError};

use crate::Error;

/// A table in a directory or on a server.
#[derive(Debug)]
pub enum TableLocation {
    /// A directory.
    Directory(PathBuf),
    /// A server, and the table's name there.
    Server(Box<RemoteServer>, String),
}

impl TableLocation {
    /// What `DIRECTORY` or `SERVER/tables/NAME` names; nothing is looked at yet.
    ///
    /// # Errors
    /// Another kind of place, or a server without the name of a table; the token's file or the server's address is wrong.
    pub fn of(table: &Path, token_file: Option<&Path>) -> Result<Self, Error> {
        match TableUri::of_path(table)? {
            TableUri::Directory(directory) => Ok(Self::Directory(directory)),
            uri => {
                let (server, name) = connect_to_table(&uri.to_string(), token_file)?;
                Ok(Self::Server(Box::new(server), name))
            }
        }
    }

    /// The place.
    pub fn place(&self) -> TablePlace<'_> {
        match self {
            Self::Directory(directory) => TablePlace::Directory(directory),
            Self::Server(server, name) => TablePlace::Server(server, name),
        }
    }
}

/// The server of `SERVER` or `SERVER/tables/NAME`, and the name.
///
/// # Errors
/// An object store; the token's file or the server's address is wrong.
pub fn connect(url: &str, token_file: Option<&Path>) -> Result<(RemoteServer, Option<String>), Error> {
    let (address, table) = match url.parse()? {
        TableUri::Server { address, table } => (address, table),
        // Refused below, with what an address looks like.
        TableUri::Directory(_) => (url.to_owned(), None),
        uri @ TableUri::Object { .. } => return Err(not_opened(&uri)),
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

/// The directory that a path names.
///
/// # Errors
/// It names something else.
pub(crate) fn directory(path: &Path) -> Result<PathBuf, Error> {
    match TableUri::of_path(path)? {
        TableUri::Directory(directory) => Ok(directory),
        uri @ TableUri::Object { .. } => Err(not_opened(&uri)),
        uri @ TableUri::Server { .. } => {
            Err(ClientError::Misused { what: format!("{uri} is no directory"), way: Remedy::Directory }
                .into())
        }
    }
}

fn not_opened(uri: &TableUri) -> Error {
    Error::usage(format!(
        "{uri}: tables in object stores are not opened by this version\n  Way out: a directory, or SERVER/tables/NAME"
    ))
}

impl From<TableUriError> for Error {
    fn from(error: TableUriError) -> Self {
        Self::usage(error.to_string())
    }
}
