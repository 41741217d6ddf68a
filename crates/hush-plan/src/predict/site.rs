// SPDX-License-Identifier: Apache-2.0
//! The place where a plan is to run, as far as it decides between ways that give the same result.

use super::{ASSUMED_GROUPS, Expected, MachineProfile, TableShape, Work, predict};
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
            shape: TableShape { parts: vec![part], ..TableShape::default() },
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
        let expected = Expected { groups, rows, chunks, ..Expected::default() };
        let mut prediction = predict(plan, encodings, &self.shape, &expected, self.threads)?;
        prediction.work.add(of_rows(plan, owner, rows, ASSUMED_GROUPS));
        let times = self.profile.times(&prediction);
        let bytes = prediction.bytes_up + prediction.bytes_down;
        let way = self.link.map_or(0.0, |speed| bytes as f64 / speed);
        Ok((times.server_s + times.owner_s + way, prediction.bytes_down))
    }
}

/// The owner's work on so many decrypted rows; if he groups them, into so many groups.
pub fn of_rows(plan: &ServerPlan, owner: &OwnerPlan, rows: u64, groups: u64) -> Work {
    let Task::Rows(task) = &plan.task else { return Work::default() };
    let owner_evaluated = rows * owner.owned.iter().map(operations).sum::<u64>();
    // With the number of the row.
    let clear = task.clear.len() as u64 + 1;
    let objects = task.fetch.len() + task.sealed.len();
    match (&owner.regroup, &owner.own) {
        (None, None) => {
            let owner_cells = rows * (clear + owner.programs.len() as u64);
            let owner_windowed = rows * owner.windows;
            Work { owner_evaluated, owner_cells, owner_windowed, ..Work::default() }
        }
        (None, Some(_)) => Work { owner_regrouped: rows * (clear + objects as u64), ..Work::default() },
        (Some(_), _) => {
            let owner_regrouped = rows * (clear + objects as u64);
            // The server has counted groups before it refused.
            let (queries, grouped_rows) = (1, rows);
            let owner = Work { owner_evaluated, owner_regrouped, owner_groups: groups, ..Work::default() };
            Work { queries, grouped_rows, ..owner }
        }
    }
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
