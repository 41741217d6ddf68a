// SPDX-License-Identifier: Apache-2.0
//! An owner's decisions about devices. They are signed with every version, so that whoever holds the manifest keeps to them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Manifest;
use crate::delivery::{DeliveryId, DeviceJob};
use crate::digest::{DeviceId, Digest, RunId, StreamId};
use crate::error::{Counted, ManifestFault};

/// Most devices that a table can refuse.
pub const MAX_REVOKED: usize = 1 << 16;
/// Most rejected deliveries that a table remembers.
pub const MAX_REJECTED: usize = 1 << 14;

/// Decisions about devices. Public.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceRules {
    /// Devices whose deliveries are refused, rising.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revoked: Vec<DeviceId>,
    /// Deliveries that were looked at and not taken, rising.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<Rejection>,
}

/// A delivery that the owner has looked at and not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rejection {
    /// Which one.
    pub delivery: DeliveryId,
    /// Digest of its container: another under the same number is another.
    pub container: Digest,
    /// Whether a person has discarded it for good: its stream then goes on with the next number.
    pub discarded: bool,
}

impl DeviceRules {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.revoked.is_empty() && self.rejected.is_empty()
    }

    /// Whether deliveries of the device are refused.
    pub fn is_revoked(&self, device: DeviceId) -> bool {
        self.revoked.binary_search(&device).is_ok()
    }

    /// Refuses deliveries of the device from now on.
    pub fn revoke(&mut self, device: DeviceId) {
        if let Err(place) = self.revoked.binary_search(&device) {
            self.revoked.insert(place, device);
        }
    }

    /// The decision about this very delivery.
    pub fn rejection(&self, delivery: DeliveryId, container: Digest) -> Option<&Rejection> {
        self.rejected.iter().find(|known| known.delivery == delivery && known.container == container)
    }

    /// The delivery that was discarded under this number.
    pub fn discarded(&self, delivery: DeliveryId) -> Option<&Rejection> {
        self.rejected.iter().find(|known| known.delivery == delivery && known.discarded)
    }

    /// Number of the device's deliveries that were not taken.
    pub fn rejections_of(&self, device: DeviceId) -> usize {
        self.rejected.iter().filter(|known| known.delivery.device == device).count()
    }

    /// Remembers a delivery that was not taken; one that is known already becomes what this one is.
    pub fn reject(&mut self, rejection: Rejection) {
        self.rejected
            .retain(|known| known.delivery != rejection.delivery || known.container != rejection.container);
        let place = self.rejected.partition_point(|known| *known < rejection);
        self.rejected.insert(place, rejection);
    }
}

impl Manifest {
    /// The number with which each stream goes on: behind what was taken and what was discarded. Streams that are not named begin
    /// with 0.
    pub fn next_numbers(&self) -> BTreeMap<(DeviceId, StreamId), u64> {
        let mut next: BTreeMap<(DeviceId, StreamId), u64> = BTreeMap::new();
        for id in self.parts.iter().filter_map(|part| part.delivery) {
            let number = next.entry((id.device, id.stream)).or_default();
            *number = (*number).max(id.number.saturating_add(1));
        }
        let discarded = self.devices.rejected.iter().filter(|known| known.discarded);
        // Rising numbers of each stream.
        for id in discarded.map(|known| known.delivery) {
            let number = next.entry((id.device, id.stream)).or_default();
            if id.number == *number {
                *number = number.saturating_add(1);
            }
        }
        next
    }

    /// The run of each job of which something was taken or discarded: other runs of it are settled.
    pub fn runs(&self) -> BTreeMap<DeviceJob, RunId> {
        let taken = self.parts.iter().filter_map(|part| part.delivery);
        let discarded = self.devices.rejected.iter().filter(|known| known.discarded);
        let ids = taken.chain(discarded.map(|known| known.delivery));
        ids.map(|id| (DeviceJob::of(id), id.stream.run())).collect()
    }
}

/// Both lists rise and are of bounded length; nothing is taken and discarded.
pub(super) fn check(manifest: &Manifest) -> Result<(), ManifestFault> {
    let DeviceRules { revoked, rejected } = &manifest.devices;
    for (what, found, limit) in
        [(Counted::Revoked, revoked.len(), MAX_REVOKED), (Counted::Rejected, rejected.len(), MAX_REJECTED)]
    {
        if found > limit {
            return Err(ManifestFault::TooMany { what, found: found as u64, limit: limit as u64 });
        }
    }
    let rises = revoked.is_sorted_by(|a, b| a < b) && rejected.is_sorted_by(|a, b| a < b);
    let discarded = rejected.iter().filter(|known| known.discarded).map(|known| known.delivery);
    let settled: Vec<DeliveryId> = discarded.collect();
    let distinct: BTreeSet<DeliveryId> = settled.iter().copied().collect();
    let mut taken = manifest.parts.iter().filter_map(|part| part.delivery);
    if !rises || distinct.len() != settled.len() || taken.any(|id| distinct.contains(&id)) {
        return Err(ManifestFault::DeviceRules);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
