// SPDX-License-Identifier: Apache-2.0
//! The AVX2 path: modular products in double precision by FMA, and the AES instructions.
//!
//! Integer products of 64 bits are slow in AVX2; products of doubles are not, and the primes fit them. What gains nothing from
//! that is the scalar code, compiled for wider registers. As in the AVX-512 folder, `unsafe` stands in [`vector`] alone, but for
//! the calls of the AES kernels.

pub(crate) mod bits;
pub(crate) mod lazy;
pub(crate) mod permute;
mod residues;
pub(crate) mod sample;
pub(crate) mod uniform;
mod vector;

pub(crate) use self::vector::{Avx2, compiled};
pub(crate) use crate::vector::{convert, lift, ntt, pointwise, product};
