// SPDX-License-Identifier: Apache-2.0
//! Questions: rehearsals, tables in a directory or on a server, and the owner's data back.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::RecordBatch;
use hush::{
    Catalogue, CatalogueOutcome, ColumnCache, Error, Facet, NO_HOME, Outcome, OwnedTable, Policy,
    PreparedQuery, QueryLimits, RehearsalOptions, TableDecryption, TableLocation, WayName,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};

use crate::account;
use crate::data::{Answer, Source};
use crate::error::OrRaise;
use crate::owner::{Key, not_kept};
use crate::schema::Schema;
use crate::work;

/// The table that a query names.
#[pyfunction]
pub(crate) fn table_of_query(py: Python<'_>, sql: &str) -> PyResult<String> {
    work::run(py, |_| hush::table_of_query(sql))
}

/// Rehearses one query on data.
#[pyfunction]
#[pyo3(signature = (source, sql, *, sensitive, clear, schema, verify, dry_run, release, threads))]
#[allow(clippy::too_many_arguments, reason = "each is a keyword of the Python function")]
pub(crate) fn rehearse(
    py: Python<'_>,
    source: &Source,
    sql: String,
    sensitive: Vec<String>,
    clear: Vec<String>,
    schema: Option<&Schema>,
    verify: bool,
    dry_run: bool,
    release: Option<i32>,
    threads: usize,
) -> PyResult<Answer> {
    let policy = Policy { sensitive, clear };
    let options = RehearsalOptions {
        source: source.source.clone(),
        sql,
        policy,
        schema: schema.map(|schema| schema.schema.clone()),
        verify,
        dry_run,
        release,
        analyze: None,
        threads,
    };
    let done = source.settle(work::run(py, |progress| hush::rehearse(&options, progress, &|_| {})))?;
    let account = account::of_rehearsal(py, &done.account)?;
    answer(py, done.batches, account)
}

/// The code of a question about a table that is not there.
const UNKNOWN_TABLE: &str = "HUSH-P002";

/// How a table has answered.
enum Asked {
    /// By one question.
    Alone(Box<Outcome>),
    /// As the one table of a catalogue.
    InParts(CatalogueOutcome),
}

pub(crate) fn of_outcome(py: Python<'_>, outcome: Outcome) -> PyResult<Answer> {
    let account = account::of_query(py, &outcome)?;
    answer(py, outcome.batches, account)
}

/// Results have at least one batch, possibly empty.
pub(crate) fn answer(py: Python<'_>, batches: Vec<RecordBatch>, account: Py<PyDict>) -> PyResult<Answer> {
    let schema = batches.first().map(RecordBatch::schema);
    let schema = schema.ok_or_else(|| Error::usage("the result has no columns")).or_raise(py)?;
    Ok(Answer::new(schema, batches, account))
}

/// The limits of these names.
fn limits(way: Option<&str>, hide: &[String]) -> Result<QueryLimits, Error> {
    let one_of = |names: &[&str]| names.join(", ");
    let wrong = |what: &str, found: &str, names: String| {
        Error::usage(format!("{what} = {found:?} is none\n  Ways out: one of {names}."))
    };
    let named = |name: &str| {
        WayName::named(name).ok_or_else(|| wrong("way", name, one_of(&WayName::ALL.map(WayName::name))))
    };
    let facet = |name: &String| {
        Facet::named(name).ok_or_else(|| wrong("hide", name, one_of(&Facet::ALL.map(Facet::name))))
    };
    let hide = hide.iter().map(facet).collect::<Result<_, _>>()?;
    Ok(QueryLimits { way: way.map(named).transpose()?, hide, ..QueryLimits::default() })
}

/// The table with columns that are kept in so many bytes.
fn keeping(table: OwnedTable, keep: Option<u64>) -> Result<OwnedTable, Error> {
    let Some(bytes) = keep else { return Ok(table) };
    let cache = ColumnCache::of_user(bytes).ok_or_else(|| Error::usage(NO_HOME))?;
    Ok(table.with_kept_columns(cache))
}

/// A table with its owner's key at hand.
#[pyclass(frozen, module = "hushtable._hushtable")]
pub(crate) struct Table(Arc<OwnedTable>);

#[pymethods]
impl Table {
    /// A table in a directory or an object store, evaluated in this process.
    #[staticmethod]
    fn open_files(
        py: Python<'_>,
        path: PathBuf,
        key: &Key,
        threads: usize,
        way: Option<&str>,
        hide: Vec<String>,
        keep: Option<u64>,
    ) -> PyResult<Self> {
        work::run(py, |_| {
            let limits = limits(way, &hide)?;
            let table = TableLocation::of_files(&path)?.open(&key.key, &key.pins(), threads)?;
            Ok(Self(Arc::new(keeping(table.with_limits(limits), keep)?)))
        })
    }

    /// The table at `SERVER/tables/NAME`.
    #[staticmethod]
    fn open_remote(
        py: Python<'_>,
        url: &str,
        key: &Key,
        token_file: Option<PathBuf>,
        way: Option<&str>,
        hide: Vec<String>,
        keep: Option<u64>,
    ) -> PyResult<Self> {
        work::run(py, |_| {
            let limits = limits(way, &hide)?;
            let (server, name) = hush::connect_to_table(url, token_file.as_deref())?;
            let table = OwnedTable::open_remote(server, &name, &key.key, &key.pins())?;
            Ok(Self(Arc::new(keeping(table.with_limits(limits), keep)?)))
        })
    }

    /// Asks a question; with `release`, for a result that may leave the owner.
    fn ask(&self, py: Python<'_>, sql: &str, release: Option<i32>) -> PyResult<Answer> {
        let outcome = work::run(py, |progress| match release {
            Some(digits) => Ok(Asked::Alone(Box::new(self.0.ask_released(sql, digits, progress)?))),
            None => match self.0.ask(sql, progress) {
                Err(error) if error.needs_catalogue() => {
                    match Catalogue::new(vec![self.0.as_ref()])?.ask(sql, progress) {
                        // About other tables: the first error tells how to ask those.
                        Err(other) if other.code() == UNKNOWN_TABLE => Err(error.into()),
                        asked => Ok(Asked::InParts(asked?)),
                    }
                }
                asked => Ok(Asked::Alone(Box::new(asked?))),
            },
        })?;
        match outcome {
            Asked::Alone(outcome) => of_outcome(py, *outcome),
            Asked::InParts(outcome) => {
                let account = account::of_catalogue(py, &outcome)?;
                answer(py, outcome.batches, account)
            }
        }
    }

    /// Plans a question for evaluation elsewhere.
    fn prepare(&self, py: Python<'_>, sql: &str) -> PyResult<Prepared> {
        let query = work::run(py, |_| Ok(self.0.prepare(sql)?))?;
        Ok(Prepared { table: Arc::clone(&self.0), query })
    }

    /// Plans a question without running it.
    fn explain<'py>(&self, py: Python<'py>, sql: &str) -> PyResult<Bound<'py, PyDict>> {
        let plan = work::run(py, |_| Ok(self.0.plan(sql)?))?;
        account::of_plan(py, &plan)
    }

    /// Its schema.
    #[getter]
    fn schema(&self) -> Schema {
        Schema::new(self.0.schema().clone())
    }

    /// Name of the table in SQL.
    #[getter]
    fn name(&self) -> String {
        self.0.schema().table.clone()
    }

    /// The public facts about it.
    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let manifest = self.0.manifest().manifest();
        let stored: u64 = manifest.parts.iter().map(|part| part.stored_bytes()).sum();
        let dict = PyDict::new(py);
        dict.set_item("table", &manifest.table)?;
        dict.set_item("version", manifest.version)?;
        dict.set_item("rows", manifest.living_rows())?;
        dict.set_item("deleted_rows", manifest.dead_rows())?;
        dict.set_item("bytes", stored)?;
        dict.set_item("parts", manifest.parts.len())?;
        dict.set_item("key", &manifest.key_id)?;
        Ok(dict)
    }
}

impl Table {
    /// The table itself.
    pub(crate) fn owned(&self) -> &Arc<OwnedTable> {
        &self.0
    }
}

/// A planned question, to be evaluated by others.
#[pyclass(frozen, module = "hushtable._hushtable")]
pub(crate) struct Prepared {
    table: Arc<OwnedTable>,
    query: PreparedQuery,
}

#[pymethods]
impl Prepared {
    /// The plan, as those who evaluate it see it.
    #[getter]
    fn plan<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.query.request())
    }

    /// The same question for more groups than this one adds up, if it can be answered so.
    fn gathered(&self, py: Python<'_>) -> PyResult<Option<Self>> {
        let gathered = work::run(py, |_| Ok(self.query.gathered()?))?;
        Ok(gathered.map(|query| Self { table: Arc::clone(&self.table), query }))
    }

    /// Opens the answer; with `release`, for a result that may leave the owner.
    fn finish(&self, py: Python<'_>, answer: PyBackedBytes, release: Option<i32>) -> PyResult<Answer> {
        let outcome = work::run(py, |_| {
            Ok(match release {
                Some(digits) => self.table.finish_released(&self.query, &answer, digits)?,
                None => self.table.finish(&self.query, &answer)?,
            })
        })?;
        of_outcome(py, outcome)
    }
}

/// The owner's data back from a table directory, or from `SERVER/tables/NAME`: all columns or some.
#[pyfunction]
pub(crate) fn decrypt(
    py: Python<'_>,
    place: PathBuf,
    token_file: Option<PathBuf>,
    key: &Key,
    columns: Option<Vec<String>>,
    release: Option<i32>,
) -> PyResult<Answer> {
    let (schema, batches, exposed, note) = work::run(py, |progress| {
        let location = TableLocation::of(&place, token_file.as_deref())?;
        let chunks =
            TableDecryption::open(location.place(), &key.key, &key.pins(), columns.as_deref(), progress)?;
        let chunks = match release {
            Some(digits) => chunks.released(digits)?,
            None => chunks,
        };
        let (schema, exposed) = (chunks.schema(), chunks.exposed());
        let note = if columns.is_none() { not_kept(&chunks.dropped()) } else { None };
        let batches = chunks.inspect(|_| progress.advance(1)).collect::<Result<Vec<_>, _>>()?;
        Ok((schema, batches, exposed, note))
    })?;
    let account = PyDict::new(py);
    account::exposure(&account, &exposed, None)?;
    account.set_item("notes", Vec::from_iter(note))?;
    Ok(Answer::new(schema, batches, account.unbind()))
}
