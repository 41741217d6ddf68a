// SPDX-License-Identifier: Apache-2.0
//! A worker as a Python class.

use std::sync::Arc;

use hush_worker::{Combination, Limits, Stop, WorkerError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyIterator};

use crate::error::{raise, raise_bug};
use crate::work;

/// An engine at a table's place, kept for many plans.
#[pyclass(frozen, module = "hushtable_worker._hushtable_worker")]
pub(crate) struct Worker {
    worker: hush_worker::Worker,
    place: String,
}

#[pymethods]
impl Worker {
    #[new]
    fn new(py: Python<'_>, place: String, threads: usize) -> PyResult<Self> {
        let worker = run(py, &place, |_| hush_worker::Worker::open(&place, threads, Limits::default()))?;
        Ok(Self { worker, place })
    }

    /// Rows of each part, and the bytes of it that a plan needs.
    fn part_sizes(&self, py: Python<'_>, plan: PyBackedBytes) -> PyResult<Vec<(u64, u64)>> {
        let sizes = run(py, &self.place, |_| self.worker.part_sizes(&plan))?;
        Ok(sizes.into_iter().map(|size| (size.rows, size.bytes)).collect())
    }

    /// The partial answer of the parts `first` to `end - 1`.
    fn run_parts<'py>(
        &self,
        py: Python<'py>,
        plan: PyBackedBytes,
        first: u32,
        end: u32,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let partial = run(py, &self.place, |stop| self.worker.run_parts(&plan, first..end, stop))?;
        Ok(PyBytes::new(py, &partial))
    }

    /// The partial answer that covers what these cover. They are taken one at a time.
    fn combine<'py>(
        &self,
        py: Python<'py>,
        plan: PyBackedBytes,
        partials: &Bound<'py, PyIterator>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let combination = self.pushed(py, &plan, partials)?;
        let partial = run(py, &self.place, |_| combination.partial())?;
        Ok(PyBytes::new(py, &partial))
    }

    /// The answer that these give together. They are taken one at a time.
    fn finish<'py>(
        &self,
        py: Python<'py>,
        plan: PyBackedBytes,
        partials: &Bound<'py, PyIterator>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let combination = self.pushed(py, &plan, partials)?;
        let answer = run(py, &self.place, |_| combination.finish())?;
        Ok(PyBytes::new(py, &answer))
    }
}

impl Worker {
    fn pushed(
        &self,
        py: Python<'_>,
        plan: &PyBackedBytes,
        partials: &Bound<'_, PyIterator>,
    ) -> PyResult<Combination> {
        let never = Arc::new(Stop::never());
        let mut combination = run(py, &self.place, |_| self.worker.combination(plan, &never))?;
        for partial in partials {
            let partial: PyBackedBytes = partial?.extract()?;
            run(py, &self.place, |_| combination.push(&partial))?;
        }
        Ok(combination)
    }
}

/// Runs `work` outside the interpreter's lock; a signal stops the engine.
fn run<T: Send>(
    py: Python<'_>,
    place: &str,
    work: impl FnOnce(&Arc<Stop>) -> Result<T, WorkerError> + Send,
) -> PyResult<T> {
    let stop = Arc::new(Stop::never());
    match work::run(py, || stop.cancel(), || work(&stop))? {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(raise(py, error.kind(), error.code(), &error.place, &error.fault.to_string())),
        Err(panicked) => Err(raise_bug(py, place, &panicked)),
    }
}
