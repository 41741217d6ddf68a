// SPDX-License-Identifier: Apache-2.0
//! Symbolic plans: what a table is, what a query means, what the server is asked and what the owner does.
//!
//! ```text
//! SQL text ─ sql ─▶ Query ─ physical ─▶ ServerPlan (serialised, sent)  + OwnerPlan (kept)
//!                     ▲                      ▲
//!                  Schema                 Encodings ◀─ layout ─ Schema + purposes
//! ```
//!
//! *Invariants.* Imports no cryptography. Whatever cannot be done, would overflow or could fail to decrypt is
//! refused here, before anything is encrypted or sent ([`PlanError`], with a stable code and a way out).
//! Ranges are computed in arbitrary-precision integers, wider than any column.
//!
//! *Non-goals.* Running plans (`hush-exec`), reading data (`hush-table`), keys (`hush-keys`).

pub mod encoding;
pub mod plan;
pub mod schema;

pub use encoding::{Content, Encoding, EncodingId, Layout, Plaintext, PrivateEncoding};
pub use plan::{OwnerPlan, QueryPlan, ServerPlan};
pub use schema::{ColumnType, Protection, Schema};
