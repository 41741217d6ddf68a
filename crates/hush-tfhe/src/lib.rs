// SPDX-License-Identifier: Apache-2.0
//! TFHE without secrets: what a server does with bits and small integers that it cannot read.
//!
//! *Words used.* A **large** ciphertext has `k·N` coefficients and a body modulo a prime ([`Lwe`]); a **small** one `n` and a body modulo
//! `2^32` ([`SmallLwe`]). **Bootstrapping** takes a large ciphertext of a message and gives a fresh one of what a [`Table`] holds at that place. A **norm** is the sum of
//! the absolute values of the coefficients of a sum: it bounds how often errors count.
//!
//! ```text
//!   integer   radix integers: add, multiply, compare, choose     gate   NAND, AND, OR, XOR, MUX     wide   WideTable: one of 2^k entries
//!      └───────────────────┬────────────────────────────────────────┘                            circuit   CircuitKey: bits to Selectors
//!   bootstrap   ServerKey: key switch ─▶ modulus switch ─▶ blind rotation ─▶ first coefficients ───────────┘
//!       switch  SwitchKey              rotation  RotationKey          table  Table               digits   digits times rows of keys
//!   lwe  Lwe, SmallLwe       wire  objects       Context: a set with its ring
//! ```
//!
//! *Math.* The phase of a ciphertext is `c_0 + Σ c_i·s_i`, as everywhere in this project: the message as a fraction of the modulus, and an error. All arithmetic is
//! exact, so that every path of the kernels gives equal bits.
//!
//! *Invariants.* No secret, and no function that needs one: these are in `hush-keys`. Ciphertexts of another set are refused. What goes into a
//! bootstrapping stays within the norm of its set ([`hush_params::tfhe`]); [`integer`] counts it.
//!
//! *Non-goals.* No choice of parameters, no expressions (`hush-client`).

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bootstrap;
mod bridge;
mod circuit;
mod context;
mod digits;
mod error;
pub mod gate;
pub mod integer;
mod lwe;
mod phases;
mod rotation;
mod switch;
mod table;
mod wide;
mod wire;

pub use bootstrap::ServerKey;
pub use bridge::BridgeKey;
pub use circuit::{CircuitKey, Selector};
pub use context::Context;
pub use error::TfheError;
pub use lwe::{Lwe, SmallLwe};
pub use phases::digits_cost;
pub use rotation::{RotationKey, rotation_label};
pub use switch::{SwitchKey, switch_label};
pub use table::Table;
pub use wide::WideTable;
pub use wire::{Answers, BridgeParts, CircuitParts, Fresh, KeyParts, fresh_label};
