// SPDX-License-Identifier: Apache-2.0
//! Polynomials of slots: integer ones modulo `t` for BGV and BFV, real ones for CKKS.
//!
//! # Math
//! \[PS73\]: with the baby powers `B_1 … B_(2^k − 1)` and the giant powers `B_(2^k), B_(2^(k+1)), …` write a polynomial as
//! `p = q·B_(2^j) + r` with `2^j ≤ deg p < 2^(j+1)`, and so on for `q` and `r`, down to parts of degree below `2^k`, which are
//! sums of baby powers times coefficients. `B_i` is `X^i`, or the Chebyshev polynomial `T_i` with
//! `T_(a+b) = 2·T_a·T_b − T_(a−b)`.
//!
//! *Depth.* `⌈log2(d + 1)⌉` for degree `d`, coefficients included: `B_i` has depth `⌈log2 i⌉`, and a part that would come too
//! late is divided once more \[BMTH21, section 3\].
//!
//! *Lazy relinearisation.* `r` is wanted at the depth of `q·B_(2^j)`. Its own products are left with three components and
//! undivided until they have been added: each `q` is relinearised and divided once, whatever the number of its products.
//!
//! *Scales.* Undivided sums at level `ℓ` stand at `Δ_ℓ²` in CKKS, which is divided to the scale of `ℓ − 1` exactly; in BGV the
//! factors of a level are `f_ℓ`, with `f_(ℓ−1) = f_ℓ²·ratio`. Coefficients make up for every difference, at no cost. In BFV levels
//! are counted only.

mod approximation;
mod arithmetic;
mod integer;
mod operations;
mod real;
mod together;
mod tree;

pub use approximation::chebyshev_interpolation;
pub(crate) use approximation::{chebyshev_value, check_interval};
pub(crate) use arithmetic::{Counted, InvariantArithmetic, ModularArithmetic, RealArithmetic};
pub use integer::IntegerPolynomial;
pub(crate) use operations::RealOperations;
pub use real::RealPolynomial;
pub(crate) use tree::Arithmetic;
pub use tree::{Basis, PolynomialCost};

/// The largest degree that is evaluated.
pub const MAX_DEGREE: usize = 1023;

#[cfg(test)]
mod tests;
