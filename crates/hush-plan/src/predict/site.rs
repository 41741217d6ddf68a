// SPDX-License-Identifier: Apache-2.0
//! Where a plan is to run: what it takes to choose between ways that give the same result.

use super::{Expected, MachineProfile, TableShape, predict};
use crate::encoding::Encoding;
use crate::error::PlanError;
use crate::plan::{OwnerPlan, ServerPlan, SlotExpr, Task};

/// A table on a machine at the end of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// The table.
    pub shape: TableShape,
    /// Threads of the server.
    pub threads: usize,
    /// Unit costs; those of the server are taken for the owner's too.
    pub profile: MachineProfile,
    /// Bytes per second between server and owner; `None` where they are one process.
    pub link: Option<f64>,
}

impl Site {
    /// A table of one part with built-in unit costs, one thread and no link.
    pub fn local(rows: u64) -> Self {
        let part = super::PartShape { rows, ..super::PartShape::default() };
        Self {
            shape: TableShape { parts: vec![part] },
            threads: 1,
            profile: MachineProfile::built_in(),
            link: None,
        }
    }

    /// Seconds that a plan takes for so many groups, or if every row matches, and bytes of its answer. What all plans for a query
    /// have in common (its clear half) is left out.
    ///
    /// # Errors
    /// [`PlanError::BadEncoding`] for an encoding or parameter set that the table does not have.
    pub(crate) fn price(
        &self,
        plan: &ServerPlan,
        owner: &OwnerPlan,
        encodings: &[Encoding],
        groups: u64,
    ) -> Result<(f64, u64), PlanError> {
        let limit = match &plan.task {
            Task::Rows(task) => task.limit,
            Task::Aggregate(_) => None,
        };
        let (rows, chunks) = self.shape.all_matching(limit);
        let expected = Expected { groups, chunks, ..Expected::default() };
        let mut prediction = predict(plan, encodings, &self.shape, &expected, self.threads)?;
        prediction.work.owner_evaluated = evaluated(owner, rows);
        let times = self.profile.times(&prediction);
        let bytes = prediction.bytes_up + prediction.bytes_down;
        let way = self.link.map_or(0.0, |speed| bytes as f64 / speed);
        Ok((times.server_s + times.owner_s + way, prediction.bytes_down))
    }
}

/// Operations of the owner's own evaluation on so many rows.
pub fn evaluated(owner: &OwnerPlan, rows: u64) -> u64 {
    rows * owner.owned.iter().map(operations).sum::<u64>()
}

/// Nodes of an expression.
fn operations(expr: &SlotExpr) -> u64 {
    match expr {
        SlotExpr::Clear(_) | SlotExpr::Column(_) | SlotExpr::Constant(_) => 1,
        SlotExpr::Neg(inner) => 1 + operations(inner),
        SlotExpr::Add(left, right) | SlotExpr::Mul(left, right) | SlotExpr::Sub(left, right) => {
            1 + operations(left) + operations(right)
        }
    }
}
