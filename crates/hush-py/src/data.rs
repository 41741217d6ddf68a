// SPDX-License-Identifier: Apache-2.0
//! Tables in and out: files, and Arrow IPC streams in memory.

use std::path::PathBuf;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use hush::Error;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::OrRaise;
use crate::work;

/// Data to be asked or encrypted.
#[pyclass(frozen, module = "hushtable._hushtable")]
pub(crate) struct Source(pub(crate) hush::Source);

#[pymethods]
impl Source {
    /// A CSV or Parquet file.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        hush::open(&path).map(Self).or_raise(py)
    }

    /// An Arrow IPC stream in memory, called `name` in SQL.
    #[staticmethod]
    fn from_ipc(py: Python<'_>, name: &str, stream: &[u8]) -> PyResult<Self> {
        work::run(py, |_| {
            let unreadable =
                |error: ArrowError| Error::usage(format!("the data is not a readable Arrow stream: {error}"));
            let reader = StreamReader::try_new(stream, None).map_err(unreadable)?;
            let schema = reader.schema();
            let batches = reader.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
            Ok(Self(hush::Source::from_batches(name, schema, &batches)?))
        })
    }

    /// The name of the table in SQL.
    #[getter]
    fn table(&self) -> String {
        self.0.table_name()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.columns().iter().map(|column| column.name.clone()).collect()
    }
}

/// A result with its account.
#[pyclass(frozen, module = "hushtable._hushtable")]
pub(crate) struct Answer {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) account: Py<PyDict>,
}

#[pymethods]
impl Answer {
    /// The rows as an Arrow IPC stream.
    fn ipc<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| encode(&self.schema, &self.batches));
        let bytes = bytes.map_err(|error| Error::usage(format!("the result has no Arrow stream: {error}")));
        Ok(PyBytes::new(py, &bytes.or_raise(py)?))
    }

    /// Rows.
    fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// What it cost and what a server saw, as plain values.
    #[getter]
    fn account(&self, py: Python<'_>) -> Py<PyDict> {
        self.account.clone_ref(py)
    }
}

fn encode(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<Vec<u8>, ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), schema)?;
    batches.iter().try_for_each(|batch| writer.write(batch))?;
    writer.finish()?;
    writer.into_inner()
}
