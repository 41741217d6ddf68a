// SPDX-License-Identifier: Apache-2.0
//! What a delivery names, and what becomes of it: for deliveries alone and announced ones.

use crate::delivery::SignedDelivery;
use crate::error::{DeliveryFault, TableError};
use crate::manifest::{Manifest, PartFile};
use crate::part::FileKind;

/// What became of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// It waits now.
    Stored,
    /// The very same one waits already, or the table has taken it in.
    Known,
}

/// The files that a delivery names.
pub(super) fn files_of(signed: &SignedDelivery) -> impl Iterator<Item = (FileKind, PartFile)> + use<> {
    let delivery = signed.delivery();
    let clear = delivery.clear.map(|file| (FileKind::Clear, file));
    clear.into_iter().chain(delivery.encrypted.map(|file| (FileKind::Encrypted, file)))
}

/// Refuses a delivery that has not the files that parts of the table have.
pub(super) fn require_files(manifest: &Manifest, signed: &SignedDelivery) -> Result<(), TableError> {
    let delivery = signed.delivery();
    let has = (delivery.clear.is_some(), delivery.encrypted.is_some());
    if has == (!manifest.clear_columns.is_empty(), manifest.has_encrypted_files()) {
        return Ok(());
    }
    Err(TableError::BadDelivery { fault: DeliveryFault::Files })
}
