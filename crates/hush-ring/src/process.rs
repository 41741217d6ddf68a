// SPDX-License-Identifier: Apache-2.0
//! Best-effort hardening of a process that holds keys or plaintext.

/// What [`harden_process`] achieved. `false` means that the platform refused or does not offer it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hardening {
    /// Core files are limited to zero bytes.
    pub no_core_files: bool,
    /// Other processes of the same user can neither attach nor dump (Linux).
    pub not_dumpable: bool,
}

/// Keeps secrets out of core files and away from other processes of the same user, where the platform can.
///
/// Call it once at start. Never fails: what was refused is in the result, for the caller to report. It does
/// not keep pages out of swap; memory that holds keys is wiped when it is dropped.
pub fn harden_process() -> Hardening {
    Hardening { no_core_files: forbid_core_files(), not_dumpable: forbid_dumps() }
}

fn forbid_core_files() -> bool {
    use rustix::process::{Resource, Rlimit, setrlimit};
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }).is_ok()
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
        assert!(result.no_core_files);
        let limit = rustix::process::getrlimit(rustix::process::Resource::Core);
        assert_eq!(limit.current, Some(0));
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{DumpableBehavior, dumpable_behavior};
            assert!(result.not_dumpable);
            assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
        }
    }
}
