// SPDX-License-Identifier: Apache-2.0
//! Fronts and workers on one store, their events delivered in any order, twice or never: the answers are those of one machine.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests fail by panicking, and print their seeds"
)]

mod deleted;
#[path = "../../../hush-exec/tests/engine/fixture.rs"]
#[expect(dead_code, reason = "the tests of the engine use more of it")]
mod fixture;
mod front;
mod hostile;
mod orders;
mod record;
mod world;
