// SPDX-License-Identifier: Apache-2.0
//! The real binary, on a free port of the loopback interface, with temporary data directories; and the same service with its tables
//! in an object store.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod access;
mod commits;
mod crash;
mod deliveries;
mod fixture;
mod harness;
mod jobs;
mod limits;
mod load;
mod mending;
mod objects;
mod purge;
mod uploads;
