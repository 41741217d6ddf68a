// SPDX-License-Identifier: Apache-2.0
//! BGV, and BFV as its scale-invariant variant: exact integers.
//!
//! A BGV phase is `m + t·e`: the message sits in the low digits, the error in multiples of the plaintext
//! modulus `t`. It is read by lifting the phase to the integer in `(−Q/2, Q/2)` and reducing modulo `t`, which is
//! right as long as the phase itself did not wrap. Two layouts use it:
//! - [`sum`]: values as coefficients, `t` a power of two, masked sums by multiplying with reversed masks;
//! - [`slots`]: values as evaluations modulo primes `t`, element-wise arithmetic.
//!
//! [`public`] encrypts for the first of them without the secret. Neither layout switches moduli, so no correction factors appear there.
//!
//! [`Bgv`] and [`Bfv`] are the complete schemes over a modulus chain: products, rotations, divisions, conversions. BFV moves the
//! message to the high digits.

mod batch;
mod expand;
mod leveled;
pub mod public;
mod scale_invariant;
pub mod slots;
mod stored;
pub mod sum;

use ethnum::I256;

pub use batch::BatchEncoder;
pub use expand::expansion_elements;
pub use leveled::{Bgv, BgvCiphertext, sum_elements};
pub use scale_invariant::Bfv;

/// The signed residue of a lifted phase modulo `2^t_log2`: the message of a BGV phase `m + 2^t_log2·e`.
///
/// # Timing
/// Independent of the phase.
pub fn decode_power_of_two(phase: I256, t_log2: u32) -> I256 {
    let unused = 256 - t_log2.clamp(1, 256);
    (phase << unused) >> unused
}

#[cfg(test)]
mod tests;
