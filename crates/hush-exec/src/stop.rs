// SPDX-License-Identifier: Apache-2.0
//! Ends a plan before it is done: by the hand of a caller that waits for it, or by its deadline.
//!
//! Encrypted work checks for a stop between chunks, and the query engine is checked several times a second. A chunk
//! that has been begun is finished, so each thread runs on for milliseconds after a stop.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::ExecError;

/// Interval at which a running query of the query engine is checked for a stop.
const LOOK: Duration = Duration::from_millis(50);

/// Says whether a plan may run on. Shared between the thread that runs it and those that may end it.
#[derive(Debug)]
pub struct Stop {
    cancelled: AtomicBool,
    begun: Instant,
    limit: Option<Duration>,
}

impl Stop {
    /// Ends nothing by itself.
    pub fn never() -> Self {
        Self { cancelled: AtomicBool::new(false), begun: Instant::now(), limit: None }
    }

    /// Ends the plan when `limit` has passed from now.
    pub fn after(limit: Duration) -> Self {
        Self { limit: Some(limit), ..Self::never() }
    }

    /// Ends the plan now.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the plan may run on.
    ///
    /// # Errors
    /// [`ExecError::Cancelled`], [`ExecError::Deadline`].
    pub fn check(&self) -> Result<(), ExecError> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(ExecError::Cancelled);
        }
        match self.limit {
            Some(limit) if self.begun.elapsed() >= limit => {
                Err(ExecError::Deadline { found_s: self.begun.elapsed().as_secs(), limit_s: limit.as_secs() })
            }
            _ => Ok(()),
        }
    }

    /// Drives a future for as long as the plan may run on, and drops it then.
    ///
    /// # Errors
    /// Those of the future and of [`Stop::check`].
    pub(crate) async fn guard<T>(
        &self,
        future: impl Future<Output = Result<T, ExecError>>,
    ) -> Result<T, ExecError> {
        let mut future = pin!(future);
        loop {
            self.check()?;
            if let Ok(done) = timeout(LOOK, &mut future).await {
                return done;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_ends_by_its_deadline_or_by_hand() {
        assert!(Stop::never().check().is_ok());
        assert!(Stop::after(Duration::from_secs(3600)).check().is_ok());
        let over = Stop::after(Duration::ZERO).check().unwrap_err();
        assert_eq!((over.code(), over.kind()), ("HUSH-E043", crate::ErrorKind::Limit));
        let stop = Stop::after(Duration::ZERO);
        stop.cancel();
        assert_eq!(stop.check().unwrap_err().code(), "HUSH-E044");
    }

    #[tokio::test]
    async fn a_future_that_never_ends_is_dropped() {
        let stop = Stop::after(Duration::from_millis(10));
        let endless = std::future::pending::<Result<(), ExecError>>();
        assert_eq!(stop.guard(endless).await.unwrap_err().code(), "HUSH-E043");
        assert_eq!(Stop::never().guard(async { Ok(7) }).await.unwrap(), 7);
    }
}
