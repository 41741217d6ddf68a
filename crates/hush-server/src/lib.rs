// SPDX-License-Identifier: Apache-2.0
//! The service: stores encrypted tables and answers plans over HTTP, without any secret key.
//!
//! ```text
//! connection ─▶ admission ─▶ routes ─┬─▶ catalog   policy over hush_table::Catalog   (commit, list, delete, sweep)
//! (TCP, HTTP/1)  (id, cap,           ├─▶ uploads   uploads/{t}/… ─▶ a table's store
//!                 token)             └─▶ jobs      jobs/{id}/plan, record, result ─▶ hush_exec::Engine
//! ```
//!
//! *Words.* A **part** is an immutable file named by its BLAKE3 digest; a **manifest** is the signed list of a
//! table version's parts; a **plan** is a serialised [`hush_plan::ServerPlan`]; a **job** is one plan being
//! run; an **answer** is the binary result that only the owner can read.
//!
//! *Invariants.*
//! - This crate cannot reach `hush-keys`: there is no secret-key type, no decryption, no encryption here.
//! - Tables are reached through `hush_table`'s store alone, so that they may lie in a directory or an object store. Of this machine's
//!   disk the server needs room for uploads and jobs.
//! - Nothing half written is ever visible: parts grow elsewhere, are checked, and are then handed to the store; the
//!   manifest comes last. Recovery after a crash is a function of what is stored alone.
//! - Sizes are checked before a byte is read or reserved; what buffers in memory is counted ([`admission`]).
//! - Every refusal has the same body, `{code, message, request_id}`, with a fixed sentence ([`error`]); one over a
//!   limit has `found` and `limit` as well.
//! - Logs carry ids, codes and sizes; never names, predicates or values.
//!
//! *Non-goals.* TLS (put a terminating proxy in front), several tenants, proof of correct computation.
//!
//! Tests: `tests/*.rs` start the real binary on a free port of the loopback interface.

// No read outside a slice can stop an owner or a service: what may be absent is asked for with `get`.
#![cfg_attr(not(test), warn(clippy::indexing_slicing))]

pub mod admission;
pub mod body;
pub mod catalog;
pub mod clock;
pub mod config;
pub mod connection;
#[cfg(test)]
mod corpus;
pub mod error;
pub mod files;
pub mod jobs;
pub mod names;
pub mod openapi;
pub mod places;
pub mod routes;
pub mod runner;
pub mod service;
pub mod stall;
pub mod token;
pub mod uploads;

pub use catalog::Storage;
pub use config::{Config, Limits};
pub use service::{Server, StartError};
