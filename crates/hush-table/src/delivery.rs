// SPDX-License-Identifier: Apache-2.0
//! Deliveries: parts that a device has encrypted with public keys, and its signature that they are the next of its own.
//!
//! ```text
//! magic 8 │ body length u32 │ body (JSON) │ device's key 32 │ owner's certificate 64 │ device's signature 64
//! └──────────────────── what the signature covers ──────────────────────────────────┘
//! certificate: the owner's signature on "HUSHDEV1" ‖ table id 16 ‖ digest of the encodings 32 ‖ device's key 32
//! ```
//!
//! A device can add rows to the one table that its certificate names, and nothing else: what it delivers waits beside the table
//! until the owner takes it into the next version. Its device, its stream (one for each spool) and its number in that stream name
//! a delivery. So a delivery that is sent twice is taken once, a missing one is noticed, and no device can take another's numbers.
//!
//! The seeds of a delivery's chunks follow from that name. Nothing is expanded from them, for devices store their masks; but a server
//! refuses a seed that was used before, and so no device can choose one.

// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

mod announcement;
mod id;

pub use announcement::{ANNOUNCEMENT_MAGIC, MAX_ANNOUNCEMENT_BYTES, SignedAnnouncement};
pub use id::{DeliveryId, DeviceJob};

use serde::{Deserialize, Serialize};

use self::id::MAX_NUMBER;
use crate::digest::{DeviceId, Digest, TableId};
use crate::error::{DeliveryFault, TableError};
use crate::manifest::{Manifest, PartEntry, PartFile, verify};

/// First bytes of every delivery; also the domain of its signature.
pub const DELIVERY_MAGIC: [u8; 8] = *b"HUSHDLV2";
/// First bytes of deliveries that named no device; they are refused by name.
const FIRST_MAGIC: [u8; 8] = *b"HUSHDLV1";
/// Domain of the certificates of devices.
pub const DEVICE_DOMAIN: [u8; 8] = *b"HUSHDEV1";
/// Version of the body.
pub const DELIVERY_FORMAT: u16 = 2;
/// Largest container in bytes.
pub const MAX_DELIVERY_BYTES: u64 = 4096;
/// A device's description of a delivery. Public.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// [`DELIVERY_FORMAT`].
    pub format: u16,
    /// The table.
    pub table_id: TableId,
    /// Digest of the encodings that the device has keys for.
    pub encodings: Digest,
    /// Its name.
    pub id: DeliveryId,
    /// Rows of the part.
    pub rows: u64,
    /// Chunks of the part.
    pub chunks: u32,
    /// File of the clear columns.
    pub clear: Option<PartFile>,
    /// File of the encodings.
    pub encrypted: Option<PartFile>,
}

/// A delivery whose signatures agree with each other. [`SignedDelivery::require_owner`] checks who signed the certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedDelivery {
    delivery: Delivery,
    device: [u8; 32],
    certificate: [u8; 64],
    bytes: Vec<u8>,
}

/// Some of the deliveries that wait beside a table.
#[derive(Clone, Debug, Default)]
pub struct DeliveryPage {
    /// The deliveries, by rising id.
    pub deliveries: Vec<SignedDelivery>,
    /// The id after which the next page begins; `None` on the last page. No id of this page is greater.
    pub next: Option<DeliveryId>,
}

impl Delivery {
    /// The entry of the part that this delivery is in a table that takes it in.
    pub fn part_entry(&self, table: &Manifest) -> PartEntry {
        PartEntry {
            rows: self.rows,
            chunks: self.chunks,
            clear: self.clear,
            encrypted: self.encrypted,
            delivery: Some(self.id),
            append: None,
            first_chunk: None,
            dead: None,
            cubes: None,
            runs: None,
            domain: table.domain,
            generation: table.generation,
        }
    }
}

/// The message that an owner signs to let a device deliver to a table.
pub fn certified_bytes(table_id: TableId, encodings: Digest, device: &[u8; 32]) -> Vec<u8> {
    [DEVICE_DOMAIN.as_slice(), table_id.as_bytes(), encodings.as_bytes(), device].concat()
}

impl SignedDelivery {
    /// Encodes a delivery and has the device sign it.
    ///
    /// # Errors
    /// [`TableError::BadDelivery`] if the signature is not that of `device`.
    pub fn sign(
        delivery: Delivery,
        device: &[u8; 32],
        certificate: &[u8; 64],
        sign: impl FnOnce(&[u8]) -> [u8; 64],
    ) -> Result<Self, TableError> {
        let body = serde_json::to_vec(&delivery).map_err(|source| TableError::BadBody { source })?;
        let mut bytes = DELIVERY_MAGIC.to_vec();
        bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes.extend_from_slice(device);
        bytes.extend_from_slice(certificate);
        let signature = sign(&bytes);
        bytes.extend_from_slice(&signature);
        Self::decode(&bytes)
    }

    /// Checks sizes, the device's signature and the body's form.
    ///
    /// # Errors
    /// [`TableError::BadDelivery`].
    pub fn decode(bytes: &[u8]) -> Result<Self, TableError> {
        let bad = |fault: DeliveryFault| TableError::BadDelivery { fault };
        if bytes.len() as u64 > MAX_DELIVERY_BYTES {
            return Err(bad(DeliveryFault::Length));
        }
        let (signed, signature) = bytes.split_last_chunk::<64>().ok_or(bad(DeliveryFault::Length))?;
        let (rest, certificate) = signed.split_last_chunk::<64>().ok_or(bad(DeliveryFault::Length))?;
        let (rest, device) = rest.split_last_chunk::<32>().ok_or(bad(DeliveryFault::Length))?;
        let (magic, rest) = rest.split_first_chunk::<8>().ok_or(bad(DeliveryFault::Length))?;
        let (length, body) = rest.split_first_chunk::<4>().ok_or(bad(DeliveryFault::Length))?;
        if *magic == FIRST_MAGIC {
            return Err(bad(DeliveryFault::Format));
        }
        if *magic != DELIVERY_MAGIC || u32::from_le_bytes(*length) as usize != body.len() {
            return Err(bad(DeliveryFault::Length));
        }
        verify(signed, device, signature).map_err(|_| bad(DeliveryFault::Signature))?;
        let delivery: Delivery = serde_json::from_slice(body).map_err(|_| bad(DeliveryFault::Body))?;
        let canonical = serde_json::to_vec(&delivery).is_ok_and(|text| text == body);
        let counted = delivery.id.number <= MAX_NUMBER && delivery.rows > 0 && delivery.chunks > 0;
        let is_own = delivery.id.device == DeviceId::of_key(device);
        if delivery.format != DELIVERY_FORMAT || !canonical || !counted || !is_own {
            return Err(bad(DeliveryFault::Body));
        }
        Ok(Self { delivery, device: *device, certificate: *certificate, bytes: bytes.to_vec() })
    }

    /// Accepts only devices that the table's owner has certified for it.
    ///
    /// # Errors
    /// [`TableError::BadDelivery`].
    pub fn require_owner(&self, owner: &[u8; 32], table_id: TableId) -> Result<(), TableError> {
        let bad = |fault| TableError::BadDelivery { fault };
        if self.delivery.table_id != table_id {
            return Err(bad(DeliveryFault::Table));
        }
        let certified = certified_bytes(table_id, self.delivery.encodings, &self.device);
        verify(&certified, owner, &self.certificate).map_err(|_| bad(DeliveryFault::Certificate))
    }

    /// The device's description.
    pub fn delivery(&self) -> &Delivery {
        &self.delivery
    }

    /// The device's verifying key.
    pub fn device(&self) -> &[u8; 32] {
        &self.device
    }

    /// The digest of the whole container.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.bytes)
    }

    /// The whole container.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use ed25519_dalek::{Signer, SigningKey};

    use super::*;
    use crate::digest::StreamId;

    fn keys() -> (SigningKey, SigningKey) {
        (SigningKey::from_bytes(&[1; 32]), SigningKey::from_bytes(&[2; 32]))
    }

    fn delivery() -> Delivery {
        let file = PartFile { digest: Digest::of(b"part"), bytes: 7 };
        Delivery {
            format: DELIVERY_FORMAT,
            table_id: TableId::from_bytes([3; 16]),
            encodings: Digest::of(b"encodings"),
            id: DeliveryId {
                device: DeviceId::of_key(&keys().1.verifying_key().to_bytes()),
                stream: StreamId::from_bytes([4; 16]),
                number: 5,
            },
            rows: 6,
            chunks: 1,
            clear: None,
            encrypted: Some(file),
        }
    }

    fn signed(delivery: Delivery) -> SignedDelivery {
        let (owner, device) = keys();
        let key = device.verifying_key().to_bytes();
        let certificate =
            owner.sign(&certified_bytes(delivery.table_id, delivery.encodings, &key)).to_bytes();
        SignedDelivery::sign(delivery, &key, &certificate, |bytes| device.sign(bytes).to_bytes()).unwrap()
    }

    #[test]
    fn what_was_signed_is_read_back() {
        let signed = signed(delivery());
        assert_eq!(SignedDelivery::decode(signed.as_bytes()).unwrap(), signed);
        assert_eq!(*signed.delivery(), delivery());
        let owner = keys().0.verifying_key().to_bytes();
        signed.require_owner(&owner, delivery().table_id).unwrap();
        assert_eq!(signed.delivery().part_entry(&crate::fixture::manifest()).delivery, Some(delivery().id));
    }

    #[test]
    fn every_altered_byte_and_every_other_length_is_refused() {
        let signed = signed(delivery());
        let owner = keys().0.verifying_key().to_bytes();
        for at in 0..signed.as_bytes().len() {
            let mut bytes = signed.as_bytes().to_vec();
            bytes[at] ^= 0x20;
            assert!(SignedDelivery::decode(&bytes).is_err(), "byte {at}");
            assert!(SignedDelivery::decode(&signed.as_bytes()[..at]).is_err(), "length {at}");
        }
        assert!(SignedDelivery::decode(&vec![0; MAX_DELIVERY_BYTES as usize + 1]).is_err());
        let device = keys().1.verifying_key().to_bytes();
        assert!(signed.require_owner(&device, delivery().table_id).is_err());
        assert!(signed.require_owner(&owner, TableId::from_bytes([9; 16])).is_err());
    }

    #[test]
    fn a_certificate_for_other_encodings_or_another_device_is_none() {
        let (owner, device) = keys();
        let key = device.verifying_key().to_bytes();
        for certified in [
            certified_bytes(delivery().table_id, Digest::of(b"other"), &key),
            certified_bytes(delivery().table_id, delivery().encodings, &[7; 32]),
        ] {
            let certificate = owner.sign(&certified).to_bytes();
            let sign = |bytes: &[u8]| device.sign(bytes).to_bytes();
            let signed = SignedDelivery::sign(delivery(), &key, &certificate, sign).unwrap();
            let refused = signed.require_owner(&owner.verifying_key().to_bytes(), delivery().table_id);
            assert_eq!(refused.unwrap_err().code(), "HUSH-T060");
        }
    }

    #[test]
    fn bodies_that_say_nothing_or_too_much_are_refused() {
        let (_, device) = keys();
        let refused = |delivery: Delivery| {
            let sign = |bytes: &[u8]| device.sign(bytes).to_bytes();
            SignedDelivery::sign(delivery, &device.verifying_key().to_bytes(), &[0; 64], sign).is_err()
        };
        assert!(refused(Delivery { format: 1, ..delivery() }));
        let device = DeviceId::from_bytes([1; 16]);
        assert!(refused(Delivery { id: DeliveryId { device, ..delivery().id }, ..delivery() }));
        assert!(refused(Delivery { rows: 0, ..delivery() }));
        assert!(refused(Delivery { chunks: 0, ..delivery() }));
        let number = MAX_NUMBER + 1;
        assert!(refused(Delivery { id: DeliveryId { number, ..delivery().id }, ..delivery() }));
    }

    /// A signer may sign any bytes; only one form of them is a delivery.
    #[test]
    fn signed_bytes_of_another_form_are_refused() {
        let (_, device) = keys();
        let good = signed(delivery());
        let head = good.as_bytes().len() - 64;
        let again = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = good.as_bytes()[..head].to_vec();
            change(&mut bytes);
            let signature = device.sign(&bytes).to_bytes();
            SignedDelivery::decode(&[bytes.as_slice(), &signature].concat())
        };
        assert_eq!(again(&|_| ()).unwrap(), good);
        assert!(again(&|bytes| bytes[7] ^= 1).is_err(), "another magic");
        assert!(again(&|bytes| bytes[8] ^= 1).is_err(), "another length");
        assert!(again(&|bytes| bytes.insert(12, b' ')).is_err(), "one byte more");
        let blank = |bytes: &mut Vec<u8>| {
            bytes.insert(13, b' ');
            let length = u32::from_le_bytes(bytes[8..12].try_into().unwrap()) + 1;
            bytes[8..12].copy_from_slice(&length.to_le_bytes());
        };
        assert!(again(&blank).is_err(), "another text of the same body");
        // Right in everything but its length, which no delivery has.
        let padded = |bytes: &mut Vec<u8>| {
            let blanks = vec![b' '; MAX_DELIVERY_BYTES as usize];
            let body = bytes.len() - 64 - 32;
            bytes.splice(body..body, blanks);
            let length = (body - 12) as u32 + MAX_DELIVERY_BYTES as u32;
            bytes[8..12].copy_from_slice(&length.to_le_bytes());
        };
        let refused = again(&padded).unwrap_err();
        assert!(matches!(refused, TableError::BadDelivery { fault: DeliveryFault::Length }), "{refused}");
        assert_eq!(*good.device(), device.verifying_key().to_bytes());
    }

    #[test]
    fn deliveries_of_the_first_format_are_refused_by_name() {
        let mut bytes = signed(delivery()).as_bytes().to_vec();
        bytes[..8].copy_from_slice(b"HUSHDLV1");
        let refused = SignedDelivery::decode(&bytes).unwrap_err();
        assert!(refused.to_string().contains("earlier version"), "{refused}");
    }

    #[test]
    fn every_chunk_of_every_delivery_has_a_seed_of_its_own() {
        let id = delivery().id;
        let (device, stream) = (DeviceId::from_bytes([9; 16]), StreamId::from_bytes([9; 16]));
        let others =
            [DeliveryId { device, ..id }, DeliveryId { stream, ..id }, DeliveryId { number: 6, ..id }];
        let mut seeds: Vec<[u8; 32]> = others.iter().map(|other| other.chunk_seed(0)).collect();
        seeds.extend([id.chunk_seed(0), id.chunk_seed(1)]);
        let distinct: std::collections::HashSet<_> = seeds.iter().collect();
        assert_eq!(distinct.len(), seeds.len());
        assert_eq!(id.chunk_seed(0), delivery().id.chunk_seed(0));
    }

    #[test]
    fn names_are_read_back_and_others_are_none() {
        let id = delivery().id;
        assert_eq!(DeliveryId::of_file_name(&id.file_name()), Some(id));
        let name = id.file_name();
        for other in
            [name.to_uppercase(), name.replace("000", ""), name.replace('-', "_"), format!("{name}.partial")]
        {
            assert_eq!(DeliveryId::of_file_name(&other), None, "{other}");
        }
    }
}
