// SPDX-License-Identifier: Apache-2.0
//! The place where a plan is to run, as far as it decides between ways that give the same result.

use super::{ASSUMED_GROUPS, Expected, MachineProfile, PartShape, Prediction, TableShape, Work, predict};
use crate::encoding::Encoding;
use crate::error::PlanError;
use crate::plan::{OwnerPlan, ServerPlan, SlotExpr, Task};

/// Predicted seconds and bytes of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Price {
    /// Of the server, without the way there and back.
    pub(crate) server_s: f64,
    pub(crate) owner_s: f64,
    pub(crate) bytes_up: u64,
    pub(crate) bytes_down: u64,
}

impl Price {
    /// Seconds of the way there and back.
    pub(crate) fn link_s(&self, link: Option<f64>) -> f64 {
        link.map_or(0.0, |speed| (self.bytes_up + self.bytes_down) as f64 / speed)
    }

    /// So many times the price.
    pub(crate) fn times(self, count: u64) -> Self {
        Self {
            server_s: self.server_s * count as f64,
            owner_s: self.owner_s * count as f64,
            bytes_up: self.bytes_up * count,
            bytes_down: self.bytes_down * count,
        }
    }

    /// Seconds of all.
    pub(crate) fn seconds(&self, link: Option<f64>) -> f64 {
        self.server_s + self.owner_s + self.link_s(link)
    }
}

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
        let part = PartShape { rows, ..PartShape::default() };
        Self {
            shape: TableShape { parts: vec![part], ..TableShape::default() },
            threads: 1,
            profile: MachineProfile::built_in(),
            link: None,
        }
    }

    /// The price of a plan for so many groups, or if every row matches. What all plans for a query have in common (its clear half)
    /// is left out.
    ///
    /// # Errors
    /// [`PlanError::BadEncoding`] for an encoding or parameter set that the table does not have.
    pub(crate) fn price(
        &self,
        plan: &ServerPlan,
        owner: &OwnerPlan,
        encodings: &[Encoding],
        groups: u64,
    ) -> Result<Price, PlanError> {
        let limit = match &plan.task {
            Task::Rows(task) => task.limit,
            Task::Aggregate(_) | Task::Products(_) => None,
        };
        let (rows, chunks) = self.shape.read_by(&plan.task).all_matching(limit);
        let expected = Expected { groups, rows, chunks, ..Expected::default() };
        let mut prediction = predict(plan, encodings, &self.shape, &expected, self.threads)?;
        prediction.work.add(of_rows(plan, owner, rows, ASSUMED_GROUPS));
        let times = self.profile.times(&prediction);
        let Prediction { bytes_up, bytes_down, .. } = prediction;
        Ok(Price { server_s: times.server_s, owner_s: times.owner_s, bytes_up, bytes_down })
    }

    /// The same place with a table of so many rows in one part, of files as large for each row.
    pub(crate) fn of_size(&self, rows: u64) -> Self {
        let now = u128::from(self.shape.rows().max(1));
        let scaled = |bytes: fn(&PartShape) -> u64| {
            let bytes: u64 = self.shape.parts.iter().map(bytes).sum();
            (u128::from(bytes) * u128::from(rows) / now) as u64
        };
        let part = PartShape {
            rows,
            clear_bytes: scaled(|part| part.clear_bytes),
            encrypted_bytes: scaled(|part| part.encrypted_bytes),
            ..self.shape.parts.first().copied().unwrap_or_default()
        };
        let mut shape = TableShape { parts: vec![part], ..self.shape.clone() };
        for spread in shape.cubes.values_mut() {
            spread.covers = vec![spread.covers.iter().all(|covers| *covers)];
        }
        Self { shape, ..self.clone() }
    }
}

/// The owner's work on so many decrypted rows; if he groups them, into so many groups.
pub fn of_rows(plan: &ServerPlan, owner: &OwnerPlan, rows: u64, groups: u64) -> Work {
    let Task::Rows(task) = &plan.task else {
        return Work { owner_queries: u64::from(owner.cells.is_some()), ..Work::default() };
    };
    let owner_evaluated = rows * owner.owned.iter().map(operations).sum::<u64>();
    // With the number of the row.
    let clear = task.clear.len() as u64 + 1;
    let objects = task.fetch.len() + task.sealed.len();
    let mut work = match (&owner.regroup, &owner.own) {
        (None, None) => {
            let owner_cells = rows * (clear + owner.programs.len() as u64);
            let owner_windowed = rows * owner.windows;
            Work { owner_evaluated, owner_cells, owner_windowed, ..Work::default() }
        }
        (None, Some(_)) if owner.cells.is_some() => {
            let owner_regrouped = rows * (clear + objects as u64);
            Work { owner_queries: 1, owner_regrouped, owner_groups: groups, ..Work::default() }
        }
        (None, Some(_)) => {
            // What a lattice gives is of 32 bytes before it is an array; what was sealed is one at once.
            let owner_regrouped = rows * task.fetch.len() as u64;
            let owner_cells = rows * (clear + task.sealed.len() as u64);
            Work { owner_queries: 1, owner_regrouped, owner_cells, ..Work::default() }
        }
        (Some(_), _) => {
            let owner_regrouped = rows * (clear + objects as u64);
            let owner = Work { owner_evaluated, owner_regrouped, owner_groups: groups, ..Work::default() };
            Work { owner_queries: 1, ..owner }
        }
    };
    if owner.after_sums {
        // The server has counted groups before it refused.
        (work.queries, work.grouped_rows) = (1, rows);
    }
    work
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
