// SPDX-License-Identifier: Apache-2.0
//! Rows of a table that go or get new values.

use std::path::PathBuf;

use hush::{DeleteOptions, Error, MissingRows, TableLocation, UpdateOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::data::Source;
use crate::owner::Key;
use crate::work;

/// Deletes the rows that meet a condition. Returns how many they are, and the version, the rows and the deleted rows of the table.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "each is a keyword of the Python function")]
pub(crate) fn delete_rows<'py>(
    py: Python<'py>,
    place: PathBuf,
    token_file: Option<PathBuf>,
    condition: String,
    key: &Key,
    all: bool,
    dry_run: bool,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let options = DeleteOptions { condition, all, dry_run, threads, pins: key.pins() };
    let report = work::run(py, |progress| {
        let location = TableLocation::of(&place, token_file.as_deref())?;
        hush::delete_rows(location.place(), &options, &key.key, progress)
    })?;
    let dict = PyDict::new(py);
    dict.set_item("rows", report.rows)?;
    dict.set_item("version", report.version)?;
    dict.set_item("table_rows", report.table_rows)?;
    dict.set_item("dead_rows", report.dead_rows)?;
    Ok(dict)
}

/// Gives the rows with some keys new values. Returns what became of the rows that were given, the version, rows and deleted rows of the
/// table, and the rows beyond the schema's `max_rows`.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "each is a keyword of the Python function")]
pub(crate) fn update_rows<'py>(
    py: Python<'py>,
    place: PathBuf,
    token_file: Option<PathBuf>,
    source: &Source,
    on: Vec<String>,
    key: &Key,
    missing: &str,
    all: bool,
    dry_run: bool,
    memory_limit: Option<u64>,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let (missing, rows, pins) = (missing_rows(missing), source.source.clone(), key.pins());
    let report = source.settle(work::run(py, |progress| {
        let missing = missing?;
        let options =
            UpdateOptions { source: rows, key: on, missing, all, dry_run, threads, memory_limit, pins };
        let location = TableLocation::of(&place, token_file.as_deref())?;
        hush::update_rows(location.place(), &options, &key.key, progress)
    }))?;
    let dict = PyDict::new(py);
    dict.set_item("given", report.given)?;
    dict.set_item("updated", report.updated)?;
    dict.set_item("unchanged", report.unchanged)?;
    dict.set_item("inserted", report.inserted)?;
    dict.set_item("skipped", report.skipped)?;
    dict.set_item("bytes", report.bytes)?;
    dict.set_item("version", report.version)?;
    dict.set_item("table_rows", report.table_rows)?;
    dict.set_item("dead_rows", report.dead_rows)?;
    dict.set_item("rows_beyond", report.rows_beyond)?;
    Ok(dict)
}

fn missing_rows(word: &str) -> Result<MissingRows, Error> {
    match word {
        "refuse" => Ok(MissingRows::Refuse),
        "skip" => Ok(MissingRows::Skip),
        "insert" => Ok(MissingRows::Insert),
        _ => {
            let what = format!("missing={word:?} is none of \"refuse\", \"skip\" and \"insert\"");
            Err(Error::usage(what))
        }
    }
}
