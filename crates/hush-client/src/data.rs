// SPDX-License-Identifier: Apache-2.0
//! The owner's data by their path or address.

use std::path::{Path, PathBuf};

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
    fn what_is_no_place_of_data_is_refused() {
        let refused = |text: &str| open_data(Path::new(text)).unwrap_err();
        assert_eq!(refused("s3:/lake/visits").code(), "HUSH-U001");
        assert_eq!(refused("http://host/tables/t").code(), "HUSH-T052");
        assert_eq!(refused("s3://lake/a//b").code(), "HUSH-T051");
        assert_eq!(refused("s3://lake/a//b").kind(), crate::ErrorKind::Usage);
    }
}
