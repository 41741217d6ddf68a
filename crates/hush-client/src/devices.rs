// SPDX-License-Identifier: Apache-2.0
//! The owner's side of devices: keys that encrypt for a table and decrypt nothing, and taking in what was delivered.

use std::collections::{BTreeMap, HashSet};

use hush_edge::{DeviceKey, KeyFamily, digest_of_encodings};
use hush_keys::{SecretKey, public_sum_key};
use hush_plan::Plaintext;
use hush_ring::Ring;
use hush_table::manifest::MAX_PARTS;
use hush_table::{DeliveryId, Manifest, PartFile, SignedDelivery, SignedManifest, StreamId, TableStore};
use serde::Serialize;

use crate::columns::{ColumnKeys, Space};
use crate::error::ClientError;
use crate::owner::OwnerKey;
use crate::pins::Pins;
use crate::place::{Opened, TablePlace};
use crate::private::PrivateHalf;

/// What was taken in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Accepted {
    /// Deliveries.
    pub deliveries: u64,
    /// Rows of them.
    pub rows: u64,
    /// Version of the table now.
    pub version: u64,
    /// Rows of the table now.
    pub table_rows: u64,
    /// Rows beyond those that the schema's `max_rows` sized the sums for; such sums may be refused.
    pub rows_beyond: u64,
    /// Deliveries that wait for one before them.
    pub out_of_order: u64,
    /// Deliveries encrypted for an earlier version of the table's encodings, which no key opens as they are.
    pub outdated: u64,
    /// Deliveries that no table can take: with parts that another has, or of another form. Their devices were tampered with.
    pub refused: u64,
    /// Deliveries that still wait: a server lists some thousands at a time.
    pub waiting: u64,
}

/// Makes the key of a new device: it encrypts rows of the table and signs what it delivers; it decrypts nothing.
///
/// # Cost
/// Some 20 ms for each encoded column.
///
/// # Errors
/// [`ClientError::Usage`] for a table whose schema does not have `edge = true`, so that its parameters have no room for the noise
/// of public keys; another key, a rollback, damage.
pub fn device_key(place: TablePlace<'_>, key: &OwnerKey, pins: &Pins) -> Result<DeviceKey, ClientError> {
    let owner = key.seed();
    let Opened { manifest: signed, half, keys } = place.open(owner, pins)?;
    if !half.schema.edge {
        let what = "the table's parameters have no room for devices\n  Way out: edge = true in the schema, and hush encrypt again.";
        return Err(ClientError::Usage { what: what.into() });
    }
    let families = families(&half, &keys)?;
    let mut seed = zeroize::Zeroizing::new([0_u8; 32]);
    hush_ring::os_random(seed.as_mut())?;
    let of = (half.schema, signed.manifest().table_id, owner.verifying_key().to_bytes());
    Ok(DeviceKey::new(of, &half.encodings, families, &seed, |bytes| owner.sign(bytes)))
}

/// Takes what devices have delivered into the next version of the table. Does nothing where nothing waits.
///
/// Deliveries of one stream are taken in the order of their numbers, without gaps: one that was lost or held back on the way is
/// noticed.
///
/// # Errors
/// Another key, a rollback, damage; another version that was made at the same time: nothing has changed then.
pub fn accept_deliveries(
    place: TablePlace<'_>,
    key: &OwnerKey,
    pins: &Pins,
) -> Result<Accepted, ClientError> {
    let owner = key.seed();
    let Opened { manifest: signed, half, .. } = place.open(owner, pins)?;
    let (waiting, deliveries) = place.deliveries(&signed)?;
    let mut next = signed.manifest().clone();
    let mut accepted = choose(&mut next, digest_of_encodings(&half.encodings), &deliveries);
    accepted.waiting = waiting.saturating_sub(accepted.deliveries);
    if accepted.deliveries > 0 {
        next.version += 1;
        // The private half is bound to the table, not to its version.
        let next = SignedManifest::sign(next, &owner.verifying_key().to_bytes(), |bytes| owner.sign(bytes))?;
        place.commit(&next)?;
        pins.check_and_remember(&next)?;
        accepted.version = next.manifest().version;
        accepted.table_rows = next.manifest().rows;
    }
    accepted.rows_beyond = accepted.table_rows.saturating_sub(half.schema.max_rows);
    Ok(accepted)
}

impl TablePlace<'_> {
    /// How many wait, and the first of them that are this table's owner's devices'.
    fn deliveries(&self, signed: &SignedManifest) -> Result<(u64, Vec<SignedDelivery>), ClientError> {
        let found = match self {
            Self::Directory(directory) => {
                let found = TableStore::local_existing(*directory)?.deliveries(signed)?;
                return Ok((found.len() as u64, found));
            }
            Self::Server(server, table) => server.deliveries(table)?,
        };
        // A server could list anything.
        let is_ours = |delivery: &SignedDelivery| {
            delivery.require_owner(signed.key(), signed.manifest().table_id).is_ok()
        };
        Ok((found.waiting, found.deliveries.into_iter().filter(is_ours).collect()))
    }

    fn commit(&self, next: &SignedManifest) -> Result<(), ClientError> {
        match self {
            Self::Directory(directory) => {
                let store = TableStore::local_existing(*directory)?;
                store.commit(next)?;
                // What cannot be removed now is known as taken in.
                let _ = store.forget_deliveries(next.manifest());
            }
            Self::Server(server, _) => server.commit(next)?,
        }
        Ok(())
    }
}

/// Appends what can be taken to a manifest.
fn choose(manifest: &mut Manifest, encodings: hush_table::Digest, deliveries: &[SignedDelivery]) -> Accepted {
    let mut accepted =
        Accepted { version: manifest.version, table_rows: manifest.rows, ..Accepted::default() };
    let mut expected: BTreeMap<StreamId, u64> = BTreeMap::new();
    for DeliveryId { stream, number } in manifest.parts.iter().filter_map(|part| part.delivery) {
        let next = expected.entry(stream).or_default();
        *next = (*next).max(number + 1);
    }
    let mut files: HashSet<PartFile> = manifest.parts.iter().filter_map(|part| part.encrypted).collect();
    let mut sorted: Vec<&SignedDelivery> = deliveries.iter().collect();
    sorted.sort_by_key(|signed| signed.delivery().id);
    for signed in sorted {
        let delivery = signed.delivery();
        let next = expected.entry(delivery.id.stream).or_default();
        if delivery.encodings != encodings {
            accepted.outdated += 1;
        } else if delivery.id.number > *next {
            accepted.out_of_order += 1;
        } else if delivery.id.number == *next {
            let entry = delivery.part_entry();
            // One device must not keep the others' rows out.
            let is_new = entry.encrypted.is_none_or(|file| files.insert(file));
            if !is_new || !manifest.suits(&entry) || manifest.parts.len() >= MAX_PARTS {
                accepted.refused += 1;
                continue;
            }
            *next += 1;
            manifest.rows = manifest.rows.saturating_add(delivery.rows);
            manifest.parts.push(entry);
            accepted.deliveries += 1;
            accepted.rows += delivery.rows;
        }
    }
    accepted
}

/// Public keys, ring by ring.
fn families(half: &PrivateHalf, keys: &ColumnKeys) -> Result<Vec<KeyFamily>, ClientError> {
    let mut families: BTreeMap<&str, Members<'_>> = BTreeMap::new();
    for column in keys.iter() {
        let public = &column.encoding.public;
        let scale_log2 = match (&column.space, &public.plaintext) {
            (Space::Sum { t_log2 }, _) => *t_log2,
            (Space::ApproxSum { .. }, Plaintext::Scale { .. }) => 0,
            _ => {
                return Err(ClientError::Encoding {
                    id: public.id,
                    what: "devices cannot encrypt its layout",
                });
            }
        };
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

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signer, SigningKey};
    use hush_table::delivery::{DELIVERY_FORMAT, certified_bytes};
    use hush_table::{Delivery, Digest};

    use super::*;

    fn table() -> Manifest {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hush-table/tests/golden/table_v2");
        TableStore::local_existing(golden).unwrap().load().unwrap().manifest().clone()
    }

    fn delivery(table: &Manifest, stream: u8, number: u64, change: impl Fn(&mut Delivery)) -> SignedDelivery {
        let file = |kind: &str| {
            Some(PartFile { digest: Digest::of(format!("{stream} {number} {kind}").as_bytes()), bytes: 9 })
        };
        let mut delivery = Delivery {
            format: DELIVERY_FORMAT,
            table_id: table.table_id,
            encodings: Digest::of(b"encodings"),
            id: DeliveryId { stream: StreamId::from_bytes([stream; 16]), number },
            rows: 10,
            chunks: 1,
            clear: file("clear").filter(|_| !table.clear_columns.is_empty()),
            encrypted: file("encrypted").filter(|_| table.has_encrypted_files()),
        };
        change(&mut delivery);
        let device = SigningKey::from_bytes(&[stream; 32]);
        let key = device.verifying_key().to_bytes();
        let certificate = device.sign(&certified_bytes(table.table_id, delivery.encodings, &key)).to_bytes();
        SignedDelivery::sign(delivery, &key, &certificate, |bytes| device.sign(bytes).to_bytes()).unwrap()
    }

    fn counts(accepted: &Accepted) -> [u64; 4] {
        [accepted.deliveries, accepted.out_of_order, accepted.outdated, accepted.refused]
    }

    #[test]
    fn deliveries_are_taken_in_order_and_what_cannot_be_taken_keeps_no_other_out() {
        let good = |table: &Manifest, stream, number| delivery(table, stream, number, |_| {});
        let mut manifest = table();
        let (rows, parts) = (manifest.rows, manifest.parts.len());
        let stolen = manifest.parts[0].encrypted;
        let waiting = [
            // As a list that is in no order.
            good(&manifest, 1, 1),
            good(&manifest, 1, 0),
            good(&manifest, 2, 1),
            delivery(&manifest, 3, 0, |delivery| delivery.encodings = Digest::of(b"earlier")),
            delivery(&manifest, 4, 0, |delivery| delivery.rows = 9000),
            delivery(&manifest, 5, 0, |delivery| delivery.encrypted = stolen),
            delivery(&manifest, 6, 0, |delivery| delivery.clear = None),
            good(&manifest, 7, 0),
        ];
        let accepted = choose(&mut manifest, Digest::of(b"encodings"), &waiting);
        assert_eq!(counts(&accepted), [3, 1, 1, 3]);
        assert_eq!((manifest.rows, manifest.parts.len()), (rows + 30, parts + 3));
        manifest.check().unwrap();
        // Those that are in the table come again, and one that was missing.
        let waiting =
            [good(&manifest, 1, 0), good(&manifest, 1, 1), good(&manifest, 2, 1), good(&manifest, 2, 0)];
        assert_eq!(counts(&choose(&mut manifest, Digest::of(b"encodings"), &waiting)), [2, 0, 0, 0]);
        manifest.check().unwrap();
    }
}
