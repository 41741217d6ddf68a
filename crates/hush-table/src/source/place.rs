// SPDX-License-Identifier: Apache-2.0
//! Data by their address.

use super::{OpenOptions, Source, SourceError};
use crate::error::TableError;
use crate::store::{Bucket, open_bucket};
use crate::uri::TableUri;

impl Source {
    /// Data at a place: a file or a folder, on a disk or in an object store. `is_folder` tells that the address ends with a slash, so that
    /// an object of that name does not count.
    ///
    /// # Errors
    /// As [`Source::open`] and [`Source::open_object`]; [`SourceError::Server`]; [`SourceError::Store`] if the environment does not say how
    /// to reach the store.
    pub fn at(place: &TableUri, is_folder: bool, options: &OpenOptions) -> Result<Self, SourceError> {
        match place {
            TableUri::Directory(path) => Self::open(path, options),
            TableUri::Server { .. } => Err(SourceError::Server { place: place.to_string() }),
            TableUri::Object { store, bucket, prefix } => {
                let Bucket { objects, prefix, root, .. } =
                    open_bucket(*store, bucket, prefix).map_err(|error| match error {
                        TableError::Store { place, fault, .. } => SourceError::Store { place, fault },
                        other => SourceError::Read { source: other.into_io() },
                    })?;
                Self::open_object(objects, &root, &prefix, is_folder, options)
            }
        }
    }
}
