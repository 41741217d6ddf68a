// SPDX-License-Identifier: Apache-2.0
//! What the versions of a table have changed, and purges of old ones.

use std::path::PathBuf;

use hush::{PurgeReport, StoredFile, TableLocation};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::owner::Key;
use crate::work;

/// What the versions of a table have changed.
#[pyfunction]
pub(crate) fn history<'py>(
    py: Python<'py>,
    place: PathBuf,
    token_file: Option<PathBuf>,
    key: &Key,
) -> PyResult<Bound<'py, PyDict>> {
    let history = work::run(py, |_| {
        let location = TableLocation::of(&place, token_file.as_deref())?;
        hush::history(location.place(), Some(&key.key), &key.pins())
    })?;
    let versions = history.versions.iter().map(|change| {
        let dict = PyDict::new(py);
        dict.set_item("version", change.version)?;
        dict.set_item("at", &change.at)?;
        dict.set_item("what", change.what)?;
        dict.set_item("added", change.added)?;
        dict.set_item("removed", change.removed)?;
        dict.set_item("living_rows", change.living_rows)?;
        Ok(dict)
    });
    let dict = PyDict::new(py);
    dict.set_item("versions", versions.collect::<PyResult<Vec<_>>>()?)?;
    dict.set_item("table", &history.table)?;
    dict.set_item("version", history.version)?;
    dict.set_item("living_rows", history.living_rows)?;
    dict.set_item("deleted_rows", history.deleted_rows)?;
    dict.set_item("stored_rows", history.stored_rows)?;
    dict.set_item("parts", history.parts)?;
    dict.set_item("bytes", history.bytes)?;
    dict.set_item("since", history.since)?;
    Ok(dict)
}

/// Deletes old versions and writes a statement of it; without one, says what would be deleted.
#[pyfunction]
pub(crate) fn purge<'py>(
    py: Python<'py>,
    place: PathBuf,
    token_file: Option<PathBuf>,
    key: &Key,
    statement: Option<PathBuf>,
) -> PyResult<Bound<'py, PyDict>> {
    let report = work::run(py, |_| {
        let location = TableLocation::of(&place, token_file.as_deref())?;
        match &statement {
            Some(statement) => hush::purge(location.place(), statement, &key.key, &key.pins()),
            None => hush::look_at_purge(location.place(), &key.key, &key.pins()),
        }
    })?;
    let dict = PyDict::new(py);
    dict.set_item("version", report.version)?;
    dict.set_item("deleted", paths(&report.deleted))?;
    dict.set_item("deleted_bytes", PurgeReport::bytes(&report.deleted))?;
    dict.set_item("waiting", paths(&report.waiting))?;
    dict.set_item("unnamed", paths(&report.unnamed))?;
    dict.set_item("earlier_objects", report.earlier.map(|earlier| earlier.objects))?;
    dict.set_item("not_proven", report.not_proven)?;
    Ok(dict)
}

fn paths(files: &[StoredFile]) -> Vec<&str> {
    files.iter().map(|file| file.path.as_str()).collect()
}
