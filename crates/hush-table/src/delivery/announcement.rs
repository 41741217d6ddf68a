// SPDX-License-Identifier: Apache-2.0
//! Announcements: the deliveries of all tasks of a job, made known at once.
//!
//! ```text
//! magic 8 │ count u32 │ count × (length u32 │ delivery) │ device's key 32 │ device's signature 64
//! └────────────────── what the signature covers ────────────────────────┘
//! ```
//!
//! Many tasks encrypt rows with one device's key, and a cluster repeats tasks as it likes. So a task stores parts and hands its
//! signed deliveries to whoever runs the job, who announces those of one attempt at each task in a single object. Before that nothing
//! of the job is there, and afterwards all of it. What other attempts have left are parts that nothing names.
//!
//! The streams of the deliveries begin with the job and the run. A table takes deliveries of one run of a device's job: so a job that
//! is run again, because nobody knows whether it was announced, is counted once.

use super::{DeliveryId, DeviceJob, SignedDelivery};
use crate::digest::{RunId, TableId};
use crate::error::{DeliveryFault, TableError};
use crate::manifest::verify;

/// First bytes of every announcement; also the domain of its signature.
pub const ANNOUNCEMENT_MAGIC: [u8; 8] = *b"HUSHJOB1";
/// Largest container in bytes: some 80 000 deliveries.
pub const MAX_ANNOUNCEMENT_BYTES: u64 = 64 << 20;

/// All deliveries of one run of a job. [`SignedAnnouncement::require_owner`] checks who certified the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedAnnouncement {
    deliveries: Vec<SignedDelivery>,
    bytes: Vec<u8>,
}

impl SignedAnnouncement {
    /// Puts deliveries together, in the order of their ids, and has the device sign them.
    ///
    /// # Errors
    /// [`TableError::BadDelivery`] for deliveries that do not belong together, for none or too many, and if the signature is not that
    /// of `device`.
    pub fn sign(
        mut deliveries: Vec<SignedDelivery>,
        device: &[u8; 32],
        sign: impl FnOnce(&[u8]) -> [u8; 64],
    ) -> Result<Self, TableError> {
        deliveries.sort_by_key(|signed| signed.delivery().id);
        let mut bytes = ANNOUNCEMENT_MAGIC.to_vec();
        bytes.extend_from_slice(&(deliveries.len() as u32).to_le_bytes());
        for signed in &deliveries {
            bytes.extend_from_slice(&(signed.as_bytes().len() as u32).to_le_bytes());
            bytes.extend_from_slice(signed.as_bytes());
        }
        bytes.extend_from_slice(device);
        let signature = sign(&bytes);
        bytes.extend_from_slice(&signature);
        Self::decode(&bytes)
    }

    /// Checks sizes, all signatures, and that the deliveries belong together.
    ///
    /// # Errors
    /// [`TableError::BadDelivery`].
    pub fn decode(bytes: &[u8]) -> Result<Self, TableError> {
        let bad = |fault: DeliveryFault| TableError::BadDelivery { fault };
        let cut = || bad(DeliveryFault::Length);
        if bytes.len() as u64 > MAX_ANNOUNCEMENT_BYTES {
            return Err(cut());
        }
        let (signed, signature) = bytes.split_last_chunk::<64>().ok_or_else(cut)?;
        let (rest, device) = signed.split_last_chunk::<32>().ok_or_else(cut)?;
        let (magic, rest) = rest.split_first_chunk::<8>().ok_or_else(cut)?;
        let (count, mut rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
        if *magic != ANNOUNCEMENT_MAGIC {
            return Err(cut());
        }
        verify(signed, device, signature).map_err(|_| bad(DeliveryFault::Signature))?;
        let mut deliveries = Vec::new();
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let (delivery, after) =
                after.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(cut)?;
            deliveries.push(SignedDelivery::decode(delivery)?);
            rest = after;
        }
        if !rest.is_empty() || u32::from_le_bytes(*count) as usize != deliveries.len() {
            return Err(cut());
        }
        if !belong_together(&deliveries, device) {
            return Err(bad(DeliveryFault::Mixed));
        }
        Ok(Self { deliveries, bytes: bytes.to_vec() })
    }

    /// Accepts only a device that the table's owner has certified for it.
    ///
    /// # Errors
    /// [`TableError::BadDelivery`].
    pub fn require_owner(&self, owner: &[u8; 32], table_id: TableId) -> Result<(), TableError> {
        self.deliveries.iter().try_for_each(|signed| signed.require_owner(owner, table_id))
    }

    /// The deliveries, by rising id; at least one.
    pub fn deliveries(&self) -> &[SignedDelivery] {
        &self.deliveries
    }

    /// The deliveries.
    pub fn into_deliveries(self) -> Vec<SignedDelivery> {
        self.deliveries
    }

    /// Its device and job, and the run of it.
    pub fn job(&self) -> Option<(DeviceJob, RunId)> {
        let id = self.deliveries.first()?.delivery().id;
        Some((DeviceJob::of(id), id.stream.run()))
    }

    /// The whole container.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Whether there are deliveries, all of `device` and of one run of a job, by rising id, each stream from 0 without gaps.
fn belong_together(deliveries: &[SignedDelivery], device: &[u8; 32]) -> bool {
    let Some(first) = deliveries.first().map(|signed| signed.delivery().id) else { return false };
    let mut before: Option<DeliveryId> = None;
    deliveries.iter().all(|signed| {
        let id = signed.delivery().id;
        let next = before
            .filter(|before| before.stream == id.stream)
            .map_or(0, |before| before.number.saturating_add(1));
        let rises = before.is_none_or(|before| before < id);
        before = Some(id);
        let is_of_run = DeviceJob::of(id) == DeviceJob::of(first) && id.stream.run() == first.stream.run();
        rises && id.number == next && is_of_run && signed.device() == device
    })
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signer, SigningKey};

    use super::*;
    use crate::delivery::{DELIVERY_FORMAT, Delivery, certified_bytes};
    use crate::digest::{DeviceId, Digest, JobId, StreamId};
    use crate::manifest::PartFile;

    fn table() -> TableId {
        TableId::from_bytes([5; 16])
    }

    fn owner() -> SigningKey {
        SigningKey::from_bytes(&[1; 32])
    }

    fn device(seed: u8) -> SigningKey {
        SigningKey::from_bytes(&[seed; 32])
    }

    fn delivery(device: &SigningKey, stream: StreamId, number: u64) -> SignedDelivery {
        let key = device.verifying_key().to_bytes();
        let encodings = Digest::of(b"encodings");
        let id = DeliveryId { device: DeviceId::of_key(&key), stream, number };
        let file = PartFile { digest: Digest::of(id.to_string().as_bytes()), bytes: 7 };
        let delivery = Delivery {
            format: DELIVERY_FORMAT,
            table_id: table(),
            encodings,
            id,
            rows: 9,
            chunks: 1,
            clear: Some(file),
            encrypted: None,
        };
        let certificate = owner().sign(&certified_bytes(table(), encodings, &key)).to_bytes();
        SignedDelivery::sign(delivery, &key, &certificate, |bytes| device.sign(bytes).to_bytes()).unwrap()
    }

    fn stream(job: &str, run: u8, task: u32) -> StreamId {
        StreamId::of_task(JobId::of_name(job), RunId::from_bytes([run; 4]), task)
    }

    fn sign(deliveries: Vec<SignedDelivery>, device: &SigningKey) -> Result<SignedAnnouncement, TableError> {
        let key = device.verifying_key().to_bytes();
        SignedAnnouncement::sign(deliveries, &key, |bytes| device.sign(bytes).to_bytes())
    }

    fn three() -> Vec<SignedDelivery> {
        let two = |number| delivery(&device(2), stream("j", 1, 7), number);
        vec![two(1), delivery(&device(2), stream("j", 1, 900), 0), two(0)]
    }

    #[test]
    fn what_was_announced_is_read_back_in_order() {
        let announced = sign(three(), &device(2)).unwrap();
        assert_eq!(SignedAnnouncement::decode(announced.as_bytes()).unwrap(), announced);
        assert!(announced.deliveries().is_sorted_by_key(|signed| signed.delivery().id));
        assert_eq!(announced.deliveries().len(), 3);
        let (job, run) = announced.job().unwrap();
        assert_eq!((job.job, run), (JobId::of_name("j"), RunId::from_bytes([1; 4])));
        assert_eq!(DeviceJob::of_file_name(&job.file_name()), Some(job));
        announced.require_owner(&owner().verifying_key().to_bytes(), table()).unwrap();
        assert!(announced.require_owner(&[3; 32], table()).is_err());
    }

    #[test]
    fn deliveries_that_do_not_belong_together_are_refused() {
        let with = |more: SignedDelivery| sign([three(), vec![more]].concat(), &device(2));
        assert!(with(delivery(&device(2), stream("j", 1, 900), 1)).is_ok());
        let odd = [
            delivery(&device(2), stream("j", 1, 900), 2),
            delivery(&device(2), stream("j", 1, 900), 0),
            delivery(&device(2), stream("j", 1, 8), 1),
            delivery(&device(2), stream("j", 2, 8), 0),
            delivery(&device(2), stream("k", 1, 8), 0),
            delivery(&device(3), stream("j", 1, 8), 0),
        ];
        for odd in odd {
            let refused = with(odd).unwrap_err();
            assert!(matches!(refused, TableError::BadDelivery { fault: DeliveryFault::Mixed }), "{refused}");
        }
        assert!(sign(Vec::new(), &device(2)).is_err());
        assert!(sign(three(), &device(3)).is_err());
    }

    #[test]
    fn every_altered_byte_and_every_other_length_is_refused() {
        let announced = sign(three(), &device(2)).unwrap();
        for at in 0..announced.as_bytes().len() {
            let mut bytes = announced.as_bytes().to_vec();
            bytes[at] ^= 0x20;
            assert!(SignedAnnouncement::decode(&bytes).is_err(), "byte {at}");
            assert!(SignedAnnouncement::decode(&announced.as_bytes()[..at]).is_err(), "length {at}");
        }
    }

    /// A signer may sign any bytes; only one form of them is an announcement.
    #[test]
    fn signed_bytes_of_another_form_are_refused() {
        let good = sign(three(), &device(2)).unwrap();
        let signed = good.as_bytes().len() - 64;
        let again = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = good.as_bytes()[..signed].to_vec();
            change(&mut bytes);
            let signature = device(2).sign(&bytes).to_bytes();
            SignedAnnouncement::decode(&[bytes.as_slice(), &signature].concat())
        };
        assert_eq!(again(&|_| ()).unwrap(), good);
        assert!(again(&|bytes| bytes[7] ^= 1).is_err(), "another magic");
        assert!(again(&|bytes| bytes[8] = 2).is_err(), "another count");
        assert!(again(&|bytes| bytes[15] = 0xff).is_err(), "a length beyond the end");
        assert!(again(&|bytes| bytes.insert(12, 0)).is_err(), "one byte more");
        let length = u32::from_le_bytes(good.as_bytes()[12..16].try_into().unwrap()) as usize;
        let swapped = |bytes: &mut Vec<u8>| bytes[12..signed - 32].rotate_left(4 + length);
        assert!(again(&swapped).is_err(), "another order");
    }

    /// Bodies that their own device signs, so that the parser behind the signature is reached.
    #[test]
    fn mutations() {
        let good = sign(three(), &device(2)).unwrap();
        let body = good.as_bytes().len() - 64;
        hush_testkit::damaged("announcement", 2000, &good.as_bytes()[..body], |body| {
            let bytes = [body, &device(2).sign(body).to_bytes()].concat();
            let Ok(read) = SignedAnnouncement::decode(&bytes) else { return false };
            assert_eq!(read.as_bytes(), bytes);
            assert_eq!(sign(read.into_deliveries(), &device(2)).unwrap().as_bytes(), bytes);
            true
        });
    }

    #[test]
    fn names_are_read_back_and_others_are_none() {
        let job = DeviceJob::of(three()[0].delivery().id);
        let name = job.file_name();
        for other in [name.to_uppercase(), name.replace('-', "_"), format!("{name}.partial"), "-.job".into()]
        {
            assert_eq!(DeviceJob::of_file_name(&other), None, "{other}");
        }
    }
}
