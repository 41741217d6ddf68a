// SPDX-License-Identifier: Apache-2.0
//! The half of a plan that is sent: tasks on clear expressions and numbered encoded columns, as JSON. Small, and without values or
//! names of protected columns.

use serde::{Deserialize, Serialize};

use super::predicate::{Predicate, PredicateFault};
use super::products::ProductsTask;
use crate::encoding::EncodingId;

/// Version of the plan's format. 1 had SQL texts for conditions.
pub const PLAN_FORMAT: u16 = 2;

/// A task for the server on one version of one table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerPlan {
    /// [`PLAN_FORMAT`].
    pub format: u16,
    /// Table name on the server.
    pub table: String,
    /// BLAKE3 digest (hex) of the manifest that the owner planned against; the server refuses another.
    pub manifest: String,
    /// `WHERE`: which rows count. `None`: all.
    pub predicate: Option<Predicate>,
    /// The task.
    pub task: Task,
    /// Largest answer that the owner will take; the server refuses above it.
    pub max_answer_bytes: u64,
}

/// Why bytes are not a plan of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanReadFault {
    /// Another version of the format.
    #[error("format {found}, this version reads {expected}")]
    Format {
        /// Version found.
        found: u16,
        /// Version read.
        expected: u16,
    },
    /// Not the JSON of a plan.
    #[error("not the JSON of a plan of this version")]
    Json,
    /// A mask's condition.
    #[error("the condition of mask {mask} {fault}")]
    MaskCondition {
        /// Index of the mask.
        mask: usize,
        /// The fault.
        fault: PredicateFault,
    },
    /// The plan's predicate.
    #[error("the WHERE condition {0}")]
    Predicate(PredicateFault),
}

impl ServerPlan {
    /// Reads a plan and checks the form of its conditions. Time and memory are linear in the bytes, whatever they are.
    ///
    /// # Errors
    /// A [`PlanReadFault`]; the version is looked at first.
    pub fn from_json(bytes: &[u8]) -> Result<Self, PlanReadFault> {
        #[derive(Deserialize)]
        struct Head {
            format: u16,
        }
        let Head { format: found } = serde_json::from_slice(bytes).map_err(|_| PlanReadFault::Json)?;
        if found != PLAN_FORMAT {
            return Err(PlanReadFault::Format { found, expected: PLAN_FORMAT });
        }
        let plan: Self = serde_json::from_slice(bytes).map_err(|_| PlanReadFault::Json)?;
        plan.predicate.iter().try_for_each(Predicate::check).map_err(PlanReadFault::Predicate)?;
        for (mask, condition) in plan.conditions_of_masks().enumerate() {
            let checked = condition.into_iter().try_for_each(Predicate::check);
            checked.map_err(|fault| PlanReadFault::MaskCondition { mask, fault })?;
        }
        Ok(plan)
    }

    /// All SQL in it: what a server gives to a parser.
    pub fn expressions(&self) -> impl Iterator<Item = &str> {
        let lists: [&[String]; 2] = match &self.task {
            Task::Aggregate(task) => [&task.keys, &task.clear],
            Task::Products(task) => [&task.keys, &[]],
            Task::Rows(task) => [&task.clear, &task.operands],
        };
        let weights = self.masks().iter().filter_map(|mask| mask.weight.as_deref());
        let conditions = self.predicates().flat_map(Predicate::clear_sql);
        conditions.chain(lists.into_iter().flatten().map(String::as_str)).chain(weights)
    }

    /// All conditions in it.
    pub fn predicates(&self) -> impl Iterator<Item = &Predicate> {
        self.predicate.iter().chain(self.conditions_of_masks().flatten())
    }

    /// The condition of each mask.
    fn conditions_of_masks(&self) -> impl Iterator<Item = Option<&Predicate>> {
        let of_products: &[Predicate] = match &self.task {
            Task::Products(task) => &task.masks,
            Task::Aggregate(_) | Task::Rows(_) => &[],
        };
        self.masks().iter().map(|mask| mask.condition.as_ref()).chain(of_products.iter().map(Some))
    }

    fn masks(&self) -> &[Mask] {
        match &self.task {
            Task::Aggregate(task) => &task.masks,
            Task::Products(_) | Task::Rows(_) => &[],
        }
    }
}

/// The kinds of task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Task {
    /// Grouped sums.
    Aggregate(AggregateTask),
    /// Sums of products of encrypted columns.
    Products(ProductsTask),
    /// Element-wise results, row by row.
    Rows(RowsTask),
}

/// `GROUP BY` over clear keys (none: one group, also where no row matches).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AggregateTask {
    /// Scalar SQL expressions over clear columns, one per key; answered as columns `k0`, `k1`, ….
    pub keys: Vec<String>,
    /// Aggregate SQL expressions over clear columns (already cast to exact wide types by the planner);
    /// answered as columns `c0`, `c1`, …. `c0` is always `COUNT(*)`.
    pub clear: Vec<String>,
    /// Row masks that the encrypted sums use.
    pub masks: Vec<Mask>,
    /// Encrypted sums, answered in this order per group.
    pub sums: Vec<EncryptedSum>,
    /// Refuse above this many groups.
    pub max_groups: u64,
}

/// The weight of each row: `weight · [condition]`, 0 where either is NULL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mask {
    /// Further condition beside the plan's predicate (for instance `"w" IS NOT NULL`).
    pub condition: Option<Predicate>,
    /// Integer weight: a scalar SQL expression of type `DECIMAL(38,0)` over clear columns; `None` means 1.
    pub weight: Option<String>,
}

/// `Σ mask(row) · column(row)` per group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncryptedSum {
    /// Index into [`AggregateTask::masks`].
    pub mask: usize,
    /// The encoded column (layout `sum` or `approx_sum`).
    pub column: EncodingId,
}

/// Element-wise results for the rows that match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowsTask {
    /// Scalar SQL expressions over clear columns; answered as columns `c0`, `c1`, … beside `row` (the row's
    /// number in the table).
    pub clear: Vec<String>,
    /// Clear integer operands of the programs: scalar SQL expressions of type `DECIMAL(38,0)` (exact
    /// programs) or `DOUBLE` (approximate ones), 0 where NULL.
    pub operands: Vec<String>,
    /// Encrypted expressions, evaluated slot by slot.
    pub programs: Vec<SlotExpr>,
    /// Encoded columns that go back as they are (validity, or columns selected alone).
    pub fetch: Vec<EncodingId>,
    /// Bits of a coefficient to which each program's result is rounded; residues go back where there is no number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub program_bits: Vec<Option<u32>>,
    /// The same for the fetched columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fetch_bits: Vec<Option<u32>>,
    /// Clear operands of approximate programs are refused where they exceed `2^operand_limit_log2` in absolute value:
    /// the planner's bound on values holds up to there.
    pub operand_limit_log2: u32,
    /// Numbers of the sealed columns that go back as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sealed: Vec<u32>,
    /// Number of a cube. Parts that have it, and no deleted rows, send no rows: their cells are added up and go back. Such a task has no
    /// limit, and its plan no predicate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cube: Option<u32>,
    /// A sorted run. Parts that have it, and no deleted rows, send no rows: what is asked of the run goes back. Such a task has no limit and no
    /// cube, and its plan no predicate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunTask>,
    /// Stop after this many matching rows (set only where no ORDER BY needs the others).
    pub limit: Option<u64>,
}

/// What is asked of a sorted run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunTask {
    /// Its number.
    pub number: u32,
    /// What goes back of each part that has it.
    pub read: RunRead,
}

/// What goes back of a sorted run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RunRead {
    /// Blocks.
    Blocks {
        /// For each part that has the run, in row order, the places of blocks in its file, rising.
        of_parts: Vec<Vec<u32>>,
        /// Whether how many there are tells how many rows count, or a constant.
        by_values: bool,
    },
    /// The sealed index.
    Index,
}

impl RowsTask {
    /// Objects that go back for each chunk: of programs, of fetched columns, of sealed ones.
    pub fn object_count(&self) -> usize {
        self.programs.len() + self.fetch.len() + self.sealed.len()
    }

    /// Bits of a coefficient of the result of program `index`, if it is rounded.
    pub fn bits_of_program(&self, index: usize) -> Option<u32> {
        self.program_bits.get(index).copied().flatten()
    }

    /// Bits of a coefficient of fetched column `index`, if it is rounded.
    pub fn bits_of_fetch(&self, index: usize) -> Option<u32> {
        self.fetch_bits.get(index).copied().flatten()
    }
}

/// An element-wise expression over encrypted slots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SlotExpr {
    /// Sum of two.
    Add(Box<SlotExpr>, Box<SlotExpr>),
    /// A clear operand, by index into [`RowsTask::operands`].
    Clear(usize),
    /// An encoded column in layout `slots` or `approx_slots`.
    Column(EncodingId),
    /// An integer constant in decimal digits (exact programs) or a decimal number (approximate ones).
    Constant(String),
    /// Product; at most one factor-pair of ciphertexts on any path.
    Mul(Box<SlotExpr>, Box<SlotExpr>),
    /// Negation.
    Neg(Box<SlotExpr>),
    /// Difference.
    Sub(Box<SlotExpr>, Box<SlotExpr>),
}

impl SlotExpr {
    /// The encoded columns, each once, ascending.
    pub fn columns(&self) -> Vec<EncodingId> {
        fn collect(expr: &SlotExpr, columns: &mut Vec<EncodingId>) {
            match expr {
                SlotExpr::Column(id) => columns.push(*id),
                SlotExpr::Clear(_) | SlotExpr::Constant(_) => {}
                SlotExpr::Neg(inner) => collect(inner, columns),
                SlotExpr::Add(left, right) | SlotExpr::Sub(left, right) | SlotExpr::Mul(left, right) => {
                    collect(left, columns);
                    collect(right, columns);
                }
            }
        }
        let mut columns = Vec::new();
        collect(self, &mut columns);
        columns.sort_unstable();
        columns.dedup();
        columns
    }
}

/// Whether a constant of an approximate program multiplies as an integer, without a scale: up to 15 digits, which a
/// double holds exactly.
pub fn is_integer(constant: &str) -> bool {
    let digits = constant.strip_prefix('-').unwrap_or(constant);
    (1..=15).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit())
}
