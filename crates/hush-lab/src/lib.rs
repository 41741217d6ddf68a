// SPDX-License-Identifier: Apache-2.0
//! **Insecure. For teaching, exploration and historical benchmarks.** The schemes of 2011 and 2012 that led to those of today, side by
//! side, and an evaluator of expressions on single encrypted bits.
//!
//! ```text
//!   main      arguments, the prompt, the benchmark's report
//!   bench     the comparison of 2013 again: times, keys, memory, failures
//!   eval      text ─▶ circuit ─▶ keys ─▶ encrypt ─▶ gates, noise after each ─▶ decrypt ─▶ compare
//!   circuit   gates on bits, their depth; adders and multipliers of small integers
//!   scheme    what every scheme offers
//!   bv11      LWE: relinearisation, dimension-modulus reduction; the leveled variant
//!   cnt12     approximate GCD: compressed public keys, squashed decryption, Recrypt        integer   its long products
//!   modern    BGV as Hushtable has it, at 128 bits, for comparison
//!   partial   RSA (multiplicative), Paillier (additive)
//! ```
//!
//! *Words used.* A **level** counts the products that a ciphertext has behind it, from 0 for a fresh one. **Noise** is the even part of
//! a phase: the phase of a ciphertext of the bit `m` is `m + 2e`, and its noise is `|e|`.
//!
//! *Invariants.* Every type of a scheme, its parameters, keys and ciphertexts too, is named `Insecure…`. No bad input panics. No crate of ours depends on this one
//! (`tools/check_layers.py`).
//!
//! *Non-goals.* Security: the parameter sets are broken or small, secret keys stand in memory beside the ciphertexts and are not wiped,
//! nothing runs in constant time, and decryption tells its noise.
//!
//! *Tests.* `cargo test -p hush-lab`; the large sets with `--release -- --ignored`.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod bench;
pub mod bv11;
pub mod circuit;
pub mod cnt12;
mod error;
pub mod eval;
pub mod integer;
pub mod modern;
pub mod partial;
pub mod primes;
mod random;
pub mod scheme;

pub use circuit::Circuit;
pub use error::LabError;
pub use random::{Seed, Stream};
pub use scheme::InsecureScheme;
