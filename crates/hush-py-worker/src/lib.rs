// SPDX-License-Identifier: Apache-2.0
//! The native module of the Python package `hushtable_worker`: plans and partial answers in, partial answers and answers out, as bytes;
//! and rows in, which a device's key encrypts.
//!
//! *Invariants.* This crate cannot reach `hush-keys`: a machine that has this module alone has no code that decrypts. A device's key holds
//! public keys and a key that signs, and no secret of a column. The interpreter's lock is released while the engine works ([`work`]). Every
//! error, and every panic, becomes a `WorkerError` with place and code.
//!
//! *Non-goals.* The owner's half, which `hush-py` has; it runs its work by this crate's [`work`].

mod device;
mod error;
pub mod work;
mod worker;

/// The module `hushtable_worker._hushtable_worker`.
#[pyo3::pymodule]
mod _hushtable_worker {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::device::{Device, Task, read_device_key};
    #[pymodule_export]
    use crate::worker::Worker;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::work::keep_panics_quiet();
        Ok(())
    }
}
