// SPDX-License-Identifier: Apache-2.0
//! A whole plan: what is sent, what is kept, and what people are told of it.

use super::owner::OwnerPlan;
use super::server::{ServerPlan, Task};
use crate::graph::Graph;
use crate::report::{Cost, Leakage, Way};
use crate::steps::Step;

/// A whole plan: what is sent, what is kept, what it costs and what it tells.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryPlan {
    /// Sent to the server.
    pub server: ServerPlan,
    /// Kept by the owner.
    pub owner: OwnerPlan,
    /// Sizes and bounds, for `explain` and for limits.
    pub cost: Cost,
    /// What the server learns, in plain sentences.
    pub leakage: Leakage,
    /// The same as a graph of operators.
    pub graph: Graph,
    /// What runs where, in plain sentences.
    pub steps: Vec<Step>,
    /// What the result does not hold though somebody may expect it, one sentence each.
    pub notes: Vec<String>,
    /// The ways that were weighed against one another, this one among them; empty where there was only one.
    pub ways: Vec<Way>,
    /// How a query of more than [`Cost::max_groups`] groups is answered instead, if it can be: the rows that match go back, and the
    /// owner groups them ([`OwnerPlan::regroup`]).
    pub gathered: Option<Box<QueryPlan>>,
}

impl QueryPlan {
    /// Whether the answer has one row for each matching row, as against groups or one total.
    pub fn is_by_row(&self) -> bool {
        matches!(self.server.task, Task::Rows(_))
    }

    /// Whether the answer has one row for each group of keys.
    pub fn has_groups(&self) -> bool {
        matches!(&self.server.task, Task::Aggregate(task) if !task.keys.is_empty())
    }

    /// The plan that answers a query of so many groups.
    #[must_use]
    pub fn for_groups(self, groups: u64) -> Self {
        match self.gathered {
            Some(gathered) if groups > self.cost.max_groups => *gathered,
            gathered => Self { gathered, ..self },
        }
    }
}
