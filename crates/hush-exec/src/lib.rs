// SPDX-License-Identifier: Apache-2.0
//! Runs a server plan on a stored table, without any secret key.
//!
//! ```text
//!   plan bytes ─ conform ─▶ ParsedPlan ──┬─ clear ──────▶ groups or row numbers, clear columns   (DataFusion)
//!                                        │    │ masks: per chunk a group and a weight for each row
//!   store ─ table::Snapshot ─────────────┤    ▼
//!                                        ├─ aggregate ──▶ masked sums per group                  (hush-schemes)
//!                                        ├─ products ───▶ sums of products per run of chunks     (hush-rlwe)
//!                                        └─ rows ───────▶ element-wise ciphertexts per chunk     (hush-schemes)
//!                                                 └─ answer ─▶ answer bytes
//! ```
//!
//! *Words.* The **clear half** of a query is computed from clear columns alone: the rows that match, the group of
//! each row, and the aggregates of clear columns. A **mask** gives each row a weight. A **block** is one mask and one
//! parameter set; its columns share the `a` half of a sum.
//!
//! *Invariants.*
//! - This crate cannot reach `hush-keys`. A server never has decrypted data, so nothing that it does depends on them.
//! - A plan is checked against the manifest and the limits before any of the table is read. SQL in a plan is
//!   scalar, over clear columns and built-in functions only; everything else is refused by name.
//! - Bytes are used only after their digest has been compared with the signed manifest.
//! - Answers are deterministic: the same plan on the same table gives the same bytes with any number of threads.
//! - Errors carry a stable code and a fixed sentence, but no value of the table and no text of the plan.
//!
//! *Non-goals.* Planning (`hush-plan`), the network (`hush-server`), decrypting and merging (`hush-client`).
//!
//! Tests: `tests/` encrypts small tables with `hush-keys`, runs plans and compares with 128-bit arithmetic.

mod aggregate;
pub mod answer;
mod clear;
pub mod coerce;
mod combiner;
mod conform;
mod engine;
mod error;
mod job;
mod kept;
mod keys;
mod living;
mod machine;
pub mod packing;
mod parts;
pub mod plain;
mod products;
pub mod program;
mod rows;
mod scheme;
mod sizes;
mod stop;
mod table;
mod workers;

pub use clear::central;
pub use clear::logistic::{OutcomeFault, aggregate as logreg, part as logreg_part};
pub use clear::matching::rows_where;
pub use clear::order::functions as ordered;
pub use clear::product::functions as products_of_rows;
pub use clear::shape::clear_half_bytes;
pub use combiner::Combiner;
pub use engine::Engine;
pub use error::{ErrorKind, ExecError, ExpressionFault, ExpressionRole, PartialFault, PlanFault};
pub use job::Limits;
pub use kept::SumCache;
pub use keys::{KeySet, LoadedKeys};
pub use parts::PartSet;
pub use sizes::PartSize;
pub use stop::Stop;
