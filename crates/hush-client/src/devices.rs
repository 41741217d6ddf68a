// SPDX-License-Identifier: Apache-2.0
//! The owner's side of devices: making keys that encrypt for a table and decrypt nothing, and taking deliveries in.

mod accept;
mod examine;
#[cfg(test)]
pub(crate) mod hostile;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};

use hush_edge::{DeviceKey, KeyFamily};
use hush_keys::{SecretKey, public_sum_key};
use hush_plan::error::Remedy;
use hush_ring::Ring;
use hush_table::manifest::{ChangeKind, PartPlace};
use hush_table::{DeviceId, Manifest, PartEntry, SignedManifest};
use serde::Serialize;

pub use accept::{Accepted, MAX_REJECTIONS, RejectedDelivery, accept_deliveries};
pub(crate) use waiting::Waiting;

use crate::columns::ColumnKeys;
use crate::error::ClientError;
use crate::owner::OwnerKey;
use crate::pins::Pins;
use crate::place::{Opened, TablePlace};
use crate::private::PrivateHalf;

/// Makes the key of a new device, which encrypts rows of the table and signs deliveries, but decrypts nothing.
///
/// # Cost
/// Some 20 ms for each encoded column.
///
/// # Errors
/// [`ClientError::Usage`] for a table without `edge = true` in its schema: its parameters have no room for the noise of public
/// keys. Another key, a rollback, damage.
pub fn device_key(place: TablePlace<'_>, key: &OwnerKey, pins: &Pins) -> Result<DeviceKey, ClientError> {
    let owner = key.seed();
    let Opened { manifest: signed, half, keys, .. } = place.open(owner, pins)?;
    if !half.schema.edge {
        let what = "the table's parameters have no room for devices\n  Way out: edge = true in the schema, and encrypt again.";
        return Err(ClientError::Usage { what: what.into() });
    }
    let families = families(&half, &keys.present().columns)?;
    let mut seed = zeroize::Zeroizing::new([0_u8; 32]);
    hush_ring::os_random(seed.as_mut())?;
    let of = (half.schema, signed.manifest().table_id, owner.verifying_key().to_bytes());
    let encodings = (half.encodings.as_slice(), signed.manifest().domain);
    Ok(DeviceKey::new(of, encodings, families, &seed, |bytes| owner.sign(bytes)))
}

/// The outcome of a revocation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Revoked {
    /// The device.
    pub device: String,
    /// Version of the table now.
    pub version: u64,
    /// Rows of the table now.
    pub table_rows: u64,
    /// Deliveries of the device that were in the table and are not any more.
    pub removed_deliveries: u64,
    /// Their rows.
    pub removed_rows: u64,
    /// Rows of the device that are still in the table.
    pub left_rows: u64,
    /// Rows among them that a compaction has merged with others: they cannot be told from these, and cannot be removed as the device's.
    pub merged_rows: u64,
}

/// Revokes a device: the next version of the table names it, and owner and server refuse its deliveries from then on, also
/// those that wait. With `remove_rows` that version is without the device's rows. Revoking again changes nothing.
///
/// `device` is the device's 32 digits. For a device that has delivered something, the first 8 or more suffice.
///
/// # Errors
/// [`ClientError::Usage`] for unknown digits; another key, a rollback, damage; another version that was made at the same time.
/// Nothing has changed then.
pub fn revoke_device(
    place: TablePlace<'_>,
    key: &OwnerKey,
    pins: &Pins,
    device: &str,
    remove_rows: bool,
) -> Result<Revoked, ClientError> {
    let owner = key.seed();
    let Opened { manifest: signed, .. } = place.open(owner, pins)?;
    let device = match device.parse::<DeviceId>() {
        Ok(device) => device,
        Err(_) => known_device(device, signed.manifest(), Waiting::beside(place, &signed))?,
    };
    let mut next = signed.manifest().clone();
    next.devices.revoke(device);
    let is_its = |part: &PartEntry| part.delivery.is_some_and(|id| id.device == device);
    let its = || signed.manifest().parts.iter().filter(|part| is_its(part));
    let its_rows: u64 = its().map(PartEntry::living_rows).sum();
    // Nobody can tell them from the others of their parts any more.
    let merged_rows = next.devices.merged_rows(device);
    let left_rows = its_rows.saturating_add(merged_rows);
    let mut revoked = Revoked { device: device.to_string(), left_rows, merged_rows, ..Revoked::default() };
    if remove_rows {
        let before = next.parts.len();
        next.parts.retain(|part| !is_its(part));
        next.rows = next.parts.iter().fold(0, |rows, part| rows.saturating_add(part.rows));
        next.forget_unused();
        (revoked.removed_deliveries, revoked.removed_rows) = ((before - next.parts.len()) as u64, its_rows);
        revoked.left_rows = merged_rows;
        if !keeps_owner_parts(signed.manifest(), &next) {
            return Err(ClientError::Internal { what: "a part of the owner stands behind a device's" });
        }
    }
    if next != *signed.manifest() {
        next.version += 1;
        next.record(ChangeKind::Devices, 0, if remove_rows { its_rows } else { 0 });
        let next = SignedManifest::sign(next, &owner.verifying_key().to_bytes(), |bytes| owner.sign(bytes))?;
        place.commit(&next)?;
        pins.check_and_remember(&next)?;
        if let (Ok(store), true) = (place.files(), remove_rows) {
            // A later version sweeps files that cannot be removed now; a server sweeps by itself.
            let _ = store.tidy();
        }
        (revoked.version, revoked.table_rows) = (next.manifest().version, next.manifest().living_rows());
    } else {
        (revoked.version, revoked.table_rows) = (next.version, next.living_rows());
    }
    Ok(revoked)
}

/// The one device with these first digits among those that delivered.
fn known_device(
    digits: &str,
    manifest: &Manifest,
    mut waiting: Waiting<'_>,
) -> Result<DeviceId, ClientError> {
    let taken = manifest.parts.iter().filter_map(|part| part.delivery);
    let rejected = manifest.devices.rejected.iter().map(|known| known.delivery);
    let merged = manifest.devices.settled.iter().map(|known| known.device);
    let mut devices: BTreeSet<DeviceId> = taken.chain(rejected).map(|id| id.device).chain(merged).collect();
    while let Some(page) = waiting.next_page()? {
        devices.extend(page.iter().map(|signed| signed.delivery().id.device));
    }
    let mut found = devices.into_iter().filter(|device| device.to_string().starts_with(digits));
    match (found.next(), found.next()) {
        (Some(device), None) if digits.len() >= MIN_DIGITS => Ok(device),
        _ => Err(ClientError::Misused {
            what: format!("{digits:?} names no one device"),
            way: Remedy::DeviceDigits { fewest: MIN_DIGITS },
        }),
    }
}

/// Fewest digits that stand for a device.
const MIN_DIGITS: usize = 8;

/// Whether the owner's parts keep their places. Chunks of the owner are numbered by place, so a version without some parts must
/// not move them.
fn keeps_owner_parts(before: &Manifest, after: &Manifest) -> bool {
    let own = |manifest: &Manifest| -> Vec<PartPlace> {
        let placed = manifest.placed_parts().filter(|(_, entry)| entry.delivery.is_none());
        placed.map(|(place, _)| place).collect()
    };
    own(before) == own(after)
}

impl TablePlace<'_> {
    fn commit(&self, next: &SignedManifest) -> Result<(), ClientError> {
        match self {
            Self::Directory(_) | Self::Bucket(_) => {
                let store = self.files()?;
                store.commit(next)?;
                // Deliveries that cannot be removed now are known as settled, and a later run removes them.
                let _ = store.forget_deliveries(next.manifest());
            }
            Self::Server(server, _) => server.commit(next)?,
        }
        Ok(())
    }
}

/// Public keys, ring by ring.
fn families(half: &PrivateHalf, keys: &ColumnKeys) -> Result<Vec<KeyFamily>, ClientError> {
    let mut families: BTreeMap<&str, Members<'_>> = BTreeMap::new();
    for column in keys.iter() {
        let public = &column.encoding.public;
        let scale_log2 = column
            .codec
            .owned()
            .device_t_log2()
            .ok_or(ClientError::Encoding { id: public.id, what: "devices cannot encrypt its layout" })?;
        let members = families.entry(&public.params).or_insert_with(|| Members {
            ring: column.ring(),
            scale_log2,
            columns: Vec::new(),
        });
        // The planner gives the columns of a ring one plaintext modulus where the schema has `edge = true`.
        if members.scale_log2 != scale_log2 {
            return Err(ClientError::Encoding {
                id: public.id,
                what: "its plaintext modulus is not that of its ring",
            });
        }
        members.columns.push((public.id.0, &column.secret));
    }
    if families.is_empty() && !half.encodings.is_empty() {
        return Err(ClientError::Internal { what: "encodings without keys" });
    }
    let family = |(params, members): (&str, Members<'_>)| {
        let key = public_sum_key(members.ring, members.scale_log2, &members.columns);
        let key = key.map_err(|source| ClientError::Edge(hush_edge::EdgeError::PublicKey(source)))?;
        Ok(KeyFamily { params: params.to_owned(), key })
    };
    families.into_iter().map(family).collect()
}

struct Members<'a> {
    ring: &'a Ring,
    scale_log2: u32,
    columns: Vec<(u32, &'a SecretKey)>,
}
