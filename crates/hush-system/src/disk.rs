// SPDX-License-Identifier: Apache-2.0
//! Room on disks.

use std::path::Path;

/// Bytes that this user may still write to the disk of `directory`; `None` where the system does not tell.
#[cfg(unix)]
pub fn free_bytes(directory: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(directory).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}

/// Bytes that this user may still write to the disk of `directory`: the system is not asked.
#[cfg(not(unix))]
pub fn free_bytes(_directory: &Path) -> Option<u64> {
    None
}
