// SPDX-License-Identifier: Apache-2.0
//! The native module of the Python package `hushtable`: arguments in, Arrow streams and plain dictionaries out.
//!
//! *Invariants.* The interpreter's lock is released while the facade works (`work`). Every error of the facade
//! becomes the Python class of its kind (`error`). Tables cross the border as Arrow IPC streams in memory, so that
//! neither side needs `unsafe`: nothing here shares memory with Python.
//!
//! *Non-goals.* Logic, which lives below `hush`; a pleasant interface, which `python/hushtable` has.

mod account;
mod data;
mod error;
mod owner;
mod table;
mod work;

/// The module `hushtable._hushtable`.
#[pyo3::pymodule]
mod _hushtable {
    #[pymodule_export]
    use crate::account::doctor;
    #[pymodule_export]
    use crate::data::{Answer, Source};
    #[pymodule_export]
    use crate::owner::{Key, Schema, encrypt, propose, read_schema};
    #[pymodule_export]
    use crate::table::{Table, decrypt, pull, rehearse, table_of_query};
}
