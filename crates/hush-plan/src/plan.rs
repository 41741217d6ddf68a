// SPDX-License-Identifier: Apache-2.0
//! The physical plan of a query. [`ServerPlan`] is serialised (JSON, small, no values of protected columns) and sent;
//! [`OwnerPlan`] stays with the owner and says how answers become a result.

mod computed;
mod matching;
mod owner;
mod predicate;
mod products;
mod query;
mod ranks;
mod run;
mod search;
mod server;

pub use crate::aggregates::{
    Fraction, JointFunction, MomentFunction, ProductFunction, engine_aggregates, window_aggregates,
};
pub use computed::{ComputedCondition, Formula};
pub use matching::{MatchingColumn, MatchingRows, MatchingValue};
pub use owner::{
    CellsQuery, FilteredSum, FilteredSums, HiddenSums, JointMoments, LinearForm, Moment, OutputType,
    OwnColumn, OwnQuery, OwnerAggregate, OwnerPlan, OwnerProgram, PlacedSums, ProductMoments, ProgramOutput,
    ProgramSource, Regroup, ShareOfCell,
};
pub use predicate::{Atom, MAX_PREDICATE_DEPTH, MAX_PREDICATE_NODES, Predicate, PredicateFault, TooMuch};
pub use products::{Factor, ProductSum, ProductsTask};
pub use query::QueryPlan;
pub use ranks::{Choices, ChosenFlag, ChosenOf, RanksQuery};
pub use run::{Cut, Key, Opens, Rank, RankAt, RunQuery, SegmentsQuery};
pub use search::{Round, Search};
pub use server::{
    AggregateTask, EncryptedSum, Mask, PLAN_FORMAT, PlanReadFault, RowsTask, RunRead, RunTask, ServerPlan,
    SlotExpr, Task, is_integer,
};
