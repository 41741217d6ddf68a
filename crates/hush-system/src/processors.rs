// SPDX-License-Identifier: Apache-2.0
//! The processors that this process may use.

use std::io;

/// How many there are, as far as the system says; at least 1. Affinity and quotas of control groups count on Linux.
pub fn count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Lets this thread, and those that it starts, run on the first `cores` cores alone that it may use; at least on one.
///
/// # Errors
/// The system refuses; [`io::ErrorKind::Unsupported`] where it cannot.
#[cfg(target_os = "linux")]
pub fn pin_to(cores: usize) -> io::Result<()> {
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::unistd::Pid;

    let this = Pid::from_raw(0);
    let allowed = sched_getaffinity(this)?;
    let mut kept = CpuSet::new();
    for core in (0..CpuSet::count()).filter(|&core| allowed.is_set(core).unwrap_or(false)).take(cores.max(1))
    {
        kept.set(core)?;
    }
    Ok(sched_setaffinity(this, &kept)?)
}

/// Would let this thread run on so many cores alone.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`].
#[cfg(not(target_os = "linux"))]
pub fn pin_to(_: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_processor() {
        assert!(count() >= 1);
    }

    #[test]
    fn a_thread_that_is_pinned_has_so_many() {
        let all = count();
        for wanted in 0..3 {
            let found = std::thread::spawn(move || pin_to(wanted).map(|()| count())).join().unwrap();
            match found {
                Ok(cores) => assert_eq!(cores, wanted.clamp(1, all)),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::Unsupported),
            }
        }
    }
}
