// SPDX-License-Identifier: Apache-2.0
//! Best-effort hardening of a process that holds keys or plaintext.

use std::sync::OnceLock;

/// What [`harden_process`] achieved. `false` means that the platform refused or does not offer it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hardening {
    /// Pages of memory are left out of whatever is dumped all the same (Linux).
    pub no_dumped_pages: bool,
    /// Core files are limited to zero bytes.
    pub no_core_files: bool,
    /// Other processes of the same user can neither attach nor dump (Linux).
    pub not_dumpable: bool,
}

/// Keeps secrets out of core files and away from other processes of the same user, where the platform can.
///
/// Call it before the first secret; later calls change nothing. Never fails: what was refused is in the result, for the caller to
/// report. It does not keep pages out of swap; memory that holds keys is wiped when it is dropped.
pub fn harden_process() -> Hardening {
    static DONE: OnceLock<Hardening> = OnceLock::new();
    *DONE.get_or_init(|| Hardening {
        // First: afterwards the file belongs to the system's administrator.
        no_dumped_pages: forbid_dumped_pages(),
        no_core_files: forbid_core_files(),
        not_dumpable: forbid_dumps(),
    })
}

/// No kind of mapping is dumped, neither the heap nor a stack: not even a debugger of the administrator, or a process that was made
/// dumpable again, writes secrets to a core file. Children inherit it.
#[cfg(target_os = "linux")]
fn forbid_dumped_pages() -> bool {
    std::fs::write("/proc/self/coredump_filter", "0").is_ok()
}

#[cfg(not(target_os = "linux"))]
fn forbid_dumped_pages() -> bool {
    false
}

#[cfg(unix)]
fn forbid_core_files() -> bool {
    use rustix::process::{Resource, Rlimit, setrlimit};
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }).is_ok()
}

#[cfg(not(unix))]
fn forbid_core_files() -> bool {
    false
}

#[cfg(target_os = "linux")]
fn forbid_dumps() -> bool {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    set_dumpable_behavior(DumpableBehavior::NotDumpable).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn forbid_dumps() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_are_in_force_afterwards() {
        let result = harden_process();
        assert_eq!(result, harden_process(), "it can be called again");
        #[cfg(unix)]
        {
            assert!(result.no_core_files);
            let limit = rustix::process::getrlimit(rustix::process::Resource::Core);
            assert_eq!(limit.current, Some(0));
        }
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{DumpableBehavior, dumpable_behavior};
            assert!(result.no_dumped_pages && result.not_dumpable);
            let filter = std::fs::read_to_string("/proc/self/coredump_filter").unwrap();
            assert_eq!(filter.trim(), "00000000");
            assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
        }
    }
}
