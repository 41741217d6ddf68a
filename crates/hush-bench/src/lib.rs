// SPDX-License-Identifier: Apache-2.0
//! The published workloads as benchmarks that anyone can run, each checking its own result, with peers beside
//! ours where they are installed.
//!
//! *Invariants.* Nothing here asserts a time. Every figure comes with its parameters, repetitions and the outcome
//! of a comparison with plaintext; what was extrapolated is marked. Each variant runs in a process of its own, so
//! that CPU time, peak memory and context switches, children and threads included, are its own.
//!
//! *Non-goals.* Micro-benchmarks of kernels (`cargo bench -p hush-kernels`), building peers (their adapters are built).

mod adapters;
mod aligned;
pub mod analytics;
pub mod appends;
mod axis;
mod bars;
pub mod beside;
pub mod bootstraps;
pub mod compactions;
pub mod conditions;
pub mod cubes;
pub mod deletions;
pub mod edge_grid;
pub mod encryption;
mod error;
pub mod joins;
pub mod libraries;
mod peers;
pub mod predictions;
mod prepared;
pub mod products;
pub mod runs;
pub mod slot_bootstraps;
pub mod split_table;
mod synthetic;
pub mod tpch;
mod usage;

pub use error::BenchError;
pub use usage::ProcessUsage;
