// SPDX-License-Identifier: Apache-2.0
//! The meaning of phases: exact integers ([`bgv`], with BFV) and reals to a stated precision ([`ckks`]).
//!
//! This crate holds encodings and everything that a server does with ciphertexts. Encryption and decryption
//! need a secret key and live in `hush-keys`, which no server links.
//!
//! ```text
//!   layout          encoding                           server's work
//!   sum             values are coefficients, mod 2^k   bgv::sum::SumAccumulator
//!   slots           values are slots, mod primes       bgv::slots::SlotCiphertext
//!   approx_sum      rounded reals as coefficients      bgv::sum::SumAccumulator (phases only)
//!   approx_slots    canonical embedding                ckks::ApproxCiphertext
//! ```
//!
//! *Invariants.* Evaluation is exact modulo `Q`: the same inputs give the same bits on every machine and thread
//! count. Sizes and shapes are checked before anything is added. `ckks` imports nothing from `bgv` and the
//! other way round.
//!
//! [`bgv::Bgv`], [`bgv::Bfv`] and [`ckks::Ckks`] are the complete schemes over modulus chains, with evaluation keys.
//!
//! *Non-goals.* No bootstrapping; no noise tracking at run time (the planner bounds
//! it with `hush_params::noise` before anything runs).

pub mod bgv;
pub mod ckks;
mod error;
mod scale;
mod values;

pub use error::{PublicKeyError, SchemeError, SumError};
pub use scale::RealScale;
pub use values::Values;
