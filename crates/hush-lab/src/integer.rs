// SPDX-License-Identifier: Apache-2.0
//! Products and remainders of integers of up to tens of millions of bits, on the word-sized transforms of `hush-kernels`.
//!
//! *Words used.* An integer is a slice of 64-bit **words**, lowest first. A **digit** is a piece of an integer that the
//! transforms see as one coefficient, 46 bits at most. A **spectrum** is the transform of an integer's digits.
//!
//! ```text
//!   modulus      products modulo a fixed odd integer, Barrett, the transforms of the constants kept
//!   sums         Σ b_i·x_i for few short b_i and many long x_i that are generated piece by piece
//!   reciprocal   ⌊2^k/d⌋ by Newton's iteration          remainder   long integers modulo a short prime
//!   ───────┬───────────────────────────────────────────────
//!   transform    Z[Y]/(Y^L + 1) modulo two primes, L ≤ 2^22: blocks of 2^16 points under a few radix-2 layers
//!   digits       words to digits; residues back to words (Chinese remainder theorem and carries)
//!   words        schoolbook loops on slices             prime       random primes (Miller-Rabin)
//! ```
//!
//! *Why not a library.* num-bigint multiplies with Toom-3 at best and divides by schoolbook. It serves here as the reference in
//! tests, and for integers of a few thousand bits.
//!
//! *Non-goals.* Constant time: this crate is for teaching, and its secrets protect nothing.

pub(crate) mod digits;
mod error;
pub(crate) mod modulus;
pub(crate) mod prime;
pub(crate) mod reciprocal;
pub(crate) mod remainder;
pub(crate) mod sums;
pub(crate) mod transform;
pub(crate) mod words;

pub use error::IntegerError;
