// SPDX-License-Identifier: Apache-2.0
//! Circuits: built of the operations of a scheme, the same for every table.
//!
//! *Words used.* A **row** is what rotations move: `N/2` slots. CKKS has one, BGV and BFV have two. The **depth** of a
//! circuit is the number of levels that it uses.
//!
//! ```text
//!   bootstrap      levels for a ciphertext that has none left               CKKS
//!   approximate    inverse, square roots, sign, comparison, maximum        CKKS
//!        │
//!   polynomial     Paterson-Stockmeyer, Chebyshev basis                    CKKS, BGV, BFV
//!   linear         matrices on rows, baby steps and giant steps            CKKS, BGV, BFV
//!   sums           sums of slots, masks                                    CKKS, BGV, BFV
//!   bridge         from slots to encrypted digits                          BGV, BFV, TFHE
//!   gates          programs of expressions on encrypted digits             TFHE
//!   program        circuits of expressions, with parameters chosen          CKKS, BGV, BFV
//!   noise          what each of them does to noise
//!        │
//!   hush-schemes
//! ```
//!
//! *Invariants.* A circuit checks levels before it computes anything. The keys that it needs are listed by a function
//! beside it, exactly: no more, no less. Clear inputs (matrices, coefficients, masks) are public, and time may depend on
//! them; it never depends on messages.
//!
//! *Non-goals.* No choice of parameters but that of [`program`], and no noise tracking at run time: [`noise`] bounds what a circuit does before anything
//! runs.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod approximate;
pub mod bootstrap;
pub mod bridge;
mod error;
pub mod gates;
pub mod linear;
pub mod noise;
pub mod polynomial;
pub mod program;
mod scheme;
pub mod sums;

pub use error::CircuitError;
pub use scheme::SlotScheme;

#[cfg(test)]
mod testing;
