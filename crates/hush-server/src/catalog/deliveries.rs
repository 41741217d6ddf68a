// SPDX-License-Identifier: Apache-2.0
//! Deliveries beside the tables of a catalogue, and how many there may be.

use hush_table::{Delivered, DeliveryId, DeliveryPage, SignedDelivery};

use super::Catalog;
use crate::error::{ApiError, Code};
use crate::names::TableName;

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
        let _change = self.changing();
        self.find(table)?;
        let signed = SignedDelivery::decode(container)?;
        let place = self.place(table)?;
        if place.waiting_of(signed.delivery().id.device)? >= MAX_WAITING {
            return Err(Code::StorageFull.into());
        }
        Ok(place.deliver(&signed)?)
    }

    /// At most `most` of the deliveries that wait beside a table, those behind `after`.
    ///
    /// # Errors
    /// [`Code::NoTable`]; [`Code::Internal`] if the store cannot be asked.
    pub fn deliveries(
        &self,
        table: &TableName,
        after: Option<DeliveryId>,
        most: usize,
    ) -> Result<DeliveryPage, ApiError> {
        let manifest = self.find(table)?;
        Ok(self.place(table)?.deliveries_after(&manifest, after, most)?)
    }
}
