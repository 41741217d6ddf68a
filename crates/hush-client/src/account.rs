// SPDX-License-Identifier: Apache-2.0
//! The account of a run: the encrypted columns with reasons, the costs, and a server's view.

use std::ops::{Add, AddAssign};
use std::time::Instant;

use hush_plan::predict::ChunkShape;
use hush_plan::report::Leakage;

use crate::release::Counted;
use crate::workload::Keeping;

/// Seconds per phase, in the order in which they ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phases(Vec<(&'static str, f64)>);

impl Phases {
    /// Runs `work` and adds its time to that of `name`.
    pub fn time<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.add(name, start.elapsed().as_secs_f64());
        result
    }

    /// Books `seconds` under `name`.
    pub fn add(&mut self, name: &'static str, seconds: f64) {
        match self.0.iter_mut().find(|(booked, _)| *booked == name) {
            Some((_, total)) => *total += seconds,
            None => self.0.push((name, seconds)),
        }
    }

    /// The phases.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.0.iter().copied()
    }

    /// Seconds booked under `name`, 0 if none were.
    pub fn of(&self, name: &str) -> f64 {
        self.iter().find(|(booked, _)| *booked == name).map_or(0.0, |(_, seconds)| seconds)
    }

    /// Their sum.
    pub fn total(&self) -> f64 {
        self.0.iter().map(|(_, seconds)| seconds).sum()
    }
}

/// Bytes that crossed, or would cross, the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// From the owner: the table (for a rehearsal) and the plan.
    pub up: u64,
    /// To the owner: the answer.
    pub down: u64,
}

impl Moved {
    /// Those of a plan and its answer.
    pub(crate) fn of(plan: &[u8], answer: &[u8]) -> Self {
        Self { up: plan.len() as u64, down: answer.len() as u64 }
    }
}

impl Add for Moved {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self { up: self.up + more.up, down: self.down + more.down }
    }
}

impl AddAssign for Moved {
    fn add_assign(&mut self, more: Self) {
        *self = *self + more;
    }
}

/// One line of the account on the cryptography in use.
#[derive(Clone, Debug, PartialEq)]
pub struct SecurityLine {
    /// Scheme, `BGV` or `CKKS`.
    pub scheme: &'static str,
    /// Ring degree.
    pub degree: usize,
    /// ⌈log2 Q⌉.
    pub log_q: u32,
    /// Labelled security in bits.
    pub bits: u32,
}

/// Everything that a person is told after a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    /// Whether nothing was encrypted: no bytes were moved.
    pub dry_run: bool,
    /// Rows of the table.
    pub rows: u64,
    /// Columns of the file.
    pub columns: usize,
    /// Encrypted columns with the reason for each.
    pub encrypted: Vec<(String, String)>,
    /// Sealed columns with reasons.
    pub sealed: Vec<(String, String)>,
    /// Clear columns that are used, with the reason for each.
    pub clear: Vec<(String, String)>,
    /// Columns that the query does not use; they were not uploaded.
    pub unused: usize,
    /// Approximate columns that the result would open to everyone with the ciphertexts; none if it was released.
    pub exposed: Vec<String>,
    /// The release, if there was one.
    pub released: Option<Counted>,
    /// Notes that deserve attention, one sentence each.
    pub warnings: Vec<String>,
    /// The comparison with a result computed in the clear, if there was one.
    pub verified: Option<Verified>,
    /// Time.
    pub phases: Phases,
    /// Peak resident bytes of this process, where the system tells.
    pub peak_bytes: Option<u64>,
    /// Bytes moved.
    pub moved: Moved,
    /// Encrypted bytes per encrypted value, headers included.
    pub bytes_per_value: Option<f64>,
    /// Rings in use.
    pub security: Vec<SecurityLine>,
    /// Columns with a copy that the owner reads, and bits of a row of each.
    pub copies: Vec<(String, u32)>,
    /// What it takes to keep the layouts of this query; `None` where nothing is encoded or copied.
    pub keeping: Option<Keeping>,
    /// Facts that a server would have learned.
    pub leakage: Leakage,
    /// Absolute error bound of the approximate operations, if there are any.
    pub precision: Option<f64>,
}

/// The comparison with a plaintext engine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verified {
    /// Equal in every cell.
    Exactly,
    /// Exact columns equal; approximate ones within the stated precision, the largest difference given.
    Within(f64),
}

/// Counts of an answer's groups, rows and bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AnswerCounts {
    /// Groups, or matching rows.
    pub(crate) rows: u64,
    /// Groups of rows that the owner grouped.
    pub(crate) regrouped: u64,
    /// Each chunk that came back.
    pub(crate) chunks: Vec<ChunkShape>,
    /// Bytes of the clear half; 0 before there is an answer.
    pub(crate) clear_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_add_up_under_one_name() {
        let mut phases = Phases::default();
        phases.add("server", 1.0);
        phases.add("keys", 0.5);
        phases.add("server", 0.25);
        assert_eq!(phases.iter().collect::<Vec<_>>(), [("server", 1.25), ("keys", 0.5)]);
        assert_eq!(phases.total(), 1.75);
        assert_eq!((phases.of("server"), phases.of("plan")), (1.25, 0.0));
    }
}
