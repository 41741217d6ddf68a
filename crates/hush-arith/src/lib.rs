// SPDX-License-Identifier: Apache-2.0
//! Modular arithmetic on word-sized primes, exact reconstruction by the Chinese remainder theorem, and numbers from the sums of their powers.
//!
//! *Words used.* A **modulus** is a prime `q` with `2 ≤ q ≤ ⌊2^52/33⌋` (46.95 bits). A **residue** is a
//! `u64`; it is **canonical** when it lies in `[0, q)`. `N` is a ring degree, a power of two, and `ψ` a
//! primitive `2N`-th root of unity mod `q`. A **basis** is a list of distinct moduli with product `Q`.
//!
//! *Invariants.* A [`Modulus`] is prime and in range from its constructor on, so the precomputed reciprocal
//! is exact and every lazy 52-bit loop of the layers above may rely on `33·q ≤ 2^52`. Functions on residues take and
//! return canonical values unless they say otherwise, and run in time independent of the residues, power sums apart.
//!
//! *Non-goals.* No vectors (`hush-kernels`), no polynomials (`hush-ring`), no general big integers: 256-bit
//! wrapping integers are as wide as an answer gets.

mod crt;
mod error;
mod modulus;
mod power_sums;
pub mod prime;

pub use crt::{CrtBasis, MAX_BASIS_LEN};
pub use error::ArithError;
pub use modulus::{MAX_MODULUS, Modulus};
pub use power_sums::{numbers_of, weights_of};
