// SPDX-License-Identifier: Apache-2.0
//! Errors as the package's exception.

use hush_worker::ErrorKind;
use pyo3::prelude::*;

use crate::work::Panicked;

/// The package's exception.
pub(crate) fn raise(py: Python<'_>, kind: ErrorKind, code: &str, place: &str, message: &str) -> PyErr {
    let made = py
        .import("hushtable_worker._errors")
        .and_then(|module| module.call_method1("WorkerError", (format!("{kind:?}"), code, place, message)));
    made.map_or_else(|failed| failed, PyErr::from_value)
}

/// The exception of a bug of ours.
pub(crate) fn raise_bug(py: Python<'_>, place: &str, panicked: &Panicked) -> PyErr {
    let message = format!("internal: it failed at {}; this is a bug, please report it", panicked.place);
    raise(py, ErrorKind::Internal, "HUSH-E099", place, &message)
}
