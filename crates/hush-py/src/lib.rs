// SPDX-License-Identifier: Apache-2.0
//! The native module of the Python package `hushtable`: arguments in, Arrow streams and plain dictionaries out.
//!
//! *Invariants.* The interpreter's lock is released while the facade works (`work`). Every error of the facade
//! becomes the Python class of its kind (`error`), and so does a panic. Tables cross the border as Arrow IPC streams, piece
//! by piece, so that neither side needs `unsafe`: nothing here shares memory with Python, and data of any size pass in the
//! memory of a piece.
//!
//! *Non-goals.* Logic, which lives below `hush`; a pleasant interface, which `python/hushtable` has.

mod account;
mod catalogue;
mod data;
mod devices;
mod error;
mod life;
mod model;
mod owner;
mod rows;
mod schema;
mod server;
mod table;
mod work;

/// The module `hushtable._hushtable`.
#[pyo3::pymodule]
mod _hushtable {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::account::doctor;
    #[pymodule_export]
    use crate::catalogue::Catalogue;
    #[pymodule_export]
    use crate::data::{Answer, Source};
    #[pymodule_export]
    use crate::devices::{accept, device_key};
    #[pymodule_export]
    use crate::life::{history, purge};
    #[pymodule_export]
    use crate::model::{Model, fit};
    #[pymodule_export]
    use crate::owner::{Key, alter, append, compact, encrypt, rotate};
    #[pymodule_export]
    use crate::rows::{delete_rows, update_rows};
    #[pymodule_export]
    use crate::schema::Schema;
    #[pymodule_export]
    use crate::server::{drop_table, is_server, ls, pull, push};
    #[pymodule_export]
    use crate::table::{Prepared, Table, decrypt, rehearse, table_of_query};

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::work::keep_panics_quiet();
        Ok(())
    }
}
