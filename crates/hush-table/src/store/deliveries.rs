// SPDX-License-Identifier: Apache-2.0
//! Deliveries that wait beside a table until its owner takes them in.

use std::collections::HashSet;

use bytes::Bytes;

use super::delivered::{Delivered, files_of, require_files};
use super::objects::{self, Lookup, Replace};
use super::parts::received;
use super::{DELIVERIES_NAME, TableStore, files};
use crate::delivery::{DeliveryId, DeliveryPage, DeviceJob, MAX_DELIVERY_BYTES, SignedDelivery};
use crate::digest::DeviceId;
use crate::error::{DeliveryFault, Operation, PartFault, TableError};
use crate::manifest::{Manifest, PartEntry, PartFile, PartPlace, SignedManifest};
use crate::part::{ClearPart, EncryptedPart, FileKind, PartName, Projection};

impl TableStore {
    /// Lets a delivery wait, once its parts are there: checks that the table's owner has certified the device and that the
    /// parts have the table's form.
    ///
    /// # Errors
    /// [`TableError::NoTable`], [`TableError::BadDelivery`] (also for another delivery of the same number),
    /// [`TableError::PartMissing`], those of opening parts, [`TableError::Io`]. Nothing has changed then.
    ///
    /// # Cost
    /// Two passes over the parts for their digests, unless they were checked before.
    pub fn deliver(&self, signed: &SignedDelivery) -> Result<Delivered, TableError> {
        let table = self.load()?;
        if let Some(known) = settled(&table, signed)? {
            return Ok(known);
        }
        let _gate = self.while_delivering()?;
        if self.is_directory()
            && let Some(present) = self.read_delivery(signed.delivery().id)?
        {
            return known(present.as_bytes() == signed.as_bytes());
        }
        self.check_delivered(table.manifest(), signed)?;
        self.write_delivery(signed)
    }

    /// Stores the parts of a delivery, which `read` gives, and lets it wait: for a device that writes to the table's place by itself.
    ///
    /// In an object store nothing is listed, replaced or deleted. The rights that this takes are those to get the manifest, to create objects
    /// below `parts/` and `deliveries/`, and to get what lies in `deliveries/`. The owner looks at the parts before the table has them.
    ///
    /// # Errors
    /// As [`TableStore::deliver`]; [`TableError::PartSize`] and [`TableError::PartAltered`] for other bytes than announced. The same call
    /// again finishes what was left.
    pub fn deliver_parts<E: From<TableError>>(
        &self,
        signed: &SignedDelivery,
        read: impl Fn(FileKind, PartFile) -> Result<Bytes, E>,
    ) -> Result<Delivered, E> {
        let table = self.load()?;
        if let Some(known) = settled(&table, signed)? {
            return Ok(known);
        }
        let _gate = self.while_delivering()?;
        let mut older = Vec::new();
        for (kind, file) in files_of(signed) {
            let part = received(kind, file, read(kind, file)?)?;
            if !self.put_new_part(&part)? {
                older.push(part);
            }
        }
        if self.is_directory() {
            return Ok(self.deliver(signed)?);
        }
        require_files(table.manifest(), signed)?;
        let delivered = self.write_delivery(signed)?;
        // What a try of more than a day ago had left may have been swept until the delivery named it.
        for part in &older {
            self.put_new_part(part)?;
        }
        Ok(delivered)
    }

    fn write_delivery(&self, signed: &SignedDelivery) -> Result<Delivered, TableError> {
        let id = signed.delivery().id;
        let Some(directory) = &self.directory else {
            let path = self.folder(DELIVERIES_NAME).join(id.file_name());
            let bytes = Bytes::copy_from_slice(signed.as_bytes());
            return match objects::replace(&self.objects, &path, bytes, Replace::Nothing) {
                // It was sent before, or the answer to our own request was lost. Nobody looks before: to whoever may not list, some
                // stores refuse to say that there is nothing.
                Err(TableError::Busy { .. }) => {
                    let present = self.read_delivery(id)?;
                    known(present.is_some_and(|present| present.as_bytes() == signed.as_bytes()))
                }
                done => done.map(|()| Delivered::Stored),
            };
        };
        files::sync_directory(&directory.join(super::PARTS_NAME))?;
        let folder = directory.join(DELIVERIES_NAME);
        files::write(&folder, &id.file_name(), signed.as_bytes())?;
        files::sync_directory(&folder)?;
        files::sync_directory(directory)?;
        Ok(Delivered::Stored)
    }

    /// All deliveries that wait; see [`TableStore::deliveries_after`].
    ///
    /// # Errors
    /// [`TableError::Io`].
    pub fn deliveries(&self, table: &SignedManifest) -> Result<Vec<SignedDelivery>, TableError> {
        Ok(self.deliveries_after(table, None, usize::MAX)?.deliveries)
    }

    /// The deliveries that wait, alone or announced together, by device, stream and number: at most `most` of those behind `after`. What is none, or of another
    /// table or owner, is left out. An id never changes, so that what comes and goes meanwhile moves no other to another page.
    ///
    /// # Cost
    /// A list of all names, and a read for each of `most` and for each announcement.
    ///
    /// # Errors
    /// [`TableError::Io`].
    pub fn deliveries_after(
        &self,
        table: &SignedManifest,
        after: Option<DeliveryId>,
        most: usize,
    ) -> Result<DeliveryPage, TableError> {
        let mut announced = self.announced(after, most.saturating_add(1))?;
        let mut ids = self.waiting()?;
        ids.retain(|id| after.is_none_or(|after| after < *id));
        ids.extend(announced.keys());
        ids.sort_unstable();
        ids.dedup();
        let next =
            if ids.len() > most { most.checked_sub(1).and_then(|last| ids.get(last)).copied() } else { None };
        ids.truncate(most);
        let mut deliveries = Vec::with_capacity(ids.len());
        for id in ids {
            let delivery = match announced.remove(&id) {
                None => self.read_delivery(id)?,
                announced => announced,
            };
            let Some(delivery) = delivery else { continue };
            if delivery.require_owner(table.key(), table.manifest().table_id).is_ok() {
                deliveries.push(delivery);
            }
        }
        Ok(DeliveryPage { deliveries, next })
    }

    /// Removes the deliveries that a manifest has settled: taken in, discarded, made by a device that it revokes, or of a job that
    /// another run has delivered. Announced ones go together, with the last of them. Their parts stay
    /// where the manifest names them, and are otherwise what [`TableStore::sweep`] removes.
    ///
    /// # Errors
    /// [`TableError::Io`]; repeat to finish.
    pub fn forget_deliveries(&self, settled: &Manifest) -> Result<(), TableError> {
        let taken: HashSet<DeliveryId> = settled.parts.iter().filter_map(|part| part.delivery).collect();
        let rules = &settled.devices;
        let runs = settled.runs();
        let is_settled = |id: &DeliveryId| {
            let is_repeated = runs.get(&DeviceJob::of(*id)).is_some_and(|run| *run != id.stream.run());
            let is_gone = rules.is_revoked(id.device) || rules.discarded(*id).is_some();
            taken.contains(id) || rules.is_settled(*id) || is_gone || is_repeated
        };
        let folder = self.folder(DELIVERIES_NAME);
        let alone = self.waiting()?.into_iter().filter(is_settled).map(|id| id.file_name());
        let names = alone.chain(self.settled_announcements(is_settled)?);
        let paths = names.map(|name| folder.clone().join(name)).collect();
        objects::delete_all(&self.objects, paths)
    }

    /// How many deliveries of a device wait.
    ///
    /// # Cost
    /// A list of all names.
    ///
    /// # Errors
    /// [`TableError::Io`].
    pub fn waiting_of(&self, device: DeviceId) -> Result<usize, TableError> {
        Ok(self.waiting()?.iter().filter(|id| id.device == device).count())
    }

    /// The ids of all that has the name of a delivery.
    fn waiting(&self) -> Result<Vec<DeliveryId>, TableError> {
        let listed = self.list(DELIVERIES_NAME)?;
        Ok(listed.iter().filter_map(|object| DeliveryId::of_file_name(&object.name)).collect())
    }

    /// Removes all deliveries: those of a table that is deleted.
    pub(super) fn remove_deliveries(&self) -> Result<(), TableError> {
        let folder = self.folder(DELIVERIES_NAME);
        let listed = self.list(DELIVERIES_NAME)?.into_iter();
        let ours = listed.filter(|object| {
            let is_waiting = DeliveryId::of_file_name(&object.name).is_some();
            is_waiting || DeviceJob::of_file_name(&object.name).is_some() || files::is_partial(&object.name)
        });
        let paths = ours.map(|object| folder.clone().join(object.name)).collect();
        objects::delete_all(&self.objects, paths)
    }

    /// The parts of waiting deliveries: those that nobody may remove.
    pub(super) fn awaited_parts(&self) -> Result<HashSet<PartName>, TableError> {
        let mut awaited = HashSet::new();
        for id in self.waiting()? {
            let Some(signed) = self.read_delivery(id)? else { continue };
            awaited.extend(files_of(&signed).map(|(kind, file)| PartName::new(kind, file.digest)));
        }
        self.announced_parts(&mut awaited)?;
        Ok(awaited)
    }

    fn check_delivered(&self, manifest: &Manifest, signed: &SignedDelivery) -> Result<(), TableError> {
        let delivery = signed.delivery();
        let entry = delivery.part_entry(manifest);
        require_files(manifest, signed)?;
        let place = PartPlace { first_chunk: 0, first_row: 0 };
        if let Some(file) = entry.clear {
            let part = ClearPart::open(self.open_part(FileKind::Clear, &file)?, manifest, &entry);
            part.map_err(of_other_columns)?;
        }
        if let Some(file) = entry.encrypted {
            let part = self.open_part(FileKind::Encrypted, &file)?;
            let part = EncryptedPart::open(part, manifest, place, &entry).map_err(of_other_columns)?;
            check_seeds(&part, delivery.id)?;
        }
        Ok(())
    }

    fn read_delivery(&self, id: DeliveryId) -> Result<Option<SignedDelivery>, TableError> {
        let path = self.folder(DELIVERIES_NAME).join(id.file_name());
        let source = match objects::fetch(&self.objects, &path, MAX_DELIVERY_BYTES)? {
            Lookup::Object(source, _) => source,
            Lookup::Nothing | Lookup::TooLarge(_) => return Ok(None),
        };
        let cause = |source| TableError::Io { operation: Operation::Read, place: path.to_string(), source };
        // What a crash or another program left is as good as absent.
        Ok(SignedDelivery::decode(&source.read_all().map_err(cause)?)
            .ok()
            .filter(|found| found.delivery().id == id))
    }
}

/// A file whose columns are others than the table's is one of a device with a key from before an alteration.
fn of_other_columns(error: TableError) -> TableError {
    match error {
        TableError::BadPart { fault: PartFault::NoColumn { .. } | PartFault::ColumnForm { .. }, .. } => {
            TableError::BadDelivery { fault: DeliveryFault::Columns }
        }
        other => other,
    }
}

/// What a table has decided of a delivery before: it was taken, or discarded.
///
/// # Errors
/// [`TableError::BadDelivery`]: not for this table, of a revoked device, or another one of its number was settled.
fn settled(table: &SignedManifest, signed: &SignedDelivery) -> Result<Option<Delivered>, TableError> {
    let manifest = table.manifest();
    signed.require_owner(table.key(), manifest.table_id)?;
    let id = signed.delivery().id;
    if manifest.devices.is_revoked(id.device) {
        return Err(TableError::BadDelivery { fault: DeliveryFault::Revoked });
    }
    if let Some(taken) = manifest.parts.iter().find(|part| part.delivery == Some(id)) {
        // Rows of it may have been deleted since, and an alteration writes clear columns anew.
        let delivered = signed.delivery().part_entry(manifest);
        let clear = if taken.encrypted.is_some() { delivered.clear } else { taken.clear };
        let PartEntry { domain, generation, .. } = delivered;
        let as_taken = PartEntry { dead: None, domain, generation, clear, ..taken.clone() };
        return known(as_taken == delivered).map(Some);
    }
    if let Some(discarded) = manifest.devices.discarded(id) {
        return known(discarded.container == signed.digest()).map(Some);
    }
    let Some(merged) = manifest.devices.settled(id.device, id.stream) else { return Ok(None) };
    match id.number.checked_add(1) {
        // The answer to the last delivery may have been lost, so that it comes once more.
        Some(next) if next == merged.next => {
            let file = signed.delivery().encrypted.or(signed.delivery().clear);
            known(file.is_some_and(|file| file.digest == merged.last)).map(Some)
        }
        Some(next) if next < merged.next => Err(TableError::BadDelivery { fault: DeliveryFault::Settled }),
        _ => Ok(None),
    }
}

/// What is there under a delivery's number: the same one, or another.
fn known(same: bool) -> Result<Delivered, TableError> {
    let other = TableError::BadDelivery { fault: DeliveryFault::Conflict };
    if same { Ok(Delivered::Known) } else { Err(other) }
}

/// Refuses chunks whose seeds do not follow from the delivery's name.
///
/// # Errors
/// [`TableError::BadDelivery`]; those of reading the part.
pub fn check_seeds(part: &EncryptedPart, id: DeliveryId) -> Result<(), TableError> {
    for chunk in part.chunks(&Projection { seed: true, ..Projection::default() })? {
        let chunk = chunk?;
        if chunk.seed != Some(id.chunk_seed(chunk.written)) {
            return Err(TableError::BadDelivery { fault: DeliveryFault::Seed });
        }
    }
    Ok(())
}
