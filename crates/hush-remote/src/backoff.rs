// SPDX-License-Identifier: Apache-2.0
//! Trying again: a bounded number of times, after growing random pauses.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::thread::sleep;
use std::time::Duration;

use super::error::RemoteError;

/// Tries without progress before giving up.
const TRIES: u32 = 7;
/// Of a server that is not a test's.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Counts failures in a row.
#[derive(Debug)]
pub(super) struct Backoff {
    failures: u32,
    first_pause: Duration,
}

impl Backoff {
    pub(super) fn new(first_pause: Duration) -> Self {
        Self { failures: 0, first_pause }
    }

    /// Something got through: failures before do not count any more.
    pub(super) fn progressed(&mut self) {
        self.failures = 0;
    }

    /// Pauses if `error` may pass and tries are left.
    ///
    /// # Errors
    /// `error` itself if it is final.
    pub(super) fn after(&mut self, error: RemoteError) -> Result<(), RemoteError> {
        self.failures += 1;
        if !error.is_transient() || self.failures >= TRIES {
            return Err(error);
        }
        sleep(pause(self.first_pause, self.failures, random_fraction()));
        Ok(())
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

/// Between a half and all of `first · 2^(failures − 1)`, at most 5 s: from 100 ms about 3 s to 7 s over all tries.
fn pause(first: Duration, failures: u32, fraction: f64) -> Duration {
    let doubled = first.saturating_mul(1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX));
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
        let failed = retrying(Backoff::new(FIRST_PAUSE), || -> Result<(), _> {
            calls += 1;
            Err(RemoteError::Plan)
        });
        assert!(failed.is_err());
        assert_eq!(calls, 1);
    }

    #[test]
    fn transient_errors_are_repeated_until_success() {
        let mut calls = 0;
        let done = retrying(Backoff::new(FIRST_PAUSE), || {
            calls += 1;
            if calls < 3 { Err(RemoteError::Timeout { url: String::new() }) } else { Ok(calls) }
        });
        assert_eq!(done.unwrap(), 3);
    }
}
