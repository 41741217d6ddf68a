// SPDX-License-Identifier: Apache-2.0
//! What this machine is to Hushtable.

use crate::Error;

/// Facts for `hush doctor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The kernels chosen.
    pub kernels: String,
    /// The kernels that the processor could run.
    pub available: Vec<String>,
    /// Bytes of memory, where the system tells.
    pub memory_bytes: Option<u64>,
    /// Names of the parameter sets of this version.
    pub params: Vec<&'static str>,
}

/// Looks at this machine.
///
/// # Errors
/// `HUSH_CPU` names kernels that the processor lacks.
pub fn machine() -> Result<Machine, Error> {
    let (kernels, available) = hush_client::kernels()?;
    Ok(Machine { kernels, available, memory_bytes: memory_bytes(), params: hush_client::parameter_sets() })
}

fn memory_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}
