// SPDX-License-Identifier: Apache-2.0
//! Progress reports of long work.

/// Receives progress. Implementations must be cheap: they are called once a chunk or part.
pub trait Progress: Sync {
    /// A phase begins; `total` in `unit`s if it is known.
    fn begin(&self, phase: &str, total: Option<u64>, unit: &str);
    /// `amount` more units are done.
    fn advance(&self, amount: u64);
    /// The phase is over.
    fn end(&self);
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _phase: &str, _total: Option<u64>, _unit: &str) {}
    fn advance(&self, _amount: u64) {}
    fn end(&self) {}
}
