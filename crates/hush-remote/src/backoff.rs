// SPDX-License-Identifier: Apache-2.0
//! Tries again after growing random pauses: a bounded number of times after failures, and until a deadline if a server at
//! its limit asks for it (`Retry-After`). A request to wait is progress: the server is there.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::error::RemoteError;

/// Failures in a row before giving up.
const TRIES: u32 = 7;
/// The delays for real servers.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Longest pause that a server is believed to need.
const LONGEST_ASKED: Duration = Duration::from_secs(30);
/// Time that a busy server is given, from the start or from the last progress.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);

/// Counts failures in a row, and the time.
#[derive(Debug)]
pub(super) struct Backoff {
    failures: u32,
    waits: u32,
    first_pause: Duration,
    patience: Duration,
    since: Instant,
}

impl Backoff {
    pub(super) fn new(first_pause: Duration, patience: Duration) -> Self {
        Self { failures: 0, waits: 0, first_pause, patience, since: Instant::now() }
    }

    /// Something got through, so earlier failures do not count any more.
    pub(super) fn progressed(&mut self) {
        (self.failures, self.waits, self.since) = (0, 0, Instant::now());
    }

    /// Pauses if `error` may pass, and tries or time are left.
    ///
    /// # Errors
    /// `error` itself if it is final.
    pub(super) fn after(&mut self, error: RemoteError) -> Result<(), RemoteError> {
        let pause = match error.retry_after() {
            // Never earlier than asked, and not all clients at once.
            Some(asked) => {
                self.waits = self.waits.saturating_add(1);
                let pause = asked.min(LONGEST_ASKED).saturating_add(self.pause(self.waits));
                if self.since.elapsed().saturating_add(pause) > self.patience {
                    return Err(error);
                }
                pause
            }
            None => {
                self.failures += 1;
                if !error.is_transient() || self.failures >= TRIES {
                    return Err(error);
                }
                self.pause(self.failures)
            }
        };
        sleep(pause);
        Ok(())
    }

    /// Pauses without an error. Pauses in a row get longer.
    pub(super) fn idle(&mut self) {
        self.waits = self.waits.saturating_add(1);
        sleep(self.pause(self.waits));
    }

    fn pause(&self, times: u32) -> Duration {
        pause(self.first_pause, times, random_fraction())
    }
}

/// Repeats `attempt` as long as its failures are transient.
pub(super) fn retrying<T>(
    mut backoff: Backoff,
    mut attempt: impl FnMut() -> Result<T, RemoteError>,
) -> Result<T, RemoteError> {
    loop {
        match attempt() {
            Ok(done) => return Ok(done),
            Err(error) => backoff.after(error)?,
        }
    }
}

/// Between a half and all of `first · 2^(times − 1)`, at most 5 s: from 100 ms about 3 s to 7 s over all tries.
fn pause(first: Duration, times: u32, fraction: f64) -> Duration {
    let doubled = first.saturating_mul(1_u32.checked_shl(times.saturating_sub(1)).unwrap_or(u32::MAX));
    doubled.min(LONGEST_PAUSE).mul_f64(0.5 + fraction / 2.0)
}

/// In `[0, 1)`; keeps clients apart, nothing secret hangs on it.
fn random_fraction() -> f64 {
    let bits = RandomState::new().hash_one(0_u8) >> 11;
    bits as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_stay_bounded() {
        assert_eq!(pause(FIRST_PAUSE, 1, 0.0), Duration::from_millis(50));
        assert_eq!(pause(FIRST_PAUSE, 3, 0.0), Duration::from_millis(200));
        for failures in 1..100 {
            let fraction = random_fraction();
            assert!((0.0..1.0).contains(&fraction));
            assert!(pause(FIRST_PAUSE, failures, fraction) <= LONGEST_PAUSE);
            assert!(pause(FIRST_PAUSE, failures, fraction) >= FIRST_PAUSE / 2);
        }
    }

    #[test]
    fn final_errors_are_not_repeated() {
        let mut calls = 0;
        let failed = retrying(Backoff::new(FIRST_PAUSE, PATIENCE), || -> Result<(), _> {
            calls += 1;
            Err(RemoteError::Plan)
        });
        assert!(failed.is_err());
        assert_eq!(calls, 1);
    }

    #[test]
    fn transient_errors_are_repeated_until_success() {
        let mut calls = 0;
        let done = retrying(Backoff::new(FIRST_PAUSE, PATIENCE), || {
            calls += 1;
            if calls < 3 { Err(RemoteError::Timeout { url: String::new() }) } else { Ok(calls) }
        });
        assert_eq!(done.unwrap(), 3);
    }

    fn busy() -> RemoteError {
        RemoteError::Busy {
            url: String::new(),
            code: "HUSH-V004".to_owned(),
            retry_after: Some(Duration::ZERO),
        }
    }

    /// A server may ask for patience far more often than it may fail. A failure afterwards counts as the first one.
    #[test]
    fn a_server_that_asks_for_patience_is_given_it_until_the_deadline() {
        let mut calls = 0;
        let done = retrying(Backoff::new(Duration::ZERO, PATIENCE), || {
            calls += 1;
            if calls <= 20 * TRIES { Err(busy()) } else { Ok(calls) }
        });
        assert_eq!(done.unwrap(), 20 * TRIES + 1);

        let patience = Duration::from_millis(100);
        let begun = Instant::now();
        let gave_up =
            retrying(Backoff::new(Duration::from_millis(1), patience), || -> Result<(), _> { Err(busy()) });
        assert_eq!(gave_up.unwrap_err().code(), "HUSH-R003");
        assert!(begun.elapsed() < 10 * patience);
        // A pause that a server asks for is kept up to a bound, and not begun if it would end too late.
        let vast = Some(Duration::from_secs(1 << 40));
        let asked = RemoteError::Busy { url: String::new(), code: String::new(), retry_after: vast };
        assert!(Backoff::new(Duration::ZERO, LONGEST_ASKED / 2).after(asked).is_err());
    }
}
