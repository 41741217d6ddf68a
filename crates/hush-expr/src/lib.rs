// SPDX-License-Identifier: Apache-2.0
//! Expression strings such as `y*(x+z)`, and the circuits that evaluate them on encrypted vectors.
//!
//! ```text
//!   text ─ parse ─▶ Expression ─ build ─▶ Circuit: products of two, sums of integer multiples
//!                       │                    depth, range of every step, exact factor for the owner
//!                       ├─ fold: any other meaning of its pieces
//!                       └─ value_at: what it means, in exact fractions
//! ```
//!
//! Comparisons, `and`, `or`, `xor`, `not`, `min`, `max` and `if` are no sums and products: they have a meaning, but no circuit here.
//!
//! *Words used.* The **factor** and the **constant** of a circuit are what its owner multiplies with and adds after decryption: the
//! encrypted part has whole coefficients alone. The **depth** is the number of products one after the other.
//!
//! *Invariants.* Everything is exact: numbers are fractions of integers of any size. Bad input never panics and never takes time or
//! memory out of proportion: sizes are limited where they can grow.
//!
//! *Non-goals.* Cryptography, parameters, files. This crate imports none of ours, so that any evaluator may use it.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod build;
mod circuit;
mod cut;
mod display;
mod error;
mod expression;
mod fold;
mod interval;
mod logic;
mod parse;
mod ratio;
mod real;
mod shared;
mod step;
mod tree;
mod value;

pub use circuit::{Aggregate, Circuit, Reading};
pub use cut::{Cut, Parts, Piece};
pub use error::ExprError;
pub use expression::Expression;
pub use fold::Fold;
pub use interval::Interval;
pub use logic::{Comparison, Logic};
pub use ratio::Ratio;
pub use real::{Enclosure, RealCircuit, RealStep, Turn, is_whole};
pub use step::{Input, Step};
pub use tree::Function;

#[cfg(test)]
mod tests;
