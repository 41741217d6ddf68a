// SPDX-License-Identifier: Apache-2.0
//! The native module of the Python package `hushtable_worker`: plans and partial answers in, partial answers and answers out, as bytes.
//!
//! *Invariants.* This crate cannot reach `hush-keys`: a machine that has this module alone has no code that decrypts. The interpreter's
//! lock is released while the engine works ([`work`]). Every error, and every panic, becomes a `WorkerError` with place and code.
//!
//! *Non-goals.* The owner's half, which `hush-py` has; it runs its work by this crate's [`work`].

pub mod work;
mod worker;

/// The module `hushtable_worker._hushtable_worker`.
#[pyo3::pymodule]
mod _hushtable_worker {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::worker::Worker;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::work::keep_panics_quiet();
        Ok(())
    }
}
