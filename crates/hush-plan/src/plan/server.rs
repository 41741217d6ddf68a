// SPDX-License-Identifier: Apache-2.0
//! What is sent to the server: tasks on clear expressions and numbered encoded columns, as JSON. Small, and without values or
//! names of protected columns.

use serde::{Deserialize, Serialize};

use crate::encoding::EncodingId;

/// Version of the plan's format.
pub const PLAN_FORMAT: u16 = 1;

/// What the server is asked to do on one version of one table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerPlan {
    /// [`PLAN_FORMAT`].
    pub format: u16,
    /// Table name on the server.
    pub table: String,
    /// BLAKE3 digest (hex) of the manifest that the owner planned against; the server refuses another.
    pub manifest: String,
    /// `WHERE` over clear columns: a scalar SQL expression, quoted and normalised by the planner.
    pub predicate: Option<String>,
    /// The task.
    pub task: Task,
    /// Largest answer that the owner will take; the server refuses above it.
    pub max_answer_bytes: u64,
}

impl ServerPlan {
    /// All SQL in it: what a server gives to a parser.
    pub fn expressions(&self) -> impl Iterator<Item = &str> {
        let (lists, masks): ([&[String]; 2], &[Mask]) = match &self.task {
            Task::Aggregate(task) => ([&task.keys, &task.clear], &task.masks),
            Task::Rows(task) => ([&task.clear, &task.operands], &[]),
        };
        let masks = masks.iter().flat_map(|mask| mask.condition.iter().chain(&mask.weight));
        let all = self.predicate.iter().chain(lists.into_iter().flatten()).chain(masks);
        all.map(String::as_str)
    }
}

/// The two kinds of task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Task {
    /// Grouped sums.
    Aggregate(AggregateTask),
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

/// Which rows count, and how much each: `weight · [condition]`, 0 where either is NULL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mask {
    /// Further condition beside the plan's predicate (for instance `"w" IS NOT NULL`).
    pub condition: Option<String>,
    /// Integer weight: a scalar SQL expression of type `DECIMAL(38,0)`; `None` means 1.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Stop after this many matching rows (set only where no ORDER BY needs the others).
    pub limit: Option<u64>,
}

impl RowsTask {
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
