// SPDX-License-Identifier: Apache-2.0
//! Long work of the facade outside the interpreter's lock. Ctrl-C ends it, and no panic leaves this module.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};

use _hushtable_worker::work;
pub(crate) use _hushtable_worker::work::{guarded, keep_panics_quiet};
use hush::{Error, Progress};
use pyo3::prelude::*;

use crate::error::{OrRaise, raise};

/// Ends the work at its next step once a signal came: the thread unwinds and drops its values, as after an error. Files
/// that were begun on disk become no table, because manifests are written last.
#[derive(Default)]
struct Stop(AtomicBool);

impl Progress for Stop {
    fn begin(&self, _phase: &str, _total: Option<u64>, _unit: &str) {
        self.advance(0);
    }

    fn advance(&self, _amount: u64) {
        if self.0.load(Ordering::Relaxed) {
            resume_unwind(Box::new("interrupted"));
        }
    }

    fn end(&self) {}
}

/// Runs `work` on a thread of its own without the interpreter's lock, looking at signals meanwhile.
///
/// # Errors
/// The exception of the facade's error, or of a signal handler (`KeyboardInterrupt`). A panic below is an
/// `InternalError`.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&dyn Progress) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let stop = Stop::default();
    match work::run(py, || stop.0.store(true, Ordering::Relaxed), || work(&stop))? {
        Ok(result) => result.or_raise(py),
        Err(panicked) => Err(raise(py, &Error::bug(&panicked.place))),
    }
}
