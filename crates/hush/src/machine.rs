// SPDX-License-Identifier: Apache-2.0
//! This machine as Hushtable sees it.

use hush_system::memory::machine_bytes;
use hush_system::processors;

use crate::Error;

/// Facts for `hush doctor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The kernels chosen.
    pub kernels: String,
    /// The kernels that the processor could run.
    pub available: Vec<String>,
    /// Processors that this process may use.
    pub threads: usize,
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
    Ok(Machine {
        kernels,
        available,
        threads: processors::count(),
        memory_bytes: machine_bytes(),
        params: hush_client::parameter_sets(),
    })
}
