// SPDX-License-Identifier: Apache-2.0
//! A whole plan: the half that is sent, the half that is kept, and the report for people.

use super::owner::OwnerPlan;
use super::server::{ServerPlan, Task};
use crate::graph::Graph;
use crate::limits::WayName;
use crate::report::{Cost, Leakage, Way};
use crate::steps::Step;

/// A whole plan: both halves, its cost and its leakage.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryPlan {
    /// Sent to the server.
    pub server: ServerPlan,
    /// Kept by the owner.
    pub owner: OwnerPlan,
    /// Sizes and bounds, for `explain` and for limits.
    pub cost: Cost,
    /// Sentences on what the server learns.
    pub leakage: Leakage,
    /// The same as a graph of operators.
    pub graph: Graph,
    /// The steps in plain sentences, each with the party that does it.
    pub steps: Vec<Step>,
    /// Sentences on values that the result lacks though somebody may expect them.
    pub notes: Vec<String>,
    /// Its way to answer.
    pub way: WayName,
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
