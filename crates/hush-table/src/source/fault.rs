// SPDX-License-Identifier: Apache-2.0
//! Why an object was not read: the error below those of readers and decoders, which do not hand it on as it is.

use std::io;

use crate::error::StoreTrouble;

/// Why an object was not read.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum ObjectFault {
    /// It is another one than was found, or gone.
    #[error("{place} has changed")]
    Changed {
        /// Its address.
        place: String,
    },
    /// The store did not do what it was asked.
    #[error(transparent)]
    Store(StoreTrouble),
    /// Another failure, of a store that is not in the cloud.
    #[error("{place}: {what}")]
    Other {
        /// Its address.
        place: String,
        /// The failure.
        what: String,
    },
}

impl From<ObjectFault> for io::Error {
    fn from(fault: ObjectFault) -> Self {
        let kind = match &fault {
            ObjectFault::Store(trouble) => trouble.fault.io_kind(),
            ObjectFault::Changed { .. } | ObjectFault::Other { .. } => io::ErrorKind::Other,
        };
        Self::new(kind, fault)
    }
}
