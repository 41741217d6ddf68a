// SPDX-License-Identifier: Apache-2.0
//! Parameters as pure data and functions: security tables, named presets, noise bounds and sizes.
//!
//! Everything that the planner must know about cryptography without importing any. The lattice crates
//! build their rings from a [`ParamSet`] or a [`ChainParams`], which [`Params`] joins; no other way to name a ring exists outside tests.
//!
//! *Invariants.* Every preset and every chain stays within [`security::max_log_q`] at 128 bits or more;
//! every prime lies between 2^30 and 2^46.95, so that all kernels may use lazy 52-bit arithmetic.
//!
//! *Non-goals.* No arithmetic on residues (that is `hush-arith`), no search over plans (`hush-plan`).

pub mod bootstrap;
pub mod chain;
mod fingerprint;
pub mod noise;
mod params;
pub mod presets;
pub mod primes;
pub mod security;
pub mod size;
pub mod tfhe;

pub use chain::{ChainError, ChainParams, DefinitionFault, Level};
pub use fingerprint::Fingerprint;
pub use params::{Definitions, Named, Params};
pub use presets::{
    PLAINTEXT_PRIMES_32, PLAINTEXT_PRIMES_45, ParamSet, ParamsError, preset, presets, presets_without_keys,
};
