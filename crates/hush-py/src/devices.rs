// SPDX-License-Identifier: Apache-2.0
//! The owner's side of devices: their keys, and what they deliver.

use std::path::PathBuf;

use hush::TableLocation;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::owner::Key;
use crate::work;

/// Makes the key of a device, and writes it to a file. Returns the device's name.
#[pyfunction]
pub(crate) fn device_key(
    py: Python<'_>,
    place: PathBuf,
    token_file: Option<PathBuf>,
    key: &Key,
    output: PathBuf,
) -> PyResult<String> {
    work::run(py, |_| {
        let location = TableLocation::of(&place, token_file.as_deref())?;
        let device = hush::device_key(location.place(), &key.key, &key.pins())?;
        device.write(&output)?;
        Ok(device.id().to_string())
    })
}

/// Takes in what devices have delivered, and discards deliveries that are named.
#[pyfunction]
pub(crate) fn accept<'py>(
    py: Python<'py>,
    place: PathBuf,
    token_file: Option<PathBuf>,
    key: &Key,
    discard: Vec<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let accepted = work::run(py, |_| {
        let location = TableLocation::of(&place, token_file.as_deref())?;
        hush::accept_deliveries(location.place(), &key.key, &key.pins(), &discard)
    })?;
    let rejected = accepted.rejected.into_iter().map(|rejected| {
        let dict = PyDict::new(py);
        dict.set_item("delivery", rejected.delivery)?;
        dict.set_item("device", rejected.device)?;
        dict.set_item("rows", rejected.rows)?;
        dict.set_item("why", rejected.why)?;
        Ok(dict)
    });
    let dict = PyDict::new(py);
    dict.set_item("rejected", rejected.collect::<PyResult<Vec<_>>>()?)?;
    dict.set_item("deliveries", accepted.deliveries)?;
    dict.set_item("rows", accepted.rows)?;
    dict.set_item("version", accepted.version)?;
    dict.set_item("table_rows", accepted.table_rows)?;
    dict.set_item("waiting", accepted.waiting)?;
    dict.set_item("repeated", accepted.repeated)?;
    Ok(dict)
}
