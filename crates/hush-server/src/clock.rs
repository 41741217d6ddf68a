// SPDX-License-Identifier: Apache-2.0
//! Wall-clock seconds, kept in records that must survive a restart.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970; 0 where the clock stands before that.
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}
