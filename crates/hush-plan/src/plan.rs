// SPDX-License-Identifier: Apache-2.0
//! The physical plan. [`ServerPlan`] is serialised (JSON, small, no values of protected columns) and sent;
//! [`OwnerPlan`] stays with the owner and says how answers become a result.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bounds::Bounds;
use crate::encoding::EncodingId;
use crate::graph::Graph;
use crate::steps::Step;

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

/// A way to answer a query, with its price. Every way gives the same result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Way {
    /// Who evaluates, and how the answer travels.
    pub what: String,
    /// Predicted seconds of server, link and owner.
    pub seconds: f64,
    /// Predicted bytes of the answer, without what the clear half of every way has.
    pub bytes_down: u64,
    /// Whether the plan takes it.
    pub taken: bool,
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

/// How the owner turns answers into the result table.
///
/// The owner first builds a table `merged`: keys `k0…` and aggregates `a0…` (aggregate task), or `row` (the
/// row's number in the table, as an integer), clear columns `c0…` and decrypted programs `p0…` (rows task).
/// `final_sql` then projects, filters (HAVING), orders and limits it with an ordinary query engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnerPlan {
    /// Output of each aggregate, `a0…`.
    pub aggregates: Vec<OwnerAggregate>,
    /// Output of each slot program, `p0…`.
    pub programs: Vec<OwnerProgram>,
    /// Expressions that the owner evaluates: columns are fetched ones, clear operands are positions in
    /// [`RowsTask::clear`].
    pub owned: Vec<SlotExpr>,
    /// Where the owner groups the rows of a rows task: what he does with them before anything else.
    pub regroup: Option<Regroup>,
    /// What the decrypted numbers can be; the answer is refused where one lies beyond.
    pub bounds: Bounds,
    /// Window functions in `final_sql`.
    pub windows: u64,
    /// SQL over `merged`.
    pub final_sql: String,
}

/// A grouped query on rows that the owner has: the task that a server would have had, on clear columns and fetched quantities.
#[derive(Clone, Debug, PartialEq)]
pub struct Regroup {
    /// Names of the clear columns, in the order of [`RowsTask::clear`].
    pub clear: Vec<String>,
    /// The task; its sums are over the fetched columns. Only rows that match are there, so that it has no predicate.
    pub task: AggregateTask,
}

/// One aggregate, from exact sums.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnerAggregate {
    /// Which function.
    pub function: AggregateFunction,
    /// Number of contributing rows.
    pub count: LinearForm,
    /// Sum of the argument, in units of `10^-scale`.
    pub sum: LinearForm,
    /// Sum of squares of the argument, in units of `10^-2·scale`; for variance and standard deviation.
    pub squares: Option<LinearForm>,
    /// Moments of several columns together, for [`AggregateFunction::Joint`], which reads neither `sum` nor `squares`.
    pub joint: Option<JointMoments>,
    /// Logarithms and signs, for [`AggregateFunction::Product`] and [`AggregateFunction::Geomean`], which do not read
    /// `sum`.
    pub product: Option<ProductMoments>,
    /// Decimal scale of `sum`.
    pub scale: u8,
    /// Type of the output column.
    pub output: OutputType,
}

/// What the product of the rows is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProductMoments {
    /// Sum of the logarithms of absolute values in units, in units of `2^-`[`LOG_FRACTION_BITS`](crate::encoding::LOG_FRACTION_BITS).
    pub logs: LinearForm,
    /// Number of negative ones.
    pub negatives: LinearForm,
    /// Number of zeros.
    pub zeros: LinearForm,
    /// Constant factors: signed decimal digits, a decimal scale, and in how many rows.
    pub constants: Vec<(String, u32, LinearForm)>,
}

/// Moments of several variables over the rows where all of them have a value; the first is the dependent one, `y`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JointMoments {
    /// Decimal scale of each variable.
    pub scales: Vec<u8>,
    /// Sum of each variable, in units of its scale.
    pub sums: Vec<LinearForm>,
    /// Sums of products of two variables `i ≤ j`, in units of both scales; those that the function reads.
    pub products: BTreeMap<(usize, usize), LinearForm>,
}

/// The aggregate functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AggregateFunction {
    /// AVG
    Avg,
    /// Clear aggregate `c{index}` as the server's query engine answered it, type included; every other field
    /// of its [`OwnerAggregate`] is then without meaning.
    ClearOutput(usize),
    /// COUNT
    Count,
    /// GEOMEAN: the `n`-th root of the product of `n` rows; NULL where one is negative.
    Geomean,
    /// Of several columns together.
    Joint(JointFunction),
    /// PRODUCT
    Product,
    /// STDDEV_POP
    StddevPop,
    /// STDDEV, STDDEV_SAMP
    StddevSamp,
    /// SUM
    Sum,
    /// VAR_POP
    VarPop,
    /// VARIANCE, VAR_SAMP
    VarSamp,
}

/// The aggregate functions of a dependent variable `y` and one or more others `x₁ … x_k`. All are NULL where no row has
/// all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JointFunction {
    /// CORR; NULL where `x` or `y` does not vary.
    Corr,
    /// COVAR_POP
    CovarPop,
    /// COVAR_SAMP; NULL for a single row.
    CovarSamp,
    /// Constant term of the least-squares fit; NULL where the `x` do not determine one, for they are linearly dependent
    /// (or constant).
    Intercept,
    /// Mean of variable `index`: 0 is `y`.
    Mean(usize),
    /// Part of the variance of `y` that the fit explains; NULL as for the intercept, 1 where `y` does not vary.
    R2,
    /// Coefficient of `x` number `index` (from 1) in the fit; NULL as for the intercept.
    Slope(usize),
    /// `Σ (v − v̄)·(w − w̄)` of two variables `v ≤ w`.
    Spread(usize, usize),
}

/// Type of a merged column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputType {
    /// Exact decimal: `Decimal128(38, scale)` where the range allows, else `Decimal256(76, scale)`.
    Decimal {
        /// Digits after the point.
        scale: u8,
        /// Whether 38 digits do not suffice.
        wide: bool,
    },
    /// `Float64`, correctly rounded from the exact rational.
    Float,
    /// `Int64`; the planner has shown that the value fits.
    Int,
}

/// `Σ coefficient · moment`, exact.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinearForm {
    /// The terms; coefficients as signed decimal digits.
    pub terms: Vec<(String, Moment)>,
}

/// A number per group that the server's answer yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moment {
    /// Clear aggregate `c{index}` (an integer); NULL there counts as 0.
    Clear(usize),
    /// Encrypted sum `index`, exact after decryption; in units.
    Encrypted(usize),
}

/// How one slot program's output is read.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnerProgram {
    /// Where the values come from.
    pub source: ProgramSource,
    /// Encoded validity columns (positions in `fetch`) that must all be 1, else NULL.
    pub valid_if: Vec<usize>,
    /// Clear columns (positions in `clear`) that must not be NULL, else NULL.
    pub not_null: Vec<usize>,
    /// Decimal scale of the integer units.
    pub scale: u8,
    /// Type of the output column.
    pub output: ProgramOutput,
}

/// Source of a program's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramSource {
    /// Position in [`RowsTask::clear`]: integer units, `DECIMAL(38,0)` or `DECIMAL(76,0)`, NULL where NULL.
    Clear(usize),
    /// Position in [`RowsTask::fetch`].
    Fetched(usize),
    /// Position in [`OwnerPlan::owned`].
    Owned(usize),
    /// Position in [`RowsTask::programs`].
    Program(usize),
}

/// Type of an element-wise output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramOutput {
    /// Boolean from 0 and 1.
    Bool,
    /// Days since 1970.
    Date,
    /// As for aggregates.
    Number(OutputType),
    /// Microseconds since 1970.
    Timestamp,
}

/// Sizes that limits are compared with, and bounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Payload of the encrypted answer in bytes, per group (aggregate task) or full chunk (rows task); with frames and all
    /// else that is sent in [`Prediction`](crate::predict::Prediction).
    pub answer_bytes_each: u64,
    /// Upper bound on groups that the limit allows.
    pub max_groups: u64,
    /// Parameter sets in use, by name.
    pub params: Vec<String>,
    /// Smallest labelled security in bits.
    pub security_bits: u32,
    /// Smallest distance in bits between a noise bound and its limit.
    pub margin_bits: f64,
    /// Multiplicative depth.
    pub depth: u32,
    /// Absolute error bound of approximate results, where there are any: of encryption and encoding. Double precision adds
    /// up to 2^-48 of the largest value in a ring element.
    pub precision: Option<f64>,
    /// Every encrypted sum, program and fetched column, in the order of the task.
    pub nodes: Vec<EncryptedNode>,
}

/// One encrypted operation with its parameters and bounds. Names encrypted columns: for the owner.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EncryptedNode {
    /// `sum`, `program` or `fetch`.
    pub kind: &'static str,
    /// What it works on: `the values of age`, or a program as typed.
    pub what: String,
    /// `BGV` or `CKKS`.
    pub scheme: &'static str,
    /// Name of the parameter set.
    pub params: &'static str,
    /// Ring degree `N`.
    pub degree: usize,
    /// `log2 Q`.
    pub log_q: f64,
    /// Labelled security in bits.
    pub security_bits: u32,
    /// The plaintext space: `t = 2^53`, `t = 3 primes, 134 bits`, `scale 2^40`.
    pub plaintext: String,
    /// Multiplicative depth.
    pub depth: u32,
    /// Distance in bits of the noise bound from its limit; `None` where there is no limit to reach.
    pub margin_bits: Option<f64>,
    /// log2 of a bound on the chance that the noise exceeds its bound.
    pub failure_log2: f64,
    /// Absolute error bound of an approximate result.
    pub error: Option<f64>,
    /// Bits of a coefficient in the answer, where it is rounded: see `docs/math/rounding.md`.
    pub answer_bits: Option<u32>,
    /// What rows cost that devices encrypt; `None` where the owner alone does.
    pub devices: Option<DeviceCost>,
}

/// What a value costs that a device encrypts with public keys, beside one that the owner does, in a full chunk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DeviceCost {
    /// Bytes of a device's value.
    pub value_bytes: f64,
    /// Bytes of the owner's.
    pub owner_value_bytes: f64,
    /// Bits by which the noise of sums over a device's values is larger.
    pub noise_bits: f64,
}

/// What the server learns.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Leakage {
    /// From the table.
    pub table: Vec<String>,
    /// From this query.
    pub query: Vec<String>,
    /// What it does not learn.
    pub hidden: Vec<String>,
}
