// SPDX-License-Identifier: Apache-2.0
//! RNS rings: polynomials by domain, sums that reduce once, and the two doors for randomness.
//!
//! *Words used.* A [`Ring`] is `Z_Q[X]/(X^N + 1)` with `Q = q_0·…·q_ℓ`; the residues of a polynomial modulo one
//! prime are a **limb**. A [`Poly`] holds all limbs, as coefficients ([`Coeff`]) or as values at the roots of
//! `X^N + 1` ([`Eval`]).
//!
//! ```text
//!   Chain: a ring for each level, BasisSwitch between them, Automorphism
//!   Poly<Coeff> ⇄ Poly<Eval>      LazySum, LazyMac       UniformSeed → Poly<Eval>     SecretRng → errors, secrets
//!              RingLimb: loops on slices of one prime        public randomness          secret randomness
//!                         hush-kernels
//! ```
//!
//! *Invariants.* Polynomials hold canonical residues. The domain is a type, so that a product of coefficients
//! does not compile. Public and secret randomness come from different generators, and neither seeds the other.
//! Functions on secret data ([`SecretRng`], [`sample_errors`], [`sample_ternary`], the arithmetic) do not branch
//! or index on it.
//!
//! ```compile_fail,E0599
//! # use hush_ring::{Coeff, Poly};
//! fn product(a: &mut Poly<Coeff>, b: &Poly<Coeff>) {
//!     a.mul_assign(b); // only Poly<Eval> has products
//! }
//! ```
//!
//! *Non-goals.* No encryption, no encodings, no formats: those are the crates above.

mod automorphism;
mod basis;
mod chain;
mod error;
mod lazy;
mod limb;
pub mod parallel;
mod poly;
mod random;
mod repeated;
mod ring;
mod rounding;
mod stack;
#[cfg(test)]
mod testing;
mod uniform;
mod words;

pub use automorphism::Automorphism;
pub use basis::{BaseConverter, BasisSwitch, RowPair, limbs_together};
pub use chain::{Chain, ChainLevel, Digit};
pub use error::RingError;
pub use hush_kernels::{Cpu, KernelError, bits, fft, gadget, select};
pub use hush_params::Level;
pub use lazy::{LazyMac, LazySum};
pub use limb::{ERROR_BYTES, RingLimb, TERNARY_BYTES, sample_errors, sample_ternary};
pub use poly::{Coeff, Domain, Eval, Poly};
pub use random::{RandomnessError, SecretRng, os_random};
pub use repeated::Repeated;
pub use ring::Ring;
pub use rounding::Rounding;
pub use stack::{wipe, wiping_stack};
pub use uniform::{ExpandLabel, LimbStream, MaskPurpose, UniformSeed};
pub use words::{Wiped, Words, keep_buffers};

#[cfg(test)]
mod tests;
