// SPDX-License-Identifier: Apache-2.0
//! Errors of the facade as Python exceptions.

use hush::{Error, Front};
use pyo3::prelude::*;

/// The exception of the error's kind, with its code and message.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let kind = format!("{:?}", error.kind());
    let made = py.import("hushtable._errors").and_then(|module| {
        module.call_method1("of_kind", (kind, error.code(), error.message_for(Front::Python)))
    });
    made.map_or_else(|failed| failed, PyErr::from_value)
}

/// Turns an error that a Python caller shall see into its exception.
pub(crate) trait OrRaise<T> {
    /// The value, or the exception raised.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T, E: Into<Error>> OrRaise<T> for Result<T, E> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raise(py, &error.into()))
    }
}
