// SPDX-License-Identifier: Apache-2.0
//! The table that already stands where another is to be written.

use hush_table::{Manifest, PartEntry};

/// A table that is there already, and would be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Present {
    /// Its version.
    pub version: u64,
    /// Its rows.
    pub rows: u64,
    /// Rows among them that devices delivered and the owner accepted.
    pub accepted_rows: u64,
    /// Deliveries of devices that wait to be accepted.
    pub waiting: u64,
}

impl Present {
    pub(super) fn of(manifest: &Manifest, waiting: u64) -> Self {
        let accepted = manifest.parts.iter().filter(|part| part.delivery.is_some());
        let merged: u64 = manifest.devices.settled.iter().map(|known| known.rows).sum();
        let accepted_rows = accepted.map(PartEntry::living_rows).sum::<u64>() + merged;
        Self { version: manifest.version, rows: manifest.living_rows(), accepted_rows, waiting }
    }

    /// Losses beside the owner's own rows, for instance `; 200 of them were accepted from devices`; may be empty.
    pub fn losses(&self) -> String {
        let mut out = String::new();
        if self.accepted_rows > 0 {
            out.push_str(&format!("; {} of them were accepted from devices", self.accepted_rows));
        }
        if self.waiting > 0 {
            let plural = if self.waiting == 1 { "delivery waits" } else { "deliveries wait" };
            out.push_str(&format!("; {} {plural} that the new version cannot accept", self.waiting));
        }
        out
    }
}
