// SPDX-License-Identifier: Apache-2.0
//! Functions that no polynomial is, for CKKS: inverse, square root, sign, and what follows from a sign.
//!
//! Each is planned once for an interval and a precision, says how deep it is, and checks the levels before it computes. The
//! precision stated is that of the approximation in exact arithmetic; the noise of the ciphertexts comes on top, magnified by
//! the slope of the function.
//!
//! | function | method | depth |
//! |---|---|---|
//! | [`Inverse`] | Goldschmidt's product | iterations + 1 |
//! | [`InverseSquareRoot`] | Newton from a Chebyshev start | start + 2·iterations |
//! | [`SquareRoot`] | `x·x^(−1/2)` | one more |
//! | [`Sign`] | composite of minimax polynomials | sum over the parts |
//! | [`Sign::compare`], [`Sign::maximum`], [`Sign::abs`] | from the sign | as [`Sign`]; one more; one more |
//!
//! Slots outside the interval give results without meaning, and may overflow the modulus.

mod inverse;
mod minimax;
mod sign;
mod square_root;

pub use inverse::{Inverse, MAX_FACTORS};
pub use minimax::{OddMinimax, minimax_sign};
pub use sign::{MAX_SIGN_DEPTH, Sign};
pub use square_root::{InverseSquareRoot, MAX_ITERATIONS, SquareRoot};

use crate::CircuitError;

/// Bits of precision that the approximations are planned to at most: beyond, `f64` rounds.
pub const MAX_PRECISION_LOG2: u32 = 44;

fn check_precision(precision_log2: u32, max_depth: u32) -> Result<(), CircuitError> {
    if (1..=MAX_PRECISION_LOG2).contains(&precision_log2) {
        return Ok(());
    }
    Err(CircuitError::Precision { precision_log2, max_depth })
}

fn check_positive(low: f64, high: f64) -> Result<(), CircuitError> {
    crate::polynomial::check_interval(low, high)?;
    if low > 0.0 {
        return Ok(());
    }
    Err(CircuitError::Interval { low, high })
}

#[cfg(test)]
mod tests;
