// SPDX-License-Identifier: Apache-2.0
//! Takes deliveries of devices in, one at a time: a fault of one keeps no other out.

use std::collections::{BTreeMap, HashSet};

use hush_edge::digest_of_encodings;
use hush_plan::error::Remedy;
use hush_table::manifest::{ChangeKind, MAX_PARTS, MAX_REJECTED, Rejection};
use hush_table::part::{FileKind, PartSource};
use hush_table::{
    DeliveryId, DeviceId, DeviceJob, Digest, Manifest, PartFile, RunId, SignedDelivery, SignedManifest,
    StreamId, TableError,
};
use serde::Serialize;

use super::Waiting;
use super::examine::{Examiner, Fault};
use crate::error::ClientError;
use crate::owner::OwnerKey;
use crate::pins::Pins;
use crate::place::{Opened, TablePlace};

/// Deliveries of one device that may be rejected for their decrypted values; then nothing of the device is decrypted any more.
/// Every such rejection tells a server that is the device's accomplice something about the delivery's ciphertexts, see
/// `docs/security/devices.md`.
pub const MAX_REJECTIONS: usize = 3;

/// Rejected deliveries that are told one by one.
const MAX_TOLD: usize = 1000;

/// The deliveries that were taken, and those that were not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Accepted {
    /// Deliveries.
    pub deliveries: u64,
    /// Their rows.
    pub rows: u64,
    /// Version of the table now.
    pub version: u64,
    /// Rows of the table now.
    pub table_rows: u64,
    /// Rows beyond those that the schema's `max_rows` sized the sums for; such sums may be refused.
    pub rows_beyond: u64,
    /// Deliveries that wait for one before them, which has not come or was not taken.
    pub out_of_order: u64,
    /// Deliveries encrypted for an earlier version of the table's encodings, which no key opens as they are.
    pub outdated: u64,
    /// The first of the faulty deliveries, which wait for a decision.
    pub rejected: Vec<RejectedDelivery>,
    /// Number of the other faulty ones.
    pub rejected_more: u64,
    /// Deliveries of devices that had [`MAX_REJECTIONS`] rejected: nobody looked at them.
    pub held: u64,
    /// The devices of those.
    pub held_devices: Vec<String>,
    /// Deliveries of a job of which another run was taken before: the same rows once more, which stay out.
    pub repeated: u64,
    /// Deliveries that were discarded for good, as asked.
    pub discarded: u64,
    /// Deliveries that still wait: out of order, outdated, rejected or held.
    pub waiting: u64,
}

/// A delivery that was not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RejectedDelivery {
    /// Names it: device, stream and number.
    pub delivery: String,
    /// Its device.
    pub device: String,
    /// Its stream.
    pub stream: String,
    /// Its number there.
    pub number: u64,
    /// Rows that it claims to have.
    pub rows: u64,
    /// The fault.
    pub why: String,
}

/// Takes waiting deliveries of devices into the next version of the table, and discards those in `discard` for good. Does nothing
/// if nothing waits.
///
/// Deliveries of one stream are taken in the order of their numbers, without gaps. So a lost, held back or rejected delivery is
/// noticed, and its stream stands until it comes or is discarded. Every delivery is decoded and decrypted before it is taken.
///
/// If more wait than a page has (4096), devices take turns, and each page that brings something is a version of its own. So no
/// device keeps the others' deliveries out, and deliveries stay taken if a later page fails.
///
/// # Errors
/// Another key, a rollback, damage; [`ClientError::Usage`] for a delivery to discard that does not wait; another version that was
/// made at the same time; a server that lists without end. Deliveries of earlier pages stay taken.
pub fn accept_deliveries(
    place: TablePlace<'_>,
    key: &OwnerKey,
    pins: &Pins,
    discard: &[String],
) -> Result<Accepted, ClientError> {
    let owner = key.seed();
    let Opened { manifest: signed, half, keys, .. } = place.open(owner, pins)?;
    let manifest = signed.manifest();
    let examiner = Examiner::new(manifest, &half, &keys.present().columns)?;
    let table = &manifest.table;
    let examine = |delivery: &SignedDelivery| match place {
        TablePlace::Directory(_) | TablePlace::Bucket(_) => {
            let store = place.files().map_err(Fault::from)?;
            examiner.examine(delivery, &|kind, file| Ok(store.open_part(kind, &file)?))
        }
        TablePlace::Server(server, _) => examiner.examine(delivery, &|kind: FileKind, file: PartFile| {
            Ok(PartSource::from_memory(server.part(table, kind, file)?))
        }),
    };
    let mut choice = Choice::new(manifest.clone(), digest_of_encodings(&half.encodings, manifest.domain));
    choice.discard(discard, &named(discard, Waiting::beside(place, &signed))?)?;
    let mut present = manifest.clone();
    let mut waiting = Waiting::beside(place, &signed);
    while let Some(page) = waiting.next_page()? {
        choice.take(&page, &examine)?;
        if choice.manifest != present {
            choice.manifest.version += 1;
            let added = choice.manifest.rows.saturating_sub(present.rows);
            let what = if added > 0 { ChangeKind::Accept } else { ChangeKind::Devices };
            choice.manifest.record(what, added, 0);
            present = choice.manifest.clone();
            // The private half is bound to the encryption, not to the version.
            let key = owner.verifying_key().to_bytes();
            let next = SignedManifest::sign(present.clone(), &key, |bytes| owner.sign(bytes))?;
            place.commit(&next)?;
            pins.check_and_remember(&next)?;
        }
    }
    if choice.has_leftovers
        && let Ok(store) = place.files()
    {
        // What cannot be removed now, a later run removes; a server removes it with the next version.
        let _ = store.forget_deliveries(&present);
    }
    let mut accepted = choice.accepted;
    (accepted.version, accepted.table_rows) = (present.version, present.living_rows());
    accepted.waiting = accepted.out_of_order + accepted.outdated + accepted.held;
    accepted.waiting += accepted.rejected.len() as u64 + accepted.rejected_more;
    accepted.rows_beyond = present.rows.saturating_sub(half.schema.max_rows);
    Ok(accepted)
}

/// Whether a file could not be fetched for a reason that says nothing of the file.
fn is_of_the_network(error: &ClientError) -> bool {
    match error {
        ClientError::Remote(error) => error.is_transient(),
        // Other faults of a store, such as credentials that have expired, are no delivery's either.
        ClientError::Table(error) => matches!(error, TableError::Store { .. }),
        _ => false,
    }
}

/// The waiting deliveries with these names.
fn named(texts: &[String], mut waiting: Waiting<'_>) -> Result<Vec<SignedDelivery>, ClientError> {
    let mut found = Vec::new();
    while found.len() < texts.len()
        && let Some(page) = waiting.next_page()?
    {
        found.extend(page.into_iter().filter(|signed| texts.contains(&signed.delivery().id.to_string())));
    }
    Ok(found)
}

/// The next version in the making.
struct Choice {
    manifest: Manifest,
    accepted: Accepted,
    /// Digest of the encodings for which deliveries must be encrypted.
    encodings: Digest,
    /// The next number of each stream.
    expected: BTreeMap<(DeviceId, StreamId), u64>,
    /// Whether deliveries were met that were settled before: a run that ended between commit and removal has left them.
    has_leftovers: bool,
    /// The run of each job that was taken.
    runs: BTreeMap<DeviceJob, RunId>,
    /// Encrypted files of the table: one delivered twice would count its rows twice.
    files: HashSet<PartFile>,
}

impl Choice {
    fn new(manifest: Manifest, encodings: Digest) -> Self {
        let accepted =
            Accepted { version: manifest.version, table_rows: manifest.living_rows(), ..Accepted::default() };
        let expected = manifest.next_numbers();
        let runs = manifest.runs();
        let files = manifest.parts.iter().filter_map(|part| part.encrypted).collect();
        Self { manifest, accepted, encodings, expected, has_leftovers: false, runs, files }
    }

    /// Discards waiting deliveries for good.
    fn discard(&mut self, texts: &[String], waiting: &[SignedDelivery]) -> Result<(), ClientError> {
        for text in texts {
            let found = waiting.iter().find(|signed| signed.delivery().id.to_string() == *text);
            let found = found.ok_or_else(|| ClientError::Misused {
                what: format!("no delivery {text:?} waits"),
                way: Remedy::DeliveryName,
            })?;
            let id = found.delivery().id;
            if id.number < self.expected.get(&(id.device, id.stream)).copied().unwrap_or(0) {
                return Err(ClientError::Usage { what: format!("delivery {text} is settled already") });
            }
            self.remember(Rejection { delivery: id, container: found.digest(), discarded: true })?;
            self.accepted.discarded += 1;
        }
        (self.expected, self.runs) = (self.manifest.next_numbers(), self.manifest.runs());
        Ok(())
    }

    fn remember(&mut self, rejection: Rejection) -> Result<(), ClientError> {
        if self.manifest.devices.rejected.len() >= MAX_REJECTED {
            let what = "the table remembers as many rejected deliveries as it can".into();
            return Err(ClientError::Misused { what, way: Remedy::Revoke });
        }
        self.manifest.devices.reject(rejection);
        Ok(())
    }

    /// Looks at deliveries in the order of their streams, and takes those that can be taken.
    fn take(
        &mut self,
        deliveries: &[SignedDelivery],
        examine: &dyn Fn(&SignedDelivery) -> Result<(), Fault>,
    ) -> Result<(), ClientError> {
        let mut sorted: Vec<&SignedDelivery> = deliveries.iter().collect();
        sorted.sort_by_key(|signed| signed.delivery().id);
        for signed in sorted {
            let (id, device) = (signed.delivery().id, signed.delivery().id.device);
            let expected = self.expected.get(&(device, id.stream)).copied().unwrap_or(0);
            let rules = &self.manifest.devices;
            if rules.is_revoked(device) || id.number < expected {
                self.has_leftovers = true;
                continue;
            }
            let run = self.runs.get(&DeviceJob::of(id));
            if run.is_some_and(|run| *run != id.stream.run()) {
                self.has_leftovers = true;
                self.accepted.repeated += 1;
            } else if signed.delivery().encodings != self.encodings {
                self.accepted.outdated += 1;
            } else if id.number > expected {
                self.accepted.out_of_order += 1;
            } else if rules.rejection(id, signed.digest()).is_some() {
                self.reject(signed, "it was rejected before for what a row decrypts to");
            } else if rules.rejections_of(device) >= MAX_REJECTIONS {
                self.hold(device);
            } else {
                match self.judge(signed, examine) {
                    Ok(()) => self.append(signed, expected),
                    // Not the delivery's fault: the network's.
                    Err(Fault::File(error)) if is_of_the_network(&error) => return Err(error),
                    Err(fault) => {
                        if fault.is_secret() {
                            let container = signed.digest();
                            self.remember(Rejection { delivery: id, container, discarded: false })?;
                        }
                        self.reject(signed, &fault.to_string());
                    }
                }
            }
        }
        Ok(())
    }

    fn judge(
        &self,
        signed: &SignedDelivery,
        examine: &dyn Fn(&SignedDelivery) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let is_known = signed.delivery().encrypted.is_some_and(|file| self.files.contains(&file));
        if is_known || self.manifest.parts.len() >= MAX_PARTS {
            return Err(Fault::Form);
        }
        examine(signed)
    }

    fn append(&mut self, signed: &SignedDelivery, number: u64) {
        let delivery = signed.delivery();
        // Deliveries for other domains and columns are not taken.
        let entry = delivery.part_entry(&self.manifest);
        self.files.extend(entry.encrypted);
        self.manifest.rows = self.manifest.rows.saturating_add(delivery.rows);
        self.manifest.parts.push(entry);
        let mut next = number.saturating_add(1);
        while self.manifest.devices.discarded(DeliveryId { number: next, ..delivery.id }).is_some() {
            next = next.saturating_add(1);
        }
        self.expected.insert((delivery.id.device, delivery.id.stream), next);
        self.runs.insert(DeviceJob::of(delivery.id), delivery.id.stream.run());
        self.accepted.deliveries += 1;
        self.accepted.rows += delivery.rows;
    }

    fn reject(&mut self, signed: &SignedDelivery, why: &str) {
        let id = signed.delivery().id;
        if self.accepted.rejected.len() >= MAX_TOLD {
            self.accepted.rejected_more += 1;
            return;
        }
        self.accepted.rejected.push(RejectedDelivery {
            delivery: id.to_string(),
            device: id.device.to_string(),
            stream: id.stream.to_string(),
            number: id.number,
            rows: signed.delivery().rows,
            why: why.to_owned(),
        });
    }

    fn hold(&mut self, device: DeviceId) {
        self.accepted.held += 1;
        let device = device.to_string();
        if !self.accepted.held_devices.contains(&device) {
            self.accepted.held_devices.push(device);
        }
    }
}

#[cfg(test)]
mod tests;
