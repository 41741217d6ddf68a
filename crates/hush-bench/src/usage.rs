// SPDX-License-Identifier: Apache-2.0
//! The usage of a process, with its threads and finished children.

use hush_system::memory::peak_resident_bytes;
use hush_system::usage::{self, Usage};
use serde::{Deserialize, Serialize};

/// CPU time, peak memory and context switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessUsage {
    /// User and system CPU seconds.
    pub cpu_s: f64,
    /// Peak resident megabytes (10^6 bytes): this process plus its largest child.
    pub peak_mb: f64,
    /// Voluntary context switches.
    pub voluntary_switches: i64,
    /// Involuntary context switches.
    pub involuntary_switches: i64,
}

impl ProcessUsage {
    /// Usage of this process and of the children that it has waited for.
    ///
    /// Zero where the system does not tell.
    pub fn now() -> Self {
        let both = [usage::own(), usage::children()];
        both.into_iter().flatten().fold(Self::default(), |sum, usage| sum.plus(&usage))
    }

    /// The usage since `earlier`; the peak stays a peak.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            cpu_s: self.cpu_s - earlier.cpu_s,
            peak_mb: self.peak_mb,
            voluntary_switches: self.voluntary_switches - earlier.voluntary_switches,
            involuntary_switches: self.involuntary_switches - earlier.involuntary_switches,
        }
    }

    /// Multiplies what adds up over time; the peak stays a peak.
    pub fn scale(&mut self, factor: f64) {
        self.cpu_s *= factor;
        for switches in [&mut self.voluntary_switches, &mut self.involuntary_switches] {
            *switches = (*switches as f64 * factor).round() as i64;
        }
    }

    fn plus(self, usage: &Usage) -> Self {
        Self {
            cpu_s: self.cpu_s + usage.cpu_s,
            peak_mb: self.peak_mb + usage.peak_bytes as f64 / 1e6,
            voluntary_switches: self.voluntary_switches + usage.voluntary_switches,
            involuntary_switches: self.involuntary_switches + usage.involuntary_switches,
        }
    }
}

/// Peak resident megabytes (10^6 bytes) of this program alone; 0 where the system does not tell.
///
/// The kernel's count for a process starts at what its parent had when it was started, the status file's does not.
pub(crate) fn peak_mb() -> f64 {
    peak_resident_bytes().map_or_else(|| ProcessUsage::now().peak_mb, |bytes| bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_and_memory_are_counted() {
        let before = ProcessUsage::now();
        let block = vec![1u8; 64 << 20];
        let sum: u64 = (0..20).map(|_| block.iter().map(|b| u64::from(*b)).sum::<u64>()).sum();
        assert_eq!(sum, 20 * (64 << 20));
        let after = ProcessUsage::now();
        assert!(after.peak_mb > 64.0);
        assert!(after.since(before).cpu_s >= 0.0);
    }
}
