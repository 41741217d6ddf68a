// SPDX-License-Identifier: Apache-2.0
//! Tables in and out: files, and Arrow IPC streams in pieces.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use hush::{BatchColumn, BatchReader, BatchSource, Error, SourceError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyIterator};

use crate::error::OrRaise;
use crate::work;

/// Data to be asked or encrypted.
#[pyclass(frozen, module = "hushtable._hushtable")]
pub(crate) struct Source {
    pub(crate) source: hush::Source,
    /// The exceptions that Python raised while the data were read, and what they look up.
    failures: Vec<Failure>,
}

type Failure = Arc<Mutex<Option<PyErr>>>;

#[pymethods]
impl Source {
    /// A CSV or Parquet file.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let source = work::run(py, |_| hush::open(&path))?;
        Ok(Self { source, failures: Vec::new() })
    }

    /// Arrow batches that Python holds, called `name` in SQL. `columns` has the name, the type's name and the serialised Arrow
    /// schema of each; `read(positions)` gives an iterator of bytes: the pieces of an IPC stream of these columns.
    #[staticmethod]
    fn from_batches(
        py: Python<'_>,
        name: &str,
        columns: Vec<(String, String, PyBackedBytes)>,
        rows: Option<u64>,
        batch_bytes: u64,
        read: Py<PyAny>,
    ) -> PyResult<Self> {
        let failure = Failure::default();
        let of_column = |(name, type_name, schema): (String, String, PyBackedBytes)| {
            let kind = data_type(&schema).ok_or(type_name);
            BatchColumn { name, kind }
        };
        let columns = columns.into_iter().map(of_column).collect();
        let batches = PythonBatches { columns, rows, batch_bytes, read, failure: failure.clone() };
        let source = hush::Source::from_batch_source(name, Arc::new(batches)).or_raise(py)?;
        Ok(Self { source, failures: vec![failure] })
    }

    /// The same rows with columns of other data behind their own, found by a key: pairs of columns, first this source's.
    fn look_up(&self, py: Python<'_>, other: &Source, on: Vec<(String, String)>) -> PyResult<Self> {
        let source = self.source.with_lookup(other.source.clone(), &on).or_raise(py)?;
        let failures = self.failures.iter().chain(&other.failures).cloned().collect();
        Ok(Self { source, failures })
    }

    /// The name of the table in SQL.
    #[getter]
    fn table(&self) -> String {
        self.source.table_name()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.source.columns().iter().map(|column| column.name.clone()).collect()
    }
}

impl Source {
    /// The result of reading; an exception of the data itself is raised as it is.
    pub(crate) fn settle<T>(&self, result: PyResult<T>) -> PyResult<T> {
        let take = |failure: &Failure| failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        let raised = || self.failures.iter().find_map(take);
        result.map_err(|error| raised().unwrap_or(error))
    }
}

/// The type of a serialised schema's only column; `None` if Rust's Arrow does not know it. Arrow's reader panics on some types.
fn data_type(schema: &[u8]) -> Option<DataType> {
    let reader = work::guarded(|| StreamReader::try_new(schema, None))?.ok()?;
    reader.schema().fields().first().map(|field| field.data_type().clone())
}

/// Arrow batches in Python. Every pass calls `read`; one piece is here at a time.
struct PythonBatches {
    columns: Vec<BatchColumn>,
    rows: Option<u64>,
    batch_bytes: u64,
    read: Py<PyAny>,
    failure: Failure,
}

impl BatchSource for PythonBatches {
    fn columns(&self) -> Vec<BatchColumn> {
        self.columns.clone()
    }

    fn rows(&self) -> Option<u64> {
        self.rows
    }

    fn batch_bytes(&self) -> u64 {
        self.batch_bytes
    }

    fn read(&self, columns: &[usize]) -> Result<BatchReader, SourceError> {
        let broken = |source| SourceError::Read { source };
        let begin = |py: Python<'_>| Ok(self.read.bind(py).call1((columns.to_vec(),))?.try_iter()?.unbind());
        let pieces = attached(&self.failure, begin).map_err(broken)?;
        let stream = Pieces { pieces, piece: None, at: 0, failure: self.failure.clone() };
        let reader = StreamReader::try_new(stream, None);
        Ok(Box::new(reader.map_err(|error| broken(io::Error::other(error)))?))
    }
}

/// The bytes of an IPC stream that Python gives in pieces.
struct Pieces {
    pieces: Py<PyIterator>,
    piece: Option<PyBackedBytes>,
    at: usize,
    failure: Failure,
}

impl io::Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let left = self.piece.as_ref().and_then(|piece| piece.get(self.at..)).unwrap_or_default();
            if !left.is_empty() {
                let length = left.len().min(out.len());
                if let (Some(to), Some(from)) = (out.get_mut(..length), left.get(..length)) {
                    to.copy_from_slice(from);
                }
                self.at += length;
                return Ok(length);
            }
            let next = |py: Python<'_>| {
                self.pieces
                    .bind(py)
                    .clone()
                    .next()
                    .map(|piece| piece?.extract().map_err(PyErr::from))
                    .transpose()
            };
            (self.piece, self.at) = (attached(&self.failure, next)?, 0);
            if self.piece.is_none() {
                return Ok(0);
            }
        }
    }
}

/// Calls Python from a thread of the engine's. An exception is kept for the caller. The call fails once the interpreter has
/// ended.
fn attached<T>(failure: &Failure, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> io::Result<T> {
    let called = Python::try_attach(call).ok_or_else(|| io::Error::other("the interpreter ends"))?;
    called.map_err(|raised| {
        *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised);
        io::Error::other("the data raised an exception")
    })
}

/// A result with its account.
#[pyclass(frozen, module = "hushtable._hushtable")]
pub(crate) struct Answer {
    schema: SchemaRef,
    batches: Mutex<Vec<RecordBatch>>,
    account: Py<PyDict>,
}

impl Answer {
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>, account: Py<PyDict>) -> Self {
        Self { schema, batches: Mutex::new(batches), account }
    }
}

#[pymethods]
impl Answer {
    /// The rows as an Arrow IPC stream. They are given away: a second call gives none.
    fn ipc<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let batches = std::mem::take(&mut *self.batches.lock().unwrap_or_else(PoisonError::into_inner));
        let bytes = py.detach(|| encode(&self.schema, batches));
        let bytes = bytes.map_err(|error| Error::usage(format!("the result has no Arrow stream: {error}")));
        Ok(PyBytes::new(py, &bytes.or_raise(py)?))
    }

    /// Its cost, and a server's view, as plain values.
    #[getter]
    fn account(&self, py: Python<'_>) -> Py<PyDict> {
        self.account.clone_ref(py)
    }
}

/// Encodes batches; each is freed as soon as it is written.
fn encode(schema: &SchemaRef, batches: Vec<RecordBatch>) -> Result<Vec<u8>, ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), schema)?;
    batches.into_iter().try_for_each(|batch| writer.write(&batch))?;
    writer.finish()?;
    writer.into_inner()
}
