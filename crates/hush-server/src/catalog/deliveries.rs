// SPDX-License-Identifier: Apache-2.0
//! Deliveries beside the tables of a catalog.

use std::collections::HashSet;
use std::fs;
use std::sync::PoisonError;

use hush_table::store::DELIVERIES_NAME;
use hush_table::{
    Delivered, DeliveryFault, DeliveryId, DeliveryPage, DeviceId, PartKind, SignedDelivery, SignedManifest,
    TableError, TableStore,
};

use super::Catalog;
use crate::error::{ApiError, Code};
use crate::names::{PartName, TableName};

/// Most deliveries of one device that wait beside a table: small files, which no other limit counts. One device must not use up what
/// others need.
const MAX_WAITING: usize = 1 << 14;

impl Catalog {
    /// Lets a delivery wait beside its table.
    ///
    /// # Errors
    /// [`Code::NoTable`], [`Code::BadDelivery`], [`Code::DeliveryConflict`], [`Code::DeviceRevoked`], [`Code::PartsMissing`],
    /// [`Code::BadPart`], [`Code::StorageFull`]; nothing has changed then.
    pub fn deliver(&self, table: &TableName, container: &[u8]) -> Result<Delivered, ApiError> {
        let _change = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        self.find(table)?;
        let signed = SignedDelivery::decode(container);
        if let Ok(signed) = &signed
            && self.waiting_of(table, signed.delivery().id.device) >= MAX_WAITING
        {
            return Err(Code::StorageFull.into());
        }
        let delivered = signed.and_then(|signed| self.store(table)?.deliver(&signed));
        delivered.map_err(|error| {
            tracing::info!(code = error.code(), "a delivery was refused");
            match error {
                TableError::BadDelivery { fault: DeliveryFault::Conflict } => Code::DeliveryConflict.into(),
                TableError::BadDelivery { fault: DeliveryFault::Revoked } => Code::DeviceRevoked.into(),
                TableError::BadDelivery { .. } => Code::BadDelivery.into(),
                TableError::PartMissing { .. } | TableError::PartSize { .. } => Code::PartsMissing.into(),
                TableError::NoTable { .. } => Code::NoTable.into(),
                TableError::Io { source, .. } => ApiError::from_io(&source),
                _ => Code::BadPart.into(),
            }
        })
    }

    /// How many deliveries of a device wait beside a table.
    fn waiting_of(&self, table: &TableName, device: DeviceId) -> usize {
        let Ok(waiting) = fs::read_dir(self.root.join(table.as_str()).join(DELIVERIES_NAME)) else {
            return 0;
        };
        let names = waiting.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| DeliveryId::of_file_name(&name)).filter(|id| id.device == device).count()
    }

    /// At most `most` of the deliveries that wait beside a table, those behind `after`.
    ///
    /// # Errors
    /// [`Code::NoTable`]; from the file system.
    pub fn deliveries(
        &self,
        table: &TableName,
        after: Option<DeliveryId>,
        most: usize,
    ) -> Result<DeliveryPage, ApiError> {
        let manifest = self.find(table)?;
        let found = self.store(table).and_then(|store| store.deliveries_after(&manifest, after, most));
        found.map_err(|_| Code::Internal.into())
    }

    /// Removes what a manifest has settled; what cannot be removed now is told apart later.
    pub(super) fn forget_deliveries(&self, table: &TableName, taken: &SignedManifest) {
        let forgotten = self.store(table).and_then(|store| store.forget_deliveries(taken.manifest()));
        if let Err(error) = forgotten {
            tracing::error!(code = error.code(), "deliveries that were taken in remain");
        }
    }

    /// Names of parts that deliveries wait with; `None` if that cannot be told, so that nothing is removed.
    pub(super) fn awaited_parts(&self, table: &TableName) -> Option<HashSet<PartName>> {
        let waiting = self.deliveries(table, None, usize::MAX).ok()?;
        let files = waiting.deliveries.iter().flat_map(|signed| {
            let delivery = signed.delivery();
            let clear = delivery.clear.map(|file| (file, PartKind::Clear));
            clear.into_iter().chain(delivery.encrypted.map(|file| (file, PartKind::Encrypted)))
        });
        Some(files.map(|(file, kind)| PartName::new(file.digest, kind)).collect())
    }

    /// The table as a store; only of tables that are committed, since this makes the directory.
    fn store(&self, table: &TableName) -> Result<TableStore, TableError> {
        TableStore::local_existing(self.root.join(table.as_str()))
    }
}
