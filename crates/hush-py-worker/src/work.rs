// SPDX-License-Identifier: Apache-2.0
//! Long work outside the interpreter's lock. Ctrl-C ends it, and no panic leaves this module.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

/// Interval at which signals are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Planning nests deeply. A main thread has as large a stack.
const STACK_BYTES: usize = 8 << 20;

/// The place in the source of the last panic. Its text is kept nowhere, because it may quote values.
static PANICKED_AT: Mutex<Option<String>> = Mutex::new(None);

/// Records the place of a panic alone, instead of printing a text on standard error. This holds for this module only: others
/// have a standard library of their own.
pub fn keep_panics_quiet() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!("{}:{}", at.file(), at.line()));
        *PANICKED_AT.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }));
}

/// Runs a step of a library that panics on some input; `None` if it did.
pub fn guarded<T>(step: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(step)).ok()
}

/// Work that ended in a panic: a bug of ours.
#[derive(Debug)]
pub struct Panicked {
    /// The place in the source, as far as it is known.
    pub place: String,
}

/// Runs `work` on a thread of its own without the interpreter's lock, looking at signals meanwhile. `cancel` ends the work soon; it is
/// called once a signal came.
///
/// # Errors
/// The exception of a signal handler (`KeyboardInterrupt`).
pub fn run<T: Send>(
    py: Python<'_>,
    cancel: impl Fn(),
    work: impl FnOnce() -> T + Send,
) -> PyResult<Result<T, Panicked>> {
    let done = AtomicBool::new(false);
    let caller = thread::current();
    thread::scope(|scope| {
        let body = || {
            let _announce = Announce { done: &done, caller: &caller };
            work()
        };
        let worker = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, body)?;
        let mut signal = None;
        while !done.load(Ordering::Acquire) {
            py.detach(|| thread::park_timeout(LOOK));
            if signal.is_none()
                && let Err(raised) = py.check_signals()
            {
                cancel();
                signal = Some(raised);
            }
        }
        match (signal, worker.join()) {
            (Some(raised), _) => Err(raised),
            (None, joined) => Ok(joined.map_err(|_| panicked())),
        }
    })
}

fn panicked() -> Panicked {
    let place = PANICKED_AT.lock().unwrap_or_else(PoisonError::into_inner).take();
    Panicked { place: place.unwrap_or_else(|| "an unknown place".to_owned()) }
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
