// SPDX-License-Identifier: Apache-2.0
//! The owner's data by their path or address.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use hush_table::TableUri;
use hush_table::source::{OpenOptions, Source};

use crate::error::ClientError;

/// Opens a CSV or Parquet file, or a folder of them, on a disk or in an object store: `s3://`, `gs://`, `az://`. An address that ends with a
/// slash is a folder.
///
/// # Errors
/// An address that names no place; a server's; those of [`Source::at`].
pub fn open_data(path: &Path) -> Result<Source, ClientError> {
    let place = TableUri::of_path(path).map_err(|error| ClientError::Usage { what: error.to_string() })?;
    let is_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    Ok(Source::at(&place, is_folder, &OpenOptions::default())?)
}

/// Columns of another file for the rows of a source, and the key by which they are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLookup {
    /// The file or folder, or its address.
    pub file: PathBuf,
    /// Columns of the source, each with the file's column that has the same values.
    pub on: Vec<(String, String)>,
}

/// As `KEY=THEIR_KEY:FILE`. `KEY` alone is a column of one name on both sides; commas part the columns of a key. All behind the first colon
/// is the file, so that its name may have colons, as addresses do; names of columns that have `:`, `=` or `,` cannot be written so.
impl FromStr for FileLookup {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXPECTED: &str =
            "expected KEY:FILE or KEY=THEIR_KEY:FILE, and commas between the columns of a key";
        let (keys, file) = text.split_once(':').ok_or(EXPECTED)?;
        let pair = |key: &str| {
            let (own, theirs) = key.split_once('=').unwrap_or((key, key));
            let is_name = |name: &str| !name.is_empty() && !name.contains('=');
            (is_name(own) && is_name(theirs)).then(|| (own.to_owned(), theirs.to_owned()))
        };
        let on: Vec<_> = keys.split(',').map(pair).collect::<Option<_>>().ok_or(EXPECTED)?;
        if file.is_empty() {
            return Err(EXPECTED.to_owned());
        }
        Ok(Self { file: file.into(), on })
    }
}

/// As it is written on a command line.
impl fmt::Display for FileLookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (own, theirs)) in self.on.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            if own == theirs { write!(f, "{comma}{own}")? } else { write!(f, "{comma}{own}={theirs}")? }
        }
        write!(f, ":{}", self.file.display())
    }
}

/// The rows of a source with the columns of other files behind their own; see [`Source::with_lookup`]. Files are opened as [`open_data`] does.
///
/// # Errors
/// Those of opening; keys that there are not, and columns that stand on both sides.
pub fn look_up(source: Source, lookups: &[FileLookup]) -> Result<Source, ClientError> {
    lookups
        .iter()
        .try_fold(source, |source, lookup| Ok(source.with_lookup(open_data(&lookup.file)?, &lookup.on)?))
}

/// Name of a schema file beside its data: `patients.csv` has `patients.schema.toml`. That of data in an object store is in the working
/// directory.
pub fn schema_path(file: &Path) -> PathBuf {
    let path = file.with_extension("schema.toml");
    match TableUri::of_path(file) {
        Ok(TableUri::Object { .. }) => path.file_name().map(PathBuf::from).unwrap_or(path),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_lies_beside_its_data_or_here() {
        for (data, expected) in [
            ("a/patients.csv", "a/patients.schema.toml"),
            ("a/visits/", "a/visits.schema.toml"),
            ("s3://lake/a/patients.csv", "patients.schema.toml"),
            ("s3://lake/visits/", "visits.schema.toml"),
            ("s3://lake", "lake.schema.toml"),
        ] {
            assert_eq!(schema_path(Path::new(data)), Path::new(expected), "{data}");
        }
    }

    #[test]
    fn a_lookup_is_written_with_its_key_first() {
        let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(own, theirs)| ((*own).to_owned(), (*theirs).to_owned())).collect()
        };
        for (text, file, on) in [
            ("partkey=p_partkey:part.csv", "part.csv", pairs(&[("partkey", "p_partkey")])),
            ("ward:s3://lake/wards/", "s3://lake/wards/", pairs(&[("ward", "ward")])),
            ("a=x,b:c:\\t=1,2.csv", "c:\\t=1,2.csv", pairs(&[("a", "x"), ("b", "b")])),
        ] {
            let lookup: FileLookup = text.parse().unwrap();
            assert_eq!(lookup, FileLookup { file: file.into(), on }, "{text}");
            assert_eq!(lookup.to_string(), text);
        }
        for text in ["", "part.csv", "a=b", ":part.csv", "a:", "=b:f", "a=:f", "a,:f", "a=b=c:f"] {
            assert!(text.parse::<FileLookup>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_place_of_data_is_refused() {
        let refused = |text: &str| open_data(Path::new(text)).unwrap_err();
        assert_eq!(refused("s3:/lake/visits").code(), "HUSH-U001");
        assert_eq!(refused("http://host/tables/t").code(), "HUSH-T052");
        assert_eq!(refused("s3://lake/a//b").code(), "HUSH-T051");
        assert_eq!(refused("s3://lake/a//b").kind(), crate::ErrorKind::Usage);
    }
}
