// SPDX-License-Identifier: Apache-2.0
//! Events on the way of rows through a device.

use std::time::Duration;

/// Events of a run, for its observers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A chunk is in the spool.
    Spooled {
        /// Its number.
        number: u64,
        /// Its rows.
        rows: usize,
        /// Bytes of its files.
        bytes: u64,
        /// Whether it was not full.
        flushed: bool,
    },
    /// The table has a delivery.
    Delivered {
        /// Its number.
        number: u64,
    },
    /// A delivery cannot be sent now.
    Waiting {
        /// The reason.
        reason: String,
        /// The time until the next try.
        pause: Duration,
    },
    /// A last line without its end was left out: the file was rotated or written anew.
    Torn {
        /// Its bytes.
        bytes: usize,
    },
    /// The spool is full: nothing is read.
    Full {
        /// Its bytes.
        bytes: u64,
    },
}
