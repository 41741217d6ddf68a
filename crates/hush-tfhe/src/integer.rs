// SPDX-License-Identifier: Apache-2.0
//! Integers in encrypted digits of two bits, and programs on vectors of them.
//!
//! *Words used.* An integer modulo `4^d` has `d` digits, the lowest first; a negative one is its two's complement. A digit is **clean** if it is below 4 and of norm 1: as it comes
//! from a bootstrapping. A ciphertext has room for sums up to 15, of norm 5.
//!
//! ```text
//!   program  Program: steps on vectors, the same on a server, in a count and in the clear
//!      └── carry  sums of columns     compare  orders, choices     product     entries
//!               └────────── engine  Engine: look-ups, in one batch for all elements ── digit  Digit, Integer
//! ```
//!
//! *Invariants.* Bounds and norms of digits are counted beside them, and follow from the program alone. What would pass a bound is carried before. Digits that are constants of the
//! program are no ciphertexts, and what is looked up of them is free.
//!
//! *References.* Digits with carries: Chillotti, Joye and Paillier 2021; Bergerat et al., J. Cryptology 2023.

mod carry;
mod compare;
mod digit;
mod engine;
mod entries;
mod product;
mod program;

pub use program::{Cost, Operand, Outcomes, Program, Sent, Step};
