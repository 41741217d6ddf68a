// SPDX-License-Identifier: Apache-2.0
//! Long work outside the interpreter's lock. Ctrl-C ends it, and no panic leaves this module.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use hush::{Error, Progress};
use pyo3::prelude::*;

use crate::error::raise;

/// Interval at which signals are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Planning nests deeply. A main thread has as large a stack.
const STACK_BYTES: usize = 8 << 20;

/// The place in the source of the last panic. Its text is kept nowhere, because it may quote values.
static PANICKED_AT: Mutex<Option<String>> = Mutex::new(None);

/// Records the place of a panic alone, instead of printing a text on standard error. This holds for this module only: others
/// have a standard library of their own.
pub(crate) fn keep_panics_quiet() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!("{}:{}", at.file(), at.line()));
        *PANICKED_AT.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }));
}

/// Runs a step of a library that panics on some input; `None` if it did.
pub(crate) fn guarded<T>(step: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(step)).ok()
}

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
    let (stop, done) = (Stop::default(), AtomicBool::new(false));
    let caller = thread::current();
    thread::scope(|scope| {
        let body = || {
            let _announce = Announce { done: &done, caller: &caller };
            work(&stop)
        };
        let worker = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, body)?;
        let mut signal = None;
        while !done.load(Ordering::Acquire) {
            py.detach(|| thread::park_timeout(LOOK));
            if signal.is_none()
                && let Err(raised) = py.check_signals()
            {
                stop.0.store(true, Ordering::Relaxed);
                signal = Some(raised);
            }
        }
        match (signal, worker.join()) {
            (Some(raised), _) => Err(raised),
            (None, Ok(result)) => result.map_err(|error| raise(py, &error)),
            (None, Err(_)) => Err(raise(py, &bug())),
        }
    })
}

fn bug() -> Error {
    let place = PANICKED_AT.lock().unwrap_or_else(PoisonError::into_inner).take();
    Error::bug(place.as_deref().unwrap_or("an unknown place"))
}

/// Wakes the caller when the work has ended in any way.
struct Announce<'a> {
    done: &'a AtomicBool,
    caller: &'a thread::Thread,
}

impl Drop for Announce<'_> {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Release);
        self.caller.unpark();
    }
}
