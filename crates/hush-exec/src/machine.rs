// SPDX-License-Identifier: Apache-2.0
//! The machine that the engine runs on.

use hush_ring::Cpu;

use crate::error::ExecError;

/// The kernels that it runs.
///
/// # Errors
/// [`ExecError::Internal`] if `HUSH_CPU` asks for those that it lacks.
pub(crate) fn cpu() -> Result<Cpu, ExecError> {
    Cpu::detect().map_err(|_| ExecError::Internal { place: "kernels" })
}
