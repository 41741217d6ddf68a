// SPDX-License-Identifier: Apache-2.0
//! The processors that this process may use.

use std::io;

/// How many there are, as far as the system says; at least 1. Affinity and quotas of control groups count on Linux.
pub fn count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Lets this thread, and those that it starts, run on the first core alone that it may use.
///
/// # Errors
/// The system refuses; [`io::ErrorKind::Unsupported`] where it cannot.
#[cfg(target_os = "linux")]
pub fn pin_to_one() -> io::Result<()> {
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::unistd::Pid;

    let this = Pid::from_raw(0);
    let allowed = sched_getaffinity(this)?;
    let first = (0..CpuSet::count()).find(|&core| allowed.is_set(core).unwrap_or(false)).unwrap_or(0);
    let mut one = CpuSet::new();
    one.set(first)?;
    Ok(sched_setaffinity(this, &one)?)
}

/// Would let this thread run on one core alone.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`].
#[cfg(not(target_os = "linux"))]
pub fn pin_to_one() -> io::Result<()> {
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
    fn a_thread_that_is_pinned_has_one() {
        let found = std::thread::spawn(|| pin_to_one().map(|()| count())).join().unwrap();
        match found {
            Ok(cores) => assert_eq!(cores, 1),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::Unsupported),
        }
    }
}
