// SPDX-License-Identifier: Apache-2.0
//! The service as functions that sleep most of the day: AWS Lambda in front of a bucket. One program with two roles.
//!
//! ```text
//!            HTTP API                                     bucket
//!   hush ───────────────▶ front ──── plan, record ───────▶ jobs/ID/…
//!     ▲                  (routes of │ Invoke                 ▲   ▲
//!     │                  hush-      ▼ {job, 0, n}            │   │ partial answers, answer
//!     │ 307: an          server)  worker ─┬─▶ worker ────────┘   │
//!     │ address                    tree   ├─▶ worker ────────────┘
//!     └──────────── bucket ◀───────       └─▶ …  reads tables/NAME/…
//! ```
//!
//! - *Front* ([`front`]): the router of `hush-server` itself, on tables that their owners put into the bucket, and on jobs that lie there
//!   too. A poll waits ten seconds at most. Bodies that a function cannot give are given by an address in the bucket.
//! - *Worker* ([`worker`]): evaluates some parts of a job's table, or invokes others for them; [`tree`] says who combines what.
//!
//! *Invariants.*
//! - This crate cannot reach `hush-keys`. The environment holds a token's hash, events hold an id and two numbers, records hold states,
//!   sizes and digests; logs have ids, codes and sizes alone.
//! - The answer has the bytes of `hush_exec::Engine::run`, whatever was lost, repeated or reordered: no step depends on which worker took it,
//!   or how often.
//! - Nothing waits for anything but the store, and nothing is between two invocations but what the store has.
//!
//! *Non-goals.* Taking tables in (`hush push` writes to the bucket itself), devices, queues and quotas: the platform bounds how many functions
//! run at once, and the bucket's rules forget what nobody fetches.

// No read outside a slice can stop a service: what may be absent is asked for with `get`.
#![cfg_attr(not(test), warn(clippy::indexing_slicing))]

pub mod config;
pub mod event;
pub mod front;
pub mod gateway;
pub mod invoke;
pub mod objects;
pub mod record;
pub mod runtime;
pub mod tree;
pub mod worker;
