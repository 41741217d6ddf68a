// SPDX-License-Identifier: Apache-2.0
//! The names of a delivery and of a device's job.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::digest::{DeviceId, Digest, JobId, StreamId};

/// Domain of the seeds of delivered chunks.
const SEED_DOMAIN: &[u8] = b"hushtable chunk of a delivery\0";
/// Ending of the names of stored deliveries.
const ENDING: &str = ".delivery";
/// Ending of the names of announcements of jobs.
const JOB_ENDING: &str = ".job";

/// Identifies a delivery; unique for a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeliveryId {
    /// The device that made it.
    pub device: DeviceId,
    /// 16 random bytes of a device's spool.
    pub stream: StreamId,
    /// From 0, without gaps.
    pub number: u64,
}

impl DeliveryId {
    /// The name of the delivery's file: its text and an ending.
    pub fn file_name(&self) -> String {
        format!("{self}{ENDING}")
    }

    /// The id in a file's name; `None` for any other text.
    pub fn of_file_name(name: &str) -> Option<Self> {
        Self::of_text(name.strip_suffix(ENDING)?)
    }

    /// The id of a text as `Display` writes it; `None` for any other.
    pub fn of_text(text: &str) -> Option<Self> {
        let (device, rest) = text.split_once('-')?;
        let (stream, number) = rest.split_once('-')?;
        let id =
            Self { device: device.parse().ok()?, stream: stream.parse().ok()?, number: number.parse().ok()? };
        (id.to_string() == text).then_some(id)
    }

    /// The greatest id that a delivery of the device can have.
    pub fn last_of(device: DeviceId) -> Self {
        Self { device, stream: StreamId::from_bytes([0xff; 16]), number: MAX_NUMBER }
    }

    /// The seed that chunk `written` of the delivery's file has.
    pub fn chunk_seed(&self, written: u32) -> [u8; 32] {
        let numbers = [self.number.to_le_bytes().as_slice(), &written.to_le_bytes()].concat();
        let name = [self.device.as_bytes().as_slice(), self.stream.as_bytes(), &numbers].concat();
        *Digest::of(&[SEED_DOMAIN, &name].concat()).as_bytes()
    }
}

impl fmt::Display for DeliveryId {
    /// Device, stream and number in twelve digits, with `-` between.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{:012}", self.device, self.stream, self.number)
    }
}

/// A device's job, and the name of its announcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceJob {
    /// The device.
    pub device: DeviceId,
    /// The job.
    pub job: JobId,
}

impl DeviceJob {
    /// The job to which a delivery belongs.
    pub fn of(id: DeliveryId) -> Self {
        Self { device: id.device, job: id.stream.job() }
    }

    /// The name of the announcement's file.
    pub fn file_name(&self) -> String {
        format!("{}-{}{JOB_ENDING}", self.device, self.job)
    }

    /// The job in a file's name; `None` for any other text.
    pub fn of_file_name(name: &str) -> Option<Self> {
        let (device, job) = name.strip_suffix(JOB_ENDING)?.split_once('-')?;
        Some(Self { device: device.parse().ok()?, job: job.parse().ok()? })
    }
}

/// Numbers have twelve digits in names.
pub(super) const MAX_NUMBER: u64 = 999_999_999_999;
