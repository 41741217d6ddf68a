// SPDX-License-Identifier: Apache-2.0
//! What a process used, its threads and finished children included.

use nix::sys::resource::{Usage, UsageWho, getrusage};
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
        let both = [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN].map(getrusage);
        both.into_iter().flatten().fold(Self::default(), |sum, usage| sum.plus(&usage))
    }

    /// What was used since `earlier`; the peak stays a peak.
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
        let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6;
        // Linux gives the peak in KiB.
        let peak_mb = usage.max_rss() as f64 * 1024.0 / 1e6;
        Self {
            cpu_s: self.cpu_s + seconds(usage.user_time()) + seconds(usage.system_time()),
            peak_mb: self.peak_mb + peak_mb,
            voluntary_switches: self.voluntary_switches + usage.voluntary_context_switches(),
            involuntary_switches: self.involuntary_switches + usage.involuntary_context_switches(),
        }
    }
}

/// Peak resident megabytes (10^6 bytes) of this program alone; 0 where the system does not tell.
///
/// The kernel's count for a process starts at what its parent had when it was started, the status file's does not.
pub(crate) fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.map_or_else(|| ProcessUsage::now().peak_mb, |kib| kib * 1024.0 / 1e6)
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
