// SPDX-License-Identifier: Apache-2.0
//! The half of a plan that the owner keeps: how decrypted sums, programs and columns become the result table.

use std::collections::BTreeMap;

use super::matching::MatchingRows;
use super::predicate::Predicate;
use super::ranks::RanksQuery;
use super::run::RunQuery;
use super::search::Search;
use super::server::{AggregateTask, SlotExpr};
use crate::aggregates::{Fraction, JointFunction, MomentFunction, ProductFunction};
use crate::bounds::{Bound, Bounds};
use crate::quantity::Quantity;
use crate::schema::cube::Dimension;
use crate::sql::Query;

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
    /// [`RowsTask::clear`](super::RowsTask::clear).
    pub owned: Vec<SlotExpr>,
    /// Where the owner groups the rows of a rows task: what he does with them before anything else.
    pub regroup: Option<Regroup>,
    /// Where the owner answers the whole query on the rows of a rows task: what he asks of them. Then nothing is merged.
    pub own: Option<OwnQuery>,
    /// Where he answers the query on the cells of a cube; [`OwnerPlan::own`] then says how he reads the rows of parts without it.
    pub cells: Option<CellsQuery>,
    /// Where the cells are those of sums by hidden values: how these stand in the sums of a server.
    pub hidden: Option<HiddenSums>,
    /// Where the cells are sums under a condition that a server has evaluated: how these stand in its answer.
    pub filtered: Option<FilteredSums>,
    /// Where the rows that match a condition which a server has evaluated come back: how these stand in its answer. [`OwnerPlan::own`] says what he asks of
    /// them, but for the condition.
    pub matching: Option<MatchingRows>,
    /// Where constants go to a server encrypted: they, in the order of [`ComputedCondition::inner`](super::ComputedCondition::inner).
    pub constants: Vec<i64>,
    /// Where flags of ranks are chosen in each chunk: what he finds for each of [`ProductsTask::choices`](super::ProductsTask::choices).
    pub ranks: Vec<RanksQuery>,
    /// Where he finds places of the order in rounds first. The plan is that of a last round like any; the true one hangs on what the others find.
    pub search: Option<Search>,
    /// Where he answers on a sorted run: which blocks he opens. With [`OwnerPlan::cells`] its segments and rows are the cells, else its rows are
    /// those of [`OwnerPlan::own`].
    pub run: Option<RunQuery>,
    /// Whether the server was asked for sums before, and has found more groups than it adds up.
    pub after_sums: bool,
    /// Bounds of the decrypted numbers; an answer with a number beyond them is refused.
    pub bounds: Bounds,
    /// Window functions in `final_sql`.
    pub windows: u64,
    /// SQL over `merged`.
    pub final_sql: String,
}

/// A grouped query on rows that the owner has: the task that a server would have had, on clear columns and fetched quantities.
#[derive(Clone, Debug, PartialEq)]
pub struct Regroup {
    /// Names of the clear columns, in the order of [`RowsTask::clear`](super::RowsTask::clear).
    pub clear: Vec<String>,
    /// The task; its sums are over the fetched columns. Only rows that match are there, so that it has no predicate.
    pub task: AggregateTask,
}

/// A grouped query on the cells of a cube, or on the segments of a run, each of which stands for its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct CellsQuery {
    /// Place of the cube or of the run in the schema.
    pub place: usize,
    /// The dimensions that are read, as clear columns.
    pub clear: Vec<String>,
    /// Name of a further clear column with the number of rows of each cell.
    pub count: String,
    /// The lanes that are read.
    pub lanes: Vec<usize>,
    /// `WHERE`: which cells count.
    pub predicate: Option<Predicate>,
    /// The task on cells; its sums are over lanes by their places in the list.
    pub task: AggregateTask,
}

/// Sums by hidden values, as a server has added them up.
#[derive(Clone, Debug, PartialEq)]
pub struct HiddenSums {
    /// Names of the clear columns that rows were grouped by, in the order of [`AggregateTask::keys`].
    pub keys: Vec<String>,
    /// What each of [`AggregateTask::sums`] holds.
    pub sums: Vec<PlacedSums>,
    /// Bounds of these.
    pub bounds: Vec<Bound>,
}

/// A sum whose digits in base `2^bits` are the sums of some cells, each less than `low + 2^bits`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedSums {
    /// 0 for numbers of rows, else the place after it in [`CellsQuery::lanes`].
    pub lane: usize,
    /// Bits of a digit.
    pub bits: u8,
    /// The least sum of a cell.
    pub low: i128,
    /// The cells, the lowest digit first; `None` for one that is no longer in the schema.
    pub cells: Vec<Option<u32>>,
}

/// Sums under a condition on encrypted columns, as a server has added them up.
#[derive(Clone, Debug, PartialEq)]
pub struct FilteredSums {
    /// The columns of the cells ([`crate::filter::cells_by`]).
    pub by: Vec<Dimension>,
    /// What the lanes of cells are, behind the number of rows.
    pub measured: Vec<Quantity>,
    /// The clear columns by whose values the sums are grouped besides.
    pub keys: Vec<String>,
    /// What each of [`ProductsTask::sums`](super::ProductsTask::sums) is.
    pub sums: Vec<FilteredSum>,
    /// Whether a mask leaves out the slots behind the rows.
    pub is_masked: bool,
}

/// What a sum is to a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareOfCell {
    /// The cell.
    pub cell: usize,
    /// How often the sum is in it: 1, or -1 where it is taken off.
    pub weight: i8,
}

/// A sum over the rows of some cells.
#[derive(Clone, Debug, PartialEq)]
pub struct FilteredSum {
    /// What it is to each cell that it is in or taken off.
    pub cells: Vec<ShareOfCell>,
    /// 0 for the number of rows, else the place after it in [`CellsQuery::lanes`].
    pub lane: usize,
    /// What a limb weighs: `2^shift`.
    pub shift: u32,
    /// Whether it is of [natural digits](crate::quantity::Digits::natural): its slots are residues from 0 on.
    pub natural: bool,
    /// What a slot behind the rows adds to it where there is no mask.
    pub padding: i64,
    /// log2 of the largest phase that it can be decrypted from.
    pub phase_log2: f64,
}

/// A query on columns that came back. The owner puts them into a table of his own in which nothing is encrypted
/// ([`Schema::all_clear`](crate::Schema::all_clear)), and asks it there.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnQuery {
    /// Names of the clear columns, in the order of [`RowsTask::clear`](super::RowsTask::clear).
    pub clear: Vec<String>,
    /// The encrypted columns.
    pub encrypted: Vec<OwnColumn>,
    /// Names of the sealed columns, in the order of [`RowsTask::sealed`](super::RowsTask::sealed).
    pub sealed: Vec<String>,
    /// The whole query, its filter included.
    pub query: Query,
}

/// An encrypted column that came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnColumn {
    /// Name.
    pub name: String,
    /// Position of its values in [`RowsTask::fetch`](super::RowsTask::fetch).
    pub value: usize,
    /// Position of its validity there, if values may be missing.
    pub valid: Option<usize>,
}

/// How one aggregate becomes a column of the result: what its finish reads, and nothing else.
#[derive(Clone, Debug, PartialEq)]
pub enum OwnerAggregate {
    /// Clear aggregate `c{index}` as the server's query engine answered it, type included.
    ClearOutput {
        /// Position in [`AggregateTask::clear`].
        index: usize,
    },
    /// A number of rows, as `Int64`.
    Count {
        /// The contributing rows.
        count: LinearForm,
    },
    /// The value at a place among the values in their order, as `Float64`.
    Quantile {
        /// The part of the rows that lies before it.
        part: Fraction,
        /// Number of contributing rows.
        count: LinearForm,
        /// The value at the last whole place up to it, and the next one.
        low: LinearForm,
        /// The next value, or the same if it is the last.
        high: LinearForm,
        /// Decimal scale of the argument.
        scale: u8,
    },
    /// Of several columns together, as `Float64`.
    Joint {
        /// The function.
        function: JointFunction,
        /// Number of rows where all of the columns have a value.
        count: LinearForm,
        /// The moments of these rows.
        moments: JointMoments,
    },
    /// Of the count and the sums of powers of one argument.
    Moments {
        /// The function.
        function: MomentFunction,
        /// Number of contributing rows.
        count: LinearForm,
        /// Sums of the argument, of its squares and so on, as many as [`MomentFunction::order`] says; that of power `k` in
        /// units of `10^-(k·scale)`.
        powers: Vec<LinearForm>,
        /// Decimal scale of the argument.
        scale: u8,
        /// Type of the output column.
        output: OutputType,
    },
    /// The product of the rows, or a root of it, as `Float64`.
    Product {
        /// The function.
        function: ProductFunction,
        /// Number of contributing rows.
        count: LinearForm,
        /// Logarithms and signs.
        moments: ProductMoments,
    },
}

impl OwnerAggregate {
    /// All numbers that it reads.
    pub(crate) fn forms_mut(&mut self) -> Vec<&mut LinearForm> {
        match self {
            Self::ClearOutput { .. } => Vec::new(),
            Self::Count { count } => vec![count],
            Self::Quantile { count, low, high, .. } => vec![count, low, high],
            Self::Joint { count, moments, .. } => {
                let JointMoments { sums, products, .. } = moments;
                std::iter::once(count).chain(sums).chain(products.values_mut()).collect()
            }
            Self::Moments { count, powers, .. } => std::iter::once(count).chain(powers).collect(),
            Self::Product { count, moments, .. } => {
                let ProductMoments { logs, negatives, zeros, constants } = moments;
                let constants = constants.iter_mut().map(|(_, _, form)| form);
                [count, logs, negatives, zeros].into_iter().chain(constants).collect()
            }
        }
    }

    /// Whether the output column has the type `Int64`.
    pub fn is_int(&self) -> bool {
        match self {
            Self::Count { .. } => true,
            Self::Moments { output, .. } => *output == OutputType::Int,
            Self::ClearOutput { .. } | Self::Joint { .. } | Self::Product { .. } | Self::Quantile { .. } => {
                false
            }
        }
    }
}

/// The moments that make up the product of the rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProductMoments {
    /// Sum of the logarithms of absolute values in units, in units of `2^-`[`LOG_FRACTION_BITS`](crate::quantity::LOG_FRACTION_BITS).
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

impl LinearForm {
    /// One moment as it is.
    pub fn of(moment: Moment) -> Self {
        Self { terms: vec![("1".to_owned(), moment)] }
    }
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
    /// The source of the values.
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
    /// Position in [`RowsTask::clear`](super::RowsTask::clear): integer units, `DECIMAL(38,0)` or `DECIMAL(76,0)`, NULL where NULL.
    Clear(usize),
    /// Position in [`RowsTask::fetch`](super::RowsTask::fetch).
    Fetched(usize),
    /// Position in [`OwnerPlan::owned`].
    Owned(usize),
    /// Position in [`RowsTask::programs`](super::RowsTask::programs).
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
