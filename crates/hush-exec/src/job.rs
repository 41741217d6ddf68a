// SPDX-License-Identifier: Apache-2.0
//! One plan's work and its limits.

use std::sync::Arc;

use hush_plan::plan::Predicate;

use crate::answer::AnswerHead;
use crate::clear::session::Session;
use crate::kept::SumCache;
use crate::stop::Stop;
use crate::table::Snapshot;
use crate::workers::Workers;

/// Limits on the cost of one plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest number of groups; the smaller of this and the plan's own limit holds.
    pub max_groups: u64,
    /// Largest answer in bytes; the smaller of this and the plan's own limit holds.
    pub max_answer_bytes: u64,
    /// Memory for running sums and for the query engine's hash tables, half each. Parts being read (some 32 MiB
    /// for each thread) come on top.
    pub memory_bytes: u64,
}

impl Default for Limits {
    /// 100 000 groups, 256 MiB of answer, 1 GiB of memory.
    fn default() -> Self {
        Self { max_groups: 100_000, max_answer_bytes: 256 << 20, memory_bytes: 1 << 30 }
    }
}

/// One plan on one table version, with everything that its steps share.
pub(crate) struct Job<'a> {
    pub(crate) snapshot: &'a Arc<Snapshot>,
    pub(crate) session: &'a Session,
    pub(crate) workers: &'a Arc<Workers>,
    pub(crate) limits: &'a Limits,
    pub(crate) sums: &'a SumCache,
    pub(crate) predicate: Option<&'a Predicate>,
    pub(crate) head: AnswerHead,
    pub(crate) stop: &'a Arc<Stop>,
}
