// SPDX-License-Identifier: Apache-2.0
//! Symbolic plans: what a table is, what a query means, what the server is asked and what the owner does.
//!
//! ```text
//! SQL text ─ sql ─▶ Query ─┬─ grouped (expr) ──▶ masked sums of quantities ─┐
//!                     ▲    └─ by_row (program) ▶ programs and fetches ──────┤
//!                  Schema                            │                      ├ ways ─▶ physical ─▶ ServerPlan, sent
//!                     │                            needs                    │                     OwnerPlan, kept
//!                     └───────── purposes ────────▶ layout ─▶ encodings ────┘ catalog             report, steps, graph
//!                                                                     ServerPlan ─ predict ─▶ Prediction, Times
//! ```
//!
//! `aggregates` lists the aggregate functions, `packing` the packings, `ways` the ways to answer; `physical` prices what the ways
//! propose, and picks. `cube` works out the cubes of a schema, `one_hot` its sums by hidden values, `run` its sorted runs.
//!
//! A **quantity** ([`Quantity`]) is what one encoded column holds: values, their validity, squares, products. The same
//! reduction of a query says at encryption what is needed and at query time what is used.
//!
//! *Invariants.* Imports no cryptography. Whatever cannot be done, would overflow or could fail to decrypt is
//! refused here, before anything is encrypted or sent ([`PlanError`], with a stable code and a way out).
//! Ranges are computed in arbitrary-precision integers, wider than any column.
//!
//! *Non-goals.* Running plans (`hush-exec`), reading data (`hush-table`), keys (`hush-keys`).

mod aggregates;
pub mod bounds;
mod by_row;
mod catalog;
mod conditions;
pub mod cube;
mod derived;
pub mod encoding;
pub mod error;
#[cfg(test)]
mod eval;
mod expr;
mod fetch;
pub mod filter;
mod final_sql;
pub mod graph;
mod grouped;
pub mod layout;
pub mod leakage;
mod limits;
mod nearest;
mod needs;
pub mod one_hot;
pub mod packing;
pub mod physical;
pub mod plan;
pub mod predict;
mod program;
pub mod propose;
pub mod quantity;
pub mod range;
pub mod report;
pub mod run;
pub mod schema;
pub mod sql;
pub mod steps;
#[cfg(test)]
mod tables;
mod ways;
pub mod writers;

pub use encoding::{Encoding, EncodingId, PrivateEncoding, unpacked_encoding};
pub use error::PlanError;
pub use graph::Graph;
pub use layout::{Further, Needs, plan_encodings, plan_further, ranks_beside_shared};
pub use limits::{Facet, Limits, Shown, WayName};
pub use nearest::nearest;
pub use needs::{factors_left_out, needs_of, read_by_owner};
pub use packing::{Packing, Stored};
pub use physical::{plan_query, plan_round};
pub use plan::{OwnerPlan, QueryPlan, ServerPlan};
pub use quantity::Quantity;
pub use schema::{ColumnType, Protection, Schema};
pub use sql::Query;
