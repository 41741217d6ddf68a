// SPDX-License-Identifier: Apache-2.0
//! An owner's decisions about devices. They are signed with every version, so that whoever holds the manifest keeps to them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Manifest, PartEntry};
use crate::delivery::{DeliveryId, DeviceJob};
use crate::digest::{DeviceId, Digest, RunId, StreamId};
use crate::error::{Counted, ManifestFault};

/// Most devices that a table can refuse.
pub const MAX_REVOKED: usize = 1 << 16;
/// Most rejected deliveries that a table remembers.
pub const MAX_REJECTED: usize = 1 << 14;
/// Most streams of which a table remembers that parts were merged.
pub const MAX_SETTLED: usize = 1 << 16;

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
    /// Streams of which deliveries are no parts any more, because their rows were merged with others; rising.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<Settled>,
}

/// How far a stream has come of which deliveries are no parts any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settled {
    /// The device.
    pub device: DeviceId,
    /// Its stream.
    pub stream: StreamId,
    /// The number behind the last delivery that is no part any more. All before it were taken or discarded.
    pub next: u64,
    /// That delivery's file of encrypted columns, or of clear ones where it had no others: whoever sends it again is told that it was taken.
    pub last: Digest,
    /// Rows of its deliveries that went into other parts.
    pub rows: u64,
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
        self.revoked.is_empty() && self.rejected.is_empty() && self.settled.is_empty()
    }

    /// What is remembered of a stream whose parts were merged.
    pub fn settled(&self, device: DeviceId, stream: StreamId) -> Option<&Settled> {
        let known = |settled: &Settled| (settled.device, settled.stream);
        let place = self.settled.binary_search_by_key(&(device, stream), known).ok()?;
        self.settled.get(place)
    }

    /// Whether a delivery was taken once and is no part any more, or stands before one that is.
    pub fn is_settled(&self, id: DeliveryId) -> bool {
        self.settled(id.device, id.stream).is_some_and(|settled| id.number < settled.next)
    }

    /// Rows of a device's deliveries that went into other parts; deleted ones since are among them.
    pub fn merged_rows(&self, device: DeviceId) -> u64 {
        let its = self.settled.iter().filter(|known| known.device == device);
        its.fold(0, |sum, known| sum.saturating_add(known.rows))
    }

    /// Remembers of a part that was a delivery and is about to be merged that it was taken. Other parts leave nothing to remember.
    pub fn settle(&mut self, part: &PartEntry) {
        let Some(id) = part.delivery else { return };
        let Some(file) = part.encrypted.or(part.clear) else { return };
        let place =
            self.settled.partition_point(|known| (known.device, known.stream) < (id.device, id.stream));
        let rows = part.living_rows();
        let fresh = Settled {
            device: id.device,
            stream: id.stream,
            next: id.number.saturating_add(1),
            last: file.digest,
            rows,
        };
        match self
            .settled
            .get_mut(place)
            .filter(|known| (known.device, known.stream) == (id.device, id.stream))
        {
            Some(known) if known.next < fresh.next => {
                *known = Settled { rows: known.rows.saturating_add(rows), ..fresh };
            }
            Some(known) => known.rows = known.rows.saturating_add(rows),
            None => self.settled.insert(place, fresh),
        }
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
        for settled in &self.devices.settled {
            let number = next.entry((settled.device, settled.stream)).or_default();
            *number = (*number).max(settled.next);
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
        let merged = self.devices.settled.iter().map(|known| DeliveryId {
            device: known.device,
            stream: known.stream,
            number: 0,
        });
        ids.chain(merged).map(|id| (DeviceJob::of(id), id.stream.run())).collect()
    }
}

/// All lists rise and are of bounded length; nothing is taken and discarded.
pub(super) fn check(manifest: &Manifest) -> Result<(), ManifestFault> {
    let DeviceRules { revoked, rejected, settled: merged } = &manifest.devices;
    for (what, found, limit) in [
        (Counted::Revoked, revoked.len(), MAX_REVOKED),
        (Counted::Rejected, rejected.len(), MAX_REJECTED),
        (Counted::Settled, merged.len(), MAX_SETTLED),
    ] {
        if found > limit {
            return Err(ManifestFault::TooMany { what, found: found as u64, limit: limit as u64 });
        }
    }
    let of_stream = |known: &Settled| (known.device, known.stream);
    let rises = revoked.is_sorted_by(|a, b| a < b)
        && rejected.is_sorted_by(|a, b| a < b)
        && merged.is_sorted_by(|a, b| of_stream(a) < of_stream(b))
        && merged.iter().all(|known| known.next > 0);
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
