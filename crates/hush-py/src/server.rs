// SPDX-License-Identifier: Apache-2.0
//! Servers: pushing, listing, pulling and deleting tables.

use std::path::{Path, PathBuf};

use hush::{CopyTarget, Listing, Pins, TableLocation, TableUri};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::OrRaise;
use crate::owner::{Key, replacement};
use crate::work;

/// Uploads the table in a directory. Returns its address, the version, the numbers of parts and bytes sent, and a sentence
/// about the version that it replaced.
#[pyfunction]
pub(crate) fn push<'py>(
    py: Python<'py>,
    directory: PathBuf,
    server: &str,
    token_file: Option<PathBuf>,
    replace: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let (pushed, url) = work::run(py, |progress| {
        let (table, to) =
            (TableLocation::of_files(&directory)?, CopyTarget::of(server, token_file.as_deref())?);
        let name = table.files()?.load()?.manifest().table.clone();
        let pushed = hush::push(table.place(), &to, replace, &Pins::of_user(), progress)?;
        let url = match &to {
            CopyTarget::Server(server) => format!("{}/tables/{name}", server.url()),
            CopyTarget::Files(place) => place.place().name(),
        };
        Ok((pushed, url))
    })?;
    let dict = PyDict::new(py);
    dict.set_item("url", url)?;
    dict.set_item("version", pushed.report.version)?;
    dict.set_item("parts_sent", pushed.report.parts_sent)?;
    dict.set_item("parts_present", pushed.report.parts_present)?;
    dict.set_item("bytes_sent", pushed.report.bytes_sent)?;
    dict.set_item("replaced", pushed.replaced.map(|replaced| replacement(&replaced, pushed.rows)))?;
    Ok(dict)
}

/// The tables of a server, as it lists them.
#[pyfunction]
pub(crate) fn ls<'py>(
    py: Python<'py>,
    server: &str,
    token_file: Option<PathBuf>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let Listing { tables, unreadable } = work::run(py, |_| Listing::of(server, token_file.as_deref()))?;
    // A list that is silent about a damaged table would pass for a complete one.
    if let Some((_, error)) = unreadable.into_iter().next() {
        return Err(error).or_raise(py);
    }
    let of_table = |table: hush::TableSummary| {
        let dict = PyDict::new(py);
        dict.set_item("table", table.name)?;
        dict.set_item("version", table.version)?;
        dict.set_item("rows", table.rows)?;
        dict.set_item("bytes", table.bytes)?;
        dict.set_item("key", table.key_id)?;
        Ok(dict)
    };
    tables.into_iter().map(of_table).collect()
}

/// Downloads the newest version of the table at `SERVER/tables/NAME` into a directory, checked against key and pins.
#[pyfunction]
pub(crate) fn pull(
    py: Python<'_>,
    url: &str,
    token_file: Option<PathBuf>,
    directory: PathBuf,
    key: &Key,
) -> PyResult<()> {
    work::run(py, |progress| {
        let table = TableLocation::of(Path::new(url), token_file.as_deref())?;
        let to = TableLocation::of_files(&directory)?;
        hush::pull(table.place(), to.place(), &key.key, &key.pins(), progress).map(drop)
    })
}

/// Deletes the table at `SERVER/tables/NAME` or `SCHEME://BUCKET/PREFIX`.
#[pyfunction]
pub(crate) fn drop_table(py: Python<'_>, url: &str, token_file: Option<PathBuf>) -> PyResult<()> {
    work::run(py, |_| hush::drop_table_at(url, token_file.as_deref()))
}

/// Whether a place is on a server and not in a directory.
#[pyfunction]
pub(crate) fn is_server(py: Python<'_>, place: PathBuf) -> PyResult<bool> {
    work::run(py, |_| Ok(matches!(TableUri::of_path(&place)?, TableUri::Server { .. })))
}
