// SPDX-License-Identifier: Apache-2.0
//! Circuits of expressions on encrypted vectors, in BGV, BFV and CKKS, with scheme and parameters chosen for them.
//!
//! # Method
//! [`Plan::choose`] takes an expression and what is known of its vectors and finds, for each scheme that may serve, the chain whose
//! noise bounds hold for every step of this very circuit; of these plans it takes the one with the least predicted work. The circuit
//! runs on bounds ([`crate::noise`]) and on ciphertexts through the same code, so that what is checked is what is run.
//!
//! *Exact schemes.* Results are integers of a known range; plaintext primes are chosen so that their product exceeds it, and every
//! prime is a circuit of its own ([`Lane`]). Steps on the way may wrap.
//!
//! *Levels.* A step of depth `d` lives `d` levels below the top. Sums of products are relinearised and divided once, after they have
//! been added; addends of less depth join them undivided. A circuit of depth 1 needs no keys at all: its products go back with three
//! components.
//!
//! *Secrets.* None: this module encodes, evaluates and decodes. Encryption and decryption are elsewhere, with the keys.

mod choose;
mod cost;
mod kind;
mod lane;
mod serve;
mod walk;

pub use choose::{Demand, Plan, ProgramError, Vector};
pub use kind::SchemeKind;
pub use lane::{Lane, Slots};
pub use serve::ServeError;
