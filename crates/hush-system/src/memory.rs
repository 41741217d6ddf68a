// SPDX-License-Identifier: Apache-2.0
//! Memory of this process, as the system reports it: now, at its peak, and at most (control groups, which containers
//! have, and resource limits).
//!
//! A process that exceeds a limit is killed, or ended by the first allocation that fails. Known beforehand, the limit is like any
//! other: the work takes less memory, or is refused. Limits on address space are left out: allocators and threads reserve
//! many times what they use of it, and differently in every run.

use std::io;
use std::path::{Path, PathBuf};

/// Where control groups are found; the files of the old and of the new kind.
const GROUPS: [(&str, &str); 2] =
    [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
/// The old kind says "no limit" by a number of this size.
const NO_LIMIT: u64 = 1 << 60;
/// Memory of a thread beyond its data: its stack, and the rounding of its allocator.
const THREAD_BYTES: u64 = 4 << 20;

/// Bytes of memory that the process may take in all with so many threads; `None` if nothing limits it but the machine.
pub fn memory_limit(threads: usize) -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_group = group_files(&groups).iter().filter_map(|file| read_limit(file)).min();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    // Threads of the pool, and those that read, write and wait.
    let threads = THREAD_BYTES * (threads as u64 + 3);
    let of_data = || {
        let left = data_limit()?.saturating_sub(status_bytes(&status, "VmData:")?);
        Some(status_bytes(&status, "VmRSS:")? + left.saturating_sub(threads))
    };
    [of_group, of_data()].into_iter().flatten().min()
}

/// Bytes of memory of the machine; `None` where the system does not tell.
pub fn machine_bytes() -> Option<u64> {
    status_bytes(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")
}

/// Bytes of memory of the machine that nobody else uses; `None` where the system does not tell.
pub fn available_bytes() -> Option<u64> {
    status_bytes(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// Bytes of memory that the process has now; `None` where the system does not tell.
pub fn resident_bytes() -> Option<u64> {
    status_bytes(&std::fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

/// Peak resident bytes of this process so far; `None` where the system does not tell.
pub fn peak_resident_bytes() -> Option<u64> {
    status_bytes(&std::fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// Refuses this process memory beyond `bytes`, or beyond the hard limit that it has already. (Pages of the program itself are not
/// counted by the kernel.)
///
/// # Errors
/// The system refuses; [`io::ErrorKind::Unsupported`] where it cannot.
#[cfg(unix)]
pub fn restrict(bytes: u64) -> io::Result<()> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};

    let (_, hard) = getrlimit(Resource::RLIMIT_DATA)?;
    Ok(setrlimit(Resource::RLIMIT_DATA, bytes.min(hard), bytes.min(hard))?)
}

/// Would refuse this process memory beyond `bytes`.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`].
#[cfg(not(unix))]
pub fn restrict(_bytes: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The limit on what this process may allocate.
#[cfg(unix)]
fn data_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Data).current
}

#[cfg(not(unix))]
fn data_limit() -> Option<u64> {
    None
}

/// The files that may hold a limit: those of the process's groups and of all groups above, of both kinds.
fn group_files(groups: &str) -> Vec<PathBuf> {
    let of_kind = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let kind = match controllers {
            "" => GROUPS[1],
            some if some.split(',').any(|controller| controller == "memory") => GROUPS[0],
            _ => return None,
        };
        Some((kind, PathBuf::from(path.trim_start_matches('/'))))
    };
    let above = |((root, name), path): ((&str, &str), PathBuf)| {
        path.ancestors().map(|group| Path::new(root).join(group).join(name)).collect::<Vec<_>>()
    };
    groups.lines().filter_map(of_kind).flat_map(above).collect()
}

fn read_limit(file: &Path) -> Option<u64> {
    parse_limit(&std::fs::read_to_string(file).ok()?)
}

/// The number in a group's file; `max` and absurd ones are no limit.
fn parse_limit(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|limit| *limit < NO_LIMIT)
}

/// A figure of `/proc/self/status` or `/proc/meminfo`, which count in KiB.
pub(crate) fn status_bytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find(|line| line.starts_with(name))?;
    line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_all_groups_above_count() {
        let old = group_files("9:cpu,cpuacct:/x\n4:memory:/a/b\n");
        let names: Vec<_> = old.iter().map(|file| file.display().to_string()).collect();
        assert_eq!(
            names,
            [
                "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes"
            ]
        );
        let new = group_files("0::/user.slice/one\n");
        assert_eq!(new.len(), 3);
        assert_eq!(new[0], Path::new("/sys/fs/cgroup/user.slice/one/memory.max"));
        assert!(group_files("").is_empty() && group_files("nonsense\n1:\n").is_empty());
    }

    #[test]
    fn what_says_no_limit_is_none() {
        assert_eq!(parse_limit("67108864\n"), Some(64 << 20));
        for text in ["max\n", "9223372036854771712\n", "", "-1"] {
            assert_eq!(parse_limit(text), None, "{text:?}");
        }
    }

    #[test]
    fn figures_of_the_process_are_found_by_name() {
        let status = "Name:\thush\nVmSize:\t  2048 kB\nVmRSS:\t      16 kB\n";
        assert_eq!(status_bytes(status, "VmSize:"), Some(2 << 20));
        assert_eq!(status_bytes(status, "VmRSS:"), Some(16 << 10));
        assert_eq!(status_bytes(status, "VmData:"), None);
    }
}
