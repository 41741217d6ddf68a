// SPDX-License-Identifier: Apache-2.0
//! What processes have used so far.

/// CPU time, peak memory and context switches of a process, its threads included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    /// User and system CPU seconds.
    pub cpu_s: f64,
    /// Peak resident bytes.
    pub peak_bytes: u64,
    /// Voluntary context switches.
    pub voluntary_switches: i64,
    /// Involuntary context switches.
    pub involuntary_switches: i64,
}

/// What another process uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// User and system CPU seconds since its start.
    pub cpu_s: f64,
    /// Resident bytes now.
    pub resident_bytes: u64,
}

/// Of this process; `None` where the system does not tell. The peak starts at what the parent had when this process was started:
/// see [`peak_resident_bytes`](crate::memory::peak_resident_bytes).
pub fn own() -> Option<Usage> {
    of(Whose::Own)
}

/// Usage of the children that this process has waited for, with the peak of the largest; `None` if the system does not tell.
pub fn children() -> Option<Usage> {
    of(Whose::Children)
}

/// Usage of a running process; `None` if the system does not tell, or the process has ended.
pub fn of_process(id: u32) -> Option<Sample> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name, in brackets, may hold blanks; after it come the fields from the third on.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |place: usize| fields.get(place - 3)?.parse::<f64>().ok();
    let ticks = field(14)? + field(15)?;
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let resident_bytes = crate::memory::status_bytes(&status, "VmRSS:")?;
    Some(Sample { cpu_s: ticks / TICKS_PER_S, resident_bytes })
}

/// On every Linux.
const TICKS_PER_S: f64 = 100.0;

enum Whose {
    Own,
    Children,
}

#[cfg(unix)]
fn of(whose: Whose) -> Option<Usage> {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeVal;

    let usage = getrusage(match whose {
        Whose::Own => UsageWho::RUSAGE_SELF,
        Whose::Children => UsageWho::RUSAGE_CHILDREN,
    });
    let usage = usage.ok()?;
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6;
    Some(Usage {
        cpu_s: seconds(usage.user_time()) + seconds(usage.system_time()),
        peak_bytes: u64::try_from(usage.max_rss()).unwrap_or(0) * PEAK_UNIT_BYTES,
        voluntary_switches: usage.voluntary_context_switches(),
        involuntary_switches: usage.involuntary_context_switches(),
    })
}

#[cfg(not(unix))]
fn of(_whose: Whose) -> Option<Usage> {
    None
}

/// Apple's systems give the peak in bytes, the others in KiB.
#[cfg(unix)]
const PEAK_UNIT_BYTES: u64 = if cfg!(target_vendor = "apple") { 1 } else { 1024 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn memory_counts_in_bytes() {
        let block = vec![1u8; 64 << 20];
        assert!(block.iter().all(|byte| *byte == 1));
        let peak = own().unwrap().peak_bytes;
        assert!((64 << 20..64 << 30).contains(&peak), "{peak}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_sees_itself() {
        let sample = of_process(std::process::id()).unwrap();
        assert!(sample.resident_bytes > 0 && sample.cpu_s >= 0.0);
        assert_eq!(of_process(u32::MAX), None);
    }
}
