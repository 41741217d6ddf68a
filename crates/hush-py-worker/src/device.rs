// SPDX-License-Identifier: Apache-2.0
//! A device's key and the tasks of a job as Python classes.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use arrow::ipc::reader::StreamReader;
use arrow::record_batch::RecordBatch;
use hush_edge::{DeviceKey, EdgeError, JobRun};
use hush_table::store::Delivered;
use hush_table::{JobId, RunId, SignedDelivery};
use hush_worker::ErrorKind;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::error::{raise, raise_bug};
use crate::work;

/// A device at the place of its table, kept for many tasks.
#[pyclass(frozen, module = "hushtable_worker._hushtable_worker")]
pub(crate) struct Device {
    device: hush_edge::Device,
    place: String,
}

/// One attempt at a task.
#[pyclass(frozen, module = "hushtable_worker._hushtable_worker")]
pub(crate) struct Task {
    /// `None` once it has ended, or failed.
    task: Mutex<Option<hush_edge::Task>>,
    place: String,
}

/// The bytes of a device's key file, which only its user may be able to read.
#[pyfunction]
pub(crate) fn read_device_key<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyBytes>> {
    let place = path.display().to_string();
    let bytes = run(py, &place, || DeviceKey::read(&path).and_then(|_| DeviceKey::read_bytes(&path)))?;
    Ok(PyBytes::new(py, &bytes))
}

#[pymethods]
impl Device {
    #[new]
    fn new(py: Python<'_>, place: String, key: PyBackedBytes) -> PyResult<Self> {
        let device = run(py, &place, || {
            DeviceKey::from_bytes(&key).and_then(|key| hush_edge::Device::at(&place, key))
        })?;
        Ok(Self { device, place })
    }

    /// The columns of the table's schema, and of each whether rows must have it; others are dropped.
    fn columns(&self) -> Vec<(String, bool)> {
        self.device.columns().map(|(name, is_needed)| (name.to_owned(), is_needed)).collect()
    }

    /// A run of a job, as bytes for its tasks; `None` if the job was announced before.
    fn begin<'py>(&self, py: Python<'py>, job: &str) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let begun = run(py, &self.place, || self.device.begin(job))?;
        let bytes = |run: JobRun| [run.job.as_bytes().as_slice(), run.run.as_bytes()].concat();
        Ok(begun.map(|run| PyBytes::new(py, &bytes(run))))
    }

    /// An attempt at a task of a run.
    fn task(&self, py: Python<'_>, run: PyBackedBytes, number: u32) -> PyResult<Task> {
        let cut = run.split_first_chunk().and_then(|(job, run)| Some((*job, *run.first_chunk()?)));
        let (job, run) = cut.ok_or_else(|| self.misused(py, "no run of a job"))?;
        let run = JobRun { job: JobId::from_bytes(job), run: RunId::from_bytes(run) };
        let task = Mutex::new(Some(self.device.task(run, number)));
        Ok(Task { task, place: self.place.clone() })
    }

    /// Announces deliveries of tasks; gives their rows, and whether they were announced now.
    fn announce(&self, py: Python<'_>, deliveries: Vec<PyBackedBytes>) -> PyResult<(u64, bool)> {
        run(py, &self.place, || {
            let deliveries = deliveries.iter().map(|bytes| SignedDelivery::decode(bytes));
            let deliveries = deliveries.collect::<Result<Vec<_>, _>>()?;
            let rows = deliveries.iter().map(|signed| signed.delivery().rows).sum();
            Ok((rows, self.device.announce(deliveries)? == Delivered::Stored))
        })
    }
}

impl Device {
    fn misused(&self, py: Python<'_>, what: &str) -> PyErr {
        raise(py, ErrorKind::Usage, "HUSH-U001", &self.place, what)
    }
}

#[pymethods]
impl Task {
    /// Takes the rows of an IPC stream of Arrow.
    fn push(&self, py: Python<'_>, stream: PyBackedBytes) -> PyResult<()> {
        self.with(py, |task| {
            let mut task = task.ok_or_else(ended)?;
            for batch in batches(&stream)? {
                task.push(batch)?;
            }
            Ok((Some(task), ()))
        })
    }

    /// Ends the task; gives its signed deliveries.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let deliveries = self.with(py, |task| Ok((None, task.ok_or_else(ended)?.finish()?)))?;
        Ok(deliveries.iter().map(|signed| PyBytes::new(py, signed.as_bytes())).collect())
    }
}

impl Task {
    /// Works with the task, which is given up if that fails.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(Option<hush_edge::Task>) -> Result<(Option<hush_edge::Task>, T), EdgeError> + Send,
    ) -> PyResult<T> {
        run(py, &self.place, || {
            let mut place = self.task.lock().unwrap_or_else(PoisonError::into_inner);
            let (left, value) = work(place.take())?;
            *place = left;
            Ok(value)
        })
    }
}

fn ended() -> EdgeError {
    EdgeError::Usage { what: "the task has ended, or failed".to_owned() }
}

/// The batches of an IPC stream. Arrow's reader panics on some types.
fn batches(stream: &[u8]) -> Result<Vec<RecordBatch>, EdgeError> {
    let read = || StreamReader::try_new(stream, None)?.collect::<Result<Vec<_>, _>>();
    let read = work::guarded(read).and_then(Result::ok);
    read.ok_or_else(|| EdgeError::Usage {
        what: "rows are no stream of Arrow that this version reads".to_owned(),
    })
}

/// Runs `work` outside the interpreter's lock.
fn run<T: Send>(
    py: Python<'_>,
    place: &str,
    work: impl FnOnce() -> Result<T, EdgeError> + Send,
) -> PyResult<T> {
    match work::run(py, || (), work)? {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(raise(py, error.kind(), error.code(), place, &error.to_string())),
        Err(panicked) => Err(raise_bug(py, place, &panicked)),
    }
}
