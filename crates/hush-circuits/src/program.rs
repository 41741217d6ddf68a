// SPDX-License-Identifier: Apache-2.0
//! Circuits of expressions on encrypted vectors, in BGV, BFV and CKKS, with scheme and parameters chosen for them.
//!
//! # Method
//! [`Plan::choose`] takes an expression and the known properties of its vectors. For each scheme that may serve, it finds the chain
//! with noise bounds that hold for every step of this circuit. It chooses the plan with the least predicted work. The circuit runs on
//! bounds ([`crate::noise`]) and on ciphertexts through the same code, so that the circuit that is checked is the one that is run.
//!
//! *Exact schemes.* Results are integers of a known range; plaintext primes are chosen so that their product exceeds it, and every
//! prime is a circuit of its own ([`Lane`]). Steps on the way may wrap.
//!
//! *Levels.* A step of depth `d` lives `d` levels below the top. Sums of products are relinearised and divided once, after they have
//! been added; addends of less depth join them undivided. A circuit of depth 1 needs no keys at all: its products go back with three
//! components.
//!
//! *Bootstrapping.* Where no chain is as deep as a circuit, steps are bootstrapped, as few as possible and as late as they can be ([`Schedule`]).
//!
//! *Secrets.* None: this module encodes, evaluates and decodes. Encryption and decryption are elsewhere, with the keys.

mod bootstrapped;
mod candidates;
mod choose;
mod cost;
mod error;
mod kind;
mod lane;
mod place;
mod placed;
mod plan;
mod serve;
mod steps;
mod tracked;
mod walk;

pub use candidates::{Demand, Vector};
pub use error::ProgramError;
pub use kind::SchemeKind;
pub use lane::{BootstrappedLane, Lane, LaneKeys, Slots};
pub use place::{Raise, Raised, Schedule};
pub use placed::PlacedCircuit;
pub use plan::Plan;
pub use serve::ServeError;
