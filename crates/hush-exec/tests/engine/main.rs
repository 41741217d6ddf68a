// SPDX-License-Identifier: Apache-2.0
//! The engine from outside: random tables are encrypted with a fresh key, plans run, answers decrypted and compared
//! with 128-bit and 256-bit arithmetic on the plaintext.

#![allow(clippy::print_stderr, reason = "a failure tells its seed")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod aggregate;
mod corpus;
mod cubes;
mod fixture;
mod hostile;
mod kept;
mod keys;
mod mutations;
mod order;
mod partial;
mod partial_refusals;
mod reference;
mod refusals;
mod rows;
mod runs;
mod sizes;
mod watched;
