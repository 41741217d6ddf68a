// SPDX-License-Identifier: Apache-2.0
//! Questions: rehearsals, tables in a directory or on a server, and the owner's data back.

use std::path::PathBuf;

use hush::{
    ApiToken, Error, OwnedTable, Policy, RehearsalOptions, RemoteServer, TableDecryption, TablePlace,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::account;
use crate::data::{Answer, Source};
use crate::error::OrRaise;
use crate::owner::Key;
use crate::work;

/// The table that a query names.
#[pyfunction]
pub(crate) fn table_of_query(py: Python<'_>, sql: &str) -> PyResult<String> {
    hush::table_of_query(sql).or_raise(py)
}

/// Rehearses one query on data.
#[pyfunction]
#[pyo3(signature = (source, sql, *, sensitive, clear, schema, verify, dry_run, threads))]
#[allow(clippy::too_many_arguments, reason = "each is a keyword of the Python function")]
pub(crate) fn rehearse(
    py: Python<'_>,
    source: &Source,
    sql: String,
    sensitive: Option<Vec<String>>,
    clear: Vec<String>,
    schema: Option<PathBuf>,
    verify: bool,
    dry_run: bool,
    threads: usize,
) -> PyResult<Answer> {
    let policy = Policy { sensitive: sensitive.unwrap_or_default(), clear };
    let options = RehearsalOptions {
        source: source.0.clone(),
        sql,
        policy,
        schema,
        verify,
        dry_run,
        analyze: None,
        threads,
    };
    let done = work::run(py, |progress| hush::rehearse(&options, progress, &|_| {}))?;
    let account = account::of_rehearsal(py, &done.account)?;
    Answer::new(py, done.batches, account)
}

impl Answer {
    /// Results have at least one batch, possibly empty.
    fn new(py: Python<'_>, batches: Vec<arrow::array::RecordBatch>, account: Py<PyDict>) -> PyResult<Self> {
        let schema = batches.first().map(arrow::array::RecordBatch::schema);
        let schema = schema.ok_or_else(|| Error::usage("the result has no columns")).or_raise(py)?;
        Ok(Self { schema, batches, account })
    }
}

/// A table whose owner's key is at hand.
#[pyclass(frozen, module = "hushtable._hushtable")]
pub(crate) struct Table(OwnedTable);

#[pymethods]
impl Table {
    /// A table in a directory, evaluated in this process.
    #[staticmethod]
    fn open_directory(py: Python<'_>, path: PathBuf, key: &Key, threads: usize) -> PyResult<Self> {
        work::run(py, |_| Ok(Self(OwnedTable::open_directory(&path, &key.key, &key.pins(), threads)?)))
    }

    /// The table at `SERVER/tables/NAME`.
    #[staticmethod]
    fn open_remote(py: Python<'_>, url: &str, key: &Key, token_file: Option<PathBuf>) -> PyResult<Self> {
        work::run(py, |_| {
            let (server, name) = connect(url, token_file)?;
            Ok(Self(OwnedTable::open_remote(server, &name, &key.key, &key.pins())?))
        })
    }

    /// Asks a question.
    fn ask(&self, py: Python<'_>, sql: &str) -> PyResult<Answer> {
        let outcome = work::run(py, |progress| Ok(self.0.ask(sql, progress)?))?;
        let account = account::of_query(py, &outcome.phases, outcome.moved, &outcome.plan.leakage)?;
        Answer::new(py, outcome.batches, account)
    }

    /// Plans a question without running it.
    fn explain<'py>(&self, py: Python<'py>, sql: &str) -> PyResult<Bound<'py, PyDict>> {
        let plan = work::run(py, |_| Ok(self.0.plan(sql)?))?;
        account::of_plan(py, &plan)
    }

    /// The text of its schema.
    #[getter]
    fn schema(&self) -> String {
        hush::schema_text(&self.0.private_half().schema)
    }

    /// Name of the table in SQL.
    #[getter]
    fn name(&self) -> String {
        self.0.private_half().schema.table.clone()
    }

    /// What is public about it.
    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let manifest = self.0.manifest().manifest();
        let files = manifest.parts.iter().flat_map(|part| [part.clear, part.encrypted]).flatten();
        let dict = PyDict::new(py);
        dict.set_item("table", &manifest.table)?;
        dict.set_item("version", manifest.version)?;
        dict.set_item("rows", manifest.rows)?;
        dict.set_item("bytes", files.map(|file| file.bytes).sum::<u64>())?;
        dict.set_item("parts", manifest.parts.len())?;
        dict.set_item("key", &manifest.key_id)?;
        Ok(dict)
    }
}

/// The owner's data back from a table directory: all columns or some.
#[pyfunction]
pub(crate) fn decrypt(
    py: Python<'_>,
    path: PathBuf,
    key: &Key,
    columns: Option<Vec<String>>,
) -> PyResult<Answer> {
    let (schema, batches) = work::run(py, |progress| {
        let place = TablePlace::Directory(&path);
        let chunks = TableDecryption::open(place, &key.key, &key.pins(), columns.as_deref(), progress)?;
        let schema = chunks.schema();
        let batches = chunks.inspect(|_| progress.advance(1)).collect::<Result<Vec<_>, _>>()?;
        Ok((schema, batches))
    })?;
    Ok(Answer { schema, batches, account: PyDict::new(py).unbind() })
}

/// Fetches the table at `SERVER/tables/NAME` into a directory: ciphertext and clear columns.
#[pyfunction]
pub(crate) fn pull(
    py: Python<'_>,
    url: &str,
    token_file: Option<PathBuf>,
    directory: PathBuf,
) -> PyResult<()> {
    work::run(py, |progress| {
        let (server, name) = connect(url, token_file)?;
        server.pull(&name, &directory, progress).map(drop).map_err(Error::from)
    })
}

fn connect(url: &str, token_file: Option<PathBuf>) -> Result<(RemoteServer, String), Error> {
    let split = url.split_once("/tables/").map(|(base, name)| (base, name.trim_end_matches('/')));
    let (base, name) = split.ok_or_else(|| Error::usage("which table?\n  Way out: SERVER/tables/NAME"))?;
    let token = token_file.as_deref().map(ApiToken::from_file).transpose()?;
    Ok((RemoteServer::new(base, token)?, name.to_owned()))
}
