// SPDX-License-Identifier: Apache-2.0
//! Announced jobs that wait beside a table: many deliveries in one object, which is there whole or not at all.

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;

use super::delivered::{Delivered, files_of, require_files};
use super::objects::{self, Lookup, Replace};
use super::{DELIVERIES_NAME, TableStore, files};
use crate::delivery::{DeliveryId, DeviceJob, MAX_ANNOUNCEMENT_BYTES, SignedAnnouncement, SignedDelivery};
use crate::digest::{DeviceId, JobId, RunId};
use crate::error::{DeliveryFault, Operation, TableError};
use crate::manifest::Manifest;
use crate::part::PartName;

impl TableStore {
    /// The run of a device's job that was announced, whether it waits or the table has taken it in; `None` if nothing was.
    ///
    /// # Errors
    /// As [`TableStore::load`].
    pub fn announced_run(&self, device: DeviceId, job: JobId) -> Result<Option<RunId>, TableError> {
        let job = DeviceJob { device, job };
        // In this order: an announcement that is taken in meanwhile is in the manifest before it goes.
        if let Some(waiting) = self.read_announcement(job)? {
            return Ok(waiting.job().map(|(_, run)| run));
        }
        Ok(self.load()?.manifest().runs().get(&job).copied())
    }

    /// Lets all deliveries of a run of a job wait, at once, once their parts are there. Of several runs of a job one is announced.
    ///
    /// # Errors
    /// [`TableError::NoTable`]; [`TableError::BadDelivery`] for a device without certificate or a revoked one, and if another run of the
    /// job was announced; [`TableError::PartMissing`]; [`TableError::Io`]. Nothing has changed then.
    ///
    /// # Cost
    /// A list of all parts. Nothing of them is read: the owner does that.
    pub fn announce(&self, announcement: &SignedAnnouncement) -> Result<Delivered, TableError> {
        let bad = |fault| Err(TableError::BadDelivery { fault });
        let Some((job, run)) = announcement.job() else { return bad(DeliveryFault::Mixed) };
        let table = self.load()?;
        let manifest = table.manifest();
        announcement.require_owner(table.key(), manifest.table_id)?;
        if manifest.devices.is_revoked(job.device) {
            return bad(DeliveryFault::Revoked);
        }
        match manifest.runs().get(&job) {
            Some(taken) if *taken == run => return Ok(Delivered::Known),
            Some(_) => return bad(DeliveryFault::Announced),
            None => {}
        }
        let _gate = self.while_delivering()?;
        self.require_announced_parts(manifest, announcement)?;
        let (name, bytes) = (job.file_name(), announcement.as_bytes());
        let is_new = match &self.directory {
            Some(directory) => {
                files::sync_directory(&directory.join(super::PARTS_NAME))?;
                let folder = directory.join(DELIVERIES_NAME);
                let is_new = files::create(&folder, &name, bytes)?;
                files::sync_directory(&folder)?;
                files::sync_directory(directory)?;
                is_new
            }
            None => {
                let path = self.folder(DELIVERIES_NAME).join(name);
                let done =
                    objects::replace(&self.objects, &path, Bytes::copy_from_slice(bytes), Replace::Nothing);
                match done {
                    Err(TableError::Busy { .. }) => false,
                    done => done.map(|()| true)?,
                }
            }
        };
        // Another driver was faster, or the answer to our own request was lost.
        if is_new {
            return Ok(Delivered::Stored);
        }
        match self.read_announcement(job)? {
            Some(there) if there == *announcement => Ok(Delivered::Known),
            _ => bad(DeliveryFault::Announced),
        }
    }

    fn require_announced_parts(
        &self,
        manifest: &Manifest,
        announcement: &SignedAnnouncement,
    ) -> Result<(), TableError> {
        let listed = self.list(super::PARTS_NAME)?.into_iter();
        let present: BTreeMap<String, u64> = listed.map(|object| (object.name, object.bytes)).collect();
        for (kind, file) in announcement.deliveries().iter().flat_map(files_of) {
            let name = kind.file_name(&file.digest);
            match present.get(&name) {
                None => return Err(TableError::PartMissing { name }),
                Some(found) if *found != file.bytes => {
                    return Err(TableError::PartSize { name, found: *found, expected: file.bytes });
                }
                Some(_) => {}
            }
        }
        announcement.deliveries().iter().try_for_each(|signed| require_files(manifest, signed))
    }

    /// The announced deliveries behind `after`, at most the first `most` of them.
    ///
    /// # Cost
    /// Reads every announcement; holds one of them, and what it gives.
    pub(super) fn announced(
        &self,
        after: Option<DeliveryId>,
        most: usize,
    ) -> Result<BTreeMap<DeliveryId, SignedDelivery>, TableError> {
        let mut found = BTreeMap::new();
        for job in self.waiting_jobs()? {
            let Some(announcement) = self.read_announcement(job)? else { continue };
            let behind =
                announcement.into_deliveries().into_iter().map(|signed| (signed.delivery().id, signed));
            found.extend(behind.filter(|(id, _)| after.is_none_or(|after| after < *id)));
            while found.len() > most {
                found.pop_last();
            }
        }
        Ok(found)
    }

    /// The parts of announced deliveries.
    pub(super) fn announced_parts(&self, awaited: &mut HashSet<PartName>) -> Result<(), TableError> {
        for job in self.waiting_jobs()? {
            let Some(announcement) = self.read_announcement(job)? else { continue };
            let files = announcement.deliveries().iter().flat_map(files_of);
            awaited.extend(files.map(|(kind, file)| PartName::new(kind, file.digest)));
        }
        Ok(())
    }

    /// Names of the announcements of which every delivery is settled.
    pub(super) fn settled_announcements(
        &self,
        is_settled: impl Fn(&DeliveryId) -> bool,
    ) -> Result<Vec<String>, TableError> {
        let mut settled = Vec::new();
        for job in self.waiting_jobs()? {
            let Some(announcement) = self.read_announcement(job)? else { continue };
            if announcement.deliveries().iter().all(|signed| is_settled(&signed.delivery().id)) {
                settled.push(job.file_name());
            }
        }
        Ok(settled)
    }

    fn waiting_jobs(&self) -> Result<Vec<DeviceJob>, TableError> {
        let listed = self.list(DELIVERIES_NAME)?;
        Ok(listed.iter().filter_map(|object| DeviceJob::of_file_name(&object.name)).collect())
    }

    fn read_announcement(&self, job: DeviceJob) -> Result<Option<SignedAnnouncement>, TableError> {
        let path = self.folder(DELIVERIES_NAME).join(job.file_name());
        let Lookup::Object(source, _) = self.fetch(&path, MAX_ANNOUNCEMENT_BYTES)? else { return Ok(None) };
        let bytes = source.read_all();
        let bytes = bytes.map_err(|cause| TableError::failed(Operation::Read, path.to_string(), cause))?;
        // What another program left is as good as absent.
        Ok(SignedAnnouncement::decode(&bytes)
            .ok()
            .filter(|found| found.job().is_some_and(|(of, _)| of == job)))
    }
}
