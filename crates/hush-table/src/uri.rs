// SPDX-License-Identifier: Apache-2.0
//! Where a table is, as people write it. Parsed once, here, for every program and for Python.
//!
//! *Non-goals.* Looking whether anything is there.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What stands before `://` in an address.
const ADDRESSES: [&str; 6] = ["az", "file", "gs", "http", "https", "s3"];
/// Between a server's address and the name of a table on it.
const TABLES: &str = "/tables/";

/// A place where a table is or will be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableUri {
    /// A directory: a path, or `file:///PATH`.
    Directory(PathBuf),
    /// A server: `http://SERVER` or `https://SERVER`, with `/tables/NAME` for one of its tables.
    Server {
        /// The server's address, without `/tables/NAME`.
        address: String,
        /// The table's name, if the text has one.
        table: Option<String>,
    },
    /// A prefix in an object store: `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or `az://CONTAINER/PREFIX`.
    Object {
        /// The kind of store.
        store: StoreScheme,
        /// The bucket or container.
        bucket: String,
        /// The table's prefix, without slashes around it; empty for the bucket itself.
        prefix: String,
    },
}

/// The kinds of object store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreScheme {
    /// Amazon S3 and what speaks its protocol.
    S3,
    /// Google Cloud Storage.
    Gs,
    /// Azure Blob Storage.
    Az,
}

/// A text that names no place.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum TableUriError {
    /// A scheme that nothing is known of.
    #[error(
        "{found}:// is no kind of place that tables have; those are a directory, http(s)://SERVER/tables/NAME, s3://, gs:// and az://"
    )]
    Scheme {
        /// The text before `://`.
        found: String,
    },
    /// A file of another machine.
    #[error("{found} names another machine: write file:///PATH, or the path alone")]
    Host {
        /// The text.
        found: String,
    },
    /// An address that a path has made shorter.
    #[error(
        "{found} has lost a slash: write SCHEME://, and in Python a text and no Path, which folds slashes"
    )]
    Slash {
        /// The text.
        found: String,
    },
    /// An object store without a bucket.
    #[error("{found} names no bucket: write SCHEME://BUCKET/PREFIX")]
    Bucket {
        /// The text.
        found: String,
    },
}

impl StoreScheme {
    /// As it is written before `://`.
    pub fn name(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Gs => "gs",
            Self::Az => "az",
        }
    }
}

impl TableUri {
    /// The place that a path names. Paths that are not Unicode are directories.
    ///
    /// # Errors
    /// [`TableUriError`].
    pub fn of_path(path: &Path) -> Result<Self, TableUriError> {
        path.to_str().map_or_else(|| Ok(Self::Directory(path.to_owned())), str::parse)
    }
}

impl FromStr for TableUri {
    type Err = TableUriError;

    fn from_str(text: &str) -> Result<Self, TableUriError> {
        let directory = || Self::Directory(PathBuf::from(text));
        let Some((scheme, rest)) = text.split_once("://") else {
            return match text.split_once(":/") {
                Some((scheme, _)) if ADDRESSES.contains(&scheme) => {
                    Err(TableUriError::Slash { found: text.to_owned() })
                }
                _ => Ok(directory()),
            };
        };
        let store = match scheme {
            "http" | "https" => return Ok(server(text)),
            // Of this machine: nothing, or a path, stands before the first slash.
            "file" if rest.starts_with('/') => return Ok(Self::Directory(PathBuf::from(rest))),
            "file" => return Err(TableUriError::Host { found: text.to_owned() }),
            "s3" => StoreScheme::S3,
            "gs" => StoreScheme::Gs,
            "az" => StoreScheme::Az,
            // `./a://b` and the like are paths.
            other if !is_scheme(other) => return Ok(directory()),
            other => return Err(TableUriError::Scheme { found: other.to_owned() }),
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(TableUriError::Bucket { found: text.to_owned() });
        }
        Ok(Self::Object { store, bucket: bucket.to_owned(), prefix: prefix.trim_matches('/').to_owned() })
    }
}

impl fmt::Display for TableUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(directory) => directory.display().fmt(f),
            Self::Server { address, table: None } => f.write_str(address),
            Self::Server { address, table: Some(table) } => write!(f, "{address}{TABLES}{table}"),
            Self::Object { store, bucket, prefix } if prefix.is_empty() => {
                write!(f, "{}://{bucket}", store.name())
            }
            Self::Object { store, bucket, prefix } => write!(f, "{}://{bucket}/{prefix}", store.name()),
        }
    }
}

fn server(text: &str) -> TableUri {
    let (address, table) = match text.split_once(TABLES) {
        Some((address, name)) => (address, Some(name.trim_end_matches('/').to_owned())),
        None => (text, None),
    };
    TableUri::Server { address: address.to_owned(), table: table.filter(|name| !name.is_empty()) }
}

/// RFC 3986: a letter, then letters, digits, `+`, `-` and `.`.
fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(path: &str) -> TableUri {
        TableUri::Directory(PathBuf::from(path))
    }

    fn on(address: &str, table: Option<&str>) -> TableUri {
        TableUri::Server { address: address.to_owned(), table: table.map(str::to_owned) }
    }

    fn object(store: StoreScheme, bucket: &str, prefix: &str) -> TableUri {
        TableUri::Object { store, bucket: bucket.to_owned(), prefix: prefix.to_owned() }
    }

    #[test]
    fn places_are_what_they_look_like() {
        for (text, expected, shown) in [
            ("patients", directory("patients"), "patients"),
            ("./s3:/x", directory("./s3:/x"), "./s3:/x"),
            ("/data/a b", directory("/data/a b"), "/data/a b"),
            ("./a://b", directory("./a://b"), "./a://b"),
            ("file:///data/t", directory("/data/t"), "/data/t"),
            ("http://host:7878", on("http://host:7878", None), "http://host:7878"),
            ("https://h/tables/", on("https://h", None), "https://h"),
            ("https://h/a/tables/p/", on("https://h/a", Some("p")), "https://h/a/tables/p"),
            ("s3://lake/a/patients/", object(StoreScheme::S3, "lake", "a/patients"), "s3://lake/a/patients"),
            ("gs://lake", object(StoreScheme::Gs, "lake", ""), "gs://lake"),
            ("az://c/t", object(StoreScheme::Az, "c", "t"), "az://c/t"),
        ] {
            let found: TableUri = text.parse().unwrap();
            assert_eq!((found.to_string().as_str(), &found), (shown, &expected), "{text}");
            assert_eq!(found.to_string().parse(), Ok(expected), "{text}");
            assert_eq!(TableUri::of_path(Path::new(text)), Ok(found));
        }
    }

    #[test]
    fn other_schemes_are_refused_and_not_made_directories() {
        for (text, scheme) in [("ftp://h/t", "ftp"), ("S3://b/t", "S3"), ("hdfs+x://b", "hdfs+x")] {
            assert_eq!(text.parse::<TableUri>(), Err(TableUriError::Scheme { found: scheme.to_owned() }));
        }
        for text in ["file://data/t", "file://"] {
            assert!(matches!(text.parse::<TableUri>(), Err(TableUriError::Host { .. })), "{text}");
        }
        for text in ["s3://", "s3:///t"] {
            assert!(matches!(text.parse::<TableUri>(), Err(TableUriError::Bucket { .. })), "{text}");
        }
        for text in ["s3:/lake/patients", "https:/host/tables/t", "file:/lake"] {
            assert!(matches!(text.parse::<TableUri>(), Err(TableUriError::Slash { .. })), "{text}");
        }
    }
}
